#include "sched/pass/standing.h"

#include "base/alloc.h"
#include "sched/pass/bars.h"
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
    pr->moment = freed_moment(p, e);
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

/* While it would run: before, jobs of one user may have a node of theirs together, of which each
 * counts as if it had all of it. */
static bool nodes_hold(const struct pass *p, const struct standing *s, int64_t start_us,
                       int64_t end_us)
{
    for (uint32_t i = s->first; i < s->first + s->n; i++)
        if (!outlook_holds(p->w, p->v->standing_on.v[i].node, start_us, end_us))
            return false;
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

/* False: it can not be kept, as work runs on there, a node is away or a higher tier has it. */
static bool stand(struct pass *p, struct standing *s, int32_t tier)
{
    struct world *w = p->w;
    struct wjob *j = map_u64_get(p->cl->queue.by_job, s->job_id);
    struct compiled *c = j && j->w.promised_in ? demand_of(p->cl, j->lane->klass) : NULL;
    if (!c || j->lane->klass->serial != s->class_serial || s->option >= c->n) {
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
    struct stands now = {j, world_promise(w, c, &p->at, s->job_id, start, time_add(start, limit))};
    if (!nodes_hold(p, s, start, time_add(start, limit))) {
        world_break(w, now.world_job);
        return false;
    }
    vec_push(&p->stands, now);
    s->told = true;
    return true;
}

/* On one node, whoever goes first by his promise moves nobody behind him, if he can take in one way
 * only what he takes: an earlier start with another type of GPU is in the way of those who were
 * promised these. */
static bool order_is_enough(const struct pass *p)
{
    for (size_t i = 0; p->w->nnodes == 1 && i < p->v->standing.n; i++) {
        const struct wjob *j = map_u64_get(p->cl->queue.by_job, p->v->standing.v[i].job_id);
        const struct compiled *c = j ? demand_of(p->cl, j->lane->klass) : NULL;
        for (size_t k = 0; c && k < c->n; k++)
            if (c->option[k].nvariants > 1)
                return false;
    }
    return p->w->nnodes == 1;
}

void standing_enter(struct pass *p, int32_t tier)
{
    ASSERT(!p->future);
    if (p->v->standing_version != p->cl->derived.version || order_is_enough(p))
        return;
    /* Whose promise is not to be kept comes before those who were promised a later start. */
    for (size_t i = 0; i < p->v->standing.n; i++)
        if (!stand(p, &p->v->standing.v[i], tier)) {
            freed_anything(p);
            break;
        }
    p->stands_tier = tier;
}

uint32_t standing_end(struct pass *p, const struct wjob *j)
{
    uint32_t world_job = NONE;
    for (size_t i = 0; i < p->stands.n; i++)
        if (p->stands.v[i].job == j) {
            world_job = p->stands.v[i].world_job;
            vec_remove(&p->stands, i);
            break;
        }
    return world_job;
}

void standing_lift(struct pass *p, const struct wjob *j)
{
    uint32_t world_job = standing_end(p, j);
    if (world_job != NONE)
        world_break(p->w, world_job);
}

struct standing *standing_of(struct pass *p, const struct wjob *j)
{
    bool stands = false;
    for (size_t i = 0; i < p->stands.n && !stands; i++)
        stands = p->stands.v[i].job == j;
    for (size_t i = 0; stands && i < p->v->standing.n; i++)
        if (p->v->standing.v[i].job_id == j->w.job_id)
            return &p->v->standing.v[i];
    return NULL;
}

static bool stands_where_differs(const struct pass *p, const struct standing *s)
{
    for (uint32_t i = s->first; i < s->first + s->n; i++)
        if (bit_get(p->differs, p->v->standing_on.v[i].node))
            return true;
    return false;
}

bool standing_stays(struct pass *p, const struct entry *e, struct standing *s)
{
    if (!s->moment || e->promised_us != s->start_us || s->start_us <= p->w->now_us ||
        s->option != e->number || !freed_tells(p, e))
        return false;
    if (!freed_since(p, e, s->moment))
        return true;
    /* Where it stands itself it would see its own promise. */
    if (stands_where_differs(p, s))
        return false;
    struct to_place what = pass_to_place(p, e->c, e->o, e->job);
    what.latest_us = s->start_us - 1;
    if (world_could_hold(p->w, &what, e->o->limit_us, p->differs))
        return false;
    s->moment = p->v->freed;
    return true;
}

/* What shares CPUs takes as many idle ones as there are, which others change. */
static bool same_place(const struct pass *p, const struct promised *pr, const struct standing *s)
{
    const struct option *o = &demand_of(p->cl, pr->lane->klass)->option[pr->option];
    return !o->mode.share && pr->start_us == s->start_us && pr->n == s->n &&
           memcmp(&p->promised_on.v[pr->first], &p->v->standing_on.v[s->first],
                  s->n * sizeof p->promised_on.v[0]) == 0;
}

void standing_was(struct pass *p, const struct wjob *j, const struct standing *s)
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
    for (size_t i = p->stands.n; i-- > 0;)
        world_break(p->w, p->stands.v[i].world_job);
    bool left = p->stands.n > 0;
    vec_clear(&p->stands);
    for (size_t i = 0; i < p->v->standing.n; i++)
        left |= !p->v->standing.v[i].told;
    if (left)
        freed_anything(p);
}

/* ---- from pass to pass ---- */

static void promised_clear(struct cluster *cl)
{
    for (size_t i = 0; i < cl->queue.promised_in.n; i++) {
        struct wjob *j = map_u64_get(cl->queue.by_job, cl->queue.promised_in.v[i]);
        if (!j)
            continue;
        j->w.promised_in = 0;
        j->w.promised_us = 0;
    }
    vec_clear(&cl->queue.promised_in);
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
    promised_clear(p->cl);
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
        pr->job->w.promised_in |= serve_bit(pr->part);
        vec_push(&p->cl->queue.promised_in, pr->job->w.job_id);
        struct standing s = {.job_id = pr->job->w.job_id,
                             .class_serial = pr->lane->klass->serial,
                             .option = pr->option,
                             .variant = pr->variant,
                             .start_us = pr->start_us,
                             .first = (uint32_t)v->standing_on.n,
                             .n = pr->n,
                             .moment = pr->moment};
        for (uint32_t k = pr->first; k < pr->first + pr->n; k++)
            vec_push(&v->standing_on, p->promised_on.v[k]);
        vec_push(&v->standing, s);
    }
    if (v->standing.n > 1)
        qsort(v->standing.v, v->standing.n, sizeof v->standing.v[0], standing_order);
}
