/* Device files that threads have open, whose descriptors are not the first thread's. */
#include "unit.h"

#include "base/alloc.h"
#include "node/hardware/amd/bounded.h"
#include "node/hardware/gpu_holders.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OTHERS        3 /* threads that have the first's descriptors */
#define NOBODY        65534
#define CROWD_FILES   5000
#define CROWD_THREADS 400
#define MANY          3000

struct search {
    pid_t pid;
    size_t n;
};

static void holder_take(void *ctx, const struct gpu_holder *h, const struct device_number *file)
{
    struct search *s = ctx;
    (void)file;
    s->n += h->pid == s->pid;
}

static int ready[2]; /* a pipe to the test */

static void *sleeps(void *data)
{
    for (;;)
        pause();
    return data;
}

static void *opens(void *apart)
{
    bool ok = (!apart || unshare(CLONE_FILES) == 0) && open("/dev/full", O_RDWR | O_CLOEXEC) >= 0;
    if (!ok || write(ready[1], "", 1) != 1)
        _exit(1);
    return sleeps(NULL);
}

/* The last of its threads has the file open, by a table of its own or not. */
static pid_t hides(bool apart, bool first_ends, uid_t user)
{
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        static int mark;
        alarm(60);
        if (setresuid(user, user, user) != 0)
            _exit(1);
        for (int i = 0; i < OTHERS; i++)
            pthread_create(&thread, NULL, sleeps, NULL);
        pthread_create(&thread, NULL, opens, apart ? &mark : NULL);
        if (first_ends)
            pthread_exit(NULL);
        sleeps(NULL);
    }
    close(ready[1]);
    bool ok = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    if (ok && first_ends) /* it may be at its end still */
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    return ok ? pid : 0;
}

/* How often the process is found with the file open. */
static size_t times_found(struct gpu_holders *memory, pid_t pid, uid_t user)
{
    struct stat st;
    assert_int_equal(stat("/dev/full", &st), 0);
    const struct device_number number = {major(st.st_rdev), minor(st.st_rdev)};
    enum gpu_holders_cut cut = GPU_HOLDERS_CUT_SYSTEM;
    struct search s = {.pid = pid};
    gpu_holders_each(memory, &(struct gpu_holders_ask){&number, 1, &user, 1, 60000, NULL, 0}, &cut,
                     holder_take, &s);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(cut, GPU_HOLDERS_ALL);
    return s.n;
}

static void test_a_thread_hides_no_open_file(void **state)
{
    static const struct {
        bool apart, first_ends;
    } cases[] = {{false, false}, {false, true}, {true, false}, {true, true}};
    (void)state;
    struct gpu_holders *memory = gpu_holders_new();
    const uid_t user = getuid() ? getuid() : NOBODY;
    size_t found = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        found += times_found(memory, hides(cases[i].apart, cases[i].first_ends, user), user);
    gpu_holders_free(memory);
    assert_int_equal(found, sizeof cases / sizeof cases[0]);
}

/* The open file was sent to one of them. */
static void test_nor_does_another_user_who_is_named(void **state)
{
    (void)state;
    const uid_t nobody_here = NOBODY - 1, user = getuid() ? getuid() : NOBODY;
    const struct device_number full = {1, 7};
    const struct gpu_holders_ask alone = {&full, 1, &nobody_here, 1, 60000, NULL, 0},
                                 both = {&full, 1, &nobody_here, 1, 60000, &user, 1};
    struct gpu_holders *memory = gpu_holders_new();
    enum gpu_holders_cut cut[2] = {GPU_HOLDERS_CUT_SYSTEM, GPU_HOLDERS_CUT_SYSTEM};
    pid_t pid = hides(false, false, user);
    struct search none = {.pid = pid}, found = {.pid = pid};
    gpu_holders_each(memory, &alone, &cut[0], holder_take, &none);
    gpu_holders_each(memory, &both, &cut[1], holder_take, &found);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    gpu_holders_free(memory);
    assert_int_equal(none.n, 0);
    assert_int_equal(found.n, 1);
    assert_int_equal(cut[0], GPU_HOLDERS_ALL);
    assert_int_equal(cut[1], GPU_HOLDERS_ALL);
}

