#include "core/record/record.h"

#include <stdlib.h>
#include <string.h>

#define RANGES_A_LOOK 8 /* of a set of elements, gone through in the time of a record */

/* An element gets a record of its own because somebody names it; what is asked of it may still be
 * refused, so it is stored and planned with as it is. */
static struct jobrec *element_known(struct core *c, struct jobrec *element)
{
    eligible_update(c, element);
    job_save(c, element);
    return element;
}

static bool task_resolve(struct core *c, struct jobrec *master, struct arrayrec *array,
                         uint32_t task, bool split, jobrec_vec *out)
{
    struct jobrec *r = array ? map_u64_get(array->element, task) : NULL;
    if (!r && master && job_is_array(master) && idset_has(&master->pending, task))
        /* What was cancelled as a whole stays whole. */
        r = split && (master->j.state == JOB_PENDING || master->j.state == JOB_SPECIAL_EXIT) &&
                    may_manage(c, master)
                ? element_known(c, array_split(c, master, task))
                : master;
    if (r && !(out->n && out->v[out->n - 1] == r))
        vec_push(out, r);
    return r != NULL;
}

/* How many of the waiting elements of an array are named; above `most` it is not counted
 * further. */
static size_t waiting_named(const struct jobrec *master, const struct idset *tasks, size_t most)
{
    size_t n = 0;
    uint32_t at = 0;
    for (bool more = idset_common(&master->pending, tasks, 0, &at); more && n <= most; n++)
        more = at < UINT32_MAX && idset_common(&master->pending, tasks, at + 1, &at);
    return n;
}

static int by_task(const void *va, const void *vb)
{
    const struct jobrec *a = *(struct jobrec *const *)va, *b = *(struct jobrec *const *)vb;
    return (a->j.array_task_id > b->j.array_task_id) - (a->j.array_task_id < b->j.array_task_id);
}

static bool may_split(const struct core *c, const struct jobrec *master)
{
    return (master->j.state == JOB_PENDING || master->j.state == JOB_SPECIAL_EXIT) &&
           may_manage(c, master);
}

static bool splits(const struct core *c, const struct jobrec *master, const struct job_ref *ref)
{
    return master && ref->tasks.count && job_is_array(master) && may_split(c, master);
}

size_t ref_split_count(const struct core *c, const struct job_ref *ref, size_t most)
{
    const struct jobrec *master = job_find(c, ref->job_id);
    bool one = ref->task_id != NO_TASK && master && job_is_array(master) &&
               idset_has(&master->pending, ref->task_id) && may_split(c, master);
    return one ? 1 : splits(c, master, ref) ? waiting_named(master, &ref->tasks, most) : 0;
}

size_t ref_split(struct core *c, const struct job_ref *ref, uint32_t *from, size_t most,
                 jobrec_vec *out)
{
    ASSERT(most > 0);
    struct jobrec *master = job_find(c, ref->job_id);
    size_t n = 0;
    uint32_t task;
    while (n < most && splits(c, master, ref) &&
           idset_common(&master->pending, &ref->tasks, *from, &task)) {
        vec_push(out, element_known(c, array_split_one(c, master, task)));
        *from = task + 1;
        n++;
    }
    if (n)
        array_taken(c, master);
    return n;
}

/* ID_[tasks]: what there is of the array is looked through, not what is named: that may be two
 * thousand million. Elements that wait are ref_split's. */
static bool tasks_resolve(struct core *c, struct jobrec *master, struct arrayrec *array,
                          const struct job_ref *ref, bool split, jobrec_vec *out)
{
    const struct idset *tasks = &ref->tasks;
    struct map_walk w = {0};
    uint32_t task = 0;
    size_t before = out->n;
    bool waits = master && job_is_array(master) && idset_common(&master->pending, tasks, 0, &task);
    bool later = waits && split && splits(c, master, ref);
    if (waits && !later)
        vec_push(out, master);
    size_t elements = out->n;
    while (array && map_u64_next(array->element, &w))
        if (idset_has(tasks, (uint32_t)w.key))
            vec_push(out, (struct jobrec *)w.value);
    if (out->n > elements + 1)
        qsort(out->v + elements, out->n - elements, sizeof out->v[0], by_task);
    return out->n > before || later;
}

