/* The lowest switch is the one with the fewest nodes below it; of several, the one with the fewest candidates, so that the emptiest stay whole (best fit). Under a switch with several
 * leaves those with most candidates are taken first, and the last one as the smallest that completes the job. Groups of consecutive blocks (BlockSizes=) are switches, too. Nodes that
 * no line names, and parts of a network that nothing connects, hang below a root of their own making: a job is spread over them only when nothing smaller has enough. */
#include "sched/books/topo.h"

#include "base/alloc.h"
#include "base/hostlist.h"

#include <stdlib.h>
#include <string.h>

struct topo_switch {
    uint64_t *nodes; /* bitmap */
    int64_t size;
    bool leaf;
};

struct topo {
    VEC(struct topo_switch) sw;
    uint32_t *leaf_of; /* by node: its leaf in `sw`, or NONE */
};

/* ---- building ---- */

static void switch_add(struct cluster *cl, struct topo *t, const struct hostlist *names, bool leaf)
{
    struct topo_switch s = {.nodes = xcalloc(BIT_WORDS(cl->node.n) + 1, sizeof s.nodes[0]), .leaf = leaf};
    for (size_t i = 0; i < names->n; i++) {
        const struct snode *n = cluster_node(cl, names->name[i]);
        if (!n || bit_get(s.nodes, n->idx))
            continue;
        bit_set(s.nodes, n->idx);
        s.size++;
        if (leaf)
            t->leaf_of[n->idx] = (uint32_t)t->sw.n;
    }
    vec_push(&t->sw, s);
}

static void row_add(struct cluster *cl, struct topo *t, const struct topo_row *row)
{
    struct str folded = STR_INIT;
    struct hostlist names = HOSTLIST_INIT;
    topology_nodes(&cl->topology, row, &folded);
    if (folded.len && hostlist_parse(&names, str_text(&folded), NULL))
        switch_add(cl, t, &names, row->nodes != NULL);
    hostlist_done(&names);
    str_done(&folded);
}

/* Groups of `each` consecutive blocks. */
static void blocks_join(struct cluster *cl, struct topo *t, size_t each)
{
    for (size_t i = 0; each > 1 && i < cl->topology.n; i += each) {
        struct hostlist names = HOSTLIST_INIT;
        for (size_t k = i; k < i + each && k < cl->topology.n; k++)
            if (cl->topology.row[k].nodes)
                hostlist_parse(&names, cl->topology.row[k].nodes, NULL);
        switch_add(cl, t, &names, false);
        hostlist_done(&names);
    }
}

static void block_groups(struct cluster *cl, struct topo *t)
{
    struct span rest = span_of(cl->topology.block_sizes ? cl->topology.block_sizes : ""), piece;
    int64_t base = 0, size;
    while (span_next(&rest, ',', &piece)) {
        char *text = xstrndup(piece.data, piece.len);
        if (text_to_i64(text, 1, INT32_MAX, &size)) {
            base = base ? base : size;
            blocks_join(cl, t, (size_t)(size / base));
        }
        free(text);
    }
}

static void root_add(struct cluster *cl, struct topo *t)
{
    struct hostlist all = HOSTLIST_INIT;
    for (size_t i = 0; i < cl->node.n; i++)
        hostlist_add(&all, cl->node.v[i]->name);
    switch_add(cl, t, &all, false);
    hostlist_done(&all);
}

void topo_free(struct cluster *cl)
{
    for (size_t i = 0; cl->topo && i < cl->topo->sw.n; i++)
        free(cl->topo->sw.v[i].nodes);
    if (cl->topo) {
        vec_done(&cl->topo->sw);
        free(cl->topo->leaf_of);
        free(cl->topo);
    }
    cl->topo = NULL;
}

void topo_settle(struct cluster *cl)
{
    topo_free(cl);
    if (cl->topology.n == 0)
        return;
    struct topo *t = cl->topo = xcalloc(1, sizeof *t);
    t->leaf_of = xmalloc((cl->node.n + 1) * sizeof t->leaf_of[0]);
    memset(t->leaf_of, 0xff, (cl->node.n + 1) * sizeof t->leaf_of[0]);
    for (size_t i = 0; i < cl->topology.n; i++)
        row_add(cl, t, &cl->topology.row[i]);
    block_groups(cl, t);
    root_add(cl, t);
}

