/* Watching what is not ours: processes by pidfd, descriptors of others. */
#include "base/alloc.h"
#include "io/loop_uv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

/* ---- descriptors
 * -------------------------------------------------------------------------- */

struct fd_watch {
    uv_poll_t handle;
    loop_fn readable;
    void *ctx;
};

static void fd_fired(uv_poll_t *handle, int status, int events)
{
    (void)status, (void)events;
    struct fd_watch *w = handle->data;
    w->readable(w->ctx);
}

static void fd_closed(uv_handle_t *handle)
{
    free(handle->data);
}

struct fd_watch *fd_watch_new(struct loop *l, int fd, loop_fn readable, void *ctx,
                              struct err *ret_err)
{
    struct fd_watch *w = xcalloc(1, sizeof *w);
    w->readable = readable;
    w->ctx = ctx;
    int rc = uv_poll_init(loop_uv(l), &w->handle, fd);
    if (rc != 0) {
        free(w);
        loop_error(ret_err, rc, "cannot watch a descriptor");
        return NULL;
    }
    w->handle.data = w;
    uv_poll_start(&w->handle, UV_READABLE | UV_DISCONNECT, fd_fired);
    return w;
}

void fd_watch_free(struct fd_watch *w)
{
    if (!w)
        return;
    uv_poll_stop(&w->handle);
    uv_close((uv_handle_t *)&w->handle, fd_closed);
}

/* ---- processes
 * ---------------------------------------------------------------------------- */

struct pid_watch {
    struct loop *loop;
    struct later gone; /* for a process that was gone before we looked */
    int fd;            /* pidfd, or -1 */
    struct fd_watch *poll;
    pid_t pid;
    void (*exited)(void *ctx, int status, int64_t cpu_us);
    void *ctx;
};

static int wait_status(const siginfo_t *info)
{
    switch (info->si_code) {
    case CLD_EXITED: return (info->si_status & 0xff) << 8;
    case CLD_DUMPED: return info->si_status | 0x80;
    default: return info->si_status & 0x7f;
    }
}

static int64_t usage_us(const struct timeval *t)
{
    return (int64_t)t->tv_sec * 1000000 + t->tv_usec;
}

/* Reaps it if it is our child. The kernel's call tells what that one used; the C library's leaves
 * it out. */
static int pid_status(pid_t pid, int fd, int64_t *ret_cpu_us)
{
    siginfo_t info;
    struct rusage used = {0};
    memset(&info, 0, sizeof info);
    long rc = syscall(SYS_waitid, fd >= 0 ? P_PIDFD : P_PID, fd >= 0 ? fd : (int)pid, &info,
                      WEXITED | WNOHANG, &used);
    *ret_cpu_us =
        rc == 0 && info.si_pid != 0 ? usage_us(&used.ru_utime) + usage_us(&used.ru_stime) : 0;
    return rc == 0 && info.si_pid != 0 ? wait_status(&info) : -1;
}

static void pid_gone(void *ctx)
{
    struct pid_watch *w = ctx;
    int64_t cpu_us;
    int status = pid_status(w->pid, w->fd, &cpu_us);
    void (*exited)(void *, int, int64_t) = w->exited;
    void *exited_ctx = w->ctx;
    pid_watch_free(w);
    exited(exited_ctx, status, cpu_us);
}

struct pid_watch *pid_watch_new(struct loop *l, pid_t pid,
                                void (*exited)(void *ctx, int status, int64_t cpu_us), void *ctx,
                                struct err *ret_err)
{
    struct pid_watch *w = xcalloc(1, sizeof *w);
    *w = (struct pid_watch){.loop = l, .pid = pid, .exited = exited, .ctx = ctx};
    w->fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (w->fd < 0 && errno == ESRCH) {
        loop_later(l, &w->gone, pid_gone, w);
        return w;
    }
    if (w->fd < 0)
        err_set(ret_err, ERR_UNAVAILABLE, "cannot watch process %d: %s", (int)pid, strerror(errno));
    else
        w->poll = fd_watch_new(l, w->fd, pid_gone, w, ret_err);
    if (w->poll)
        return w;
    pid_watch_free(w);
    return NULL;
}

void pid_watch_free(struct pid_watch *w)
{
    if (!w)
        return;
    loop_later_cancel(w->loop, &w->gone);
    fd_watch_free(w->poll);
    if (w->fd >= 0)
        close(w->fd);
    free(w);
}
