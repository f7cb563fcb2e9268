/* A process that starts may take its time, as long as something is heard of it now and then. A look
 * that is not answered in time is answered here, with what is known: that the process still starts,
 * or that the devices do not answer; in the second case the process is killed, and another one
 * tries with the next look. A device that it hung at twice is taken for broken, and is not asked
 * again before somebody wants it looked at: so one device that hangs does not keep the others out
 * of use. */
#include "node/hardware/gpu_watch.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "io/process/spawn.h"
#include "node/hardware/gpu_lines.h"
#include "node/hardware/gpu_sentences.h"
#include "node/hardware/gpu_time.h"
#include "node/hardware/gpu_watched.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_US      INT64_C(15000000)
#define START_US       INT64_C(120000000)
#define NOWHERE        INT32_C(-1)
#define LINE_MAX_BYTES (64u << 10)
#define SEEN_MAX       4096
#define RESTART_US     INT64_C(5000000) /* whoever ended by itself is not started sooner */

static const char no_answer[] = SAY_NO_ANSWER;
static const char still_starts[] = SAY_STARTING;

struct gpu_watch {
    struct loop *loop;
    struct log *log;
    struct watched_gpus gpu;
    struct gpu_watch_ops ops;
    void *ctx;
    char *steps; /* directory of the node's; owned; NULL = not said */
    struct gpu_killed *killed;
    struct spawn *process; /* NULL while there is none */
    int fd;
    struct fd_watch *watch;
    struct timer *timer, *restart, *start;
    struct str in;
    VEC(struct device_look) asked; /* not answered */
    struct str apart;              /* lines that go with them; empty = none */
    VEC(struct device_seen) seen;
    VEC(struct gpu_used) used;
    VEC(struct gpu_now) now;
    struct arena *arena; /* texts of `seen` */
    int32_t at;          /* the device that the process asks for */
    bool ready;          /* the process has started */
    bool sent;           /* the process was asked */
    bool sampling;       /* a sample was asked for, and nothing was heard since */
    uint64_t sample_due; /* of which devices one is wanted next (bit n: number n) */
    char *released;      /* why there is to be none; owned, NULL = there is to be one */
    bool began;          /* a first look was asked for: there is to be a process */
};

static int64_t answer_us(void)
{
    const char *text = getenv("REMUDA_GPU_ANSWER_MS"); /* of tests */
    return text ? 1000 * strtoll(text, NULL, 10) : ANSWER_US;
}

struct gpu_watch *gpu_watch_new(struct loop *l, struct log *log, const char *devices,
                                const char *files, const struct gpu_watch_ops *ops, void *ctx)
{
    struct gpu_watch *w = xcalloc(1, sizeof *w);
    *w = (struct gpu_watch){.loop = l,
                            .log = log,
                            .ops = *ops,
                            .ctx = ctx,
                            .fd = -1,
                            .arena = arena_new(),
                            .killed = gpu_killed_new(l)};
    w->ops.answer_us = ops->answer_us ? ops->answer_us : answer_us();
    w->ops.start_us = ops->start_us ? ops->start_us : START_US / ANSWER_US * answer_us();
    w->ops.restart_us = ops->restart_us ? ops->restart_us : gpu_time(RESTART_US);
    watched_gpus_take(&w->gpu, devices, files);
    return w;
}

void gpu_watch_steps_at(struct gpu_watch *w, const char *dir)
{
    ASSERT(dir);
    free(w->steps);
    w->steps = xstrdup(dir);
}

/* ---- looks ---- */

static void looks_send(struct gpu_watch *w)
{
    struct str ask = STR_INIT;
    for (size_t i = 0; i < w->asked.n; i++)
        gpu_look_say(&w->asked.v[i], &ask);
    str_addf(&ask, "%sgo\n", str_text(&w->apart));
    w->sent = send(w->fd, str_text(&ask), ask.len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)ask.len;
    timer_set(w->timer, w->sent ? w->ops.answer_us : 0);
    str_done(&ask);
}

/* What was asked while it was starting is asked now. */
static void ready(struct gpu_watch *w)
{
    w->ready = true;
    w->at = NOWHERE;
    timer_stop(w->start);
    if (w->asked.n > 0)
        looks_send(w);
}

