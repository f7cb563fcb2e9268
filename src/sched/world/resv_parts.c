/* Parts of nodes for a reservation. On a known number of nodes each gives as much; else the first
 * that have anything give what they have until it is enough. Memory comes with CPUs in proportion,
 * and CPUs with devices unless cores were asked for: a job inside needs all three. */
#include "sched/world/resv_choosing.h"

struct resv_choose_piece {
    int64_t cpus;
    int64_t gres[NEEDS_MAX];
};

/* The dimension of the node that serves an item, with what is free of it. */
static uint32_t gres_dim(const struct choosing *k, const struct group *g,
                         const struct gres_item *item)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t d = DIM_GRES; d < g->ntotal; d++)
        if (g->total[d] > 0 && text_is(k->cl->dim.v[d].kind, item->kind) &&
            gres_type_matches(item->type, k->cl->dim.v[d].type) &&
            (best == UINT32_MAX || k->row[d] > k->row[best]))
            best = d;
    return best;
}

static int64_t gres_free(const struct choosing *k, const struct group *g, size_t item)
{
    uint32_t d = gres_dim(k, g, &k->gres.item[item]);
    return d == UINT32_MAX || k->row[d] < 0 ? 0 : k->row[d];
}

/* GPUs bring their share of the node's CPUs unless cores were asked for. */
static int64_t cpus_of_gres(const struct choosing *k, const struct group *g,
                            const struct resv_choose_piece *p)
{
    int64_t cpus = 0;
    for (size_t i = 0; i < k->gres.n; i++) {
        uint32_t d = gres_dim(k, g, &k->gres.item[i]);
        int64_t share = d == UINT32_MAX ? 0 : g->cpus * p->gres[i] / g->total[d];
        cpus = share > cpus ? share : cpus;
    }
    return cpus;
}

static void piece_hold(struct choosing *k, uint32_t node, const struct resv_choose_piece *p)
{
    const struct snode *n = k->cl->node.v[node];
    const struct group *g = n->group;
    int64_t mem = g->mem_mib * p->cpus / g->cpus;
    str_addf(&k->holds, "%s%s cpu=%lld", k->holds.len ? ";" : "", n->name, (long long)p->cpus);
    if (k->cl->policy.count_memory && mem > 0)
        str_addf(&k->holds, " mem=%lld",
                 (long long)(mem < k->row[DIM_MEM] ? mem : k->row[DIM_MEM]));
    for (size_t i = 0; i < k->gres.n; i++)
        if (p->gres[i] > 0)
            str_addf(&k->holds, " %s=%lld", k->cl->dim.v[gres_dim(k, g, &k->gres.item[i])].label,
                     (long long)p->gres[i]);
    choosing_add(k, node, p->cpus);
}

/* So much on this node, or false. */
static bool piece_fits(struct choosing *k, const struct resv_candidate *c, int64_t cores,
                       struct resv_choose_piece *p)
{
    const struct group *g = k->cl->node.v[c->node]->group;
    choosing_room(k, c);
    for (size_t i = 0; i < k->gres.n; i++)
        if (gres_free(k, g, i) < p->gres[i])
            return false;
    p->cpus = cores > 0 ? cores * g->threads_per_core : cpus_of_gres(k, g, p);
    return p->cpus > 0 && k->row[DIM_CPU] >= p->cpus;
}

/* Rounded up: rather some too many than a node that has too few. */
static int64_t even(int64_t total, size_t nodes)
{
    return (total + (int64_t)nodes - 1) / (int64_t)nodes;
}

/* On a known number of nodes: as many of each. */
static enum refusal parts_even(struct choosing *k, size_t nodes)
{
    u32_vec taken = {0};
    enum refusal refusal = REFUSE_NONE;
    for (size_t i = 0; i < k->cand.n && k->chosen.n < nodes; i++) {
        size_t at = k->chosen.n;
        struct resv_choose_piece p = {0};
        int64_t cores = k->ncores == 0  ? 0
                        : k->ncores > 1 ? k->cores[at]
                                        : even(k->cores[0], nodes);
        for (size_t g = 0; g < k->gres.n; g++)
            p.gres[g] = even(k->gres.item[g].count, nodes);
        if (piece_fits(k, &k->cand.v[i], cores, &p))
            piece_hold(k, k->cand.v[i].node, &p);
        else if (k->named)
            vec_push(&taken, k->cand.v[i].node);
    }
    if (taken.n > 0)
        refusal = choosing_busy(k, &taken);
    else if (k->chosen.n < nodes)
        refusal = choosing_too_few(k, "nodes with so much", (int64_t)nodes, (int64_t)k->chosen.n);
    vec_done(&taken);
    return refusal;
}

/* As much as there is on each node until it is enough. */
static enum refusal parts_greedy(struct choosing *k)
{
    /* `open` is what is still missing of all together, cores and devices: only its reaching 0
     * matters. */
    int64_t cores = k->ncores > 0 ? k->cores[0] : 0, lacking[NEEDS_MAX] = {0}, open = cores;
    for (size_t g = 0; g < k->gres.n; g++)
        open += lacking[g] = k->gres.item[g].count;
    for (size_t i = 0; i < k->cand.n && open > 0; i++) {
        const struct snode *n = k->cl->node.v[k->cand.v[i].node];
        struct resv_choose_piece p = {0};
        if (!n->up)
            continue;
        choosing_room(k, &k->cand.v[i]);
        int64_t here = k->row[DIM_CPU] / n->group->threads_per_core, some = 0;
        here = here < cores ? here : cores;
        for (size_t g = 0; g < k->gres.n; g++) {
            int64_t free_here = gres_free(k, n->group, g);
            some += p.gres[g] = free_here < lacking[g] ? free_here : lacking[g];
        }
        if ((here <= 0 && some == 0) ||
            !piece_fits(k, &k->cand.v[i], k->ncores > 0 && here > 0 ? here : 0, &p))
            continue;
        piece_hold(k, n->idx, &p);
        cores -= k->ncores > 0 ? here : 0;
        for (size_t g = 0; g < k->gres.n; g++)
            lacking[g] -= p.gres[g];
        open -= some + (k->ncores > 0 ? here : 0);
    }
    if (open <= 0)
        return REFUSE_NONE;
    int64_t asked = k->ncores > 0 ? k->cores[0] : k->gres.item[0].count;
    return choosing_too_few(k, k->ncores > 0 ? "cores" : "devices", asked, asked - open);
}

enum refusal choosing_parts(struct choosing *k)
{
    size_t nodes = k->named ? k->cand.n : (size_t)k->r->node_count;
    if (k->gres.n > NEEDS_MAX - 4)
        return choosing_refuse(k, REFUSE_GRES,
                               "so many kinds of resources cannot be reserved together");
    if (k->ncores > 1 && k->ncores != nodes)
        return choosing_refuse(k, REFUSE_INVALID_CPU_COUNT,
                               "CoreCnt= has one number for each node: as many as there are nodes");
    return nodes > 0 ? parts_even(k, nodes) : parts_greedy(k);
}
