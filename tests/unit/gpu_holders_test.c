/* Which processes stand against giving a GPU to somebody else, and finding those that have a device
 * file open. */
#include "unit.h"

#include "node/hardware/gpu_holders.h"

#include "node/step/proc_environ.h"
#include "node/step/proc_step.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000)

static const struct gpu_held_use by_alice = {.job_id = 7, .uid = 1000, .from_us = 100 * SECOND};
static const struct gpu_held_use not_known;

static struct gpu_holders *memory;

static void test_what_computes_counts(void **state)
{
    (void)state;
    struct gpu_holder of_job = {
        .pid = 9, .uid = 1000, .start_us = 150 * SECOND, .of_job = true, .job_id = 7};
    struct gpu_holder alien = {.pid = 9, .uid = 1001, .start_us = 150 * SECOND};
    assert_true(gpu_holder_counts(&of_job, &by_alice, GPU_COMPUTES, true));
    assert_true(gpu_holder_counts(&of_job, &not_known, GPU_COMPUTES, false));
    assert_true(gpu_holder_counts(&alien, &by_alice, GPU_COMPUTES, true));
    /* Nothing is known of who had it: others count where the daemon serves many users. */
    assert_true(gpu_holder_counts(&alien, &not_known, GPU_COMPUTES, true));
    assert_false(gpu_holder_counts(&alien, &not_known, GPU_COMPUTES, false));
}

static void test_services_and_older_processes_do_not(void **state)
{
    (void)state;
    struct gpu_holder service = {.pid = 9, .uid = 0, .start_us = 150 * SECOND};
    struct gpu_holder older = {.pid = 9, .uid = 1000, .start_us = 90 * SECOND};
    struct gpu_held_use by_root = {.job_id = 7, .uid = 0, .from_us = 100 * SECOND};
    assert_false(gpu_holder_counts(&service, &by_alice, GPU_COMPUTES, true));
    assert_false(gpu_holder_counts(&service, &not_known, GPU_COMPUTES, true));
    assert_true(gpu_holder_counts(&service, &by_root, GPU_COMPUTES, true));
    assert_false(gpu_holder_counts(&older, &by_alice, GPU_COMPUTES, true));
    older.start_us = 99 * SECOND; /* within what the clock of the boot is known to */
    assert_true(gpu_holder_counts(&older, &by_alice, GPU_COMPUTES, true));
}

/* Libraries open the files of all devices that they can see: what they can see, where nothing hides
 * any, is all. */
static void test_an_open_file_counts_of_the_job_alone(void **state)
{
    (void)state;
    struct gpu_holder of_job = {
        .pid = 9, .uid = 1000, .start_us = 150 * SECOND, .of_job = true, .job_id = 7};
    struct gpu_holder of_other = {
        .pid = 9, .uid = 1000, .start_us = 150 * SECOND, .of_job = true, .job_id = 8};
    struct gpu_holder escaped = {.pid = 9, .uid = 1000, .start_us = 150 * SECOND};
    struct gpu_holder alien = {.pid = 9, .uid = 1001, .start_us = 150 * SECOND};
    struct gpu_holder says_other = of_other, others_says = of_other;
    says_other.only_says = others_says.only_says = true;
    others_says.uid = 1001;
    assert_true(gpu_holder_counts(&says_other, &by_alice, GPU_OPEN, true));
    assert_false(gpu_holder_counts(&others_says, &by_alice, GPU_OPEN, true));
    assert_true(gpu_holder_counts(&of_job, &by_alice, GPU_OPEN, true));
    assert_false(gpu_holder_counts(&of_other, &by_alice, GPU_OPEN, true));
    assert_true(gpu_holder_counts(&escaped, &by_alice, GPU_OPEN, true));
    assert_false(gpu_holder_counts(&alien, &by_alice, GPU_OPEN, true));
    assert_false(gpu_holder_counts(&of_job, &not_known, GPU_OPEN, true));
}

/* Where steps are kept apart nobody's can open the file of a GPU that it does not have: it was sent
 * it, open, by who had it. */
