/* Steps that somebody ends: whoever cancels them, their limit, a command that goes, their job. */
#include "core_step_help.h"

/* ---- ends that come from outside ---- */

static const struct msg_terminate *terminate_sent(void)
{
    const struct msg_terminate *t = NULL;
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_SEND && w.fx.v[i].msg.kind == MSG_TERMINATE)
            t = w.fx.v[i].msg.body;
    return t;
}

/* srun gives up its step when it has the job's SIGTERM: that must not make a cancelled job of one
 * that is sent back. */
static void a_cancelled_step_is_not_a_cancelled_job(void **unused)
{
    (void)unused;
    struct job_spec held = a_job("held");
    held.hold = true;
    uint64_t waits = submit(held), id = submit(a_job("again"));
    assert_int_equal(cancel(arena_printf(w.a, "%llu.0", (unsigned long long)waits)),
                     REFUSE_ALREADY_DONE);
    assert_int_equal(state(waits), JOB_PENDING);
    srun_tasks(SRUN, id, 1);
    control(ids_of(id), ACTION_REQUEUE);
    assert_int_equal(state(id), JOB_REQUEUED);
    assert_int_equal(cancel(arena_printf(w.a, "%llu.0", (unsigned long long)id)),
                     REFUSE_ALREADY_DONE);
    assert_int_equal(state(id), JOB_REQUEUED);
}

/* A list of steps ends those steps, each of its own job. */
static void steps_of_a_list_are_cancelled_alone(void **unused)
{
    (void)unused;
    uint64_t a = submit(a_job("a")), b = submit(a_job("b"));
    srun_tasks(SRUN, a, 1);
    srun_tasks(SRUN + 1, b, 1);
    assert_int_equal(
        cancel(arena_printf(w.a, "%llu.0,%llu.0", (unsigned long long)a, (unsigned long long)b)),
        REFUSE_NONE);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 2);
    assert_true(terminate_sent()->only_step);
    assert_int_equal(state(a), JOB_RUNNING);
    assert_int_equal(state(b), JOB_RUNNING);
}

static void a_step_is_cancelled_alone(void **unused)
{
    (void)unused;
    uint64_t id = salloc(2);
    srun_tasks(SRUN, id, 2);
    assert_int_equal(cancel("1.0"), REFUSE_NONE);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 2);
    const struct msg_terminate *t = NULL;
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].msg.kind == MSG_TERMINATE)
            t = w.fx.v[i].msg.body;
    assert_true(t->only_step);
    assert_int_equal(t->step_id, 0);
    ends(1, id, 0, 15);
    ends(2, id, 0, 15);
    assert_int_equal(row(id, 0)->state, JOB_CANCELLED);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(cancel("1.0"), REFUSE_ALREADY_DONE);
    assert_int_equal(cancel("1.7"), REFUSE_INVALID_JOB_ID);
}

static void a_step_has_a_limit_of_its_own(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    spec.req.time_limit_us = MIN;
    srun(SRUN, &m);
    pass(59 * SEC);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 0);
    pass(2 * SEC);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 1);
    ends(1, id, 0, 15);
    assert_int_equal(row(id, 0)->state, JOB_TIMEOUT);
    assert_string_equal(((const struct msg_step_ended *)heard(SRUN, MSG_STEP_ENDED))->detail,
                        "DUE TO TIME LIMIT");
    assert_int_equal(state(id), JOB_RUNNING);
}

static void suspended_time_is_not_counted(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    spec.req.time_limit_us = 2 * MIN;
    srun(SRUN, &m);
    pass(MIN);
    am_root();
    control(ids_of(id), ACTION_SUSPEND);
    am_alice();
    assert_null(srun_exact(SRUN + 1, id, 1)); /* it waits */
    pass(3 * MIN);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 0);
    am_root();
    control(ids_of(id), ACTION_RESUME);
    pass(59 * SEC);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 0);
    pass(2 * SEC);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 1);
    ends(1, id, 0, 15);
    assert_int_equal(row(id, 0)->suspended_us, 3 * MIN);
    assert_non_null(heard(SRUN + 1, MSG_STEP_CREATED));
}

