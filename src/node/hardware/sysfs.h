/* Small files in which the kernel tells of devices. */
#ifndef REMUDA_NODE_HARDWARE_SYSFS_H
#define REMUDA_NODE_HARDWARE_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "/sys"; REMUDA_SYS names another, for tests. */
const char *sysfs_root(void);
/* Up to size - 1 bytes and a zero. 0, or errno of what failed; *ret_len may be NULL. May wait as
 * long as the driver does. */
int sysfs_read(const char *path, char *to, size_t size, size_t *ret_len);
/* A number that stands first in it, decimal; EBADMSG if none does. */
int sysfs_number(const char *path, uint64_t *ret);
/* A line without its end; EBADMSG if it is empty. */
int sysfs_line(const char *path, char *to, size_t size);
/* The number after "key " at the beginning of a line of `text`. */
bool sysfs_property(const char *text, const char *key, uint64_t *ret);

#endif
