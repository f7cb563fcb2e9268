#include "controller/disk/series_days.h"

#include "base/calendar/civil.h"
#include "base/duration.h"
#include "io/files.h"
#include "store/sqlite/series_file.h"
#include "wire/series.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- names ---- */

/* "2026-11-23.db", "2026-11-23.10s.db" */
static bool name_read(const char *name, struct series_day_file *ret)
{
    struct civil day = {0};
    long long gap = 0;
    char again[64];
    if (sscanf(name, "%4d-%2d-%2d", &day.year, &day.month, &day.day) != 3 ||
        strlen(name) >= sizeof again || day.month < 1 || day.month > 12 || day.day < 1 ||
        day.day > 31)
        return false;
    if (sscanf(name + 10, ".%llds.db", &gap) == 1 && gap > 0 && gap < 86400)
        snprintf(again, sizeof again, "%04d-%02d-%02d.%llds.db", day.year, day.month, day.day, gap);
    else
        snprintf(again, sizeof again, "%04d-%02d-%02d.db", day.year, day.month, day.day);
    ret->name = name;
    ret->day_us = civil_to_sec(&day) * USEC_PER_SEC;
    ret->gap_us = gap * USEC_PER_SEC;
    return strcmp(again, name) == 0;
}

static int by_day(const void *va, const void *vb)
{
    const struct series_day_file *x = va, *y = vb;
    if (x->day_us != y->day_us)
        return x->day_us < y->day_us ? -1 : 1;
    return (x->gap_us < y->gap_us) - (x->gap_us > y->gap_us);
}

void series_days_list(const char *dir, struct arena *a, struct series_day_file **ret, size_t *ret_n)
{
    const char **names = NULL;
    size_t n = 0;
    *ret_n = 0;
    if (!dir_list(dir, a, &names, &n, NULL))
        n = 0;
    *ret = arena_alloc(a, (n + 1) * sizeof **ret);
    for (size_t i = 0; i < n; i++)
        if (name_read(names[i], &(*ret)[*ret_n])) {
            (*ret)[*ret_n].path = arena_printf(a, "%s/%s", dir, names[i]);
            ++*ret_n;
        }
    if (*ret_n)
        qsort(*ret, *ret_n, sizeof **ret, by_day);
}

static const char *day_text(int64_t at_us, struct arena *a)
{
    struct civil day;
    civil_from_sec(civil_sec(at_us), &day);
    return arena_printf(a, "%04d-%02d-%02d", day.year, day.month, day.day);
}

const char *series_day_path(const char *dir, int64_t at_us, struct arena *a)
{
    return arena_printf(a, "%s/%s.db", dir, day_text(at_us, a));
}

/* ---- what is due ---- */

/* How fine a day's samples are kept; 0 = as they came, -1 = not any more. Its age is that of its
 * end. */
static int64_t gap_of_age(const struct series_keep *keep, int64_t age_us)
{
    for (size_t i = 0; i < keep->n; i++)
        if (age_us < keep->level[i].age_us)
            return i ? keep->level[i].gap_us : 0;
    return -1;
}

static bool is_due(const struct series_keep *keep, int64_t now_us, const struct series_day_file *f)
{
    int64_t gap = gap_of_age(keep, now_us - f->day_us - SERIES_DAY_US);
    return gap < 0 || f->gap_us < gap;
}

bool series_days_due(const char *dir, const struct series_keep *keep, int64_t now_us,
                     int64_t *ret_day_us)
{
    struct arena *a = arena_new();
    struct series_day_file *f;
    size_t n, i = 0;
    series_days_list(dir, a, &f, &n);
    while (keep->n && i < n && !is_due(keep, now_us, &f[i]))
        i++;
    bool found = keep->n && i < n;
    *ret_day_us = found ? f[i].day_us : 0;
    arena_free(a);
    return found;
}

/* ---- thinning ---- */

struct thinning {
    struct series_file *to;
    struct series_thin *thin;
    int64_t gap_ms;
    struct arena *arena;
    struct err err;
    bool failed;
};

