/* A connection as its two files see it: conn.c (life, the way in, facts) and conn_out.c (the way
 * out). */
#ifndef REMUDA_IO_CONN_INSIDE_H
#define REMUDA_IO_CONN_INSIDE_H

#include "io/loop_uv.h"
#include "io/net/conn.h"
#include "io/net/tls.h"

enum conn_state { CONN_OPEN, CONN_CLOSING, CONN_GONE };

struct conn {
    struct loop *loop;
    uv_poll_t poll;
    int fd;     /* closed when the state is CONN_GONE */
    int polled; /* events the poll watches now */
    enum conn_state state;
    /* nothing is read; written when the socket takes it; more unsent than it should be */
    bool paused, writable_wanted, was_high;
    const struct conn_ops *ops;
    void *ctx;
    struct str in;   /* what came and is no whole frame yet */
    size_t in_told;  /* bytes of `in` that ops->kept knows of */
    int64_t half_us; /* since when `in` is the beginning of a frame */
    /* The thread's clock when work for it began, or was told; 0 = none is under way. */
    int64_t work_ns;
    struct str out;                          /* not yet written */
    size_t out_sent;                         /* bytes of `out` that the socket took */
    size_t unsent_max, frame_max;            /* bytes; a peer that goes beyond is ended */
    uint64_t bytes_in, bytes_out, frames_in; /* since it was made */
    struct err why;
    struct later flush, gone, more; /* calls from the loop that are due */
    struct timer *linger;           /* how long a closing one waits for its last bytes */
    struct tls *tls;                /* NULL: plain */
};

/* conn.c: waits for what the connection can use now; ends it; ends it for a reason. */
void conn_poll_update(struct conn *c);
/* Closed at once; its `closed` comes from the loop, later. Nothing the second time. */
void conn_end(struct conn *c);
/* conn_end, with the reason; the first one stands */
void conn_fail(struct conn *c, enum err_code code, const char *what);

/* conn.c: around what the loop does for the connection, for ops->worked. True: this is the
 * outermost, which ends it. */
bool conn_work_begin(struct conn *c);
void conn_work_tell(struct conn *c);            /* CPU time since the last to who counts it (ns) */
void conn_work_end(struct conn *c, bool began); /* of what conn_work_begin began */

/* conn_out.c: gives the socket what it takes; false when it takes no more now or has failed. Then
 * conn_out_written tells about the unsent bytes that went below the mark, and ends a connection
 * that waited only for its last bytes. conn_flush does both (a `later` of the loop). */
bool conn_out_write(struct conn *c);
/* Some of it has left: closes where that was wished, says `drained` where it was high. */
void conn_out_written(struct conn *c);
void conn_flush(void *ctx); /* Of loop_later: writes what the kernel takes. */

#endif
