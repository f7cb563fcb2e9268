/* What users can do so that looking at their processes takes long, or for ever: environments
 * without end and such as never come, and descriptors by the million. Others' are looked at all the
 * same. */
#include "unit.h"

#include "base/alloc.h"
#include "node/hardware/gpu_holders.h"
#include "node/shepherd/apart.h"
#include "node/step/proc_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/prctl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY     65534
#define HUNG_BYTES 16384u
#define SLOW_MS    700

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

static void ended(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* False: a kernel or a sandbox does not let it be as wanted. */
static bool stops(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    return WIFSTOPPED(status);
}

/* In a process of its own: says that this part of its memory is its environment, and stops. */
static void environment_be(const char *from, size_t len)
{
    char text[4096] = "", *field[64], *save = NULL;
    FILE *f = fopen("/proc/self/stat", "re");
    size_t n = fread(text, 1, sizeof text - 1, f), words = 3;
    fclose(f);
    text[n] = '\0';
    for (char *w = strtok_r(strrchr(text, ')') + 1, " ", &save); w && words < 64;
         w = strtok_r(NULL, " ", &save))
        field[words++] = w;
#define FIELD(i) strtoull(field[i], NULL, 10) /* as proc(5) counts them */
    struct prctl_mm_map m = {.start_code = FIELD(26),
                             .end_code = FIELD(27),
                             .start_stack = FIELD(28),
                             .start_data = FIELD(45),
                             .end_data = FIELD(46),
                             .start_brk = FIELD(47),
                             .brk = (unsigned long)sbrk(0),
                             .arg_start = FIELD(48),
                             .arg_end = FIELD(49),
                             .env_start = (unsigned long)from,
                             .env_end = (unsigned long)from + len,
                             .exe_fd = (unsigned)-1};
#undef FIELD
    if (from == MAP_FAILED || prctl(PR_SET_MM, PR_SET_MM_MAP, &m, sizeof m, 0) != 0 ||
        (getuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) != 0) || prctl(PR_SET_DUMPABLE, 1) != 0)
        _exit(77);
    raise(SIGSTOP);
    _exit(0);
}

/* A GiB, in which nothing is. */
static void test_an_environment_without_end_is_not_read_whole(void **state)
{
    (void)state;
    const size_t len = (size_t)1 << 30;
    struct gpu_holders *memory = gpu_holders_new();
    struct rusage before, after;
    struct gpu_holder h;
    pid_t pid = fork();
    if (pid == 0)
        environment_be(mmap(NULL, len, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
                       len);
    if (!stops(pid)) {
        gpu_holders_free(memory);
        skip();
    }
    getrusage(RUSAGE_SELF, &before);
    bool found = gpu_holder_find(memory, pid, &h);
    getrusage(RUSAGE_SELF, &after);
    ended(pid);
    gpu_holders_free(memory);
    assert_true(found && !h.step[0]);
    assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 16 << 10);
}

/* ---- a file whose pages never come ---- */

static void fuse_say(int fd, uint64_t unique, int error, const void *data, size_t len)
{
    static char all[2 * HUNG_BYTES];
    struct fuse_out_header head = {
        .len = (uint32_t)(sizeof head + len), .error = -error, .unique = unique};
    memcpy(all, &head, sizeof head);
    if (len)
        memcpy(all + sizeof head, data, len);
    (void)!write(fd, all, sizeof head + len);
}

/* A file system that is one file. The first read of it fails, so that the kernel tries again, now
 * with the reader's memory locked, and is not answered before
 * that time, if ever. */
