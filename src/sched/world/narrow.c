/* The lowest switch that has enough is the one with the fewest nodes below it; of several, the one
 * with the fewest candidates, so that the emptiest stay whole (best fit). Under a switch with
 * several leaves those with most candidates are taken first, and the last one as the smallest that
 * completes the job. */
#include "sched/world/narrow.h"

#include "base/alloc.h"
#include "sched/books/topo.h"

#include <stdlib.h>

struct narrow_tally {
    size_t nodes;
    int64_t units;
};

static struct narrow_tally tally_of(const struct world *w, const struct topo_switch *s)
{
    struct narrow_tally t = {0};
    for (size_t i = 0; i < w->scratch.key.n; i++) {
        uint32_t node = NODE_OF(w->scratch.key.v[i]);
        if (!bit_get(s->nodes, node))
            continue;
        t.nodes++;
        t.units += w->scratch.cap[node];
    }
    return t;
}

/* Switches × candidates; switches larger than the best so far are passed over uncounted. */
static const struct topo_switch *lowest(const struct world *w, size_t least, int64_t units)
{
    const struct topo *t = w->cl->wiring.topo;
    const struct topo_switch *best = NULL;
    size_t best_nodes = 0;
    for (size_t i = 0; i < t->sw.n; i++) {
        const struct topo_switch *s = &t->sw.v[i];
        if (best && s->size > best->size)
            continue;
        struct narrow_tally here = tally_of(w, s);
        if (here.nodes < least || here.units < units)
            continue;
        if (!best || s->size < best->size || here.nodes < best_nodes) {
            best = s;
            best_nodes = here.nodes;
        }
    }
    return best;
}

/* Keeps the candidates whose bit is set. */
static void keys_keep(struct world *w, const uint64_t *nodes)
{
    size_t n = 0;
    for (size_t i = 0; i < w->scratch.key.n; i++)
        if (bit_get(nodes, NODE_OF(w->scratch.key.v[i])))
            w->scratch.key.v[n++] = w->scratch.key.v[i];
    w->scratch.key.n = n;
}

/* The next leaf under the switch: the smallest that completes what is missing, else the one with
 * most. */
static size_t leaf_next(const struct world *w, const struct topo_switch *under,
                        const uint64_t *taken, struct narrow_tally missing)
{
    const struct topo *t = w->cl->wiring.topo;
    size_t best = SIZE_MAX, best_nodes = 0;
    bool best_ends = false;
    for (size_t i = 0; i < t->sw.n; i++) {
        const struct topo_switch *s = &t->sw.v[i];
        if (!s->leaf || bit_get(taken, i))
            continue;
        struct narrow_tally here = tally_of(w, s);
        bool inside = here.nodes > 0;
        for (size_t k = 0; inside && k < BIT_WORDS(w->nnodes); k++)
            inside = (s->nodes[k] & ~under->nodes[k]) == 0;
        if (!inside)
            continue;
        bool ends = here.nodes >= missing.nodes && here.units >= missing.units;
        if (best == SIZE_MAX || (ends && !best_ends) ||
            (ends == best_ends && (ends ? here.nodes < best_nodes : here.nodes > best_nodes))) {
            best = i;
            best_nodes = here.nodes;
            best_ends = ends;
        }
    }
    return best;
}

static size_t leaves_take(struct world *w, const struct topo_switch *under, size_t want,
                          int64_t units)
{
    const struct topo *t = w->cl->wiring.topo;
    uint64_t *taken = xcalloc(BIT_WORDS(t->sw.n) + 1, sizeof taken[0]);
    uint64_t *nodes = xcalloc(BIT_WORDS(w->nnodes) + 1, sizeof nodes[0]);
    struct narrow_tally missing = {want, units};
    size_t leaves = 0, leaf;
    while ((missing.nodes > 0 || missing.units > 0) &&
           (leaf = leaf_next(w, under, taken, missing)) != SIZE_MAX) {
        struct narrow_tally here = tally_of(w, &t->sw.v[leaf]);
        bit_set(taken, leaf);
        for (size_t k = 0; k < BIT_WORDS(w->nnodes); k++)
            nodes[k] |= t->sw.v[leaf].nodes[k];
        missing.nodes -= here.nodes < missing.nodes ? here.nodes : missing.nodes;
        missing.units -= here.units < missing.units ? here.units : missing.units;
        leaves++;
    }
    if (missing.nodes == 0 && missing.units == 0)
        keys_keep(w, nodes);
    else
        leaves = 0; /* it needs nodes that are under no leaf */
    free(taken);
    free(nodes);
    return leaves;
}

size_t topo_narrow(struct world *w, size_t least, size_t want, int64_t units)
{
    ASSERT(least <= want);
    if (!w->cl->wiring.topo || want < 2)
        return 0;
    /* As many nodes as it would like to have below one switch, else as many as it must have. */
    const struct topo_switch *s = want <= w->scratch.key.n ? lowest(w, want, units) : NULL;
    if (!s)
        s = lowest(w, want = least, units);
    if (!s)
        return 0;
    keys_keep(w, s->nodes);
    return s->leaf ? 1 : leaves_take(w, s, want, units);
}

size_t topo_leaves(const struct world *w)
{
    const struct topo *t = w->cl->wiring.topo;
    size_t leaves = 0;
    for (size_t i = 0; t && i < w->scratch.pick.n; i++) {
        uint32_t leaf = t->leaf_of[w->scratch.pick.v[i]];
        bool seen = false;
        for (size_t k = 0; k < i && leaf != NO_LEAF; k++)
            seen |= t->leaf_of[w->scratch.pick.v[k]] == leaf;
        leaves += !seen;
    }
    return leaves;
}
