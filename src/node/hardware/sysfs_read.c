/* The one place that reads such files: tests put their own in its stead. */
#include "base/alloc.h"
#include "node/hardware/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int sysfs_read(const char *path, char *to, size_t size, size_t *ret_len)
{
    ASSERT(size > 0);
    size_t len = 0;
    ssize_t n = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    while (len + 1 < size && (n = read(fd, to + len, size - 1 - len)) > 0)
        len += (size_t)n;
    int error = n < 0 ? errno : 0;
    close(fd);
    to[len] = '\0';
    if (ret_len)
        *ret_len = len;
    return error;
}
