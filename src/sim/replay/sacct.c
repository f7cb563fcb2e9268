/* Accounting as a workload. What counts is when a job could have started (Eligible: dependencies
 * met, begin time come), what it asked, and how long it ran; and when it really started, to compare
 * with. */
#include "base/alloc.h"
#include "base/duration.h"
#include "base/map.h"
#include "sim/replay/accounting.h"
#include "sim/replay/table.h"

#include <string.h>

#define SPAN_MAX_S  (INT64_C(1) << 33)
#define UNLIMITED_S (INT64_C(365) * 86400) /* the limit of a job without one */

struct sacct_lines {
    const struct text_table *t;
    struct trace *trace;
    struct map_str *users;
    size_t id, submit, eligible, start, end, elapsed_raw, elapsed, limit_raw, limit, cpus,
        alloc_cpus, nodes, mem, tres, user, account, partition, state, constraints;
};

static bool columns_find(struct sacct_lines *s, struct err *ret_err)
{
    const struct text_table *t = s->t;
    s->id = table_column(t, "JobID|JobIDRaw");
    s->submit = table_column(t, "Submit");
    s->eligible = table_column(t, "Eligible");
    s->start = table_column(t, "Start");
    s->end = table_column(t, "End");
    s->elapsed_raw = table_column(t, "ElapsedRaw");
    s->elapsed = table_column(t, "Elapsed");
    s->limit_raw = table_column(t, "TimelimitRaw");
    s->limit = table_column(t, "Timelimit");
    s->cpus = table_column(t, "ReqCPUS|NCPUS");
    s->alloc_cpus = table_column(t, "AllocCPUS|NCPUS");
    s->nodes = table_column(t, "ReqNodes|NNodes|AllocNodes");
    s->mem = table_column(t, "ReqMem");
    s->tres = table_column(t, "ReqTRES|AllocTRES");
    s->user = table_column(t, "User|UID");
    s->account = table_column(t, "Account");
    s->partition = table_column(t, "Partition");
    s->state = table_column(t, "State");
    s->constraints = table_column(t, "Constraints");
    bool ran = s->elapsed_raw != NO_COLUMN || s->elapsed != NO_COLUMN ||
               (s->start != NO_COLUMN && s->end != NO_COLUMN);
    bool wide = s->cpus != NO_COLUMN || s->alloc_cpus != NO_COLUMN || s->tres != NO_COLUMN;
    if (s->id != NO_COLUMN && s->submit != NO_COLUMN && ran && wide)
        return true;
    return err_set(
        ret_err, ERR_INVALID,
        "a column is missing: %s. Get the table with: SLURM_TIME_FORMAT=%%s sacct -aXP -S "
        "2026-10-01 -E 2026-11-01 --format=" SACCT_FORMAT,
        s->id == NO_COLUMN       ? "JobID"
        : s->submit == NO_COLUMN ? "Submit"
        : !ran                   ? "ElapsedRaw"
                                 : "ReqCPUS");
}

static bool cell_time(const struct sacct_lines *s, size_t row, size_t column, int64_t *ret,
                      struct err *ret_err)
{
    if (site_time(table_cell(s->t, row, column), ret, ret_err))
        return true;
    return err_prefix(ret_err, "line %zu, %s", s->t->line.v[row], s->t->column.v[column]);
}

static bool cell_span(const struct sacct_lines *s, size_t row, size_t column, int64_t *ret_s,
                      struct err *ret_err)
{
    const char *cell = table_cell(s->t, row, column);
    int64_t us = 0;
    *ret_s = 0;
    if (*cell == '\0' || text_is_nocase(cell, "Partition_Limit") || text_is_nocase(cell, "INVALID"))
        return true;
    if (!duration_parse(cell, &us, ret_err))
        return err_prefix(ret_err, "line %zu, %s", s->t->line.v[row], s->t->column.v[column]);
    *ret_s = us == TIME_UNLIMITED ? UNLIMITED_S : us / USEC_PER_SEC;
    return true;
}

static bool run_read(const struct sacct_lines *s, size_t row, int64_t start, int64_t end,
                     int64_t *ret, struct err *ret_err)
{
    if (s->elapsed_raw != NO_COLUMN)
        return table_number(s->t, row, s->elapsed_raw, ret, ret_err);
    if (s->elapsed != NO_COLUMN)
        return cell_span(s, row, s->elapsed, ret, ret_err);
    *ret = start >= 0 && end >= start ? end - start : 0;
    return true;
}

static bool limit_read(const struct sacct_lines *s, size_t row, int64_t *ret, struct err *ret_err)
{
    int64_t minutes = 0;
    const char *raw = table_cell(s->t, row, s->limit_raw);
    *ret = 0;
    if (text_is_nocase(raw, "UNLIMITED")) {
        *ret = UNLIMITED_S;
    } else if (*raw >= '0' && *raw <= '9') {
        if (!table_number(s->t, row, s->limit_raw, &minutes, ret_err))
            return false;
        *ret = minutes * 60;
    } else {
        return cell_span(s, row, s->limit, ret, ret_err);
    }
    return true;
}

