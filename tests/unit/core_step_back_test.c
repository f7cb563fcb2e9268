/* Steps whose nodes, daemons, commands and controllers come and go; those that wait in a queue. */
#include "core_step_help.h"

/* ---- nodes and controllers come and go ---- */

static void a_lost_node_ends_a_step_of_a_job_that_goes_on(void **unused)
{
    (void)unused;
    struct job_spec s = a_job("alloc");
    s.batch = false;
    s.no_kill = true;
    s.req.min_nodes = s.req.max_nodes = 3;
    s.req.ntasks = 24;
    uint64_t id = submit(s);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 3);
    m.exact = true;
    srun(SRUN, &m);
    m.no_kill = true;
    srun(SRUN + 1, &m);
    gone(2);
    pass_awake(61 * SEC);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_string_equal(job(id)->nodes, "n[1,3]");
    ends(1, id, 0, 15);
    ends(3, id, 0, 15);
    assert_int_equal(row(id, 0)->state, JOB_NODE_FAIL);
    assert_int_equal(running(id), 1);
    ends(1, id, 1, 0);
    ends(3, id, 1, 0);
    assert_int_equal(row(id, 1)->state, JOB_CANCELLED); /* tasks of it were lost: as killed */
}

static void a_lost_launch_is_repeated(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    srun_tasks(SRUN, id, 1);
    gone(1);
    hello(1);
    assert_int_equal(told(1, MSG_LAUNCH), 1);
    struct held held = {.job_id = id, .attempt = 1, .step_id = 0};
    gone(1);
    hello_holding(1, &held, 1);
    assert_int_equal(told(1, MSG_LAUNCH), 0);
    gone(1);
    hello(1); /* it had it, and has it no more */
    assert_int_equal(row(id, 0)->state, JOB_NODE_FAIL);
    assert_non_null(heard(SRUN, MSG_STEP_ENDED));
    assert_int_equal(state(id), JOB_RUNNING);
}

/* A daemon takes along what it had in memory only. */
static void what_a_daemon_had_not_begun_is_launched_again(void **unused)
{
    (void)unused;
    uint64_t id = salloc(2);
    srun_tasks(SRUN, id, 2);
    node_says(2, id, 0, REPORT_STARTED, 0);
    struct held held = {.job_id = id, .attempt = 1, .step_id = 0, .unbegun = true};
    for (int i = 0; i < 2; i++) {
        gone(1);
        hello_holding(1, &held, 1);
        assert_int_equal(told(1, MSG_LAUNCH), 0);
        gone(1);
        hello(1);
        assert_int_equal(told(1, MSG_LAUNCH), 1);
        assert_int_equal(row(id, 0)->state, JOB_RUNNING);
    }
    gone(1);
    hello_holding(1, &held, 1);
    node_says(1, id, 0, REPORT_STARTED, 0);
    gone(1);
    hello(1); /* it had begun */
    assert_int_equal(told(1, MSG_LAUNCH), 0);
    ends(2, id, 0, 0);
    assert_int_equal(row(id, 0)->state, JOB_NODE_FAIL);
    assert_int_equal(state(id), JOB_RUNNING);
}

/* ---- srun --async ---- */