static void fuse_serve(int fd, const volatile int64_t *at_ms)
{
    static char request[1u << 18], zeros[HUNG_BYTES];
    const struct fuse_in_header *in = (const void *)request;
    const struct fuse_init_out init = {.major = 7, .minor = 31, .max_write = 65536};
    const struct fuse_open_out opened = {0};
    const struct fuse_attr_out attr = {
        .attr = {.ino = 1, .size = HUNG_BYTES, .mode = S_IFREG | 0666, .nlink = 1}};
    bool failed = false;
    while (read(fd, request, sizeof request) > 0)
        switch (in->opcode) {
        case FUSE_INIT: fuse_say(fd, in->unique, 0, &init, sizeof init); break;
        case FUSE_GETATTR: fuse_say(fd, in->unique, 0, &attr, sizeof attr); break;
        case FUSE_OPEN: fuse_say(fd, in->unique, 0, &opened, sizeof opened); break;
        case FUSE_READ:
            if (!failed) {
                fuse_say(fd, in->unique, EIO, NULL, 0);
            } else if (at_ms) {
                while (!*at_ms || now_ms() < *at_ms)
                    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
                fuse_say(fd, in->unique, 0, zeros, HUNG_BYTES);
            }
            failed = true;
            break;
        case FUSE_FLUSH:
        case FUSE_RELEASE: fuse_say(fd, in->unique, 0, NULL, 0); break;
        }
    _exit(0);
}

/* Puts it over the file `path`; the process that serves it, 0 if none can be made here. */
static pid_t slow_file_make(const char *path, const volatile int64_t *at_ms)
{
    char options[96];
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options, "fd=%d,rootmode=100666,user_id=0,group_id=0,allow_other", fd);
    pid_t pid = 0;
    if (fd >= 0 && mount("hang", path, "fuse", 0, options) == 0 && (pid = fork()) == 0)
        fuse_serve(fd, at_ms);
    if (fd >= 0)
        close(fd);
    return pid;
}

static void *page_read(void *page)
{
    return (void *)(uintptr_t) * (volatile char *)page;
}

/* A process whose memory cannot be looked into, of NOBODY's. */
static pid_t hangs_whoever_asks(const char *path)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        struct stat st; /* of which the kernel knows how long it is */
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        void *page = mmap(NULL, HUNG_BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
        if (page == MAP_FAILED || fstat(fd, &st) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0 ||
            prctl(PR_SET_DUMPABLE, 1) != 0 || pthread_create(&thread, NULL, page_read, page) != 0)
            _exit(1);
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
        (void)!write(ends[1], "", 1);
        /* Waits for its turn to change the memory, and all who come later behind it. */
        mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pause();
        _exit(1);
    }
    close(ends[1]);
    (void)!read(ends[0], &byte, 1);
    close(ends[0]);
    return pid;
}

static bool does_hang(pid_t pid)
{
    char path[64], byte;
    snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    pid_t asks = fork();
    if (asks == 0) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        (void)!read(fd, &byte, 1);
        _exit(0);
    }
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    bool hangs = waitpid(asks, NULL, WNOHANG) == 0;
    if (hangs)
        ended(asks);
    return hangs;
}

static pid_t says_its_job(uid_t uid)
{
    pid_t pid = fork();
    if (pid == 0) {
        setenv("SLURM_JOB_ID", "4711", 1);
        setenv("REMUDA_STEP_DIR", "/x/4711.1.0", 1);
        if (setresuid(uid, uid, uid) == 0)
            execl("/bin/sh", "sh", "-c", "kill -STOP $$; :", (char *)NULL);
        _exit(1);
    }
    assert_true(stops(pid));
    return pid;
}

static int64_t share_of(const void *pid)
{
    return proc_share_bytes(*(const pid_t *)pid);
}

