/* What a node knows of jobs between their steps: for its next daemon, and where no step's end is
 * followed by the epilog. */
#include "agent_world.h"

#include "agent/inside.h"

#include <string.h>

static void test_a_visit_is_kept_until_its_epilog_has_run(void **state)
{
    (void)state;
    site("/p", "/e");
    launch(7, 1);
    VISITS("+7.1?");
    prolog_ok(7, 1, STEP_BATCH);
    VISITS("=7.1");
    exited(7, 1, 0, true);
    VISITS("");
    program_done(AGENT_EPILOG_DONE, 7, true, NULL);
    VISITS("-7.1");
    launch(8, 1);
    prolog_ends(8, 1, STEP_BATCH, "no room");
    VISITS("+8.1?");
    terminate(8, 1);
    epilog_ok(8);
    VISITS("-8.1");
}

static void test_what_is_kept_of_a_visit_without_an_epilog_goes_with_its_end(void **state)
{
    (void)state;
    site("/p", NULL);
    launch(7, 1);
    prolog_ok(7, 1, STEP_BATCH);
    exited(7, 1, 0, true);
    VISITS("+7.1? =7.1 -7.1");
    down();
    settings.prolog = NULL;
    begin();
    launch(8, 1); /* nothing is to be kept */
    exited(8, 1, 0, true);
    VISITS("");
}

/* Between the steps of an allocation. */
static void test_the_next_daemon_knows_who_has_been_here(void **state)
{
    (void)state;
    settings.prolog = "/p";
    settings.epilog = "/e";
    visited(5, true);
    visited(6, false);
    up();
    EXPECT("node_hello n1 pid=77 5.1 6.1");
    welcome();
    step_launch(5, 1, NULL);
    EXPECT("start 5.1");
    step_note(NOTE_STARTED, 1);
    step_note(NOTE_EXITED, 1);
    str_clear(&said);
    ack(100);
    str_clear(&said);
    terminate(5, 1);
    EXPECT("epilog 5.1 kept");
    epilog_ok(5);
    EXPECT("report released 5.1 #101");
    VISITS("-5.1");
    step_launch(6, 0, NULL); /* that one's prolog was cut short */
    EXPECT("prolog 6.1");
    prolog_ok(6, 1, 0);
    VISITS("=6.1");
    down();
    up();
    EXPECT("start 6.1; node_hello n1 pid=77 5.1(ended) 6.1(unbegun) 6.1");
    assert_int_equal(visits(), 1);
}

/* Nothing of a job begins once its epilog runs: its prolog would not be over before the visit is.
 * How the job got there does not matter. */
static void test_what_comes_while_the_epilog_runs_does_not_begin(void **state)
{
    (void)state;
    found(5);
    started(5, 1);
    visited(5, false); /* that its prolog had ended well could not be kept */
    site("/p", "/e");
    exited(5, 1, 0, true);
    EXPECT("report exited 5.1 #100; epilog 5.1 pid=1005 kept");
    step_launch(5, 0, NULL);
    EXPECT("report failed 5.1 #101 retry \"it was ended before it could begin\"");
    program_done(AGENT_EPILOG_DONE, 5, true, NULL);
    EXPECT("report released 5.1 #102");
    assert_int_equal(visits(), 0);
    prolog_ok(5, 1, 0); /* nobody waits for it */
    EXPECT("");
}

static void test_beside_a_step_that_runs_there_is_no_prolog(void **state)
{
    (void)state;
    site("/p", "/e");
    step_launch(5, 0, NULL);
    prolog_ends(5, 1, 0, "no room");
    settings.prolog = NULL;
    welcome();
    step_launch(5, 1, NULL);
    step_note(NOTE_STARTED, 1);
    settings.prolog = "/p";
    welcome();
    str_clear(&said);
    VISITS("+5.1?");
    step_launch(5, 2, NULL);
    EXPECT("start 5.1");
    VISITS("=5.1");
}

/* ---- a host that is shut out ---- */

static void shut_out(void)
{
    struct msg_done m = {.refusal = REFUSE_ACCESS_DENIED, .shut_out = true};
    down();
    up();
    str_clear(&said);
    message(MSG_DONE, &m);
}

/* salloc, whose steps are over: nothing of it runs, and much of it may be here. */
static void idle_allocation(uint64_t id)
{
    step_launch(id, 0, NULL);
    prolog_ok((int64_t)id, 1, 0);
    note((struct note){.kind = NOTE_FAILED, .job_id = (int64_t)id, .attempt = 1, .retry = 1});
    str_clear(&said);
}

