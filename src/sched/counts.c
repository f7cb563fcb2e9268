/* The counts are kept up to date node by node: a change of a node moves it from one bucket to another, and the counts of the buckets between
 * change by one. */
#include "base/alloc.h"
#include "sched/world.h"

#include <stdlib.h>
#include <string.h>

static void shifts_set(struct world *w)
{
    for (uint32_t d = 0; d < w->dims; d++) {
        int64_t most = 0;
        for (size_t g = 0; g < w->cl->group.n; g++)
            if (d < w->cl->group.v[g]->ntotal && w->cl->group.v[g]->total[d] > most)
                most = w->cl->group.v[g]->total[d];
        while ((most >> w->shift[d]) >= BUCKETS)
            w->shift[d]++;
    }
}

/* A node goes from bucket `from` to bucket `to` of a count. */
static void count_move(struct counts_of *c, uint32_t from, uint32_t to)
{
    for (; from < to; from++)
        c->nodes[from + 1]++;
    for (; from > to; from--)
        c->nodes[from]--;
}

static void row_count(struct world *w, int which, uint32_t node, const int64_t *row)
{
    uint8_t *at = &w->bucket[which][node * w->dims];
    for (uint32_t d = 0; d < w->dims; d++) {
        uint32_t to = bucket_of(w, d, row[d]);
        if (at[d] != to) {
            count_move(&w->count[which][d], at[d], to);
            at[d] = (uint8_t)to;
        }
    }
}

void counts_touch(struct world *w, uint32_t node)
{
    if (node >= w->nnodes || !bit_get(w->up, node))
        return;
    row_count(w, COUNT_NOW, node, &w->free[node * w->dims]);
    row_count(w, COUNT_EVER, node, world_row(w, node, w->now_us, INT64_MAX));
}

void counts_promises(struct world *w)
{
    w->first_promise_us = INT64_MAX;
    w->last_promise_us = INT64_MIN;
    for (size_t i = 0; i < w->promised.n; i++) {
        int64_t at = w->job.v[w->promised.v[i]].start_us;
        w->first_promise_us = at < w->first_promise_us ? at : w->first_promise_us;
        w->last_promise_us = at > w->last_promise_us ? at : w->last_promise_us;
    }
}

void counts_init(struct world *w)
{
    w->shift = xcalloc(w->dims, 1);
    shifts_set(w);
    counts_promises(w);
    for (int which = 0; which < COUNTS; which++) {
        w->count[which] = xcalloc(w->dims, sizeof w->count[which][0]);
        w->bucket[which] = xcalloc(w->nnodes * w->dims + 1, 1);
        for (uint32_t node = 0; node < w->nnodes; node++)
            for (uint32_t d = 0; d < w->dims && bit_get(w->up, node); d++)
                w->count[which][d].nodes[0]++;
    }
    for (uint32_t node = 0; node < w->nnodes; node++)
        counts_touch(w, node);
}

void counts_done(struct world *w)
{
    for (int which = 0; which < COUNTS; which++) {
        free(w->count[which]);
        free(w->bucket[which]);
    }
    free(w->shift);
}
