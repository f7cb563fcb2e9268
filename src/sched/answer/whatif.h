/* What if a waiting job asked for something else? The planner's own pass over the same cluster and
 * queue, with that job changed in place; nothing that anyone can see changes. */
#ifndef REMUDA_SCHED_ANSWER_WHATIF_H
#define REMUDA_SCHED_ANSWER_WHATIF_H

#include "sched/pass/pass.h"

struct whatif {
    struct cluster *cl;      /* as it is afterwards, too */
    const struct plan *live; /* where promises stand */
    const struct wjob *job;
    int64_t now_us;
    bool anew;     /* as a job that is submitted now, not in its place in the order */
    bool forecast; /* look into the future, too, if it does not start now */
    /* Counted work so far, in entries looked at (about 5 ns); no pass begins above the bound */
    uint64_t cost, cost_max;
    struct plan *scratch; /* what the passes write into */
    /* Of the last pass: when promised work of other jobs begins, and reservations begin or end */
    VEC(int64_t)
    promised_us;
    /* Of the last pass: work that would give way to the job, which starts when that is gone */
    VEC(struct plan_preempt)
    stops;
};

/* False if the job does not wait. `live`: made the last pass of the cluster, and stays as it is;
 * good as long as `w`. A component of a heterogeneous job starts when all of them can. */
bool whatif_init(struct whatif *w, struct cluster *cl, const struct plan *live, uint64_t job_id,
                 int64_t now_us, uint64_t cost_max);
void whatif_done(struct whatif *w); /* the plan of the trial, too */
/* No more may be tried: its budget of work is used up. */
bool whatif_spent(const struct whatif *w);

/* When the job would start with this request: now_us, or when it is planned then; INT64_MAX if it
 * is not, or nothing more may be spent. With another one than it has, it has not waited as the
 * head, and was promised nothing. */
int64_t whatif_start(struct whatif *w, const struct job_request *req);

#endif
