/* Much that is asked for at once is done a slice at a time: how much a wake does is bounded, and whose it is goes round. */
#include "core_help.h"

/* Everybody else is served in between, and the answer comes when all are ended. */
static void many_are_cancelled_a_slice_at_a_time(void **unused)
{
    struct job_spec spec = a_job("many");
    struct msg_cancel m = {.uids = "1000"};
    struct message ask = {.kind = MSG_CANCEL, .seq = 77, .body = &m};
    spec.hold = true;
    for (int i = 0; i < 300; i++)
        submit(spec);
    effects_reset(&w.fx);
    step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &ask});
    assert_null(answer());
    assert_true(count((struct msg_query){.what = QUERY_JOBS}) == 300 - 128);
    step((struct event){.kind = EV_WAKE});
    assert_null(answer());
    assert_true(count((struct msg_query){.what = QUERY_JOBS}) == 300 - 2 * 128);
    settle(0);
    assert_non_null(answer());
    assert_int_equal(answer()->count, 300);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 0);
}

/* While others ask, the slices rest. */
static void slices_rest_while_others_ask(void **unused)
{
    struct job_spec spec = a_job("many");
    struct msg_cancel m = {.uids = "1000"};
    struct message ask = {.kind = MSG_CANCEL, .seq = 77, .body = &m};
    spec.hold = true;
    for (int i = 0; i < 300; i++)
        submit(spec);
    step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &ask});
    am_bob();
    uint64_t other = submit(a_job("other"));
    assert_true(core_wake_due(w.c) > w.now);
    w.now += SEC / 100;
    effects_reset(&w.fx);
    while (core_wake_due(w.c) <= w.now || !answer()) {
        settle(0);
        w.now += SEC / 100;
    }
    assert_int_equal(answer()->count, 300);
    assert_int_equal(state(other), JOB_RUNNING);
}

static void ask_cancel_all(bool hurry)
{
    struct msg_cancel m = {.uids = w.peer.uid == ALICE ? "1000" : "1001"};
    struct message ask = {.kind = MSG_CANCEL, .seq = ++w.seq, .body = &m};
    step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &ask, .hurry = hurry});
}

/* Where others wait a wake ends few jobs, of one request, and looks at a bounded number; users take turns, however many requests each has. */
static void sweeps_are_bounded_and_go_round_over_users(void **unused)
{
    struct job_spec spec = a_job("many");
    spec.hold = true;
    for (int i = 0; i < 200; i++)
        submit(spec);
    am_bob();
    for (int i = 0; i < 100; i++)
        submit(spec);
    am_alice();
    for (int i = 0; i < 3; i++)
        ask_cancel_all(true);
    uint64_t left = count((struct msg_query){.what = QUERY_JOBS, .uids = "1000"});
    assert_int_equal(left, 200 - 3 * 16);
    am_bob();
    ask_cancel_all(true);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .uids = "1001"}), 100 - 16);
    uint64_t all = left + 100 - 16;
    for (int wakes = 0; wakes < 10; wakes++) {
        w.now += SEC / 100;
        step((struct event){.kind = EV_WAKE});
        uint64_t now = count((struct msg_query){.what = QUERY_JOBS});
        assert_in_range(all - now, 1, 16);
        all = now;
    }
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .uids = "1001"}), 100 - 16 - 5 * 16);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .uids = "1000"}), left - 5 * 16);
}

static void requests_that_are_worked_off_are_few(void **unused)
{
    struct job_spec spec = a_job("many");
    spec.hold = true;
    for (int i = 0; i < 65 * 16 + 100; i++)
        submit(spec);
    for (int i = 0; i < 64; i++)
        ask_cancel_all(true);
    effects_reset(&w.fx);
    ask_cancel_all(true);
    assert_non_null(answer());
    assert_int_equal(answer()->refusal, REFUSE_BUSY);
}

/* What came after the request is not meant by it. */
static void a_sweep_spares_what_came_later(void **unused)
{
    struct job_spec spec = a_job("many");
    spec.hold = true;
    for (int i = 0; i < 300; i++)
        submit(spec);
    ask_cancel_all(false);
    uint64_t later = submit(spec);
    settle(0);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 1);
    assert_int_equal(state(later), JOB_PENDING);
}

/* The clock is set back by an hour while slices rest: they go on. */
static void a_sweep_outlives_a_clock_that_is_set(void **unused)
{
    struct job_spec spec = a_job("many");
    spec.hold = true;
    for (int i = 0; i < 100; i++)
        submit(spec);
    ask_cancel_all(true);
    w.now -= 60 * MIN;
    step((struct event){.kind = EV_WAKE});
    for (int i = 0; i < 20 && core_wake_due(w.c) <= w.now + SEC; i++) {
        w.now += SEC / 100;
        step((struct event){.kind = EV_WAKE});
    }
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 0);
}

/* While the planner rests a wake does all but plan. */
static void a_planner_that_rests_plans_afterwards(void **unused)
{
    step((struct event){.kind = EV_WAKE, .plan_rests = true});
    uint64_t id = submit(a_job("waits"));
    assert_int_equal(state(id), JOB_PENDING);
    assert_true(core_wake_due(w.c) > w.now);
    step((struct event){.kind = EV_WAKE});
    assert_int_equal(state(id), JOB_RUNNING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(many_are_cancelled_a_slice_at_a_time),
        STORY(slices_rest_while_others_ask),
        STORY(sweeps_are_bounded_and_go_round_over_users),
        STORY(requests_that_are_worked_off_are_few),
        STORY(a_sweep_spares_what_came_later),
        STORY(a_sweep_outlives_a_clock_that_is_set),
        STORY(a_planner_that_rests_plans_afterwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
