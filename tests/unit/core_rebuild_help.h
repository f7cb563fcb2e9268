/* A controller, nodes that answer when they like, and people who ask for this and that. */
#ifndef REMUDA_TESTS_CORE_REBUILD_HELP_H
#define REMUDA_TESTS_CORE_REBUILD_HELP_H

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

static inline uint64_t upto(uint64_t n)
{
    return rng_below(&rng, n);
}

static inline struct fake *fake_of(uint64_t conn)
{
    for (size_t i = 0; i < NODES; i++)
        if (fakes[i].connected && fakes[i].conn == conn)
            return &fakes[i];
    return NULL;
}

static inline void acknowledge(struct fake *f, uint64_t seq)
{
    for (size_t i = 0; i < f->unacknowledged.n; i++)
        if (f->unacknowledged.v[i].seq == seq) {
            vec_remove(&f->unacknowledged, i);
            return;
        }
}

/* What the machine sent in this turn arrives, if the turn is let out. */
static inline void deliver(void)
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

static inline void say_and_deliver(uint64_t conn, enum message_kind kind, const void *body)
{
    say(conn, kind, body);
    deliver();
}

static inline void fake_report(struct fake *f, struct msg_report m, bool repeated)
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

static inline struct fake_held *fake_find(struct fake *f, uint64_t job_id, uint32_t attempt)
{
    for (size_t i = 0; i < f->held.n; i++)
        if (f->held.v[i].job_id == job_id && f->held.v[i].attempt == attempt)
            return &f->held.v[i];
    return NULL;
}

static inline void fake_ends(struct fake *f, size_t i, int32_t status)
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

static inline void fake_launch(struct fake *f, const struct job *j)
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

static inline void fake_acts(struct fake *f)
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

static inline void fake_connects(size_t i)
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

static inline void fake_leaves(struct fake *f)
{
    f->connected = false;
    vec_clear(&f->inbox);
    effects_reset(&w.fx);
    step((struct event){.kind = EV_CLOSED, .conn = f->conn});
    settle(0);
    deliver();
}

/* ---- people ---- */

static inline void someone(void)
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
static inline struct job_spec some_job(void)
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

static inline void submit_some(void)
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

static inline void control_some(void)
{
    struct msg_job_control m = {
        .ids = some_ref(), .action = (int32_t)upto(ACTION_TOP + 1), .special_exit = upto(3) == 0};
    say_and_deliver(1, MSG_JOB_CONTROL, &m);
}

static inline void update_some(void)
{
    struct job_spec values = {.name = upto(2) ? "a" : "renamed",
                              .comment = "changed",
                              .nice = (int32_t)upto(50),
                              .req = {.time_limit_us = (int64_t)(1 + upto(20)) * MIN}};
    static const char *const fields[] = {"name",          "comment",    "nice",
                                         "time_limit_us", "dependency", "min_nodes"};
    struct msg_update_job m = {
        .ids = some_ref(), .fields = fields[upto(6)], .values = {&values, 1}};
    values.req.min_nodes = text_is(m.fields, "min_nodes");
    if (text_is(m.fields, "dependency"))
        values.dependency = upto(2) ? some_dependency() : NULL;
    if (upto(6) == 0) {
        m.fields = NULL;
        m.array_limit_plus1 = (uint32_t)upto(4);
    }
    say_and_deliver(1, MSG_UPDATE_JOB, &m);
}

static inline void extend_some(void)
{
    struct msg_extend m = {.id = some_ref(), .add_us = (int64_t)(1 + upto(30)) * MIN};
    say_and_deliver(1, MSG_EXTEND, &m);
}

static inline void node_update_some(void)
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

static inline void reservation_make(void)
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

static inline void reservation_some(void)
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

static inline void time_passes(void)
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

static inline void something(void)
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
    case 5:
        if (upto(4))
            update_some();
        else
            extend_some();
        return;
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

#endif
