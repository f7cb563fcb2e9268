/* Files, directories, the log, users, the pid file and becoming a daemon. */
#include "io_help.h"

#include "base/room.h"
#include "io/log.h"
#include "io/process/daemon.h"
#include "io/users.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char *in_dir(struct world *w, const char *name)
{
    return arena_printf(w->arena, "%s/%s", w->dir, name);
}

static void a_file_is_replaced_whole(void **state)
{
    struct world *w = *state;
    const char *path = in_dir(w, "f");
    struct stat st;
    assert_true(file_write_atomic(path, "one", 3, 0600, NULL));
    assert_true(file_write_atomic(path, "second", 6, 0640, NULL));
    assert_string_equal(file_read_text(path, 100, w->arena, NULL), "second");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    const char **names;
    size_t n;
    assert_true(dir_list(w->dir, w->arena, &names, &n, NULL));
    assert_int_equal(n, 1);
}

/* As one leaves it that is killed before it is whole. */
static void what_was_left_half_written_is_used_again(void **state)
{
    struct world *w = *state;
    const char *path = in_dir(w, "f"), **names;
    size_t n;
    FILE *half = fopen(in_dir(w, "f.new"), "we");
    fputs("longer than what comes", half);
    fclose(half);
    assert_true(file_write_atomic(path, "one", 3, 0600, NULL));
    assert_string_equal(file_read_text(path, 100, w->arena, NULL), "one");
    assert_true(dir_list(w->dir, w->arena, &names, &n, NULL));
    assert_int_equal(n, 1);
    assert_int_equal(symlink("elsewhere", in_dir(w, "f.new")), 0);
    assert_false(file_write_atomic(path, "two", 3, 0600, NULL));
}

