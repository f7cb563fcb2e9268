/* Who has the other end of a TCP connection, as far as this machine's kernel can tell. */
#ifndef REMUDA_IO_SOCKET_OWNER_H
#define REMUDA_IO_SOCKET_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The user of this machine who has the other end of the accepted socket; (uid_t)-1: nobody of this
 * machine has it any more. False: it is another machine's, or the kernel does not tell. */
bool socket_owner(int fd, uid_t *ret);
/* From whom the accepted socket is, as a number for comparing, never 0: the same for all
 * connections of a user of this machine, and for all from one other machine (of IPv6 from one
 * network of 64 bits, all of which one machine may have). */
uint64_t socket_source(int fd);

#endif
