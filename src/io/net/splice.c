#include "io/net/splice.h"

#include "base/alloc.h"

static enum splice_end end_of(const struct splice *s, const struct conn *c)
{
    ASSERT(c && (c == s->end[SPLICE_NEAR] || c == s->end[SPLICE_FAR]));
    return c == s->end[SPLICE_NEAR] ? SPLICE_NEAR : SPLICE_FAR;
}

static struct conn *other_of(const struct splice *s, const struct conn *c)
{
    return s->end[end_of(s, c) == SPLICE_NEAR ? SPLICE_FAR : SPLICE_NEAR];
}

static void pass(struct splice *s, struct conn *from, const char *data, size_t len)
{
    struct conn *to = other_of(s, from);
    if (!to)
        return;
    conn_send(to, data, len);
    if (conn_unsent(to) > CONN_HIGH_BYTES)
        conn_pause(from);
}

static void frame_pass(void *ctx, struct conn *c, const struct frame *f)
{
    struct splice *s = ctx;
    if (s->ops->frame)
        s->ops->frame(s, end_of(s, c), f);
    pass(s, c, f->json - FRAME_HEADER_BYTES, FRAME_HEADER_BYTES + f->json_len + f->raw_len);
}

static void bytes_pass(void *ctx, struct conn *c, const char *data, size_t len)
{
    pass(ctx, c, data, len);
}

static void drained(void *ctx, struct conn *c)
{
    struct conn *from = other_of(ctx, c);
    if (from)
        conn_resume(from);
}

static void closed(void *ctx, struct conn *c, const struct err *why)
{
    struct splice *s = ctx;
    enum splice_end which = end_of(s, c);
    struct conn *other = other_of(s, c);
    s->end[which] = NULL;
    if (s->ops->gone)
        s->ops->gone(s, which, why);
    if (other)
        s->ops->close(other);
    else
        s->ops->over(s);
}

const struct conn_ops splice_conn_ops = {.frame = frame_pass, .closed = closed, .drained = drained};
const struct conn_ops splice_raw_conn_ops = {
    .bytes = bytes_pass, .closed = closed, .drained = drained};