static void test_of_steps_kept_apart_whoever_was_sent_it_counts(void **state)
{
    (void)state;
    const char *steps = "9.1.0@1001";
    struct gpu_holder of_other = {.pid = 9,
                                  .uid = 1000,
                                  .start_us = 50 * SECOND,
                                  .of_job = true,
                                  .below_shepherd = true,
                                  .job_id = 8,
                                  .step = "8.1.batch"};
    struct gpu_holder alien = of_other, has_it = of_other, says = of_other, outside = of_other;
    alien.uid = 1002;
    has_it.job_id = 9;
    has_it.uid = 1001;
    snprintf(has_it.step, sizeof has_it.step, "9.1.0");
    says.only_says = true;
    says.below_shepherd = false;
    outside.of_job = outside.below_shepherd = false;
    assert_true(gpu_holder_counts(&of_other, &by_alice, GPU_OPEN_APART, true));
    assert_false(gpu_holder_goes_on(&of_other, &by_alice, steps));
    assert_true(gpu_holder_counts(&alien, &by_alice, GPU_OPEN_APART, true));
    assert_false(gpu_holder_goes_on(&alien, &by_alice, steps));
    assert_true(gpu_holder_counts(&alien, &not_known, GPU_OPEN_APART, true));
    assert_true(gpu_holder_goes_on(&has_it, &by_alice, steps));
    /* Outside of jobs nothing is hidden: what was open before the job says nothing. */
    assert_false(gpu_holder_counts(&outside, &by_alice, GPU_OPEN_APART, true));
    assert_false(gpu_holder_counts(&says, &by_alice, GPU_OPEN_APART, true));
    assert_false(gpu_holder_counts(&outside, &not_known, GPU_OPEN_APART, true));
}

/* A session that was put into a job's groups, and does not say of which. */
static void test_who_does_not_say_which_job_goes_on_with_its_users(void **state)
{
    (void)state;
    struct gpu_holder session = {.uid = 1001, .of_job = true},
                      alien = {.uid = 1002, .of_job = true};
    assert_true(gpu_holder_goes_on(&session, &by_alice, "7.1.0@1000+9.1.0@1001"));
    assert_false(gpu_holder_goes_on(&alien, &by_alice, "7.1.0@1000+9.1.0@1001"));
    assert_false(gpu_holder_goes_on(&session, &by_alice, ""));
    /* Nor one that says a number which is none of theirs; below a shepherd the kernel says it. */
    session.job_id = alien.job_id = 999;
    assert_true(gpu_holder_goes_on(&session, &by_alice, "7.1.0@1000+9.1.0@1001"));
    assert_false(gpu_holder_goes_on(&alien, &by_alice, "7.1.0@1000+9.1.0@1001"));
    session.below_shepherd = true;
    assert_false(gpu_holder_goes_on(&session, &by_alice, "7.1.0@1000+9.1.0@1001"));
}

static void test_steps_that_go_on_are_passed_over(void **state)
{
    (void)state;
    struct gpu_holder of_batch = {.uid = 1000, .of_job = true, .job_id = 7, .step = "7.1.batch"};
    struct gpu_holder of_zero = {.uid = 1000, .of_job = true, .job_id = 7, .step = "7.1.0"};
    struct gpu_holder former = {.uid = 1000, .of_job = true, .job_id = 7, .step = "7.1.1"};
    struct gpu_holder silent = {.uid = 1000, .of_job = true, .job_id = 7};
    struct gpu_holder of_other = {.uid = 1000, .of_job = true, .job_id = 71, .step = "71.1.0"};
    struct gpu_holder escaped = {.uid = 1000}, alien = {.uid = 1001};
    const char *steps = "7.1.10+7.1.batch+7.1.0";
    assert_true(gpu_holder_goes_on(&of_batch, &by_alice, steps));
    assert_true(gpu_holder_goes_on(&of_zero, &by_alice, steps));
    assert_false(gpu_holder_goes_on(&former, &by_alice, steps));
    assert_true(gpu_holder_goes_on(&silent, &by_alice, steps));
    assert_false(gpu_holder_goes_on(&of_other, &by_alice, steps));
    assert_true(gpu_holder_goes_on(&escaped, &by_alice, steps));
    assert_false(gpu_holder_goes_on(&alien, &by_alice, steps));
    assert_false(gpu_holder_goes_on(&of_batch, &by_alice, ""));
    assert_false(gpu_holder_goes_on(&escaped, &by_alice, ""));
}

static void test_all_steps_of_a_run_are_passed_over(void **state)
{
    (void)state;
    struct gpu_holder one = {.uid = 1000, .of_job = true, .job_id = 7, .step = "7.1.431"};
    struct gpu_holder former = {.uid = 1000, .of_job = true, .job_id = 7, .step = "7.2.0"};
    struct gpu_holder other = {.uid = 1000, .of_job = true, .job_id = 7, .step = "7.11.0"};
    struct gpu_holder says = {.uid = 1002, .of_job = true, .job_id = 7, .step = "7.1.431"};
    assert_true(gpu_holder_goes_on(&one, &by_alice, "9.1.0@1001+7.1.*@1000"));
    assert_false(gpu_holder_goes_on(&former, &by_alice, "9.1.0@1001+7.1.*@1000"));
    assert_false(gpu_holder_goes_on(&other, &by_alice, "9.1.0@1001+7.1.*@1000"));
    assert_false(gpu_holder_goes_on(&says, &by_alice, "9.1.0@1001+7.1.*@1000"));
}

