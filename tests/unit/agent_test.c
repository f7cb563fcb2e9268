/* The node's machine: each test feeds events and compares what the machine wants done, one line an
 * effect. */
#include "agent_world.h"

#include <string.h>

static void test_a_job_comes_runs_ends_and_is_forgotten(void **state)
{
    (void)state;
    up();
    EXPECT("node_hello n1 pid=77");
    welcome();
    EXPECT("");
    launch(7, 1);
    EXPECT("start 7.1");
    started(7, 1);
    EXPECT("report started 7.1");
    note(ids(NOTE_USAGE, 7, 1));
    EXPECT("report usage 7.1");
    exited(7, 1, 256, true);
    EXPECT("report exited 7.1 #100 status=256 clean");
    ack(100);
    EXPECT("forget 7.1 pid=1007");
    assert_int_equal(agent_held_count(agent), 0);
    assert_int_equal(agent_unacknowledged_count(agent), 0);
}

static void test_repeated_messages_do_nothing(void **state)
{
    (void)state;
    begin();
    launch(7, 1);
    EXPECT("start 7.1");
    launch(7, 1);
    started(7, 1);
    EXPECT("report started 7.1");
    started(7, 1);
    launch(7, 1);
    EXPECT("");
    exited(7, 1, 0, true);
    EXPECT("report exited 7.1 #100 clean");
    exited(7, 1, 0, true);
    launch(7, 1);
    EXPECT("");
    ack(100);
    EXPECT("forget 7.1 pid=1007");
    ack(100);
    launch(7, 1);
    /* A launch that was delayed for ever must not run the job again. */
    EXPECT("report failed 7.1 #101 retry had \"this node has had that start before, and it is "
           "over\"");
    launch(7, 2);
    EXPECT("start 7.2");
}

/* Its controller has gone back to an older store, and would wait for an end that was acknowledged
 * to the one before. */
static void test_a_start_that_was_over_is_answered_once_more(void **state)
{
    (void)state;
    begin();
    launch(7, 1);
    exited(7, 1, 0, true);
    ack(100);
    str_clear(&said);
    launch(7, 1);
    launch(7, 1);
    EXPECT("report failed 7.1 #101 retry had \"this node has had that start before, and it is "
           "over\"");
    terminate(7, 1);
    EXPECT("report released 7.1 #102");
    ack(101);
    ack(102);
    EXPECT("forget 7.1");
    assert_int_equal(agent_held_count(agent), 0);
    launch(7, 1);
    EXPECT("report failed 7.1 #103 retry had \"this node has had that start before, and it is "
           "over\"");
    ack(103);
    EXPECT("forget 7.1");
    terminate(7, 1);
    EXPECT("report released 7.1 #104");
}

/* A step of it that another node's script asks for would hang as well. */
static void test_a_step_that_was_over_is_answered(void **state)
{
    (void)state;
    begin();
    step_launch(5, 0, "n1:0");
    str_clear(&said);
    step_note(NOTE_STARTED, 0);
    step_note(NOTE_EXITED, 0);
    ack(100);
    str_clear(&said);
    step_launch(5, 0, "n1:0");
    EXPECT("report failed 5.1 #101 retry had \"this node has had that start before, and it is "
           "over\"");
    step_launch(5, 1, "n1:0");
    EXPECT("start 5.1");
}

static void test_the_end_may_overtake_the_beginning(void **state)
{
    (void)state;
    begin();
    launch(7, 1);
    exited(7, 1, 0, true);
    EXPECT("start 7.1; report exited 7.1 #100 clean");
}

static void test_reports_wait_for_the_controller_and_are_repeated_in_order(void **state)
{
    (void)state;
    begin();
    launch(7, 1);
    launch(8, 1);
    started(7, 1);
    started(8, 1);
    down();
    str_clear(&said);
    exited(8, 1, 0, true);
    note(ids(NOTE_USAGE, 7, 1));
    exited(7, 1, 9, true);
    EXPECT("");
    up();
    EXPECT("node_hello n1 pid=77 7.1(ended) 8.1(ended)");
    welcome();
    EXPECT("report exited 8.1 #100 clean; report exited 7.1 #101 status=9 clean");
    down();
    up();
    welcome();
    EXPECT("node_hello n1 pid=77 7.1(ended) 8.1(ended); report exited 8.1 #100 clean; report "
           "exited 7.1 #101 "
           "status=9 clean");
    ack(101);
    EXPECT("forget 7.1 pid=1007");
    ack(100);
    EXPECT("forget 8.1 pid=1008");
}

static void test_heartbeats_repeat_what_waits_too_long(void **state)
{
    (void)state;
    begin();
    int64_t due = agent_wake_due(agent);
    assert_true(due > now_us && due <= now_us + settings.heartbeat_us);
    launch(7, 1);
    exited(7, 1, 0, true);
    str_clear(&said);
    now_us = due;
    step((struct agent_event){.kind = AGENT_WAKE});
    EXPECT("heartbeat");
    now_us = agent_wake_due(agent);
    step((struct agent_event){.kind = AGENT_WAKE});
    EXPECT("heartbeat; report exited 7.1 #100 clean");
    down();
    assert_true(agent_wake_due(agent) == INT64_MAX);
}

