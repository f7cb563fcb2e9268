/* Choosing nodes. Every node that could take something is a candidate with a key; smaller keys are better: weight as configured, then few
 * free GPUs, then few free CPUs (so that whole nodes and GPU groups stay whole, and jobs without GPUs stay off nodes with many), then the
 * node's number. A job that may start now although its node is promised to another goes there before it goes anywhere else, and a promise is
 * made of the nodes that stay busy longest: so most is left for jobs that run past the promise. (With equal whole nodes this makes backfill
 * start exactly the jobs that counting nodes would.) Requests for the same on each node take the best keys. Requests for a number of pieces take a single node if one can hold
 * them all, else the nodes that hold most, so that they use few. */
#include "base/alloc.h"
#include "sched/part_windows.h"
#include "sched/resv_view.h"
#include "sched/topo.h"
#include "sched/world.h"

#include <stdlib.h>
#include <string.h>

#define NODE_BITS    24
#define NODE_OF(key) ((uint32_t)((key) & ((UINT64_C(1) << NODE_BITS) - 1)))

struct placing {
    struct world *w;
    const struct compiled *c;
    struct option *o;
    struct variant *v;
    int64_t start_us, end_us;
    uint64_t lacks; /* nodes that must come free before the variant can start, at least; 0 = not known */
};

static uint64_t clip(int64_t value, uint64_t most)
{
    return value < 0 ? 0 : (uint64_t)value > most ? most : (uint64_t)value;
}

/* How long before the start the node last became freer, in seconds. */
static uint64_t idle_before(const struct placing *p, uint32_t node)
{
    const struct world *w = p->w;
    int64_t last = w->now_us;
    for (uint32_t t = w->work[node]; t != NONE; t = w->take.v[t].next) {
        if (w->job.v[w->take.v[t].job].end_us > p->start_us)
            break;
        last = w->job.v[w->take.v[t].job].end_us;
    }
    return clip((p->start_us - last) / USEC_PER_SEC, UINT32_MAX);
}

static uint64_t node_key_of(const struct placing *p, uint32_t node, const int64_t *row)
{
    const struct group *g = p->w->cl->node.v[node]->group;
    int64_t gpus = 0;
    if (p->start_us > p->w->now_us)
        return idle_before(p, node) << NODE_BITS | node;
    for (size_t d = DIM_GRES; d < g->ntotal; d++)
        gpus += g->total[d] > 0 ? row[d] : 0;
    uint64_t cpus = clip(row[DIM_CPU], 0xffff);
    if (p->o->part->p.lln)
        cpus = 0xffff - cpus;
    return (uint64_t)(p->w->kept[node] == NONE) << 63 | clip(g->weight_rank, 0x7ff) << 52 |
           clip(gpus, 0xfff) << 40 | cpus << NODE_BITS | node;
}

/* Are all jobs on the node, and at least one, those of the user whose job is being placed? Then a job that wants nodes for its user only may go
 * there, too. */
static bool own_node(const struct placing *p, uint32_t node)
{
    const struct snode *n = p->w->cl->node.v[node];
    if (p->w->kept[node] != NONE) /* promised to somebody */
        return false;
    int64_t jobs = JOBS_ALL;
    for (size_t i = 0; i < n->hold.n; i++) {
        if (n->hold.v[i]->run->uid + 1 != p->w->uid_plus1)
            return false;
        jobs -= run_places(n->hold.v[i]->run);
    }
    return n->hold.n > 0 &&
           p->w->free[node * p->w->dims + DIM_JOBS] == jobs; /* and nothing started there in this pass */
}

static void candidate(struct placing *p, uint32_t node)
{
    struct world *w = p->w;
    const struct group *g = w->cl->node.v[node]->group;
    /* What is not free now will not be free from now on: that is seen before promises are looked at. */
    if (w->kept[node] != NONE && p->start_us <= w->now_us && !p->o->mode.user_only &&
        demand_cap(w->cl, p->c, p->o, p->v, g, &w->free[node * w->dims]) == 0)
        return;
    const int64_t *row = view_row(w, p->o, node, p->start_us, p->end_us);
    if (p->o->mode.user_only && w->uid_plus1 && p->start_us <= w->now_us && row[DIM_JOBS] < JOBS_ALL &&
        own_node(p, node)) {
        if (row != w->row)
            memcpy(w->row, row, w->dims * sizeof row[0]);
        w->row[DIM_JOBS] = JOBS_ALL;
        row = w->row;
    }
    int32_t cap = demand_cap(w->cl, p->c, p->o, p->v, g, row);
    if (cap == 0)
        return;
    w->cap[node] = cap;
    vec_push(&w->key, node_key_of(p, node, row));
}

