/* One blocking socket. Frames are read into a buffer that grows; a frame stays in it until the next one is
 * asked for, because blobs of a decoded message point into it: what a caller keeps is copied into the
 * caller's arena first. */
#include "io/client.h"

#include "base/alloc.h"
#include "io/unix_socket.h"
#include "wire/frame.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS_DEFAULT 60000
#define READ_BYTES         (16u << 10) /* most answers are small: room that needs no mapping of its own */
#define READ_MORE_BYTES    (256u << 10)

struct client {
    int fd;
    uint64_t seq;
    struct str in;
    size_t used; /* bytes of `in` that were delivered */
    char *state_dir;
    char *parting; /* what the other side said of the connection as a whole before it closed it */
};

struct client *client_open(const char *state_dir, struct err *ret_err)
{
    struct arena *a = arena_new();
    int fd = unix_socket_connect(state_socket_path(state_dir, a), false);
    int why = errno;
    arena_free(a);
    if (fd >= 0) {
        struct client *c = xcalloc(1, sizeof *c);
        c->fd = fd;
        c->state_dir = xstrdup(state_dir);
        return c;
    }
    if (why == EACCES)
        err_set(ret_err, ERR_DENIED, "may not connect to the controller in %s: %s", state_dir, strerror(why));
    else
        err_set(ret_err, ERR_UNAVAILABLE, "controller not running in %s; start it with: remuda up --state %s",
                state_dir, state_dir);
    return NULL;
}

void client_close(struct client *c)
{
    if (!c)
        return;
    close(c->fd);
    str_done(&c->in);
    free(c->state_dir);
    free(c->parting);
    free(c);
}

/* ---- bytes
 * ----------------------------------------------------------------------------------------------------------
 */

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* As client_call takes timeouts; INT64_MAX = for ever. */
static int64_t deadline_of(int timeout_ms)
{
    if (timeout_ms < 0)
        return INT64_MAX;
    return now_ms() + (timeout_ms ? timeout_ms : TIMEOUT_MS_DEFAULT);
}

static bool wait_for(const struct client *c, short events, int64_t deadline, struct err *ret_err)
{
    for (;;) {
        struct pollfd p = {.fd = c->fd, .events = events};
        int64_t left = deadline == INT64_MAX ? -1 : deadline - now_ms();
        if (deadline != INT64_MAX && left < 0)
            left = 0;
        int rc = poll(&p, 1, (int)left);
        if (rc > 0)
            return true;
        if (rc == 0)
            return err_set(ret_err, ERR_UNAVAILABLE, "Socket timed out on send/recv operation");
        if (errno != EINTR)
            return err_set(ret_err, ERR_UNAVAILABLE, "cannot wait for the controller: %s", strerror(errno));
    }
}

static bool lost(const struct client *c, struct err *ret_err)
{
    if (c->parting)
        return err_set(ret_err, ERR_UNAVAILABLE, "%s", c->parting);
    return err_set(ret_err, ERR_UNAVAILABLE, "the controller in %s closed the connection", c->state_dir);
}

static void parting_keep(struct client *c, const struct message *m)
{
    const struct msg_done *done = m->body;
    if (m->kind != MSG_DONE || m->seq != 0 || !done->detail)
        return;
    free(c->parting);
    c->parting = xstrdup(done->detail);
}

static bool bytes_send(struct client *c, const char *data, size_t len, struct err *ret_err)
{
    while (len > 0) {
        ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) {
            if (!wait_for(c, POLLOUT, deadline_of(0), ret_err))
                return false;
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return true; /* gone; it may have said why before: the receiver sees */
        data += n;
        len -= (size_t)n;
    }
    return true;
}

static bool bytes_receive(struct client *c, int64_t deadline, struct err *ret_err)
{
    size_t room = c->in.len < READ_BYTES ? READ_BYTES : READ_MORE_BYTES;
    str_reserve(&c->in, room);
    for (;;) {
        ssize_t n = recv(c->fd, c->in.data + c->in.len, room, MSG_DONTWAIT);
        if (n > 0) {
            c->in.len += (size_t)n;
            return true;
        }
        if (n == 0)
            return lost(c, ret_err);
        if (errno == EAGAIN) {
            if (!wait_for(c, POLLIN, deadline, ret_err))
                return false;
        } else if (errno != EINTR) {
            return lost(c, ret_err);
        }
    }
}

