/* The node's machine: each test feeds events and compares what the machine wants done, one line an effect. */
#include "unit.h"

#include "agent/agent.h"
#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct agent *agent;
static struct agent_effects fx;
static struct str said;
static int64_t now_us;
static struct msg_node_welcome settings;

static int setup(void **state)
{
    (void)state;
    struct node self = {.name = "n1", .real_cpus = 4};
    now_us = 1000000;
    settings = (struct msg_node_welcome){.heartbeat_us = 20000000, .cluster_name = "c"};
    agent = agent_new(&self, 77, 100);
    agent_effects_init(&fx);
    said = STR_INIT;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    agent_check(agent);
    agent_free(agent);
    agent_effects_done(&fx);
    str_done(&said);
    return 0;
}

/* ---- effects as text ---- */

static void ids_say(const struct note *n)
{
    str_addf(&said, " %lld.%lld", (long long)n->job_id, (long long)n->attempt);
    if (n->pid)
        str_addf(&said, " pid=%lld", (long long)n->pid);
}

static void report_say(const struct msg_report *m)
{
    str_addf(&said, " %s %llu.%u", enum_name(&report_kind_names, m->kind), (unsigned long long)m->job_id,
             m->attempt);
    if (m->seq)
        str_addf(&said, " #%llu", (unsigned long long)m->seq);
    if (m->exit_status)
        str_addf(&said, " status=%d", m->exit_status);
    str_add(&said, m->clean ? " clean" : "");
    str_add(&said, m->oom ? " oom" : "");
    str_add(&said, m->retry ? " retry" : "");
    if (m->detail)
        str_addf(&said, " \"%s\"", m->detail);
}

static void hello_say(const struct msg_node_hello *m)
{
    const struct node *n = m->node.v;
    const struct held *held = m->held.v;
    str_addf(&said, " %s pid=%lld", n->name, (long long)m->pid);
    for (size_t i = 0; i < m->held.n; i++)
        str_addf(&said, " %llu.%u%s", (unsigned long long)held[i].job_id, held[i].attempt,
                 held[i].ended ? "(ended)" : "");
}

static void effect_say(const struct agent_effect *e)
{
    static const char *const names[] = {"send",  "prolog", "start",  "terminate", "signal",
                                        "follow", "clear", "epilog", "forget", "log"};
    if (said.len)
        str_add(&said, "; ");
    if (e->kind == AGENT_SEND) {
        str_add(&said, message_table[e->msg.kind].name);
        if (e->msg.kind == MSG_REPORT)
            report_say(e->msg.body);
        if (e->msg.kind == MSG_NODE_HELLO)
            hello_say(e->msg.body);
        return;
    }
    str_add(&said, names[e->kind]);
    if (e->kind == AGENT_LOG) {
        str_addf(&said, " \"%s\"", e->text);
        return;
    }
    ids_say(&e->note);
    if (e->kind == AGENT_TERMINATE)
        str_addf(&said, " wait=%lld why=%s", (long long)e->kill_wait_us, e->why ? e->why : "");
    if (e->kind == AGENT_SIGNAL)
        str_addf(&said, " signal=%d%s%s", e->signal, e->batch ? " batch" : "", e->full ? " full" : "");
    if (e->kind == AGENT_START || e->kind == AGENT_PROLOG) {
        const struct job *j = e->launch->job.v;
        assert_int_equal(j->id, e->note.job_id);
        assert_int_equal(e->launch->script.len, 4);
        assert_memory_equal(e->launch->script.data, "true", 4);
    }
    if (e->kind == AGENT_EPILOG)
        str_add(&said, e->job ? " job" : " kept");
}

static void step(struct agent_event ev)
{
    ev.now_us = ++now_us;
    agent_step(agent, &ev, &fx);
    for (size_t i = 0; i < fx.n; i++)
        effect_say(&fx.v[i]);
    agent_effects_reset(&fx);
    agent_check(agent);
}

#define EXPECT(text)                                                                                         \
    do {                                                                                                     \
        assert_string_equal(str_text(&said), text);                                                          \
        str_clear(&said);                                                                                    \
    } while (0)

/* ---- events ---- */

static void message(enum message_kind kind, const void *body)
{
    struct message m = {.kind = kind, .body = body};
    step((struct agent_event){.kind = AGENT_MESSAGE, .msg = &m});
}

static void up(void)
{
    step((struct agent_event){.kind = AGENT_UP});
}

static void down(void)
{
    step((struct agent_event){.kind = AGENT_DOWN});
}

static void welcome(void)
{
    message(MSG_NODE_WELCOME, &settings);
}

static void launch(uint64_t id, uint32_t attempt)
{
    struct job j = {.id = id, .attempt = attempt};
    struct msg_launch m = {.job = {&j, 1}, .step_id = STEP_BATCH, .script = {"true", 4}};
    message(MSG_LAUNCH, &m);
}

