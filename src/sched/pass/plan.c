/* Passes as a whole: what one is made of, what it finds, and what stays of it until the next. The
 * steps are in step.c, the future in forecast.c. */
#include "sched/plan.h"

#include "base/alloc.h"
#include "sched/books/classes.h"
#include "sched/books/settle.h"
#include "sched/pass/components.h"
#include "sched/pass/firsts.h"
#include "sched/pass/found.h"
#include "sched/pass/freed.h"
#include "sched/pass/live.h"
#include "sched/pass/pass.h"
#include "sched/pass/preempt/preempt.h"
#include "sched/pass/standing.h"
#include "sched/world/cap_binds.h"
#include "sched/world/resv_view.h"

#include <stdlib.h>
#include <string.h>

/* A forecast is made again when that pays: at once where it is cheap, else so seldom that it takes
 * a hundredth of the time. Meanwhile the last one stands; promises are always made anew. */
#define CHEAP_COST    200000 /* about a millisecond */
#define COST_PER_USEC 2      /* of pause between two forecasts */
#define DRAINED       1000   /* of what was foreseen before, freed in one pass */

static int64_t forecast_due(const struct plan_private *v)
{
    return v->forecast_cost < CHEAP_COST
               ? INT64_MIN
               : time_add(v->forecast_us, (int64_t)(v->forecast_cost / COST_PER_USEC));
}

static bool forecast_wanted(const struct plan_private *v, const struct cluster *cl, int64_t now_us)
{
    /* A clock that was set back is no reason to keep what was foreseen in its future. */
    return v->forecast_us == INT64_MIN || v->version != cl->derived.version ||
           now_us >= forecast_due(v) || now_us < v->forecast_us;
}

/* Did the last plan start it, or a component or an element of it? */
static bool was_started(const struct plan_private *v, uint64_t job_id)
{
    for (size_t i = 0; i < v->start.n; i++)
        if (v->start.v[i].job_id == job_id)
            return true;
    return false;
}

/* What has started, or is gone, is owed nothing any more, if it is sent back too; nor what was
 * promised at a time that has not come yet: somebody set the clock. */
static void owed_drop(struct plan_private *v, const struct cluster *cl, int64_t now_us)
{
    for (size_t i = v->owed.n; i-- > 0;) {
        const struct owed *o = &v->owed.v[i];
        if (o->until_us <= now_us || o->since_us > now_us || was_started(v, o->job_id) ||
            !map_u64_get(cl->queue.by_job, o->job_id))
            vec_remove(&v->owed, i);
    }
}

static void private_reset(struct plan_private *v, const struct cluster *cl, int64_t now_us)
{
    owed_drop(v, cl, now_us);
    arena_reset(v->arena);
    vec_clear(&v->note);
    vec_clear(&v->head);
    vec_clear(&v->late);
    vec_clear(&v->yields);
    vec_clear(&v->start);
    vec_clear(&v->preempt);
    vec_clear(&v->resume);
    vec_clear(&v->log);
    v->log_cut = false;
    v->exact_until_us = INT64_MAX;
    v->exempt_until_us = 0;
    if (v->ranked) {
        map_u64_free(v->rank);
        v->rank = map_u64_new();
        v->ranked = false;
    }
    v->cl = cl;
    v->serial = cl->queue.serial;
    v->version = cl->derived.version;
    v->now_us = now_us;
    v->insists_until_us = 0;
    v->pass++;
}

struct plan *plan_new(void)
{
    struct plan *p = xcalloc(1, sizeof *p);
    p->priv = xcalloc(1, sizeof *p->priv);
    p->priv->arena = arena_new();
    p->priv->planned = map_u64_new();
    p->priv->rank = map_u64_new();
    p->priv->forecast_us = INT64_MIN;
    p->priv->returned = true;
    p->priv->returns_left_us = RETURN_US;
    return p;
}

