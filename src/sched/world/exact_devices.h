/* Which of the free devices of a node a request gets. Private to exact.c. */
#ifndef REMUDA_SCHED_WORLD_EXACT_DEVICES_H
#define REMUDA_SCHED_WORLD_EXACT_DEVICES_H

#include "sched/world/exact.h"

/* What is being chosen on one node. */
struct choice {
    struct exact *x;       /* what is free of the node */
    const struct group *g; /* its group */
    char *slot;            /* 1 = chosen */
    char *dev;             /* 1 = chosen */
};

/* Chooses `count` free devices of a dimension: of those with links the set that is linked best and
 * leaves the best behind; else those close to the same cores, where they fit best. False: there are
 * not so many. */
bool exact_devices(struct choice *ch, uint32_t dim, int64_t count);

#endif
