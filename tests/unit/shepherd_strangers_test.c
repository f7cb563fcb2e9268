/* What the owner of a step can get out of its process while that is his already and has not yet
 * executed his program: nothing. His output is a named pipe that nobody reads, so it stays
 * there. */
#include "unit.h"

#include "shepherd_world.h"

#include "base/alloc.h"
#include "base/str.h"
#include "node/step/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY   65534
#define CORE_MAX (1 << 20)
#define LARGE    (300u << 10)

static struct herd_world world;

static int setup(void **state)
{
    (void)state;
    /* To have one that may be raised. */
    struct rlimit core = {0, CORE_MAX};
    setrlimit(RLIMIT_CORE, &core);
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

static const char *fifo_path(void)
{
    static char path[96];
    snprintf(path, sizeof path, "%s/nobody-reads", world.dir);
    mkfifo(path, 0666);
    chmod(path, 0666);
    return path;
}

static struct step_plan plan_as_nobody(int64_t id, const char *script)
{
    struct step_plan p = world_plan(&world, id, script);
    p.switch_user = 1;
    p.uid = p.gid = NOBODY;
    return p;
}

/* Does /proc say that it is that process's child and the owner's? */
static bool is_owners_child(const char *name, pid_t parent)
{
    char path[64];
    int ppid = 0;
    snprintf(path, sizeof path, "/proc/%.20s/stat", name);
    const char *text = world_file(path), *end = strrchr(text, ')');
    if (!end || sscanf(end, ") %*c %d", &ppid) != 1 || ppid != parent)
        return false;
    snprintf(path, sizeof path, "/proc/%.20s/status", name);
    text = strstr(world_file(path), "\nUid:");
    return text && strtol(text + 5, NULL, 10) == NOBODY;
}

/* The step's process, once it is its owner's. */
static pid_t process_of(pid_t shepherd)
{
    for (int i = 0; i < 1000; i++) {
        DIR *all = opendir("/proc");
        struct dirent *e;
        pid_t found = 0;
        while (all && !found && (e = readdir(all)))
            if (e->d_name[0] > '0' && e->d_name[0] <= '9' && is_owners_child(e->d_name, shepherd))
                found = (pid_t)strtol(e->d_name, NULL, 10);
        closedir(all);
        if (found)
            return found;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    fail_msg("the step's process did not become its owner's");
    return 0;
}

/* Starts job 1, which stays where it opens its output. */
static pid_t step_held(void)
{
    struct step_plan p = plan_as_nobody(1, "true");
    p.std_out = fifo_path();
    world_send(&world, &p);
    return process_of((pid_t)world_wait(&world, NOTE_STARTED).pid);
}

/* The same, where it waits for its login shell. */
static pid_t step_held_by_profile(void)
{
    static char env[256];
    char path[96], text[160];
    struct step_plan p = plan_as_nobody(1, "true");
    snprintf(path, sizeof path, "%s/.profile", world.dir);
    int len = snprintf(text, sizeof text, "read x < %s\n", fifo_path());
    assert_true(small_file_write(AT_FDCWD, path, text, (size_t)len, 0644));
    p.login_env = 1;
    p.shell = "/bin/sh";
    p.env = (struct plan_bytes){env, (size_t)snprintf(env, sizeof env, "HOME=%s", world.dir) + 1};
    world_send(&world, &p);
    return process_of((pid_t)world_wait(&world, NOTE_STARTED).pid);
}

/* Whoever writes a line lets it go on. */
static void profile_release(void)
{
    int fd = open(fifo_path(), O_RDWR | O_NONBLOCK);
    assert_true(write(fd, "x\n", 2) == 2);
    world_wait(&world, NOTE_EXITED);
    close(fd);
}

/* Whoever reads lets it go on. */
static void held_release(void)
{
    int fd = open(fifo_path(), O_RDONLY | O_NONBLOCK);
    world_wait(&world, NOTE_EXITED);
    close(fd);
}

static void test_nothing_of_the_shepherds_is_open(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    char path[64], target[256];
    pid_t pid = step_held();
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    DIR *all = opendir(path);
    assert_non_null(all);
    for (struct dirent *e; (e = readdir(all));) {
        ssize_t n = readlinkat(dirfd(all), e->d_name, target, sizeof target - 1);
        if (n <= 0)
            continue;
        target[n] = '\0';
        bool failure_pipe = strncmp(target, "pipe:", 5) == 0;
        if (atoi(e->d_name) > 2 && !failure_pipe)
            fail_msg("descriptor %s is %s", e->d_name, target);
    }
    closedir(all);
    held_release();
}

static bool may_open(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    int fd = open(path, O_RDONLY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool may_take_descriptors(pid_t pid)
{
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    bool any = false;
    for (int fd = 0; process >= 0 && fd < 64; fd++)
        any |= syscall(SYS_pidfd_getfd, process, fd, 0) >= 0;
    return any;
}

/* As the owner, beside the process. Bit by bit what he got. */
static int owner_tries(pid_t pid)
{
    static const char *const files[] = {"mem", "environ", "fd", "maps", "auxv"};
    int got = 0;
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        got |= may_open(pid, files[i]) << i;
    got |= may_take_descriptors(pid) << 5;
    got |= (ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0) << 6;
    got |= (ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0) << 7;
    return got;
}

static void owner_gets_nothing(pid_t pid)
{
    int status;
    pid_t thief = fork();
    if (thief == 0) {
        if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
            setresuid(NOBODY, NOBODY, NOBODY) != 0)
            _exit(255);
        _exit(owner_tries(pid));
    }
    assert_int_equal(waitpid(thief, &status, 0), thief);
    assert_int_equal(status, 0);
}

static void test_its_owner_may_not_look_into_it(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    owner_gets_nothing(step_held());
    held_release();
}

static void test_nor_while_its_login_shell_runs(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    owner_gets_nothing(step_held_by_profile());
    profile_release();
}

/* ---- memory ---- */

static bool memory_piece_has(int mem, unsigned long from, unsigned long to, const char *words)
{
    size_t size = to - from;
    char *bytes = xmalloc(size);
    ssize_t n = pread(mem, bytes, size, (off_t)from);
    bool has = n > 0 && memmem(bytes, (size_t)n, words, strlen(words));
    free(bytes);
    return has;
}

static bool memory_has(pid_t pid, const char *words)
{
    char path[64], line[512];
    bool has = false;
    snprintf(path, sizeof path, "/proc/%ld/mem", (long)pid);
    int mem = open(path, O_RDONLY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%ld/maps", (long)pid);
    FILE *maps = fopen(path, "re");
    assert_true(mem >= 0 && maps);
    while (!has && fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        char mode[8];
        /* Only a sanitizer maps so much. */
        if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3 && mode[1] == 'w' &&
            to - from < 64ul << 20)
            has = memory_piece_has(mem, from, to, words);
    }
    fclose(maps);
    close(mem);
    return has;
}

static void secret_plan_add(struct str *out, int64_t id, const char *script, const char *env)
{
    struct step_plan p = world_plan(&world, id, script);
    p.std_out = "/dev/null";
    p.env = (struct plan_bytes){env, strlen(env) + 1};
    step_plan_encode(&p, out);
}

/* Of jobs before and after it that passed through the same parent, in one piece with it and long
 * before. */
static void test_nothing_of_others_is_in_its_memory(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    static const char *const secrets[] = {
        "before-script-4711", "before-env-4711", "large-script-4711",
        "after-script-4711",  "after-env-4711",
#ifndef __SANITIZE_ADDRESS__ /* its runtime keeps a copy of the environment */
        "parent-env-4711",
#endif
    };
    struct str plans = STR_INIT, large = STR_INIT;
    char big[9000];
    secret_plan_add(&plans, 1, "true # before-script-4711", "PATH=/bin:before-env-4711");
    struct step_plan of_root = world_plan(&world, 4, "");
    str_add(&large, "#!/bin/sh\n");
    while (large.len < LARGE) /* for which a mapping of its own is made */
        str_add(&large, "# large-script-4711\n");
    of_root.script = (struct plan_bytes){large.data, large.len};
    of_root.std_out = "/dev/null";
    step_plan_encode(&of_root, &plans);
    str_done(&large);
    struct step_plan p = plan_as_nobody(2, "true # my-own-script-4711");
    p.std_out = fifo_path();
    step_plan_encode(&p, &plans);
    memset(big, 'x', sizeof big - 1);
    snprintf(big, sizeof big, "PATH=/bin:after-env-4711");
    big[strlen(big)] = 'x';
    big[sizeof big - 1] = '\0';
    secret_plan_add(&plans, 3, "true # after-script-4711", big);
    for (size_t at = 0; at < plans.len;) {
        ssize_t n = write(world.plans, plans.data + at, plans.len - at);
        assert_true(n > 0);
        at += (size_t)n;
    }
    str_done(&plans);
    pid_t shepherd = 0;
    for (int ended = 0; ended < 3 || !shepherd;) {
        struct note n = world_note(&world);
        ended += n.kind == NOTE_EXITED;
        if (n.kind == NOTE_STARTED && n.job_id == 2)
            shepherd = (pid_t)n.pid;
    }
    pid_t pid = process_of(shepherd);
    assert_true(memory_has(pid, "my-own-script-4711"));
    for (size_t i = 0; i < ARRAY_LEN(secrets); i++) {
        if (memory_has(pid, secrets[i]))
            fail_msg("%s is in the memory of another job's process", secrets[i]);
        if (memory_has(world.parent, secrets[i]))
            fail_msg("%s is in the memory of the shepherds' parent", secrets[i]);
    }
    assert_false(memory_has(world.parent, "my-own-script-4711"));
    held_release();
}

/* ---- limits ---- */

static void test_limits_of_a_job_stay_below_the_nodes(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    struct step_plan p = plan_as_nobody(1, "ulimit -Hc; ulimit -Sc; ulimit -Sn");
    p.rlimits = "CORE=unlimited,NOFILE=77";
    world_send(&world, &p);
    assert_int_equal(world_wait(&world, NOTE_EXITED).status, 0);
    assert_string_equal(world_output(&world), "1024\n1024\n77\n"); /* KiB; not unlimited */
}

/* Real, effective, saved and of the file system, and no group beside those of the plan: its gid is
 * not its uid, and neither is root's. */
static void test_a_step_is_its_owner_and_nothing_besides(void **state)
{
    (void)state;
    const gid_t groups[] = {4711, 4712};
    struct step_plan p = plan_as_nobody(
        1, "sed -n 's/^\\([UG][a-z]*\\):[ \t]*/\\1 /p' /proc/self/status | tr '\\t' ' '");
    struct stat st;
    if (geteuid() != 0)
        skip();
    p.gid = groups[0];
    p.groups = (struct plan_bytes){groups, sizeof groups};
    world_send(&world, &p);
    assert_int_equal(world_wait(&world, NOTE_EXITED).status, 0);
    assert_non_null(strstr(world_output(&world), "Uid 65534 65534 65534 65534\n"));
    assert_non_null(strstr(world_output(&world), "Gid 4711 4711 4711 4711\n"));
    assert_non_null(strstr(world_output(&world), "Groups 4711 4712 \n"));
    assert_int_equal(stat(world.out, &st), 0);
    assert_int_equal(st.st_uid, NOBODY);
    assert_int_equal(st.st_gid, 4711);
}

/* ---- what he may not do to others ---- */

/* The words of a step's process are lines: of a file's name with a line end the second half was a
 * word of its own, for which the node counted as unfit, and was drained. */
static void test_a_name_is_no_word(void **state)
{
    (void)state;
    struct step_plan p = world_plan(&world, 1, "true");
    p.std_in = "/nonexistent\nUdisk broken";
    world_send(&world, &p);
    struct note failed = world_wait(&world, NOTE_FAILED);
    assert_false(failed.retry || failed.unfit);
    assert_string_equal(failed.detail, "cannot open the input file /nonexistent Udisk broken: No "
                                       "such file or directory");
    p = world_plan(&world, 2, "true");
    p.work_dir = "/nonexistent\nUdisk broken\nFnone";
    p.std_out = "out";
    world_send(&world, &p);
    failed = world_wait(&world, NOTE_FAILED);
    assert_false(failed.retry || failed.unfit);
    assert_non_null(strstr(failed.detail, "where the output file out was to be"));
    p = world_plan(&world, 3, "exit 121");
    p.work_dir = "/nonexistent\nUdisk broken"; /* said while it goes on */
    world_send(&world, &p);
    struct note ended = world_wait(&world, NOTE_EXITED);
    assert_int_equal(ended.status, 121 << 8);
    assert_non_null(strstr(ended.detail, "it ran in /tmp there"));
}

/* It ended the parent of everybody's shepherds, with the plans behind it. */
static void test_a_plan_that_is_too_long_is_passed_over(void **state)
{
    (void)state;
    size_t len = STEP_PLAN_MAX + 1;
    char *script = calloc(1, len);
    struct step_plan p = world_plan(&world, 1, "");
    p.script = (struct plan_bytes){script, len};
    assert_non_null(script);
    assert_true(step_plan_size(&p) > STEP_PLAN_MAX);
    world_send(&world, &p);
    free(script);
    p = world_plan(&world, 2, "echo next");
    world_send(&world, &p);
    struct note ended = world_wait(&world, NOTE_EXITED);
    assert_int_equal(ended.job_id, 2);
    assert_int_equal(kill(world.parent, 0), 0);
    assert_string_equal(world_output(&world), "next\n");
}

/* The parent asked for the room once, and ended without it. */
static void test_a_plan_waits_for_room(void **state)
{
    (void)state;
    char path[64];
    struct rlimit had, little;
    long pages = 0;
    char *arg = malloc(20u << 20);
    struct step_plan p = world_plan(&world, 1, "echo begun");
    assert_non_null(arg);
    p.keep = (struct plan_bytes){memset(arg, 'x', 20u << 20), 20u << 20};
    snprintf(path, sizeof path, "/proc/%d/statm", (int)world.parent);
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL); /* it is executed by then */
    assert_int_equal(sscanf(world_file(path), "%ld", &pages), 1);
    assert_int_equal(prlimit(world.parent, RLIMIT_AS, NULL, &had), 0);
    little = (struct rlimit){((rlim_t)pages + 1024) * (rlim_t)sysconf(_SC_PAGESIZE), had.rlim_max};
    assert_int_equal(prlimit(world.parent, RLIMIT_AS, &little, NULL), 0);
    pid_t sender = fork();
    if (sender == 0) {
        world_send(&world, &p);
        _exit(0);
    }
    assert_true(world_quiet(&world, 300));
    assert_int_equal(waitpid(world.parent, NULL, WNOHANG), 0);
    assert_int_equal(prlimit(world.parent, RLIMIT_AS, &had, NULL), 0);
    assert_int_equal(world_wait(&world, NOTE_EXITED).status, 0);
    assert_int_equal(waitpid(sender, NULL, 0), sender);
    assert_string_equal(world_output(&world), "begun\n");
    free(arg);
}

/* The kernel takes -1 for "as it is", which is root; what is longer than a number of a user's would
 * be another's. */
static void test_nobody_runs_as_who_is_no_user(void **state)
{
    static const int64_t none[] = {UINT32_MAX, -1, INT64_C(1) << 32};
    (void)state;
    if (geteuid() != 0)
        skip();
    for (size_t i = 0; i < 2 * ARRAY_LEN(none); i++) {
        struct step_plan p = plan_as_nobody(1 + (int64_t)i, "echo ran");
        if (i % 2)
            p.uid = none[i / 2];
        else
            p.gid = none[i / 2];
        world_send(&world, &p);
        struct note n = world_note(&world);
        while (n.kind != NOTE_EXITED && n.kind != NOTE_FAILED)
            n = world_note(&world);
        assert_true(n.kind == NOTE_FAILED || n.status != 0);
        assert_null(strstr(world_output(&world), "ran"));
    }
}

int main(void)
{
    setenv("REMUDA_TEST_SECRET", "parent-env-4711", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_of_the_shepherds_is_open, setup, teardown),
        cmocka_unit_test_setup_teardown(test_its_owner_may_not_look_into_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nor_while_its_login_shell_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_of_others_is_in_its_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limits_of_a_job_stay_below_the_nodes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nobody_runs_as_who_is_no_user, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_step_is_its_owner_and_nothing_besides, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_name_is_no_word, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_plan_waits_for_room, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_plan_that_is_too_long_is_passed_over, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