static void test_terminate_before_the_shepherd_is_there(void **state)
{
    (void)state;
    begin();
    launch(7, 1);
    terminate(7, 1);
    EXPECT("start 7.1");
    started(7, 1);
    EXPECT("report started 7.1; terminate 7.1 pid=1007 wait=30 why=DUE TO TIME LIMIT");
}

/* Whatever process of the node's user it is: it may speak for its own step only. */
static void test_a_shepherd_speaks_for_its_own_step(void **state)
{
    (void)state;
    begin();
    launch(5, 1);
    launch(7, 1);
    started(5, 1);
    started(7, 1);
    str_clear(&said);
    struct note lie = ids(NOTE_EXITED, 7, 1);
    lie.pid = 1005;
    lie.clean = 1;
    note(lie);
    EXPECT("log \"process 1005 spoke for a step of job 7 that is process 1007's; it is not "
           "believed\"");
    str_clear(&said);
    exited(7, 1, 0, true);
    assert_non_null(strstr(str_text(&said), "report exited 7.1"));
}

static void test_a_launch_that_fails(void **state)
{
    (void)state;
    begin();
    launch(7, 1);
    str_clear(&said);
    struct note n = ids(NOTE_FAILED, 7, 1);
    strcpy(n.detail, "no disk");
    n.retry = 1;
    note(n);
    EXPECT("report failed 7.1 #100 retry \"no disk\"");
    terminate(7, 1);
    EXPECT("report released 7.1 #101");
    ack(100);
    EXPECT("");
    ack(101);
    EXPECT("forget 7.1");
}

static void test_a_lost_shepherd(void **state)
{
    (void)state;
    begin();
    launch(7, 1);
    started(7, 1);
    str_clear(&said);
    note(ids(NOTE_GONE, 7, 1));
    EXPECT("clear 7.1 pid=1007; report lost 7.1 #100 clean; report released 7.1 #101");
    exited(7, 1, 0, true);
    EXPECT("");
    ack(100);
    ack(101);
    EXPECT("forget 7.1 pid=1007");
}

static void test_a_shepherd_that_never_came(void **state)
{
    (void)state;
    begin();
    launch(7, 1);
    note(ids(NOTE_GONE, 7, 1));
    EXPECT(
        "start 7.1; report failed 7.1 #100 retry gone \"its shepherd ended before it could start "
        "it\"");
}

static void test_a_restarted_daemon_goes_on(void **state)
{
    (void)state;
    found(5); /* runs */
    started(5, 1);
    found(6); /* ended while no daemon was there */
    started(6, 1);
    exited(6, 1, 512, true);
    note(ids(NOTE_GONE, 6, 1));
    found(7); /* lost */
    started(7, 1);
    note(ids(NOTE_GONE, 7, 1));
    EXPECT("clear 7.1 pid=1007");
    up();
    EXPECT("node_hello n1 pid=77 5.1 6.1(ended) 7.1(ended)");
    launch(5, 1);
    EXPECT("");
    welcome();
    EXPECT("report exited 6.1 #100 status=512 clean; report lost 7.1 #101 clean; report released "
           "7.1 #102");
    launch(5, 1);
    EXPECT("");
    terminate(5, 1);
    EXPECT("terminate 5.1 pid=1005 wait=30 why=DUE TO TIME LIMIT");
    exited(5, 1, 15, true);
    EXPECT("report exited 5.1 #103 status=15 clean");
}

static void test_what_has_not_begun_is_told(void **state)
{
    (void)state;
    up();
    EXPECT("node_hello n1 pid=77");
    welcome();
    EXPECT("");
    launch(5, 1);
    EXPECT("start 5.1");
    found(6);
    up();
    EXPECT("node_hello n1 pid=77 5.1(unbegun) 6.1");
    welcome();
    EXPECT("");
    started(5, 1);
    EXPECT("report started 5.1");
    up();
    EXPECT("node_hello n1 pid=77 5.1 6.1");
}

static void test_prolog_and_epilog(void **state)
{
    (void)state;
    settings.prolog = "/p";
    settings.epilog = "/e";
    begin();
    launch(7, 1);
    EXPECT("prolog 7.1");
    program_done(AGENT_PROLOG_DONE, 7, true, NULL);
    EXPECT("start 7.1");
    started(7, 1);
    EXPECT("report started 7.1");
    exited(7, 1, 0, true);
    EXPECT("report exited 7.1 #100; epilog 7.1 pid=1007 job");
    terminate(7, 1);
    EXPECT("");
    ack(100);
    EXPECT("");
    program_done(AGENT_EPILOG_DONE, 7, true, NULL);
    EXPECT("report released 7.1 #101");
    ack(101);
    EXPECT("forget 7.1 pid=1007");
}

