/* Which nodes a new reservation gets, and what of them. Nodes are looked at as a job without a
 * reservation would see them over the whole time, and over all the times to come of one that
 * recurs: what is free then, whatever runs and is reserved, is free to be kept. Nodes that were
 * named must be free; of others those that are up come first, those it had before first of all,
 * then by weight and number. Parts of nodes bring memory with them in proportion to their CPUs, or
 * jobs inside could not start. */
#include "base/alloc.h"
#include "base/hostlist.h"
#include "base/list.h"
#include "sched/books/settle.h"
#include "sched/books/tables.h"
#include "sched/world/resv_choosing.h"

#include <stdlib.h>
#include <string.h>

/* ---- what was asked ---- */

static bool cores_parse(struct choosing *k)
{
    struct span rest = span_of(k->r->core_counts), piece;
    while (span_next(&rest, ',', &piece)) {
        if (k->ncores == ARRAY_LEN(k->cores))
            return false;
        char *text = arena_strndup(k->a, piece.data, piece.len);
        if (!text_to_i64(text, 1, INT32_MAX / 2, &k->cores[k->ncores++]))
            return false;
    }
    return true;
}

/* A feature that no node of the cluster has; NULL = all are known. */
static const char *feature_unknown(const struct choosing *k)
{
    const char *name[FEATURE_NAMES_MAX];
    size_t n = feature_names(k->r->features, k->a, name, FEATURE_NAMES_MAX);
    for (size_t i = 0; i < n; i++) {
        bool there = false;
        for (size_t g = 0; g < k->cl->group.n && !there; g++)
            there = list_has(k->cl->group.v[g]->features, name[i]);
        if (!there)
            return name[i];
    }
    return NULL;
}

static enum refusal asked_read(struct choosing *k)
{
    struct err e = {0};
    if (!feature_parse(k->r->features, k->a, &k->arms, &e))
        return choosing_refuse(k, REFUSE_FEATURE, e.text);
    const char *unknown = feature_unknown(k);
    if (unknown)
        return choosing_refuse(k, REFUSE_FEATURE,
                               arena_printf(k->a, "no node has the feature %.100s", unknown));
    if (!text_empty(k->r->core_counts) && !cores_parse(k))
        return choosing_refuse(
            k, REFUSE_INVALID_CPU_COUNT,
            "CoreCnt= is a number of cores, or one for each node: 2,2,4 (at most 64)");
    if (!text_empty(k->r->gres) && !gres_parse(k->r->gres, k->a, &k->gres, &e))
        return choosing_refuse(k, REFUSE_GRES, e.text);
    k->partial = k->ncores > 0 || k->gres.n > 0;
    return REFUSE_NONE;
}

/* ---- candidates ---- */

static bool feature_ok(const struct choosing *k, const struct snode *n)
{
    for (size_t i = 0; i < k->arms.n; i++)
        if (feature_arm_holds(&k->arms.arm[i], n->group->features))
            return true;
    return false;
}

static void candidate_add(struct choosing *k, const struct snode *n, bool had)
{
    if (!feature_ok(k, n))
        return;
    struct resv_candidate c = {.node = n->idx, .had = had};
    /* Smaller is better. */
    c.key = (uint64_t)!n->up << 63 | (uint64_t)!had << 62 | (uint64_t)n->group->weight_rank << 32 |
            n->idx;
    vec_push(&k->cand, c);
}

