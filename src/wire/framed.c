#include "wire/framed.h"

#include "base/alloc.h"

#include <string.h>

#define KEPT_BYTES (4u << 20) /* room for more is given back when nothing is in it */

static void room_give_back(struct str *s)
{
    if (s->cap > KEPT_BYTES)
        str_done(s);
    else
        str_clear(s);
}

void framed_done(struct framed *f)
{
    str_done(&f->in);
    str_done(&f->out);
    f->used = f->sent = 0;
}

char *framed_room(struct framed *f, size_t room)
{
    CHECK(f->used <= f->in.len);
    if (f->used > 0 && f->used == f->in.len) {
        room_give_back(&f->in);
        f->used = 0;
    } else if (f->used > 0) {
        f->in.len -= f->used;
        memmove(f->in.data, f->in.data + f->used, f->in.len);
        f->used = 0;
    }
    str_reserve(&f->in, room);
    return f->in.data + f->in.len;
}

void framed_came(struct framed *f, size_t n)
{
    CHECK(n < f->in.cap - f->in.len);
    f->in.len += n;
    f->in.data[f->in.len] = '\0';
}

ssize_t framed_peek(const struct framed *f, struct frame *ret, struct err *ret_err)
{
    return frame_take(str_text(&f->in) + f->used, framed_waiting(f), ret, ret_err);
}

ssize_t framed_next(struct framed *f, struct frame *ret, struct err *ret_err)
{
    ssize_t n = framed_peek(f, ret, ret_err);
    if (n > 0)
        f->used += (size_t)n;
    return n;
}

uint64_t framed_says(const struct framed *f)
{
    return frame_says(str_text(&f->in) + f->used, framed_waiting(f));
}

size_t framed_waiting(const struct framed *f)
{
    return f->in.len - f->used;
}

void framed_put(struct framed *f, const struct message *m)
{
    wire_encode(m, &f->out);
}

struct span framed_unsent(const struct framed *f)
{
    return (struct span){str_text(&f->out) + f->sent, f->out.len - f->sent};
}

void framed_went(struct framed *f, size_t n)
{
    CHECK(n <= f->out.len - f->sent);
    f->sent += n;
    if (f->sent == f->out.len) {
        room_give_back(&f->out);
        f->sent = 0;
    }
}
