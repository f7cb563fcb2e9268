#include "io/net/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Fills the address. *ret_dir is a descriptor to close after use, or -1. */
static bool address_fill(const char *path, struct sockaddr_un *ret, int *ret_dir)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    *ret_dir = -1;
    size_t len = strlen(path);
    if (len < sizeof ret->sun_path) {
        memcpy(ret->sun_path, path, len + 1);
        return true;
    }
    const char *slash = strrchr(path, '/');
    char dir[4096];
    if (!slash || (size_t)(slash - path) >= sizeof dir) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(dir, path, (size_t)(slash - path));
    dir[slash - path] = '\0';
    *ret_dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*ret_dir < 0)
        return false;
    int n =
        snprintf(ret->sun_path, sizeof ret->sun_path, "/proc/self/fd/%d/%s", *ret_dir, slash + 1);
    if (n > 0 && (size_t)n < sizeof ret->sun_path)
        return true;
    close(*ret_dir);
    errno = ENAMETOOLONG;
    return false;
}

static int socket_at(const char *path, int flags,
                     int (*attach)(int fd, const struct sockaddr *address, socklen_t len))
{
    struct sockaddr_un address;
    int dir;
    if (!address_fill(path, &address, &dir))
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    bool ok = fd >= 0 && attach(fd, (const struct sockaddr *)&address, sizeof address) == 0;
    int saved = errno;
    if (dir >= 0)
        close(dir);
    if (!ok && fd >= 0)
        close(fd);
    errno = saved;
    return ok ? fd : -1;
}

int unix_socket_connect(const char *path, bool nonblocking)
{
    return socket_at(path, nonblocking ? SOCK_NONBLOCK : 0, connect);
}

int unix_socket_bind(const char *path)
{
    return socket_at(path, SOCK_NONBLOCK, bind);
}
