/* Components beside each other. Each goes where it would go if it were alone, and that may be what
 * another cannot do without, in whatever order they are placed: four neighbours of five nodes and a
 * GPU that two of the nodes have. So where one does not fit, those before it take as few as they
 * can of the nodes that it would take; then they leave one of those and all that are like it; then
 * one alone. */
#include "sched/pass/together.h"

#include "base/alloc.h"
#include "sched/books/tables.h"
#include "sched/pass/bars.h"
#include "sched/pass/components.h"
#include "sched/pass/found.h"
#include "sched/pass/priority.h"
#include "sched/pass/promise.h"
#include "sched/pass/standing.h"
#include "sched/pass/to_place.h"

#include <stdlib.h>
#include <string.h>

struct beside together_new(struct pass *p, struct het *h, int64_t at_us, bool promise,
                           uint32_t part)
{
    ASSERT(at_us >= p->w->now_us && (promise || at_us == p->w->now_us));
    return (struct beside){.p = p,
                           .h = h,
                           .at_us = at_us,
                           .promise = promise,
                           .part = part,
                           .world_job = xcalloc(h->n + 1, sizeof(uint32_t)),
                           .o = xcalloc(h->n + 1, sizeof(struct option *))};
}

/* Those for whom work is ending begin when that is over. What is promised to others is no work yet,
 * and nobody is counted for it once all have their places. */
static void seats_leave(struct beside *t)
{
    struct pass *p = t->p;
    size_t others = p->seated.n - t->n;
    if (!t->awaited)
        hours_unseat(p, others);
    for (size_t i = others; i < p->seated.n; i++)
        p->seated.v[i].begins = true;
}

void together_done(struct beside *t)
{
    if (t->promise)
        seats_leave(t);
    free(t->world_job);
    free(t->o);
    free(t->barred);
    free(t->shunned);
    free(t->alone);
    free(t->detour);
}

static size_t words(const struct beside *t)
{
    return BIT_WORDS(t->p->w->nnodes) + 1;
}

/* The component's among bitmaps, if there are any. */
static uint64_t *own(const struct beside *t, uint64_t *bitmaps, size_t i)
{
    return bitmaps ? &bitmaps[i * words(t)] : NULL;
}

static void promise_put(struct beside *t, struct wjob *j, struct option *o)
{
    struct pass *p = t->p;
    struct compiled *c = demand_of(p->cl, j->lane->klass);
    struct promised pr = {.lane = j->lane,
                          .job = j,
                          .part = t->part,
                          .start_us = t->at_us,
                          .het = t->h->id,
                          .extra = t->extra};
    pr.world_job = world_promise(p->w, c, &p->at, j->w.job_id, t->at_us,
                                 time_add(t->at_us, het_limit_at(p, o, t->at_us)));
    if (!t->awaited)
        standing_note(p, c, &pr, 0);
    promise_push(p, pr);
    t->world_job[t->n] = pr.world_job;
    hours_seat(p, o->part, j->w.uid, false);
    pass_foresee(p, j->w.job_id, t->at_us, &p->at, true);
}

static bool start_put(struct beside *t, struct wjob *j, struct option *o)
{
    struct pass *p = t->p;
    struct compiled *c = demand_of(p->cl, j->lane->klass);
    int64_t limit = het_limit_at(p, o, t->at_us);
    if (!p->future && !pass_emit(p, j, c, &p->at, limit,
                                 priority_of(p->cl, o, &j->w, p->v->now_us) / PRIORITY_ONE))
        return false;
    t->world_job[t->n] = world_begin(p->w, c, &p->at, j->w.job_id, time_add(t->at_us, limit));
    held_change(p, t->world_job[t->n], 1);
    t->o[t->n] = o;
    if (p->future)
        pass_foresee(p, j->w.job_id, t->at_us, &p->at, false);
    return true;
}

bool together_put(struct beside *t, struct option *o)
{
    ASSERT(t->n < t->h->n);
    struct wjob *j = t->h->job[t->n];
    if (t->promise)
        promise_put(t, j, o);
    else if (!start_put(t, j, o))
        return false;
    t->n++;
    return true;
}

/* The last start of the plan. */
static void start_drop(struct beside *t, const struct option *o)
{
    struct pass *p = t->p;
    const struct plan_start *s = &p->v->start.v[--p->v->start.n];
    for (size_t i = 0; i < s->alloc.n; i++)
        exact_back(p->ex, cluster_node(p->cl, s->alloc.node[i].node)->idx, o, &s->alloc.node[i]);
}

