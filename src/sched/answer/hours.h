/* Limits of a partition by time of day, in words. */
#ifndef REMUDA_SCHED_ANSWER_HOURS_H
#define REMUDA_SCHED_ANSWER_HOURS_H

#include "base/arena.h"
#include "sched/request/demand.h"

/* Which limit of the hours that are open now keeps the job from starting in the option's partition,
 * and until when: "TimeWindows of partition day allow a user 1 running job until Mon 18:00, and
 * root has 1 (job 7)". In the arena; NULL = none does. */
const char *hours_bar(const struct cluster *cl, const struct wjob *j, const struct option *o,
                      int64_t now_us, struct arena *a);

#endif
