/* Promises: a start and nodes that are kept for a job that is blocked. Each partition's first has
 * one, and more where the policy says so. */
#include "sched/pass/promise.h"

#include "sched/books/limits/qos.h"
#include "sched/pass/bars.h"
#include "sched/pass/found.h"
#include "sched/pass/live.h"
#include "sched/pass/priority.h"
#include "sched/pass/standing.h"
#include "sched/pass/to_place.h"
#include "sched/world/resv_view.h"

bool promise_due(const struct pass *p, const struct entry *e)
{
    ASSERT(e->job);
    const struct policy *policy = &p->cl->policy;
    const struct waiting *w = &e->job->w;
    if (policy->promise_to == PROMISES_HEAD || p->future || p->cl->hook.key || e->lane->het ||
        p->promise.n >= policy->promise_most)
        return false;
    return policy->promise_to == PROMISES_ALL || p->w->now_us - ages_from(w) > policy->age_bound_us;
}

/* A lane whose job has its promise goes on to the next, where all of that job is promised. */
static bool lane_may_go_on(const struct pass *p, const struct entry *e)
{
    return e->c->n == 1 && p->left[e->lane->idx] == 1;
}

/* NoReserve and MinPrioThreshold: others need not leave it anything. */
static bool promised_nothing(const struct pass *p, const struct entry *e)
{
    return qos_may_exceed(e->c->qos, QOS_PROMISED_NOTHING) ||
           (!p->future && e->priority / PRIORITY_ONE < e->lane->promise_priority);
}

/* Who was promised a start can mostly have that, or an earlier one: later ones are looked at only
 * if not. */
static bool earliest(struct pass *p, const struct entry *e, struct to_place *what, int64_t limit_us,
                     int64_t *ret_us)
{
    what->latest_us = e->promised_us != INT64_MAX ? e->promised_us : 0;
    if (what->latest_us > p->w->now_us &&
        world_earliest(p->w, what, limit_us, p->w->now_us, &p->at, ret_us))
        return true;
    what->latest_us = 0;
    return world_earliest(p->w, what, limit_us, p->w->now_us, &p->at, ret_us);
}

void promise_make(struct pass *p, const struct entry *e, bool awaited)
{
    int64_t at, limit = entry_limit(e, e->o->limit_us, p->w->now_us);
    if (p->served[e->o->serve] && !awaited && !promise_due(p, e))
        return;
    if (promised_nothing(p, e) && !awaited)
        return;
    for (size_t i = 0; i < p->promise.n; i++)
        if (p->promise.v[i].job == e->job)
            return;
    struct to_place what = pass_to_place(p, e->c, e->o, e->job);
    if (!earliest(p, e, &what, limit, &at))
        return;
    /* It did not start: counts say now, single CPUs or devices say no. A promise of now would be
     * kept from others and never be met. */
    bool in_vain = at <= p->w->now_us && !p->future && !awaited;
    int64_t next = world_next_end(p->w);
    if (in_vain && (next == INT64_MAX || !world_earliest(p->w, &what, limit, next, &p->at, &at)))
        return;
    limit = entry_limit(e, view_limit(p->w, e->o, limit, at), at);
    struct promised pr = {
        .world_job = world_promise(p->w, e->c, &p->at, e->job->w.job_id, at, time_add(at, limit)),
        .lane = e->lane,
        .job = e->job,
        .part = e->o->serve,
        .start_us = at,
        .awaited = awaited,
        .extra = p->served[e->o->serve] && !awaited,
        .ahead = !awaited && promise_due(p, e) && lane_may_go_on(p, e)};
    standing_note(p, e, &pr);
    vec_push(&p->promise, pr);
    p->served[pr.part] = true;
    pass_foresee(p, e->job->w.job_id, at, &p->at, true);
}

bool is_promised(const struct pass *p, const struct wjob *j)
{
    for (size_t i = 0; i < p->promise.n; i++)
        if (p->promise.v[i].job == j)
            return true;
    return false;
}

/* A job that starts in one partition no longer needs the promise it got in another; what was
 * refused for that promise's sake is tried again. */
void promise_drop(struct pass *p, const struct wjob *j)
{
    for (size_t i = 0; i < p->promise.n; i++)
        if (p->promise.v[i].job == j) {
            world_break(p->w, p->promise.v[i].world_job);
            log_unstart(p->v, j->w.job_id, p->promise.v[i].start_us);
            p->served[p->promise.v[i].part] &= p->promise.v[i].extra;
            vec_remove(&p->promise, i);
            p->again = true;
            return;
        }
}
