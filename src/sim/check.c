/* remuda-sim check: schedules equal, to the second, to what simulators that are not ours computed.
 * A table of expected starts has a column for each policy, named convention-policy-estimates;
 * reference.csv has a SHA-256 of each whole schedule. Each column or row is one line of TAP. */
#include "sim/check.h"
#include "base/alloc.h"
#include "base/list.h"
#include "base/map.h"
#include "base/str.h"
#include "sim/replay/table.h"
#include "sim/report/metrics.h"
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check_count {
    unsigned n, failed;
    const char *only; /* names of columns, comma-separated; NULL = all */
    bool quiet;       /* only counted */
};

static bool wanted(const struct check_count *c, const char *column)
{
    return !c->only || list_has(c->only, column);
}

static void tap(struct check_count *c, bool ok, const char *name, const char *column,
                const char *detail)
{
    c->n++;
    c->failed += !ok;
    if (c->quiet && ok)
        return;
    printf("%sok %u - %s %s%s%s\n", ok ? "" : "not ", c->n, name, column, ok || !detail ? "" : ": ",
           ok || !detail ? "" : detail);
    fflush(stdout);
}

/* "B-sjf-user", "N-fifo": how to replay. N is nodes, strict order, placed together; its estimates
 * are the run times. */
static bool column_setup(const char *column, const struct trace *t, struct replay_setup *s)
{
    char *name = xstrdup(column), *rest = name, *rule = strsep(&rest, "-"),
         *policy = strsep(&rest, "-");
    const struct ref_policy *p = policy ? ref_policy_named(policy) : NULL;
    bool nodes = text_is(rule, "N"), ok = p && (nodes || rest);
    *s = (struct replay_setup){.machine = {.procs = t->max_procs}, .untimed = true};
    if (ok) {
        s->policy = *p;
        s->rule = text_is(rule, "E") ? RULE_EVENT : RULE_BATCH;
        s->estimates = nodes || text_is(rest, "perfect") ? ESTIMATES_PERFECT : ESTIMATES_USER;
    }
    if (ok && nodes) {
        s->policy.backfill = REF_NONE;
        s->machine.nodes = t->max_nodes;
        s->machine.node_procs = t->gpus_per_node;
        ok = t->max_nodes > 0 && t->gpus_per_node > 0;
    }
    free(name);
    return ok;
}

static bool trace_load(const char *path, struct trace *t, struct err *ret_err)
{
    if (!trace_read(path, t, ret_err))
        return false;
    trace_clean(t, t->max_procs);
    return true;
}

/* ---- tables of starts ---- */

struct starts {
    char *text;
    VEC(const char *) column; /* names, from the second on */
    VEC(int64_t) value;       /* rows of id and starts */
};

static bool starts_read(const char *path, struct starts *ret, struct err *ret_err)
{
    size_t len;
    *ret = (struct starts){.text = file_text(path, &len, ret_err)};
    char *rest = ret->text, *line, *cell;
    if (!ret->text)
        return false;
    line = strsep(&rest, "\n");
    (void)strsep(&line, ",");
    while ((cell = strsep(&line, ",\r")))
        if (*cell)
            vec_push(&ret->column, cell);
    while ((line = strsep(&rest, "\n"))) {
        size_t n = 0;
        for (; *line && (cell = strsep(&line, ",")); n++) {
            vec_push(&ret->value, strtoll(cell, NULL, 10));
            if (!line)
                line = cell + strlen(cell);
        }
        if (n != 0 && n != ret->column.n + 1)
            return err_set(ret_err, ERR_INVALID, "%s: a line has %zu cells instead of %zu", path, n,
                           ret->column.n + 1);
    }
    return true;
}

static void starts_done(struct starts *b)
{
    free(b->text);
    vec_done(&b->column);
    vec_done(&b->value);
}

static void column_check(struct check_count *c, const struct trace *t, const struct starts *b,
                         size_t column)
{
    struct replay_setup s;
    struct replay_result r;
    struct err err = {0};
    const char *name = b->column.v[column];
    size_t width = b->column.n + 1, rows = b->value.n / width, differ = 0;
    char detail[200] = "";
    if (!column_setup(name, t, &s)) {
        tap(c, false, t->name, name, "no such convention or policy");
        return;
    }
    if (!replay_run(t, &s, &r, &err)) {
        tap(c, false, t->name, name, err.text);
        return;
    }
    struct map_u64 *by_id = map_u64_new();
    for (size_t i = 0; i < t->job.n; i++)
        map_u64_put(by_id, (uint64_t)t->job.v[i].id, &r.job[i]);
    for (size_t k = 0; k < rows; k++) {
        const int64_t *row = &b->value.v[k * width];
        const struct replayed *j = map_u64_get(by_id, (uint64_t)row[0]);
        if (j && j->start == row[column + 1])
            continue;
        if (differ++ == 0)
            snprintf(detail, sizeof detail, "job %lld starts at %lld instead of %lld",
                     (long long)row[0], j ? (long long)j->start : -1, (long long)row[column + 1]);
    }
    if (differ)
        snprintf(detail + strlen(detail), sizeof detail - strlen(detail), "; %zu of %zu differ",
                 differ, rows);
    tap(c, differ == 0 && rows == t->job.n, t->name, name, differ ? detail : "not the same jobs");
    map_u64_free(by_id);
    replay_done(&r);
}

