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

#define WORK_NAMESAKE 32 /* of WORK_JOB: one that is looked at */

/* Live jobs of one user and name, for --dependency=singleton. Only names that a singleton job
 * watches have a list: most jobs cost a look-up and no memory. */
static const char *singleton_key(uint32_t user_id, const char *name, struct str *key)
{
    str_addf(key, "%u %s", user_id, name);
    return str_text(key);
}

/* One without a name is a namesake of all others without. */
static const char *singleton_name(const struct jobrec *r)
{
    return r->j.spec.name ? r->j.spec.name : "";
}

struct namesakes *namesakes_of(const struct core *c, const struct jobrec *r)
{
    struct str key = STR_INIT;
    struct namesakes *same =
        map_str_count(c->jobs.singleton)
            ? map_str_get(c->jobs.singleton, singleton_key(r->j.user_id, singleton_name(r), &key))
            : NULL;
    str_done(&key);
    return same;
}

static void namesake_add(struct namesakes *same, struct jobrec *r)
{
    if (!r->watched)
        vec_push(&same->list.id, r->j.id);
    r->watched = true;
}

bool namesakes_go_on(struct core *c, struct namesakes *same)
{
    while (!same->known && work_left(c)) {
        same->known = !map_u64_next(c->jobs.by_id, &same->walk);
        struct jobrec *other = same->known ? NULL : same->walk.value;
        work_add(c, WORK_NAMESAKE);
        if (other && other->j.user_id == same->user_id && job_live(other) &&
            text_is(singleton_name(other), same->name))
            namesake_add(same, other);
    }
    return same->known;
}

void singleton_watch(struct core *c, struct jobrec *r)
{
    struct str key = STR_INIT;
    if (namesakes_of(c, r))
        return;
    struct namesakes *same = xcalloc(1, sizeof *same);
    same->user_id = r->j.user_id;
    same->name = xstrdup(singleton_name(r));
    map_str_put(c->jobs.singleton, singleton_key(same->user_id, same->name, &key), same);
    str_done(&key);
    if (!namesakes_go_on(c, same))
        vec_push(&c->marks.looking, same);
}

void namesakes_free(struct namesakes *same)
{
    if (!same)
        return;
    vec_done(&same->list.id);
    free(same->name);
    free(same);
}

void singleton_forget(struct core *c, struct namesakes *same)
{
    ASSERT(same->known && !same->list.id.n);
    struct str key = STR_INIT;
    namesakes_free(map_str_del(c->jobs.singleton, singleton_key(same->user_id, same->name, &key)));
    str_done(&key);
}

void live_index(struct core *c, struct jobrec *r, bool live)
{
    ASSERT(live == job_live(r) || !live);
    struct namesakes *same = namesakes_of(c, r);
    if (!same)
        return;
    if (r->watched)
        id_list_remove(&same->list, r->j.id);
    r->watched = false;
    if (live)
        namesake_add(same, r);
    if (same->list.went > same->list.id.n / 2)
        id_list_pack(&same->list);
    if (!same->list.id.n && same->known)
        singleton_forget(c, same);
}
