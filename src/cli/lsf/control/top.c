/* btop and bbot: among the owner's jobs that wait in the same queue. For btop those that go before
 * it get Nice, for bbot it does: nobody else's place changes but for the better.
 *
 * Elements of an array that are named in a request become jobs of their own. Those that wait as one
 * record and go behind an element of theirs are therefore not named: the array as a whole gets
 * their Nice, and what is to have another gets that again. */
#include "cli/lsf/control.h"
#include "cli/record/columns_job.h"
#include "model/job/array.h"
#include "model/job/job_counts.h"
#include "model/limits.h"

#include <stdio.h>
#include <stdlib.h>

/* How many points of Nice `a` must get to come behind `b`: by priority, and by how much longer it
 * waits, as Nice is taken off either. Priorities are whole numbers, and that of what is changed is
 * worked out anew: meanwhile it may have become the next. */
static int64_t lead(const struct job *a, const struct job *b)
{
    int64_t priority = a->priority > b->priority ? (int64_t)(a->priority - b->priority) : 0;
    int64_t waits = (job_first_submit_us(b) - job_first_submit_us(a)) / USEC_PER_SEC;
    if (a->priority < b->priority ||
        (a->priority == b->priority && job_first_submit_us(b) < job_first_submit_us(a)))
        return 0;
    return (priority > waits ? priority : waits) + 2;
}

/* The job as this list has it: priorities that were read at two moments say nothing. */
static const struct job *as_listed(const struct lsf_job_list *l, const struct job *j)
{
    for (size_t i = 0; i < l->job.n; i++)
        if (l->job.v[i]->id == j->id && l->job.v[i]->array_task_id == j->array_task_id)
            return l->job.v[i];
    return j;
}

static int32_t nice_plus(const struct job *j, int64_t more)
{
    int64_t nice = j->spec.nice + more;
    return (int32_t)(nice < LIMIT_NICE ? nice : LIMIT_NICE);
}

/* `ref`: "12" of all of an array, "12_[1-3]" of elements. */
static bool nice_set(const struct lsf_control *k, const char *id, const char *ref, int32_t nice)
{
    struct job_spec values = {.nice = nice};
    struct msg_update_job m = {.ids = ref, .fields = "nice", .values = {&values, 1}};
    return lsf_control_ask(k, id, MSG_UPDATE_JOB, &m);
}

static bool nice_add(const struct lsf_control *k, const char *id, const char *ref,
                     const struct job *j, int64_t more)
{
    return more <= 0 || nice_set(k, id, ref, nice_plus(j, more));
}

static const char *number_ref(const struct lsf_control *k, const struct job *j)
{
    return arena_printf(k->a, "%llu", (unsigned long long)lsf_job_number(j));
}

static bool is_named(const struct job_ref *r, uint32_t index)
{
    return (r->task_id == NO_TASK && !r->tasks.count) || r->task_id == index ||
           idset_has(&r->tasks, index);
}

/* ---- an array's own elements ---- */

/* It waits and is a job that can be moved: a line of scrontab's table is changed there alone. */
static bool can_move(const struct job *j)
{
    return !j->cron && text_is(lsf_job_state(j), "PEND");
}

/* It can be moved, and waits where `j` does: what waits in another queue is not before it. */
static bool is_beside(const struct job *o, const struct job *j)
{
    return can_move(o) && job_in_partitions(o, job_partition(j));
}

/* Of those that wait as one record, which has the array's number. */
static bool is_of_rest(const struct job *j)
{
    return j->id == lsf_job_number(j);
}

/* Nobody gives it a place any more, and its Nice can't be changed. */
static bool is_ending(const struct job *j)
{
    return lsf_job_is_over(j) || j->state == JOB_COMPLETING;
}

/* It stands in the sorted list a second time: what is named is read with its array, of which a long
 * one is not listed to its end, and by itself. */
static bool is_again(const struct lsf_job_list *l, size_t i)
{
    return i && l->job.v[i - 1]->id == l->job.v[i]->id &&
           l->job.v[i - 1]->array_task_id == l->job.v[i]->array_task_id;
}

/* One of those that go behind as a whole; NULL: there are none, or what stands out are more. */
static const struct job *rest_of(const struct lsf_job_list *l, const struct job *j,
                                 const struct job_ref *mine)
{
    const struct job *rest = NULL;
    size_t behind = 0, named = 0;
    for (size_t i = 0; i < l->job.n; i++) {
        const struct job *o = l->job.v[i];
        if (is_ending(o) || is_again(l, i))
            continue;
        if (o->spec.nice < 0)
            return NULL; /* only operators could give it back */
        if (!is_of_rest(o) || !is_beside(o, j))
            continue;
        bool stays = is_named(mine, o->array_task_id);
        named += stays;
        behind += !stays;
        rest = stays ? rest : o;
    }
    return behind > named ? rest : NULL;
}

/* More of them wait than are listed, which cannot be moved one by one. */
static bool is_cut(const struct lsf_job_list *l, const struct job *j)
{
    for (size_t i = 0; i < l->more.n; i++)
        if (is_beside(l->more.v[i].job, j))
            return true;
    return false;
}

struct element {
    int32_t nice; /* that it is to have */
    uint32_t index;
};

