/* Thousands of steps of one job that wait on a node, for the job's prolog or its devices: what they
 * keep of the daemon's memory, and what a turn costs. A command of a few hundred bytes makes one. */
#include "agent_world.h"

#include "agent/inside.h"
#include "base/alloc.h"
#include "model/limits.h"

#include <stdlib.h>
#include <string.h>

#define MANY 10000

static char *long_line(size_t len)
{
    char *line = xcalloc(1, len + 1);
    memset(line, 'x', len);
    return line;
}

/* Of job 5, in the way of many. */
static void launch_one(int64_t step_id, const char *submit_line, struct blob script)
{
    struct job j = {.id = 5, .attempt = 1, .spec = {.submit_line = submit_line}};
    struct step row = {.job_id = 5, .step_id = step_id};
    struct msg_launch l = {.job = {&j, 1}, .step_id = step_id, .step = {&row, 1}, .script = script};
    struct message m = {.kind = MSG_LAUNCH, .body = &l};
    step_of_many((struct agent_event){.kind = AGENT_MESSAGE, .msg = &m});
}

static void many_wait(void)
{
    for (int64_t i = 0; i < MANY; i++)
        launch_one(i, "srun", (struct blob){"true", 4});
    assert_int_equal(effects_of[AGENT_PROLOG], 1);
    assert_int_equal(effects_of[AGENT_START], 0);
}

static struct held_step *held(int64_t step_id)
{
    return held_find(&agent->held, 5, 1, step_id);
}

static void prolog_of_many_ends(bool ok)
{
    struct note n = {.job_id = 5, .attempt = 1};
    step_of_many((struct agent_event){
        .kind = AGENT_PROLOG_DONE, .note = &n, .ok = ok, .text = ok ? NULL : "no room"});
}

static void all_acknowledged(void)
{
    while (agent->reports.first) {
        struct msg_report_ack ack = {.seq = agent->reports.first->msg.seq};
        struct message m = {.kind = MSG_REPORT_ACK, .body = &ack};
        step_of_many((struct agent_event){.kind = AGENT_MESSAGE, .msg = &m});
    }
}

/* ---- memory ---- */

/* A job's texts are its owner's, up to a MiB each, and the launch of each step has them all. */
static void test_what_waits_keeps_the_texts_of_its_job_once(void **state)
{
    (void)state;
    char *line = long_line(LIMIT_SUBMIT_LINE_BYTES - 1);
    site("/p", "/e");
    for (int64_t i = 0; i < 100; i++)
        launch_one(i, line, (struct blob){"true", 4});
    assert_int_equal(held(0)->run->launches, 100);
    assert_true(held(0)->run->launch_bytes < LIMIT_SUBMIT_LINE_BYTES);
    agent_check(agent);
    prolog_of_many_ends(true);
    assert_int_equal(effects_of[AGENT_START], 100);
    for (int64_t i = 0; i < 100; i++) {
        step_note(NOTE_STARTED, i);
        assert_null(held(i)->launch); /* nor what runs, for its epilog: its visit has the job */
    }
    assert_int_equal(held(0)->run->launch_bytes, 0);
    str_clear(&said);
    terminate(5, 1);
    str_clear(&said);
    for (int64_t i = 0; i < 100; i++)
        step_note(NOTE_EXITED, i);
    assert_non_null(strstr(str_text(&said), "epilog 5.1 pid=108 job"));
    free(line);
}

/* What was changed of it meanwhile goes for all. */
static void test_what_waited_begins_as_a_step_of_the_job_as_it_is_then(void **state)
{
    (void)state;
    site("/p", NULL);
    launch_one(0, "as it was", (struct blob){"true", 4});
    launch_one(1, "as it was", (struct blob){"true", 4});
    launch_one(2, "as it is", (struct blob){"true", 4});
    for (int64_t i = 0; i < 3; i++) {
        const struct job *j = held_launch(held(i))->job.v;
        assert_string_equal(j->spec.submit_line, "as it is");
    }
    agent_check(agent);
    prolog_of_many_ends(true);
    assert_int_equal(effects_of[AGENT_START], 3);
}

/* An interactive shell of a job with several components has them all; no step of it has. */
static void test_what_waited_has_the_components_that_it_was_launched_with(void **state)
{
    (void)state;
    struct job both[] = {{.id = 5, .attempt = 1}, {.id = 6, .attempt = 1}};
    struct msg_launch l = {
        .job = {both, 2}, .step_id = STEP_INTERACTIVE, .script = (struct blob){"true", 4}};
    struct message m = {.kind = MSG_LAUNCH, .body = &l};
    site("/p", NULL);
    launch_one(0, "srun", (struct blob){"true", 4});
    step_of_many((struct agent_event){.kind = AGENT_MESSAGE, .msg = &m});
    launch_one(1, "srun", (struct blob){"true", 4});
    assert_int_equal(held_launch(held(0))->job.n, 1);
    assert_int_equal(held_launch(held(STEP_INTERACTIVE))->job.n, 2);
    assert_int_equal(held_launch(held(1))->job.n, 1);
    agent_check(agent);
    prolog_of_many_ends(true);
    assert_int_equal(effects_of[AGENT_START], 3);
}

