/* Arrays are one record until an element differs. Splitting makes an index a record of its own with
 * a number of its own; the last index takes the array's record, so that the last element keeps the
 * array's number. */
#include "core/record/accounts/accrue.h"
#include "core/record/record.h"

struct jobrec *array_split_one(struct core *c, struct jobrec *master, uint32_t task)
{
    ASSERT(job_is_array(master) && job_waits(master) && idset_has(&master->pending, task));
    struct arrayrec *array = array_ensure(c, master->j.array_job_id);
    /* Else it was requeued and held with SPECIAL_EXIT, and so is the element. */
    bool waits = master->j.state == JOB_PENDING;
    limits_count(c, master, -1); /* as many elements as wait are counted with it */
    int64_t accrues_us = waits ? accrue_element(c, master) : 0;
    CHECK(idset_del(&master->pending, task));
    limits_count(c, master, +1);
    c->jobs.pending -= waits; /* the element is counted again as a record of its own */
    if (master->pending.count == 0)
        planner_leave(c, master);
    else
        waited_count(c, master); /* the element has waited as long */
    if (master->pending.count == 0) {
        text_set(c, &master->j.array_pending, NULL);
        text_set(c, &master->j.accruing, NULL);
        master->j.accrue_us = accrues_us;
        master->j.array_task_id = task;
        c->jobs.pending += waits;
        limits_count(c, master, +1);
        map_u64_put(array->element, task, master);
        array_count(c, master, +1);
        return master;
    }
    struct jobrec *r = job_new(c, job_id_take(c));
    uint64_t id = r->j.id;
    record_intern(c, &job_fields, &r->j, &master->j);
    r->j.id = id;
    r->j.array_task_id = task;
    text_set(c, &r->j.array_pending, NULL);
    text_set(c, &r->j.accruing, NULL);
    r->j.accrue_us = accrues_us;
    user_room_count(c, r);
    user_room_row(c, r->j.user_id, &r->j.spec);
    dependencies_inherit(c, r, master);
    job_start_state(c, r);
    if (!waits)
        job_move(c, r, JOB_SPECIAL_EXIT);
    map_u64_put(array->element, task, r);
    return r;
}

#define WORK_PIECE 8 /* of WORK_JOB: a range of what has not begun, which is written anew */

void array_taken(struct core *c, struct jobrec *master)
{
    ASSERT(master->j.array_job_id);
    user_room_count(c, master);
    if (!job_is_array(master))
        return;                    /* the last index took its record */
    ASSERT(master->pending.n > 0); /* an array waits with what has not begun */
    work_add(c, master->pending.n * WORK_PIECE);
    array_pending_text(c, master);
    eligible_update(c, master);
    job_save(c, master);
}

struct jobrec *array_split(struct core *c, struct jobrec *master, uint32_t task)
{
    struct jobrec *r = array_split_one(c, master, task);
    array_taken(c, master);
    return r;
}