void plan_free(struct plan *p)
{
    if (!p)
        return;
    planned_done(p->priv->planned);
    planned_done(p->priv->coming);
    planned_drain(p->priv, SIZE_MAX);
    map_u64_free(p->priv->rank);
    arena_free(p->priv->arena);
    vec_done(&p->priv->note);
    vec_done(&p->priv->head);
    vec_done(&p->priv->late);
    vec_done(&p->priv->yields);
    vec_done(&p->priv->start);
    vec_done(&p->priv->preempt);
    vec_done(&p->priv->resume);
    vec_done(&p->priv->owed);
    vec_done(&p->priv->standing);
    vec_done(&p->priv->standing_on);
    vec_done(&p->priv->seen);
    vec_done(&p->priv->log);
    free(p->priv);
    free(p);
}

void plan_recall(struct plan_private *v, const struct plan_private *live)
{
    vec_clear(&v->standing);
    vec_clear(&v->standing_on);
    vec_clear(&v->seen);
    vec_clear(&v->owed);
    for (size_t i = 0; i < live->standing.n; i++)
        vec_push(&v->standing, live->standing.v[i]);
    for (size_t i = 0; i < live->standing_on.n; i++)
        vec_push(&v->standing_on, live->standing_on.v[i]);
    for (size_t i = 0; i < live->seen.n; i++)
        vec_push(&v->seen, live->seen.v[i]);
    for (size_t i = 0; i < live->owed.n; i++)
        vec_push(&v->owed, live->owed.v[i]);
    v->lost = live->lost;
    v->returned = live->returned;
    v->returns_since_us = live->returns_since_us;
    v->returns_left_us = live->returns_left_us;
    v->standing_version = live->standing_version;
    v->seen_version = live->seen_version;
    v->freed = live->freed;
    v->pass = live->pass;
}

void pass_close(struct pass *p)
{
    for (size_t i = 0; i < p->het.n; i++)
        free(p->het.v[i].job);
    vec_done(&p->het);
    map_u64_free(p->het_at);
    vec_done(&p->live);
    vec_done(&p->entry);
    vec_done(&p->promise);
    vec_done(&p->promised_on);
    vec_done(&p->at.at);
    vec_done(&p->returning);
    vec_done(&p->awaited);
    vec_done(&p->seated);
    if (p->held)
        map_u64_free(p->held);
    if (p->running)
        map_u64_free(p->running);
    free(p->pos);
    free(p->left);
    free(p->served);
    free(p->same);
    equals_done(p);
    exacts_free(p->ex);
    world_free(p->w);
}

/* What waits for caps is told, and so it is known which of them can bind. While what a class needs
 * is at hand it is worked out, too: to come back for that costs more than to ask. */
static void caps_see(struct pass *p)
{
    struct cluster *cl = p->cl;
    struct caps_asked *caps = caps_ask(cl, p->v->now_us);
    for (size_t i = 0; caps && i < cl->queue.lane.n; i++) {
        const struct lane *l = cl->queue.lane.v[i];
        caps_ask_lane(caps, demand_unchosen(cl, l->klass), l->elements);
    }
    if (caps && p->instead)
        caps_ask_lane(caps, demand_unchosen(cl, p->instead->klass), p->instead->elements);
    caps_choose(caps, p->instead);
}

void pass_open(struct pass *p, struct cluster *cl, struct plan_private *v, int64_t now_us,
               struct lane *instead, bool now_only)
{
    private_reset(v, cl, now_us);
    *p = (struct pass){
        .v = v, .cl = cl, .resumed_tier = INT32_MAX, .stands_tier = INT32_MAX, .instead = instead};
    if (instead)
        p->left_out = map_u64_get(cl->queue.by_job, instead->job[0]->w.job_id);
    p->pos = xcalloc(cl->queue.lane.n + 1, sizeof p->pos[0]);
    p->left = xcalloc(cl->queue.lane.n + 1, sizeof p->left[0]);
    p->served = xcalloc(cl->part.n * (cl->resv.n + 1) + 1, sizeof p->served[0]);
    returns_see(v, cl);
    if (!instead && !v->logs)
        idle_see(cl);
    hets_collect(p);
    if (!now_only) /* else it grows by moving, between all that the world takes */
        vec_reserve(&p->entry, cl->queue.lane.n + 1);
    caps_see(p); /* before the world, which has only those that can bind */
    p->w = world_new(cl, now_us);
    p->ex = exacts_new(cl, v->arena);
    if (!instead && !v->logs)
        oldest_choose(p);
    live_build(p, now_only && !instead && !v->logs);
}

