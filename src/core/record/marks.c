/* What a deed leaves to be done: it marks the record, and settle() does it when the deeds of the
 * event are done. So a deed calls nothing above it, however it was reached, and what follows is
 * done once. Who depends on a job is marked by dependents_wake, what is to be stored by job_save,
 * and that the planner is to look by plan_soon. */
#include "core/record/record.h"

#define WORK_MOST (256u * WORK_JOB) /* a few milliseconds */

void steps_retry_soon(struct core *c, struct jobrec *r)
{
    if (r->steps_due || (!r->wish.n && !r->queue))
        return;
    if (r->steps_left) {
        r->steps_again = true;
        return;
    }
    r->steps_due = true;
    vec_push(&c->marks.steps, r->j.id);
}

void job_never_soon(struct core *c, const struct jobrec *r)
{
    ASSERT(job_live(r));
    vec_push(&c->marks.never, r->j.id);
}

void work_add(struct core *c, size_t n)
{
    c->turn.work += n;
}

bool work_left(const struct core *c)
{
    return c->turn.work < WORK_MOST;
}
