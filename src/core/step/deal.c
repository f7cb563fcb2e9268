/* Dealing out follows Slurm's documents: block spreads the counts evenly and numbers the tasks node
 * by node; Pack fills node after node; cyclic numbers them in turn; plane deals blocks of its size
 * in turn; arbitrary is as told. */
#include "core/step/deal.h"

#include "base/alloc.h"

#include <string.h>

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* One to each node in turn, as long as there is room. */
static void deal_evenly(struct dealing *d, int32_t rest)
{
    while (rest > 0)
        for (size_t i = 0; i < d->n && rest > 0; i++)
            if (d->chosen[i] && d->tasks[i] < d->cap[i]) {
                d->tasks[i]++;
                rest--;
            }
}

static void deal_packed(struct dealing *d, int32_t rest)
{
    for (size_t i = 0; i < d->n && rest > 0; i++)
        if (d->chosen[i]) {
            d->tasks[i] = 1;
            rest--;
        }
    for (size_t i = 0; i < d->n && rest > 0; i++)
        if (d->chosen[i]) {
            int32_t more = (int32_t)least(rest, d->cap[i] - d->tasks[i]);
            d->tasks[i] += more;
            rest -= more;
        }
}

/* The next n tasks. */
static void ids_append(struct idset *ids, int32_t *task, int32_t n)
{
    if (n <= 0)
        return;
    idset_append(ids, (uint32_t)*task, (uint32_t)(*task + n - 1));
    *task += n;
}

/* Blocks of tasks in turn; `ids` notes who got which. */
static void deal_planes(struct dealing *d, int32_t size, struct idset *ids)
{
    int32_t task = 0;
    while (task < d->w->ntasks)
        for (size_t i = 0; i < d->n && task < d->w->ntasks; i++) {
            int64_t rest = least(d->w->ntasks - task, d->cap[i] - d->tasks[i]);
            int32_t n = d->chosen[i] ? (int32_t)least(size, rest) : 0;
            d->tasks[i] += n > 0 ? n : 0;
            ids_append(&ids[i], &task, n);
        }
}

static void deal_as_told(struct dealing *d, struct idset *ids)
{
    for (int32_t task = 0; task < d->w->ntasks; task++) {
        int32_t at = d->w->task_node[task];
        d->tasks[at]++;
        idset_add(&ids[at], (uint32_t)task);
    }
}

static void number_blocks(struct dealing *d, struct idset *ids)
{
    int32_t task = 0;
    for (size_t i = 0; i < d->n; i++)
        ids_append(&ids[i], &task, d->tasks[i]);
}

void step_deal(struct dealing *d, struct idset *ids)
{
    ASSERT(d->n > 0 && d->w->ntasks > 0);
    switch (d->w->spread) {
    case SPREAD_BLOCK:
        deal_evenly(d, d->w->ntasks);
        number_blocks(d, ids);
        return;
    case SPREAD_PACK:
        deal_packed(d, d->w->ntasks);
        number_blocks(d, ids);
        return;
    case SPREAD_CYCLIC: deal_planes(d, 1, ids); return;
    case SPREAD_PLANE: deal_planes(d, d->w->plane, ids); return;
    case SPREAD_ARBITRARY: deal_as_told(d, ids); return;
    }
}

/* The nodes are told: each must have room for what it is to run. */
bool step_told_fits(struct dealing *d)
{
    ASSERT(d->w->ntasks > 0 && d->w->task_node);
    int32_t *count = arena_alloc(d->a, (d->n + 1) * sizeof *count);
    bool fits = true;
    memset(count, 0, (d->n + 1) * sizeof *count);
    for (int32_t task = 0; task < d->w->ntasks; task++)
        count[d->w->task_node[task]]++;
    for (size_t i = 0; i < d->n; i++) {
        d->chosen[i] = count[i] > 0;
        fits &= count[i] <= d->cap[i];
    }
    return fits;
}
