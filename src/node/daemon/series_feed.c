/* Each source (a step, a device that a job has) has a block that grows. Every FLUSH_US what is new
 * of it goes into the queue as a piece; a block that is full goes as a whole and takes the place of
 * its pieces that still wait. One frame is under way at a time: the next leaves when it is kept.
 *
 * A step's line says which GPUs it has: they are sampled then, at most once for the gap of each
 * job, and what comes back is of all jobs that asked. */
#include "node/daemon/series_feed.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/vec.h"
#include "io/clock.h"
#include "io/files.h"
#include "model/grammar/gres.h"
#include "wire/series.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLUSH_US    INT64_C(5000000)
#define KEEP_US     INT64_C(10000000)  /* what is not sent so long is kept in the file */
#define AGAIN_US    INT64_C(30000000)  /* a frame of which nothing was heard is sent again */
#define SILENT_US   INT64_C(120000000) /* and several gaps: a source that says nothing is over */
#define FRAME_BYTES (256u << 10)
#define FILE_BYTES  (2 * SERIES_FEED_BYTES + (1u << 20))

struct feed_source {
    struct series_grow *grow;
    size_t queued;   /* samples of it that are in the queue as pieces */
    int64_t said_us; /* monotonic: the last sample */
    int64_t gap_us;
};

/* A job's GPUs, as its last line said. */
struct want {
    uint64_t job_id;
    uint32_t attempt;
    uint64_t asked; /* bit n: a sample of it was asked for and has not come */
    int64_t gap_ms, said_us;
    bool power;
    bool ends; /* a step of it has ended: what was asked for last goes at once */
};

struct waiting_block {
    struct str bytes;
    struct series_head head;
    int64_t since_us;
    uint64_t number; /* of the frame that has it; 0 = none yet */
    bool in_file;
};

struct device_name {
    int32_t index;
    char name[SERIES_NAME_BYTES];
};

struct series_feed {
    struct loop *loop;
    struct log *log;
    char *node, *path;
    struct gpu_watch *gpus;
    struct link *link;
    struct timer *flush;
    VEC(struct feed_source) source;
    VEC(struct want) want;
    VEC(struct waiting_block) queue;
    VEC(struct device_name) name;
    struct series_point *point; /* of the sample at hand */
    size_t npoints;
    size_t bytes, file_bytes;
    uint64_t number, under_way; /* the last given; 0 = none is */
    int64_t sent_us;
    bool drops;    /* and it was said */
    bool flushing; /* `flush` is set */
};

/* ---- the queue ---- */

static void block_drop(struct series_feed *f, size_t i)
{
    f->bytes -= f->queue.v[i].bytes.len;
    str_done(&f->queue.v[i].bytes);
    vec_remove(&f->queue, i);
}

/* Those that a whole block makes superfluous. */
static void pieces_drop(struct series_feed *f, const struct series_head *whole)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->queue.n; i++) {
        struct waiting_block *b = &f->queue.v[i];
        if (!b->head.whole && b->number == 0 && b->head.first_ms >= whole->first_ms &&
            b->head.last_ms <= whole->last_ms &&
            series_key_compare(&b->head.key, &whole->key) == 0) {
            f->bytes -= b->bytes.len;
            str_done(&b->bytes);
            continue;
        }
        f->queue.v[kept++] = *b;
    }
    f->queue.n = kept;
}

static void queue_bound(struct series_feed *f)
{
    size_t gone = 0, at = 0;
    while (f->bytes > SERIES_FEED_BYTES && at < f->queue.n) {
        if (f->queue.v[at].number) {
            at++;
            continue;
        }
        block_drop(f, at);
        gone++;
    }
    if (gone && !f->drops)
        log_warning(f->log, "samples of jobs wait for the controller, and there is no more room "
                            "for them: the oldest go");
    f->drops |= gone > 0;
}

static void block_queue(struct series_feed *f, const char *bytes, size_t len, bool in_file)
{
    struct waiting_block b = {.since_us = clock_monotonic_us(), .in_file = in_file};
    if (!series_head_read(bytes, len, &b.head, NULL))
        return;
    if (b.head.whole)
        pieces_drop(f, &b.head);
    str_addn(&b.bytes, bytes, len);
    f->bytes += len;
    vec_push(&f->queue, b);
}

