/* Heterogeneous jobs as one: their components start together (the planner's care), and the batch
 * script runs once, on the first node of the leader. The other components are allocations without a
 * script, which srun fills through the script. So their end follows the leader's: with the script
 * everything is over, with the status of the script. Loss, preemption and requeueing of any
 * component take the whole job, since none can start without the others, and allocations of salloc
 * and srun, too: what a step over all components lost is not given back to it. A component that is
 * cancelled or reaches its own time limit ends alone; what is over before it ran takes the waiting
 * job along, and what goes back waits for all. Else allocations end in request/alloc.c. */
#include "core/life/life.h"

static bool ends_the_others(const struct jobrec *r, enum job_state how)
{
    bool with_script = r->j.spec.batch && leader_of(r) == r->j.id;
    return with_script || r->j.requeue_pending || how == JOB_NODE_FAIL || how == JOB_PREEMPTED;
}

void het_ending_with(const struct core *c, const struct jobrec *r, enum job_state how,
                     jobrec_vec *out)
{
    jobrec_vec jobs = {0};
    if (!r->j.het_job_id || !ends_the_others(r, how))
        return;
    components_find(c, r->j.het_job_id, &jobs);
    for (size_t i = 0; i < jobs.n; i++)
        if (jobs.v[i] != r &&
            (jobs.v[i]->j.state == JOB_RUNNING || jobs.v[i]->j.state == JOB_SUSPENDED))
            vec_push(out, jobs.v[i]);
    vec_done(&jobs);
}

void het_over_with(const struct core *c, const struct jobrec *r, jobrec_vec *out)
{
    jobrec_vec jobs = {0};
    if (!r->j.het_job_id)
        return;
    components_find(c, r->j.het_job_id, &jobs);
    for (size_t i = 0; i < jobs.n; i++)
        if (jobs.v[i] != r && (job_waits(jobs.v[i]) || jobs.v[i]->j.requeue_pending))
            vec_push(out, jobs.v[i]);
    vec_done(&jobs);
}

void het_fate_share(struct core *c, struct jobrec *other, const struct jobrec *r)
{
    ASSERT(other != r && other->j.het_job_id == r->j.het_job_id && r->j.het_job_id);
    other->j.exit_status = r->j.exit_status;
    other->j.killed_by_uid_plus1 = r->j.killed_by_uid_plus1;
    other->j.requeue_pending = r->j.requeue_pending;
    other->j.hold_after_requeue = r->j.hold_after_requeue;
    other->j.failed_requeues = r->j.failed_requeues;
    other->j.admin_hold |= r->j.admin_hold;
    text_set(c, &other->j.reason_detail, r->j.reason_detail);
    text_set(c, &other->j.failed_node, r->j.failed_node);
}