/* Nodes that promises wait for are shown as planned. */
static void planned_mark(const struct pass *p)
{
    for (size_t i = 0; i < p->cl->node.n; i++)
        p->cl->node.v[i]->planned = p->w->agenda.kept[i] != NONE;
}

/* Tells the simulator. */
static void promises_tell(const struct pass *p)
{
    const struct order_hook *hook = &p->cl->hook;
    for (size_t i = 0; hook->promised && i < p->promise.n; i++)
        hook->promised(hook->ctx, p->promise.v[i].job->w.job_id, p->promise.v[i].start_us);
}

/* Makes the forecast, or as much of it as the budget allows. */
static void foresee(struct pass *p, uint32_t promises, uint64_t most, struct plan *ret_plan)
{
    struct plan_private *v = p->v;
    p->cost = 0;
    ret_plan->foresee = !pass_forecast(p, promises, most);
    ret_plan->foreseen_cost = v->forecast_cost = p->cost;
    if (ret_plan->foresee)
        return; /* what was foreseen so far stands meanwhile */
    v->forecast_us = v->now_us;
    v->forecast_serial = p->cl->queue.serial;
}

void sched_plan(struct cluster *cl, int64_t now_us, struct budget *b, struct plan *ret_plan)
{
    cluster_settle(cl);
    struct plan_private *v = ret_plan->priv;
    uint64_t most = b && b->forecast_most ? b->forecast_most : UINT64_MAX;
    bool forecast =
        forecast_wanted(v, cl, now_us) && !cl->hook.no_forecast && !(b && b->no_forecast);
    bool elsewhere = forecast && v->forecast_cost > most;
    forecast &= !elsewhere;
    planned_drain(v, DRAINED);
    if (forecast || v->version != cl->derived.version)
        planned_replace(v, NULL);
    ret_plan->foresee = elsewhere;
    ret_plan->foreseen_cost = 0;
    struct pass p;
    waited_pass_begins(v, cl, now_us);
    pass_open(&p, cl, v, now_us, NULL, !forecast);
    freed_begin(&p);
    pass_step(&p);
    standing_leave(&p);
    freed_keep(&p);
    planned_mark(&p);
    heads_keep(&p);
    promised_forget(&p);
    standing_keep(&p);
    promises_tell(&p);
    waited_pass_found(v, cl);
    uint32_t budget = b && b->promises ? b->promises : cl->policy.promises;
    int64_t next = p.live.n > 0 || p.promise.n > 0 ? world_next_end(p.w)
                   : cl->queue.n > 0               ? view_next_turn(p.w)
                                                   : INT64_MAX;
    ret_plan->next_us = next == INT64_MAX ? 0 : next;
    if (forecast) {
        foresee(&p, budget, most, ret_plan);
    } else if (elsewhere) {
        planned_prune(v);
    } else {
        planned_prune(v);
        int64_t due = forecast_due(v);
        if (p.live.n > 0 && !cl->hook.no_forecast &&
            (ret_plan->next_us == 0 || due < ret_plan->next_us))
            ret_plan->next_us = due;
    }
    ret_plan->start = v->start.v;
    ret_plan->nstarts = v->start.n;
    ret_plan->preempt = v->preempt.v;
    ret_plan->npreempts = v->preempt.n;
    ret_plan->resume = v->resume.v;
    ret_plan->nresumes = v->resume.n;
    if (v->insists_until_us && (!ret_plan->next_us || v->insists_until_us < ret_plan->next_us))
        ret_plan->next_us = v->insists_until_us;
    if (!v->returned && cl->queue.n > 0 &&
        (!ret_plan->next_us || returns_until(v) < ret_plan->next_us))
        ret_plan->next_us = returns_until(v);
    if (v->exempt_until_us && (!ret_plan->next_us || v->exempt_until_us < ret_plan->next_us))
        ret_plan->next_us = v->exempt_until_us;
    if (preempt_just_begun(&p)) /* before anything else happens */
        ret_plan->next_us = now_us;
    ret_plan->considered = cl->queue.n;
    pass_close(&p);
}
