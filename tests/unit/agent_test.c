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

/* "gpu:1:unproven" of each. */
static void outs_say(const char *text)
{
    struct span rest = span_of(text ? text : ""), one;
    while (span_next(&rest, ';', &one)) {
        size_t colons = 0, len = 0;
        while (len < one.len && (colons += one.data[len] == ':') < 3)
            len++;
        if (len > 0)
            str_addf(&said, " out=%.*s", (int)len, one.data);
    }
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
    const struct step *u = m->usage.n ? m->usage.v : NULL;
    if (u && u->gpu_samples)
        str_addf(&said, " gpus=%lld util=%d/%d of %lld mem=%lld/%lld", (long long)u->gpu_samples,
                 u->gpu_util_max, u->gpu_util_ave, (long long)u->gpu_util_samples,
                 (long long)(u->gpu_mem_max_bytes >> 20), (long long)(u->gpu_mem_ave_bytes >> 20));
    outs_say(m->devices_out);
}

static void hello_say(const struct msg_node_hello *m)
{
    const struct node *n = m->node.v;
    const struct held *held = m->held.v;
    str_addf(&said, " %s pid=%lld", n->name, (long long)m->pid);
    for (size_t i = 0; i < m->held.n; i++)
        str_addf(&said, " %llu.%u%s", (unsigned long long)held[i].job_id, held[i].attempt,
                 held[i].ended ? "(ended)" : "");
    outs_say(n->devices_out);
}

static void effect_say(const struct agent_effect *e)
{
    static const char *const names[] = {"send",  "prolog", "start",  "terminate", "signal", "follow",
                                        "clear", "epilog", "forget", "log",       "look",   "tell"};
    if (said.len)
        str_add(&said, "; ");
    if (e->kind == AGENT_SEND) {
        str_add(&said, message_table[e->msg.kind].name);
        if (e->msg.kind == MSG_REPORT)
            report_say(e->msg.body);
        if (e->msg.kind == MSG_NODE_HELLO)
            hello_say(e->msg.body);
        if (e->msg.kind == MSG_HEARTBEAT)
            outs_say(((const struct msg_heartbeat *)e->msg.body)->devices_out);
        return;
    }
    str_add(&said, names[e->kind]);
    for (size_t i = 0; i < e->nlook; i++) {
        str_addf(&said, " %d/%llu", e->look[i].index, (unsigned long long)e->look[i].use);
        for (uint32_t k = 0; k < e->look[i].nsteps; k++)
            str_addf(&said, "(%llu.%u.%lld)", (unsigned long long)e->look[i].step[k].job_id,
                     e->look[i].step[k].attempt, (long long)e->look[i].step[k].step_id);
    }
    if (e->kind == AGENT_LOOK)
        return;
    if (e->kind == AGENT_LOG) {
        str_addf(&said, " \"%s\"", e->text);
        return;
    }
    ids_say(&e->note);
    if (e->kind == AGENT_TELL)
        str_addf(&said, " \"%s\"", e->text);
    if (e->kind == AGENT_TERMINATE)
        str_addf(&said, " wait=%lld why=%s", (long long)e->kill_wait_us, e->why ? e->why : "");
    if (e->kind == AGENT_SIGNAL)
        str_addf(&said, " signal=%d%s%s", e->signal, e->batch ? " batch" : "", e->of_job ? " of_job" : "");
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
    return (struct note){
        .kind = kind, .job_id = id, .attempt = attempt, .step_id = STEP_BATCH, .pid = 1000 + id};
}

static void note(struct note n)
{
    step((struct agent_event){.kind = AGENT_NOTE, .note = &n});
}

static void started(int64_t id, int64_t attempt)
{
    note(ids(NOTE_STARTED, id, attempt));
}

