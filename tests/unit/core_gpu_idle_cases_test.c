/* Devices that stand idle: single cases of who is told, and when it ends a job. */
#include "core_gpu_idle_help.h"

/* ---- cases ---- */

/* salloc hears it where no step does. */
static void an_allocation_without_a_step_hears_it(void **unused)
{
    (void)unused;
    struct job_spec spec = gpu_job(2);
    spec.batch = false;
    spec.attached = true;
    begin();
    notices = 0;
    say(SALLOC, MSG_SUBMIT, &(struct msg_submit){.specs = {&spec, 1}, .attach = true});
    minutes(99);
    assert_int_equal(notices, 0);
    minutes(2);
    assert_int_equal(notices, 1);
    minutes(2);
    assert_int_equal(notices, 1);
    minutes(90); /* told again before the end, and at the end */
    assert_int_equal(notices, 3);
}

static void one_busy_device_is_enough(void **unused)
{
    (void)unused;
    struct job_spec wide = gpu_job(2);
    wide.req.min_nodes = 2;
    wide.req.ntasks = 2;
    wide.req.ntasks_per_node = 1;
    begin();
    uint64_t id = submit(wide);
    assert_int_equal(state(id), JOB_RUNNING);
    for (int n = 0; n < 5; n++)
        idle_s[n][1] = n == 2 ? -1 : 0; /* of the second node the second */
    minutes(300);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(lines, 0);
    /* It becomes idle, too: counted from then. */
    idle_s[2][1] = 0;
    minutes(29);
    assert_int_equal(lines, 0);
    minutes(2);
    assert_int_equal(lines, 1);
}

static void what_is_not_told_is_no_ones_fault(void **unused)
{
    (void)unused;
    begin();
    all_are(-2);
    uint64_t id = submit(gpu_job(4));
    minutes(300);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(lines, 0);
    assert_int_equal(job(id)->gpu_idle_us, 0);
    /* Three of four tell: nothing is known of the fourth. */
    all_are(0);
    for (int n = 0; n < 5; n++)
        idle_s[n][3] = -2;
    minutes(300);
    assert_int_equal(lines, 0);
}

static void suspended_is_not_idle(void **unused)
{
    (void)unused;
    begin();
    uint64_t id = submit(gpu_job(1));
    script_runs(id);
    am_root();
    minutes(25);
    assert_int_equal(control(ids_of(id), ACTION_SUSPEND), REFUSE_NONE);
    minutes(200);
    assert_int_equal(lines, 0);
    assert_int_equal(control(ids_of(id), ACTION_RESUME), REFUSE_NONE);
    minutes(29);
    assert_int_equal(lines, 0);
    minutes(2);
    assert_int_equal(lines, 1);
}

/* Nothing was heard for hours: it is told first, and has as long as there is between the stages. */
static void nobody_is_ended_untold(void **unused)
{
    (void)unused;
    begin();
    uint64_t id = submit(gpu_job(1));
    script_runs(id);
    w.now += 500 * MIN;
    all_are(500 * 60);
    beat(1);
    for (int n = 2; n <= 4; n++)
        beat(n);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(lines, 1);
    assert_int_equal(idle_mails, 1);
    minutes(59);
    assert_int_equal(state(id), JOB_RUNNING);
    minutes(2);
    assert_int_equal(state(id), JOB_COMPLETING);
    assert_int_equal(lines, 1);
}

/* Hours that did not pass are no notice. */
static void a_clock_that_is_set_ends_nobody(void **unused)
{
    (void)unused;
    begin();
    uint64_t id = submit(gpu_job(1));
    script_runs(id);
    step((struct event){.kind = EV_WAKE, .mono_us = MIN});
    w.now += 500 * MIN;
    all_are(500 * 60);
    for (int n = 1; n <= 4; n++)
        beat(n);
    assert_int_equal(lines, 1);
    minutes(10);
    w.now += 180 * MIN;
    step((struct event){.kind = EV_WAKE, .mono_us = 511 * MIN});
    minutes(48);
    assert_int_equal(state(id), JOB_RUNNING);
    minutes(3);
    assert_int_equal(state(id), JOB_COMPLETING);
}

