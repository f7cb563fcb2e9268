/* The live queue as a workload: when would it all start? */
#include "base/alloc.h"
#include "base/duration.h"
#include "base/map.h"
#include "sim/replay/accounting.h"
#include "sim/replay/table.h"

#include <stdio.h>
#include <string.h>

#define UNLIMITED_S (INT64_C(365) * 86400)
#define LEAST_S     60 /* what a job that is past its limit is still given */

struct squeue_lines {
    const struct text_table *t;
    struct trace *trace;
    struct map_str *users;
    int64_t now;
    size_t id, user, account, partition, state, submit, start, limit, used, cpus, nodes, tres,
        nodelist, reason, feature;
};

static bool columns_find(struct squeue_lines *s, struct err *ret_err)
{
    const struct text_table *t = s->t;
    const struct {
        const char *names;
        size_t *at;
        bool needed;
    } columns[] = {{"JOBID|JOBARRAYID", &s->id, true},
                   {"USER|USERNAME", &s->user, false},
                   {"ACCOUNT", &s->account, false},
                   {"PARTITION", &s->partition, false},
                   {"STATE", &s->state, true},
                   {"SUBMIT_TIME|SUBMITTIME", &s->submit, true},
                   {"START_TIME|STARTTIME", &s->start, false},
                   {"TIME_LIMIT|TIMELIMIT", &s->limit, true},
                   {"TIME|TIMEUSED", &s->used, true},
                   {"CPUS|NUMCPUS|MIN_CPUS", &s->cpus, true},
                   {"NODES|NUMNODES", &s->nodes, false},
                   {"TRES_ALLOC|TRES|TRES-ALLOC", &s->tres, false},
                   {"NODELIST", &s->nodelist, true},
                   {"REASON", &s->reason, false},
                   {"FEATURES|FEATURE", &s->feature, false}};
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        *columns[i].at = table_column(t, columns[i].names);
        if (columns[i].needed && *columns[i].at == NO_COLUMN)
            return err_set(
                ret_err, ERR_INVALID,
                "the column %s is missing. Get the table with: SLURM_TIME_FORMAT=%%s squeue -ar "
                "--Format='" SQUEUE_FORMAT "'",
                columns[i].names);
    }
    return true;
}

static const char *text_of(struct squeue_lines *s, size_t row, size_t column)
{
    static const char *const none[] = {"", "(null)", "N/A"};
    const char *cell = table_cell(s->t, row, column);
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        if (text_is(cell, none[i]))
            return NULL;
    return arena_strdup(s->trace->text, cell);
}

static bool span_read(struct squeue_lines *s, size_t row, size_t column, int64_t *ret_s,
                      struct err *ret_err)
{
    const char *cell = table_cell(s->t, row, column);
    int64_t us = 0;
    if (text_is(cell, "NOT_SET") || text_is(cell, "INVALID") || text_is(cell, "")) {
        *ret_s = 0;
        return true;
    }
    if (!duration_parse(cell, &us, ret_err))
        return err_prefix(ret_err, "line %zu, %s", s->t->line.v[row], s->t->column.v[column]);
    *ret_s = us == TIME_UNLIMITED ? UNLIMITED_S : us / USEC_PER_SEC;
    return true;
}

/* What no planner can start: held, or waiting for something else than room. */
static bool waits_for_more(const char *reason)
{
    return text_starts(reason, "JobHeld") || text_starts(reason, "Dependency") ||
           text_starts(reason, "BeginTime") || text_is(reason, "job_requeued_in_held_state") ||
           text_starts(reason, "launch_failed_requeued_held");
}

static bool counts(const char *state, const char *reason)
{
    return text_is(state, "RUNNING") || text_is(state, "CONFIGURING") || text_is(state, "R") ||
           text_is(state, "CF") ||
           ((text_is(state, "PENDING") || text_is(state, "PD")) && !waits_for_more(reason));
}

static int64_t user_number(struct squeue_lines *s, const char *name)
{
    if (!name)
        return -1;
    const char *key;
    void **slot = map_str_slot(s->users, name, true, &key);
    if (!*slot)
        *slot = (void *)(uintptr_t)(map_str_count(s->users));
    return (int64_t)(uintptr_t)*slot;
}

