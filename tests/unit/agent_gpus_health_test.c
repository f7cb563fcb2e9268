/* What a node says of how its devices are, and what becomes of broken ones. */
#include "agent_gpus_help.h"

static void test_a_broken_device_is_out_until_it_is_asked_back(void **state)
{
    (void)state;
    struct device_seen seen = {1, 0, DEVICE_BROKEN, "XID 79"};
    struct msg_devices_retry retry = {0};
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    note((struct note){
        .kind = NOTE_STARTED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9});
    str_clear(&said);
    step((struct agent_event){.kind = AGENT_DEVICE_SIGN, .seen = &seen, .nseen = 1});
    EXPECT("log \"GPU 1 is taken out of use: XID 79\"; tell 5.1 pid=9 \"GPU 1 of n1, which this "
           "job uses, is "
           "broken: XID 79\"; heartbeat out=gpu:1:failed");
    note((struct note){.kind = NOTE_EXITED,
                       .job_id = 5,
                       .attempt = 1,
                       .step_id = STEP_BATCH,
                       .pid = 9,
                       .clean = 1});
    EXPECT("report exited 5.1 #100 clean out=gpu:1:failed");
    message(MSG_DEVICES_RETRY, &retry);
    EXPECT("look 1/2; heartbeat out=gpu:1:unproven; find all");
    looked(1, 2, DEVICE_CLEAN, NULL);
    EXPECT("log \"GPU 1 is clean and can be given again\"; heartbeat");
}

/* Its job goes on and is told; the device comes back when its library says that the reset has been
 * done, and a look has shown that nobody is on it. */
static void test_what_needs_a_reset_comes_back_by_itself(void **state)
{
    (void)state;
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    note((struct note){
        .kind = NOTE_STARTED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9});
    str_clear(&said);
    signed_by_itself(1, DEVICE_RESET, "it needs a reset");
    EXPECT("log \"GPU 1 is taken out of use: it needs a reset\"; tell 5.1 pid=9 \"GPU 1 of n1, "
           "which this "
           "job uses, is broken: it needs a reset\"; heartbeat out=gpu:1:unproven");
    signed_by_itself(1, DEVICE_RESET, "it needs a reset");
    signed_by_itself(1, DEVICE_BLIND, "no driver");
    EXPECT("");
    note((struct note){.kind = NOTE_EXITED,
                       .job_id = 5,
                       .attempt = 1,
                       .step_id = STEP_BATCH,
                       .pid = 9,
                       .clean = 1});
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
    launch_with(
        6,
        "n1 cpus=0 mem=1 gpu:v100=1"); /* it was on its way: it waits for what the next look says */
    EXPECT("");
}

/* ---- what is said of their health ---- */

/* What the last message said: "0 clean, 1 held (process 9 (x) still holds it)". */
static void health_is(const char *expected)
{
    struct arena *a = arena_new();
    struct device_entries list;
    struct str text = STR_INIT;
    assert_true(device_entries_parse(last_health, a, &list));
    for (size_t i = 0; i < list.n; i++) {
        assert_true(list.v[i].since_us > 0 && list.v[i].since_us <= now_us);
        str_addf(&text, "%s%d %s", i ? ", " : "", list.v[i].index, list.v[i].word);
        if (*list.v[i].why)
            str_addf(&text, " (%s)", list.v[i].why);
    }
    assert_string_equal(str_text(&text), expected);
    str_done(&text);
    arena_free(a);
}

static void test_the_controller_hears_how_each_device_is(void **state)
{
    (void)state;
    both_clean();
    health_is("0 clean, 1 clean");
    launch_with(7, "n1 cpus=0 mem=1 gpu:v100=0");
    started(7, 1); /* goes with what is said anyhow */
    health_is("0 in use (job 7), 1 clean");
    signed_by_itself(1, DEVICE_DOUBT, "it did not answer");
    signed_by_itself(1, DEVICE_DOUBT, "it did not answer");
    health_is("0 in use (job 7), 1 suspect (it did not answer)");
    signed_by_itself(1, DEVICE_LOST, "off the bus");
    health_is("0 in use (job 7), 1 gone (off the bus)");
    exited(7, 1, 0, true);
    looked(0, 1, DEVICE_HELD, "process 9 (x) still holds it");
    wait_us(4000000); /* with the word that the job is gone */
    health_is("0 held (process 9 (x) still holds it), 1 gone (off the bus)");
    str_clear(&said);
}

