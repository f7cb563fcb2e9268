/* Counts of an array's elements, so that no event walks an array. */
#include "core/record/record.h"

#define WORK_ELEMENT 8 /* one of a walk (WORK_JOB) */

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

static void extremes_add(struct extremes *x, int32_t value, bool first)
{
    if (first || !x->of_least || value < x->least)
        x->least = value, x->of_least = 0;
    if (first || !x->of_most || value > x->most)
        x->most = value, x->of_most = 0;
    x->of_least += value == x->least;
    x->of_most += value == x->most;
}

/* False: nobody has one of them any more. */
static bool extremes_drop(struct extremes *x, int32_t value)
{
    x->of_least -= value == x->least && x->of_least > 0;
    x->of_most -= value == x->most && x->of_most > 0;
    return x->of_least > 0 && x->of_most > 0;
}

/* An end that nobody has any more is that of those in memory, or of the other end where none is
 * there; one that somebody has stays, as he may have left memory. */
static void extremes_mend(struct extremes *x, const struct extremes *seen)
{
    const struct extremes was = *x;
    ASSERT(!was.of_least || !was.of_most || was.least <= was.most);
    if (!was.of_least) {
        x->least = seen->of_least ? seen->least : was.of_most ? was.most : was.least;
        x->of_least = seen->of_least ? seen->of_least : was.of_most;
    }
    if (!was.of_most) {
        x->most = seen->of_most ? seen->most : was.of_least ? was.least : was.most;
        x->of_most = seen->of_most ? seen->of_most : was.of_least;
    }
}

/* One that ended goes back, the last with that code or status: what is said of the others is read
 * from those in memory. There are few codes, so that many that go back walk the array few times. */
static void ends_recount(struct core *c, struct arrayrec *array, const struct jobrec *without)
{
    struct map_walk w = {0};
    struct extremes exit = {0}, code = {0};
    work_add(c, map_u64_count(array->element) * WORK_ELEMENT);
    while (map_u64_next(array->element, &w)) {
        const struct jobrec *r = w.value;
        if (r == without || job_live(r))
            continue;
        extremes_add(&exit, r->j.exit_status, false);
        if (r->j.state != JOB_COMPLETED)
            extremes_add(&code, status_rank(r->j.exit_status), false);
    }
    extremes_mend(&array->exit, &exit);
    extremes_mend(&array->code, &code);
}

static void end_count(struct core *c, struct arrayrec *array, const struct jobrec *r, int sign)
{
    bool well = r->j.state == JOB_COMPLETED, first = !array->well && !array->bad, known = true;
    int32_t code = status_rank(r->j.exit_status);
    /* Those that waited still are one record, which was cancelled. */
    uint32_t n = job_is_array(r) ? (uint32_t)r->pending.count : 1;
    ASSERT(sign == 1 || (well ? array->well > 0 : array->bad >= n));
    if (sign > 0) {
        extremes_add(&array->exit, r->j.exit_status, first);
        if (!well)
            extremes_add(&array->code, code, !array->bad);
    } else {
        known = extremes_drop(&array->exit, r->j.exit_status);
        known = (well || extremes_drop(&array->code, code)) && known;
    }
    array->well += well ? (uint32_t)sign : 0;
    array->bad += well ? 0 : (uint32_t)sign * n;
    if (!known)
        ends_recount(c, array, r);
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
        end_count(c, array, r, sign);
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
    bool counted = r->j.array_job_id && c->store.loaded && job_waits(r);
    if (counted)
        array_count(c, r, -1);
    r->j.spec.hold = hold;
    if (counted)
        array_count(c, r, +1);
    dependents_wake(c, r);
}
