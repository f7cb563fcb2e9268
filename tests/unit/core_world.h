/* A world for stories about the controller's machine: a configuration, nodes that answer, people
 * who ask, and a store that keeps what the machine says it must. Time stands still unless a story
 * moves it. Every invariant is checked after each step; in a world that goes on for long, from its
 * CHECKED_WHOLE-th step on, or keeps many records, the fields of one record of CHECK_TURNS
 * (core_check_turn), and where they are very many, after one step of so many as there are hundreds
 * of them: what a story costs grows with its steps, not with their square. */
#ifndef REMUDA_TESTS_CORE_WORLD_H
#define REMUDA_TESTS_CORE_WORLD_H

#include "base/alloc.h"
#include "base/duration.h"
#include "base/rng.h"
#include "base/vec.h"
#include "core/core.h"
#include "unit.h"

#include <string.h>

#define ALICE 1000u
#define BOB   1001u
#define MIN   USEC_PER_MIN
#define SEC   USEC_PER_SEC

#define CONF                                                                                       \
    "ClusterName=test\nOperators=olga\nMinJobAge=300\nKillWait=30\n"                               \
    "NodeName=n[1-4] CPUs=8 RealMemory=8000\n"                                                     \
    "PartitionName=main Nodes=n[1-4] Default=YES MaxTime=2:00:00 State=UP\n"                       \
    "PartitionName=small Nodes=n1 MaxTime=UNLIMITED State=UP\n"

#define CONN_OF(n) (100u + (uint64_t)(n)) /* of node nN */

#define CHECKED_WHOLE 500
#define MANY_RECORDS  200

struct kept {
    enum store_table table;
    uint64_t key; /* key_hash */
    void *record;
};

struct world {
    struct core *c;
    struct effects fx; /* of the last request */
    struct arena *a;
    int64_t now;
    uint64_t seq;
    struct peer peer; /* who asks */
    struct config config;
    VEC(struct kept) store;
    void (*after_step)(void); /* NULL = nothing */
    uint32_t steps, checks;
    bool fills; /* a test makes very many of one kind, and has them checked when all are there */
};

static struct world w;

/* ---- the store ---- */

/* Of what its table's key names. */
static uint64_t key_hash(enum store_table table, const void *record)
{
    const struct fields *t = store_table_rows[table].fields;
    struct span rest = span_of(store_table_rows[table].key), name;
    uint64_t hash = HASH_INIT;
    while (span_next(&rest, ',', &name))
        for (size_t i = 0; i < t->n; i++)
            if (span_is(name, t->field[i].name)) {
                struct fields key = {"key", t->size, &t->field[i], 1};
                hash = record_hash(&key, record, hash);
            }
    return hash;
}

static inline void keep(const struct effect *e)
{
    const struct fields *t = store_table_rows[e->table].fields;
    uint64_t key = key_hash(e->table, e->record);
    for (size_t i = w.store.n; i-- > 0;) /* what changes has changed lately */
        if (w.store.v[i].table == e->table && w.store.v[i].key == key) {
            vec_remove(&w.store, i);
            break;
        }
    if (e->remove)
        return;
    struct kept row = {e->table, key, arena_alloc(w.a, t->size)};
    record_copy(t, row.record, e->record, w.a);
    vec_push(&w.store, row);
}

/* ---- steps ---- */

static inline void invariants_check(void)
{
    size_t crowds = w.store.n / MANY_RECORDS;
    bool whole = w.steps < CHECKED_WHOLE && crowds == 0;
    if (crowds > 1 && w.steps % crowds != 0)
        return;
    core_check_turn(w.c, whole ? CHECK_ALL : w.checks++ % CHECK_TURNS);
}

static inline void step(struct event ev)
{
    ev.now_us = w.now;
    core_step(w.c, &ev, &w.fx);
    if (!w.fills)
        invariants_check();
    w.steps++;
    if (w.after_step)
        w.after_step();
}

static inline void wake(void)
{
    for (int i = 0; core_wake_due(w.c) <= w.now; i++) {
        assert_true(i < 1000);
        step((struct event){.kind = EV_WAKE});
    }
}

static inline void settle(size_t from)
{
    wake();
    for (size_t i = from; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_STORE)
            keep(&w.fx.v[i]);
}

/* One message of connection `conn`, and what follows from it at once. */
static inline void say(uint64_t conn, enum message_kind kind, const void *body)
{
    struct message m = {.kind = kind, .seq = ++w.seq, .body = body};
    effects_reset(&w.fx);
    step((struct event){.kind = EV_MESSAGE, .conn = conn, .peer = &w.peer, .msg = &m});
    settle(0);
}

/* Time passes; nodes that are connected are heard of all the while. */
static inline void pass(int64_t us)
{
    struct msg_heartbeat alive = {0};
    struct message m = {.kind = MSG_HEARTBEAT, .body = &alive};
    struct peer node = {.user = "root", .is_admin = true};
    w.now += us;
    effects_reset(&w.fx);
    for (uint64_t n = 1; n <= 9; n++)
        step((struct event){.kind = EV_MESSAGE, .conn = CONN_OF(n), .peer = &node, .msg = &m});
    settle(0);
}

