/* Lines of text on a socket pair. To the process, first "device INDEX UUID FILES" for each device ("-" = not known), then for each look "look INDEX USE JOB UID FROM STEPS" for
 * each device (STEPS: "7.1.0+7.1.batch" that may hold it, as their directories are called; "-" = none) and "go". From it: "seen INDEX USE STATE WHY" for each and "done"; at any time "broke INDEX WHY", and every second
 * "used STEP PERCENT BYTES" for each step that computes, then "usage 1" (0: percents are not known).
 *
 * A look that is not answered in time is answered here, with what is known: that the devices do not answer; the process is killed, and another one tries with the next look. */
#include "node/gpu_watch.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "io/spawn.h"
#include "model/gres.h"
#include "node/step_dir.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER_US        INT64_C(15000000)
#define USED_PERCENT_MAX 6400 /* of 64 devices */
#define USED_BYTES_MAX   (INT64_C(1) << 50)
#define RESTART_US       INT64_C(5000000) /* a process that ended by itself is not started again sooner */

static const char no_answer[] = "the library of its maker does not answer";

struct gpu_watch {
    struct loop *loop;
    struct log *log;
    char *hello; /* the lines about the devices */
    struct gpu_watch_ops ops;
    void *ctx;
    struct spawn *process; /* NULL while there is none */
    int fd;
    struct fd_watch *watch;
    struct timer *timer, *restart;
    struct str in;
    VEC(struct device_look) asked; /* not answered */
    VEC(struct device_seen) seen;
    VEC(struct gpu_used) used;
    struct arena *arena; /* texts of `seen` */
    bool sent;           /* the process was asked */
    bool began;          /* a first look was asked for: there is to be a process */
};

static const char *files_of(const char *files, int32_t index, struct str *out)
{
    struct span rest = span_of(files ? files : ""), one, number;
    str_clear(out);
    while (span_next(&rest, ',', &one))
        if (span_next(&one, '=', &number) && strtol(number.data, NULL, 10) == index)
            str_addf(out, "%.*s", (int)one.len, one.data);
    return out->len ? str_text(out) : "-";
}

struct gpu_watch *gpu_watch_new(struct loop *l, struct log *log, const char *devices, const char *files,
                                const struct gpu_watch_ops *ops, void *ctx)
{
    struct gpu_watch *w = xcalloc(1, sizeof *w);
    struct device_list list = {0};
    struct str hello = STR_INIT, file = STR_INIT;
    *w = (struct gpu_watch){.loop = l, .log = log, .ops = *ops, .ctx = ctx, .fd = -1, .arena = arena_new()};
    w->ops.answer_us = ops->answer_us ? ops->answer_us : ANSWER_US;
    w->ops.restart_us = ops->restart_us ? ops->restart_us : RESTART_US;
    if (devices)
        devices_parse(devices, w->arena, &list, NULL);
    for (size_t i = 0; i < list.n; i++)
        if (text_is(list.v[i].kind, "gpu"))
            str_addf(&hello, "device %d %s %s\n", list.v[i].index,
                     text_empty(list.v[i].uuid) ? "-" : list.v[i].uuid,
                     files_of(files, list.v[i].index, &file));
    w->hello = str_take(&hello);
    str_done(&file);
    return w;
}

/* ---- answers ---- */

