/* Nodes and partitions may change in any order and by the thousand at start-up, so nothing is
 * derived at once: derived.stale is set, and cluster_settle brings numbers, groups and free amounts
 * up to date before the next use. */
#include "sched/books/settle.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "sched/books/classes.h"
#include "sched/books/resv.h"
#include "sched/books/tables.h"
#include "sched/books/topo.h"

#include <stdlib.h>
#include <string.h>

static void nodes_number(struct cluster *cl)
{
    struct hostlist names = HOSTLIST_INIT;
    for (size_t i = 0; i < cl->node.n; i++)
        hostlist_add(&names, cl->node.v[i]->name);
    hostlist_sort(&names);
    for (size_t i = 0; i < names.n; i++) {
        cl->node.v[i] = cluster_node(cl, names.name[i]);
        cl->node.v[i]->idx = (uint32_t)i;
    }
    hostlist_done(&names);
}

/* ---- kinds and types that nobody has any more ---- */

#define DIMS_SPARE 64 /* so many may be forgotten later */

static void dim_see(bool *seen, uint32_t *live, uint32_t dim)
{
    *live += !seen[dim];
    seen[dim] = true;
}

/* What nodes have, jobs hold and reservations keep; returns how many there are. */
static uint32_t dims_seen(const struct cluster *cl, bool *seen)
{
    uint32_t live = 0;
    for (uint32_t d = 0; d < DIM_GRES; d++)
        dim_see(seen, &live, d);
    for (size_t g = 0; g < cl->group.n; g++)
        for (uint32_t d = DIM_GRES; d < cl->group.v[g]->ntotal; d++)
            if (cl->group.v[g]->total[d])
                dim_see(seen, &live, d);
    for (size_t i = 0; i < cl->run.n; i++)
        for (size_t h = 0; h < cl->run.v[i]->nholds; h++)
            for (size_t k = 0; k < cl->run.v[i]->hold[h].ngres; k++)
                dim_see(seen, &live, cl->run.v[i]->hold[h].gres[k].dim);
    for (size_t i = 0; i < cl->resv.n; i++)
        for (size_t p = 0; cl->resv.v[i] && p < cl->resv.v[i]->part.n; p++)
            for (size_t u = 0; u < cl->resv.v[i]->part.v[p].n; u++)
                dim_see(seen, &live, cl->resv.v[i]->part.v[p].use[u].dim);
    return live;
}

/* The others are gone, and those that stay have new numbers: what jobs hold is told them here, all
 * else is made anew when the cluster is settled. */
static void dims_renumber(struct cluster *cl, const bool *seen)
{
    uint32_t *number = xcalloc(cl->dim.n, sizeof *number), n = 0;
    map_str_free(cl->dim.by_label);
    cl->dim.by_label = map_str_new();
    for (uint32_t d = 0; d < cl->dim.n; d++) {
        struct dim *from = &cl->dim.v[d];
        if (!seen[d]) {
            free(from->kind);
            free(from->type);
            free(from->label);
            continue;
        }
        number[d] = n;
        cl->dim.v[n++] = *from;
        map_str_put(cl->dim.by_label, from->label, (void *)(uintptr_t)n);
    }
    cl->dim.n = n;
    for (size_t i = 0; i < cl->run.n; i++)
        for (size_t h = 0; h < cl->run.v[i]->nholds; h++)
            for (size_t k = 0; k < cl->run.v[i]->hold[h].ngres; k++) {
                struct held_gres *g = &cl->run.v[i]->hold[h].gres[k];
                g->dim = number[g->dim];
            }
    free(number);
}

/* A node that calls its devices by ever-new names leaves room and time behind on every node. Once
 * there are more of those than of others, and some, they are forgotten. */
static void dims_forget(struct cluster *cl)
{
    bool *seen = xcalloc(cl->dim.n, sizeof *seen);
    if (cl->dim.n > 2 * dims_seen(cl, seen) + DIMS_SPARE) {
        dims_renumber(cl, seen);
        cl->derived.stale = true;
    }
    free(seen);
}

static int32_t share_max(const struct cluster *cl)
{
    int32_t most = 1;
    for (size_t i = 0; i < cl->part.n; i++) {
        const struct partition *p = &cl->part.v[i]->p;
        if (cl->part.v[i]->gone || (p->share != SHARE_YES && p->share != SHARE_FORCE))
            continue;
        int32_t count = p->share_count > 0 ? p->share_count : 4;
        if (count > most)
            most = count;
    }
    return most;
}

/* The partitions of each node, as a bitmap in a row of `bits`. */
static uint64_t *parts_of_nodes(const struct cluster *cl, size_t words)
{
    uint64_t *bits = xcalloc(cl->node.n * words + 1, sizeof bits[0]);
    for (size_t p = 0; p < cl->part.n; p++)
        for (size_t i = 0; !cl->part.v[p]->gone && i < cl->part.v[p]->node.n; i++)
            bit_set(&bits[cl->part.v[p]->node.v[i]->idx * words], p);
    return bits;
}

