/* An ended job leaves memory; the store keeps its row. */
#include "core/life/life.h"
#include "core/record/triggers/triggers.h"

void job_forget(struct core *c, struct jobrec *r)
{
    ASSERT(r->hold.n == 0 && !cluster_is_running(c->cluster, r->j.id));
    if (r->unsaved && r->j.state != JOB_PENDING)
        job_write(c, r);
    if (r->waiting)
        cluster_unwait(c->cluster, r->j.id);
    live_index(c, r, false);
    triggers_forget(c, r);
    dependencies_drop(c, r);
    if (r->j.array_job_id) {
        struct arrayrec *array = array_of(c, r->j.array_job_id);
        if (array && r->j.array_task_id != NO_TASK &&
            map_u64_get(array->element, r->j.array_task_id) == r) {
            map_u64_del(array->element, r->j.array_task_id);
            /* Whoever depends on the array still asks how this one ended. */
            if (!job_live(r))
                idset_add(r->j.state == JOB_COMPLETED ? &array->gone_well : &array->gone_bad,
                          r->j.array_task_id);
        }
        struct jobrec *master = job_find(c, r->j.array_job_id);
        if (array && map_u64_count(array->element) == 0 && (!master || master == r)) {
            map_u64_del(c->jobs.array, r->j.array_job_id);
            array_free(array);
        }
    }
    user_room_uncount(c, r);
    map_u64_del(c->jobs.by_id, r->j.id);
    steps_drop(c, r);
    record_drop(c, &job_fields, &r->j);
    idset_done(&r->pending);
    vec_done(&r->step);
    vec_done(&r->wish);
    vec_done(&r->hold);
    free(r);
}
