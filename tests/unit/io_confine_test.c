/* A process that was confined: in children of the test. */
#include "unit.h"

#include "io/process/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool supported(void)
{
    return prctl(PR_GET_SECCOMP) >= 0;
}

/* What `fn` returns, in a child that was confined: 0 to 99. */
static int confined(int (*fn)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        const char *why;
        _exit(confine_process(&why) ? fn() : 100);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int status_number(const char *name)
{
    char line[256];
    int base = strncmp(name, "Cap", 3) == 0 ? 16 : 10, found = 50;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0)
            found = strtoull(strchr(line, ':') + 1, NULL, base) < 50
                        ? (int)strtoull(strchr(line, ':') + 1, NULL, base)
                        : 49;
    if (f)
        fclose(f);
    return found;
}

static int has_nothing_left(void)
{
    return status_number("CapEff") + status_number("CapPrm") + status_number("CapBnd") +
           status_number("CapInh") + (status_number("NoNewPrivs") != 1) +
           (status_number("Seccomp:") != 2);
}

static int may_not(void)
{
    char *const argv[] = {"true", NULL};
    int n = 0;
    n += execve("/bin/true", argv, argv + 1) == -1 && errno == EPERM;
    n += ptrace(PTRACE_TRACEME, 0, NULL, NULL) == -1 && errno == EPERM;
    n += unshare(CLONE_NEWUSER) == -1 && errno == EPERM;
    n += syscall(SYS_bpf, 0, NULL, 0) == -1 && errno == EPERM;
    n += syscall(SYS_mount, "x", "/", "tmpfs", 0, NULL) == -1 && errno == EPERM;
    return n;
}

static void *nothing(void *ctx)
{
    return ctx;
}

/* What a relay does all day. */
static int may(void)
{
    int pair[2], fd = open("/proc/self/comm", O_RDONLY), udp = socket(AF_INET, SOCK_DGRAM, 0);
    pthread_t thread;
    struct addrinfo *found = NULL;
    char c = 'x';
    if (fd < 0 || udp < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 1;
    if (write(pair[0], &c, 1) != 1 || read(pair[1], &c, 1) != 1)
        return 2;
    if (pthread_create(&thread, NULL, nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 3;
    if (getaddrinfo("127.0.0.1", "6817", NULL, &found) != 0)
        return 4;
    freeaddrinfo(found);
    return 0;
}

static void test_it_has_no_capability_and_gains_none(void **state)
{
    (void)state;
    if (!supported())
        skip();
    assert_int_equal(confined(has_nothing_left), 0);
}

static void test_it_executes_traces_and_mounts_nothing(void **state)
{
    (void)state;
    if (!supported())
        skip();
    assert_int_equal(confined(may_not), 5);
}

static void test_it_can_do_its_work(void **state)
{
    (void)state;
    if (!supported())
        skip();
    assert_int_equal(confined(may), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_has_no_capability_and_gains_none),
        cmocka_unit_test(test_it_executes_traces_and_mounts_nothing),
        cmocka_unit_test(test_it_can_do_its_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
