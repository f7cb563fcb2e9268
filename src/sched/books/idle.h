/* What of each partition is idle, as a pass begins: the default order puts those first who would
 * take much of it (order.h). It stands until the next pass begins, so that questions see the order
 * that the pass saw. */
#ifndef REMUDA_SCHED_BOOKS_IDLE_H
#define REMUDA_SCHED_BOOKS_IDLE_H

#include <stdint.h>

struct cluster;

/* Of a partition's nodes. */
struct part_idle {
    int64_t cpus, gpus;         /* idle, on nodes that take work */
    int64_t all_cpus, all_gpus; /* that there are */
    int64_t head;               /* the part of these that its head asks for, in FACTOR_ONE-ths */
};

/* Counts it anew in every partition, whose heads are not known then. One walk over the nodes. */
void idle_count(struct cluster *cl);

#endif