static void test_a_host_that_is_shut_out_ends_allocations_where_nothing_runs(void **state)
{
    (void)state;
    settings.timeout_us = 20000000;
    visited(7, true); /* of an earlier daemon */
    site("/p", "/e");
    idle_allocation(5);
    ack(100);
    step_launch(6, 0, NULL); /* this one's own end is followed by its epilog */
    prolog_ok(6, 1, 0);
    shut_out();
    assert_non_null(strstr(str_text(&said), "what jobs run here is ended in 10 s"));
    str_clear(&said);
    wait_us(10000000);
    assert_non_null(strstr(str_text(&said), "epilog 5.1 job"));
    assert_non_null(strstr(str_text(&said), "epilog 7.1 kept"));
    assert_null(strstr(str_text(&said), "epilog 6.1"));
    epilog_ok(5);
    epilog_ok(7);
    assert_int_equal(visits(), 1);
    str_clear(&said);
    note((struct note){.kind = NOTE_FAILED, .job_id = 6, .attempt = 1, .retry = 1});
    EXPECT("epilog 6.1 job");
    epilog_ok(6);
    assert_int_equal(visits(), 0);
}

static void let_in_again(void)
{
    down();
    up();
    welcome();
    str_clear(&said);
}

static void epilog_of_step_ends(int64_t id, int64_t step_id)
{
    struct note n = {.job_id = id, .attempt = 1, .step_id = step_id};
    step((struct agent_event){.kind = AGENT_EPILOG_DONE, .note = &n, .ok = true});
}

/* The controller, which goes on with a job whose node came back in time, has launched nothing and
 * ended nothing: what its owner starts next is new. */
static void test_who_is_let_in_again_takes_further_steps_of_an_allocation(void **state)
{
    (void)state;
    settings.timeout_us = 20000000;
    site("/p", "/e");
    idle_allocation(5);
    ack(100);
    step_launch(5, 1, NULL);
    step_note(NOTE_STARTED, 1); /* one runs, too */
    step_launch(6, 0, NULL);    /* of another the prolog does */
    idle_allocation(7);
    launch(8, 1);
    shut_out();
    wait_us(10000000);
    step_note(NOTE_EXITED, 1);
    epilog_of_step_ends(5, 1);
    str_clear(&said);
    prolog_ok(6, 1, 0); /* it has never begun, and its srun is told so */
    EXPECT("epilog 6.1 job");
    epilog_ok(6);
    let_in_again();
    step_launch(6, 1, NULL);
    EXPECT("forget 6.1; prolog 6.1");
    step_launch(5, 1, NULL); /* but a step that was is over */
    EXPECT("");
    step_launch(5, 2, NULL);
    EXPECT("prolog 5.1");
    while (agent->reports.first)
        ack(agent->reports.first->msg.seq);
    str_clear(&said);
    step_launch(5, 1, NULL);
    EXPECT(
        "report failed 5.1 #106 retry had \"this node has had that start before, and it is over\"");
    step_launch(5, 3, NULL); /* waits for the prolog */
    EXPECT("");
    prolog_ok(5, 1, 2);
    EXPECT("start 5.1; start 5.1");
    step_launch(7, 1, NULL); /* its epilog runs yet */
    assert_non_null(strstr(str_text(&said), "report failed 7.1"));
    str_clear(&said);
    terminate(5, 1);
    str_clear(&said);
    step_launch(5, 4, NULL); /* now it is told to end */
    assert_non_null(strstr(str_text(&said), "report failed 5.1 #108 retry had"));
}

/* Of a shut-out host nobody acknowledges that a step has ended. */
static void test_what_has_ended_is_no_reason_to_begin_without_the_prolog(void **state)
{
    (void)state;
    settings.timeout_us = 20000000;
    site("/p", "/e");
    step_launch(5, 0, NULL);
    prolog_ok(5, 1, 0);
    step_note(NOTE_STARTED, 0);
    shut_out();
    step_note(NOTE_EXITED, 0);
    wait_us(10000000);
    epilog_ok(5);
    assert_int_equal(visits(), 0);
    let_in_again();
    step_launch(5, 1, NULL);
    EXPECT("forget 5.1; prolog 5.1");
    prolog_ok(5, 1, 1);
    EXPECT("start 5.1");
}

