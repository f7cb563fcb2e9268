/* Copies of the process that work something out. */
#include "io_help.h"

#include "io/process/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

struct asked {
    struct world *world;
    void (*work)(struct str *out);
    int value; /* of the process; the copy changes its own */
    bool answered;
    int64_t cpu_us;
    struct str answer;
};

static void work(void *ctx, struct str *out)
{
    struct asked *a = ctx;
    a->value++;
    a->work(out);
}

static void done(void *ctx, const struct str *answer, int64_t cpu_us)
{
    struct asked *a = ctx;
    a->cpu_us = cpu_us;
    a->answered = answer != NULL;
    if (answer)
        str_addn(&a->answer, answer->data, answer->len);
    loop_stop(a->world->loop);
}

static struct asked ask(struct world *w, void (*what)(struct str *out), size_t most)
{
    struct asked a = {.world = w, .work = what, .value = 7};
    assert_non_null(aside_start(w->loop, work, done, &a, most, NULL));
    loop_run(w->loop);
    assert_int_equal(a.value, 7);
    return a;
}

static void much(struct str *out)
{
    for (int i = 0; i < 1000000; i++)
        str_addf(out, "%06d", i);
}

static void an_answer_of_any_length_comes_back(void **state)
{
    struct asked a = ask(*state, much, 16u << 20);
    assert_true(a.answered);
    assert_int_equal(a.answer.len, 6000000);
    assert_memory_equal(a.answer.data + 6 * 123456, "123456", 6);
    str_done(&a.answer);
}

static void work_for_a_while(struct str *out)
{
    for (int64_t until = clock_thread_ns() + 30000000; clock_thread_ns() < until;) {
    }
    str_addf(out, "policy %d, nice %d", sched_getscheduler(0), getpriority(PRIO_PROCESS, 0));
}

/* So that it can be charged to whoever asked; and it is less urgent than the process. */
static void what_a_copy_took_is_told(void **state)
{
    struct asked a = ask(*state, work_for_a_while, 100);
    assert_true(a.answered);
    assert_true(a.cpu_us >= 29000);
    if (sched_getscheduler(0) == SCHED_OTHER && getpriority(PRIO_PROCESS, 0) <= 5)
        assert_string_equal(str_text(&a.answer), "policy 3, nice 5");
    str_done(&a.answer);
}

static void too_much_is_no_answer(void **state)
{
    struct asked a = ask(*state, much, 1u << 20);
    assert_false(a.answered);
}

static void dies(struct str *out)
{
    str_add(out, "half of it");
    raise(SIGKILL);
}

static void a_copy_that_dies_has_no_answer(void **state)
{
    struct asked a = ask(*state, dies, 100);
    assert_false(a.answered);
}

/* What could be done with what it was given: nothing. */
static void look_round(struct str *out)
{
    struct rlimit core;
    int open = 0;
    for (int fd = 3; fd < 1000; fd++)
        open += fcntl(fd, F_GETFD) >= 0;
    getrlimit(RLIMIT_CORE, &core);
    char *argv[] = {"/bin/true", NULL};
    int rc = execve(argv[0], argv, argv + 1);
    str_addf(out, "%d open, dumpable %d, core %d, privileges %d, exec %s", open,
             prctl(PR_GET_DUMPABLE), (int)core.rlim_cur, !prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
             rc < 0 ? "denied" : "done");
}

static void a_copy_has_nothing_but_its_way_out(void **state)
{
    int fd[2];
    assert_return_code(pipe(fd), errno); /* anything that is open, and stays so in a child */
    struct asked a = ask(*state, look_round, 1000);
    assert_true(a.answered);
    assert_string_equal(str_text(&a.answer),
                        "1 open, dumpable 0, core 0, privileges 0, exec denied");
    str_done(&a.answer);
    close(fd[0]);
    close(fd[1]);
}

/* More memory than it may have; less, where it has been told to. */
static void takes_memory(struct str *out)
{
    struct rlimit now;
    size_t n = 0;
    if (getrlimit(RLIMIT_DATA, &now) != 0 || now.rlim_max == RLIM_INFINITY)
        str_add(out, "no bound");
    /* Asked for and not written to: the test needs no memory for it. */
    for (void *p = out; p && n < 64; n++) {
        p = mmap(NULL, 64u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            break;
    }
    str_addf(out, "%s", n < 64 ? "refused" : "all of it");
}

static void a_copy_takes_no_more_memory_than_it_may(void **state)
{
    struct asked a = ask(*state, takes_memory, 100);
    assert_true(a.answered);
    assert_string_equal(str_text(&a.answer), "refused");
    str_done(&a.answer);
}

static void for_ever(struct str *out)
{
    (void)out;
    for (;;)
        pause();
}

static void a_copy_that_is_given_up_is_gone(void **state)
{
    struct world *w = *state;
    struct asked a = {.world = w, .work = for_ever};
    struct aside *copy = aside_start(w->loop, work, done, &a, 100, NULL);
    assert_non_null(copy);
    aside_free(copy);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_answer_of_any_length_comes_back),
        TEST(what_a_copy_took_is_told),
        TEST(too_much_is_no_answer),
        TEST(a_copy_that_dies_has_no_answer),
        TEST(a_copy_has_nothing_but_its_way_out),
        TEST(a_copy_takes_no_more_memory_than_it_may),
        TEST(a_copy_that_is_given_up_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
