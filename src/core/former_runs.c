/* Runs that a node still has when its connection comes back, of jobs that went on without it meanwhile: sent back to the queue when it was given up, cancelled, ended. The node is told
 * to end them, which takes as long as they need. Until it says that nothing of them is left, the job does not start again, here or elsewhere: two runs of one job would write the same files. */
#include "core/inside.h"

static void again_eligible(struct core *c, uint64_t job_id)
{
    struct jobrec *r = job_find(c, job_id);
    if (r)
        eligible_update(c, r);
}

void former_run_keep(struct noderec *n, uint64_t job_id, uint32_t attempt)
{
    for (size_t i = 0; i < n->former.n; i++)
        if (n->former.v[i].job_id == job_id && n->former.v[i].attempt == attempt)
            return;
    vec_push(&n->former, ((struct former_run){job_id, attempt}));
}

void former_runs_settle(struct core *c, const struct noderec *n)
{
    for (size_t i = 0; i < n->former.n; i++)
        again_eligible(c, n->former.v[i].job_id);
}

void former_run_over(struct core *c, struct noderec *n, uint64_t job_id, uint32_t attempt)
{
    for (size_t i = 0; i < n->former.n; i++)
        if (n->former.v[i].job_id == job_id && n->former.v[i].attempt == attempt) {
            vec_remove(&n->former, i);
            again_eligible(c, job_id);
            return;
        }
}

void former_runs_forget(struct core *c, struct noderec *n)
{
    struct former_run *runs = n->former.v;
    size_t count = n->former.n;
    n->former.v = NULL;
    n->former.n = n->former.cap = 0;
    for (size_t i = 0; i < count; i++)
        again_eligible(c, runs[i].job_id);
    free(runs);
}

bool former_run_lives(const struct core *c, const struct jobrec *r)
{
    for (size_t i = 0; i < c->node.n; i++)
        for (size_t k = 0; k < c->node.v[i]->former.n; k++)
            if (c->node.v[i]->former.v[k].job_id == r->j.id)
                return true;
    return false;
}