static uint64_t salloc_with_a_queued_step(void)
{
    struct job_spec spec = {.name = "true", .req = {.ntasks = 2}};
    struct msg_create_step m = {
        .job_id = salloc(2), .spec = {&spec, 1}, .async = true, .tasks = {"tasks", 5}};
    spec.req.min_nodes = spec.req.max_nodes = 2;
    say(SRUN, MSG_CREATE_STEP, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    return m.job_id;
}

/* Told again until each node has begun it, over restarts of everybody; and then never again. */
static void a_queued_step_begins_once_on_each_node(void **unused)
{
    (void)unused;
    uint64_t id = salloc_with_a_queued_step();
    struct held unbegun = {.job_id = id, .attempt = 1, .step_id = 0, .unbegun = true};
    struct held begun = {.job_id = id, .attempt = 1, .step_id = 0};
    node_says(1, id, 0, REPORT_STARTED, 0);
    restart(CONF);
    hello_holding(1, &begun, 1);
    hello_holding(2, &unbegun, 1);
    assert_int_equal(told(2, MSG_LAUNCH), 0);
    gone(2);
    hello(2); /* its daemon took it along */
    assert_int_equal(told(2, MSG_LAUNCH), 1);
    restart(CONF);
    hello_holding(1, &begun, 1);
    hello(2);
    assert_int_equal(told(2, MSG_LAUNCH), 1);
    node_says(2, id, 0, REPORT_STARTED, 0);
    restart(CONF);
    hello_holding(1, &begun, 1);
    hello(2); /* it had begun there, and the node knows nothing of it any more */
    assert_int_equal(told(2, MSG_LAUNCH), 0);
    assert_int_equal(told(1, MSG_LAUNCH), 0);
    ends(1, id, 0, 0);
    assert_int_equal(row(id, 0)->state, JOB_NODE_FAIL);
}

static void what_was_not_begun_and_is_told_to_end_is_not_launched_again(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    srun_tasks(SRUN, id, 1);
    struct held held = {.job_id = id, .attempt = 1, .step_id = 0, .unbegun = true};
    gone(1);
    hello_holding(1, &held, 1);
    struct msg_cancel end = {.ids = arena_printf(w.a, "%s.0", ids_of(id))};
    say(SRUN + 1, MSG_CANCEL, &end);
    assert_int_equal(refusal(), REFUSE_NONE);
    gone(1);
    hello(1);
    assert_int_equal(told(1, MSG_LAUNCH), 0);
    assert_int_equal(row(id, 0)->state, JOB_CANCELLED);
    assert_int_equal(state(id), JOB_RUNNING);
}

static void an_unknown_step_on_a_node_is_ended(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct held held = {.job_id = id, .attempt = 1, .step_id = 5};
    gone(1);
    hello_holding(1, &held, 1);
    assert_int_equal(told(1, MSG_TERMINATE), 1);
    node_says(1, id, 5, REPORT_STARTED, 0);
    assert_int_equal(told(1, MSG_TERMINATE), 1);
    assert_int_equal(running(id), 0);
}

static void steps_outlive_the_controller(void **unused)
{
    (void)unused;
    uint64_t id = salloc(2);
    srun_exact(SRUN, id, 2);
    node_says(1, id, 0, REPORT_STARTED, 0);
    node_says(2, id, 0, REPORT_STARTED, 0);
    ends(1, id, 0, status_of_code(2));
    restart(CONF);
    struct held held = {.job_id = id, .attempt = 1, .step_id = 0};
    hello(1);
    hello_holding(2, &held, 1);
    am_alice();
    assert_int_equal(running(id), 1);
    struct msg_attach_step m = {.job_id = id, .step_id = 0, .hold = true};
    say(SRUN + 1, MSG_ATTACH_STEP, &m);
    assert_string_equal(
        srun_exact(SRUN + 2, id, 16 - 2)->layout,
        "n1 cpus=1-7 mem=1000 tasks=7 ids=0-6; n2 cpus=1-7 mem=1000 tasks=7 ids=7-13");
    ends(2, id, 0, 0);
    const struct msg_step_ended *e = heard(SRUN + 1, MSG_STEP_ENDED);
    assert_non_null(e);
    assert_int_equal(((const struct step *)e->step.v)->exit_status, status_of_code(2));
    assert_int_equal(row(id, 1)->step_id, 1);
}

/* A srun of the run before, on a node that was cut off: it asks for its step 0, and ends it, and
 * means another. */
static void a_command_of_a_former_run_has_nothing_of_this_one(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("requeued"));
    srun_exact(SRUN, id, 1);
    am_root();
    control(ids_of(id), ACTION_REQUEUE);
    ends(1, id, 0, 0);
    script_ends(id, 0);
    node_says(1, id, STEP_EXTERN, REPORT_RELEASED, 0);
    pass(3 * MIN);
    assert_int_equal(job(id)->attempt, 2);
    am_alice();
    srun_exact(SRUN + 1, id, 1);
    assert_int_equal(running(id), 1);
    struct msg_attach_step m = {.job_id = id, .step_id = 0, .hold = true, .attempt = 1};
    say(SRUN + 2, MSG_ATTACH_STEP, &m);
    assert_int_equal(refusal(), REFUSE_ALREADY_DONE);
    struct msg_cancel end = {.ids = arena_printf(w.a, "%s.0", ids_of(id)), .attempt = 1};
    say(SRUN + 2, MSG_CANCEL, &end);
    assert_int_equal(refusal(), REFUSE_ALREADY_DONE);
    assert_int_equal(row(id, 0)->state, JOB_RUNNING);
    m.attempt = 2;
    say(SRUN + 3, MSG_ATTACH_STEP, &m);
    assert_non_null(heard(SRUN + 3, MSG_STEP_CREATED));
    end.attempt = 2;
    say(SRUN + 3, MSG_CANCEL, &end);
    assert_int_equal(refusal(), REFUSE_NONE);
}