void together_back(struct beside *t, size_t n)
{
    struct pass *p = t->p;
    while (t->n > n) {
        const struct wjob *j = t->h->job[--t->n];
        if (t->promise) {
            ASSERT(p->promise.v[p->promise.n - 1].job == j);
            p->promise.n--;
            hours_unseat(p, p->seated.n - 1);
            world_break(p->w, t->world_job[t->n]);
        } else {
            held_change(p, t->world_job[t->n], -1);
            world_undo(p->w, t->world_job[t->n]);
            if (!p->future)
                start_drop(t, t->o[t->n]);
        }
        if (t->promise || p->future)
            foreseen_drop(p, j);
        log_unstart(p->v, j->w.job_id, t->at_us);
    }
}

#define DETOURS_MAX 16

/* Where counts say yes but single CPUs or devices no, other nodes are looked for. */
bool together_next(struct beside *t)
{
    struct pass *p = t->p;
    const uint64_t *barred = own(t, t->barred, t->n), *shunned = own(t, t->shunned, t->n);
    size_t bytes = words(t) * sizeof barred[0];
    for (int i = 0; i < DETOURS_MAX; i++) {
        struct option *o =
            het_place(p, t->h->job[t->n], t->at_us, i > 0 ? t->detour : barred, shunned);
        if (!o)
            return false;
        if (together_put(t, o))
            return true;
        if (!t->detour)
            t->detour = xcalloc(words(t), sizeof t->detour[0]);
        if (i == 0 && barred)
            memcpy(t->detour, barred, bytes);
        else if (i == 0)
            memset(t->detour, 0, bytes);
        bit_set(t->detour, p->refused_node);
    }
    return false;
}

/* ---- where they were promised ---- */

static const struct standing *place_of(const struct standing *all, size_t n, uint64_t job_id)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].job_id == job_id)
            return &all[i];
    return NULL;
}

bool together_again(struct beside *t)
{
    ASSERT(t->n == 0 && !t->p->future);
    struct pass *p = t->p;
    const struct standing *all = standing_of_all(p, t->h);
    while (all && t->n < t->h->n) {
        const struct wjob *j = t->h->job[t->n];
        const struct standing *s = place_of(all, t->h->n, j->w.job_id);
        struct compiled *c = demand_of(p->cl, j->lane->klass);
        struct option *o = s ? &c->option[s->option] : NULL;
        bool is_back = o && s->variant < o->nvariants &&
                       option_held_by(p, o, j->w.uid, t->at_us) == REASON_NONE;
        if (is_back) {
            struct to_place what = pass_to_place(p, c, o, j);
            standing_place(p, s, o);
            is_back = world_holds(p->w, &what, t->at_us,
                                  time_add(t->at_us, het_limit_at(p, o, t->at_us)), &p->at) &&
                      together_put(t, o);
        }
        if (!is_back) {
            together_back(t, 0);
            return false;
        }
    }
    return all != NULL;
}

/* ---- the search ---- */

typedef VEC(uint32_t) node_vec;

/* Nodes that are alike: to leave one of them is as good as to leave the other, mostly. */
static bool alike(const struct beside *t, uint32_t a, uint32_t b)
{
    const struct world *w = t->p->w;
    return w->now.group[a] == w->now.group[b] &&
           memcmp(world_free_row(w, a), world_free_row(w, b), w->dims * sizeof(int64_t)) == 0;
}

static void leave(struct beside *t, size_t i, uint32_t node, bool all_alike)
{
    bit_set(own(t, t->barred, i), node);
    for (uint32_t k = 0; all_alike && k < t->p->w->nnodes; k++)
        if (alike(t, k, node))
            bit_set(own(t, t->barred, i), k);
}

static bool rest_fit(struct beside *t, size_t n);

/* It takes as few as it can of what the one that failed would take. */
static bool with_few(struct beside *t, size_t n)
{
    size_t bytes = words(t) * sizeof(uint64_t);
    uint64_t *shunned = own(t, t->shunned, n), *was = xmemdup(shunned, bytes);
    const uint64_t *wanted = own(t, t->alone, t->failed);
    bool more = false;
    for (size_t i = 0; i < words(t); i++) {
        more |= (wanted[i] & ~shunned[i]) != 0;
        shunned[i] |= wanted[i];
    }
    bool ok = more && rest_fit(t, n);
    memcpy(shunned, was, bytes);
    free(was);
    return ok;
}

/* It leaves one of its nodes that the one that failed would take. */
static bool without_one(struct beside *t, size_t n, const node_vec *nodes, bool all_alike)
{
    size_t bytes = words(t) * sizeof(uint64_t);
    uint64_t *barred = own(t, t->barred, n), *was = xmemdup(barred, bytes);
    const uint64_t *wanted = own(t, t->alone, t->failed);
    bool ok = false;
    for (size_t i = 0; i < nodes->n && !ok && t->left > 0; i++) {
        if (!bit_get(wanted, nodes->v[i]))
            continue;
        leave(t, n, nodes->v[i], all_alike);
        ok = rest_fit(t, n);
        memcpy(barred, was, bytes);
    }
    free(was);
    return ok;
}

