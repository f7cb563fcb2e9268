/* What came within a second goes in one transaction a file, on a thread of its own. A day that is
 * being thinned takes nothing: what comes of it is not acknowledged, so its node sends it again. */
#include "controller/series_store.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "controller/disk/series_days.h"
#include "controller/disk/series_read.h"
#include "controller/reads.h"
#include "controller/series/intake.h"
#include "controller/series/share.h"
#include "controller/session/session.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/work.h"
#include "store/sqlite/series_file.h"
#include "wire/series.h"

#include <stdlib.h>
#include <string.h>

#define GATHER_US      INT64_C(1000000)
#define TRY_US         INT64_C(10000000) /* after it could not be written */
#define FIRST_LOOK_US  INT64_C(60000000)
#define LOOK_US        INT64_C(3600000000)
#define WAITING_MAX    (64u << 20) /* bytes of frames */
#define ONE_MAX        (1u << 20)  /* bytes of one; nodes make none above 256 KiB */
#define WAITING_OF_ONE 4 /* frames of a node: it sends the next when one is kept, or not heard of */
#define OLDEST_US      (40 * SERIES_DAY_US)
#define AHEAD_US       (2 * SERIES_DAY_US)
#define FILES_MAX      3 /* days that are open at once */

struct frame_in {
    uint64_t session, number;
    char *node;
    struct str blocks;
    bool kept; /* all of it is on the disk */
};

struct open_day {
    char *path;
    struct series_file *file; /* of the writing thread */
    bool begun;
};

struct frames {
    struct frame_in *v;
    size_t n, cap;
};

struct series_store {
    struct controller *c;
    char *dir;
    struct worker *writer;
    struct timer *gather, *look;
    struct series_share *share;
    struct frames in, out; /* that came; that are being written */
    size_t bytes;
    bool writing, gathering;
    int64_t thinning_us; /* the day; 0 = none */
    struct series_keep keep;
    char *trouble;
    /* The writing thread's: */
    struct open_day day[FILES_MAX];
    struct err err;
    bool failed;
    int64_t now_us, skip_us;
    struct arena *arena; /* of a block */
    /* The thinning's: */
    struct err thin_err;
    bool thinned;
    int64_t thin_now_us;
};

/* ---- writing: on its thread ---- */

static void day_close(struct open_day *d)
{
    series_file_close(d->file);
    free(d->path);
    *d = (struct open_day){0};
}

static struct open_day *day_open(struct series_store *s, int64_t at_us)
{
    struct arena *a = arena_new();
    const char *path = series_day_path(s->dir, at_us, a);
    struct open_day *free_place = NULL;
    for (size_t i = 0; i < FILES_MAX; i++) {
        if (s->day[i].path && text_is(s->day[i].path, path)) {
            arena_free(a);
            return &s->day[i];
        }
        if (!s->day[i].begun)
            free_place = &s->day[i];
    }
    if (free_place) {
        day_close(free_place);
        free_place->file = series_file_open(path, true, &s->err);
        free_place->path = free_place->file ? xstrdup(path) : NULL;
    } else {
        err_set(&s->err, ERR_LIMIT, "samples of too many days at once");
    }
    arena_free(a);
    return free_place && free_place->file ? free_place : NULL;
}

static bool row_put(struct series_store *s, const struct series_row *row, int64_t at_us)
{
    struct open_day *d = day_open(s, at_us);
    if (d && !d->begun)
        d->begun = series_file_begin(d->file, &s->err);
    return d && d->begun && series_file_put(d->file, row, &s->err);
}

/* False: the disk does not take it, or its day is being thinned. */
static bool block_put(struct series_store *s, const struct frame_in *f, struct span block)
{
    struct series_block b;
    arena_reset(s->arena);
    bool whole = series_block_read(block.data, block.len, s->arena, &b, NULL);
    const struct series_head h = b.head;
    if (!whole || block.len > SERIES_BLOCK_BYTES || !text_is(h.key.node, f->node) ||
        h.first_ms < (s->now_us - OLDEST_US) / 1000 || h.last_ms > (s->now_us + AHEAD_US) / 1000 ||
        h.last_ms < h.first_ms)
        return true;
    int64_t at_us = h.first_ms * 1000;
    if (s->skip_us && at_us >= s->skip_us && at_us < s->skip_us + SERIES_DAY_US)
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
    bool ok = row_put(s, &row, at_us);
    s->failed |= !ok;
    return ok;
}

