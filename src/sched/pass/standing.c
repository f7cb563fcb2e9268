#include "sched/pass/standing.h"

#include "base/alloc.h"
#include "sched/pass/bars.h"
#include "sched/pass/components.h"
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

void standing_note(struct pass *p, const struct compiled *c, struct promised *pr, uint64_t moment)
{
    ASSERT(p->at.at.n > 0 && p->at.option >= c->option && p->at.option < c->option + c->n);
    if (p->future || !standing_wanted(p->cl))
        return;
    pr->option = (uint32_t)(p->at.option - c->option);
    pr->variant = (uint32_t)(p->at.variant - p->at.option->variant);
    pr->first = (uint32_t)p->promised_on.n;
    pr->n = (uint32_t)p->at.at.n;
    pr->moment = moment;
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

/* What its job asks for, if it asked for that then; NULL = it did not, or the job is gone. */
static struct compiled *asked_still(const struct pass *p, const struct standing *s,
                                    const struct wjob *j)
{
    struct compiled *c = j && j->w.promised_in ? demand_of(p->cl, j->lane->klass) : NULL;
    return c && j->lane->klass->serial == s->class_serial && s->option < c->n ? c : NULL;
}

/* How many stand with it: all components of its job, of which it is the first. */
static size_t of_its_job(const struct pass *p, size_t first)
{
    size_t n = 1;
    uint64_t het = p->v->standing.v[first].het;
    while (het && first + n < p->v->standing.n && p->v->standing.v[first + n].het == het)
        n++;
    return n;
}

/* Is all asked for still? Of several components, by as many. */
static bool all_asked_still(const struct pass *p, const struct standing *s, size_t n)
{
    const struct het *h = s->het ? pass_het_of(p, s->het) : NULL;
    if (s->het && (!h || h->n != n || h->promised_us == INT64_MAX))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct wjob *j = job_of(p, &s[i]);
        if (!asked_still(p, &s[i], j) || j->w.het_job_id != s->het)
            return false;
    }
    return true;
}

/* That of the first of the components which is tried. */
static int32_t tier_of(const struct pass *p, const struct standing *s, size_t n)
{
    int32_t tier = INT32_MIN;
    for (size_t i = 0; i < n; i++) {
        const struct compiled *c = demand_of(p->cl, job_of(p, &s[i])->lane->klass);
        if (c->option[s[i].option].tier > tier)
            tier = c->option[s[i].option].tier;
    }
    return tier;
}

/* Into the world, whatever is there. False: it can not be kept, as a node is away. */
static bool stand(struct pass *p, struct standing *s)
{
    struct world *w = p->w;
    struct wjob *j = job_of(p, s);
    struct compiled *c = asked_still(p, s, j);
    if (!place_known(p, s, c))
        return false;
    const struct entry e = {.lane = j->lane, .job = j, .c = c, .o = &c->option[s->option]};
    int64_t start = s->start_us > w->now_us ? s->start_us : w->now_us,
            limit = het_limit_at(p, e.o, start);
    if (!s->het)
        limit = entry_limit(&e, limit, start);
    standing_place(p, s, e.o);
    steady_mark(p, s, start);
    stands_put(p, s, j, world_promise(w, c, &p->at, s->job_id, start, time_add(start, limit)));
    s->told = true;
    return true;
}

