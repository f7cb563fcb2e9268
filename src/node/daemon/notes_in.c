/* One connection serves the shepherds' parent and all shepherds it forked; one that outlived its
 * daemon connects for itself. */
#include "node/daemon/notes_in.h"

#include "base/alloc.h"
#include "node/step/notes_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES 65536u
#define OLD_PIPE   "../shepherds.fifo" /* seen from the steps' directory */

struct speaker {
    struct notes_in *in;
    int fd;
    bool is_pipe;
    struct fd_watch *watch;
    struct str begun; /* of a line, without its end yet */
    pid_t writer;     /* of that */
    struct speaker *next;
};

struct notes_in {
    struct loop *loop;
    struct log *log;
    int fd;
    struct fd_watch *watch;
    void (*line)(void *ctx, struct span line, pid_t writer);
    void *ctx;
    struct speaker *speakers;
};

static void speaker_free(struct speaker *s)
{
    fd_watch_free(s->watch);
    close(s->fd);
    str_done(&s->begun);
    free(s);
}

static void speaker_drop(struct speaker *s)
{
    struct speaker **at = &s->in->speakers;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    speaker_free(s);
}

/* Lines come whole, but for one that a full read cut. */
static void lines_take(struct speaker *s)
{
    size_t at = 0;
    char *end;
    while (at < s->begun.len && (end = memchr(s->begun.data + at, '\n', s->begun.len - at))) {
        struct span line = {s->begun.data + at, (size_t)(end - s->begun.data) - at};
        at += line.len + 1;
        s->in->line(s->in->ctx, line, s->writer);
    }
    memmove(s->begun.data, s->begun.data + at, s->begun.len - at);
    str_cut(&s->begun, s->begun.len - at);
}

/* False: this connection is over. */
static bool piece_take(struct speaker *s, const char *bytes, ssize_t n,
                       const struct notes_sender *who)
{
    if (n == 0)
        return false;
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (who->uid != geteuid()) {
        log_warning(
            s->in->log,
            "process %ld of user %ld wrote to the shepherds' socket; what it says is not taken",
            (long)who->pid, (long)who->uid);
        return false;
    }
    if (who->pid != s->writer)
        str_clear(&s->begun);
    s->writer = who->pid;
    str_addn(&s->begun, bytes, (size_t)n);
    lines_take(s);
    return true;
}

static void speaker_readable(void *ctx)
{
    static char bytes[READ_BYTES];
    struct speaker *s = ctx;
    struct notes_sender who;
    ssize_t n;
    do {
        if (s->is_pipe) {
            who = (struct notes_sender){0, geteuid()};
            n = read(s->fd, bytes, sizeof bytes);
        } else {
            n = notes_receive(s->fd, bytes, sizeof bytes, &who);
        }
        if (!piece_take(s, bytes, n, &who)) {
            speaker_drop(s);
            return;
        }
    } while (n > 0);
}

static void speaker_add(struct notes_in *in, int fd, bool is_pipe)
{
    struct err err = {0};
    struct speaker *s = xcalloc(1, sizeof *s);
    *s = (struct speaker){.in = in, .fd = fd, .is_pipe = is_pipe, .next = in->speakers};
    s->watch = fd_watch_new(in->loop, fd, speaker_readable, s, &err);
    if (s->watch) {
        in->speakers = s;
    } else {
        log_error(in->log, "%s", err.text);
        speaker_free(s);
    }
}

static void caller_take(void *ctx)
{
    struct notes_in *in = ctx;
    int fd;
    while ((fd = notes_accept(in->fd)) >= 0)
        speaker_add(in, fd, false);
}

struct notes_in *notes_in_new(struct loop *l, struct log *log, int steps_fd,
                              void (*line)(void *ctx, struct span line, pid_t writer), void *ctx,
                              struct err *ret_err)
{
    ASSERT(steps_fd >= 0 && line);
    struct notes_in *in = xcalloc(1, sizeof *in);
    *in = (struct notes_in){
        .loop = l, .log = log, .fd = notes_listen(steps_fd), .line = line, .ctx = ctx};
    if (in->fd >= 0)
        in->watch = fd_watch_new(l, in->fd, caller_take, in, ret_err);
    else
        err_set(ret_err, ERR_UNAVAILABLE, "cannot make the shepherds' socket: %s", strerror(errno));
    if (!in->watch) {
        notes_in_free(in);
        return NULL;
    }
    int pipe = openat(steps_fd, OLD_PIPE, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (pipe >= 0)
        speaker_add(in, pipe, true);
    return in;
}

void notes_in_end_pipe(int steps_fd)
{
    unlinkat(steps_fd, OLD_PIPE, 0);
}

void notes_in_free(struct notes_in *in)
{
    if (!in)
        return;
    while (in->speakers) {
        struct speaker *s = in->speakers;
        in->speakers = s->next;
        speaker_free(s);
    }
    fd_watch_free(in->watch);
    if (in->fd >= 0)
        close(in->fd);
    free(in);
}