/* What does not go out at once is not asked: the next sample comes soon. While one is not answered
 * the next waits, and what else is wanted meanwhile goes with it: samples for a process that hangs
 * would fill the way, and a look would not go out. */
static void sample_send(struct gpu_watch *w)
{
    struct str ask = STR_INIT;
    if (!w->sample_due || !w->process || !w->ready || w->sampling)
        return;
    str_add(&ask, "sample");
    for (size_t i = 0; i < w->gpu.n; i++)
        if (w->gpu.v[i].index < 64 && w->sample_due >> w->gpu.v[i].index & 1 &&
            w->gpu.v[i].hangs < WATCHED_HANGS_MAX)
            str_addf(&ask, " %d", w->gpu.v[i].index);
    str_addc(&ask, '\n');
    w->sample_due = 0;
    if (memchr(ask.data, ' ', ask.len))
        w->sampling = send(w->fd, ask.data, ask.len, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
    str_done(&ask);
}

void gpu_watch_sample(struct gpu_watch *w, uint64_t devices)
{
    w->sample_due |= w->process && w->ready ? devices : 0;
    sample_send(w);
}

/* ---- answers ---- */

/* `otherwise` is why of what it said nothing of. */
static void answered(struct gpu_watch *w, const char *otherwise)
{
    VEC(struct device_seen) seen = {0};
    timer_stop(w->timer);
    for (size_t i = 0; i < w->asked.n; i++) {
        struct device_seen one = {w->asked.v[i].index, w->asked.v[i].use, DEVICE_BLIND, otherwise};
        for (size_t k = 0; k < w->seen.n; k++)
            if (w->seen.v[k].index == one.index && w->seen.v[k].use == one.use)
                one = w->seen.v[k];
        vec_push(&seen, one);
    }
    vec_clear(&w->asked);
    w->ops.looked(w->ctx, seen.v, seen.n);
    vec_done(&seen);
    vec_clear(&w->seen);
    arena_reset(w->arena);
}

static void sign_take(struct gpu_watch *w, struct span line)
{
    struct arena *a = arena_new();
    struct device_seen seen;
    if (gpu_seen_parse(line, false, a, &seen))
        w->ops.sign(w->ctx, &seen);
    arena_free(a);
}

static void text_take(struct gpu_watch *w, struct span word, struct span line)
{
    char *text = xstrndup(line.data ? line.data : "", line.len);
    if (span_is(word, "note"))
        log_warning(w->log, "%s", text);
    else if (w->ops.library)
        w->ops.library(w->ctx, text);
    free(text);
}

static void line_take(struct gpu_watch *w, struct span line)
{
    struct span word;
    struct device_seen seen;
    struct gpu_used used;
    struct gpu_now now;
    if (!span_next(&line, ' ', &word))
        return;
    if (!w->ready)
        timer_set(w->start, w->ops.start_us);
    if (span_is(word, "at")) {
        w->at = (int32_t)gpu_number(line);
    } else if (span_is(word, "ready")) {
        ready(w);
    } else if (span_is(word, "done")) {
        w->at = NOWHERE;
        answered(w, no_answer);
    } else if (span_is(word, "used")) {
        if (gpu_used_parse(line, &used) && w->used.n < GPU_USED_MAX)
            vec_push(&w->used, used);
    } else if (span_is(word, "usage")) {
        w->sampling = false;
        sample_send(w);
        w->ops.used(w->ctx, w->used.v, w->used.n, w->now.v, w->now.n, span_is(line, "1"));
        vec_clear(&w->used);
        vec_clear(&w->now);
    } else if (span_is(word, "gpu")) {
        if (gpu_now_parse(line, &now) && w->now.n < GPU_USED_MAX)
            vec_push(&w->now, now);
    } else if (span_is(word, "seen")) {
        if (w->seen.n < SEEN_MAX && gpu_seen_parse(line, true, w->arena, &seen))
            vec_push(&w->seen, seen);
    } else if (span_is(word, "sign")) {
        sign_take(w, line);
    } else if (span_is(word, "sampled")) {
        struct span index;
        w->sampling = false;
        sample_send(w);
        if (span_next(&line, ' ', &index) && w->ops.sampled)
            w->ops.sampled(w->ctx, (int32_t)gpu_number(index), line);
    } else if (span_is(word, "note") || span_is(word, "library")) {
        text_take(w, word, line);
    }
}

/* The whole lines in `in`; what is left is the beginning of one. */
static void lines_take(struct gpu_watch *w)
{
    char *end;
    while (w->in.len > 0 && (end = memchr(w->in.data, '\n', w->in.len))) {
        size_t len = (size_t)(end - w->in.data);
        char *line = xstrndup(w->in.data, len);
        memmove(w->in.data, end + 1, w->in.len - len - 1);
        w->in.len -= len + 1;
        line_take(w, span_of(line));
        free(line);
    }
}

static void readable(void *ctx)
{
    struct gpu_watch *w = ctx;
    char piece[4096];
    ssize_t n = recv(w->fd, piece, sizeof piece, MSG_DONTWAIT);
    /* Its end is told by process_done. */
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
        fd_watch_free(w->watch);
        w->watch = NULL;
        return;
    }
    if (n > 0)
        str_addn(&w->in, piece, (size_t)n);
    lines_take(w);
    /* A library went mad: what it says is no more heard, and the look is late. */
    if (w->in.len > LINE_MAX_BYTES) {
        log_error(w->log, "the process that watches the GPUs says a line without end");
        str_done(&w->in);
        fd_watch_free(w->watch);
        w->watch = NULL;
    }
}

