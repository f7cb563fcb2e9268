/* The thread owns a copy of the name and one end of a pair of sockets, and shares nothing else: it
 * sends what it found as one message, or finds that nobody listens any more. getaddrinfo cannot be
 * interrupted, so a thread may outlive the question by as long as the name service is silent. */
#include "io/net/name_lookup.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACK_BYTES (1u << 20)

struct name_asked {
    int fd;
    char *host;
    int port;
};

struct name_lookup {
    char *host;
    int64_t wait_us;
    int fd;
    struct fd_watch *watch;
    struct timer *late;
    void (*done)(void *ctx, const struct name_found *found);
    void *ctx;
};

/* ---- the thread ---- */

static void addresses_take(struct name_found *to, const struct addrinfo *all)
{
    for (const struct addrinfo *i = all; i && to->n < NAME_ADDRESSES_MAX; i = i->ai_next)
        if (i->ai_addrlen <= sizeof to->address[0].address) {
            memcpy(&to->address[to->n].address, i->ai_addr, i->ai_addrlen);
            to->address[to->n++].len = i->ai_addrlen;
        }
}

static void *ask(void *ctx)
{
    struct name_asked *q = ctx;
    struct name_found found = {0};
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all = NULL;
    char service[16];
    snprintf(service, sizeof service, "%d", q->port);
    int rc = getaddrinfo(q->host, service, &hints, &all);
    if (rc == 0) {
        addresses_take(&found, all);
        freeaddrinfo(all);
    }
    if (found.n == 0)
        err_set(&found.why, ERR_UNAVAILABLE, "cannot find the address of %s: %s", q->host,
                rc ? gai_strerror(rc) : "it has none");
    send(q->fd, &found, sizeof found, MSG_NOSIGNAL);
    close(q->fd);
    free(q->host);
    free(q);
    return NULL;
}

/* Signals are the loop's. */
static int thread_start(struct name_asked *q)
{
    pthread_t thread;
    pthread_attr_t how;
    sigset_t all, former;
    sigfillset(&all);
    pthread_attr_init(&how);
    pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&how, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    int rc = pthread_create(&thread, &how, ask, q);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    pthread_attr_destroy(&how);
    return rc;
}

/* ---- who asks ---- */

void name_lookup_free(struct name_lookup *k)
{
    if (!k)
        return;
    fd_watch_free(k->watch);
    timer_free(k->late);
    close(k->fd);
    free(k->host);
    free(k);
}

static void answer(struct name_lookup *k, const struct name_found *found)
{
    void (*done)(void *, const struct name_found *) = k->done;
    void *ctx = k->ctx;
    name_lookup_free(k);
    done(ctx, found);
}

static void answered(void *ctx)
{
    struct name_lookup *k = ctx;
    struct name_found found = {0};
    if (recv(k->fd, &found, sizeof found, 0) != (ssize_t)sizeof found) {
        found = (struct name_found){0};
        err_set(&found.why, ERR_UNAVAILABLE, "cannot find the address of %s", k->host);
    }
    answer(k, &found);
}

static void too_late(void *ctx)
{
    struct name_lookup *k = ctx;
    struct name_found found = {0};
    err_set(&found.why, ERR_UNAVAILABLE,
            "cannot find the address of %s: the name service has not answered within %lld s",
            k->host, (long long)(k->wait_us / USEC_PER_SEC));
    answer(k, &found);
}

struct name_lookup *name_lookup_new(struct loop *l, const char *host, int port, int64_t wait_us,
                                    void (*done)(void *ctx, const struct name_found *found),
                                    void *ctx, struct err *ret_err)
{
    int fd[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) != 0) {
        err_set(ret_err, ERR_UNAVAILABLE, "cannot look for the address of %s: %s", host,
                strerror(errno));
        return NULL;
    }
    struct name_asked *q = xcalloc(1, sizeof *q);
    *q = (struct name_asked){fd[1], xstrdup(host), port};
    struct name_lookup *k = xcalloc(1, sizeof *k);
    *k = (struct name_lookup){
        .host = xstrdup(host), .wait_us = wait_us, .fd = fd[0], .done = done, .ctx = ctx};
    k->watch = fd_watch_new(l, k->fd, answered, k, ret_err);
    int rc = k->watch ? thread_start(q) : 0;
    if (!k->watch || rc != 0) {
        if (rc != 0)
            err_set(ret_err, ERR_UNAVAILABLE, "cannot look for the address of %s: %s", host,
                    strerror(rc));
        close(q->fd);
        free(q->host);
        free(q);
        name_lookup_free(k);
        return NULL;
    }
    k->late = timer_new(l, too_late, k);
    timer_set(k->late, wait_us);
    return k;
}
