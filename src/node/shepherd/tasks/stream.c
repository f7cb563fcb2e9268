#include "node/shepherd/tasks/stream.h"

#include "base/alloc.h"
#include "node/shepherd/as_owner.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_WAIT_MS 5000
#define READ_BYTES      (64u << 10)
#define TURN_US         INT64_C(5000) /* of messages of one stream */
#define HELD_BYTES      4096          /* so much of what is held is written at once */

/* ---- connecting ----
 * The command's addresses are its user's words: they may be many, and whoever is there may say
 * nothing, or a byte now and then. All of them together get the caller's time. */

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* What poll may wait for one thing, in ms. */
static int wait_ms_until(int64_t until_us)
{
    int64_t left = (until_us - now_us()) / 1000;
    return left <= 0 ? 0 : left < CONNECT_WAIT_MS ? (int)left : CONNECT_WAIT_MS;
}

static bool connect_wait(int fd, const struct sockaddr *name, socklen_t len, int64_t until_us)
{
    int error = 0;
    socklen_t size = sizeof error;
    if (connect(fd, name, len) == 0)
        return true;
    if (errno != EINPROGRESS && errno != EAGAIN)
        return false;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    if (poll(&p, 1, wait_ms_until(until_us)) != 1) {
        errno = ETIMEDOUT;
        return false;
    }
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    errno = error;
    return error == 0;
}

/* Another user's process that took over the name must not be told anything. */
static bool is_owners(int fd, int64_t uid)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
        (peer.uid == 0 || (int64_t)peer.uid == uid))
        return true;
    errno = EPERM;
    return false;
}

static bool unix_connect(int fd, const char *text, const struct step_plan *p, int64_t until_us)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    size_t len = strlen(text);
    if (len > sizeof name.sun_path)
        return false;
    memcpy(name.sun_path, text, len);
    name.sun_path[0] = '\0';
    return connect_wait(fd, (struct sockaddr *)&name,
                        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len), until_us) &&
           is_owners(fd, p->uid);
}

static bool tcp_connect(int fd, char *text, int64_t until_us)
{
    struct sockaddr_in name = {.sin_family = AF_INET};
    int on = 1;
    char *colon = strrchr(text, ':');
    if (!colon)
        return false;
    *colon = '\0';
    name.sin_port = htons((uint16_t)strtol(colon + 1, NULL, 10));
    if (inet_pton(AF_INET, text, &name.sin_addr) != 1 ||
        !connect_wait(fd, (struct sockaddr *)&name, sizeof name, until_us))
        return false;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return true;
}

/* ---- encryption ----
 * By the step's secret, which came through the controller: both ends have it, and nobody else. The
 * handshake is waited for, as the connection was; from then on nothing blocks. */

