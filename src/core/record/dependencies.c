/* What jobs wait for of other jobs. A job keeps its conditions with what is known of each; who
 * depends on a job is found in core.dependents, so that what happens to it wakes only those it
 * concerns. A condition that is satisfied for good stays so and is forgotten; what is open or
 * failed stands in the job's row as text, from which a restart reads it. Some conditions hold for
 * a while only (a count of elements that run, or one with '!'): a job is free at the moment when
 * all of what it waits for holds at once. */
#include "core/record/record.h"

#include <string.h>

#define LOOKED_MOST (1u << 18) /* conditions, or elements of arrays: some milliseconds */
#define FEW_NAMES   16
/* Of the work of a step, where WORK_JOB is a whole job: a condition that is looked at, and one that
 * is written. */
#define WORK_LOOK  8
#define WORK_WRITE 16

static void text_write(struct core *c, struct jobrec *r)
{
    struct str text = STR_INIT;
    work_add(c, r->deps.n * WORK_WRITE);
    dependency_format(&r->deps, &text);
    text_set(c, &r->j.spec.dependency, str_text(&text));
    str_done(&text);
}

/* ---- who depends on whom -------------------------------------------------------------------- */

static void link_one(struct core *c, struct jobrec *r, const struct dependency *d)
{
    if (d->kind == DEP_SINGLETON)
        singleton_watch(c, r);
    else if (d->job_id)
        id_list_add(c->jobs.dependents, d->job_id, r->j.id);
}

void dependencies_renamed(struct core *c, struct jobrec *r)
{
    for (size_t i = 0; i < r->deps.n; i++)
        if (r->deps.v[i].kind == DEP_SINGLETON)
            singleton_watch(c, r);
}

static bool names_same(const struct dependency *a, const struct dependency *b)
{
    return a->job_id == b->job_id &&
           (a->job_id || (a->kind == DEP_SINGLETON) == (b->kind == DEP_SINGLETON));
}

/* Several entries of a list may name the same job: its dependents list has r once. */
static bool named_before(const struct dependency_list *list, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (names_same(&list->v[k], &list->v[i]))
            return true;
    return false;
}

/* A list may be long: each entry is not compared with each. */
struct names {
    struct map_u64 *seen; /* NULL: it is short */
};

static struct names names_open(const struct dependency_list *list)
{
    return (struct names){list->n > FEW_NAMES ? map_u64_new() : NULL};
}

static void names_close(struct names *names)
{
    map_u64_free(names->seen);
}

static bool name_is_new(struct names *names, const struct dependency_list *list, size_t i)
{
    const struct dependency *d = &list->v[i];
    uint64_t key = d->job_id ? d->job_id + 1 : d->kind == DEP_SINGLETON ? 0 : UINT64_MAX;
    if (!names->seen)
        return !named_before(list, i);
    if (map_u64_get(names->seen, key))
        return false;
    map_u64_put(names->seen, key, names->seen);
    return true;
}

static void link_all(struct core *c, struct jobrec *r)
{
    struct names names = names_open(&r->deps);
    for (size_t i = 0; i < r->deps.n; i++)
        if (name_is_new(&names, &r->deps, i))
            link_one(c, r, &r->deps.v[i]);
    names_close(&names);
}

void dependents_pack(struct core *c, uint64_t key, struct id_list *list)
{
    ASSERT(key && list);
    if (c->marks.waking.key == key) /* it is being gone through */
        return;
    if (list->went > list->id.n / 2)
        id_list_pack(list);
    if (!list->id.n)
        id_list_free(map_u64_del(c->jobs.dependents, key));
}

static void unlink_one(struct core *c, const struct jobrec *r, uint64_t key)
{
    struct id_list *list = key ? map_u64_get(c->jobs.dependents, key) : NULL;
    if (!list)
        return;
    work_add(c, id_list_remove(list, r->j.id));
    dependents_pack(c, key, list);
}

void dependencies_drop(struct core *c, struct jobrec *r)
{
    ASSERT(r->deps.n == 0 || r->deps.v);
    struct names names = names_open(&r->deps);
    for (size_t i = 0; i < r->deps.n; i++)
        if (name_is_new(&names, &r->deps, i))
            unlink_one(c, r, r->deps.v[i].job_id);
    names_close(&names);
    user_room_conditions(c, r, -1);
    free(r->deps.v);
    free(r->deps.form);
    r->deps = (struct dependency_list){0};
}

static void deps_own(struct core *c, struct jobrec *r, const struct dependency_list *list)
{
    r->deps = *list;
    r->deps.v = list->n ? xmemdup(list->v, list->n * sizeof list->v[0]) : NULL;
    r->deps.form = xstrdup(list->form);
    user_room_conditions(c, r, +1);
}

void dependencies_inherit(struct core *c, struct jobrec *element, const struct jobrec *master)
{
    ASSERT(element->j.array_job_id == master->j.array_job_id && !job_is_array(element));
    deps_own(c, element, &master->deps);
    link_all(c, element);
}