/* So many of one job, from s on: all of them, or none is told to stand. */
static bool stand_together(struct pass *p, struct standing *s, size_t n, int32_t tier)
{
    if (!all_asked_still(p, s, n)) {
        for (size_t i = 0; i < n; i++)
            if (!s[i].told)
                place_free(p, &s[i]);
        return true;
    }
    int32_t own = tier_of(p, s, n);
    if (own < tier || own >= p->stands_tier || (s->het && pass_het_of(p, s->het)->stamp))
        return true;
    for (size_t i = 0; i < n; i++)
        if (!stand(p, &s[i]))
            return false;
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
    for (size_t i = 0, n; i < p->v->standing.n; i += n) {
        n = of_its_job(p, i);
        if (!stand_together(p, &p->v->standing.v[i], n, tier))
            return false;
    }
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

bool standing_lift_all(struct pass *p, const struct het *h)
{
    bool any = false;
    for (size_t i = 0; i < h->n; i++) {
        any |= h->job[i]->stands != 0;
        standing_lift(p, h->job[i]);
    }
    return any;
}

const struct standing *standing_of_all(const struct pass *p, const struct het *h)
{
    if (p->v->standing_version != p->cl->derived.version)
        return NULL;
    for (size_t i = 0; i < p->v->standing.n; i++)
        if (p->v->standing.v[i].het == h->id) {
            const struct standing *s = &p->v->standing.v[i];
            return all_asked_still(p, s, of_its_job(p, i)) ? s : NULL;
        }
    return NULL;
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
    for (size_t i = 0, n; i < p->v->standing.n; i += n) {
        struct standing *s = &p->v->standing.v[i];
        n = of_its_job(p, i);
        bool stands = stand_together(p, s, n, tier);
        for (size_t k = 0; k < n; k++)
            stands &= s[k].world_job == NONE || nodes_hold(p, &s[k], false);
        if (stands)
            continue;
        for (size_t k = 0; k < n; k++)
            if (s[k].world_job != NONE)
                taken_out(p, &s[k]);
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

bool standing_may_look(struct pass *p)
{
    return p->w->nnodes == 1 || p->looks++ < LOOKS_MOST;
}

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

void standing_was_all(struct pass *p, const struct het *h)
{
    for (size_t i = 0; i < p->v->standing.n; i++)
        if (p->v->standing.v[i].het == h->id)
            standing_was(p, job_of(p, &p->v->standing.v[i]), &p->v->standing.v[i]);
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

/* The partition in which it was promised its place: of a component its own. */
static uint64_t promised_bit(const struct pass *p, const struct promised *pr)
{
    return serve_bit(demand_of(p->cl, pr->lane->klass)->option[pr->option].serve);
}

static int standing_order(const void *a, const void *b)
{
    const struct standing *x = a, *y = b;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* While nodes come back: what is promised on those that are there would be in others' way. */
static void places_stay(struct pass *p)
{
    for (size_t i = 0; i < p->v->standing.n; i++) {
        struct standing *s = &p->v->standing.v[i];
        s->moment = 0; /* and whether its nodes hold it is asked again */
        s->told = false;
        s->world_job = NONE;
    }
    freed_anything(p);
}

void standing_keep(struct pass *p)
{
    struct plan_private *v = p->v;
    if (!v->returned && v->standing_version == p->cl->derived.version) {
        places_stay(p);
        return;
    }
    vec_clear(&v->standing);
    vec_clear(&v->standing_on);
    v->standing_version = p->cl->derived.version;
    if (!v->returned)
        return;
    for (size_t i = 0; standing_wanted(p->cl) && i < p->promise.n; i++) {
        const struct promised *pr = &p->promise.v[i];
        if (pr->awaited || pr->n == 0) { /* in the next pass it is promised anew, or not */
            freed_anything(p);
            continue;
        }
        pr->job->w.promised_us = pr->start_us;
        if (!pr->job->w.promised_in)
            vec_push(&p->cl->queue.promised_in, pr->job->w.job_id);
        pr->job->w.promised_in |= promised_bit(p, pr);
        struct standing s = {.job_id = pr->job->w.job_id,
                             .class_serial = pr->lane->klass->serial,
                             .option = pr->option,
                             .variant = pr->variant,
                             .start_us = pr->start_us,
                             .first = (uint32_t)v->standing_on.n,
                             .n = pr->n,
                             .moment = pr->moment,
                             .het = pr->het,
                             .world_job = NONE};
        for (uint32_t k = pr->first; k < pr->first + pr->n; k++)
            vec_push(&v->standing_on, p->promised_on.v[k]);
        vec_push(&v->standing, s);
    }
    if (v->standing.n > 1)
        qsort(v->standing.v, v->standing.n, sizeof v->standing.v[0], standing_order);
}
