/* A job's life: submitted, alone or with others, and how it ends. */
#include "core_help.h"

/* ---- submission ---- */

static void a_job_is_stored_in_the_turn_that_launches_it(void **unused)
{
    uint64_t id = submit(a_job("one"));
    size_t stored = SIZE_MAX, launched = SIZE_MAX;
    for (size_t i = 0; i < w.fx.n; i++) {
        const struct effect *e = &w.fx.v[i];
        if (e->kind == FX_STORE && e->table == TABLE_JOB &&
            ((const struct job *)e->record)->state == JOB_RUNNING)
            stored = i;
        if (e->kind == FX_SEND && e->msg.kind == MSG_LAUNCH) {
            launched = i;
            assert_int_equal(e->payload_job, id);
        }
    }
    assert_true(stored < w.fx.n);
    assert_true(launched < w.fx.n);
    assert_int_equal(job(id)->attempt, 1);
    assert_int_equal(job(id)->alloc_nodes, 1);
    assert_string_equal(job(id)->user_name, "alice");
    assert_string_equal(job(id)->run_partition, "main");
}

static void refused(struct job_spec s, enum refusal why)
{
    uint64_t before = core_hash(w.c);
    assert_int_equal(submit(s), 0);
    assert_int_equal(refusal(), why);
    assert_non_null(answer()->detail);
    assert_int_equal(sent(FX_STORE, MESSAGE_COUNT), 0);
    assert_true(core_hash(w.c) == before);
}

static void a_refused_submission_leaves_no_trace(void **unused)
{
    struct job_spec s = a_job("one");
    s.req.partition = "mian";
    refused(s, REFUSE_INVALID_PARTITION);
    s = a_job("one");
    s.req.time_limit_us = 3 * USEC_PER_HOUR;
    refused(s, REFUSE_TIME_LIMIT);
    s = a_job("one");
    s.req.mem_per_node_mib = 9000;
    refused(s, REFUSE_NODE_MEMORY);
    s = a_job("one");
    s.dependency = "afterok:777";
    refused(s, REFUSE_DEPENDENCY);
    s = a_job("one");
    s.array = "5-x";
    refused(s, REFUSE_INVALID_ARRAY);
    s = a_job("one");
    s.deadline_us = w.now - SEC;
    refused(s, REFUSE_TIME_LIMIT);
    s = a_job("one");
    s.req.gres = "gpu:1";
    refused(s, REFUSE_GRES);
    s = a_job("one");
    s.nice = -5;
    refused(s, REFUSE_NICE);
    am_olga();
    assert_true(submit(s) != 0);
}

static void numbers_are_never_given_twice(void **unused)
{
    uint64_t first = submit(a_job("one"));
    script_ends(first, 0);
    pass(400 * SEC);
    restart(CONF);
    assert_true(submit(a_job("two")) > first);
}

static void a_trial_keeps_nothing(void **unused)
{
    struct job_spec s = a_job("one");
    struct msg_submit m = {.specs = {&s, 1}, .test_only = true};
    uint64_t before = core_hash(w.c);
    say(1, MSG_SUBMIT, &m);
    assert_int_equal(sent(FX_REPLY, MSG_SUBMITTED), 1);
    assert_true(core_hash(w.c) == before);
}

static void what_must_start_at_once_or_not_at_all(void **unused)
{
    struct job_spec s = a_wide_job("now");
    struct msg_submit m = {.specs = {&s, 1}, .immediate = true};
    for (int i = 0; i < 4; i++) {
        say(1, MSG_SUBMIT, &m);
        assert_int_equal(refusal(), REFUSE_NONE);
    }
    say(1, MSG_SUBMIT, &m);
    assert_int_equal(refusal(), REFUSE_UNAVAILABLE);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 4);
}