/* What commands are told of a job's step. */
static int64_t told_suspended_us(uint64_t id)
{
    struct rows r = ask((struct msg_query){.what = QUERY_STEPS, .ids = ids_of(id)});
    assert_int_equal(r.row.n, 1);
    int64_t us = ((const struct step *)r.row.v[0])->suspended_us;
    vec_done(&r.row);
    return us;
}

static void back_with_its_step(uint64_t id)
{
    restart(CONF);
    hello_holding(1, &(struct held){.job_id = id, .attempt = 1, .step_id = 0}, 1);
    am_alice();
    struct msg_attach_step m = {.job_id = id, .step_id = 0, .hold = true};
    say(SRUN + 1, MSG_ATTACH_STEP, &m);
}

/* It began when its job had been suspended for a minute, which does not count as the step's. */
static void suspended_time_is_known_after_a_restart(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    am_root();
    control(ids_of(id), ACTION_SUSPEND);
    pass(MIN);
    control(ids_of(id), ACTION_RESUME);
    am_alice();
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    spec.req.time_limit_us = 2 * MIN;
    srun(SRUN, &m);
    node_says(1, id, 0, REPORT_STARTED, 0);
    pass(MIN);
    assert_int_equal(told_suspended_us(id), 0);
    am_root();
    control(ids_of(id), ACTION_SUSPEND);
    pass(3 * MIN);
    assert_int_equal(told_suspended_us(id), 3 * MIN);
    back_with_its_step(id);
    assert_int_equal(told_suspended_us(id), 3 * MIN);
    am_root();
    control(ids_of(id), ACTION_RESUME);
    back_with_its_step(id);
    pass(59 * SEC);
    assert_int_equal(told_suspended_us(id), 3 * MIN);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 0);
    pass(2 * SEC);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 1);
    ends(1, id, 0, 15);
    assert_int_equal(row(id, 0)->suspended_us, 3 * MIN);
}

static void a_command_that_is_gone_takes_its_step_along(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    srun_tasks(SRUN, id, 1);
    hang_up(SRUN);
    pass(61 * SEC);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 1);
    ends(1, id, 0, 15);
    assert_int_equal(row(id, 0)->state, JOB_CANCELLED);
    assert_int_equal(state(id), JOB_RUNNING);
}

static void who_comes_back_hears_the_end(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    srun_tasks(SRUN, id, 1);
    hang_up(SRUN);
    struct msg_attach_step m = {
        .job_id = id, .step_id = 0, .hold = true, .address = "@y", .key = "k"};
    say(SRUN + 1, MSG_ATTACH_STEP, &m);
    assert_non_null(heard(SRUN + 1, MSG_STEP_CREATED));
    assert_int_equal(told(1, MSG_STREAM_TO), 1);
    pass(2 * MIN);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 0);
    ends(1, id, 0, 0);
    assert_non_null(heard(SRUN + 1, MSG_STEP_ENDED));
    say(SRUN + 2, MSG_ATTACH_STEP, &m);
    assert_non_null(heard(SRUN + 2, MSG_STEP_ENDED));
}

static void a_repeated_call_finds_its_step(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 1);
    m.key = "secret";
    assert_int_equal(srun(SRUN, &m)->step_id, 0);
    hang_up(SRUN);
    assert_int_equal(srun(SRUN + 1, &m)->step_id, 0);
    assert_int_equal(told(1, MSG_LAUNCH), 1); /* the node was not seen to have it */
    node_says(1, id, 0, REPORT_STARTED, 0);
    assert_int_equal(srun(SRUN + 2, &m)->step_id, 0);
    assert_int_equal(told(1, MSG_LAUNCH), 0);
    struct rows r = ask((struct msg_query){.what = QUERY_STEPS, .ids = ids_of(id)});
    assert_int_equal(((const struct step *)r.row.v[0])->key_hash, 0);
    vec_done(&r.row);
    ends(1, id, 0, 0);
    assert_non_null(heard(SRUN + 2, MSG_STEP_ENDED));
    assert_int_equal(srun(SRUN + 3, &m)->step_id, 0);
    assert_non_null(heard(SRUN + 3, MSG_STEP_ENDED));
}