/* A number of the cell if it is one and not 0. */
static int64_t count_of(const struct sacct_lines *s, size_t row, size_t column)
{
    int64_t n = 0;
    return text_to_i64(table_cell(s->t, row, column), 0, INT32_MAX, &n) ? n : 0;
}

static int64_t user_number(struct sacct_lines *s, const char *name, const char **ret_name)
{
    if (*name == '\0')
        return -1;
    const char *key;
    void **slot = map_str_slot(s->users, name, true, &key);
    if (!*slot)
        *slot = (void *)(uintptr_t)(map_str_count(s->users));
    *ret_name = arena_strdup(s->trace->text, name);
    return (int64_t)(uintptr_t)*slot;
}

static const char *text_of(const struct sacct_lines *s, size_t row, size_t column)
{
    const char *cell = table_cell(s->t, row, column);
    return *cell ? arena_strdup(s->trace->text, cell) : NULL;
}

static bool ended(const char *state)
{
    static const char *const still[] = {"PENDING",    "RUNNING",  "SUSPENDED", "CONFIGURING",
                                        "COMPLETING", "RESIZING", "REQUEUED",  "REQUEUE_HOLD"};
    for (size_t i = 0; i < ARRAY_LEN(still); i++)
        if (text_is_nocase(state, still[i]))
            return false;
    return true;
}

static bool row_take(struct sacct_lines *s, size_t row, struct err *ret_err)
{
    const char *tres = table_cell(s->t, row, s->tres);
    struct trace_job j = {.id = (int64_t)s->t->line.v[row], .user = -1, .queue = -1};
    int64_t eligible, end;
    if (strchr(table_cell(s->t, row, s->id), '.'))
        return true;
    if (!ended(table_cell(s->t, row, s->state))) {
        s->trace->dropped.still++;
        return true;
    }
    if (!cell_time(s, row, s->submit, &j.submit, ret_err) ||
        !cell_time(s, row, s->eligible, &eligible, ret_err) ||
        !cell_time(s, row, s->start, &j.started, ret_err) ||
        !cell_time(s, row, s->end, &end, ret_err) ||
        !run_read(s, row, j.started, end, &j.run, ret_err) ||
        !limit_read(s, row, &j.estimate, ret_err))
        return false;
    j.run = j.run < SPAN_MAX_S ? j.run : SPAN_MAX_S;
    j.estimate = j.estimate > SPAN_MAX_S ? SPAN_MAX_S : j.estimate > 0 ? j.estimate : j.run;
    j.submit = eligible > j.submit ? eligible : j.submit;
    j.procs = count_of(s, row, s->cpus);
    if (j.procs == 0)
        j.procs = count_of(s, row, s->alloc_cpus);
    if (j.procs == 0)
        j.procs = site_tres(tres, "cpu");
    j.nodes = count_of(s, row, s->nodes);
    if (j.nodes == 0)
        j.nodes = site_tres(tres, "node");
    j.mem_mib = site_memory(table_cell(s->t, row, s->mem), j.procs, j.nodes);
    if (j.mem_mib == 0)
        j.mem_mib = site_tres(tres, "mem");
    j.gpus = site_tres(tres, "gres/gpu");
    j.gpu_type = site_gpu_type(tres, s->trace->text);
    j.label = text_of(s, row, s->id);
    j.account = text_of(s, row, s->account);
    j.partition = text_of(s, row, s->partition);
    j.constraint = text_of(s, row, s->constraints);
    j.user = user_number(s, table_cell(s->t, row, s->user), &j.user_name);
    vec_push(&s->trace->job, j);
    return true;
}

/* The first submission is second 0. */
static void times_shift(struct trace *t)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < t->job.n; i++)
        if (t->job.v[i].submit >= 0 && t->job.v[i].submit < first)
            first = t->job.v[i].submit;
    for (size_t i = 0; i < t->job.n; i++) {
        t->job.v[i].submit -= first;
        if (t->job.v[i].started >= 0)
            t->job.v[i].started -= first;
    }
    t->epoch = t->job.n ? first : 0;
}

bool sacct_parse(const struct text_table *t, struct trace *ret, struct err *ret_err)
{
    struct sacct_lines s = {.t = t, .trace = ret, .users = map_str_new()};
    *ret = (struct trace){.site = true, .text = arena_new()};
    bool ok = columns_find(&s, ret_err);
    for (size_t row = 0; ok && row < t->rows; row++)
        ok = row_take(&s, row, ret_err);
    map_str_free(s.users);
    times_shift(ret);
    trace_sort(ret);
    if (!ok)
        trace_done(ret);
    return ok;
}

bool sacct_read(const char *path, struct trace *ret, struct err *ret_err)
{
    struct text_table t;
    *ret = (struct trace){0};
    if (!table_read(path, '|', &t, ret_err))
        return false;
    bool ok = sacct_parse(&t, ret, ret_err) || err_prefix(ret_err, "%s", path);
    table_done(&t);
    if (ok)
        ret->name = text_is(path, "-") ? xstrdup("sacct") : trace_name(path);
    return ok;
}