static void components_start_together(void **unused)
{
    uint64_t full[4];
    for (int i = 0; i < 4; i++)
        full[i] = submit(a_wide_job("fill"));
    struct job_spec s[2] = {a_wide_job("leader"), a_wide_job("other")};
    struct msg_submit m = {.specs = {s, 2}, .script = {"#!/bin/sh\n", 10}};
    say(1, MSG_SUBMIT, &m);
    uint64_t id = full[3] + 1;
    assert_string_equal(job(id + 1)->het_set, arena_printf(w.a, "%llu-%llu", (unsigned long long)id,
                                                           (unsigned long long)id + 1));
    script_ends(full[0], 0);
    assert_int_equal(state(id), JOB_PENDING);
    script_ends(full[1], 0);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(state(id + 1), JOB_RUNNING);
}

static uint64_t submit_pair(void)
{
    struct job_spec s[2] = {a_wide_job("leader"), a_wide_job("other")};
    return submit_all(s, 2);
}

static const struct msg_launch *launch_of(void)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_SEND && w.fx.v[i].msg.kind == MSG_LAUNCH)
            return w.fx.v[i].msg.body;
    return NULL;
}

static void one_script_for_all_components(void **unused)
{
    uint64_t id = submit_pair();
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(state(id + 1), JOB_RUNNING);
    assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 1);
    assert_int_equal(launch_of()->job.n, 2);
    const struct job *told = launch_of()->job.v;
    assert_int_equal(told[0].id, id);
    assert_string_equal(told[1].nodes, job(id + 1)->nodes);
    gone(job(id + 1)->nodes[1] - '0');
    hello(job(id + 1)->nodes[1] - '0');
    assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 0);
    script_ends(id, status_of_code(3));
    assert_int_equal(state(id), JOB_FAILED);
    assert_int_equal(state(id + 1), JOB_FAILED);
    assert_int_equal(status_code(job(id + 1)->exit_status), 3);
}

static void components_go_back_together(void **unused)
{
    uint64_t id = submit_pair();
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
    assert_int_equal(state(id), JOB_REQUEUED);
    assert_int_equal(state(id + 1), JOB_PENDING);
    restart(CONF);
    for (int n = 1; n <= 4; n++)
        hello(n);
    assert_int_equal(state(id + 1), JOB_RUNNING);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->attempt, 2);
    script_ends(id, 0);
    assert_int_equal(state(id), JOB_COMPLETED);
    assert_int_equal(state(id + 1), JOB_COMPLETED);
}

/* A component that has the name alone goes nowhere without its leader, in whatever state it is. */
static void a_name_takes_no_component_from_its_leader(void **unused)
{
    uint64_t id = submit_pair();
    am_olga();
    assert_int_equal(control("name=other", ACTION_SUSPEND), REFUSE_NOT_WHOLE_HET);
    assert_int_equal(control(ids_of(id), ACTION_SUSPEND), REFUSE_NONE);
    assert_int_equal(control("name=other", ACTION_RESUME), REFUSE_NOT_WHOLE_HET);
    assert_int_equal(control(ids_of(id), ACTION_RESUME), REFUSE_NONE);
    am_alice();
    assert_int_equal(control("name=other", ACTION_REQUEUE), REFUSE_INVALID_JOB_ID);
    assert_int_equal(state(id + 1), JOB_RUNNING);
    struct job_spec step = {.name = "true", .req = {.ntasks = 1}};
    say(70, MSG_CREATE_STEP,
        &(struct msg_create_step){.job_id = id + 1, .spec = {&step, 1}, .address = "@x"});
    assert_int_equal(cancel(ids_of(id + 1)), REFUSE_NONE);
    assert_int_equal(state(id + 1), JOB_COMPLETING);
    assert_int_equal(control("name=other", ACTION_REQUEUE), REFUSE_INVALID_JOB_ID);
    assert_non_null(strstr(answer()->detail, "name the whole job"));
    assert_int_equal(state(id + 1), JOB_COMPLETING);
    /* What is over is not found by its name. */
    report(job(id + 1)->nodes[1] - '0',
           (struct msg_report){
               .kind = REPORT_RELEASED, .job_id = id + 1, .attempt = 1, .step_id = STEP_BATCH});
    assert_int_equal(state(id + 1), JOB_CANCELLED);
    assert_int_equal(control("name=other", ACTION_REQUEUE_HOLD), REFUSE_INVALID_JOB_ID);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
    script_ends(id, 0);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id + 1)->attempt, 2);
}

