/* A pass. Each lane's next job stands in `live` in order of tier and priority; they are tried in
 * that order. One that starts makes room for the next of its lane, which is put where it belongs.
 * One that cannot start blocks its class: equal requests cannot start either, so that a hundred
 * thousand jobs in forty shapes cost forty fits. The first that is blocked in each partition gets a
 * promise: the earliest time at which it can start if all that runs ends as expected, with the
 * nodes for it. Whatever comes later in the order may start only if that leaves every promise whole
 * (EASY backfill, Lifka 1995). The present is the first step of a simulation of the future that
 * goes on from there (forecast.c). */
#include "sched/books/topo.h"
#include "sched/pass/found.h"
#include "sched/pass/live.h"
#include "sched/pass/pass.h"
#include "sched/pass/preempt.h"
#include "sched/pass/priority.h"
#include "sched/pass/to_place.h"
#include "sched/world/counts.h"
#include "sched/world/part_windows.h"
#include "sched/world/resv_view.h"

#include <stdlib.h>
#include <string.h>

/* Or before a reservation begins or ends. */
static bool place_before_turn(struct pass *p, const struct entry *e, const struct to_place *what,
                              int64_t *limit_us)
{
    for (size_t i = p->w->view.turn.n; i-- > p->w->view.turn_first;) {
        int64_t room = (p->w->view.turn.v[i] - p->w->now_us) / USEC_PER_MIN * USEC_PER_MIN;
        if (room < e->o->limit_min_us || room >= *limit_us)
            continue;
        if (world_place(p->w, what, p->w->now_us, time_add(p->w->now_us, room), &p->at)) {
            *limit_us = room;
            return true;
        }
    }
    return false;
}

/* With --time-min the limit may be cut so that the job ends before promised work begins. */
static bool place_shorter(struct pass *p, const struct entry *e, const struct to_place *what,
                          int64_t *limit_us)
{
    for (size_t i = p->promise.n; i-- > 0;) {
        int64_t room = (p->promise.v[i].start_us - p->w->now_us) / USEC_PER_MIN * USEC_PER_MIN;
        if (room < e->o->limit_min_us || room >= *limit_us)
            continue;
        if (world_place(p->w, what, p->w->now_us, time_add(p->w->now_us, room), &p->at)) {
            *limit_us = room;
            return true;
        }
    }
    return place_before_turn(p, e, what, limit_us);
}

/* In units of one entry looked at, about 5 ns. */
#define TRY_COST        64
#define START_COST      400
#define START_NODE_COST 40

/* CPU seconds of work that was begun. */
static int64_t start_size(const struct world *w, size_t job)
{
    const struct wjobs *j = &w->agenda.job.v[job];
    int64_t cpus = 0;
    for (uint32_t i = j->first; i < j->first + j->n; i++) {
        const struct wtake *t = &w->agenda.take.v[i];
        for (uint32_t u = t->first; u < t->first + t->n; u++)
            cpus += w->agenda.use.v[u].dim == DIM_CPU ? w->agenda.use.v[u].amount : 0;
    }
    return j->end_us == INT64_MAX ? 0 : cpus * ((j->end_us - j->start_us) / USEC_PER_SEC);
}

/* Tells the simulator why it starts. */
static void started_tell(const struct pass *p, const struct entry *e)
{
    const struct order_hook *hook = &p->cl->hook;
    const struct planned *f = map_u64_get(p->v->planned, e->job->w.job_id);
    if (!hook->started)
        return;
    enum start_why why = p->served[e->o->part->idx] ? START_PASSED : START_HEAD;
    if (f && f->promise && f->start_us <= p->v->now_us)
        why = START_PROMISED;
    hook->started(hook->ctx, e->job->w.job_id, why);
}

#define DETOURS_MAX 16

/* Starts it where it was placed. Where counts say yes but sockets or devices no, other nodes are
 * looked for. */
static bool emit_somewhere(struct pass *p, const struct entry *e, const struct to_place *what,
                           int64_t limit_us)
{
    struct world *w = p->w;
    struct to_place elsewhere = *what;
    uint64_t *barred = NULL;
    bool emitted = false, placed = true;
    for (int i = 0; placed && !emitted && i < DETOURS_MAX; i++) {
        emitted = pass_emit(p, e->job, e->c, &p->at, limit_us, e->priority / PRIORITY_ONE);
        if (emitted)
            break;
        if (!barred)
            elsewhere.barred = barred = xcalloc(BIT_WORDS(w->nnodes) + 1, sizeof barred[0]);
        bit_set(barred, p->refused_node);
        placed = world_place(w, &elsewhere, w->now_us, time_add(w->now_us, limit_us), &p->at);
    }
    free(barred);
    return emitted;
}

