/* A job that starts in a pass. */
#ifndef REMUDA_SCHED_PASS_START_H
#define REMUDA_SCHED_PASS_START_H

#include "sched/pass/pass.h"

/* Starts one element of the entry's job, or foresees its start, at the world's time. False if there
 * is no room: p->at.missing says how many nodes must come free, where that is known. */
bool entry_start(struct pass *p, const struct entry *e);

#endif