static void samples_queue(struct series_feed *f, struct feed_source *s, bool whole)
{
    struct str block = STR_INIT;
    size_t n = series_grow_count(s->grow), from = whole ? 0 : s->queued;
    if (from < n) {
        series_grow_encode(s->grow, from, whole, &block);
        block_queue(f, block.data, block.len, false);
    }
    s->queued = n;
    if (whole) {
        series_grow_clear(s->grow);
        s->queued = 0;
    }
    str_done(&block);
}

/* ---- the file ---- */

static void file_append(struct series_feed *f, bool all)
{
    int fd = open(f->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (all ? O_TRUNC : O_APPEND),
                  0600);
    struct str out = STR_INIT;
    for (size_t i = 0; i < f->queue.n; i++) {
        struct waiting_block *b = &f->queue.v[i];
        if (all || !b->in_file)
            series_put(&out, &b->bytes);
        b->in_file = true;
    }
    f->file_bytes = out.len + (all ? 0 : f->file_bytes);
    const char *at = out.data;
    for (ssize_t n = 1; fd >= 0 && n > 0 && out.len > 0;) {
        n = write(fd, at, out.len); /* a full disk: they are in memory still */
        at += n > 0 ? n : 0;
        out.len -= n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    str_done(&out);
}

/* `now`: also what waits for a moment only. */
static void file_keep(struct series_feed *f, bool now)
{
    int64_t since = now ? INT64_MAX : clock_monotonic_us() - KEEP_US;
    bool wanted = false;
    for (size_t i = 0; i < f->queue.n; i++)
        wanted |= !f->queue.v[i].in_file && f->queue.v[i].since_us <= since;
    if (wanted)
        file_append(f, f->file_bytes > FILE_BYTES);
    if (f->queue.n == 0 && f->file_bytes) {
        unlink(f->path);
        f->file_bytes = 0;
    }
}

static void unsent_read(struct series_feed *f)
{
    struct arena *a = arena_new();
    struct span block;
    int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0 && st.st_size <= 2 * FILE_BYTES) {
        char *text = arena_alloc(a, (size_t)st.st_size);
        ssize_t got = read(fd, text, (size_t)st.st_size);
        const char *at = text;
        size_t left = got > 0 ? (size_t)got : 0;
        while (series_next(&at, &left, &block))
            block_queue(f, block.data, block.len, true);
        f->file_bytes = (size_t)st.st_size;
        queue_bound(f);
        if (f->queue.n)
            log_info(f->log, "%zu blocks of samples are to be sent still", f->queue.n);
    }
    if (fd >= 0)
        close(fd);
    arena_free(a);
}

/* ---- sending ---- */

static void send_next(struct series_feed *f)
{
    struct str out = STR_INIT;
    if (!f->link || f->under_way)
        return;
    for (size_t i = 0; i < f->queue.n && out.len + f->queue.v[i].bytes.len < FRAME_BYTES; i++) {
        f->queue.v[i].number = f->number + 1;
        series_put(&out, &f->queue.v[i].bytes);
    }
    if (out.len) {
        f->under_way = ++f->number;
        f->sent_us = clock_monotonic_us();
        struct msg_series body = {.number = f->number,
                                  .blocks = {.data = out.data, .len = out.len}};
        link_send(f->link, &(struct message){.kind = MSG_SERIES, .body = &body});
    }
    str_done(&out);
}

static void under_way_forget(struct series_feed *f)
{
    for (size_t i = 0; i < f->queue.n; i++)
        f->queue.v[i].number = 0;
    f->under_way = 0;
}

void series_feed_kept(struct series_feed *f, uint64_t number)
{
    if (!f->under_way || number != f->under_way)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < f->queue.n; i++) {
        struct waiting_block *b = &f->queue.v[i];
        if (b->number == number) {
            f->bytes -= b->bytes.len;
            str_done(&b->bytes);
            continue;
        }
        f->queue.v[kept++] = *b;
    }
    f->queue.n = kept;
    f->under_way = 0;
    f->drops = false;
    if (f->queue.n == 0)
        file_keep(f, false);
    send_next(f);
}

void series_feed_link(struct series_feed *f, struct link *k)
{
    f->link = k;
    under_way_forget(f);
    send_next(f);
}

