/* What if these jobs were submitted now? The planner's own pass and forecast over the cluster with
 * them in the queue; they are gone again afterwards, and nothing that anyone can see changes. */
#ifndef REMUDA_SCHED_ANSWER_SUBMITTED_H
#define REMUDA_SCHED_ANSWER_SUBMITTED_H

#include "sched/plan.h"

/* The start of one of them. Texts in the arena of the question. */
struct submitted_start {
    int64_t start_us;      /* 0 = none can be foreseen, or it was not looked for */
    const char *nodes;     /* folded; NULL = it starts later, on whatever is free then */
    const char *partition; /* NULL = it does not start now: any of those it asks for */
    int32_t cpus;          /* that it gets; 0 = as partition */
    const char *why;       /* a sentence why it does not start now; NULL = it does */
};

/* `job`: n jobs that do not wait yet, with numbers of their own; components of one heterogeneous
 * job say so. `live` is the plan of the last pass, which knows where promises stand. `now_only`: no
 * later start than now_us is looked for. Fills ret[n]. */
void sched_submitted(struct cluster *cl, const struct plan *live, const struct waiting *job,
                     size_t n, int64_t now_us, bool now_only, struct arena *a,
                     struct submitted_start *ret);

#endif
