/* One connection.
 *
 * In: the socket is read into the loop's scratch room and frames are delivered straight from there;
 * only an incomplete rest is kept in `in`, so an idle connection holds no buffer. Out: bytes are
 * gathered in `out` and written at the end of the round, so the thousand answers of one turn are a
 * few writes; what the socket does not take waits for it to become writable.
 *
 * With TLS the same, with tls.h between: what the socket gave is fed to it before frames are cut,
 * and `out` is sealed before it is sent, a little at a time, so that what waits for a slow reader
 * waits plain.
 *
 * Life: OPEN → CLOSING (conn_close: only writes go on) → GONE (descriptor closed; the callback
 * `closed` is on its way) → freed. The memory lives until `closed` was called, so any callback may
 * end the connection it is called for. */
#include "io/net/conn.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "io/clock.h"
#include "io/net/conn_inside.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINGER_US (5 * USEC_PER_SEC)
/* At once, where somebody is asked before each reading (conn_ops.ready): 256 KiB into fresh memory
 * take 0.3 ms, which is more than others are to wait for. */
#define SHARED_BYTES (64u << 10)

static void conn_polled(uv_poll_t *handle, int status, int events);

/* ---- work ---- */

bool conn_work_begin(struct conn *c)
{
    if (c->work_ns || !c->ops->worked)
        return false;
    c->work_ns = clock_thread_ns();
    return true;
}

void conn_work_tell(struct conn *c)
{
    if (!c->work_ns)
        return;
    int64_t now = clock_thread_ns(), spent = now - c->work_ns;
    c->work_ns = now;
    c->ops->worked(c->ctx, c, spent);
}

void conn_work_end(struct conn *c, bool began)
{
    if (!began)
        return;
    conn_work_tell(c);
    c->work_ns = 0;
}

/* ---- life ---- */

void conn_poll_update(struct conn *c)
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

struct conn *conn_new(struct loop *l, int fd, const struct conn_ops *ops, void *ctx,
                      struct err *ret_err)
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
    conn_poll_update(c);
    return c;
}

struct conn *conn_new_tls(struct loop *l, int fd, struct tls_context *tls,
                          const struct conn_ops *ops, void *ctx, struct err *ret_err)
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
    bool began = conn_work_begin(c);
    if (c->in_told && c->ops->kept)
        c->ops->kept(c->ctx, c, -(ptrdiff_t)c->in_told);
    str_done(&c->in);
    str_done(&c->out);
    c->out_sent = 0; /* of nothing nothing was sent: conn_unsent is asked again */
    conn_work_end(c, began);
    c->ops->closed(c->ctx, c, &c->why);
    tls_free(c->tls);
    uv_close((uv_handle_t *)&c->poll, conn_poll_closed);
}

void conn_end(struct conn *c)
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

void conn_fail(struct conn *c, enum err_code code, const char *what)
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
    conn_poll_update(c);
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

/* ---- in ---- */

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
    uint64_t says = frame_says(data, len);
    if (says > c->frame_max) {
        err_set(ret_err, ERR_INVALID, "a message of %" PRIu64 " bytes came; %zu are allowed here",
                says, c->frame_max);
        return -1;
    }
    return frame_take(data, len, ret, ret_err);
}

static bool in_may(struct conn *c)
{
    if (!c->ops->ready || c->ops->ready(c->ctx, c))
        return true;
    conn_pause(c);
    return false;
}

/* What is kept has changed. A rest that is not delivered because of a pause is not waited for. */
static void in_kept(struct conn *c)
{
    ptrdiff_t more = (ptrdiff_t)(c->in.len - c->in_told);
    if (c->in.len == 0 || c->paused)
        c->half_us = 0;
    else if (!c->half_us)
        c->half_us = clock_monotonic_us();
    c->in_told = c->in.len;
    if (more && c->ops->kept)
        c->ops->kept(c->ctx, c, more);
}

/* Delivers the whole frames at the start of data; returns how many bytes they took. */
static size_t in_deliver(struct conn *c, const char *data, size_t len)
{
    size_t at = 0;
    while (c->state == CONN_OPEN && !c->paused) {
        if (at < len && !in_may(c))
            break;
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
        conn_work_tell(c);
    }
    return at;
}

