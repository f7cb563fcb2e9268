/* Steps one after another in one shepherd: when they are, and that nothing of the one is the
 * other's. */
#include "unit.h"

#include "shepherd_world.h"

#include "base/str.h"
#include "node/shepherd/again.h"
#include "node/step/dir.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534

static struct herd_world world;

static int setup(void **state)
{
    (void)state;
    world_begin(&world);
    chmod(world.dir, 0777);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_end(&world);
    return 0;
}

static void nap_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static char process_state(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    const char *end = strrchr(world_file(path), ')');
    return (char)(end ? end[2] : '?');
}

/* One whose parent does not ask after it has ended all the same. */
static bool is_there(pid_t pid)
{
    return !strchr("?ZX", process_state(pid));
}

static void gone_wait(pid_t pid)
{
    for (int i = 0; i < 1000 && is_there(pid); i++)
        nap_ms(10);
    assert_false(is_there(pid));
}

/* Until it waits in the kernel for more than what it does between two calls. */
static void rest_wait(pid_t pid)
{
    int still = 0;
    for (int i = 0; i < 1000 && still < 5; i++) {
        still = process_state(pid) == 'S' ? still + 1 : 0;
        nap_ms(10);
    }
}

/* Its shepherd, which waits for another. */
static pid_t step_run(struct step_plan *p)
{
    world_send(&world, p);
    struct note n = world_wait(&world, NOTE_EXITED);
    assert_int_equal(n.job_id, p->job_id);
    rest_wait((pid_t)n.pid);
    return (pid_t)n.pid;
}

static pid_t script_run(int64_t id, const char *script)
{
    struct step_plan p = world_plan(&world, id, script);
    return step_run(&p);
}

static void test_short_steps_follow_each_other_in_one_shepherd(void **state)
{
    (void)state;
    pid_t first = script_run(1, "echo one; exit 3");
    struct step_plan p = world_plan(&world, 2, "echo two; readlink /proc/$PPID/fd/*");
    world_send(&world, &p);
    struct note started = world_wait(&world, NOTE_STARTED), ended = world_wait(&world, NOTE_EXITED);
    assert_int_equal(started.job_id, 2);
    assert_int_equal(started.pid, first);
    assert_int_equal(ended.job_id, 2);
    assert_int_equal(ended.status, 0);
    assert_true(strncmp(world_output(&world), "two\n", 4) == 0);
    /* Of the former step nothing is open, and its lock is given back. */
    assert_null(strstr(world_output(&world), "/1.1.batch"));
    assert_int_equal(step_dir_shepherd(world.steps, "1.1.batch"), 0);
    rest_wait(first);
    assert_int_equal(script_run(3, "true"), first);
}

static void test_each_uses_its_own(void **state)
{
    (void)state;
    struct step_plan p = world_plan(
        &world, 1, "python3 -c 'x = bytearray(120 << 20)\nfor i in range(300000): pass'");
    p.sample_us = 0;
    world_send(&world, &p);
    struct note first = world_wait(&world, NOTE_EXITED);
    rest_wait((pid_t)first.pid);
    p = world_plan(&world, 2, "true");
    p.sample_us = 0;
    world_send(&world, &p);
    struct note second = world_wait(&world, NOTE_EXITED);
    assert_int_equal(first.pid, second.pid);
    assert_true(first.max_rss_bytes > (120 << 20));
    assert_true(second.max_rss_bytes < (60 << 20));
    assert_true(second.cpu_user_us + second.cpu_system_us <
                first.cpu_user_us + first.cpu_system_us);
}

static void test_another_users_has_another(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    pid_t first = script_run(1, "true");
    struct step_plan p = world_plan(&world, 2, "true");
    p.switch_user = 1;
    p.uid = p.gid = NOBODY;
    p.std_out = "/dev/null";
    pid_t second = step_run(&p);
    assert_int_not_equal(second, first);
    p.job_id = 3;
    p.dir_name = "3.1.batch";
    assert_int_equal(step_run(&p), second);
}

/* What the former one was told, was killed at or left behind, is its own. */
static void test_who_was_commanded_has_no_other(void **state)
{
    (void)state;
    struct step_plan p = world_plan(&world, 1, "trap 'exit 0' USR1; sleep 300 & wait");
    world_send(&world, &p);
    struct note started = world_wait(&world, NOTE_STARTED);
    nap_ms(300);
    struct step_command c = {.op = COMMAND_KILL, .signal = SIGUSR1};
    world_command(&world, (pid_t)started.pid, &c);
    world_wait(&world, NOTE_EXITED);
    gone_wait((pid_t)started.pid);
    pid_t second = script_run(2, "sleep 300 & exit 0");
    gone_wait(second);
}

