/* One blocking socket. Frames are read into a buffer that grows; a frame stays in it until the next
 * one is asked for, because blobs of a decoded message point into it: what a caller keeps is copied
 * into the caller's arena first.
 *
 * With patience: a connection that breaks under a call is opened again and the request sent again,
 * with the number it had, until the patience that began with the first break is over. */
#include "io/client/client.h"

#include "base/alloc.h"
#include "io/client/inside.h"
#include "io/client/plain_answers.h"
#include "io/net/unix_socket.h"
#include "wire/framed.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS_DEFAULT 60000
#define READ_BYTES         (16u << 10) /* most answers are small: no mapping of its own */
#define READ_MORE_BYTES    (256u << 10)
#define PAUSE_MOST_MS      500
#define AGAIN_MOST_US      (60 * INT64_C(1000000))

static int socket_open(const char *state_dir, struct err *ret_err)
{
    struct arena *a = arena_new();
    int fd = unix_socket_connect(state_socket_path(state_dir, a), false);
    int why = errno;
    bool no_room = why == EMFILE || why == ENFILE || why == ENOMEM || why == ENOBUFS;
    const char *owner = fd < 0 && !no_room ? state_dir_owner(state_dir, a) : NULL;
    if (fd < 0 && no_room)
        err_set(ret_err, ERR_UNAVAILABLE, "cannot connect to the controller in %s: %s", state_dir,
                strerror(why));
    else if (fd < 0 && why == EACCES)
        err_set(ret_err, ERR_DENIED, "may not connect to the controller in %s: %s", state_dir,
                strerror(why));
    else if (owner)
        err_set(ret_err, ERR_UNAVAILABLE,
                "controller not running in %s; %s, whose it is, starts it", state_dir, owner);
    else if (fd < 0)
        err_set(ret_err, ERR_UNAVAILABLE,
                "controller not running in %s; start it with: remuda up --state %s", state_dir,
                state_dir);
    arena_free(a);
    errno = why;
    return fd;
}

static struct client *client_new(const char *state_dir, int fd)
{
    struct client *c = xcalloc(1, sizeof *c);
    c->fd = fd;
    c->state_dir = xstrdup(state_dir);
    return c;
}

struct client *client_open(const char *state_dir, struct err *ret_err)
{
    int fd = socket_open(state_dir, ret_err);
    return fd < 0 ? NULL : client_new(state_dir, fd);
}

void client_close(struct client *c)
{
    if (!c)
        return;
    if (c->fd >= 0)
        close(c->fd);
    framed_done(&c->way);
    free(c->state_dir);
    free(c->parting);
    free(c);
}

/* ---- bytes ---- */

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- patience ---- */

/* Between half of it and all: a thousand commands that lost one controller do not come back in one
 * moment. */
static void pause_uneven(int *pause_ms)
{
    uint32_t dice = 0;
    if (getrandom(&dice, sizeof dice, GRND_NONBLOCK) != (ssize_t)sizeof dice)
        dice = (uint32_t)getpid();
    int64_t us = *pause_ms * 500 + dice % (uint32_t)(*pause_ms * 500);
    nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
    *pause_ms = 2 * *pause_ms < PAUSE_MOST_MS ? 2 * *pause_ms : PAUSE_MOST_MS;
}

/* Opens the socket, again and again until *until_ms; 0 = not known yet: the patience begins now. */
static int socket_reach(const char *state_dir, client_patience patience, int64_t *until_ms,
                        struct err *ret_err)
{
    int pause_ms = CLIENT_PAUSE_FIRST_MS;
    for (;;) {
        struct err why = {0};
        int fd = socket_open(state_dir, &why);
        if (fd >= 0)
            return fd;
        if (!*until_ms)
            *until_ms =
                now_ms() + (patience && why.code == ERR_UNAVAILABLE ? patience(state_dir) : 0);
        if (why.code != ERR_UNAVAILABLE || now_ms() >= *until_ms) {
            *ret_err = why;
            return -1;
        }
        pause_uneven(&pause_ms);
    }
}

struct client *client_reach(const char *state_dir, client_patience patience, struct err *ret_err)
{
    int64_t until_ms = 0;
    int fd = socket_reach(state_dir, patience, &until_ms, ret_err);
    struct client *c = fd < 0 ? NULL : client_new(state_dir, fd);
    if (c)
        c->patience = patience;
    return c;
}

bool client_return(struct client *c, int64_t *until_ms, int *pause_ms, struct err *ret_err)
{
    if (!c->broken || !c->patience)
        return false;
    if (!*until_ms)
        *until_ms = now_ms() + c->patience(c->state_dir);
    if (now_ms() >= *until_ms)
        return false;
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    framed_done(&c->way);
    c->broken = false;
    pause_uneven(pause_ms);
    c->fd = socket_reach(c->state_dir, c->patience, until_ms, ret_err);
    if (c->fd < 0)
        return false;
    *ret_err = (struct err){0};
    return true;
}

static uint64_t request_number(void)
{
    uint64_t n = 0;
    if (getrandom(&n, sizeof n, 0) != (ssize_t)sizeof n)
        return 0;
    return n & INT64_MAX;
}

int64_t client_deadline(int timeout_ms)
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
            return err_set(ret_err, ERR_UNAVAILABLE, "cannot wait for the controller: %s",
                           strerror(errno));
    }
}

static bool lost(struct client *c, struct err *ret_err)
{
    if (c->parting)
        return err_set(ret_err, ERR_UNAVAILABLE, "%s", c->parting);
    c->broken = true;
    return err_set(ret_err, ERR_UNAVAILABLE, "the controller in %s closed the connection",
                   c->state_dir);
}

