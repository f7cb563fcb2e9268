/* The processes below one, and signals to them, where numbers are used again at once: in a PID
 * namespace of a few hundred numbers. */
#include "unit.h"

#include "node/step/proc_tree.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NUMBERS    "400" /* of processes; the kernel wants 300 at least, and leaves out as many */
#define LIST_MAX   400
#define SLEEPERS   30
#define SIGNALS    1500
#define SKIPPED    77
#define STRUCK     1
#define NOT_STRUCK 0

static void sleep_us(long us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static bool file_put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* What a user's job does: some of its processes stay, others begin and end, one or two deep. */
static _Noreturn void job_run(void)
{
    for (int i = 0; i < SLEEPERS; i++)
        if (fork() == 0)
            for (;;)
                pause();
    for (;;) {
        pid_t pid = fork();
        if (pid == 0 && fork() == 0)
            _exit(0);
        if (pid == 0) {
            wait(NULL);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
}

/* Somebody else's: it ends when one of its processes was struck. */
static _Noreturn void other_run(void)
{
    int status;
    signal(SIGUSR1, SIG_DFL);
    for (;;) {
        pid_t pid = fork();
        if (pid == 0) {
            pid_t below = fork();
            if (below == 0)
                sleep_us(500);
            if (below > 0 && waitpid(below, &status, 0) == below && WIFSIGNALED(status))
                _exit(STRUCK);
            _exit(0);
        }
        waitpid(pid, &status, 0);
        if (WIFSIGNALED(status) || WEXITSTATUS(status) == STRUCK)
            _exit(STRUCK);
    }
}

static size_t job_signal(pid_t job)
{
    static pid_t pids[LIST_MAX];
    static uint64_t starts[LIST_MAX];
    size_t sent = 0, n = proc_tree(job, &(struct proc_list){pids, NULL, starts, LIST_MAX});
    for (size_t i = 0; i < n; i++)
        sent += proc_signal(pids[i], starts[i], SIGUSR1, NULL);
    return sent;
}

/* The first process of the namespace. */
static _Noreturn void inside(void)
{
    int status;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", 0, NULL) != 0 ||
        !file_put("/proc/sys/kernel/pid_max", NUMBERS))
        _exit(SKIPPED);
    signal(SIGUSR1, SIG_IGN); /* who is there for longer */
    pid_t other = fork();
    if (other == 0)
        other_run();
    pid_t job = fork();
    if (job == 0)
        job_run();
    while (job_signal(job) < SLEEPERS)
        sleep_us(1000);
    for (int i = 0; i < SIGNALS; i++) {
        if (job_signal(job) < SLEEPERS)
            _exit(2);
        if (waitpid(other, &status, WNOHANG) == other)
            _exit(STRUCK);
    }
    _exit(NOT_STRUCK);
}

static void test_nobody_else_gets_a_signal(void **state)
{
    int status;
    (void)state;
    if (geteuid() != 0)
        skip();
    pid_t outside = fork();
    if (outside == 0) {
        if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0)
            _exit(SKIPPED);
        pid_t first = fork();
        if (first == 0)
            inside();
        _exit(waitpid(first, &status, 0) == first && WIFEXITED(status) ? WEXITSTATUS(status) : 3);
    }
    assert_int_equal(waitpid(outside, &status, 0), outside);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        skip(); /* older kernels have one bound for all namespaces */
    assert_int_equal(status, NOT_STRUCK);
}

static void *sleeps(void *said)
{
    (void)!write(*(int *)said, "", 1);
    for (;;)
        pause();
    return NULL;
}

/* The first thread's own state, which is 'Z' when it has ended while others go on. */
static char first_state(pid_t pid)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!read(fd, text, sizeof text - 1);
        close(fd);
    }
    const char *close_of_name = strrchr(text, ')');
    return close_of_name && close_of_name[1] ? close_of_name[2] : '?';
}

/* A process that has this much memory, whose first thread has ended and whose other one sleeps. */
static pid_t headless(size_t bytes)
{
    static int ends[2];         /* the first thread's frames end with it */
    static char *volatile held; /* else the compiler leaves out memory that nobody reads */
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        alarm(60);
        held = malloc(bytes);
        memset(held, 1, bytes);
        if (pthread_create(&thread, NULL, sleeps, &ends[1]) != 0)
            _exit(1);
        pthread_exit(NULL);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    for (int i = 0; i < 20000 && (first_state(pid) != 'Z' || proc_state(pid) == 'R'); i++)
        sleep_us(1000);
    assert_int_equal(first_state(pid), 'Z');
    return pid;
}

static void test_a_process_without_its_first_thread_is_measured(void **state)
{
    (void)state;
    const size_t bytes = 48u << 20;
    struct proc_usage u = {0};
    pid_t pid = headless(bytes);
    bool known = proc_usage(pid, &u);
    int64_t share = proc_share_bytes(pid), own = proc_share_bytes(getpid());
    char letter = proc_state(pid);
    pid_t thread = proc_thread(pid);
    bool goes_on = proc_goes_on(pid);
    kill(pid, SIGKILL);
    siginfo_t info;
    waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
    char ended = proc_state(pid);
    pid_t none = proc_thread(pid);
    waitpid(pid, NULL, 0);
    assert_true(known);
    assert_true(u.rss_bytes > (int64_t)bytes && u.vm_bytes >= u.rss_bytes);
    if (own >= 0) /* else the kernel does not tell */
        assert_true(share > (int64_t)bytes);
    assert_int_equal(letter, 'S');
    assert_true(goes_on && thread > 0 && thread != pid);
    assert_int_equal(ended, 'Z');
    assert_int_equal(none, 0);
    assert_int_equal(proc_state(pid), '?');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_else_gets_a_signal),
        cmocka_unit_test(test_a_process_without_its_first_thread_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
