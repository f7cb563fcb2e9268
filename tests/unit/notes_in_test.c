/* Who is heard at the shepherds' socket: processes of the daemon's own user, each by the process id
 * that the kernel gives. */
#include "scratch.h"

#include "base/str.h"
#include "io/log.h"
#include "io/loop.h"
#include "node/daemon/notes_in.h"
#include "node/step/notes_socket.h"

#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    char dir[64];
    int steps;
    struct loop *loop;
    struct log *log;
    struct notes_in *in;
    struct timer *patience;
    struct str heard; /* "LINE by=PID;" for each */
} w;

static void line_take(void *ctx, struct span line, pid_t writer)
{
    (void)ctx;
    str_addf(&w.heard, "%.*s by=%ld;", (int)line.len, line.data, (long)writer);
    if (span_is(line, "last"))
        loop_stop(w.loop);
}

static void patience_over(void *ctx)
{
    (void)ctx;
    str_add(&w.heard, "nothing more");
    loop_stop(w.loop);
}

static int setup(void **state)
{
    (void)state;
    struct err err = {0};
    char path[96];
    memset(&w, 0, sizeof w);
    scratch_make(w.dir, sizeof w.dir, "notes");
    snprintf(path, sizeof path, "%s/steps", w.dir);
    assert_int_equal(mkdir(path, 0755), 0);
    w.steps = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof path, "%s/shepherds.fifo", w.dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    w.loop = loop_new(&err);
    snprintf(path, sizeof path, "%s/log", w.dir);
    w.log = log_open(path, LOG_IS_INFO, &err);
    w.in = notes_in_new(w.loop, w.log, w.steps, line_take, NULL, &err);
    assert_non_null(w.in);
    w.patience = timer_new(w.loop, patience_over, NULL);
    timer_set(w.patience, 10000000);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    timer_free(w.patience);
    notes_in_free(w.in);
    log_close(w.log);
    loop_free(w.loop);
    close(w.steps);
    str_done(&w.heard);
    return scratch_remove(w.dir);
}

/* A process that writes those texts, one after another, on a descriptor that it inherited; as
 * another user if so. Returns its id. */
static pid_t writes(int fd, uid_t uid, const char *const *texts)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        if (uid != geteuid() && (setgroups(0, NULL) != 0 || setresuid(uid, uid, uid) != 0))
            _exit(1);
        for (; *texts; texts++)
            if (write(fd, *texts, strlen(*texts)) < 0)
                _exit(2);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return pid;
}

static void test_each_line_has_its_writer(void **state)
{
    (void)state;
    char expected[128];
    int fd = notes_connect(w.steps);
    assert_true(fd >= 0);
    pid_t a = writes(fd, geteuid(), (const char *const[]){"one\n", "two\n", NULL});
    pid_t b = writes(fd, geteuid(), (const char *const[]){"last\n", NULL});
    loop_run(w.loop);
    snprintf(expected, sizeof expected, "one by=%ld;two by=%ld;last by=%ld;", (long)a, (long)a,
             (long)b);
    assert_string_equal(str_text(&w.heard), expected);
    close(fd);
}

/* The descriptor was a shepherd's; who writes is what counts. Shepherds go on by a connection of
 * their own. */
static void test_another_user_is_not_heard(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    char expected[64];
    int fd = notes_connect(w.steps), other = notes_connect(w.steps);
    writes(fd, 65534, (const char *const[]){"a lie\n", "another\n", NULL});
    pid_t b = writes(other, 0, (const char *const[]){"last\n", NULL});
    loop_run(w.loop);
    snprintf(expected, sizeof expected, "last by=%ld;", (long)b);
    assert_string_equal(str_text(&w.heard), expected);
    close(fd);
    close(other);
}

static void test_another_user_cannot_connect(void **state)
{
    (void)state;
    int status;
    if (geteuid() != 0)
        skip();
    chmod(w.dir, 0755);
    pid_t pid = fork();
    if (pid == 0)
        _exit(setgroups(0, NULL) == 0 && setresuid(65534, 65534, 65534) == 0 &&
                      notes_connect(w.steps) < 0
                  ? 0
                  : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Shepherds of an earlier release have a named pipe, which says nothing of its writers. */
static void test_the_old_pipe_has_no_writer(void **state)
{
    (void)state;
    int fd = openat(w.steps, "../shepherds.fifo", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    writes(fd, geteuid(), (const char *const[]){"old\n", "last\n", NULL});
    loop_run(w.loop);
    assert_string_equal(str_text(&w.heard), "old by=0;last by=0;");
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_line_has_its_writer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_user_is_not_heard, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_user_cannot_connect, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_old_pipe_has_no_writer, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
