/* How an agent passes signals and terminations on, and what it says of processes that stay. */
#include "agent_world.h"

#include <string.h>

static void test_terminate_goes_to_the_shepherd(void **state)
{
    (void)state;
    begin();
    launch(7, 1);
    started(7, 1);
    str_clear(&said);
    terminate(7, 2);
    EXPECT("report released 7.2 #100"); /* that start is not here */
    terminate(7, 1);
    EXPECT("terminate 7.1 pid=1007 wait=30 why=DUE TO TIME LIMIT");
    exited(7, 1, 15, true);
    EXPECT("report exited 7.1 #101 status=15 clean");
    ack(101);
    EXPECT("forget 7.1 pid=1007");
    launch(7, 2); /* it was ended before it came */
    EXPECT("report failed 7.2 #102 retry had \"this node has had that start before, and it is "
           "over\"");
}

static void test_terminate_of_what_is_over(void **state)
{
    (void)state;
    begin();
    launch(7, 1);
    exited(7, 1, 0, true);
    str_clear(&said);
    terminate(7, 1);
    EXPECT(
        "report released 7.1 #101"); /* the clean end says it all, but may have come before the controller wanted to hear it */
    ack(100);
    EXPECT("");
    ack(101);
    EXPECT("forget 7.1 pid=1007");
    terminate(7, 1);
    EXPECT("report released 7.1 #102");
    ack(102);
    assert_int_equal(agent_held_count(agent), 0);
}

static void test_processes_that_take_long_to_die(void **state)
{
    (void)state;
    begin();
    launch(7, 1);
    started(7, 1);
    str_clear(&said);
    exited(7, 1, 0, false);
    EXPECT("report exited 7.1 #100");
    terminate(7, 1);
    EXPECT("terminate 7.1 pid=1007 wait=30 why=DUE TO TIME LIMIT");
    ack(100);
    EXPECT("");
    note(ids(NOTE_CLEARED, 7, 1));
    EXPECT("report released 7.1 #101");
    ack(101);
    EXPECT("forget 7.1 pid=1007");
}

/* The controller hears of it by the way that it hears of devices, also from a node without any. */
static void test_a_process_that_cannot_be_killed_is_told(void **state)
{
    (void)state;
    struct note stuck = {.kind = NOTE_STUCK,
                         .job_id = 5,
                         .attempt = 1,
                         .step_id = STEP_BATCH,
                         .pid = 1005,
                         .status = 12,
                         .at_us = 77};
    begin();
    launch(5, 1);
    started(5, 1);
    exited(5, 1, 9, false);
    str_clear(&said);
    strcpy(stuck.detail, "process 12 (x) outlives SIGKILL");
    note(stuck);
    EXPECT("log \"process 12 (x) outlives SIGKILL; job 5 keeps what it has here until that ends\"; "
           "heartbeat "
           "out=process:12:unproven");
    note(stuck);
    EXPECT("");
    note((struct note){
        .kind = NOTE_CLEARED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 1005});
    EXPECT("report released 5.1 #101");
}

/* It stands still, or has been told in vain. */
static void test_a_shepherd_that_says_nothing_is_looked_at(void **state)
{
    (void)state;
    struct note stuck = {.kind = NOTE_STUCK,
                         .job_id = 7,
                         .attempt = 1,
                         .step_id = STEP_BATCH,
                         .pid = 1007,
                         .status = 1007};
    settings.unkillable_us = 60000000;
    settings.heartbeat_us = 0;
    begin();
    launch(7, 1);
    started(7, 1);
    assert_true(agent_wake_due(agent) == INT64_MAX); /* one that runs says nothing for days */
    str_clear(&said);
    terminate(7, 1);
    EXPECT("terminate 7.1 pid=1007 wait=30 why=DUE TO TIME LIMIT");
    assert_true(agent_wake_due(agent) == now_us + 30 + 120000000);
    wait_us(60000000);
    terminate(7, 1); /* said again it has no more time */
    str_clear(&said);
    wait_us(59000000);
    EXPECT("");
    wait_us(2000000);
    EXPECT("rouse 7.1 pid=1007");
    strcpy(stuck.detail, "its shepherd, process 1007, stands still");
    note(stuck);
    str_clear(&said);
    wait_us(121000000);
    EXPECT("rouse 7.1 pid=1007 gives_up");
    note(ids(NOTE_GONE, 7, 1));
    EXPECT("clear 7.1 pid=1007; report lost 7.1 #100 clean; report released 7.1 #101");
    assert_true(agent_wake_due(agent) == INT64_MAX);
}