static void terminate(uint64_t id, uint32_t attempt)
{
    struct msg_terminate m = {
        .job_id = id, .attempt = attempt, .kill_wait_us = 30, .why = "DUE TO TIME LIMIT"};
    message(MSG_TERMINATE, &m);
}

static void ack(uint64_t seq)
{
    struct msg_report_ack m = {.seq = seq};
    message(MSG_REPORT_ACK, &m);
}

static struct note ids(enum note_kind kind, int64_t id, int64_t attempt)
{
    return (struct note){.kind = kind, .job_id = id, .attempt = attempt, .step_id = STEP_BATCH};
}

static void note(struct note n)
{
    step((struct agent_event){.kind = AGENT_NOTE, .note = &n});
}

static void started(int64_t id, int64_t attempt)
{
    struct note n = ids(NOTE_STARTED, id, attempt);
    n.pid = 1000 + id;
    note(n);
}

static void exited(int64_t id, int64_t attempt, int64_t status, bool clean)
{
    struct note n = ids(NOTE_EXITED, id, attempt);
    n.pid = 1000 + id;
    n.status = status;
    n.clean = clean;
    note(n);
}

static void program_done(enum agent_event_kind kind, int64_t id, bool ok, const char *text)
{
    struct note n = ids(NOTE_STARTED, id, 1);
    step((struct agent_event){.kind = kind, .note = &n, .ok = ok, .text = text});
}

static void begin(void)
{
    up();
    welcome();
    str_clear(&said);
}

/* ---- tests ---- */

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
    EXPECT(""); /* a launch that was delayed for ever must not run the job again */
    launch(7, 2);
    EXPECT("start 7.2");
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
    EXPECT("node_hello n1 pid=77 7.1(ended) 8.1(ended); report exited 8.1 #100 clean; report exited 7.1 #101 "
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
    launch(7, 2);
    EXPECT(""); /* it was ended before it came */
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

static void test_terminate_of_what_is_over(void **state)
{
    (void)state;
    begin();
    launch(7, 1);
    exited(7, 1, 0, true);
    str_clear(&said);
    terminate(7, 1);
    EXPECT("report released 7.1 #101"); /* the clean end says it all, but may have come before the controller wanted to hear it */
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
    EXPECT("start 7.1; report failed 7.1 #100 retry \"its shepherd ended before it could start it\"");
}

static void found(int64_t id)
{
    struct note n = ids(NOTE_STARTED, id, 1);
    step((struct agent_event){.kind = AGENT_FOUND, .note = &n});
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
    EXPECT("report exited 6.1 #100 status=512 clean; report lost 7.1 #101 clean; report released 7.1 #102");
    launch(5, 1);
    EXPECT("");
    terminate(5, 1);
    EXPECT("terminate 5.1 pid=1005 wait=30 why=DUE TO TIME LIMIT");
    exited(5, 1, 15, true);
    EXPECT("report exited 5.1 #103 status=15 clean");
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
    EXPECT("signal 7.1 pid=1007 signal=12 full");
    m.step_id = 3;
    message(MSG_SIGNAL, &m);
    m = (struct msg_signal){.job_id = 7, .attempt = 2, .signal = 12};
    message(MSG_SIGNAL, &m);
    EXPECT("");
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
    EXPECT("prolog 8.1; start 8.1; report exited 8.1 #101; epilog 8.1 pid=1008 job; report released 8.1 #102 "
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
    assert_non_null(strstr(str_text(&said), "the controller runs Remuda 9.9, which is too new for this node"));
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
    EXPECT("log \"the controller refuses this node: Invalid node name specified: no NodeName line\"");
    m.refusal = REFUSE_NONE;
    message(MSG_DONE, &m);
    launch(7, 1);
    EXPECT(""); /* nor does it take jobs before it is welcome */
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
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_job_comes_runs_ends_and_is_forgotten),
        TEST(repeated_messages_do_nothing),
        TEST(the_end_may_overtake_the_beginning),
        TEST(reports_wait_for_the_controller_and_are_repeated_in_order),
        TEST(heartbeats_repeat_what_waits_too_long),
        TEST(terminate_goes_to_the_shepherd),
        TEST(terminate_before_the_shepherd_is_there),
        TEST(terminate_of_what_is_over),
        TEST(processes_that_take_long_to_die),
        TEST(a_launch_that_fails),
        TEST(a_lost_shepherd),
        TEST(a_shepherd_that_never_came),
        TEST(a_restarted_daemon_goes_on),
        TEST(signals),
        TEST(prolog_and_epilog),
        TEST(a_failing_prolog_and_a_failing_epilog),
        TEST(terminate_during_the_prolog),
        TEST(the_epilog_of_a_found_step_waits_for_the_settings),
        TEST(a_controller_that_cannot_be_understood_is_not_obeyed),
        TEST(a_refused_hello_is_logged),
        TEST(equal_events_equal_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