void dependencies_restore(struct core *c, struct jobrec *r)
{
    ASSERT(r->deps.n == 0 && !r->deps.v);
    struct arena *a = arena_new();
    struct dependency_list list = {0};
    if (r->j.spec.dependency && dependency_parse(r->j.spec.dependency, a, &list, NULL)) {
        deps_own(c, r, &list);
        link_all(c, r);
    }
    arena_free(a);
}

/* ---- setting and looking -------------------------------------------------------------------- */

static bool waits_for(const struct dependency *d, const struct jobrec *r)
{
    if (!d->job_id)
        return false;
    return d->job_id == r->j.id || (r->j.array_job_id && d->job_id == r->j.array_job_id &&
                                    (d->task_id == NO_TASK || d->task_id == r->j.array_task_id));
}

/* Whenever the job begins or ends, each condition of each job that waits for it is looked at, and
 * each of their rows written. */
static size_t crowd(const struct core *c, const struct dependency_list *list,
                    const struct dependency *d, size_t more)
{
    const struct id_list *others =
        d->job_id && list->n > 1 ? map_u64_get(c->jobs.dependents, d->job_id) : NULL;
    size_t n = others ? id_list_count(others) : 0;
    return others && (n + more) * list->n > LOOKED_MOST ? n : 0;
}

bool dependencies_split_fit(const struct core *c, const struct jobrec *master, size_t more,
                            const char **detail)
{
    ASSERT(job_is_array(master));
    struct str why = STR_INIT;
    bool room = user_room_elements_fit(c, master->j.user_id, more, &why), fits = true;
    for (size_t i = 0; room && fits && i < master->deps.n; i++)
        fits = crowd(c, &master->deps, &master->deps.v[i], more) == 0;
    if (!fits)
        str_addf(&why,
                 "%zu elements would wait as jobs of their own, each for %u others: let one job "
                 "wait for these, and the array for that one",
                 more, (unsigned)master->deps.n);
    else
        fits = room && user_room_texts_fit(c, master->j.user_id,
                                           (int64_t)more * conditions_bytes(&master->deps), &why);
    if (!fits)
        *detail = arena_strdup(c->turn.fx->arena, str_text(&why));
    str_done(&why);
    return fits;
}

static bool crowd_check(const struct core *c, const struct dependency_list *list,
                        const struct dependency *d, struct err *ret_err)
{
    size_t others = crowd(c, list, d, 1);
    if (!others)
        return true;
    return err_set(ret_err, ERR_LIMIT,
                   "%zu jobs wait for job %llu already, and this one would wait for it and %u "
                   "others: let one job wait for these, and all the others for that one",
                   others, (unsigned long long)d->job_id, (unsigned)list->n - 1);
}

static uint64_t elements_of(const struct core *c, uint64_t array_id)
{
    const struct arrayrec *array = array_of(c, array_id);
    const struct jobrec *rest = job_find(c, array_id);
    return (array ? (uint64_t)array->live + array->well + array->bad : 0) +
           (rest && job_is_array(rest) && job_live(rest) ? rest->pending.count : 0);
}

static bool entry_check(const struct core *c, const struct jobrec *r, const struct dependency *d,
                        struct err *ret_err)
{
    uint64_t own = r->j.array_job_id;
    if (!d->job_id)
        return true;
    if (waits_for(d, r))
        return err_set(ret_err, ERR_INVALID, "a job cannot depend on itself");
    if (!dependee_known(c, d))
        return err_set(
            ret_err, ERR_NOT_FOUND,
            "job %llu is not known (any more): it never was, or what is asked of it is forgotten "
            "MinJobAge after its end",
            (unsigned long long)d->job_id);
    if (!d->each ||
        (own && array_of(c, d->job_id) && elements_of(c, d->job_id) == elements_of(c, own)))
        return true;
    return err_set(
        ret_err, ERR_INVALID,
        "Dependent arrays do not have the same size: this job has %llu elements, job %llu "
        "has %llu; _each pairs element with element",
        (unsigned long long)(own ? elements_of(c, own) : 0), (unsigned long long)d->job_id,
        (unsigned long long)elements_of(c, d->job_id));
}

/* Each waiting job is looked at once, and none where nobody waits for r. */
bool dependency_circle(const struct core *c, const struct jobrec *r,
                       const struct dependency_list *list, size_t *looks)
{
    VEC(struct dependency) to_do = {0};
    struct map_u64 *seen = map_u64_new();
    bool circle = false;
    bool wanted = map_u64_get(c->jobs.dependents, r->j.id) ||
                  (r->j.array_job_id && map_u64_get(c->jobs.dependents, r->j.array_job_id));
    for (size_t i = 0; i < list->n; i++)
        if (wanted || waits_for(&list->v[i], r))
            vec_push(&to_do, list->v[i]);
    while (to_do.n && !circle) {
        struct dependency d = to_do.v[--to_do.n];
        if (!d.job_id || d.negated || dep_counts((enum dep_kind)d.kind) ||
            dep_is_before((enum dep_kind)d.kind))
            continue; /* may hold before the other starts */
        struct jobrec *other = job_find(c, d.job_id);
        circle = waits_for(&d, r);
        if (circle || !other || other->j.state != JOB_PENDING || map_u64_get(seen, d.job_id))
            continue;
        map_u64_put(seen, d.job_id, other);
        *looks += other->deps.n;
        circle = *looks > CIRCLE_LOOKS_MOST; /* not to be seen */
        for (size_t i = 0; i < other->deps.n && !circle; i++)
            vec_push(&to_do, other->deps.v[i]);
    }
    vec_done(&to_do);
    map_u64_free(seen);
    return circle;
}