/* The same by a controller that wakes for what is due: it is never late. */
static inline void pass_awake(int64_t us)
{
    int64_t until_us = w.now + us, due_us;
    while ((due_us = core_wake_due(w.c)) < until_us)
        pass(due_us > w.now ? due_us - w.now : 1);
    pass(until_us - w.now);
}

static inline void am(uint32_t uid, const char *user, bool admin)
{
    w.peer = (struct peer){.uid = uid,
                           .gid = uid,
                           .user = user,
                           .group = user,
                           .groups = user,
                           .host = "login",
                           .is_admin = admin};
}

static inline void am_alice(void)
{
    am(ALICE, "alice", false);
}
static inline void am_bob(void)
{
    am(BOB, "bob", false);
}
static inline void am_olga(void)
{
    am(900, "olga", false);
}
static inline void am_root(void)
{
    am(0, "root", true);
}

/* ---- nodes ---- */

/* Node n1, n2 … connects; it holds the jobs of `held`. */
/* life: which boot and directory it is of; NULL = a node that does not say so. */
static inline void hello_living(int n, const char *life, struct held *held, size_t nheld)
{
    struct node node = {.name = arena_printf(w.a, "n%d", n),
                        .life = life,
                        .real_cpus = 8,
                        .real_memory_mib = 8000,
                        .version = "test"};
    struct msg_node_hello m = {.node = {&node, 1}, .held = {held, nheld}, .pid = 7};
    struct peer asks = w.peer;
    am_root();
    say(CONN_OF(n), MSG_NODE_HELLO, &m);
    w.peer = asks;
}

static inline void hello_holding(int n, struct held *held, size_t nheld)
{
    hello_living(n, NULL, held, nheld);
}

static inline void hello(int n)
{
    hello_holding(n, NULL, 0);
}

static inline void report(int n, struct msg_report m)
{
    struct peer asks = w.peer;
    am_root();
    m.seq = ++w.seq;
    say(CONN_OF(n), MSG_REPORT, &m);
    w.peer = asks;
}

static inline void gone(int n)
{
    effects_reset(&w.fx);
    step((struct event){.kind = EV_CLOSED, .conn = CONN_OF(n)});
    settle(0);
}

/* ---- people ---- */

static inline const struct msg_done *answer(void)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_DONE)
            return w.fx.v[i].msg.body;
    return NULL;
}

static inline enum refusal refusal(void)
{
    const struct msg_done *d = answer();
    return d ? (enum refusal)d->refusal : REFUSE_NONE;
}

/* Of one node, one CPU; 10 minutes. */
static inline struct job_spec a_job(const char *name)
{
    return (struct job_spec){
        .name = name,
        .batch = true,
        .work_dir = "/tmp",
        .req = {.ntasks = 1, .mem_per_node_mib = 100, .time_limit_us = 10 * MIN}};
}

/* All of one node. */
static inline struct job_spec a_wide_job(const char *name)
{
    struct job_spec s = a_job(name);
    s.req.ntasks = 8;
    s.req.min_nodes = 1;
    s.req.max_nodes = 1;
    return s;
}

/* The id; 0 if refused. */
/* One job, or the components of a heterogeneous one; returns the (leader's) number, 0 where it was
 * refused. */
static inline uint64_t submit_all(struct job_spec *specs, size_t n)
{
    struct msg_submit m = {.specs = {specs, n}, .script = {"#!/bin/sh\n", 10}};
    say(1, MSG_SUBMIT, &m);
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_SUBMITTED)
            return ((const struct msg_submitted *)w.fx.v[i].msg.body)->job_id;
    return 0;
}

static inline uint64_t submit(struct job_spec spec)
{
    return submit_all(&spec, 1);
}

static inline const char *ids_of(uint64_t id)
{
    return arena_printf(w.a, "%llu", (unsigned long long)id);
}

/* The answer to "why". */
static inline const struct msg_explained *why(const char *ids)
{
    struct msg_why m = {.ids = ids};
    say(50, MSG_WHY, &m);
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_EXPLAINED)
            return w.fx.v[i].msg.body;
    fail_msg("no answer for %s", ids ? ids : "all");
    return NULL;
}

static inline const struct why *why_one(uint64_t id)
{
    const struct msg_explained *e = why(ids_of(id));
    assert_int_equal(e->jobs.n, 1);
    return e->jobs.v;
}

static inline enum refusal cancel(const char *ids)
{
    struct msg_cancel m = {.ids = ids};
    say(1, MSG_CANCEL, &m);
    return refusal();
}

static inline enum refusal control(const char *ids, enum job_action action)
{
    struct msg_job_control m = {.ids = ids, .action = (int32_t)action};
    say(1, MSG_JOB_CONTROL, &m);
    return refusal();
}

#endif
