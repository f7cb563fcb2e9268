/* Runs that a node still has when its connection comes back, of jobs that went on without it
 * meanwhile: sent back to the queue when it was given up, cancelled, ended. The node is told to end
 * them, which takes as long as they need. Until it says that nothing of them is left, the job does
 * not start again, here or elsewhere: two runs of one job would write the same files. */
#include "core/record/record.h"

static void count(struct core *c, uint64_t job_id, int change)
{
    ASSERT(change == 1 || change == -1);
    struct jobrec *r = job_find(c, job_id);
    if (!r)
        return;
    r->former_runs += (uint32_t)change;
    eligible_update(c, r);
}

void former_run_keep(struct core *c, struct noderec *n, uint64_t job_id, uint32_t attempt)
{
    ASSERT(c->node.v[n->index] == n);
    for (size_t i = 0; i < n->former.n; i++)
        if (n->former.v[i].job_id == job_id && n->former.v[i].attempt == attempt)
            return;
    vec_push(&n->former, ((struct former_run){job_id, attempt}));
    count(c, job_id, +1);
}

void former_run_over(struct core *c, struct noderec *n, uint64_t job_id, uint32_t attempt)
{
    ASSERT(c->node.v[n->index] == n);
    for (size_t i = 0; i < n->former.n; i++)
        if (n->former.v[i].job_id == job_id && n->former.v[i].attempt == attempt) {
            vec_remove(&n->former, i);
            count(c, job_id, -1);
            return;
        }
}

void former_runs_forget(struct core *c, struct noderec *n)
{
    for (size_t i = 0; i < n->former.n; i++)
        count(c, n->former.v[i].job_id, -1);
    vec_clear(&n->former);
}
