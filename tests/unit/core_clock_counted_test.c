/* The wall clock is set: graces, slices, waits, and what decays, each counted from an instant, go on
 * as if it had not been. */
#include "core_clock_help.h"

#define HOUR (60 * MIN)

static void opened(const char *conf)
{
    world_close();
    world_open(conf, 2);
    mono += SEC;
    timed((struct event){.kind = EV_WAKE});
}

/* Time passes, and no node is heard of. */
static void silence(int64_t us)
{
    w.now += us;
    mono += us;
    timed((struct event){.kind = EV_WAKE});
}

static const int64_t ways[] = {3 * HOUR, -3 * HOUR};

/* Its connection is gone: it has the time that it has, and its jobs with it. */
static void test_a_node_that_is_away_has_its_time(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        opened(NODES);
        struct job_spec spec = a_job("ten minutes");
        spec.req.nodelist = "n1";
        uint64_t id = submit(spec);
        gone(1);
        silence(10 * SEC);
        clock_is_set(ways[i]);
        silence(49 * SEC);
        assert_int_equal(node("n1")->state, NODE_UP);
        assert_int_equal(state(id), JOB_RUNNING);
        silence(SEC);
        assert_int_equal(node("n1")->state, NODE_DOWN);
        assert_int_not_equal(state(id), JOB_RUNNING);
    }
}

/* Silence is counted from when the store was back; that moves, too. */
static void test_silence_after_the_store_was_away(void **unused)
{
    (void)unused;
    goes_on(SEC);
    timed((struct event){.kind = EV_STORE_AWAY, .text = "disk full"});
    silence(2 * MIN);
    timed((struct event){.kind = EV_STORE_BACK});
    clock_is_set(-3 * HOUR);
    silence(59 * SEC);
    assert_int_equal(node("n1")->state, NODE_UP);
    silence(SEC);
    assert_int_equal(node("n1")->state, NODE_DOWN);
    opened(NODES);
    timed((struct event){.kind = EV_STORE_AWAY, .text = "disk full"});
    silence(2 * MIN);
    timed((struct event){.kind = EV_STORE_BACK});
    clock_is_set(3 * HOUR);
    silence(59 * SEC);
    assert_int_equal(node("n1")->state, NODE_UP);
}

static void hang_up(uint64_t conn)
{
    step((struct event){.kind = EV_CLOSED, .conn = conn});
    settle(0);
}

#define SALLOC 5000u
#define SRUN   5001u

static void is_lonely(void (*leave)(uint64_t conn), uint64_t conn, int64_t by_us, bool step_only)
{
    struct job_spec spec = a_job("a"), task = {.name = "true", .req = {.ntasks = 1}};
    struct msg_submit m = {.specs = {&spec, 1}, .attach = true};
    opened(NODES);
    am_alice();
    spec.batch = false;
    spec.attached = true;
    say(SALLOC, MSG_SUBMIT, &m);
    uint64_t id = ((const struct job *)the(QUERY_JOBS, NULL))->id;
    say(SRUN, MSG_CREATE_STEP,
        &(struct msg_create_step){.job_id = id, .spec = {&task, 1}, .address = "@x"});
    assert_int_equal(count((struct msg_query){.what = QUERY_STEPS, .ids = ids_of(id)}), 1);
    leave(conn);
    goes_on(30 * SEC);
    clock_is_set(by_us);
    goes_on(29 * SEC);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 0);
    w.now += 2 * SEC;
    mono += 2 * SEC;
    timed((struct event){.kind = EV_WAKE});
    assert_true(step_only ? sent(FX_SEND, MSG_TERMINATE) > 0 : state(id) != JOB_RUNNING);
}

/* Of a command that went away is expected that it comes back, for a minute, as long as that is. */
static void test_a_command_that_is_away_has_its_time(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        is_lonely(hang_up, SALLOC, ways[i], false);
        is_lonely(hang_up, SRUN, ways[i], true);
    }
}

