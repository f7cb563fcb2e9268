/* What a kill at any instant leaves: worlds of random events, each cut many times. At a cut a
 * second machine is made from the stored rows alone, and must show what the first one shows. Now
 * and then the first one is thrown away and the second goes on, and with it a lost turn's
 * messages. */
#include "base/rng.h"
#include "core_help.h"
#include "model/job/array.h"

#include <stdio.h>
#include <stdlib.h>

#define NODES 4

/* ---- nodes that answer when they like ---- */

struct fake_held {
    uint64_t job_id;
    uint32_t attempt;
    bool told; /* that it started */
};

struct fake {
    bool connected;
    uint64_t conn;
    VEC(struct message) inbox; /* bodies live in the world's arena */
    VEC(struct fake_held) held;
    VEC(struct msg_report) unacknowledged;
};

static struct fake fakes[NODES];
static struct rng rng;
static uint64_t next_conn, next_report;

static uint64_t upto(uint64_t n)
{
    return rng_below(&rng, n);
}

static struct fake *fake_of(uint64_t conn)
{
    for (size_t i = 0; i < NODES; i++)
        if (fakes[i].connected && fakes[i].conn == conn)
            return &fakes[i];
    return NULL;
}

static void acknowledge(struct fake *f, uint64_t seq)
{
    for (size_t i = 0; i < f->unacknowledged.n; i++)
        if (f->unacknowledged.v[i].seq == seq) {
            vec_remove(&f->unacknowledged, i);
            return;
        }
}

/* What the machine sent in this turn arrives, if the turn is let out. */
static void deliver(void)
{
    for (size_t i = 0; i < w.fx.n; i++) {
        const struct effect *e = &w.fx.v[i];
        struct fake *f = e->kind == FX_SEND || e->kind == FX_CLOSE ? fake_of(e->conn) : NULL;
        if (!f)
            continue;
        if (e->kind == FX_CLOSE) {
            f->connected = false;
        } else if (e->msg.kind == MSG_REPORT_ACK) {
            acknowledge(f, ((const struct msg_report_ack *)e->msg.body)->seq);
        } else {
            const struct fields *t = message_fields(e->msg.kind);
            struct message m = {.kind = e->msg.kind, .body = arena_alloc(w.a, t->size)};
            record_copy(t, (void *)(uintptr_t)m.body, e->msg.body, w.a);
            vec_push(&f->inbox, m);
        }
    }
}

static void say_and_deliver(uint64_t conn, enum message_kind kind, const void *body)
{
    say(conn, kind, body);
    deliver();
}

static void fake_report(struct fake *f, struct msg_report m, bool repeated)
{
    if (repeated) {
        m.seq = ++next_report;
        vec_push(&f->unacknowledged, m);
    }
    if (!f->connected)
        return;
    am_root();
    say_and_deliver(f->conn, MSG_REPORT, &m);
}

static struct fake_held *fake_find(struct fake *f, uint64_t job_id, uint32_t attempt)
{
    for (size_t i = 0; i < f->held.n; i++)
        if (f->held.v[i].job_id == job_id && f->held.v[i].attempt == attempt)
            return &f->held.v[i];
    return NULL;
}

static void fake_ends(struct fake *f, size_t i, int32_t status)
{
    struct fake_held h = f->held.v[i];
    struct step usage = {.cpu_user_us = (int64_t)upto(1000), .cpu_system_us = 7};
    struct step *kept = arena_dup(w.a, &usage, sizeof usage);
    vec_remove(&f->held, i);
    struct msg_report m = {.kind = REPORT_EXITED,
                           .job_id = h.job_id,
                           .attempt = h.attempt,
                           .step_id = STEP_BATCH,
                           .exit_status = status,
                           .usage = {kept, 1}};
    m.clean = upto(3) > 0;
    m.oom = upto(10) == 0;
    fake_report(f, m, true);
    if (!m.clean)
        fake_report(f,
                    (struct msg_report){.kind = REPORT_RELEASED,
                                        .job_id = h.job_id,
                                        .attempt = h.attempt,
                                        .step_id = STEP_BATCH},
                    true);
}

