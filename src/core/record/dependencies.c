/* What jobs wait for of other jobs. A job keeps its list with what is known of each entry; who
 * depends on a job is found in core.dependents, so that an end wakes only those it concerns. What
 * is satisfied stays so and is forgotten; what is open or failed stands in the job's row as text,
 * from which a restart reads it. */
#include "core/record/record.h"

#include <string.h>

/* What is known of the jobs an entry names. */
struct verdict {
    bool over, begun; /* all of them */
    bool well;        /* none ended otherwise than COMPLETED */
    int64_t began_us; /* the last of them */
};

static struct verdict verdict_of_job(const struct jobrec *r)
{
    bool over = job_state_over((enum job_state)r->j.state);
    return (struct verdict){
        .over = over,
        .well = !over || r->j.state == JOB_COMPLETED,
        .begun = over || (r->j.start_us && r->j.state != JOB_PENDING),
        .began_us = r->j.start_us ? r->j.start_us : r->j.end_us,
    };
}

static struct verdict verdict_of_array(const struct arrayrec *array, const struct jobrec *rest)
{
    bool waits = rest && job_live(rest);
    return (struct verdict){.over = !array->live && !waits,
                            .well = !array->bad,
                            .begun = !array->waiting && !waits,
                            .began_us = array->began_us};
}

/* False: no such job is in memory. */
static bool verdict_of(const struct core *c, uint64_t id, uint32_t task, struct verdict *ret)
{
    struct arrayrec *array = array_of(c, id);
    const struct jobrec *r = job_find(c, id), *rest = r && job_is_array(r) ? r : NULL;
    if (array && task == NO_TASK) {
        *ret = verdict_of_array(array, rest);
        return true;
    }
    if (task != NO_TASK) {
        r = array ? map_u64_get(array->element, task) : NULL;
        if (!r && rest && idset_has(&rest->pending, task))
            r = rest;
    }
    if (r)
        *ret = verdict_of_job(r);
    return r != NULL;
}

/* No job of that user and name that came earlier is live. */
/* Components of one heterogeneous job start together: none of them waits for another. */
static bool singleton_free(const struct core *c, const struct jobrec *r)
{
    const struct id_list *list = singleton_list(c, r);
    for (size_t i = 0; list && i < list->id.n; i++)
        if (list->id.v[i] < leader_of(r))
            return false;
    return true;
}

static bool corresponds(const struct core *c, const struct jobrec *r, const struct dependency *d)
{
    struct verdict v;
    return d->kind == DEP_AFTERCORR && d->task_id == NO_TASK && r->j.array_task_id != NO_TASK &&
           verdict_of(c, d->job_id, r->j.array_task_id, &v);
}

static enum dep_status status_of(const struct core *c, const struct jobrec *r,
                                 const struct dependency *d)
{
    struct verdict v;
    if (d->kind == DEP_SINGLETON)
        return singleton_free(c, r) ? DEP_SATISFIED : DEP_OPEN;
    if (!verdict_of(c, d->job_id, corresponds(c, r, d) ? r->j.array_task_id : d->task_id, &v))
        return d->status; /* it left memory long after its end; what was known then stands */
    switch (d->kind) {
    case DEP_AFTER:
        return v.begun && time_add(v.began_us, d->delay_us) <= c->turn.now_us ? DEP_SATISFIED
                                                                              : DEP_OPEN;
    case DEP_AFTERANY: return v.over ? DEP_SATISFIED : DEP_OPEN;
    case DEP_AFTEROK: return !v.well ? DEP_FAILED : v.over ? DEP_SATISFIED : DEP_OPEN;
    case DEP_AFTERCORR: return !v.over ? DEP_OPEN : v.well ? DEP_SATISFIED : DEP_FAILED;
    case DEP_AFTERNOTOK: return !v.over ? DEP_OPEN : v.well ? DEP_FAILED : DEP_SATISFIED;
    case DEP_SINGLETON: break;
    }
    return DEP_OPEN;
}

static void text_write(struct core *c, struct jobrec *r)
{
    struct str text = STR_INIT;
    dependency_format(&r->deps, &text);
    text_set(c, &r->j.spec.dependency, str_text(&text));
    str_done(&text);
}

/* ---- who depends on whom -------------------------------------------------------------------- */

