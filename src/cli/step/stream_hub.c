#include "cli/step/stream_hub.h"

#include "base/alloc.h"
#include "base/str.h"
#include "base/vec.h"
#include "wire/framed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define READ_BYTES  (256u << 10)
#define FIRST_BYTES (16u << 10) /* until one read has filled them: most steps say little */
#define ROUND_READS 4           /* of one peer, before the others get their turn */
#define HELLO_BYTES (64u << 10) /* of one that has not said who it is */
#define UNKNOWN_MAX 256         /* so many of them; whoever comes too often pushes its own out */
#define ACCEPT_MAX  64          /* in one go: they say who they are before the next come */

struct stream_peer {
    int fd;
    void *ctx; /* NULL until it said hello */
    struct framed way;
    bool deaf; /* it reads no more; what it wrote before is still to be read */
    bool much; /* it has more to say than FIRST_BYTES at a time */
    bool closing, dead;
};

struct stream_hub {
    const struct hub_ops *ops;
    void *ctx;
    int listen_fd[2]; /* Unix, TCP (-1 = none) */
    VEC(struct stream_peer *) peer;
    struct str address;
    const char *(*sealer)(struct arena *a); /* path of remudad; NULL = no encryption */
    struct str secrets;
    int sealing;         /* our end of its standard input, while it runs; else -1 */
    struct arena *arena; /* of the message at hand */
};

/* ---- listening ---- */

const char *hub_key_new(struct arena *a)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    unsigned char bytes[HUB_KEY_CHARS];
    char *key = arena_alloc(a, HUB_KEY_CHARS + 1);
    size_t got = 0;
    while (got < sizeof bytes) {
        ssize_t n = getrandom(bytes + got, sizeof bytes - got, 0);
        CHECK(n > 0 || errno == EINTR);
        got += n > 0 ? (size_t)n : 0;
    }
    for (size_t i = 0; i < HUB_KEY_CHARS; i++)
        key[i] = digits[bytes[i] % 64];
    return key;
}

static bool unix_listen(struct stream_hub *h, struct err *e)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct arena *a = arena_new();
    int len = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "remuda-step-%ld-%.12s",
                       (long)getpid(), hub_key_new(a));
    arena_free(a);
    h->listen_fd[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (h->listen_fd[0] < 0 ||
        bind(h->listen_fd[0], (struct sockaddr *)&name,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)) != 0 ||
        listen(h->listen_fd[0], 1024) != 0)
        return err_set(e, ERR_UNAVAILABLE, "cannot listen for the tasks' output: %s",
                       strerror(errno));
    str_addf(&h->address, "@%s", name.sun_path + 1);
    return true;
}

/* Of a range, a port is free as soon as nobody listens there: whoever connected to the last command
 * that had it may still hold his end. Two that take it at once find out when they listen. */
static int port_listen(uint16_t port)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    int off = 0, on = 1, fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (port)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&any, sizeof any) == 0 && listen(fd, 1024) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static int ports_listen(const char *ports)
{
    struct span rest = span_of(ports ? ports : ""), low;
    char text[32];
    if (!ports)
        return port_listen(0);
    span_next(&rest, '-', &low);
    snprintf(text, sizeof text, "%.*s", (int)low.len, low.data);
    long first = strtol(text, NULL, 10);
    snprintf(text, sizeof text, "%.*s", (int)rest.len, rest.data);
    long last = rest.len ? strtol(text, NULL, 10) : first, count = last - first + 1;
    int fd = -1;
    for (long i = 0; i < count && fd < 0; i++)
        fd = port_listen((uint16_t)(first + (getpid() + i) % count));
    return fd;
}

#define INTERFACES_MAX 256

static bool is_usable(int fd, const struct ifreq *i, bool loopback)
{
    struct ifreq asked = *i;
    return i->ifr_addr.sa_family == AF_INET && ioctl(fd, SIOCGIFFLAGS, &asked) == 0 &&
           (asked.ifr_flags & IFF_UP) && loopback == ((asked.ifr_flags & IFF_LOOPBACK) != 0);
}

static void interfaces_add(struct stream_hub *h, int fd, uint16_t port)
{
    struct ifreq all[INTERFACES_MAX];
    struct ifconf conf = {.ifc_len = sizeof all, .ifc_req = all};
    char text[INET_ADDRSTRLEN];
    size_t before = h->address.len;
    if (ioctl(fd, SIOCGIFCONF, &conf) != 0)
        return;
    for (int loopback = 0; loopback < 2 && h->address.len == before; loopback++)
        for (size_t i = 0; i < (size_t)conf.ifc_len / sizeof all[0]; i++) {
            if (!is_usable(fd, &all[i], loopback))
                continue;
            inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)&all[i].ifr_addr)->sin_addr, text,
                      sizeof text);
            str_addf(&h->address, " %s%s:%u", h->sealer ? "tls:" : "", text, port);
        }
}