/* Frames that waited in `in`. */
static void in_work_off(struct conn *c)
{
    struct str had = c->in;
    c->in = STR_INIT;
    size_t at = in_deliver(c, had.data, had.len);
    if (at > 0)
        c->half_us = 0; /* what is left is another frame's beginning */
    if (at == had.len) {
        str_done(&had);
    } else {
        if (at > 0) {
            memmove(had.data, had.data + at, had.len - at);
            str_cut(&had, had.len - at);
        }
        c->in = had;
    }
    in_kept(c);
}

static void in_came(struct conn *c, const char *data, size_t len)
{
    c->bytes_in += len;
    if (c->ops->bytes) {
        c->ops->bytes(c->ctx, c, data, len);
        return;
    }
    if (c->in.len > 0) {
        str_addn(&c->in, data, len);
        in_work_off(c);
        return;
    }
    size_t at = in_deliver(c, data, len);
    if (c->state == CONN_OPEN && at < len)
        str_addn(&c->in, data + at, len - at);
    in_kept(c);
}

/* Bytes of the wire: opened, then as if they had come plain. What the handshake wants to say is
 * said. */
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
    /* Answers of the handshake, what waited for it, and the reason of a refusal. */
    if (!c->writable_wanted)
        conn_out_write(c);
    if (n < 0)
        conn_fail(c, ERR_DENIED, why.text);
    else if (c->state != CONN_GONE)
        conn_out_written(c);
}

/* Nothing is read from now on. Of a socket of this machine it can be told whether the other side
 * still takes something; of another what is written tells. */
static void in_ended(struct conn *c)
{
    struct pollfd now = {.fd = c->fd};
    bool takes = poll(&now, 1, 0) == 0;
    if (takes && c->ops->ended && c->ops->ended(c->ctx, c))
        conn_pause(c);
    else
        conn_end(c);
}

static void in_read(struct conn *c)
{
    char *room = loop_scratch(c->loop);
    ssize_t n = recv(c->fd, room, c->ops->ready ? SHARED_BYTES : LOOP_SCRATCH_BYTES, 0);
    if (n > 0 && c->tls)
        in_sealed(c, room, (size_t)n);
    else if (n > 0)
        in_came(c, room, (size_t)n);
    else if (n == 0 && c->in.len > 0)
        conn_fail(c, ERR_UNAVAILABLE, "the connection ended within a message");
    else if (n == 0)
        in_ended(c);
    else if (errno != EAGAIN && errno != EINTR)
        conn_fail(c, ERR_UNAVAILABLE, strerror(errno));
}

static void polled(struct conn *c, int status, int events)
{
    if (status < 0) { /* libuv has stopped the poll; the socket itself says why */
        c->polled = 0;
        events = UV_READABLE | UV_WRITABLE;
    }
    if ((events & UV_WRITABLE) && c->state != CONN_GONE && c->writable_wanted) {
        conn_out_write(c);
        if (c->state != CONN_GONE)
            conn_out_written(c);
    }
    if ((events & UV_READABLE) && c->state == CONN_OPEN && !c->paused && in_may(c))
        in_read(c);
    if (status < 0)
        conn_fail(c, ERR_UNAVAILABLE, "the connection broke");
}

static void conn_polled(uv_poll_t *handle, int status, int events)
{
    struct conn *c = handle->data;
    bool began = conn_work_begin(c);
    polled(c, status, events);
    conn_work_end(c, began);
}

void conn_pause(struct conn *c)
{
    c->paused = true;
    conn_poll_update(c);
}

static void conn_more(void *ctx)
{
    struct conn *c = ctx;
    bool began = conn_work_begin(c);
    if (c->state == CONN_OPEN && !c->paused && c->in.len > 0)
        in_work_off(c);
    conn_poll_update(c);
    conn_work_end(c, began);
}

void conn_resume(struct conn *c)
{
    if (!c->paused)
        return;
    c->paused = false;
    if (c->state == CONN_OPEN)
        loop_later(c->loop, &c->more, conn_more, c);
}

/* ---- facts ---- */

bool conn_is_closing(const struct conn *c)
{
    return c->state != CONN_OPEN;
}

struct conn_peer conn_peer_of(int fd)
{
    struct ucred who;
    socklen_t len = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0 || who.uid == (uid_t)-1)
        return (struct conn_peer){0};
    return (struct conn_peer){.known = true, .uid = who.uid, .gid = who.gid, .pid = who.pid};
}

struct conn_peer conn_peer(const struct conn *c)
{
    return c->state == CONN_GONE ? (struct conn_peer){0} : conn_peer_of(c->fd);
}

int64_t conn_half_since(const struct conn *c)
{
    return c->half_us;
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