/* The last of those that had it open. */
static void last_take(void *ctx, const struct gpu_holder *h, const struct device_number *file)
{
    (void)file;
    *(pid_t *)ctx = h->pid;
}

/* A user with very much of his own would leave them no time. */
static void test_others_come_before_the_users_that_had_it(void **state)
{
    (void)state;
    const uid_t user = getuid() ? getuid() : NOBODY, other = getuid() ? user : NOBODY - 1;
    const struct device_number full = {1, 7};
    const struct gpu_holders_ask ask = {&full, 1, &user, 1, 60000, &other, 1};
    struct gpu_holders *memory = gpu_holders_new();
    enum gpu_holders_cut cut;
    pid_t last = 0, others = hides(false, false, other), users = hides(false, false, user);
    gpu_holders_each(memory, &ask, &cut, last_take, &last);
    kill(users, SIGKILL);
    kill(others, SIGKILL);
    waitpid(users, NULL, 0);
    waitpid(others, NULL, 0);
    gpu_holders_free(memory);
    assert_int_equal(last, users);
}

/* Has the file open, with a number that its user has from /etc/subuid, in his namespace. */
static pid_t renumbered(void)
{
    static const char map[] = "0 65534 1\n1 100999 1\n";
    int mapped[2];
    char path[64], byte;
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(mapped), 0);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        if (setresuid(NOBODY, NOBODY, NOBODY) != 0 || unshare(CLONE_NEWUSER) != 0 ||
            write(ready[1], "", 1) != 1 || read(mapped[0], &byte, 1) != 1 ||
            setresuid(1, 1, 1) != 0)
            _exit(1);
        opens(NULL);
    }
    close(ready[1]);
    snprintf(path, sizeof path, "/proc/%ld/uid_map", (long)pid);
    bool ok = read(ready[0], &byte, 1) == 1;
    int fd = ok ? open(path, O_WRONLY | O_CLOEXEC) : -1;
    ok = fd >= 0 && write(fd, map, sizeof map - 1) == (ssize_t)sizeof map - 1 &&
         write(mapped[1], "", 1) == 1 && read(ready[0], &byte, 1) == 1;
    if (fd >= 0)
        close(fd);
    close(ready[0]);
    close(mapped[0]);
    close(mapped[1]);
    if (ok)
        return pid;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return 0;
}

static void test_nor_does_a_number_of_his_namespace(void **state)
{
    (void)state;
    pid_t pid = getuid() == 0 ? renumbered() : 0;
    if (pid == 0)
        skip(); /* not every system lets users have namespaces */
    struct gpu_holders *memory = gpu_holders_new();
    struct gpu_holder h = {0};
    bool known = gpu_holder_find(memory, pid, &h);
    size_t found = times_found(memory, pid, NOBODY);
    gpu_holders_free(memory);
    assert_int_equal(found, 1);
    assert_true(known && h.uid == NOBODY);
}

static int gate[2];

static void comes_late(void *ctx)
{
    char byte;
    (void)ctx;
    (void)!read(gate[0], &byte, 1);
}

/* Then the kernel is not asked which of his threads have the same descriptors. */
static void test_nor_does_a_thread_of_who_let_the_kernel_wait(void **state)
{
    (void)state;
    struct gpu_holders *memory = gpu_holders_new();
    const uid_t user = getuid() ? getuid() : NOBODY;
    assert_int_equal(pipe(gate), 0);
    bool in_time = gpu_holders_ask(memory, user, bounded_now_ms(), comes_late, xmalloc(1));
    bool again = gpu_holders_ask(memory, user, bounded_now_ms() + 60000, comes_late, xmalloc(1));
    size_t found = times_found(memory, hides(true, true, user), user);
    found += times_found(memory, hides(false, true, user), user);
    close(gate[1]);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); /* for it to end */
    close(gate[0]);
    gpu_holders_free(memory);
    assert_false(in_time || again);
    assert_int_equal(found, 2);
}