static bool sealed_send(struct stream *s)
{
    const char *data;
    size_t len;
    while ((data = tls_unsent(s->tls, &len)), len > 0) {
        ssize_t n = send(s->fd, data, len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        tls_sent(s->tls, (size_t)n);
        s->went += (size_t)n;
    }
    return true;
}

static bool handshake(struct stream *s, const char *key, int64_t until_us)
{
    char room[4096];
    struct err err = {0};
    s->secret = tls_context_shared(false, key, &err);
    s->tls = s->secret ? tls_new(s->secret) : NULL;
    if (!s->tls)
        return false;
    while (!tls_is_ready(s->tls)) {
        struct pollfd p = {.fd = s->fd, .events = POLLIN};
        if (!sealed_send(s) || poll(&p, 1, wait_ms_until(until_us)) != 1)
            return false;
        ssize_t n = recv(s->fd, room, sizeof room, 0);
        if (n <= 0)
            return false;
        tls_feed(s->tls, room, (size_t)n);
        if (tls_read(s->tls, room, sizeof room, &err) != 0)
            return false; /* refused; the other end says nothing before our hello */
    }
    return sealed_send(s);
}

/* ---- one after another ---- */

static int one_connect(struct span address, const struct step_plan *p, int64_t until_us)
{
    char text[256];
    bool local = address.len > 0 && address.data[0] == '@';
    if (address.len >= sizeof text)
        return -1;
    memcpy(text, address.data, address.len);
    text[address.len] = '\0';
    /* What listens there may ask the kernel who comes, and a packet filter may, too. */
    struct own_ids own;
    bool reached = false;
    int fd = -1;
    if (as_owner(p, &own))
        fd = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        reached = local ? unix_connect(fd, text, p, until_us) : tcp_connect(fd, text, until_us);
    int why = errno;
    as_before(p, &own);
    if (reached)
        return fd;
    if (fd >= 0)
        close(fd);
    errno = why;
    return -1;
}

static void hello(struct stream *s, const struct step_plan *p, const char *key, int64_t pid)
{
    size_t half = strlen(key) / 2;
    char *first = xstrndup(key, half);
    struct msg_stream_hello m = {
        .job_id = (uint64_t)p->job_id,
        .attempt = (uint32_t)p->attempt,
        .step_id = p->step_id,
        .key = first,
        .node = p->node,
        .pid = pid,
    };
    s->proof = xstrdup(key + half);
    stream_send(s, MSG_STREAM_HELLO, &m);
    free(first);
}

bool stream_connect(struct stream *s, const struct step_plan *p, const char *addresses,
                    const char *key, int64_t pid, size_t frame_max, int64_t within_us)
{
    struct span rest = span_of(addresses), address;
    int64_t until_us = now_us() + within_us;
    *s = (struct stream){.fd = -1, .frame_max = frame_max};
    errno = EINVAL;
    if (!key)
        return false;
    while (s->fd < 0 && now_us() < until_us && span_next(&rest, ' ', &address)) {
        bool sealed = address.len > 4 && memcmp(address.data, "tls:", 4) == 0;
        if (sealed)
            address = (struct span){address.data + 4, address.len - 4};
        if (address.len)
            s->fd = one_connect(address, p, until_us);
        if (s->fd >= 0 && sealed && !handshake(s, key, until_us)) {
            stream_close(s);
            errno = EPROTO;
        }
    }
    if (s->fd < 0)
        return false;
    hello(s, p, key, pid);
    return true;
}

void stream_close(struct stream *s)
{
    if (s->fd < 0)
        return;
    close(s->fd);
    s->fd = -1;
    s->more = false;
    framed_done(&s->way);
    free(s->proof);
    s->proof = NULL;
    tls_free(s->tls);
    tls_context_free(s->secret);
    s->tls = NULL;
    s->secret = NULL;
}

/* ---- sending ---- */

/* Seals a little, sends it, and so on. */
static void flush_sealed(struct stream *s)
{
    size_t len = 0;
    while (s->fd >= 0) {
        if (!sealed_send(s)) {
            stream_close(s);
            return;
        }
        tls_unsent(s->tls, &len);
        struct span plain = framed_unsent(&s->way);
        if (len > 0 || plain.len == 0)
            return; /* the socket is full, or nothing is left */
        framed_went(&s->way, tls_write(s->tls, plain.data,
                                       plain.len < TLS_AHEAD_BYTES ? plain.len : TLS_AHEAD_BYTES));
    }
}

void stream_flush(struct stream *s)
{
    if (s->tls) {
        flush_sealed(s);
        return;
    }
    struct span unsent;
    while (s->fd >= 0 && (unsent = framed_unsent(&s->way)).len > 0) {
        ssize_t n = send(s->fd, unsent.data, unsent.len, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0 && errno != EINTR)
            stream_close(s);
        if (n <= 0)
            continue;
        framed_went(&s->way, (size_t)n);
        s->went += (size_t)n;
    }
}

void stream_send(struct stream *s, enum message_kind kind, const void *body)
{
    ASSERT(body);
    struct message m = {.kind = kind, .body = body};
    if (s->fd < 0)
        return;
    framed_put(&s->way, &m);
    if (!s->held || framed_unsent(&s->way).len > HELD_BYTES)
        stream_flush(s);
}

size_t stream_unsent(const struct stream *s)
{
    size_t sealed = 0;
    if (s->fd >= 0 && s->tls)
        tls_unsent(s->tls, &sealed);
    return s->fd < 0 ? 0 : framed_unsent(&s->way).len + sealed;
}

void stream_refuse(const struct step_plan *p, const char *addresses, const char *key,
                   int64_t within_us)
{
    struct stream s;
    const struct msg_stream_notice why = {
        .text = "slurmstepd: error: as many commands as may are attached to this step already"};
    const struct msg_stream_done done = {.exit_status = 1 << 8};
    if (!stream_connect(&s, p, addresses, key, getpid(), FOLLOWER_FRAME_BYTES, within_us))
        return;
    stream_send(&s, MSG_STREAM_NOTICE, &why);
    stream_send(&s, MSG_STREAM_DONE, &done);
    stream_flush(&s);
    stream_close(&s);
}

/* ---- receiving ---- */

static bool may_speak(struct stream *s, const struct message *m)
{
    if (s->proved)
        return true;
    const struct msg_stream_tasks *tasks = m->body;
    s->proved = m->kind == MSG_STREAM_TASKS && text_is(tasks->proof, s->proof);
    return s->proved;
}

/* Bytes of the next one, 0 if it is not whole yet, -1 if it is none, or too long: that is known
 * before it has come. */
static ssize_t frame_next(struct stream *s, struct frame *ret)
{
    if (framed_says(&s->way) > s->frame_max)
        return -1;
    return framed_next(&s->way, ret, NULL);
}

/* What a message asks for may take a while, and the step has other things to do. It may close the
 * stream, so what the message is made of is not the stream's. */
static void frames_take(struct stream *s, void (*take)(void *ctx, const struct message *m),
                        void *ctx)
{
    struct arena *arena = arena_new();
    int64_t until_us = now_us() + TURN_US;
    struct frame f;
    ssize_t n = 0;
    s->more = false;
    while (s->fd >= 0 && !s->more && (n = frame_next(s, &f)) > 0) {
        struct message m;
        if (!wire_decode(&f, arena, &m, NULL) || !may_speak(s, &m)) {
            n = -1;
            break;
        }
        take(ctx, &m);
        arena_reset(arena);
        s->more = s->fd >= 0 && now_us() > until_us;
    }
    if (n < 0)
        stream_close(s);
    arena_free(arena);
}

/* What came encrypted; as in_add. */
static ssize_t in_unseal(struct stream *s)
{
    struct err err = {0};
    ssize_t n = 0, plain = 0;
    char *sealed = xmalloc(READ_BYTES);
    ssize_t got = recv(s->fd, sealed, READ_BYTES, 0);
    if (got > 0)
        tls_feed(s->tls, sealed, (size_t)got);
    while (got > 0 &&
           (n = tls_read(s->tls, framed_room(&s->way, READ_BYTES), READ_BYTES, &err)) > 0) {
        framed_came(&s->way, (size_t)n);
        plain += n;
    }
    free(sealed);
    if (got <= 0)
        return got;
    errno = n < 0 ? EPROTO : EAGAIN;
    return n == 0 && plain > 0 ? plain : -1;
}

/* How many bytes came; as recv. */
static ssize_t in_add(struct stream *s)
{
    if (s->tls)
        return in_unseal(s);
    ssize_t n = recv(s->fd, framed_room(&s->way, READ_BYTES), READ_BYTES, 0);
    if (n > 0)
        framed_came(&s->way, (size_t)n);
    return n;
}

void stream_read(struct stream *s, void (*take)(void *ctx, const struct message *m), void *ctx)
{
    ASSERT(take);
    if (s->fd < 0)
        return;
    ssize_t n = s->more ? 1 : in_add(s);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        stream_close(s);
    else
        frames_take(s, take, ctx);
}