static void answered(struct gpu_watch *w)
{
    VEC(struct device_seen) seen = {0};
    timer_stop(w->timer);
    for (size_t i = 0; i < w->asked.n; i++) {
        struct device_seen one = {w->asked.v[i].index, w->asked.v[i].use, DEVICE_HELD, no_answer};
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

static enum device_state state_of(struct span word)
{
    return span_is(word, "clean")    ? DEVICE_CLEAN
           : span_is(word, "shared") ? DEVICE_SHARED
           : span_is(word, "broken") ? DEVICE_BROKEN
                                     : DEVICE_HELD;
}

static int64_t number_of(struct span s)
{
    char text[24];
    snprintf(text, sizeof text, "%.*s", (int)s.len, s.data ? s.data : "");
    return strtoll(text, NULL, 10);
}

static void used_take(struct gpu_watch *w, struct span line)
{
    struct span step, util, bytes;
    struct gpu_used used = {0};
    char name[64];
    if (!span_next(&line, ' ', &step) || !span_next(&line, ' ', &util) || !span_next(&line, ' ', &bytes))
        return;
    snprintf(name, sizeof name, "%.*s", (int)step.len, step.data);
    if (!step_dir_name_parse(name, &used.job_id, &used.attempt, &used.step_id))
        return;
    int64_t percent = number_of(util), mem = number_of(bytes); /* what a library says may be anything */
    used.util = (int32_t)(percent < 0 ? 0 : percent > USED_PERCENT_MAX ? USED_PERCENT_MAX : percent);
    used.mem_bytes = mem < 0 || mem > USED_BYTES_MAX ? 0 : mem;
    vec_push(&w->used, used);
}

static void line_take(struct gpu_watch *w, struct span line)
{
    struct span word, index, use, state;
    if (!span_next(&line, ' ', &word))
        return;
    if (span_is(word, "done")) {
        answered(w);
    } else if (span_is(word, "used")) {
        used_take(w, line);
    } else if (span_is(word, "usage")) {
        w->ops.used(w->ctx, w->used.v, w->used.n, span_is(line, "1"));
        vec_clear(&w->used);
    } else if (span_is(word, "seen") && span_next(&line, ' ', &index) && span_next(&line, ' ', &use) &&
               span_next(&line, ' ', &state)) {
        struct device_seen seen = {
            .index = (int32_t)number_of(index), .use = (uint64_t)number_of(use), .state = state_of(state)};
        seen.why = arena_strndup(w->arena, line.data ? line.data : "", line.len);
        vec_push(&w->seen, seen);
    } else if (span_is(word, "broke") && span_next(&line, ' ', &index)) {
        char *why = xstrndup(line.data ? line.data : "", line.len);
        struct device_seen seen = {.index = (int32_t)number_of(index), .state = DEVICE_BROKEN, .why = why};
        w->ops.broke(w->ctx, &seen);
        free(why);
    }
}

static void readable(void *ctx)
{
    struct gpu_watch *w = ctx;
    char piece[4096];
    ssize_t n = recv(w->fd, piece, sizeof piece, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) { /* its end is told by process_done */
        fd_watch_free(w->watch);
        w->watch = NULL;
        return;
    }
    if (n > 0)
        str_addn(&w->in, piece, (size_t)n);
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

/* ---- the process ---- */

static void process_drop(struct gpu_watch *w)
{
    fd_watch_free(w->watch);
    w->watch = NULL;
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
    w->process = NULL;
    str_clear(&w->in);
    vec_clear(&w->used);
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
        answered(w);
}

static bool process_begin(struct gpu_watch *w, struct err *ret_err)
{
    static const char *const argv[] = {"/proc/self/exe", "node", "--watch-gpus", NULL};
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
    return w->watch && send(w->fd, w->hello, strlen(w->hello), MSG_NOSIGNAL) == (ssize_t)strlen(w->hello);
}

/* Without an answer in time; or there is no process to ask. */
static void too_late(void *ctx)
{
    struct gpu_watch *w = ctx;
    if (w->process && w->sent) {
        log_error(w->log, "the GPUs do not answer");
        spawn_free(w->process);
        process_drop(w);
        timer_set(w->restart, w->ops.restart_us);
    }
    answered(w);
}

static void restart(void *ctx)
{
    struct gpu_watch *w = ctx;
    struct err err = {0};
    if (!w->process && w->began && !process_begin(w, &err)) {
        log_error(w->log, "the process that watches the GPUs cannot be started: %s", err.text);
        timer_set(w->restart, w->ops.restart_us);
    }
}

static void look_say(const struct device_look *look, struct str *out)
{
    str_addf(out, "look %d %llu %llu %u %lld ", look->index, (unsigned long long)look->use,
             (unsigned long long)look->job_id, look->uid, (long long)look->from_us);
    for (uint32_t i = 0; i < look->nsteps; i++) {
        str_add(out, i ? "+" : "");
        step_dir_name(look->step[i].job_id, look->step[i].attempt, look->step[i].step_id, out);
    }
    str_add(out, look->nsteps ? "\n" : "-\n");
}

void gpu_watch_look(struct gpu_watch *w, const struct device_look *look, size_t n)
{
    struct str ask = STR_INIT;
    if (!w->timer) {
        w->timer = timer_new(w->loop, too_late, w);
        w->restart = timer_new(w->loop, restart, w);
    }
    if (!w->began) {
        w->began = true;
        restart(w);
    }
    for (size_t i = 0; i < n; i++) {
        vec_push(&w->asked, look[i]);
        look_say(&look[i], &ask);
    }
    str_add(&ask, "go\n");
    w->sent =
        w->process && send(w->fd, str_text(&ask), ask.len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)ask.len;
    timer_set(w->timer, w->sent ? w->ops.answer_us : 0);
    str_done(&ask);
}

void gpu_watch_free(struct gpu_watch *w)
{
    if (!w)
        return;
    if (w->process)
        spawn_free(w->process);
    process_drop(w);
    timer_free(w->timer);
    timer_free(w->restart);
    str_done(&w->in);
    vec_done(&w->asked);
    vec_done(&w->seen);
    vec_done(&w->used);
    arena_free(w->arena);
    free(w->hello);
    free(w);
}