static void test_a_failing_prolog_and_a_failing_epilog(void **state)
{
    (void)state;
    settings.prolog = "/p";
    settings.epilog = "/e";
    begin();
    launch(7, 1);
    program_done(AGENT_PROLOG_DONE, 7, false, "prolog /p exited with 3");
    EXPECT("prolog 7.1; report failed 7.1 #100 retry \"prolog /p exited with 3\"");
    launch(8, 1);
    program_done(AGENT_PROLOG_DONE, 8, true, NULL);
    exited(8, 1, 0, true);
    program_done(AGENT_EPILOG_DONE, 8, false, "epilog /e exited with 4");
    EXPECT("prolog 8.1; start 8.1; report exited 8.1 #101; epilog 8.1 pid=1008 job; report "
           "released 8.1 #102 "
           "\"epilog /e exited with 4\"");
}

static void test_terminate_during_the_prolog(void **state)
{
    (void)state;
    settings.prolog = "/p";
    begin();
    launch(7, 1);
    terminate(7, 1);
    EXPECT("prolog 7.1");
    program_done(AGENT_PROLOG_DONE, 7, true, NULL);
    EXPECT("report released 7.1 #100"); /* it never ran */
    ack(100);
    EXPECT("forget 7.1");
}

static void test_the_epilog_of_a_found_step_waits_for_the_settings(void **state)
{
    (void)state;
    settings.epilog = "/e";
    found(7);
    started(7, 1);
    exited(7, 1, 0, true);
    EXPECT("");
    up();
    welcome();
    EXPECT("node_hello n1 pid=77 7.1(ended); report exited 7.1 #100; epilog 7.1 pid=1007 kept");
}

static void test_a_controller_that_cannot_be_understood_is_not_obeyed(void **state)
{
    struct msg_node_welcome newer = {
        .heartbeat_us = 20000000, .version = "9.9", .protocol = 9, .protocol_oldest = 8};
    (void)state;
    up();
    str_clear(&said);
    message(MSG_NODE_WELCOME, &newer);
    assert_non_null(
        strstr(str_text(&said), "the controller runs Remuda 9.9, which is too new for this node"));
    str_clear(&said);
    launch(7, 1);
    EXPECT("");
}

static void test_a_refused_hello_is_logged(void **state)
{
    (void)state;
    struct msg_done m = {.refusal = REFUSE_INVALID_NODE, .detail = "no NodeName line"};
    up();
    str_clear(&said);
    message(MSG_DONE, &m);
    EXPECT(
        "log \"the controller refuses this node: Invalid node name specified: no NodeName line\"");
    launch(7, 1);
    EXPECT(""); /* nor does it take jobs before it is welcome */
}

/* Its line may have been added since, as the sentence says. */
static void test_a_node_that_was_refused_says_hello_again(void **state)
{
    (void)state;
    struct msg_done m = {.refusal = REFUSE_INVALID_NODE, .detail = "no NodeName line"};
    up();
    message(MSG_DONE, &m);
    for (int i = 0; i < 2; i++) {
        int64_t due = agent_wake_due(agent);
        assert_true(due > now_us && due < INT64_MAX);
        str_clear(&said);
        wait_us(due - now_us);
        EXPECT("node_hello n1 pid=77");
        message(MSG_DONE, &m);
        EXPECT(""); /* the log has it once */
    }
    welcome();
    wait_us(agent_wake_due(agent) - now_us);
    EXPECT("heartbeat");
}

static void test_equal_events_equal_states(void **state)
{
    (void)state;
    begin();
    launch(7, 1);
    uint64_t before = agent_hash(agent);
    launch(7, 1);
    assert_true(agent_hash(agent) == before);
    started(7, 1);
    assert_true(agent_hash(agent) != before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_comes_runs_ends_and_is_forgotten),
        TEST(repeated_messages_do_nothing),
        TEST(a_start_that_was_over_is_answered_once_more),
        TEST(a_step_that_was_over_is_answered),
        TEST(the_end_may_overtake_the_beginning),
        TEST(reports_wait_for_the_controller_and_are_repeated_in_order),
        TEST(heartbeats_repeat_what_waits_too_long),
        TEST(terminate_before_the_shepherd_is_there),
        TEST(a_shepherd_speaks_for_its_own_step),
        TEST(a_launch_that_fails),
        TEST(a_lost_shepherd),
        TEST(a_shepherd_that_never_came),
        TEST(a_restarted_daemon_goes_on),
        TEST(what_has_not_begun_is_told),
        TEST(prolog_and_epilog),
        TEST(a_failing_prolog_and_a_failing_epilog),
        TEST(terminate_during_the_prolog),
        TEST(the_epilog_of_a_found_step_waits_for_the_settings),
        TEST(a_controller_that_cannot_be_understood_is_not_obeyed),
        TEST(a_refused_hello_is_logged),
        TEST(a_node_that_was_refused_says_hello_again),
        TEST(equal_events_equal_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