/* Alice's job has ended, Bob's step goes on with its part of the device. */
static void test_another_users_step_is_not_his(void **state)
{
    (void)state;
    const char *steps = "9.1.0@1001+9.1.batch@1001";
    struct gpu_holder bobs = {.uid = 1001, .of_job = true, .job_id = 9, .step = "9.1.0"};
    struct gpu_holder bobs_silent = {.uid = 1001, .of_job = true, .job_id = 9};
    struct gpu_holder roots = {.uid = 0, .of_job = true, .job_id = 9, .step = "9.1.0"};
    struct gpu_holder alices = {.uid = 1000, .of_job = true, .job_id = 9, .step = "9.1.0"};
    struct gpu_holder alices_silent = {.uid = 1000, .of_job = true, .job_id = 9};
    assert_true(gpu_holder_goes_on(&bobs, &by_alice, steps));
    assert_true(gpu_holder_goes_on(&bobs_silent, &by_alice, steps));
    assert_true(gpu_holder_goes_on(&roots, &by_alice, steps));
    assert_false(gpu_holder_goes_on(&alices, &by_alice, steps));
    assert_false(gpu_holder_goes_on(&alices_silent, &by_alice, steps));
    assert_true(gpu_holder_goes_on(&alices, &by_alice, "9.1.0")); /* whose it is is not known */
    /* What is below its shepherd is of it, by whatever number: as in a container with numbers of
     * its own. */
    struct gpu_holder mapped = {
        .uid = 100999, .of_job = true, .below_shepherd = true, .job_id = 9, .step = "9.1.0"};
    struct gpu_holder mapped_former = mapped, says = mapped;
    snprintf(mapped_former.step, sizeof mapped_former.step, "9.1.1");
    says.below_shepherd = false;
    assert_true(gpu_holder_goes_on(&mapped, &by_alice, steps));
    assert_false(gpu_holder_goes_on(&mapped_former, &by_alice, steps));
    assert_false(gpu_holder_goes_on(&says, &by_alice, steps));
}

struct search {
    pid_t pid;
    struct device_number number;
    struct gpu_holder found;
};

static void holder_take(void *ctx, const struct gpu_holder *h, const struct device_number *file)
{
    struct search *s = ctx;
    if (h->pid == s->pid && file->major == s->number.major && file->minor == s->number.minor)
        s->found = *h;
}

