/* Preemption. A job that does not fit may stop running work of partitions with a lower
 * PriorityTier. Which work is found by asking the planner's own question with that work taken
 * away (choose.c).
 *
 * No victim goes in vain. A job whose turn comes anyway before its victims could be gone waits.
 * Devices and sockets are checked, not only counts. Work that was told to end remembers for
 * whom; until all of it is gone, and the devices it had are found clean, the job has a promise
 * of what comes free, whatever its place in the queue, and takes no more victims. Suspending
 * frees CPUs at once and is done only when nothing else has to end first. A heterogeneous job
 * takes victims for all of its components together. */
#include "sched/pass/preempt/preempt.h"
#include "base/alloc.h"
#include "sched/books/limits/qos.h"
#include "sched/books/unproven.h"
#include "sched/pass/preempt/inside.h"
#include "sched/pass/to_place.h"

static bool suspends_only(const victims *v)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->v[i].mode != PREEMPT_SUSPEND)
            return false;
    return true;
}

/* Would it start as soon without stopping anybody? */
static bool turn_is_near(struct asker *a)
{
    struct pass *p = a->p;
    int64_t at, soon = time_add(p->w->now_us, p->cl->policy.grace_us);
    if (a->het)
        return asker_fits_at(a, soon);
    struct to_place what = pass_to_place(p, a->e->c, a->e->o, a->e->job);
    return world_earliest(p->w, &what, a->e->o->limit_us, p->w->now_us, &p->at, &at) && at <= soon;
}

static int64_t grace_of(const struct cluster *cl, const struct run *r)
{
    return time_add(run_grace_us(cl, r), cl->policy.grace_us);
}

#define OWED_US (120 * USEC_PER_SEC) /* for devices to be found clean, and then to start */

static void owe(struct pass *p, uint64_t job_id, int64_t until_us)
{
    struct plan_private *v = p->v;
    for (size_t i = 0; i < v->owed.n; i++)
        if (v->owed.v[i].job_id == job_id) {
            if (v->owed.v[i].until_us < until_us)
                v->owed.v[i].until_us = until_us;
            return;
        }
    vec_push(&v->owed, ((struct owed){job_id, p->w->now_us, until_us, 0}));
}

bool preempt_owed(const struct pass *p, uint64_t job_id)
{
    for (size_t i = 0; p->cl->policy.preempt_qos && i < p->v->owed.n; i++)
        if (p->v->owed.v[i].job_id == job_id)
            return true;
    return false;
}

/* Is there a QOS with jobs that wait which may stop jobs of this one? */
static bool somebody_beats(const struct pass *p, const struct sqos *victim)
{
    for (size_t i = 0; victim && i < p->cl->klass.n; i++)
        if (p->cl->klass.v[i] && qos_beats(qos_get(p->cl, p->cl->klass.v[i]->req.qos), victim))
            return true;
    return false;
}

bool preempt_just_begun(const struct pass *p)
{
    for (size_t i = 0; p->cl->policy.preempt_qos && i < p->v->start.n; i++) {
        const struct wjob *j = map_u64_get(p->cl->queue.by_job, p->v->start.v[i].job_id);
        if (j && somebody_beats(p, qos_get(p->cl, j->w.req->qos)))
            return true;
    }
    return false;
}

bool preempt_stopped_for_another(const struct pass *p, const struct run *r)
{
    for (size_t i = 0; p->cl->policy.preempt_qos && i < p->v->owed.n; i++) {
        const struct wjob *j = map_u64_get(p->cl->queue.by_job, p->v->owed.v[i].job_id);
        if (j && qos_beats(qos_get(p->cl, j->w.req->qos), r->qos))
            return true;
    }
    return false;
}

static void victims_emit(struct pass *p, uint64_t for_job, const victims *chosen, bool suspend)
{
    for (size_t i = 0; i < chosen->n; i++) {
        const struct victim *v = &chosen->v[i];
        if ((v->mode == PREEMPT_SUSPEND) != suspend)
            continue;
        struct plan_preempt one = {.victim = v->run->job_id, .for_job = for_job, .mode = v->mode};
        vec_push(&p->v->preempt, one);
        owe(p, for_job, time_add(p->w->now_us, time_add(grace_of(p->cl, v->run), OWED_US)));
        if (!suspend)
            world_end_by(p->w, v->run->job_id, time_add(p->w->now_us, grace_of(p->cl, v->run)));
    }
}

static void awaited_fill(struct pass *p)
{
    struct map_walk walk = {0};
    while (map_u64_next(p->cl->run.by_job, &walk)) {
        const struct run *r = walk.value;
        if (r->for_job)
            vec_push(&p->awaited, r->for_job);
    }
    for (size_t i = 0; i < p->cl->node.n; i++) {
        const struct snode *n = p->cl->node.v[i];
        for (size_t k = 0; k < n->unproven.n; k++)
            if (n->unproven.v[k].for_job &&
                unproven_until(&n->unproven.v[k], p->w->now_us) != INT64_MAX)
                vec_push(&p->awaited, n->unproven.v[k].for_job);
    }
    p->awaited_known = true;
}

/* Is work ending already so that the job can start, or has ended and left devices that are not
 * clean yet? */
static bool is_awaited(struct pass *p, uint64_t job_id)
{
    if (!p->awaited_known)
        awaited_fill(p);
    for (size_t i = 0; i < p->awaited.n; i++)
        if (p->awaited.v[i] == job_id)
            return true;
    return false;
}

/* What is suspended for the job in the turn of this pass is taken from the others that come after
 * it. The cluster's own counters go back: the core suspends the victims. */
static void begin_on_suspended(struct asker *a, victims *chosen)
{
    struct pass *p = a->p;
    for (size_t i = 0; i < chosen->n; i++)
        lift(p, &chosen->v[i]);
    if (asker_fits(a))
        asker_begin(a);
    for (size_t i = 0; i < chosen->n; i++) {
        struct run *r = chosen->v[i].run;
        r->lifted = LIFTED_NOT;
        world_suspend(p->w, r);
        for (size_t k = 0; k < r->nholds; k++)
            if (!r->hold[k].released)
                node_recount(p->cl, r->hold[k].node);
    }
}

static enum preempting victims_stop(struct asker *a, victims *chosen)
{
    bool suspend = suspends_only(chosen);
    if (!suspend && turn_is_near(a))
        return PREEMPTS_NONE;
    if (suspend)
        begin_on_suspended(a, chosen);
    victims_emit(a->p, asker_id(a), chosen, suspend);
    return suspend ? PREEMPTS_AT_ONCE : PREEMPTS_ENDING;
}

enum preempting pass_preempt(struct pass *p, const struct entry *e, const struct het *het)
{
    ASSERT(!het || e->lane->het == het->id);
    struct asker a = {.p = p, .e = e, .het = het};
    victims chosen = {0};
    if (p->future || !preempt_asks(&a))
        return PREEMPTS_NONE;
    if (is_awaited(p, asker_id(&a)))
        return PREEMPTS_ENDING;
    enum preempting how = PREEMPTS_NONE;
    if (victims_choose(&a, &chosen))
        how = victims_stop(&a, &chosen);
    vec_done(&chosen);
    vec_done(&a.at);
    return how;
}