void cluster_set_topology(struct cluster *cl, const struct topology *t)
{
    struct arena *a = arena_new();
    struct topology copy = {.row = arena_alloc(a, (t->n + 1) * sizeof copy.row[0]), .n = t->n};
    copy.block_sizes = arena_strdup(a, t->block_sizes);
    for (size_t i = 0; i < t->n; i++)
        copy.row[i] = (struct topo_row){.name = arena_strdup(a, t->row[i].name),
                                        .nodes = arena_strdup(a, t->row[i].nodes),
                                        .switches = arena_strdup(a, t->row[i].switches),
                                        .block = t->row[i].block};
    arena_free(cl->topology_arena);
    cl->topology_arena = a;
    cl->topology = copy;
    cl->unsettled = true;
}

const struct topology *cluster_topology(const struct cluster *cl)
{
    return &cl->topology;
}

/* ---- narrowing ---- */

#define NODE_OF(key) ((uint32_t)((key)&0xffffff)) /* as place.c makes keys */

struct tally {
    size_t nodes;
    int64_t units;
};

static struct tally tally_of(const struct world *w, const struct topo_switch *s)
{
    struct tally t = {0};
    for (size_t i = 0; i < w->key.n; i++) {
        uint32_t node = NODE_OF(w->key.v[i]);
        if (!bit_get(s->nodes, node))
            continue;
        t.nodes++;
        t.units += w->cap[node];
    }
    return t;
}

static const struct topo_switch *lowest(const struct world *w, size_t least, int64_t units)
{
    const struct topo *t = w->cl->topo;
    const struct topo_switch *best = NULL;
    size_t best_nodes = 0;
    for (size_t i = 0; i < t->sw.n; i++) {
        const struct topo_switch *s = &t->sw.v[i];
        if (best && s->size > best->size)
            continue;
        struct tally here = tally_of(w, s);
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
    for (size_t i = 0; i < w->key.n; i++)
        if (bit_get(nodes, NODE_OF(w->key.v[i])))
            w->key.v[n++] = w->key.v[i];
    w->key.n = n;
}

/* The next leaf under the switch: the smallest that completes what is missing, else the one with most. */
static size_t leaf_next(const struct world *w, const struct topo_switch *under, const uint64_t *taken,
                        struct tally missing)
{
    const struct topo *t = w->cl->topo;
    size_t best = SIZE_MAX, best_nodes = 0;
    bool best_ends = false;
    for (size_t i = 0; i < t->sw.n; i++) {
        const struct topo_switch *s = &t->sw.v[i];
        if (!s->leaf || bit_get(taken, i))
            continue;
        struct tally here = tally_of(w, s);
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

static size_t leaves_take(struct world *w, const struct topo_switch *under, size_t want, int64_t units)
{
    const struct topo *t = w->cl->topo;
    uint64_t *taken = xcalloc(BIT_WORDS(t->sw.n) + 1, sizeof taken[0]);
    uint64_t *nodes = xcalloc(BIT_WORDS(w->nnodes) + 1, sizeof nodes[0]);
    struct tally missing = {want, units};
    size_t leaves = 0, leaf;
    while ((missing.nodes > 0 || missing.units > 0) &&
           (leaf = leaf_next(w, under, taken, missing)) != SIZE_MAX) {
        struct tally here = tally_of(w, &t->sw.v[leaf]);
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
    if (!w->cl->topo || want < 2)
        return 0;
    const struct topo_switch *s = want <= w->key.n ? lowest(w, want, units) : NULL;
    if (!s)
        s = lowest(w, want = least, units);
    if (!s)
        return 0;
    keys_keep(w, s->nodes);
    return s->leaf ? 1 : leaves_take(w, s, want, units);
}

size_t topo_leaves(const struct world *w)
{
    const struct topo *t = w->cl->topo;
    size_t leaves = 0;
    for (size_t i = 0; t && i < w->pick.n; i++) {
        uint32_t leaf = t->leaf_of[w->pick.v[i]];
        bool seen = false;
        for (size_t k = 0; k < i && leaf != NONE; k++)
            seen |= t->leaf_of[w->pick.v[k]] == leaf;
        leaves += !seen;
    }
    return leaves;
}

int64_t topo_insists_until(const struct cluster *cl, const struct waiting *j)
{
    int64_t wait = j->req->switches_wait_us;
    if (j->req->switches <= 0 || cl->topology.n == 0)
        return 0;
    if (wait <= 0 || wait > cl->policy.max_switch_wait_us)
        wait = cl->policy.max_switch_wait_us;
    return time_add(j->eligible_us, wait);
}
