#include "scratch.h"

#include "base/alloc.h"
#include "model/job/job.h"
#include "node/step/command.h"
#include "node/step/dir.h"
#include "node/step/spare_dirs.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64];
static int steps;

static int setup(void **state)
{
    scratch_make(dir, sizeof dir, "step-dir");
    steps = open(dir, O_RDONLY | O_DIRECTORY);
    assert_true(steps >= 0);
    return 0;
}

static int teardown(void **state)
{
    close(steps);
    return scratch_remove(dir);
}

static struct step_plan plan_of(const char *name, const char *spare, const char *script)
{
    return (struct step_plan){.job_id = 7,
                              .attempt = 1,
                              .step_id = STEP_BATCH,
                              .dir_name = name,
                              .spare_dir = spare,
                              .uid = getuid(),
                              .gid = getgid(),
                              .script = {script, strlen(script)}};
}

static int make(const char *name, const char *spare, const char *script,
                enum step_dir_result expected)
{
    struct step_plan p = plan_of(name, spare, script);
    struct note first = {.kind = NOTE_STARTED, .job_id = 7, .attempt = 1, .step_id = STEP_BATCH};
    int state;
    assert_int_equal(step_dir_make(steps, &p, &first, &state), expected);
    return state;
}

static const char *text_of(const char *path)
{
    static struct str text;
    str_clear(&text);
    assert_true(small_file_read(steps, path, 4096, &text));
    return str_text(&text);
}

static ino_t inode_of(const char *path)
{
    struct stat st;
    return fstatat(steps, path, &st, 0) == 0 ? st.st_ino : 0;
}

static void note_count(void *ctx, const struct note *n)
{
    ++*(int *)ctx;
}

static int notes_of(const char *name)
{
    int n = 0;
    step_dir_notes(steps, name, note_count, &n);
    return n;
}

static size_t names(void)
{
    size_t n = 0;
    struct dirent *e;
    DIR *d = opendir(dir);
    while ((e = readdir(d)))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

static void test_a_directory_serves_again(void **state)
{
    struct spare_dirs spares = {.last = 0};
    char spare[SPARE_DIRS_NAME_BYTES];
    close(make("7.1.batch", NULL, "#!/bin/sh\nthe first and longer one\n", STEP_DIR_MADE));
    assert_true(small_file_write(steps, "7.1.batch/why", "w", 1, 0600));
    assert_true(small_file_write(steps, "7.1.batch/tell", "t", 1, 0600));
    ino_t script = inode_of("7.1.batch/slurm_script"), its_state = inode_of("7.1.batch/state");
    spare_dirs_put(&spares, steps, "7.1.batch", SPARE_OF_SCRIPT);
    assert_int_equal(inode_of("7.1.batch"), 0);
    assert_false(spare_dirs_take(&spares, SPARE_OF_TASKS, spare));
    assert_true(spare_dirs_take(&spares, SPARE_OF_SCRIPT, spare));
    assert_false(spare_dirs_take(&spares, SPARE_OF_SCRIPT, spare));
    close(make("8.1.batch", spare, "#!/bin/sh\n", STEP_DIR_MADE));
    assert_string_equal(text_of("8.1.batch/slurm_script"), "#!/bin/sh\n");
    assert_int_equal(inode_of("8.1.batch/slurm_script"), script);
    assert_int_equal(inode_of("8.1.batch/state"), its_state);
    assert_int_equal(notes_of("8.1.batch"), 1);
    assert_int_equal(inode_of("8.1.batch/why") + inode_of("8.1.batch/tell"), 0);
    assert_int_equal(names(), 1);
}

static void test_the_notes_of_each_step_are_its_own(void **state)
{
    char name[32];
    size_t longest = 0;
    close(make("0.1.batch", NULL, "x\n", STEP_DIR_MADE));
    for (int i = 1; i <= 100; i++) {
        snprintf(name, sizeof name, "%d.1.batch", i - 1);
        assert_true(step_dir_retire(steps, name, ".s1"));
        snprintf(name, sizeof name, "%d.1.batch", i);
        int fd = make(name, ".s1", i % 2 ? "xyz\n" : "x\n", STEP_DIR_MADE);
        assert_int_equal(notes_of(name), 1);
        step_dir_note(fd, &(struct note){.kind = NOTE_EXITED, .job_id = i});
        close(fd);
        assert_int_equal(notes_of(name), 2);
        snprintf(name, sizeof name, "%d.1.batch/state", i);
        longest = strlen(text_of(name)) > longest ? strlen(text_of(name)) : longest;
        snprintf(name, sizeof name, "%d.1.batch/slurm_script", i);
        assert_string_equal(text_of(name), i % 2 ? "xyz\n" : "x\n");
    }
    assert_true(longest < 4096);
}

static void note_longest(struct note *n, enum note_kind kind)
{
    n->kind = kind;
#define X(member, doc) n->member = INT64_MIN;
    NOTE_NUMBERS(X)
    NOTE_MORE_NUMBERS(X)
#undef X
    memset(n->detail, 'x', sizeof n->detail - 1);
}

/* A limit on the size of files stands for a disk that is full by now. */
static void test_the_end_is_kept_though_the_disk_is_full(void **state)
{
    int fd = make("7.1.batch", NULL, "x\n", STEP_DIR_MADE);
    struct note note = {.kind = NOTE_STUCK};
    struct rlimit before, full;
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(st.st_blocks * 512 >= st.st_size);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    full = (struct rlimit){(rlim_t)st.st_size, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
    note_longest(&note, NOTE_STUCK);
    for (int i = 0; i < 20; i++)
        step_dir_note(fd, &note);
    int stuck = notes_of("7.1.batch");
    note_longest(&note, NOTE_EXITED);
    step_dir_note(fd, &note);
    note_longest(&note, NOTE_CLEARED);
    step_dir_note(fd, &note);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(notes_of("7.1.batch"), stuck + 2);
    assert_true(stuck > 1);
    close(fd);
}

static void test_a_line_without_an_end_does_not_count(void **state)
{
    int fd = make("7.1.batch", NULL, "x\n", STEP_DIR_MADE);
    struct str line = STR_INIT;
    note_format(&(struct note){.kind = NOTE_EXITED, .job_id = 7, .write_bytes = 12345}, &line);
    for (size_t cut = line.len - 3; cut < line.len; cut++) {
        assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_CUR)), 0);
        assert_int_equal(pwrite(fd, line.data, cut, lseek(fd, 0, SEEK_CUR)), (ssize_t)cut);
        assert_int_equal(notes_of("7.1.batch"), 1);
    }
    str_done(&line);
    close(fd);
}

