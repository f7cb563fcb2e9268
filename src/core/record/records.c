/* Records in memory: jobs and arrays, and which of them live. */
#include "core/record/accounts/usage.h"
#include "core/record/record.h"

#include <string.h>

struct jobrec *job_new(struct core *c, uint64_t id)
{
    ASSERT(id && !job_find(c, id));
    struct jobrec *r = xcalloc(1, sizeof *r);
    r->j.id = id;
    r->j.array_task_id = NO_TASK;
    map_u64_put(c->jobs.by_id, id, r);
    return r;
}

void job_write(struct core *c, struct jobrec *r)
{
    ASSERT(job_find(c, r->j.id) == r);
    r->unsaved = false;
    usage_billing_note(c, &r->j);
    fx_store(c, TABLE_JOB, &r->j);
}

/* A step may change a job several times, and many elements of one array: each record makes one row,
 * as it is when the step ends. */
void job_save(struct core *c, struct jobrec *r)
{
    ASSERT(job_find(c, r->j.id) == r);
    r->j.changed_us = c->turn.now_us;
    if (r->unsaved)
        return;
    r->unsaved = true;
    vec_push(&c->marks.unsaved, r->j.id);
}

uint64_t job_id_take(struct core *c)
{
    return c->jobs.next_id++;
}

void saves_write(struct core *c)
{
    if (c->jobs.next_id != c->jobs.stored_id) {
        struct str text = STR_INIT;
        str_add_u64(&text, c->jobs.next_id);
        struct meta row = {.key = "next_job_id", .value = str_text(&text)};
        fx_store(c, TABLE_META, &row);
        str_done(&text);
        c->jobs.stored_id = c->jobs.next_id;
    }
    for (size_t i = 0; i < c->marks.unsaved.n; i++) {
        struct jobrec *r = job_find(c, c->marks.unsaved.v[i]);
        if (r && r->unsaved)
            job_write(c, r);
    }
    vec_clear(&c->marks.unsaved);
    usage_save(c);
}

struct arrayrec *array_ensure(struct core *c, uint64_t array_id)
{
    ASSERT(array_id);
    struct arrayrec *array = array_of(c, array_id);
    if (!array) {
        array = xcalloc(1, sizeof *array);
        array->element = map_u64_new();
        map_u64_put(c->jobs.array, array_id, array);
    }
    return array;
}

void array_free(struct arrayrec *array)
{
    map_u64_free(array->element);
    idset_done(&array->gone_well);
    idset_done(&array->gone_bad);
    idset_done(&array->apart);
    free(array);
}

/* Live jobs of one user and name, for --dependency=singleton. Only names that a singleton job
 * watches have a list: most jobs cost a look-up and no memory. */
static const char *singleton_key(const struct jobrec *r, struct str *key)
{
    str_addf(key, "%u %s", r->j.user_id, r->j.spec.name ? r->j.spec.name : "");
    return str_text(key);
}

struct id_list *singleton_list(const struct core *c, const struct jobrec *r)
{
    struct str key = STR_INIT;
    struct id_list *list = map_str_count(c->jobs.singleton)
                               ? map_str_get(c->jobs.singleton, singleton_key(r, &key))
                               : NULL;
    str_done(&key);
    return list;
}

void singleton_watch(struct core *c, struct jobrec *r)
{
    struct map_walk w = {0};
    struct str key = STR_INIT;
    if (singleton_list(c, r))
        return;
    struct id_list *list = xcalloc(1, sizeof *list);
    map_str_put(c->jobs.singleton, singleton_key(r, &key), list);
    str_done(&key);
    while (map_u64_next(c->jobs.by_id, &w)) {
        const struct jobrec *other = w.value;
        if (job_live(other) && other->j.user_id == r->j.user_id &&
            text_is(other->j.spec.name, r->j.spec.name))
            vec_push(&list->id, other->j.id);
    }
}

static void singleton_drop(struct core *c, const struct jobrec *r, struct id_list *list)
{
    struct str key = STR_INIT;
    map_str_del(c->jobs.singleton, singleton_key(r, &key));
    str_done(&key);
    id_list_free(list);
}

void live_index(struct core *c, struct jobrec *r, bool live)
{
    ASSERT(live == job_live(r) || !live);
    struct id_list *list = singleton_list(c, r);
    if (!list)
        return;
    id_list_remove(list, r->j.id);
    if (live)
        vec_push(&list->id, r->j.id);
    if (list->went > list->id.n / 2)
        id_list_pack(list);
    if (!list->id.n)
        singleton_drop(c, r, list);
}