static void table_check(struct check_count *c, const char *trace, const char *table)
{
    struct trace t;
    struct starts b;
    struct err err = {0};
    if (!trace_load(trace, &t, &err)) {
        tap(c, false, trace, "is read", err.text);
        return;
    }
    bool read = starts_read(table, &b, &err);
    if (!read)
        tap(c, false, table, "is read", err.text);
    for (size_t i = 0; read && i < b.column.n; i++)
        if (wanted(c, b.column.v[i]))
            column_check(c, &t, &b, i);
    starts_done(&b);
    trace_done(&t);
}

/* ---- reference.csv ---- */

#define CELLS 32

static void row_check(struct check_count *c, const struct trace *t, char *const cell[], size_t n)
{
    ASSERT(n > 9);
    struct replay_setup s;
    struct replay_result r;
    struct sim_metrics m;
    struct err err = {0};
    char column[80], mean[32], slow[32], detail[300];
    snprintf(column, sizeof column, "%s-%s-%s", cell[3], cell[4], cell[5]);
    if (!wanted(c, column))
        return;
    if (!column_setup(column, t, &s) || !replay_run(t, &s, &r, &err)) {
        tap(c, false, t->name, column, err.text[0] ? err.text : "no such convention or policy");
        return;
    }
    metrics_of(t, &s.machine, &r, &m);
    snprintf(mean, sizeof mean, "%.3f", m.wait.mean);
    snprintf(slow, sizeof slow, "%.4f", m.bsld.mean);
    bool same = text_is(mean, cell[7]) && text_is(slow, cell[8]) &&
                (strlen(cell[n - 1]) != 64 || text_is(m.schedule, cell[n - 1]));
    snprintf(
        detail, sizeof detail,
        "mean wait %s instead of %s, slowdown %s instead of %s, schedule %.12s instead of %.12s",
        mean, cell[7], slow, cell[8], m.schedule, cell[n - 1]);
    tap(c, same, t->name, column, detail);
    replay_done(&r);
}

/* Rows of the trace that somebody else's program vouches for. */
static void reference_check(struct check_count *c, const char *trace, const char *reference)
{
    struct trace t;
    struct err err = {0};
    size_t len;
    char *text = file_text(reference, &len, &err), *rest = text, *line, *cell[CELLS];
    if (!text || !trace_load(trace, &t, &err)) {
        tap(c, false, trace, "is read", err.text);
        free(text);
        return;
    }
    while ((line = strsep(&rest, "\n"))) {
        size_t n = cells_split(line, ',', cell, CELLS);
        if (n > 9 && text_is(cell[0], t.name) && !text_is(cell[6], "cross-check only"))
            row_check(c, &t, cell, n);
    }
    trace_done(&t);
    free(text);
}

struct exactness exactness_of(const char *trace, const char *expected, bool reference,
                              const char *only)
{
    struct check_count c = {.only = only, .quiet = true};
    if (reference)
        reference_check(&c, trace, expected);
    else
        table_check(&c, trace, expected);
    return (struct exactness){c.n, c.failed};
}

int sim_check(int argc, char **argv)
{
    struct check_count c = {0};
    if (argc > 2 && text_is(argv[1], "--only")) {
        c.only = argv[2];
        argc -= 2;
        argv += 2;
    }
    bool reference = argc > 1 && text_is(argv[1], "--reference");
    if (argc < 3 + reference || (argc - 1 - reference) % 2) {
        fputs("Usage: remuda-sim check [--only COLUMN,…] TRACE EXPECTED.csv [TRACE EXPECTED.csv]…\n"
              "       remuda-sim check [--only COLUMN,…] --reference TRACE reference.csv…\n"
              "Compares schedules with those of other simulators, to the second. Prints TAP.\n",
              stderr);
        return 2;
    }
    for (int i = 1 + reference; i < argc; i += 2) {
        if (reference)
            reference_check(&c, argv[i], argv[i + 1]);
        else
            table_check(&c, argv[i], argv[i + 1]);
    }
    printf("1..%u\n", c.n);
    return c.failed ? 1 : 0;
}