static void groups_clear(struct cluster *cl)
{
    for (size_t i = 0; i < cl->group.n; i++)
        group_free(cl->group.v[i]);
    vec_clear(&cl->group);
    map_str_free(cl->group.by_key);
    cl->group.by_key = map_str_new();
}

static void groups_make(struct cluster *cl)
{
    size_t words = BIT_WORDS(cl->part.n + 1);
    uint64_t *bits = parts_of_nodes(cl, words);
    struct str key = STR_INIT;
    for (size_t i = 0; i < cl->node.n; i++) {
        struct snode *n = cl->node.v[i];
        str_clear(&key);
        str_add(&key, n->base_key);
        for (size_t w = 0; w < words; w++)
            str_addf(&key, "|%llx", (unsigned long long)bits[i * words + w]);
        struct group *g = map_str_get(cl->group.by_key, str_text(&key));
        if (!g) {
            g = group_make(cl, n->cfg, str_text(&key));
            g->parts = xmemdup(&bits[i * words], words * sizeof bits[0]);
            g->idx = (uint32_t)cl->group.n;
            vec_push(&cl->group, g);
            map_str_put(cl->group.by_key, g->key, g);
        }
        n->group = g;
        g->nodes++;
        g->up += n->up;
    }
    str_done(&key);
    free(bits);
}

static bool is_less(const struct group *a, const struct group *b)
{
    return a->cpus != b->cpus ? a->cpus < b->cpus : a->mem_mib < b->mem_mib;
}

/* Whatever the order in which nodes were told of. */
static void parts_measure(struct cluster *cl)
{
    for (size_t p = 0; p < cl->part.n; p++) {
        struct spart *part = cl->part.v[p];
        part->least = NULL;
        for (size_t i = 0; i < cl->group.n; i++) {
            const struct group *g = cl->group.v[i];
            if (bit_get(g->parts, part->idx) && (!part->least || is_less(g, part->least)))
                part->least = g;
        }
    }
}

static void groups_rank(struct cluster *cl)
{
    for (size_t i = 0; i < cl->group.n; i++) {
        cl->group.v[i]->weight_rank = 0;
        for (size_t k = 0; k < cl->group.n; k++)
            cl->group.v[i]->weight_rank += cl->group.v[k]->weight < cl->group.v[i]->weight;
    }
}

static void shifts_set(struct cluster *cl)
{
    free(cl->dim.shift);
    cl->dim.shift = xcalloc(cl->dim.n, 1);
    for (uint32_t d = 0; d < cl->dim.n; d++) {
        int64_t most = 0;
        for (size_t g = 0; g < cl->group.n; g++)
            if (d < cl->group.v[g]->ntotal && cl->group.v[g]->total[d] > most)
                most = cl->group.v[g]->total[d];
        while ((most >> cl->dim.shift[d]) >= BUCKETS)
            cl->dim.shift[d]++;
    }
}

/* What holds for each user by himself makes classes of one user's jobs. */
static bool limits_users(const struct spart *p)
{
    for (size_t i = 0; i < p->windows.n; i++)
        if (p->windows.v[i].max_jobs_per_user > 0)
            return true;
    return false;
}

static void group_count(struct cluster *cl, const struct group *g)
{
    cl->derived.all.cpus += (int64_t)g->nodes * g->cpus;
    cl->derived.all.mem_mib += (int64_t)g->nodes * g->mem_mib;
    for (size_t d = DIM_GRES; d < g->ntotal; d++)
        cl->derived.all.gpus += cl->dim.v[d].is_gpu ? g->nodes * g->total[d] : 0;
}

void cluster_settle(struct cluster *cl)
{
    if (!cl->derived.stale && !cl->derived.resv_stale)
        return;
    cl->derived.version++;
    cl->derived.resv_stale = false;
    if (!cl->derived.stale) {
        resv_settle(cl, false);
        cluster_settle(cl); /* a resource that only a reservation names made a dimension */
        return;
    }
    cl->policy.share_max = share_max(cl);
    cl->part.by_user = false;
    for (size_t i = 0; i < cl->part.n; i++)
        cl->part.by_user |= !cl->part.v[i]->gone &&
                            (cl->part.v[i]->p.exclusive_user || limits_users(cl->part.v[i]));
    nodes_number(cl);
    groups_clear(cl);
    groups_make(cl);
    groups_rank(cl);
    parts_measure(cl);
    shifts_set(cl);
    cl->derived.all = (struct holding){0};
    for (size_t i = 0; i < cl->group.n; i++)
        group_count(cl, cl->group.v[i]);
    cl->derived.stale = false;
    cl->derived.up_version++;
    free(cl->node.free);
    cl->node.free = xcalloc(cl->node.n * cl->dim.n + 1, sizeof cl->node.free[0]);
    for (size_t i = 0; i < cl->node.n; i++)
        node_recount(cl, cl->node.v[i]);
    classes_regroup(cl);
    topo_settle(cl);
    resv_settle(cl, true);
    dims_forget(cl);
    cluster_settle(cl);
}
