/* What came within a second goes in one transaction a file, on a thread of its own. A day that is
 * being thinned takes nothing: what comes of it is not acknowledged, so its node sends it again. */
#include "controller/series_store.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "controller/disk/series_days.h"
#include "controller/disk/series_read.h"
#include "controller/disk/series_write.h"
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
#define FRAME_BYTES    256 /* of one without blocks */

struct frame_in {
    uint64_t session, number;
    char *node;
    struct str blocks;
    bool kept; /* all of it is on the disk */
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
    struct series_write *write;
    struct err err;
    bool failed;
    int64_t now_us, skip_us;
    /* The thinning's: */
    struct err thin_err;
    bool thinned;
    int64_t thin_now_us;
    bool thins, ended; /* a thread of the pool has it: who comes last frees it */
};

/* ---- writing: on its thread ---- */

static void write_run(void *ctx)
{
    struct series_store *s = ctx;
    series_write_begin(s->write, s->now_us, s->skip_us);
    for (size_t i = 0; i < s->out.n; i++) {
        struct frame_in *f = &s->out.v[i];
        f->kept =
            series_write_put(s->write, f->node, (struct span){str_text(&f->blocks), f->blocks.len});
    }
    s->failed = !series_write_end(s->write, &s->err);
}

/* ---- on the loop ---- */

static size_t frame_bytes(size_t blocks)
{
    return blocks + FRAME_BYTES;
}

static void frame_done(struct series_store *s, struct frame_in *f)
{
    s->bytes -= frame_bytes(f->blocks.len);
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
    size_t bytes = frame_bytes(m->blocks.len);
    if (!has_room(s, session, bytes) || !share_has(s, node, bytes))
        return;
    struct frame_in f = {.session = session, .number = m->number, .node = xstrdup(node)};
    struct asked_node of = {s->c, node};
    if (!series_intake(m->blocks.data, m->blocks.len, node, node_had, &of, &f.blocks) &&
        series_share_odd(s->share, node, clock_monotonic_us()))
        log_warning(s->c->log,
                    "node %s sent samples that cannot be read, or of jobs that it never had: these "
                    "are not kept",
                    node);
    s->bytes += frame_bytes(f.blocks.len);
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

static void store_free(struct series_store *s)
{
    free(s->dir);
    free(s);
}

static void thin_done(void *ctx)
{
    struct series_store *s = ctx;
    s->thins = false;
    s->thinning_us = 0;
    if (s->ended) {
        store_free(s);
        return;
    }
    if (!s->thinned)
        log_error(s->c->log, "old samples of jobs stay as they are: %s", s->thin_err.text);
    timer_set(s->look, s->thinned ? 1000 : LOOK_US);
}

/* On the writing thread: nothing of that day is under way any more. */
static void days_close(void *ctx)
{
    series_write_close(((struct series_store *)ctx)->write);
}

static void thin_begin(void *ctx)
{
    struct series_store *s = ctx;
    if (s->ended)
        return;
    s->thins = true;
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
    s->write = series_write_new(s->dir);
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
    s->ended = true;
    worker_free(s->writer);
    series_write_free(s->write);
    for (size_t i = 0; i < s->in.n; i++)
        frame_done(s, &s->in.v[i]);
    vec_done(&s->in);
    vec_done(&s->out);
    series_share_free(s->share);
    timer_free(s->gather);
    timer_free(s->look);
    free(s->trouble);
    if (!s->thins)
        store_free(s);
}
