/* Children through libuv's uv_spawn (which also owns SIGCHLD). Each leads a session, and with it a
 * process group, of its own.
 *
 * A child is done when it has exited and its output pipes are at their ends, or a second after the
 * exit if a grandchild holds one open. Its handles close one by one; the memory goes with the
 * last. */
#include "io/process/spawn.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"
#include "io/loop_uv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_GRACE_US USEC_PER_SEC
#define KILL_GRACE_US   (10 * USEC_PER_SEC)

/* Of what it writes so much is kept. */
struct written {
    uv_pipe_t pipe;
    bool has, ended;
    size_t max;
    struct str kept;
};

struct spawn {
    struct loop *loop;
    uv_process_t process;
    uv_pipe_t in;
    bool has_in, exited, detached, finishing;
    struct written out, err; /* err: where it is not in `out` */
    uv_write_t write;
    char *input;
    char piece[8192];
    struct spawn_result result;
    struct timer *timeout, *grace;
    void (*done)(void *ctx, const struct spawn_result *r);
    void *ctx;
    unsigned open_handles;
};

static void handle_closed(uv_handle_t *handle)
{
    struct spawn *s = handle->data;
    if (--s->open_handles > 0)
        return;
    free(s->input);
    str_done(&s->out.kept);
    str_done(&s->err.kept);
    free(s);
}

static void handle_close(struct spawn *s, void *handle)
{
    uv_handle_t *h = handle;
    h->data = s;
    if (!uv_is_closing(h))
        uv_close(h, handle_closed);
}

static void handles_close(struct spawn *s)
{
    timer_free(s->timeout);
    timer_free(s->grace);
    s->timeout = s->grace = NULL;
    if (s->has_in)
        handle_close(s, &s->in);
    if (s->out.has)
        handle_close(s, &s->out.pipe);
    if (s->err.has)
        handle_close(s, &s->err.pipe);
    handle_close(s, &s->process);
}

static void spawn_finish(void *ctx)
{
    struct spawn *s = ctx;
    if (s->finishing)
        return;
    s->finishing = true;
    s->result.output = str_text(&s->out.kept);
    s->result.output_len = s->out.kept.len;
    s->result.errors = str_text(&s->err.kept);
    s->result.errors_len = s->err.kept.len;
    s->done(s->ctx, &s->result);
    handles_close(s);
}

static bool all_read(const struct spawn *s)
{
    return (s->out.ended || !s->out.has) && (s->err.ended || !s->err.has);
}

static void spawn_check(struct spawn *s)
{
    if (s->exited && all_read(s))
        spawn_finish(s);
}

static void process_exited(uv_process_t *process, int64_t code, int signo)
{
    struct spawn *s = process->data;
    s->exited = true;
    s->result.status = signo ? signo : (int)(code & 0xff) << 8;
    if (!all_read(s)) {
        timer_free(s->grace);
        s->grace = timer_new(s->loop, spawn_finish, s);
        timer_set(s->grace, OUTPUT_GRACE_US);
    }
    spawn_check(s);
}

/* It waits in the kernel for what does not answer, say a file of a server that is gone. Who started
 * it has other things to do; what is left of it ends with the wait. */
static void given_up(void *ctx)
{
    struct spawn *s = ctx;
    s->result.status = SIGKILL;
    spawn_finish(s);
}

static void timed_out(void *ctx)
{
    struct spawn *s = ctx;
    s->result.timed_out = true;
    spawn_kill(s, SIGKILL);
    if (s->grace)
        return;
    s->grace = timer_new(s->loop, given_up, s);
    timer_set(s->grace, KILL_GRACE_US);
}

/* ---- its output and input
 * ------------------------------------------------------------------------------------------- */

static void output_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    (void)suggested;
    struct spawn *s = handle->data;
    *ret = uv_buf_init(s->piece, sizeof s->piece);
}

static void output_came(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct spawn *s = stream->data;
    struct written *w = stream == (uv_stream_t *)&s->err.pipe ? &s->err : &s->out;
    if (n > 0) {
        size_t room = w->max - w->kept.len;
        str_addn(&w->kept, buf->base, (size_t)n < room ? (size_t)n : room);
    } else if (n < 0) {
        uv_read_stop(stream);
        w->ended = true;
        spawn_check(s);
    }
}

static void input_written(uv_write_t *write, int status)
{
    (void)status; /* a program that does not read its input is no failure */
    struct spawn *s = write->data;
    handle_close(s, &s->in);
}

static void input_start(struct spawn *s, const struct spawn_options *o)
{
    s->input = o->input_given ? (char *)(uintptr_t)o->input : xmemdup(o->input, o->input_len);
    uv_buf_t buf = uv_buf_init(s->input, (unsigned)o->input_len);
    s->write.data = s;
    if (o->input_len == 0 ||
        uv_write(&s->write, (uv_stream_t *)&s->in, &buf, 1, input_written) != 0)
        handle_close(s, &s->in);
}

/* ---- start
 * -------------------------------------------------------------------------------- */

static void pipe_make(struct spawn *s, uv_pipe_t *pipe, bool *ret_has)
{
    uv_pipe_init(loop_uv(s->loop), pipe, 0);
    pipe->data = s;
    *ret_has = true;
    s->open_handles++;
}