/* It would be believed once the job is told to end, while this one's epilog has yet to run. */
static void test_who_goes_on_with_a_job_does_not_say_again_that_it_is_gone(void **state)
{
    (void)state;
    settings.timeout_us = 20000000;
    site("/p", "/e");
    step_launch(5, 0, NULL);
    prolog_ok(5, 1, 0);
    step_note(NOTE_STARTED, 0);
    shut_out();
    wait_us(10000000);
    step_note(NOTE_EXITED, 0);
    epilog_of_step_ends(5, 0);
    down();
    up();
    str_clear(&said);
    welcome();
    EXPECT("report exited 5.1 #100; report released 5.1 #101");
    step_launch(5, 1, NULL);
    EXPECT("prolog 5.1");
    down();
    prolog_ok(5, 1, 1);
    step_note(NOTE_STARTED, 1);
    step_note(NOTE_EXITED, 1);
    up();
    str_clear(&said);
    welcome();
    EXPECT("report exited 5.1 #100; report exited 5.1 #102");
    terminate(5, 1);
    EXPECT("epilog 5.1 job");
    ack(101); /* late */
    epilog_ok(5);
    EXPECT("report released 5.1 #103");
    while (agent->reports.first)
        ack(agent->reports.first->msg.seq);
    assert_int_equal(agent->held.count, 0);
    assert_int_equal(visits(), 0);
}

/* That would be lost with the word that it withdraws, and with it what drains the node. */
static void test_where_the_epilog_failed_nothing_begins_before_that_is_heard(void **state)
{
    struct note n = {.job_id = 5, .attempt = 1, .step_id = STEP_EXTERN};
    (void)state;
    settings.timeout_us = 20000000;
    site("/p", "/e");
    idle_allocation(5);
    ack(100);
    shut_out();
    wait_us(10000000);
    step((struct agent_event){.kind = AGENT_EPILOG_DONE, .note = &n, .text = "no room"});
    let_in_again();
    step_launch(5, 1, NULL);
    EXPECT("report failed 5.1 #102 retry \"the epilog of its job failed there while the host was "
           "shut out\"");
    down();
    up();
    str_clear(&said);
    welcome();
    assert_non_null(strstr(str_text(&said), "report released 5.1 #101 \"no room\""));
    ack(101);
    ack(102);
    str_clear(&said);
    step_launch(5, 2, NULL);
    EXPECT("prolog 5.1");
}

/* Once more, before what was said of the first time is acknowledged. */
static void test_a_host_may_be_shut_out_twice(void **state)
{
    (void)state;
    settings.timeout_us = 20000000;
    site("/p", "/e");
    for (int64_t i = 0; i < 3; i++) {
        step_launch(5, i, NULL);
        prolog_ok(5, 1, i);
        step_note(NOTE_STARTED, i);
        step_note(NOTE_EXITED, i);
        shut_out();
        wait_us(10000000);
        epilog_ok(5);
        assert_int_equal(visits(), 0);
        let_in_again();
    }
    terminate(5, 1);
    assert_non_null(strstr(str_text(&said), "report released 5.1"));
    while (agent->reports.first)
        ack(agent->reports.first->msg.seq);
    assert_int_equal(agent->held.count, 0);
}

/* Two steps were ended, one of which says that nothing is left. */
static void test_who_said_nothing_then_does_not_end_the_next_visit(void **state)
{
    (void)state;
    settings.timeout_us = 20000000;
    site("/p", "/e");
    step_launch(5, 0, NULL);
    prolog_ok(5, 1, 0);
    step_note(NOTE_STARTED, 0);
    step_launch(5, 1, NULL);
    step_note(NOTE_STARTED, 1);
    shut_out();
    wait_us(10000000);
    step_note(NOTE_EXITED, 0);
    step_note(NOTE_EXITED, 1);
    epilog_of_step_ends(5, 1);
    let_in_again();
    step_launch(5, 2, NULL);
    prolog_ok(5, 1, 2);
    step_note(NOTE_STARTED, 2);
    step_note(NOTE_EXITED, 2);
    down();
    up();
    str_clear(&said);
    welcome();
    assert_null(strstr(str_text(&said), "epilog"));
    assert_null(strstr(str_text(&said), "released"));
    assert_int_equal(visits(), 1);
}

