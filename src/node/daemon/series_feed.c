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
#include "model/grammar/gres.h"
#include "node/daemon/series_queue.h"
#include "wire/series.h"

#include <stdio.h>
#include <stdlib.h>

#define FLUSH_US    INT64_C(5000000)
#define AGAIN_US    INT64_C(30000000)  /* a frame of which nothing was heard is sent again */
#define SILENT_US   INT64_C(120000000) /* and several gaps: a source that says nothing is over */
#define FRAME_BYTES (256u << 10)

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

struct device_name {
    int32_t index;
    char name[SERIES_NAME_BYTES];
};

struct series_feed {
    struct loop *loop;
    struct log *log;
    char *node;
    struct gpu_watch *gpus;
    struct link *link;
    struct timer *flush;
    VEC(struct feed_source) source;
    VEC(struct want) want;
    struct series_queue queue;
    VEC(struct device_name) name;
    struct series_point *point; /* of the sample at hand */
    size_t npoints;
    uint64_t number, under_way; /* the last given; 0 = none is */
    int64_t sent_us;
    bool flushing; /* `flush` is set */
};

static void samples_queue(struct series_feed *f, struct feed_source *s, bool whole)
{
    struct str block = STR_INIT;
    size_t n = series_grow_count(s->grow), from = whole ? 0 : s->queued;
    if (from < n) {
        series_grow_encode(s->grow, from, whole, &block);
        series_queue_add(&f->queue, block.data, block.len, false);
    }
    s->queued = n;
    if (whole) {
        series_grow_clear(s->grow);
        s->queued = 0;
    }
    str_done(&block);
}

/* ---- sending ---- */

static void send_next(struct series_feed *f)
{
    struct str out = STR_INIT;
    if (!f->link || f->under_way)
        return;
    for (size_t i = 0;
         i < f->queue.block.n && out.len + f->queue.block.v[i].bytes.len < FRAME_BYTES; i++) {
        f->queue.block.v[i].number = f->number + 1;
        series_put(&out, &f->queue.block.v[i].bytes);
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
    for (size_t i = 0; i < f->queue.block.n; i++)
        f->queue.block.v[i].number = 0;
    f->under_way = 0;
}

void series_feed_kept(struct series_feed *f, uint64_t number)
{
    if (!f->under_way || number != f->under_way)
        return;
    series_queue_sent(&f->queue, number);
    f->under_way = 0;
    if (f->queue.block.n == 0)
        series_queue_save(&f->queue, false);
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
    series_queue_bound(&f->queue);
    series_queue_save(&f->queue, false);
    send_next(f);
    f->flushing = f->source.n || f->queue.block.n;
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
    *f =
        (struct series_feed){.loop = l,
                             .log = log,
                             .node = xstrdup(node),
                             .queue = {.log = log, .path = xasprintf("%s/series.unsent", node_dir)},
                             .gpus = gpus,
                             .point = xcalloc(SERIES_VALUES_MAX, sizeof *f->point),
                             .flush = timer_new(l, flush, f)};
    series_queue_read(&f->queue);
    if (f->queue.block.n)
        flush_later(f);
    return f;
}

void series_feed_free(struct series_feed *f)
{
    if (!f)
        return;
    sources_flush(f);
    series_queue_save(&f->queue, true);
    for (size_t i = 0; i < f->source.n; i++)
        series_grow_free(f->source.v[i].grow);
    timer_free(f->flush);
    vec_done(&f->source);
    vec_done(&f->want);
    series_queue_done(&f->queue);
    vec_done(&f->name);
    free(f->point);
    free(f->node);
    free(f);
}
