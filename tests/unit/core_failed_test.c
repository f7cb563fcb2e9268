/* What goes back to the queue because something failed, and not the job: nothing makes a job run
 * and fail for ever. Every cause, of every kind of job, with and without a step in it. */
#include "core_step_help.h"

#define MOST 5 /* MaxBatchRequeue */
#define BOOT "boot%d disk1"

enum kind { PLAIN, ELEMENT, COMPONENTS, KINDS };

static int boots;

static int host_of(uint64_t id)
{
    return job(id)->batch_host[1] - '0';
}

/* The last node of a job is one without its script where there are components. */
static int last_host(uint64_t id)
{
    const struct job *j = job(id);
    return job(j->het_job_id ? id + 1 : id)->batch_host[1] - '0';
}

static void says(uint64_t id, struct msg_report m)
{
    m.job_id = id;
    m.attempt = job(id)->attempt;
    m.step_id = STEP_BATCH;
    report(host_of(id), m);
}

static void begins(uint64_t id)
{
    says(id, (struct msg_report){.kind = REPORT_STARTED});
}

static void node_is(int n, const char *state)
{
    struct peer asks = w.peer;
    struct msg_update_node m = {
        .names = arena_printf(w.a, "n%d", n), .state = state, .reason = "looked at"};
    am_root();
    say(1, MSG_UPDATE_NODE, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    w.peer = asks;
}

static void comes(int n, bool anew)
{
    boots += anew;
    hello_living(n, arena_printf(w.a, BOOT, boots), NULL, 0);
}

/* ---- causes ---- */

static void shepherd_dies(uint64_t id)
{
    begins(id);
    says(id, (struct msg_report){.kind = REPORT_LOST});
}

static void launch_fails(uint64_t id)
{
    says(id, (struct msg_report){.kind = REPORT_FAILED, .retry = true, .detail = "no home"});
}

static void shepherd_dies_early(uint64_t id)
{
    int n = host_of(id);
    says(id, (struct msg_report){.kind = REPORT_FAILED, .retry = true, .gone = true});
    node_is(n, "RESUME"); /* it may have been drained */
}

static void prolog_fails(uint64_t id)
{
    int n = host_of(id);
    says(id, (struct msg_report){.kind = REPORT_FAILED, .retry = true, .prolog = true});
    node_is(n, "RESUME");
}

static void node_is_silent_for_long(uint64_t id)
{
    int n = last_host(id);
    begins(id);
    gone(n);
    pass_awake(61 * SEC);
    comes(n, false);
}

static void node_loses_power(uint64_t id)
{
    int n = last_host(id);
    begins(id);
    gone(n);
    pass(9 * SEC); /* who comes as another is believed by then */
    comes(n, true);
}

static void node_is_set_down(uint64_t id)
{
    int n = last_host(id);
    begins(id);
    node_is(n, "DOWN");
    node_is(n, "RESUME");
}

static const struct cause {
    const char *name;
    void (*strikes)(uint64_t id);
    enum job_state once; /* how one ends that may not run again */
} causes[] = {
    {"its shepherd dies", shepherd_dies, JOB_NODE_FAIL},
    {"its launch fails", launch_fails, JOB_CANCELLED},
    {"its shepherd dies before it began", shepherd_dies_early, JOB_NODE_FAIL},
    {"the prolog fails", prolog_fails, JOB_CANCELLED},
    {"its node is silent", node_is_silent_for_long, JOB_NODE_FAIL},
    {"its node loses power", node_loses_power, JOB_NODE_FAIL},
    {"its node is set down", node_is_set_down, JOB_NODE_FAIL},
};

/* ---- jobs ---- */

static void world_begins_as(const char *conf)
{
    boots = 1;
    world_open(conf, 0);
    for (int n = 1; n <= 4; n++)
        comes(n, false);
    am_alice();
}

static void world_begins(void)
{
    world_begins_as(CONF "SchedulerParameters=nohold_on_prolog_fail\n");
}

static uint64_t submit_kind(enum kind kind, int32_t requeue)
{
    struct job_spec s[2] = {a_wide_job("one"), a_wide_job("two")};
    for (int i = 0; i < 2; i++) {
        s[i].requeue = requeue;
        s[i].req.time_limit_us = 110 * MIN;
    }
    if (kind == ELEMENT)
        s[0].array = "0-1";
    uint64_t id = submit_all(s, kind == COMPONENTS ? 2 : 1);
    assert_true(id);
    return kind == ELEMENT ? job_named(arena_printf(w.a, "%llu_0", (unsigned long long)id))->id
                           : id;
}

/* Nothing is left of a run where it was; nodes that were lost are not asked. */
static void all_released(uint64_t id, enum kind kind)
{
    for (uint64_t one = id; one <= id + (kind == COMPONENTS); one++) {
        const struct job *j = job(one);
        for (int n = 1; n <= 4 && (j->state == JOB_REQUEUED || j->state == JOB_COMPLETING); n++)
            report(n, (struct msg_report){.kind = REPORT_RELEASED,
                                          .job_id = one,
                                          .attempt = j->attempt,
                                          .step_id = STEP_BATCH});
    }
    pass(SEC);
}

static void strike(const struct cause *cause, uint64_t id, enum kind kind, bool with_step)
{
    assert_int_equal(state(id), JOB_RUNNING);
    if (with_step && srun_tasks(SRUN, id, 1))
        node_says(host_of(id), id, 0, REPORT_STARTED, 0);
    cause->strikes(id);
    all_released(id, kind);
}

static void waits_held(uint64_t id, enum kind kind)
{
    for (uint64_t one = id; one <= id + (kind == COMPONENTS); one++) {
        assert_int_equal(state(one), JOB_PENDING);
        assert_true(job(one)->spec.hold);
        assert_int_equal(job(one)->reason, REASON_MAX_REQUEUE);
        assert_int_equal(job(one)->attempt, MOST + 1);
    }
}

static void product(const struct cause *cause, enum kind kind, bool with_step)
{
    world_begins();
    uint64_t id = submit_kind(kind, UNSET);
    for (uint32_t run = 1; run <= MOST; run++) {
        strike(cause, id, kind, with_step);
        assert_int_equal(state(id), JOB_RUNNING);
        assert_int_equal(job(id)->attempt, run + 1);
    }
    strike(cause, id, kind, with_step);
    waits_held(id, kind);
    restart(CONF);
    for (int n = 1; n <= 4; n++)
        comes(n, false);
    am_alice();
    pass(MIN);
    waits_held(id, kind);
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE); /* its owner has looked */
    pass(MIN);
    strike(cause, id, kind, with_step);
    if (cause->strikes != prolog_fails) /* by now it is held at once */
        assert_int_equal(state(id), JOB_RUNNING);
    world_close();

    world_begins();
    id = submit_kind(kind, NO);
    strike(cause, id, kind, with_step);
    assert_int_equal(state(id), cause->once);
    assert_int_equal(job(id)->attempt, 1);
    world_close();
}

