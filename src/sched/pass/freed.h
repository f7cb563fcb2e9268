/* What came free since a promise was looked for. Most passes free little: a submission nothing, an
 * end the nodes of one job. Who was promised a start can have an earlier one only where something
 * came free after it was looked for, so that only there is it looked for again (promises=aged and
 * all on several nodes, where that is dear). */
#ifndef REMUDA_SCHED_PASS_FREED_H
#define REMUDA_SCHED_PASS_FREED_H

#include "sched/pass/pass.h"

/* A pass begins: nodes on which less is taken, or longer, than the last pass left there came
 * free. Only for a pass that the next one goes on from (freed_keep). */
void freed_begin(struct pass *p);
/* What the pass leaves on each node, for the next one. */
void freed_keep(struct pass *p);
/* So many of plan_private.standing_on, or of pass.promised_on, came free just now. */
void freed_places(struct pass *p, const struct placed *at, size_t n);
/* Nothing is known any more of what came free since when. */
void freed_anything(struct pass *p);

/* May what is free on nodes tell all about where and when the job could start? */
bool freed_tells(const struct pass *p, const struct entry *e);
/* Moments of a search by which it is known later what came free after it; 0 = that is not to be
 * known. */
uint64_t freed_moment(const struct pass *p, const struct entry *e);
/* Did something come free since then where the job may go? If so, fills pass.same with the nodes
 * where nothing did, and pass.differs with the others. */
bool freed_since(struct pass *p, const struct entry *e, uint64_t moment);

#endif