static void test_what_does_not_fit_beside_others_that_wait_is_not_begun(void **state)
{
    (void)state;
    size_t len = HELD_LAUNCHES_MAX_BYTES / 4;
    char *script = long_line(len);
    site("/p", NULL);
    for (int64_t i = 0; i < 3; i++)
        launch_one(i, "srun", (struct blob){script, len});
    assert_int_equal(agent->reports.n, 0);
    launch_one(3, "srun", (struct blob){script, len});
    assert_int_equal(agent->reports.n, 1);
    assert_string_equal(agent->reports.first->msg.detail,
                        "too many steps of its job wait there for its prolog or its devices");
    agent_check(agent);
    all_acknowledged();
    prolog_of_many_ends(true);
    launch_one(4, "srun", (struct blob){script, len}); /* nothing is kept of what need not wait */
    assert_int_equal(effects_of[AGENT_START], 4);
    free(script);
}

static void test_one_that_waits_alone_has_room_whatever_its_size(void **state)
{
    (void)state;
    size_t len = HELD_LAUNCHES_MAX_BYTES + 1;
    char *script = long_line(len);
    site("/p", NULL);
    launch_one(0, "srun", (struct blob){script, len});
    assert_int_equal(effects_of[AGENT_PROLOG], 1);
    prolog_of_many_ends(true);
    assert_int_equal(effects_of[AGENT_START], 1);
    free(script);
}

/* The controller may be away for long. */
static void test_of_what_will_not_begin_nothing_is_kept(void **state)
{
    (void)state;
    site("/p", NULL);
    for (int64_t i = 0; i < 3; i++)
        launch_one(i, "srun", (struct blob){"true", 4});
    struct held_run *run = held(0)->run;
    down();
    prolog_of_many_ends(false);
    assert_int_equal(agent->reports.n, 3);
    assert_int_equal(run->launches, 0);
}

/* ---- time: each of these took a walk over all for each of them ---- */

static void test_to_be_woken_while_many_wait_costs_a_look_at_each(void **state)
{
    (void)state;
    site("/p", NULL);
    many_wait();
    for (int i = 0; i < 500; i++)
        step_of_many((struct agent_event){.kind = AGENT_WAKE});
    prolog_of_many_ends(true);
    assert_int_equal(effects_of[AGENT_START], MANY);
    while (agent->held.count > 0)
        held_remove(&agent->held, held_of_job(&agent->held, 5));
}

/* Devices that are not clean are asked about with each report. */
static void many_fail(void)
{
    struct str devices = STR_INIT;
    for (int i = 0; i < 16; i++)
        str_addf(&devices, "%sgpu:v100:%d:16000::GPU-%d", i ? ";" : "", i, i);
    struct node self = {.name = "n1", .real_cpus = 4, .devices = str_text(&devices)};
    agent_set_node(agent, &self);
    str_done(&devices);
}

static void test_where_a_prolog_fails_those_that_waited_fail_at_once(void **state)
{
    (void)state;
    many_fail();
    site("/p", NULL);
    many_wait();
    step_of_many((struct agent_event){.kind = AGENT_DOWN});
    prolog_of_many_ends(false);
    assert_int_equal(agent->reports.n, MANY);
    assert_int_equal(effects_of[AGENT_LOOK], 0);
    all_acknowledged();
    assert_int_equal(agent->held.count, 0);
}

static void test_a_job_that_is_told_to_end_leaves_with_all_that_waited(void **state)
{
    (void)state;
    struct msg_terminate end = {.job_id = 5, .attempt = 1, .kill_wait_us = 30, .why = "CANCELLED"};
    struct message m = {.kind = MSG_TERMINATE, .body = &end};
    site("/p", NULL);
    many_wait();
    step_of_many((struct agent_event){.kind = AGENT_MESSAGE, .msg = &m});
    assert_int_equal(agent->reports.n, MANY - 1); /* the first has the prolog */
    prolog_of_many_ends(true);
    assert_int_equal(agent->reports.n, MANY);
    all_acknowledged();
    assert_int_equal(agent->held.count, 0);
    assert_int_equal(visits(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_waits_keeps_the_texts_of_its_job_once),
        TEST(what_waited_begins_as_a_step_of_the_job_as_it_is_then),
        TEST(what_waited_has_the_components_that_it_was_launched_with),
        TEST(what_does_not_fit_beside_others_that_wait_is_not_begun),
        TEST(one_that_waits_alone_has_room_whatever_its_size),
        TEST(of_what_will_not_begin_nothing_is_kept),
        TEST(to_be_woken_while_many_wait_costs_a_look_at_each),
        TEST(where_a_prolog_fails_those_that_waited_fail_at_once),
        TEST(a_job_that_is_told_to_end_leaves_with_all_that_waited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