/* Every address of this host but loopback's; loopback's when there is no other. Asked for by ioctl:
 * getifaddrs has the kernel list all that it knows of each interface, which a small step would
 * feel. */
static void addresses_add(struct stream_hub *h, uint16_t port)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    interfaces_add(h, fd, port);
    close(fd);
}

static bool tcp_listen(struct stream_hub *h, const char *ports, struct err *e)
{
    int fd = h->listen_fd[1] = ports_listen(ports);
    struct sockaddr_in6 name = {0};
    socklen_t len = sizeof name;
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&name, &len) != 0)
        return err_set(e, ERR_UNAVAILABLE, "cannot listen for tasks on other hosts%s%s: %s",
                       ports ? " on a port of SrunPortRange=" : "", ports ? ports : "",
                       strerror(errno));
    addresses_add(h, ntohs(name.sin6_port));
    return true;
}

struct stream_hub *hub_new(bool remote, const char *ports, const char *(*sealer)(struct arena *a),
                           const struct hub_ops *ops, void *ctx, struct err *ret_err)
{
    struct stream_hub *h = xcalloc(1, sizeof *h);
    h->ops = ops;
    h->ctx = ctx;
    h->listen_fd[0] = h->listen_fd[1] = h->sealing = -1;
    h->sealer = sealer;
    h->arena = arena_new();
    if (unix_listen(h, ret_err) && (!remote || tcp_listen(h, ports, ret_err)))
        return h;
    hub_free(h);
    return NULL;
}

static void peer_free(struct stream_peer *p)
{
    close(p->fd);
    framed_done(&p->way);
    free(p);
}

void hub_free(struct stream_hub *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < 2; i++)
        if (h->listen_fd[i] >= 0)
            close(h->listen_fd[i]);
    if (h->sealing >= 0)
        close(h->sealing);
    str_done(&h->secrets);
    for (size_t i = 0; i < h->peer.n; i++)
        peer_free(h->peer.v[i]);
    vec_done(&h->peer);
    str_done(&h->address);
    arena_free(h->arena);
    free(h);
}

const char *hub_address(const struct stream_hub *h)
{
    return str_text(&h->address);
}

void hub_secret_add(struct stream_hub *h, const char *key)
{
    str_addf(&h->secrets, "%s%s", h->secrets.len ? " " : "", key);
}

/* ---- encryption ----
 * A shepherd of another host is there: from now on remudad takes those, and they come to us through
 * our own socket. Without it nobody gets in. */

static void sealer_spawn(struct stream_hub *h, const char *sealer)
{
    char number[16];
    char *argv[] = {(char *)(uintptr_t)sealer, "seal", number, h->address.data, NULL};
    int in[2], listen_fd = h->listen_fd[1];
    char *blank = strchr(h->address.data, ' ');
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    pid_t pid;
    h->listen_fd[1] = -1;
    if (!blank || pipe2(in, O_CLOEXEC) != 0) { /* without an address no shepherd was told of it */
        close(listen_fd);
        return;
    }
    snprintf(number, sizeof number, "%d", listen_fd);
    fcntl(listen_fd, F_SETFD, 0);
    sigemptyset(&none);
    posix_spawnattr_init(&how); /* a session of its own: Ctrl-C is for the command and its tasks */
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
    str_addc(&h->secrets, '\n');
    *blank = '\0'; /* after the name of our Unix socket */
    bool ok = posix_spawn(&pid, sealer, &files, &how, argv, environ) == 0 &&
              write(in[1], h->secrets.data, h->secrets.len) == (ssize_t)h->secrets.len;
    *blank = ' ';
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    close(in[0]);
    close(listen_fd);
    h->sealing = in[1];
    if (!ok)
        fprintf(stderr,
                "srun: error: cannot start %s, which encrypts the streams of other hosts: %s\n",
                sealer, strerror(errno));
}

static void seal_start(struct stream_hub *h)
{
    struct arena *a = arena_new();
    sealer_spawn(h, h->sealer(a));
    arena_free(a);
}

/* ---- sending ---- */

