/* What waiting jobs waited for, and how long. Resolution: a cause holds from the pass that found it
 * to the pass that found another. */
#ifndef REMUDA_SCHED_PASS_WAITED_H
#define REMUDA_SCHED_PASS_WAITED_H

#include "sched/plan.h"

struct waited {
    int64_t us[REASON_COUNT]; /* so long for each reason */
};

/* Splits [from_us, until_us) of a job that waits by cause. Time before the planner had the job, or
 * before the controller was started, counts under what was found first. Nothing is known of a job
 * that does not wait: all of it is REASON_PRIORITY. */
void sched_waited(const struct cluster *cl, uint64_t job_id, int64_t from_us, int64_t until_us,
                  struct waited *ret);
/* Forgets what was counted before at_us, where only the job knows it: a later question is about
 * later times. */
void sched_waited_counted(struct cluster *cl, uint64_t job_id, int64_t at_us);

#endif
