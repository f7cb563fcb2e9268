#include "sched/pass/standing.h"

#include "base/alloc.h"
#include "sched/pass/bars.h"
#include "sched/pass/components.h"
#include "sched/pass/firsts.h"
#include "sched/pass/freed.h"
#include "sched/pass/priority.h"
#include "sched/pass/to_place.h"
#include "sched/world/outlook.h"
#include "sched/world/resv_view.h"

#include <stdlib.h>
#include <string.h>

bool standing_wanted(const struct cluster *cl)
{
    return cl->policy.promise_to != PROMISES_HEAD && !cl->hook.key;
}

void standing_note(struct pass *p, const struct entry *e, struct promised *pr)
{
    ASSERT(p->at.at.n > 0 && e->number < e->c->n);
    if (p->future || !standing_wanted(p->cl))
        return;
    pr->option = e->number;
    pr->variant = (uint32_t)(p->at.variant - e->o->variant);
    pr->first = (uint32_t)p->promised_on.n;
    pr->n = (uint32_t)p->at.at.n;
    pr->moment = p->put_off ? p->had->moment : freed_moment(p, e);
    for (size_t i = 0; i < p->at.at.n; i++)
        vec_push(&p->promised_on, p->at.at.v[i]);
}

/* ---- in the world of a pass ---- */

/* Could it be there, all being empty? */
static bool place_known(const struct pass *p, const struct standing *s, const struct compiled *c)
{
    if (s->variant >= c->option[s->option].nvariants)
        return false;
    for (uint32_t i = s->first; i < s->first + s->n; i++) {
        uint32_t node = p->v->standing_on.v[i].node;
        uint64_t may = p->w->now.up[node / 64] & option_allows(c, &c->option[s->option], node / 64);
        if (!(may >> node % 64 & 1))
            return false;
    }
    return true;
}

static void place_free(struct pass *p, struct standing *s)
{
    freed_places(p, &p->v->standing_on.v[s->first], s->n);
    s->told = true;
}

void standing_place(struct pass *p, const struct standing *s, struct option *o)
{
    ASSERT(s->variant < o->nvariants);
    vec_clear(&p->at.at);
    p->at.option = o;
    p->at.variant = &o->variant[s->variant];
    for (uint32_t i = s->first; i < s->first + s->n; i++)
        vec_push(&p->at.at, p->v->standing_on.v[i]);
}

static struct wjob *job_of(const struct pass *p, const struct standing *s)
{
    struct wjob *j = map_u64_get(p->cl->queue.by_job, s->job_id);
    return j ? job_here(p, j) : NULL;
}

static void stands_put(struct pass *p, struct standing *s, struct wjob *j, uint32_t world_job)
{
    s->world_job = world_job;
    j->stands = (uint32_t)(s - p->v->standing.v) + 1;
}

/* Unless it is what the last pass promised, at the same time, its nodes are to be asked whether
 * they hold it. */
static void steady_mark(const struct pass *p, const struct standing *s, int64_t start_us)
{
    if (!p->steady || (s->moment != 0 && start_us == s->start_us))
        return;
    for (uint32_t i = s->first; i < s->first + s->n; i++)
        bit_clear(p->steady, p->v->standing_on.v[i].node);
}

static bool is_steady(const struct pass *p, uint32_t node)
{
    return p->steady && bit_get(p->steady, node);
}

/* Into the world, whatever is there. False: it can not be kept, as a node is away. */
static bool stand(struct pass *p, struct standing *s, int32_t tier)
{
    struct world *w = p->w;
    struct wjob *j = job_of(p, s);
    struct compiled *c = j && j->w.promised_in ? demand_of(p->cl, j->lane->klass) : NULL;
    if (!c || j->lane->klass->serial != s->class_serial || s->option >= c->n) {
        if (!s->told)
            place_free(p, s);
        return true;
    }
    if (c->option[s->option].tier < tier || c->option[s->option].tier >= p->stands_tier)
        return true;
    if (!place_known(p, s, c))
        return false;
    const struct entry e = {.lane = j->lane, .job = j, .c = c, .o = &c->option[s->option]};
    int64_t start = s->start_us > w->now_us ? s->start_us : w->now_us,
            limit = entry_limit(&e, view_limit(w, e.o, e.o->limit_us, start), start);
    standing_place(p, s, e.o);
    steady_mark(p, s, start);
    stands_put(p, s, j, world_promise(w, c, &p->at, s->job_id, start, time_add(start, limit)));
    s->told = true;
    return true;
}

/* While it would run: before, jobs of one user may have a node of theirs together, of which each
 * counts as if it had all of it. */
static bool nodes_hold(const struct pass *p, const struct standing *s, bool steady_only)
{
    const struct wjobs *j = &p->w->agenda.job.v[s->world_job];
    for (uint32_t i = s->first; i < s->first + s->n; i++) {
        uint32_t node = p->v->standing_on.v[i].node;
        if ((!steady_only || is_steady(p, node)) &&
            !outlook_holds(p->w, node, j->start_us, j->end_us))
            return false;
    }
    return true;
}