/* Could be a candidate now, by word of 64 nodes. */
static uint64_t screened(const struct placing *p, int which, size_t word)
{
    uint64_t open = p->w->open[word] & option_allows(p->c, p->o, word);
    return open ? open & counts_screen(p->w, which, p->v, word) : 0;
}

static void candidates_of(struct placing *p, size_t word, uint64_t bits)
{
    for (; bits; bits &= bits - 1) {
        uint32_t node = (uint32_t)(word * 64 + (size_t)__builtin_ctzll(bits));
        if (world_group_has(p->v, p->w->cl->node.v[node]->group))
            candidate(p, node);
    }
}

/* __builtin_popcountll is a call where the processor is not known. */
static inline int ones(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    return (int)(((x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f)) * UINT64_C(0x0101010101010101) >> 56);
}

/* Takes the first look (world.screened). If too few nodes stand it, so many more must come free. */
static bool too_few(struct placing *p, int which)
{
    int64_t nodes = 0;
    for (size_t i = 0; i < BIT_WORDS(p->w->nnodes); i++) {
        p->w->screened[i] = screened(p, which, i);
        nodes += ones(p->w->screened[i]);
    }
    p->lacks = (uint64_t)(nodes < p->v->lay.nmin ? p->v->lay.nmin - nodes : 0);
    return p->lacks > 0;
}

static void candidates(struct placing *p)
{
    struct world *w = p->w;
    vec_clear(&w->key);
    if (p->start_us > w->now_us || p->o->mode.user_only || p->o->mode.share) {
        for (size_t i = 0; i < BIT_WORDS(w->nnodes); i++)
            candidates_of(p, i, w->up[i] & option_allows(p->c, p->o, i));
        return;
    }
    int which = counts_which(w, p->end_us);
    if (too_few(p, which))
        return;
    for (size_t i = 0; i < BIT_WORDS(w->nnodes); i++)
        candidates_of(p, i, w->screened[i]);
    if (w->key.n < (size_t)p->v->lay.nmin)
        p->lacks = (size_t)p->v->lay.nmin - w->key.n;
}

/* ---- selection ---- */

static int key_order(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int u32_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Puts the k smallest keys first (Hoare's selection, median of three; keys differ all). */
static void keys_select(uint64_t *v, size_t n, size_t k)
{
    size_t low = 0, high = n;
    while (high - low > 16 && k > low && k < high) {
        uint64_t a = v[low], b = v[low + (high - low) / 2], c = v[high - 1];
        uint64_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
        size_t i = low, j = high - 1;
        for (;;) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i >= j)
                break;
            uint64_t swap = v[i];
            v[i++] = v[j];
            v[j--] = swap;
        }
        if (j + 1 >= k)
            high = j + 1;
        else
            low = j + 1;
    }
    if (high - low > 1)
        qsort(v + low, high - low, sizeof v[0], key_order);
}

static bool picked(const struct world *w, uint32_t node)
{
    for (size_t i = 0; i < w->pick.n; i++)
        if (w->pick.v[i] == node)
            return true;
    return false;
}

static bool pick_must(struct placing *p)
{
    struct world *w = p->w;
    for (size_t i = 0; i < p->c->nmust; i++) {
        bool there = false;
        for (size_t k = 0; k < w->key.n && !there; k++)
            there = NODE_OF(w->key.v[k]) == p->c->must[i];
        if (!there)
            return false;
        vec_push(&w->pick, p->c->must[i]);
    }
    return true;
}

/* The best candidate of some groups that is not picked yet: the one that holds most, then the smallest key. */
static uint32_t counted_best(const struct placing *p, const uint64_t *groups)
{
    const struct world *w = p->w;
    uint32_t best = NONE;
    for (size_t k = 0; k < w->key.n; k++) {
        uint32_t node = NODE_OF(w->key.v[k]);
        if (bit_get(groups, w->cl->node.v[node]->group->idx) &&
            (best == NONE || w->cap[node] > w->cap[best]) && !picked(w, node))
            best = node;
    }
    return best;
}