static void fake_launch(struct fake *f, const struct job *j)
{
    if (fake_find(f, j->id, j->attempt))
        return;
    struct msg_report m = {.kind = REPORT_FAILED,
                           .job_id = j->id,
                           .attempt = j->attempt,
                           .step_id = STEP_BATCH,
                           .retry = upto(2),
                           .detail = "no such directory"};
    if (upto(15) == 0) {
        fake_report(f, m, true);
        return;
    }
    struct fake_held h = {.job_id = j->id, .attempt = j->attempt, .told = true};
    vec_push(&f->held, h);
    m.kind = REPORT_STARTED;
    m.detail = NULL;
    fake_report(f, m, false);
}

static void fake_acts(struct fake *f)
{
    if (!f->inbox.n)
        return;
    struct message m = f->inbox.v[0];
    vec_remove(&f->inbox, 0);
    if (m.kind == MSG_LAUNCH) {
        fake_launch(f, ((const struct msg_launch *)m.body)->job.v);
    } else if (m.kind == MSG_TERMINATE) {
        const struct msg_terminate *t = m.body;
        struct fake_held *h = fake_find(f, t->job_id, t->attempt);
        if (h)
            fake_ends(f, (size_t)(h - f->held.v), 15);
        else
            fake_report(f,
                        (struct msg_report){.kind = REPORT_RELEASED,
                                            .job_id = t->job_id,
                                            .attempt = t->attempt,
                                            .step_id = STEP_BATCH},
                        true);
    }
}

static void fake_connects(size_t i)
{
    struct fake *f = &fakes[i];
    struct held held[64];
    struct node said = {.name = arena_printf(w.a, "n%zu", i + 1),
                        .real_cpus = upto(8) ? 8 : 4,
                        .real_memory_mib = 8000,
                        .version = "test"};
    struct msg_node_hello m = {.node = {&said, 1}, .held = {held, 0}};
    for (size_t k = 0; k < f->held.n && k < ARRAY_LEN(held); k++)
        held[m.held.n++] = (struct held){
            .job_id = f->held.v[k].job_id, .attempt = f->held.v[k].attempt, .step_id = STEP_BATCH};
    for (size_t k = 0; k < f->unacknowledged.n && m.held.n < ARRAY_LEN(held); k++)
        held[m.held.n++] = (struct held){.job_id = f->unacknowledged.v[k].job_id,
                                         .attempt = f->unacknowledged.v[k].attempt,
                                         .step_id = STEP_BATCH,
                                         .ended = true};
    f->connected = true;
    f->conn = ++next_conn;
    vec_clear(&f->inbox);
    am_root();
    say_and_deliver(f->conn, MSG_NODE_HELLO, &m);
    /* What was not acknowledged is said again. */
    struct msg_report *again = f->unacknowledged.n ? arena_dup(w.a, f->unacknowledged.v,
                                                               f->unacknowledged.n * sizeof *again)
                                                   : NULL;
    size_t n = f->unacknowledged.n;
    for (size_t k = 0; k < n && f->connected; k++) {
        am_root();
        say_and_deliver(f->conn, MSG_REPORT, &again[k]);
    }
}

static void fake_leaves(struct fake *f)
{
    f->connected = false;
    vec_clear(&f->inbox);
    effects_reset(&w.fx);
    step((struct event){.kind = EV_CLOSED, .conn = f->conn});
    settle(0);
    deliver();
}

/* ---- people ---- */

static void someone(void)
{
    if (upto(4) == 0)
        am_olga();
    else if (upto(2))
        am_alice();
    else
        am_bob();
}

static uint64_t last_id;

static const char *some_ref(void)
{
    uint64_t id = 1 + upto(last_id ? last_id : 1);
    if (upto(4) == 0)
        return arena_printf(w.a, "%llu_%u", (unsigned long long)id, (unsigned)upto(6));
    if (upto(8) == 0)
        return arena_printf(w.a, "%llu_[2-4]", (unsigned long long)id);
    return ids_of(id);
}