/* All of one name go together. */
static void a_name_takes_all_components_that_have_it(void **unused)
{
    struct job_spec s[2] = {a_wide_job("both"), a_wide_job("both")};
    uint64_t id = submit_all(s, 2);
    am_olga();
    assert_int_equal(control("name=both", ACTION_SUSPEND), REFUSE_NONE);
    assert_true(state(id) == JOB_SUSPENDED && state(id + 1) == JOB_SUSPENDED);
    assert_int_equal(control("name=both", ACTION_RESUME), REFUSE_NONE);
    assert_true(state(id) == JOB_RUNNING && state(id + 1) == JOB_RUNNING);
    control("name=both", ACTION_REQUEUE);
    script_ends(id, 0);
    assert_int_equal(job(id)->attempt, 2);
    assert_int_equal(job(id + 1)->attempt, 2);
}

static const char *part_of(uint64_t id, unsigned offset)
{
    return arena_printf(w.a, "%llu+%u", (unsigned long long)id, offset);
}

static void one_component_alone_is_not_cancelled_while_all_wait(void **unused)
{
    for (int i = 0; i < 4; i++)
        submit(a_wide_job("fill"));
    uint64_t id = submit_pair();
    assert_int_equal(cancel(part_of(id, 1)), REFUSE_NOT_WHOLE_HET);
    assert_int_equal(cancel(ids_of(id + 1)), REFUSE_NOT_WHOLE_HET);
    assert_int_equal(state(id), JOB_PENDING);
    assert_int_equal(state(id + 1), JOB_PENDING);
    say(1, MSG_CANCEL, &(struct msg_cancel){.names = "other"});
    assert_int_equal(answer()->results.n, 1);
    const struct result *part = answer()->results.v;
    assert_int_equal(part[0].refusal, REFUSE_NOT_WHOLE_HET);
    assert_int_equal(state(id + 1), JOB_PENDING);
    assert_int_equal(cancel(part_of(id, 0)), REFUSE_NONE);
    assert_int_equal(state(id), JOB_CANCELLED);
    assert_int_equal(state(id + 1), JOB_CANCELLED);
}

static void one_component_alone_is_not_requeued_or_suspended(void **unused)
{
    uint64_t id = submit_pair();
    assert_int_equal(control(part_of(id, 1), ACTION_REQUEUE), REFUSE_INVALID_JOB_ID);
    assert_int_equal(control(ids_of(id + 1), ACTION_SUSPEND), REFUSE_NOT_WHOLE_HET);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(state(id + 1), JOB_RUNNING);
    assert_int_equal(cancel(part_of(id, 1)), REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
}

static void a_component_that_is_lost_takes_the_others_along(void **unused)
{
    uint64_t id = submit_pair();
    int n = job(id + 1)->nodes[1] - '0';
    gone(n);
    pass_awake(10 * MIN);
    assert_int_equal(state(id), JOB_REQUEUED);
    script_ends(id, 15);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(state(id + 1), JOB_RUNNING);
    assert_int_equal(job(id + 1)->restarts, 1);
    assert_int_equal(job(id)->restarts, 1);
}

/* ---- ends ---- */

static void how_a_script_ends_is_how_its_job_ends(void **unused)
{
    uint64_t well = submit(a_job("well")), bad = submit(a_job("bad")),
             killed = submit(a_job("killed"));
    script_ends(well, 0);
    script_ends(bad, status_of_code(3));
    script_ends(killed, 11);
    assert_int_equal(state(well), JOB_COMPLETED);
    assert_int_equal(state(bad), JOB_FAILED);
    assert_int_equal(status_code(job(bad)->exit_status), 3);
    assert_int_equal(job(bad)->reason, REASON_NON_ZERO_EXIT);
    assert_int_equal(state(killed), JOB_FAILED);
    assert_int_equal(job(killed)->reason, REASON_RAISED_SIGNAL);
}

static void a_job_is_completing_until_its_node_is_clean(void **unused)
{
    uint64_t id = submit(a_wide_job("one"));
    const struct job *j = job(id);
    int n = j->batch_host[1] - '0';
    report(n, (struct msg_report){
                  .kind = REPORT_EXITED, .job_id = id, .attempt = 1, .step_id = STEP_BATCH});
    assert_int_equal(state(id), JOB_COMPLETING);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 1);
    assert_int_equal(sent(FX_SEND, MSG_REPORT_ACK), 1);
    assert_int_equal(node(j->batch_host)->alloc_cpus, 8);
    pass(20 * SEC);
    report(n, (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = 1});
    assert_int_equal(state(id), JOB_COMPLETED);
    assert_int_equal(job(id)->end_us, w.now - 20 * SEC);
    assert_int_equal(node(j->batch_host)->alloc_cpus, 0);
}

