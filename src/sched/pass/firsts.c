#include "sched/pass/firsts.h"

#include "base/alloc.h"
#include "sched/books/classes.h"
#include "sched/books/idle.h"
#include "sched/pass/bars.h"
#include "sched/pass/found.h"
#include "sched/pass/live.h"
#include "sched/pass/priority.h"

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

/* Has it waited longer? Of equals the first in the queue. */
static bool older(const struct entry *a, const struct entry *b)
{
    int64_t x = stands_from(&a->job->w), y = stands_from(&b->job->w);
    return x != y ? x < y : stands_as(&a->job->w) < stands_as(&b->job->w);
}

/* The oldest in the partition of those past the bound that are younger than `than`; NULL = all. */
static struct entry *oldest_after(const struct pass *p, uint32_t serve, const struct entry *than,
                                  int64_t before_us)
{
    struct entry *best = NULL;
    for (size_t i = 0; i < p->entry.n; i++) {
        struct entry *e = &p->entry.v[i];
        if (e->o->serve == serve && stands_from(&e->job->w) < before_us &&
            (!than || older(than, e)) && (!best || older(e, best)))
            best = e;
    }
    return best;
}

/* Nothing but resources keeps it. */
static bool could_be_next(struct pass *p, struct entry *e)
{
    return e->o->never == REASON_NONE && pass_reachable(p, e->c, e->o) &&
           entry_held_by(p, e) == REASON_NONE && entry_capped_by(p, e) == REASON_NONE;
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
    struct entry *e = NULL;
    for (int tries = 0; tries < TRIES; tries++) {
        e = oldest_after(p, serve, e, before_us);
        if (!e)
            return;
        if (!could_be_next(p, e))
            continue;
        e->job->w.oldest |= serve_bit(serve);
        vec_push(&p->cl->queue.oldest, e->job->w.job_id);
        return;
    }
}

void oldest_choose(struct pass *p)
{
    struct cluster *cl = p->cl;
    bool changed = cl->queue.oldest.n > 0;
    oldest_clear(cl);
    if (ageing(cl)) {
        int64_t before_us = p->w->now_us - OLDEST_BOUNDS * cl->policy.age_bound_us;
        bool *seen = xcalloc(cl->part.n * (cl->resv.n + 1) + 1, sizeof seen[0]);
        for (size_t i = 0; i < p->entry.n; i++) {
            const struct entry *e = &p->entry.v[i];
            if (stands_from(&e->job->w) >= before_us || seen[e->o->serve])
                continue;
            seen[e->o->serve] = true;
            oldest_of(p, e->o->serve, before_us);
        }
        free(seen);
    }
    changed |= cl->queue.oldest.n > 0;
    for (size_t i = 0; changed && i < p->entry.n; i++)
        entry_fill(p, &p->entry.v[i]);
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

uint64_t first_away(struct pass *p, const struct wjob *j, uint64_t in)
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

void heads_keep(struct pass *p)
{
    struct cluster *cl = p->cl;
    size_t kept = 0;
    for (size_t i = 0; i < cl->queue.head.n; i++) {
        struct wjob *j = map_u64_get(cl->queue.by_job, cl->queue.head.v[i]);
        if (!j)
            continue;
        j->w.head = ageing(cl) ? first_away(p, j, j->w.head) : 0;
        if (j->w.head)
            cl->queue.head.v[kept++] = cl->queue.head.v[i];
    }
    cl->queue.head.n = kept;
    for (size_t i = 0; ageing(cl) && i < p->promise.n; i++) {
        const struct promised *pr = &p->promise.v[i];
        if (pr->extra || pr->awaited)
            continue;
        if (!pr->job->w.head)
            vec_push(&cl->queue.head, pr->job->w.job_id);
        pr->job->w.head |= serve_bit(pr->part);
    }
}