/* ---- time ---- */

static bool is_silent(const struct feed_source *s, int64_t now_us)
{
    return now_us - s->said_us > SILENT_US + 4 * s->gap_us;
}

static void sources_flush(struct series_feed *f)
{
    int64_t now = clock_monotonic_us();
    for (size_t i = f->source.n; i-- > 0;) {
        struct feed_source *s = &f->source.v[i];
        bool over = is_silent(s, now);
        samples_queue(f, s, over && series_grow_count(s->grow) > 0);
        if (over) {
            series_grow_free(s->grow);
            vec_remove(&f->source, i);
        }
    }
    for (size_t i = f->want.n; i-- > 0;)
        if (now - f->want.v[i].said_us > SILENT_US + 4000 * f->want.v[i].gap_ms)
            vec_remove(&f->want, i);
}

static void flush(void *ctx)
{
    struct series_feed *f = ctx;
    sources_flush(f);
    if (f->under_way && clock_monotonic_us() - f->sent_us > AGAIN_US)
        under_way_forget(f);
    queue_bound(f);
    file_keep(f, false);
    send_next(f);
    f->flushing = f->source.n || f->queue.n;
    if (f->flushing)
        timer_set(f->flush, FLUSH_US);
}

static void flush_later(struct series_feed *f)
{
    if (!f->flushing)
        timer_set(f->flush, FLUSH_US);
    f->flushing = true;
}

/* ---- samples ---- */

static struct feed_source *source_of(struct series_feed *f, const struct series_source_key *key)
{
    for (size_t i = 0; i < f->source.n; i++)
        if (series_key_compare(series_grow_key(f->source.v[i].grow), key) == 0)
            return &f->source.v[i];
    vec_push(&f->source, ((struct feed_source){.grow = series_grow_new(key)}));
    return &f->source.v[f->source.n - 1];
}

static void sample_add(struct series_feed *f, const struct series_source_key *key, int64_t at_ms,
                       int64_t gap_ms)
{
    struct feed_source *s = source_of(f, key);
    s->said_us = clock_monotonic_us();
    s->gap_us = 1000 * gap_ms;
    series_grow_add(s->grow, at_ms, gap_ms, f->point, f->npoints);
    if (series_grow_count(s->grow) == SERIES_BLOCK_SAMPLES)
        samples_queue(f, s, true);
    flush_later(f);
}

static struct want *want_of(struct series_feed *f, uint64_t job_id, uint32_t attempt)
{
    for (size_t i = 0; i < f->want.n; i++)
        if (f->want.v[i].job_id == job_id && f->want.v[i].attempt == attempt)
            return &f->want.v[i];
    vec_push(&f->want, ((struct want){.job_id = job_id, .attempt = attempt}));
    return &f->want.v[f->want.n - 1];
}

static void flush_now(struct series_feed *f)
{
    timer_set(f->flush, 1000);
    f->flushing = true;
}

/* The last samples go at once, and those of its devices when they come: who looks at a job that has
 * just ended, and the mail about it, find them. */
static void step_ended(struct series_feed *f, uint64_t job_id, uint32_t attempt)
{
    for (size_t i = 0; i < f->want.n; i++)
        if (f->want.v[i].job_id == job_id && f->want.v[i].attempt == attempt)
            f->want.v[i].ends = f->want.v[i].asked != 0;
    flush_now(f);
}

void series_feed_line(struct series_feed *f, struct span line, bool gpus_too)
{
    struct series_source_key key = {.device = SERIES_OF_STEP};
    unsigned long long job, gpus;
    unsigned attempt;
    long long step, at_ms, gap_ms;
    int power, end, used = 0;
    char *text = xstrndup(line.data, line.len);
    if (sscanf(text, "%llu %u %lld %lld %lld %llu %d %d%n", &job, &attempt, &step, &at_ms, &gap_ms,
               &gpus, &power, &end, &used) == 8 &&
        at_ms > 0 && gap_ms > 0 && gap_ms <= INT32_MAX) {
        key.job_id = job;
        key.attempt = attempt;
        key.step_id = step;
        snprintf(key.node, sizeof key.node, "%s", f->node);
        f->npoints = series_points_read((struct span){text + used, line.len - (size_t)used},
                                        f->point, SERIES_VALUES_MAX);
        if (f->npoints)
            sample_add(f, &key, at_ms, gap_ms);
        if (gpus && f->gpus && gpus_too) {
            struct want *w = want_of(f, job, attempt);
            w->gap_ms = gap_ms;
            w->said_us = clock_monotonic_us();
            w->power = power || w->power;
            w->asked |= gpus;
            gpu_watch_sample(f->gpus, gpus);
        }
        if (end)
            step_ended(f, job, attempt);
    }
    free(text);
}

