/* A world for stories about the controller's machine: a configuration, nodes that answer, people
 * who ask, and a store that keeps what the machine says it must. Time stands still unless a story
 * moves it. Every invariant is checked after each step. */
#ifndef REMUDA_TESTS_CORE_HELP_H
#define REMUDA_TESTS_CORE_HELP_H

#include "base/alloc.h"
#include "base/duration.h"
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

struct kept {
    enum store_table table;
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
};

static struct world w;

/* ---- the store ---- */

static bool same_row(enum store_table table, const void *a, const void *b)
{
    const struct fields *t = store_table_rows[table].fields;
    struct span rest = span_of(store_table_rows[table].key), name;
    while (span_next(&rest, ',', &name))
        for (size_t i = 0; i < t->n; i++)
            if (span_is(name, t->field[i].name)) {
                struct fields key = {"key", t->size, &t->field[i], 1};
                if (!record_equal(&key, a, b))
                    return false;
            }
    return true;
}

static inline void keep(const struct effect *e)
{
    const struct fields *t = store_table_rows[e->table].fields;
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].table == e->table && same_row(e->table, w.store.v[i].record, e->record)) {
            vec_remove(&w.store, i);
            break;
        }
    if (e->remove)
        return;
    struct kept row = {e->table, arena_alloc(w.a, t->size)};
    record_copy(t, row.record, e->record, w.a);
    vec_push(&w.store, row);
}

/* ---- steps ---- */

static inline void step(struct event ev)
{
    ev.now_us = w.now;
    core_step(w.c, &ev, &w.fx);
    core_check(w.c);
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
static inline void hello_holding(int n, struct held *held, size_t nheld)
{
    struct node node = {.name = arena_printf(w.a, "n%d", n),
                        .real_cpus = 8,
                        .real_memory_mib = 8000,
                        .version = "test"};
    struct msg_node_hello m = {.node = {&node, 1}, .held = {held, nheld}, .pid = 7};
    struct peer asks = w.peer;
    am_root();
    say(CONN_OF(n), MSG_NODE_HELLO, &m);
    w.peer = asks;
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

/* ---- what is there ---- */

struct rows {
    enum query_what what;
    VEC(void *) row;
    enum refusal refusal;
    const char *detail;
};

static const struct fields *const row_fields[] = {
    [QUERY_JOBS] = &job_fields,
    [QUERY_NODES] = &node_fields,
    [QUERY_PARTITIONS] = &partition_fields,
    [QUERY_STEPS] = &step_fields,
    [QUERY_STATUS] = &status_fields,
    [QUERY_RESERVATIONS] = &reservation_fields,
    [QUERY_PRIORITY] = &priority_fields,
    [QUERY_SHARES] = &usage_fields,
    [QUERY_DIAG] = &diag_fields,
    [QUERY_TOKENS] = &token_fields,
    [QUERY_HOSTS] = &host_fields,
    [QUERY_ACCOUNTS] = &account_fields,
    [QUERY_ACCOUNT_USERS] = &account_user_fields,
    [QUERY_ASSOCS] = &assoc_fields,
    [QUERY_QOS] = &qos_fields,
    [QUERY_LIMITS] = &limit_fields,
    [QUERY_WCKEYS] = &wckey_fields,
    [QUERY_TRES] = &tres_fields,
    [QUERY_LIMIT_USE] = &limit_use_fields,
    [QUERY_FAIR_SHARES] = &fair_share_fields,
    [QUERY_IN_USE] = &in_use_fields,
    [QUERY_TRIGGERS] = &trigger_fields,
};

static inline void row_take(void *ctx, const void *record)
{
    struct rows *r = ctx;
    void *copy = arena_alloc(w.a, row_fields[r->what]->size);
    record_copy(row_fields[r->what], copy, record, w.a);
    vec_push(&r->row, copy);
}

/* Rows live as long as the world; `rows_done` frees their list. */
static inline struct rows ask(struct msg_query q)
{
    struct rows r = {.what = (enum query_what)q.what};
    struct view view = {row_take, &r};
    struct str detail = STR_INIT;
    r.refusal = core_query(w.c, &q, &w.peer, w.now, &view, &detail);
    r.detail = arena_strdup(w.a, str_text(&detail));
    str_done(&detail);
    return r;
}

static inline size_t count(struct msg_query q)
{
    struct rows r = ask(q);
    size_t n = r.row.n;
    assert_int_equal(r.refusal, REFUSE_NONE);
    vec_done(&r.row);
    return n;
}

/* The one row of that kind and id or name; fails if there is none or several. */
static inline const void *the(enum query_what what, const char *which)
{
    struct rows r = ask((struct msg_query){.what = (int32_t)what,
                                           .ids = what == QUERY_JOBS ? which : NULL,
                                           .names = what == QUERY_JOBS ? NULL : which});
    assert_int_equal(r.row.n, 1);
    const void *row = r.row.v[0];
    vec_done(&r.row);
    return row;
}

/* The last element of an array has the array's number, which asks for all of it. */
static inline const struct job *job(uint64_t id)
{
    struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .ids = ids_of(id)});
    const struct job *found = NULL;
    for (size_t i = 0; i < r.row.n; i++)
        if (((const struct job *)r.row.v[i])->id == id)
            found = r.row.v[i];
    assert_non_null(found);
    vec_done(&r.row);
    return found;
}

