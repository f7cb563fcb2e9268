/* Counters of sdiag. */
#include "core/record/record.h"

void diag_reset(struct core *c)
{
    c->diag = (struct diag){.start_us = c->diag.start_us,
                            .reset_us = c->turn.now_us,
                            .backfilled_ever = c->diag.backfilled_ever};
}

void diag_count_end(struct core *c, const struct jobrec *r)
{
    ASSERT(!job_live(r));
    if (r->j.state == JOB_COMPLETED)
        c->diag.jobs_completed++;
    else if (r->j.state == JOB_CANCELLED)
        c->diag.jobs_cancelled++;
    else
        c->diag.jobs_failed++;
}
