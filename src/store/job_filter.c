/* What sacct(1) says of its filters:
 *
 *   times alone    every job that lived in [from, to]: submitted before its end, not over before
 *                  its start.
 *   states alone   jobs that are in one of these states.
 *   both           jobs that were in one of these states within [from, to]: a job that is COMPLETED
 *                  now was
 * PENDING and RUNNING before, and is found as such. PENDING counts from the eligible time; a job
 * held from
 * the start has none, and is not found so. job ids        an array's id means the record and all
 *   its
 * elements, a heterogeneous job's id all its components. */
#include "store/job_filter.h"

#include "base/alloc.h"
#include "base/str.h"
#include "model/limits.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading the query ---- */

static void list_read(text_list *list, const char *text)
{
    struct span rest = span_of(text), piece;
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        if (piece.len)
            vec_push(list, xstrndup(piece.data, piece.len));
    }
}

static void list_done(text_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->v[i]);
    vec_done(list);
}

static bool text_list_has(const text_list *list, const char *text)
{
    for (size_t i = 0; text && i < list->n; i++)
        if (strcmp(list->v[i], text) == 0)
            return true;
    return false;
}

static int ref_compare(const void *a, const void *b)
{
    const struct job_ref *x = a, *y = b;
    return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

/* Splits at commas outside brackets: "7,8_[1,3-5],9". */
static bool next_ref(const char **rest, struct span *ret)
{
    const char *p = *rest;
    int depth = 0;
    while (*p == ',' || *p == ' ')
        p++;
    ret->data = p;
    for (; *p && (*p != ',' || depth > 0); p++)
        depth += (*p == '[') - (*p == ']');
    ret->len = (size_t)(p - ret->data);
    *rest = p;
    return ret->len > 0;
}

static bool read_refs(struct job_filter *f, const char *text, struct err *ret_err)
{
    struct span piece;
    while (text && next_ref(&text, &piece)) {
        struct job_ref ref = {0};
        char *word = xstrndup(piece.data, piece.len);
        bool good = job_ref_parse(word, &ref, ret_err);
        free(word);
        if (!good)
            return false;
        vec_push(&f->refs, ref);
    }
    if (f->refs.n)
        qsort(f->refs.v, f->refs.n, sizeof f->refs.v[0], ref_compare);
    return true;
}

static bool read_uids(struct job_filter *f, const char *text, struct err *ret_err)
{
    text_list words = {0};
    bool good = true;
    list_read(&words, text);
    for (size_t i = 0; good && i < words.n; i++) {
        uint64_t uid = 0;
        good = text_to_u64(words.v[i], UINT32_MAX, &uid);
        if (good)
            vec_push(&f->uids, (uint32_t)uid);
        else
            err_set(ret_err, ERR_INVALID, "uid '%s' is no number of a user", words.v[i]);
    }
    list_done(&words);
    return good;
}

static bool read_states(struct job_filter *f, const char *text, struct err *ret_err)
{
    text_list words = {0};
    bool good = true;
    list_read(&words, text);
    for (size_t i = 0; good && i < words.n; i++) {
        int32_t state = -1;
        if (text_is_nocase(words.v[i], "all")) {
            f->by_state = false;
            break;
        }
        good = job_state_parse(words.v[i], &state);
        if (!good)
            err_set(ret_err, ERR_INVALID, "unknown job state '%s'", words.v[i]);
        f->by_state = true;
        if (good && state >= 0)
            f->states |= UINT32_C(1) << state;
    }
    list_done(&words);
    return good;
}

bool job_filter_init(struct job_filter *f, const struct msg_query *q, struct err *ret_err)
{
    *f = (struct job_filter){.from_us = q->from_us, .to_us = q->to_us ? q->to_us : INT64_MAX};
    f->window = q->from_us || q->to_us;
    f->exact = q->exact;
    list_read(&f->partitions, q->partitions);
    list_read(&f->names, q->names);
    list_read(&f->accounts, q->accounts);
    list_read(&f->qos, q->qos);
    return read_refs(f, q->ids, ret_err) && read_uids(f, q->uids, ret_err) &&
           read_states(f, q->states, ret_err) &&
           (text_empty(q->nodes) || hostlist_parse(&f->nodes, q->nodes, ret_err));
}

void job_filter_done(struct job_filter *f)
{
    for (size_t i = 0; i < f->refs.n; i++)
        job_ref_done(&f->refs.v[i]);
    vec_done(&f->refs);
    vec_done(&f->uids);
    list_done(&f->partitions);
    list_done(&f->names);
    list_done(&f->accounts);
    list_done(&f->qos);
    hostlist_done(&f->nodes);
}

/* ---- matching ---- */

static bool pending_has(const struct job *j, const struct job_ref *r)
{
    struct idset pending = IDSET_INIT;
    bool has = false;
    if (!j->array_pending || !idset_parse(&pending, j->array_pending, LIMIT_ARRAY_INDEX, NULL))
        return false;
    if (r->task_id != NO_TASK)
        has = idset_has(&pending, r->task_id);
    uint32_t task = 0;
    for (bool more = idset_first(&r->tasks, &task); more && !has;
         more = idset_next(&r->tasks, task, &task))
        has = idset_has(&pending, task);
    idset_done(&pending);
    return has;
}

/* The job has this id, is an element of the array or a component of the heterogeneous job. */
static bool ref_means(const struct job_ref *r, const struct job *j)
{
    if (r->het_offset >= 0)
        return j->het_job_id == r->job_id && j->het_offset == (uint32_t)r->het_offset;
    if (r->task_id == NO_TASK && r->tasks.count == 0)
        return true;
    if (j->array_job_id != r->job_id)
        return false;
    if (j->array_task_id == NO_TASK)
        return pending_has(j, r);
    return r->task_id == j->array_task_id || idset_has(&r->tasks, j->array_task_id);
}

static bool refs_have(const struct job_filter *f, const struct job *j, uint64_t id)
{
    size_t low = 0, high = f->refs.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->refs.v[middle].job_id < id)
            low = middle + 1;
        else
            high = middle;
    }
    for (; id && low < f->refs.n && f->refs.v[low].job_id == id; low++)
        if (ref_means(&f->refs.v[low], j))
            return true;
    return false;
}