/* The daemon found the shepherd while it had the former step. */
static void test_a_command_for_the_former_step_is_not_the_next_ones(void **state)
{
    (void)state;
    pid_t first = script_run(1, "true");
    struct step_plan p = world_plan(&world, 2, "sleep 0.7; echo whole");
    world_send(&world, &p);
    assert_int_equal(world_wait(&world, NOTE_STARTED).pid, first);
    struct step_command c = {.op = COMMAND_TERMINATE, .kill_wait_ms = 1};
    siginfo_t info = {0};
    info.si_signo = COMMAND_SIGNAL;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_errno = step_dir_tag("1.1.batch");
    info.si_value = command_value(&c);
    int fd = (int)syscall(SYS_pidfd_open, first, 0);
    assert_int_equal(syscall(SYS_pidfd_send_signal, fd, COMMAND_SIGNAL, &info, 0), 0);
    close(fd);
    assert_int_equal(world_wait(&world, NOTE_EXITED).status, 0);
    assert_string_equal(world_output(&world), "whole\n");

    c.kill_wait_ms = 0;
    p = world_plan(&world, 3, "sleep 300");
    world_send(&world, &p);
    world_wait(&world, NOTE_STARTED);
    assert_true(step_dir_signal(world.steps, "3.1.batch", command_value(&c)));
    assert_int_equal(WTERMSIG((int)world_wait(&world, NOTE_EXITED).status), SIGKILL);
}

static void test_one_that_was_killed_is_told_of_with_the_step_it_has(void **state)
{
    (void)state;
    pid_t first = script_run(1, "true");
    kill(first, SIGKILL);
    gone_wait(first);
    pid_t second = script_run(2, "true");
    assert_int_not_equal(second, first);
    struct step_plan p = world_plan(&world, 3, "echo $$; exec sleep 300");
    world_send(&world, &p);
    assert_int_equal(world_wait(&world, NOTE_STARTED).pid, second);
    for (int i = 0; i < 1000 && !strchr(world_output(&world), '\n'); i++)
        nap_ms(10);
    pid_t script = atoi(world_output(&world));
    kill(second, SIGKILL);
    assert_int_equal(world_wait(&world, NOTE_GONE).job_id, 3);
    assert_true(script > 1);
    kill(script, SIGKILL);
    gone_wait(script);
}

static void test_they_end_with_their_parent_and_after_a_while(void **state)
{
    (void)state;
    pid_t first = script_run(1, "true");
    gone_wait(first);
    first = script_run(2, "true");
    assert_true(is_there(first));
    world_stop_serving(&world);
    gone_wait(first);
    world_serve(&world);
    assert_int_not_equal(script_run(3, "true"), first);
}

static bool lock_is_free(void)
{
    int fd = openat(world.steps, "../shepherds.lock", O_RDWR | O_CLOEXEC);
    bool is_free = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return is_free;
}

/* Whoever has the lock after the parent believes that no step begins any more. */
static void test_a_plan_on_its_way_holds_the_lock(void **state)
{
    (void)state;
    pid_t first = script_run(1, "true");
    kill(first, SIGSTOP);
    struct step_plan p = world_plan(&world, 2, "true");
    world_send(&world, &p);
    world_stop_serving(&world);
    assert_false(lock_is_free());
    kill(first, SIGCONT);
    assert_int_equal(world_wait(&world, NOTE_EXITED).job_id, 2);
    gone_wait(first);
    assert_true(lock_is_free());
    world_serve(&world);
}