static void a_report_that_comes_twice_or_late_is_acknowledged_only(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int n = job(id)->batch_host[1] - '0';
    script_ends(id, 0);
    uint64_t before = core_hash(w.c);
    report(n, (struct msg_report){.kind = REPORT_EXITED,
                                  .job_id = id,
                                  .attempt = 1,
                                  .step_id = STEP_BATCH,
                                  .exit_status = 9,
                                  .clean = true});
    assert_int_equal(sent(FX_SEND, MSG_REPORT_ACK), 1);
    report(n, (struct msg_report){.kind = REPORT_EXITED,
                                  .job_id = 4711,
                                  .attempt = 1,
                                  .step_id = STEP_BATCH,
                                  .clean = true});
    assert_int_equal(sent(FX_SEND, MSG_REPORT_ACK), 1);
    assert_true(core_hash(w.c) == before);
}

/* Whatever another node says of it, and of the script of an allocation that has none. */
static void a_script_is_reported_by_its_own_host_alone(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int host = job(id)->batch_host[1] - '0', other = host == 1 ? 2 : 1;
    struct job_spec s = a_job("attached");
    s.batch = false;
    uint64_t attached = submit(s);
    assert_int_equal(state(attached), JOB_RUNNING);
    for (enum report_kind kind = REPORT_STARTED; kind <= REPORT_LOST; kind++) {
        struct msg_report m = {.kind = (int32_t)kind,
                               .job_id = id,
                               .attempt = 1,
                               .step_id = STEP_BATCH,
                               .exit_status = 9,
                               .clean = true,
                               .detail = "a lie"};
        if (kind == REPORT_RELEASED)
            m.detail = NULL; /* that drains the node itself */
        report(other, m);
        assert_int_equal(sent(FX_SEND, MSG_REPORT_ACK), 1);
        assert_int_equal(state(id), JOB_RUNNING);
        assert_null(job(id)->reason_detail);
        m.job_id = attached;
        report(other, m);
        assert_int_equal(state(attached), JOB_RUNNING);
    }
    script_ends(id, 0);
    assert_int_equal(state(id), JOB_COMPLETED);
}

static void at_the_limit_a_job_is_told_to_end(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int n = job(id)->batch_host[1] - '0';
    pass(10 * MIN - 1);
    assert_int_equal(state(id), JOB_RUNNING);
    pass(1);
    assert_int_equal(state(id), JOB_COMPLETING);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 1);
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_SEND) {
            const struct msg_terminate *m = w.fx.v[i].msg.body;
            assert_int_equal(m->kill_wait_us, 30 * SEC);
            assert_string_equal(m->why, "DUE TO TIME LIMIT");
        }
    report(n, (struct msg_report){.kind = REPORT_EXITED,
                                  .job_id = id,
                                  .attempt = 1,
                                  .step_id = STEP_BATCH,
                                  .exit_status = 15,
                                  .clean = true});
    assert_int_equal(state(id), JOB_TIMEOUT);
}

static void a_signal_comes_before_the_limit_once(void **unused)
{
    struct job_spec s = a_job("one");
    s.signal = 10;
    s.signal_before_us = 90 * SEC;
    uint64_t id = submit(s);
    pass(10 * MIN - 91 * SEC);
    assert_int_equal(sent(FX_SEND, MSG_SIGNAL), 0);
    pass(SEC);
    assert_int_equal(sent(FX_SEND, MSG_SIGNAL), 1);
    pass(30 * SEC);
    assert_int_equal(sent(FX_SEND, MSG_SIGNAL), 0);
    restart(CONF);
    for (int n = 1; n <= 4; n++) {
        struct held held = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH};
        bool here = job(id)->batch_host[1] - '0' == n;
        hello_holding(n, &held, here);
        assert_int_equal(sent(FX_SEND, MSG_SIGNAL), 0);
    }
    assert_int_equal(state(id), JOB_RUNNING);
}

