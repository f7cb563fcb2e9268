/* The loop where the system has no descriptor left for this process. */
#include "io_help.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#define FEW 64

/* All that may be had are taken, until room_back. */
struct full {
    struct rlimit was;
    int fd[FEW], n;
};

static void room_take(struct full *f)
{
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &f->was), 0);
    assert_int_equal(
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_cur = FEW, .rlim_max = f->was.rlim_max}),
        0);
    for (f->n = 0; f->n < FEW && (f->fd[f->n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;
         f->n++)
        ;
    assert_int_equal(errno, EMFILE);
}

static void room_back(struct full *f)
{
    while (f->n > 0)
        close(f->fd[--f->n]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &f->was), 0);
}

static void count_call(void *ctx)
{
    ((struct world *)ctx)->calls++;
}

static void a_time_of_day_comes_all_the_same(void **state)
{
    struct world *w = *state;
    struct full full;
    struct timer *t = timer_new(w->loop, world_stop, w),
                 *long_ago = timer_new(w->loop, count_call, w),
                 *stopped = timer_new(w->loop, count_call, w);
    room_take(&full);
    int64_t at = clock_now_us() + 30000;
    timer_set_at(stopped, at - 20000);
    timer_set_at(long_ago, 1);
    timer_set_at(t, at);
    assert_int_equal(w->calls, 0); /* never from inside */
    timer_stop(stopped);
    loop_run(w->loop);
    assert_true(clock_now_us() >= at);
    assert_int_equal(w->calls, 1);
    room_back(&full);
    timer_free(t);
    timer_free(long_ago);
    timer_free(stopped);
}

static int wall_timers_open(void)
{
    int n = 0;
    for (int fd = 0; fd < FEW; fd++) {
        char name[32], what[32] = "";
        snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        n += readlink(name, what, sizeof what - 1) > 0 && strstr(what, "timerfd");
    }
    return n;
}

static void room_again(void *ctx)
{
    room_back(ctx);
}

/* The clock is not looked at for ever. */
static void and_has_its_descriptor_once_there_is_one(void **state)
{
    struct world *w = *state;
    struct full full;
    struct timer *t = timer_new(w->loop, world_stop, w),
                 *room = timer_new(w->loop, room_again, &full),
                 *end = timer_new(w->loop, world_stop, w);
    int before = wall_timers_open();
    room_take(&full);
    timer_set_at(t, clock_now_us() + 3600 * USEC_PER_SEC);
    timer_set(room, 10000);
    timer_set(end, 700000); /* after its next look */
    loop_run(w->loop);
    assert_int_equal(wall_timers_open(), before + 1);
    room_take(&full); /* it needs none more */
    timer_set_at(t, clock_now_us() + 20000);
    loop_run(w->loop);
    room_back(&full);
    timer_free(t);
    timer_free(room);
    timer_free(end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_time_of_day_comes_all_the_same),
        TEST(and_has_its_descriptor_once_there_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
