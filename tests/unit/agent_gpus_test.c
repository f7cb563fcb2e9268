/* The node's machine and its GPUs: who may have them, what looks and signs make of them, and what
 * the controller hears. */
#include "agent_gpus_help.h"

#include "base/alloc.h"

static void test_nothing_is_said_before_the_devices_were_looked_at(void **state)
{
    (void)state;
    up();
    EXPECT("look 0/0 1/0");
    struct device_seen seen[] = {{0, 0, DEVICE_CLEAN, NULL},
                                 {1, 0, DEVICE_HELD, "process 9 (x) still holds it"}};
    step((struct agent_event){.kind = AGENT_LOOKED, .seen = seen, .nseen = 2});
    EXPECT(
        "log \"GPU 1 is not given to anybody: process 9 (x) still holds it\"; node_hello n1 pid=77 "
        "out=gpu:1:unproven");
}

static void test_a_job_is_gone_when_its_device_is_clean(void **state)
{
    (void)state;
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    note((struct note){
        .kind = NOTE_STARTED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9});
    str_clear(&said);
    note((struct note){.kind = NOTE_EXITED,
                       .job_id = 5,
                       .attempt = 1,
                       .step_id = STEP_BATCH,
                       .pid = 9,
                       .clean = 1});
    EXPECT("report exited 5.1 #100; look 1/1");
    looked(1, 1, DEVICE_CLEAN, NULL);
    EXPECT("report released 5.1 #101");
}

static void test_a_stuck_device_is_out_and_the_job_is_over(void **state)
{
    (void)state;
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    note((struct note){
        .kind = NOTE_STARTED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9});
    note((struct note){.kind = NOTE_EXITED,
                       .job_id = 5,
                       .attempt = 1,
                       .step_id = STEP_BATCH,
                       .pid = 9,
                       .clean = 1});
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
    EXPECT("log \"GPU 1 is not given to anybody: process 12 (python) of job 5 still holds it\"; "
           "heartbeat "
           "out=gpu:1:unproven");
    wait_us(4000000);
    EXPECT("report failed 5.1 #102 retry \"GPU 1 of n1 cannot be used: process 12 (python) of job "
           "5 still holds it\" out=gpu:1:unproven; look 1/3(5.1.-1)");
    looked(1, 3, DEVICE_CLEAN, NULL);
    EXPECT("log \"GPU 1 is free of what a step left on it\"; heartbeat");
    step_launch(5, 3, "n1 cpus=0 mem=1 gpu:v100=1");
    EXPECT("start 5.1");
}

/* Those for which there was no room would stand against their job's next step. */
static void test_more_steps_than_are_named_go_on_by_their_run(void **state)
{
    (void)state;
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    step_note(NOTE_STARTED, STEP_BATCH);
    for (int64_t i = 0; i < 3 * LOOK_STEPS_MAX; i++) {
        step_launch(5, i, "n1 cpus=0 mem=1 gpu:v100=1");
        step_note(NOTE_STARTED, i);
    }
    str_clear(&said);
    step_note(NOTE_EXITED, 7);
    assert_non_null(strstr(str_text(&said), "; look 1/97(5.1.*)"));
}

/* Steps, or the script, or both with all that the script started; of the job unless one is
 * named. */
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
    EXPECT("report failed 5.1 #101 retry \"it was ended before it could begin\"");
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
    EXPECT("report failed 5.1 #101 retry had \"this node has had that start before, and it is "
           "over\"");
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
    note((struct note){.kind = NOTE_STARTED,
                       .job_id = 5,
                       .attempt = 1,
                       .step_id = STEP_BATCH,
                       .pid = 9,
                       .gpus = 2});
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

/* Else no file that is open would say anything. */
static void test_a_new_daemon_knows_whose_it_is_and_since_when(void **state)
{
    (void)state;
    found_with(4, 100, 1001, 0);
    found_with(5, 200, 1000, 2);
    found_with(6, 300, 1001, 0);
    str_clear(&said);
    up();
    EXPECT("look 0/0 1/0(5.1.-1)"); /* the others have none, and do not go on with any */
    assert_int_equal(last_from_us, 200);
    assert_int_equal(last_uid, 1000);
    assert_string_equal(last_users, "1001 1000 ");
}

/* A shepherd of an older release says neither. */
static void test_of_whom_nothing_is_known_nothing_is_said(void **state)
{
    (void)state;
    found_with(4, 100, -1, 0);
    found_with(5, 200, -1, 2);
    str_clear(&said);
    up();
    EXPECT("look 0/0(4.1.-1) 1/0(5.1.-1)(4.1.-1)");
    assert_int_equal(last_from_us, 0);
    assert_string_equal(last_users, "");
}

