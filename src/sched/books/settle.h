/* What is derived of nodes, partitions and reservations, brought up to date. */
#ifndef REMUDA_SCHED_BOOKS_SETTLE_H
#define REMUDA_SCHED_BOOKS_SETTLE_H

#include "sched/books/state.h"

/* Brings numbering, groups and free amounts up to date after nodes or partitions changed. Each
 * entry of cluster.h and plan.h that looks at them begins with it; what is inside may rely on
 * that. A cache behind a const cluster: nothing that a caller can see changes. Returns the same
 * cluster. */
struct cluster *cluster_settle(const struct cluster *cl);

#endif