static bool output_open(struct spawn *s, struct written *w, size_t max, int *ret_write_end,
                        struct err *ret_err)
{
    int ends[2];
    w->max = max;
    if (max == 0)
        return true;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set(ret_err, ERR_UNAVAILABLE, "cannot make a pipe: %s", strerror(errno));
    pipe_make(s, &w->pipe, &w->has);
    CHECK(uv_pipe_open(&w->pipe, ends[0]) == 0);
    *ret_write_end = ends[1];
    return true;
}

/* Standard output and error share one pipe, so that its lines keep their order, unless its errors
 * are wanted apart. */
static void stdio_fill(struct spawn *s, const struct spawn_options *o, const int ends[2],
                       uv_stdio_container_t *stdio)
{
    stdio[0].flags = stdio[1].flags = stdio[2].flags = UV_IGNORE;
    if (s->has_in) {
        stdio[0].flags = UV_CREATE_PIPE | UV_READABLE_PIPE;
        stdio[0].data.stream = (uv_stream_t *)&s->in;
    }
    if (s->out.has) {
        stdio[1].flags = stdio[2].flags = UV_INHERIT_FD;
        stdio[1].data.fd = stdio[2].data.fd = ends[0];
    }
    if (s->err.has) {
        stdio[2].flags = UV_INHERIT_FD;
        stdio[2].data.fd = ends[1];
    }
    for (size_t i = 0; i < o->nfds; i++) {
        stdio[3 + i].flags = UV_INHERIT_FD;
        stdio[3 + i].data.fd = o->fds[i];
    }
}

/* libuv wants arrays of pointers to non-const; it does not write to them. */
static char **texts_plain(const char *const *texts)
{
    return (char **)texts;
}

static int process_start(struct spawn *s, const struct spawn_options *o, const int ends[2])
{
    uv_stdio_container_t *stdio = xcalloc(3 + o->nfds, sizeof *stdio);
    stdio_fill(s, o, ends, stdio);
    uv_process_options_t p = {
        .exit_cb = process_exited,
        .file = o->argv[0],
        .args = texts_plain(o->argv),
        .env = texts_plain(o->env),
        .cwd = o->dir,
        .flags = UV_PROCESS_DETACHED | (o->as_user ? UV_PROCESS_SETUID | UV_PROCESS_SETGID : 0u),
        .stdio_count = (int)(3 + o->nfds),
        .stdio = stdio,
        .uid = o->uid,
        .gid = o->gid,
    };
    s->open_handles++;
    s->process.data = s;
    int rc = uv_spawn(loop_uv(s->loop), &s->process, &p);
    free(stdio);
    return rc;
}

static void streams_start(struct spawn *s, const struct spawn_options *o)
{
    if (s->has_in)
        input_start(s, o);
    if (s->out.has)
        uv_read_start((uv_stream_t *)&s->out.pipe, output_room, output_came);
    if (s->err.has)
        uv_read_start((uv_stream_t *)&s->err.pipe, output_room, output_came);
    if (o->timeout_us > 0 && !o->detach) {
        s->timeout = timer_new(s->loop, timed_out, s);
        timer_set(s->timeout, o->timeout_us);
    }
}

static void ends_close(const int ends[2])
{
    for (size_t i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

static void input_drop(const struct spawn_options *o)
{
    if (o->input_given)
        free((void *)(uintptr_t)o->input);
}

struct spawn *spawn_start(struct loop *l, const struct spawn_options *o,
                          void (*done)(void *ctx, const struct spawn_result *r), void *ctx,
                          struct err *ret_err)
{
    struct spawn *s = xcalloc(1, sizeof *s);
    int ends[2] = {-1, -1};
    *s = (struct spawn){.loop = l, .done = done, .ctx = ctx, .detached = o->detach};
    if (!output_open(s, &s->out, o->output_max, &ends[0], ret_err) ||
        !output_open(s, &s->err, o->error_max, &ends[1], ret_err)) {
        int why = errno;
        ends_close(ends);
        input_drop(o);
        if (s->out.has)
            handle_close(s, &s->out.pipe);
        else
            free(s);
        errno = why;
        return NULL;
    }
    if (o->input)
        pipe_make(s, &s->in, &s->has_in);
    int rc = process_start(s, o, ends);
    ends_close(ends);
    if (rc == 0) {
        streams_start(s, o);
        return s;
    }
    input_drop(o);
    loop_error(ret_err, rc, o->argv[0]);
    handles_close(s);
    errno = -rc;
    return NULL;
}

pid_t spawn_pid(const struct spawn *s)
{
    return (pid_t)s->process.pid;
}

void spawn_kill(struct spawn *s, int signo)
{
    if (!s->exited)
        kill(-spawn_pid(s), signo);
}

void spawn_free(struct spawn *s)
{
    if (!s || s->finishing)
        return;
    s->finishing = true;
    if (!s->detached)
        spawn_kill(s, SIGKILL);
    handles_close(s);
}

void spawn_status_text(int status, struct str *out)
{
    if (WIFSIGNALED(status))
        str_addf(out, "was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        str_addf(out, "exited with %d", WEXITSTATUS(status));
}
