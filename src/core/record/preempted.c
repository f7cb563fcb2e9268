/* What the record of a job says about its giving way. */
#include "core/record/record.h"

bool preempt_requeues(const struct core *c, const struct jobrec *r)
{
    return r->j.preempt_how == PREEMPT_REQUEUE && job_may_requeue(c, r);
}

bool preempt_ended_by_itself(struct core *c, struct jobrec *r, const struct msg_report *report)
{
    ASSERT(report->job_id == r->j.id);
    if (!r->j.preempt_us || !report->exit_status)
        return false; /* what ended well within its grace has lost nothing */
    r->j.requeue_pending = preempt_requeues(c, r);
    return true;
}

void preempt_clear(struct jobrec *r)
{
    r->j.preempt_us = r->j.preempt_end_us = 0;
    r->j.preempt_for = 0;
    r->j.preempt_how = PREEMPT_UNSET;
    r->j.suspended_by = SUSPENDER_PERSON;
}