/* Whoever could have changed the former script, or has another name for it, must not have this
 * one. */
static void test_a_script_that_others_could_have_is_made_anew(void **state)
{
    struct step_plan p = plan_of("9.1.batch", ".s1", "mine\n");
    char there[128], elsewhere[128];
    close(make("7.1.batch", NULL, "theirs\n", STEP_DIR_MADE));
    snprintf(there, sizeof there, "%s/7.1.batch/slurm_script", dir);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", dir);
    assert_int_equal(link(there, elsewhere), 0);
    assert_true(step_dir_retire(steps, "7.1.batch", ".s1"));
    close(make("8.1.batch", ".s1", "mine\n", STEP_DIR_MADE));
    assert_string_equal(text_of("elsewhere"), "theirs\n");
    assert_string_equal(text_of("8.1.batch/slurm_script"), "mine\n");

    assert_int_equal(fchmodat(steps, "8.1.batch/slurm_script", 0770, 0), 0);
    ino_t former = inode_of("8.1.batch/slurm_script");
    int held = openat(steps, "8.1.batch/slurm_script",
                      O_RDONLY); /* so that the number is not given again */
    assert_true(step_dir_retire(steps, "8.1.batch", ".s1"));
    close(make(p.dir_name, p.spare_dir, "mine\n", STEP_DIR_MADE));
    assert_int_not_equal(inode_of("9.1.batch/slurm_script"), former);
    close(held);

    if (geteuid() != 0)
        return;
    assert_int_equal(fchownat(steps, "9.1.batch/slurm_script", 12345, 12345, 0), 0);
    assert_true(step_dir_retire(steps, "9.1.batch", ".s1"));
    close(make("10.1.batch", ".s1", "mine\n", STEP_DIR_MADE));
    struct stat st;
    assert_int_equal(fstatat(steps, "10.1.batch/slurm_script", &st, 0), 0);
    assert_int_equal(st.st_uid, 0);
}

/* The former shepherd is still there (processes that outlive SIGKILL, or it is just about to
 * go). */
