/* What a step's CPUs take: its part of the energy of the machine's processors, and their clocks,
 * into its note. */
#ifndef REMUDA_NODE_SHEPHERD_WATCH_ENERGY_H
#define REMUDA_NODE_SHEPHERD_WATCH_ENERGY_H

#include "node/shepherd/step.h"

void shepherd_energy_sample(struct shepherd *s); /* its CPU times are of this moment */
void shepherd_energy_end(struct shepherd *s);    /* the same, for the last time */

#endif
