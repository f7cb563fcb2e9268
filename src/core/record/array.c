/* Arrays are one record until an element differs. Splitting makes an index a record of its own with a number of its own; the last index takes the array's record,
 * so that the last element keeps the array's number. */
#include "core/inside.h"

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
    array->exit_least = first || r->j.exit_status < array->exit_least ? r->j.exit_status : array->exit_least;
    array->exit_most = first || r->j.exit_status > array->exit_most ? r->j.exit_status : array->exit_most;
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

bool array_over(const struct core *c, uint64_t array_id)
{
    const struct arrayrec *array = array_of(c, array_id);
    const struct jobrec *rest = job_find(c, array_id);
    return (!array || !array->live) && !(rest && job_is_array(rest) && job_live(rest));
}

struct jobrec *array_take(struct core *c, struct jobrec *master, uint32_t task)
{
    struct arrayrec *array = array_ensure(c, master->j.array_job_id);
    CHECK(idset_del(&master->pending, task));
    bool waits = master->j.state ==
                 JOB_PENDING; /* else it was requeued and held with SPECIAL_EXIT, and so is the element */
    c->pending -= waits;      /* the element is counted again as a record of its own */
    if (master->pending.count == 0)
        planner_leave(c, master);
    else
        waited_count(c, master); /* the element has waited as long */
    if (master->pending.count == 0) {
        text_set(c, &master->j.array_pending, NULL);
        master->j.array_task_id = task;
        c->pending += waits;
        map_u64_put(array->element, task, master);
        array_count(c, master, +1);
        return master;
    }
    struct jobrec *r = job_new(c, job_id_take(c));
    uint64_t id = r->j.id;
    record_take(c, &job_fields, &r->j, &master->j);
    r->j.id = id;
    r->j.array_task_id = task;
    text_set(c, &r->j.array_pending, NULL);
    dependencies_inherit(c, r, master);
    job_start_state(c, r);
    if (!waits)
        job_move(c, r, JOB_SPECIAL_EXIT);
    map_u64_put(array->element, task, r);
    return r;
}

void array_taken(struct core *c, struct jobrec *master)
{
    if (!job_is_array(master))
        return; /* the last index took its record */
    array_pending_text(c, master);
    eligible_update(c, master);
    job_save(c, master);
}

struct jobrec *array_split(struct core *c, struct jobrec *master, uint32_t task)
{
    struct jobrec *r = array_take(c, master, task);
    array_taken(c, master);
    return r;
}
