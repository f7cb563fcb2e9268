/* Where a job stands in the order of all that wait. */
#ifndef REMUDA_SCHED_ANSWER_RANK_H
#define REMUDA_SCHED_ANSWER_RANK_H

#include "sched/pass/pass.h"

/* The tier and priority it stands with: those of the partition in which it stands first. */
void rank_standing(const struct cluster *cl, const struct wjob *j, int64_t now_us,
                   int32_t *ret_tier, uint64_t *ret_priority);
/* 1 = next. */
uint32_t rank_of(struct plan_private *v, const struct cluster *cl, const struct wjob *j,
                 int32_t tier, uint64_t priority);

#endif
