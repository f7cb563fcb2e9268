/* Which caps can hold anybody in this pass. Most limits of a centre are wider than all that waits;
 * those are left out of it, so that a pass costs no more for them. */
#ifndef REMUDA_SCHED_WORLD_CAP_BINDS_H
#define REMUDA_SCHED_WORLD_CAP_BINDS_H

#include "sched/world/world.h"

/* Puts the caps of each class that may bind in this pass before those that cannot, and counts the
 * first only (compiled.nlic, .ncap). `instead`: a job that waits beside those of the cluster; NULL
 * = none does. */
void caps_choose(struct cluster *cl, int64_t now_us, const struct lane *instead);

#endif