/* A job with a deadline ends by it: what its limit has beyond that is cut off, as long as the
 * shortest limit it takes is left. */
static int64_t limit_by_deadline(const struct entry *e, int64_t limit_us, int64_t start_us)
{
    int64_t room = e->job->w.deadline_us - start_us;
    return e->job->w.deadline_us > 0 && room >= e->o->limit_min_us && room < limit_us ? room
                                                                                      : limit_us;
}

static bool try_start(struct pass *p, const struct entry *e)
{
    struct world *w = p->w;
    int64_t limit = limit_by_deadline(e, view_limit(w, e->o, e->o->limit_us, w->now_us), w->now_us);
    struct to_place what = pass_to_place(p, e->c, e->o, e->job);
    if (!world_place(w, &what, w->now_us, time_add(w->now_us, limit), &p->at) &&
        !(e->o->limit_min_us < limit && place_shorter(p, e, &what, &limit)))
        return false;
    if (p->future)
        pass_foresee(p, e->job->w.job_id, w->now_us, &p->at, false);
    else if (!emit_somewhere(p, e, &what, limit))
        return false;
    if (!p->future)
        started_tell(p, e);
    world_begin(w, e->c, &p->at, e->job->w.job_id, time_add(w->now_us, limit));
    p->cost += START_COST + p->at.at.n * START_NODE_COST;
    p->started_size += start_size(w, w->agenda.job.n - 1);
    return true;
}

/* Is it promised a start although it is not the first of its partition that is blocked? */
static bool promise_due(const struct pass *p, const struct entry *e)
{
    const struct policy *policy = &p->cl->policy;
    const struct waiting *w = &e->job->w;
    if (policy->promise_to == PROMISES_HEAD || p->future || p->cl->hook.key || e->lane->het ||
        p->promise.n >= policy->promise_most)
        return false;
    return policy->promise_to == PROMISES_ALL ||
           p->w->now_us - (w->eligible_us > w->submit_us ? w->eligible_us : w->submit_us) >
               policy->age_bound_us;
}

/* A lane whose job has its promise goes on to the next, where all of that job is promised. */
static bool lane_may_go_on(const struct pass *p, const struct entry *e)
{
    return e->c->n == 1 && p->left[e->lane->idx] == 1;
}

static void promise_make(struct pass *p, const struct entry *e, bool awaited)
{
    int64_t at, limit = limit_by_deadline(e, e->o->limit_us, p->w->now_us);
    if (p->served[e->o->serve] && !awaited && !promise_due(p, e))
        return;
    for (size_t i = 0; i < p->promise.n; i++)
        if (p->promise.v[i].job == e->job)
            return;
    struct to_place what = pass_to_place(p, e->c, e->o, e->job);
    if (!world_earliest(p->w, &what, limit, p->w->now_us, &p->at, &at))
        return;
    /* It did not start: counts say now, single CPUs or devices say no. A promise of now would be
     * kept from others and never be met. */
    bool in_vain = at <= p->w->now_us && !p->future && !awaited;
    int64_t next = world_next_end(p->w);
    if (in_vain && (next == INT64_MAX || !world_earliest(p->w, &what, limit, next, &p->at, &at)))
        return;
    limit = limit_by_deadline(e, view_limit(p->w, e->o, limit, at), at);
    struct promised pr = {
        .world_job = world_promise(p->w, e->c, &p->at, e->job->w.job_id, at, time_add(at, limit)),
        .lane = e->lane,
        .job = e->job,
        .part = e->o->serve,
        .start_us = at,
        .awaited = awaited,
        .extra = p->served[e->o->serve] && !awaited,
        .ahead = !awaited && promise_due(p, e) && lane_may_go_on(p, e)};
    vec_push(&p->promise, pr);
    p->served[pr.part] = true;
    pass_foresee(p, e->job->w.job_id, at, &p->at, true);
    if (p->cl->hook.promised && !p->future)
        p->cl->hook.promised(p->cl->hook.ctx, e->job->w.job_id, at);
}

