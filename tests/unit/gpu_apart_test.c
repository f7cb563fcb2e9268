/* The process that watches the GPUs, asked by its lines: whether a process of a job, below its
 * shepherd, that has the file of a GPU open keeps that from the next. */
#include "unit.h"

#include "base/alloc.h"
#include "base/str.h"
#include "node/hardware/gpu_holders.h"
#include "node/hardware/gpu_watch.h"
#include "node/step/proc_step.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define FULL "1:7" /* /dev/full, which only the process here has open */
#define ZERO "1:5"

static char top[] = "/tmp/apart-XXXXXX";
static pid_t shepherd, holder;
static struct str held; /* what is said of it */

/* A shepherd as the kernel shows one: its name and the state file of its step. */
static pid_t shepherd_begin(const char *state, pid_t *ret_child)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_NAME, "rm-8") != 0 || open(state, O_RDWR | O_CREAT | O_CLOEXEC, 0600) < 0)
            _exit(1);
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            prctl(PR_SET_NAME, "sent");
            child = getpid();
            if (open("/dev/full", O_RDWR) < 0 || write(ends[1], &child, sizeof child) < 0)
                _exit(1);
        }
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], ret_child, sizeof *ret_child), sizeof *ret_child);
    close(ends[0]);
    close(ends[1]);
    return pid;
}

static int setup(void **unused)
{
    (void)unused;
    char path[64];
    assert_non_null(mkdtemp(top));
    snprintf(path, sizeof path, "%s/steps", top);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/steps/8.1.batch", top);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/steps/8.1.batch/state", top);
    shepherd = shepherd_begin(path, &holder);
    str_addf(&held, "seen 0 5 held process %ld (sent) of job 8 still holds it\n", (long)holder);
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    static const char *const left[] = {"steps/8.1.batch/state", "steps/8.1.batch", "steps", ""};
    char path[64];
    kill(shepherd, SIGKILL);
    waitpid(shepherd, NULL, 0);
    for (size_t i = 0; i < ARRAY_LEN(left); i++) {
        snprintf(path, sizeof path, "%s/%s", top, left[i]);
        remove(path);
    }
    str_done(&held);
    return 0;
}

/* What it says of these lines, up to "done". */
static void ask(const char *lines, struct str *ret)
{
    int pair[2];
    char piece[4096];
    ssize_t n;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (dup2(pair[1], 3) < 0)
            _exit(1);
        close_range(4, 100, 0);
        _exit(gpu_watch_main());
    }
    close(pair[1]);
    assert_true(send(pair[0], lines, strlen(lines), MSG_NOSIGNAL) > 0);
    while (!strstr(str_text(ret), "done\n") && (n = recv(pair[0], piece, sizeof piece, 0)) > 0)
        str_addn(ret, piece, (size_t)n);
    close(pair[0]);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* `others`: lines of devices beside GPU 0; who goes on with that, and what goes with the look. The
 * job before was job 7, of another user's, or it is not known (from_us 0). */
static bool says(const char *others, int64_t from_us, const char *steps, const char *apart,
                 const char *wanted)
{
    struct str lines = STR_INIT, said = STR_INIT;
    str_addf(&lines,
             "device 0 - - 0 " FULL "\n%sbegin\n"
             "look 0 5 %d 65533 %lld %s\n%sgo\n",
             others, from_us ? 7 : 0, (long long)from_us, steps, apart);
    ask(str_text(&lines), &said);
    bool as_wanted = strstr(str_text(&said), wanted) != NULL;
    if (!as_wanted)
        print_error("%s, asked\n%s", str_text(&said), str_text(&lines));
    str_done(&lines);
    str_done(&said);
    return as_wanted;
}

/* Libraries open the files of all devices that they can see. */
static void test_where_nothing_is_hidden_it_may_have_opened_it(void **unused)
{
    (void)unused;
    assert_true(says("", 9, "-", "", "seen 0 5 clean \n"));
    assert_true(says("", 0, "-", "", "seen 0 5 clean \n"));
}

static void test_kept_apart_it_was_sent_it(void **unused)
{
    (void)unused;
    char apart[64];
    snprintf(apart, sizeof apart, "apart 0\nusers 65532 %u\n", (unsigned)getuid());
    assert_true(says("", 9, "-", apart, str_text(&held)));
    assert_true(says("device 1 - - 0 " ZERO "\n", 9, "-", apart, str_text(&held)));
    assert_true(says("", 9, "6.1.0@65533", apart, str_text(&held)));
    /* After the daemon has started it is not known who had it. */
    assert_true(says("", 0, "-", apart, str_text(&held)));
}

static void test_a_step_that_has_it_too_keeps_it_from_nobody(void **unused)
{
    (void)unused;
    char apart[64];
    snprintf(apart, sizeof apart, "apart 0\nusers 65532 %u\n", (unsigned)getuid());
    assert_true(says("", 9, "6.1.0@65533+8.1.batch@65534", apart, "seen 0 5 shared \n"));
}