static inline const struct job *job_named(const char *ref)
{
    return the(QUERY_JOBS, ref);
}
static inline const struct node *node(const char *name)
{
    return the(QUERY_NODES, name);
}
static inline const struct partition *part(const char *name)
{
    return the(QUERY_PARTITIONS, name);
}
static inline enum job_state state(uint64_t id)
{
    return (enum job_state)job(id)->state;
}

/* The batch script of a running job ends with a wait status. */
static inline void script_ends(uint64_t id, int32_t status)
{
    const struct job *j = job(id);
    report(j->batch_host[1] - '0', (struct msg_report){.kind = REPORT_EXITED,
                                                       .job_id = id,
                                                       .attempt = j->attempt,
                                                       .step_id = STEP_BATCH,
                                                       .exit_status = status,
                                                       .clean = true});
}

static inline size_t sent(enum effect_kind kind, enum message_kind message)
{
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        n += w.fx.v[i].kind == kind &&
             ((kind != FX_SEND && kind != FX_REPLY) || w.fx.v[i].msg.kind == message);
    return n;
}

static inline size_t mails(void)
{
    return sent(FX_MAIL, MESSAGE_COUNT);
}

static inline const struct mail *mail(size_t k)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_MAIL && k-- == 0)
            return &w.fx.v[i].mail;
    fail_msg("no such mail");
    return NULL;
}

/* ---- life of a world ---- */

static inline void configure(const char *text)
{
    struct err err = {0};
    config_done(&w.config);
    if (!config_parse(text, "test", NULL, NULL, &w.config, &err))
        fail_msg("%s", err.text);
    effects_reset(&w.fx);
    step((struct event){.kind = EV_CONFIG, .config = &w.config});
}

static inline void load(enum store_table table)
{
    for (size_t i = 0; i < w.store.n; i++)
        if (w.store.v[i].table == table)
            core_load(w.c, table, w.store.v[i].record);
}

static inline void start_controller(const char *conf)
{
    w.c = core_new(1, "ctl");
    configure(conf);
    load(TABLE_META);
    load(TABLE_USAGE);
    load(TABLE_PARTITION);
    load(TABLE_NODE);
    load(TABLE_RESERVATION);
    load(TABLE_ACCOUNT);
    load(TABLE_ACCOUNT_USER);
    load(TABLE_ASSOC);
    load(TABLE_QOS);
    load(TABLE_LIMIT);
    load(TABLE_WCKEY);
    load(TABLE_TRES);
    load(TABLE_USE);
    load(TABLE_TOKEN);
    load(TABLE_HOST);
    load(TABLE_CRONTAB);
    load(TABLE_TRIGGER);
    load(TABLE_ANSWERED);
    load(TABLE_JOB);
    load(TABLE_STEP);
    load(TABLE_QUEUED_STEP);
    core_loaded(w.c, w.now, &w.fx);
    core_check(w.c);
    settle(0);
}

/* The controller stops and comes back with what the store has. */
static inline void restart(const char *conf)
{
    core_free(w.c);
    effects_reset(&w.fx);
    start_controller(conf);
}

static inline void world_open(const char *conf, int nodes)
{
    memset(&w, 0, sizeof w);
    w.a = arena_new();
    w.now = INT64_C(1700000000) * SEC;
    effects_init(&w.fx);
    start_controller(conf);
    for (int i = 1; i <= nodes; i++)
        hello(i);
    am_alice();
}

static inline void world_close(void)
{
    core_check(w.c);
    core_free(w.c);
    config_done(&w.config);
    effects_done(&w.fx);
    vec_done(&w.store);
    arena_free(w.a);
}

static inline int setup(void **unused)
{
    world_open(CONF, 4);
    return 0;
}

static inline int teardown(void **unused)
{
    world_close();
    return 0;
}

#define STORY(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#endif