static const char *some_dependency(void)
{
    static const char *const kinds[] = {"after", "afterany", "afterok", "afternotok", "aftercorr"};
    unsigned long long a = 1 + upto(last_id ? last_id : 1), b = 1 + upto(last_id ? last_id : 1);
    switch (upto(4)) {
    case 0: return "singleton";
    case 1: return arena_printf(w.a, "%s:%llu?%s:%llu", kinds[upto(5)], a, kinds[upto(5)], b);
    case 2:
        return arena_printf(w.a, "%s:%llu,%s:%llu_%u", kinds[upto(5)], a, kinds[upto(5)], b,
                            (unsigned)upto(5));
    default: return arena_printf(w.a, "%s:%llu", kinds[upto(5)], a);
    }
}

static const char *some_reservation(void);
static struct job_spec some_job(void)
{
    static const char *const names[] = {"a", "b", "train"};
    struct job_spec s = upto(3) ? a_job(names[upto(3)]) : a_wide_job(names[upto(3)]);
    if (upto(3) == 0)
        s.array = arena_printf(w.a, "0-%u%%%u", (unsigned)upto(7), 1 + (unsigned)upto(3));
    else if (upto(4) == 0)
        s.array = "1-5";
    if (upto(3) == 0)
        s.dependency = some_dependency();
    if (upto(6) == 0)
        s.kill_on_invalid_dep = YES;
    if (upto(8) == 0)
        s.hold = true;
    if (upto(8) == 0)
        s.begin_us = w.now + (int64_t)upto(600) * SEC;
    if (upto(8) == 0)
        s.deadline_us = w.now + (int64_t)upto(7200) * SEC;
    if (upto(5) == 0)
        s.requeue = upto(2) ? YES : NO;
    s.mail_types = upto(3) ? 0 : MAIL_BEGIN | MAIL_END | MAIL_FAIL | MAIL_TIME_LIMIT_50;
    s.req.min_nodes = upto(5) ? s.req.min_nodes : 2;
    s.req.max_nodes = s.req.min_nodes;
    if (upto(4) == 0)
        s.req.reservation = upto(6) ? some_reservation() : "r1,r2";
    return s;
}

static void submit_some(void)
{
    struct job_spec specs[3] = {some_job(), some_job(), some_job()};
    struct msg_submit m = {.specs = {specs, 1}, .script = {"#!/bin/sh\n", 10}};
    if (upto(10) == 0) {
        m.specs.n = 3;
        for (size_t i = 0; i < 3; i++)
            specs[i].array = NULL;
    }
    say_and_deliver(1, MSG_SUBMIT, &m);
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_SUBMITTED)
            last_id = ((const struct msg_submitted *)w.fx.v[i].msg.body)->job_id + m.specs.n - 1;
}

static void control_some(void)
{
    struct msg_job_control m = {
        .ids = some_ref(), .action = (int32_t)upto(ACTION_TOP + 1), .special_exit = upto(3) == 0};
    say_and_deliver(1, MSG_JOB_CONTROL, &m);
}

static void update_some(void)
{
    struct job_spec values = {.name = upto(2) ? "a" : "renamed",
                              .comment = "changed",
                              .nice = (int32_t)upto(50),
                              .req = {.time_limit_us = (int64_t)(1 + upto(20)) * MIN}};
    static const char *const fields[] = {"name", "comment", "nice", "time_limit_us", "dependency"};
    struct msg_update_job m = {
        .ids = some_ref(), .fields = fields[upto(5)], .values = {&values, 1}};
    if (text_is(m.fields, "dependency"))
        values.dependency = upto(2) ? some_dependency() : NULL;
    if (upto(6) == 0) {
        m.fields = NULL;
        m.array_limit_plus1 = (uint32_t)upto(4);
    }
    say_and_deliver(1, MSG_UPDATE_JOB, &m);
}

static void node_update_some(void)
{
    static const char *const states[] = {"DRAIN", "RESUME", "DOWN", "RESUME", "UNDRAIN"};
    struct msg_update_node m = {.names = arena_printf(w.a, "n%u", 1 + (unsigned)upto(NODES)),
                                .state = states[upto(5)],
                                .reason = "by hand"};
    am_root();
    say_and_deliver(1, MSG_UPDATE_NODE, &m);
}

