/* Lives of jobs: submitted, started, ended, cancelled, requeued, lost with their node, carried over
 * a restart. */
#include "core_help.h"
#include "model/job/stopped.h"

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
    pass(10 * MIN);
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

/* ---- people ---- */

static void only_its_owner_and_operators_end_a_job(void **unused)
{
    uint64_t id = submit(a_job("one"));
    am_bob();
    assert_int_equal(cancel(ids_of(id)), REFUSE_ACCESS_DENIED);
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_ACCESS_DENIED);
    assert_int_equal(state(id), JOB_RUNNING);
    am_olga();
    assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
    script_ends(id, 15);
    assert_int_equal(state(id), JOB_CANCELLED);
    assert_int_equal(job(id)->killed_by_uid_plus1, 901);
    assert_int_equal(cancel(ids_of(id)), REFUSE_ALREADY_DONE);
}

static void a_hold_keeps_a_job_back(void **unused)
{
    for (int i = 0; i < 4; i++)
        submit(a_wide_job("fill"));
    uint64_t first = submit(a_wide_job("first")), second = submit(a_wide_job("second"));
    assert_int_equal(control(ids_of(first), ACTION_HOLD), REFUSE_NONE);
    script_ends(1, 0);
    assert_int_equal(state(first), JOB_PENDING);
    assert_int_equal(state(second), JOB_RUNNING);
    assert_int_equal(control(ids_of(second), ACTION_HOLD), REFUSE_NONE);
    assert_int_equal(control(ids_of(first), ACTION_RELEASE), REFUSE_NONE);
    script_ends(2, 0);
    assert_int_equal(state(first), JOB_RUNNING);
}

static void a_requeued_job_runs_again_with_its_former_run_kept(void **unused)
{
    uint64_t id = submit(a_job("one"));
    pass(MIN);
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
    assert_int_equal(state(id), JOB_REQUEUED);
    script_ends(id, 15);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->attempt, 2);
    assert_int_equal(job(id)->restarts, 1);
    size_t runs = 0;
    for (size_t i = 0; i < w.store.n; i++)
        runs += w.store.v[i].table == TABLE_JOB_RUN &&
                ((const struct job *)w.store.v[i].record)->attempt == 1;
    assert_int_equal(runs, 1);
    script_ends(id, 0);
    assert_int_equal(state(id), JOB_COMPLETED);
}

static void a_requeue_with_a_hold_waits_for_its_release(void **unused)
{
    uint64_t id = submit(a_job("one"));
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE_HOLD), REFUSE_NONE);
    script_ends(id, 15);
    assert_int_equal(state(id), JOB_PENDING);
    assert_true(job(id)->spec.hold);
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
}

static void a_suspended_job_keeps_its_time(void **unused)
{
    uint64_t id = submit(a_job("one"));
    am_root();
    pass(4 * MIN);
    assert_int_equal(control(ids_of(id), ACTION_SUSPEND), REFUSE_NONE);
    assert_int_equal(control(ids_of(id), ACTION_SUSPEND), REFUSE_NONE); /* it is as was asked */
    pass(20 * MIN);
    assert_int_equal(state(id), JOB_SUSPENDED);
    assert_int_equal(control(ids_of(id), ACTION_RESUME), REFUSE_NONE);
    pass(6 * MIN - 1);
    assert_int_equal(state(id), JOB_RUNNING);
    pass(1);
    assert_int_equal(state(id), JOB_COMPLETING);
}

static enum refusal signal_to_all(uint64_t id, int signo)
{
    say(1, MSG_CANCEL, &(struct msg_cancel){.ids = ids_of(id), .signal = signo, .full = true});
    return refusal();
}

static void a_job_that_its_owner_stopped_keeps_what_it_has_and_its_time_goes_by(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int n = job(id)->batch_host[1] - '0';
    struct held held = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH};
    assert_int_equal(signal_to_all(id, 19), REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->stopped_us, w.now);
    /* A daemon that comes back is told again. */
    gone(n);
    hello_holding(n, &held, 1);
    assert_int_equal(sent(FX_SEND, MSG_SIGNAL), 1);
    assert_int_equal(signal_to_all(id, 10), REFUSE_NONE);
    assert_true(job(id)->stopped_us != 0);
    assert_int_equal(signal_to_all(id, 18), REFUSE_NONE);
    assert_int_equal(job(id)->stopped_us, 0);
    assert_int_equal(signal_to_all(id, 19), REFUSE_NONE);
    pass(10 * MIN);
    assert_int_equal(state(id), JOB_COMPLETING); /* at its limit */
    id = submit(a_job("two"));
    assert_int_equal(signal_to_all(id, 19), REFUSE_NONE);
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
    script_ends(id, 15);
    assert_int_equal(job(id)->stopped_us, 0);
}

