/* What a placement takes of caps: of CPUs, memory and devices that is known only when it is known
 * where. */
#include "sched/world/cap_takes.h"
#include "sched/books/caps.h"

#include <string.h>

/* What a job that has the node to itself gets of its devices is all of them. */
static int64_t node_takes(struct world *w, const struct compiled *c, const struct placement *at,
                          const struct placed *pl, const struct licence *cap)
{
    const struct group *g = w->now.group[pl->node];
    struct take own;
    const struct take *t = &own;
    if (at->variant->lay.units == 0)
        t = take_least(w->cl, c, at->option, at->variant, g);
    else
        (void)demand_take(w->cl, c, at->option, at->variant, g, pl->units, &own);
    memset(w->scratch.row, 0, w->dims * sizeof w->scratch.row[0]);
    for (size_t d = DIM_GRES; d < w->dims; d++)
        if (at->option->mode.whole && d < g->ntotal)
            w->scratch.row[d] = g->total[d];
    for (uint32_t i = 0; i < t->n; i++)
        if (t->use[i].dim >= DIM_GRES && t->use[i].amount > w->scratch.row[t->use[i].dim])
            w->scratch.row[t->use[i].dim] = t->use[i].amount;
    return cap_of_node(w->cl, cap, t->cpus, t->mem_mib, w->scratch.row);
}

int64_t licence_takes(struct world *w, const struct compiled *c, const struct placement *at,
                      size_t i)
{
    const struct licence *l = &w->cl->lic.v[c->lic[i].lic];
    int64_t sum = 0;
    if (!is_cap(l) || l->counts == CAP_JOBS)
        return c->lic[i].count;
    for (size_t k = 0; k < at->at.n; k++)
        sum += node_takes(w, c, at, &at->at.v[k], l);
    return sum;
}
