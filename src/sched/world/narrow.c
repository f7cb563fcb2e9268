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

/* Of each switch what its candidates are; the caller's. Each candidate is looked at once. */
static struct narrow_tally *tallies_make(const struct world *w)
{
    const struct topo *t = w->cl->wiring.topo;
    struct narrow_tally *tally = xcalloc(t->sw.n + 1, sizeof tally[0]);
    for (size_t i = 0; i < w->scratch.key.n; i++) {
        uint32_t node = NODE_OF(w->scratch.key.v[i]);
        for (size_t k = t->above_from[node]; k < t->above_from[node + 1]; k++) {
            tally[t->above[k]].nodes++;
            tally[t->above[k]].units += w->scratch.cap[node];
        }
    }
    return tally;
}

static const struct topo_switch *lowest(const struct topo *t, const struct narrow_tally *tally,
                                        size_t least, int64_t units)
{
    const struct topo_switch *best = NULL;
    size_t best_nodes = 0;
    for (size_t i = 0; i < t->sw.n; i++) {
        const struct topo_switch *s = &t->sw.v[i];
        if (tally[i].nodes < least || tally[i].units < units)
            continue;
        if (!best || s->size < best->size ||
            (s->size == best->size && tally[i].nodes < best_nodes)) {
            best = s;
            best_nodes = tally[i].nodes;
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

/* Leaves under the switch that have candidates. */
static void leaves_find(const struct world *w, const struct topo_switch *under,
                        const struct narrow_tally *tally, uint64_t *leaves)
{
    const struct topo *t = w->cl->wiring.topo;
    for (size_t i = 0; i < t->sw.n; i++) {
        bool inside = t->sw.v[i].leaf && tally[i].nodes > 0;
        for (size_t k = 0; inside && k < BIT_WORDS(w->nnodes); k++)
            inside = (t->sw.v[i].nodes[k] & ~under->nodes[k]) == 0;
        if (inside)
            bit_set(leaves, i);
    }
}

/* The next of these leaves: the smallest that completes what is missing, else the one with most. */
static size_t leaf_next(const struct topo *t, const struct narrow_tally *tally,
                        const uint64_t *leaves, struct narrow_tally missing)
{
    size_t best = SIZE_MAX, best_nodes = 0;
    bool best_ends = false;
    for (size_t i = 0; i < t->sw.n; i++) {
        if (!bit_get(leaves, i))
            continue;
        size_t nodes = tally[i].nodes;
        bool ends = nodes >= missing.nodes && tally[i].units >= missing.units;
        if (best == SIZE_MAX || (ends && !best_ends) ||
            (ends == best_ends && (ends ? nodes < best_nodes : nodes > best_nodes))) {
            best = i;
            best_nodes = nodes;
            best_ends = ends;
        }
    }
    return best;
}

static size_t leaves_take(struct world *w, const struct topo_switch *under,
                          const struct narrow_tally *tally, struct narrow_tally missing)
{
    const struct topo *t = w->cl->wiring.topo;
    uint64_t *leaves = xcalloc(BIT_WORDS(t->sw.n) + 1, sizeof leaves[0]);
    uint64_t *nodes = xcalloc(BIT_WORDS(w->nnodes) + 1, sizeof nodes[0]);
    size_t taken = 0, leaf;
    leaves_find(w, under, tally, leaves);
    while ((missing.nodes > 0 || missing.units > 0) &&
           (leaf = leaf_next(t, tally, leaves, missing)) != SIZE_MAX) {
        const struct narrow_tally *here = &tally[leaf];
        bit_clear(leaves, leaf);
        for (size_t k = 0; k < BIT_WORDS(w->nnodes); k++)
            nodes[k] |= t->sw.v[leaf].nodes[k];
        missing.nodes -= here->nodes < missing.nodes ? here->nodes : missing.nodes;
        missing.units -= here->units < missing.units ? here->units : missing.units;
        taken++;
    }
    if (missing.nodes == 0 && missing.units == 0)
        keys_keep(w, nodes);
    else
        taken = 0; /* it needs nodes that are under no leaf */
    free(leaves);
    free(nodes);
    return taken;
}

size_t topo_narrow(struct world *w, size_t least, size_t want, int64_t units)
{
    ASSERT(least <= want);
    const struct topo *t = w->cl->wiring.topo;
    size_t leaves = 0;
    if (!t || want < 2)
        return 0;
    struct narrow_tally *tally = tallies_make(w);
    /* As many nodes as it would like to have below one switch, else as many as it must have. */
    const struct topo_switch *s = want <= w->scratch.key.n ? lowest(t, tally, want, units) : NULL;
    if (!s)
        s = lowest(t, tally, want = least, units);
    if (s) {
        keys_keep(w, s->nodes);
        leaves = s->leaf ? 1 : leaves_take(w, s, tally, (struct narrow_tally){want, units});
    }
    free(tally);
    return leaves;
}

size_t topo_leaves(const struct world *w)
{
    const struct topo *t = w->cl->wiring.topo;
    size_t leaves = 0;
    uint64_t *seen = t ? xcalloc(BIT_WORDS(t->sw.n) + 1, sizeof seen[0]) : NULL;
    for (size_t i = 0; t && i < w->scratch.pick.n; i++) {
        uint32_t leaf = t->leaf_of[w->scratch.pick.v[i]];
        leaves += leaf == NO_LEAF || !bit_get(seen, leaf);
        if (leaf != NO_LEAF)
            bit_set(seen, leaf);
    }
    free(seen);
    return leaves;
}