/* The nodes that counted features ask for: name*2. */
static bool pick_counts(struct placing *p)
{
    struct world *w = p->w;
    for (size_t i = 0; i < p->v->ncount; i++) {
        int32_t missing = p->v->count[i].nodes;
        for (size_t k = 0; k < w->pick.n; k++)
            missing -= bit_get(p->v->count[i].groups, w->cl->node.v[w->pick.v[k]]->group->idx);
        for (; missing > 0; missing--) {
            uint32_t node = counted_best(p, p->v->count[i].groups);
            if (node == NONE)
                return false;
            vec_push(&w->pick, node);
        }
    }
    return true;
}

/* The first stretch of neighbouring candidates that holds what is asked. */
static bool pick_neighbours(struct placing *p)
{
    struct world *w = p->w;
    const struct layout *l = &p->v->lay;
    for (size_t i = 0; i < w->key.n; i++)
        w->key.v[i] = NODE_OF(w->key.v[i]);
    if (w->key.n > 1)
        qsort(w->key.v, w->key.n, sizeof w->key.v[0], key_order);
    size_t from = 0;
    int64_t units = 0;
    for (size_t i = 0; i < w->key.n; i++) {
        if (i > from && w->key.v[i] != w->key.v[i - 1] + 1)
            from = i, units = 0;
        units += w->cap[w->key.v[i]];
        size_t nodes = i - from + 1;
        if (nodes > (size_t)l->nmax) {
            units -= w->cap[w->key.v[from++]];
            nodes--;
        }
        if (nodes < (size_t)l->nmin || units < l->units)
            continue;
        for (size_t k = from; k <= i; k++)
            vec_push(&w->pick, (uint32_t)w->key.v[k]);
        return true;
    }
    return false;
}

static void pick_same(struct placing *p)
{
    struct world *w = p->w;
    const struct layout *l = &p->v->lay;
    size_t want = (size_t)(p->c->req->use_min_nodes ? l->nmin : l->nmax);
    if (want < w->pick.n)
        want = w->pick.n;
    if (w->pick.n == 0) {
        want = want < w->key.n ? want : w->key.n;
        keys_select(w->key.v, w->key.n, want);
        for (size_t i = 0; i < want; i++)
            vec_push(&w->pick, NODE_OF(w->key.v[i]));
        return;
    }
    if (w->key.n > 1)
        qsort(w->key.v, w->key.n, sizeof w->key.v[0], key_order);
    for (size_t i = 0; i < w->key.n && w->pick.n < want; i++)
        if (!picked(w, NODE_OF(w->key.v[i])))
            vec_push(&w->pick, NODE_OF(w->key.v[i]));
}

static int64_t pick_units(const struct world *w)
{
    int64_t sum = 0;
    for (size_t i = 0; i < w->pick.n; i++)
        sum += w->cap[w->pick.v[i]];
    return sum;
}

static bool pick_one(struct placing *p)
{
    struct world *w = p->w;
    uint64_t best = UINT64_MAX;
    for (size_t i = 0; i < w->key.n; i++)
        if (w->key.v[i] < best && w->cap[NODE_OF(w->key.v[i])] >= p->v->lay.units)
            best = w->key.v[i];
    if (best != UINT64_MAX)
        vec_push(&w->pick, NODE_OF(best));
    return best != UINT64_MAX;
}

