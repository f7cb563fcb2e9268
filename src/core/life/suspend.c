/* Stopping a job and letting it go on, by whomever. Stopped time does not count against the
 * limit. */
#include "core/life/life.h"
#include "core/record/accounts/usage.h"
#include "model/grammar/signals.h"

void suspend_tell_planner(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.state == JOB_SUSPENDED);
    switch ((enum suspender)r->j.suspended_by) {
    case SUSPENDER_PERSON: cluster_suspend(c->cluster, r->j.id, true); return;
    case SUSPENDER_PREEMPTION: cluster_yield(c->cluster, r->j.id, r->j.suspend_us); return;
    case SUSPENDER_GANG: /* it keeps its share of the CPUs: its turn comes again */ return;
    }
}

void job_suspend(struct core *c, struct jobrec *r, enum suspender by)
{
    ASSERT(r->j.state == JOB_RUNNING && !job_waits(r));
    usage_charge(c, r); /* a restarted controller knows of the last of these instants alone */
    job_move(c, r, JOB_SUSPENDED);
    r->j.suspend_us = c->turn.now_us;
    r->j.suspended_by = (int32_t)by;
    suspend_tell_planner(c, r);
    job_signal(c, r, (struct msg_signal){.signal = SIGNAL_STOP, .full = true});
    job_save(c, r);
    plan_soon(c);
}

/* At least a microsecond in all: a restarted controller knows by it that the job's CPUs may have
 * been lent to others. */
void suspension_count(const struct core *c, struct jobrec *r)
{
    ASSERT(r->j.state == JOB_SUSPENDED && r->j.suspended_us >= 0);
    int64_t us = c->turn.now_us - r->j.suspend_us;
    r->j.suspended_us += us > 0 ? us : r->j.suspended_us ? 0 : 1;
    r->j.suspend_us = c->turn.now_us;
}

void job_resume(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.state == JOB_SUSPENDED && r->hold.n > 0);
    suspension_count(c, r);
    r->j.suspended_by = SUSPENDER_PERSON;
    r->j.stopped_us = 0; /* all of it goes on */
    job_move(c, r, JOB_RUNNING);
    cluster_suspend(c->cluster, r->j.id, false);
    int64_t end = job_limit_end(c, r);
    if (end != INT64_MAX)
        cluster_set_end(c->cluster, r->j.id, end);
    job_signal(c, r, (struct msg_signal){.signal = SIGNAL_CONT, .full = true});
    steps_retry_soon(c, r);
    job_save(c, r);
    plan_soon(c);
}
