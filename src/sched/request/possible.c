/* Could a request start if every node (or every node that is up) were empty? Answered by groups of
 * equal nodes, unless the request names nodes or wants neighbours. */
#include "base/alloc.h"
#include "sched/request/demand.h"

#include <stdlib.h>
#include <string.h>

struct caps {
    int32_t cap;
    int64_t nodes;
};

static int cap_order(const void *a, const void *b)
{
    const struct caps *x = a, *y = b;
    return (x->cap < y->cap) - (x->cap > y->cap);
}

/* Do the nodes, the best first, hold all units on nmin to nmax of them? */
static bool enough(const struct layout *l, struct caps *v, size_t n, int64_t nodes, int64_t units)
{
    if (n > 1)
        qsort(v, n, sizeof v[0], cap_order);
    for (size_t i = 0; i < n && nodes < l->nmax; i++) {
        int64_t take = v[i].nodes < l->nmax - nodes ? v[i].nodes : l->nmax - nodes;
        nodes += take;
        units += take * v[i].cap;
    }
    return nodes >= l->nmin && units >= l->units;
}

static bool by_groups(const struct cluster *cl, const struct compiled *c, const struct option *o,
                      struct variant *v, bool up_only)
{
    struct caps *caps = xcalloc(cl->group.n + 1, sizeof caps[0]);
    size_t n = 0;
    for (size_t i = 0; i < cl->group.n; i++) {
        const struct group *g = cl->group.v[i];
        int64_t nodes = up_only ? g->up : g->nodes;
        if (nodes > 0 && bit_get(v->groups, i))
            caps[n++] = (struct caps){demand_cap(cl, c, o, v, g, g->total), nodes};
    }
    bool ok = enough(&v->lay, caps, n, 0, 0);
    free(caps);
    return ok;
}

static int node_order(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return a < b ? -1 : a > b;
}

bool demand_names(const struct compiled *c, uint32_t node)
{
    return c->nmust && bsearch(&node, c->must, c->nmust, sizeof c->must[0], node_order);
}

bool demand_admits(const struct compiled *c, const struct option *o, uint32_t node)
{
    int32_t most = o->nvariants == 0 && o->wish ? o->wish->lay.nmax : 0;
    if (!(option_allows(c, o, node / 64) >> (node % 64) & 1))
        return false;
    for (size_t i = 0; i < o->nvariants; i++)
        if (o->variant[i].lay.nmax > most)
            most = o->variant[i].lay.nmax;
    return (int64_t)c->nmust < most || demand_names(c, node);
}

/* Node i of the cluster, if the variant can use it. */
static int32_t node_cap(const struct cluster *cl, const struct compiled *c, const struct option *o,
                        struct variant *v, size_t i, bool up_only)
{
    const struct snode *n = cl->node.v[i];
    if ((up_only && !n->up) || !bit_get(v->groups, n->group->idx) ||
        !(option_allows(c, o, i / 64) >> (i % 64) & 1))
        return 0;
    return demand_cap(cl, c, o, v, n->group, n->group->total);
}

struct counted_node {
    int32_t cap;
    uint32_t node;
};

