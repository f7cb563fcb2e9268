/* The operations of store.h in terms of what a kind of store can do: cursors over rows in key
 * order. */
#include "store/store.h"

#include "base/alloc.h"
#include "base/str.h"
#include "model/limits.h"
#include "store/awaited.h"
#include "store/job_filter.h"
#include "store/store_ops.h"
#include "store/used/tally.h"

#include <string.h>

size_t table_key(enum store_table table, const struct field *ret[KEY_FIELDS_MAX])
{
    ASSERT(table < STORE_TABLE_COUNT);
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

void table_names(struct str *out)
{
    for (size_t i = 0; i < STORE_TABLE_COUNT; i++)
        str_addf(out, "%s%s", i ? "," : "", store_table_rows[i].name);
}

bool job_is_recent(const struct job *j, int64_t ended_after_us)
{
    return !job_state_over((enum job_state)j->state) || j->end_us >= ended_after_us;
}

/* Beside what is recent. Of an array or a company its row alone does not say whether. */
static bool may_be_wanted(const struct job *j)
{
    return j->array_job_id || j->het_job_id || j->cron;
}

bool scan_wants(const struct scan *scan, const void *record)
{
    ASSERT(scan->table < STORE_TABLE_COUNT && record);
    switch (scan->table) {
    case TABLE_JOB:
        if (scan->live_only && !job_is_recent(record, scan->ended_after_us) &&
            !(scan->whole_jobs && may_be_wanted(record)))
            return false;
        return !scan->filter || job_filter_matches(scan->filter, record, false);
    case TABLE_JOB_PART:
    case TABLE_JOB_RUN: return !scan->filter || job_filter_matches(scan->filter, record, true);
    case TABLE_NODE_SPELL:
        return !scan->live_only || ((const struct node_spell *)record)->end_us == 0;
    case TABLE_STEP: return !scan->of_job || ((const struct step *)record)->job_id == scan->job_id;
    case TABLE_PAYLOAD:
        return !scan->of_job || ((const struct payload *)record)->job_id == scan->job_id;
    case TABLE_NODE:
    case TABLE_PARTITION:
    case TABLE_RESERVATION:
    case TABLE_META:
    case TABLE_USAGE:
    case TABLE_USE:
    case TABLE_QUEUED_STEP:
    case TABLE_TOKEN:
    case TABLE_HOST:
    case TABLE_ACCOUNT:
    case TABLE_ACCOUNT_USER:
    case TABLE_ASSOC:
    case TABLE_QOS:
    case TABLE_LIMIT:
    case TABLE_WCKEY:
    case TABLE_TRES:
    case TABLE_TRANSACTION:
    case TABLE_PAST_RESERVATION:
    case TABLE_USED_HOUR:
    case TABLE_CRONTAB:
    case TABLE_TRIGGER:
    case TABLE_ANSWERED:
    case TABLE_LEFT_OUT:
    case STORE_TABLE_COUNT: break;
    }
    return true;
}

/* ---- cursors ---- */

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

/* By id and start; of one start the parts before it gave nodes back, the whole as it was requeued,
 * the job itself. Last, what tells which start is the newest that is wanted: the run after the one
 * at hand. */
enum history { HISTORY_PARTS, HISTORY_RUNS, HISTORY_JOBS, HISTORY_COUNT };
enum { HISTORY_NEXT_RUN = HISTORY_COUNT, HISTORY_CURSORS };

struct store_merge {
    struct cursor *from[HISTORY_CURSORS];
    const struct job *head[HISTORY_CURSORS];
    bool former, failed; /* all starts are wanted */
};

static int merge_first(const struct store_merge *m)
{
    int first = -1;
    for (int i = 0; i < HISTORY_COUNT; i++)
        if (m->head[i] && (first < 0 || m->head[i]->id < m->head[first]->id ||
                           (m->head[i]->id == m->head[first]->id && i == HISTORY_RUNS &&
                            m->head[i]->attempt < m->head[first]->attempt)))
            first = i;
    return first;
}

static bool is_later(const struct job *other, const struct job *j)
{
    return other && other->id == j->id && other->attempt > j->attempt;
}

/* Of a job's starts the newest is shown that matches, unless all are. */
static bool is_hidden(const struct store_merge *m, int which)
{
    const struct job *j = m->head[which], *job = m->head[HISTORY_JOBS];
    if (m->former || which == HISTORY_JOBS)
        return false;
    if (job && job->id == j->id)
        return which == HISTORY_RUNS || job->attempt != j->attempt;
    return is_later(m->head[HISTORY_PARTS], j) || is_later(m->head[HISTORY_RUNS], j) ||
           is_later(m->head[HISTORY_NEXT_RUN], j);
}

static void merge_next(struct store_merge *m, int which, struct err *ret_err)
{
    if (!m->failed)
        m->head[which] = next_wanted(m->from[which], &m->failed, ret_err);
}

static void merge_all(struct store_merge *m, store_row_fn fn, void *ctx, struct err *ret_err)
{
    for (int i = 0; i < HISTORY_CURSORS; i++)
        merge_next(m, i, ret_err);
    merge_next(m, HISTORY_NEXT_RUN, ret_err);
    for (int first; !m->failed && (first = merge_first(m)) >= 0;) {
        if (!is_hidden(m, first))
            fn(ctx, m->head[first]);
        merge_next(m, first, ret_err);
        if (first == HISTORY_RUNS)
            merge_next(m, HISTORY_NEXT_RUN, ret_err);
    }
}

static bool scan_history(struct store *s, const struct job_filter *f, bool former, store_row_fn fn,
                         void *ctx, struct err *ret_err)
{
    static const enum store_table tables[HISTORY_CURSORS] = {[HISTORY_PARTS] = TABLE_JOB_PART,
                                                             [HISTORY_RUNS] = TABLE_JOB_RUN,
                                                             [HISTORY_JOBS] = TABLE_JOB,
                                                             [HISTORY_NEXT_RUN] = TABLE_JOB_RUN};
    struct scan scan[HISTORY_CURSORS];
    struct store_merge m = {.former = former};
    for (int i = 0; i < HISTORY_CURSORS && !m.failed; i++) {
        scan[i] = (struct scan){.table = tables[i], .filter = f};
        m.failed = !(m.from[i] = s->ops->open(s, &scan[i], ret_err));
    }
    if (!m.failed)
        merge_all(&m, fn, ctx, ret_err);
    for (int i = 0; i < HISTORY_CURSORS; i++)
        if (m.from[i])
            s->ops->done(m.from[i]);
    return !m.failed;
}

/* ---- store.h ---- */

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

size_t store_log_pages(const struct store *s)
{
    return s->ops->log_pages ? s->ops->log_pages(s) : 0;
}

void store_log_shorten(struct store *s)
{
    if (s->ops->log_shorten)
        s->ops->log_shorten(s);
}

static void seq_take(void *ctx, const void *record)
{
    const struct meta *m = record;
    if (text_is(m->key, META_SEQ) && m->value)
        text_to_u64(m->value, LIMIT_COUNTED, ctx);
}

bool store_last(struct store *s, uint64_t *ret_seq, struct err *ret_err)
{
    *ret_seq = 0;
    return store_load(s, TABLE_META, false, 0, seq_take, ret_seq, ret_err);
}

struct start {
    struct awaited *awaited;
    store_row_fn fn;
    void *ctx;
};

static void job_give(void *ctx, const void *record)
{
    const struct start *st = ctx;
    awaited_see(st->awaited, record);
    st->fn(st->ctx, record);
}

static void awaited_give(void *ctx, const void *record)
{
    const struct start *st = ctx;
    if (!awaited_has(st->awaited, ((const struct job *)record)->id))
        job_give(ctx, record);
}

static bool load_jobs(struct store *s, const struct scan *scan, store_row_fn fn, void *ctx,
                      struct err *ret_err)
{
    struct start st = {.awaited = awaited_new(), .fn = fn, .ctx = ctx};
    struct job_filter f;
    bool ok = run_scan(s, scan, job_give, &st, ret_err);
    while (ok && awaited_next(st.awaited, &f)) {
        struct scan more = {.table = TABLE_JOB, .filter = &f};
        ok = run_scan(s, &more, awaited_give, &st, ret_err);
        job_filter_done(&f);
    }
    awaited_free(st.awaited);
    return ok;
}

bool store_load(struct store *s, enum store_table table, bool live_only, int64_t ended_after_us,
                store_row_fn fn, void *ctx, struct err *ret_err)
{
    ASSERT(table < STORE_TABLE_COUNT);
    struct scan scan = {.table = table,
                        .live_only = live_only,
                        .ended_after_us = ended_after_us,
                        .whole_jobs = live_only && table == TABLE_JOB};
    return scan.whole_jobs ? load_jobs(s, &scan, fn, ctx, ret_err)
                           : run_scan(s, &scan, fn, ctx, ret_err);
}

bool store_query_jobs(struct store *s, const struct msg_query *q, store_row_fn fn, void *ctx,
                      struct err *ret_err)
{
    ASSERT(fn);
    struct job_filter f;
    bool done =
        job_filter_init(&f, q, ret_err) && scan_history(s, &f, q->duplicates, fn, ctx, ret_err);
    job_filter_done(&f);
    return done;
}

/* ---- what was used ---- */

struct counting {
    struct used_tally *tally;
    const struct job_filter *filter; /* NULL = all */
    int64_t now_us;
    bool parts, live_only;
};

static void job_count(void *ctx, const void *record)
{
    const struct counting *c = ctx;
    struct used_job u;
    const struct job *j = record;
    if ((!c->live_only || !job_state_over((enum job_state)j->state)) &&
        used_job_init(&u, j, c->parts, c->now_us))
        tally_add_job(c->tally, &u);
}

static bool used_scan(struct store *s, enum store_table table, struct counting *c,
                      struct err *ret_err)
{
    struct scan scan = {.table = table,
                        .filter = c->filter,
                        .live_only = c->live_only,
                        .ended_after_us = c->live_only ? INT64_MAX : 0,
                        .started_only = c->live_only};
    c->parts = table == TABLE_JOB_PART;
    return run_scan(s, &scan, job_count, c, ret_err);
}

static bool used_recount(struct store *s, struct counting *c, struct err *ret_err)
{
    return used_scan(s, TABLE_JOB_PART, c, ret_err) && used_scan(s, TABLE_JOB_RUN, c, ret_err) &&
           used_scan(s, TABLE_JOB, c, ret_err);
}

static bool used_give(struct used_tally *t, bool ok, store_row_fn fn, void *ctx)
{
    if (ok)
        tally_give(t, fn, ctx);
    tally_free(t);
    return ok;
}

bool store_recount_used(struct store *s, const struct used_query *q, store_row_fn fn, void *ctx,
                        struct err *ret_err)
{
    ASSERT(fn);
    struct counting c = {.tally = tally_new(q), .now_us = q->now_us};
    struct job_filter f = {0};
    bool ok = !q->jobs || job_filter_init(&f, q->jobs, ret_err);
    if (q->jobs)
        c.filter = &f;
    ok = ok && (q->from_us >= q->to_us || used_recount(s, &c, ret_err));
    job_filter_done(&f);
    return used_give(c.tally, ok, fn, ctx);
}

bool store_query_used(struct store *s, const struct used_query *q, store_row_fn fn, void *ctx,
                      struct err *ret_err)
{
    struct used_query cut = *q;
    struct counting c = {.now_us = q->now_us, .live_only = true};
    bool kept = false;
    if (!s->ops->used || q->jobs || q->from_us >= q->to_us)
        return store_recount_used(s, q, fn, ctx, ret_err);
    if (!s->ops->hold(s, true, ret_err))
        return false;
    bool ok = s->ops->used(s, &cut, &c.tally, &kept, ret_err);
    c.live_only = kept;
    if (ok)
        ok = kept ? used_scan(s, TABLE_JOB, &c, ret_err) : used_recount(s, &c, ret_err);
    s->ops->hold(s, false, NULL);
    return c.tally ? used_give(c.tally, ok, fn, ctx) : ok;
}

bool store_query_past(struct store *s, struct past_query *q, store_past_fn fn, void *ctx,
                      struct err *ret_err)
{
    q->more = false;
    return s->ops->past(s, q, fn, ctx, ret_err);
}

bool store_space(struct store *s, int64_t *ret_bytes, int64_t *ret_free, struct err *ret_err)
{
    *ret_bytes = *ret_free = 0;
    return !s->ops->space || s->ops->space(s, ret_bytes, ret_free, ret_err);
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

bool store_query_steps(struct store *s, uint64_t job_id, uint32_t attempt, store_row_fn fn,
                       void *ctx, struct err *ret_err)
{
    ASSERT(fn && job_id);
    struct scan scan = {.table = TABLE_STEP, .of_job = true, .job_id = job_id};
    struct steps_of of = {.attempt = attempt, .fn = fn, .ctx = ctx};
    return run_scan(s, &scan, pass_step, &of, ret_err);
}

bool store_payload(struct store *s, uint64_t job_id, struct arena *a, struct payload *ret,
                   struct err *ret_err)
{
    ASSERT(job_id);
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
        err_set(ret_err, ERR_NOT_FOUND, "no script of job %llu is stored",
                (unsigned long long)job_id);
    return found != NULL;
}

const char *store_describe(const struct store *s)
{
    return s->description;
}