/* Takes candidates, most units first, within the same weight or regardless of it. */
static void pick_largest(struct placing *p, bool weighted)
{
    struct world *w = p->w;
    const struct layout *l = &p->v->lay;
    size_t before = w->pick.n;
    VEC(uint64_t) key = {0};
    for (size_t i = 0; i < w->key.n; i++) {
        uint32_t node = NODE_OF(w->key.v[i]);
        uint64_t rank = weighted ? w->key.v[i] >> 52 : 0, shape = w->key.v[i] >> 36 & 0xfff;
        if (!picked(w, node))
            vec_push(&key,
                     rank << 52 | (0xffff - clip(w->cap[node], 0xffff)) << 36 | shape << NODE_BITS | node);
    }
    if (key.n > 1)
        qsort(key.v, key.n, sizeof key.v[0], key_order);
    int64_t units = pick_units(w);
    for (size_t i = 0; i < key.n && w->pick.n < (size_t)l->nmax; i++) {
        if (units >= l->units && w->pick.n >= (size_t)l->nmin && !p->c->req->spread_job)
            break;
        vec_push(&w->pick, NODE_OF(key.v[i]));
        units += w->cap[NODE_OF(key.v[i])];
    }
    vec_done(&key);
    if (units < l->units && weighted) {
        w->pick.n = before;
        pick_largest(p, false);
    }
}

static bool pick_nodes(struct placing *p)
{
    struct world *w = p->w;
    const struct layout *l = &p->v->lay;
    vec_clear(&w->pick);
    if (w->key.n < (size_t)l->nmin)
        return false;
    if (p->c->req->contiguous) {
        if (!pick_neighbours(p))
            return false;
    } else {
        if ((p->c->nmust > 0 || p->v->ncount > 0) && w->key.n > 1)
            qsort(w->key.v, w->key.n, sizeof w->key.v[0], key_order);
        if (!pick_must(p) || !pick_counts(p))
            return false;
        if (l->units == 0)
            pick_same(p);
        else if (!(w->pick.n == 0 && l->nmin <= 1 && !p->c->req->spread_job && pick_one(p)))
            pick_largest(p, true);
    }
    if (w->pick.n < (size_t)l->nmin || w->pick.n > (size_t)l->nmax ||
        (l->units > 0 && pick_units(w) < l->units))
        return false;
    for (size_t i = 0; p->c->req->contiguous && i < p->c->nmust; i++)
        if (!picked(w, p->c->must[i]))
            return false;
    return true;
}

/* May the nodes lie below more leaf switches than the job wants? */
static bool insists(const struct placing *p)
{
    return p->c->req->switches > 0 && p->start_us < p->w->insists_until_us;
}

/* Nodes close to each other first; if that cannot be, any. */
static bool pick(struct placing *p)
{
    struct world *w = p->w;
    const struct layout *l = &p->v->lay;
    const struct job_request *r = p->c->req;
    size_t n = w->key.n;
    bool together = w->cl->topo && l->nmax > 1 && !r->contiguous && p->c->nmust == 0 && p->v->ncount == 0 &&
                    (!w->cl->policy.topo_optional || r->switches > 0);
    if (!together || n < (size_t)l->nmin)
        return pick_nodes(p) && (!insists(p) || topo_leaves(w) <= (size_t)r->switches);
    uint64_t *all = xmemdup(w->key.v, (n + 1) * sizeof all[0]);
    size_t want = (size_t)(r->use_min_nodes ? l->nmin : l->nmax);
    bool ok = topo_narrow(w, (size_t)l->nmin, want, l->units) > 0 && pick_nodes(p);
    if (!ok) {
        memcpy(w->key.v, all, n * sizeof all[0]);
        w->key.n = n;
        ok = pick_nodes(p);
    }
    free(all);
    return ok && (!insists(p) || topo_leaves(w) <= (size_t)r->switches);
}

/* Nodes in order of their numbers, pieces handed out from the first on, one kept back for each node that follows. */
static void placement_fill(struct placing *p, struct placement *ret)
{
    struct world *w = p->w;
    int32_t left = p->v->lay.units;
    qsort(w->pick.v, w->pick.n, sizeof w->pick.v[0], u32_order);
    ret->option = p->o;
    ret->variant = p->v;
    vec_clear(&ret->at);
    for (size_t i = 0; i < w->pick.n; i++) {
        struct placed at = {w->pick.v[i], 1};
        if (p->v->lay.units > 0) {
            int32_t most = left - (int32_t)(w->pick.n - i - 1), cap = w->cap[at.node];
            at.units = most < cap ? most : cap;
            left -= at.units;
        }
        vec_push(&ret->at, at);
    }
    CHECK(left == 0);
}

