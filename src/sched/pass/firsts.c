#include "sched/pass/firsts.h"

#include "base/alloc.h"
#include "sched/books/classes.h"
#include "sched/books/idle.h"
#include "sched/pass/bars.h"
#include "sched/pass/components.h"
#include "sched/pass/found.h"
#include "sched/pass/live.h"
#include "sched/pass/priority.h"
#include "sched/pass/standing.h"

#include <stdlib.h>

/* Of those past the bound so many are asked whether a limit keeps them: none of these may be the
 * one that others wait for. */
#define TRIES 8
/* Who waited so many times the age bound may be the oldest: far past what the key lets anybody
 * wait, but for one who asks for much where others have endless little. */
#define OLDEST_BOUNDS 4

static bool ageing(const struct cluster *cl)
{
    return cl->policy.order == ORDER_AGEING && !cl->hook.key;
}

/* ---- the oldest ---- */

/* stands_from of the lane's first, which is looked at itself only where it may have another's. */
static int64_t front_from(const struct front *f)
{
    return f->apart ? stands_from(&f->job->w) : front_ages_from(f);
}

/* Has it waited longer? Of equals the first in the queue. */
static bool older(const struct front *a, const struct front *b)
{
    int64_t x = front_from(a), y = front_from(b);
    return x != y ? x < y : stands_as(&a->job->w) < stands_as(&b->job->w);
}

/* The first of lane i, where it may stand there; its option is NULL where not. */
static struct entry front_entry(const struct pass *p, size_t i, uint32_t serve)
{
    struct lane *l = p->cl->queue.lane.v[i];
    struct entry e = {.lane = l,
                      .lane_idx = l->idx,
                      .job = lane_next(p, l),
                      .c = demand_unchosen(p->cl, l->klass)};
    for (size_t k = 0; !e.o && k < e.c->n; k++)
        e.o = e.c->option[k].serve == serve ? &e.c->option[k] : NULL;
    return e;
}

/* The oldest in the partition of those past the bound that are younger than `than`; NULL = all. */
static const struct front *oldest_after(const struct pass *p, uint32_t serve,
                                        const struct front *than, int64_t before_us,
                                        struct entry *ret)
{
    const struct front *best = NULL;
    for (size_t i = 0; i < p->cl->queue.front.n; i++) {
        const struct front *f = &p->cl->queue.front.v[i];
        if (front_from(f) >= before_us || (than && !older(than, f)) || (best && !older(f, best)))
            continue;
        struct entry e = front_entry(p, i, serve);
        if (!e.o)
            continue;
        best = f;
        *ret = e;
    }
    return best;
}

static void oldest_clear(struct cluster *cl)
{
    for (size_t i = 0; i < cl->queue.oldest.n; i++) {
        struct wjob *j = map_u64_get(cl->queue.by_job, cl->queue.oldest.v[i]);
        if (j)
            j->w.oldest = 0;
    }
    vec_clear(&cl->queue.oldest);
}

static void oldest_of(struct pass *p, uint32_t serve, int64_t before_us)
{
    const struct front *f = NULL;
    struct entry e;
    for (int tries = 0; tries < TRIES; tries++) {
        f = oldest_after(p, serve, f, before_us, &e);
        if (!f)
            return;
        if (!entry_lacks_room_only(p, &e))
            continue;
        e.job->w.oldest |= serve_bit(serve);
        vec_push(&p->cl->queue.oldest, e.job->w.job_id);
        return;
    }
}

void oldest_choose(struct pass *p)
{
    struct cluster *cl = p->cl;
    int64_t before_us = p->w->now_us - OLDEST_BOUNDS * cl->policy.age_bound_us;
    oldest_clear(cl);
    if (!ageing(cl))
        return;
    bool *seen = xcalloc(cl->part.n * (cl->resv.n + 1) + 1, sizeof seen[0]);
    for (size_t i = 0; i < cl->queue.front.n; i++) {
        if (front_from(&cl->queue.front.v[i]) >= before_us)
            continue;
        const struct compiled *c = demand_unchosen(cl, cl->queue.lane.v[i]->klass);
        for (size_t k = 0; k < c->n; k++) {
            if (seen[c->option[k].serve])
                continue;
            seen[c->option[k].serve] = true;
            oldest_of(p, c->option[k].serve, before_us);
        }
    }
    free(seen);
}

/* ---- the heads ---- */

/* The widest in its partition of those that no reservation is kept for. */
static void head_measure(const struct cluster *cl, const struct wjob *j)
{
    const struct compiled *c = demand_of(cl, j->lane->klass);
    for (size_t k = 0; k < c->n; k++) {
        const struct option *o = &c->option[k];
        if (o->resv || !(j->w.head & serve_bit(o->serve)))
            continue;
        int64_t all = part_of_all(cl, o, &j->w);
        if (all > o->part->idle.head)
            o->part->idle.head = all;
    }
}

