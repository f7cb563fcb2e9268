/* The loop: timers, posts, signals, turns, processes, workers. */
#include "io_help.h"

#include "io/work.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void timers_fire_once_and_in_order(void **state)
{
    struct world *w = *state;
    int64_t start = clock_monotonic_us();
    struct timer *t = timer_new(w->loop, world_stop, w);
    timer_set(t, 20000);
    loop_run(w->loop);
    assert_in_range(clock_monotonic_us() - start, 19000,
                    5 * USEC_PER_SEC); /* libuv counts whole milliseconds */
    timer_set_at(t, clock_now_us() + 15000);
    start = clock_now_us();
    loop_run(w->loop);
    assert_in_range(clock_now_us() - start, 14000, 5 * USEC_PER_SEC);
    timer_set_at(t, 1); /* long ago */
    loop_run(w->loop);
    timer_free(t);
}

static void count_call(void *ctx)
{
    ((struct world *)ctx)->calls++;
}

static void a_stopped_timer_is_silent(void **state)
{
    struct world *w = *state;
    struct timer *never = timer_new(w->loop, count_call, w),
                 *wall = timer_new(w->loop, count_call, w);
    struct timer *end = timer_new(w->loop, world_stop, w);
    timer_set(never, 1000);
    timer_stop(never);
    timer_set_at(wall, clock_now_us() + 1000);
    timer_set_at(wall, INT64_MAX);
    timer_set(end, 20000);
    loop_run(w->loop);
    assert_int_equal(w->calls, 0);
    timer_free(never);
    timer_free(wall);
    timer_free(end);
}

struct again {
    struct world *world;
    struct timer *timer;
    int pipe[2];
    int left;
};

static void set_again(void *ctx)
{
    struct again *a = ctx;
    if (a->left-- > 0)
        timer_set(a->timer, 0);
}

static void heard(void *ctx)
{
    loop_stop(((struct again *)ctx)->world->loop);
}

/* Work that is done a piece a round: what comes in is heard between two pieces. */
static void a_timer_set_to_nothing_waits_for_the_next_round(void **state)
{
    struct again a = {.world = *state, .left = 1000};
    assert_return_code(pipe(a.pipe), errno);
    a.timer = timer_new(a.world->loop, set_again, &a);
    struct fd_watch *watch = fd_watch_new(a.world->loop, a.pipe[0], heard, &a, NULL);
    assert_int_equal(write(a.pipe[1], "x", 1), 1);
    timer_set(a.timer, 1000); /* from here on it is the timer's own doing */
    usleep(3000);
    loop_run(a.world->loop);
    assert_in_range(a.left, 990, 1000);
    fd_watch_free(watch);
    timer_free(a.timer);
    close(a.pipe[0]);
    close(a.pipe[1]);
}

/* ---- posts
 * -------------------------------------------------------------------------------- */

#define POSTS 1000

struct posting {
    struct world *world;
    int next; /* the number expected */
};

struct posted {
    struct posting *all;
    int number;
};

static void post_came(void *ctx)
{
    struct posted *p = ctx;
    assert_int_equal(p->number, p->all->next++);
    if (p->number == POSTS - 1)
        loop_stop(p->all->world->loop);
    free(p);
}

static void *poster(void *ctx)
{
    struct posting *all = ctx;
    for (int i = 0; i < POSTS; i++) {
        struct posted *p = xmalloc(sizeof *p);
        *p = (struct posted){.all = all, .number = i};
        loop_post(all->world->loop, post_came, p);
    }
    return NULL;
}

static void posts_of_a_thread_come_in_order(void **state)
{
    struct posting all = {.world = *state};
    pthread_t thread;
    pthread_create(&thread, NULL, poster, &all);
    loop_run(all.world->loop);
    pthread_join(thread, NULL);
    assert_int_equal(all.next, POSTS);
}

/* ---- turns
 * -------------------------------------------------------------------------------- */

static void the_turn_runs_after_inputs_and_an_idle_loop_sleeps(void **state)
{
    struct world *w = *state;
    struct timer *end = timer_new(w->loop, world_stop, w);
    struct rusage before, after;
    loop_on_turn(w->loop, count_call, w);
    timer_set(end, 300000);
    getrusage(RUSAGE_THREAD, &before);
    loop_run(w->loop);
    getrusage(RUSAGE_THREAD, &after);
    assert_in_range(w->calls, 1, 5);
    assert_in_range(after.ru_nvcsw - before.ru_nvcsw, 0, 5);
    loop_on_turn(w->loop, NULL, NULL);
    timer_free(end);
}

static void signals_come_on_the_loop(void **state)
{
    struct world *w = *state;
    assert_true(loop_on_signal(w->loop, SIGUSR1, world_stop, w, NULL));
    raise(SIGUSR1);
    loop_run(w->loop);
}

/* ---- processes
 * ---------------------------------------------------------------------------- */

struct end {
    struct world *world;
    int status;
    int64_t cpu_us;
};

/* Works until so much of the thread's processor time is gone. */
static void burn(int64_t us)
{
    for (int64_t until = clock_thread_ns() + us * 1000; clock_thread_ns() < until;) {
    }
}

