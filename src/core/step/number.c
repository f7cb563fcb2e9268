/* Numbers of steps. A heterogeneous job gives each once, whichever of its components the step is
 * of; a step of several components has the same one in each of them, so that its tasks agree on
 * SLURM_STEP_ID. */
#include "core/step/queue.h"

/* That which another component's part of the step has already; -1: it is the first. */
static int64_t number_joined(const struct jobrec *other, uint64_t together_hash)
{
    for (size_t i = other->step.n; together_hash && i-- > 0;)
        if (other->step.v[i]->s.together_hash == together_hash)
            return other->step.v[i]->s.step_id;
    return -1;
}

int64_t step_number_next(const struct core *c, const struct jobrec *r, uint64_t together_hash)
{
    ASSERT(r->next_step >= 0);
    int64_t next = r->next_step, joined = -1;
    jobrec_vec jobs = {0};
    if (r->j.het_job_id)
        components_find(c, r->j.het_job_id, &jobs);
    for (size_t i = 0; i < jobs.n; i++) {
        const struct jobrec *other = jobs.v[i];
        if (other != r && joined < 0)
            joined = number_joined(other, together_hash);
        next = other->next_step > next ? other->next_step : next;
    }
    vec_done(&jobs);
    return joined >= 0 && !step_is_of(r, joined) ? joined : next;
}

void step_number_taken(struct jobrec *r, int64_t step_id)
{
    ASSERT(step_id < INT32_MAX);
    if (step_id >= r->next_step)
        r->next_step = (int32_t)(step_id + 1);
}

#define SKIPPED 1000
#define FAR     (INT32_MAX / 2)

void step_numbers_skip(struct jobrec *r)
{
    ASSERT(r->next_step >= 0);
    if (r->next_step < FAR)
        r->next_step += SKIPPED;
}