static int candidate_order(const void *a, const void *b)
{
    const struct resv_candidate *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static enum refusal named_read(struct choosing *k)
{
    struct hostlist names = HOSTLIST_INIT;
    struct err e = {0};
    enum refusal refusal = REFUSE_NONE;
    if (!hostlist_parse(&names, k->r->nodes, &e))
        refusal = choosing_refuse(k, REFUSE_INVALID_NODE, e.text);
    hostlist_uniq(&names);
    for (size_t i = 0; !refusal && i < names.n; i++) {
        const struct snode *n = cluster_node(k->cl, names.name[i]);
        if (n)
            vec_push(&k->cand, ((struct resv_candidate){.node = n->idx, .had = true}));
        else
            refusal = choosing_refuse(k, REFUSE_INVALID_NODE,
                                      arena_printf(k->a, "there is no node %s", names.name[i]));
    }
    hostlist_done(&names);
    return refusal;
}

static bool had_before(const struct choosing *k, const struct snode *n)
{
    const struct sresv *old = k->view.but;
    for (size_t i = 0; old && i < old->part.n; i++)
        if (old->part.v[i].node == n->idx)
            return true;
    return false;
}

static const struct spart *part_to_use(const struct choosing *k)
{
    if (!text_empty(k->r->partition))
        return cluster_part(k->cl, k->r->partition);
    for (size_t i = 0; i < k->cl->part.n; i++)
        if (!k->cl->part.v[i]->gone && k->cl->part.v[i]->p.is_default)
            return k->cl->part.v[i];
    return NULL;
}

/* Nodes are named if each is meant, and then all of them must be free: a list, ALL, or a partition
 * without a number. With a number, a list or partition only says where to choose. */
static enum refusal candidates_find(struct choosing *k)
{
    bool all =
        text_is_nocase(k->r->nodes, "ALL") || (k->r->flags & (RESV_PART_NODES | RESV_ALL_NODES));
    const struct spart *p = part_to_use(k);
    if (!text_empty(k->r->partition) && !p)
        return choosing_refuse(k, REFUSE_INVALID_PARTITION,
                               arena_printf(k->a, "there is no partition %s", k->r->partition));
    if (!text_empty(k->r->nodes) && !all &&
        (k->r->node_count == 0 || (k->r->flags & RESV_SPEC_NODES))) {
        k->named = true;
        k->r->flags |= RESV_SPEC_NODES;
        return named_read(k);
    }
    k->named = all || (!text_empty(k->r->partition) && k->r->node_count == 0 && !k->partial);
    if (all && text_empty(k->r->partition)) {
        p = NULL;
        k->r->flags |= RESV_ALL_NODES | RESV_SPEC_NODES;
    }
    for (size_t i = 0; p && i < p->node.n; i++)
        candidate_add(k, p->node.v[i], had_before(k, p->node.v[i]));
    for (size_t i = 0; !p && i < k->cl->node.n; i++)
        candidate_add(k, k->cl->node.v[i], had_before(k, k->cl->node.v[i]));
    if (k->cand.n > 1)
        qsort(k->cand.v, k->cand.n, sizeof k->cand.v[0], candidate_order);
    return REFUSE_NONE;
}

/* ---- whole nodes ---- */

static enum refusal whole_named(struct choosing *k)
{
    u32_vec taken = {0};
    enum refusal refusal = REFUSE_NONE;
    for (size_t i = 0; i < k->cand.n; i++) {
        if (choosing_whole_free(k, &k->cand.v[i]))
            choosing_add(k, k->cand.v[i].node, k->cl->node.v[k->cand.v[i].node]->group->cpus);
        else
            vec_push(&taken, k->cand.v[i].node);
    }
    if (taken.n > 0)
        refusal = choosing_busy(k, &taken);
    else if (k->chosen.n == 0)
        refusal =
            choosing_refuse(k, REFUSE_NODE_CONFIG,
                            "no node is meant: none is in that partition with those features");
    vec_done(&taken);
    return refusal;
}

static bool is_chosen(const struct choosing *k, uint32_t node)
{
    for (size_t i = 0; i < k->chosen.n; i++)
        if (k->chosen.v[i] == node)
            return true;
    return false;
}

static int32_t whole_take(struct choosing *k, const struct feature_expr *only, int32_t count)
{
    int32_t taken = 0;
    for (size_t i = 0; i < k->cand.n && taken < count; i++) {
        const struct snode *n = k->cl->node.v[k->cand.v[i].node];
        if ((!n->up && !(k->r->flags & RESV_MAINT)) || is_chosen(k, n->idx) ||
            (only && !feature_holds(only, n->group->features)) ||
            !choosing_whole_free(k, &k->cand.v[i]))
            continue;
        choosing_add(k, n->idx, n->group->cpus);
        taken++;
    }
    return taken;
}

/* Features with numbers of their own (a*2&b*3) first, each with nodes that no other has taken; what
 * is missing to the number of all is chosen freely. */
static enum refusal whole_counted(struct choosing *k)
{
    const struct feature_arm *arm = &k->arms.arm[0];
    for (size_t i = 0; i < arm->ncount; i++) {
        int32_t found = whole_take(k, arm->count[i].expr, arm->count[i].nodes);
        if (found < arm->count[i].nodes)
            return choosing_too_few(k, "nodes with one of those features", arm->count[i].nodes,
                                    found);
    }
    int32_t more = k->r->node_count - (int32_t)k->chosen.n;
    if (more > 0 && whole_take(k, NULL, more) < more)
        return choosing_too_few(k, "nodes", k->r->node_count, (int64_t)k->chosen.n);
    return REFUSE_NONE;
}

/* ---- the answer ---- */

static void answer(struct choosing *k)
{
    struct hostlist h = HOSTLIST_INIT;
    struct str folded = STR_INIT;
    for (size_t i = 0; i < k->chosen.n; i++)
        hostlist_add(&h, k->cl->node.v[k->chosen.v[i]]->name);
    hostlist_sort(&h);
    hostlist_fold(&h, &folded);
    k->r->nodes = folded.len ? arena_strdup(k->a, str_text(&folded)) : NULL;
    k->r->holds = k->holds.len ? arena_strdup(k->a, str_text(&k->holds)) : NULL;
    k->r->core_count = (int32_t)k->core_sum;
    k->r->cpu_count = (int32_t)k->cpu_sum;
    if (k->named || k->r->node_count == 0)
        k->r->node_count = (int32_t)k->chosen.n;
    str_done(&folded);
    hostlist_done(&h);
}

static enum refusal licences_check(struct choosing *k)
{
    struct span rest = span_of(k->r->licenses), piece;
    while (!text_empty(k->r->licenses) && span_next(&rest, ',', &piece)) {
        char *name = arena_strndup(k->a, span_trim(piece).data, span_trim(piece).len);
        char *colon = strpbrk(name, ":=");
        int64_t count = 1;
        if (colon)
            *colon = '\0';
        ptrdiff_t lic = cluster_licence(k->cl, name);
        if (colon && !text_to_i64(colon + 1, 1, INT32_MAX, &count))
            return choosing_refuse(k, REFUSE_LICENSES, "a licence is written name or name:count");
        if (lic < 0 || k->cl->lic.v[lic].total < count)
            return choosing_refuse(
                k, REFUSE_LICENSES,
                arena_printf(k->a, "%lld of the licence %s were asked for; the cluster has %lld",
                             (long long)count, name,
                             lic < 0 ? 0LL : (long long)k->cl->lic.v[lic].total));
        struct resv_candidate c = {.node = (uint32_t)(k->cl->node.n + (size_t)lic)};
        if (choosing_room(k, &c)[DIM_CPU] < count)
            return choosing_refuse(
                k, REFUSE_LICENSES,
                arena_printf(k->a,
                             "%lld of the licence %s were asked for; %lld can be reserved in that "
                             "time",
                             (long long)count, name, (long long)k->row[DIM_CPU]));
    }
    return REFUSE_NONE;
}

static bool asks_nodes(const struct reservation *r)
{
    return r->nodes || r->node_count > 0 || r->core_counts || r->gres || r->partition;
}

static enum refusal choose(struct choosing *k)
{
    enum refusal r = asked_read(k);
    if (r == REFUSE_NONE)
        r = licences_check(k);
    if (r == REFUSE_NONE && !(k->r->flags & RESV_ANY_NODES) && !asks_nodes(k->r))
        return choosing_refuse(k, REFUSE_INVALID_NODE,
                               "licences without nodes are reserved with Flags=LICENSE_ONLY");
    if (r == REFUSE_NONE && (k->r->flags & RESV_ANY_NODES) && asks_nodes(k->r))
        return choosing_refuse(k, REFUSE_RESERVATION,
                               "Flags=LICENSE_ONLY (ANY_NODES) reserves licences, not nodes");
    if (r == REFUSE_NONE && (k->r->flags & RESV_ANY_NODES))
        return REFUSE_NONE;
    if (r == REFUSE_NONE)
        r = candidates_find(k);
    if (r != REFUSE_NONE)
        return r;
    if (k->partial)
        return choosing_parts(k);
    return k->named ? whole_named(k) : whole_counted(k);
}

enum refusal sched_reserve(struct cluster *cl, struct reservation *r, int64_t now_us,
                           struct arena *a, struct str *detail)
{
    cluster_settle(cl);
    /* A world of its own, thrown away: reservations are made by people, a few a day, so what it
     * costs does not matter, and no pass is at hand. */
    struct choosing k = {.cl = cl, .r = r, .a = a, .detail = detail, .w = world_new(cl, now_us)};
    k.view.but = cluster_resv(cl, r->name ? r->name : "");
    k.view.over_work = (r->flags & RESV_IGNORE_JOBS) != 0;
    k.view.over_all = (r->flags & (RESV_MAINT | RESV_OVERLAP)) != 0;
    k.nwin = resv_windows(cl, r, now_us, k.win);
    k.row = xcalloc(cl->dim.n + 1, sizeof k.row[0]);
    enum refusal refusal =
        k.nwin > 0 ? choose(&k) : choosing_refuse(&k, REFUSE_BEGIN_TIME, "its time is over");
    if (refusal == REFUSE_NONE)
        answer(&k);
    free(k.row);
    vec_done(&k.cand);
    vec_done(&k.chosen);
    str_done(&k.holds);
    world_free(k.w);
    return refusal;
}
