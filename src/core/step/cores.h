/* Which cores of a node the tasks of a step have. Private to step/layout.c. */
#ifndef REMUDA_CORE_STEP_CORES_H
#define REMUDA_CORE_STEP_CORES_H

#include "core/step/layout.h"

int32_t step_threads_of(const struct step_room *r); /* CPUs of a core */
/* CPUs whose whole core (as far as the job has it) is free join `out`, lowest first, until it has
 * as many as `enough`. */
void step_cores_take(const struct step_room *r, int64_t enough, struct idset *out);
/* How many of the tasks, for which there are CPUs enough, there is room for with --ntasks-per-core
 * or --ntasks-per-socket. */
int64_t step_cores_hold(const struct step_want *w, const struct step_room *r, int64_t tasks);
/* For an exact step: the free cores of those that have theirs on one socket join `out`. */
void step_cores_deal(const struct step_want *w, const struct step_room *r, int64_t tasks,
                     struct idset *out);

#endif