/* Many threads, with many descriptors: all the same. */
static pid_t crowd_begin(uid_t user)
{
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        struct rlimit most;
        alarm(60);
        getrlimit(RLIMIT_NOFILE, &most);
        most.rlim_cur = most.rlim_max;
        setrlimit(RLIMIT_NOFILE, &most);
        for (int i = 0; i < CROWD_FILES && dup(ready[0]) >= 0; i++)
            continue;
        if (setresuid(user, user, user) != 0)
            _exit(1);
        for (int i = 0; i < CROWD_THREADS && pthread_create(&thread, NULL, sleeps, NULL) == 0; i++)
            continue;
        (void)!write(ready[1], "", 1);
        sleeps(NULL);
    }
    close(ready[1]);
    (void)!read(ready[0], &byte, 1);
    close(ready[0]);
    return pid;
}

static void test_what_threads_share_is_looked_through_once(void **state)
{
    (void)state;
    const uid_t user = getuid() ? getuid() : NOBODY;
    const struct device_number full = {1, 7};
    enum gpu_holders_cut cut = GPU_HOLDERS_CUT_SYSTEM;
    struct search none = {.pid = 0};
    if (syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILES, 0, 0) != 0)
        skip();
    pid_t pid = crowd_begin(user);
    for (int tries = 0; tries < 20 && cut != GPU_HOLDERS_ALL; tries++) { /* the machine is busy */
        struct gpu_holders *memory = gpu_holders_new();
        gpu_holders_each(memory, &(struct gpu_holders_ask){&full, 1, &user, 1, 500, NULL, 0}, &cut,
                         holder_take, &none);
        gpu_holders_free(memory);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(cut, GPU_HOLDERS_ALL);
}

/* Many processes of somebody's, which only stand in the list. */
static pid_t many_begin(uid_t user)
{
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        if (setresuid(user, user, user) != 0)
            _exit(1);
        for (int i = 0; i < MANY && (pid = fork()) > 0; i++)
            continue;
        alarm(60);
        if (pid != 0)
            (void)!write(ready[1], "", 1);
        sleeps(NULL);
    }
    close(ready[1]);
    (void)!read(ready[0], &byte, 1);
    close(ready[0]);
    return pid;
}

/* Root's part of the time was over before his were begun with. How long all takes is measured, on
 * a machine that may be busy: mostly it is as long again. */
static void test_the_list_of_processes_is_not_in_roots_time(void **state)
{
    (void)state;
    const uid_t user = NOBODY - 1;
    const struct device_number full = {1, 7};
    enum gpu_holders_cut cut = GPU_HOLDERS_CUT_SYSTEM;
    struct search none = {.pid = 0};
    struct gpu_holders *memory = gpu_holders_new();
    if (getuid() != 0) {
        gpu_holders_free(memory);
        skip();
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* else they are left to whoever is process 1 */
    pid_t pid = many_begin(NOBODY);
    size_t all = 0;
    for (int tries = 0; tries < 15; tries++) {
        int64_t begin_ms = bounded_now_ms();
        gpu_holders_each(memory, &(struct gpu_holders_ask){&full, 1, &user, 1, 60000, NULL, 0},
                         &cut, holder_take, &none);
        int64_t took_ms = bounded_now_ms() - begin_ms;
        gpu_holders_each(memory,
                         &(struct gpu_holders_ask){&full, 1, &user, 1, took_ms * 5 / 3, NULL, 0},
                         &cut, holder_take, &none);
        all += cut == GPU_HOLDERS_ALL;
    }
    kill(-pid, SIGKILL);
    while (waitpid(-pid, NULL, 0) > 0)
        continue;
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    gpu_holders_free(memory);
    assert_in_range(all, 8, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_hides_no_open_file),
        cmocka_unit_test(test_nor_does_another_user_who_is_named),
        cmocka_unit_test(test_others_come_before_the_users_that_had_it),
        cmocka_unit_test(test_nor_does_a_number_of_his_namespace),
        cmocka_unit_test(test_nor_does_a_thread_of_who_let_the_kernel_wait),
        cmocka_unit_test(test_what_threads_share_is_looked_through_once),
        cmocka_unit_test(test_the_list_of_processes_is_not_in_roots_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
