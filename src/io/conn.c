/* One connection.
 *
 * In: the socket is read into the loop's scratch room and frames are delivered straight from there; only an
 * incomplete rest is kept in `in`, so an idle connection holds no buffer. Out: bytes are gathered in `out`
 * and written at the end of the round, so the thousand answers of one turn are a few writes; what the socket
 * does not take waits for it to become writable.
 *
 * With TLS the same, with tls.h between: what the socket gave is fed to it before frames are cut, and `out` is
 * sealed before it is sent, a little at a time, so that what waits for a slow reader waits plain.
 *
 * Life: OPEN → CLOSING (conn_close: only writes go on) → GONE (descriptor closed; the callback `closed` is on
 * its way) → freed. The memory lives until `closed` was called, so any callback may end the connection it is
 * called for. */
#include "io/conn.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "io/loop_uv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER_US      (5 * USEC_PER_SEC)
#define SEAL_BYTES     (64u << 10)  /* sealed ahead of the socket */
#define WRITE_AT_ONCE  (256u << 10) /* gathered bytes that are not kept until the end of the round */
#define OUT_KEEP_BYTES (64u << 10)  /* an empty buffer larger than this is given back */

enum conn_state { CONN_OPEN, CONN_CLOSING, CONN_GONE };

struct conn {
    struct loop *loop;
    uv_poll_t poll;
    int fd;
    int polled; /* events the poll watches now */
    enum conn_state state;
    bool paused, writable_wanted, was_high;
    const struct conn_ops *ops;
    void *ctx;
    struct str in;
    struct str out;
    size_t out_sent; /* bytes of `out` that the socket took */
    size_t unsent_max, frame_max;
    uint64_t bytes_in, bytes_out, frames_in;
    struct err why;
    struct later flush, gone, more;
    struct timer *linger;
    struct tls *tls; /* NULL: plain */
};

static void conn_polled(uv_poll_t *handle, int status, int events);
static void conn_flush(void *ctx);

/* ---- life
 * -----------------------------------------------------------------------------------------------------------
 */

static void poll_update(struct conn *c)
{
    int want = c->writable_wanted ? UV_WRITABLE : 0;
    if (c->state == CONN_OPEN && !c->paused)
        want |= UV_READABLE;
    if (c->state == CONN_GONE || want == c->polled)
        return;
    c->polled = want;
    if (want)
        uv_poll_start(&c->poll, want, conn_polled);
    else
        uv_poll_stop(&c->poll);
}

struct conn *conn_new(struct loop *l, int fd, const struct conn_ops *ops, void *ctx, struct err *ret_err)
{
    struct conn *c = xcalloc(1, sizeof *c);
    *c = (struct conn){.loop = l,
                       .fd = fd,
                       .ops = ops,
                       .ctx = ctx,
                       .unsent_max = CONN_UNSENT_MAX_BYTES,
                       .frame_max = SIZE_MAX};
    int rc = uv_poll_init(loop_uv(l), &c->poll, fd);
    if (rc != 0) {
        loop_error(ret_err, rc, "cannot watch the connection");
        close(fd);
        free(c);
        return NULL;
    }
    c->poll.data = c;
    poll_update(c);
    return c;
}

struct conn *conn_new_tls(struct loop *l, int fd, struct tls_context *tls, const struct conn_ops *ops,
                          void *ctx, struct err *ret_err)
{
    struct conn *c = conn_new(l, fd, ops, ctx, ret_err);
    if (!c)
        return NULL;
    c->tls = tls_new(tls);
    loop_flush(l, &c->flush, conn_flush, c);
    return c;
}

static void conn_poll_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void conn_gone(void *ctx)
{
    struct conn *c = ctx;
    c->ops->closed(c->ctx, c, &c->why);
    str_done(&c->in);
    str_done(&c->out);
    tls_free(c->tls);
    uv_close((uv_handle_t *)&c->poll, conn_poll_closed);
}

