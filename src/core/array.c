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

static void deps_copy(struct jobrec *to, const struct jobrec *from)
{
    to->deps = from->deps;
    to->deps.v = from->deps.n ? xmemdup(from->deps.v, from->deps.n * sizeof from->deps.v[0]) : NULL;
}

struct jobrec *array_split(struct core *c, struct jobrec *master, uint32_t task)
{
    struct arrayrec *array = array_ensure(c, master->j.array_job_id);
    CHECK(idset_del(&master->pending, task));
    c->pending--; /* the element is counted again as a record of its own */
    if (master->waiting) {
        cluster_unwait(c->cluster, master->j.id);
        master->waiting = false;
    }
    if (master->pending.count == 0) {
        text_set(c, &master->j.array_pending, NULL);
        master->j.array_task_id = task;
        c->pending++;
        map_u64_put(array->element, task, master);
        return master;
    }
    struct jobrec *r = job_new(c, c->next_job_id++);
    uint64_t id = r->j.id;
    meta_save(c, "next_job_id", c->next_job_id);
    record_take(c, &job_fields, &r->j, &master->j);
    r->j.id = id;
    r->j.array_task_id = task;
    text_set(c, &r->j.array_pending, NULL);
    deps_copy(r, master);
    for (size_t i = 0; i < r->deps.n; i++)
        if (r->deps.v[i].job_id)
            id_list_add(c->dependents, r->deps.v[i].job_id, id);
        else
            singleton_watch(c, r);
    job_start_state(c, r);
    map_u64_put(array->element, task, r);
    array_pending_text(c, master);
    eligible_update(c, master);
    job_save(c, master);
    return r;
}
