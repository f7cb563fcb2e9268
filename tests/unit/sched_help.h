/* A small cluster for the planner's tests. */
#ifndef SCHED_HELP_H
#define SCHED_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/hostlist.h"
#include "base/str.h"
#include "model/settings/settings_value.h"
#include "sched/cluster.h"
#include "sched/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOUR USEC_PER_HOUR
#define MIN  USEC_PER_MIN
#define NOW  (INT64_C(1000000) * USEC_PER_SEC)

/* name: one node; 8 cores of one thread on 2 sockets, 8000 MiB, unless changed in the struct it
 * returns. */
static inline struct node a_node(const char *name)
{
    return (struct node){.name = name,
                         .state = NODE_UP,
                         .cpus = 8,
                         .sockets = 2,
                         .cores_per_socket = 4,
                         .threads_per_core = 1,
                         .memory_mib = 8000,
                         .weight = 1};
}

/* A request for that many nodes of partition main, each whole, for limit_us. */
static inline struct job_request nodes_whole(int32_t n, int64_t limit_us)
{
    return (struct job_request){.partition = "main",
                                .exclusive = EXCLUSIVE_NODE,
                                .min_nodes = n,
                                .max_nodes = n,
                                .time_limit_us = limit_us};
}

static inline void put_node(struct cluster *cl, const struct node *n)
{
    struct err e = {0};
    if (!cluster_put_node(cl, n, &e))
        fail_msg("%s", e.text);
}

static inline void put_nodes(struct cluster *cl, const char *names, struct node n)
{
    struct hostlist h = HOSTLIST_INIT;
    assert_true(hostlist_parse(&h, names, NULL));
    for (size_t i = 0; i < h.n; i++) {
        n.name = h.name[i];
        put_node(cl, &n);
    }
    hostlist_done(&h);
}

static inline struct partition a_part(const char *name, const char *nodes)
{
    return (struct partition){.name = name,
                              .nodes = nodes,
                              .is_default = true,
                              .priority_tier = 1,
                              .priority_job_factor = 1};
}

static inline void put_part(struct cluster *cl, const struct partition *p)
{
    struct err e = {0};
    if (!cluster_put_partition(cl, p, &e))
        fail_msg("%s", e.text);
}

static inline void queue_job(struct cluster *cl, uint64_t id, const struct job_request *req)
{
    struct waiting w = {.job_id = id,
                        .req = req,
                        .uid = 1000,
                        .elements = 1,
                        .submit_us = NOW - 1000000 + (int64_t)id,
                        .eligible_us = NOW - 1000000 + (int64_t)id};
    cluster_wait(cl, &w);
}

/* Carries the starts of a plan out. */
static inline void apply(struct cluster *cl, const struct plan *p, int64_t now,
                         struct job_request (*req_of)(struct cluster *, uint64_t))
{
    for (size_t i = 0; i < p->nstarts; i++) {
        const struct plan_start *s = &p->start[i];
        struct job_request req = req_of(cl, s->job_id);
        int64_t end = s->limit_us == TIME_UNLIMITED ? TIME_UNLIMITED : now + s->limit_us;
        cluster_start(cl, s->job_id, &req, 1000, s->partition, &s->alloc, now, end);
        cluster_unwait(cl, s->job_id);
    }
}

static inline const struct plan_start *start_of(const struct plan *p, uint64_t id)
{
    for (size_t i = 0; i < p->nstarts; i++)
        if (p->start[i].job_id == id)
            return &p->start[i];
    return NULL;
}

/* "n1 cpus=0-3 mem=4000 …" of a start; "" if it did not start. Static buffer. */
static inline const char *alloc_text(const struct plan *p, uint64_t id)
{
    static char text[4096];
    struct str s = STR_INIT;
    const struct plan_start *st = start_of(p, id);
    if (st)
        alloc_format(&st->alloc, &s);
    snprintf(text, sizeof text, "%s", str_text(&s));
    str_done(&s);
    return text;
}

/* A cluster that orders by the multifactor priority: for tests whose subject is not the order. */
static inline void put_setting(struct settings *s, const char *key, const char *value)
{
    struct err e = {0};
    if (!setting_set(setting_find(key), s, value, &e))
        fail_msg("%s=%s: %s", key, value, e.text);
}

static inline struct cluster *cluster_of_factors(void)
{
    struct cluster *cl = cluster_new();
    struct settings s;
    settings_default(&s);
    put_setting(&s, "PriorityType", "priority/multifactor");
    cluster_set_policy(cl, &s);
    return cl;
}

#endif