static bool array_resolve(struct jobrec *master, struct arrayrec *array, jobrec_vec *out)
{
    struct map_walk w = {0};
    size_t before = out->n;
    if (master && job_is_array(master))
        vec_push(out, master);
    while (array && map_u64_next(array->element, &w))
        vec_push(out, (struct jobrec *)w.value);
    return out->n > before;
}

bool ref_resolve(struct core *c, const struct job_ref *ref, bool split, jobrec_vec *out)
{
    struct jobrec *r = job_find(c, ref->job_id);
    struct arrayrec *array = array_of(c, ref->job_id);
    if (ref->het_offset >= 0) {
        struct jobrec *component = job_find(c, ref->job_id + (uint64_t)ref->het_offset);
        if (!component || component->j.het_job_id != ref->job_id)
            return false;
        vec_push(out, component);
        return true;
    }
    if (ref->task_id != NO_TASK)
        return task_resolve(c, r, array, ref->task_id, split, out);
    if (ref->tasks.count)
        return tasks_resolve(c, r, array, ref, split, out);
    if (array && !ref->exact)
        return array_resolve(r, array, out);
    if (r && r->j.het_job_id == r->j.id && !ref->exact) {
        struct jobrec *component;
        for (uint64_t id = r->j.id;
             (component = job_find(c, id)) && component->j.het_job_id == r->j.id; id++)
            vec_push(out, component);
        return true;
    }
    if (r)
        vec_push(out, r);
    return r != NULL;
}

/* What is named is compared with what waits range by range. */
static size_t ranges_work(const struct core *c, const struct job_ref *ref)
{
    const struct jobrec *master = ref->tasks.count ? job_find(c, ref->job_id) : NULL;
    size_t waiting = master ? master->pending.n : 0; /* of an older release's array more */
    waiting = waiting < LIMIT_ARRAY_PIECES ? waiting : LIMIT_ARRAY_PIECES;
    return (ref->tasks.n + waiting) / RANGES_A_LOOK;
}

size_t ref_work(const struct core *c, const struct job_ref *ref)
{
    const struct arrayrec *array = array_of(c, ref->job_id);
    return 1 + ranges_work(c, ref) +
           (array && ref->task_id == NO_TASK && !ref->exact ? map_u64_count(array->element) : 0);
}

size_t refs_work_most(const struct core *c)
{
    return 2 * map_u64_count(c->jobs.by_id) + LIMIT_LIST_RECORDS;
}

/* Cuts a list at commas outside brackets. */
const char *refs_next(const char **at, struct arena *a)
{
    ASSERT(*at);
    int depth = 0;
    const char *start = *at, *end = start;
    for (; *end && (*end != ',' || depth); end++)
        depth += (*end == '[') - (*end == ']');
    *at = *end ? end + 1 : end;
    return arena_strndup(a, start, (size_t)(end - start));
}

enum refusal refs_collect(struct core *c, const char *refs, jobrec_vec *out, const char **detail)
{
    size_t work = 0;
    uint64_t room = LIMIT_REF_RANGES;
    for (const char *at = refs ? refs : ""; *at;) {
        const char *piece = refs_next(&at, c->turn.fx->arena);
        struct job_ref ref;
        struct err err = {0};
        if (!*piece)
            continue;
        if (!job_ref_parse_within(piece, &room, &ref, &err)) {
            *detail = arena_strdup(c->turn.fx->arena, err.text);
            return REFUSE_INVALID_JOB_ID;
        }
        work += ref_work(c, &ref);
        bool much = work > refs_work_most(c), found = !much && ref_resolve(c, &ref, false, out);
        job_ref_done(&ref);
        if (much) {
            *detail = REFS_WORK_TEXT;
            return REFUSE_TOO_LARGE;
        }
        if (!found) {
            *detail = arena_printf(c->turn.fx->arena, "there is no job %s in memory", piece);
            return REFUSE_INVALID_JOB_ID;
        }
    }
    return REFUSE_NONE;
}