static void link_one(struct core *c, struct jobrec *r, const struct dependency *d)
{
    if (d->kind == DEP_SINGLETON)
        singleton_watch(c, r);
    else
        id_list_add(c->jobs.dependents, d->job_id, r->j.id);
}

/* Several entries of a list may name the same job: its dependents list has r once. */
static bool named_before(const struct dependency_list *list, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (list->v[k].job_id == list->v[i].job_id)
            return true;
    return false;
}

static void link_all(struct core *c, struct jobrec *r)
{
    for (size_t i = 0; i < r->deps.n; i++)
        if (!named_before(&r->deps, i))
            link_one(c, r, &r->deps.v[i]);
}

static void unlink_one(struct core *c, const struct jobrec *r, uint64_t key)
{
    struct id_list *list = key ? map_u64_get(c->jobs.dependents, key) : NULL;
    for (size_t i = 0; list && i < list->id.n; i++)
        if (list->id.v[i] == r->j.id) {
            vec_remove(&list->id, i);
            break;
        }
    if (list && !list->id.n) {
        map_u64_del(c->jobs.dependents, key);
        vec_done(&list->id);
        free(list);
    }
}

void dependencies_drop(struct core *c, struct jobrec *r)
{
    for (size_t i = 0; i < r->deps.n; i++)
        if (!named_before(&r->deps, i))
            unlink_one(c, r, r->deps.v[i].job_id);
    free(r->deps.v);
    r->deps = (struct dependency_list){0};
}

static void deps_own(struct jobrec *r, const struct dependency_list *list)
{
    r->deps = *list;
    r->deps.v = list->n ? xmemdup(list->v, list->n * sizeof list->v[0]) : NULL;
}

void dependencies_inherit(struct core *c, struct jobrec *element, const struct jobrec *master)
{
    deps_own(element, &master->deps);
    link_all(c, element);
}

void dependencies_restore(struct core *c, struct jobrec *r)
{
    struct arena *a = arena_new();
    struct dependency_list list = {0};
    if (r->j.spec.dependency && dependency_parse(r->j.spec.dependency, a, &list, NULL)) {
        deps_own(r, &list);
        link_all(c, r);
    }
    arena_free(a);
}

/* ---- setting and looking -------------------------------------------------------------------- */

static bool entry_check(const struct core *c, const struct jobrec *r, const struct dependency *d,
                        struct err *ret_err)
{
    struct verdict v;
    if (d->kind == DEP_SINGLETON)
        return true;
    if (d->job_id == r->j.id || (r->j.array_job_id && d->job_id == r->j.array_job_id &&
                                 (d->task_id == NO_TASK || d->task_id == r->j.array_task_id)))
        return err_set(ret_err, ERR_INVALID, "a job cannot depend on itself");
    if (verdict_of(c, d->job_id, d->task_id, &v))
        return true;
    return err_set(
        ret_err, ERR_NOT_FOUND,
        "job %llu is not known (any more): it never was, or ended more than MinJobAge ago",
        (unsigned long long)d->job_id);
}

static bool waits_for(const struct dependency *d, const struct jobrec *r)
{
    if (!d->job_id)
        return false;
    return d->job_id == r->j.id || (d->job_id == r->j.array_job_id &&
                                    (d->task_id == NO_TASK || d->task_id == r->j.array_task_id));
}

/* Does a job of the list wait, by whatever way, for r? Each waiting job is looked at once, and none
 * where nobody waits for r. */
static bool closes_circle(const struct core *c, const struct jobrec *r,
                          const struct dependency_list *list)
{
    VEC(struct dependency) to_do = {0};
    struct map_u64 *seen = map_u64_new();
    bool circle = false;
    bool wanted = map_u64_get(c->jobs.dependents, r->j.id) ||
                  (r->j.array_job_id && map_u64_get(c->jobs.dependents, r->j.array_job_id));
    for (size_t i = 0; wanted && i < list->n; i++)
        vec_push(&to_do, list->v[i]);
    while (to_do.n && !circle) {
        struct dependency d = to_do.v[--to_do.n];
        struct jobrec *other = d.job_id ? job_find(c, d.job_id) : NULL;
        circle = waits_for(&d, r);
        if (circle || !other || other->j.state != JOB_PENDING || map_u64_get(seen, d.job_id))
            continue;
        map_u64_put(seen, d.job_id, other);
        for (size_t i = 0; i < other->deps.n; i++)
            vec_push(&to_do, other->deps.v[i]);
    }
    vec_done(&to_do);
    map_u64_free(seen);
    return circle;
}