static int by_nice(const void *va, const void *vb)
{
    const struct element *a = va, *b = vb;
    int order = (a->nice > b->nice) - (a->nice < b->nice);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* One that is refused does not keep the others from theirs. */
static bool elements_set(const struct lsf_control *k, const char *id, const char *number,
                         const struct element *e, size_t n)
{
    bool ok = true;
    for (size_t i = 0, next; i < n; i = next) {
        struct idset alike = IDSET_INIT;
        const char *piece;
        for (next = i; next < n && e[next].nice == e[i].nice; next++)
            idset_add(&alike, e[next].index);
        for (uint32_t from = 0; (piece = lsf_elements_next(&alike, &from, k->a));)
            ok = nice_set(k, id, arena_printf(k->a, "%s_%s", number, piece), e[i].nice) && ok;
        idset_done(&alike);
    }
    return ok;
}

/* The elements of this list that wait in its queue go behind `j`, which is one of them, but those
 * that are named. */
static bool brothers_behind(const struct lsf_control *k, const char *id, const struct job *j,
                            const struct job_ref *mine, const struct lsf_job_list *l)
{
    VEC(struct element) set = {0};
    j = as_listed(l, j);
    const struct job *rest = rest_of(l, j, mine);
    if (!rest && is_cut(l, j))
        return lsf_control_problem(id, "Too many elements to be moved one by one");
    int64_t more = rest ? lead(rest, j) : 0;
    int32_t whole = more ? nice_plus(rest, more) : 0;
    for (size_t i = 0; i < l->job.n; i++) {
        const struct job *o = l->job.v[i];
        bool behind = is_beside(o, j) && !is_named(mine, o->array_task_id);
        if (is_ending(o) || is_again(l, i) || (rest && behind && is_of_rest(o)))
            continue;
        struct element one = {behind ? nice_plus(o, lead(o, j)) : o->spec.nice, o->array_task_id};
        if (one.nice != (more ? whole : o->spec.nice))
            vec_push(&set, one);
    }
    if (set.n > 1)
        qsort(set.v, set.n, sizeof set.v[0], by_nice);
    /* They become jobs of their own first, which can be refused: the array is still as it was. */
    const char *number = number_ref(k, j);
    bool ok =
        elements_set(k, id, number, set.v, set.n) &&
        (!more || (nice_set(k, id, number, whole) && elements_set(k, id, number, set.v, set.n)));
    vec_done(&set);
    return ok;
}

static bool own_behind(const struct lsf_control *k, const char *id, const struct job *j,
                       const struct job_ref *mine)
{
    struct lsf_filter own = {0};
    struct lsf_job_list l = {0};
    struct err e = {0};
    vec_push(&own.ids, number_ref(k, j));
    vec_push(&own.ids, id);
    bool ok = lsf_jobs_read(k->client, &own, k->a, &l, &e) ? brothers_behind(k, id, j, mine, &l)
                                                           : lsf_control_problem(id, e.text);
    lsf_filter_done(&own);
    lsf_job_list_done(&l);
    return ok;
}

/* ---- among all ---- */

/* For btop the others go behind; else *ret_most is what it takes to come behind them. */
static bool others_behind(const struct lsf_control *k, const char *id, const struct job *j,
                          const struct job_ref *mine, bool top, int64_t *ret_most)
{
    struct lsf_filter others = {.queue = job_partition(j), .users = j->user_name};
    struct lsf_job_list l = {0};
    struct err e = {0};
    uint64_t last = 0;
    bool ok = lsf_jobs_read(k->client, &others, k->a, &l, &e) || lsf_control_problem(id, e.text);
    j = as_listed(&l, j);
    for (size_t i = 0; ok && i < l.job.n; i++) {
        const struct job *o = l.job.v[i];
        bool own = lsf_job_number(o) == lsf_job_number(j);
        bool same = own ? top || is_named(mine, o->array_task_id) : lsf_job_number(o) == last;
        if (same || !can_move(o))
            continue;
        if (top)
            ok = nice_add(k, id, number_ref(k, o), o, lead(o, j));
        else
            *ret_most = lead(j, o) > *ret_most ? lead(j, o) : *ret_most;
        last = lsf_job_number(o);
    }
    lsf_job_list_done(&l);
    return ok;
}

static bool move_one(const struct lsf_control *k, const char *id, bool top)
{
    const struct job *j = lsf_control_job(k, id);
    struct job_ref mine;
    struct err e = {0};
    int64_t most = 0;
    if (!j)
        return false;
    if (!lsf_job_is_pending(j))
        return lsf_control_problem(id, lsf_job_is_over(j) ? "Job has already finished"
                                                          : "Job has already started");
    if (!job_ref_parse(lsf_job_ref(id, k->a), &mine, &e))
        return lsf_control_problem(id, e.text);
    bool whole = mine.task_id == NO_TASK && !mine.tasks.count;
    bool ok = others_behind(k, id, j, &mine, top, &most);
    if (ok && top)
        ok = whole || own_behind(k, id, j, &mine);
    else if (ok)
        ok = nice_add(k, id, lsf_job_ref(id, k->a), j, most);
    job_ref_done(&mine);
    if (ok)
        printf("Job <%s> has been moved to position 1 from %s.\n", id, top ? "top" : "bottom");
    return ok;
}

bool lsf_top_one(const struct lsf_control *k, const char *id)
{
    return move_one(k, id, true);
}

bool lsf_bottom_one(const struct lsf_control *k, const char *id)
{
    return move_one(k, id, false);
}
