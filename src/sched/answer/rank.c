/* The order of waiting jobs, for questions: the passes themselves only ever compare the first of
 * each lane. */
#include "sched/answer/rank.h"

#include "base/alloc.h"
#include "sched/answer/blockers.h"
#include "sched/books/classes.h"
#include "sched/books/settle.h"
#include "sched/pass/priority.h"

#include <stdlib.h>
#include <string.h>

/* Jobs of the lane that come before one of that tier and priority. */
static uint32_t lane_ahead(const struct cluster *cl, const struct lane *l, int32_t tier,
                           uint64_t priority, const struct wjob *j, int64_t now_us)
{
    const struct compiled *c = demand_of(cl, l->klass);
    const struct option *o = NULL;
    for (size_t i = 0; i < c->n; i++) /* the partition in which it stands first */
        if (!o || c->option[i].tier > o->tier)
            o = &c->option[i];
    if (!o || o->tier < tier)
        return 0;
    if (o->tier > tier)
        return (uint32_t)l->n;
    size_t low = 0, high = l->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct wjob *other = l->job[l->first + middle];
        uint64_t theirs = priority_of(cl, o, &other->w, now_us);
        bool before = theirs != priority ? theirs > priority : wjob_order(other, j) < 0;
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

struct rank_ranked {
    uint64_t job_id, priority;
    int32_t tier;
    const struct wjob *job;
};

static int ranked_order(const void *va, const void *vb)
{
    const struct rank_ranked *a = va, *b = vb;
    if (a->tier != b->tier)
        return a->tier > b->tier ? -1 : 1;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    return wjob_order(a->job, b->job);
}

void rank_standing(const struct cluster *cl, const struct wjob *j, int64_t now_us,
                   int32_t *ret_tier, uint64_t *ret_priority)
{
    ASSERT(!cl->derived.stale);
    struct compiled *c = demand_of(cl, j->lane->klass);
    *ret_tier = 0;
    *ret_priority = 0;
    for (size_t i = 0; i < c->n; i++) {
        uint64_t priority = priority_of(cl, &c->option[i], &j->w, now_us);
        if (c->option[i].tier > *ret_tier ||
            (c->option[i].tier == *ret_tier && priority > *ret_priority))
            *ret_tier = c->option[i].tier, *ret_priority = priority;
    }
}

/* With many lanes all jobs are ranked at once, for the next question, too. */
static void ranks_make(struct plan_private *v, const struct cluster *cl)
{
    VEC(struct rank_ranked) all = {0};
    for (size_t i = 0; i < cl->queue.lane.n; i++)
        for (size_t k = 0; k < cl->queue.lane.v[i]->n; k++) {
            struct rank_ranked r = {.job =
                                        cl->queue.lane.v[i]->job[cl->queue.lane.v[i]->first + k]};
            r.job_id = r.job->w.job_id;
            rank_standing(cl, r.job, v->now_us, &r.tier, &r.priority);
            vec_push(&all, r);
        }
    if (all.n > 1)
        qsort(all.v, all.n, sizeof all.v[0], ranked_order);
    for (size_t i = 0; i < all.n; i++)
        map_u64_put(v->rank, all.v[i].job_id, (void *)(uintptr_t)(i + 1));
    vec_done(&all);
    v->ranked = true;
}

#define LANES_FEW 200 /* so few are searched one by one */

uint32_t rank_of(struct plan_private *v, const struct cluster *cl, const struct wjob *j,
                 int32_t tier, uint64_t priority)
{
    ASSERT(j->lane);
    if (cl->queue.lane.n > LANES_FEW) {
        if (!v->ranked)
            ranks_make(v, cl);
        uint32_t rank = (uint32_t)(uintptr_t)map_u64_get(v->rank, j->w.job_id);
        if (rank > 0)
            return rank;
    }
    uint32_t rank = 1;
    for (size_t i = 0; i < cl->queue.lane.n; i++)
        rank += lane_ahead(cl, cl->queue.lane.v[i], tier, priority, j, v->now_us);
    return rank;
}

/* ---- who is ahead ---- */

uint64_t sched_waiting(const struct cluster *cl)
{
    return cl->queue.n;
}

size_t sched_ahead(struct cluster *cl, const struct plan *p, uint64_t job_id, uint64_t *ret,
                   size_t max)
{
    cluster_settle(cl);
    const struct wjob *j = map_u64_get(cl->queue.by_job, job_id);
    VEC(struct rank_ranked) all = {0};
    if (!j)
        return 0;
    struct rank_ranked own = {.job_id = job_id, .job = j};
    rank_standing(cl, j, p->priv->now_us, &own.tier, &own.priority);
    for (size_t i = 0; i < cl->queue.lane.n; i++)
        for (size_t k = 0; k < cl->queue.lane.v[i]->n && k < max; k++) {
            struct rank_ranked r = {.job =
                                        cl->queue.lane.v[i]->job[cl->queue.lane.v[i]->first + k]};
            r.job_id = r.job->w.job_id;
            rank_standing(cl, r.job, p->priv->now_us, &r.tier, &r.priority);
            if (ranked_order(&r, &own) >= 0)
                break;
            vec_push(&all, r);
        }
    if (all.n > 1)
        qsort(all.v, all.n, sizeof all.v[0], ranked_order);
    size_t n = all.n < max ? all.n : max;
    for (size_t i = 0; i < n; i++)
        ret[i] = all.v[i].job_id;
    vec_done(&all);
    return n;
}
