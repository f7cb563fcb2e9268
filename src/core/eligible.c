/* Which pending jobs the planner gets. A job is eligible when nothing but resources and order keeps it: no hold, its begin time has come, its dependencies are satisfied,
 * its array's % limit leaves room, its limits let it run. Whoever changes one of these calls eligible_update, which is cheap and idempotent. */
#include "core/inside.h"

#include <string.h>

void plan_soon(struct core *c)
{
    c->plan_needed = true;
}

/* ---- dependencies -------------------------------------------------------------------------------------------------------- */

static bool ended_well(const struct jobrec *r)
{
    return r->j.state == JOB_COMPLETED;
}

/* A member of `ids` decides for a whole array: all elements over? all well? */
struct verdict {
    bool all_over, all_well, any_started, all_started;
    int64_t started_us; /* the latest start */
};

static void verdict_add(struct verdict *v, const struct jobrec *r)
{
    bool began = r->j.start_us != 0 && r->j.state != JOB_PENDING;
    began |= job_state_over((enum job_state) r->j.state);
    v->all_over &= job_state_over((enum job_state) r->j.state);
    v->all_well &= ended_well(r);
    v->all_started &= began;
    int64_t at = r->j.start_us ? r->j.start_us : r->j.end_us;
    if (began && at > v->started_us)
        v->started_us = at;
}

static bool verdict_of(const struct core *c, uint64_t id, uint32_t task, struct verdict *v)
{
    struct arrayrec *array = array_of(c, id);
    struct jobrec *r = job_find(c, id);
    *v = (struct verdict){.all_over = true, .all_well = true, .all_started = true};
    if (task != NO_TASK) {
        struct jobrec *element = array ? map_u64_get(array->element, task) : NULL;
        if (!element && r && job_is_array(r) && idset_has(&r->pending, task))
            element = r;
        if (element)
            verdict_add(v, element);
        return element != NULL;
    }
    if (array) {
        struct map_walk w = {0};
        while (map_u64_next(array->element, &w))
            verdict_add(v, w.value);
        if (r && job_is_array(r))
            verdict_add(v, r);
        return true;
    }
    if (r)
        verdict_add(v, r);
    return r != NULL;
}

static enum dep_status after_status(const struct core *c, const struct dependency *d, const struct verdict *v)
{
    if (!v->all_started)
        return DEP_OPEN;
    return v->started_us + d->delay_us <= c->now_us ? DEP_SATISFIED : DEP_OPEN;
}

static bool singleton_free(const struct core *c, const struct jobrec *r)
{
    const struct id_list *list = singleton_list(c, r);
    for (size_t i = 0; list && i < list->id.n; i++)
        if (list->id.v[i] < r->j.id)
            return false;
    return true;
}

static enum dep_status status_of(const struct core *c, const struct jobrec *r, const struct dependency *d)
{
    struct verdict v;
    uint32_t task = d->task_id;
    if (d->kind == DEP_SINGLETON)
        return singleton_free(c, r) ? DEP_SATISFIED : DEP_OPEN;
    if (d->kind == DEP_AFTERCORR && task == NO_TASK && r->j.array_task_id != NO_TASK)
        task = r->j.array_task_id;
    if (!verdict_of(c, d->job_id, task, &v))
        /* It left memory long after its end; what was known then stands. */
        return d->status;
    switch (d->kind) {
    case DEP_AFTER:
        return after_status(c, d, &v);
    case DEP_AFTERANY:
        return v.all_over ? DEP_SATISFIED : DEP_OPEN;
    case DEP_AFTEROK:
    case DEP_AFTERCORR:
        return !v.all_over ? DEP_OPEN : v.all_well ? DEP_SATISFIED : DEP_FAILED;
    case DEP_AFTERNOTOK:
        return !v.all_over ? DEP_OPEN : v.all_well ? DEP_FAILED : DEP_SATISFIED;
    case DEP_SINGLETON:
        break;
    }
    return DEP_OPEN;
}

