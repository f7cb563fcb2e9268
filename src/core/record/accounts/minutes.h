/* Limits in minutes: what was used (GrpTRESMins, GrpWall) and what running jobs may still use
 * (GrpTRESRunMins, MaxTRESRunMinsPer…), and UsageThreshold. Only core/ includes this.
 *
 * They are asked when a job would be given to the planner, by what it asks for, and once more when
 * it starts, by what it gets: several that the planner starts at once may be too many together. */
#ifndef REMUDA_CORE_RECORD_MINUTES_H
#define REMUDA_CORE_RECORD_MINUTES_H

#include "core/record/accounts/limits.h"
#include "model/record/why.h"

/* Why it may not start there now, with a sentence in `detail` (may be NULL); NONE = it may. */
enum job_reason minutes_bar(const struct core *c, const struct jobrec *r, const char *partition,
                            struct str *detail);
/* The same of UsageThreshold alone, which is not asked once more when it starts. */
enum job_reason usage_threshold_bar(const struct core *c, const struct jobrec *r,
                                    const char *partition, struct str *detail);
/* Which limit it is, and how much of it the job needs (in units of use.h); false = none in minutes
 * holds it there. */
bool minutes_held_by(const struct core *c, const struct jobrec *r, const char *partition,
                     struct limit_hit *ret, int64_t *ret_need);
/* The same in words: whose use it is, and when there is room again. */
bool minutes_blocker(const struct core *c, const struct jobrec *r, struct arena *a,
                     struct blocker *ret);
/* When there is room at the latest for a job that waits for this reason, if what runs uses up all
 * that it may; 0 = it is no such reason, or nobody knows. */
int64_t minutes_room_us(const struct core *c, const struct jobrec *r, enum job_reason reason);
/* As minutes_bar, of all its partitions, and of limits on one job: NONE = in one of them it may.
 * `open`: what limits_open said; NULL = it was not asked. */
enum job_reason minutes_or_limits_bar(const struct core *c, const struct jobrec *r,
                                      const char *open, struct str *detail);
/* One that it exceeds by itself, whatever was used: its whole time is more than the limit. */
enum job_reason minutes_alone(const struct core *c, const struct jobrec *r, const char *partition,
                              struct str *detail);
/* May these components of one job (or the one job) start so? Else each is remembered with what it
 * would get, and is asked by that from now on; until something changes it waits for that limit, as
 * the planner would start it the same way again. */
struct minutes_start {
    struct jobrec *r;
    const struct plan_start *s; /* where it would start, and when */
};
/* May these start together (a job, or components)? Else each of them is told the reason and why in
 * words. */
bool minutes_start(struct core *c, const struct minutes_start *start, size_t n);
/* The limit that a running job has to end for; NULL: none. `detail` gets a sentence. */
bool minutes_exhausted(const struct core *c, const struct jobrec *r, struct str *detail);
/* Runs began, ended, or got other limits: sums are made anew, and who waits is looked at. */
void minutes_changed(struct core *c);
/* Starts were refused: those jobs are to be looked at. */
void minutes_kept(struct core *c);
/* Those who wait for a limit in minutes are to be looked at. */
bool minutes_due(const struct core *c);
/* They were: nothing is due until something changes again. */
void minutes_looked(struct core *c);
/* Limits changed: are there any of these? */
void minutes_know(struct core *c);
/* Is it a limit in minutes of a resource that is counted? Others are kept and hold nobody. */
bool minutes_hold(const struct limit *l);
/* So many of its minutes are used, or promised to running jobs. */
int64_t minutes_in_use(const struct core *c, const struct limit_subject *who,
                       const struct limit_hit *h);
/* At the end of the controller. */
void minutes_free(struct core *c);

#endif
