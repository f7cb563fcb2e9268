/* PBS's before…: a job says of others that they come after it. Each of those was submitted with
 * on:COUNT, waits for so many jobs to name it, and then for what they named it with. They belong
 * to the same user, for a job of another's must not be made to wait. */
#include "core/record/record.h"
#include "core/request/request.h"
#include "model/job/owner.h"

#include <string.h>

#define LOOKED_MOST     65536 /* jobs, for one request */
#define COMPONENTS_MOST (2 * LIMIT_DEPENDENCIES)

static struct dependency *on_of(const struct jobrec *r)
{
    for (size_t i = 0; i < r->deps.n; i++)
        if (r->deps.v[i].kind == DEP_ON && r->deps.v[i].status == DEP_OPEN)
            return &r->deps.v[i];
    return NULL;
}

/* Of the jobs that the id means those that wait: an array's elements, and all components of a
 * heterogeneous job, each of which has what it was submitted with. */
static void waiting_find(const struct core *c, uint64_t id, jobrec_vec *ret)
{
    struct jobrec *r = job_find(c, id);
    struct arrayrec *array = array_of(c, id);
    struct map_walk w = {0};
    jobrec_vec members = {0};
    if (r && (!array || job_is_array(r)))
        components_find(c, leader_of(r), &members);
    for (size_t i = 0; i < members.n; i++)
        if (members.v[i]->j.state == JOB_PENDING && (members.v[i] == r || on_of(members.v[i])))
            vec_push(ret, members.v[i]);
    vec_done(&members);
    while (array && map_u64_next(array->element, &w))
        if (((struct jobrec *)w.value)->j.state == JOB_PENDING)
            vec_push(ret, (struct jobrec *)w.value);
}

static bool one_check(const struct core *c, const struct jobrec *r,
                      const struct dependency_list *list, const struct jobrec *other, size_t *looks,
                      struct err *ret_err)
{
    unsigned long long id = other->j.array_job_id ? other->j.array_job_id : other->j.id;
    if (!jobs_are_of_one(&other->j, &r->j) && !peer_operates(c, c->turn.peer))
        return err_set(ret_err, ERR_DENIED,
                       "job %llu is another user's: it cannot be made to wait for this one", id);
    if (!on_of(other))
        return err_set(ret_err, ERR_INVALID,
                       "job %llu does not wait for (more) jobs that name it: it is submitted with "
                       "on:COUNT, and each job that names it with before… counts once",
                       id);
    bool circle = dependency_circle(c, other, list, looks);
    if (circle && *looks > CIRCLE_LOOKS_MOST)
        return err_set(ret_err, ERR_LIMIT, CIRCLE_UNSEEN_TEXT);
    if (circle)
        return err_set(ret_err, ERR_EXISTS,
                       "this job would wait for job %llu, and job %llu for it: neither could ever "
                       "start",
                       id, id);
    return true;
}

static bool list_check(const struct core *c, const struct jobrec *r,
                       const struct dependency_list *list, struct err *ret_err)
{
    bool ok = true;
    size_t looked = 0, looks = 0;
    for (size_t i = 0; ok && i < list->n; i++) {
        jobrec_vec others = {0};
        if (!dep_is_before((enum dep_kind)list->v[i].kind))
            continue;
        const struct arrayrec *array = array_of(c, list->v[i].job_id);
        looked += 1 + (array ? map_u64_count(array->element) : 0);
        if (looked > LOOKED_MOST)
            return err_set(ret_err, ERR_LIMIT,
                           "before… names more than %d jobs and elements of arrays together: name "
                           "each array once, or a job between",
                           LOOKED_MOST);
        waiting_find(c, list->v[i].job_id, &others);
        if (!others.n)
            ok = err_set(ret_err, ERR_INVALID,
                         "job %llu does not wait (any more): nothing can come before it",
                         (unsigned long long)list->v[i].job_id);
        for (size_t k = 0; ok && k < others.n; k++)
            ok = one_check(c, r, list, others.v[k], &looks, ret_err);
        vec_done(&others);
    }
    return ok;
}

/* As dependency_parse would find them: of each word one for each job it names. */
static size_t conditions_of(const char *text)
{
    static const char between[] = ",?&|()!";
    size_t sum = 0;
    for (const char *at = text + strspn(text, between); *at; at += strspn(at, between)) {
        size_t colons = 0;
        for (; *at && !strchr(between, *at); at++)
            colons += *at == ':';
        sum += colons ? colons : 1;
    }
    return sum;
}

bool components_fit(const struct msg_submit *m, struct str *detail)
{
    const struct job_spec *spec = m->specs.v;
    size_t sum = 0;
    for (size_t i = 0; i < m->specs.n && sum <= COMPONENTS_MOST; i++)
        sum += text_empty(spec[i].dependency) ? 0 : conditions_of(spec[i].dependency);
    if (m->specs.n < 2 || sum <= COMPONENTS_MOST)
        return true;
    str_addf(detail,
             "the components of a heterogeneous job wait for at most %u conditions together: let "
             "one job wait for many, and the components for that one",
             COMPONENTS_MOST);
    return false;
}

/* Else nothing is said of other jobs. A text may have thousands of conditions, and is read for the
 * job's own anyway. */
static bool has_before(const char *text)
{
    return text && strcasestr(text, "before");
}

bool before_check(const struct core *c, const struct jobrec *r, const char *text,
                  struct err *ret_err)
{
    struct arena *a = arena_new();
    struct dependency_list list = {0};
    bool ok = !has_before(text) ||
              (dependency_parse(text, a, &list, ret_err) && list_check(c, r, &list, ret_err));
    arena_free(a);
    return ok;
}

/* Named twice by one job, it counts as often as it still waits. */
static void one_apply(struct core *c, struct jobrec *other, const struct dependency *after)
{
    struct dependency *on = on_of(other);
    if (!on)
        return;
    dependency_counted(c, other, on, after);
    job_save(c, other);
    eligible_update(c, other);
}

void before_apply(struct core *c, const struct jobrec *r, const char *text)
{
    ASSERT(job_find(c, r->j.id) == r);
    struct arena *a = arena_new();
    struct dependency_list list = {0};
    bool element = r->j.array_job_id && !job_is_array(r);
    if (has_before(text))
        dependency_parse(text, a, &list, NULL);
    for (size_t i = 0; i < list.n; i++) {
        jobrec_vec others = {0};
        if (!dep_is_before((enum dep_kind)list.v[i].kind))
            continue;
        struct dependency after = {
            .kind = (uint8_t)dep_after_of((enum dep_kind)list.v[i].kind),
            .job_id = r->j.array_job_id ? r->j.array_job_id : r->j.id,
            .task_id = element ? r->j.array_task_id : NO_TASK,
        };
        waiting_find(c, list.v[i].job_id, &others);
        for (size_t k = 0; k < others.n; k++)
            one_apply(c, others.v[k], &after);
        vec_done(&others);
    }
    arena_free(a);
}