/* What its end waits for when the host is let in is that step's own end. */
static void test_a_step_that_still_ends_then_ends_for_itself(void **state)
{
    (void)state;
    settings.timeout_us = 20000000;
    site("/p", "/e");
    step_launch(5, 0, NULL);
    prolog_ok(5, 1, 0);
    step_note(NOTE_STARTED, 0);
    shut_out();
    wait_us(10000000);
    let_in_again();
    step_launch(5, 1, NULL);
    EXPECT("start 5.1");
    step_note(NOTE_STARTED, 1);
    step_note(NOTE_EXITED, 1);
    str_clear(&said);
    step_note(NOTE_EXITED, 0);
    EXPECT("report exited 5.1 #101");
    terminate(5, 1);
    EXPECT("epilog 5.1 job");
}

static void test_a_script_that_was_ended_so_begins_no_second_time(void **state)
{
    (void)state;
    settings.timeout_us = 20000000;
    site(NULL, "/e");
    launch(8, 1);
    started(8, 1);
    shut_out();
    wait_us(10000000);
    exited(8, 1, 9, true);
    program_done(AGENT_EPILOG_DONE, 8, true, NULL);
    let_in_again();
    launch(8, 1);
    EXPECT("");
    while (agent->reports.first)
        ack(agent->reports.first->msg.seq);
    str_clear(&said);
    launch(8, 1);
    assert_non_null(strstr(str_text(&said), "report failed 8.1 #102 retry had"));
}

/* What is said of it is so where nothing runs, too. */
static void test_who_has_only_visits_is_told_what_becomes_of_them(void **state)
{
    (void)state;
    site("/p", "/e");
    idle_allocation(5);
    ack(100);
    shut_out();
    assert_non_null(strstr(str_text(&said), "what jobs run here is ended in"));
}

/* The settings, and with them the epilog, were never told to this daemon. */
static void test_what_ends_before_the_welcome_has_its_epilog_after_it(void **state)
{
    (void)state;
    found(5);
    visited(5, true);
    shut_out();
    wait_us(60000000);
    note((struct note){.kind = NOTE_FAILED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH});
    assert_int_equal(visits(), 1);
    VISITS("");
    settings.prolog = "/p";
    settings.epilog = "/e";
    down();
    up();
    str_clear(&said);
    welcome();
    EXPECT("report failed 5.1 #100 \"\"; epilog 5.1 kept");
    epilog_ok(5);
    EXPECT("report released 5.1 #101");
    VISITS("-5.1");
}

/* ---- the epilog, told to a controller that comes back ---- */

static void test_a_job_whose_epilog_runs_is_told_to_be_here(void **state)
{
    (void)state;
    visited(5, true);
    site("/p", "/e");
    terminate(5, 1);
    EXPECT("epilog 5.1 kept");
    down();
    up();
    EXPECT("node_hello n1 pid=77 5.1");
    welcome();
    epilog_ok(5);
    EXPECT("report released 5.1 #100");
    down();
    up();
    EXPECT("node_hello n1 pid=77 5.1(ended)");
}

static void test_two_nodes_that_know_of_other_visits_are_not_the_same(void **state)
{
    (void)state;
    uint64_t of_none = agent_hash(agent), of_one;
    visited(5, false);
    of_one = agent_hash(agent);
    assert_true(of_one != of_none);
    visited(6, true);
    assert_true(agent_hash(agent) != of_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_visit_is_kept_until_its_epilog_has_run),
        TEST(what_is_kept_of_a_visit_without_an_epilog_goes_with_its_end),
        TEST(the_next_daemon_knows_who_has_been_here),
        TEST(what_comes_while_the_epilog_runs_does_not_begin),
        TEST(beside_a_step_that_runs_there_is_no_prolog),
        TEST(a_host_that_is_shut_out_ends_allocations_where_nothing_runs),
        TEST(who_is_let_in_again_takes_further_steps_of_an_allocation),
        TEST(what_has_ended_is_no_reason_to_begin_without_the_prolog),
        TEST(who_goes_on_with_a_job_does_not_say_again_that_it_is_gone),
        TEST(where_the_epilog_failed_nothing_begins_before_that_is_heard),
        TEST(a_host_may_be_shut_out_twice),
        TEST(who_said_nothing_then_does_not_end_the_next_visit),
        TEST(a_step_that_still_ends_then_ends_for_itself),
        TEST(a_script_that_was_ended_so_begins_no_second_time),
        TEST(who_has_only_visits_is_told_what_becomes_of_them),
        TEST(what_ends_before_the_welcome_has_its_epilog_after_it),
        TEST(a_job_whose_epilog_runs_is_told_to_be_here),
        TEST(two_nodes_that_know_of_other_visits_are_not_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