static bool row_take(struct squeue_lines *s, size_t row, struct err *ret_err)
{
    struct trace_job j = {.id = (int64_t)s->t->line.v[row], .queue = -1, .started = -1};
    const char *state = table_cell(s->t, row, s->state), *tres = table_cell(s->t, row, s->tres);
    bool waits = text_starts(state, "P");
    int64_t used = 0, limit = 0;
    if (!counts(state, table_cell(s->t, row, s->reason))) {
        s->trace->dropped.still++;
        return true;
    }
    if (!site_time(table_cell(s->t, row, s->submit), &j.submit, ret_err) ||
        !span_read(s, row, s->limit, &limit, ret_err) ||
        !span_read(s, row, s->used, &used, ret_err))
        return err_prefix(ret_err, "line %zu", s->t->line.v[row]);
    limit = limit > 0 && limit < UNLIMITED_S ? limit : UNLIMITED_S;
    if (!text_to_i64(table_cell(s->t, row, s->cpus), 1, INT32_MAX, &j.procs))
        j.procs = site_tres(tres, "cpu");
    if (!text_to_i64(table_cell(s->t, row, s->nodes), 0, INT32_MAX, &j.nodes))
        j.nodes = 0;
    j.label = text_of(s, row, s->id);
    j.user_name = text_of(s, row, s->user);
    j.user = user_number(s, j.user_name);
    j.account = text_of(s, row, s->account);
    j.partition = text_of(s, row, s->partition);
    j.mem_mib = site_tres(tres, "mem");
    j.gpus = site_tres(tres, "gres/gpu");
    j.gpu_type = site_gpu_type(tres, s->trace->text);
    j.constraint = waits ? text_of(s, row, s->feature) : NULL;
    j.nodelist = waits ? NULL : text_of(s, row, s->nodelist);
    if (!waits && !j.nodelist) {
        s->trace->dropped.still++;
        return true;
    }
    j.submit = j.submit < 0 || j.submit > s->now ? s->now : j.submit;
    /* A running job is given the rest of its limit; that is set right when the trace's first second
     * is known. */
    j.run = waits ? limit : limit > used + LEAST_S ? limit - used : LEAST_S;
    vec_push(&s->trace->job, j);
    return true;
}

/* What runs is started one second before the first that waits was submitted, and nothing else is
 * until now. */
static void times_set(struct squeue_lines *s)
{
    struct trace *t = s->trace;
    int64_t first = s->now;
    for (size_t i = 0; i < t->job.n; i++)
        if (!t->job.v[i].nodelist && t->job.v[i].submit < first)
            first = t->job.v[i].submit;
    t->epoch = first - 1;
    t->live_at = s->now - t->epoch;
    for (size_t i = 0; i < t->job.n; i++) {
        struct trace_job *j = &t->job.v[i];
        j->submit = j->nodelist ? 0 : j->submit - t->epoch;
        j->run += j->nodelist ? t->live_at : 0;
        j->estimate = j->run;
    }
}

/* The moment at which a saved queue was looked at: when a running job had run for as long as it
 * says, or else the last submission. */
static bool moment_find(struct squeue_lines *s, struct err *ret_err)
{
    for (size_t row = 0; row < s->t->rows; row++) {
        int64_t start, submit, used;
        bool runs = text_starts(table_cell(s->t, row, s->state), "R");
        if (!site_time(table_cell(s->t, row, s->start), &start, ret_err) ||
            !site_time(table_cell(s->t, row, s->submit), &submit, ret_err) ||
            !span_read(s, row, s->used, &used, ret_err))
            return err_prefix(ret_err, "line %zu", s->t->line.v[row]);
        if (runs && start >= 0 && start + used > s->now)
            s->now = start + used;
        if (submit > s->now)
            s->now = submit;
    }
    return true;
}

static char *squeue_output(struct err *ret_err)
{
    struct str text = STR_INIT;
    char piece[4096];
    size_t n;
    FILE *from = popen("SLURM_TIME_FORMAT=%s squeue -a -r --Format='" SQUEUE_FORMAT "'", "r");
    while (from && (n = fread(piece, 1, sizeof piece, from)) > 0)
        str_addn(&text, piece, n);
    if (!from || pclose(from) != 0 || text.len == 0) {
        str_done(&text);
        err_set(ret_err, ERR_UNAVAILABLE,
                "squeue did not tell the queue: is the cluster up, and squeue in PATH?");
        return NULL;
    }
    return str_take(&text);
}

/* squeue fills its columns with blanks. */
static void cells_trim(struct text_table *t)
{
    for (size_t i = 0; i < t->cell.n + t->column.n; i++) {
        char **cell = i < t->cell.n ? &t->cell.v[i] : &t->column.v[i - t->cell.n];
        *cell += strspn(*cell, " ");
        for (size_t n = strlen(*cell); n > 0 && (*cell)[n - 1] == ' '; n--)
            (*cell)[n - 1] = '\0';
    }
}

bool squeue_parse(struct text_table *t, int64_t now_s, struct trace *ret, struct err *ret_err)
{
    struct squeue_lines s = {.t = t, .trace = ret, .now = now_s, .users = map_str_new()};
    *ret = (struct trace){.name = xstrdup("queue"), .site = true, .text = arena_new()};
    cells_trim(t);
    bool ok = columns_find(&s, ret_err) && (now_s > 0 || moment_find(&s, ret_err));
    for (size_t row = 0; ok && row < t->rows; row++)
        ok = row_take(&s, row, ret_err);
    map_str_free(s.users);
    if (ok)
        times_set(&s);
    trace_sort(ret);
    if (!ok)
        trace_done(ret);
    return ok;
}

bool squeue_read(const char *path, int64_t now_s, struct trace *ret, struct err *ret_err)
{
    struct text_table t;
    *ret = (struct trace){0};
    char *text = path ? NULL : squeue_output(ret_err);
    if (path ? !table_read(path, '|', &t, ret_err) : !text || !table_parse(text, '|', &t, ret_err))
        return false;
    bool ok = squeue_parse(&t, path ? 0 : now_s, ret, ret_err) ||
              err_prefix(ret_err, "%s", path ? path : "squeue");
    table_done(&t);
    return ok;
}