/* The next frame, valid until the next call. */
static bool frame_receive(struct client *c, int64_t deadline, struct frame *ret, struct err *ret_err)
{
    for (;;) {
        ssize_t n = frame_take(c->in.data + c->used, c->in.len - c->used, ret, ret_err);
        if (n < 0)
            return false;
        if (n > 0) {
            c->used += (size_t)n;
            return true;
        }
        if (c->used > 0) {
            c->in.len -= c->used;
            memmove(c->in.data, c->in.data + c->used, c->in.len);
            c->used = 0;
        }
        if (!bytes_receive(c, deadline, ret_err))
            return false;
    }
}

/* ---- messages
 * ------------------------------------------------------------------------------------------------------- */

bool client_send(struct client *c, enum message_kind kind, const void *body, uint64_t *ret_seq,
                 struct err *ret_err)
{
    struct message m = {.kind = kind, .seq = ++c->seq, .body = body};
    struct str bytes = STR_INIT;
    wire_encode(&m, &bytes);
    bool ok = bytes_send(c, bytes.data, bytes.len, ret_err);
    str_done(&bytes);
    if (ret_seq)
        *ret_seq = m.seq;
    return ok;
}

static bool message_receive(struct client *c, int64_t deadline, struct arena *a, struct message *ret,
                            struct err *ret_err)
{
    struct frame f, kept;
    if (!frame_receive(c, deadline, &f, ret_err))
        return false;
    kept = f;
    if (f.raw_len > 0)
        kept.raw = arena_dup(a, f.raw, f.raw_len);
    if (!wire_decode(&kept, a, ret, ret_err))
        return false;
    parting_keep(c, ret);
    return true;
}

bool client_receive(struct client *c, int timeout_ms, struct arena *a, struct message *ret,
                    struct err *ret_err)
{
    return message_receive(c, deadline_of(timeout_ms), a, ret, ret_err);
}

int client_fd(const struct client *c)
{
    return c->fd;
}

/* Is there a whole frame, or something to read? */
static enum client_got something_came(struct client *c, struct err *ret_err)
{
    struct frame f;
    ssize_t n = frame_take(c->in.data + c->used, c->in.len - c->used, &f, ret_err);
    if (n != 0)
        return n > 0 ? CLIENT_MESSAGE : CLIENT_LOST;
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    if (poll(&p, 1, 0) <= 0)
        return CLIENT_NOTHING;
    if (c->used > 0) {
        c->in.len -= c->used;
        memmove(c->in.data, c->in.data + c->used, c->in.len);
        c->used = 0;
    }
    if (!bytes_receive(c, now_ms() + 1, ret_err))
        return CLIENT_LOST;
    n = frame_take(c->in.data, c->in.len, &f, ret_err);
    return n > 0 ? CLIENT_MESSAGE : n == 0 ? CLIENT_NOTHING : CLIENT_LOST;
}

enum client_got client_take(struct client *c, struct arena *a, struct message *ret, struct err *ret_err)
{
    enum client_got got = something_came(c, ret_err);
    if (got != CLIENT_MESSAGE)
        return got;
    return message_receive(c, now_ms(), a, ret, ret_err) ? CLIENT_MESSAGE : CLIENT_LOST;
}

bool client_call(struct client *c, enum message_kind kind, const void *body, int timeout_ms, struct arena *a,
                 struct message *ret, struct err *ret_err)
{
    int64_t deadline = deadline_of(timeout_ms);
    uint64_t seq;
    if (!client_send(c, kind, body, &seq, ret_err))
        return false;
    do {
        if (!message_receive(c, deadline, a, ret, ret_err))
            return false;
    } while (ret->seq != seq &&
             ret->seq != 0); /* a late answer to a call that timed out; 0 = about the connection as a whole */
    return true;
}

bool client_query(struct client *c, const struct msg_query *q, const struct fields *t, struct arena *a,
                  void (*row)(void *ctx, const void *record), void *ctx, struct msg_done *ret_done,
                  struct err *ret_err)
{
    uint64_t seq;
    if (!client_send(c, MSG_QUERY, q, &seq, ret_err))
        return false;
    for (;;) {
        struct frame f;
        struct message m;
        if (!frame_receive(c, deadline_of(0), &f, ret_err))
            return false;
        if (wire_is_rows(&f)) {
            if (!rows_decode(&f, t, a, row, ctx, ret_err))
                return false;
            continue;
        }
        if (!wire_decode(&f, a, &m, ret_err))
            return false;
        parting_keep(c, &m);
        if (m.kind != MSG_DONE)
            return err_set(ret_err, ERR_INTERNAL, "the controller answered a query with \"%s\"",
                           message_table[m.kind].name);
        if (m.seq != seq && m.seq != 0)
            continue;
        *ret_done = *(const struct msg_done *)m.body;
        return true;
    }
}
