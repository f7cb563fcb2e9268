/* The operations of store.h in terms of what a kind of store can do: cursors over rows in key order. */
#include "store/store.h"

#include "base/alloc.h"
#include "base/str.h"
#include "store/job_filter.h"
#include "store/store_ops.h"

#include <string.h>

size_t table_key(enum store_table table, const struct field *ret[KEY_FIELDS_MAX])
{
    const struct store_table_row *row = &store_table_rows[table];
    struct span rest = span_of(row->key), name;
    size_t n = 0;
    while (span_next(&rest, ',', &name)) {
        size_t i = 0;
        while (i < row->fields->n && !span_is(name, row->fields->field[i].name))
            i++;
        CHECK(i < row->fields->n && n < KEY_FIELDS_MAX);
        ret[n++] = &row->fields->field[i];
    }
    return n;
}

bool job_is_recent(const struct job *j, int64_t ended_after_us)
{
    return !job_state_over((enum job_state)j->state) || j->end_us >= ended_after_us;
}

bool scan_wants(const struct scan *scan, const void *record)
{
    switch (scan->table) {
    case TABLE_JOB:
        if (scan->live_only && !job_is_recent(record, scan->ended_after_us))
            return false;
        return !scan->filter || job_filter_matches(scan->filter, record, false);
    case TABLE_JOB_RUN: return !scan->filter || job_filter_matches(scan->filter, record, true);
    case TABLE_STEP: return !scan->of_job || ((const struct step *)record)->job_id == scan->job_id;
    case TABLE_PAYLOAD: return !scan->of_job || ((const struct payload *)record)->job_id == scan->job_id;
    case TABLE_NODE:
    case TABLE_PARTITION:
    case TABLE_RESERVATION:
    case TABLE_META:
    case TABLE_USAGE:
    case TABLE_TOKEN:
    case TABLE_HOST:
    case STORE_TABLE_COUNT: break;
    }
    return true;
}

/* ---- cursors
 * -------------------------------------------------------------------------------------------------------------------
 */

/* The next row the scan wants; NULL at the end or on failure. */
static const void *next_wanted(struct cursor *c, bool *ret_failed, struct err *ret_err)
{
    const void *record;
    do {
        record = c->store->ops->next(c, ret_failed, ret_err);
    } while (record && !scan_wants(c->scan, record));
    return record;
}

static bool run_scan(struct store *s, const struct scan *scan, store_row_fn fn, void *ctx,
                     struct err *ret_err)
{
    bool failed = false;
    const void *record;
    struct cursor *c = s->ops->open(s, scan, ret_err);
    if (!c)
        return false;
    while ((record = next_wanted(c, &failed, ret_err)))
        fn(ctx, record);
    s->ops->done(c);
    return !failed;
}

/* Former runs come before the job itself: by id, then in the order of the starts. */
static bool merge_runs(struct cursor *jobs, struct cursor *runs, store_row_fn fn, void *ctx,
                       struct err *ret_err)
{
    bool failed = false;
    const struct job *job = next_wanted(jobs, &failed, ret_err);
    const struct job *run = failed ? NULL : next_wanted(runs, &failed, ret_err);
    while (!failed && (job || run)) {
        if (run && (!job || run->id <= job->id)) {
            fn(ctx, run);
            run = next_wanted(runs, &failed, ret_err);
        } else {
            fn(ctx, job);
            job = next_wanted(jobs, &failed, ret_err);
        }
    }
    return !failed;
}

static bool scan_jobs_and_runs(struct store *s, const struct job_filter *f, store_row_fn fn, void *ctx,
                               struct err *ret_err)
{
    struct scan of_jobs = {.table = TABLE_JOB, .filter = f}, of_runs = {.table = TABLE_JOB_RUN, .filter = f};
    struct cursor *jobs = s->ops->open(s, &of_jobs, ret_err);
    if (!jobs)
        return false;
    struct cursor *runs = s->ops->open(s, &of_runs, ret_err);
    bool done = runs && merge_runs(jobs, runs, fn, ctx, ret_err);
    if (runs)
        s->ops->done(runs);
    s->ops->done(jobs);
    return done;
}

/* ---- store.h
 * ---------------------------------------------------------------------------------------------------------------------
 */

void store_close(struct store *s)
{
    if (s)
        s->ops->close(s);
}

bool store_commit(struct store *s, const struct batch *b, struct err *ret_err)
{
    return s->ops->commit(s, b, ret_err);
}

bool store_take_epoch(struct store *s, uint64_t *ret_epoch, uint64_t *ret_seq, struct err *ret_err)
{
    return s->ops->take_epoch(s, ret_epoch, ret_seq, ret_err);
}

bool store_load(struct store *s, enum store_table table, bool live_only, int64_t ended_after_us,
                store_row_fn fn, void *ctx, struct err *ret_err)
{
    struct scan scan = {.table = table, .live_only = live_only, .ended_after_us = ended_after_us};
    return run_scan(s, &scan, fn, ctx, ret_err);
}

bool store_query_jobs(struct store *s, const struct msg_query *q, store_row_fn fn, void *ctx,
                      struct err *ret_err)
{
    struct job_filter f;
    struct scan scan = {.table = TABLE_JOB, .filter = &f};
    bool done =
        job_filter_init(&f, q, ret_err) &&
        (q->duplicates ? scan_jobs_and_runs(s, &f, fn, ctx, ret_err) : run_scan(s, &scan, fn, ctx, ret_err));
    job_filter_done(&f);
    return done;
}

struct steps_of {
    uint32_t attempt;
    store_row_fn fn;
    void *ctx;
};

static void pass_step(void *ctx, const void *record)
{
    const struct steps_of *of = ctx;
    if (of->attempt == 0 || ((const struct step *)record)->attempt == of->attempt)
        of->fn(of->ctx, record);
}

bool store_query_steps(struct store *s, uint64_t job_id, uint32_t attempt, store_row_fn fn, void *ctx,
                       struct err *ret_err)
{
    struct scan scan = {.table = TABLE_STEP, .of_job = true, .job_id = job_id};
    struct steps_of of = {.attempt = attempt, .fn = fn, .ctx = ctx};
    return run_scan(s, &scan, pass_step, &of, ret_err);
}

bool store_payload(struct store *s, uint64_t job_id, struct arena *a, struct payload *ret,
                   struct err *ret_err)
{
    struct scan scan = {.table = TABLE_PAYLOAD, .of_job = true, .job_id = job_id};
    bool failed = false;
    struct cursor *c = s->ops->open(s, &scan, ret_err);
    if (!c)
        return false;
    const struct payload *found = next_wanted(c, &failed, ret_err);
    if (found)
        record_copy(&payload_fields, ret, found, a);
    s->ops->done(c);
    if (!found && !failed)
        err_set(ret_err, ERR_NOT_FOUND, "no script of job %llu is stored", (unsigned long long)job_id);
    return found != NULL;
}

const char *store_describe(const struct store *s)
{
    return s->description;
}
