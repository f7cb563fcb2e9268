/* Jobs on a node with programs of its site around them: what begins with the first launch, and ends
 * with the word that nothing of the job is left. */
#include "agent_world.h"

static void step_terminate_alone(int64_t step_id)
{
    struct msg_terminate m = {.job_id = 5, .attempt = 1, .step_id = step_id, .only_step = true};
    message(MSG_TERMINATE, &m);
}

/* Where there is no epilog, nothing but the end itself says so. */
static void test_no_job_that_is_over_is_remembered(void **state)
{
    (void)state;
    site("/p", NULL);
    for (int64_t id = 1; id <= 3; id++) {
        launch((uint64_t)id, 1);
        assert_int_equal(visits(), 1);
        prolog_ok(id, 1, STEP_BATCH);
        exited(id, 1, 0, true);
        assert_int_equal(visits(), 0);
    }
    launch(4, 1); /* told to end */
    prolog_ok(4, 1, STEP_BATCH);
    started(4, 1);
    terminate(4, 1);
    assert_int_equal(visits(), 1);
    exited(4, 1, 15, true);
    assert_int_equal(visits(), 0);
    launch(6, 1); /* its shepherd was lost */
    prolog_ok(6, 1, STEP_BATCH);
    started(6, 1);
    note(ids(NOTE_GONE, 6, 1));
    assert_int_equal(visits(), 0);
}

static void test_a_visit_lasts_as_long_as_the_allocation(void **state)
{
    (void)state;
    site("/p", NULL);
    step_launch(5, 0, NULL);
    EXPECT("prolog 5.1");
    prolog_ok(5, 1, 0);
    EXPECT("start 5.1");
    step_note(NOTE_STARTED, 0);
    step_note(NOTE_EXITED, 0);
    EXPECT("report started 5.1; report exited 5.1 #100");
    ack(100);
    EXPECT("forget 5.1 pid=9");
    assert_int_equal(visits(), 1);
    step_launch(5, 1, NULL);
    EXPECT("start 5.1"); /* its prolog ran */
    step_note(NOTE_EXITED, 1);
    str_clear(&said);
    ack(101);
    terminate(5, 1);
    EXPECT("forget 5.1 pid=10; report released 5.1 #102");
    assert_int_equal(visits(), 0);
}

/* The word about a run that is over comes late, when the job's next run is here. */
static void test_a_late_word_does_not_end_the_visit_of_the_next_run(void **state)
{
    (void)state;
    site("/p", "/e");
    launch(7, 2);
    str_clear(&said);
    terminate(7, 1);
    EXPECT("report released 7.1 #100");
    assert_int_equal(visits(), 1);
    prolog_ok(7, 2, STEP_BATCH);
    exited(7, 2, 0, true);
    EXPECT("start 7.2; report exited 7.2 #101; epilog 7.2 pid=1007 job");
}

/* ---- steps that come while the prolog runs ---- */

static void test_steps_wait_for_the_prolog(void **state)
{
    (void)state;
    site("/p", NULL);
    step_launch(5, 0, NULL);
    step_launch(5, 1, NULL);
    step_launch(5, 2, NULL);
    EXPECT("prolog 5.1");
    wait_us(INT64_C(60000000)); /* it may take long */
    EXPECT("heartbeat");
    step_launch(6, 0, NULL); /* that of another job is its own */
    EXPECT("prolog 6.1");
    prolog_ok(5, 1, 0);
    EXPECT("start 5.1; start 5.1; start 5.1");
    step_launch(5, 3, NULL);
    EXPECT("start 5.1");
}

/* The next step of the allocation does not run on what half of it left. */
static void test_a_prolog_that_fails_is_the_end_of_all_that_wait(void **state)
{
    (void)state;
    site("/p", NULL);
    step_launch(5, 0, NULL);
    step_launch(5, 1, NULL);
    prolog_ends(5, 1, 0, "prolog /p exited with 3");
    EXPECT("prolog 5.1; report failed 5.1 #100 retry \"prolog /p exited with 3\"; report failed "
           "5.1 #101 retry \"prolog /p exited with 3\"");
    ack(100);
    ack(101);
    str_clear(&said);
    step_launch(5, 2, NULL);
    EXPECT("prolog 5.1");
    prolog_ok(5, 1, 2);
    EXPECT("start 5.1");
}

