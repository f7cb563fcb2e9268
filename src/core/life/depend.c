/* Who waited for a job looks again when something happened to it. Waking waits until the step is
 * done: a chain of jobs that are cancelled because a job they depend on failed is a loop here, not
 * a recursion.
 *
 * aftercorr between arrays is decided for each element: when an element ends, its counterpart
 * becomes a record of its own, free to start or failed. The rest of the array waits for the other
 * array as a whole. */
#include "core/life/life.h"

typedef VEC(uint32_t) task_vec;

/* ---- aftercorr ------------------------------------------------------------------------------ */

/* The array whose elements decide for those of the master, one by one. */
static struct arrayrec *counterpart(const struct core *c, const struct dependency *d)
{
    return dep_pairs(d) && d->status == DEP_OPEN ? array_of(c, d->job_id) : NULL;
}

static void element_split(struct core *c, struct jobrec *master, uint32_t task)
{
    if (!job_is_array(master) || !idset_has(&master->pending, task))
        return;
    struct jobrec *element = array_split(c, master, task);
    eligible_update(c, element);
    job_save(c, element);
}

/* Has happened to the counterpart what its own element waits for? */
static bool decides(const struct dependency *d, const struct jobrec *other)
{
    return other->j.array_task_id != NO_TASK &&
           (!job_live(other) || (d->kind == DEP_AFTER && !job_waits(other)));
}

/* When `done` has started or ended. */
static void aftercorr_wake(struct core *c, struct jobrec *master, const struct jobrec *done)
{
    for (size_t i = 0; i < master->deps.n; i++)
        if (master->deps.v[i].job_id == done->j.array_job_id && decides(&master->deps.v[i], done) &&
            counterpart(c, &master->deps.v[i])) {
            element_split(c, master, done->j.array_task_id);
            return;
        }
}

/* Indexes of the master's elements whose counterparts have been there, of the one condition. */
static void pairs_find(const struct core *c, const struct jobrec *master,
                       const struct dependency *d, task_vec *ret)
{
    const struct arrayrec *other = counterpart(c, d);
    struct map_walk w = {0};
    uint32_t task;
    while (other && map_u64_next(other->element, &w))
        if (decides(d, w.value))
            vec_push(ret, (uint32_t)w.key);
    bool gone = other && other->gone_well.count + other->gone_bad.count > 0;
    for (bool more = gone && idset_first(&master->pending, &task); more;
         more = idset_next(&master->pending, task, &task))
        if (idset_has(&other->gone_well, task) || idset_has(&other->gone_bad, task))
            vec_push(ret, task);
}

void aftercorr_begin(struct core *c, struct jobrec *master)
{
    task_vec done = {0};
    for (size_t i = 0; i < master->deps.n && job_is_array(master); i++)
        pairs_find(c, master, &master->deps.v[i], &done);
    for (size_t i = 0; i < done.n; i++)
        element_split(c, master, done.v[i]);
    vec_done(&done);
}

/* ---- what happens wakes them ---------------------------------------------------------------- */

static bool names(const struct jobrec *r, uint64_t key)
{
    for (size_t i = 0; i < r->deps.n; i++)
        if (r->deps.v[i].job_id == key)
            return true;
    return false;
}

/* The list is taken out while its jobs are looked at; those that still wait for the key go back. */
static void list_wake(struct core *c, uint64_t key, const struct jobrec *done)
{
    struct id_list *list = key ? map_u64_del(c->jobs.dependents, key) : NULL;
    for (size_t i = 0; list && i < list->id.n; i++) {
        struct jobrec *r = job_find(c, list->id.v[i]);
        if (!r)
            continue;
        if (r->j.state == JOB_PENDING && job_is_array(r))
            aftercorr_wake(c, r, done);
        if (r->j.state == JOB_PENDING)
            eligible_update(c, r);
        if (names(r, key))
            id_list_add(c->jobs.dependents, key, r->j.id);
    }
    if (list)
        vec_done(&list->id);
    free(list);
}

/* singleton: only the earliest that lives can be free now, with the components beside it. */
static void singleton_wake(struct core *c, const struct jobrec *done)
{
    const struct id_list *same = singleton_list(c, done);
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; same && i < same->id.n; i++)
        first = same->id.v[i] < first ? same->id.v[i] : first;
    struct jobrec *r = same ? job_find(c, first) : NULL;
    jobrec_vec jobs = {0};
    if (r)
        components_find(c, leader_of(r), &jobs);
    for (size_t i = 0; i < jobs.n; i++)
        if (jobs.v[i]->deps.n && jobs.v[i]->j.state == JOB_PENDING)
            eligible_update(c, jobs.v[i]);
    vec_done(&jobs);
}

void dependents_run(struct core *c)
{
    for (size_t i = 0; i < c->marks.woken.n; i++) {
        const struct jobrec *done = job_find(c, c->marks.woken.v[i]);
        if (!done)
            continue;
        uint64_t id = done->j.id, array_id = done->j.array_job_id;
        list_wake(c, id, done);
        if (array_id != id)
            list_wake(c, array_id, done);
        if (job_state_over((enum job_state)done->j.state))
            singleton_wake(c, done);
    }
    vec_clear(&c->marks.woken);
}