static void test_the_devices_are_found_anew_when_the_settings_come_again(void **state)
{
    (void)state;
    both_clean();
    welcome();
    EXPECT("find");
    struct msg_devices_retry retry = {.devices_seq = 1};
    message(MSG_DEVICES_RETRY, &retry);
    EXPECT("find all"); /* what is missed by then is not missed any more, */
    signed_by_itself(1, DEVICE_LOST, "off the bus");
    str_clear(&said);
    message(MSG_DEVICES_RETRY, &retry);
    EXPECT(
        "look 1/1; heartbeat out=gpu:1:unproven; find all gone=1"); /* nor what is said to be gone */
}

/* Another device gets its number: nothing that was known of the one before counts for it. */
static void test_a_device_that_was_exchanged_is_looked_at(void **state)
{
    struct node self = {
        .name = "n1", .real_cpus = 4, .devices = "gpu:v100:0:16000::GPU-a;gpu:v100:1:16000::GPU-c"};
    (void)state;
    both_clean();
    signed_by_itself(1, DEVICE_LOST, "off the bus");
    str_clear(&said);
    agent_set_node(agent, &self);
    step((struct agent_event){.kind = AGENT_CHANGED});
    EXPECT("look 1/1; heartbeat node out=gpu:1:unproven");
    looked(1, 1, DEVICE_CLEAN, NULL);
    EXPECT("heartbeat");
    health_is("0 clean, 1 clean");
}

static void test_a_step_does_not_begin_with_a_device_that_is_not_there(void **state)
{
    struct node self = {.name = "n1", .real_cpus = 4, .devices = "gpu:v100:0:16000::GPU-a"};
    (void)state;
    both_clean();
    launch_with(7, "n1 cpus=0 mem=1 gpu:v100=1");
    started(7, 1);
    assert_true(agent_gpu_is_held(agent, 1));
    assert_false(agent_gpu_is_held(agent, 0));
    agent_set_node(agent, &self);
    step((struct agent_event){.kind = AGENT_CHANGED});
    str_clear(&said);
    launch_with(8, "n1 cpus=0 mem=1 gpu:v100=1");
    assert_non_null(strstr(str_text(&said), "GPU 1 of n1 is not there any more"));
    str_clear(&said);
    /* Nor when all are gone; a node that only counts them does not know. */
    struct node none = {.name = "n1", .real_cpus = 4, .device_search = "nothing was found"};
    agent_set_node(agent, &none);
    launch_with(9, "n1 cpus=0 mem=1 gpu:v100=0");
    assert_non_null(strstr(str_text(&said), "GPU 0 of n1 is not there any more"));
    none.real_gres = "gpu:v100:2";
    agent_set_node(agent, &none);
    str_clear(&said);
    launch_with(10, "n1 cpus=0 mem=1 gpu:v100=0");
    EXPECT("start 10.1");
}

/* A step that had none, and was sent its open file. */
static void test_whose_end_may_have_freed_a_device_has_it_looked_at_soon(void **state)
{
    (void)state;
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    started(5, 1);
    launch_with(6, "n1 cpus=0 mem=1");
    started(6, 1);
    exited(5, 1, 0, true);
    looked(1, 1, DEVICE_HELD, "process 12 still holds it");
    for (int i = 0; i < 8; i++) { /* more and more seldom */
        wait_us(20000000);
        looked(1, 1, DEVICE_HELD, "process 12 still holds it");
    }
    assert_true(agent_wake_due(agent) > now_us + 5000000);
    exited(6, 1, 0, true);
    assert_int_equal(agent_wake_due(agent), now_us + 100000);
    str_clear(&said);
    wait_us(100000);
    assert_non_null(strstr(str_text(&said), "look 1/1"));
    looked(1, 1, DEVICE_CLEAN, NULL);
    launch_with(7, "n1 cpus=0 mem=1"); /* all are clean: its end asks for no look */
    started(7, 1);
    str_clear(&said);
    exited(7, 1, 0, true);
    wait_us(200000);
    assert_null(strstr(str_text(&said), "look"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_GPUS(a_broken_device_is_out_until_it_is_asked_back),
        TEST_GPUS(what_needs_a_reset_comes_back_by_itself),
        TEST_GPUS(one_failure_is_no_suspicion),
        TEST_GPUS(the_controller_hears_how_each_device_is),
        TEST_GPUS(the_devices_are_found_anew_when_the_settings_come_again),
        TEST_GPUS(a_device_that_was_exchanged_is_looked_at),
        TEST_GPUS(a_step_does_not_begin_with_a_device_that_is_not_there),
        TEST_GPUS(whose_end_may_have_freed_a_device_has_it_looked_at_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