static void test_a_step_that_waits_for_the_prolog_can_be_ended(void **state)
{
    (void)state;
    site("/p", "/e");
    step_launch(5, 0, NULL);
    step_launch(5, 1, NULL);
    step_launch(5, 2, NULL);
    str_clear(&said);
    step_terminate_alone(1);
    EXPECT("report failed 5.1 #100 retry \"it was ended before it could begin\"");
    terminate(5, 1); /* the job */
    EXPECT("report failed 5.1 #101 retry \"it was ended before it could begin\"");
    prolog_ok(5, 1, 0);
    EXPECT("epilog 5.1 job");
}

/* The command waits for a word about it. */
static void test_a_step_that_is_ended_during_the_prolog_is_told_of(void **state)
{
    (void)state;
    site("/p", "/e");
    step_launch(5, 0, NULL);
    step_launch(5, 1, NULL);
    step_terminate_alone(0);
    EXPECT("prolog 5.1");
    prolog_ok(5, 1, 0);
    EXPECT("report failed 5.1 #100 retry \"it was ended before it could begin\"; start 5.1");
}

/* It was refused before anything of the job was here. */
static void test_a_step_that_never_began_leaves_the_prolog_to_the_next(void **state)
{
    const char *gpu = "n1 cpus=0 mem=1 gpu:v100=1";
    (void)state;
    settings.prolog = "/p";
    both_clean();
    looked(1, 0, DEVICE_BROKEN, "it is broken");
    str_clear(&said);
    step_launch(5, 0, gpu);
    EXPECT("report failed 5.1 #100 retry \"GPU 1 of n1 cannot be used: it is broken\" "
           "out=gpu:1:failed");
    assert_int_equal(visits(), 0);
    step_launch(5, 1, NULL);
    EXPECT("prolog 5.1");
}

/* What the former run left to be acknowledged is no sign that this one has been here. */
static void test_each_run_has_its_prolog(void **state)
{
    (void)state;
    site("/p", NULL);
    launch(7, 1);
    prolog_ok(7, 1, STEP_BATCH);
    exited(7, 1, 0, true);
    str_clear(&said);
    launch(7, 2);
    EXPECT("prolog 7.2");
}

/* The controller gave the former run up while this node was away. */
static void test_two_runs_have_each_their_own(void **state)
{
    (void)state;
    site("/p", "/e");
    launch(7, 1);
    launch(7, 2);
    EXPECT("prolog 7.1; prolog 7.2");
    terminate(7, 1);
    prolog_ok(7, 1, STEP_BATCH);
    EXPECT("epilog 7.1 job");
    program_done(AGENT_EPILOG_DONE, 7, true, NULL);
    EXPECT("report released 7.1 #100");
    prolog_ok(7, 2, STEP_BATCH);
    EXPECT("start 7.2");
}

static void test_what_an_earlier_daemon_began_has_had_its_prolog(void **state)
{
    (void)state;
    found(5);
    started(5, 1);
    site("/p", NULL);
    step_launch(5, 0, NULL);
    EXPECT("start 5.1");
}

/* The wait for a device begins when that for the prolog ends. */
static void test_the_prolog_takes_no_time_from_devices(void **state)
{
    const char *gpu = "n1 cpus=0 mem=1 gpu:v100=1";
    (void)state;
    settings.prolog = "/p";
    both_clean();
    launch_with(4, gpu);
    prolog_ok(4, 1, STEP_BATCH);
    started(4, 1);
    terminate(4, 1);
    step_launch(5, 0, NULL);
    step_launch(5, 1, gpu);
    wait_us(INT64_C(10000000));
    str_clear(&said);
    prolog_ok(5, 1, 0);
    EXPECT("start 5.1");
    exited(4, 1, 15, true);
    str_clear(&said);
    looked(1, 1, DEVICE_CLEAN, NULL);
    EXPECT("report released 4.1 #101; start 5.1");
}