static void conn_end(struct conn *c)
{
    if (c->state == CONN_GONE)
        return;
    c->state = CONN_GONE;
    uv_poll_stop(&c->poll);
    close(c->fd);
    timer_free(c->linger);
    c->linger = NULL;
    loop_later_cancel(c->loop, &c->flush);
    loop_later_cancel(c->loop, &c->more);
    loop_later(c->loop, &c->gone, conn_gone, c);
}

static void conn_fail(struct conn *c, enum err_code code, const char *what)
{
    if (c->state == CONN_GONE)
        return;
    if (c->why.code == ERR_NONE)
        err_set(&c->why, code, "%s", what);
    conn_end(c);
}

void conn_abort(struct conn *c)
{
    conn_end(c);
}

static void conn_lingered(void *ctx)
{
    conn_end(ctx);
}

void conn_finish(struct conn *c)
{
    if (c->state != CONN_OPEN)
        return;
    if (conn_unsent(c) == 0) {
        conn_end(c);
        return;
    }
    c->state = CONN_CLOSING;
    poll_update(c);
}

void conn_close(struct conn *c)
{
    if (c->state != CONN_OPEN)
        return;
    conn_finish(c);
    if (c->state != CONN_CLOSING)
        return;
    c->linger = timer_new(c->loop, conn_lingered, c);
    timer_set(c->linger, LINGER_US);
}

/* ---- out
 * ------------------------------------------------------------------------------------------------------------
 */

static void out_taken(struct conn *c, size_t n)
{
    c->out_sent += n;
    c->bytes_out += n;
    if (c->out_sent < c->out.len)
        return;
    c->out_sent = 0;
    if (c->out.cap > OUT_KEEP_BYTES)
        str_done(&c->out);
    else
        str_clear(&c->out);
}

/* Tells about the unsent bytes that went below the mark, and ends a connection that waited only for its last
 * bytes. */
static void out_written(struct conn *c)
{
    if (c->state == CONN_CLOSING && conn_unsent(c) == 0) {
        conn_end(c);
        return;
    }
    if (!c->was_high || conn_unsent(c) >= CONN_LOW_BYTES)
        return;
    c->was_high = false;
    if (c->ops->drained && c->state == CONN_OPEN)
        c->ops->drained(c->ctx, c);
}

static size_t sealed_unsent(const struct conn *c)
{
    size_t len = 0;
    if (c->tls)
        tls_unsent(c->tls, &len);
    return len;
}

/* What the socket is to be given next. */
static const char *out_next(struct conn *c, size_t *ret_len)
{
    size_t plain = c->out.len - c->out_sent;
    if (!c->tls) {
        *ret_len = plain;
        return c->out.data + c->out_sent;
    }
    if (sealed_unsent(c) == 0 && plain > 0)
        out_taken(c, tls_write(c->tls, c->out.data + c->out_sent, plain < SEAL_BYTES ? plain : SEAL_BYTES));
    return tls_unsent(c->tls, ret_len);
}

/* False when the socket takes no more now or has failed. */
static bool out_write(struct conn *c)
{
    const char *data;
    size_t len;
    while ((data = out_next(c, &len)), len > 0) {
        ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == ENOBUFS)) {
            c->writable_wanted = true;
            poll_update(c);
            return false;
        }
        if (n < 0) {
            conn_fail(c, ERR_UNAVAILABLE, strerror(errno));
            return false;
        }
        if (c->tls)
            tls_sent(c->tls, (size_t)n);
        else
            out_taken(c, (size_t)n);
    }
    c->writable_wanted = false;
    poll_update(c);
    return true;
}

static void conn_flush(void *ctx)
{
    struct conn *c = ctx;
    if (c->state == CONN_GONE || c->writable_wanted)
        return;
    out_write(c);
    if (c->state != CONN_GONE)
        out_written(c);
}

/* Moves the unsent bytes to the front when the sent ones take more room: a stream that never runs empty must
 * not grow. */