/* --signal=USR1@600 of a job of ten minutes: its program is to hear it, not to die of it as it
 * starts; nor is it lost where the limit becomes a sooner one. */
static void a_signal_leaves_a_program_time_to_begin(void **unused)
{
    struct job_spec s = a_job("one");
    s.signal = 10;
    s.signal_before_us = 10 * MIN;
    submit(s);
    assert_int_equal(sent(FX_SEND, MSG_SIGNAL), 0);
    pass(10 * SEC - 1);
    assert_int_equal(sent(FX_SEND, MSG_SIGNAL), 0);
    pass(1);
    assert_int_equal(sent(FX_SEND, MSG_SIGNAL), 1);
    s.signal_before_us = 5 * MIN;
    uint64_t id = submit(s);
    pass(2 * MIN);
    assert_int_equal(sent(FX_SEND, MSG_SIGNAL), 0);
    say(1, MSG_UPDATE_JOB,
        &(struct msg_update_job){.ids = ids_of(id), .time_limit_add_us = -4 * MIN});
    assert_int_equal(sent(FX_SEND, MSG_SIGNAL), 1);
    pass(MIN);
    assert_int_equal(sent(FX_SEND, MSG_SIGNAL), 0);
}

static void a_deadline_ends_what_never_started(void **unused)
{
    struct job_spec s = a_job("one");
    s.hold = true;
    s.deadline_us = w.now + 20 * MIN;
    uint64_t id = submit(s);
    pass(20 * MIN);
    assert_int_equal(state(id), JOB_DEADLINE);
}

/* Slurm's scontrol refuses it of a waiting job, too; of one that runs it would have ended it. */
static void no_more_is_taken_off_a_limit_than_it_has(void **unused)
{
    uint64_t id = submit(a_job("one"));
    struct msg_update_job all = {.ids = ids_of(id), .time_limit_add_us = -10 * MIN};
    struct msg_update_job most = {.ids = ids_of(id), .time_limit_add_us = -9 * MIN};
    struct msg_update_job past = {.ids = ids_of(id), .end_us = w.now - SEC};
    say(1, MSG_UPDATE_JOB, &all);
    assert_int_equal(refusal(), REFUSE_TIME_LIMIT);
    say(1, MSG_UPDATE_JOB, &past);
    assert_int_equal(refusal(), REFUSE_INVALID_TIME);
    assert_int_equal(job(id)->limit_us, 10 * MIN);
    say(1, MSG_UPDATE_JOB, &most);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(job(id)->limit_us, MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_job_is_stored_in_the_turn_that_launches_it),
        STORY(a_refused_submission_leaves_no_trace),
        STORY(numbers_are_never_given_twice),
        STORY(a_trial_keeps_nothing),
        STORY(what_must_start_at_once_or_not_at_all),
        STORY(components_start_together),
        STORY(one_script_for_all_components),
        STORY(components_go_back_together),
        STORY(a_name_takes_no_component_from_its_leader),
        STORY(a_name_takes_all_components_that_have_it),
        STORY(one_component_alone_is_not_cancelled_while_all_wait),
        STORY(one_component_alone_is_not_requeued_or_suspended),
        STORY(a_component_that_is_lost_takes_the_others_along),
        STORY(how_a_script_ends_is_how_its_job_ends),
        STORY(a_job_is_completing_until_its_node_is_clean),
        STORY(a_report_that_comes_twice_or_late_is_acknowledged_only),
        STORY(a_script_is_reported_by_its_own_host_alone),
        STORY(at_the_limit_a_job_is_told_to_end),
        STORY(a_signal_comes_before_the_limit_once),
        STORY(a_signal_leaves_a_program_time_to_begin),
        STORY(a_deadline_ends_what_never_started),
        STORY(no_more_is_taken_off_a_limit_than_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
