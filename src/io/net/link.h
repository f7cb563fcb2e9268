/* A connection that we make and keep: to the controller's socket. It is tried again for ever, after
 * 50 ms at first, then ever more slowly up to 2 s with some spread, so that a restarted controller
 * is found soon and a thousand node daemons do not come at once. One that has lasted 2 s is tried
 * again as at first: who is sent away each time comes ever more slowly. */
#ifndef REMUDA_IO_LINK_H
#define REMUDA_IO_LINK_H

#include "io/net/conn.h"

struct link; /* opaque */

struct link_ops {
    /* Connected: say hello with link_send. */
    void (*up)(void *ctx, struct link *k);
    /* A frame came; valid during the call. */
    void (*frame)(void *ctx, struct link *k, const struct frame *f);
    /* The connection was lost (only after `up`), or an attempt failed for the first time since it
     * was up or new (why says it; further failures are silent). It is tried again by itself. */
    void (*down)(void *ctx, struct link *k, const struct err *why);
};

/* Starts connecting to the Unix socket at `path` (any length); the first attempt is made in the
 * next round. */
struct link *link_new(struct loop *l, const char *path, const struct link_ops *ops, void *ctx);
void link_free(struct link *k);        /* closes; no more callbacks. NULL is fine */
bool link_is_up(const struct link *k); /* connected, and not closing */
/* Sends; what is sent while the link is down is dropped (the caller repeats what matters after
 * `up`). */
void link_send(struct link *k, const struct message *m);
/* Bytes that wait to go out; 0 where there is no connection. */
size_t link_unsent(const struct link *k);
/* Once this connection ends, the next attempt comes no sooner than half as long after: what is
 * wrong does not pass by itself. */
void link_rest(struct link *k, int64_t us);
/* Ends the present connection and connects again (a peer that is silent for too long). */
void link_reset(struct link *k);

#endif