static const char *some_reservation(void)
{
    return arena_printf(w.a, "r%u", 1 + (unsigned)upto(3));
}

static void reservation_make(void)
{
    static const uint32_t flags[] = {0,
                                     0,
                                     RESV_IGNORE_JOBS,
                                     RESV_OVERLAP,
                                     RESV_MAINT | RESV_IGNORE_JOBS,
                                     RESV_HOURLY,
                                     RESV_PURGE_COMP,
                                     RESV_FLEX,
                                     RESV_REPLACE_DOWN,
                                     RESV_REPLACE};
    struct reservation r = {.users = "alice,bob",
                            .flags = flags[upto(ARRAY_LEN(flags))],
                            .start_us = w.now + (int64_t)upto(1200) * SEC,
                            .purge_us = MIN};
    r.duration_us = (int64_t)(1 + upto(40)) * MIN;
    struct msg_update_reservation m = {
        .name = some_reservation(), .create = true, .values = {&r, 1}};
    const char *what = upto(2) ? "node_count" : "core_counts";
    if (upto(3) == 0 && !(r.flags & (RESV_REPLACE | RESV_REPLACE_DOWN)))
        what = "nodes", r.nodes = upto(3) ? "n2" : "ALL";
    r.node_count = 1 + (int32_t)upto(2);
    r.core_counts = "3";
    m.fields = arena_printf(w.a, "users,flags,purge_us,start_us,duration_us,%s", what);
    say_and_deliver(1, MSG_UPDATE_RESERVATION, &m);
}

static void reservation_some(void)
{
    struct reservation r = {.duration_us = (int64_t)(1 + upto(40)) * MIN,
                            .users = "bob",
                            .end_us = w.now + (int64_t)upto(600) * SEC};
    struct msg_update_reservation m = {.name = some_reservation(), .values = {&r, 1}};
    static const char *const fields[] = {"duration_us", "users", "end_us"};
    am_root();
    if (upto(2)) {
        reservation_make();
        return;
    }
    m.remove = upto(3) == 0;
    m.skip = !m.remove && upto(4) == 0;
    m.fields = fields[upto(ARRAY_LEN(fields))];
    say_and_deliver(1, MSG_UPDATE_RESERVATION, &m);
}

static void time_passes(void)
{
    static const int64_t spans[] = {SEC, 10 * SEC, MIN, 5 * MIN, 20 * MIN};
    struct msg_heartbeat alive = {0};
    w.now += (int64_t)upto((uint64_t)spans[upto(5)]);
    am_root();
    for (size_t i = 0; i < NODES; i++)
        if (fakes[i].connected && upto(20)) {
            struct message m = {.kind = MSG_HEARTBEAT, .body = &alive};
            effects_reset(&w.fx);
            step((struct event){
                .kind = EV_MESSAGE, .conn = fakes[i].conn, .peer = &w.peer, .msg = &m});
        }
    effects_reset(&w.fx);
    settle(0);
    deliver();
}

static void something(void)
{
    struct fake *f = &fakes[upto(NODES)];
    someone();
    switch (upto(17)) {
    case 0:
    case 1:
    case 2: submit_some(); return;
    case 3: {
        struct msg_cancel m = {.ids = some_ref(), .signal = upto(4) ? 0 : 10};
        say_and_deliver(1, MSG_CANCEL, &m);
        return;
    }
    case 4: control_some(); return;
    case 5: update_some(); return;
    case 6:
        if (upto(4) == 0)
            node_update_some();
        return;
    case 7:
        if (!f->connected)
            fake_connects((size_t)(f - fakes));
        else if (upto(5) == 0)
            fake_leaves(f);
        return;
    case 8:
    case 9: time_passes(); return;
    case 10:
    case 11:
    case 12:
        if (f->held.n)
            fake_ends(f, (size_t)upto(f->held.n), upto(3) ? 0 : status_of_code(1));
        return;
    case 13: reservation_some(); return;
    default: fake_acts(f); return;
    }
}

