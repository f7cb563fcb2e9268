/* The library listens at a port of the loopback, where every user of the machine can connect, and
 * hears one after the other: who connects and says nothing holds up the tasks for seconds, with
 * forty connections for a minute. So its accept() is this one, which asks the kernel whose the
 * other end is. A stranger's connection is at its end when the library first reads it: to return an
 * error would end its listening. Where the kernel does not tell (no sock_diag), all are heard, as
 * without this; what they would have to know to be believed is the step's secret name. */
#include "pmix/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_MS 500

struct socket_question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 ask;
};

/* Of the socket at the other end, on this machine. */
static bool question_send(int kernel, const struct sockaddr_in *peer, const struct sockaddr_in *own)
{
    struct socket_question q = {
        .head = {.nlmsg_len = sizeof q,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .ask = {.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0U},
    };
    q.ask.id.idiag_sport = peer->sin_port;
    q.ask.id.idiag_src[0] = peer->sin_addr.s_addr;
    q.ask.id.idiag_dport = own->sin_port;
    q.ask.id.idiag_dst[0] = own->sin_addr.s_addr;
    q.ask.id.idiag_cookie[0] = q.ask.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return send(kernel, &q, sizeof q, 0) == (ssize_t)sizeof q;
}

/* False: the kernel does not say. A socket that is gone is nobody's: *ret is none that there is. */
static bool answer_take(int kernel, uid_t *ret)
{
    union {
        char bytes[4096];
        struct nlmsghdr head;
    } in;
    ssize_t n = recv(kernel, &in, sizeof in, 0);
    if (n < (ssize_t)sizeof in.head || in.head.nlmsg_len > (size_t)n)
        return false;
    const void *body = NLMSG_DATA(&in.head);
    if (in.head.nlmsg_type == NLMSG_ERROR &&
        in.head.nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
        *ret = (uid_t)-1;
        return ((const struct nlmsgerr *)body)->error == -ENOENT;
    }
    if (in.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        in.head.nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
        return false;
    *ret = ((const struct inet_diag_msg *)body)->idiag_uid;
    return true;
}

static bool peer_user(int fd, uid_t *ret)
{
    struct sockaddr_in peer = {0}, own = {0};
    struct timeval patience = {.tv_usec = ANSWER_MS * 1000};
    socklen_t npeer = sizeof peer, nown = sizeof own;
    if (getpeername(fd, (struct sockaddr *)&peer, &npeer) != 0 ||
        getsockname(fd, (struct sockaddr *)&own, &nown) != 0 || peer.sin_family != AF_INET ||
        own.sin_family != AF_INET)
        return false;
    int kernel = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    bool known = kernel >= 0 &&
                 setsockopt(kernel, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
                 question_send(kernel, &peer, &own) && answer_take(kernel, ret);
    if (kernel >= 0)
        close(kernel);
    return known;
}

/* In the place of the C library's, for libpmix. */
__attribute__((visibility("default"))) int accept(int listening, struct sockaddr *address,
                                                  socklen_t *len)
{
    uid_t uid;
    int fd = (int)syscall(SYS_accept4, listening, address, len, 0);
    int saved = errno;
    if (fd >= 0 && peer_user(fd, &uid) && uid != geteuid() && uid != 0)
        shutdown(fd, SHUT_RDWR);
    errno = saved;
    return fd;
}