/* What is said of other jobs (before…) is taken out. */
static bool list_check(const struct core *c, const struct jobrec *r, struct dependency_list *list,
                       struct err *ret_err)
{
    uint32_t kept = 0;
    size_t looks = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        struct dependency *d = &list->v[i];
        const struct arrayrec *array = d->kind == DEP_EXIT ? array_of(c, d->job_id) : NULL;
        looks += array ? map_u64_count(array->element) : 0;
        if (looks > LOOKED_MOST && i > 0)
            return err_set(ret_err, ERR_LIMIT,
                           "exit codes of more than 262144 elements of arrays would be looked "
                           "at: name each array once, or some of its elements");
        if (d->status == DEP_FAILED)
            return err_set(ret_err, ERR_INVALID,
                           "\"(failed)\" is what is said of a dependency, and nothing to ask for: "
                           "leave it out");
        if (!entry_check(c, r, d, ret_err) || !crowd_check(c, list, d, ret_err))
            return false;
        d->whole = d->job_id && d->task_id == NO_TASK && !dep_counts((enum dep_kind)d->kind) &&
                   array_of(c, d->job_id);
        if (!dep_is_before((enum dep_kind)d->kind))
            list->v[kept++] = *d; /* there is no form where there is a before */
    }
    list->n = kept;
    return true;
}

bool dependencies_set(struct core *c, struct jobrec *r, const char *text, struct err *ret_err)
{
    struct arena *a = arena_new();
    struct dependency_list list = {0};
    size_t looks = 0;
    bool changed, ok = text_empty(text) || dependency_parse(text, a, &list, ret_err);
    ok = ok && list_check(c, r, &list, ret_err);
    if (ok && dependency_circle(c, r, &list, &looks))
        ok = looks > CIRCLE_LOOKS_MOST
                 ? err_set(ret_err, ERR_LIMIT, CIRCLE_UNSEEN_TEXT)
                 : err_set(ret_err, ERR_EXISTS, /* a circle */
                           "one of the jobs it would wait for waits for it: none of them could "
                           "ever start");
    if (ok) {
        dependencies_drop(c, r);
        deps_own(c, r, &list);
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
        struct dependency d = r->deps.v[i];
        int64_t at;
        if (d.kind != DEP_AFTER)
            continue;
        dependee_look(c, r, &d, &at);
        due = at < due ? at : due;
    }
    return due;
}

enum dep_status dependencies_update(struct core *c, struct jobrec *r, bool *ret_changed)
{
    ASSERT(job_find(c, r->j.id) == r);
    size_t changed = 0;
    work_add(c, r->deps.n * WORK_LOOK);
    for (size_t i = 0; i < r->deps.n; i++) {
        int64_t due;
        uint8_t former = r->deps.v[i].status;
        dependee_look(c, r, &r->deps.v[i], &due);
        changed += r->deps.v[i].status != former;
    }
    struct dep_truth whole = dependency_truth(&r->deps);
    *ret_changed = changed > 0 || (whole.now && r->j.spec.dependency);
    if (whole.now) {
        dependencies_drop(c, r);
        text_set(c, &r->j.spec.dependency, NULL);
        return DEP_SATISFIED;
    }
    if (changed)
        text_write(c, r);
    return whole.final ? DEP_FAILED : DEP_OPEN;
}

void dependency_counted(struct core *c, struct jobrec *r, struct dependency *on,
                        const struct dependency *d)
{
    ASSERT(on >= r->deps.v && on < r->deps.v + r->deps.n);
    ASSERT(on->number > 0);
    struct dependency_list *list = &r->deps;
    if (--on->number == 0)
        on->status = DEP_SATISFIED;
    user_room_conditions(c, r, -1);
    list->v = xrealloc(list->v, (list->n + 1) * sizeof list->v[0]);
    list->v[list->n++] = *d;
    user_room_conditions(c, r, +1);
    if (!named_before(list, list->n - 1))
        link_one(c, r, d);
    text_write(c, r);
}

/* ---- what happened to one that others wait for ---- */

void dependents_wake(struct core *c, const struct jobrec *r)
{
    bool watched = map_u64_count(c->jobs.dependents) || map_str_count(c->jobs.singleton);
    bool marked = c->marks.woken.n && c->marks.woken.v[c->marks.woken.n - 1] == r->j.id &&
                  c->marks.waking.job_id != r->j.id;
    if (watched && !marked)
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