static bool is_promised(const struct pass *p, const struct wjob *j)
{
    for (size_t i = 0; i < p->promise.n; i++)
        if (p->promise.v[i].job == j)
            return true;
    return false;
}

/* Is its time, and enough of it left? */
static bool reservation_has_room(const struct world *w, const struct option *o)
{
    const struct window *win = view_window(w, o->resv, w->now_us);
    return win && (o->cut || win->end_us - w->now_us >= o->limit_min_us);
}

static enum job_reason blocked_reason(const struct pass *p, const struct entry *e)
{
    for (size_t i = 0; i < e->c->nlic; i++)
        if (world_free_row(p->w, p->w->nnodes + e->c->lic[i].lic)[DIM_CPU] < e->c->lic[i].count)
            return REASON_LICENSES;
    enum job_reason bars = part_window_bars(p->w, e->o, p->w->now_us);
    if (bars != REASON_NONE)
        return bars;
    if (e->o->resv && resv_confines(e->o->resv) && !reservation_has_room(p->w, e->o))
        return REASON_RESERVATION;
    return p->served[e->o->serve] ? REASON_PRIORITY : REASON_RESOURCES;
}

static bool too_late(const struct pass *p, const struct entry *e)
{
    return e->job->w.deadline_us > 0 &&
           time_add(p->w->now_us, e->o->limit_min_us) > e->job->w.deadline_us;
}

static int32_t running_of(const struct pass *p, const struct spart *part, uint32_t uid)
{
    struct map_walk walk = {0};
    int32_t n = 0;
    while (map_u64_next(p->cl->run_of, &walk)) {
        const struct run *r = walk.value;
        n += r->uid == uid && text_is(r->partition, part->p.name);
    }
    for (size_t i = 0; i < p->v->start.n; i++) {
        const struct wjob *j = map_u64_get(p->cl->wait_of, p->v->start.v[i].job_id);
        n += j && j->w.uid == uid && text_is(p->v->start.v[i].partition, part->p.name);
    }
    return n;
}

/* Has its user as many jobs running there as the window that is open now allows? */
static bool part_window_full(const struct pass *p, const struct entry *e)
{
    struct time_window limits;
    if (e->o->part->windows.n == 0 || p->future)
        return false;
    time_windows_at(&e->o->part->windows, p->w->now_us, &p->cl->zone, &limits);
    return limits.max_jobs_per_user > 0 &&
           running_of(p, e->o->part, e->job->w.uid) >= limits.max_jobs_per_user;
}

static enum outcome entry_try(struct pass *p, struct entry *e)
{
    if (e->o->never != REASON_NONE) {
        pass_note(p, e, e->o->never);
        return NEVER;
    }
    if (e->lane->het)
        return pass_het(p, e);
    if (!pass_reachable(p, e->c, e->o)) {
        pass_note(p, e, REASON_REQ_NODE_NOT_AVAIL);
        return NEVER;
    }
    if (too_late(p, e)) {
        if (!p->future)
            vec_push(&p->v->late, e->job->w.job_id);
        return SKIPPED;
    }
    if (part_window_full(p, e)) {
        pass_note(p, e, REASON_QOS_MAX_JOBS_PER_USER);
        return NEVER;
    }
    p->at.missing = 0;
    p->cost += TRY_COST + p->w->nnodes / 8;
    if (p->future && is_promised(p, e->job))
        return BLOCKED;
    if (try_start(p, e))
        return STARTED;
    pass_note(p, e, blocked_reason(p, e));
    if (!p->served[e->o->serve] && !p->future)
        vec_push(&p->v->head, e->job->w.job_id);
    enum preempting stops = pass_preempt(p, e, NULL);
    size_t promises = p->promise.n;
    if (stops == PREEMPTS_NONE || stops == PREEMPTS_ENDING)
        promise_make(p, e, stops == PREEMPTS_ENDING);
    if (p->promise.n > promises && p->promise.v[promises].ahead)
        return SKIPPED;
    return stops == PREEMPTS_NONE ? BLOCKED : SKIPPED;
}

/* A job that starts in one partition no longer needs the promise it got in another; what was
 * refused for that promise's sake is tried again. */