static const char *name_of(const struct series_feed *f, int32_t index)
{
    for (size_t i = 0; i < f->name.n; i++)
        if (f->name.v[i].index == index)
            return f->name.v[i].name;
    return "";
}

static void power_leave_out(struct series_feed *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->npoints; i++)
        if (f->point[i].id != SERIES_GPU_POWER)
            f->point[n++] = f->point[i];
    f->npoints = n;
}

/* Steps of a job ask for the same device: one sample in each gap is enough. */
static bool is_too_soon(struct series_feed *f, const struct series_source_key *key, int64_t gap_ms)
{
    for (size_t i = 0; i < f->source.n; i++)
        if (series_key_compare(series_grow_key(f->source.v[i].grow), key) == 0)
            return clock_monotonic_us() - f->source.v[i].said_us < 400 * gap_ms;
    return false;
}

void series_feed_sampled(struct series_feed *f, int32_t index, struct span values)
{
    if (index < 0 || index > 62)
        return;
    for (size_t i = 0; i < f->want.n; i++) {
        struct want *w = &f->want.v[i];
        struct series_source_key key = {
            .job_id = w->job_id, .attempt = w->attempt, .device = index};
        if (!(w->asked >> index & 1))
            continue;
        w->asked &= ~(UINT64_C(1) << index);
        snprintf(key.node, sizeof key.node, "%s", f->node);
        snprintf(key.name, sizeof key.name, "%s", name_of(f, index));
        f->npoints = series_points_read(values, f->point, SERIES_VALUES_MAX);
        if (!w->power)
            power_leave_out(f);
        if (f->npoints && !is_too_soon(f, &key, w->gap_ms))
            sample_add(f, &key, clock_now_us() / 1000, w->gap_ms);
        if (w->asked)
            continue;
        if (w->ends)
            flush_now(f);
        w->power = w->ends = false;
    }
}

void series_feed_devices(struct series_feed *f, const char *devices)
{
    struct arena *a = arena_new();
    struct device_list list = {0};
    vec_clear(&f->name);
    if (!text_empty(devices))
        devices_parse(devices, a, &list, NULL);
    for (size_t i = 0; i < list.n; i++) {
        const struct device *d = &list.v[i];
        struct device_name n = {.index = d->index};
        if (!text_is(d->kind, "gpu"))
            continue;
        snprintf(n.name, sizeof n.name, "%s%s%s", d->type ? d->type : "gpu", d->uuid ? " " : "",
                 d->uuid ? d->uuid : "");
        vec_push(&f->name, n);
    }
    arena_free(a);
}

/* ---- life ---- */

struct series_feed *series_feed_new(struct loop *l, struct log *log, const char *node,
                                    const char *node_dir, struct gpu_watch *gpus)
{
    struct series_feed *f = xcalloc(1, sizeof *f);
    *f = (struct series_feed){.loop = l,
                              .log = log,
                              .node = xstrdup(node),
                              .path = xasprintf("%s/series.unsent", node_dir),
                              .gpus = gpus,
                              .point = xcalloc(SERIES_VALUES_MAX, sizeof *f->point),
                              .flush = timer_new(l, flush, f)};
    unsent_read(f);
    if (f->queue.n)
        flush_later(f);
    return f;
}

void series_feed_free(struct series_feed *f)
{
    if (!f)
        return;
    sources_flush(f);
    file_keep(f, true);
    for (size_t i = 0; i < f->source.n; i++)
        series_grow_free(f->source.v[i].grow);
    while (f->queue.n)
        block_drop(f, f->queue.n - 1);
    timer_free(f->flush);
    vec_done(&f->source);
    vec_done(&f->want);
    vec_done(&f->queue);
    vec_done(&f->name);
    free(f->point);
    free(f->node);
    free(f->path);
    free(f);
}
