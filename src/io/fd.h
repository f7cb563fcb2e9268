/* What all do with a descriptor. */
#ifndef REMUDA_IO_FD_H
#define REMUDA_IO_FD_H

#include <stdbool.h>
#include <stddef.h>

/* Writes all of it to a descriptor that blocks. False with errno; how much went before is not
 * known. */
bool fd_write_all(int fd, const void *data, size_t len);

/* First of all in a program that people start: descriptors 0, 1 and 2 that the caller closed would
 * be taken by the first files and connections, and output written into these. They stay of no use:
 * to read or to write there fails (EBADF), as if they were closed. False: they cannot be had. */
bool standard_descriptors_open(void);
/* From here on a file at its limit (ulimit -f) is a write that fails (EFBIG), as one on a full
 * disk, and not the end of the process. Programs that it executes have the signal as ever. */
void file_limits_fail(void);
/* Last of all: is what was printed on standard output written? False: *ret_why is the errno of now,
 * 0 = not known; what a failed write left in the buffer is tried once more. */
bool standard_output_written(int *ret_why);

#endif
