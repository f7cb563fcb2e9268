/* Who goes first whatever its size and limit (order=ageing): the head, which was the first that was
 * blocked in its partition and stays first until it starts, and the one past the age bound that
 * waited longest. Both are kept in the queue between passes, so that questions see the same order.
 */
#ifndef REMUDA_SCHED_PASS_FIRSTS_H
#define REMUDA_SCHED_PASS_FIRSTS_H

#include "sched/pass/pass.h"

/* What is idle, and how much of each partition its head asks for: the order looks at it until the
 * next pass begins. To be called before anything is put in order. */
void idle_see(struct cluster *cl);
/* Chooses the oldest in each partition, once there is a world and before there are entries. */
void oldest_choose(struct pass *p);
/* How long nodes that are lost are waited for at most, in microseconds: a daemon tries again every
 * two seconds at the latest; with many it takes them longer. */
#define RETURN_US (30 * USEC_PER_SEC)
/* Whether nodes come back still, as after a restart of the controller, or of their daemons. To be
 * called before there is a world. */
void returns_see(struct plan_private *v, const struct cluster *cl);
/* The moment in which that is over at the latest. */
int64_t returns_until(const struct plan_private *v);
/* While they do: may it not begin yet, as a job before it could have nodes that are not back, and
 * they have nodes in common? Of components none may where one may not. To be called of one after
 * the other in their order. */
bool firsts_keep_out(struct pass *p, const struct entry *e);
/* What the last pass promised is no longer known of its jobs, but where only nodes that are away
 * keep one from it. While nodes come back all is known still. */
void promised_forget(struct pass *p);
/* Whom this pass promised a start as the first of a partition is its head from now on. */
void heads_keep(struct pass *p);

#endif
