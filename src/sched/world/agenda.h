/* The lists of what runs and of what is promised, by node and by time, as they are built and
 * changed. Only world.c and agenda.c include this; who plans calls the deeds of world.h. */
#ifndef REMUDA_SCHED_WORLD_AGENDA_H
#define REMUDA_SCHED_WORLD_AGENDA_H

#include "sched/world/world.h"

/* Empty lists for so many nodes and licences. */
void agenda_init(struct agenda *a, size_t nall);
void agenda_done(struct agenda *a); /* its lists */

/* After its free amounts changed: does the node take work now? Not of licences. */
void agenda_open(struct world *w, uint32_t node);
/* Puts a take of work, by the end of its job, into the list of its node. */
void agenda_chain(struct agenda *a, uint32_t take);
/* An amount of the take being made; none of nothing. */
void agenda_use(struct agenda *a, uint32_t dim, int64_t amount);

#endif
