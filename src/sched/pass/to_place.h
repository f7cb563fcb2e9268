/* From a job of a pass to the arguments of its placement. */
#ifndef REMUDA_SCHED_PASS_TO_PLACE_H
#define REMUDA_SCHED_PASS_TO_PLACE_H

#include "sched/pass/pass.h"

/* The job in one option of its request. Whose it is matters only in the present: what is foreseen
 * asks nobody's nodes. The plan is made again when a job no longer insists on few switches. */
struct to_place pass_to_place(struct pass *p, const struct compiled *c, struct option *o,
                              const struct wjob *j);

#endif
