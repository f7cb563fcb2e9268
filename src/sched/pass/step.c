/* A pass. Each lane's next job stands in `live` in order of tier and priority; they are tried in
 * that order. One that starts makes room for the next of its lane, which is put where it belongs.
 * One that cannot start blocks its class: equal requests cannot start either, so that a hundred
 * thousand jobs in forty shapes cost forty fits. The first that is blocked in each partition gets a
 * promise: the earliest time at which it can start if all that runs ends as expected, with the
 * nodes for it. Whatever comes later in the order may start only if that leaves every promise whole
 * (EASY backfill, Lifka 1995). The present is the first step of a simulation of the future that
 * goes on from there (forecast.c). */
#include "sched/books/limits/caps.h"
#include "sched/books/topo.h"
#include "sched/pass/bars.h"
#include "sched/pass/components.h"
#include "sched/pass/firsts.h"
#include "sched/pass/found.h"
#include "sched/pass/live.h"
#include "sched/pass/pass.h"
#include "sched/pass/preempt/preempt.h"
#include "sched/pass/promise.h"
#include "sched/pass/standing.h"
#include "sched/pass/start.h"
#include "sched/world/counts.h"

/* It cannot start: it is promised when it can. */
static enum outcome entry_promise(struct pass *p, const struct entry *e, bool stays)
{
    pass_note(p, e, entry_blocked_by(p, e));
    if (!p->served[e->o->serve] && !p->future)
        vec_push(&p->v->head, e->job->w.job_id);
    enum preempting stops = stays ? PREEMPTS_NONE : pass_preempt(p, e, NULL);
    if (stops == PREEMPTS_ENDING) /* it begins when that is over, and so do no more of its user's */
        hours_seat(p, e->o->part, e->job->w.uid, true);
    size_t promises = p->promise.n;
    if (stays)
        promise_stays(p, e);
    else if (stops == PREEMPTS_NONE || stops == PREEMPTS_ENDING)
        promise_make(p, e, stops == PREEMPTS_ENDING);
    if (p->promise.n > promises && p->promise.v[promises].ahead)
        return SKIPPED;
    return stops == PREEMPTS_NONE ? BLOCKED : SKIPPED;
}

/* `stays`: it has the promise of the last pass still, and could not have an earlier one. */
static enum outcome entry_tried(struct pass *p, struct entry *e, bool stays)
{
    if (e->o->never != REASON_NONE) {
        pass_note(p, e, e->o->never);
        return NEVER;
    }
    if (e->lane->het && !p->future && preempt_keeps_out(p, e)) {
        pass_note(p, e, REASON_PRIORITY);
        return BLOCKED;
    }
    if (e->lane->het)
        return pass_het(p, e);
    if (!pass_reachable(p, e->c, e->o)) {
        pass_note(p, e, REASON_REQ_NODE_NOT_AVAIL);
        return NEVER;
    }
    if (entry_too_late(p, e)) {
        if (!p->future)
            vec_push(&p->v->late, e->job->w.job_id);
        return SKIPPED;
    }
    enum job_reason held_by = entry_held_by(p, e);
    p->at.missing = 0;
    p->capped = NULL;
    if (held_by == REASON_NONE && !p->future && preempt_keeps_out(p, e))
        held_by = REASON_PRIORITY;
    if (held_by != REASON_NONE) {
        pass_note(p, e, held_by);
        return BLOCKED;
    }
    p->at.capped = NULL;
    enum job_reason capped = entry_capped_by(p, e);
    if (capped != REASON_NONE) {
        pass_note(p, e, capped);
        return BLOCKED;
    }
    p->cost += try_cost(p, e->o);
    if (p->future && is_promised(p, e->job))
        return BLOCKED;
    if (!stays && entry_start(p, e))
        return STARTED;
    if (!stays && p->at.capped) {
        pass_note_capped(p, e, p->at.capped, p->at.takes);
        return BLOCKED;
    }
    return entry_promise(p, e, stays);
}

/* What was promised to the components is free for them while one is tried, which is for all. */
static enum outcome component_try(struct pass *p, struct entry *e)
{
    const struct het *h = pass_het_of(p, e->lane->het);
    bool stood = e->o->never == REASON_NONE && standing_lift_all(p, h);
    enum outcome out = entry_tried(p, e, false);
    if (stood)
        standing_was_all(p, h);
    return out;
}

static enum outcome entry_try(struct pass *p, struct entry *e)
{
    if (e->tier < p->stands_tier && !p->future)
        standing_enter(p, e->tier);
    if (e->lane->het && !p->future && p->v->standing.n > 0)
        return component_try(p, e);
    struct wjob *job = e->job;
    struct standing *had = p->had = standing_of(p, job);
    if (!had)
        return entry_tried(p, e, false);
    bool stays = standing_stays(p, e, had);
    if (!stays)
        standing_lift(p, job);
    enum outcome out = entry_tried(p, e, stays);
    standing_was(p, job, had);
    p->had = NULL;
    p->put_off = false;
    return out;
}

