/* What is killed of a step whose shepherd is gone: all that says that it is of the step, nobody
 * else's, and within the daemon's time, whatever its owner's processes do. */
#include "unit.h"

#include "base/str.h"
#include "node/daemon/clear.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY  65534
#define OTHER   65533
#define WAIT_MS 10000

static char tag[64];
static struct clear_pace pace;
static struct log *said;
static pid_t begun[8];
static size_t nbegun;

static int setup(void **state)
{
    (void)state;
    snprintf(tag, sizeof tag, "REMUDA_STEP_DIR=/clear-test/steps/%d.1.0", (int)getpid());
    pace = (struct clear_pace){0};
    nbegun = 0;
    said = log_open(NULL, LOG_IS_ERROR, NULL);
    assert_non_null(said);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    log_close(said);
    for (size_t i = 0; i < nbegun; i++) {
        kill(begun[i], SIGKILL);
        waitpid(begun[i], NULL, 0);
    }
    return 0;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A process of that user that has the assignment in its environment, and has begun its program. */
static pid_t process(uid_t uid, const char *assignment, const char *script)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char *env[] = {(char *)"PATH=/usr/bin:/bin", (char *)assignment, NULL};
        dup2(ends[1], 3);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresuid(uid, uid, uid) != 0))
            _exit(1);
        execle("/bin/sh", "sh", "-c", script, (char *)NULL, env);
        _exit(127);
    }
    begun[nbegun++] = pid;
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return pid;
}

static uid_t owner(void)
{
    return geteuid() == 0 ? NOBODY : geteuid();
}

static bool ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

static int clear(void)
{
    return clear_step(&pace, said, "7.1.0", "", "7.1.0", tag, (int64_t)owner() + 1);
}

#define STAYS "echo >&3; exec 3>&-; exec sleep 1000"

static void test_who_says_that_he_is_of_the_step_is_killed(void **state)
{
    (void)state;
    pid_t its = process(owner(), tag, STAYS), other = process(owner(), "REMUDA_STEP_DIR=/", STAYS);
    assert_int_equal(clear(), 0);
    assert_true(ended(its));
    assert_false(ended(other));
}

/* Nobody else's memory is read for it. */
static void test_another_users_processes_are_not_looked_at(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    pid_t others = process(OTHER, tag, STAYS);
    assert_int_equal(clear(), 0);
    assert_false(ended(others));
    pace = (struct clear_pace){0};
    assert_int_equal(clear_step(&pace, said, "7.1.0", "", "7.1.0", tag, 0), 0);
    assert_true(ended(others));
}

/* Another job of the owner's bears them for as long as they are looked for: the daemon waits a
 * second once, and next to nothing for the next; what it left is killed all the same. */
static void test_who_bears_more_does_not_keep_the_daemon(void **state)
{
    char script[512];
    (void)state;
    snprintf(script, sizeof script,
             "%s sleep 100 3>&- & echo >&3; exec 3>&-\n"
             "while :; do %s sleep 100 & sleep 0.001; done",
             tag, tag);
    pid_t bears = process(owner(), "NOT=its", script);
    int64_t began = now_ms();
    (void)clear(); /* on a busy machine it may find a moment without any */
    assert_true(now_ms() - began < 1500);
    pace.rest_until_ms = now_ms() + WAIT_MS;
    began = now_ms();
    (void)clear();
    assert_true(now_ms() - began < 400);
    kill(bears, SIGKILL);
    int64_t end = now_ms() + WAIT_MS;
    snprintf(script, sizeof script,
             "grep -zlxF '%s' /proc/[0-9]*/environ 2>/dev/null | grep -qv /proc/$$/", tag);
    while (system(script) == 0 && now_ms() < end)
        usleep(50000);
    assert_true(now_ms() < end);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_says_that_he_is_of_the_step_is_killed),
        TEST(another_users_processes_are_not_looked_at),
        TEST(who_bears_more_does_not_keep_the_daemon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
