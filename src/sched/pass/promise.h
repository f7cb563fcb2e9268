/* Starts that are promised to jobs that are blocked (pass.promise). */
#ifndef REMUDA_SCHED_PASS_PROMISE_H
#define REMUDA_SCHED_PASS_PROMISE_H

#include "sched/pass/pass.h"

/* Is it promised a start although it is not the first of its partition that is blocked? What has
 * several components counts as one. */
bool promise_due(const struct pass *p, const struct entry *e);
/* NoReserve and MinPrioThreshold: others need not leave it anything. */
bool promised_nothing(const struct pass *p, const struct entry *e);
/* Promises the blocked job the earliest start it can have, if one is due to it. `awaited`: work is
 * ending for it, so it is promised what comes free whatever its place. */
void promise_make(struct pass *p, const struct entry *e, bool awaited);
/* The job keeps the promise that stands for it (pass.had), if one is due to it still. */
void promise_stays(struct pass *p, const struct entry *e);
/* One promise more of the pass. */
void promise_push(struct pass *p, struct promised pr);
/* a start in this pass */
bool is_promised(const struct pass *p, const struct wjob *j);
/* It started: what was refused for the sake of its promise is tried again (pass.again). */
void promise_drop(struct pass *p, const struct wjob *j);

#endif
