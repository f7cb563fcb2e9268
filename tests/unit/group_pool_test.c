#include "unit.h"

#include "base/alloc.h"
#include "model/job/job.h"
#include "node/cgroup/pool.h"

#include <stdio.h>
#include <string.h>

#define FIRST 100

static struct group_pool *pool;

static int setup(void **state)
{
    pool = group_pool_new(FIRST);
    return 0;
}

static int teardown(void **state)
{
    group_pool_free(pool);
    return 0;
}

static struct step_plan plan_of(int64_t job, int64_t step, int64_t mem)
{
    return (struct step_plan){.job_id = job,
                              .attempt = 1,
                              .step_id = step,
                              .cgroups = "memory=/sys/fs/cgroup/memory/x\n",
                              .job_mem_bytes = mem,
                              .mem_limit_bytes = mem};
}

/* "GROUP.PART" without FIRST, and "!" if it is ready. */
static const char *give(struct step_plan p)
{
    static char text[48];
    group_pool_give(pool, &p);
    snprintf(text, sizeof text, "%lld.%lld%s", (long long)p.group - FIRST, (long long)p.group_part,
             p.group_ready ? "!" : "");
    return text;
}

static struct note note_of(enum note_kind kind, int64_t job, int64_t step)
{
    struct note n = {.kind = kind, .job_id = job, .attempt = 1, .step_id = step};
    group_pool_find(pool, &n, &n.group, &n.group_part);
    return n;
}

static void ends(int64_t job, int64_t step, enum group_back back)
{
    struct note n = note_of(NOTE_EXITED, job, step);
    n.group_back = back;
    group_pool_note(pool, &n);
    group_pool_forget(pool, &n);
}

static void test_what_is_handed_back_goes_to_the_next_with_equal_limits(void **state)
{
    assert_string_equal(give(plan_of(1, STEP_BATCH, 50)), "1.1");
    ends(1, STEP_BATCH, GROUP_TO_ANY);
    assert_true(group_pool_has(pool, FIRST + 1, 1));
    assert_string_equal(give(plan_of(2, STEP_BATCH, 50)), "1.1!");
    assert_string_equal(give(plan_of(3, STEP_BATCH, 50)), "2.1");
    ends(2, STEP_BATCH, GROUP_TO_ANY);
    assert_string_equal(give(plan_of(4, STEP_BATCH, 60)), "3.1");
    struct step_plan p = plan_of(5, STEP_BATCH, 50);
    p.pids_max = 100;
    assert_string_equal(give(p), "4.1");
    p = plan_of(6, STEP_BATCH, 50);
    p.swappiness_plus1 = 1;
    assert_string_equal(give(p), "5.1");
    assert_string_equal(give(plan_of(7, STEP_BATCH, 50)), "1.1!");
}

static void test_devices_and_cores_of_another_are_not_taken_over(void **state)
{
    struct step_plan p = plan_of(1, STEP_BATCH, 50);
    p.deny = "195:1";
    p.cpus = "0-1";
    give(p);
    ends(1, STEP_BATCH, GROUP_TO_ANY);
    assert_string_equal(give(plan_of(2, STEP_BATCH, 50)),
                        "1.2"); /* the job's are equal: a part of its own */
    ends(2, STEP_BATCH, GROUP_TO_ANY);
    p.job_id = 3;
    assert_string_equal(give(p), "1.1!");
    p.job_id = 4;
    p.deny = "195:0";
    assert_string_equal(give(p), "2.1");
}

static void test_what_was_not_handed_back_is_for_nobody(void **state)
{
    give(plan_of(1, STEP_BATCH, 50));
    ends(1, STEP_BATCH, GROUP_KEPT);
    assert_false(group_pool_has(pool, FIRST + 1, 1));
    assert_string_equal(give(plan_of(2, STEP_BATCH, 50)), "2.1");
}

static void test_steps_of_a_job_share_its_group_and_take_turns_in_its_parts(void **state)
{
    assert_string_equal(give(plan_of(1, STEP_BATCH, 50)), "1.1");
    assert_string_equal(give(plan_of(1, 0, 50)), "1.2");
    assert_string_equal(give(plan_of(1, 0, 50)), "1.2"); /* the same once more */
    ends(1, 0, GROUP_TO_ANY);
    assert_string_equal(give(plan_of(1, 1, 50)), "1.2!");
    assert_string_equal(give(plan_of(1, 2, 50)), "1.3");
    assert_string_equal(give(plan_of(2, STEP_BATCH, 50)), "2.1"); /* the first job is still there */
    ends(1, 1, GROUP_KEPT);
    assert_false(group_pool_has(pool, FIRST + 1, 2));
    ends(1, 2, GROUP_TO_ANY);
    assert_string_equal(give(plan_of(1, 3, 50)), "1.3!");
    ends(1, 3, GROUP_TO_ANY);
    ends(1, STEP_BATCH, GROUP_TO_ANY); /* one of them left something: it is its job's alone */
    assert_string_equal(give(plan_of(3, STEP_BATCH, 50)), "3.1");
    group_pool_age(pool, false);
    assert_true(group_pool_has(pool, FIRST + 1, 1));
    group_pool_age(pool, false);
    assert_false(group_pool_has(pool, FIRST + 1, 1));
}

/* The job has read files, or its script is large: its steps take turns, and nobody else gets their
 * groups. */