static void out_compact(struct conn *c)
{
    size_t unsent = c->out.len - c->out_sent;
    if (c->out_sent <= unsent || c->out_sent < OUT_KEEP_BYTES)
        return;
    memmove(c->out.data, c->out.data + c->out_sent, unsent);
    c->out_sent = 0;
    str_cut(&c->out, unsent);
}

void conn_send(struct conn *c, const void *data, size_t len)
{
    if (c->state != CONN_OPEN)
        return;
    out_compact(c);
    str_addn(&c->out, data, len);
    if (conn_unsent(c) > WRITE_AT_ONCE && !c->writable_wanted)
        out_write(c);
    if (c->state != CONN_OPEN)
        return;
    if (conn_unsent(c) > CONN_HIGH_BYTES)
        c->was_high = true;
    if (conn_unsent(c) > c->unsent_max)
        conn_fail(c, ERR_LIMIT, "the other side reads too slowly");
    else
        loop_flush(c->loop, &c->flush, conn_flush, c);
}

void conn_send_message(struct conn *c, const struct message *m)
{
    struct str frame = STR_INIT;
    wire_encode(m, &frame);
    conn_send(c, frame.data, frame.len);
    str_done(&frame);
}

size_t conn_unsent(const struct conn *c)
{
    return c->out.len - c->out_sent + sealed_unsent(c);
}

void conn_set_unsent_max(struct conn *c, size_t bytes)
{
    c->unsent_max = bytes;
}

void conn_set_frame_max(struct conn *c, size_t bytes)
{
    c->frame_max = bytes;
}

/* ---- in
 * -------------------------------------------------------------------------------------------------------------
 */

static void in_garbage(struct conn *c, const struct err *why)
{
    c->why = *why;
    if (c->ops->garbage)
        c->ops->garbage(c->ctx, c, why);
    conn_close(c);
}

/* The length of the frame at `data`, 0 if it is incomplete, -1 if it is none. */
static ssize_t in_frame(const struct conn *c, const char *data, size_t len, struct frame *ret,
                        struct err *ret_err)
{
    if (len >= FRAME_HEADER_BYTES && c->frame_max < SIZE_MAX) {
        const unsigned char *h = (const unsigned char *)data;
        uint64_t json = (uint64_t)h[0] << 24 | (uint64_t)h[1] << 16 | (uint64_t)h[2] << 8 | h[3];
        uint64_t raw = (uint64_t)h[4] << 24 | (uint64_t)h[5] << 16 | (uint64_t)h[6] << 8 | h[7];
        if (json + raw > c->frame_max) {
            err_set(ret_err, ERR_INVALID, "a message of %" PRIu64 " bytes came; %zu are allowed here",
                    json + raw, c->frame_max);
            return -1;
        }
    }
    return frame_take(data, len, ret, ret_err);
}

/* Delivers the whole frames at the start of data; returns how many bytes they took. */
static size_t in_deliver(struct conn *c, const char *data, size_t len)
{
    size_t at = 0;
    while (c->state == CONN_OPEN && !c->paused) {
        struct frame f;
        struct err why = {0};
        ssize_t n = in_frame(c, data + at, len - at, &f, &why);
        if (n < 0)
            in_garbage(c, &why);
        if (n <= 0)
            break;
        at += (size_t)n;
        c->frames_in++;
        if (c->ops->frame)
            c->ops->frame(c->ctx, c, &f);
    }
    return at;
}

/* Frames that waited in `in`. */
static void in_work_off(struct conn *c)
{
    struct str had = c->in;
    c->in = STR_INIT;
    size_t at = in_deliver(c, had.data, had.len);
    if (at == had.len) {
        str_done(&had);
        return;
    }
    if (at > 0) {
        memmove(had.data, had.data + at, had.len - at);
        str_cut(&had, had.len - at);
    }
    c->in = had;
}

static void in_came(struct conn *c, const char *data, size_t len)
{
    c->bytes_in += len;
    if (c->in.len > 0) {
        str_addn(&c->in, data, len);
        in_work_off(c);
        return;
    }
    size_t at = in_deliver(c, data, len);
    if (c->state == CONN_OPEN && at < len)
        str_addn(&c->in, data + at, len - at);
}

