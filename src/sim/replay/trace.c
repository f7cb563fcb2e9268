#include "sim/replay/trace.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define FIELDS     20
#define NUMBER_MAX (INT64_C(1) << 33) /* seconds: 272 years */

char *file_text(const char *path, size_t *ret_len, struct err *ret_err)
{
    gzFile f = text_is(path, "-") ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path, "rb");
    size_t len = 0, cap = 1 << 16;
    char *text = NULL;
    int got;
    if (!f) {
        err_set(ret_err, ERR_NOT_FOUND, "%s: %s", path, strerror(errno));
        return NULL;
    }
    text = xmalloc(cap);
    while ((got = gzread(f, text + len, (unsigned)(cap - len - 1))) > 0) {
        len += (size_t)got;
        if (cap - len < 2)
            text = xrealloc(text, cap *= 2);
    }
    text[len] = '\0';
    if (got < 0) {
        err_set(ret_err, ERR_INVALID, "%s: cannot be unpacked", path);
        free(text);
        text = NULL;
    }
    gzclose(f);
    *ret_len = len;
    return text;
}

/* "; MaxProcs: 640", "; Note: GPUsPerNode: 8" */
static void header_take(struct trace *t, const char *line)
{
    static const char *const keys[] = {"MaxProcs:", "MaxNodes:", "GPUsPerNode:"};
    int64_t *to[] = {&t->max_procs, &t->max_nodes, &t->gpus_per_node};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const char *at = strstr(line, keys[i]);
        if (at)
            *to[i] = strtoll(at + strlen(keys[i]), NULL, 10);
    }
}

/* Numbers of the format may have a fraction, which means nothing to whole seconds. */
static size_t numbers_take(const char *line, int64_t v[FIELDS])
{
    size_t n = 0;
    char *end;
    while (n < FIELDS) {
        v[n] = strtoll(line, &end, 10);
        if (end == line)
            break;
        if (*end == '.')
            (void)strtoll(end + 1, &end, 10);
        n++;
        line = end;
    }
    while (*line == ' ' || *line == '\t' || *line == '\r')
        line++;
    return *line ? 0 : n;
}

static bool line_take(struct trace *t, const char *line, struct err *ret_err)
{
    int64_t v[FIELDS];
    while (*line == ' ' || *line == '\t')
        line++;
    if (*line == ';' || *line == '#')
        header_take(t, line);
    if (*line == ';' || *line == '#' || *line == '\0' || *line == '\r')
        return true;
    size_t n = numbers_take(line, v);
    for (size_t i = 1; i < n; i++)
        if (v[i] > NUMBER_MAX || v[i] < -NUMBER_MAX)
            return err_set(ret_err, ERR_LIMIT, "number %zu of the line is out of range", i + 1);
    if (n < 5) {
        err_set(ret_err, ERR_INVALID, "a job's line has 18 numbers (the first 5 at least)");
        return false;
    }
    for (; n < FIELDS; n++)
        v[n] = n < 18 ? -1 : 0;
    struct trace_job j = {.id = v[0],
                          .submit = v[1],
                          .run = v[3],
                          .procs = v[7] > 0 ? v[7] : v[4],
                          .estimate = v[8] > 0 ? v[8] : v[3],
                          .user = v[11],
                          .queue = v[14],
                          .gpus = v[18],
                          .gpus_node = v[19],
                          .started = v[2] >= 0 ? v[1] + v[2] : -1};
    vec_push(&t->job, j);
    return true;
}

static int job_order(const void *a, const void *b)
{
    const struct trace_job *x = a, *y = b;
    return (x->submit > y->submit) - (x->submit < y->submit);
}

/* Stable: ties keep their order. */
void trace_sort(struct trace *t)
{
    size_t n = t->job.n, width = 1;
    struct trace_job *from = t->job.v, *to = xmalloc((n + 1) * sizeof *to), *spare = to;
    for (; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t middle = low + width < n ? low + width : n,
                   high = low + 2 * width < n ? low + 2 * width : n;
            size_t a = low, b = middle;
            for (size_t k = low; k < high; k++)
                to[k] = b == high || (a < middle && job_order(&from[a], &from[b]) <= 0) ? from[a++]
                                                                                        : from[b++];
        }
        struct trace_job *swap = from;
        from = to;
        to = swap;
    }
    if (from == spare)
        memcpy(t->job.v, spare, n * sizeof *spare);
    free(spare);
}

char *trace_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = xstrdup(slash ? slash + 1 : path), *end = strstr(name, ".swf");
    if (end)
        *end = '\0';
    return name;
}

bool trace_parse(char *text, struct trace *ret, size_t *ret_line, struct err *ret_err)
{
    char *rest = text, *line;
    *ret = (struct trace){0};
    for (*ret_line = 1; (line = strsep(&rest, "\n")); ++*ret_line)
        if (!line_take(ret, line, ret_err)) {
            trace_done(ret);
            return false;
        }
    trace_sort(ret);
    return true;
}

bool trace_read(const char *path, struct trace *ret, struct err *ret_err)
{
    size_t len, line;
    char *text = file_text(path, &len, ret_err);
    *ret = (struct trace){0};
    bool ok = text &&
              (trace_parse(text, ret, &line, ret_err) || err_prefix(ret_err, "%s:%zu", path, line));
    free(text);
    if (ok)
        ret->name = trace_name(path);
    return ok;
}

static bool clean_keeps(struct trace *t, const struct trace_job *j, int64_t machine)
{
    if (j->run <= 0)
        t->dropped.run0++;
    else if (j->procs <= 0)
        t->dropped.procs0++;
    else if (j->submit < 0)
        t->dropped.submit0++;
    else if (j->procs > machine)
        t->dropped.wide++;
    else
        return true;
    return false;
}

void trace_clean(struct trace *t, int64_t machine)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->job.n; i++) {
        struct trace_job j = t->job.v[i];
        if (!clean_keeps(t, &j, machine))
            continue;
        if (j.run > j.estimate)
            j.run = j.estimate;
        t->job.v[kept++] = j;
    }
    t->job.n = kept;
}

void trace_keep(struct trace *t, size_t first, size_t last)
{
    first = first > 0 ? first - 1 : 0;
    last = last > t->job.n ? t->job.n : last;
    size_t n = last > first ? last - first : 0;
    if (n > 0)
        memmove(t->job.v, t->job.v + first, n * sizeof t->job.v[0]);
    t->job.n = n;
}

void trace_shake(struct trace *t, uint64_t seed, int64_t seconds)
{
    struct rng rng = {seed};
    for (size_t i = 0; i < t->job.n; i++) {
        int64_t moved = t->job.v[i].submit + rng_range(&rng, -seconds, seconds);
        t->job.v[i].submit = moved > 0 ? moved : 0;
    }
    trace_sort(t);
}

bool trace_counts(const struct trace_job *j)
{
    return !j->nodelist;
}

void trace_done(struct trace *t)
{
    free(t->name);
    vec_done(&t->job);
    arena_free(t->text);
    *t = (struct trace){0};
}
