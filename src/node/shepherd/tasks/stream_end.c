/* A TCP socket that is closed while something came that nobody read, or that something comes to
 * afterwards, forgets what the other host does not have yet. So it is read from until all has
 * arrived there; a host that is gone ends the waiting.
 *
 * Who is there may read nothing, so that nothing arrives, or say something without end: then what
 * has not arrived is his loss. */
#include "node/shepherd/tasks/stream.h"

#include "base/alloc.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#define ARRIVAL_WAIT_US  INT64_C(60000000) /* for a host that does not even say that it is gone */
#define ARRIVAL_LEAST_US INT64_C(1000000)  /* for who has little time left, or none */
#define NAP_FIRST_MS     2                 /* between looks whether all has arrived */
#define NAP_MOST_MS      200
#define DROP_BYTES       (64u << 10)
#define DROPPED_MOST     (32u << 20) /* a message that may be, and the input that was granted */

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static bool is_of_this_host(int fd)
{
    int domain;
    socklen_t len = sizeof domain;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0 || domain == AF_UNIX;
}

/* False: nothing more comes, or too much has. */
static bool drop(struct stream *s)
{
    static char dropped[DROP_BYTES];
    ssize_t n;
    while ((n = recv(s->fd, dropped, sizeof dropped, MSG_DONTWAIT)) > 0 &&
           s->dropped < DROPPED_MOST)
        s->dropped += (size_t)n;
    return n < 0;
}

static void leave(struct stream *s)
{
    shutdown(s->fd, SHUT_WR);
    s->leaves = true;
    s->dropped = 0;
    s->arriving = 0;
    s->arrives_by_us = now_us() + ARRIVAL_WAIT_US;
    if (is_of_this_host(s->fd))
        stream_close(s);
}

/* False: all has arrived, or nothing more does. */
static bool arrives(struct stream *s, const struct pollfd *v, bool last)
{
    int unsent = 0;
    if (!drop(s) || v->revents & (POLLERR | POLLHUP) || ioctl(s->fd, SIOCOUTQ, &unsent) != 0)
        return false;
    s->went += unsent < s->arriving ? (size_t)(s->arriving - unsent) : 0;
    s->arriving = unsent;
    return unsent > 0 &&
           now_us() < s->arrives_by_us - (last ? ARRIVAL_WAIT_US - ARRIVAL_LEAST_US : 0);
}

/* As far as it goes without waiting. */
static void end_bring_on(struct stream *s, const struct pollfd *v, bool last)
{
    if (s->fd >= 0 && !s->leaves)
        stream_flush(s);
    if (s->fd >= 0 && !s->leaves && stream_unsent(s) == 0)
        leave(s);
    if (s->fd >= 0 && (s->leaves ? !arrives(s, v, last) : last))
        stream_close(s);
}

void streams_finish(struct stream *s, size_t n, struct lingering *l)
{
    ASSERT(n <= STREAMS_MAX);
    struct pollfd v[STREAMS_MAX] = {0};
    linger_last(l);
    for (int nap = NAP_FIRST_MS;; nap = nap * 2 < NAP_MOST_MS ? nap * 2 : NAP_MOST_MS) {
        int wait = linger_wait_ms(l);
        bool any = false, any_leaves = false;
        for (size_t i = 0; i < n; i++) {
            end_bring_on(&s[i], &v[i], wait == 0);
            linger_took(l, s[i].went);
            s[i].went = 0;
            v[i] = (struct pollfd){.fd = s[i].fd, .events = s[i].leaves ? 0 : POLLOUT};
            any |= s[i].fd >= 0;
            any_leaves |= s[i].fd >= 0 && s[i].leaves;
        }
        if (!any)
            return;
        if (any_leaves && (wait <= 0 || wait > nap))
            wait = nap;
        poll(v, n, wait);
    }
}