static void block_keep(void *ctx, const struct str *block)
{
    struct thinning *t = ctx;
    struct series_head h;
    if (t->failed || !series_head_read(block->data, block->len, &h, NULL))
        return;
    const struct series_row row = {.job_id = h.key.job_id,
                                   .attempt = h.key.attempt,
                                   .node = h.key.node,
                                   .step_id = h.key.step_id,
                                   .device = h.key.device,
                                   .whole = true,
                                   .first_ms = h.first_ms,
                                   .last_ms = h.last_ms,
                                   .data = block->data,
                                   .len = block->len};
    t->failed = !series_file_put(t->to, &row, &t->err);
}

/* What was sampled as seldom as that stays as it is; what cannot be read is left behind. */
static bool row_thin(void *ctx, const struct series_row *r)
{
    struct thinning *t = ctx;
    struct series_block b;
    arena_reset(t->arena);
    if (!series_block_read(r->data, r->len, t->arena, &b, NULL))
        return true;
    if (b.head.gap_ms >= t->gap_ms) {
        const struct str same = {(char *)r->data, r->len, 0};
        block_keep(t, &same);
    } else {
        series_thin_add(t->thin, &b);
    }
    return !t->failed;
}

static bool all_thin(struct thinning *t, struct series_day_file *const *from, size_t n,
                     struct err *ret_err)
{
    const struct series_where all = {0};
    struct series_file *f = series_file_open(from[0]->path, false, ret_err);
    bool ok = f != NULL;
    for (size_t i = 1; ok && i < n; i++)
        ok = series_file_join(f, from[i]->path, ret_err);
    ok = ok && series_file_begin(t->to, ret_err);
    t->thin = series_thin_new(t->gap_ms, block_keep, t);
    ok = ok && series_file_read(f, &all, row_thin, t, ret_err);
    series_thin_end(t->thin);
    if (ok && t->failed)
        *ret_err = t->err;
    ok = ok && !t->failed && series_file_commit(t->to, ret_err);
    series_file_close(f);
    return ok;
}

static void gone(const char *path)
{
    char beside[4100];
    static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (snprintf(beside, sizeof beside, "%s%s", path, ends[i]) < (int)sizeof beside)
            unlink(beside);
}

static bool synced(const char *path, int flags)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool made_of(const char *dir, struct series_day_file *const *from, size_t n, int64_t gap_us,
                    struct arena *a, struct err *ret_err)
{
    const char *making = arena_printf(a, "%s/thinning", dir),
               *path = arena_printf(a, "%s/%s.%llds.db", dir, day_text(from[0]->day_us, a),
                                    (long long)(gap_us / USEC_PER_SEC));
    struct thinning t = {.gap_ms = gap_us / 1000, .arena = arena_new()};
    t.to = series_file_make(making, ret_err);
    bool ok = t.to && all_thin(&t, from, n, ret_err);
    series_file_close(t.to);
    arena_free(t.arena);
    if (ok && (!synced(making, 0) || rename(making, path) != 0 || !synced(dir, O_DIRECTORY)))
        ok = file_error(ret_err, "write", path);
    if (!ok)
        unlink(making);
    for (size_t i = 0; ok && i < n; i++)
        if (strcmp(from[i]->path, path) != 0)
            gone(from[i]->path);
    return ok;
}

bool series_day_thin(const char *dir, const struct series_keep *keep, int64_t now_us,
                     int64_t day_us, struct err *ret_err)
{
    struct arena *a = arena_new();
    struct series_day_file *f, **of_day;
    size_t n, count = 0;
    int64_t gap = gap_of_age(keep, now_us - day_us - SERIES_DAY_US);
    series_days_list(dir, a, &f, &n);
    of_day = arena_alloc(a, (n + 1) * sizeof *of_day);
    for (size_t i = 0; i < n; i++)
        if (f[i].day_us == day_us)
            of_day[count++] = &f[i];
    bool ok = true;
    if (gap > 0 && count)
        ok = made_of(dir, of_day, count, gap, a, ret_err);
    for (size_t i = 0; gap < 0 && i < count; i++)
        gone(of_day[i]->path);
    arena_free(a);
    return ok;
}