/* Component n was at `nodes`, where another did not fit beside it. */
static bool elsewhere(struct beside *t, size_t n, const node_vec *nodes)
{
    size_t failed = t->failed;
    for (int way = 0; way < 3 && t->left > 0; way++) {
        t->failed = failed;
        if (way == 0 ? with_few(t, n) : without_one(t, n, nodes, way == 1))
            return true;
    }
    t->failed = failed;
    return false;
}

/* From component n on. */
static bool rest_fit(struct beside *t, size_t n)
{
    ASSERT(t->n == n);
    if (n == t->h->n)
        return true;
    t->failed = n;
    if (t->left-- <= 0 || !together_next(t))
        return false;
    node_vec nodes = {0};
    for (size_t i = 0; i < t->p->at.at.n; i++)
        vec_push(&nodes, t->p->at.at.v[i].node);
    bool ok = rest_fit(t, n + 1);
    if (!ok) {
        together_back(t, n);
        ok = elsewhere(t, n, &nodes);
    }
    vec_done(&nodes);
    return ok;
}

bool together_differ(const struct het *h, size_t n)
{
    ASSERT(n <= h->n);
    bool differ = false;
    for (size_t i = 1; i < n && !differ; i++)
        differ = h->job[i]->lane->klass != h->job[0]->lane->klass;
    return differ;
}

/* Where each would go: where the one before it would, if they are alike. False: one fits
 * nowhere. */
static bool alone_find(struct beside *t)
{
    for (size_t i = 0; i < t->h->n; i++) {
        if (i > 0 && t->h->job[i]->lane->klass == t->h->job[i - 1]->lane->klass) {
            memcpy(own(t, t->alone, i), own(t, t->alone, i - 1), words(t) * sizeof t->alone[0]);
            continue;
        }
        if (!het_place(t->p, t->h->job[i], t->at_us, NULL, NULL))
            return false;
        for (size_t k = 0; k < t->p->at.at.n; k++)
            bit_set(own(t, t->alone, i), t->p->at.at.v[k].node);
    }
    return true;
}

static uint64_t *bitmaps_new(const struct beside *t, uint64_t *old)
{
    free(old);
    return xcalloc(t->h->n * words(t), sizeof(uint64_t));
}

/* And where it would go alone. */
static void first_last(struct beside *t)
{
    struct het *h = t->h;
    struct wjob *first = h->job[0];
    size_t one = words(t), others = (h->n - 1) * one;
    uint64_t *alone = xmemdup(t->alone, one * sizeof alone[0]);
    memmove(&h->job[0], &h->job[1], (h->n - 1) * sizeof h->job[0]);
    h->job[h->n - 1] = first;
    memmove(t->alone, &t->alone[one], others * sizeof alone[0]);
    memcpy(&t->alone[others], alone, one * sizeof alone[0]);
    free(alone);
}

/* Whole nodes, more of them than have anything free. */
static bool too_many_nodes(const struct beside *t)
{
    const struct world *w = t->p->w;
    int64_t nodes = 0, open = 0;
    for (size_t i = 0; i < t->h->n; i++) {
        const struct compiled *c = demand_of(t->p->cl, t->h->job[i]->lane->klass);
        int32_t least = INT32_MAX;
        for (size_t k = 0; k < c->n; k++)
            for (size_t v = 0; c->option[k].never == REASON_NONE && v < c->option[k].nvariants;
                 v++) {
                int32_t some = c->option[k].mode.whole ? c->option[k].variant[v].lay.nmin : 0;
                least = some < least ? some : least;
            }
        nodes += least;
    }
    for (size_t i = 0; i < BIT_WORDS(w->nnodes); i++)
        open += (int64_t)bit_ones(w->now.open[i]);
    return t->at_us == w->now_us && nodes > open;
}

bool together_search(struct beside *t, int *places)
{
    ASSERT(t->n == 0 && t->h->n > 0);
    bool ok = false;
    if (*places <= 0 || too_many_nodes(t))
        return false;
    int each = (*places + (int)t->h->n - 1) / (int)t->h->n;
    size_t orders = together_differ(t->h, t->h->n) ? t->h->n : 1;
    t->alone = bitmaps_new(t, t->alone);
    if (!alone_find(t))
        return false;
    for (size_t first = 0; first < orders && !ok && *places > 0; first++) {
        t->barred = bitmaps_new(t, t->barred);
        t->shunned = bitmaps_new(t, t->shunned);
        t->left = each;
        ok = rest_fit(t, 0);
        *places -= each - (t->left > 0 ? t->left : 0);
        if (!ok)
            first_last(t);
    }
    return ok;
}
