/* What of the memory that is charged to a group somebody really has. */
#ifndef REMUDA_NODE_CGROUP_CHARGED_H
#define REMUDA_NODE_CGROUP_CHARGED_H

#include <stdbool.h>
#include <stdint.h>

/* The first number of `file` in the group dir_fd; -1 if it cannot be read. */
int64_t cgroup_number_in(int dir_fd, const char *file);

/* Of `all` bytes that are charged, as the kernel counts: those of pages that hold something, files
 * that were read or written among them, and of the kernel's own for it. The kernel charges by
 * batches for each processor, and gives back what is left of one when it next needs it: that is
 * charged, too (seen: 1 MiB on two processors), but nobody's, and is left out where the kernel says
 * what the rest is, which costs it a sum over all processors. parent: of the group above dir_fd. */
int64_t cgroup_charged(int dir_fd, bool v2, bool parent, int64_t all);

/* Of it what the kernel cannot take back at once: all but files. -1 if unknown. */
int64_t cgroup_kept(int dir_fd, bool v2);

/* Bytes that processes have without their page cache, shared memory included; -1 if unknown. */
int64_t cgroup_rss(int dir_fd, bool v2);

#endif