/* ---- the process ---- */

static void process_drop(struct gpu_watch *w)
{
    fd_watch_free(w->watch);
    w->watch = NULL;
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
    w->process = NULL;
    w->ready = w->sent = w->sampling = false;
    w->sample_due = 0;
    w->at = NOWHERE;
    if (w->start)
        timer_stop(w->start);
    str_clear(&w->in);
    vec_clear(&w->used);
    vec_clear(&w->now);
}

/* It is killed. */
static void process_end(struct gpu_watch *w)
{
    if (w->process) {
        pid_t pid = spawn_pid(w->process);
        spawn_free(w->process);
        gpu_killed_add(w->killed, pid);
    }
    process_drop(w);
}

static void process_done(void *ctx, const struct spawn_result *r)
{
    struct gpu_watch *w = ctx;
    struct str how = STR_INIT;
    spawn_status_text(r->status, &how);
    log_error(w->log, "the process that watches the GPUs %s; it is started again", str_text(&how));
    str_done(&how);
    process_drop(w);
    timer_set(w->restart, w->ops.restart_us);
    if (w->asked.n > 0)
        answered(w, no_answer);
}

static bool process_begin(struct gpu_watch *w, struct err *ret_err)
{
    static const char *const argv[] = {"/proc/self/exe", "node", "--watch-gpus", NULL};
    struct str hello = STR_INIT;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return err_set(ret_err, ERR_UNAVAILABLE, "no socket pair can be made: %s", strerror(errno));
    struct spawn_options o = {.argv = argv, .fds = &pair[1], .nfds = 1};
    w->process = spawn_start(w->loop, &o, process_done, w, ret_err);
    close(pair[1]);
    if (!w->process) {
        close(pair[0]);
        return false;
    }
    w->fd = pair[0];
    w->watch = fd_watch_new(w->loop, w->fd, readable, w, ret_err);
    timer_set(w->start, w->ops.start_us);
    if (w->steps && !strchr(w->steps, '\n'))
        str_addf(&hello, "steps %s\n", w->steps);
    watched_gpus_say(&w->gpu, &hello);
    bool said = send(w->fd, str_text(&hello), hello.len, MSG_NOSIGNAL) == (ssize_t)hello.len;
    str_done(&hello);
    return w->watch && said;
}

/* It hangs at this device. */
static void hang_count(struct gpu_watch *w)
{
    for (size_t i = 0; i < w->gpu.n; i++) {
        struct device_seen seen = {.index = w->at, .sign = DEVICE_BROKEN, .why = SAY_HUNG};
        if (w->gpu.v[i].index == w->at && ++w->gpu.v[i].hangs >= WATCHED_HANGS_MAX)
            w->ops.sign(w->ctx, &seen);
    }
}

