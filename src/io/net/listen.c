#include "io/net/listen.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "io/loop_uv.h"
#include "io/net/unix_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKLOG      4096
#define ACCEPT_BURST 64 /* connections taken in one round: others get their turn too */
#define REST_US      (USEC_PER_SEC / 10) /* before trying again when no descriptors are left */

struct listener {
    struct loop *loop;
    int fd;
    char *path;
    struct fd_watch *watch;
    struct timer *rest;
    void (*accepted)(void *ctx, int fd);
    void *ctx;
};

static void listener_ready(void *ctx);

void listener_rest(struct listener *li, int64_t us)
{
    ASSERT(us > 0);
    fd_watch_free(li->watch);
    li->watch = NULL;
    timer_set(li->rest, us);
}

static void listener_rested(void *ctx)
{
    struct listener *li = ctx;
    li->watch = fd_watch_new(li->loop, li->fd, listener_ready, li, NULL);
    if (!li->watch)
        timer_set(li->rest, REST_US);
}

static void listener_ready(void *ctx)
{
    struct listener *li = ctx;
    for (int i = 0; i < ACCEPT_BURST && li->watch; i++) {
        int fd = accept4(li->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                listener_rest(li, REST_US);
            return;
        }
        li->accepted(li->ctx, fd);
    }
}

/* Bound under another name and renamed when it listens: who sees the socket can connect. */
static int socket_open(const char *path, mode_t mode, struct err *ret_err)
{
    char *early = xasprintf("%s.new", path);
    unlink(early);
    int fd = unix_socket_bind(early);
    bool ok =
        fd >= 0 && chmod(early, mode) == 0 && listen(fd, BACKLOG) == 0 && rename(early, path) == 0;
    if (!ok) {
        err_set(ret_err, errno == EACCES ? ERR_DENIED : ERR_UNAVAILABLE, "cannot listen at %s: %s",
                path, strerror(errno));
        if (fd >= 0)
            close(fd);
        unlink(early);
    }
    free(early);
    return ok ? fd : -1;
}

struct listener *listener_new_of(struct loop *l, int fd, void (*accepted)(void *ctx, int fd),
                                 void *ctx, struct err *ret_err)
{
    struct listener *li = xcalloc(1, sizeof *li);
    *li = (struct listener){.loop = l, .fd = fd, .accepted = accepted, .ctx = ctx};
    li->rest = timer_new(l, listener_rested, li);
    li->watch = fd_watch_new(l, fd, listener_ready, li, ret_err);
    if (li->watch)
        return li;
    listener_free(li);
    return NULL;
}

struct listener *listener_new(struct loop *l, const char *path, mode_t mode,
                              void (*accepted)(void *ctx, int fd), void *ctx, struct err *ret_err)
{
    int fd = socket_open(path, mode, ret_err);
    if (fd < 0)
        return NULL;
    struct listener *li = listener_new_of(l, fd, accepted, ctx, ret_err);
    if (li)
        li->path = xstrdup(path);
    else
        unlink(path);
    return li;
}

void listener_free(struct listener *li)
{
    if (!li)
        return;
    fd_watch_free(li->watch);
    timer_free(li->rest);
    if (li->path)
        unlink(li->path);
    close(li->fd);
    free(li->path);
    free(li);
}
