/* Counts of an array's elements, so that no event walks an array. */
#include "core/record/record.h"

void array_pending_text(struct core *c, struct jobrec *master)
{
    ASSERT(job_is_array(master));
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

static void code_count(struct arrayrec *array, int32_t code, bool first)
{
    array->code_least = first || code < array->code_least ? code : array->code_least;
    array->code_most = first || code > array->code_most ? code : array->code_most;
}

static void exit_count(struct arrayrec *array, int32_t status, bool first)
{
    array->exit_least = first || status < array->exit_least ? status : array->exit_least;
    array->exit_most = first || status > array->exit_most ? status : array->exit_most;
}

/* One that failed goes back: what is said of the others' codes is read from those in memory. */
static void codes_recount(struct arrayrec *array, const struct jobrec *without)
{
    struct map_walk w = {0};
    bool first = true;
    while (map_u64_next(array->element, &w)) {
        const struct jobrec *r = w.value;
        if (r == without || job_live(r) || r->j.state == JOB_COMPLETED)
            continue;
        code_count(array, status_rank(r->j.exit_status), first);
        first = false;
    }
}

static void bad_count(struct arrayrec *array, const struct jobrec *r, int sign)
{
    ASSERT(sign == 1 || array->bad >= (job_is_array(r) ? (uint32_t)r->pending.count : 1));
    int32_t code = status_rank(r->j.exit_status);
    bool first = !array->bad;
    /* Those that waited still are one record, which was cancelled. */
    uint32_t n = job_is_array(r) ? (uint32_t)r->pending.count : 1;
    array->bad += (uint32_t)sign * n;
    if (sign > 0)
        code_count(array, code, first);
    else if (code == array->code_least || code == array->code_most)
        codes_recount(array, r);
}

/* The same of exit statuses, of all that are over. */
static void exits_recount(struct arrayrec *array, const struct jobrec *without)
{
    struct map_walk w = {0};
    bool first = true;
    while (map_u64_next(array->element, &w)) {
        const struct jobrec *r = w.value;
        if (r == without || job_live(r))
            continue;
        exit_count(array, r->j.exit_status, first);
        first = false;
    }
}

static void end_count(struct arrayrec *array, const struct jobrec *r, int sign)
{
    ASSERT(sign == 1 || r->j.state != JOB_COMPLETED || array->well > 0);
    bool first = !array->well && !array->bad;
    if (r->j.state == JOB_COMPLETED)
        array->well += (uint32_t)sign;
    else
        bad_count(array, r, sign);
    if (sign > 0)
        exit_count(array, r->j.exit_status, first);
    else if (array->exit_least != array->exit_most &&
             (r->j.exit_status == array->exit_least || r->j.exit_status == array->exit_most))
        exits_recount(array, r);
}

void array_count(struct core *c, const struct jobrec *r, int sign)
{
    ASSERT(sign == 1 || sign == -1);
    ASSERT(r->j.array_job_id);
    enum job_state state = (enum job_state)r->j.state;
    struct arrayrec *array = array_ensure(c, r->j.array_job_id);
    bool waits = state == JOB_PENDING || state == JOB_SPECIAL_EXIT;
    int64_t began_us = r->j.start_us ? r->j.start_us : r->j.end_us;
    if (sign > 0 && !waits && began_us > array->began_us)
        array->began_us = began_us;
    if (job_state_over(state))
        end_count(array, r, sign);
    if (job_is_array(r))
        return;
    array->live += job_live(r) ? (uint32_t)sign : 0;
    array->active += active(state) ? (uint32_t)sign : 0;
    array->suspended += state == JOB_SUSPENDED ? (uint32_t)sign : 0;
    array->waiting += waits ? (uint32_t)sign : 0;
    array->held += waits && r->j.spec.hold ? (uint32_t)sign : 0;
    if (state == JOB_PENDING && sign > 0)
        idset_add(&array->apart, r->j.array_task_id);
    else if (state == JOB_PENDING)
        idset_del(&array->apart, r->j.array_task_id);
}

void hold_write(struct core *c, struct jobrec *r, bool hold)
{
    if (r->j.spec.hold == hold)
        return;
    bool counted = r->j.array_job_id && c->store.loaded;
    if (counted)
        array_count(c, r, -1);
    r->j.spec.hold = hold;
    if (counted)
        array_count(c, r, +1);
    dependents_wake(c, r);
}
