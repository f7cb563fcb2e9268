/* Timers. Those of a duration are libuv's (monotonic, milliseconds). Those of a time of day are a
 * timerfd on the wall clock, which follows when the clock is set or the machine was asleep;
 * TFD_TIMER_CANCEL_ON_SET makes a jump wake us, and we set it again. Where no descriptor can be had
 * for it the wall clock is looked at twice a second, until one can. */
#include "base/alloc.h"
#include "base/duration.h"
#include "io/clock.h"
#include "io/loop_uv.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LOOK_US INT64_C(500000)

struct timer {
    uv_timer_t handle;
    struct loop *loop;
    loop_fn fn;
    void *ctx;
    int wall_fd; /* -1 until timer_set_at is used */
    uv_poll_t wall;
    int64_t at_us;     /* INT64_MAX = not set */
    struct later soon; /* in the next round */
    unsigned closing;
};

static void relative_fired(uv_timer_t *handle)
{
    struct timer *t = handle->data;
    t->fn(t->ctx);
}

struct timer *timer_new(struct loop *l, loop_fn fn, void *ctx)
{
    struct timer *t = xcalloc(1, sizeof *t);
    *t = (struct timer){.loop = l, .fn = fn, .ctx = ctx, .wall_fd = -1, .at_us = INT64_MAX};
    uv_timer_init(loop_uv(l), &t->handle);
    t->handle.data = t;
    return t;
}

static void timer_closed(uv_handle_t *handle)
{
    struct timer *t = handle->data;
    if (--t->closing == 0)
        free(t);
}

void timer_free(struct timer *t)
{
    if (!t)
        return;
    loop_later_cancel(t->loop, &t->soon);
    t->closing = 1;
    uv_close((uv_handle_t *)&t->handle, timer_closed);
    if (t->wall_fd < 0)
        return;
    t->closing++;
    uv_poll_stop(&t->wall);
    close(t->wall_fd);
    uv_close((uv_handle_t *)&t->wall, timer_closed);
}

/* A timer of libuv's that is set to nothing by what it calls is due at once, before anybody else is
 * heard. */
void timer_set(struct timer *t, int64_t after_us)
{
    timer_stop(t);
    if (after_us <= 0) {
        loop_later(t->loop, &t->soon, t->fn, t->ctx);
        return;
    }
    uv_update_time(loop_uv(t->loop));
    uv_timer_start(&t->handle, relative_fired, (uint64_t)(after_us / 1000 + (after_us % 1000 != 0)),
                   0);
}

static void wall_arm(const struct timer *t)
{
    int64_t at = t->at_us > 0 ? t->at_us : 1; /* all zero would disarm it */
    struct itimerspec when = {
        .it_value = {.tv_sec = at / USEC_PER_SEC, .tv_nsec = at % USEC_PER_SEC * 1000}};
    CHECK(timerfd_settime(t->wall_fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, NULL) ==
              0 ||
          errno == ECANCELED);
}

static void wall_fired(uv_poll_t *handle, int status, int events)
{
    (void)status, (void)events;
    struct timer *t = handle->data;
    uint64_t count;
    if (read(t->wall_fd, &count, sizeof count) < 0 && errno == EAGAIN)
        return;
    if (t->at_us == INT64_MAX)
        return;
    if (t->at_us > clock_now_us()) {
        wall_arm(t);
        return;
    }
    t->at_us = INT64_MAX;
    t->fn(t->ctx);
}

static bool wall_open(struct timer *t)
{
    int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (fd < 0)
        return false;
    if (uv_poll_init(loop_uv(t->loop), &t->wall, fd) != 0) {
        close(fd);
        return false;
    }
    t->wall_fd = fd;
    t->wall.data = t;
    uv_poll_start(&t->wall, UV_READABLE, wall_fired);
    return true;
}

static void wall_wait(struct timer *t);

static void looked(uv_timer_t *handle)
{
    struct timer *t = handle->data;
    if (t->at_us > clock_now_us()) {
        wall_wait(t);
        return;
    }
    t->at_us = INT64_MAX;
    t->fn(t->ctx);
}

static void wall_wait(struct timer *t)
{
    if (t->wall_fd >= 0 || wall_open(t)) {
        wall_arm(t);
        return;
    }
    int64_t left_us = t->at_us - clock_now_us();
    if (left_us > LOOK_US)
        left_us = LOOK_US;
    uv_timer_start(&t->handle, looked, left_us > 1000 ? (uint64_t)left_us / 1000 : 1, 0);
}

void timer_set_at(struct timer *t, int64_t at_us)
{
    if (at_us == t->at_us)
        return;
    timer_stop(t);
    if (at_us == INT64_MAX)
        return;
    t->at_us = at_us;
    wall_wait(t);
}

void timer_stop(struct timer *t)
{
    uv_timer_stop(&t->handle);
    loop_later_cancel(t->loop, &t->soon);
    if (t->at_us == INT64_MAX)
        return;
    struct itimerspec never = {0};
    if (t->wall_fd >= 0)
        timerfd_settime(t->wall_fd, 0, &never, NULL);
    t->at_us = INT64_MAX;
}
