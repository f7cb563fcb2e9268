/* What all do with a descriptor. */
#ifndef REMUDA_IO_FD_H
#define REMUDA_IO_FD_H

#include <stdbool.h>
#include <stddef.h>

/* Writes all of it to a descriptor that blocks. False with errno; how much went before is not
 * known. */
bool fd_write_all(int fd, const void *data, size_t len);

#endif
