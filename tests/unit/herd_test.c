/* Which steps count as asked for and never begun, when it is known that none begins any more. */
#include "unit.h"

#include "base/alloc.h"
#include "io/files.h"
#include "node/daemon/herd.h"
#include "node/daemon/herd_waits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    char dir[64];
    struct loop *loop;
    struct log *log;
    struct herd_link *herd;
    size_t gone;
} w;

static void note_take(void *ctx, const struct note *n)
{
    (void)ctx;
    w.gone += n->kind == NOTE_GONE;
}

static int setup(void **state)
{
    static const struct herd_ops ops = {.note = note_take};
    struct err err = {0};
    char path[96];
    (void)state;
    memset(&w, 0, sizeof w);
    strcpy(w.dir, "/tmp/herd-test-XXXXXX");
    assert_non_null(mkdtemp(w.dir));
    snprintf(path, sizeof path, "%s/log", w.dir);
    w.loop = loop_new(&err);
    w.log = log_open(path, LOG_IS_INFO, &err);
    w.herd = herd_new(w.loop, w.log, w.dir, "/bin/true", "", &ops, NULL, &err);
    assert_non_null(w.herd);
    return 0;
}

static int teardown(void **state)
{
    struct str command = STR_INIT;
    (void)state;
    herd_free(w.herd);
    log_close(w.log);
    loop_free(w.loop);
    str_addf(&command, "rm -r %s", w.dir);
    assert_int_equal(system(str_text(&command)), 0);
    str_done(&command);
    return 0;
}

static size_t gone_after_look(int64_t job_id, bool must_have_begun)
{
    const struct note step = {.job_id = job_id, .attempt = 1, .step_id = 0};
    w.gone = 0;
    herd_look_after(w.herd, &step, must_have_begun);
    return w.gone;
}

static void what_has_no_directory_never_began(void **state)
{
    (void)state;
    assert_int_equal(gone_after_look(5, false), 0);
    assert_int_equal(gone_after_look(5, true), 1);
}

/* A step whose owner was still looked up when the shepherds' parent died was taken for one that
 * would never begin, started elsewhere, and begun here, too. */
static void whose_plan_is_still_made_will_begin(void **state)
{
    const struct note step = {.job_id = 5, .attempt = 1, .step_id = 0};
    (void)state;
    herd_expect(w.herd, &step);
    assert_int_equal(gone_after_look(5, true), 0);
    assert_int_equal(gone_after_look(6, true), 1);
    herd_gave_up(w.herd, &step);
    assert_int_equal(gone_after_look(5, true), 1);
}

/* There is no parent: the plan waits for one. */
static void whose_plan_waits_for_a_parent_will_begin(void **state)
{
    const struct note step = {.job_id = 5, .attempt = 1, .step_id = 0};
    const struct step_plan plan = {.job_id = 5, .attempt = 1, .step_id = 0, .dir_name = "5.1.0"};
    (void)state;
    herd_expect(w.herd, &step);
    herd_start(w.herd, &plan);
    assert_int_equal(gone_after_look(5, true), 0);
}

/* As many as a user's sruns may be that waited for their prolog: all begin at once. Each took a walk
 * over all and moved all; of these many that would be the minutes of a test's limit. */
static void many_that_begin_at_once_are_not_walked_for_each(void **state)
{
    const int n = 100000;
    struct note step = {.job_id = 5, .attempt = 1};
    struct step_plan plan = {.job_id = 5, .attempt = 1, .dir_name = "n"};
    (void)state;
    for (step.step_id = 0; step.step_id < n; step.step_id++)
        herd_expect(w.herd, &step);
    for (step.step_id = 0; step.step_id < n / 2; step.step_id++)
        herd_gave_up(w.herd, &step);
    for (plan.step_id = n / 2; plan.step_id < n; plan.step_id++) /* there is no parent */
        herd_start(w.herd, &plan);
    for (step.step_id = n / 2; step.step_id < n; step.step_id++) {
        herd_gave_up(w.herd, &step); /* its plan is made: it will begin */
        herd_look_after(w.herd, &step, true);
    }
    assert_int_equal(w.gone, 0);
    step.step_id = 0;
    herd_look_after(w.herd, &step, true);
    assert_int_equal(w.gone, 1);
}

