/* A job gets nodes below the lowest switch that has enough, and there from as few leaves as can
 * be. */
#ifndef REMUDA_SCHED_WORLD_NARROW_H
#define REMUDA_SCHED_WORLD_NARROW_H

#include "sched/world/world.h"

/* Narrows world.key, the candidates, to those that keep the job together: at least `want` nodes
 * where there are so many, else `least`, with so many units. Returns how many leaves they lie
 * under; 0 = nothing was narrowed (no topology, or no switch has enough). */
size_t topo_narrow(struct world *w, size_t least, size_t want, int64_t units);
/* Leaves that the nodes picked (world.pick) lie under; a node under none counts as one. */
size_t topo_leaves(const struct world *w);

#endif