static int largest_first(const void *va, const void *vb)
{
    const struct counted_node *a = va, *b = vb;
    if (a->cap != b->cap)
        return a->cap > b->cap ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

/* Takes nodes of the groups, the largest first, until `nodes` of those taken are of them; taken
 * nodes have cap 0 afterwards. */
static bool take_counted(const struct cluster *cl, const uint64_t *groups, int32_t nodes,
                         int32_t *cap, char *taken, int64_t *ret_nodes, int64_t *ret_units)
{
    struct counted_node *of = xcalloc(cl->node.n + 1, sizeof of[0]);
    size_t n = 0, at = 0;
    for (size_t i = 0; i < cl->node.n; i++) {
        bool has = bit_get(groups, cl->node.v[i]->group->idx);
        nodes -= taken[i] && has;
        if (cap[i] > 0 && has)
            of[n++] = (struct counted_node){cap[i], (uint32_t)i};
    }
    if (nodes > 0)
        qsort(of, n, sizeof of[0], largest_first);
    for (; nodes > 0 && at < n; nodes--, at++) {
        *ret_units += of[at].cap;
        (*ret_nodes)++;
        cap[of[at].node] = 0;
        taken[of[at].node] = 1;
    }
    free(of);
    return nodes <= 0;
}

/* As placing does it: nodes named, nodes for counted features, then the largest. */
static bool by_nodes(const struct cluster *cl, const struct compiled *c, const struct option *o,
                     struct variant *v, bool up_only)
{
    struct caps *caps = xcalloc(cl->node.n + 1, sizeof caps[0]);
    int32_t *cap = xcalloc(cl->node.n + 1, sizeof cap[0]);
    char *taken = xcalloc(cl->node.n + 1, 1);
    size_t n = 0;
    int64_t units = 0, nodes = 0;
    for (size_t i = 0; i < cl->node.n; i++) {
        cap[i] = node_cap(cl, c, o, v, i, up_only);
        if (cap[i] == 0 || !demand_names(c, (uint32_t)i))
            continue;
        nodes++;
        units += cap[i];
        cap[i] = 0;
        taken[i] = 1;
    }
    bool ok = (size_t)nodes == c->nmust;
    for (size_t k = 0; ok && k < v->ncount; k++)
        ok = take_counted(cl, v->count[k].groups, v->count[k].nodes, cap, taken, &nodes, &units);
    for (size_t i = 0; i < cl->node.n; i++)
        if (cap[i] > 0)
            caps[n++] = (struct caps){cap[i], 1};
    ok = ok && nodes <= v->lay.nmax && enough(&v->lay, caps, n, nodes, units);
    free(caps);
    free(cap);
    free(taken);
    return ok;
}

/* A node comes into a stretch (more 1) or drops out of it (-1): true if the stretch has then what
 * counted features ask for. */
static bool counts_have(const struct cluster *cl, const struct variant *v, size_t node,
                        int32_t more, int32_t *has)
{
    bool all = true;
    for (size_t i = 0; i < v->ncount; i++) {
        has[i] += bit_get(v->count[i].groups, cl->node.v[node]->group->idx) ? more : 0;
        all &= has[i] >= v->count[i].nodes;
    }
    return all;
}

static bool by_neighbours(const struct cluster *cl, const struct compiled *c,
                          const struct option *o, struct variant *v, bool up_only)
{
    const struct layout *l = &v->lay;
    int64_t nodes = 0, units = 0, must = 0;
    int32_t has[FEATURE_COUNTS_MAX] = {0};
    for (size_t i = 0; i < cl->node.n; i++) {
        int32_t cap = node_cap(cl, c, o, v, i, up_only);
        if (cap == 0) {
            nodes = units = must = 0;
            memset(has, 0, sizeof has);
            continue;
        }
        bool counted = counts_have(cl, v, i, 1, has);
        nodes++;
        units += cap;
        must += demand_names(c, (uint32_t)i);
        if (nodes > l->nmax) {
            units -= node_cap(cl, c, o, v, i - (size_t)nodes + 1, up_only);
            must -= demand_names(c, (uint32_t)(i - (size_t)nodes + 1));
            counted = counts_have(cl, v, i - (size_t)nodes + 1, -1, has);
            nodes--;
        }
        if (nodes >= l->nmin && units >= l->units && must == (int64_t)c->nmust && counted)
            return true;
    }
    return false;
}

bool demand_possible(const struct cluster *cl, const struct compiled *c, const struct option *o,
                     bool up_only)
{
    ASSERT(!cl->derived.stale);
    for (size_t i = 0; i < o->nvariants; i++) {
        struct variant *v = &o->variant[i];
        if (c->req->contiguous ? by_neighbours(cl, c, o, v, up_only)
            : c->allowed || (o->resv && o->resv->nodes) || c->nmust > 0 || v->ncount > 0
                ? by_nodes(cl, c, o, v, up_only)
                : by_groups(cl, c, o, v, up_only))
            return true;
    }
    return false;
}

static struct demand_room room_of(const struct cluster *cl, const struct compiled *c,
                                  const struct option *o, struct variant *v)
{
    struct caps *caps = xcalloc(o->part->node.n + 1, sizeof caps[0]);
    struct demand_room room = {0};
    for (size_t i = 0; i < o->part->node.n; i++) {
        int32_t cap = node_cap(cl, c, o, v, o->part->node.v[i]->idx, false);
        if (cap > 0)
            caps[room.nodes++] = (struct caps){cap, 1};
    }
    if (room.nodes > 1)
        qsort(caps, (size_t)room.nodes, sizeof caps[0], cap_order);
    for (int64_t i = 0; i < room.nodes && i < v->lay.nmax; i++)
        room.units += caps[i].cap;
    free(caps);
    return room;
}

struct variant *demand_roomiest(const struct cluster *cl, const struct compiled *c,
                                const struct option *o, struct demand_room *ret)
{
    struct variant *best = NULL;
    bool types = false;
    for (size_t i = 0; i < o->nvariants; i++) {
        struct variant *v = &o->variant[i];
        if (v->lay.units == 0)
            continue;
        struct demand_room room = room_of(cl, c, o, v);
        types |= best && room.units > 0 && v->ngres > 0 && v->gres[0].dim != best->gres[0].dim;
        if (!best || room.units > ret->units)
            best = v, *ret = room;
    }
    if (best)
        ret->types = types;
    return best;
}
