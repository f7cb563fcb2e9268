/* Limits on how many waiting jobs gain priority by age (MaxJobsAccrue, GrpJobsAccrue, and of a QOS
 * those of each user and account). A job to which such a limit applies begins to gain when there is
 * room, in the order in which jobs could run first; it has its place until it starts, is held,
 * goes, or comes under other limits. Of an array as many elements gain as there is room for, those
 * first that start first. Only core/ includes this. */
#ifndef REMUDA_CORE_RECORD_ACCRUE_H
#define REMUDA_CORE_RECORD_ACCRUE_H

#include "core/record/accounts/limits.h"

/* Limits changed: what there is of these. All that wait are to be asked about next. */
void accrue_know(struct core *c);
/* It may run from now on: with such limits it gains nothing yet. */
void accrue_begin(struct core *c, struct jobrec *r);
/* It waits, was held, has begun or is over: places are taken and given back. */
void accrue_update(struct core *c, struct jobrec *r);
/* An element leaves the array's record: from when on that one gains, as j.accrue_us has it. */
int64_t accrue_element(struct core *c, struct jobrec *array);
/* Is somebody to be given a place? The next who got one, until there is none; it is to be saved,
 * and to be told to the planner. */
struct jobrec *accrue_next(struct core *c);
/* How many of such a limit's jobs gain; `key` as limit_key makes it. */
int64_t accrue_count(const struct core *c, const char *key);
/* How many wishes for a place are kept, those of jobs that gave up among them; for tests. */
size_t accrue_wishes(const struct core *c);
/* Asserts that places are counted as jobs have them. */
void accrue_check(const struct core *c);
/* At the end of the controller. */
void accrue_free(struct core *c);

#endif
