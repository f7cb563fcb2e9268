/* Which nodes are how busy: fragmentation, and other choices of nodes to compare the daemon's with.
 * Only for machines of equal nodes. */
#include "base/alloc.h"
#include "model/job/alloc.h"
#include "sim/replay/inside.h"

#include <stdlib.h>

const char *const node_choice_names[] = {[NODES_BEST_FIT] = "best-fit",
                                         [NODES_LEAST_LOST] = "least-lost",
                                         [NODES_FIRST_FIT] = "first-fit",
                                         [NODES_WORST_FIT] = "worst-fit"};

/* What is lost of so many free processors to the widths of the jobs, by how often they occur: all
 * of it to those that need more. */
static double lost_of(const struct trace *t, int64_t free, int64_t node_procs)
{
    ASSERT(node_procs > 0);
    double sum = 0;
    for (size_t i = 0; i < t->job.n; i++) {
        int64_t width = t->job.v[i].procs < node_procs ? t->job.v[i].procs : node_procs;
        sum += (double)(width > free ? free : free % width);
    }
    return t->job.n ? sum / (double)t->job.n : 0;
}

static uint64_t cost(void *ctx, int64_t free, int64_t wanted)
{
    const struct replay *p = ctx;
    int64_t take = wanted < 1 ? 1 : wanted < free ? wanted : free;
    switch (p->s->node_choice) {
    case NODES_BEST_FIT: return (uint64_t)free;
    case NODES_LEAST_LOST:
        return (uint64_t)((p->node_lost[free - take] - p->node_lost[free] +
                           (double)p->s->machine.node_procs) *
                          1000);
    case NODES_FIRST_FIT: return 0;
    case NODES_WORST_FIT: break;
    }
    return (uint64_t)(0xffff - free);
}

void nodes_count_start(struct replay *p)
{
    int64_t each = p->s->machine.node_procs;
    size_t n = p->config.nnodes;
    if (p->s->machine.nodes == 0)
        return;
    p->node_free = xcalloc(n, sizeof p->node_free[0]);
    p->node_index = map_str_new();
    for (size_t i = 0; i < n; i++) {
        p->node_free[i] = each;
        map_str_put(p->node_index, p->config.node[i].name, &p->node_free[i]);
    }
    p->free = each * (int64_t)n;
    if (p->s->node_choice == NODES_BEST_FIT)
        return;
    p->node_lost = xcalloc((size_t)each + 1, sizeof p->node_lost[0]);
    for (int64_t free = 0; free <= each && p->s->node_choice == NODES_LEAST_LOST; free++)
        p->node_lost[free] = lost_of(p->t, free, each);
    p->hook.node_cost = cost;
    core_set_order(p->core, &p->hook);
}

static int64_t partly(const struct replay *p, int64_t free)
{
    return free < p->s->machine.node_procs ? free : 0;
}

static void node_change(struct replay *p, const struct alloc_node *n, int64_t sign)
{
    int64_t *free = map_str_get(p->node_index, n->node);
    p->broken_free -= partly(p, *free);
    *free += sign * n->cpu_count;
    p->free += sign * n->cpu_count;
    p->broken_free += partly(p, *free);
}

void nodes_count_take(struct replay *p, uint32_t job, const char *alloc)
{
    struct live_job *l = &p->job[job];
    struct alloc al = {0};
    if (!p->node_free)
        return;
    const char *text = alloc ? alloc : l->alloc;
    struct arena *a = arena_new();
    if (text && alloc_parse(text, a, &al, NULL))
        for (size_t i = 0; i < al.n; i++)
            node_change(p, &al.node[i], alloc ? -1 : 1);
    arena_free(a);
    free(l->alloc);
    l->alloc = alloc ? xstrdup(alloc) : NULL;
}

void nodes_count_time(struct replay *p, int64_t seconds)
{
    if (p->waiting == 0)
        return;
    p->waited_free += (double)(p->free * seconds);
    p->waited_broken += (double)(p->broken_free * seconds);
}

void nodes_count_end(struct replay *p)
{
    p->r->fragmented = p->waited_free > 0 ? p->waited_broken / p->waited_free : 0;
    free(p->node_free);
    free(p->node_lost);
    map_str_free(p->node_index);
}
