/* An ended job leaves memory; the store keeps its row. */
#include "core/life/life.h"
#include "core/record/triggers/triggers.h"

#define LEAST_AGE_US (2 * USEC_PER_SEC) /* whoever waited for its end has seen it */

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
    c->marks.pairs_look |= c->marks.pairs.n > 0;
    map_u64_del(c->jobs.by_id, r->j.id);
    steps_drop(c, r);
    record_drop(c, &job_fields, &r->j);
    idset_done(&r->pending);
    vec_done(&r->step);
    vec_done(&r->wish);
    vec_done(&r->hold);
    free(r);
}

static bool is_awaited_as(const struct core *c, uint64_t id)
{
    const struct id_list *list = id ? map_u64_get(c->jobs.dependents, id) : NULL;
    for (size_t i = 0; list && i < list->id.n; i++) {
        const struct jobrec *other = job_find(c, list->id.v[i]);
        if (other && other->j.state == JOB_PENDING)
            return true;
    }
    return false;
}

/* Does a job in the queue wait for how it ended? It may be sent back for that. An element is waited
 * for by its own number, too. */
static bool is_awaited(const struct core *c, const struct jobrec *r)
{
    return is_awaited_as(c, r->j.id) || is_awaited_as(c, r->j.array_job_id);
}

static bool stays(const struct core *c, const struct jobrec *r, int64_t age_us)
{
    /* One of scrontab that is over goes back at once. */
    return r->j.cron || job_live(r) || dependents_look_still(c, r) ||
           time_add(r->j.end_us, age_us) > c->turn.now_us || is_awaited(c, r);
}

/* Components are found by their leader, without a gap, and one that is sent back takes the others
 * along: they go together, when all of them may. */
bool job_may_forget(const struct core *c, const struct jobrec *r, int64_t age_us)
{
    jobrec_vec jobs = {0};
    bool stay = stays(c, r, age_us);
    if (!stay && r->j.het_job_id)
        components_find(c, r->j.het_job_id, &jobs);
    for (size_t i = 0; i < jobs.n && !stay; i++)
        stay = stays(c, jobs.v[i], age_us);
    vec_done(&jobs);
    return !stay;
}

void job_forget_whole(struct core *c, struct jobrec *r)
{
    jobrec_vec jobs = {0};
    bool found = false;
    if (r->j.het_job_id)
        components_find(c, r->j.het_job_id, &jobs);
    for (size_t i = jobs.n; i-- > 0;) {
        found |= jobs.v[i] == r;
        job_forget(c, jobs.v[i]);
    }
    if (!found)
        job_forget(c, r);
    vec_done(&jobs);
}

void forget_for_room(struct core *c, uint32_t uid)
{
    struct jobrec *r = map_u64_count(c->jobs.by_id) >= (uint64_t)c->settings.max_job_count
                           ? user_room_oldest(c, uid)
                           : NULL;
    if (!r)
        return;
    if (job_may_forget(c, r, LEAST_AGE_US))
        job_forget_whole(c, r);
    else
        user_room_over(c, r); /* later */
}
