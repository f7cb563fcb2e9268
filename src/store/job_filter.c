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
#include "base/hostlist.h"
#include "base/str.h"
#include "model/limits.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading the query ---- */

static void word_add(struct filter_words *w, const char *word)
{
    const char *own;
    if (!w->of)
        w->of = map_str_new();
    void **slot = map_str_slot(w->of, word, true, &own);
    if (!*slot)
        vec_push(&w->word, own);
    *slot = w->of;
}

static void words_read(struct filter_words *w, const char *text)
{
    struct span rest = span_of(text), piece;
    struct str word = STR_INIT;
    while (span_next(&rest, ',', &piece)) {
        piece = span_trim(piece);
        str_clear(&word);
        str_addn(&word, piece.data, piece.len);
        if (word.len)
            word_add(w, str_text(&word));
    }
    str_done(&word);
}

static void words_done(struct filter_words *w)
{
    vec_done(&w->word);
    map_str_free(w->of);
    w->of = NULL;
}

static bool words_have(const struct filter_words *w, const char *text)
{
    return !w->of || (text && map_str_get(w->of, text));
}

static bool names_elements(const struct job_ref *r)
{
    return r->het_offset < 0 && (r->task_id != NO_TASK || r->tasks.count > 0);
}

/* By the job; elements of it last, and sets of them behind those that are named alone. */
static int ref_compare(const void *a, const void *b)
{
    const struct job_ref *x = a, *y = b;
    if (x->job_id != y->job_id)
        return x->job_id < y->job_id ? -1 : 1;
    int elements = names_elements(x) - names_elements(y);
    return elements ? elements : (x->tasks.count > 0) - (y->tasks.count > 0);
}

static int uid_compare(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
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

/* How many, from this one on, name elements of the same array, each one or each a set. */
static size_t elements_from(const struct job_filter *f, size_t i)
{
    size_t end = i;
    while (end < f->refs.n && names_elements(&f->refs.v[end]) &&
           ref_compare(&f->refs.v[i], &f->refs.v[end]) == 0)
        end++;
    return end - i;
}

/* The first of n stands for all; false: they would be too many members (idset_parse). */
static bool elements_join(struct job_ref *r, size_t n)
{
    struct str text = STR_INIT;
    struct idset all = IDSET_INIT;
    for (size_t i = 0; i < n; i++) {
        str_add(&text, i ? "," : "");
        if (r[i].task_id != NO_TASK)
            str_add_u64(&text, r[i].task_id);
        else
            idset_format(&r[i].tasks, &text);
    }
    bool joined = idset_parse(&all, str_text(&text), LIMIT_ARRAY_INDEX, NULL);
    str_done(&text);
    for (size_t i = 0; joined && i < n; i++)
        job_ref_done(&r[i]);
    if (joined) {
        r->tasks = all;
        r->task_id = NO_TASK;
    }
    return joined;
}

/* Thousands of elements that are named one by one are one set; sets may be too much for one. */
static void refs_join(struct job_filter *f)
{
    size_t kept = 0, n, stay;
    for (size_t i = 0; i < f->refs.n; i += n ? n : 1) {
        n = elements_from(f, i);
        stay = n < 2 || elements_join(&f->refs.v[i], n) ? 1 : n;
        memmove(&f->refs.v[kept], &f->refs.v[i], stay * sizeof f->refs.v[0]);
        kept += stay;
    }
    f->refs.n = kept;
}

static bool read_refs(struct job_filter *f, const char *text, struct err *ret_err)
{
    struct span piece;
    uint64_t room = LIMIT_REF_RANGES;
    while (text && next_ref(&text, &piece)) {
        struct job_ref ref = {0};
        char *word = xstrndup(piece.data, piece.len);
        bool good = job_ref_parse_within(word, &room, &ref, ret_err);
        free(word);
        if (!good)
            return false;
        vec_push(&f->refs, ref);
    }
    if (f->refs.n)
        qsort(f->refs.v, f->refs.n, sizeof f->refs.v[0], ref_compare);
    refs_join(f);
    return true;
}

static bool read_uids(struct job_filter *f, const char *text, struct err *ret_err)
{
    struct filter_words words = {0};
    bool good = true;
    words_read(&words, text);
    for (size_t i = 0; good && i < words.word.n; i++) {
        uint64_t uid = 0;
        good = text_to_u64(words.word.v[i], UINT32_MAX, &uid);
        if (good)
            vec_push(&f->uids, (uint32_t)uid);
        else
            err_set(ret_err, ERR_INVALID, "uid '%s' is no number of a user", words.word.v[i]);
    }
    words_done(&words);
    if (f->uids.n > 1)
        qsort(f->uids.v, f->uids.n, sizeof f->uids.v[0], uid_compare);
    return good;
}

static bool read_nodes(struct job_filter *f, const char *text, struct err *ret_err)
{
    struct hostlist names = HOSTLIST_INIT;
    bool good = text_empty(text) || hostlist_parse(&names, text, ret_err);
    for (size_t i = 0; good && i < names.n; i++)
        word_add(&f->nodes, names.name[i]);
    hostlist_done(&names);
    return good;
}

static bool read_states(struct job_filter *f, const char *text, struct err *ret_err)
{
    struct filter_words words = {0};
    bool good = true;
    words_read(&words, text);
    for (size_t i = 0; good && i < words.word.n; i++) {
        int32_t state = -1;
        if (text_is_nocase(words.word.v[i], "all")) {
            f->by_state = false;
            break;
        }
        good = job_state_parse(words.word.v[i], &state);
        if (!good)
            err_set(ret_err, ERR_INVALID, "unknown job state '%s'", words.word.v[i]);
        f->by_state = true;
        if (good && state >= 0)
            f->states |= UINT32_C(1) << state;
    }
    words_done(&words);
    return good;
}

bool job_filter_init(struct job_filter *f, const struct msg_query *q, struct err *ret_err)
{
    *f = (struct job_filter){.from_us = q->from_us, .to_us = q->to_us ? q->to_us : INT64_MAX};
    f->window = q->from_us || q->to_us;
    f->exact = q->exact;
    words_read(&f->partitions, q->partitions);
    words_read(&f->names, q->names);
    words_read(&f->accounts, q->accounts);
    words_read(&f->qos, q->qos);
    return read_refs(f, q->ids, ret_err) && read_uids(f, q->uids, ret_err) &&
           read_states(f, q->states, ret_err) && read_nodes(f, q->nodes, ret_err);
}

void job_filter_done(struct job_filter *f)
{
    for (size_t i = 0; i < f->refs.n; i++)
        job_ref_done(&f->refs.v[i]);
    vec_done(&f->refs);
    vec_done(&f->uids);
    words_done(&f->partitions);
    words_done(&f->names);
    words_done(&f->accounts);
    words_done(&f->qos);
    words_done(&f->nodes);
}

/* ---- matching ---- */

/* A record, and its elements that wait, which are read when the first reference asks. */
struct of_job {
    const struct job *j;
    struct idset pending;
    bool read;
};

static bool pending_has(struct of_job *of, const struct job_ref *r)
{
    uint32_t task;
    if (!of->read && of->j->array_pending)
        idset_parse(&of->pending, of->j->array_pending, LIMIT_ARRAY_INDEX, NULL);
    of->read = true;
    return r->task_id != NO_TASK ? idset_has(&of->pending, r->task_id)
                                 : idset_common(&of->pending, &r->tasks, 0, &task);
}

/* The job has this id, is an element of the array or a component of the heterogeneous job. */
static bool ref_means(const struct job_ref *r, struct of_job *of)
{
    const struct job *j = of->j;
    if (r->het_offset >= 0)
        return j->het_job_id == r->job_id && j->het_offset == (uint32_t)r->het_offset;
    if (r->task_id == NO_TASK && r->tasks.count == 0)
        return true;
    if (j->array_job_id != r->job_id)
        return false;
    if (j->array_task_id == NO_TASK)
        return pending_has(of, r);
    return r->task_id == j->array_task_id || idset_has(&r->tasks, j->array_task_id);
}

static bool refs_have(const struct job_filter *f, const struct job *j, uint64_t id)
{
    struct of_job of = {.j = j};
    bool has = false;
    size_t low = 0, high = f->refs.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (f->refs.v[middle].job_id < id)
            low = middle + 1;
        else
            high = middle;
    }
    for (; !has && id && low < f->refs.n && f->refs.v[low].job_id == id; low++)
        has = ref_means(&f->refs.v[low], &of);
    idset_done(&of.pending);
    return has;
}