static void test_who_has_a_file_open_is_found(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(stat("/dev/full", &st), 0);
    struct device_number number[] = {{1, 3}, {major(st.st_rdev), minor(st.st_rdev)}};
    const uid_t user = getuid(), other = 65533;
    enum gpu_holders_cut cut = GPU_HOLDERS_CUT_SYSTEM;
    struct search s = {.pid = fork(), .number = number[1]}, none = s;
    if (s.pid == 0) {
        setenv("SLURM_JOB_ID", "4711", 1);
        setenv("REMUDA_STEP_DIR", "/x", 1);
        execl("/bin/sh", "holder", "-c", "exec 7>/dev/full; exec sleep 30", (char *)NULL);
        _exit(1);
    }
    for (int i = 0; i < 200 && !s.found.of_job;
         i++) { /* between fork and exec its environment is not there */
        gpu_holders_forget(memory);
        gpu_holders_each(memory, &(struct gpu_holders_ask){number, 2, &user, 1, 60000, NULL, 0},
                         &cut, holder_take, &s);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    assert_int_equal(cut, GPU_HOLDERS_ALL);
    gpu_holders_each(memory, &(struct gpu_holders_ask){number, 2, &other, 1, 60000, NULL, 0}, &cut,
                     holder_take, &none);
    assert_int_equal(cut, GPU_HOLDERS_ALL);
    gpu_holders_forget(memory);
    kill(s.pid, SIGKILL);
    waitpid(s.pid, NULL, 0);
    assert_int_equal(none.found.pid, user == 0 ? s.pid : 0); /* root's are always looked at */
    assert_int_equal(s.found.pid, s.pid);
    assert_int_equal(s.found.uid, getuid());
    assert_true(s.found.of_job);
    assert_int_equal(s.found.job_id, 4711);
    assert_true(llabs(s.found.start_us / SECOND - time(NULL)) < 10);
    struct gpu_holder gone;
    assert_false(gpu_holder_find(memory, s.pid, &gone));
}

/* A process that stops once it is as wanted. */
static pid_t stopped(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    return pid;
}

static void ended(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static pid_t says_of_its_step(const char *step_dir)
{
    pid_t pid = fork();
    if (pid == 0) {
        setenv("REMUDA_STEP_DIR", step_dir, 1);
        execl("/bin/sh", "sh", "-c",
              "printf '\nsign 0 lost x' >/proc/$$/comm; kill -STOP $$; kill -STOP $$",
              (char *)NULL);
        _exit(1);
    }
    return stopped(pid);
}

/* A shepherd as the kernel shows one: its name, its user, the state file of its step, and below it
 * a process that says it is another job's. */
static pid_t lies_below_shepherd(const char *steps, const char *name, int *ret_shepherd)
{
    int ends[2];
    char path[256], env[] = "SLURM_JOB_ID=8", dir[] = "REMUDA_STEP_DIR=/x/steps/8.1.0";
    pid_t liar = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t shepherd = fork();
    if (shepherd == 0) {
        snprintf(path, sizeof path, "%s/state", steps);
        if (prctl(PR_SET_NAME, name) != 0 || open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) < 0)
            _exit(1);
        pid_t child = fork();
        if (child == 0) {
            if (setsid() < 0) /* no group that the end of its parent orphans, which continues it */
                _exit(1);
            execle("/bin/sh", "sh", "-c", "kill -STOP $$; :", (char *)NULL,
                   (char *[]){env, dir, NULL});
            _exit(1);
        }
        int status;
        waitpid(child, &status, WUNTRACED);
        if (write(ends[1], &child, sizeof child) == sizeof child)
            pause();
        _exit(0);
    }
    assert_int_equal(read(ends[0], &liar, sizeof liar), sizeof liar);
    close(ends[0]);
    close(ends[1]);
    *ret_shepherd = shepherd;
    return liar;
}

static void test_the_kernel_is_believed_before_the_process(void **state)
{
    (void)state;
    static const struct {
        const char *name, *dir, *step;
        int64_t job_id;
        bool only_says;
    } cases[] = {{"rm-7", "/steps/7.1.batch", "7.1.batch", 7, false},
                 {"other", "/steps/7.1.batch", "8.1.0", 8, true},
                 {"rm-7", "/else/7.1.batch", "8.1.0", 8, true}};
    char top[] = "/tmp/holders-XXXXXX", path[128];
    assert_non_null(mkdtemp(top));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gpu_holder h;
        int shepherd;
        char *end = path + snprintf(path, sizeof path, "%s%s", top, cases[i].dir);
        *strrchr(path, '/') = '\0';
        mkdir(path, 0700);
        path[strlen(path)] = '/';
        mkdir(path, 0700);
        pid_t liar = lies_below_shepherd(path, cases[i].name, &shepherd);
        bool found = gpu_holder_find(memory, liar, &h);
        kill(liar, SIGKILL);
        ended(shepherd);
        snprintf(end, sizeof path - (size_t)(end - path), "/state");
        unlink(path);
        *end = '\0';
        rmdir(path);
        *strrchr(path, '/') = '\0';
        rmdir(path);
        assert_true(found && h.of_job);
        assert_int_equal(h.job_id, cases[i].job_id);
        assert_string_equal(h.step, cases[i].step);
        assert_int_equal(h.only_says, cases[i].only_says);
        assert_int_equal(h.below_shepherd, !cases[i].only_says);
    }
    rmdir(top);
}

/* Ancestors too: many processes below a long chain of them cost no more than the chain. */
static void test_what_was_read_is_remembered_until_it_is_forgotten(void **state)
{
    (void)state;
    char top[] = "/tmp/holders-XXXXXX", steps[64], dir[96], path[128];
    struct gpu_holder h;
    struct proc_steps *known = proc_steps_new(geteuid());
    struct proc_step step = {0}, other = {0};
    int shepherd;
    assert_non_null(mkdtemp(top));
    snprintf(steps, sizeof steps, "%s/steps", top);
    snprintf(dir, sizeof dir, "%s/7.1.batch", steps);
    snprintf(path, sizeof path, "%s/state", dir);
    assert_int_equal(mkdir(steps, 0700) | mkdir(dir, 0700), 0);
    pid_t liar = lies_below_shepherd(dir, "rm-7", &shepherd);
    bool found = gpu_holder_find(memory, liar, &h) && h.job_id == 7 &&
                 proc_steps_find(known, liar, &step) && step.job_id == 7;
    ended(shepherd);
    bool remembered = gpu_holder_find(memory, liar, &h) && h.job_id == 7 &&
                      proc_steps_find(known, shepherd, &other) && other.job_id == 7;
    gpu_holders_forget(memory);
    proc_steps_forget(known);
    bool anew =
        gpu_holder_find(memory, liar, &h) && h.job_id == 8 && !proc_steps_find(known, liar, &step);
    kill(liar, SIGKILL);
    proc_steps_free(known);
    unlink(path);
    rmdir(dir);
    rmdir(steps);
    rmdir(top);
    assert_true(found);
    assert_true(remembered);
    assert_true(anew);
}