static void test_a_step_lasts_as_long_as_it_does(void **unused)
{
    (void)unused;
    struct job_spec task = {.name = "true", .req = {.ntasks = 1}};
    uint64_t id = submit(a_job("ten minutes"));
    say(SRUN, MSG_CREATE_STEP,
        &(struct msg_create_step){.job_id = id, .spec = {&task, 1}, .address = "@x"});
    goes_on(MIN);
    clock_is_set(3 * HOUR);
    struct rows r = ask((struct msg_query){.what = QUERY_STEPS, .ids = ids_of(id)});
    assert_true(r.row.n > 0);
    for (size_t i = 0; i < r.row.n; i++)
        assert_int_equal(w.now - ((const struct step *)r.row.v[i])->start_us, MIN);
    vec_done(&r.row);
}

static uint64_t sent_as(uint64_t request)
{
    struct job_spec spec = a_job("one");
    struct msg_submit m = {.specs = {&spec, 1}, .script = {"#!/bin/sh\n", 10}};
    struct message again = {.kind = MSG_SUBMIT, .seq = 1, .request = request, .body = &m};
    am_alice();
    timed((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &again});
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_SUBMITTED)
            return ((const struct msg_submitted *)w.fx.v[i].msg.body)->job_id;
    return 0;
}

/* Its answer is kept for some minutes, of which the clock takes none away. */
static void test_a_submission_sent_again_is_the_same_job(void **unused)
{
    (void)unused;
    uint64_t id = sent_as(77);
    clock_is_set(3 * HOUR);
    sent_as(78);
    assert_int_equal(sent_as(77), id);
    two_lives();
    sent_as(79);
    assert_int_equal(sent_as(77), id);
}

static void test_a_job_that_gives_way_has_its_grace(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        opened(NODES "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
                     "PartitionName=low Nodes=ALL GraceTime=60\n"
                     "PartitionName=high Nodes=ALL PriorityTier=9\n");
        struct job_spec low = a_job("low");
        low.req.nodelist = "n1";
        low.req.ntasks = 4;
        struct job_spec high = low;
        low.req.partition = "low";
        high.req.partition = "high";
        uint64_t id = submit(low);
        assert_int_equal(state(id), JOB_RUNNING);
        goes_on(SEC);
        submit(high);
        assert_true(job(id)->preempt_us > 0);
        clock_is_set(ways[i]);
        goes_on(58 * SEC);
        assert_int_equal(state(id), JOB_RUNNING);
        goes_on(3 * SEC);
        assert_int_not_equal(state(id), JOB_RUNNING);
    }
}

/* Of two that share CPUs the other goes on when a slice is over. */
static void test_jobs_take_turns(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        opened("ClusterName=t\nSlurmdTimeout=60\nPreemptMode=GANG,SUSPEND\n"
               "SchedulerTimeSlice=30\nNodeName=n[1-2] CPUs=4 RealMemory=1000\n"
               "PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:2\n");
        struct job_spec spec = a_job("turns");
        spec.req.nodelist = "n1";
        spec.req.ntasks = 4;
        spec.req.mem_per_node_mib = 100;
        uint64_t one = submit(spec), two = submit(spec);
        goes_on(SEC);
        assert_int_equal((state(one) == JOB_RUNNING) + (state(two) == JOB_RUNNING), 1);
        uint64_t first = state(one) == JOB_RUNNING ? one : two;
        clock_is_set(ways[i]);
        goes_on(20 * SEC);
        assert_int_equal(state(first), JOB_RUNNING);
        goes_on(11 * SEC);
        assert_int_equal(state(first), JOB_SUSPENDED);
    }
}

#define DECAYS                                                                                     \
    NODES "PriorityType=priority/multifactor\nPriorityWeightFairshare=1000\n"                      \
          "PriorityDecayHalfLife=1:00:00\nPriorityCalcPeriod=1\n"

static int64_t used(void)
{
    struct rows r = ask((struct msg_query){.what = QUERY_SHARES});
    int64_t sum = 0;
    for (size_t i = 0; i < r.row.n; i++)
        if (((const struct usage *)r.row.v[i])->user_id == ALICE)
            sum += ((const struct usage *)r.row.v[i])->usage;
    vec_done(&r.row);
    return sum;
}

