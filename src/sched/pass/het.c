/* A heterogeneous job: all components start together or none does. The components are placed one
 * after another in the same world; if one does not fit, those placed before it are undone, and it
 * is tried as the first of them: another may have taken what only this one could not do without. If
 * no order helps, places are looked for that leave each what it needs (together.c). What stands in
 * their way together may have to give way (preempt.c). */
#include "sched/pass/bars.h"
#include "sched/pass/components.h"
#include "sched/pass/found.h"
#include "sched/pass/pass.h"
#include "sched/pass/preempt/preempt.h"
#include "sched/pass/promise.h"
#include "sched/pass/standing.h"
#include "sched/pass/to_place.h"
#include "sched/pass/together.h"
#include "sched/world/resv_view.h"

#include <string.h>

/* In their order; *ret_failed is the place of the one that does not fit. */
static bool start_in_order(struct beside *t, size_t *ret_failed)
{
    while (t->n < t->h->n && together_next(t))
        ;
    *ret_failed = t->n;
    if (t->n == t->h->n)
        return true;
    together_back(t, 0);
    return false;
}

/* With all that are like it, as each of them would come next. False: those before it are like it,
 * so that the order would be the same. */
static bool to_front(struct het *h, size_t i)
{
    const void *klass = h->job[i]->lane->klass;
    bool differs = together_differ(h, i + 1);
    for (size_t k = 0, at = 0; k < h->n; k++) {
        struct wjob *one = h->job[k];
        if (one->lane->klass != klass)
            continue;
        memmove(&h->job[at + 1], &h->job[at], (k - at) * sizeof h->job[0]);
        h->job[at++] = one;
    }
    return differs;
}

/* Orders that are tried at one time. Each is a placement of all components, and a job may have
 * many. */
#define TRIES_MAX         8
#define PLACES_MAX        64 /* of a search (together.c) */
#define PLACES_MAX_FUTURE 16

static bool start_all(struct pass *p, struct het *h)
{
    int places = p->future ? PLACES_MAX_FUTURE : PLACES_MAX;
    struct beside t = together_new(p, h, p->w->now_us, false, 0);
    size_t failed = 1;
    bool ok = false, another = true;
    for (int tries = 0; tries < TRIES_MAX && !ok && another; tries++) {
        ok = start_in_order(&t, &failed);
        another = !ok && to_front(h, failed);
    }
    ok = ok || (failed > 0 && together_search(&t, &places)) ||
         (!p->future && h->promised_us <= p->w->now_us && together_again(&t));
    together_done(&t);
    return ok;
}

#define TURNS_MAX 8 /* of hours that bar a place, after each of which one is looked for */

/* In one option, before that time, as hours have it beside the components that are placed. Fills
 * *at. */
static bool option_earliest(struct pass *p, struct to_place *what, uint32_t uid, int64_t from_us,
                            int64_t before_us, struct placement *at, int64_t *ret_us)
{
    const struct option *o = what->o;
    for (int i = 0; i < TURNS_MAX; i++) {
        p->cost += try_cost(p, o);
        from_us = hours_room_from(p, o->part, uid, from_us);
        if (from_us >= before_us || !world_earliest(p->w, what, o->limit_us, from_us, at, ret_us) ||
            *ret_us >= before_us)
            return false;
        if (hours_room(p, o->part, uid, *ret_us) > 0)
            return true;
        from_us = *ret_us;
    }
    return false;
}

/* From from_us on and before until_us. */
static bool component_earliest(struct pass *p, const struct wjob *j, int64_t from_us,
                               int64_t until_us, struct option **ret_option, int64_t *ret_us)
{
    ASSERT(until_us > from_us);
    const struct compiled *c = demand_of(p->cl, j->lane->klass);
    struct placement at = {0};
    bool found = false;
    *ret_us = INT64_MAX;
    for (size_t i = 0; i < c->n; i++) {
        int64_t when;
        struct option *o = &c->option[i];
        if (o->never != REASON_NONE)
            continue;
        struct to_place what = pass_to_place(p, c, o, j);
        what.latest_us = until_us == INT64_MAX ? 0 : until_us - 1;
        if (!option_earliest(p, &what, j->w.uid, from_us, *ret_us, &at, &when))
            continue;
        *ret_us = when;
        *ret_option = o;
        found = true;
        struct placement swap = p->at;
        p->at = at;
        at = swap;
    }
    vec_done(&at.at);
    return found;
}

#define ORDERS_MAX 64 /* in which a common start is looked for, at all times */

/* In their order; *ret_us is the first time before until_us at which the one that does not fit
 * would. */
