/* Switches and blocks in the planner, as bitmaps of the nodes below each. */
#ifndef REMUDA_SCHED_BOOKS_TOPO_H
#define REMUDA_SCHED_BOOKS_TOPO_H

#include "sched/books/state.h"

#define NO_LEAF UINT32_MAX /* a node below no leaf switch */

struct topo_switch {
    uint64_t *nodes; /* bitmap of those below it, by their number; owned */
    int64_t size;    /* how many these are */
    bool leaf;       /* nodes are on it itself */
};

struct topo {
    VEC(struct topo_switch) sw;
    uint32_t *leaf_of; /* by node: its leaf in `sw`, or NO_LEAF */
    /* What a node is below, in `sw`: above[above_from[node]] to before above_from[node + 1]. */
    size_t *above_from;
    uint32_t *above;
};

/* Makes wiring.topo anew from wiring.given, once nodes have their numbers; NULL without any. */
void topo_settle(struct cluster *cl);
void topo_free(struct cluster *cl); /* wiring.topo is NULL after; it may be before */
/* When a job that asks for few switches no longer insists; 0 = it does not ask. */
int64_t topo_insists_until(const struct cluster *cl, const struct waiting *j);

#endif