/* ---- looking ---- */

struct pictures {
    enum query_what what;
    VEC(void *) row;
};

static void picture_take(void *ctx, const void *record)
{
    struct pictures *p = ctx;
    const struct fields *t = row_fields[p->what];
    void *copy = arena_alloc(w.a, t->size);
    record_copy(t, copy, record, w.a);
    vec_push(&p->row, copy);
}

/* What a restart may lawfully not know: what the planner thought, and what only a connected node
 * says. */
static bool job_normal(struct job *j)
{
    enum job_reason r = (enum job_reason)j->reason;
    bool kept = r == REASON_DEPENDENCY || r == REASON_DEPENDENCY_NEVER || r == REASON_BEGIN_TIME ||
                r == REASON_HELD_USER || r == REASON_HELD_ADMIN || r == REASON_MAX_REQUEUE ||
                r == REASON_LAUNCH_FAILED_HELD || r == REASON_ARRAY_TASK_LIMIT ||
                r == REASON_REQUEUED_HELD;
    j->planned_us = j->evaluated_us = 0;
    j->planned_nodes = j->away_nodes = NULL;
    if (j->state == JOB_PENDING) {
        j->priority = 0;
        j->end_us = 0; /* as planned */
        if (!kept) {
            j->reason = REASON_NONE;
            j->reason_detail = NULL;
        }
    }
    return !job_state_over((enum job_state)j->state) || j->end_us + 300 * SEC > w.now;
}

static void node_normal(struct node *n)
{
    if (n->state == NODE_UP)
        n->state = NODE_UNKNOWN;
    n->responding = n->planned = false;
    n->last_seen_us = n->last_busy_us = 0;
    n->load_centi = 0;
    n->free_mem_mib = 0;
}

static bool normal(enum query_what what, void *row)
{
    if (what == QUERY_JOBS)
        return job_normal(row);
    if (what == QUERY_NODES)
        node_normal(row);
    return true;
}

static int job_order(const void *a, const void *b)
{
    const struct job *x = *(const struct job *const *)a, *y = *(const struct job *const *)b;
    return (x->id > y->id) - (x->id < y->id);
}

