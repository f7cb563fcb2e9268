/* Allocations: jobs without a script, made by salloc and srun. The call that submitted one (or
 * attached to it) is told ALLOCATED when all its components run and JOB_ENDED when all are over. An
 * attached allocation belongs to one connection; without it, it has a grace time, after which it is
 * ended. Nobody remembers connections over a restart of the controller: then the grace begins anew,
 * and commands come back with ATTACH.
 *
 * Of a heterogeneous job the leader stands for all components. */
#include "core/request/request.h"

/* srun's job failed with its step, which ran out of memory. */
static bool last_step_oom(const struct jobrec *r)
{
    return r->step.n && r->step.v[r->step.n - 1]->s.oom;
}

void req_finish_job(struct core *c, const struct msg_finish_job *m)
{
    struct jobrec *r = job_find(c, m->job_id);
    jobrec_vec jobs = {0};
    if (!r || !may_control(c, r) || r->j.spec.batch) {
        reply_done(c,
                   !r                   ? REFUSE_INVALID_JOB_ID
                   : !may_control(c, r) ? REFUSE_ACCESS_DENIED
                                        : REFUSE_NOT_SUPPORTED,
                   r && r->j.spec.batch ? "a batch job ends with its script; scancel ends it sooner"
                                        : NULL);
        return;
    }
    components_find(c, leader_of(r), &jobs);
    for (size_t i = 0; i < jobs.n; i++) {
        bool oom = m->exit_status && last_step_oom(jobs.v[i]);
        if (job_live(jobs.v[i]))
            jobs.v[i]->j.exit_status = m->exit_status;
        component_end(c, jobs.v[i],
                      oom              ? JOB_OUT_OF_MEMORY
                      : m->exit_status ? JOB_FAILED
                                       : JOB_COMPLETED,
                      oom                             ? REASON_OUT_OF_MEMORY
                      : !m->exit_status               ? REASON_NONE
                      : status_signal(m->exit_status) ? REASON_RAISED_SIGNAL
                                                      : REASON_NON_ZERO_EXIT,
                      NULL);
    }
    vec_done(&jobs);
    reply_done(c, REFUSE_NONE, NULL);
}

void req_attach(struct core *c, const struct msg_attach *m)
{
    struct jobrec *r = job_find(c, m->job_id), *leader = r ? job_find(c, leader_of(r)) : NULL;
    if (!leader || !may_control(c, leader)) {
        reply_done(c, leader ? REFUSE_ACCESS_DENIED : REFUSE_INVALID_JOB_ID, NULL);
        return;
    }
    waiter_add(c, WAIT_ALLOCATION, leader->j.id, 0);
    if (m->hold && allocation_attached(leader) && job_live(leader))
        allocation_hold(c, leader);
    allocation_announce(c, leader);
    waiters_answer(c, leader->j.id);
}