bool dependencies_set(struct core *c, struct jobrec *r, const char *text, struct err *ret_err)
{
    struct arena *a = arena_new();
    struct dependency_list list = {0};
    bool changed, ok = text_empty(text) || dependency_parse(text, a, &list, ret_err);
    for (size_t i = 0; ok && i < list.n; i++) {
        if (list.v[i].status == DEP_FAILED)
            ok = err_set(ret_err, ERR_INVALID,
                         "\"(failed)\" is what is said of a dependency, and nothing to ask for: "
                         "leave it out");
        list.v[i].status = DEP_OPEN;
        ok = ok && entry_check(c, r, &list.v[i], ret_err);
    }
    if (ok && closes_circle(c, r, &list))
        ok = err_set(
            ret_err, ERR_EXISTS, /* a circle */
            "one of the jobs it would wait for waits for it: none of them could ever start");
    if (ok) {
        dependencies_drop(c, r);
        deps_own(r, &list);
        link_all(c, r);
        text_write(c, r);
        dependencies_update(c, r, &changed);
    }
    arena_free(a);
    return ok;
}

int64_t dependencies_due(const struct core *c, const struct jobrec *r)
{
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < r->deps.n; i++) {
        const struct dependency *d = &r->deps.v[i];
        struct verdict v;
        if (d->kind != DEP_AFTER || d->status != DEP_OPEN ||
            !verdict_of(c, d->job_id, d->task_id, &v) || !v.begun)
            continue;
        int64_t at = time_add(v.began_us, d->delay_us);
        due = at > c->turn.now_us && at < due ? at : due;
    }
    return due;
}

enum dep_status dependencies_update(struct core *c, struct jobrec *r, bool *ret_changed)
{
    size_t failed = 0, satisfied = 0, changed = 0;
    for (size_t i = 0; i < r->deps.n; i++) {
        struct dependency *d = &r->deps.v[i];
        enum dep_status former = d->status;
        if (d->status == DEP_OPEN)
            d->status = status_of(c, r, d);
        changed += d->status != former;
        failed += d->status == DEP_FAILED;
        satisfied += d->status == DEP_SATISFIED;
    }
    bool all = r->deps.any ? !r->deps.n || satisfied > 0 : satisfied == r->deps.n;
    *ret_changed = changed > 0 || (all && r->j.spec.dependency);
    if (all) {
        dependencies_drop(c, r);
        text_set(c, &r->j.spec.dependency, NULL);
        return DEP_SATISFIED;
    }
    if (changed)
        text_write(c, r);
    return (r->deps.any ? failed == r->deps.n : failed > 0) ? DEP_FAILED : DEP_OPEN;
}

/* ---- what happened to one that others wait for ---- */

void dependents_wake(struct core *c, const struct jobrec *r)
{
    bool watched = map_u64_count(c->jobs.dependents) || map_str_count(c->jobs.singleton);
    if (watched && (!c->marks.woken.n || c->marks.woken.v[c->marks.woken.n - 1] != r->j.id))
        vec_push(&c->marks.woken, r->j.id);
}

static void entries_reopen(struct jobrec *r, const struct jobrec *again)
{
    for (size_t i = 0; i < r->deps.n; i++) {
        struct dependency *d = &r->deps.v[i];
        if (d->status == DEP_FAILED &&
            (d->job_id == again->j.id || d->job_id == again->j.array_job_id))
            d->status = DEP_OPEN;
    }
}

void dependents_reopen(struct core *c, const struct jobrec *again)
{
    const uint64_t keys[] = {again->j.id, again->j.array_job_id};
    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        const struct id_list *list = keys[k] && (k == 0 || keys[1] != keys[0])
                                         ? map_u64_get(c->jobs.dependents, keys[k])
                                         : NULL;
        for (size_t i = 0; list && i < list->id.n; i++) {
            struct jobrec *r = job_find(c, list->id.v[i]);
            if (!r || r->j.state != JOB_PENDING)
                continue;
            entries_reopen(r, again);
            if (r->j.reason == REASON_DEPENDENCY_NEVER)
                r->j.reason = REASON_NONE;
            text_write(c, r);
            job_save(c, r);
        }
    }
    dependents_wake(c, again); /* another element of its array may have failed as well */
}