static void step_signalled(uint64_t id, int signo, bool batch)
{
    say(1, MSG_CANCEL, &(struct msg_cancel){.ids = ids_of(id), .signal = signo, .batch = batch});
    assert_int_equal(refusal(), REFUSE_NONE);
}

/* Of a stop that was for the steps alone, or the script alone, a daemon that comes back is not told:
 * it would stop the rest, too. */
static void a_job_of_which_a_part_was_stopped_is_stopped_for_listings(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int n = job(id)->batch_host[1] - '0';
    struct held held = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH};
    step_signalled(id, 19, false);
    assert_true(job_is_stopped(job(id)));
    assert_string_equal(job_state_shown(job(id)), "STOPPED");
    assert_string_equal(job_state_shown_short(job(id)), "ST");
    assert_true(job(id)->stopped_partly);
    gone(n);
    hello_holding(n, &held, 1);
    assert_int_equal(sent(FX_SEND, MSG_SIGNAL), 0);
    step_signalled(id, 18, false);
    assert_false(job_is_stopped(job(id)));
    step_signalled(id, 20, false); /* SIGTSTP is a program's own affair */
    assert_false(job_is_stopped(job(id)));
    step_signalled(id, 19, true);
    assert_true(job_is_stopped(job(id)));
    assert_int_equal(signal_to_all(id, 19), REFUSE_NONE);
    assert_false(job(id)->stopped_partly);
    step_signalled(id, 19, false); /* all of it stays stopped */
    assert_false(job(id)->stopped_partly);
    step_signalled(id, 18, true);
    assert_string_equal(job_state_shown(job(id)), "RUNNING");
}

static const struct msg_job_ended *ended(void)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_JOB_ENDED)
            return w.fx.v[i].msg.body;
    return NULL;
}

static void who_waits_is_told_the_end(void **unused)
{
    struct job_spec s = a_job("many");
    s.array = "1-2";
    uint64_t id = submit(s);
    struct msg_wait_job m = {.job_id = id};
    say(50, MSG_WAIT_JOB, &m);
    assert_null(ended());
    script_ends(job_named(arena_printf(w.a, "%llu_1", (unsigned long long)id))->id,
                status_of_code(4));
    assert_null(ended());
    script_ends(job_named(arena_printf(w.a, "%llu_2", (unsigned long long)id))->id, 0);
    assert_non_null(ended());
    assert_int_equal(status_code(ended()->exit_status), 4);
    m.job_id = 999;
    say(50, MSG_WAIT_JOB, &m);
    assert_int_equal(refusal(), REFUSE_INVALID_JOB_ID);
}

/* ---- nodes ---- */

static void a_node_that_is_gone_for_a_moment_loses_nothing(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int n = job(id)->batch_host[1] - '0';
    report(n, (struct msg_report){
                  .kind = REPORT_STARTED, .job_id = id, .attempt = 1, .step_id = STEP_BATCH});
    gone(n);
    pass(30 * SEC);
    struct held held = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH};
    hello_holding(n, &held, 1);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 0);
    assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 0);
    script_ends(id, 0);
    assert_int_equal(state(id), JOB_COMPLETED);
}

static void a_launch_lost_on_its_way_is_sent_again(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int n = job(id)->batch_host[1] - '0';
    gone(n);
    hello(n);
    assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 1);
    assert_int_equal(job(id)->attempt, 1);
}

/* Its daemon waited for the prolog, and took along what it had in memory only. */
static void a_script_that_a_daemon_had_not_begun_is_launched_again(void **unused)
{
    struct job_spec s = a_job("one");
    s.requeue = NO;
    uint64_t id = submit(s);
    int n = job(id)->batch_host[1] - '0';
    struct held held = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH, .unbegun = true};
    for (int i = 0; i < 2; i++) {
        gone(n);
        hello_holding(n, &held, 1);
        assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 0);
        gone(n);
        hello(n);
        assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 1);
        assert_int_equal(state(id), JOB_RUNNING);
    }
    held.unbegun = false;
    gone(n);
    hello_holding(n, &held, 1);
    gone(n);
    hello(n);
    assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 0);
    assert_int_equal(state(id), JOB_NODE_FAIL);
}

static void a_node_gone_too_long_gives_its_jobs_to_others(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int n = job(id)->batch_host[1] - '0';
    const char *name = job(id)->batch_host;
    gone(n);
    pass(61 * SEC);
    assert_int_equal(node(name)->state, NODE_DOWN);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->attempt, 2);
    assert_string_not_equal(job(id)->batch_host, name);
    /* It comes back and still holds the former run: that is ended there. */
    struct held held = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH};
    hello_holding(n, &held, 1);
    assert_int_equal(sent(FX_SEND, MSG_TERMINATE), 1);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(node(name)->state, NODE_UP);
}

