/* What people do to jobs: end, hold, requeue, suspend, wait for them; and who may. */
#include "core_help.h"
#include "model/job/stopped.h"

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

static enum refusal change(const struct msg_update_job *m)
{
    say(1, MSG_UPDATE_JOB, m);
    return refusal();
}

/* What one that runs may not is seen before another is changed. */
static void components_that_run_change_together_or_not_at_all(void **unused)
{
    struct job_spec parts[] = {a_wide_job("het"), a_wide_job("het")};
    uint64_t id = submit_all(parts, 2);
    assert_int_equal(state(id + 1), JOB_RUNNING);
    struct job_spec to[] = {{.comment = "both"}, {.req = {.min_nodes = 1}}};
    struct msg_update_job m = {.ids = ids_of(id), .fields = "comment;min_nodes", .values = {to, 2}};
    assert_int_equal(change(&m), REFUSE_UNSUPPORTED);
    assert_non_null(strstr(answer()->detail, "part 2: components of heterogeneous jobs keep"));
    assert_true(text_empty(job(id)->spec.comment));
    m.fields = "comment;nodelist";
    to[1].req.nodelist = "n1";
    assert_int_equal(change(&m), REFUSE_UNSUPPORTED);
    assert_true(text_empty(job(id)->spec.comment));
    m.fields = "comment;comment";
    assert_int_equal(change(&m), REFUSE_NONE);
    assert_string_equal(job(id)->spec.comment, "both");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(only_its_owner_and_operators_end_a_job),
        STORY(a_hold_keeps_a_job_back),
        STORY(a_requeued_job_runs_again_with_its_former_run_kept),
        STORY(a_requeue_with_a_hold_waits_for_its_release),
        STORY(a_suspended_job_keeps_its_time),
        STORY(a_job_that_its_owner_stopped_keeps_what_it_has_and_its_time_goes_by),
        STORY(a_job_of_which_a_part_was_stopped_is_stopped_for_listings),
        STORY(who_waits_is_told_the_end),
        STORY(components_that_run_change_together_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