/* Three hours that did not pass would leave an eighth of it. */
static void test_what_was_used_decays_with_time(void **unused)
{
    (void)unused;
    opened(DECAYS);
    am_alice();
    uint64_t id = submit(a_job("ten minutes"));
    for (int i = 0; i < 5; i++)
        goes_on(MIN);
    script_ends(id, 0);
    int64_t before = used();
    assert_true(before > 0);
    clock_is_set(3 * HOUR);
    goes_on(MIN);
    assert_in_range(used(), before * 9 / 10, before);
    before = used();
    two_lives_of(DECAYS, "this-boot", 3 * 60 * MIN);
    goes_on(MIN);
    assert_in_range(used(), before * 9 / 10, before);
}

/* Names of accounts that somebody thought of are forgotten at a start, those whose time was just
 * moved among them. */
static void test_rows_that_tell_nothing(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("held");
    spec.hold = true;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        opened(NODES);
        life_of(NODES, "this-boot");
        for (int n = 0; n < 50; n++) {
            spec.req.account = arena_printf(w.a, "a%d", n);
            cancel(ids_of(submit(spec)));
        }
        w.now += ways[i];
        for (int life = 0; life < 2; life++)
            life_of(NODES, "this-boot");
        struct rows r = ask((struct msg_query){.what = QUERY_SHARES});
        assert_in_range(r.row.n, 0, 1);
        vec_done(&r.row);
    }
}

/* The planner knows by when a run is over at most: of what waits for it, that is told. */
static void test_when_what_waits_begins(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("all of it");
    spec.req.nodelist = "n1";
    spec.req.ntasks = 4;
    submit(spec);
    uint64_t next = submit(spec);
    goes_on(MIN);
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        clock_is_set(ways[i]);
        goes_on(SEC);
        assert_in_range(why_one(next)->planned_us - w.now, 8 * MIN, 10 * MIN);
    }
}

/* What it had since it gave a node back is counted from then. */
static void test_a_run_that_gave_a_node_back(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        opened(NODES);
        struct job_spec spec = a_job("two nodes"), to = {.req = {.min_nodes = 1}};
        spec.req.min_nodes = spec.req.max_nodes = 2;
        spec.req.ntasks = 2;
        uint64_t id = submit(spec);
        assert_int_equal(job(id)->alloc_nodes, 2);
        goes_on(30 * SEC);
        say(1, MSG_UPDATE_JOB,
            &(struct msg_update_job){.ids = ids_of(id), .fields = "min_nodes", .values = {&to, 1}});
        assert_int_equal(refusal(), REFUSE_NONE);
        goes_on(30 * SEC);
        clock_is_set(ways[i]);
        assert_int_equal(w.now - job(id)->resize_us, 30 * SEC);
        assert_int_equal(w.now - job(id)->start_us, 60 * SEC);
    }
}

/* One that stays runs once for each run: also where the clock was set while the controller was
 * down. */
static void test_a_trigger_runs_once_for_a_run(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("ten minutes"));
    am_root();
    say(1, MSG_SET_TRIGGER,
        &(struct msg_set_trigger){.events = TRIGGER_BIT(TIME),
                                  .job = ids_of(id),
                                  .offset = -300,
                                  .permanent = true,
                                  .program = "/bin/tell"});
    assert_int_equal(refusal(), REFUSE_NONE);
    programs = 0;
    for (int i = 0; i < 7; i++)
        goes_on(MIN);
    assert_int_equal(programs, 1);
    two_lives();
    programs += sent(FX_PROGRAM, MESSAGE_COUNT);
    silence(30 * SEC);
    assert_int_equal(programs, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_node_that_is_away_has_its_time, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_silence_after_the_store_was_away, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_command_that_is_away_has_its_time, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_step_lasts_as_long_as_it_does, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_a_submission_sent_again_is_the_same_job, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_a_job_that_gives_way_has_its_grace, open_world,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_jobs_take_turns, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_what_was_used_decays_with_time, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_rows_that_tell_nothing, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_when_what_waits_begins, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_a_run_that_gave_a_node_back, open_world, teardown),
        cmocka_unit_test_setup_teardown(test_a_trigger_runs_once_for_a_run, open_world, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
