/* Jobs of an older store that start once more, on nodes that have had them: each start has a number
 * that none of them knows, and waits for what they still have. */
#include "core_restored_help.h"

#include <string.h>

static void is_over(int n, uint64_t id, uint32_t attempt)
{
    report(n, (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = attempt});
}

static uint64_t submit_late(void)
{
    struct job_spec spec = a_wide_job("late");
    spec.begin_us = w.now + 10 * MIN;
    return submit(spec);
}

static void let_go(uint64_t id)
{
    am_root();
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
}

static uint32_t launched(void)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_SEND && w.fx.v[i].msg.kind == MSG_LAUNCH)
            return ((const struct job *)((const struct msg_launch *)w.fx.v[i].msg.body)->job.v)
                ->attempt;
    return 0;
}

/* A node that ran it as start 1, and says nothing of it any more, would not run that again. */
static void test_who_was_let_go_starts_by_a_number_of_its_own(void **unused)
{
    (void)unused;
    uint64_t id = submit_late();
    restart_older(0);
    hello(1);
    hello(2);
    pass(11 * MIN);
    let_go(id);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_in_range(launched(), 100, 10000);
    assert_int_equal(job(id)->restarts, 0);
    uint32_t first = job(id)->attempt;
    control(ids_of(id), ACTION_REQUEUE);
    is_over(job(id)->batch_host[1] - '0', id, first);
    pass(3 * MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->attempt, first + 1);
}

/* Also where the controller ends in between. */
static void test_let_go_and_started_by_another_controller(void **unused)
{
    (void)unused;
    struct job_spec many = a_job("many");
    many.begin_us = w.now + 30 * MIN;
    many.array = "0-2";
    uint64_t id = submit_late(), array = submit(many);
    restart_older(0);
    hello(1);
    hello(2);
    let_go(id);
    let_go(array);
    assert_int_equal(job(id)->attempt, 0);
    restart(NODES);
    hello(1);
    hello(2);
    assert_false(job(id)->spec.hold || job(array)->spec.hold);
    pass(31 * MIN);
    struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .states = "RUNNING"});
    assert_int_equal(r.row.n, 4);
    for (size_t i = 0; i < r.row.n; i++)
        assert_true(((const struct job *)r.row.v[i])->attempt > 100);
    vec_done(&r.row);
}

/* Since the backup it went to another node, which still has it there and comes first. */
static void test_a_later_start_elsewhere_is_waited_for(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_wide_job("moved"));
    assert_string_equal(job(id)->batch_host, "n1");
    restart_older(0);
    held_by(2, id, 2);
    assert_int_equal(terminated(id), 1);
    assert_int_equal(state(id), JOB_RUNNING); /* as start 1 on the node that was not heard */
    hello(1);
    pass(3 * MIN);
    assert_int_equal(state(id), JOB_PENDING);
    assert_true(job(id)->spec.hold);
    let_go(id);
    pass(MIN);
    assert_int_equal(state(id), JOB_PENDING);
    is_over(2, id, 2);
    pass(MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    report(job(id)->batch_host[1] - '0',
           (struct msg_report){
               .kind = REPORT_EXITED, .job_id = id, .attempt = 2, .step_id = STEP_BATCH});
    assert_int_equal(state(id), JOB_RUNNING);
}

static void refuse_as_had(uint64_t id, int64_t step_id)
{
    const struct job *j = job(id);
    report(j->batch_host[1] - '0', (struct msg_report){.kind = REPORT_FAILED,
                                                       .job_id = id,
                                                       .attempt = j->attempt,
                                                       .step_id = step_id,
                                                       .retry = true,
                                                       .had = true,
                                                       .detail = "had it"});
}

/* Nothing but its node says that the store is older: of a whole machine that was set back. */
static void test_who_has_had_it_holds_it(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("again"));
    refuse_as_had(id, STEP_BATCH);
    is_over(1, id, 1);
    pass(3 * MIN);
    assert_int_equal(state(id), JOB_PENDING);
    assert_true(job(id)->spec.hold);
    assert_non_null(strstr(job(id)->system_comment, "scontrol release"));
    am_alice();
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_true(job(id)->attempt > 100);
    script_ends(id, 0);
    assert_int_equal(state(id), JOB_COMPLETED);
}

static size_t launch_failures_told(void)
{
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        n += w.fx.v[i].kind == FX_LOG && strstr(w.fx.v[i].text, "could not be launched");
    return n;
}

