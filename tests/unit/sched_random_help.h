/* What is asked of random worlds of the planner: the same cluster made anew, and that all have run
 * who can. */
#ifndef REMUDA_TESTS_SCHED_RANDOM_HELP_H
#define REMUDA_TESTS_SCHED_RANDOM_HELP_H

#include "base/idset.h"
#include "sched_worlds.h"

#include "sched/answer/blockers.h"

/* The cluster made anew, with those who stand first in their partitions as they stand. */
static inline struct cluster *twin_of(struct sim *s)
{
    struct cluster *cl = rebuilt(s);
    struct str firsts = STR_INIT;
    cluster_firsts_tell(s->cl, &firsts);
    cluster_firsts_set(cl, str_text(&firsts));
    str_done(&firsts);
    return cl;
}

/* Whoever has not run cannot: nodes that it needs are drained, or the components of its job cannot
 * be together, and then it is not planned for any time. */
static inline void check_all_ran(struct sim *s)
{
    for (size_t i = 0; i < s->njobs; i++) {
        struct plan_wait w;
        if (s->job[i].start || s->job[i].gone || s->job[i].held)
            continue;
        assert_true(plan_wait_of(s->plan, s->cl, s->job[i].id, &w));
        if (s->job[i].het ? w.planned_us != 0 : w.reason != REASON_REQ_NODE_NOT_AVAIL)
            fail_msg("world %llu: job %llu never ran: %s, %s", (unsigned long long)s->seed,
                     (unsigned long long)s->job[i].id, enum_name(&job_reason_names, w.reason),
                     w.detail);
    }
}

#endif