static bool promise_in_order(struct beside *t, int64_t until_us, size_t *ret_failed,
                             int64_t *ret_us)
{
    struct pass *p = t->p;
    *ret_us = t->at_us;
    while (t->n < t->h->n) {
        struct option *o = NULL;
        if (!component_earliest(p, t->h->job[t->n], t->at_us, until_us, &o, ret_us) ||
            *ret_us > t->at_us)
            break;
        together_put(t, o);
    }
    *ret_failed = t->n;
    if (t->n == t->h->n)
        return true;
    together_back(t, 0);
    return false;
}

/* All at that time, or none; *ret_us is when it is worth to ask again. In the future a search at
 * each of the times would be most of a forecast: there it is made when they may start. */
static bool promise_at(struct beside *t, int64_t until_us, int *places, int64_t *ret_us)
{
    size_t failed = 1;
    bool another = true;
    *ret_us = INT64_MAX;
    for (int tries = 0; tries < TRIES_MAX && another; tries++) {
        int64_t when;
        if (promise_in_order(t, until_us, &failed, &when))
            return true;
        another = to_front(t->h, failed);
        *ret_us = failed == 0 || when < *ret_us ? when : *ret_us;
    }
    return failed > 0 && !t->p->future && together_search(t, places);
}

/* A promise to all components that is looked for. */
struct wish {
    struct het *h;
    uint32_t part; /* number of the partition it serves */
    bool extra, awaited;
    int places; /* that may be asked yet */
};

static struct beside wish_at(struct pass *p, const struct wish *wish, int64_t at_us)
{
    struct beside t = together_new(p, wish->h, at_us, true, wish->part);
    t.extra = wish->extra;
    t.awaited = wish->awaited;
    return t;
}

/* Finds the first time from at_us on and before until_us at which all components fit, by letting
 * the latest of them push the others. */
static bool promise_between(struct pass *p, struct wish *wish, int64_t at_us, int64_t until_us)
{
    for (size_t orders = 0; orders < ORDERS_MAX && at_us < until_us;
         orders += wish->h->n < TRIES_MAX ? wish->h->n : TRIES_MAX) {
        struct beside t = wish_at(p, wish, at_us);
        int64_t when;
        bool fit = promise_at(&t, until_us, &wish->places, &when);
        /* Single CPUs or devices did not allow it */
        if (fit && !p->future && at_us <= p->w->now_us) {
            together_back(&t, 0);
            when = world_next_end(p->w);
            fit = false;
        }
        together_done(&t);
        if (fit)
            return true;
        if (when == INT64_MAX || when <= at_us)
            return false;
        at_us = when;
    }
    return false;
}

static bool promise_again(struct pass *p, const struct wish *wish, int64_t at_us)
{
    struct beside t = wish_at(p, wish, at_us);
    bool ok = together_again(&t);
    together_done(&t);
    return ok;
}

/* Is an earlier start than they were promised looked for in this pass? For the first of each
 * partition, and for so many others. */
static bool looks_earlier(struct pass *p, const struct wish *wish)
{
    return !wish->extra || !standing_of_all(p, wish->h) || standing_may_look(p);
}

/* An earlier start than they were promised, or that one where they were promised it: a search may
 * miss it, as it is bounded. Else a later one. */
static bool promise_find(struct pass *p, struct wish *wish)
{
    int64_t now = p->w->now_us, had = wish->h->promised_us;
    if (p->future || had == INT64_MAX || had <= now)
        return promise_between(p, wish, now, INT64_MAX);
    bool looks = looks_earlier(p, wish);
    return (looks && promise_between(p, wish, now, had)) || promise_again(p, wish, had) ||
           (!looks && promise_between(p, wish, now, had)) ||
           promise_between(p, wish, had, INT64_MAX);
}

static void promise_all(struct pass *p, struct het *h, uint32_t part, bool awaited)
{
    struct wish wish = {.h = h,
                        .part = part,
                        .extra = p->served[part] && !awaited,
                        .awaited = awaited,
                        .places = PLACES_MAX};
    h->unplaced = !promise_find(p, &wish);
    if (h->unplaced)
        return;
    p->served[part] = true;
    p->beside += h->n - 1;
}

/* A limit that holds a component, wherever it might be placed, holds all: as any work that a limit
 * holds, they stop nobody and keep nothing free. Whose limit it is is told the component, and the
 * entry that is being looked at. */