void client_parting_keep(struct client *c, const struct message *m)
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
            if (!wait_for(c, POLLOUT, client_deadline(0), ret_err))
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
    size_t room = framed_waiting(&c->way) < READ_BYTES ? READ_BYTES : READ_MORE_BYTES;
    char *to = framed_room(&c->way, room);
    for (;;) {
        ssize_t n = recv(c->fd, to, room, MSG_DONTWAIT);
        if (n > 0) {
            framed_came(&c->way, (size_t)n);
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

bool client_frame_receive(struct client *c, int64_t deadline, struct frame *ret,
                          struct err *ret_err)
{
    for (;;) {
        ssize_t n = framed_next(&c->way, ret, ret_err);
        if (n != 0)
            return n > 0;
        if (!bytes_receive(c, deadline, ret_err))
            return false;
    }
}

/* ---- messages ---- */

bool client_message_send(struct client *c, struct message *m, struct err *ret_err)
{
    struct str bytes = STR_INIT;
    m->seq = ++c->seq;
    wire_encode(m, &bytes);
    bool ok = bytes_send(c, bytes.data, bytes.len, ret_err);
    str_done(&bytes);
    return ok;
}

bool client_send(struct client *c, enum message_kind kind, const void *body, uint64_t *ret_seq,
                 struct err *ret_err)
{
    ASSERT(kind < MESSAGE_COUNT && body);
    struct message m = {.kind = kind, .body = body};
    bool ok = client_message_send(c, &m, ret_err);
    if (ret_seq)
        *ret_seq = m.seq;
    return ok;
}

static bool message_receive(struct client *c, int64_t deadline, struct arena *a,
                            struct message *ret, struct err *ret_err)
{
    struct frame f, kept;
    if (!client_frame_receive(c, deadline, &f, ret_err))
        return false;
    kept = f;
    if (f.raw_len > 0)
        kept.raw = arena_dup(a, f.raw, f.raw_len);
    if (!wire_decode(&kept, a, ret, ret_err))
        return false;
    if (!c->exact)
        plain_message(ret, a);
    client_parting_keep(c, ret);
    return true;
}

bool client_receive(struct client *c, int timeout_ms, struct arena *a, struct message *ret,
                    struct err *ret_err)
{
    return message_receive(c, client_deadline(timeout_ms), a, ret, ret_err);
}

int client_fd(const struct client *c)
{
    return c->fd;
}

/* Is there a whole frame, or something to read? */
static enum client_got something_came(struct client *c, struct err *ret_err)
{
    struct frame f;
    ssize_t n = framed_peek(&c->way, &f, ret_err);
    if (n != 0)
        return n > 0 ? CLIENT_MESSAGE : CLIENT_LOST;
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    if (poll(&p, 1, 0) <= 0)
        return CLIENT_NOTHING;
    if (!bytes_receive(c, now_ms() + 1, ret_err))
        return CLIENT_LOST;
    n = framed_peek(&c->way, &f, ret_err);
    return n > 0 ? CLIENT_MESSAGE : n == 0 ? CLIENT_NOTHING : CLIENT_LOST;
}

enum client_got client_take(struct client *c, struct arena *a, struct message *ret,
                            struct err *ret_err)
{
    enum client_got got = something_came(c, ret_err);
    if (got != CLIENT_MESSAGE)
        return got;
    return message_receive(c, now_ms(), a, ret, ret_err) ? CLIENT_MESSAGE : CLIENT_LOST;
}

bool client_is_away(struct client *c, const struct message *m)
{
    const struct msg_done *done = m->body;
    if (!c->patience || m->kind != MSG_DONE || m->seq != 0 || done->refusal != REFUSE_NO_CONTROLLER)
        return false;
    free(c->parting);
    c->parting = NULL;
    c->broken = true;
    return true;
}

bool client_is_told_to_wait(const struct message *m)
{
    const struct msg_done *done = m->body;
    if (m->kind != MSG_DONE || done->refusal != REFUSE_RATE_LIMITED || done->again_us <= 0)
        return false;
    int64_t us = done->again_us < AGAIN_MOST_US ? done->again_us : AGAIN_MOST_US;
    int more_ms = (int)(us / 4000) + 1;
    nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
    pause_uneven(&more_ms);
    return true;
}

static bool call_once(struct client *c, struct message *m, int64_t deadline, struct arena *a,
                      struct message *ret, struct err *ret_err)
{
    if (!client_message_send(c, m, ret_err))
        return false;
    do {
        if (!message_receive(c, deadline, a, ret, ret_err))
            return false;
    } while (
        ret->seq != m->seq &&
        ret->seq !=
            0); /* a late answer to a call that timed out; 0 = about the connection as a whole */
    return true;
}

bool client_call(struct client *c, enum message_kind kind, const void *body, int timeout_ms,
                 struct arena *a, struct message *ret, struct err *ret_err)
{
    ASSERT(kind < MESSAGE_COUNT && body);
    struct message m = {.kind = kind, .body = body};
    int64_t deadline = client_deadline(timeout_ms), until_ms = 0;
    int pause_ms = CLIENT_PAUSE_FIRST_MS;
    if (c->patience && message_changes(kind))
        m.request = request_number();
    for (;;) {
        struct err why = {0};
        bool answered = call_once(c, &m, deadline, a, ret, &why);
        if (answered && client_is_told_to_wait(ret)) {
            deadline = client_deadline(timeout_ms);
            continue;
        }
        if (answered && !client_is_away(c, ret))
            return true;
        if (!client_return(c, &until_ms, &pause_ms, &why)) {
            if (ret_err && !answered)
                *ret_err = why;
            return answered;
        }
    }
}

void client_keep_texts(struct client *c, bool exact)
{
    c->exact = exact;
}