/* What was told is known after a restart; what the devices do, nodes say again. */
static void a_restart_tells_nobody_twice(void **unused)
{
    (void)unused;
    begin();
    uint64_t id = submit(gpu_job(1));
    script_runs(id);
    minutes(75);
    assert_int_equal(lines, 2);
    assert_int_equal(idle_mails, 1);
    restart(CONF_IDLE);
    for (int n = 1; n <= 4; n++) {
        struct held held = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH};
        bool here = strcmp(job(id)->batch_host, arena_printf(w.a, "n%d", n)) == 0;
        gpu_hello_holding(n, &held, here);
    }
    assert_int_equal(state(id), JOB_RUNNING);
    minutes(20);
    assert_int_equal(lines, 2);
    assert_int_equal(idle_mails, 1);
    minutes(40);
    assert_int_equal(state(id), JOB_COMPLETING);
}

static void why_and_listings_say_it(void **unused)
{
    (void)unused;
    begin();
    uint64_t id = submit(gpu_job(2));
    script_runs(id);
    minutes(75);
    assert_true(job(id)->gpu_idle_us >= 74 * MIN);
    assert_non_null(strstr(job(id)->gpu_idle_next,
                           "after 02:00:00 it is cancelled (GpuIdle of partition main)"));
    const char *text = why_one(id)->because;
    assert_non_null(strstr(text, "its 2 GPUs have done nothing for 01:05:00"));
}

static void elements_of_an_array_send_one_mail(void **unused)
{
    (void)unused;
    begin();
    struct job_spec s = gpu_job(1);
    s.array = "0-7";
    uint64_t id = submit(s);
    assert_int_not_equal(id, 0);
    minutes(75);
    assert_int_equal(lines, 16); /* each was warned and told */
    assert_int_equal(idle_mails, 1);
}

static void a_job_without_gpus_is_left_alone(void **unused)
{
    (void)unused;
    begin();
    uint64_t id = submit(a_job("cpu"));
    minutes(9);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->gpu_idle_us, 0);
    assert_int_equal(lines, 0);
}

static enum job_state component_state(uint64_t id, int offset)
{
    return (enum job_state)job_named(arena_printf(w.a, "%llu+%d", (unsigned long long)id, offset))
        ->state;
}

/* All of a heterogeneous job is idle, or nothing of it is. */
static void components_count_together(void **unused)
{
    (void)unused;
    begin();
    struct job_spec specs[2] = {gpu_job(1), gpu_job(1)};
    specs[0].req.nodelist = "n1";
    specs[1].req.nodelist = "n2";
    uint64_t id = submit_all(specs, 2);
    if (!id)
        fail_msg("%s", answer()->detail);
    assert_int_equal(component_state(id, 0), JOB_RUNNING);
    for (int i = 0; i < 4; i++)
        idle_s[2][i] = -1;
    minutes(200);
    assert_int_equal(lines, 0);
    for (int i = 0; i < 4; i++)
        idle_s[2][i] = 0;
    minutes(65);
    assert_int_equal(idle_mails, 1);
    minutes(57);
    assert_int_not_equal(component_state(id, 0), JOB_RUNNING);
    assert_int_not_equal(component_state(id, 1), JOB_RUNNING);
}

static void run_is_idle_and_over(uint64_t id)
{
    uint32_t attempt = job(id)->attempt;
    int node = atoi(job(id)->batch_host + 1);
    script_runs(id);
    minutes(62);
    assert_int_equal(state(id), JOB_REQUEUED);
    report(node,
           (struct msg_report){
               .kind = REPORT_RELEASED, .job_id = id, .attempt = attempt, .step_id = STEP_BATCH});
    all_are(0);
    minutes(1);
}

/* Who is sent back again and again does not run again and again: after MaxBatchRequeue (5) times it
 * waits held, across a restart, until it is let go; then all begins anew. */
static void sent_back_without_end(void **unused)
{
    (void)unused;
    struct job_spec s = gpu_job(1);
    s.req.partition = "back";
    begin();
    uint64_t id = submit(s);
    for (uint32_t run = 1; run <= 5; run++) {
        assert_int_equal(job(id)->attempt, run);
        run_is_idle_and_over(id);
        assert_int_equal(state(id), JOB_RUNNING);
        assert_int_equal(job(id)->gpu_idle_requeues, run);
    }
    script_runs(id);
    minutes(40);
    assert_non_null(strstr(job(id)->gpu_idle_next, "sent back to the queue, where it is held"));
    run_is_idle_and_over(id);
    assert_int_equal(state(id), JOB_PENDING);
    assert_int_equal(job(id)->reason, REASON_MAX_REQUEUE);
    restart(CONF_IDLE);
    for (int n = 1; n <= 4; n++)
        gpu_hello(n);
    minutes(100);
    assert_int_equal(state(id), JOB_PENDING);
    assert_int_equal(job(id)->reason, REASON_MAX_REQUEUE);
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE); /* its owner */
    minutes(1);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->gpu_idle_requeues, 0);
    run_is_idle_and_over(id);
    assert_int_equal(state(id), JOB_RUNNING);
}

