/* Which nodes a new reservation gets, and what of them. Nodes are looked at as a job without a
 * reservation would see them over the whole time, and over all the times to come of one that
 * recurs: what is free then, whatever runs and is reserved, is free to be kept. Nodes that were
 * named must be free; of others those that are up come first, those it had before first of all,
 * then by weight and number. Parts of nodes bring memory with them in proportion to their CPUs, or
 * jobs inside could not start. */
#include "base/alloc.h"
#include "base/hostlist.h"
#include "model/grammar/gres.h"
#include "sched/books/settle.h"
#include "sched/books/tables.h"
#include "sched/world/resv_view.h"

#include <stdlib.h>
#include <string.h>

struct candidate {
    uint32_t node;
    bool had; /* it was its before */
    uint64_t key;
};

struct choosing {
    struct world *w;
    const struct cluster *cl;
    struct reservation *r;
    struct arena *a;
    struct str *detail;
    struct viewpoint view;
    struct window win[WINDOWS_MAX];
    size_t nwin;
    VEC(struct candidate) cand;
    bool named, partial;
    struct feature_arms arms;
    struct gres_list gres;
    int64_t cores[64]; /* of the nodes in order, or in all */
    size_t ncores;
    int64_t *row; /* scratch: free over all its times */
    VEC(uint32_t) chosen;
    struct str holds;
    int64_t core_sum, cpu_sum;
};

static enum refusal refuse(struct choosing *k, enum refusal r, const char *text)
{
    str_add(k->detail, text);
    return r;
}

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

static enum refusal asked_read(struct choosing *k)
{
    struct err e = {0};
    if (!feature_parse(k->r->features, k->a, &k->arms, &e))
        return refuse(k, REFUSE_FEATURE, e.text);
    if (!text_empty(k->r->core_counts) && !cores_parse(k))
        return refuse(k, REFUSE_INVALID_CPU_COUNT,
                      "CoreCnt= is a number of cores, or one for each node: 2,2,4 (at most 64)");
    if (!text_empty(k->r->gres) && !gres_parse(k->r->gres, k->a, &k->gres, &e))
        return refuse(k, REFUSE_GRES, e.text);
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
    struct candidate c = {.node = n->idx, .had = had};
    c.key = (uint64_t)!n->up << 63 | (uint64_t)!had << 62 | (uint64_t)n->group->weight_rank << 32 |
            n->idx;
    vec_push(&k->cand, c);
}

