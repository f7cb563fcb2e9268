/* The components of heterogeneous jobs as they wait in a pass. */
#ifndef REMUDA_SCHED_PASS_COMPONENTS_H
#define REMUDA_SCHED_PASS_COMPONENTS_H

#include "sched/pass/pass.h"

/* Fills pass.het: each heterogeneous job that waits, its components by number. */
void hets_collect(struct pass *p);
/* NULL = none of that id waits. */
struct het *pass_het_of(const struct pass *p, uint64_t id);
/* As the job waits in this pass: that of a what-if stands for the one that really waits. */
struct wjob *job_here(const struct pass *p, struct wjob *j);
/* The limit of a run in that option that starts then. */
int64_t het_limit_at(const struct pass *p, const struct option *o, int64_t start_us);
/* First option in which the component can start at that time, beside others of its user's as its
 * hours have it, on nodes that are not barred, and on
 * few of those that are shunned (bitmaps, NULL = none is); fills p->at. NULL = none. */
struct option *het_place(struct pass *p, const struct wjob *j, int64_t at_us,
                         const uint64_t *barred, const uint64_t *shunned);
/* The component that has no place any more in its partitions, as their hours have it, wherever the
 * others might be; NULL = each has one. */
const struct wjob *het_held_by_hours(struct pass *p, const struct het *h);

#endif