/* The slow way: nodes on which nothing has changed since the last pass hold what it promised there.
 * Asked in builds with tests only. */
static bool steady_hold(const struct pass *p)
{
    for (size_t i = 0; i < p->v->standing.n; i++)
        if (p->v->standing.v[i].world_job != NONE && !nodes_hold(p, &p->v->standing.v[i], true))
            return false;
    return true;
}

/* All of them. False: they are too much for a node, or one is away. */
static bool all_stand(struct pass *p, int32_t tier)
{
    struct world *w = p->w;
    for (size_t i = 0; i < p->v->standing.n; i++)
        if (!stand(p, &p->v->standing.v[i], tier))
            return false;
    for (uint32_t i = 0; i < w->nnodes; i++) {
        uint32_t first = is_steady(p, i) ? NONE : w->agenda.kept[i];
        if (first != NONE &&
            !outlook_holds(w, i, agenda_job(&w->agenda, first)->start_us, INT64_MAX))
            return false;
    }
    ASSERT(steady_hold(p));
    return true;
}

/* Has the pass done nothing yet? */
static bool is_untouched(const struct pass *p)
{
    return p->stands_tier == INT32_MAX && p->v->start.n == 0 && p->promise.n == 0 &&
           p->v->resume.n == 0;
}

/* On one node, whoever goes first by his promise moves nobody behind him, if he can take in one way
 * only what he takes: an earlier start with another type of GPU is in the way of those who were
 * promised these. */
static bool order_is_enough(const struct pass *p)
{
    for (size_t i = 0; p->w->nnodes == 1 && i < p->v->standing.n; i++) {
        const struct wjob *j = job_of(p, &p->v->standing.v[i]);
        const struct compiled *c = j ? demand_of(p->cl, j->lane->klass) : NULL;
        for (size_t k = 0; c && k < c->n; k++)
            if (c->option[k].nvariants > 1)
                return false;
    }
    return p->w->nnodes == 1;
}

struct standing *standing_of(struct pass *p, const struct wjob *j)
{
    ASSERT(j->stands <= p->v->standing.n);
    return j->stands ? &p->v->standing.v[j->stands - 1] : NULL;
}

uint32_t standing_end(struct pass *p, struct wjob *j)
{
    struct standing *s = standing_of(p, j);
    uint32_t world_job = s ? s->world_job : NONE;
    if (s)
        s->world_job = NONE;
    j->stands = 0;
    return world_job;
}

void standing_lift(struct pass *p, struct wjob *j)
{
    uint32_t world_job = standing_end(p, j);
    if (world_job != NONE)
        world_break(p->w, world_job);
}

void standing_again(struct pass *p, struct wjob *j, struct option *o)
{
    struct standing *s = p->had;
    const struct compiled *c = demand_of(p->cl, j->lane->klass);
    standing_place(p, s, o);
    stands_put(
        p, s, j,
        world_promise(p->w, c, &p->at, s->job_id, s->start_us, time_add(s->start_us, o->limit_us)));
}

static void taken_out(struct pass *p, struct standing *s)
{
    standing_lift(p, job_of(p, s));
    s->told = false;
}

/* Those that can be kept, where no work runs on, no node is away and no higher tier has it: up to
 * the first that can not, which comes before those who were promised a later start. */
static void some_stand(struct pass *p, int32_t tier)
{
    for (size_t i = 0; i < p->v->standing.n; i++) {
        struct standing *s = &p->v->standing.v[i];
        bool stands = stand(p, s, tier);
        if (stands && (s->world_job == NONE || nodes_hold(p, s, false)))
            continue;
        if (stands)
            taken_out(p, s);
        freed_anything(p);
        return;
    }
}

void standing_enter(struct pass *p, int32_t tier)
{
    ASSERT(!p->future);
    if (p->v->standing_version != p->cl->derived.version || order_is_enough(p)) {
        p->stands_tier = INT32_MIN; /* for all tiers: it need not be asked again */
        return;
    }
    if (p->steady && !is_untouched(p))
        memset(p->steady, 0, BIT_WORDS(p->w->nnodes) * sizeof p->steady[0]);
    uint32_t first = (uint32_t)p->w->agenda.job.n;
    if (!all_stand(p, tier)) {
        for (size_t i = 0; i < p->v->standing.n; i++)
            if (p->v->standing.v[i].world_job != NONE && p->v->standing.v[i].world_job >= first)
                taken_out(p, &p->v->standing.v[i]);
        some_stand(p, tier);
    }
    p->stands_tier = tier;
}

/* A search on several nodes looks at all of them and all of the future, and mostly finds nothing.
 * So in each pass the first of each partition is looked for, and so many others, those first who
 * start soonest; the rest keep what they have, which is no later than they were promised, until it
 * is their turn. */
#define LOOKS_MOST 2