static void nothing_fails_without_end(void **unused)
{
    (void)unused;
    for (size_t c = 0; c < sizeof causes / sizeof *causes; c++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int with_step = 0; with_step < 2; with_step++) {
                print_message("# %s, kind %d%s\n", causes[c].name, kind,
                              with_step ? ", with a step" : "");
                product(&causes[c], (enum kind)kind, with_step);
            }
}

/* As in Slurm: what a site's setting says of jobs that say nothing holds for launches, too. */
static void nothing_runs_again_where_the_site_says_so(void **unused)
{
    (void)unused;
    for (size_t c = 0; c < sizeof causes / sizeof *causes; c++)
        for (int asks = 0; asks < 2; asks++) {
            world_begins_as(CONF "JobRequeue=0\nSchedulerParameters=nohold_on_prolog_fail\n");
            uint64_t id = submit_kind(PLAIN, asks ? YES : UNSET);
            strike(&causes[c], id, PLAIN, false);
            assert_int_equal(state(id), asks ? JOB_RUNNING : causes[c].once);
            assert_int_equal(job(id)->attempt, asks ? 2 : 1);
            world_close();
        }
}

/* ---- what begins the count anew ---- */

static void failures_that_do_not_follow_each_other(void **unused)
{
    (void)unused;
    world_begins();
    uint64_t id = submit_kind(PLAIN, UNSET);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MOST; i++)
            strike(&causes[i % 2], id, PLAIN, false); /* whatever it is that fails */
        assert_int_equal(state(id), JOB_RUNNING);
        begins(id);
        if (round) { /* it goes well for a while */
            for (int m = 0; m < 61; m++)
                pass(MIN);
        } else { /* somebody sends it back */
            assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
            all_released(id, PLAIN);
            assert_int_equal(state(id), JOB_RUNNING);
        }
    }
    strike(&causes[0], id, PLAIN, false);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->failed_requeues, 1);
    world_close();
}

/* Of a job that was sent back by people or for others, a first failure is the first. */
static void who_went_back_for_other_reasons_has_not_failed(void **unused)
{
    (void)unused;
    world_begins();
    uint64_t id = submit_kind(PLAIN, UNSET);
    for (int i = 0; i < 2 * MOST; i++) {
        begins(id);
        assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
        all_released(id, PLAIN);
    }
    strike(&causes[1], id, PLAIN, false);
    assert_int_equal(state(id), JOB_RUNNING);
    world_close();
}

/* A hold that its owner gave while it ran is not lost with the launch. */
static void who_was_held_while_it_ran_waits_held(void **unused)
{
    (void)unused;
    for (size_t c = 0; c < sizeof causes / sizeof *causes; c++) {
        world_begins();
        uint64_t id = submit_kind(PLAIN, UNSET);
        assert_int_equal(control(ids_of(id), ACTION_HOLD), REFUSE_NONE);
        strike(&causes[c], id, PLAIN, false);
        assert_int_equal(state(id), JOB_PENDING);
        assert_true(job(id)->spec.hold);
        world_close();
    }
}