static void exited(int64_t id, int64_t attempt, int64_t status, bool clean)
{
    struct note n = ids(NOTE_EXITED, id, attempt);
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
    EXPECT("log \"process 12 (x) outlives SIGKILL; job 5 keeps what it has here until that ends\"; heartbeat "
           "out=process:12:unproven");
    note(stuck);
    EXPECT("");
    note((struct note){.kind = NOTE_CLEARED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 1005});
    EXPECT("report released 5.1 #101");
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
    EXPECT("log \"process 1005 spoke for a step of job 7 that is process 1007's; it is not believed\"");
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
    EXPECT("signal 7.1 pid=1007 signal=12");
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

/* ---- devices ---- */

static int setup_gpus(void **state)
{
    struct node self = {
        .name = "n1", .real_cpus = 4, .devices = "gpu:v100:0:16000::GPU-a;gpu:v100:1:16000::GPU-b"};
    setup(state);
    agent_free(agent);
    agent = agent_new(&self, 77, 100);
    return 0;
}

static void looked(int32_t index, uint64_t use, enum device_sign sign, const char *why)
{
    struct device_seen seen = {index, use, sign, why};
    step((struct agent_event){.kind = AGENT_LOOKED, .seen = &seen, .nseen = 1});
}

static void both_clean(void)
{
    struct device_seen seen[] = {{0, 0, DEVICE_CLEAN, NULL}, {1, 0, DEVICE_CLEAN, NULL}};
    up();
    step((struct agent_event){.kind = AGENT_LOOKED, .seen = seen, .nseen = 2});
    welcome();
    str_clear(&said);
}

static void launch_with(uint64_t id, const char *alloc)
{
    struct job j = {.id = id, .attempt = 1, .alloc = alloc};
    struct msg_launch m = {.job = {&j, 1}, .step_id = STEP_BATCH, .script = {"true", 4}};
    message(MSG_LAUNCH, &m);
}

static void wait_us(int64_t us)
{
    now_us += us;
    step((struct agent_event){.kind = AGENT_WAKE});
}

static void test_nothing_is_said_before_the_devices_were_looked_at(void **state)
{
    (void)state;
    up();
    EXPECT("look 0/0 1/0");
    struct device_seen seen[] = {{0, 0, DEVICE_CLEAN, NULL},
                                 {1, 0, DEVICE_HELD, "process 9 (x) still holds it"}};
    step((struct agent_event){.kind = AGENT_LOOKED, .seen = seen, .nseen = 2});
    EXPECT("log \"GPU 1 is not given to anybody: process 9 (x) still holds it\"; node_hello n1 pid=77 "
           "out=gpu:1:unproven");
}

static void test_a_job_is_gone_when_its_device_is_clean(void **state)
{
    (void)state;
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    note((struct note){.kind = NOTE_STARTED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9});
    str_clear(&said);
    note((struct note){
        .kind = NOTE_EXITED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9, .clean = 1});
    EXPECT("report exited 5.1 #100; look 1/1");
    looked(1, 1, DEVICE_CLEAN, NULL);
    EXPECT("report released 5.1 #101");
}

static void test_a_stuck_device_is_out_and_the_job_is_over(void **state)
{
    (void)state;
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    note((struct note){.kind = NOTE_STARTED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9});
    note((struct note){
        .kind = NOTE_EXITED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9, .clean = 1});
    looked(1, 1, DEVICE_HELD, "process 12 still holds it");
    str_clear(&said);
    wait_us(4000000);
    EXPECT("report released 5.1 #101 out=gpu:1:unproven; look 1/1");
    /* It is given to nobody, whatever the controller says; its own job may have it. */
    launch_with(6, "n1 cpus=0 mem=1 gpu:v100=1");
    EXPECT("report failed 6.1 #102 retry \"GPU 1 of n1 cannot be used: process 12 still holds it\" "
           "out=gpu:1:unproven");
    launch_with(7, "n1 cpus=0 mem=1 gpu:v100=0");
    EXPECT("start 7.1");
    looked(1, 1, DEVICE_CLEAN, NULL);
    EXPECT("log \"GPU 1 is clean and can be given again\"; heartbeat");
    launch_with(8, "n1 cpus=0 mem=1 gpu:v100=1");
    EXPECT("start 8.1");
}

static void step_launch(uint64_t id, int64_t step_id, const char *alloc)
{
    struct job j = {.id = id, .attempt = 1, .alloc = alloc};
    struct step row = {.job_id = id, .step_id = step_id, .layout = alloc};
    struct msg_launch m = {.job = {&j, 1}, .step_id = step_id, .step = {&row, 1}, .script = {"true", 4}};
    message(MSG_LAUNCH, &m);
}

static void step_note(enum note_kind kind, int64_t step_id)
{
    note((struct note){.kind = kind,
                       .job_id = 5,
                       .attempt = 1,
                       .step_id = step_id,
                       .pid = 9 + step_id,
                       .clean = kind == NOTE_EXITED});
}

/* The batch script has the device all the time: the look passes over it. */
static void test_a_step_waits_for_what_a_former_one_left(void **state)
{
    (void)state;
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    step_note(NOTE_STARTED, STEP_BATCH);
    step_launch(5, 0, "n1 cpus=0 mem=1 gpu:v100=1");
    step_note(NOTE_STARTED, 0);
    str_clear(&said);
    step_note(NOTE_EXITED, 0);
    EXPECT("report exited 5.1 #100; look 1/2(5.1.-1)");
    step_launch(5, 1, "n1 cpus=0 mem=1 gpu:v100=1");
    EXPECT("");
    looked(1, 2, DEVICE_SHARED, NULL);
    EXPECT("start 5.1");
    /* Something stays: the step is told, and so is the controller. */
    step_note(NOTE_STARTED, 1);
    step_note(NOTE_EXITED, 1);
    str_clear(&said);
    step_launch(5, 2, "n1 cpus=0 mem=1 gpu:v100=1");
    looked(1, 3, DEVICE_HELD, "process 12 (python) of job 5 still holds it");
    EXPECT("log \"GPU 1 is not given to anybody: process 12 (python) of job 5 still holds it\"; heartbeat "
           "out=gpu:1:unproven");
    wait_us(4000000);
    EXPECT(
        "look 1/3(5.1.-1); report failed 5.1 #102 retry \"GPU 1 of n1 cannot be used: process 12 (python) of "
        "job 5 still holds it\" out=gpu:1:unproven");
    looked(1, 3, DEVICE_CLEAN, NULL);
    EXPECT("log \"GPU 1 is free of what a step left on it\"; heartbeat");
    step_launch(5, 3, "n1 cpus=0 mem=1 gpu:v100=1");
    EXPECT("start 5.1");
}

/* Steps, or the script, or both with all that the script started; of the job unless one is named. */
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

static void test_a_step_that_waits_for_a_device_can_be_ended(void **state)
{
    (void)state;
    struct msg_terminate end = {.job_id = 5, .attempt = 1, .step_id = 1, .only_step = true};
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    step_note(NOTE_STARTED, STEP_BATCH);
    step_launch(5, 0, "n1 cpus=0 mem=1 gpu:v100=1");
    step_note(NOTE_STARTED, 0);
    step_note(NOTE_EXITED, 0);
    step_launch(5, 1, "n1 cpus=0 mem=1 gpu:v100=1");
    str_clear(&said);
    message(MSG_TERMINATE, &end);
    EXPECT("report failed 5.1 #101 retry \"it was ended while it waited for a device\"");
    looked(1, 2, DEVICE_SHARED, NULL);
    EXPECT("");
}

/* It crossed the word that nothing of the job is left. */
static void test_a_step_that_comes_after_the_end_is_not_started(void **state)
{
    (void)state;
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1");
    step_note(NOTE_STARTED, STEP_BATCH);
    str_clear(&said);
    step_note(NOTE_EXITED, STEP_BATCH);
    EXPECT("report exited 5.1 #100 clean");
    step_launch(5, 0, "n1 cpus=0 mem=1");
    EXPECT("");
}

static void test_a_step_that_comes_while_devices_are_proven_is_not_passed_over(void **state)
{
    (void)state;
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    step_note(NOTE_STARTED, STEP_BATCH);
    step_note(NOTE_EXITED, STEP_BATCH);
    step_launch(5, 0, "n1 cpus=1 mem=1");
    step_note(NOTE_STARTED, 0);
    str_clear(&said);
    looked(1, 1, DEVICE_CLEAN, NULL);
    EXPECT(""); /* not released: the step is there */
    terminate(5, 1);
    str_clear(&said);
    step_note(NOTE_EXITED, 0);
    EXPECT("report exited 5.1 #101; report released 5.1 #102");
}

/* The controller gave the job up while this node was away, and its device to another. */
static void test_a_device_of_a_job_that_is_ended_is_waited_for(void **state)
{
    (void)state;
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    step_note(NOTE_STARTED, STEP_BATCH);
    terminate(5, 1);
    str_clear(&said);
    launch_with(6, "n1 cpus=0 mem=1 gpu:v100=1");
    EXPECT("");
    step_note(NOTE_EXITED, STEP_BATCH);
    str_clear(&said);
    looked(1, 1, DEVICE_CLEAN, NULL);
    EXPECT("report released 5.1 #101; start 6.1");
}

/* The next daemon knows from the shepherd's note which device the step that goes on has. */
static void test_a_new_daemon_knows_who_has_what(void **state)
{
    (void)state;
    struct note ids = {.job_id = 5, .attempt = 1, .step_id = STEP_BATCH};
    struct device_seen seen[] = {{0, 0, DEVICE_CLEAN, NULL}, {1, 0, DEVICE_SHARED, NULL}};
    step((struct agent_event){.kind = AGENT_FOUND, .note = &ids});
    note((struct note){
        .kind = NOTE_STARTED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9, .gpus = 2});
    str_clear(&said);
    up();
    EXPECT("look 0/0 1/0(5.1.-1)");
    step((struct agent_event){.kind = AGENT_LOOKED, .seen = seen, .nseen = 2});
    EXPECT("node_hello n1 pid=77 5.1");
    welcome();
    step_launch(5, 0, "n1 cpus=0 mem=1 gpu:v100=1");
    EXPECT("start 5.1");
    launch_with(6, "n1 cpus=0 mem=1 gpu:v100=0");
    EXPECT("start 6.1");
}

/* Each step with GPUs has a sample each time, also when it does nothing with them. */
static void test_what_steps_used_of_their_gpus_is_reported(void **state)
{
    (void)state;
    struct gpu_used used[] = {{5, 1, STEP_BATCH, 90, INT64_C(3) << 30}, {9, 1, 0, 50, 1}};
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    step_note(NOTE_STARTED, STEP_BATCH);
    step((struct agent_event){.kind = AGENT_GPU_USED, .used = used, .nused = 2, .ok = true});
    step((struct agent_event){.kind = AGENT_GPU_USED, .ok = true});
    used[0].mem_bytes = INT64_C(1) << 30;
    str_clear(&said);
    step((struct agent_event){.kind = AGENT_GPU_USED, .used = used, .nused = 2, .ok = false});
    step_note(NOTE_EXITED, STEP_BATCH);
    EXPECT("report exited 5.1 #100 gpus=3 util=90/45 of 2 mem=3072/1365; look 1/1");
}

static void test_what_was_seen_of_an_earlier_use_proves_nothing(void **state)
{
    (void)state;
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    note((struct note){.kind = NOTE_STARTED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9});
    note((struct note){
        .kind = NOTE_EXITED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9, .clean = 1});
    str_clear(&said);
    looked(1, 0, DEVICE_CLEAN, NULL);
    EXPECT("");
    looked(1, 1, DEVICE_CLEAN, NULL);
    EXPECT("report released 5.1 #101");
}

static void test_a_broken_device_is_out_until_it_is_asked_back(void **state)
{
    (void)state;
    struct device_seen seen = {1, 0, DEVICE_BROKEN, "XID 79"};
    struct msg_devices_retry retry = {0};
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    note((struct note){.kind = NOTE_STARTED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9});
    str_clear(&said);
    step((struct agent_event){.kind = AGENT_DEVICE_SIGN, .seen = &seen, .nseen = 1});
    EXPECT("log \"GPU 1 is taken out of use: XID 79\"; tell 5.1 pid=9 \"GPU 1 of n1, which this job uses, is "
           "broken: XID 79\"; heartbeat out=gpu:1:failed");
    note((struct note){
        .kind = NOTE_EXITED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9, .clean = 1});
    EXPECT("report exited 5.1 #100 clean out=gpu:1:failed");
    message(MSG_DEVICES_RETRY, &retry);
    EXPECT("look 1/2; heartbeat out=gpu:1:unproven");
    looked(1, 2, DEVICE_CLEAN, NULL);
    EXPECT("log \"GPU 1 is clean and can be given again\"; heartbeat");
}

static void test_a_new_daemon_is_told_what_is_broken(void **state)
{
    (void)state;
    struct device_seen seen[] = {{0, 0, DEVICE_CLEAN, NULL}, {1, 0, DEVICE_CLEAN, NULL}};
    up();
    step((struct agent_event){.kind = AGENT_LOOKED, .seen = seen, .nseen = 2});
    settings.devices_failed = "gpu:1:failed:5000:XID 79";
    str_clear(&said);
    welcome();
    EXPECT("heartbeat out=gpu:1:failed");
    launch_with(6, "n1 cpus=0 mem=1 gpu:v100=1");
    EXPECT("report failed 6.1 #100 retry \"GPU 1 of n1 cannot be used: XID 79\" out=gpu:1:failed");
}

static void signed_by_itself(int32_t index, enum device_sign sign, const char *why)
{
    struct device_seen seen = {index, 0, sign, why};
    step((struct agent_event){.kind = AGENT_DEVICE_SIGN, .seen = &seen, .nseen = 1});
}

/* Its job goes on and is told; the device comes back when its library says that the reset has been done, and a look has shown that nobody is on it. */
static void test_what_needs_a_reset_comes_back_by_itself(void **state)
{
    (void)state;
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    note((struct note){.kind = NOTE_STARTED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9});
    str_clear(&said);
    signed_by_itself(1, DEVICE_RESET, "it needs a reset");
    EXPECT("log \"GPU 1 is taken out of use: it needs a reset\"; tell 5.1 pid=9 \"GPU 1 of n1, which this "
           "job uses, is broken: it needs a reset\"; heartbeat out=gpu:1:unproven");
    signed_by_itself(1, DEVICE_RESET, "it needs a reset");
    signed_by_itself(1, DEVICE_BLIND, "no driver");
    EXPECT("");
    note((struct note){
        .kind = NOTE_EXITED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9, .clean = 1});
    EXPECT("report exited 5.1 #100 clean out=gpu:1:unproven; look 1/1");
    looked(1, 1, DEVICE_RESET, "it needs a reset");
    EXPECT("");
    signed_by_itself(1, DEVICE_WELL, "");
    EXPECT("log \"GPU 1 answers again\"; look 1/1; heartbeat out=gpu:1:unproven");
    looked(1, 1, DEVICE_CLEAN, NULL);
    EXPECT("heartbeat");
}

static void test_one_failure_is_no_suspicion(void **state)
{
    (void)state;
    both_clean();
    signed_by_itself(1, DEVICE_DOUBT, "timeout");
    signed_by_itself(1, DEVICE_WELL, "");
    signed_by_itself(1, DEVICE_DOUBT, "timeout");
    EXPECT("");
    signed_by_itself(1, DEVICE_DOUBT, "timeout");
    EXPECT("log \"GPU 1 is not given to anybody: timeout\"; heartbeat out=gpu:1:unproven");
    launch_with(6,
                "n1 cpus=0 mem=1 gpu:v100=1"); /* it was on its way: it waits for what the next look says */
    EXPECT("");
}

static void test_a_clean_device_that_cannot_be_asked_any_more_is_not_clean(void **state)
{
    (void)state;
    both_clean();
    signed_by_itself(1, DEVICE_BLIND, "no driver");
    EXPECT("log \"GPU 1 is not given to anybody: no driver\"; heartbeat out=gpu:1:unproven");
    wait_us(20000000);
    EXPECT("look 1/0; heartbeat out=gpu:1:unproven");
    looked(1, 0, DEVICE_CLEAN, NULL);
    EXPECT("log \"GPU 1 is clean and can be given again\"; heartbeat");
}

int main(void)
{
#define TEST_GPUS(name) cmocka_unit_test_setup_teardown(test_##name, setup_gpus, teardown)
#define TEST(name)      cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
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
        TEST(a_process_that_cannot_be_killed_is_told),
        TEST(a_shepherd_speaks_for_its_own_step),
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
        TEST_GPUS(nothing_is_said_before_the_devices_were_looked_at),
        TEST_GPUS(a_job_is_gone_when_its_device_is_clean),
        TEST_GPUS(a_stuck_device_is_out_and_the_job_is_over),
        TEST_GPUS(a_step_waits_for_what_a_former_one_left),
        TEST(signals_of_a_job_with_steps),
        TEST_GPUS(a_step_that_waits_for_a_device_can_be_ended),
        TEST_GPUS(a_step_that_comes_after_the_end_is_not_started),
        TEST_GPUS(a_step_that_comes_while_devices_are_proven_is_not_passed_over),
        TEST_GPUS(a_device_of_a_job_that_is_ended_is_waited_for),
        TEST_GPUS(a_new_daemon_knows_who_has_what),
        TEST_GPUS(what_steps_used_of_their_gpus_is_reported),
        TEST_GPUS(what_was_seen_of_an_earlier_use_proves_nothing),
        TEST_GPUS(a_broken_device_is_out_until_it_is_asked_back),
        TEST_GPUS(a_new_daemon_is_told_what_is_broken),
        TEST_GPUS(what_needs_a_reset_comes_back_by_itself),
        TEST_GPUS(one_failure_is_no_suspicion),
        TEST_GPUS(a_clean_device_that_cannot_be_asked_any_more_is_not_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
