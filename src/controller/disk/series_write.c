#include "controller/disk/series_write.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "controller/disk/series_days.h"
#include "io/files.h"
#include "store/sqlite/series_file.h"
#include "wire/series.h"

#include <stdlib.h>

#define OLDEST_DAYS 40
#define AHEAD_DAYS  2
/* All that a second may bring: after days without a controller each node sends what it has kept, of
 * other days than its neighbour, and were one too many none of it would ever be kept. */
#define DAYS_MOST (OLDEST_DAYS + AHEAD_DAYS + 2)
#define DAYS_KEPT 3 /* open between two seconds */

struct open_day {
    char *path;
    struct series_file *file;
    bool begun;
};

struct series_write {
    char *dir;
    struct open_day day[DAYS_MOST];
    struct arena *arena; /* of a block */
    struct err err;
    bool failed;
    int64_t now_us, skip_us;
};

struct series_write *series_write_new(const char *dir)
{
    struct series_write *w = xcalloc(1, sizeof *w);
    w->dir = xstrdup(dir);
    w->arena = arena_new();
    return w;
}

static void day_close(struct open_day *d)
{
    series_file_close(d->file);
    free(d->path);
    *d = (struct open_day){0};
}

void series_write_close(struct series_write *w)
{
    for (size_t i = 0; i < DAYS_MOST; i++)
        day_close(&w->day[i]);
}

void series_write_free(struct series_write *w)
{
    if (!w)
        return;
    series_write_close(w);
    arena_free(w->arena);
    free(w->dir);
    free(w);
}

/* An empty one of the places that are kept, or one that has nothing begun; of the others, which are
 * opened and closed again in each second, only where these have all begun. */
static struct open_day *day_place(struct series_write *w, const char *path)
{
    struct open_day *place = NULL;
    for (size_t i = 0; i < DAYS_MOST; i++) {
        struct open_day *d = &w->day[i];
        if (d->path && text_is(d->path, path))
            return d;
        if (!d->begun && (!place || (i < DAYS_KEPT && place->path && !d->path)))
            place = d;
    }
    return place;
}

static struct open_day *day_open(struct series_write *w, int64_t at_us)
{
    const char *path = series_day_path(w->dir, at_us, w->arena);
    struct open_day *d = day_place(w, path);
    if (!d) {
        err_set(&w->err, ERR_LIMIT, "samples of too many days at once");
        return NULL;
    }
    if (d->path && text_is(d->path, path))
        return d;
    day_close(d);
    d->file = series_file_open(path, true, &w->err);
    d->path = d->file ? xstrdup(path) : NULL;
    return d->file ? d : NULL;
}

static bool row_put(struct series_write *w, const struct series_row *row, int64_t at_us)
{
    struct open_day *d = day_open(w, at_us);
    if (d && !d->begun)
        d->begun = series_file_begin(d->file, &w->err);
    return d && d->begun && series_file_put(d->file, row, &w->err);
}

static bool is_of_now(const struct series_write *w, const struct series_head *h)
{
    return h->first_ms >= (w->now_us - OLDEST_DAYS * SERIES_DAY_US) / 1000 &&
           h->last_ms <= (w->now_us + AHEAD_DAYS * SERIES_DAY_US) / 1000 &&
           h->last_ms >= h->first_ms;
}

/* False: the disk does not take it, or its day is left for later. */
static bool block_put(struct series_write *w, const char *node, struct span block)
{
    struct series_block b;
    arena_reset(w->arena);
    bool whole = series_block_read(block.data, block.len, w->arena, &b, NULL);
    const struct series_head h = b.head;
    if (!whole || block.len > SERIES_BLOCK_BYTES || !text_is(h.key.node, node) || !is_of_now(w, &h))
        return true;
    int64_t at_us = h.first_ms * 1000;
    if (w->skip_us && at_us >= w->skip_us && at_us < w->skip_us + SERIES_DAY_US)
        return false;
    const struct series_row row = {.job_id = h.key.job_id,
                                   .attempt = h.key.attempt,
                                   .node = h.key.node,
                                   .step_id = h.key.step_id,
                                   .device = h.key.device,
                                   .whole = h.whole,
                                   .first_ms = h.first_ms,
                                   .last_ms = h.last_ms,
                                   .data = block.data,
                                   .len = block.len};
    bool ok = row_put(w, &row, at_us);
    w->failed |= !ok;
    return ok;
}

void series_write_begin(struct series_write *w, int64_t now_us, int64_t skip_us)
{
    w->now_us = now_us;
    w->skip_us = skip_us;
    w->err = (struct err){0};
    w->failed = !dir_make(w->dir, 0700, &w->err);
}

bool series_write_put(struct series_write *w, const char *node, struct span blocks)
{
    const char *at = blocks.data;
    size_t left = blocks.len;
    struct span block;
    bool kept = true;
    while (!w->failed && series_next(&at, &left, &block))
        kept &= block_put(w, node, block);
    return kept && !w->failed;
}

bool series_write_end(struct series_write *w, struct err *ret_err)
{
    for (size_t i = 0; i < DAYS_MOST; i++) {
        struct open_day *d = &w->day[i];
        if (d->begun && (w->failed || !series_file_commit(d->file, &w->err))) {
            w->failed = true;
            series_file_undo(d->file);
            day_close(d); /* a full disk may leave a handle that does not recover */
        }
        d->begun = false;
        if (i >= DAYS_KEPT)
            day_close(d);
    }
    *ret_err = w->err;
    return !w->failed;
}