/* True if entry i of the order is blocked for sure and nothing more is to be done about it in this
 * step. */
static bool blocked_at_sight(struct pass *p, const struct quick *q)
{
    if (p->future && q->lacks &&
        world_free_row(p->w, p->w->nnodes + q->lacks - 1)[DIM_CPU] < q->lacks_count)
        return true;
    const struct entry *e = &p->entry.v[q->entry];
    /* Who is due is looked at, whatever fits. */
    if ((!p->future && promise_due(p, e)) || live_may_fit(p, q))
        return false;
    if (p->future)
        return p->served[q->part];
    if (!p->served[q->part] || e->o->never != REASON_NONE || e->job->w.deadline_us > 0 ||
        !pass_reachable(p, e->c, e->o))
        return false;
    pass_note(p, e, entry_blocked_by(p, e));
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

/* A cap that always binds keeps the entry, and its equals, out until it has so much again. */
static void lacks_keep(const struct pass *p, struct quick *q)
{
    q->lacks = 0;
    if (!p->capped || p->cl->lic.v[p->capped->lic].hours ||
        cap_counts_nodes(&p->cl->lic.v[p->capped->lic]))
        return;
    q->lacks = p->capped->lic + 1;
    q->lacks_count = p->capped->count - p->capped->slack;
}

/* It stood before others, as the head, the oldest or by a promise, and starts: of an array that was
 * one element, and the next is to be put where its own priority has it. */
static bool first_is_spent(const struct entry *e)
{
    const struct waiting *w = &e->job->w;
    return e->spent != w->job_id && ((w->head | w->oldest) != 0 || e->promised_us != INT64_MAX);
}

/* Of what is asked of nodes, only how long it insists on few switches (--switches) is a job's own;
 * all else its equals have, too. */
static bool entry_insists(const struct pass *p, const struct entry *e)
{
    return e->c->req->switches > 0 && topo_insists_until(p->cl, &e->job->w) > p->w->now_us;
}

/* Its equals are blocked, too: but who insists is no word on those that do not. A component waits
 * for the others: its equals need not. */
static void entry_stamp(const struct pass *p, const struct entry *e)
{
    if (e->lane->het)
        return;
    e->o->stamp[true] = p->step;
    if (!entry_insists(p, e))
        e->o->stamp[false] = p->step;
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
        (e->o->stamp[entry_insists(p, e)] == p->step && !promise_due(p, e))) {
        pass_note(p, e, REASON_PRIORITY);
        return KEEP;
    }
    if (firsts_keep_out(p, e)) {
        pass_note(p, e, REASON_PRIORITY);
        return KEEP;
    }
    if (entry_yields(p, e)) {
        equals_pass(p, e, i + 1);
        return KEEP;
    }
    switch (entry_try(p, e)) {
    case NEVER: equals_leave(p, e); return DROP;
    case BLOCKED:
        entry_stamp(p, e);
        p->live.v[i].tried = true;
        lacks_keep(p, &p->live.v[i]);
        if (p->live.v[i].plain && e->o->limit_min_us == e->o->limit_us)
            p->live.v[i].wake = p->w->now.freed + p->at.missing;
        if (p->cl->hook.passing && !p->passing)
            live_reorder(p, i + 1, true);
        return KEEP;
    case SKIPPED: lane_advance(p, e->lane); return AGAIN;
    case STARTED:
        if (p->left[e->lane->idx] == 1)
            promise_drop(p, e->job);
        if (first_is_spent(e))
            e->pos = SIZE_MAX;
        e->spent = e->job->w.job_id;
        pass_took_one(p, e->lane);
        return AGAIN;
    }
    return KEEP;
}

static void step_once(struct pass *p)
{
    size_t kept = 0; /* entries before i that stay */
    const bool some_behind = p->behind > 0;
    p->step++;
    p->cost += p->live.n;
    if (p->passing)
        live_reorder(p, 0, false);
    for (size_t i = 0; i < p->live.n;) {
        const uint64_t freed = p->w->now.freed;
        if (some_behind)
            p->was = p->entry.v[p->live.v[i].entry];
        pass_resume(p, p->live.v[i].tier);
        bool blocked = blocked_at_sight(p, &p->live.v[i]) || too_few_nodes(p, &p->live.v[i]);
        enum next next = blocked ? KEEP : entry_step(p, i);
        if (next == KEEP && kept++ < i)
            p->live.v[kept - 1] = p->live.v[i];
        i += next != AGAIN;
        if (some_behind && p->w->now.freed != freed && p->behind > 0)
            equals_all(p, &kept, &i);
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