static void process_ended(void *ctx, int status, int64_t cpu_us)
{
    struct end *e = ctx;
    e->status = status;
    e->cpu_us = cpu_us;
    loop_stop(e->world->loop);
}

static void a_child_is_watched_and_reaped(void **state)
{
    struct end e = {.world = *state};
    pid_t child = fork();
    if (child == 0) {
        usleep(20000);
        _exit(7);
    }
    assert_non_null(pid_watch_new(e.world->loop, child, process_ended, &e, NULL));
    loop_run(e.world->loop);
    assert_true(WIFEXITED(e.status));
    assert_int_equal(WEXITSTATUS(e.status), 7);
    assert_int_equal(waitpid(child, NULL, WNOHANG), -1);
}

static void what_a_child_used_is_told(void **state)
{
    struct end e = {.world = *state};
    pid_t child = fork();
    if (child == 0) {
        burn(30000);
        _exit(0);
    }
    assert_non_null(pid_watch_new(e.world->loop, child, process_ended, &e, NULL));
    loop_run(e.world->loop);
    assert_true(e.cpu_us >= 29000);
}

static void burn_and_stop(void *ctx)
{
    burn(3000);
    world_stop(ctx);
}

/* By processor time: a round takes no longer because the machine is busy with other things. */
static void rounds_are_counted_by_their_length(void **state)
{
    struct world *w = *state;
    struct timer *t = timer_new(w->loop, burn_and_stop, w);
    uint64_t all = 0, long_ones = 0;
    timer_set(t, 5000);
    loop_run(w->loop);
    timer_set(t, 0); /* the next round ends the one before */
    loop_run(w->loop);
    struct loop_rounds r = loop_rounds(w->loop);
    for (size_t i = 0; i < LOOP_LENGTHS; i++) {
        all += r.of[i];
        long_ones += i > 0 && loop_length_us[i - 1] >= 2000 ? r.of[i] : 0;
    }
    assert_int_equal(all, r.n);
    assert_true(long_ones >= 1);
    loop_rounds_reset(w->loop);
    assert_int_equal(loop_rounds(w->loop).n, 0);
    timer_free(t);
}

struct served {
    struct world *world;
    struct timer *timer;
    int64_t us; /* by the clock that is tried */
};

static void burn_in_rounds(void *ctx)
{
    struct served *s = ctx;
    int64_t before = loop_served_us(s->world->loop);
    burn(5000);
    int64_t after = loop_served_us(s->world->loop);
    assert_in_range(after - before, 4990, 5 * 5000);
    s->us += 5000;
    timer_set(s->timer, 0);
    if (s->us >= 200000)
        loop_stop(s->world->loop);
}

/* Four programs and the loop have one processor: what the loop does not get is not counted. */
static void time_that_the_loop_did_not_get_is_not_served(void **state)
{
    struct world *w = *state;
    struct served s = {.world = w};
    cpu_set_t had, one;
    pid_t others[4];
    CPU_ZERO(&one);
    assert_int_equal(sched_getaffinity(0, sizeof had, &had), 0);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &had))
            CPU_SET(i, &one);
    if (access("/proc/thread-self/schedstat", R_OK) != 0)
        skip();
    sched_setaffinity(0, sizeof one, &one);
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if ((others[i] = fork()) == 0)
            for (;;) {
            }
    s.timer = timer_new(w->loop, burn_in_rounds, &s);
    timer_set(s.timer, 0);
    int64_t began = clock_monotonic_us(), served = loop_served_us(w->loop);
    loop_run(w->loop);
    int64_t took = clock_monotonic_us() - began;
    served = loop_served_us(w->loop) - served;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        kill(others[i], SIGKILL);
        waitpid(others[i], NULL, 0);
    }
    sched_setaffinity(0, sizeof had, &had);
    timer_free(s.timer);
    assert_in_range(served, s.us, s.us * 3 / 2);
    assert_true(took > 2 * served);
}

/* Asleep it could have been used. */
static void time_asleep_is_served(void **state)
{
    struct world *w = *state;
    struct timer *t = timer_new(w->loop, world_stop, w);
    int64_t served = loop_served_us(w->loop), before = served;
    timer_set(t, 30000);
    loop_run(w->loop);
    assert_true(loop_served_us(w->loop) - served >= 29000);
    for (int i = 0; i < 1000; i++, before = served) {
        served = loop_served_us(w->loop);
        assert_true(served >= before);
    }
    timer_free(t);
}

/* The kernel is asked once a round, which costs a read: until the next only the loop's own processor
 * counts. */
static void within_a_round_the_kernel_is_not_asked_again(void **state)
{
    struct world *w = *state;
    struct timer *t = timer_new(w->loop, world_stop, w);
    timer_set(t, 0);
    loop_run(w->loop);
    int64_t served = loop_served_us(w->loop);
    nanosleep(&(struct timespec){.tv_nsec = 60000000}, NULL);
    assert_in_range(loop_served_us(w->loop) - served, 0, 30000);
    timer_set(t, 0);
    loop_run(w->loop);
    assert_true(loop_served_us(w->loop) - served >= 59000);
    timer_free(t);
}

