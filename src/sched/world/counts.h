/* A first look at nodes: which of them, or how many, could hold something, as far as coarse counts
 * tell. May let too much through, never too little. */
#ifndef REMUDA_SCHED_WORLD_COUNTS_H
#define REMUDA_SCHED_WORLD_COUNTS_H

#include "sched/world/world.h"

/* Which open nodes that the option may use hold what a unit of the variant takes at least, as far
 * as buckets tell: fills world.scratch.screened, and returns their number. Where that is fewer than
 * it takes, it may still be too many. */
size_t counts_screen(struct world *w, int which, const struct compiled *c, const struct option *o,
                     const struct variant *v);
/* Of all open nodes: how many. */
size_t counts_enough(struct world *w, int which, const struct screen *s);
/* The cell of the joint count that tells about the screen; the same for all of a pass. */
uint16_t counts_cell(const struct world *w, const struct screen *s);
/* Makes the table of CPUs, memory and that dimension anew, by a walk over all nodes: where it is
 * out of date (counts.c says when). */
void counts_joint_make(struct world *w, int which, uint32_t dim);
/* Nodes that hold so much of three dimensions together; may tell too many. Only where nodes can be
 * counted so (counts_countable). */
static inline int32_t counts_joint(struct world *w, int which, uint32_t dim, uint16_t cell)
{
    const struct joint *j = &w->counts.joint[which][dim];
    if (j->changes == 0 || j->freed != w->now.freed ||
        w->counts.changes - j->changes > w->counts.joint_stale)
        counts_joint_make(w, which, dim);
    return j->nodes[cell];
}
static inline bool counts_countable(const struct world *w)
{
    return w->nnodes <= UINT16_MAX;
}
static inline int counts_which(const struct world *w, int64_t end_us)
{
    /* A run that ends before any promise begins does not see them; one that ends after all have
     * begun sees all. */
    return w->agenda.promised.n > 0 && end_us > w->agenda.last_promise_us ? COUNT_EVER : COUNT_NOW;
}
/* Once the world has its nodes and promises; a table is filled when it is first asked for. */
void counts_init(struct world *w);
void counts_done(struct world *w); /* its tables */
/* After what is free or promised there changed */
void counts_touch(struct world *w, uint32_t node);
/* After a promise came that begins then: when the first and last begin */
void counts_promised(struct world *w, int64_t start_us);
/* The same after some went, by a look at all */
void counts_promises(struct world *w);

#endif
