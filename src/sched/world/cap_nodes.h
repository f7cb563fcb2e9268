/* Caps on nodes: a node that several jobs of the cap share counts once. The cap's row in the world
 * has the sum over its jobs, which is never less: where that leaves room there is room, else its
 * jobs' nodes are counted. */
#ifndef REMUDA_SCHED_WORLD_CAP_NODES_H
#define REMUDA_SCHED_WORLD_CAP_NODES_H

#include "sched/world/world.h"

struct placing;

/* Is it certain, without a look at where, that a job of the option cannot start now? */
bool cap_nodes_out(struct world *w, const struct option *o, const struct lic_use *use);
/* May what is being placed start then, as far as can be said before its nodes are known? */
bool cap_nodes_may(struct placing *p, const struct lic_use *use);
/* Does the cap allow these nodes from start_us to end_us? *ret_new: so many of them none of its
 * jobs has at the start. */
bool cap_nodes_allow(struct world *w, const struct lic_use *use, const struct placement *at,
                     int64_t start_us, int64_t end_us, int64_t *ret_new);
/* After a cap on nodes (p->capped) did not allow it: nodes that its jobs have are to be preferred
 * (p->near). False: nothing is gained by that. */
bool cap_nodes_near(struct placing *p);

#endif