static void test_who_has_steps_goes_with_a_look(void **state)
{
    (void)state;
    const uint32_t users[] = {1000, 1001, 1000, 1002};
    both_clean();
    for (uint64_t i = 0; i < ARRAY_LEN(users); i++) {
        struct job j = {.id = 5 + i,
                        .attempt = 1,
                        .user_id = users[i],
                        .alloc = i == 3 ? "n1 cpus=0 mem=1 gpu:v100=1" : "n1 cpus=0 mem=1"};
        struct msg_launch m = {.job = {&j, 1}, .step_id = STEP_BATCH, .script = {"true", 4}};
        message(MSG_LAUNCH, &m);
    }
    for (int64_t id = 5; id < 9; id++)
        started(id, 1);
    exited(8, 1, 0, true);
    assert_int_equal(last_uid, 1002);
    assert_non_null(strstr(last_users, "1000 "));
    assert_non_null(strstr(last_users, "1001 "));
    assert_int_equal(strlen(last_users), strlen("1000 1001 1002 "));
}

/* Each step with GPUs has a sample each time, also when it does nothing with them. */
static void test_what_steps_used_of_their_gpus_is_reported(void **state)
{
    (void)state;
    struct gpu_used used[] = {{5, 1, STEP_BATCH, 90, INT64_C(3) << 30, 7000, 0},
                              {9, 1, 0, 50, 1, 1, 0}};
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    step_note(NOTE_STARTED, STEP_BATCH);
    step((struct agent_event){.kind = AGENT_GPU_USED, .used = used, .nused = 2, .ok = true});
    step((struct agent_event){.kind = AGENT_GPU_USED, .ok = true});
    used[0].mem_bytes = INT64_C(1) << 30;
    str_clear(&said);
    step((struct agent_event){.kind = AGENT_GPU_USED, .used = used, .nused = 2, .ok = false});
    step_note(NOTE_EXITED, STEP_BATCH);
    EXPECT("report exited 5.1 #100 gpus=3 util=90/45 of 2 mem=3072/1365 energy=14000; look 1/1");
}

/* What a process says of its step is its owner's word (the job here is root's): others' do not
 * count, root's do, in what user's name ever. */
static void test_another_users_process_is_of_no_step_of_his(void **state)
{
    (void)state;
    struct gpu_used used[] = {{5, 1, STEP_BATCH, 90, INT64_C(3) << 30, 7000, 0},
                              {5, 1, STEP_BATCH, 10, INT64_C(1) << 30, 1000, 0},
                              {5, 1, STEP_BATCH, 400, INT64_C(9) << 30, 900000, 1000},
                              {5, 1, STEP_BATCH, 400, INT64_C(9) << 30, 900000, -1}};
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    step_note(NOTE_STARTED, STEP_BATCH);
    str_clear(&said);
    step((struct agent_event){.kind = AGENT_GPU_USED, .used = used, .nused = 4, .ok = true});
    step_note(NOTE_EXITED, STEP_BATCH);
    EXPECT("report exited 5.1 #100 gpus=1 util=100/100 of 1 mem=4096/4096 energy=8000; look 1/1");
}

/* Processes that are hidden: steps of srun have what their device does, in equal parts, else the
 * script; energy adds up. */
static void test_a_device_whose_processes_are_hidden_is_its_holders(void **state)
{
    (void)state;
    struct gpu_now hidden = {.index = 1,
                             .util = 60,
                             .mem_bytes = INT64_C(2) << 30,
                             .power_mw = 200000,
                             .energy_mj = 200000,
                             .own_bytes = INT64_C(1) << 30};
    struct gpu_now known = hidden;
    known.explained = true;
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    step_note(NOTE_STARTED, STEP_BATCH);
    step((struct agent_event){.kind = AGENT_GPU_USED, .gpus = &hidden, .ngpus = 1, .ok = true});
    step((struct agent_event){.kind = AGENT_GPU_USED, .gpus = &known, .ngpus = 1, .ok = true});
    step_launch(5, 0, "n1 cpus=0 mem=1 gpu:v100=1");
    step_note(NOTE_STARTED, 0);
    step((struct agent_event){.kind = AGENT_GPU_USED, .gpus = &hidden, .ngpus = 1, .ok = true});
    str_clear(&said);
    step_note(NOTE_EXITED, 0);
    EXPECT("report exited 5.1 #100 gpus=1 util=60/60 of 1 mem=1024/1024 energy=200000; look "
           "1/2(5.1.-1)");
    step_note(NOTE_EXITED, STEP_BATCH);
    EXPECT("report exited 5.1 #101 gpus=3 util=60/20 of 3 mem=1024/341 energy=200000");
}

/* Idle since the first look that found it so; what was not seen for a while begins anew, and so
 * does what worked in between. */
