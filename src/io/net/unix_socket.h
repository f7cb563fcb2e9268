/* Unix sockets at paths of any length: the directory is opened and reached through /proc/self/fd
 * when sockaddr_un cannot hold the path. */
#ifndef REMUDA_IO_UNIX_SOCKET_H
#define REMUDA_IO_UNIX_SOCKET_H

#include <stdbool.h>

/* A connected (non-blocking, if asked) stream socket, close-on-exec; -1 with errno. */
int unix_socket_connect(const char *path, bool nonblocking);
/* A non-blocking stream socket bound to that path, which must not exist; -1 with errno. */
int unix_socket_bind(const char *path);

#endif
