/* The addresses of a host name. A name service that does not answer holds up nobody: each look-up
 * has a thread of its own (not one of the pool, whose other work would wait), and who asked is
 * answered in time, whatever becomes of the thread. */
#ifndef REMUDA_IO_NAME_LOOKUP_H
#define REMUDA_IO_NAME_LOOKUP_H

#include "io/loop.h"
#include "io/net/tcp_socket.h"

#include <stddef.h>
#include <stdint.h>

#define NAME_ADDRESSES_MAX 8

struct name_found {
    struct tcp_address address[NAME_ADDRESSES_MAX];
    size_t n;       /* 0 = none: */
    struct err why; /* ERR_UNAVAILABLE */
};

struct name_lookup; /* opaque */

/* Calls done(ctx, found) once, after wait_us at the latest and never from here; the look-up is
 * freed then. NULL with ret_err if there is no thread to be had. */
struct name_lookup *name_lookup_new(struct loop *l, const char *host, int port, int64_t wait_us,
                                    void (*done)(void *ctx, const struct name_found *found),
                                    void *ctx, struct err *ret_err);
/* Before it is done: done is not called. NULL is fine. */
void name_lookup_free(struct name_lookup *k);

#endif
