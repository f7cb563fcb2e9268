/* What is free on a node at a later time: what is free now, plus what ends by then, minus the
 * promises in force then. */
#include "sched/world/row.h"

#include "base/alloc.h"
#include "sched/world/outlook.h"

#include <stdlib.h>
#include <string.h>

static void row_add(const struct world *w, const struct wtake *t, int64_t sign, int64_t *row)
{
    const struct agenda *a = &w->agenda;
    for (uint32_t i = 0; i < t->n; i++)
        row[a->use.v[t->first + i].dim] += sign * a->use.v[t->first + i].amount;
}

void world_row_at(const struct world *w, uint32_t node, int64_t at_us, int64_t *row)
{
    ASSERT(node < w->nall && at_us >= w->now_us);
    const struct agenda *a = &w->agenda;
    memcpy(row, world_free_row(w, node), w->dims * sizeof row[0]);
    for (uint32_t t = a->work[node]; t != NONE && agenda_job(a, t)->end_us <= at_us;
         t = a->take.v[t].next)
        row_add(w, &a->take.v[t], 1, row);
    for (uint32_t t = a->kept[node]; t != NONE && agenda_job(a, t)->start_us <= at_us;
         t = a->take.v[t].next)
        if (agenda_job(a, t)->end_us > at_us)
            row_add(w, &a->take.v[t], -1, row);
}

const int64_t *world_row(struct world *w, uint32_t node, int64_t start_us, int64_t end_us)
{
    ASSERT(node < w->nall && start_us <= end_us);
    const struct agenda *a = &w->agenda;
    uint32_t t = a->kept[node];
    if (t == NONE && start_us <= w->now_us)
        return world_free_row(w, node);
    /* Added up anew for each beginning of a promise it costs their square; few are faster so. */
    if (outlook_pays(w, node))
        return outlook_least(w, node, start_us, end_us);
    world_row_at(w, node, start_us, w->scratch.row);
    for (; t != NONE && agenda_job(a, t)->start_us < end_us; t = a->take.v[t].next) {
        int64_t at = agenda_job(a, t)->start_us;
        if (at <= start_us)
            continue;
        /* For nearly all clusters no memory is asked for: this is done for each candidate of each
         * look. */
        int64_t other[64], *row = w->dims <= 64 ? other : xcalloc(w->dims, sizeof row[0]);
        world_row_at(w, node, at, row);
        for (size_t d = 0; d < w->dims; d++)
            if (row[d] < w->scratch.row[d])
                w->scratch.row[d] = row[d];
        if (row != other)
            free(row);
    }
    return w->scratch.row;
}