static int candidate_order(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static enum refusal named_read(struct choosing *k)
{
    struct hostlist names = HOSTLIST_INIT;
    struct err e = {0};
    enum refusal refusal = REFUSE_NONE;
    if (!hostlist_parse(&names, k->r->nodes, &e))
        refusal = refuse(k, REFUSE_INVALID_NODE, e.text);
    hostlist_uniq(&names);
    for (size_t i = 0; !refusal && i < names.n; i++) {
        const struct snode *n = cluster_node(k->cl, names.name[i]);
        if (n)
            vec_push(&k->cand, ((struct candidate){.node = n->idx, .had = true}));
        else
            refusal = refuse(k, REFUSE_INVALID_NODE,
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

static enum refusal candidates_find(struct choosing *k)
{
    bool all =
        text_is_nocase(k->r->nodes, "ALL") || (k->r->flags & (RESV_PART_NODES | RESV_ALL_NODES));
    const struct spart *p = part_to_use(k);
    if (!text_empty(k->r->partition) && !p)
        return refuse(k, REFUSE_INVALID_PARTITION,
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

/* ---- room ---- */

/* What is free on the node in all its times. Jobs on a node that it had before may be its own. */
static const int64_t *room(struct choosing *k, const struct candidate *c)
{
    struct viewpoint v = k->view;
    v.over_work |= c->had && k->view.but && !(k->r->flags & RESV_REPLACE);
    for (size_t i = 0; i < k->nwin; i++) {
        int64_t from = k->win[i].start_us > k->w->now_us ? k->win[i].start_us : k->w->now_us;
        const int64_t *row = view_row_of(k->w, &v, c->node, from, k->win[i].end_us);
        for (size_t d = 0; d < k->cl->dim.n; d++)
            k->row[d] = i == 0 || row[d] < k->row[d] ? row[d] : k->row[d];
    }
    return k->row;
}

static bool whole_free(struct choosing *k, const struct candidate *c)
{
    const struct group *g = k->cl->node.v[c->node]->group;
    const int64_t *row = room(k, c);
    return row[DIM_JOBS] >= JOBS_ALL && row[DIM_CPU] >= g->total[DIM_CPU];
}

static void chosen_add(struct choosing *k, uint32_t node, int64_t cpus)
{
    const struct group *g = k->cl->node.v[node]->group;
    vec_push(&k->chosen, node);
    k->cpu_sum += cpus;
    k->core_sum += cpus / (g->threads_per_core > 0 ? g->threads_per_core : 1);
}

static void candidates_text(struct choosing *k, const u32_vec *nodes)
{
    struct hostlist h = HOSTLIST_INIT;
    for (size_t i = 0; i < nodes->n; i++)
        hostlist_add(&h, k->cl->node.v[nodes->v[i]]->name);
    hostlist_sort(&h);
    hostlist_fold(&h, k->detail);
    hostlist_done(&h);
}

/* Is it another reservation, and not jobs, that has one of them? */
static bool reserved(struct choosing *k, const u32_vec *nodes)
{
    bool over_work = k->view.over_work, found = false;
    k->view.over_work = true;
    for (size_t i = 0; i < nodes->n && !found; i++)
        found = !whole_free(k, &(struct candidate){.node = nodes->v[i]});
    k->view.over_work = over_work;
    return found;
}

static enum refusal busy(struct choosing *k, const u32_vec *nodes)
{
    bool others = reserved(k, nodes);
    candidates_text(k, nodes);
    str_add(k->detail, nodes->n == 1 ? " is" : " are");
    str_add(k->detail, " in use or reserved in that time");
    if (!(k->r->flags & RESV_IGNORE_JOBS))
        str_add(k->detail, "; Flags=IGNORE_JOBS reserves over running jobs");
    if (!k->view.over_all)
        str_add(k->detail, "; Flags=OVERLAP, or MAINT, over other reservations");
    return others ? REFUSE_RESERVATION_OVERLAP : REFUSE_UNAVAILABLE;
}

static enum refusal too_few(struct choosing *k, const char *what, int64_t asked, int64_t found)
{
    str_addf(k->detail, "%lld %s were asked for; %lld can be reserved in that time",
             (long long)asked, what, (long long)found);
    if (!k->view.over_work)
        str_add(k->detail, "; Flags=IGNORE_JOBS does not mind running jobs");
    return REFUSE_UNAVAILABLE;
}

/* ---- whole nodes ---- */

static enum refusal whole_named(struct choosing *k)
{
    u32_vec taken = {0};
    enum refusal refusal = REFUSE_NONE;
    for (size_t i = 0; i < k->cand.n; i++) {
        if (whole_free(k, &k->cand.v[i]))
            chosen_add(k, k->cand.v[i].node, k->cl->node.v[k->cand.v[i].node]->group->cpus);
        else
            vec_push(&taken, k->cand.v[i].node);
    }
    if (taken.n > 0)
        refusal = busy(k, &taken);
    else if (k->chosen.n == 0)
        refusal = refuse(k, REFUSE_NODE_CONFIG,
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
            (only && !feature_holds(only, n->group->features)) || !whole_free(k, &k->cand.v[i]))
            continue;
        chosen_add(k, n->idx, n->group->cpus);
        taken++;
    }
    return taken;
}

static enum refusal whole_counted(struct choosing *k)
{
    const struct feature_arm *arm = &k->arms.arm[0];
    for (size_t i = 0; i < arm->ncount; i++) {
        int32_t found = whole_take(k, arm->count[i].expr, arm->count[i].nodes);
        if (found < arm->count[i].nodes)
            return too_few(k, "nodes with one of those features", arm->count[i].nodes, found);
    }
    int32_t more = k->r->node_count - (int32_t)k->chosen.n;
    if (more > 0 && whole_take(k, NULL, more) < more)
        return too_few(k, "nodes", k->r->node_count, (int64_t)k->chosen.n);
    return REFUSE_NONE;
}

/* ---- parts of nodes ---- */

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
    chosen_add(k, node, p->cpus);
}

/* So much on this node, or false. */
static bool piece_fits(struct choosing *k, const struct candidate *c, int64_t cores,
                       struct resv_choose_piece *p)
{
    const struct group *g = k->cl->node.v[c->node]->group;
    room(k, c);
    for (size_t i = 0; i < k->gres.n; i++)
        if (gres_free(k, g, i) < p->gres[i])
            return false;
    p->cpus = cores > 0 ? cores * g->threads_per_core : cpus_of_gres(k, g, p);
    return p->cpus > 0 && k->row[DIM_CPU] >= p->cpus;
}

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
        refusal = busy(k, &taken);
    else if (k->chosen.n < nodes)
        refusal = too_few(k, "nodes with so much", (int64_t)nodes, (int64_t)k->chosen.n);
    vec_done(&taken);
    return refusal;
}

/* As much as there is on each node until it is enough. */
static enum refusal parts_greedy(struct choosing *k)
{
    int64_t cores = k->ncores > 0 ? k->cores[0] : 0, lacking[NEEDS_MAX] = {0}, open = cores;
    for (size_t g = 0; g < k->gres.n; g++)
        open += lacking[g] = k->gres.item[g].count;
    for (size_t i = 0; i < k->cand.n && open > 0; i++) {
        const struct snode *n = k->cl->node.v[k->cand.v[i].node];
        struct resv_choose_piece p = {0};
        if (!n->up)
            continue;
        room(k, &k->cand.v[i]);
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
    return too_few(k, k->ncores > 0 ? "cores" : "devices", asked, asked - open);
}

static enum refusal parts_choose(struct choosing *k)
{
    size_t nodes = k->named ? k->cand.n : (size_t)k->r->node_count;
    if (k->gres.n > NEEDS_MAX - 4)
        return refuse(k, REFUSE_GRES, "so many kinds of resources cannot be reserved together");
    if (k->ncores > 1 && k->ncores != nodes)
        return refuse(k, REFUSE_INVALID_CPU_COUNT,
                      "CoreCnt= has one number for each node: as many as there are nodes");
    return nodes > 0 ? parts_even(k, nodes) : parts_greedy(k);
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
            return refuse(k, REFUSE_LICENSES, "a licence is written name or name:count");
        if (lic < 0 || k->cl->lic.v[lic].total < count)
            return refuse(
                k, REFUSE_LICENSES,
                arena_printf(k->a, "%lld of the licence %s were asked for; the cluster has %lld",
                             (long long)count, name,
                             lic < 0 ? 0LL : (long long)k->cl->lic.v[lic].total));
        struct candidate c = {.node = (uint32_t)(k->cl->node.n + (size_t)lic)};
        if (room(k, &c)[DIM_CPU] < count)
            return refuse(
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
        return refuse(k, REFUSE_INVALID_NODE,
                      "licences without nodes are reserved with Flags=LICENSE_ONLY");
    if (r == REFUSE_NONE && (k->r->flags & RESV_ANY_NODES) && asks_nodes(k->r))
        return refuse(k, REFUSE_RESERVATION,
                      "Flags=LICENSE_ONLY (ANY_NODES) reserves licences, not nodes");
    if (r == REFUSE_NONE && (k->r->flags & RESV_ANY_NODES))
        return REFUSE_NONE;
    if (r == REFUSE_NONE)
        r = candidates_find(k);
    if (r != REFUSE_NONE)
        return r;
    if (k->partial)
        return parts_choose(k);
    return k->named ? whole_named(k) : whole_counted(k);
}

enum refusal sched_reserve(struct cluster *cl, struct reservation *r, int64_t now_us,
                           struct arena *a, struct str *detail)
{
    cluster_settle(cl);
    struct choosing k = {.cl = cl, .r = r, .a = a, .detail = detail, .w = world_new(cl, now_us)};
    k.view.but = cluster_resv(cl, r->name ? r->name : "");
    k.view.over_work = (r->flags & RESV_IGNORE_JOBS) != 0;
    k.view.over_all = (r->flags & (RESV_MAINT | RESV_OVERLAP)) != 0;
    k.nwin = resv_windows(cl, r, now_us, k.win);
    k.row = xcalloc(cl->dim.n + 1, sizeof k.row[0]);
    enum refusal refusal =
        k.nwin > 0 ? choose(&k) : refuse(&k, REFUSE_BEGIN_TIME, "its time is over");
    if (refusal == REFUSE_NONE)
        answer(&k);
    free(k.row);
    vec_done(&k.cand);
    vec_done(&k.chosen);
    str_done(&k.holds);
    world_free(k.w);
    return refusal;
}