static bool licences_free(struct placing *p)
{
    for (size_t i = 0; i < p->c->nlic; i++) {
        const int64_t *row =
            view_row(p->w, p->o, (uint32_t)p->w->nnodes + p->c->lic[i].lic, p->start_us, p->end_us);
        if (row[DIM_CPU] < p->c->lic[i].count)
            return false;
    }
    return true;
}

bool world_place(struct world *w, const struct compiled *c, struct option *o, int64_t start_us,
                 int64_t end_us, struct placement *ret)
{
    struct placing p = {.w = w, .c = c, .o = o, .start_us = start_us, .end_us = end_us};
    w->missing = 0;
    if (!licences_free(&p) || part_window_bars(w, o, start_us) != REASON_NONE)
        return false;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < o->nvariants; i++) {
        p.v = &o->variant[i];
        p.lacks = 0;
        candidates(&p);
        if (!pick(&p)) {
            least = p.lacks < least ? p.lacks : least;
            continue;
        }
        placement_fill(&p, ret);
        return true;
    }
    w->missing = o->nvariants > 0 ? least : 0;
    return false;
}

/* ---- the earliest time ---- */

static void stair_push(struct world *w, int64_t at_us, int32_t more, int32_t nodes)
{
    struct stair s = {at_us, more, nodes};
    vec_push(&w->stair, s);
}

static int32_t cap_at(struct placing *p, uint32_t node, int64_t at_us, int64_t limit_us)
{
    struct world *w = p->w;
    return demand_cap(w->cl, p->c, p->o, p->v, w->cl->node.v[node]->group,
                      view_row(w, p->o, node, at_us, time_add(at_us, limit_us)));
}

static void stair_if(struct placing *p, uint32_t node, int64_t at_us, int64_t limit_us, int32_t *cap)
{
    int32_t now = cap_at(p, node, at_us, limit_us);
    if (now != *cap)
        stair_push(p->w, at_us, now - *cap, (now > 0) - (*cap > 0));
    *cap = now;
}

/* Without promises on it a node only gets freer. */
static void stairs_free(struct placing *p, uint32_t node)
{
    struct world *w = p->w;
    const struct group *g = w->cl->node.v[node]->group;
    int64_t *row = w->row;
    memcpy(row, &w->free[node * w->dims], w->dims * sizeof row[0]);
    int32_t cap = demand_cap(w->cl, p->c, p->o, p->v, g, row);
    if (cap > 0)
        stair_push(w, w->now_us, cap, 1);
    for (uint32_t t = w->work[node]; t != NONE && cap < p->v->lay.umax; t = w->take.v[t].next) {
        const struct wtake *take = &w->take.v[t];
        int64_t end = w->job.v[take->job].end_us;
        for (uint32_t i = 0; i < take->n; i++)
            row[w->use.v[take->first + i].dim] += w->use.v[take->first + i].amount;
        if (end == INT64_MAX)
            break;
        if (take->next != NONE && w->job.v[w->take.v[take->next].job].end_us == end)
            continue;
        int32_t more = demand_cap(w->cl, p->c, p->o, p->v, g, row);
        if (more > cap)
            stair_push(w, end, more - cap, cap == 0);
        cap = more;
    }
}

static int time_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* With promises it also gets less free: each time at which something ends or a promise comes into reach may change it. */
static void stairs_kept(struct placing *p, uint32_t node, int64_t limit_us)
{
    struct world *w = p->w;
    i64_vec at = {0};
    vec_push(&at, w->now_us);
    for (uint32_t t = w->work[node]; t != NONE; t = w->take.v[t].next)
        vec_push(&at, w->job.v[w->take.v[t].job].end_us);
    for (uint32_t t = w->kept[node]; t != NONE; t = w->take.v[t].next) {
        const struct wjobs *j = &w->job.v[w->take.v[t].job];
        vec_push(&at, j->end_us);
        if (limit_us != TIME_UNLIMITED)
            vec_push(&at, j->start_us - limit_us + 1);
    }
    view_times(w, p->o, node, limit_us, &at);
    qsort(at.v, at.n, sizeof at.v[0], time_order);
    int32_t cap = 0;
    for (size_t i = 0; i < at.n; i++)
        if (at.v[i] >= w->now_us && at.v[i] != INT64_MAX && (i == 0 || at.v[i] != at.v[i - 1]))
            stair_if(p, node, at.v[i], limit_us, &cap);
    vec_done(&at);
}