static void test_a_directory_whose_shepherd_lives_is_left_alone(void **state)
{
    int ready[2], go[2];
    char c = 0;
    assert_int_equal(pipe(ready) | pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct step_plan p = plan_of("7.1.batch", NULL, "x\n");
        struct note first = {.kind = NOTE_STARTED, .job_id = 7};
        int mine;
        step_dir_make(steps, &p, &first, &mine);
        ssize_t n = write(ready[1], &c, 1) + read(go[0], &c, 1);
        n += write(mine, "more\n", 5);
        _exit(n < 0);
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_true(step_dir_retire(steps, "7.1.batch", ".s1"));
    int mine = make("8.1.batch", ".s1", "y\n", STEP_DIR_MADE);
    assert_int_equal(write(go[1], &c, 1), 1);
    waitpid(pid, NULL, 0);
    assert_null(strstr(text_of("8.1.batch/state"), "more"));
    assert_true(mine >= 0);
    close(mine);
}

/* Waits for the signal that a daemon sends, with what it carries. 1: another came, or none. */
static int command_wait(void)
{
    sigset_t wanted;
    siginfo_t info;
    struct timespec patience = {.tv_sec = 30};
    sigemptyset(&wanted);
    sigaddset(&wanted, COMMAND_SIGNAL);
    return sigtimedwait(&wanted, &info, &patience) == COMMAND_SIGNAL && info.si_code == SI_QUEUE &&
                   info.si_value.sival_int == 77
               ? 0
               : 1;
}

/* Whoever holds the lock is the shepherd, whatever the notes say. */
static void test_a_signal_goes_to_who_holds_the_lock(void **state)
{
    (void)state;
    int ready[2], status;
    char byte;
    sigset_t blocked;
    union sigval value = {.sival_int = 77};
    assert_int_equal(pipe(ready), 0);
    sigemptyset(&blocked);
    sigaddset(&blocked, COMMAND_SIGNAL);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        make("7.1.batch", NULL, "", STEP_DIR_MADE);
        _exit(write(ready[1], "x", 1) == 1 ? command_wait() : 2);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(step_dir_shepherd(steps, "7.1.batch"), pid);
    assert_true(step_dir_signal(steps, "7.1.batch", value));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(step_dir_shepherd(steps, "7.1.batch"), 0);
    assert_false(step_dir_signal(steps, "7.1.batch", value));
    assert_int_equal(errno, ESRCH);
    close(ready[0]);
    close(ready[1]);
}

/* Between two looks of the daemon's: who held the lock ends, and its number is another's. */
static struct {
    pid_t holder, another;
    int holder_goes; /* what it waits for */
} race;

long syscall(long number, ...)
{
    long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long a[4];
    va_list args;
    va_start(args, number);
    for (size_t i = 0; i < 4; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_pidfd_open && race.holder) {
        assert_int_equal(a[0], race.holder);
        assert_int_equal(write(race.holder_goes, "x", 1), 1);
        assert_int_equal(waitpid(race.holder, NULL, 0), race.holder);
        race.holder = 0;
        a[0] = race.another;
    }
    return real(number, a[0], a[1], a[2], a[3]);
}

/* It does not outlive a test that failed. */
static pid_t fork_watched(void)
{
    pid_t pid = fork();
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return pid;
}

/* The number of a process that ended since it was asked for may be anybody's. */
static void test_a_signal_goes_to_nobody_else(void **state)
{
    (void)state;
    int ready[2], holder[2], another[2], status;
    char byte;
    sigset_t blocked, has;
    sigemptyset(&blocked);
    sigaddset(&blocked, COMMAND_SIGNAL);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    assert_int_equal(pipe(ready) | pipe(holder) | pipe(another), 0);
    race.holder_goes = holder[1];
    if ((race.another = fork_watched()) == 0)
        _exit(read(another[0], &byte, 1) != 1 || sigpending(&has) != 0 ||
              sigismember(&has, COMMAND_SIGNAL));
    if ((race.holder = fork_watched()) == 0) {
        make("7.1.batch", NULL, "", STEP_DIR_MADE);
        _exit(write(ready[1], "x", 1) != 1 || read(holder[0], &byte, 1) != 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_false(step_dir_signal(steps, "7.1.batch", (union sigval){.sival_int = 77}));
    assert_int_equal(errno, ESRCH);
    assert_int_equal(race.holder, 0);
    assert_int_equal(write(another[1], "x", 1), 1);
    assert_int_equal(waitpid(race.another, &status, 0), race.another);
    assert_int_equal(status, 0);
}

static void test_a_step_that_has_a_directory_keeps_it(void **state)
{
    close(make("7.1.batch", NULL, "first\n", STEP_DIR_MADE));
    close(make("6.1.batch", NULL, "other\n", STEP_DIR_MADE));
    assert_true(step_dir_retire(steps, "6.1.batch", ".s1"));
    assert_int_equal(make("7.1.batch", ".s1", "second\n", STEP_DIR_TAKEN), -1);
    assert_int_equal(make("7.1.batch", ".s2", "third\n", STEP_DIR_TAKEN),
                     -1); /* a spare that is not there */
    assert_string_equal(text_of("7.1.batch/slurm_script"), "first\n");
    assert_int_equal(names(), 1);
}

static void test_so_many_are_kept_and_all_go(void **state)
{
    struct spare_dirs spares = {.last = 0};
    char name[32];
    for (int i = 0; i < SPARE_DIRS_MAX + 5; i++) {
        snprintf(name, sizeof name, "%d.1.batch", i);
        close(make(name, NULL, "x\n", STEP_DIR_MADE));
    }
    for (int i = 0; i < SPARE_DIRS_MAX + 5; i++) {
        snprintf(name, sizeof name, "%d.1.batch", i);
        spare_dirs_put(&spares, steps, name, SPARE_OF_SCRIPT);
    }
    assert_int_equal(names(), SPARE_DIRS_MAX);
    spare_dirs_done(&spares, steps);
    assert_int_equal(names(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_directory_serves_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_notes_of_each_step_are_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_end_is_kept_though_the_disk_is_full, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_line_without_an_end_does_not_count, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_script_that_others_could_have_is_made_anew, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_directory_whose_shepherd_lives_is_left_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_signal_goes_to_who_holds_the_lock, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_signal_goes_to_nobody_else, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_step_that_has_a_directory_keeps_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_so_many_are_kept_and_all_go, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
