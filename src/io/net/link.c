#include "io/net/link.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/rng.h"
#include "io/clock.h"
#include "io/net/unix_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RETRY_FIRST_US 50000
#define RETRY_MOST_US  (2 * USEC_PER_SEC)

struct link {
    struct loop *loop;
    char *path;
    const struct link_ops *ops;
    void *ctx;
    struct conn *conn; /* NULL while down */
    struct timer *retry;
    int64_t wait_us;
    int64_t up_us;   /* since when it is connected, by the monotonic clock */
    int64_t rest_us; /* the next attempt comes no sooner than after so long */
    bool told_down;
    struct rng rng;
};

static void link_retry(struct link *k)
{
    int64_t wait_us = k->wait_us > k->rest_us ? k->wait_us : k->rest_us;
    k->rest_us = 0;
    timer_set(k->retry, wait_us / 2 + rng_range(&k->rng, 0, wait_us / 2));
    k->wait_us = k->wait_us * 2 < RETRY_MOST_US ? k->wait_us * 2 : RETRY_MOST_US;
}

static void link_failed(struct link *k, const struct err *why)
{
    link_retry(k);
    if (k->told_down)
        return;
    k->told_down = true;
    k->ops->down(k->ctx, k, why);
}

static void link_frame(void *ctx, struct conn *c, const struct frame *f)
{
    struct link *k = ctx;
    if (!k || k->conn != c)
        return;
    k->ops->frame(k->ctx, k, f);
}

/* ctx is NULL when the link was freed or has let go of this connection. */
static void link_closed(void *ctx, struct conn *c, const struct err *why)
{
    struct link *k = ctx;
    if (!k || k->conn != c)
        return;
    struct err end = *why;
    if (end.code == ERR_NONE)
        err_set(&end, ERR_UNAVAILABLE, "%s closed the connection", k->path);
    /* One that accepts, says why not, and closes, is not asked faster and faster. */
    if (clock_monotonic_us() - k->up_us >= RETRY_MOST_US)
        k->wait_us = RETRY_FIRST_US;
    k->conn = NULL;
    link_failed(k, &end);
}

static const struct conn_ops link_conn_ops = {.frame = link_frame, .closed = link_closed};

static void link_try(void *ctx)
{
    struct link *k = ctx;
    struct err why = {0};
    int fd = unix_socket_connect(k->path, true);
    if (fd < 0)
        err_set(&why, ERR_UNAVAILABLE, "cannot connect to %s: %s", k->path, strerror(errno));
    else
        k->conn = conn_new(k->loop, fd, &link_conn_ops, k, &why);
    if (!k->conn) {
        link_failed(k, &why);
        return;
    }
    k->told_down = false;
    k->up_us = clock_monotonic_us();
    k->ops->up(k->ctx, k);
}

struct link *link_new(struct loop *l, const char *path, const struct link_ops *ops, void *ctx)
{
    struct link *k = xcalloc(1, sizeof *k);
    *k = (struct link){.loop = l, .ops = ops, .ctx = ctx, .wait_us = RETRY_FIRST_US};
    k->path = xstrdup(path);
    k->rng.state = (uint64_t)clock_now_us() ^ (uint64_t)getpid() << 32;
    k->retry = timer_new(l, link_try, k);
    timer_set(k->retry, 0);
    return k;
}

static void link_drop(struct link *k)
{
    if (!k->conn)
        return;
    conn_set_ctx(k->conn, NULL);
    conn_close(k->conn);
    k->conn = NULL;
}

void link_free(struct link *k)
{
    if (!k)
        return;
    link_drop(k);
    timer_free(k->retry);
    free(k->path);
    free(k);
}

bool link_is_up(const struct link *k)
{
    return k->conn && !conn_is_closing(k->conn);
}

void link_send(struct link *k, const struct message *m)
{
    if (k->conn)
        conn_send_message(k->conn, m);
}

size_t link_unsent(const struct link *k)
{
    return k->conn ? conn_unsent(k->conn) : 0;
}

void link_rest(struct link *k, int64_t us)
{
    ASSERT(us >= 0);
    k->rest_us = us;
}

void link_reset(struct link *k)
{
    link_drop(k);
    timer_set(k->retry, 0);
}