/* The policy of a QOS comes before that of the partition, that before the cluster's. */
static void whose_policy_it_is(void **unused)
{
    (void)unused;
    struct gpu_idle p;
    struct err e = {0};
    begin();
    am_root();
    configure(NODES "GpuIdle=warn:5m,grace:0\n"
                    "PartitionName=main Nodes=n[1-4] Default=YES State=UP GpuIdle=none\n"
                    "PartitionName=other Nodes=n[1-4] State=UP\n");
    am_alice();
    uint64_t quiet = submit(gpu_job(1));
    minutes(20);
    assert_int_equal(lines, 0);
    struct job_spec s = gpu_job(1);
    s.req.partition = "other";
    uint64_t loud = submit(s);
    minutes(20);
    assert_int_equal(lines, 1);
    assert_int_equal(state(quiet), JOB_RUNNING);
    assert_int_equal(state(loud), JOB_RUNNING);
    static const char *const wrong[] = {
        "cancel:2h",         /* nobody is told */
        "warn:2h,cancel:1h", /* too late */
        "warn:30",           /* of what? */
        "warn:30m,cancel:1h,requeue:2h",
        "grace:10m", /* and then? */
        "warn:0m",
        "warn",
        "sleep:3m",
        "warn:1h,notify:1h",
        "warn:1h,exempt:",
        "a,b",
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        if (gpu_idle_parse(wrong[i], &p, &e))
            fail_msg("%s is taken", wrong[i]);
        assert_true(strlen(e.text) > 20);
    }
    static const char *const right[] = {"",
                                        "none",
                                        "NONE",
                                        "warn:1s",
                                        "warn:30m, notify:1h",
                                        "notify:90s,requeue:2d,grace:0,exempt:a,exempt:b"};
    for (size_t i = 0; i < ARRAY_LEN(right); i++)
        if (!gpu_idle_parse(right[i], &p, &e))
            fail_msg("%s is refused: %s", right[i], e.text);
    assert_int_equal(p.nexempt, 2);
    assert_int_equal(p.after_us[GPU_IDLE_NUMBER_REQUEUE], 48 * 60 * MIN);
}

static void what_a_node_says_is_read_or_left_out(void **unused)
{
    (void)unused;
    struct gpu_use u[4];
    assert_int_equal(gpu_use_read("0:47:1024:210:-;3:0:512:55:1800", u, 4), 2);
    assert_true(u[0].index == 0 && u[0].util == 47 && u[0].mem_mib == 1024 && u[0].watts == 210 &&
                u[0].idle_s == -1);
    assert_true(u[1].index == 3 && u[1].util == 0 && u[1].idle_s == 1800);
    assert_int_equal(gpu_use_read("0:101:1:1:1;1:1:1:1;-:1:1:1:1;2:-:-:-:-;x;;99999:1:1:1:1", u, 4),
                     1);
    assert_true(u[0].index == 2 && u[0].util == -1 && u[0].mem_mib == -1);
    assert_int_equal(gpu_use_read(NULL, u, 4), 0);
    assert_int_equal(gpu_use_read("0:1:1:1:1;1:1:1:1:1;2:1:1:1:1;3:1:1:1:1;4:1:1:1:1", u, 4), 4);
}

int main(void)
{
#define IDLE_TEST(name) cmocka_unit_test_setup_teardown(name, idle_setup, teardown)
    const struct CMUnitTest tests[] = {
        IDLE_TEST(an_allocation_without_a_step_hears_it),
        IDLE_TEST(one_busy_device_is_enough),
        IDLE_TEST(what_is_not_told_is_no_ones_fault),
        IDLE_TEST(suspended_is_not_idle),
        IDLE_TEST(nobody_is_ended_untold),
        IDLE_TEST(a_clock_that_is_set_ends_nobody),
        IDLE_TEST(a_restart_tells_nobody_twice),
        IDLE_TEST(why_and_listings_say_it),
        IDLE_TEST(elements_of_an_array_send_one_mail),
        IDLE_TEST(a_job_without_gpus_is_left_alone),
        IDLE_TEST(sent_back_without_end),
        IDLE_TEST(components_count_together),
        IDLE_TEST(whose_policy_it_is),
        cmocka_unit_test(what_a_node_says_is_read_or_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