/* Who ends jobs whose shepherds cannot begin, such as at a file system that hangs, drains nothing. */
static void a_shepherd_that_was_told_to_end_says_nothing_of_its_node(void **unused)
{
    (void)unused;
    world_begins();
    for (int i = 0; i < 5; i++) {
        uint64_t id = submit_kind(PLAIN, UNSET);
        int n = host_of(id);
        assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
        says(id, (struct msg_report){.kind = REPORT_FAILED, .retry = true, .gone = true});
        all_released(id, PLAIN);
        assert_int_equal(state(id), JOB_CANCELLED);
        assert_false(node(arena_printf(w.a, "n%d", n))->drain);
    }
    world_close();
}

/* One whose shepherds die before they begin fails every job, and none is to blame. */
static void a_node_whose_shepherds_die_is_drained(void **unused)
{
    (void)unused;
    world_begins();
    uint64_t id = submit_kind(PLAIN, UNSET);
    int n = host_of(id);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(host_of(id), n);
        says(id, (struct msg_report){
                     .kind = REPORT_FAILED, .retry = true, .gone = true, .detail = "it ended"});
        all_released(id, PLAIN);
    }
    assert_true(node(arena_printf(w.a, "n%d", n))->drain);
    assert_string_equal(node(arena_printf(w.a, "n%d", n))->reason,
                        "batch job complete failure: it ended");
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_not_equal(host_of(id), n);
    world_close();
}

/* A node whose connection breaks says again what was not heard to be taken. */
static void a_failure_that_is_told_again_is_one(void **unused)
{
    (void)unused;
    world_begins();
    uint64_t id = submit_kind(PLAIN, UNSET);
    int n = host_of(id);
    struct msg_report m = {.kind = REPORT_FAILED,
                           .job_id = id,
                           .attempt = 1,
                           .step_id = STEP_BATCH,
                           .retry = true,
                           .unfit = true,
                           .detail = "no room"};
    const uint64_t seq = w.seq;
    for (int i = 0; i < 5; i++) {
        w.seq = seq;
        report(n, m);
    }
    assert_false(node(arena_printf(w.a, "n%d", n))->drain);
    for (int i = 0; i < 2; i++)
        report(n, m);
    assert_true(node(arena_printf(w.a, "n%d", n))->drain);
    world_close();
}

/* While the nodes of its last run are cleared, too. */
static void who_lets_it_go_before_it_waits_has_looked(void **unused)
{
    (void)unused;
    static const enum job_action deeds[] = {ACTION_RELEASE, ACTION_REQUEUE};
    for (size_t d = 0; d < sizeof deeds / sizeof *deeds; d++) {
        world_begins();
        uint64_t id = submit_kind(PLAIN, UNSET);
        for (int i = 0; i < MOST; i++)
            strike(&causes[0], id, PLAIN, false);
        causes[0].strikes(id);
        assert_int_equal(state(id), JOB_REQUEUED);
        assert_int_equal(control(ids_of(id), deeds[d]), REFUSE_NONE);
        assert_int_equal(job(id)->failed_requeues, 0);
        assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
        all_released(id, PLAIN);
        assert_int_equal(state(id), JOB_RUNNING);
        strike(&causes[0], id, PLAIN, false);
        assert_int_equal(state(id), JOB_RUNNING);
        world_close();
    }
}

/* Nor is it held then: not when it is back, and not later, where it is cancelled on its way. */
static void who_sends_it_back_on_its_way_lets_it_go(void **unused)
{
    (void)unused;
    for (int cancelled = 0; cancelled < 2; cancelled++) {
        world_begins();
        uint64_t id = submit_kind(PLAIN, UNSET);
        for (int i = 0; i < MOST; i++)
            strike(&causes[0], id, PLAIN, false);
        causes[0].strikes(id);
        assert_int_equal(state(id), JOB_REQUEUED);
        assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
        if (cancelled)
            assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
        all_released(id, PLAIN);
        assert_int_equal(state(id), cancelled ? JOB_CANCELLED : JOB_RUNNING);
        if (cancelled)
            assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
        pass(SEC);
        assert_int_equal(state(id), JOB_RUNNING);
        world_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_fails_without_end),
        cmocka_unit_test(nothing_runs_again_where_the_site_says_so),
        cmocka_unit_test(failures_that_do_not_follow_each_other),
        cmocka_unit_test(who_went_back_for_other_reasons_has_not_failed),
        cmocka_unit_test(who_was_held_while_it_ran_waits_held),
        cmocka_unit_test(a_shepherd_that_was_told_to_end_says_nothing_of_its_node),
        cmocka_unit_test(a_node_whose_shepherds_die_is_drained),
        cmocka_unit_test(a_failure_that_is_told_again_is_one),
        cmocka_unit_test(who_lets_it_go_before_it_waits_has_looked),
        cmocka_unit_test(who_sends_it_back_on_its_way_lets_it_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