static void test_what_is_for_the_own_job_is_given_to_its_steps_only(void **state)
{
    assert_string_equal(give(plan_of(1, 0, 50)), "1.1"); /* of salloc: one step after another */
    ends(1, 0, GROUP_TO_OWN_JOB);
    assert_string_equal(give(plan_of(2, 0, 50)), "2.1");
    assert_string_equal(give(plan_of(1, 1, 50)), "1.1!");
    assert_false(group_pool_age(pool, false)); /* nothing waits */
    ends(1, 1, GROUP_TO_ANY);                  /* what the step before left may still be there */
    assert_string_equal(give(plan_of(3, 0, 50)), "3.1");
    assert_true(group_pool_age(pool, false));
    assert_string_equal(give(plan_of(1, 2, 50)), "1.1!");
    ends(1, 2, GROUP_TO_OWN_JOB);
    assert_true(group_pool_age(pool, false));
    assert_false(group_pool_age(pool, false));
    assert_false(group_pool_has(pool, FIRST + 1, 1));
    assert_string_equal(give(plan_of(1, 3, 50)), "4.1");
}

static void test_no_more_wait_than_may(void **state)
{
    for (int64_t job = 1; job <= 3 * GROUP_POOL_SPARES; job++) {
        give(plan_of(job, 0, 50));
        ends(job, 0, GROUP_TO_OWN_JOB);
    }
    int kept = 0;
    for (int64_t group = 1; group <= 3 * GROUP_POOL_SPARES; group++)
        kept += group_pool_has(pool, FIRST + group, 1);
    assert_int_equal(kept, GROUP_POOL_SPARES);
}

static void test_a_job_that_comes_again_is_another(void **state)
{
    struct step_plan p = plan_of(1, STEP_BATCH, 50);
    give(p);
    p.attempt = 2;
    assert_string_equal(give(p), "2.1");
}

static void test_limits_that_changed_are_set(void **state)
{
    give(plan_of(1, STEP_BATCH, 50));
    give(plan_of(1, 0, 50));
    ends(1, 0, GROUP_TO_ANY);
    struct step_plan p = plan_of(1, 1, 50);
    p.job_mem_bytes = 80; /* scontrol update */
    assert_string_equal(give(p), "1.3");
    ends(1, 1, GROUP_TO_ANY);
    ends(1, STEP_BATCH, GROUP_TO_ANY);
    p = plan_of(2, 0, 50);
    assert_string_equal(give(p), "2.1");
}

/* After a kill -9 of the daemon. */
static void test_a_daemon_learns_from_notes_what_is_in_use(void **state)
{
    struct note started = {.kind = NOTE_STARTED, .job_id = 1, .attempt = 1, .step_id = STEP_BATCH};
    started.group = FIRST + 7;
    started.group_part = 3;
    group_pool_note(pool, &started);
    group_pool_note(pool, &started);
    assert_true(group_pool_has(pool, FIRST + 7, 3));
    assert_string_equal(give(plan_of(1, 0, 50)), "7.4"); /* in its job's; none that may be there */
    assert_string_equal(give(plan_of(2, STEP_BATCH, 50)), "8.1");
    ends(1, 0, GROUP_TO_ANY);
    ends(1, STEP_BATCH, GROUP_TO_ANY); /* nobody knows its limits */
    assert_string_equal(give(plan_of(3, STEP_BATCH, 50)), "9.1");
    group_pool_age(pool, false);
    group_pool_age(pool, false);
    assert_false(group_pool_has(pool, FIRST + 7, 3));
    /* Of a release without. */
    struct note older = {.kind = NOTE_STARTED, .job_id = 9, .attempt = 1};
    int64_t group, part;
    group_pool_note(pool, &older);
    assert_false(group_pool_find(pool, &older, &group, &part));
}

static void test_a_note_that_comes_twice_changes_nothing(void **state)
{
    give(plan_of(1, STEP_BATCH, 50));
    struct note n = note_of(NOTE_EXITED, 1, STEP_BATCH);
    n.group_back = GROUP_TO_ANY;
    group_pool_note(pool, &n);
    assert_string_equal(give(plan_of(2, STEP_BATCH, 50)), "1.1!");
    group_pool_note(pool, &n);
    group_pool_forget(pool, &n);
    assert_true(group_pool_has(pool, FIRST + 1, 1));
    assert_string_equal(give(plan_of(3, STEP_BATCH, 50)), "2.1");
}

static void test_those_that_wait_go_with_time(void **state)
{
    for (int64_t job = 1; job <= GROUP_POOL_SPARES + 5; job++)
        give(plan_of(job, STEP_BATCH, 50));
    for (int64_t job = 1; job <= GROUP_POOL_SPARES + 5; job++)
        ends(job, STEP_BATCH, GROUP_TO_ANY);
    int kept = 0;
    for (int64_t group = 1; group <= GROUP_POOL_SPARES + 5; group++)
        kept += group_pool_has(pool, FIRST + group, 1);
    assert_int_equal(kept, GROUP_POOL_SPARES);
    assert_true(group_pool_age(pool, false));
    give(plan_of(99, STEP_BATCH, 50));
    ends(99, STEP_BATCH, GROUP_TO_ANY);
    assert_true(group_pool_age(pool, false)); /* the one that was used */
    assert_false(group_pool_age(pool, false));
    struct step_plan none = {.job_id = 5, .cgroups = NULL};
    group_pool_give(pool, &none);
    assert_int_equal(none.group, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_what_is_handed_back_goes_to_the_next_with_equal_limits),
        TEST(test_devices_and_cores_of_another_are_not_taken_over),
        TEST(test_what_was_not_handed_back_is_for_nobody),
        TEST(test_steps_of_a_job_share_its_group_and_take_turns_in_its_parts),
        TEST(test_what_is_for_the_own_job_is_given_to_its_steps_only),
        TEST(test_no_more_wait_than_may),
        TEST(test_a_job_that_comes_again_is_another),
        TEST(test_limits_that_changed_are_set),
        TEST(test_a_daemon_learns_from_notes_what_is_in_use),
        TEST(test_a_note_that_comes_twice_changes_nothing),
        TEST(test_those_that_wait_go_with_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
