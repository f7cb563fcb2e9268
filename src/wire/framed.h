/* A connection that carries frames, without the connection: bytes come in and go out as frames,
 * messages go in and come out as bytes that the other end does not have yet. Who owns the
 * descriptor, or what encrypts it, moves the bytes. All zero is a connection on which nothing was
 * said. */
#ifndef REMUDA_WIRE_FRAMED_H
#define REMUDA_WIRE_FRAMED_H

#include "base/str.h"
#include "wire/frame.h"

#include <sys/types.h>

struct framed {
    struct str in; /* owned */
    size_t used;   /* bytes of `in` that were given as frames */
    struct str out;
    size_t sent; /* bytes of `out` that went */
};

/* Frees what it holds; it is as new. */
void framed_done(struct framed *f);

/* Room for `room` bytes behind those that came; ends the life of the frames given before. The
 * caller reads into it and says with framed_came how many bytes came: `room` at most. */
char *framed_room(struct framed *f, size_t room);
/* So many bytes were read into the room that was given; fewer than it had. */
void framed_came(struct framed *f, size_t n);
/* The next frame of what came, as frame_take: > 0, 0 if it is not whole yet, -1 with ret_err. The
 * frame points into `f`, and holds until framed_room. */
ssize_t framed_next(struct framed *f, struct frame *ret, struct err *ret_err);
/* The same; it will be the next once more. */
ssize_t framed_peek(const struct framed *f, struct frame *ret, struct err *ret_err);
/* What the next one says that it has, as frame_says. */
uint64_t framed_says(const struct framed *f);
/* Bytes that came and were not given. */
size_t framed_waiting(const struct framed *f);

/* Appends a message to what is to go. */
void framed_put(struct framed *f, const struct message *m);
/* What is to go, in `f` until the next framed_put; its first n bytes went. */
struct span framed_unsent(const struct framed *f);
/* So many of the bytes that framed_unsent showed have gone. */
void framed_went(struct framed *f, size_t n);

#endif