static void frame_put(struct series_store *s, struct frame_in *f)
{
    const char *at = f->blocks.data;
    size_t left = f->blocks.len;
    struct span block;
    f->kept = true;
    while (!s->failed && series_next(&at, &left, &block))
        f->kept &= block_put(s, f, block);
}

static void days_end(struct series_store *s)
{
    for (size_t i = 0; i < FILES_MAX; i++) {
        struct open_day *d = &s->day[i];
        if (!d->begun)
            continue;
        d->begun = false;
        if (s->failed || !series_file_commit(d->file, &s->err)) {
            s->failed = true;
            series_file_undo(d->file);
            day_close(d); /* a full disk may leave a handle that does not recover */
        }
    }
}

static void write_run(void *ctx)
{
    struct series_store *s = ctx;
    s->err = (struct err){0};
    s->arena = arena_new();
    s->failed = !dir_make(s->dir, 0700, &s->err);
    for (size_t i = 0; i < s->out.n && !s->failed; i++)
        frame_put(s, &s->out.v[i]);
    days_end(s);
    arena_free(s->arena);
    s->arena = NULL;
}

/* ---- on the loop ---- */

static void frame_done(struct series_store *s, struct frame_in *f)
{
    s->bytes -= f->blocks.len;
    str_done(&f->blocks);
    free(f->node);
}

static void trouble_say(struct series_store *s, const char *why)
{
    if (why && !s->trouble)
        log_error(s->c->log,
                  "samples of jobs (remuda plot) cannot be kept: %s. Nodes keep them meanwhile",
                  why);
    if (!why && s->trouble)
        log_info(s->c->log, "samples of jobs are kept again");
    free(s->trouble);
    s->trouble = why ? xstrdup(why) : NULL;
}

static void write_begin(void *ctx);

static void write_done(void *ctx)
{
    struct series_store *s = ctx;
    s->writing = false;
    trouble_say(s, s->failed ? s->err.text : NULL);
    for (size_t i = 0; i < s->out.n; i++) {
        struct frame_in *f = &s->out.v[i];
        if (f->kept && !s->failed)
            session_send(s->c->sessions, f->session,
                         &(struct message){.kind = MSG_SERIES_KEPT,
                                           .body = &(struct msg_series_kept){.number = f->number}},
                         0);
        frame_done(s, f);
    }
    s->out.n = 0;
    if (s->in.n) {
        s->gathering = true;
        timer_set(s->gather, s->failed ? TRY_US : GATHER_US);
    }
}

static void write_begin(void *ctx)
{
    struct series_store *s = ctx;
    s->gathering = false;
    if (s->writing || !s->in.n)
        return;
    struct frames out = s->out;
    s->out = s->in;
    s->in = out;
    s->writing = true;
    s->now_us = clock_now_us();
    s->skip_us = s->thinning_us;
    if (!s->writer)
        s->writer = worker_new(s->c->loop, "series");
    worker_add(s->writer, write_run, write_done, s);
}

static bool share_has(struct series_store *s, const char *node, size_t bytes)
{
    bool say;
    bool has = series_share_take(s->share, node, bytes, clock_monotonic_us(), &say);
    if (say)
        log_warning(s->c->log,
                    "node %s sends more samples of jobs than a node may, %lld MiB a day: what is "
                    "too much is not kept",
                    node, (long long)(SERIES_SHARE_A_DAY >> 20));
    return has;
}

/* A node that says more than it may, not waiting for what is kept, does not take the others' half
 * of the room. */
static bool has_room(const struct series_store *s, uint64_t session, size_t bytes)
{
    size_t n = 0;
    if (bytes > ONE_MAX || s->bytes + bytes <= WAITING_MAX / 2)
        return bytes <= ONE_MAX;
    for (size_t i = 0; i < s->in.n; i++)
        n += s->in.v[i].session == session;
    return n < WAITING_OF_ONE && s->bytes + bytes <= WAITING_MAX;
}

struct asked_node {
    const struct controller *c;
    const char *name;
};

static bool node_had(void *ctx, uint64_t job_id, uint32_t attempt)
{
    const struct asked_node *n = ctx;
    return core_node_had(n->c->core, n->name, job_id, attempt);
}

void series_store_add(struct series_store *s, uint64_t session, const char *node,
                      const struct msg_series *m)
{
    ASSERT(!text_empty(node));
    if (!has_room(s, session, m->blocks.len) || !share_has(s, node, m->blocks.len))
        return;
    struct frame_in f = {.session = session, .number = m->number, .node = xstrdup(node)};
    struct asked_node of = {s->c, node};
    if (!series_intake(m->blocks.data, m->blocks.len, node, node_had, &of, &f.blocks) &&
        series_share_odd(s->share, node, clock_monotonic_us()))
        log_warning(s->c->log,
                    "node %s sent samples that cannot be read, or of jobs that it never had: these "
                    "are not kept",
                    node);
    s->bytes += f.blocks.len;
    vec_push(&s->in, f);
    if (!s->writing && !s->gathering) {
        s->gathering = true;
        timer_set(s->gather, s->trouble ? TRY_US : GATHER_US);
    }
}

