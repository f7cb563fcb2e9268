/* What is derived of nodes, partitions and reservations, brought up to date. */
#ifndef REMUDA_SCHED_BOOKS_SETTLE_H
#define REMUDA_SCHED_BOOKS_SETTLE_H

#include "sched/books/state.h"

/* Brings numbering, groups and free amounts up to date after nodes or partitions changed; nothing
 * to do, and cheap, where they did not. Each entry of cluster.h, plan.h and answer/ that looks at
 * them begins with it, which is why a question takes a cluster that is not const; what is inside
 * may rely on that. */
void cluster_settle(struct cluster *cl);

#endif