void idle_see(struct cluster *cl)
{
    if (!ageing(cl))
        return;
    idle_count(cl);
    for (size_t i = 0; i < cl->queue.head.n; i++) {
        const struct wjob *j = map_u64_get(cl->queue.by_job, cl->queue.head.v[i]);
        if (j)
            head_measure(cl, j);
    }
}

/* ---- nodes come back ---- */

/* Of the time in which none is waited for, what of it comes back to that half minute: nodes that go
 * and come all the time hold others up for a tenth of it. */
#define REFILL 10

static void wait_begin(struct plan_private *v)
{
    int64_t past = v->now_us > v->returns_since_us ? v->now_us - v->returns_since_us : 0;
    v->returns_left_us += past / REFILL;
    if (v->returns_left_us > RETURN_US)
        v->returns_left_us = RETURN_US;
    v->returned = v->returns_left_us == 0;
    v->returns_since_us = v->now_us;
}

static void wait_end(struct plan_private *v)
{
    int64_t took = v->now_us > v->returns_since_us ? v->now_us - v->returns_since_us : 0;
    v->returns_left_us = took < v->returns_left_us ? v->returns_left_us - took : 0;
    v->returned = true;
    v->returns_since_us = v->now_us;
}

void returns_see(struct plan_private *v, const struct cluster *cl)
{
    bool some = false;
    if (v->lost != cl->derived.lost && v->returned)
        wait_begin(v);
    v->lost = cl->derived.lost;
    if (v->returned)
        return;
    for (size_t i = 0; i < cl->node.n && !some; i++)
        some = cl->node.v[i]->returns;
    /* A clock that was set back is no reason to wait longer. */
    if (!some || v->now_us >= returns_until(v) || v->now_us < v->returns_since_us)
        wait_end(v);
}

int64_t returns_until(const struct plan_private *v)
{
    return time_add(v->returns_since_us, v->returns_left_us);
}

/* Neither --nodelist nor --exclude is against it, and it has what the job asks for of a node. */
static bool could_have(const struct entry *e, const struct snode *n)
{
    bool fits = false;
    for (size_t i = 0; i < e->o->nvariants && !fits; i++)
        fits = bit_get(e->o->variant[i].groups, n->group->idx);
    return fits && demand_admits(e->c, e->o, n->idx);
}

/* Could the job have one that is not back yet? */
static bool entry_returns(const struct entry *e)
{
    const struct option *o = e->o;
    for (size_t i = 0; o->never == REASON_NONE && i < o->part->node.n; i++)
        if (o->part->node.v[i]->returns && could_have(e, o->part->node.v[i]))
            return true;
    return false;
}

static bool was_started(const struct pass *p, struct returning *r)
{
    for (; !r->started && r->seen < p->v->start.n; r->seen++)
        r->started = p->v->start.v[r->seen].job_id == r->job_id;
    return r->started;
}

static bool have_nodes_in_common(const struct cluster *cl, uint32_t a, uint32_t b)
{
    for (size_t i = 0; a != b && i < cl->group.n; i++)
        if (bit_get(cl->group.v[i]->parts, a) && bit_get(cl->group.v[i]->parts, b))
            return true;
    return a == b;
}

/* Does one before it wait for nodes that are not back, in a partition with nodes of this one? */
static bool kept_out_of(struct pass *p, const struct waiting *w, uint32_t part)
{
    bool out = false;
    for (size_t i = 0; i < p->returning.n && !out; i++) {
        struct returning *r = &p->returning.v[i];
        bool own = r->job_id == w->job_id || (r->het && r->het == w->het_job_id);
        out = !own && !was_started(p, r) && have_nodes_in_common(p->cl, r->part, part);
    }
    return out;
}

/* They begin together, each in any of its partitions. */
static bool components_kept_out(struct pass *p, const struct het *h)
{
    bool out = false;
    for (size_t i = 0; i < h->n && !out; i++) {
        const struct compiled *c = demand_of(p->cl, h->job[i]->lane->klass);
        for (size_t k = 0; k < c->n && !out; k++)
            out = c->option[k].never == REASON_NONE &&
                  kept_out_of(p, &h->job[i]->w, c->option[k].part->idx);
    }
    return out;
}

bool firsts_keep_out(struct pass *p, const struct entry *e)
{
    const struct waiting *w = &e->job->w;
    if (p->v->returned || p->future || p->cl->hook.key)
        return false;
    bool out = w->het_job_id && p->returning.n > 0
                   ? components_kept_out(p, pass_het_of(p, w->het_job_id))
                   : kept_out_of(p, w, e->o->part->idx);
    if (((w->head | w->promised_in) & serve_bit(e->o->serve)) && entry_returns(e))
        vec_push(&p->returning, ((struct returning){
                                    .job_id = w->job_id,
                                    .het = w->het_job_id,
                                    .part = e->o->part->idx,
                                }));
    return out;
}

