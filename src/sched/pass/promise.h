/* Starts that are promised to jobs that are blocked (pass.promise). */
#ifndef REMUDA_SCHED_PASS_PROMISE_H
#define REMUDA_SCHED_PASS_PROMISE_H

#include "sched/pass/pass.h"
#include "sched/world/world.h"

/* Is it promised a start although it is not the first of its partition that is blocked? What has
 * several components counts as one. */
bool promise_due(const struct pass *p, const struct entry *e);
/* NoReserve and MinPrioThreshold: others need not leave it anything. */
bool promised_nothing(const struct pass *p, const struct entry *e);
/* A search for the first time from one on and before another. */
struct promise_search {
    uint32_t uid;     /* whose job it is, as hours of partitions bound those */
    int64_t limit_us; /* how long it runs */
    int64_t from_us, before_us;
    bool barred; /* becomes true where hours bar it from a time, or from a place that it found */
};
/* When it can start, as nodes and hours have it; fills *at with where. False: not then. Who begins
 * now is no question for it: what hours let begin then must be left of those who run then, or are
 * promised it. */
bool promise_earliest(struct pass *p, const struct to_place *what, struct promise_search *s,
                      struct placement *at, int64_t *ret_us);
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