/* ---- a parent that is slow ---- */

static void loop_end(void *ctx)
{
    (void)ctx;
    loop_stop(w.loop);
}

static void slow_parent_begin(void)
{
    static const struct herd_ops ops = {.note = note_take};
    struct err err = {0};
    char path[96];
    snprintf(path, sizeof path, "%s/slow", w.dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("#!/bin/sh\nexec sleep 5\n", f);
    fclose(f);
    assert_int_equal(chmod(path, 0755), 0);
    herd_free(w.herd);
    w.herd = herd_new(w.loop, w.log, w.dir, path, "", &ops, NULL, &err);
    assert_non_null(w.herd);
    assert_true(herd_serve_plans(w.herd, &err));
}

/* A handful of large plans that one user has started at once, while the parent waits for room to
 * fork, made the daemon break with it: it ended, and so did what others had started meanwhile. */
static void large_plans_are_no_reason_to_end_the_parent(void **state)
{
    (void)state;
    const size_t len = 30u << 20;
    char *script = calloc(1, len);
    struct step_plan plan = {.attempt = 1, .dir_name = "n", .script = {script, len}};
    assert_non_null(script);
    slow_parent_begin();
    for (plan.job_id = 1; plan.job_id <= 5; plan.job_id++)
        herd_start(w.herd, &plan);
    struct timer *timer = timer_new(w.loop, loop_end, NULL);
    timer_set(timer, 100000);
    loop_run(w.loop);
    timer_free(timer);
    const struct step_plan next = {.job_id = 7, .attempt = 1, .dir_name = "7.1.0"};
    herd_start(w.herd, &next);
    assert_int_equal(gone_after_look(7, true), 1); /* sent: it waits for no other parent */
    free(script);
}

/* ---- no descriptor left ---- */

/* In the place of the shepherd of step 5.1.0, which it is until it gets a command; `ready`: it
 * is. */
static pid_t shepherd_start(void)
{
    char path[128];
    int ready[2];
    snprintf(path, sizeof path, "%s/steps/5.1.0", w.dir);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t command;
        int signo;
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        sigemptyset(&command);
        sigaddset(&command, COMMAND_SIGNAL);
        sigprocmask(SIG_BLOCK, &command, NULL);
        snprintf(path, sizeof path, "%s/steps/5.1.0/state", w.dir);
        int fd = open(path, O_RDWR | O_CREAT, 0600);
        if (fd < 0 || fcntl(fd, F_SETLK, &lock) != 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        alarm(60);
        _exit(sigwait(&command, &signo) != 0);
    }
    assert_int_equal(read(ready[0], path, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static int fill[1024];
static size_t nfill;
static struct rlimit before;

static void descriptors_take(void)
{
    int fd;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){512, before.rlim_max}), 0);
    for (nfill = 0; nfill < ARRAY_LEN(fill) && (fd = open("/dev/null", O_RDONLY)) >= 0;)
        fill[nfill++] = fd;
}

static void descriptors_give(void)
{
    while (nfill > 0)
        close(fill[--nfill]);
    setrlimit(RLIMIT_NOFILE, &before);
}

static pid_t awaited;
static int awaited_status;

static void ended_look(void *ctx)
{
    struct timer **timer = ctx;
    if (waitpid(awaited, &awaited_status, WNOHANG) == awaited)
        loop_stop(w.loop);
    else
        timer_set(*timer, 20000);
}

/* Runs the loop until the shepherd has ended. */
static int end_await(pid_t pid)
{
    struct timer *timer;
    awaited = pid;
    timer = timer_new(w.loop, ended_look, &timer);
    timer_set(timer, 20000);
    loop_run(w.loop);
    timer_free(timer);
    return awaited_status;
}

/* It was taken for gone: its job failed, and what ran of it was ended. */
static void who_cannot_be_looked_at_is_not_gone(void **state)
{
    const struct step_command usr1 = {.op = COMMAND_KILL, .signal = SIGUSR1};
    (void)state;
    pid_t pid = shepherd_start();
    const struct note step = {.job_id = 5, .attempt = 1, .step_id = 0, .pid = pid};
    descriptors_take();
    size_t gone = gone_after_look(5, true);
    bool told = herd_command(w.herd, &step, &usr1, NULL);
    gone += w.gone;
    descriptors_give();
    assert_int_equal(gone, 0);
    assert_false(told);
    assert_int_equal(end_await(pid), 0); /* the command came */
    assert_int_equal(gone_after_look(5, true), 1);
}

/* ---- one step's commands ---- */

static size_t again[3]; /* of a job's step 0: what it tells, what it follows, its signals */

static void again_count(void *ctx, const struct retry *r)
{
    (void)ctx;
    assert_int_equal(r->is_command, r->step.step_id == 0);
    again[r->command.op == COMMAND_TELL ? 0 : r->command.op == COMMAND_FOLLOW ? 1 : 2] += 1;
}

/* One user's words to his own step, of which one goes out each half second, took the room in which
 * everybody's signals wait. */
static void ones_words_leave_room_for_others(void **state)
{
    (void)state;
    struct retries *r = retries_new(w.loop, again_count, NULL);
    struct retry one = {.step = {.job_id = 5, .attempt = 1}, .is_command = true, .text = "word"};
    for (int i = 0; i < 10000; i++) {
        one.command.op = i % 3 ? COMMAND_TELL : COMMAND_FOLLOW;
        assert_true(retries_add(r, &one));
    }
    one.step.job_id = 6; /* another's have room, and what is no word of the same step */
    for (int i = 0; i < 16; i++)
        assert_true(retries_add(r, &one));
    /* In however many steps of his. */
    for (one.step.job_id = 10000; one.step.job_id < 10126; one.step.job_id++)
        for (int i = 0; i < 16; i++)
            assert_true(retries_add(r, &one));
    /* Then another's has its first, and signals have room beside all firsts. */
    for (one.step.job_id = 20000; one.step.job_id < 22000; one.step.job_id++)
        for (int i = 0; i < 2; i++)
            assert_true(retries_add(r, &one));
    one.command.op = COMMAND_KILL;
    for (one.step.job_id = 5; one.step.job_id < 1005; one.step.job_id++)
        assert_true(retries_add(r, &one));
    one.step.job_id = 5;
    for (int i = 0; i < 20; i++)
        assert_true(retries_add(r, &one));
    const struct retry look = {.step = {.job_id = 5, .attempt = 1, .step_id = 1}};
    assert_true(retries_add(r, &look));
    struct timer *timer = timer_new(w.loop, loop_end, NULL);
    timer_set(timer, 700000);
    memset(again, 0, sizeof again);
    loop_run(w.loop);
    timer_free(timer);
    retries_free(r);
    assert_int_equal(again[0] + again[1], 2048 + 1024);
    assert_int_equal(again[2], 1000 + 20 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_has_no_directory_never_began, setup, teardown),
        cmocka_unit_test_setup_teardown(whose_plan_is_still_made_will_begin, setup, teardown),
        cmocka_unit_test_setup_teardown(whose_plan_waits_for_a_parent_will_begin, setup, teardown),
        cmocka_unit_test_setup_teardown(many_that_begin_at_once_are_not_walked_for_each, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(large_plans_are_no_reason_to_end_the_parent, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(who_cannot_be_looked_at_is_not_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(ones_words_leave_room_for_others, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