static void errors_name_the_file_and_its_trouble(void **state)
{
    struct world *w = *state;
    struct err err = {0};
    assert_null(file_read_text(in_dir(w, "none"), 100, w->arena, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "/none"));
    assert_true(file_write_atomic(in_dir(w, "f"), "12345", 5, 0600, NULL));
    assert_null(file_read_text(in_dir(w, "f"), 4, w->arena, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_false(dir_make(in_dir(w, "f/sub"), 0700, &err));
    assert_false(file_write_atomic(in_dir(w, "no/f"), "", 0, 0600, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void directories_are_made_and_removed(void **state)
{
    struct world *w = *state;
    struct stat st;
    const char *outside = in_dir(w, "outside");
    assert_true(dir_make(in_dir(w, "a/b//c/"), 0700, NULL));
    assert_true(dir_make(in_dir(w, "a/b/c"), 0700, NULL));
    assert_true(file_write_atomic(in_dir(w, "a/b/f"), "x", 1, 0600, NULL));
    assert_true(file_write_atomic(outside, "x", 1, 0600, NULL));
    assert_int_equal(symlink(w->dir, in_dir(w, "a/loop")), 0);
    assert_true(dir_remove(in_dir(w, "a"), NULL));
    assert_int_equal(stat(in_dir(w, "a"), &st), -1);
    assert_int_equal(stat(outside, &st), 0);
    assert_true(dir_remove(in_dir(w, "a"), NULL));
}

/* ---- log
 * ---------------------------------------------------------------------------------- */

static void the_log_has_one_line_a_message(void **state)
{
    struct world *w = *state;
    const char *path = in_dir(w, "log");
    struct log *l = log_open(path, LOG_IS_INFO, NULL);
    log_error(l, "bad: %s", "a\nb\x1b");
    log_debug(l, "not shown");
    log_set_level(l, LOG_IS_DEBUG);
    log_debug(l, "shown");
    const char *text = file_read_text(path, 1000, w->arena, NULL);
    assert_non_null(strstr(text, " error: bad: a\\nb\\x1b\n"));
    assert_null(strstr(text, "not shown"));
    assert_non_null(strstr(text, " debug: shown\n"));
    assert_int_equal(rename(path, in_dir(w, "log.1")), 0);
    log_info(l, "to the old one");
    assert_true(log_reopen(l, NULL));
    log_info(l, "to the new one");
    text = file_read_text(path, 1000, w->arena, NULL);
    assert_null(strstr(text, "old"));
    assert_non_null(strstr(text, " to the new one\n"));
    log_close(l);
}

/* A limit on the size of files stands for a full disk. */
static void a_log_without_room_goes_on_and_says_what_is_missing(void **state)
{
    struct world *w = *state;
    const char *path = in_dir(w, "log");
    struct rlimit before, full;
    struct log *l = log_open(path, LOG_IS_INFO, NULL);
    log_info(l, "first");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    full = (struct rlimit){40, before.rlim_max}; /* in the middle of the second line */
    setrlimit(RLIMIT_FSIZE, &full);
    log_info(l, "cut");
    log_info(l, "lost");
    setrlimit(RLIMIT_FSIZE, &before);
    log_info(l, "again");
    log_info(l, "last");
    const char *text = file_read_text(path, 1000, w->arena, NULL);
    assert_null(strstr(text, "lost"));
    const char *missing =
        strstr(text, " warning: 2 lines are missing here: there was no room for them\n");
    assert_non_null(missing);
    assert_true(strstr(text, " again\n") > missing);
    assert_ptr_equal(strstr(missing + 1, "missing"), strstr(missing, "missing"));
    log_close(l);
}

static void what_has_no_room_is_said_with_the_room_there_is(void **state)
{
    struct world *w = *state;
    struct rlimit before, full;
    struct err err = {0};
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    full = (struct rlimit){1, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &full);
    assert_false(file_write_atomic(in_dir(w, "f"), "longer", 6, 0600, &err));
    setrlimit(RLIMIT_FSIZE, &before);
    assert_non_null(strstr(err.text, "/f: File too large; "));
    assert_non_null(strstr(err.text, " are free there"));
}

static void room_in_words(void **state)
{
    (void)state;
    struct str text = STR_INIT;
    room_add(&text, 0, 8 << 20, 5, 10);
    assert_string_equal(str_text(&text), "0 KiB of 8 MiB are free there");
    str_clear(&text);
    room_add(&text, 12345678, UINT64_C(3) << 40, 0, 10);
    assert_string_equal(str_text(&text),
                        "11.8 MiB of 3 TiB are free there, but no more files can be made");
    str_clear(&text);
    room_add(&text, UINT64_C(100) << 30, UINT64_C(200) << 30, 0, 0);
    assert_string_equal(str_text(&text), "100.0 GiB of 200.0 GiB are free there, so a quota or a "
                                         "limit on the size of files is in the way");
    str_done(&text);
}

/* ---- users
 * -------------------------------------------------------------------------------- */

static void users_are_asked_once_and_cached(void **state)
{
    struct world *w = *state;
    struct users *u = users_new(w->loop, USEC_PER_HOUR);
    assert_null(users_cached(u, 0, 0));
    users_ask(u, 0, 0, world_stop, w);
    loop_run(w->loop);
    const struct user *root = users_cached(u, 0, 0);
    assert_string_equal(root->name, "root");
    assert_string_equal(root->group, "root");
    assert_true(text_starts(root->groups, "root"));
    users_ask(u, 999999, 5, world_stop, w);
    loop_run(w->loop);
    const struct user *nobody = users_cached(u, 999999, 5);
    assert_null(nobody->name);
    assert_int_equal(nobody->gid, 5);
    users_flush(u);
    assert_non_null(users_cached(u, 0, 0));
    users_free(u); /* with lookups under way */
}

static void never_called(void *ctx)
{
    (void)ctx;
    fail_msg("was taken back");
}

static void a_question_can_be_taken_back(void **state)
{
    struct world *w = *state;
    struct users *u = users_new(w->loop, USEC_PER_HOUR);
    int a = 0;
    users_ask(u, 0, 0, never_called, &a);
    users_ask(u, 0, 0, world_stop, w);
    users_cancel(u, 0, 0, &a);
    loop_run(w->loop);
    users_free(u);
}

/* ---- being a daemon
 * ----------------------------------------------------------------------- */

/* In a child: is the pid file held by another? */
static int second_take(const char *path)
{
    pid_t child = fork();
    if (child == 0) {
        struct pid_file f;
        struct err err = {0};
        bool ok = pid_file_lock(&f, path, &err);
        _exit(ok                                                                      ? 1
              : err.code == ERR_EXISTS && strstr(err.text, "runs already as process") ? 0
                                                                                      : 2);
    }
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

/* In a child: what is said to the second who asks for the directory, too. */
static int second_dir_take(const char *path, const char *said)
{
    pid_t child = fork();
    if (child == 0) {
        struct pid_file f;
        struct err err = {0};
        bool ok = pid_file_lock_dir(&f, path, &err);
        _exit(ok ? 1 : err.code == ERR_EXISTS && strstr(err.text, said) ? 0 : 2);
    }
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

/* As what cleans up temporary directories does it. */
static void a_pid_file_that_is_removed_lets_nobody_in(void **state)
{
    struct world *w = *state;
    const char *path = in_dir(w, "pid");
    struct pid_file f;
    assert_true(pid_file_lock_dir(&f, path, NULL));
    assert_int_equal(second_dir_take(path, "runs already as process"), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(second_dir_take(path, "was removed while its process runs"), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_true(pid_file_keep(&f, NULL));
    assert_false(pid_file_keep(&f, NULL)); /* it is there */
    assert_int_equal(second_dir_take(path, "runs already as process"), 0);
    assert_int_equal(second_take(path), 0); /* who asks for the file alone, too */
    assert_false(pid_file_dir_gone(&f));
    pid_file_drop(&f);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(second_dir_take(path, ""), 1);
}

/* A process of another user's that locks what it can open, until it is ended. NULL: a directory is
 * locked alone. -1: this test is not root's. */
static pid_t stranger_locks(const char *dir, const char *file)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = geteuid() == 0 ? fork() : -1;
    if (pid == 0) {
        struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
        bool ok = setresuid(65534, 65534, 65534) == 0;
        int d = ok ? open(dir, O_RDONLY | O_DIRECTORY) : -1, f = file ? open(file, O_RDONLY) : -1;
        ok = ok && flock(d, LOCK_EX | LOCK_NB) == 0 &&
             (!file || (flock(f, LOCK_EX | LOCK_NB) == 0 && fcntl(f, F_SETLK, &lock) == 0));
        alarm(15); /* if the test does not end it */
        if (write(ends[1], ok ? "y" : "n", 1) == 1 && ok)
            pause();
        _exit(0);
    }
    close(ends[1]);
    if (pid > 0) {
        assert_int_equal(read(ends[0], &byte, 1), 1);
        assert_int_equal(byte, 'y');
    }
    close(ends[0]);
    return pid;
}

static int descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) != -1;
    return n;
}

/* Who may read a file or a directory may lock it. */
static void locks_of_others_keep_nobody_from_starting(void **state)
{
    struct world *w = *state;
    const char *path = in_dir(w, "pid");
    struct pid_file f;
    assert_int_equal(chmod(w->dir, 0755), 0);
    assert_true(file_write_atomic(path, "1\n", 2, 0644, NULL)); /* of a daemon that was killed */
    pid_t pid = stranger_locks(w->dir, path);
    if (pid < 0)
        skip();
    int open_before = descriptors();
    assert_true(pid_file_lock_dir(&f, path, NULL));
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0); /* not only when it had ended */
    assert_int_equal(second_dir_take(path, "runs already as process"), 0);
    assert_int_equal(second_take(path), 0);
    pid_file_drop(&f);
    assert_true(pid_file_lock(&f, path, NULL));
    pid_file_drop(&f);
    assert_int_equal(descriptors(), open_before);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* It left the lock to a child and ended; the child is another's, too. */
static void a_lock_of_who_has_ended_counts_for_nobody(void **state)
{
    struct world *w = *state;
    const char *path = in_dir(w, "pid");
    int ends[2];
    char byte;
    struct pid_file f;
    assert_int_equal(chmod(w->dir, 0755), 0);
    assert_int_equal(pipe(ends), 0);
    if (geteuid() != 0)
        skip();
    pid_t pid = fork();
    if (pid == 0) {
        int d = setresuid(65534, 65534, 65534) == 0 ? open(w->dir, O_RDONLY | O_DIRECTORY) : -1;
        if (flock(d, LOCK_EX | LOCK_NB) != 0 || fork() != 0)
            _exit(0);
        close(ends[0]);
        byte = (char)(write(ends[1], "y", 1) == 1 ? 'y' : 'n');
        alarm(3);
        for (;;)
            pause();
    }
    waitpid(pid, NULL, 0);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    assert_true(pid_file_lock_dir(&f, path, NULL));
    pid_file_drop(&f);
}

/* The file that will replace another: nobody else can open it before it is whole, and what a
 * process left that died then, and others may have locked, keeps nobody. */
static void a_file_that_others_lock_is_replaced(void **state)
{
    struct world *w = *state;
    const char *path = in_dir(w, "x"), *early = in_dir(w, "x.new");
    struct stat st;
    assert_int_equal(chmod(w->dir, 0755), 0);
    assert_true(file_write_atomic(early, "left", 4, 0644, NULL));
    pid_t pid = stranger_locks(w->dir, early);
    if (pid < 0)
        skip();
    assert_true(file_write_atomic(path, "new", 3, 0644, NULL));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_string_equal(file_read_text(path, 100, w->arena, NULL), "new");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
}

static void the_pid_file_is_a_lock(void **state)
{
    struct world *w = *state;
    const char *path = in_dir(w, "pid");
    struct pid_file f;
    assert_true(pid_file_lock(&f, path, NULL));
    assert_int_equal(atoi(file_read_text(in_dir(w, "pid"), 100, w->arena, NULL)), getpid());
    /* reading it here let go of the lock, as the contract says: take it again */
    pid_file_drop(&f);
    assert_true(pid_file_lock(&f, path, NULL));
    assert_int_equal(second_take(path), 0);
    pid_file_drop(&f);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(second_take(path), 1);
}

/* Runs daemon(path) in a child that detaches; returns the exit status of the first process. */
static int first_process(void (*body)(int ready, const char *path), const char *path)
{
    pid_t child = fork();
    if (child == 0) {
        int ready;
        if (!daemon_detach(&ready, NULL))
            _exit(99);
        body(ready, path);
        _exit(5);
    }
    int status;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
}

static void daemon_that_works(int ready, const char *path)
{
    char text[64];
    int n = snprintf(text, sizeof text, "%d %d", (int)getpid(), (int)getsid(0));
    file_write_atomic(path, text, (size_t)n, 0600, NULL);
    daemon_ready(ready);
    _exit(0);
}

static void daemon_that_fails(int ready, const char *path)
{
    (void)ready, (void)path;
    _exit(3);
}

static void the_first_process_tells_how_the_start_went(void **state)
{
    struct world *w = *state;
    int pid = 0, sid = 1;
    assert_int_equal(first_process(daemon_that_works, in_dir(w, "ids")), 0);
    assert_int_equal(
        sscanf(file_read_text(in_dir(w, "ids"), 100, w->arena, NULL), "%d %d", &pid, &sid), 2);
    assert_int_equal(pid, sid);
    assert_int_equal(first_process(daemon_that_fails, ""), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_replaced_whole),
        TEST(what_was_left_half_written_is_used_again),
        TEST(errors_name_the_file_and_its_trouble),
        TEST(directories_are_made_and_removed),
        TEST(the_log_has_one_line_a_message),
        TEST(a_log_without_room_goes_on_and_says_what_is_missing),
        TEST(what_has_no_room_is_said_with_the_room_there_is),
        TEST(room_in_words),
        TEST(users_are_asked_once_and_cached),
        TEST(a_question_can_be_taken_back),
        TEST(the_pid_file_is_a_lock),
        TEST(a_pid_file_that_is_removed_lets_nobody_in),
        TEST(locks_of_others_keep_nobody_from_starting),
        TEST(a_lock_of_who_has_ended_counts_for_nobody),
        TEST(a_file_that_others_lock_is_replaced),
        TEST(the_first_process_tells_how_the_start_went),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
