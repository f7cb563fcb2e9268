/* What the planner decided about running work that gives way. A victim with a grace (GraceTime of
 * its partition) is told with SIGCONT and SIGTERM and goes on running until the grace is over;
 * then, or at once without one, it is ended like any other job, and goes back to PENDING where the
 * mode is REQUEUE and the job may be requeued. Its record says that and for whom, so that a
 * controller that starts again keeps to it. */
#include "core/life/life.h"
#include "core/record/accounts/limits.h"
#include "model/grammar/signals.h"

static int64_t grace_of(const struct core *c, const struct jobrec *r)
{
    const struct partrec *p = r->j.run_partition ? part_find(c, r->j.run_partition) : NULL;
    const struct qosrec *q = qos_find(c, r->j.spec.req.qos);
    if (c->settings.word.preempt_by_qos && q)
        return q->q.grace_us;
    return p ? p->p.grace_time_us : 0;
}

void preempt_end(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.preempt_us && r->j.preempt_end_us >= r->j.preempt_us);
    r->j.requeue_pending = preempt_requeues(c, r);
    fx_log(c, LEVEL_INFO, "job %llu gives way to job %llu and is %s", (unsigned long long)r->j.id,
           (unsigned long long)r->j.preempt_for, r->j.requeue_pending ? "requeued" : "cancelled");
    job_end(c, r, JOB_PREEMPTED, REASON_PREEMPTED, c->settings.kill_wait_us, "DUE TO PREEMPTION");
}

static void preempt_one(struct core *c, const struct plan_preempt *p)
{
    ASSERT(p->mode != PREEMPT_UNSET && p->mode != PREEMPT_OFF && p->for_job != p->victim);
    struct jobrec *r = job_find(c, p->victim);
    bool runs = r && (r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED);
    if (r && r->j.het_job_id && !runs)
        return; /* another component, ended just before it, took it along */
    CHECK(runs);
    if (p->mode == PREEMPT_SUSPEND) {
        r->j.preempt_for = p->for_job;
        if (r->j.state == JOB_RUNNING) {
            job_suspend(c, r, SUSPENDER_PREEMPTION);
        } else { /* others have their turn on its CPUs: it does not even get one now */
            r->j.suspended_by = SUSPENDER_PREEMPTION;
            suspend_tell_planner(c, r);
            job_save(c, r);
        }
        return;
    }
    c->diag.jobs_preempted++;
    r->j.preempt_us = c->turn.now_us;
    r->j.preempt_end_us = time_add(c->turn.now_us, grace_of(c, r));
    r->j.preempt_for = p->for_job;
    r->j.preempt_how = (int32_t)p->mode;
    cluster_ending(c->cluster, r->j.id, p->for_job,
                   time_add(r->j.preempt_end_us, c->settings.kill_wait_us));
    if (r->j.preempt_end_us <= c->turn.now_us || r->j.state == JOB_SUSPENDED) {
        preempt_end(c, r);
        return;
    }
    /* SIGCONT, then SIGTERM: not to the batch shell itself, which may wait for what it started */
    job_signal(c, r, (struct msg_signal){.signal = SIGNAL_CONT});
    if (r->j.spec.signal && !r->warned && c->settings.word.preempt_user_signal)
        job_warn(c, r);
    else
        job_signal(c, r, (struct msg_signal){.signal = SIGNAL_TERM});
    job_save(c, r);
    timer_arm(c, r);
}

void preempts_apply(struct core *c)
{
    for (size_t i = 0; i < c->plan->nresumes; i++) {
        struct jobrec *r = job_find(c, c->plan->resume[i]);
        CHECK(r && r->j.state == JOB_SUSPENDED && r->j.suspended_by == SUSPENDER_PREEMPTION);
        job_resume(c, r);
    }
    for (size_t i = 0; i < c->plan->npreempts; i++)
        preempt_one(c, &c->plan->preempt[i]);
}