static bool components_capped(struct pass *p, const struct het *h, const struct entry *e)
{
    enum job_reason held_by = REASON_NONE;
    for (size_t i = 0; i < h->n; i++) {
        struct compiled *c = demand_of(p->cl, h->job[i]->lane->klass);
        struct entry one = {.lane = h->job[i]->lane, .job = h->job[i], .c = c};
        enum job_reason capped = REASON_NONE;
        for (size_t k = 0; k < c->n; k++) {
            one.o = &c->option[k];
            capped = one.o->never == REASON_NONE ? entry_capped_by(p, &one) : capped;
            if (one.o->never == REASON_NONE && capped == REASON_NONE)
                break;
        }
        if (capped == REASON_NONE)
            continue;
        pass_note(p, &one, capped);
        held_by = held_by != REASON_NONE && one.lane != e->lane ? held_by : capped;
    }
    if (held_by != REASON_NONE)
        pass_note(p, e, held_by);
    return held_by != REASON_NONE;
}

/* Hours of partitions hold a component, wherever they all might be: so all are held. */
static bool components_held(struct pass *p, const struct het *h, const struct entry *e)
{
    const struct wjob *held = het_held_by_hours(p, h);
    if (!held)
        return false;
    pass_note(p, &(struct entry){.lane = held->lane}, REASON_QOS_MAX_JOBS_PER_USER);
    pass_note(p, e, REASON_QOS_MAX_JOBS_PER_USER);
    return true;
}

/* A component that leaves its place to others, whichever partition it would be in, leaves those of
 * all: else long work would go in pairs. */
static bool components_yield(struct pass *p, const struct het *h, const struct entry *e)
{
    uint64_t to = 0;
    for (size_t i = 0; i < h->n && !to; i++) {
        struct compiled *c = demand_of(p->cl, h->job[i]->lane->klass);
        struct entry one = *e;
        one.lane = h->job[i]->lane;
        one.job = h->job[i];
        one.c = c;
        for (size_t k = 0; k < c->n; k++) {
            one.o = &c->option[k];
            if (one.o->never == REASON_NONE && !(to = entry_yields_to(p, &one)))
                break;
        }
    }
    for (size_t i = 0; to && i < h->n; i++) {
        struct entry one = {.lane = h->job[i]->lane, .job = h->job[i]};
        yields_note(p, &one, to);
    }
    return to != 0;
}

/* They start together: nothing is kept for any where nothing is for one. */
static bool components_promised_nothing(struct pass *p, const struct het *h, const struct entry *e)
{
    bool any = false;
    for (size_t i = 0; i < h->n && !any; i++) {
        struct entry one = *e;
        one.lane = h->job[i]->lane;
        one.job = h->job[i];
        one.c = demand_of(p->cl, one.lane->klass);
        any = promised_nothing(p, &one);
    }
    return any;
}

enum outcome pass_het(struct pass *p, struct entry *e)
{
    ASSERT(e->lane->het && e->job);
    struct het *h = pass_het_of(p, e->lane->het);
    if (h->done)
        return NEVER;
    if (h->stamp == p->step || e->job->w.het_size > h->n)
        return BLOCKED;
    h->stamp = p->step;
    for (size_t i = 0; i < p->promise.n; i++)
        if (p->promise.v[i].het == h->id)
            return BLOCKED;
    for (size_t i = 0; i < h->n; i++) {
        struct compiled *c = demand_of(p->cl, h->job[i]->lane->klass);
        bool reachable = false;
        for (size_t k = 0; k < c->n; k++)
            reachable |= c->option[k].never == REASON_NONE && pass_reachable(p, c, &c->option[k]);
        if (!reachable) {
            pass_note(p, e, REASON_REQ_NODE_NOT_AVAIL);
            return NEVER;
        }
    }
    if (components_held(p, h, e) || components_yield(p, h, e))
        return BLOCKED;
    if (start_all(p, h)) {
        h->done = true;
        return NEVER; /* all of its entries go */
    }
    if (components_capped(p, h, e))
        return BLOCKED;
    uint32_t part = e->o->serve;
    pass_note(p, e, p->served[part] ? REASON_PRIORITY : REASON_RESOURCES);
    if (!p->served[part] && !p->future)
        vec_push(&p->v->head, e->job->w.job_id);
    enum preempting stops = pass_preempt(p, e, h);
    h->done = stops == PREEMPTS_AT_ONCE; /* the pass that follows starts it */
    if (stops == PREEMPTS_ENDING ||
        (stops == PREEMPTS_NONE && (!p->served[part] || promise_due(p, e)) &&
         !components_promised_nothing(p, h, e)))
        promise_all(p, h, part, stops == PREEMPTS_ENDING);
    return h->done ? NEVER : BLOCKED;
}
