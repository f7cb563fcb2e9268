/* Which caps can hold anybody in this pass. Most limits of a centre are wider than all that waits;
 * those are left out of it, so that a pass costs no more for them. */
#ifndef REMUDA_SCHED_WORLD_CAP_BINDS_H
#define REMUDA_SCHED_WORLD_CAP_BINDS_H

#include "sched/world/world.h"

/* What waits for caps, as it is told of. */
struct caps_asked;

/* Begins, for a pass at that time; NULL = there are no caps, and nothing to ask. */
struct caps_asked *caps_ask(struct cluster *cl, int64_t now_us);
/* So many of that request wait, too (demand_unchosen); nothing where `w` is NULL. */
void caps_ask_lane(struct caps_asked *w, struct compiled *c, uint64_t elements);
/* All that waits was told of: each class gets those of its caps that may bind in this pass behind
 * its licences (compiled.lic), and `instead` has them, too, a job that waits beside those of the
 * cluster; NULL = none does. Frees `w`. */
void caps_choose(struct caps_asked *w, const struct lane *instead);

#endif
