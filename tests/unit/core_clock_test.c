/* The wall clock is set: limits, silences and graces go on as if it had not been; dates of people
 * follow it. */
#include "core_clock_help.h"

/* Less than what is told in the new time: what ended meanwhile lasted no time, and not less. */
static void test_nothing_ends_before_it_began(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("short")), gone = submit(a_job("lost"));
    goes_on(USEC_PER_SEC / 10);
    clock_is_set(-USEC_PER_SEC / 2);
    script_ends(id, 0);
    am_root();
    control(ids_of(gone), ACTION_REQUEUE);
    script_ends(gone, 0);
    assert_int_equal(state(id), JOB_COMPLETED);
    assert_int_equal(job(id)->end_us, job(id)->start_us);
}

static void a_minute_after(int64_t by_us)
{
    uint64_t id = submit(a_job("ten minutes"));
    goes_on(MIN);
    clock_is_set(by_us);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(node("n1")->state, NODE_UP);
    assert_int_equal(w.now - job(id)->start_us, MIN);
    for (int i = 0; i < 8; i++)
        goes_on(MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    goes_on(MIN + SEC);
    assert_int_equal(state(id), JOB_COMPLETING);
    assert_int_equal(job(id)->end_state, JOB_TIMEOUT);
    assert_int_equal(node("n1")->state, NODE_UP);
}

static void test_forward_no_node_is_down_and_no_job_ends(void **unused)
{
    (void)unused;
    a_minute_after(3 * 60 * MIN);
}

static void test_back_limits_hold(void **unused)
{
    (void)unused;
    a_minute_after(-3 * 60 * MIN);
}

static void test_a_suspended_job_keeps_the_rest_of_its_limit(void **unused)
{
    (void)unused;
    am_root();
    uint64_t id = submit(a_job("ten minutes"));
    goes_on(MIN);
    control(ids_of(id), ACTION_SUSPEND);
    goes_on(MIN);
    clock_is_set(5 * 60 * MIN);
    control(ids_of(id), ACTION_RESUME);
    for (int i = 0; i < 8; i++)
        goes_on(MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    goes_on(MIN + SEC);
    assert_int_equal(state(id), JOB_COMPLETING);
}

static void test_a_silent_node_is_silent_whatever_the_clock_says(void **unused)
{
    (void)unused;
    goes_on(SEC);
    clock_is_set(-5 * 60 * MIN);
    for (int s = 0; s < 61; s++) {
        w.now += SEC;
        mono += SEC;
        timed((struct event){.kind = EV_WAKE});
    }
    assert_int_equal(node("n1")->state, NODE_DOWN);
}

static void test_a_begin_time_is_a_date(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("tonight");
    spec.begin_us = w.now + 3 * 60 * MIN;
    uint64_t id = submit(spec);
    goes_on(SEC);
    assert_int_equal(state(id), JOB_PENDING);
    clock_is_set(3 * 60 * MIN);
    assert_int_equal(state(id), JOB_RUNNING);
}

static void test_a_clock_set_while_the_controller_was_down(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("ten minutes"));
    goes_on(MIN);
    two_lives();
    assert_int_equal(w.now - job(id)->start_us, MIN);
    assert_int_equal(state(id), JOB_RUNNING);
}

/* A machine without a battery: it begins in 1970, and is told the time later. */
static void test_a_clock_that_begins_anew_with_a_boot(void **unused)
{
    (void)unused;
    int64_t years = 50 * 365 * USEC_PER_DAY;
    uint64_t id = submit(a_job("ten minutes"));
    goes_on(MIN);
    two_lives_of(NODES, "next-boot", -years);
    struct held held = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH};
    hello_holding(1, &held, 1);
    assert_true(job(id)->start_us <= w.now);
    assert_true(w.now - job(id)->start_us <= MIN);
    clock_is_set(years);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_true(job(id)->start_us <= w.now);
    for (int i = 0; i < 11; i++)
        goes_on(MIN);
    assert_int_equal(job(id)->end_state, JOB_TIMEOUT);
}

/* One that is right after a boot is believed. */
static void test_a_boot_takes_its_time(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("ten minutes"));
    goes_on(MIN);
    two_lives_of(NODES, "next-boot", 5 * MIN);
    assert_int_equal(w.now - job(id)->start_us, 6 * MIN);
}

static void test_small_changes_add_up(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("ten minutes"));
    for (int i = 0; i < 100; i++) {
        w.now += SEC / 2;
        goes_on(SEC);
    }
    assert_in_range(w.now - job(id)->start_us, 100 * SEC - 1, 101 * SEC);
}

static void token_for_an_hour(void)
{
    struct token t = {.id = "t1",
                      .secret_hash = "x",
                      .kind = HOST_TRUSTED,
                      .uses_left = 5,
                      .expires_us = USEC_PER_HOUR};
    am_root();
    struct msg_make_token m = {.token = {&t, 1}, .text = "t"};
    struct message say_it = {.kind = MSG_MAKE_TOKEN, .body = &m};
    timed((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &say_it});
}

/* A token is good for a time, whatever the wall clock says: one that is over does not come back. */
static void test_a_token_is_good_for_its_time(void **unused)
{
    (void)unused;
    token_for_an_hour();
    clock_is_set(30 * USEC_PER_DAY);
    const struct token *there = the(QUERY_TOKENS, NULL);
    assert_int_equal(there->expires_us - w.now, USEC_PER_HOUR);
    goes_on(2 * USEC_PER_HOUR);
    clock_is_set(-60 * USEC_PER_DAY);
    assert_int_equal(count((struct msg_query){.what = QUERY_TOKENS}), 0); /* it is over */
}

/* Also where nobody saw the clock being set. */
static void test_a_token_is_good_for_its_time_over_a_restart(void **unused)
{
    (void)unused;
    token_for_an_hour();
    goes_on(MIN);
    two_lives();
    const struct token *there = the(QUERY_TOKENS, NULL);
    assert_int_equal(there->expires_us - w.now, USEC_PER_HOUR - MIN);
    assert_int_equal(there->created_us, w.now - MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_forward_no_node_is_down_and_no_job_ends, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_back_limits_hold, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_a_suspended_job_keeps_the_rest_of_its_limit,
                                        open_world, teardown),
        cmocka_unit_test_setup_teardown(test_a_silent_node_is_silent_whatever_the_clock_says,
                                        open_world, teardown),
        cmocka_unit_test_setup_teardown(test_a_begin_time_is_a_date, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_a_clock_set_while_the_controller_was_down, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_clock_that_begins_anew_with_a_boot, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_boot_takes_its_time, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_small_changes_add_up, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_ends_before_it_began, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_a_token_is_good_for_its_time, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_a_token_is_good_for_its_time_over_a_restart,
                                        open_world, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
