/* The planner: cluster + now → who starts where now, who is promised what later, and why each other
 * job waits. */
#ifndef REMUDA_SCHED_PLAN_H
#define REMUDA_SCHED_PLAN_H

#include "model/record/priority.h"
#include "sched/cluster.h"

/* How much work a pass may do. The whole queue is always considered; a budget bounds how many get a
 * promised start computed. */
struct budget {
    uint32_t promises; /* at most so many planned starts; 0 = the default of the policy */
    bool no_forecast;  /* what starts now, and what is promised, is enough */
    /* A forecast that costs more, in entries looked at (about 5 ns each), is broken off, and left
     * to others from then on (plan.foresee); 0 = it is made whatever it costs. */
    uint64_t forecast_most;
};

struct plan_start {
    uint64_t job_id;         /* of an array: one element of it */
    const char *partition;   /* one of its own */
    const char *reservation; /* that it runs in; NULL = none */
    struct alloc alloc;      /* nodes, CPUs and devices */
    /* Limit of this run (default of the partition applied, time_min considered); TIME_UNLIMITED =
     * none. */
    int64_t limit_us;
    /* Multifactor priority when it was planned; plan_wait_of tells more, but has to work it out. */
    uint64_t priority;
    bool backfilled; /* ahead of others that come first in the order but do not fit */
};

struct plan_wait {
    enum job_reason reason; /* as squeue shows it */
    const char *detail;     /* sentence with every blocker and its count; may be NULL */
    uint64_t priority;      /* multifactor priority */
    uint32_t rank;          /* 1 = next */
    /* REQ_NODE_NOT_AVAIL: those of its partition that are down or drained, folded */
    const char *away_nodes;
    int64_t planned_us;        /* 0 = none */
    const char *planned_nodes; /* folded; NULL = none */
};

struct plan_preempt {
    uint64_t victim;  /* running job that must give way */
    uint64_t for_job; /* who gets what comes free */
    enum preempt_mode mode;
};

/* Answer of the last pass; kept between passes, because promises and incremental planning live in
 * it. */
struct plan {
    struct plan_start *start;
    size_t nstarts; /* in the order they are to be done */
    struct plan_preempt *preempt;
    size_t npreempts;
    uint64_t *resume; /* work that was suspended for others and goes on */
    size_t nresumes;
    int64_t next_us;     /* plan again by then even if nothing happens; 0 = no need */
    uint64_t considered; /* waiting jobs (array elements counted once) looked at */
    /* Of the forecast that this pass made, or began, in entries looked at; 0 = it made none */
    uint64_t foreseen_cost;
    /* A forecast is due that costs more than the budget allows: plan_foresee makes it */
    bool foresee;
    struct plan_private *priv;
};
/* Never NULL; what a pass says is good until the next pass of the same plan. */
struct plan *plan_new(void);
void plan_free(struct plan *p); /* NULL is allowed */

/* One pass. Deterministic: no floating point, no iteration by address. The starts are not applied:
 * the caller calls cluster_unwait/cluster_start. */
void sched_plan(struct cluster *cl, int64_t now_us, struct budget *b, struct plan *ret_plan);

/* The forecast that is due, in a form for plan_foreseen of the same program: to be made where it
 * holds nobody up, in a copy of the process. For the cluster it is as if nobody had asked. */
void plan_foresee(struct cluster *cl, int64_t now_us, struct str *out);

/* A forecast on its way into a plan; `at` and `more` are zero before the first call. */
struct foreseen {
    const struct str *bytes; /* as plan_foresee wrote them */
    size_t at;
    bool more; /* call again */
};
/* Takes it over in parts of `most` jobs and nodes of jobs (or one job). Until the last is there the
 * former forecast stands. It is dropped if nodes were configured anew meanwhile. */
void plan_foreseen(struct plan *p, struct cluster *cl, struct foreseen *f, size_t most);

/* What the last pass found about a waiting job (texts valid until the next pass). False if it was
 * not waiting then. */
bool plan_wait_of(const struct plan *p, struct cluster *cl, uint64_t job_id, struct plan_wait *ret);

/* The priority of a waiting job in each of its partitions, taken apart. Texts live during the call;
 * names of people are not filled in. */
typedef void (*priority_take)(void *ctx, const struct priority_row *row);
/* A row for each partition that the waiting job may start in; none where it does not wait. */
void sched_priority_rows(struct cluster *cl, uint64_t job_id, int64_t now_us, priority_take take,
                         void *ctx);
/* The same of a job that the planner does not have, as it would be if it had. */
void sched_priority_of(struct cluster *cl, const struct waiting *w, int64_t now_us,
                       priority_take take, void *ctx);

#endif