static void threads_allow(rlim_t most)
{
    struct rlimit r;
    assert_int_equal(getrlimit(RLIMIT_NPROC, &r), 0);
    r.rlim_cur = most < r.rlim_max ? most : r.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NPROC, &r), 0);
}

static void times_count(void *ctx)
{
    ++*(int *)ctx;
}

/* In a child, as nobody, whom limits bind: no thread may be made, then one may. */
static int works_without_threads(void)
{
    int run = 0, done = 0;
    struct world own = {.loop = loop_new(NULL)}, *w = &own; /* no loop goes over a fork */
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
        return 77;
    struct timer *end = timer_new(w->loop, world_stop, w);
    threads_allow(0);
    struct worker *one = worker_new(w->loop, "one"), *never = worker_new(w->loop, "never");
    worker_add(one, times_count, times_count, &run);
    worker_add(one, times_count, times_count, &done);
    worker_add(never, times_count, times_count, &done);
    worker_free(never); /* what it was given is done all the same */
    timer_set(end, 50000);
    loop_run(w->loop);
    if (run != 0 || done != 2)
        return 1;
    threads_allow(RLIM_INFINITY);
    for (int i = 0; i < 200 && done < 4; i++) {
        timer_set(end, 50000);
        loop_run(w->loop);
    }
    worker_free(one);
    return run == 2 && done == 4 ? 0 : 2;
}

/* A machine that has no process left ended the daemon, with all that it knew. */
static void works_wait_for_a_thread(void **state)
{
    int status;
    (void)state;
    pid_t child = fork();
    if (child == 0)
        _exit(works_without_threads());
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void a_process_that_is_gone_already_is_told(void **state)
{
    struct end e = {.world = *state};
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    assert_non_null(pid_watch_new(e.world->loop, child, process_ended, &e, NULL));
    loop_run(e.world->loop);
    assert_int_equal(e.status, -1);
}

static void a_watch_can_be_taken_back(void **state)
{
    struct end e = {.world = *state, .status = 99};
    struct timer *end = timer_new(e.world->loop, world_stop, e.world);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    struct pid_watch *watch = pid_watch_new(e.world->loop, child, process_ended, &e, NULL);
    pid_watch_free(watch);
    timer_set(end, 20000);
    loop_run(e.world->loop);
    assert_int_equal(e.status, 99);
    waitpid(child, NULL, 0);
    timer_free(end);
}

/* ---- work
 * --------------------------------------------------------------------------------- */

#define WORKS 500

struct works {
    struct world *world;
    int ran, done;
};

static void work_run(void *ctx)
{
    ((struct works *)ctx)->ran++; /* one thread only: no race */
}

static void work_done(void *ctx)
{
    struct works *all = ctx;
    all->done++;
    if (all->done == WORKS)
        loop_stop(all->world->loop);
}

static void a_worker_runs_everything_once(void **state)
{
    struct works all = {.world = *state};
    struct worker *worker = worker_new(all.world->loop, "test");
    for (int i = 0; i < WORKS; i++)
        worker_add(worker, work_run, work_done, &all);
    loop_run(all.world->loop);
    worker_free(worker);
    assert_int_equal(all.ran, WORKS);
    assert_int_equal(all.done, WORKS);
}

static void a_freed_worker_has_done_everything(void **state)
{
    struct works all = {.world = *state};
    struct worker *worker = worker_new(all.world->loop, "test");
    for (int i = 0; i < 100; i++)
        worker_add(worker, work_run, work_done, &all);
    worker_free(worker);
    assert_int_equal(all.done, 100);
}

static void pool_done(void *ctx)
{
    struct works *all = ctx;
    all->done++;
    loop_stop(all->world->loop);
}

static void the_pool_runs_work(void **state)
{
    struct works all = {.world = *state};
    work_start(all.world->loop, work_run, pool_done, &all);
    loop_run(all.world->loop);
    assert_int_equal(all.ran, 1);
    assert_int_equal(all.done, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(timers_fire_once_and_in_order),
        TEST(a_stopped_timer_is_silent),
        TEST(a_timer_set_to_nothing_waits_for_the_next_round),
        TEST(posts_of_a_thread_come_in_order),
        TEST(the_turn_runs_after_inputs_and_an_idle_loop_sleeps),
        TEST(signals_come_on_the_loop),
        TEST(a_child_is_watched_and_reaped),
        TEST(what_a_child_used_is_told),
        TEST(rounds_are_counted_by_their_length),
        TEST(time_that_the_loop_did_not_get_is_not_served),
        TEST(time_asleep_is_served),
        TEST(within_a_round_the_kernel_is_not_asked_again),
        TEST(works_wait_for_a_thread),
        TEST(a_process_that_is_gone_already_is_told),
        TEST(a_watch_can_be_taken_back),
        TEST(a_worker_runs_everything_once),
        TEST(a_freed_worker_has_done_everything),
        TEST(the_pool_runs_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