static void test_an_environment_that_does_not_come_keeps_nobody(void **state)
{
    (void)state;
    char path[] = "/tmp/late-XXXXXX";
    struct gpu_holders *memory = gpu_holders_new();
    struct gpu_holder h, others, same;
    close(mkstemp(path));
    pid_t server = slow_file_make(path, NULL);
    pid_t pid = server > 0 ? hangs_whoever_asks(path) : 0;
    if (pid <= 0 || !does_hang(pid)) {
        if (server > 0)
            ended(server);
        if (pid > 0)
            ended(pid);
        umount2(path, MNT_DETACH);
        unlink(path);
        gpu_holders_free(memory);
        skip();
    }
    pid_t other = says_its_job(0), his = says_its_job(NOBODY);
    alarm(60);
    bool found = gpu_holder_find(memory, pid, &h) && gpu_holder_find(memory, other, &others) &&
                 gpu_holder_find(memory, his, &same);
    int64_t bytes;
    enum apart shared = ask_apart(share_of, &pid, 300, &bytes); /* as shepherds ask */
    alarm(0);
    ended(server); /* whoever waits for the file gets an error */
    ended(pid);
    ended(other);
    ended(his);
    umount2(path, MNT_DETACH);
    unlink(path);
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    gpu_holders_free(memory);
    assert_true(found);
    assert_int_equal(shared, APART_LATE);
    assert_int_equal(h.uid, NOBODY);
    assert_false(h.of_job);
    assert_string_equal(others.step, "4711.1.0");
    assert_string_equal(same.step, ""); /* the thread that waits would not be the only one */
}

/* ---- environments that come just in time ---- */

struct slow {
    char path[32];
    pid_t server, pid;
    int64_t *at_ms; /* when its memory can be looked into; shared */
};

/* False: a kernel or a sandbox does not let it be as wanted. */
static bool slow_begin(struct slow *s)
{
    strcpy(s->path, "/tmp/late-XXXXXX");
    close(mkstemp(s->path));
    s->at_ms = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    s->server = slow_file_make(s->path, s->at_ms);
    s->pid = s->server > 0 ? hangs_whoever_asks(s->path) : 0;
    return s->pid > 0;
}

static void slow_end(struct slow *s)
{
    if (s->server > 0)
        ended(s->server);
    if (s->pid > 0)
        ended(s->pid);
    umount2(s->path, MNT_DETACH);
    unlink(s->path);
    munmap(s->at_ms, 4096);
}

#define SLOW_N 6

/* In one round, in which what is known is forgotten for each device. */
static void test_environments_that_come_just_in_time_keep_nobody_for_long(void **state)
{
    (void)state;
    struct gpu_holders *memory = gpu_holders_new();
    struct slow slow[SLOW_N] = {0};
    struct gpu_holder h, others = {0};
    pid_t other = says_its_job(NOBODY - 1);
    bool can = true, found = true;
    for (size_t i = 0; i < SLOW_N; i++)
        can &= slow_begin(&slow[i]);
    can = can && does_hang(slow[0].pid);
    int64_t begin_ms = now_ms();
    for (size_t i = 0; i < SLOW_N; i++)
        *slow[i].at_ms = begin_ms + SLOW_MS * (int64_t)(i + 1);
    gpu_holders_round(memory);
    for (size_t device = 0; device < 8 && can; device++) {
        gpu_holders_forget(memory);
        for (size_t i = 0; i < SLOW_N; i++)
            found &= gpu_holder_find(memory, slow[i].pid, &h);
        found &= gpu_holder_find(memory, other, &others) && text_is(others.step, "4711.1.0");
    }
    int64_t took_ms = now_ms() - begin_ms;
    for (size_t i = 0; i < SLOW_N; i++)
        slow_end(&slow[i]);
    ended(other);
    gpu_holders_free(memory);
    if (!can)
        skip();
    assert_true(found);
    assert_in_range(took_ms, SLOW_MS, 2500);
}

/* ---- descriptors by the million ---- */

struct openers {
    size_t n;
    struct gpu_holder found;
};

static void opener_take(void *ctx, const struct gpu_holder *h, const struct device_number *file)
{
    struct openers *o = ctx;
    (void)file;
    o->n++;
    o->found = *h;
}