static bool matches_ids(const struct job_filter *f, const struct job *j)
{
    if (f->refs.n == 0 || refs_have(f, j, j->id))
        return true;
    return !f->exact && (refs_have(f, j, j->array_job_id) || refs_have(f, j, j->het_job_id));
}

static bool matches_uid(const struct job_filter *f, const struct job *j)
{
    for (size_t i = 0; i < f->uids.n; i++)
        if (f->uids.v[i] == j->user_id)
            return true;
    return f->uids.n == 0;
}

/* The partition it runs or ran in; before that, any it asked for. */
static bool matches_partition(const struct job_filter *f, const struct job *j)
{
    if (f->partitions.n == 0)
        return true;
    if (j->run_partition)
        return text_list_has(&f->partitions, j->run_partition);
    text_list asked = {0};
    bool has = false;
    list_read(&asked, j->spec.req.partition);
    for (size_t i = 0; i < asked.n && !has; i++)
        has = text_list_has(&f->partitions, asked.v[i]);
    list_done(&asked);
    return has;
}

static bool matches_nodes(const struct job_filter *f, const struct job *j)
{
    struct hostlist nodes = HOSTLIST_INIT;
    if (f->nodes.n == 0)
        return true;
    if (text_empty(j->nodes) || !hostlist_parse(&nodes, j->nodes, NULL))
        return false;
    bool has = false;
    for (size_t i = 0; i < nodes.n && !has; i++)
        has = hostlist_has(&f->nodes, nodes.name[i]);
    hostlist_done(&nodes);
    return has;
}

/* When the record stopped changing; INT64_MAX while it lives. */
static int64_t end_of(const struct job *j, bool former)
{
    return former || job_state_over((enum job_state)j->state) ? j->end_us : INT64_MAX;
}

static bool lived(const struct job_filter *f, const struct job *j, bool former)
{
    return j->submit_us <= f->to_us && end_of(j, former) >= f->from_us;
}

static bool was_pending(const struct job_filter *f, const struct job *j, int64_t end)
{
    int64_t until = j->start_us ? j->start_us : end;
    return j->eligible_us && j->eligible_us <= f->to_us && until >= f->from_us;
}

static bool was_running(const struct job_filter *f, const struct job *j, int64_t end)
{
    return j->start_us && j->start_us <= f->to_us && end >= f->from_us;
}

static bool was_in_state(const struct job_filter *f, const struct job *j, bool former)
{
    int64_t end = end_of(j, former);
    if (f->states >> JOB_PENDING & 1 && was_pending(f, j, end))
        return true;
    if (f->states >> JOB_RUNNING & 1 && was_running(f, j, end))
        return true;
    if (j->state == JOB_PENDING || j->state == JOB_RUNNING || !(f->states >> j->state & 1))
        return false;
    return end == INT64_MAX || end <= f->to_us;
}

static bool matches_time(const struct job_filter *f, const struct job *j, bool former)
{
    if (!f->window)
        return !f->by_state || (f->states >> j->state & 1);
    return lived(f, j, former) && (!f->by_state || was_in_state(f, j, former));
}

bool job_filter_matches(const struct job_filter *f, const struct job *j, bool former)
{
    return matches_time(f, j, former) && matches_uid(f, j) && matches_ids(f, j) &&
           matches_partition(f, j) && (f->names.n == 0 || text_list_has(&f->names, j->spec.name)) &&
           (f->accounts.n == 0 || text_list_has(&f->accounts, j->spec.req.account)) &&
           (f->qos.n == 0 || text_list_has(&f->qos, j->spec.req.qos)) && matches_nodes(f, j);
}