/* ---- the epilog, whatever became of the steps ---- */

static void launch_fails(int64_t id)
{
    struct note n = ids(NOTE_FAILED, id, 1);
    n.retry = 1;
    note(n);
}

/* The controller is told why, and ends the job. */
static void test_what_never_began_has_its_epilog(void **state)
{
    (void)state;
    site("/p", "/e");
    launch(7, 1);
    prolog_ok(7, 1, STEP_BATCH);
    str_clear(&said);
    launch_fails(7);
    EXPECT("report failed 7.1 #100 retry \"\"");
    terminate(7, 1);
    terminate(7, 1);
    EXPECT("epilog 7.1 job");
    ack(100);
    EXPECT("forget 7.1");
    epilog_ok(7);
    EXPECT("report released 7.1 #101");
    terminate(7, 1);
    EXPECT("report released 7.1 #102");
}

static void test_the_epilog_follows_a_prolog_that_failed(void **state)
{
    (void)state;
    site("/p", "/e");
    launch(7, 1);
    prolog_ends(7, 1, STEP_BATCH, "no room");
    str_clear(&said);
    terminate(7, 1);
    EXPECT("epilog 7.1 job");
    launch(8, 1); /* told to end before it has failed */
    terminate(8, 1);
    prolog_ends(8, 1, STEP_BATCH, "no room");
    EXPECT("prolog 8.1; report failed 8.1 #101 retry \"no room\"; epilog 8.1 job");
}

static void test_who_is_ended_before_his_shepherd_fails_has_his_epilog(void **state)
{
    (void)state;
    site("/p", "/e");
    launch(7, 1);
    prolog_ok(7, 1, STEP_BATCH);
    terminate(7, 1);
    str_clear(&said);
    launch_fails(7);
    EXPECT("report failed 7.1 #100 retry \"\"; epilog 7.1 job");
    epilog_ok(7);
    EXPECT("report released 7.1 #101");
}

/* The end of the allocation and that of its step cross each other. */
static void test_an_allocation_whose_step_has_just_ended_has_its_epilog(void **state)
{
    (void)state;
    site(NULL, "/e");
    step_launch(5, 0, NULL);
    step_note(NOTE_STARTED, 0);
    str_clear(&said);
    step_note(NOTE_EXITED, 0);
    EXPECT("report exited 5.1 #100");
    terminate(5, 1);
    EXPECT("epilog 5.1 job");
    ack(100);
    EXPECT("forget 5.1 pid=9");
    epilog_ok(5);
    EXPECT("report released 5.1 #101");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_job_that_is_over_is_remembered),
        TEST(a_visit_lasts_as_long_as_the_allocation),
        TEST(a_late_word_does_not_end_the_visit_of_the_next_run),
        TEST(steps_wait_for_the_prolog),
        TEST(a_prolog_that_fails_is_the_end_of_all_that_wait),
        TEST(a_step_that_waits_for_the_prolog_can_be_ended),
        TEST(a_step_that_is_ended_during_the_prolog_is_told_of),
        TEST_GPUS(a_step_that_never_began_leaves_the_prolog_to_the_next),
        TEST(each_run_has_its_prolog),
        TEST(two_runs_have_each_their_own),
        TEST(what_an_earlier_daemon_began_has_had_its_prolog),
        TEST_GPUS(the_prolog_takes_no_time_from_devices),
        TEST(what_never_began_has_its_epilog),
        TEST(the_epilog_follows_a_prolog_that_failed),
        TEST(who_is_ended_before_his_shepherd_fails_has_his_epilog),
        TEST(an_allocation_whose_step_has_just_ended_has_its_epilog),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
