/* A cluster of equal nodes in which jobs are planned one after the other: what each gets, as the
 * text of its allocation. */
#ifndef REMUDA_TESTS_SCHED_ALONE_H
#define REMUDA_TESTS_SCHED_ALONE_H

#include "sched_help.h"

struct world {
    struct cluster *cl;
    struct plan *plan;
};

static inline struct world world_make(struct node n, const char *nodes, struct partition p)
{
    struct world w = {cluster_new(), plan_new()};
    put_nodes(w.cl, nodes, n);
    put_part(w.cl, &p);
    return w;
}

static inline void world_end(struct world *w)
{
    cluster_check(w->cl);
    plan_free(w->plan);
    cluster_free(w->cl);
}

/* Plans the job alone; what starts goes on running. */
static inline const char *runs(struct world *w, uint64_t id, struct job_request req)
{
    req.partition = req.partition ? req.partition : "main";
    req.time_limit_us = HOUR;
    queue_job(w->cl, id, &req);
    sched_plan(w->cl, NOW, NULL, w->plan);
    const char *text = alloc_text(w->plan, id);
    cluster_unwait(w->cl, id);
    for (size_t i = 0; i < w->plan->nstarts; i++)
        cluster_start(w->cl, id, &req, 1000, w->plan->start[i].partition, &w->plan->start[i].alloc,
                      NOW, NOW + HOUR);
    return text;
}

#endif
