/* What a placement takes of licences and caps. */
#ifndef REMUDA_SCHED_WORLD_CAP_TAKES_H
#define REMUDA_SCHED_WORLD_CAP_TAKES_H

#include "sched/world/world.h"

/* What the i-th of the job's licences and caps loses by it, exactly; scratch.row is overwritten. */
int64_t licence_takes(struct world *w, const struct compiled *c, const struct placement *at,
                      size_t i);

#endif