/* What is said of a process goes into lines. */
static void test_a_process_says_no_lines(void **state)
{
    (void)state;
    static const struct {
        const char *dir, *step;
    } cases[] = {{"/x/steps/7.1.0", "7.1.0"},
                 {"/x/steps/7.1.batch", "7.1.batch"},
                 {"/x/steps/007.01.00", "7.1.0"},
                 {"/x/\nsign 1 lost it is lost", ""},
                 {"/x/7.1.0\nsign 1 lost it is lost", ""},
                 {"/x/7.1.0 100 5", ""},
                 {"7.1.0", ""},
                 {"", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gpu_holder h;
        pid_t pid = says_of_its_step(cases[i].dir);
        bool found = gpu_holder_find(memory, pid, &h);
        ended(pid);
        assert_true(found && h.of_job);
        assert_string_equal(h.step, cases[i].step);
        assert_string_equal(h.name, "?sign 0 lost x");
    }
}

/* Nobody may look into it, so its files in /proc are root's. */
static void test_a_process_that_hides_is_its_users(void **state)
{
    (void)state;
    struct gpu_holder h;
    uid_t user = getuid() ? getuid() : 65534;
    pid_t pid = fork();
    if (pid == 0) {
        if (setresuid(user, user, user) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0)
            _exit(1);
        raise(SIGSTOP);
        _exit(0);
    }
    bool found = gpu_holder_find(memory, stopped(pid), &h);
    ended(pid);
    assert_true(found);
    assert_int_equal(h.uid, user);
}

struct assignments {
    size_t n, most;
    char last[64];
};

static bool assignment_count(void *ctx, const char *assignment)
{
    struct assignments *a = ctx;
    snprintf(a->last, sizeof a->last, "%s", assignment);
    return ++a->n < a->most;
}

static void test_assignments_one_by_one(void **state)
{
    (void)state;
    static char wide[100000] = "WIDE=";
    memset(wide + 5, 'x', sizeof wide - 6);
    char *env[] = {(char *)"A=1", wide, (char *)"B=\n2", NULL};
    struct assignments all = {.most = 10}, two = {.most = 2}, cut = {.most = 10};
    const size_t first = sizeof "A=1" + 3; /* and the beginning of the second */
    pid_t pid = fork();
    if (pid == 0) {
        execle("/bin/sh", "sh", "-c", "kill -STOP $$; :", (char *)NULL, env);
        _exit(1);
    }
    stopped(pid);
    proc_environ_each(pid, PROC_ENVIRON_BYTES, assignment_count, &all);
    proc_environ_each(pid, PROC_ENVIRON_BYTES, assignment_count, &two);
    proc_environ_each(pid, first, assignment_count, &cut);
    ended(pid);
    assert_int_equal(all.n, 3);
    assert_string_equal(all.last, "B=\n2");
    assert_int_equal(two.n, 2);
    assert_int_equal(cut.n, 1);
    proc_environ_each(pid, PROC_ENVIRON_BYTES, assignment_count, &all); /* gone */
    assert_int_equal(all.n, 3);
}

static int setup(void **state)
{
    (void)state;
    memory = gpu_holders_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    gpu_holders_free(memory);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_computes_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_services_and_older_processes_do_not, setup, teardown),
        cmocka_unit_test_setup_teardown(test_steps_that_go_on_are_passed_over, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_steps_of_a_run_are_passed_over, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_users_step_is_not_his, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_open_file_counts_of_the_job_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_of_steps_kept_apart_whoever_was_sent_it_counts, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_who_does_not_say_which_job_goes_on_with_its_users,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_has_a_file_open_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_kernel_is_believed_before_the_process, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_what_was_read_is_remembered_until_it_is_forgotten,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_process_says_no_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_process_that_hides_is_its_users, setup, teardown),
        cmocka_unit_test_setup_teardown(test_assignments_one_by_one, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
