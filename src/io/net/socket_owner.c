/* The kernel is asked for the socket at the other end (sock_diag), whose addresses are ours the
 * other way round: it tells its user. One that has been closed is still there for a while, and
 * would be told as root's: it has no inode, and is nobody's. */
#include "io/net/socket_owner.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_MS  500
#define PREFIX     8 /* bytes of an IPv6 address that say which network it is in */
#define OF_USER    (1ULL << 63)
#define OF_NETWORK (1ULL << 62) /* of IPv6; else an address of IPv4 */
#define OF_NOBODY  (OF_USER | (uid_t)-1)

struct socket_question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 ask;
};

/* One end; of IPv4 also where the socket is one of IPv6 that takes both. */
struct socket_end {
    bool v6;
    in_port_t port;
    unsigned char address[sizeof(struct in6_addr)]; /* of IPv4 the first four */
};

static bool end_of(const struct sockaddr_storage *s, struct socket_end *ret)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)s;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)s;
    *ret = (struct socket_end){0};
    if (s->ss_family == AF_INET) {
        ret->port = v4->sin_port;
        memcpy(ret->address, &v4->sin_addr, sizeof v4->sin_addr);
        return true;
    }
    if (s->ss_family != AF_INET6)
        return false;
    ret->port = v6->sin6_port;
    ret->v6 = !IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
    if (ret->v6)
        memcpy(ret->address, &v6->sin6_addr, sizeof v6->sin6_addr);
    else
        memcpy(ret->address, v6->sin6_addr.s6_addr + 12, 4);
    return true;
}

static bool ends_read(int fd, struct socket_end *ret_peer, struct socket_end *ret_own)
{
    struct sockaddr_storage peer, own;
    socklen_t npeer = sizeof peer, nown = sizeof own;
    return getpeername(fd, (struct sockaddr *)&peer, &npeer) == 0 &&
           getsockname(fd, (struct sockaddr *)&own, &nown) == 0 && end_of(&peer, ret_peer) &&
           end_of(&own, ret_own);
}

static bool is_local(const struct socket_end *peer, const struct socket_end *own)
{
    return memcmp(peer->address, own->address, sizeof peer->address) == 0 ||
           (!peer->v6 && peer->address[0] == IN_LOOPBACKNET);
}

static bool question_send(int kernel, const struct socket_end *peer, const struct socket_end *own)
{
    struct socket_question q = {
        .head = {.nlmsg_len = sizeof q,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .ask = {.sdiag_family = peer->v6 ? AF_INET6 : AF_INET,
                .sdiag_protocol = IPPROTO_TCP,
                .idiag_states = ~0U},
    };
    q.ask.id.idiag_sport = peer->port;
    memcpy(q.ask.id.idiag_src, peer->address, sizeof peer->address);
    q.ask.id.idiag_dport = own->port;
    memcpy(q.ask.id.idiag_dst, own->address, sizeof own->address);
    q.ask.id.idiag_cookie[0] = q.ask.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return send(kernel, &q, sizeof q, 0) == (ssize_t)sizeof q;
}

/* False: the kernel does not say. */
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
    *ret = (uid_t)-1;
    if (in.head.nlmsg_type == NLMSG_ERROR &&
        in.head.nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr)))
        return ((const struct nlmsgerr *)body)->error == -ENOENT;
    if (in.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        in.head.nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
        return false;
    const struct inet_diag_msg *socket = body;
    if (socket->idiag_inode)
        *ret = socket->idiag_uid;
    return true;
}

static bool owner_ask(const struct socket_end *peer, const struct socket_end *own, uid_t *ret)
{
    struct timeval patience = {.tv_usec = ANSWER_MS * 1000};
    int kernel = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    bool known = kernel >= 0 &&
                 setsockopt(kernel, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
                 question_send(kernel, peer, own) && answer_take(kernel, ret);
    if (kernel >= 0)
        close(kernel);
    return known;
}

bool socket_owner(int fd, uid_t *ret)
{
    struct socket_end peer, own;
    return ends_read(fd, &peer, &own) && is_local(&peer, &own) && owner_ask(&peer, &own, ret);
}

uint64_t socket_source(int fd)
{
    struct socket_end peer, own;
    uint64_t number = 0;
    uid_t uid;
    if (!ends_read(fd, &peer, &own))
        return OF_NOBODY;
    if (is_local(&peer, &own) && owner_ask(&peer, &own, &uid))
        return OF_USER | uid;
    memcpy(&number, peer.address, peer.v6 ? PREFIX : 4);
    number &= ~(OF_USER | OF_NETWORK);
    return peer.v6 ? OF_NETWORK | number : number ? number : OF_NOBODY;
}
