/* Promises: a start and nodes that are kept for a job that is blocked. Each partition's first has
 * one, and more where the policy says so. */
#include "sched/pass/promise.h"

#include "sched/books/limits/qos.h"
#include "sched/pass/bars.h"
#include "sched/pass/found.h"
#include "sched/pass/freed.h"
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
    if (policy->promise_to == PROMISES_HEAD || p->future || p->cl->hook.key)
        return false;
    size_t made = p->promise.n - p->beside;
    /* What it was promised stands, though others are first by now: it may have been the first of
     * its partition, as which it was promised beyond the bound. */
    if (e->promised_us != INT64_MAX)
        return made < policy->promise_most + p->cl->part.n;
    return made < policy->promise_most && (policy->promise_to == PROMISES_ALL ||
                                           p->w->now_us - ages_from(w) > policy->age_bound_us);
}

/* A lane whose job has its promise goes on to the next, where all of that job is promised. */
static bool lane_may_go_on(const struct pass *p, const struct entry *e)
{
    return e->c->n == 1 && p->left[e->lane->idx] == 1;
}

/* The first of its partition that is blocked, or of those who are promised a start behind it. */
static bool is_due(const struct pass *p, const struct entry *e)
{
    return !p->served[e->o->serve] || promise_due(p, e);
}

bool promised_nothing(const struct pass *p, const struct entry *e)
{
    return qos_may_exceed(e->c->qos, QOS_PROMISED_NOTHING) ||
           (!p->future && e->priority / PRIORITY_ONE < e->lane->promise_priority);
}

static bool one_node(const struct option *o)
{
    bool one = true;
    for (size_t i = 0; i < o->nvariants; i++)
        one &= o->variant[i].lay.nmax == 1;
    return one;
}

/* What stood is to be had again, so that only an earlier start is of interest, and only one for
 * which something came free: a job of one node starts there, others have a part of them there. */
static bool earlier(struct pass *p, const struct entry *e, struct to_place *what, int64_t limit_us,
                    int64_t *ret_us)
{
    what->latest_us = p->had->start_us - 1;
    what->barred = one_node(e->o) ? p->same : NULL;
    bool found = world_earliest(p->w, what, limit_us, p->w->now_us, &p->at, ret_us);
    what->barred = NULL;
    if (found)
        return true;
    ASSERT(!world_earliest(p->w, what, limit_us, p->w->now_us, &p->at, ret_us));
    standing_place(p, p->had, e->o);
    *ret_us = p->had->start_us;
    return true;
}

/* Is there something that stood, and is it known what came free since it was looked for? */
static bool differs_known(struct pass *p, const struct entry *e)
{
    const struct standing *s = p->had;
    return s && s->moment && s->option == e->number && s->start_us == e->promised_us &&
           s->start_us > p->w->now_us && freed_tells(p, e);
}

/* Who was promised a start can mostly have that, or an earlier one: later ones are looked at only
 * if not. */
static bool earliest(struct pass *p, const struct entry *e, struct to_place *what, int64_t limit_us,
                     int64_t *ret_us)
{
    if (differs_known(p, e)) {
        (void)freed_since(p, e, p->had->moment);
        return earlier(p, e, what, limit_us, ret_us);
    }
    what->latest_us = e->promised_us != INT64_MAX ? e->promised_us : 0;
    if (what->latest_us > p->w->now_us &&
        world_earliest(p->w, what, limit_us, p->w->now_us, &p->at, ret_us))
        return true;
    what->latest_us = 0;
    return world_earliest(p->w, what, limit_us, p->w->now_us, &p->at, ret_us);
}

/* It is in the world, where pass.at says. */
static void promise_enter(struct pass *p, const struct entry *e, uint32_t world_job,
                          int64_t start_us, bool awaited)
{
    struct promised pr = {.world_job = world_job,
                          .lane = e->lane,
                          .job = e->job,
                          .part = e->o->serve,
                          .start_us = start_us,
                          .awaited = awaited,
                          .extra = p->served[e->o->serve] && !awaited,
                          .ahead = !awaited && promise_due(p, e) && lane_may_go_on(p, e)};
    standing_note(p, e->c, &pr, p->put_off ? p->had->moment : freed_moment(p, e));
    promise_push(p, pr);
    p->served[pr.part] = true;
    pass_foresee(p, e->job->w.job_id, start_us, &p->at, true);
}

void promise_make(struct pass *p, const struct entry *e, bool awaited)
{
    int64_t at, limit = entry_limit(e, e->o->limit_us, p->w->now_us);
    if (!awaited && !is_due(p, e))
        return;
    if (promised_nothing(p, e) && !awaited)
        return;
    if (is_promised(p, e->job))
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
    promise_enter(p, e,
                  world_promise(p->w, e->c, &p->at, e->job->w.job_id, at, time_add(at, limit)), at,
                  awaited);
}

/* The slow way: the job could not start before what it was promised, or not now if it is put off
 * when it could. Asked in builds with tests only. */
static bool none_earlier(struct pass *p, const struct entry *e)
{
    struct to_place what = pass_to_place(p, e->c, e->o, e->job);
    int64_t at;
    what.latest_us = p->put_off ? p->w->now_us : p->had->start_us - 1;
    standing_lift(p, e->job);
    bool earlier = world_earliest(p->w, &what, e->o->limit_us, p->w->now_us, &p->at, &at);
    standing_again(p, e->job, e->o);
    return !earlier;
}

void promise_stays(struct pass *p, const struct entry *e)
{
    ASSERT(p->had && p->had->start_us > p->w->now_us && !p->future);
    if (!is_due(p, e) || promised_nothing(p, e))
        return;
    ASSERT(none_earlier(p, e));
    uint32_t world_job = standing_end(p, e->job);
    ASSERT(world_job != NONE);
    standing_place(p, p->had, e->o);
    promise_enter(p, e, world_job, p->had->start_us, false);
}

void promise_push(struct pass *p, struct promised pr)
{
    pr.job->promised_pass = (uint32_t)p->v->pass;
    vec_push(&p->promise, pr);
}

/* False: for sure not. The list of promises is looked through for those only who are on it, or
 * were. */
static bool was_promised(const struct pass *p, const struct wjob *j)
{
    return j->promised_pass == (uint32_t)p->v->pass;
}

bool is_promised(const struct pass *p, const struct wjob *j)
{
    for (size_t i = 0; was_promised(p, j) && i < p->promise.n; i++)
        if (p->promise.v[i].job == j)
            return true;
    return false;
}

/* A job that starts in one partition no longer needs the promise it got in another; what was
 * refused for that promise's sake is tried again. */
void promise_drop(struct pass *p, const struct wjob *j)
{
    for (size_t i = 0; was_promised(p, j) && i < p->promise.n; i++)
        if (p->promise.v[i].job == j) {
            world_break(p->w, p->promise.v[i].world_job);
            if (p->promise.v[i].n > 0)
                freed_places(p, &p->promised_on.v[p->promise.v[i].first], p->promise.v[i].n);
            log_unstart(p->v, j->w.job_id, p->promise.v[i].start_us);
            p->served[p->promise.v[i].part] &= p->promise.v[i].extra;
            vec_remove(&p->promise, i);
            p->again = true;
            return;
        }
}