static void promise_drop(struct pass *p, const struct wjob *j)
{
    for (size_t i = 0; i < p->promise.n; i++)
        if (p->promise.v[i].job == j) {
            world_break(p->w, p->promise.v[i].world_job);
            p->served[p->promise.v[i].part] &= p->promise.v[i].extra;
            vec_remove(&p->promise, i);
            p->again = true;
            return;
        }
}

/* True if entry i of the order is blocked for sure and nothing more is to be done about it in this
 * step. */
static bool blocked_at_sight(struct pass *p, const struct quick *q)
{
    if (live_may_fit(p, q))
        return false;
    if (p->future)
        return p->served[q->part];
    const struct entry *e = &p->entry.v[q->entry];
    if (!p->served[q->part] || promise_due(p, e) || e->o->never != REASON_NONE ||
        e->job->w.deadline_us > 0 || !pass_reachable(p, e->c, e->o))
        return false;
    pass_note(p, e, blocked_reason(p, e));
    return true;
}

/* Nothing may pass a job that is blocked in its partition. */
static bool strict(const struct cluster *cl)
{
    return cl->hook.key ? cl->hook.strict : cl->policy.backfill == BACKFILL_NONE;
}

/* The same question asked of the nodes instead of counts that were right before others started, in
 * the future, of who was tried before: what entry_try would do with it. */
static bool too_few_nodes(struct pass *p, struct quick *q)
{
    struct world *w = p->w;
    const struct entry *e = &p->entry.v[q->entry];
    if (!p->future || !p->ordered || !q->simple || !q->tried || !p->served[q->part] ||
        entry_outdated(p, e) || e->job->w.deadline_us > 0 || is_promised(p, e->job))
        return false;
    size_t nodes = counts_enough(w, counts_which(w, time_add(w->now_us, q->run_us)), &q->least);
    if (nodes >= (size_t)q->nodes)
        return false;
    p->cost += TRY_COST + w->nnodes / 8;
    q->wake = w->now.freed + (size_t)q->nodes - nodes;
    return true;
}

enum next { KEEP, DROP, AGAIN };

/* What becomes of entry i of the order in this step: it stays blocked, is done with, or the entry
 * that is now at i is to be looked at. */
static enum next entry_step(struct pass *p, size_t i)
{
    struct entry *e = &p->entry.v[p->live.v[i].entry];
    if (entry_outdated(p, e))
        return live_refresh(p, i) ? AGAIN : DROP;
    bool none_passes = strict(p->cl);
    if (e->held || (none_passes && p->served[e->o->part->idx]) ||
        (e->o->stamp == p->step && !promise_due(p, e))) {
        pass_note(p, e, REASON_PRIORITY);
        return KEEP;
    }
    switch (entry_try(p, e)) {
    case NEVER: return DROP;
    case BLOCKED:
        if (!e->lane->het) /* a component waits for the others: its equals need not */
            e->o->stamp = p->step;
        p->live.v[i].tried = true;
        if (p->live.v[i].plain && e->o->limit_min_us == e->o->limit_us)
            p->live.v[i].wake = p->w->now.freed + p->at.missing;
        if (p->cl->hook.passing && !p->passing)
            live_reorder(p, i + 1, true);
        return KEEP;
    case SKIPPED: lane_advance(p, e->lane); return AGAIN;
    case STARTED:
        if (p->left[e->lane->idx] == 1)
            promise_drop(p, e->job);
        pass_took_one(p, e->lane);
        return AGAIN;
    }
    return KEEP;
}

static void step_once(struct pass *p)
{
    size_t kept = 0; /* entries before i that stay */
    p->step++;
    p->cost += p->live.n;
    if (p->passing)
        live_reorder(p, 0, false);
    for (size_t i = 0; i < p->live.n;) {
        pass_resume(p, p->live.v[i].tier);
        bool blocked = blocked_at_sight(p, &p->live.v[i]) || too_few_nodes(p, &p->live.v[i]);
        enum next next = blocked ? KEEP : entry_step(p, i);
        if (next == KEEP)
            p->live.v[kept++] = p->live.v[i];
        i += next != AGAIN;
    }
    p->live.n = kept;
}

void pass_step(struct pass *p)
{
    do {
        p->again = false;
        step_once(p);
    } while (p->again);
    pass_resume(p, INT32_MIN);
}
