#include "sched/books/idle.h"

#include "base/alloc.h"
#include "sched/books/state.h"

#include <stdlib.h>

static int64_t at_least_none(int64_t amount)
{
    return amount > 0 ? amount : 0;
}

static void idle_add(struct part_idle *to, const struct part_idle *more)
{
    to->cpus += more->cpus;
    to->gpus += more->gpus;
    to->all_cpus += more->all_cpus;
    to->all_gpus += more->all_gpus;
}

/* A node that takes no work has nothing idle, and counts for what there is all the same. */
static struct part_idle idle_on(const struct cluster *cl, const struct snode *n,
                                const u32_vec *gpus)
{
    const struct group *g = n->group;
    const int64_t *row = node_free(cl, n);
    struct part_idle on = {.all_cpus = g->cpus};
    on.cpus = n->up ? at_least_none(row[DIM_CPU]) : 0;
    for (size_t i = 0; i < gpus->n; i++) {
        uint32_t d = gpus->v[i];
        on.all_gpus += d < g->ntotal ? g->total[d] : 0;
        on.gpus += n->up ? at_least_none(row[d]) : 0;
    }
    return on;
}

void idle_count(struct cluster *cl)
{
    ASSERT(!cl->derived.stale);
    struct part_idle *of_group = xcalloc(cl->group.n + 1, sizeof of_group[0]);
    u32_vec gpus = {0};
    for (size_t d = DIM_GRES; d < cl->dim.n; d++)
        if (cl->dim.v[d].is_gpu)
            vec_push(&gpus, (uint32_t)d);
    for (size_t i = 0; i < cl->node.n; i++) {
        struct part_idle on = idle_on(cl, cl->node.v[i], &gpus);
        idle_add(&of_group[cl->node.v[i]->group->idx], &on);
    }
    for (size_t p = 0; p < cl->part.n; p++) {
        struct spart *part = cl->part.v[p];
        part->idle = (struct part_idle){0};
        for (size_t g = 0; g < cl->group.n; g++)
            if (bit_get(cl->group.v[g]->parts, part->idx))
                idle_add(&part->idle, &of_group[g]);
    }
    vec_done(&gpus);
    free(of_group);
}