/* Stops with that many descriptors of the file, which so many children of its have, too. */
static pid_t opens(const char *file, size_t n, size_t children, uid_t uid)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit most;
        int fd = open(file, O_RDWR | O_CLOEXEC);
        getrlimit(RLIMIT_NOFILE, &most);
        most.rlim_cur = most.rlim_max;
        setrlimit(RLIMIT_NOFILE, &most);
        while (n-- > 1 && dup(fd) >= 0)
            continue;
        if (fd < 0 || setresuid(uid, uid, uid) != 0)
            _exit(1);
        while (children-- > 0)
            if (syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL) == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                pause();
            }
        raise(SIGSTOP);
        _exit(0);
    }
    assert_true(stops(pid));
    return pid;
}

/* In whatever order they are asked for, each again. */
static void test_who_has_too_many_descriptors_keeps_himself_alone(void **state)
{
    (void)state;
    const uid_t many = NOBODY, few = NOBODY - 1, none = NOBODY - 2;
    const uid_t order[][4] = {
        {many, few, none, few}, {few, many, many, none}, {none, few, many, few}};
    size_t good = 0, tries = 0;
    struct stat st;
    if (getuid() != 0)
        skip();
    assert_int_equal(stat("/dev/full", &st), 0);
    const struct device_number number = {major(st.st_rdev), minor(st.st_rdev)};
    pid_t crowd = opens("/dev/null", 20000, 80, many), opener = opens("/dev/full", 1, 0, few);
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        struct openers o = {0};
        enum gpu_holders_cut cut[4];
        bool as_wanted = true;
        do { /* on a busy machine root's may be too many */
            struct gpu_holders *memory = gpu_holders_new();
            o.n = 0;
            gpu_holders_each(memory,
                             &(struct gpu_holders_ask){&number, 1, order[i], 4, 800, NULL, 0}, cut,
                             opener_take, &o);
            gpu_holders_free(memory);
        } while (cut[0] == GPU_HOLDERS_CUT_SYSTEM && ++tries < 100);
        for (size_t k = 0; k < 4; k++)
            as_wanted &= cut[k] == (order[i][k] == many ? GPU_HOLDERS_CUT_USER : GPU_HOLDERS_ALL);
        good += as_wanted && o.n == 1 && o.found.pid == opener;
    }
    ended(crowd);
    ended(opener);
    assert_int_equal(good, ARRAY_LEN(order));
}

/* A user's part is his once, however many instances of GPUs he had. */
static void test_many_looks_for_one_user_leave_him_his_time(void **state)
{
    (void)state;
    uid_t users[56];
    enum gpu_holders_cut cut[ARRAY_LEN(users)];
    struct stat st;
    bool all = false;
    if (getuid() != 0)
        skip();
    assert_int_equal(stat("/dev/full", &st), 0);
    const struct device_number number = {major(st.st_rdev), minor(st.st_rdev)};
    pid_t crowd = opens("/dev/null", 20000, 0, NOBODY);
    for (size_t i = 0; i < ARRAY_LEN(users); i++)
        users[i] = NOBODY;
    for (int tries = 0; tries < 10 && !all; tries++) { /* the machine may be busy */
        struct gpu_holders *memory = gpu_holders_new();
        struct openers o = {0};
        gpu_holders_each(
            memory, &(struct gpu_holders_ask){&number, 1, users, ARRAY_LEN(users), 2000, NULL, 0},
            cut, opener_take, &o);
        gpu_holders_free(memory);
        all = true;
        for (size_t i = 0; i < ARRAY_LEN(users); i++)
            all &= cut[i] == GPU_HOLDERS_ALL;
    }
    ended(crowd);
    assert_true(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_environment_without_end_is_not_read_whole),
        cmocka_unit_test(test_an_environment_that_does_not_come_keeps_nobody),
        cmocka_unit_test(test_environments_that_come_just_in_time_keep_nobody_for_long),
        cmocka_unit_test(test_who_has_too_many_descriptors_keeps_himself_alone),
        cmocka_unit_test(test_many_looks_for_one_user_leave_him_his_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
