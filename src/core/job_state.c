/* The only place that writes job.state. Every move goes through the table of allowed moves; what must follow from a move wherever it comes from (counts, indexes,
 * the planner's list, history of former runs) follows here. */
#include "core/inside.h"

static void counts_add(struct core *c, const struct jobrec *r, int64_t sign)
{
    uint64_t n = job_is_array(r) && r->j.state == JOB_PENDING ? r->pending.count : 1;
    if (r->j.state == JOB_PENDING)
        c->pending += (uint64_t) sign * n;
    else if (r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED)
        c->running += (uint64_t) sign;
}

/* Elements that take a place under the array's % limit. */
static bool active(enum job_state s)
{
    return s == JOB_RUNNING || s == JOB_SUSPENDED || s == JOB_COMPLETING || s == JOB_REQUEUED;
}

static void state_write(struct core *c, struct jobrec *r, enum job_state to)
{
    enum job_state from = (enum job_state) r->j.state;
    bool was_live = job_live(r);
    counts_add(c, r, -1);
    r->j.state = to;
    counts_add(c, r, +1);
    if (was_live != job_live(r))
        live_index(c, r, job_live(r));
    if (r->j.array_job_id && active(from) != active(to)) {
        struct arrayrec *array = array_ensure(c, r->j.array_job_id);
        array->active += active(to) ? 1 : -1;
        struct jobrec *master = job_find(c, r->j.array_job_id);
        if (master && master != r && master->j.state == JOB_PENDING && master->j.array_limit)
            eligible_update(c, master);
    }
    timer_arm(c, r);
}

void job_move(struct core *c, struct jobrec *r, enum job_state to)
{
    CHECK(job_state_allowed((enum job_state) r->j.state, to));
    state_write(c, r, to);
    if (to != JOB_COMPLETING && to != JOB_REQUEUED)
        r->j.end_state = JOB_PENDING;
}

void job_move_ending(struct core *c, struct jobrec *r, enum job_state to, enum job_state end_state)
{
    CHECK(to == JOB_COMPLETING || to == JOB_REQUEUED);
    r->j.end_state = end_state;
    if (r->j.state == (int32_t) to)
        return;
    CHECK(job_state_allowed((enum job_state) r->j.state, to));
    state_write(c, r, to);
}

void job_start_state(struct core *c, struct jobrec *r)
{
    r->j.state = JOB_PENDING;
    counts_add(c, r, +1);
    live_index(c, r, true);
}

/* After loading: the counts and indexes of a state that was written in an earlier life. */
void job_restore_state(struct core *c, struct jobrec *r)
{
    counts_add(c, r, +1);
    if (job_live(r))
        live_index(c, r, true);
    if (r->j.array_job_id && active((enum job_state) r->j.state))
        array_ensure(c, r->j.array_job_id)->active++;
}