static void a_launch_that_fails_is_tried_again_some_times(void **unused)
{
    uint64_t id = submit(a_job("one"));
    int tries = 0;
    while (state(id) == JOB_RUNNING) {
        const struct job *j = job(id);
        assert_true(++tries < 20);
        report(j->batch_host[1] - '0', (struct msg_report){.kind = REPORT_FAILED,
                                                           .job_id = id,
                                                           .attempt = j->attempt,
                                                           .step_id = STEP_BATCH,
                                                           .retry = true,
                                                           .detail = "no home"});
        report(j->batch_host[1] - '0',
               (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = j->attempt});
    }
    assert_int_equal(state(id), JOB_PENDING);
    assert_true(job(id)->spec.hold);
    assert_int_equal(tries, 6);
    assert_string_equal(job(id)->reason_detail, "no home");
}

/* A node without room would fail all that waits before another has ended a job. */
static void a_node_that_fails_every_launch_is_drained(void **unused)
{
    const char *bad = NULL;
    uint64_t id = 0;
    for (int i = 0; i < 5; i++) {
        if (i == 0 || i == 2)
            id = submit(a_job("one"));
        bad = bad ? bad : arena_strdup(w.a, job(id)->batch_host);
        assert_string_equal(job(id)->batch_host, bad);
        assert_false(node(bad)->drain);
        uint32_t attempt = job(id)->attempt;
        report(bad[1] - '0', (struct msg_report){.kind = REPORT_FAILED,
                                                 .job_id = id,
                                                 .attempt = attempt,
                                                 .step_id = STEP_BATCH,
                                                 .retry = true,
                                                 .unfit = true,
                                                 .detail = "no room"});
        report(bad[1] - '0',
               (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = attempt});
        if (i == 1) { /* one that starts shows that the node is well */
            report(bad[1] - '0', (struct msg_report){.kind = REPORT_STARTED,
                                                     .job_id = id,
                                                     .attempt = job(id)->attempt,
                                                     .step_id = STEP_BATCH});
            script_ends(id, 0);
        }
    }
    assert_true(node(bad)->drain);
    assert_string_equal(node(bad)->reason, "batch job complete failure: no room");
    assert_int_equal(state(id), JOB_RUNNING); /* elsewhere */
    assert_string_not_equal(job(id)->batch_host, bad);
}

/* As Slurm 22.05 does: what may not run again and could not be launched is cancelled; where the
 * shepherd was lost before it began it is a failed node's. */
static void a_launch_that_fails_once_and_for_all(void **unused)
{
    struct job_spec s = a_job("once");
    s.requeue = NO;
    for (int gone = 0; gone < 2; gone++) {
        uint64_t id = submit(s);
        assert_int_equal(state(id), JOB_RUNNING);
        report(job(id)->batch_host[1] - '0', (struct msg_report){.kind = REPORT_FAILED,
                                                                 .job_id = id,
                                                                 .attempt = 1,
                                                                 .step_id = STEP_BATCH,
                                                                 .retry = true,
                                                                 .gone = gone,
                                                                 .detail = "no room"});
        report(job(id)->batch_host[1] - '0',
               (struct msg_report){.kind = REPORT_RELEASED, .job_id = id, .attempt = 1});
        assert_int_equal(state(id), gone ? JOB_NODE_FAIL : JOB_CANCELLED);
        assert_int_equal(job(id)->reason, gone ? REASON_NODE_DOWN : REASON_LAUNCH_FAILED);
        assert_string_equal(job(id)->reason_detail, "no room");
    }
}

/* ---- restarts ---- */

static void a_restart_changes_nothing(void **unused)
{
    struct job_spec s = a_job("many");
    s.array = "0-9%2";
    submit(s);
    uint64_t runs = submit(a_wide_job("runs"));
    s = a_job("after");
    s.dependency = arena_printf(w.a, "afterok:%llu", (unsigned long long)runs);
    uint64_t after = submit(s);
    s = a_job("held");
    s.hold = true;
    submit(s);
    uint64_t done = submit(a_job("done"));
    script_ends(done, 0);
    uint64_t before = core_hash(w.c);
    size_t rows = count((struct msg_query){.what = QUERY_JOBS, .states = "all"});
    for (int n = 1; n <= 4; n++)
        gone(n);
    uint64_t without_nodes = core_hash(w.c);
    assert_true(before != without_nodes);
    restart(CONF);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "all"}), rows);
    assert_int_equal(state(runs), JOB_RUNNING);
    assert_int_equal(job(after)->reason, REASON_DEPENDENCY);
    assert_int_equal(node(job(runs)->nodes)->alloc_cpus, 8);
    int n = job(runs)->batch_host[1] - '0';
    struct held held = {.job_id = runs, .attempt = 1, .step_id = STEP_BATCH};
    hello_holding(n, &held, 1);
    assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 0);
    script_ends(runs, 0);
    assert_int_equal(state(runs), JOB_COMPLETED);
    assert_int_equal(state(after), JOB_RUNNING);
}