/* Its script and environment are another's than the next one's, though the user is the same. */
static void test_nothing_of_the_former_plan_is_in_its_memory(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    pid_t first = script_run(1, "# the-former-ones-secret-is-4711\ntrue");
    assert_true(is_there(first));
    char path[64], line[512], *room = malloc(1 << 20);
    snprintf(path, sizeof path, "/proc/%d/maps", (int)first);
    FILE *maps = fopen(path, "re");
    snprintf(path, sizeof path, "/proc/%d/mem", (int)first);
    int mem = open(path, O_RDONLY | O_CLOEXEC), seen = 0;
    unsigned long from, to;
    while (maps && mem >= 0 && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx rw", &from, &to) != 2 || to - from > (64ul << 20))
            continue;
        for (unsigned long at = from; at < to; at += 1 << 20) {
            ssize_t n = pread(mem, room, to - at < 1 << 20 ? to - at : 1 << 20, (off_t)at);
            seen += n > 0;
            assert_true(n <= 0 || !memmem(room, (size_t)n, "secret-is-4711", 14));
        }
    }
    assert_true(seen > 0);
    fclose(maps);
    close(mem);
    free(room);
}

/* Keys that a job put into its session's keyring are in nobody's reach after it, though its
 * shepherd is the next one's, too. */
static void test_each_has_a_keyring_of_its_own(void **state)
{
    (void)state;
    static const char ask[] =
        "exec python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(%ld, 0, -3, 0))'";
    char script[128];
    long own = syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);
    if (geteuid() != 0 || own < 0)
        skip();
    snprintf(script, sizeof script, ask, (long)SYS_keyctl);
    pid_t shepherd = script_run(1, script);
    long first = strtol(world_output(&world), NULL, 10);
    assert_int_equal(script_run(2, script), shepherd);
    long second = strtol(world_output(&world), NULL, 10);
    assert_true(first > 0 && second > 0);
    assert_true(first != own && second != own && first != second);
}

/* Whatever was in the parent's memory: it may be the stack's. */
static void test_at_first_there_are_none(void **state)
{
    (void)state;
    struct again a;
    memset(&a, 0xa5, sizeof a);
    again_open(&a);
    assert_int_equal(a.n, 0);
    assert_int_equal(a.nidle, 0);
    again_forget(&a, getpid());
    again_take(&a, false);
    again_close(&a);
}

/* The parent's book of a child: its socket stays open as the child's own end would. */
static int child_begin(struct again *a, const struct step_plan *p, pid_t pid, pid_t ends)
{
    int fd = again_prepare(a, p), its = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    assert_true(its >= 0);
    if (ends) /* while there is no room for the fork */
        again_forget(a, ends);
    again_forked(a, pid, fd);
    return its;
}

static void test_one_that_ends_while_another_is_forked_is_not_taken_for_it(void **state)
{
    (void)state;
    char plan[] = "plan", got[16];
    const struct herd herd = {.lock_fd = STDERR_FILENO};
    const struct plan_intake in = {.data = plan, .len = sizeof plan};
    const struct step_plan p = {.uid = 7};
    struct again a;
    again_open(&a);
    if (again_fd(&a) < 0)
        skip(); /* this kernel marks no commands */
    int first = child_begin(&a, &p, 1001, 0), second = child_begin(&a, &p, 1002, 0),
        third = child_begin(&a, &p, 1003, 1001);
    pid_t asks = 1003;
    assert_int_equal(write(a.asks[1], &asks, sizeof asks), sizeof asks);
    again_take(&a, true);
    assert_int_equal(again_give(&a, &herd, &in, &p), 1003);
    assert_int_equal(recv(second, got, sizeof got, MSG_DONTWAIT), -1);
    assert_int_equal(recv(third, got, sizeof got, MSG_DONTWAIT), sizeof plan);
    assert_int_equal(recv(first, got, sizeof got, MSG_DONTWAIT), 0); /* it may end */
    again_close(&a);
    assert_int_equal(recv(second, got, sizeof got, MSG_DONTWAIT), 0);
    assert_int_equal(recv(third, got, sizeof got, MSG_DONTWAIT), 0);
    close(first);
    close(second);
    close(third);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(short_steps_follow_each_other_in_one_shepherd),
        TEST(each_uses_its_own),
        TEST(another_users_has_another),
        TEST(who_was_commanded_has_no_other),
        TEST(a_command_for_the_former_step_is_not_the_next_ones),
        TEST(one_that_was_killed_is_told_of_with_the_step_it_has),
        TEST(they_end_with_their_parent_and_after_a_while),
        TEST(a_plan_on_its_way_holds_the_lock),
        TEST(nothing_of_the_former_plan_is_in_its_memory),
        TEST(each_has_a_keyring_of_its_own),
        TEST(at_first_there_are_none),
        TEST(one_that_ends_while_another_is_forked_is_not_taken_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