/* ---- who was first, or promised a start, and cannot be ---- */

/* Those of these partitions (a bit each) in which only nodes that are away keep the job. */
static uint64_t job_away(struct pass *p, const struct wjob *j, uint64_t in)
{
    struct compiled *c = demand_of(p->cl, j->lane->klass);
    uint64_t away = 0;
    for (size_t k = 0; in && k < c->n; k++) {
        struct option *o = &c->option[k];
        if (in & serve_bit(o->serve) && o->never == REASON_NONE && !pass_reachable(p, c, o))
            away |= serve_bit(o->serve);
    }
    return away;
}

static bool some_nodes_away(const struct pass *p, const struct wjob *j)
{
    const struct compiled *c = demand_of(p->cl, j->lane->klass);
    for (size_t k = 0; k < c->n; k++) {
        const struct option *o = &c->option[k];
        for (size_t i = 0; o->never == REASON_NONE && i < o->part->node.n; i++) {
            const struct snode *n = o->part->node.v[i];
            if (!n->up && (option_allows(c, o, n->idx / 64) >> n->idx % 64 & 1))
                return true;
        }
    }
    return false;
}

/* What is kept of those of its partitions in which the job is the head, or was promised a start:
 * those in which only nodes that are away keep it. After a restart of the controller none is there
 * yet. Components wait together: if one cannot be had, or not beside the others. */
static uint64_t kept_away(struct pass *p, const struct wjob *j, bool head)
{
    uint64_t in = head ? j->w.head : j->w.promised_in;
    const struct het *h = j->w.het_job_id ? pass_het_of(p, j->w.het_job_id) : NULL;
    bool away = false;
    if (!j->w.het_job_id)
        return job_away(p, j, in);
    if (!h || (!head && h->promised_us == INT64_MAX))
        return 0;
    for (size_t i = 0; i < h->n && !away; i++) {
        const struct wjob *one = h->job[i];
        away = job_away(p, one, head ? one->w.head : one->w.promised_in) ||
               (h->unplaced && some_nodes_away(p, one));
    }
    return away ? in : 0;
}

static bool is_head_promise(const struct promised *pr)
{
    return !pr->extra && !pr->awaited;
}

/* It is the head still. Of an array, no element has started: the next is promised anew. */
static bool head_goes_on(const struct pass *p, const struct wjob *j)
{
    bool promised = false;
    for (size_t i = 0; i < p->promise.n; i++)
        promised |= p->promise.v[i].job == j && is_head_promise(&p->promise.v[i]);
    for (size_t i = 0; j->w.elements > 1 && i < p->v->start.n; i++)
        promised &= p->v->start.v[i].job_id != j->w.job_id;
    return promised;
}

void heads_keep(struct pass *p)
{
    struct cluster *cl = p->cl;
    size_t kept = 0;
    for (size_t i = 0; i < cl->queue.head.n; i++) {
        struct wjob *j = map_u64_get(cl->queue.by_job, cl->queue.head.v[i]);
        if (!j)
            continue;
        j->w.head = ageing(cl) ? kept_away(p, j, true) : 0;
        if (!ageing(cl) || (!j->w.head && !head_goes_on(p, j)))
            j->w.head_us = 0;
        if (j->w.head)
            cl->queue.head.v[kept++] = cl->queue.head.v[i];
    }
    cl->queue.head.n = kept;
    for (size_t i = 0; ageing(cl) && i < p->promise.n; i++) {
        const struct promised *pr = &p->promise.v[i];
        if (!is_head_promise(pr))
            continue;
        if (!pr->job->w.head_us)
            pr->job->w.head_us = pr->start_us;
        if (!pr->job->w.head)
            vec_push(&cl->queue.head, pr->job->w.job_id);
        pr->job->w.head |= serve_bit(pr->part);
    }
}

/* ---- who was promised a start ---- */

void promised_forget(struct pass *p)
{
    struct cluster *cl = p->cl;
    size_t kept = 0;
    for (size_t i = 0; i < cl->queue.promised_in.n; i++) {
        struct wjob *j = map_u64_get(cl->queue.by_job, cl->queue.promised_in.v[i]);
        if (!j)
            continue;
        if (!standing_wanted(cl))
            j->w.promised_in = 0;
        else if (p->v->returned)
            j->w.promised_in = kept_away(p, j, false);
        if (j->w.promised_in)
            cl->queue.promised_in.v[kept++] = cl->queue.promised_in.v[i];
        else
            j->w.promised_us = 0;
    }
    cl->queue.promised_in.n = kept;
}
