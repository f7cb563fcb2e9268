/* Rows that a job leaves behind while it lives on: a former run, and what it had before it gave
 * nodes back. */
#include "core/record/accounts/usage.h"
#include "core/record/record.h"
#include "model/job/job_counts.h"

static void row_count(struct core *c, const struct jobrec *r)
{
    user_room_row(c, r->j.user_id, &r->j.spec);
    user_room_disk(c, r->j.user_id, texts_long(&r->j.spec));
}

void run_keep(struct core *c, const struct jobrec *r, enum job_state how)
{
    ASSERT(r->j.start_us && r->j.attempt > 0);
    struct job former = r->j;
    former.state = how;
    former.end_state = JOB_PENDING;
    former.had_nodes = NULL;
    if (!former.end_us)
        former.end_us = clock_end(c, former.start_us);
    row_count(c, r);
    fx_store(c, TABLE_JOB_RUN, &former);
}

void job_part_keep(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.start_us && r->j.alloc_nodes > 0);
    struct job part = r->j;
    part.state = JOB_RESIZING;
    part.end_state = JOB_PENDING;
    part.start_us = r->j.resize_us ? r->j.resize_us : r->j.start_us;
    part.suspended_us = job_part_suspended_us(&r->j, c->turn.now_us);
    part.resize_us = part.resize_suspended_us = 0;
    part.leaving = part.had_nodes = NULL;
    part.end_us = c->turn.now_us;
    usage_charge(c, r);
    if (part.end_us > part.start_us) {
        row_count(c, r);
        fx_store(c, TABLE_JOB_PART, &part);
    }
    r->j.resize_us = c->turn.now_us;
    r->j.resize_suspended_us = job_suspended_us(&r->j, c->turn.now_us);
}
