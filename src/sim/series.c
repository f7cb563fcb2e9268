/* remuda-sim series: samples of jobs, written as text, into files of days as the controller keeps
 * them: profiles of hours for tests and pictures, which nobody has to wait for.
 *
 *   source JOB RUN NODE STEP DEVICE GAP_MS FIRST_MS    DEVICE -1: of the step
 *   util 44 43 3 - 44 …                                a value's samples; "-": none came
 *
 * The values of a source follow its line. */
#include "wire/series.h"
#include "base/calendar/civil.h"
#include "base/err.h"
#include "base/vec.h"
#include "sim/sim.h"
#include "store/sqlite/series_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MOST 40u

struct sim_series_column {
    const struct series_value *value;
    VEC(int64_t) v;
};

struct sim_series_source {
    struct series_source_key key;
    int64_t gap_ms, first_ms;
    struct sim_series_column column[COLUMNS_MOST];
    size_t n;
};

static bool block_put(const char *dir, const struct series_grow *g, int64_t first_ms,
                      struct err *ret_err)
{
    struct str block = STR_INIT, path = STR_INIT;
    struct series_head head;
    series_grow_encode(g, 0, true, &block);
    str_addf(&path, "%s/", dir);
    civil_format(first_ms * 1000, first_ms * 1000, "%Y-%m-%d.db", &civil_utc, &path);
    struct series_file *f = series_file_open(str_text(&path), true, ret_err);
    bool ok =
        f && series_head_read(block.data, block.len, &head, ret_err) &&
        series_file_begin(f, ret_err) &&
        series_file_put(f,
                        &(struct series_row){head.key.job_id, head.key.attempt, head.key.node,
                                             head.key.step_id, head.key.device, true, head.first_ms,
                                             head.last_ms, block.data, block.len},
                        ret_err) &&
        series_file_commit(f, ret_err);
    series_file_close(f);
    str_done(&block);
    str_done(&path);
    return ok;
}

static bool source_put(const char *dir, struct sim_series_source *s, struct err *ret_err)
{
    struct series_grow *g = series_grow_new(&s->key);
    size_t most = 0;
    int64_t first = 0;
    bool ok = true;
    for (size_t c = 0; c < s->n; c++)
        most = s->column[c].v.n > most ? s->column[c].v.n : most;
    for (size_t i = 0; i < most && ok; i++) {
        struct series_point point[COLUMNS_MOST];
        size_t n = 0;
        int64_t at = s->first_ms + (int64_t)i * s->gap_ms;
        for (size_t c = 0; c < s->n; c++)
            if (i < s->column[c].v.n && s->column[c].v.v[i] != SERIES_ABSENT)
                point[n++] = (struct series_point){s->column[c].value->id, 0, s->column[c].v.v[i]};
        if (n == 0 && series_grow_count(g) == 0)
            continue;
        first = series_grow_count(g) ? first : at;
        if (n)
            series_grow_add(g, at, s->gap_ms, point, n);
        if (series_grow_count(g) == SERIES_BLOCK_SAMPLES || i + 1 == most) {
            ok = block_put(dir, g, first, ret_err);
            series_grow_clear(g);
        }
    }
    series_grow_free(g);
    for (size_t c = 0; c < s->n; c++)
        vec_done(&s->column[c].v);
    s->n = 0;
    return ok;
}

static bool source_read(const char *line, struct sim_series_source *s)
{
    unsigned long long job;
    long long step, gap, first;
    unsigned run;
    int device;
    *s = (struct sim_series_source){0};
    if (sscanf(line, "source %llu %u %63s %lld %d %lld %lld", &job, &run, s->key.node, &step,
               &device, &gap, &first) != 7)
        return false;
    s->key.job_id = job;
    s->key.attempt = run;
    s->key.step_id = step;
    s->key.device = device;
    s->gap_ms = gap;
    s->first_ms = first;
    return gap > 0;
}

static bool column_read(const char *line, struct sim_series_source *s)
{
    struct span rest = span_of(line), word;
    if (!span_next(&rest, ' ', &word) || s->n == COLUMNS_MOST || !s->gap_ms)
        return false;
    struct sim_series_column *c = &s->column[s->n];
    *c = (struct sim_series_column){.value = series_value_named(word)};
    if (!c->value)
        return false;
    s->n++;
    while (span_next(&rest, ' ', &word))
        if (word.len)
            vec_push(&c->v, word.data[0] == '-' && word.len == 1
                                ? SERIES_ABSENT
                                : (int64_t)(strtod(word.data, NULL) * c->value->scale + 0.5));
    return true;
}

int sim_series(int argc, char **argv)
{
    struct sim_series_source s = {0};
    struct err err = {0};
    char *line = NULL;
    size_t cap = 0, number = 0;
    ssize_t len;
    bool ok = argc == 2;
    if (!ok)
        fputs("Usage: remuda-sim series DIR <SAMPLES\n", stderr);
    while (ok && (len = getline(&line, &cap, stdin)) > 0) {
        line[strcspn(line, "\n")] = '\0';
        number++;
        if (text_starts(line, "source "))
            ok = source_put(argv[1], &s, &err) && source_read(line, &s);
        else if (*line)
            ok = column_read(line, &s);
        if (!ok)
            fprintf(stderr, "remuda-sim series: line %zu: %s\n", number,
                    *err.text ? err.text : "no source, and no values of one");
    }
    ok = ok && source_put(argv[1], &s, &err);
    if (*err.text)
        fprintf(stderr, "remuda-sim series: %s\n", err.text);
    free(line);
    return ok ? 0 : 1;
}