/* ---- the job ends ---- */

static void a_job_takes_its_steps_along(void **unused)
{
    (void)unused;
    uint64_t id = salloc(3);
    struct job_spec spec;
    struct msg_create_step m = a_step(id, &spec, 2);
    spec.req.nodelist = "n[2-3]";
    srun(SRUN, &m);
    srun_tasks(SRUN + 1, id, 24);
    cancel(ids_of(id));
    assert_int_equal(((const struct msg_done *)heard(SRUN + 1, MSG_DONE))->refusal,
                     REFUSE_ALREADY_DONE);
    assert_int_equal(told(1, MSG_TERMINATE), 0); /* nothing was launched there */
    assert_int_equal(told(2, MSG_TERMINATE), 1);
    assert_int_equal(told(3, MSG_TERMINATE), 1);
    assert_int_equal(state(id), JOB_COMPLETING);
    ends(2, id, 0, 15);
    node_says(2, id, STEP_EXTERN, REPORT_RELEASED, 0);
    assert_int_equal(state(id), JOB_COMPLETING);
    assert_int_equal(node("n2")->alloc_cpus, 0);
    node_says(3, id, STEP_EXTERN, REPORT_RELEASED, 0); /* its end was never said */
    assert_int_equal(state(id), JOB_CANCELLED);
    assert_int_equal(row(id, 0)->state, JOB_CANCELLED);
    assert_int_equal(row(id, 0)->exit_status, 15);
    assert_non_null(heard(SRUN, MSG_STEP_ENDED));
}

static void a_step_that_ended_well_with_its_job_is_completed(void **unused)
{
    (void)unused;
    uint64_t id = salloc(1);
    srun_tasks(SRUN, id, 2);
    cancel(ids_of(id));
    ends(1, id, 0, 0);
    assert_int_equal(row(id, 0)->state, JOB_COMPLETED);
}

static void all_nodes_of_a_batch_job_are_waited_for(void **unused)
{
    (void)unused;
    struct job_spec s = a_job("batch");
    s.req.min_nodes = s.req.max_nodes = 2;
    s.req.ntasks = 16;
    uint64_t id = submit(s);
    srun_tasks(SRUN, id, 16);
    script_ends(id, 0);
    assert_int_equal(state(id), JOB_COMPLETING);
    /* "clean" may have been said before the step came. */
    assert_int_equal(told(1, MSG_TERMINATE), 1);
    assert_int_equal(told(2, MSG_TERMINATE), 1);
    node_says(1, id, STEP_EXTERN, REPORT_RELEASED, 0);
    restart(CONF);
    hello(1);
    hello(3);
    hello(4);
    assert_int_equal(node("n1")->alloc_cpus, 0);
    assert_int_equal(node("n2")->alloc_cpus, 8);
    assert_int_equal(state(id), JOB_COMPLETING);
    hello(2);
    assert_int_equal(state(id), JOB_COMPLETED);
    am_alice();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_cancelled_step_is_not_a_cancelled_job),
        STORY(steps_of_a_list_are_cancelled_alone),
        STORY(a_step_is_cancelled_alone),
        STORY(a_step_has_a_limit_of_its_own),
        STORY(suspended_time_is_not_counted),
        STORY(suspended_time_is_known_after_a_restart),
        STORY(a_command_that_is_gone_takes_its_step_along),
        STORY(who_comes_back_hears_the_end),
        STORY(a_repeated_call_finds_its_step),
        STORY(a_job_takes_its_steps_along),
        STORY(a_step_that_ended_well_with_its_job_is_completed),
        STORY(all_nodes_of_a_batch_job_are_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
