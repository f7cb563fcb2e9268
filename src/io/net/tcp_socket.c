#include "io/net/tcp_socket.h"

#include "base/str.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG       4096
#define SILENT_MS     30000 /* bytes that nobody acknowledges for so long end the connection */
#define IDLE_S        15    /* an idle one is asked then, … */
#define ASK_EVERY_S   5     /* … so often, … */
#define ASK_TIMES     3     /* … so many times */
#define CONNECT_TRIES 3     /* about 15 s */

bool tcp_address_split(const char *text, struct arena *a, const char **ret_host, int *port,
                       struct err *ret_err)
{
    const char *end = text[0] == '[' ? strchr(text, ']') : NULL;
    const char *colon = end ? (end[1] == ':' ? end + 1 : NULL) : strrchr(text, ':');
    int64_t number = *port;
    if (!end && colon && strchr(text, ':') != colon)
        colon = NULL; /* a bare IPv6 address */
    if (colon && !text_to_i64(colon + 1, 1, 65535, &number))
        return err_set(ret_err, ERR_INVALID, "\"%s\" names no port from 1 to 65535", text);
    if (end)
        *ret_host = arena_strndup(a, text + 1, (size_t)(end - text - 1));
    else
        *ret_host = colon ? arena_strndup(a, text, (size_t)(colon - text)) : arena_strdup(a, text);
    *port = (int)number;
    return **ret_host ? true : err_set(ret_err, ERR_INVALID, "\"%s\" names no host", text);
}

static struct addrinfo *lookup(const char *host, int port, int flags, struct err *ret_err)
{
    struct addrinfo *found = NULL;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags};
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    int rc = getaddrinfo(host, service, &hints, &found);
    if (rc == 0)
        return found;
    err_set(ret_err, ERR_UNAVAILABLE, "cannot find the address of %s: %s",
            host ? host : "this host", gai_strerror(rc));
    return NULL;
}

static void option_set(int fd, int level, int name, int value)
{
    /* a kernel without it only notices later. */
    (void)setsockopt(fd, level, name, &value, sizeof value);
}

void tcp_socket_tune(int fd)
{
    option_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    option_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    option_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S);
    option_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, ASK_EVERY_S);
    option_set(fd, IPPROTO_TCP, TCP_KEEPCNT, ASK_TIMES);
    option_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, SILENT_MS);
}

int tcp_socket_connect(const struct tcp_address *to, struct err *ret_err)
{
    int fd = socket(to->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        tcp_socket_tune(fd);
        option_set(fd, IPPROTO_TCP, TCP_SYNCNT, CONNECT_TRIES);
        if (connect(fd, (const struct sockaddr *)&to->address, to->len) == 0 ||
            errno == EINPROGRESS)
            return fd;
    }
    err_set(ret_err, ERR_UNAVAILABLE, "%s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static int listen_at(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    option_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (at->ai_family == AF_INET6)
        option_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/* All addresses: the IPv6 socket takes both kinds; a kernel without IPv6 has only the other. */
int tcp_socket_listen(const char *host, int port, struct err *ret_err)
{
    struct addrinfo *found = lookup(host, port, AI_PASSIVE, ret_err);
    int fd = -1;
    if (!found)
        return -1;
    for (int family = AF_INET6; fd < 0; family = AF_INET) {
        for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
            if (at->ai_family == family)
                fd = listen_at(at);
        if (family == AF_INET)
            break;
    }
    if (fd < 0)
        err_set(ret_err, errno == EADDRINUSE ? ERR_EXISTS : ERR_UNAVAILABLE,
                "cannot listen on port %d: %s", port, strerror(errno));
    freeaddrinfo(found);
    return fd;
}

const char *tcp_socket_peer(int fd, struct arena *a)
{
    struct sockaddr_storage from;
    socklen_t len = sizeof from;
    char text[128];
    if (getpeername(fd, (struct sockaddr *)&from, &len) != 0 ||
        getnameinfo((const struct sockaddr *)&from, len, text, sizeof text, NULL, 0,
                    NI_NUMERICHOST) != 0)
        return "";
    return arena_strdup(a, strncmp(text, "::ffff:", 7) == 0 ? text + 7 : text);
}

const char *tcp_socket_network(const char *address, struct arena *a)
{
    struct in6_addr bytes;
    char text[INET6_ADDRSTRLEN];
    const char *alone = arena_strndup(a, address, strcspn(address, "%"));
    if (inet_pton(AF_INET6, alone, &bytes) != 1)
        return arena_strdup(a, address);
    memset(bytes.s6_addr + 8, 0, 8);
    return arena_strdup(a, inet_ntop(AF_INET6, &bytes, text, sizeof text));
}