/* Bytes of the wire: opened, then as if they had come plain. What the handshake wants to say is said. */
static void in_sealed(struct conn *c, const char *data, size_t len)
{
    struct err why = {0};
    char plain[16384]; /* a record; the room of the loop holds what came */
    ssize_t n = 0;
    tls_feed(c->tls, data, len);
    while (c->state == CONN_OPEN && (n = tls_read(c->tls, plain, sizeof plain, &why)) > 0)
        in_came(c, plain, (size_t)n);
    if (c->state == CONN_GONE)
        return;
    if (!c->writable_wanted)
        out_write(c); /* answers of the handshake, what waited for it, and the reason of a refusal */
    if (n < 0)
        conn_fail(c, ERR_DENIED, why.text);
    else if (c->state != CONN_GONE)
        out_written(c);
}

static void in_read(struct conn *c)
{
    char *room = loop_scratch(c->loop);
    ssize_t n = recv(c->fd, room, LOOP_SCRATCH_BYTES, 0);
    if (n > 0 && c->tls)
        in_sealed(c, room, (size_t)n);
    else if (n > 0)
        in_came(c, room, (size_t)n);
    else if (n == 0 && c->in.len > 0)
        conn_fail(c, ERR_UNAVAILABLE, "the connection ended within a message");
    else if (n == 0)
        conn_end(c);
    else if (errno != EAGAIN && errno != EINTR)
        conn_fail(c, ERR_UNAVAILABLE, strerror(errno));
}

static void conn_polled(uv_poll_t *handle, int status, int events)
{
    struct conn *c = handle->data;
    if (status < 0) { /* libuv has stopped the poll; the socket itself says why */
        c->polled = 0;
        events = UV_READABLE | UV_WRITABLE;
    }
    if ((events & UV_WRITABLE) && c->state != CONN_GONE && c->writable_wanted) {
        out_write(c);
        if (c->state != CONN_GONE)
            out_written(c);
    }
    if ((events & UV_READABLE) && c->state == CONN_OPEN && !c->paused)
        in_read(c);
    if (status < 0)
        conn_fail(c, ERR_UNAVAILABLE, "the connection broke");
}

void conn_pause(struct conn *c)
{
    c->paused = true;
    poll_update(c);
}

static void conn_more(void *ctx)
{
    struct conn *c = ctx;
    if (c->state == CONN_OPEN && !c->paused && c->in.len > 0)
        in_work_off(c);
    poll_update(c);
}

void conn_resume(struct conn *c)
{
    if (!c->paused)
        return;
    c->paused = false;
    if (c->state == CONN_OPEN)
        loop_later(c->loop, &c->more, conn_more, c);
}

/* ---- facts
 * ----------------------------------------------------------------------------------------------------------
 */

bool conn_is_closing(const struct conn *c)
{
    return c->state != CONN_OPEN;
}

struct conn_peer conn_peer(const struct conn *c)
{
    struct ucred who;
    socklen_t len = sizeof who;
    if (c->state == CONN_GONE || getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0 ||
        who.uid == (uid_t)-1)
        return (struct conn_peer){0};
    return (struct conn_peer){.known = true, .uid = who.uid, .gid = who.gid, .pid = who.pid};
}

uint64_t conn_bytes_in(const struct conn *c)
{
    return c->bytes_in;
}

uint64_t conn_bytes_out(const struct conn *c)
{
    return c->bytes_out;
}

uint64_t conn_frames_in(const struct conn *c)
{
    return c->frames_in;
}

void *conn_ctx(const struct conn *c)
{
    return c->ctx;
}

void conn_set_ctx(struct conn *c, void *ctx)
{
    c->ctx = ctx;
}

const char *conn_tls_peer(const struct conn *c)
{
    return c->tls ? tls_peer(c->tls) : NULL;
}
