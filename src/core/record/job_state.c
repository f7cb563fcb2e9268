/* The only place that writes job.state. Every move goes through the table of allowed moves; what
 * must follow from a move wherever it comes from (counts, indexes, the planner's list, history of
 * former runs) follows here. */
#include "core/record/accounts/accrue.h"
#include "core/record/accounts/minutes.h"
#include "core/record/record.h"
#include "core/record/triggers/triggers.h"

static void counts_add(struct core *c, const struct jobrec *r, int64_t sign)
{
    ASSERT(sign == 1 || sign == -1);
    uint64_t n = job_is_array(r) && r->j.state == JOB_PENDING ? r->pending.count : 1;
    limits_count(c, r, sign);
    if (r->j.state == JOB_PENDING)
        c->jobs.pending += (uint64_t)sign * n;
    else if (r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED)
        c->jobs.running += (uint64_t)sign;
}

/* Elements that wait as records of their own, as they were changed, held or sent back: the limit is
 * theirs, too, and matters where it has just been reached, or left. */
static void apart_look(struct core *c, const struct jobrec *r, uint32_t active_before)
{
    const struct arrayrec *array = array_of(c, r->j.array_job_id);
    uint32_t task;
    for (bool more = idset_first(&array->apart, &task); more;
         more = idset_next(&array->apart, task, &task)) {
        struct jobrec *one = map_u64_get(array->element, task);
        uint32_t limit = one ? one->j.array_limit : 0;
        if (one != r && limit && (active_before < limit) != (array->active < limit))
            eligible_update(c, one);
    }
}

/* A place under the % limit came free, or was taken: the array may start more, or fewer. */
static void limit_look(struct core *c, const struct jobrec *r, uint32_t active_before)
{
    if (array_of(c, r->j.array_job_id)->active == active_before)
        return;
    struct jobrec *rest = job_find(c, r->j.array_job_id);
    if (rest && rest != r && rest->j.state == JOB_PENDING && rest->j.array_limit)
        eligible_update(c, rest);
    apart_look(c, r, active_before);
}

static bool job_uses(const struct jobrec *r)
{
    return r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED;
}

static void state_write(struct core *c, struct jobrec *r, enum job_state to)
{
    enum job_state was = (enum job_state)r->j.state;
    bool was_live = job_live(r), ran = job_uses(r), of_array = r->j.array_job_id != 0;
    uint32_t active = of_array ? array_ensure(c, r->j.array_job_id)->active : 0;
    counts_add(c, r, -1);
    if (of_array)
        array_count(c, r, -1);
    r->j.state = to;
    counts_add(c, r, +1);
    if (of_array)
        array_count(c, r, +1);
    if (ran != job_uses(r))
        minutes_changed(c);
    if (was_live != job_live(r))
        live_index(c, r, job_live(r));
    if (!job_live(r)) {
        triggers_job_over(c, r);
        user_room_over(c, r);
    }
    if (of_array)
        limit_look(c, r, active);
    if (to != JOB_PENDING)
        accrue_update(c, r);
    /* Its start and its end are said by who begins and ends it. */
    if (to == JOB_SUSPENDED || was == JOB_SUSPENDED || job_waits(r))
        dependents_wake(c, r);
    timer_arm(c, r);
}

void job_move(struct core *c, struct jobrec *r, enum job_state to)
{
    ASSERT(r->j.state != (int32_t)to || to == JOB_COMPLETING);
    CHECK(job_state_allowed((enum job_state)r->j.state, to));
    state_write(c, r, to);
    if (to != JOB_COMPLETING && to != JOB_REQUEUED)
        r->j.end_state = JOB_PENDING;
}

void job_move_ending(struct core *c, struct jobrec *r, enum job_state to, enum job_state end_state)
{
    CHECK(to == JOB_COMPLETING || to == JOB_REQUEUED);
    r->j.end_state = end_state;
    if (r->j.state == (int32_t)to)
        return;
    CHECK(job_state_allowed((enum job_state)r->j.state, to));
    state_write(c, r, to);
}

void job_start_state(struct core *c, struct jobrec *r)
{
    ASSERT(!r->j.start_us && r->hold.n == 0);
    r->j.state = JOB_PENDING;
    counts_add(c, r, +1);
    if (r->j.array_job_id)
        array_count(c, r, +1);
    live_index(c, r, true);
}

/* After loading: the counts and indexes of a state that was written in an earlier life. */
void job_restore_state(struct core *c, struct jobrec *r)
{
    ASSERT(r->j.state >= 0 && r->j.state < JOB_STATE_COUNT);
    counts_add(c, r, +1);
    if (job_live(r))
        live_index(c, r, true);
    else
        user_room_over(c, r);
    if (r->j.array_job_id) {
        array_count(c, r, +1);
        array_ensure(c, r->j.array_job_id)->begun |= r->j.attempt != 0;
    }
}