static void a_step_that_was_never_launched_ends_unless_its_command_comes_back(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    m.exact = true;
    m.key = "one";
    srun(SRUN, &m);
    m.key = "two";
    srun(SRUN + 1, &m);
    restart(CONF); /* before anything was sent */
    hello(1);
    am_alice();
    assert_int_equal(running(id), 2);
    m.key = "one";
    assert_int_equal(srun(SRUN + 2, &m)->step_id, 0);
    assert_int_equal(told(1, MSG_LAUNCH), 1);
    pass(61 * SEC);
    assert_int_equal(running(id), 1);
    assert_int_equal(row(id, 1)->state, JOB_CANCELLED);
}

/* ---- components of a heterogeneous job ---- */

static int64_t part_of(uint64_t conn, uint64_t job_id, const char *together)
{
    struct job_spec spec;
    struct msg_create_step m = a_step(job_id, &spec, 1);
    m.exact = true;
    spec.req.mem_per_node_mib = 10;
    m.together = together;
    const struct step *made = srun(conn, &m);
    assert_non_null(made);
    return made->step_id;
}

/* A number is given once, whichever component has it; parts of one step have one number, whoever of
 * them is there first, and after a restart, too. */
static void components_share_the_numbers_of_their_steps(void **unused)
{
    (void)unused;
    struct job_spec part = a_job("het");
    part.batch = false;
    part.req.ntasks = 4;
    struct job_spec parts[] = {part, part, part};
    uint64_t id = submit_all(parts, 3);
    assert_int_equal(part_of(SRUN, id, NULL), 0);
    assert_int_equal(part_of(SRUN + 1, id, "one"), 1);
    assert_int_equal(part_of(SRUN + 2, id + 2, NULL), 2);
    assert_int_equal(part_of(SRUN + 3, id + 1, "one"), 1);
    assert_int_equal(part_of(SRUN + 4, id + 1, "two"), 3);
    restart(CONF);
    hello(1);
    hello(2);
    am_alice();
    assert_int_equal(part_of(SRUN + 5, id + 2, "one"), 1);
    assert_int_equal(part_of(SRUN + 6, id + 2, "two"), 3);
    assert_int_equal(part_of(SRUN + 7, id, "two"), 3);
    assert_int_equal(part_of(SRUN + 8, id + 1, NULL), 4);
    assert_int_equal(part_of(SRUN + 9, id + 2, "one"), 5); /* it has that already */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_lost_node_ends_a_step_of_a_job_that_goes_on),
        STORY(a_lost_launch_is_repeated),
        STORY(what_a_daemon_had_not_begun_is_launched_again),
        STORY(a_queued_step_begins_once_on_each_node),
        STORY(what_was_not_begun_and_is_told_to_end_is_not_launched_again),
        STORY(an_unknown_step_on_a_node_is_ended),
        STORY(steps_outlive_the_controller),
        STORY(a_command_of_a_former_run_has_nothing_of_this_one),
        STORY(a_step_that_was_never_launched_ends_unless_its_command_comes_back),
        STORY(components_share_the_numbers_of_their_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
