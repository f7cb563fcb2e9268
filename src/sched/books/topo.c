/* Groups of consecutive blocks (BlockSizes=) are switches, too. Nodes that no line names, and parts
 * of a network that nothing connects, hang below a root of their own making: a job is spread over
 * them only when nothing smaller has enough. */
#include "sched/books/topo.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "sched/books/tables.h"

#include <stdlib.h>
#include <string.h>

static void switch_add(struct cluster *cl, struct topo *t, const struct hostlist *names, bool leaf)
{
    struct topo_switch s = {.nodes = xcalloc(BIT_WORDS(cl->node.n) + 1, sizeof s.nodes[0]),
                            .leaf = leaf};
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
    topology_nodes(&cl->wiring.given, row, &folded);
    if (folded.len && hostlist_parse(&names, str_text(&folded), NULL))
        switch_add(cl, t, &names, row->nodes != NULL);
    hostlist_done(&names);
    str_done(&folded);
}

/* Groups of `each` consecutive blocks. */
static void blocks_join(struct cluster *cl, struct topo *t, size_t each)
{
    for (size_t i = 0; each > 1 && i < cl->wiring.given.n; i += each) {
        struct hostlist names = HOSTLIST_INIT;
        for (size_t k = i; k < i + each && k < cl->wiring.given.n; k++)
            if (cl->wiring.given.row[k].nodes)
                hostlist_parse(&names, cl->wiring.given.row[k].nodes, NULL);
        switch_add(cl, t, &names, false);
        hostlist_done(&names);
    }
}

static void block_groups(struct cluster *cl, struct topo *t)
{
    struct span rest = span_of(cl->wiring.given.block_sizes ? cl->wiring.given.block_sizes : ""),
                piece;
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

/* By node what `sw` has by switch. */
static void above_make(struct topo *t, size_t nnodes)
{
    size_t n = 0;
    t->above_from = xcalloc(nnodes + 1, sizeof t->above_from[0]);
    for (size_t i = 0; i < t->sw.n; i++)
        n += (size_t)t->sw.v[i].size;
    t->above = xcalloc(n + 1, sizeof t->above[0]);
    n = 0;
    for (size_t node = 0; node < nnodes; node++) {
        t->above_from[node] = n;
        for (size_t i = 0; i < t->sw.n; i++)
            if (bit_get(t->sw.v[i].nodes, node))
                t->above[n++] = (uint32_t)i;
    }
    t->above_from[nnodes] = n;
}

void topo_free(struct cluster *cl)
{
    for (size_t i = 0; cl->wiring.topo && i < cl->wiring.topo->sw.n; i++)
        free(cl->wiring.topo->sw.v[i].nodes);
    if (cl->wiring.topo) {
        vec_done(&cl->wiring.topo->sw);
        free(cl->wiring.topo->leaf_of);
        free(cl->wiring.topo->above_from);
        free(cl->wiring.topo->above);
        free(cl->wiring.topo);
    }
    cl->wiring.topo = NULL;
}

void topo_settle(struct cluster *cl)
{
    topo_free(cl);
    if (cl->wiring.given.n == 0)
        return;
    struct topo *t = cl->wiring.topo = xcalloc(1, sizeof *t);
    t->leaf_of = xmalloc((cl->node.n + 1) * sizeof t->leaf_of[0]);
    memset(t->leaf_of, 0xff, (cl->node.n + 1) * sizeof t->leaf_of[0]);
    for (size_t i = 0; i < cl->wiring.given.n; i++)
        row_add(cl, t, &cl->wiring.given.row[i]);
    block_groups(cl, t);
    root_add(cl, t);
    above_make(t, cl->node.n);
}

void cluster_set_topology(struct cluster *cl, const struct topology *t)
{
    ASSERT(t->n == 0 || t->row);
    struct arena *a = arena_new();
    struct topology copy = {.row = arena_alloc(a, (t->n + 1) * sizeof copy.row[0]), .n = t->n};
    copy.block_sizes = arena_strdup(a, t->block_sizes);
    for (size_t i = 0; i < t->n; i++)
        copy.row[i] = (struct topo_row){.name = arena_strdup(a, t->row[i].name),
                                        .nodes = arena_strdup(a, t->row[i].nodes),
                                        .switches = arena_strdup(a, t->row[i].switches),
                                        .block = t->row[i].block};
    arena_free(cl->wiring.arena);
    cl->wiring.arena = a;
    cl->wiring.given = copy;
    cl->derived.stale = true;
}

const struct topology *cluster_topology(const struct cluster *cl)
{
    return &cl->wiring.given;
}

int64_t topo_insists_until(const struct cluster *cl, const struct waiting *j)
{
    ASSERT(j->req);
    int64_t wait = j->req->switches_wait_us;
    if (j->req->switches <= 0 || cl->wiring.given.n == 0)
        return 0;
    if (wait <= 0 || wait > cl->policy.max_switch_wait_us)
        wait = cl->policy.max_switch_wait_us;
    return time_add(j->eligible_us, wait);
}