static void own_mark(struct pass *p, const struct standing *s, bool mark)
{
    for (uint32_t i = s->first; i < s->first + s->n; i++) {
        uint32_t node = p->v->standing_on.v[i].node;
        if (mark)
            bit_set(p->own, node);
        else
            bit_clear(p->own, node);
    }
}

/* Something came free. Could it be of use? And if so, is it used now or in a later pass? */
static bool stays_all_the_same(struct pass *p, const struct entry *e, struct standing *s)
{
    struct to_place what = pass_to_place(p, e->c, e->o, e->job);
    what.latest_us = s->start_us - 1;
    own_mark(p, s, true);
    bool could = world_could_hold(p->w, &what, e->o->limit_us, p->differs, p->own);
    bool looks = could && s->n > 1;
    p->put_off = looks && p->looks >= LOOKS_MOST && p->served[e->o->serve] &&
                 !world_could_start(p->w, &what, e->o->limit_us, p->own);
    own_mark(p, s, false);
    p->looks += looks && !p->put_off;
    if (!could)
        s->moment = p->v->freed;
    return !could || p->put_off;
}

bool standing_stays(struct pass *p, const struct entry *e, struct standing *s)
{
    ASSERT(!p->put_off);
    if (!s->moment || e->promised_us != s->start_us || s->start_us <= p->w->now_us ||
        s->option != e->number || !freed_tells(p, e))
        return false;
    return !freed_since(p, e, s->moment) || stays_all_the_same(p, e, s);
}

/* What shares CPUs takes as many idle ones as there are, which others change. */
static bool same_place(const struct pass *p, const struct promised *pr, const struct standing *s)
{
    const struct option *o = &demand_of(p->cl, pr->lane->klass)->option[pr->option];
    return !o->mode.share && pr->start_us == s->start_us && pr->n == s->n &&
           memcmp(&p->promised_on.v[pr->first], &p->v->standing_on.v[s->first],
                  s->n * sizeof p->promised_on.v[0]) == 0;
}

void standing_was(struct pass *p, struct wjob *j, const struct standing *s)
{
    struct promised *now = NULL;
    standing_lift(p, j);
    for (size_t i = p->promise.n; i-- > 0 && !now;)
        now = p->promise.v[i].job == j ? &p->promise.v[i] : NULL;
    if (now && same_place(p, now, s))
        return;
    freed_places(p, &p->v->standing_on.v[s->first], s->n);
    if (now && now->moment) /* it was free while the job looked */
        now->moment = p->v->freed;
}

void standing_leave(struct pass *p)
{
    bool left = false;
    for (size_t i = p->v->standing.n; i-- > 0;) {
        struct standing *s = &p->v->standing.v[i];
        left |= !s->told || s->world_job != NONE;
        if (s->world_job != NONE)
            standing_lift(p, job_of(p, s));
    }
    if (left)
        freed_anything(p);
}

/* ---- from pass to pass ---- */

static void promised_clear(struct pass *p)
{
    struct cluster *cl = p->cl;
    size_t kept = 0;
    for (size_t i = 0; i < cl->queue.promised_in.n; i++) {
        struct wjob *j = map_u64_get(cl->queue.by_job, cl->queue.promised_in.v[i]);
        if (!j)
            continue;
        j->w.promised_in = standing_wanted(cl) ? first_away(p, j, j->w.promised_in) : 0;
        if (j->w.promised_in)
            cl->queue.promised_in.v[kept++] = cl->queue.promised_in.v[i];
        else
            j->w.promised_us = 0;
    }
    cl->queue.promised_in.n = kept;
}

static int standing_order(const void *a, const void *b)
{
    const struct standing *x = a, *y = b;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

void standing_keep(struct pass *p)
{
    struct plan_private *v = p->v;
    promised_clear(p);
    vec_clear(&v->standing);
    vec_clear(&v->standing_on);
    v->standing_version = p->cl->derived.version;
    for (size_t i = 0; standing_wanted(p->cl) && i < p->promise.n; i++) {
        const struct promised *pr = &p->promise.v[i];
        if (pr->awaited || pr->het) { /* in the next pass it is promised anew, or not */
            freed_anything(p);
            continue;
        }
        pr->job->w.promised_us = pr->start_us;
        if (!pr->job->w.promised_in)
            vec_push(&p->cl->queue.promised_in, pr->job->w.job_id);
        pr->job->w.promised_in |= serve_bit(pr->part);
        struct standing s = {.job_id = pr->job->w.job_id,
                             .class_serial = pr->lane->klass->serial,
                             .option = pr->option,
                             .variant = pr->variant,
                             .start_us = pr->start_us,
                             .first = (uint32_t)v->standing_on.n,
                             .n = pr->n,
                             .moment = pr->moment,
                             .world_job = NONE};
        for (uint32_t k = pr->first; k < pr->first + pr->n; k++)
            vec_push(&v->standing_on, p->promised_on.v[k]);
        vec_push(&v->standing, s);
    }
    if (v->standing.n > 1)
        qsort(v->standing.v, v->standing.n, sizeof v->standing.v[0], standing_order);
}