static void peer_flush(struct stream_peer *p)
{
    struct span unsent;
    while (!p->dead && (unsent = framed_unsent(&p->way)).len > 0) {
        ssize_t n = send(p->fd, unsent.data, unsent.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            p->deaf = true;
        framed_went(&p->way, n < 0 ? unsent.len : (size_t)n);
    }
    if (p->closing)
        p->dead = true;
}

void peer_send(struct stream_peer *p, enum message_kind kind, const void *body)
{
    struct message m = {.kind = kind, .body = body};
    if (p->dead || p->closing || p->deaf)
        return;
    framed_put(&p->way, &m);
    peer_flush(p);
}

size_t peer_unsent(const struct stream_peer *p)
{
    return framed_unsent(&p->way).len;
}

void peer_close(struct stream_peer *p)
{
    p->closing = true;
    if (peer_unsent(p) == 0)
        p->dead = true;
}

/* ---- receiving ---- */

static void message_take(struct stream_hub *h, struct stream_peer *p, const struct message *m)
{
    if (p->ctx) {
        h->ops->message(h->ctx, p->ctx, p, m);
        return;
    }
    p->ctx = m->kind == MSG_STREAM_HELLO ? h->ops->hello(h->ctx, p, m->body) : NULL;
    if (!p->ctx)
        p->dead = true;
}

/* All whole frames that came. */
static void frames_take(struct stream_hub *h, struct stream_peer *p)
{
    struct err e = {0};
    while (!p->dead) {
        struct frame f;
        struct message m;
        ssize_t n = framed_next(&p->way, &f, &e);
        if (n == 0)
            p->dead = !p->ctx && framed_waiting(&p->way) > HELLO_BYTES;
        if (n == 0)
            break;
        if (n < 0 || !wire_decode(&f, h->arena, &m, &e)) {
            p->dead = true;
            break;
        }
        message_take(h, p, &m);
        arena_reset(h->arena);
    }
}

static void peer_read(struct stream_hub *h, struct stream_peer *p)
{
    for (int i = 0; i < ROUND_READS && !p->dead; i++) {
        size_t room = p->much ? READ_BYTES : FIRST_BYTES;
        ssize_t n = recv(p->fd, framed_room(&p->way, room), room, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            p->dead = true;
            return;
        }
        framed_came(&p->way, (size_t)n);
        frames_take(h, p);
        if ((size_t)n < room)
            return;
        p->much = true;
    }
}

/* Any user of this host sees the name of our Unix socket. Shepherds are root's or ours, and so is
 * what takes those of other hosts; only root may look into a cluster of another user. */
static bool is_strangers(int fd)
{
    struct ucred who;
    socklen_t len = sizeof who;
    return geteuid() != 0 && (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) != 0 ||
                              (who.uid != 0 && who.uid != geteuid()));
}

/* Anybody may connect to a port, and hold what he connected. A shepherd says at once who it is. */
static void unknown_bound(struct stream_hub *h)
{
    struct stream_peer *oldest = NULL;
    size_t n = 0;
    for (size_t i = 0; i < h->peer.n; i++)
        if (!h->peer.v[i]->ctx && !h->peer.v[i]->dead && !n++)
            oldest = h->peer.v[i];
    if (n > UNKNOWN_MAX)
        oldest->dead = true;
}

static void peers_accept(struct stream_hub *h, int listen_fd)
{
    int fd, on = 1;
    for (int i = 0; i < ACCEPT_MAX; i++) {
        if ((fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) < 0)
            return;
        if (listen_fd == h->listen_fd[0] && is_strangers(fd)) {
            close(fd);
            continue;
        }
        struct stream_peer *p = xcalloc(1, sizeof *p);
        p->fd = fd;
        if (listen_fd == h->listen_fd[1]) {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        }
        vec_push(&h->peer, p);
        unknown_bound(h);
    }
}

/* ---- waiting ---- */

size_t hub_count(const struct stream_hub *h)
{
    return 2 + h->peer.n;
}

size_t hub_wait_for(struct stream_hub *h, struct pollfd *v, bool paused)
{
    for (size_t i = 0; i < 2; i++)
        v[i] = (struct pollfd){.fd = h->listen_fd[i], .events = POLLIN};
    for (size_t i = 0; i < h->peer.n; i++) {
        const struct stream_peer *p = h->peer.v[i];
        short events = (short)((paused ? 0 : POLLIN) | (peer_unsent(p) ? POLLOUT : 0));
        v[2 + i] = (struct pollfd){.fd = events ? p->fd : -1, .events = events};
    }
    return 2 + h->peer.n;
}

static void dead_remove(struct stream_hub *h)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->peer.n; i++) {
        struct stream_peer *p = h->peer.v[i];
        if (!p->dead) {
            h->peer.v[kept++] = p;
            continue;
        }
        if (p->ctx)
            h->ops->gone(h->ctx, p->ctx, p);
        peer_free(p);
    }
    h->peer.n = kept;
}

void hub_serve(struct stream_hub *h, const struct pollfd *v, size_t n)
{
    ASSERT(n >= 2);
    size_t peers = n - 2;
    for (size_t i = 0; i < peers && i < h->peer.n; i++) {
        struct stream_peer *p = h->peer.v[i];
        if (v[2 + i].revents & POLLOUT)
            peer_flush(p);
        if (v[2 + i].revents & (POLLIN | POLLHUP | POLLERR) && (v[2 + i].events & POLLIN))
            peer_read(h, p);
        else if (v[2 + i].revents & POLLERR)
            peer_flush(p);
    }
    if (v[0].revents & POLLIN)
        peers_accept(h, h->listen_fd[0]);
    if ((v[1].revents & POLLIN) && h->sealer)
        seal_start(h);
    else if (v[1].revents & POLLIN)
        peers_accept(h, h->listen_fd[1]);
    dead_remove(h);
}