static void nothing_starts_while_the_store_is_away(void **unused)
{
    struct job_spec s = a_job("one");
    s.hold = true;
    uint64_t id = submit(s);
    step((struct event){.kind = EV_STORE_AWAY, .text = "disk full"});
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    assert_int_equal(state(id), JOB_PENDING);
    assert_int_equal(job(id)->reason, REASON_STORE_AWAY);
    step((struct event){.kind = EV_STORE_BACK});
    wake();
    assert_int_equal(state(id), JOB_RUNNING);
}

/* It cannot be answered meanwhile, so its silence says nothing. */
static void a_node_is_not_given_up_while_the_store_is_away(void **unused)
{
    uint64_t id = submit(a_job("runs"));
    const char *name = job(id)->batch_host;
    step((struct event){.kind = EV_STORE_AWAY, .text = "disk full"});
    gone(name[1] - '0');
    for (int i = 0; i < 5; i++)
        pass(61 * SEC);
    assert_int_equal(job(id)->attempt, 1);
    assert_int_equal(node(name)->state, NODE_UP);
    step((struct event){.kind = EV_STORE_BACK});
    pass(50 * SEC);
    assert_int_equal(job(id)->attempt, 1);
    pass(61 * SEC);
    assert_int_equal(node(name)->state, NODE_DOWN);
    assert_int_equal(job(id)->attempt, 2);
}

static void equal_histories_give_equal_states(void **unused)
{
    uint64_t hash[2];
    for (int k = 0; k < 2; k++) {
        if (k)
            world_open(CONF, 4);
        for (int i = 0; i < 20; i++)
            submit(i % 3 ? a_job("small") : a_wide_job("wide"));
        pass(3 * MIN);
        for (uint64_t id = 1; id <= 3; id++)
            script_ends(id, 0);
        cancel("7,9");
        hash[k] = core_hash(w.c);
        if (!k)
            world_close();
    }
    assert_true(hash[0] == hash[1]);
}

/* A listing of all jobs in parts shows each once, though some end and some come in between. */
static void a_listing_in_parts_shows_each_once(void **unused)
{
    struct msg_query q = {.what = QUERY_JOBS, .states = "all"};
    struct rows r = {.what = QUERY_JOBS};
    struct view view = {row_take, &r};
    struct query_at at = {0};
    struct str detail = STR_INIT;
    struct job_spec spec = a_job("listed");
    spec.hold = true;
    for (int i = 0; i < 10; i++)
        submit(spec);
    int parts = 0;
    do {
        assert_int_equal(core_query_part(w.c, &q, &w.peer, w.now, &view, &detail, &at, 3),
                         REFUSE_NONE);
        if (parts++ == 1)
            cancel("2,9"), submit(spec);
    } while (at.more);
    core_query_end(&at);
    assert_int_equal(r.row.n, 11);
    for (size_t i = 0; i < r.row.n; i++)
        assert_int_equal(((const struct job *)r.row.v[i])->id, i + 1);
    vec_done(&r.row);
    str_done(&detail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_listing_in_parts_shows_each_once),
        STORY(a_job_is_stored_in_the_turn_that_launches_it),
        STORY(a_refused_submission_leaves_no_trace),
        STORY(numbers_are_never_given_twice),
        STORY(a_trial_keeps_nothing),
        STORY(what_must_start_at_once_or_not_at_all),
        STORY(components_start_together),
        STORY(one_script_for_all_components),
        STORY(components_go_back_together),
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
        STORY(only_its_owner_and_operators_end_a_job),
        STORY(a_hold_keeps_a_job_back),
        STORY(a_requeued_job_runs_again_with_its_former_run_kept),
        STORY(a_requeue_with_a_hold_waits_for_its_release),
        STORY(a_suspended_job_keeps_its_time),
        STORY(a_job_that_its_owner_stopped_keeps_what_it_has_and_its_time_goes_by),
        STORY(a_job_of_which_a_part_was_stopped_is_stopped_for_listings),
        STORY(who_waits_is_told_the_end),
        STORY(a_node_that_is_gone_for_a_moment_loses_nothing),
        STORY(a_launch_lost_on_its_way_is_sent_again),
        STORY(a_script_that_a_daemon_had_not_begun_is_launched_again),
        STORY(a_node_gone_too_long_gives_its_jobs_to_others),
        STORY(a_launch_that_fails_is_tried_again_some_times),
        STORY(a_node_that_fails_every_launch_is_drained),
        STORY(a_launch_that_fails_once_and_for_all),
        STORY(a_restart_changes_nothing),
        STORY(nothing_starts_while_the_store_is_away),
        STORY(a_node_is_not_given_up_while_the_store_is_away),
        STORY(equal_histories_give_equal_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
