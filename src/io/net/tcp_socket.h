/* TCP sockets between hosts (name_lookup.h finds their addresses). Addresses are written HOST,
 * HOST:PORT, [V6]:PORT. */
#ifndef REMUDA_IO_TCP_SOCKET_H
#define REMUDA_IO_TCP_SOCKET_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <sys/socket.h>

struct tcp_address {
    struct sockaddr_storage address;
    socklen_t len;
};

/* Splits the text; ERR_INVALID if it is none. `port` is kept when it names none. */
bool tcp_address_split(const char *text, struct arena *a, const char **ret_host, int *port,
                       struct err *ret_err);
/* A non-blocking socket that is connecting: what fails is seen when it is written or read. -1 with
 * ret_err. A peer that is gone without a word is noticed within half a minute. */
int tcp_socket_connect(const struct tcp_address *to, struct err *ret_err);
/* A non-blocking listening socket; host NULL = all addresses. ERR_EXISTS if the port is taken. -1
 * with ret_err. */
int tcp_socket_listen(const char *host, int port, struct err *ret_err);
/* Sets an accepted socket up as tcp_socket_connect does. */
void tcp_socket_tune(int fd);
/* The network of an address as tcp_socket_peer gives it, all of which one machine may have: of IPv6
 * the first 64 bits ("2001:db8::"), else itself. In the arena. */
const char *tcp_socket_network(const char *address, struct arena *a);
/* The other side's address as text ("10.0.0.2"), in the arena; "" if it cannot be told. */
const char *tcp_socket_peer(int fd, struct arena *a);

#endif
