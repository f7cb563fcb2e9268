#include "node/step/notes_socket.h"
#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define SOCKET_NAME "../shepherds.sock" /* seen from the steps' directory */
#define MAKING_NAME "../shepherds.sock.new"
#define BACKLOG     1024
#define SEND_BYTES  (1 << 20) /* as much as the kernel allows of it: many steps end at once */

/* By way of the directory's descriptor: the path of a node's directory may be longer than an
 * address. */
static struct sockaddr_un address_of(int steps_fd, const char *name)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "/proc/self/fd/%d/%s", steps_fd, name);
    return a;
}

/* At both ends, so that what is sent before it is accepted has its sender too. */
static bool senders_want(int fd)
{
    int on = 1;
    return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0;
}

static int fail_closing(int fd)
{
    int saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
    return -1;
}

int notes_listen(int steps_fd)
{
    struct sockaddr_un a = address_of(steps_fd, MAKING_NAME);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlinkat(steps_fd, MAKING_NAME, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        fchmodat(steps_fd, MAKING_NAME, 0600, 0) != 0 || listen(fd, BACKLOG) != 0 ||
        !senders_want(fd) || renameat(steps_fd, MAKING_NAME, steps_fd, SOCKET_NAME) != 0)
        return fail_closing(fd);
    return fd;
}

int notes_accept(int listening)
{
    int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0 || !senders_want(fd))
        return fail_closing(fd);
    return fd;
}

int notes_connect(int steps_fd)
{
    struct sockaddr_un a = address_of(steps_fd, SOCKET_NAME);
    int bytes = SEND_BYTES, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || !senders_want(fd) || connect(fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        return fail_closing(fd);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    return fd;
}

ssize_t notes_receive(int fd, void *into, size_t size, struct notes_sender *ret)
{
    ASSERT(size > 0);
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct iovec piece = {into, size};
    struct msghdr m = {.msg_iov = &piece,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    struct ucred who = {.pid = 0, .uid = (uid_t)-1};
    ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS &&
        c->cmsg_len == CMSG_LEN(sizeof who))
        memcpy(&who, CMSG_DATA(c), sizeof who);
    *ret = (struct notes_sender){who.pid, who.uid};
    return n;
}
