/* Heterogeneous jobs as one: their components start together (the planner's care), and the batch script runs once, on the first node of the leader. The other
 * components are allocations without a script, which srun fills through the script. So their end follows the leader's: with the script everything is over, with the
 * status of the script. Loss, preemption and requeueing of any component take the whole job, since none can start without the others. A component that is cancelled or
 * reaches its own time limit ends alone; what is over before it ran takes the waiting job along, and what goes back waits for all. Allocations of salloc and srun end in request/alloc.c. */
#include "core/inside.h"

static bool job_waits(const struct jobrec *r)
{
    return r->j.state == JOB_PENDING || r->j.state == JOB_SPECIAL_EXIT;
}

static bool ends_the_others(const struct jobrec *r, enum job_state how)
{
    return leader_of(r) == r->j.id || r->j.requeue_pending || how == JOB_NODE_FAIL || how == JOB_PREEMPTED;
}

void het_end_others(struct core *c, struct jobrec *r, enum job_state how, enum job_reason why)
{
    jobrec_vec jobs = {0};
    if (!r->j.het_job_id || !r->j.spec.batch || !ends_the_others(r, how))
        return;
    components_find(c, r->j.het_job_id, &jobs);
    for (size_t i = 0; i < jobs.n; i++) {
        struct jobrec *other = jobs.v[i];
        if (other == r || (other->j.state != JOB_RUNNING && other->j.state != JOB_SUSPENDED))
            continue;
        other->j.exit_status = r->j.exit_status;
        other->j.killed_by_uid_plus1 = r->j.killed_by_uid_plus1;
        other->j.requeue_pending = r->j.requeue_pending;
        other->j.hold_after_requeue = r->j.hold_after_requeue;
        other->j.admin_hold |= r->j.admin_hold;
        text_set(c, &other->j.reason_detail, r->j.reason_detail);
        /* The memory that ran out was the script's own. */
        job_end(c, other, how == JOB_OUT_OF_MEMORY ? JOB_FAILED : how,
                how == JOB_OUT_OF_MEMORY ? REASON_NON_ZERO_EXIT : why, c->settings.kill_wait_us, NULL);
    }
    vec_done(&jobs);
}

void het_over_others(struct core *c, struct jobrec *r, enum job_state how, enum job_reason why)
{
    jobrec_vec jobs = {0};
    if (!r->j.het_job_id)
        return;
    components_find(c, r->j.het_job_id, &jobs);
    for (size_t i = 0; i < jobs.n; i++) {
        struct jobrec *other = jobs.v[i];
        if (other == r || (!job_waits(other) && !other->j.requeue_pending))
            continue;
        other->j.killed_by_uid_plus1 = r->j.killed_by_uid_plus1;
        if (job_waits(other)) {
            job_over(c, other, how, why);
            continue;
        }
        other->j.requeue_pending = false;
        job_move_ending(c, other, JOB_COMPLETING, JOB_CANCELLED);
        job_save(c, other);
    }
    vec_done(&jobs);
}