static void test_since_when_a_device_is_idle(void **state)
{
    (void)state;
    struct gpu_now gpu[] = {{.index = 0, .util = 0, .mem_bytes = 0, .power_mw = -1, .idle = true},
                            {.index = 1, .util = 30, .mem_bytes = -1, .power_mw = 99500}};
    struct agent_event ev = {.kind = AGENT_GPU_USED, .gpus = gpu, .ngpus = 2, .ok = true};
    both_clean();
    step(ev);
    for (int i = 0; i < 4; i++) {
        wait_us(10000000);
        str_clear(&said);
        step(ev);
    }
    str_clear(&said);
    step((struct agent_event){.kind = AGENT_CHANGED});
    EXPECT("heartbeat node use=0:0:0:-:40;1:30:-:100:-");
    gpu[0].idle = false;
    gpu[1] = gpu[0];
    gpu[1].index = 1;
    gpu[1].idle = true;
    gpu[1].util = -1;
    step(ev);
    wait_us(1000000);
    gpu[0].idle = true;
    step(ev);
    str_clear(&said);
    step((struct agent_event){.kind = AGENT_CHANGED});
    EXPECT("heartbeat node use=0:0:0:-:0;1:-:0:-:1");
    /* Nothing is heard of the second for a while. */
    ev.ngpus = 1;
    for (int i = 0; i < 4; i++) {
        wait_us(10000000);
        step(ev);
    }
    str_clear(&said);
    step((struct agent_event){.kind = AGENT_CHANGED});
    EXPECT("heartbeat node use=0:0:0:-:40");
    ev.ngpus = 2;
    step(ev);
    str_clear(&said);
    step((struct agent_event){.kind = AGENT_CHANGED});
    EXPECT("heartbeat node use=0:0:0:-:40;1:-:0:-:0");
}

static void test_what_was_seen_of_an_earlier_use_proves_nothing(void **state)
{
    (void)state;
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    note((struct note){
        .kind = NOTE_STARTED, .job_id = 5, .attempt = 1, .step_id = STEP_BATCH, .pid = 9});
    note((struct note){.kind = NOTE_EXITED,
                       .job_id = 5,
                       .attempt = 1,
                       .step_id = STEP_BATCH,
                       .pid = 9,
                       .clean = 1});
    str_clear(&said);
    looked(1, 0, DEVICE_CLEAN, NULL);
    EXPECT("");
    looked(1, 1, DEVICE_CLEAN, NULL);
    EXPECT("report released 5.1 #101");
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

/* Processes' starts are told by the wall clock, which may be set while a job has the device. */
static void test_since_when_a_device_was_had_goes_with_the_clock(void **state)
{
    const int64_t by_us[] = {3600000000, -3600000000, 5000000, -5000000, 0};
    for (size_t i = 0; i < ARRAY_LEN(by_us); i++) {
        both_clean();
        now_us += 1000000000000;
        step((struct agent_event){.kind = AGENT_WAKE, .mono_us = 1000000});
        launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
        int64_t from_us = now_us;
        step_note(NOTE_STARTED, STEP_BATCH);
        now_us += by_us[i] + 1000000;
        step((struct agent_event){.kind = AGENT_WAKE, .mono_us = 2000000});
        last_from_us = 0;
        step_note(NOTE_EXITED, STEP_BATCH);
        assert_in_range(last_from_us, from_us + by_us[i] - 10, from_us + by_us[i] + 10);
        teardown(state);
        setup_gpus(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_GPUS(since_when_a_device_was_had_goes_with_the_clock),
        TEST_GPUS(nothing_is_said_before_the_devices_were_looked_at),
        TEST_GPUS(a_job_is_gone_when_its_device_is_clean),
        TEST_GPUS(a_stuck_device_is_out_and_the_job_is_over),
        TEST_GPUS(a_step_waits_for_what_a_former_one_left),
        TEST_GPUS(more_steps_than_are_named_go_on_by_their_run),
        TEST_GPUS(a_step_that_waits_for_a_device_can_be_ended),
        TEST_GPUS(a_step_that_comes_after_the_end_is_not_started),
        TEST_GPUS(a_step_that_comes_while_devices_are_proven_is_not_passed_over),
        TEST_GPUS(a_device_of_a_job_that_is_ended_is_waited_for),
        TEST_GPUS(a_new_daemon_knows_who_has_what),
        TEST_GPUS(a_new_daemon_knows_whose_it_is_and_since_when),
        TEST_GPUS(of_whom_nothing_is_known_nothing_is_said),
        TEST_GPUS(who_has_steps_goes_with_a_look),
        TEST_GPUS(what_steps_used_of_their_gpus_is_reported),
        TEST_GPUS(another_users_process_is_of_no_step_of_his),
        TEST_GPUS(a_device_whose_processes_are_hidden_is_its_holders),
        TEST_GPUS(since_when_a_device_is_idle),
        TEST_GPUS(what_was_seen_of_an_earlier_use_proves_nothing),
        TEST_GPUS(a_new_daemon_is_told_what_is_broken),
        TEST_GPUS(a_clean_device_that_cannot_be_asked_any_more_is_not_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