/* It is not known to have run, and must not begin twice: that is for somebody to decide, too. */
static void test_what_may_not_run_again_is_held_as_well(void **unused)
{
    (void)unused;
    struct job_spec once = a_job("once");
    once.requeue = NO;
    uint64_t id = submit(once);
    refuse_as_had(id, STEP_BATCH);
    assert_int_equal(launch_failures_told(), 1);
    is_over(1, id, 1);
    pass(3 * MIN);
    assert_int_equal(state(id), JOB_PENDING);
    assert_true(job(id)->spec.hold);
    assert_non_null(strstr(job(id)->system_comment, "scontrol release"));
    pass(60 * MIN);
    assert_int_equal(state(id), JOB_PENDING);
    am_alice();
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
    uint64_t failed = submit(once); /* what a node cannot start otherwise is cancelled, as before */
    report(1, (struct msg_report){.kind = REPORT_FAILED,
                                  .job_id = failed,
                                  .attempt = 1,
                                  .step_id = STEP_BATCH,
                                  .retry = true,
                                  .detail = "no room"});
    is_over(1, failed, 1);
    assert_int_equal(state(failed), JOB_CANCELLED);
}

/* Samples of a start that is yet to come are nobody's. */
static void test_what_starts_since_the_backup_is_not_had_before_it_is(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("moved"));
    restart_older(0);
    for (uint32_t attempt = 1; attempt < 2000; attempt++) {
        assert_int_equal(core_node_had(w.c, "n1", id, attempt), attempt == 1);
        assert_false(core_node_had(w.c, "n2", id, attempt));
    }
}

static void test_components_are_held_together(void **unused)
{
    (void)unused;
    struct job_spec two[] = {a_wide_job("a"), a_wide_job("b")};
    uint64_t id = submit_all(two, 2);
    assert_int_equal(state(id + 1), JOB_RUNNING);
    refuse_as_had(id, STEP_BATCH);
    is_over(1, id, 1);
    is_over(2, id + 1, 1);
    pass(3 * MIN);
    assert_true(job(id)->spec.hold && job(id + 1)->spec.hold);
    let_go(id);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_true(job(id)->attempt > 100 && job(id + 1)->attempt > 100);
}

/* A launch that came behind the order to end it, or twice: what ended well has ended well. */
static void test_what_is_over_stays_so_whatever_a_node_has_had(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("over")), ending = submit(a_job("ending"));
    script_ends(id, 0);
    refuse_as_had(id, STEP_BATCH);
    assert_int_equal(sent(FX_SEND, MSG_REPORT_ACK) + sent(FX_REPLY, MSG_REPORT_ACK), 1);
    assert_int_equal(state(id), JOB_COMPLETED);
    assert_int_equal(launch_failures_told(), 0);
    cancel(ids_of(ending));
    assert_int_equal(state(ending), JOB_COMPLETING);
    refuse_as_had(ending, STEP_BATCH);
    is_over(1, ending, 1);
    pass(3 * MIN);
    assert_int_equal(state(ending), JOB_CANCELLED);
    assert_false(job(ending)->spec.hold || job(ending)->hold_after_requeue);
}

static void test_steps_of_what_goes_on_have_numbers_of_their_own(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_wide_job("steps"));
    restart_older(0);
    held_by(1, id, 1);
    hello(2);
    am_alice();
    const struct step *made = srun_tasks(SRUN, id, 1);
    assert_non_null(made);
    assert_in_range(made->step_id, 100, 10000);
}

/* Of an allocation no node says that it goes on, so each start of a controller leaves some out. */
static void test_steps_of_an_allocation_have_numbers_of_their_own(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    restart_older(0);
    restart(NODES);
    hello(1);
    hello(2);
    am_alice();
    const struct step *made = srun_tasks(SRUN, id, 1);
    assert_non_null(made);
    assert_in_range(made->step_id, 100, 10000);
}

/* Nobody but the node knows that it has had them: one srun fails, the next does not. */
static void test_a_step_that_was_had_fails_once(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_wide_job("steps"));
    const struct step *made = srun_tasks(SRUN, id, 1);
    assert_int_equal(made->step_id, 0);
    refuse_as_had(id, 0);
    assert_int_equal(state(id), JOB_RUNNING);
    made = srun_tasks(SRUN + 1, id, 1);
    assert_non_null(made);
    assert_in_range(made->step_id, 100, 10000);
}

static int open_world(void **unused)
{
    (void)unused;
    world_open(NODES, 2);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, open_world, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_was_let_go_starts_by_a_number_of_its_own),
        TEST(let_go_and_started_by_another_controller),
        TEST(a_later_start_elsewhere_is_waited_for),
        TEST(who_has_had_it_holds_it),
        TEST(what_may_not_run_again_is_held_as_well),
        TEST(what_starts_since_the_backup_is_not_had_before_it_is),
        TEST(components_are_held_together),
        TEST(what_is_over_stays_so_whatever_a_node_has_had),
        TEST(steps_of_what_goes_on_have_numbers_of_their_own),
        TEST(steps_of_an_allocation_have_numbers_of_their_own),
        TEST(a_step_that_was_had_fails_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