/* Brings all of them up to date: open, satisfied, or can never be satisfied. */
static enum dep_status deps_update(struct core *c, struct jobrec *r)
{
    size_t failed = 0, satisfied = 0;
    for (size_t i = 0; i < r->deps.n; i++) {
        struct dependency *d = &r->deps.v[i];
        if (d->status == DEP_OPEN || d->kind == DEP_AFTERCORR)
            d->status = status_of(c, r, d);
        failed += d->status == DEP_FAILED;
        satisfied += d->status == DEP_SATISFIED;
    }
    if (!r->deps.n || (r->deps.any ? satisfied > 0 : satisfied == r->deps.n))
        return DEP_SATISFIED;
    if (r->deps.any ? failed == r->deps.n : failed > 0)
        return DEP_FAILED;
    return DEP_OPEN;
}

static void dependency_text(struct core *c, struct jobrec *r, enum dep_status status)
{
    struct str text = STR_INIT;
    if (status != DEP_SATISFIED)
        dependency_format(&r->deps, &text);
    text_set(c, &r->j.spec.dependency, str_text(&text));
    str_done(&text);
}

bool dependencies_set(struct core *c, struct jobrec *r, const char *text, struct err *ret_err)
{
    struct arena *a = arena_new();
    struct dependency_list list = {0};
    bool ok = text_empty(text) || dependency_parse(text, a, &list, ret_err);
    for (size_t i = 0; ok && i < list.n; i++) {
        struct verdict v;
        list.v[i].status = DEP_OPEN;
        if (list.v[i].kind == DEP_SINGLETON)
            continue;
        if (list.v[i].job_id == r->j.id)
            ok = err_set(ret_err, ERR_INVALID, "a job cannot depend on itself");
        else if (!verdict_of(c, list.v[i].job_id, list.v[i].task_id, &v))
            ok = err_set(ret_err, ERR_NOT_FOUND, "job %llu is not known (any more): it never was, or ended more than MinJobAge ago", (unsigned long long) list.v[i].job_id);
    }
    if (ok) {
        free(r->deps.v);
        r->deps = list;
        r->deps.v = list.n ? xmemdup(list.v, list.n * sizeof list.v[0]) : NULL;
        for (size_t i = 0; i < list.n; i++)
            if (list.v[i].job_id)
                id_list_add(c->dependents, list.v[i].job_id, r->j.id);
            else
                singleton_watch(c, r);
        enum dep_status status = deps_update(c, r);
        dependency_text(c, r, status);
    }
    arena_free(a);
    return ok;
}

void dependents_wake(struct core *c, struct jobrec *done)
{
    uint64_t keys[2] = {done->j.id, done->j.array_job_id};
    for (size_t k = 0; k < 2; k++) {
        struct id_list *list = keys[k] && (k == 0 || keys[1] != keys[0]) ? map_u64_get(c->dependents, keys[k]) : NULL;
        uint64_t *ids = list && list->id.n ? xmemdup(list->id.v, list->id.n * sizeof *ids) : NULL;
        size_t n = ids ? list->id.n : 0;
        for (size_t i = 0; i < n; i++) {
            struct jobrec *r = job_find(c, ids[i]);
            if (r && r->j.state == JOB_PENDING)
                eligible_update(c, r);
        }
        free(ids);
    }
    if (!job_state_over((enum job_state) done->j.state))
        return;
    /* singleton: the next of that user and name */
    const struct id_list *same = singleton_list(c, done);
    for (size_t i = 0; same && i < same->id.n; i++) {
        struct jobrec *r = job_find(c, same->id.v[i]);
        if (r && r->deps.n && r->j.state == JOB_PENDING) {
            eligible_update(c, r);
            break;
        }
    }
}

/* ---- eligibility ------------------------------------------------------------------------------------------------------------ */

static uint32_t elements_now(const struct core *c, const struct jobrec *r)
{
    if (!job_is_array(r))
        return 1;
    uint64_t n = r->pending.count;
    const struct arrayrec *array = array_of(c, r->j.array_job_id);
    uint32_t active = array ? array->active : 0;
    if (r->j.array_limit) {
        uint64_t room = r->j.array_limit > active ? r->j.array_limit - active : 0;
        n = n < room ? n : room;
    }
    return (uint32_t) (n < UINT32_MAX ? n : UINT32_MAX);
}