const char *series_store_trouble(const struct series_store *s)
{
    return s->trouble;
}

/* ---- thinning ---- */

static void thin_run(void *ctx)
{
    struct series_store *s = ctx;
    s->thin_err = (struct err){0};
    s->thinned = series_day_thin(s->dir, &s->keep, s->thin_now_us, s->thinning_us, &s->thin_err);
}

static void look(void *ctx);

static void thin_done(void *ctx)
{
    struct series_store *s = ctx;
    s->thinning_us = 0;
    if (!s->thinned)
        log_error(s->c->log, "old samples of jobs stay as they are: %s", s->thin_err.text);
    timer_set(s->look, s->thinned ? 1000 : LOOK_US);
}

/* On the writing thread: nothing of that day is under way any more. */
static void days_close(void *ctx)
{
    struct series_store *s = ctx;
    for (size_t i = 0; i < FILES_MAX; i++)
        day_close(&s->day[i]);
}

static void thin_begin(void *ctx)
{
    struct series_store *s = ctx;
    work_start(s->c->loop, thin_run, thin_done, s);
}

static void look(void *ctx)
{
    struct series_store *s = ctx;
    struct err err = {0};
    if (s->thinning_us)
        return;
    s->thin_now_us = clock_now_us();
    if (!series_keep_parse(s->c->config.settings.job_series_keep, &s->keep, &err) ||
        !series_days_due(s->dir, &s->keep, s->thin_now_us, &s->thinning_us)) {
        s->thinning_us = 0;
        timer_set(s->look, LOOK_US);
        return;
    }
    if (!s->writer)
        s->writer = worker_new(s->c->loop, "series");
    worker_add(s->writer, days_close, thin_begin, s);
}

/* ---- reading ---- */

struct series_store_ask {
    struct series_store *s;
    struct series_ask ask;
};

static void ask_run(void *ctx, struct reader *reader)
{
    struct series_store_ask *q = ctx;
    series_read(reader, &q->ask);
}

static void ask_done(void *ctx)
{
    struct series_store_ask *q = ctx;
    session_answered(q->s->c->sessions, q->ask.session, &q->ask.out);
    str_done(&q->ask.out);
    arena_free(q->ask.arena);
    free(q);
}

void series_store_ask(struct series_store *s, uint64_t session, uint64_t seq,
                      const struct msg_get_series *m, const struct peer *peer)
{
    struct series_store_ask *q = xcalloc(1, sizeof *q);
    *q = (struct series_store_ask){
        s, {.session = session, .seq = seq, .uid = peer->uid, .arena = arena_new()}};
    q->ask.dir = s->dir;
    q->ask.user = arena_strdup(q->ask.arena, peer->user);
    record_copy(message_fields(MSG_GET_SERIES), &q->ask.get, m, q->ask.arena);
    core_sight_of(s->c->core, peer, q->ask.arena, &q->ask.sight);
    if (reads_add(s->c->reads, peer, ask_run, ask_done, q))
        return;
    series_refuse(&q->ask, REFUSE_BUSY, "too many of your reads wait already; try again");
    ask_done(q);
}

/* ---- life ---- */

struct series_store *series_store_new(struct controller *c)
{
    struct series_store *s = xcalloc(1, sizeof *s);
    s->c = c;
    s->dir = xasprintf("%s/series", c->state_dir);
    s->share = series_share_new();
    s->gather = timer_new(c->loop, write_begin, s);
    s->look = timer_new(c->loop, look, s);
    return s;
}

void series_store_begin(struct series_store *s)
{
    timer_set(s->look, FIRST_LOOK_US);
}

void series_store_free(struct series_store *s)
{
    if (!s)
        return;
    worker_free(s->writer);
    for (size_t i = 0; i < FILES_MAX; i++)
        day_close(&s->day[i]);
    for (size_t i = 0; i < s->in.n; i++)
        frame_done(s, &s->in.v[i]);
    vec_done(&s->in);
    vec_done(&s->out);
    series_share_free(s->share);
    timer_free(s->gather);
    timer_free(s->look);
    free(s->trouble);
    free(s->dir);
    free(s);
}