/* Each of its words is one: it may take long. */
static void test_a_shepherd_that_speaks_is_not_given_up(void **state)
{
    (void)state;
    settings.unkillable_us = 60000000;
    settings.heartbeat_us = 0;
    begin();
    launch(7, 1);
    started(7, 1);
    exited(7, 1, 0, false); /* of others that are left it is to say that they are gone */
    str_clear(&said);
    wait_us(121000000);
    EXPECT("rouse 7.1 pid=1007");
    note((struct note){.kind = NOTE_STUCK,
                       .job_id = 7,
                       .attempt = 1,
                       .step_id = STEP_BATCH,
                       .pid = 1007,
                       .status = 12});
    str_clear(&said);
    wait_us(119000000);
    EXPECT("");
    wait_us(2000000);
    EXPECT("rouse 7.1 pid=1007");
    settings.unkillable_us = 0; /* nothing is told of what outlives SIGKILL */
    welcome();
    str_clear(&said);
    wait_us(121000000);
    str_clear(&said);
    assert_true(agent_wake_due(agent) == INT64_MAX);
}

/* In half of the time after which its jobs may run elsewhere. */
static void test_a_host_that_was_shut_out_ends_what_runs(void **state)
{
    (void)state;
    const struct msg_done out = {
        .refusal = REFUSE_ACCESS_DENIED, .detail = "shut out", .shut_out = true};
    const struct msg_done other = {.refusal = REFUSE_ACCESS_DENIED, .detail = "another's"};
    settings.timeout_us = 300000000;
    settings.kill_wait_us = 30000000;
    settings.heartbeat_us = 0;
    begin();
    launch(7, 1);
    started(7, 1);
    launch(8, 1);
    down();
    up();
    str_clear(&said);
    message(MSG_DONE, &other);
    wait_us(200000000);
    assert_null(strstr(str_text(&said), "terminate"));
    str_clear(&said);
    message(MSG_DONE, &out);
    assert_non_null(strstr(str_text(&said), "is ended in 135 s, unless it joins again before"));
    down();
    wait_us(100000000);
    up();
    welcome(); /* it was let in again */
    str_clear(&said);
    wait_us(400000000);
    assert_null(strstr(str_text(&said), "terminate"));
    down();
    up();
    message(MSG_DONE, &out);
    down();
    str_clear(&said);
    wait_us(134000000);
    message(MSG_DONE, &out); /* said again: no more time */
    EXPECT("");
    assert_true(agent_wake_due(agent) <= now_us + 1000000);
    wait_us(1000000);
    EXPECT("terminate 7.1 pid=1007 wait=30000000 why=DUE TO NODE FAILURE");
    started(8, 1); /* whose shepherd had not spoken yet */
    EXPECT("terminate 8.1 pid=1008 wait=30000000 why=DUE TO NODE FAILURE");
    wait_us(200000000);
    EXPECT(""); /* once */
}

static void test_signals(void **state)
{
    (void)state;
    struct msg_signal m = {.job_id = 7, .attempt = 1, .signal = 10, .batch = true};
    begin();
    launch(7, 1);
    message(MSG_SIGNAL, &m);
    EXPECT("start 7.1"); /* nothing runs yet that could take it */
    started(7, 1);
    str_clear(&said);
    message(MSG_SIGNAL, &m);
    EXPECT("signal 7.1 pid=1007 signal=10 batch");
    m = (struct msg_signal){
        .job_id = 7, .attempt = 1, .signal = 12, .only_step = true, .step_id = STEP_BATCH};
    message(MSG_SIGNAL, &m);
    EXPECT("signal 7.1 pid=1007 signal=12");
    m.step_id = 3;
    message(MSG_SIGNAL, &m);
    m = (struct msg_signal){.job_id = 7, .attempt = 2, .signal = 12};
    message(MSG_SIGNAL, &m);
    EXPECT("");
}

static void test_signals_of_a_job_with_steps(void **state)
{
    (void)state;
    struct msg_signal m = {.job_id = 5, .attempt = 1, .signal = 10};
    begin();
    launch(5, 1);
    started(5, 1);
    step_launch(5, 0, "n1 cpus=0 mem=1");
    step_note(NOTE_STARTED, 0);
    str_clear(&said);
    message(MSG_SIGNAL, &m);
    EXPECT("signal 5.1 pid=9 signal=10 of_job");
    m.batch = true;
    message(MSG_SIGNAL, &m);
    EXPECT("signal 5.1 pid=1005 signal=10 batch");
    m.full = true;
    message(MSG_SIGNAL, &m);
    assert_non_null(strstr(str_text(&said), "pid=9 signal=10 of_job"));
    assert_non_null(strstr(str_text(&said), "pid=1005 signal=10 of_job"));
    str_clear(&said);
    m = (struct msg_signal){.job_id = 5, .attempt = 1, .signal = 10, .only_step = true};
    message(MSG_SIGNAL, &m);
    EXPECT("signal 5.1 pid=9 signal=10");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(terminate_goes_to_the_shepherd),
        TEST(terminate_of_what_is_over),
        TEST(processes_that_take_long_to_die),
        TEST(a_process_that_cannot_be_killed_is_told),
        TEST(a_shepherd_that_says_nothing_is_looked_at),
        TEST(a_shepherd_that_speaks_is_not_given_up),
        TEST(a_host_that_was_shut_out_ends_what_runs),
        TEST(signals),
        TEST(signals_of_a_job_with_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
