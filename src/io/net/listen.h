/* A listening socket. */
#ifndef REMUDA_IO_LISTEN_H
#define REMUDA_IO_LISTEN_H

#include "io/loop.h"

#include <stdint.h>
#include <sys/types.h>

struct listener; /* opaque */

/* Listens at `path` with that mode (0666: everybody on this host may connect; whoever connects is
 * known by SO_PEERCRED). A socket file left by a dead process is replaced: the caller holds the
 * lock of the directory (daemon.h). Paths longer than sockaddr_un holds work (the directory is
 * opened and reached through /proc/self/fd). accepted(ctx, fd) gets each new connection's
 * descriptor, non-blocking and close-on-exec: give it to conn_new or close it. */
struct listener *listener_new(struct loop *l, const char *path, mode_t mode,
                              void (*accepted)(void *ctx, int fd), void *ctx, struct err *ret_err);
/* The same on a socket that listens already (tcp_socket.h); it is the listener's from now on. */
struct listener *listener_new_of(struct loop *l, int fd, void (*accepted)(void *ctx, int fd),
                                 void *ctx, struct err *ret_err);
/* Takes nobody in for so long (above 0): who comes meanwhile waits with the kernel. May be called
 * from `accepted`. */
void listener_rest(struct listener *li, int64_t us);
/* Stops listening and removes the socket file. NULL is fine. */
void listener_free(struct listener *li);

#endif