static int step_order(const void *a, const void *b)
{
    const struct step *x = *(const struct step *const *)a, *y = *(const struct step *const *)b;
    return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

static struct pictures look(const struct core *c, enum query_what what)
{
    struct pictures all = {.what = what}, p = {.what = what};
    struct msg_query q = {.what = (int32_t)what, .states = what == QUERY_JOBS ? "all" : NULL};
    struct view view = {picture_take, &all};
    struct str detail = STR_INIT;
    assert_int_equal(core_query(c, &q, &w.peer, w.now, &view, &detail), REFUSE_NONE);
    str_done(&detail);
    for (size_t i = 0; i < all.row.n; i++)
        if (normal(what, all.row.v[i]))
            vec_push(&p.row, all.row.v[i]);
    vec_done(&all.row);
    if ((what == QUERY_JOBS || what == QUERY_STEPS) && p.row.n)
        qsort(p.row.v, p.row.n, sizeof p.row.v[0], what == QUERY_JOBS ? job_order : step_order);
    return p;
}

static const char *value_text(const struct field *f, const void *row)
{
    if (f->type == FIELD_TEXT) {
        const char *t = *(const char *const *)field_ptr(f, row);
        return t ? t : "(null)";
    }
    if (f->type == FIELD_BOOL)
        return *(const bool *)field_ptr(f, row) ? "yes" : "no";
    if (f->type == FIELD_I32 || f->type == FIELD_ENUM || f->type == FIELD_U32)
        return arena_printf(w.a, "%d", *(const int32_t *)field_ptr(f, row));
    return arena_printf(w.a, "%lld", (long long)*(const int64_t *)field_ptr(f, row));
}

static void differ(const char *when, const struct fields *t, const void *a, const void *b)
{
    struct str text = STR_INIT;
    for (size_t i = 0; i < t->n; i++) {
        struct fields one = {t->name, t->size, &t->field[i], 1};
        if (!record_equal(&one, a, b) || text_is(t->field[i].name, "id") ||
            text_is(t->field[i].name, "name") || text_is(t->field[i].name, "state"))
            str_addf(&text, "%s: %s | %s; ", t->field[i].name, value_text(&t->field[i], a),
                     value_text(&t->field[i], b));
    }
    print_message("%s, %s: %s\n", when, t->name, str_text(&text));
    str_done(&text);
    fail_msg("the rebuilt machine differs");
}

static void compare(const char *when, const struct core *one, const struct core *two)
{
    static const enum query_what whats[] = {QUERY_JOBS, QUERY_NODES, QUERY_PARTITIONS, QUERY_STEPS,
                                            QUERY_RESERVATIONS};
    for (size_t k = 0; k < ARRAY_LEN(whats); k++) {
        struct pictures a = look(one, whats[k]), b = look(two, whats[k]);
        for (size_t i = 0; i < a.row.n && i < b.row.n; i++)
            if (whats[k] == QUERY_JOBS &&
                ((struct job *)a.row.v[i])->id != ((struct job *)b.row.v[i])->id)
                differ(when, &job_fields, a.row.v[i], b.row.v[i]);
            else if (!record_equal(row_fields[whats[k]], a.row.v[i], b.row.v[i]))
                differ(when, row_fields[whats[k]], a.row.v[i], b.row.v[i]);
        if (a.row.n != b.row.n)
            fail_msg("%s, %s: %zu rows, rebuilt %zu", when, row_fields[whats[k]]->name, a.row.n,
                     b.row.n);
        vec_done(&a.row);
        vec_done(&b.row);
    }
}

static void load_live(struct core *c, enum store_table table)
{
    for (size_t i = 0; i < w.store.n; i++) {
        const struct kept *row = &w.store.v[i];
        const struct job *j = row->record;
        if (row->table == table &&
            (table != TABLE_JOB || !job_state_over((enum job_state)j->state) ||
             j->end_us >= w.now - 300 * SEC))
            core_load(c, table, row->record);
    }
}

static struct core *rebuilt(void)
{
    struct core *c = core_new(1, "ctl");
    static const enum store_table order[] = {TABLE_META, TABLE_USAGE,       TABLE_PARTITION,
                                             TABLE_NODE, TABLE_RESERVATION, TABLE_JOB,
                                             TABLE_STEP};
    struct effects fx;
    effects_init(&fx);
    core_step(c, &(struct event){.kind = EV_CONFIG, .now_us = w.now, .config = &w.config}, &fx);
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        load_live(c, order[i]);
    core_loaded(c, w.now, &fx);
    core_check(c);
    effects_done(&fx);
    return c;
}

static void cut(const char *when, bool killed)
{
    struct core *twin = rebuilt();
    compare(when, w.c, twin);
    core_free(killed ? w.c : twin);
    if (!killed)
        return;
    w.c = twin;
    for (size_t i = 0; i < NODES; i++) {
        fakes[i].connected = false;
        vec_clear(&fakes[i].inbox);
    }
}

static void world_play(uint64_t seed, unsigned events)
{
    world_open(CONF, 0);
    memset(fakes, 0, sizeof fakes);
    rng.state = seed;
    next_conn = 1000;
    next_report = last_id = 0;
    for (size_t i = 0; i < NODES; i++)
        fake_connects(i);
    for (unsigned i = 0; i < events; i++) {
        something();
        if (i % 4 == 0)
            cut(arena_printf(w.a, "seed %llu, event %u", (unsigned long long)seed, i),
                upto(25) == 0);
    }
    for (size_t i = 0; i < NODES; i++) {
        vec_done(&fakes[i].inbox);
        vec_done(&fakes[i].held);
        vec_done(&fakes[i].unacknowledged);
    }
    world_close();
}

static void what_was_stored_makes_the_same_machine(void **unused)
{
    const char *first = getenv("SEED");
    if (first)
        world_play(strtoull(first, NULL, 10), 600);
    else
        for (uint64_t seed = 1; seed <= 25; seed++)
            world_play(seed, 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_stored_makes_the_same_machine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