/* One that was found after a step began. */
static void test_where_another_is_hidden_it_may_have_opened_it(void **unused)
{
    (void)unused;
    char apart[64];
    snprintf(apart, sizeof apart, "apart 1\nusers 65532 %u\n", (unsigned)getuid());
    assert_true(says("device 1 - - 0 " ZERO "\n", 9, "-\nlook 1 6 7 65533 9 -", apart,
                     "seen 0 5 clean \n"));
}

/* Instances have their GPU's file and one of their own. */
static void test_nor_does_who_has_another_part_of_the_gpu(void **unused)
{
    (void)unused;
    char apart[64];
    snprintf(apart, sizeof apart, "apart 0\nusers 65532 %u\n", (unsigned)getuid());
    assert_true(says("device 1 - - 0 " FULL "+" ZERO "\n", 9, "-", apart, "seen 0 5 clean \n"));
}

/* That of another node on this machine, which does not hide this one's GPUs. */
static void test_a_step_of_another_daemons_may_have_opened_it(void **unused)
{
    (void)unused;
    char apart[64], ours[64];
    snprintf(apart, sizeof apart, "apart 0\nusers 65532 %u\n", (unsigned)getuid());
    snprintf(ours, sizeof ours, "steps %s/./steps\n", top);
    assert_true(says(ours, 9, "-", apart, str_text(&held)));
    assert_true(says("steps /nowhere/steps\n", 9, "-", apart, "seen 0 5 clean \n"));
}

/* A daemon may have been started in a job. */
static void test_what_is_below_anothers_shepherd_below_ours_is_ours(void **unused)
{
    (void)unused;
    char other[64], ours[64], path[80];
    struct proc_steps *known = proc_steps_new(geteuid());
    struct proc_step found = {0};
    pid_t outer, pids[2] = {0}; /* the inner shepherd, and what is below it */
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    snprintf(other, sizeof other, "%s/steps/steps", top);
    snprintf(path, sizeof path, "%s/8.1.0", other);
    assert_int_equal(mkdir(other, 0700) | mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/8.1.0/state", other);
    snprintf(ours, sizeof ours, "%s/steps", top);
    if ((outer = fork()) == 0) {
        snprintf(ours, sizeof ours, "%s/steps/8.1.batch/state", top);
        if (prctl(PR_SET_NAME, "rm-8") != 0 || open(ours, O_RDWR | O_CLOEXEC) < 0)
            _exit(1);
        pids[0] = shepherd_begin(path, &pids[1]);
        _exit(write(ends[1], pids, sizeof pids) < 0 || pause() < 0);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], pids, sizeof pids), sizeof pids);
    close(ends[0]);
    proc_steps_at(known, ours);
    bool is_below = proc_steps_find(known, pids[1], &found);
    proc_steps_free(known);
    kill(pids[0], SIGKILL);
    kill(outer, SIGKILL);
    waitpid(outer, NULL, 0);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    rmdir(other);
    assert_true(is_below && !found.elsewhere);
    assert_int_equal(found.step_id, STEP_BATCH);
}

/* Its user's manager of services has it: it may have opened all by itself. */
static void test_a_process_that_left_its_jobs_groups_is_one_outside(void **unused)
{
    (void)unused;
    const struct gpu_held_use use = {.job_id = 7, .uid = 1000, .from_us = 100000000};
    struct gpu_holder h = {
        .uid = 1000, .of_job = true, .below_shepherd = true, .job_id = 8, .step = "8.1.batch"};
    h.start_us = 50000000; /* before the job had the GPU */
    assert_true(gpu_holder_counts(&h, &use, GPU_OPEN_APART, true));
    h.sees_all = true;
    assert_false(gpu_holder_counts(&h, &use, GPU_OPEN_APART, true));
    h.start_us = 150000000;
    assert_true(gpu_holder_counts(&h, &use, GPU_OPEN_APART, true));
    h.uid = 1001;
    assert_false(gpu_holder_counts(&h, &use, GPU_OPEN_APART, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_nothing_is_hidden_it_may_have_opened_it),
        cmocka_unit_test(test_kept_apart_it_was_sent_it),
        cmocka_unit_test(test_a_step_that_has_it_too_keeps_it_from_nobody),
        cmocka_unit_test(test_where_another_is_hidden_it_may_have_opened_it),
        cmocka_unit_test(test_a_step_of_another_daemons_may_have_opened_it),
        cmocka_unit_test(test_what_is_below_anothers_shepherd_below_ours_is_ours),
        cmocka_unit_test(test_a_process_that_left_its_jobs_groups_is_one_outside),
        cmocka_unit_test(test_nor_does_who_has_another_part_of_the_gpu),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
