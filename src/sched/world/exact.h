/* From counts to things: which CPUs and which devices of a node a job gets. */
#ifndef REMUDA_SCHED_WORLD_EXACT_H
#define REMUDA_SCHED_WORLD_EXACT_H

#include "sched/request/demand.h"

#define TAKEN_BY_MANY UINT32_MAX /* or by one that is not known */

/* What is taken on a node during one pass, on top of what really runs there. */
struct exact {
    uint16_t *load;    /* by slot, as snode.load */
    uint32_t *taken;   /* by slot: in this pass; place of the partition, plus 1, or TAKEN_BY_MANY */
    uint64_t *dev_job; /* by device, as snode.dev_job */
};

struct exacts; /* opaque: of the nodes touched in a pass */
/* In the arena, but for its index of nodes; each is filled when it is first asked for. */
struct exacts *exacts_new(const struct cluster *cl, struct arena *a);
void exacts_free(struct exacts *e); /* the index; the rest is the arena's */
/* A copy in which what running work gave back since (node_recount) is free; `e` and its arena
 * outlive it. */
struct exacts *exacts_fork(const struct exacts *e);
/* Are all these CPUs idle, or shared by jobs that share? Then they are taken. */
bool exact_take_back(struct exacts *e, uint32_t node, const int32_t *cpu, size_t ncpu, bool shares);

/* Chooses CPUs and devices on the node and takes them; texts of *ret live in the arena. False (and
 * nothing is taken) if rules about sockets cannot be kept with what is free. */
bool exact_take(struct exacts *e, const struct compiled *c, const struct option *o,
                const struct variant *v, uint32_t node, int32_t units, struct alloc_node *ret);
/* What exact_take took goes back. */
void exact_back(struct exacts *e, uint32_t node, const struct option *o,
                const struct alloc_node *an);

#endif
