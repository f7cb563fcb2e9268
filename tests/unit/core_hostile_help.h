/* Messages of every kind with something in each of their lists. */
#ifndef REMUDA_TESTS_CORE_HOSTILE_HELP_H
#define REMUDA_TESTS_CORE_HOSTILE_HELP_H

#include "base/rng.h"
#include "core_help.h"
#include "wire/frame.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- messages, with something in each list ---- */

struct draft {
    enum message_kind kind;
    void *body;
    const char **fields; /* of an update: names of the fields that are set */
};

static inline void *list_of(struct record_list *list, const struct fields *t)
{
    list->v = arena_alloc(w.a, t->size);
    list->n = 1;
    return list->v;
}

static inline struct msg_report *report_of(uint64_t id)
{
    struct msg_report *m = arena_alloc(w.a, sizeof *m);
    *m = (struct msg_report){
        .seq = 1, .kind = REPORT_EXITED, .job_id = id, .attempt = 1, .step_id = STEP_BATCH};
    list_of(&m->usage, &step_fields);
    return m;
}

static inline struct msg_submit *submit_of(bool test_only)
{
    struct msg_submit *m = arena_alloc(w.a, sizeof *m);
    *m = (struct msg_submit){.script = {"#!/bin/sh\n", 10}, .test_only = test_only};
    *(struct job_spec *)list_of(&m->specs, &job_spec_fields) = a_job("hostile");
    return m;
}

static inline struct msg_update_job *update_job_of(uint64_t id)
{
    struct msg_update_job *m = arena_alloc(w.a, sizeof *m);
    *m = (struct msg_update_job){.ids = ids_of(id)};
    list_of(&m->values, &job_spec_fields);
    return m;
}

static inline struct msg_update_reservation *reservation_of(bool create)
{
    struct msg_update_reservation *m = arena_alloc(w.a, sizeof *m);
    *m = (struct msg_update_reservation){.name = create ? "new" : "resv", .create = create};
    *(struct reservation *)list_of(&m->values, &reservation_fields) = (struct reservation){
        .users = "alice", .start_us = w.now + 60 * MIN, .duration_us = 60 * MIN, .nodes = "n4"};
    return m;
}

static inline struct msg_create_step *step_of(uint64_t id, bool async)
{
    struct msg_create_step *m = arena_alloc(w.a, sizeof *m);
    *m = (struct msg_create_step){
        .job_id = id, .overlap = true, .async = async, .tasks = {"tasks", async ? 5 : 0}};
    *(struct job_spec *)list_of(&m->spec, &job_spec_fields) =
        (struct job_spec){.name = "step", .req.ntasks = 1};
    return m;
}

/* Jobs of the world: RUNS runs, WAITS waits. */
#define RUNS   1
#define WAITS  2
#define DRAFTS 18

static inline struct draft draft(int which)
{
    struct draft d = {.kind = MESSAGE_COUNT};
#define BODY(message, structure, ...)                                                              \
    d.kind = message;                                                                              \
    d.body = arena_dup(w.a, &(struct structure){__VA_ARGS__}, sizeof(struct structure));
    switch (which) {
    case 0: d = (struct draft){MSG_SUBMIT, submit_of(false), NULL}; break;
    case 1: d = (struct draft){MSG_SUBMIT, submit_of(true), NULL}; break;
    case 2:
    case 3: {
        struct msg_update_job *m = update_job_of(which == 2 ? RUNS : WAITS);
        d = (struct draft){MSG_UPDATE_JOB, m, &m->fields};
        break;
    }
    case 4:
    case 5: {
        struct msg_update_reservation *m = reservation_of(which == 4);
        m->fields = which == 4 ? "users,start_us,duration_us,nodes" : NULL;
        d = (struct draft){MSG_UPDATE_RESERVATION, m, &m->fields};
        break;
    }
    case 6: {
        BODY(MSG_UPDATE_NODE, msg_update_node, .names = "n3")
        struct msg_update_node *m = d.body;
        list_of(&m->values, &node_fields);
        d.fields = &m->fields;
        break;
    }
    case 7:
    case 8: {
        BODY(MSG_UPDATE_PARTITION, msg_update_partition, .name = which == 7 ? "fresh" : "main",
             .create = which == 7)
        struct msg_update_partition *m = d.body;
        struct partition *p = list_of(&m->values, &partition_fields);
        p->nodes = "n[1-4]";
        m->fields = "nodes";
        d.fields = &m->fields;
        break;
    }
    case 9: d = (struct draft){MSG_CREATE_STEP, step_of(RUNS, false), NULL}; break;
    case 10: d = (struct draft){MSG_CREATE_STEP, step_of(RUNS, true), NULL}; break;
    case 11: BODY(MSG_CANCEL, msg_cancel, .ids = "1") break;
    case 12: BODY(MSG_FINISH_JOB, msg_finish_job, .job_id = RUNS) break;
    case 13: BODY(MSG_ATTACH_STEP, msg_attach_step, .job_id = RUNS) break;
    case 14: {
        BODY(MSG_MAKE_TOKEN, msg_make_token, .text = "t")
        struct msg_make_token *m = d.body;
        struct token *t = list_of(&m->token, &token_fields);
        t->id = "t";
        break;
    }
    case 15: {
        BODY(MSG_NODE_HELLO, msg_node_hello, .pid = 7)
        struct msg_node_hello *m = d.body;
        struct node *n = list_of(&m->node, &node_fields);
        *n = (struct node){.name = "n1", .real_cpus = 8, .real_memory_mib = 8000};
        struct held *h = list_of(&m->held, &held_fields);
        *h = (struct held){.job_id = RUNS, .attempt = 1, .step_id = STEP_BATCH};
        break;
    }
    case 16: d = (struct draft){MSG_REPORT, report_of(RUNS), NULL}; break;
    case 17: BODY(MSG_HEARTBEAT, msg_heartbeat, .free_mem_mib = 1) break;
    default: break;
    }
#undef BODY
    assert_true(d.kind != MESSAGE_COUNT);
    return d;
}

/* ---- numbers in them ---- */

struct number {
    const struct field *f;
    void *record;
};

#define EDGES 9
static inline uint64_t edge(const struct int_range *r, int which)
{
    const uint64_t v[EDGES] = {(uint64_t)r->min - 1, (uint64_t)r->min, r->max,       r->max + 1,
                               (uint64_t)INT64_MIN,  INT64_MAX,        (uint64_t)-1, 0,
                               INT64_MAX - 1};
    return v[which];
}

/* ---- one message, through the wire ---- */

/* Which message, which of its numbers, which value, who says it; of many numbers at once only the
 * seed. */
struct which {
    int message;
    size_t number;
    int edge;
    bool as_alice;
};

#endif
