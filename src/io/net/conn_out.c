#include "io/net/conn_inside.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define WRITE_AT_ONCE  (256u << 10) /* gathered, and not kept until the round's end */
#define OUT_KEEP_BYTES (64u << 10)  /* an empty buffer larger than this is given back */

static void out_taken(struct conn *c, size_t n)
{
    ASSERT(c->out_sent + n <= c->out.len);
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

/* Tells about the unsent bytes that went below the mark, and ends a connection that waited only for
 * its last bytes. */
void conn_out_written(struct conn *c)
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
        out_taken(c, tls_write(c->tls, c->out.data + c->out_sent,
                               plain < TLS_AHEAD_BYTES ? plain : TLS_AHEAD_BYTES));
    return tls_unsent(c->tls, ret_len);
}

/* False when the socket takes no more now or has failed. */
bool conn_out_write(struct conn *c)
{
    const char *data;
    size_t len;
    while ((data = out_next(c, &len)), len > 0) {
        ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == ENOBUFS)) {
            c->writable_wanted = true;
            conn_poll_update(c);
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
    conn_poll_update(c);
    return true;
}

void conn_flush(void *ctx)
{
    struct conn *c = ctx;
    if (c->state == CONN_GONE || c->writable_wanted)
        return;
    bool began = conn_work_begin(c);
    conn_out_write(c);
    if (c->state != CONN_GONE)
        conn_out_written(c);
    conn_work_end(c, began);
}

/* Moves the unsent bytes to the front when the sent ones take more room: a stream that never runs
 * empty must not grow. */
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
        conn_out_write(c);
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
