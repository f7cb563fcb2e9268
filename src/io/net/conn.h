/* A connection that carries frames (wire/frame.h): bytes in are cut into frames, bytes out are
 * queued and bounded.
 *
 * Out: conn_send never blocks and never fails; a connection that breaks, or whose unsent bytes
 * exceed its bound (a reader too slow or dead), is closed with the reason. A sender of much waits:
 * it stops when conn_unsent() is above CONN_HIGH_BYTES and goes on in `drained`. In: frames are
 * delivered in order, one call each. While paused no frame is delivered and at most one socket
 * buffer and one frame wait. */
#ifndef REMUDA_IO_CONN_H
#define REMUDA_IO_CONN_H

#include "base/err.h"
#include "base/str.h"
#include "io/loop.h"
#include "io/net/tls.h"
#include "wire/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct conn; /* opaque */

#define CONN_HIGH_BYTES (1u << 20) /* senders of streams stop above this … */
/* … and `drained` comes when the unsent bytes fell below this */
#define CONN_LOW_BYTES (256u << 10)
/* default bound: more unsent bytes end the connection (ERR_LIMIT) */
#define CONN_UNSENT_MAX_BYTES (128u << 20)

struct conn_ops {
    /* A whole frame came; it is valid during the call. May be NULL for a connection that only
     * sends. */
    void (*frame)(void *ctx, struct conn *c, const struct frame *f);
    /* Instead of frames: bytes as they came, whatever they are; up to LOOP_SCRATCH_BYTES more may
     * come after conn_pause. NULL for a connection of frames. */
    void (*bytes)(void *ctx, struct conn *c, const char *data, size_t len);
    /* Of a connection of bytes: the other side sends nothing more, which it may do that waits for
     * an answer. True: the connection stays until the caller ends it, or what is written fails.
     * NULL: it ends. */
    bool (*ended)(void *ctx, struct conn *c);
    /* The other side is gone, or conn_close/conn_abort was called: once, last; the conn is freed
     * after it. why->code is ERR_NONE when the other side closed in order or we did; ERR_INVALID
     * when bytes came that cannot be a frame; ERR_LIMIT, ERR_UNAVAILABLE otherwise. */
    void (*closed)(void *ctx, struct conn *c, const struct err *why);
    /* Unsent bytes were above CONN_HIGH_BYTES and fell below CONN_LOW_BYTES. May be NULL. */
    void (*drained)(void *ctx, struct conn *c);
    /* Bytes came that can never become a frame; conn_send (of a last answer) is still possible,
     * then the connection closes. May be NULL. */
    void (*garbage)(void *ctx, struct conn *c, const struct err *why);
    /* Before anything is read and before each frame: false leaves it where it is,
   * and the connection is paused (conn_resume lets it go on). May be NULL. */
    bool (*ready)(void *ctx, struct conn *c);
    /* So many more bytes (less, below 0) of frames that are not whole, or not
   * delivered, are kept. May be NULL. */
    void (*kept)(void *ctx, struct conn *c, ptrdiff_t more);
    /* So much processor time went into the connection since it was told last: reading, frames,
     * writing. May be NULL. */
    void (*worked)(void *ctx, struct conn *c, int64_t ns);
};

/* Who is at the other end of a Unix socket, as the kernel says (SO_PEERCRED). */
struct conn_peer {
    bool known; /* else none of the next is */
    uid_t uid;
    gid_t gid;
    pid_t pid;
};

/* Takes over a connected stream socket (accepted, connected or from socketpair); closes it in the
 * end. ops must outlive the connection. NULL with ret_err if the descriptor is unusable (it is
 * closed then). */
struct conn *conn_new(struct loop *l, int fd, const struct conn_ops *ops, void *ctx,
                      struct err *ret_err);

/* The same through TLS, of a TCP socket that may still be connecting. What is sent before the
 * handshake is done waits for it. */
struct conn *conn_new_tls(struct loop *l, int fd, struct tls_context *tls,
                          const struct conn_ops *ops, void *ctx, struct err *ret_err);
/* The name in the other side's certificate, once a frame came; NULL = it showed none, or there is
 * no TLS. */
const char *conn_tls_peer(const struct conn *c);

/* Queues the bytes (whole frames; copied); they are written together at the end of this round.
 * Nothing happens on a connection that is closing. */
void conn_send(struct conn *c, const void *data, size_t len);
/* Encodes one message (wire_encode) and sends it. */
void conn_send_message(struct conn *c, const struct message *m);
size_t conn_unsent(const struct conn *c); /* bytes queued and not yet taken by the socket */
/* of what the peer does not read; beyond it the connection fails */
void conn_set_unsent_max(struct conn *c, size_t bytes);
/* Longer frames from the other side are garbage. Default: the limits of model/limits.h. */
void conn_set_frame_max(struct conn *c, size_t bytes);

/* Deliver no frames until conn_resume; may be called in `frame` */
void conn_pause(struct conn *c);
void conn_resume(struct conn *c); /* frames that wait come in the next round */
/* No more frames in; closes when the unsent bytes are out, at the latest after 5 seconds. `closed`
 * follows. */
void conn_close(struct conn *c);
/* The same, but however long the other side takes to read. */
void conn_finish(struct conn *c);
/* Closes at once. `closed` follows in the next round. */
void conn_abort(struct conn *c);
/* Nothing more can be sent; it may still be sending what was. */
bool conn_is_closing(const struct conn *c);

/* As the kernel says now; all zero once the connection is gone. */
struct conn_peer conn_peer(const struct conn *c);
/* The same of a socket that is no connection yet. */
struct conn_peer conn_peer_of(int fd);
/* Since when part of a frame is there whose rest does not come
 * (clock_monotonic_us); 0 = none is waited for. */
int64_t conn_half_since(const struct conn *c);
/* Counted since it was opened, as they were on the wire. */
uint64_t conn_bytes_in(const struct conn *c);
uint64_t conn_bytes_out(const struct conn *c); /* since it was made */
uint64_t conn_frames_in(const struct conn *c); /* likewise */
/* What its callbacks get as their first argument; the caller's. */
void *conn_ctx(const struct conn *c);
void conn_set_ctx(struct conn *c, void *ctx); /* what its callbacks get from now on */

#endif
