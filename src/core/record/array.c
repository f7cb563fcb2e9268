/* Counts of an array's elements, so that no event walks an array. */
#include "core/record/record.h"

void array_pending_text(struct core *c, struct jobrec *master)
{
    struct str text = STR_INIT;
    idset_format(&master->pending, &text);
    text_set(c, &master->j.array_pending, str_text(&text));
    str_done(&text);
}

/* Elements that take a place under the array's % limit. */
static bool active(enum job_state s)
{
    return s == JOB_RUNNING || s == JOB_SUSPENDED || s == JOB_COMPLETING || s == JOB_REQUEUED;
}

static void end_count(struct arrayrec *array, const struct jobrec *r, int sign)
{
    bool first = !array->well && !array->bad;
    if (r->j.state == JOB_COMPLETED)
        array->well += (uint32_t)sign;
    else
        array->bad += (uint32_t)sign;
    if (sign < 0)
        return;
    array->exit_least =
        first || r->j.exit_status < array->exit_least ? r->j.exit_status : array->exit_least;
    array->exit_most =
        first || r->j.exit_status > array->exit_most ? r->j.exit_status : array->exit_most;
}

void array_count(struct core *c, const struct jobrec *r, int sign)
{
    enum job_state state = (enum job_state)r->j.state;
    struct arrayrec *array = array_ensure(c, r->j.array_job_id);
    if (job_state_over(state))
        end_count(array, r, sign);
    if (job_is_array(r))
        return;
    array->live += job_live(r) ? (uint32_t)sign : 0;
    array->active += active(state) ? (uint32_t)sign : 0;
    array->waiting += state == JOB_PENDING || state == JOB_SPECIAL_EXIT ? (uint32_t)sign : 0;
    int64_t began_us = r->j.start_us ? r->j.start_us : r->j.end_us;
    if (sign > 0 && state != JOB_PENDING && state != JOB_SPECIAL_EXIT && began_us > array->began_us)
        array->began_us = began_us;
}
