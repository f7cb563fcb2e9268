/* Which processes stand against giving a GPU to somebody else, and finding those that have a device
 * file open. */
#include "unit.h"

#include "node/hardware/gpu_holders.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000)

static const struct gpu_held_use by_alice = {.job_id = 7, .uid = 1000, .from_us = 100 * SECOND};
static const struct gpu_held_use not_known;

static void test_what_computes_counts(void **state)
{
    (void)state;
    struct gpu_holder of_job = {
        .pid = 9, .uid = 1000, .start_us = 150 * SECOND, .of_job = true, .job_id = 7};
    struct gpu_holder alien = {.pid = 9, .uid = 1001, .start_us = 150 * SECOND};
    assert_true(gpu_holder_counts(&of_job, &by_alice, true, true));
    assert_true(gpu_holder_counts(&of_job, &not_known, true, false));
    assert_true(gpu_holder_counts(&alien, &by_alice, true, true));
    /* Nothing is known of who had it: others count where the daemon serves many users. */
    assert_true(gpu_holder_counts(&alien, &not_known, true, true));
    assert_false(gpu_holder_counts(&alien, &not_known, true, false));
}

static void test_services_and_older_processes_do_not(void **state)
{
    (void)state;
    struct gpu_holder service = {.pid = 9, .uid = 0, .start_us = 150 * SECOND};
    struct gpu_holder older = {.pid = 9, .uid = 1000, .start_us = 90 * SECOND};
    struct gpu_held_use by_root = {.job_id = 7, .uid = 0, .from_us = 100 * SECOND};
    assert_false(gpu_holder_counts(&service, &by_alice, true, true));
    assert_false(gpu_holder_counts(&service, &not_known, true, true));
    assert_true(gpu_holder_counts(&service, &by_root, true, true));
    assert_false(gpu_holder_counts(&older, &by_alice, true, true));
    older.start_us = 99 * SECOND; /* within what the clock of the boot is known to */
    assert_true(gpu_holder_counts(&older, &by_alice, true, true));
}

/* Libraries open the files of all devices that they can see. */
static void test_an_open_file_counts_of_the_job_alone(void **state)
{
    (void)state;
    struct gpu_holder of_job = {
        .pid = 9, .uid = 1000, .start_us = 150 * SECOND, .of_job = true, .job_id = 7};
    struct gpu_holder of_other = {
        .pid = 9, .uid = 1000, .start_us = 150 * SECOND, .of_job = true, .job_id = 8};
    struct gpu_holder escaped = {.pid = 9, .uid = 1000, .start_us = 150 * SECOND};
    struct gpu_holder alien = {.pid = 9, .uid = 1001, .start_us = 150 * SECOND};
    assert_true(gpu_holder_counts(&of_job, &by_alice, false, true));
    assert_false(gpu_holder_counts(&of_other, &by_alice, false, true));
    assert_true(gpu_holder_counts(&escaped, &by_alice, false, true));
    assert_false(gpu_holder_counts(&alien, &by_alice, false, true));
    assert_false(gpu_holder_counts(&of_job, &not_known, false, true));
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
    struct search s = {.pid = fork(), .number = number[1]};
    if (s.pid == 0) {
        setenv("SLURM_JOB_ID", "4711", 1);
        setenv("REMUDA_STEP_DIR", "/x", 1);
        execl("/bin/sh", "holder", "-c", "exec 7>/dev/full; exec sleep 30", (char *)NULL);
        _exit(1);
    }
    for (int i = 0; i < 200 && !s.found.of_job;
         i++) { /* between fork and exec its environment is not there */
        gpu_holders_each(number, 2, holder_take, &s);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    kill(s.pid, SIGKILL);
    waitpid(s.pid, NULL, 0);
    assert_int_equal(s.found.pid, s.pid);
    assert_int_equal(s.found.uid, getuid());
    assert_true(s.found.of_job);
    assert_int_equal(s.found.job_id, 4711);
    assert_true(llabs(s.found.start_us / SECOND - time(NULL)) < 10);
    struct gpu_holder gone;
    assert_false(gpu_holder_find(s.pid, &gone));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_computes_counts),
        cmocka_unit_test(test_services_and_older_processes_do_not),
        cmocka_unit_test(test_steps_that_go_on_are_passed_over),
        cmocka_unit_test(test_an_open_file_counts_of_the_job_alone),
        cmocka_unit_test(test_who_has_a_file_open_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