static void stairs_licences(struct placing *p)
{
    struct world *w = p->w;
    for (size_t i = 0; i < p->c->nlic; i++) {
        uint32_t node = (uint32_t)w->nnodes + p->c->lic[i].lic;
        for (uint32_t t = w->work[node]; t != NONE; t = w->take.v[t].next)
            if (w->job.v[w->take.v[t].job].end_us != INT64_MAX)
                stair_push(w, w->job.v[w->take.v[t].job].end_us, 0, 0);
        for (uint32_t t = w->kept[node]; t != NONE; t = w->take.v[t].next)
            if (w->job.v[w->take.v[t].job].end_us != INT64_MAX)
                stair_push(w, w->job.v[w->take.v[t].job].end_us, 0, 0);
        i64_vec at = {0};
        view_times(w, p->o, node, TIME_UNLIMITED, &at);
        for (size_t k = 0; k < at.n; k++)
            if (at.v[k] >= w->now_us)
                stair_push(w, at.v[k], 0, 0);
        vec_done(&at);
    }
}

static void stairs_windows(struct placing *p)
{
    i64_vec at = {0};
    part_window_times(p->w, p->o->part, &at);
    for (size_t i = 0; i < at.n; i++)
        stair_push(p->w, at.v[i], 0, 0);
    if (p->c->req->switches > 0 && p->w->insists_until_us > p->w->now_us)
        stair_push(p->w, p->w->insists_until_us, 0, 0);
    vec_done(&at);
}

static int stair_order(const void *a, const void *b)
{
    const struct stair *x = a, *y = b;
    return (x->at_us > y->at_us) - (x->at_us < y->at_us);
}

static void stairs_collect(struct placing *p, int64_t limit_us)
{
    struct world *w = p->w;
    vec_clear(&w->stair);
    for (size_t i = 0; i < BIT_WORDS(w->nnodes); i++)
        for (uint64_t bits = w->up[i] & option_allows(p->c, p->o, i); bits;
             bits &= bits - 1) {
            uint32_t node = (uint32_t)(i * 64 + (size_t)__builtin_ctzll(bits));
            if (!world_group_has(p->v, w->cl->node.v[node]->group))
                continue;
            if (w->kept[node] == NONE && view_plain(w, p->o, node))
                stairs_free(p, node);
            else
                stairs_kept(p, node, limit_us);
        }
    stairs_licences(p);
    stairs_windows(p);
    if (w->stair.n > 1)
        qsort(w->stair.v, w->stair.n, sizeof w->stair.v[0], stair_order);
}

/* Earliest time from `from` on and below `before` at which the variant can start. */
static bool variant_earliest(struct placing *p, int64_t limit_us, int64_t from, int64_t before,
                             struct placement *ret, int64_t *ret_us)
{
    struct world *w = p->w;
    const struct layout *l = &p->v->lay;
    int64_t units = 0, nodes = 0;
    stairs_collect(p, limit_us);
    for (size_t i = 0; i < w->stair.n && w->stair.v[i].at_us < before; i++) {
        units += w->stair.v[i].more;
        nodes += w->stair.v[i].nodes;
        int64_t at = w->stair.v[i].at_us > from ? w->stair.v[i].at_us : from;
        if ((i + 1 < w->stair.n && w->stair.v[i + 1].at_us <= at) || nodes < l->nmin || units < l->units)
            continue;
        p->start_us = at;
        p->end_us = time_add(at, limit_us);
        if (!licences_free(p) || part_window_bars(w, p->o, at) != REASON_NONE)
            continue;
        candidates(p);
        if (!pick(p))
            continue;
        placement_fill(p, ret);
        *ret_us = at;
        return true;
    }
    return false;
}

bool world_earliest(struct world *w, const struct compiled *c, struct option *o, int64_t limit_us,
                    int64_t from_us, struct placement *ret, int64_t *ret_us)
{
    struct placing p = {.w = w, .c = c, .o = o};
    bool found = false;
    *ret_us = INT64_MAX;
    for (size_t i = 0; i < o->nvariants; i++) {
        p.v = &o->variant[i];
        found |= variant_earliest(&p, limit_us, from_us, *ret_us, ret, ret_us);
    }
    return found;
}