static bool matches_ids(const struct job_filter *f, const struct job *j)
{
    if (f->refs.n == 0 || refs_have(f, j, j->id))
        return true;
    return !f->exact && (refs_have(f, j, j->array_job_id) || refs_have(f, j, j->het_job_id));
}

static bool matches_uid(const struct job_filter *f, const struct job *j)
{
    return f->uids.n == 0 ||
           bsearch(&j->user_id, f->uids.v, f->uids.n, sizeof f->uids.v[0], uid_compare);
}

/* The partition it runs or ran in; before that, any it asked for. */
static bool matches_partition(const struct job_filter *f, const struct job *j)
{
    if (!f->partitions.of || j->run_partition)
        return words_have(&f->partitions, j->run_partition);
    struct filter_words asked = {0};
    bool has = false;
    words_read(&asked, j->spec.req.partition);
    for (size_t i = 0; i < asked.word.n && !has; i++)
        has = words_have(&f->partitions, asked.word.v[i]);
    words_done(&asked);
    return has;
}

static bool matches_nodes(const struct job_filter *f, const struct job *j)
{
    struct hostlist nodes = HOSTLIST_INIT;
    if (!f->nodes.of)
        return true;
    if (text_empty(j->nodes) || !hostlist_parse(&nodes, j->nodes, NULL))
        return false;
    bool has = false;
    for (size_t i = 0; i < nodes.n && !has; i++)
        has = words_have(&f->nodes, nodes.name[i]);
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
           matches_partition(f, j) && words_have(&f->names, j->spec.name) &&
           words_have(&f->accounts, j->spec.req.account) && words_have(&f->qos, j->spec.req.qos) &&
           matches_nodes(f, j);
}