/* Components of a heterogeneous job have numbers that follow each other. */
static uint32_t het_size(const struct core *c, const struct jobrec *r)
{
    uint32_t n = 0;
    const struct jobrec *other;
    while (r->j.het_job_id && (other = job_find(c, r->j.het_job_id + n)) && other->j.het_job_id == r->j.het_job_id)
        n++;
    return n;
}

static void planner_take(struct core *c, struct jobrec *r, uint32_t elements)
{
    struct waiting w = {
        .job_id = r->j.id,
        .req = &r->j.spec.req,
        .het_job_id = r->j.het_job_id,
        .het_size = het_size(c, r),
        .uid = r->j.user_id,
        .elements = elements,
        .submit_us = r->j.submit_us,
        .eligible_us = r->j.eligible_us,
        .deadline_us = r->j.spec.deadline_us,
        .nice = r->j.spec.nice,
        .priority_asked = r->j.spec.priority_asked,
        .order = r->order,
    };
    cluster_wait(c->cluster, &w);
    r->waiting = true;
    plan_soon(c);
}

static bool held(const struct jobrec *r)
{
    return r->j.spec.hold;
}

static bool deps_settle(struct core *c, struct jobrec *r, bool *ret_over)
{
    enum dep_status status = deps_update(c, r);
    *ret_over = false;
    if (!r->deps.n)
        return true;
    const char *former = r->j.spec.dependency;
    dependency_text(c, r, status);
    bool changed = former != r->j.spec.dependency;
    if (status == DEP_FAILED && r->j.reason != REASON_DEPENDENCY_NEVER) {
        r->j.reason = REASON_DEPENDENCY_NEVER;
        changed = true;
        mail_job(c, r, MAIL_INVALID_DEPEND);
        if (r->j.spec.kill_on_invalid_dep == YES) {
            job_over(c, r, JOB_CANCELLED, REASON_DEPENDENCY_NEVER);
            *ret_over = true;
            return false;
        }
    }
    if (changed)
        job_save(c, r);
    return status == DEP_SATISFIED;
}

void eligible_update(struct core *c, struct jobrec *r)
{
    bool over = false;
    if (r->j.state != JOB_PENDING || !c->loaded)
        return;
    bool ready = deps_settle(c, r, &over);
    if (over)
        return;
    ready = ready && !held(r) && r->j.spec.begin_us <= c->now_us && r->barred == REASON_NONE;
    uint32_t elements = ready ? elements_now(c, r) : 0;
    if (ready && !r->j.eligible_us) {
        r->j.eligible_us = c->now_us;
        job_save(c, r);
    }
    if (elements) {
        planner_take(c, r, elements);
    } else if (r->waiting) {
        cluster_unwait(c->cluster, r->j.id);
        r->waiting = false;
        plan_soon(c);
    }
    timer_arm(c, r);
}

enum job_reason pending_reason(const struct core *c, const struct jobrec *r, int64_t now_us, struct plan_wait *ret_wait)
{
    *ret_wait = (struct plan_wait){0};
    if (held(r))
        return (enum job_reason) (r->j.reason ? r->j.reason : REASON_HELD_USER);
    if (r->deps.n && r->j.spec.dependency)
        return r->j.reason == REASON_DEPENDENCY_NEVER ? REASON_DEPENDENCY_NEVER : REASON_DEPENDENCY;
    if (r->j.spec.begin_us > now_us)
        return REASON_BEGIN_TIME;
    if (r->barred != REASON_NONE)
        return r->barred;
    if (!r->waiting && job_is_array(r))
        return REASON_ARRAY_TASK_LIMIT;
    if (c->store_away)
        return REASON_STORE_AWAY;
    if (r->waiting && plan_wait_of(c->plan, c->cluster, r->j.id, ret_wait))
        return ret_wait->reason;
    return REASON_NONE;
}