static void process_hangs(struct gpu_watch *w)
{
    if (w->at == NOWHERE)
        log_error(w->log, "the GPUs do not answer");
    else
        log_error(w->log, "the GPUs do not answer: their library hangs when it is asked for GPU %d",
                  w->at);
    hang_count(w);
    process_end(w);
    timer_set(w->restart, w->ops.restart_us);
}

/* Nothing was heard of a process that is starting. */
static void start_too_late(void *ctx)
{
    struct gpu_watch *w = ctx;
    if (!w->process || w->ready)
        return;
    process_hangs(w);
    if (w->asked.n > 0)
        answered(w, no_answer);
}

/* Without an answer in time; or there is no process to ask, or it takes nothing more. */
static void too_late(void *ctx)
{
    struct gpu_watch *w = ctx;
    if (w->process && (w->sent || w->ready))
        process_hangs(w);
    answered(w, w->released ? w->released : w->process ? still_starts : no_answer);
}

static void restart(void *ctx)
{
    struct gpu_watch *w = ctx;
    struct err err = {0};
    if (!w->process && w->began && !w->released && !process_begin(w, &err)) {
        log_error(w->log, "the process that watches the GPUs cannot be started: %s", err.text);
        timer_set(w->restart, w->ops.restart_us);
    }
}

void gpu_watch_look(struct gpu_watch *w, const struct device_look *look, size_t n,
                    const struct gpu_apart *apart)
{
    ASSERT(look || n == 0);
    if (!w->timer) {
        w->timer = timer_new(w->loop, too_late, w);
        w->restart = timer_new(w->loop, restart, w);
        w->start = timer_new(w->loop, start_too_late, w);
    }
    if (!w->began) {
        w->began = true;
        restart(w);
    }
    for (size_t i = 0; i < n; i++)
        vec_push(&w->asked, look[i]);
    str_clear(&w->apart);
    if (apart)
        gpu_apart_say(look, n, apart->user, apart->n, &w->apart);
    if (w->ready)
        looks_send(w);
    else
        timer_set(w->timer, w->process ? w->ops.answer_us : 0);
}

static void released_say(struct gpu_watch *w)
{
    for (size_t i = 0; i < w->gpu.n; i++) {
        struct device_seen seen = {
            .index = w->gpu.v[i].index, .sign = DEVICE_BLIND, .why = w->released};
        w->ops.sign(w->ctx, &seen);
    }
}

void gpu_watch_release(struct gpu_watch *w, const char *why)
{
    ASSERT(!text_empty(why));
    free(w->released);
    w->released = xstrdup(why);
    process_end(w);
    if (w->asked.n > 0)
        answered(w, w->released);
    released_say(w);
}

void gpu_watch_resume(struct gpu_watch *w)
{
    if (!w->released)
        return;
    free(w->released);
    w->released = NULL;
    for (size_t i = 0; i < w->gpu.n; i++)
        w->gpu.v[i].hangs = 0;
    if (w->began)
        restart(w);
}

bool gpu_watch_is_released(const struct gpu_watch *w)
{
    return w->released != NULL;
}

struct gpu_killed *gpu_watch_killed(const struct gpu_watch *w)
{
    return w->killed;
}

void gpu_watch_devices(struct gpu_watch *w, const char *devices, const char *files)
{
    watched_gpus_drop(&w->gpu);
    watched_gpus_take(&w->gpu, devices, files);
    process_end(w);
    if (w->asked.n > 0)
        answered(w, still_starts);
    if (w->began)
        restart(w);
}

void gpu_watch_free(struct gpu_watch *w)
{
    if (!w)
        return;
    process_end(w);
    free(w->steps);
    gpu_killed_free(w->killed);
    timer_free(w->timer);
    timer_free(w->restart);
    timer_free(w->start);
    watched_gpus_drop(&w->gpu);
    str_done(&w->in);
    str_done(&w->apart);
    vec_done(&w->asked);
    vec_done(&w->seen);
    vec_done(&w->used);
    vec_done(&w->now);
    arena_free(w->arena);
    free(w->released);
    free(w);
}
