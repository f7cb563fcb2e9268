/* Allocations: who made one is told when it runs and when it is over; it does not outlive its
 * command for long. */
#include "core_help.h"

#define SALLOC 5000u /* connections of commands are numbered from here */

static uint64_t submit_alloc(uint64_t conn, struct job_spec *specs, size_t n, bool attached)
{
    for (size_t i = 0; i < n; i++) {
        specs[i].batch = false;
        specs[i].attached = attached;
    }
    struct msg_submit m = {.specs = {specs, n}, .attach = true};
    say(conn, MSG_SUBMIT, &m);
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_SUBMITTED)
            return ((const struct msg_submitted *)w.fx.v[i].msg.body)->job_id;
    return 0;
}

static uint64_t salloc(uint64_t conn, struct job_spec spec)
{
    return submit_alloc(conn, &spec, 1, true);
}

/* The answer of that kind to a connection, in what the last event caused; NULL = none. */
static const void *heard(uint64_t conn, enum message_kind kind)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].conn == conn && w.fx.v[i].msg.kind == kind)
            return w.fx.v[i].msg.body;
    return NULL;
}

static void hang_up(uint64_t conn)
{
    effects_reset(&w.fx);
    step((struct event){.kind = EV_CLOSED, .conn = conn});
    settle(0);
}

static void finish(uint64_t id, int32_t status)
{
    struct msg_finish_job m = {.job_id = id, .exit_status = status};
    say(1, MSG_FINISH_JOB, &m);
}

static void attach(uint64_t conn, uint64_t id, bool hold)
{
    struct msg_attach m = {.job_id = id, .hold = hold};
    say(conn, MSG_ATTACH, &m);
}

static void it_is_told_at_once_and_at_its_end(void **unused)
{
    (void)unused;
    uint64_t id = salloc(SALLOC, a_job("a"));
    const struct msg_allocated *m = heard(SALLOC, MSG_ALLOCATED);
    assert_non_null(m);
    assert_int_equal(m->jobs.n, 1);
    assert_int_equal(((const struct job *)m->jobs.v)->state, JOB_RUNNING);
    assert_int_equal(sent(FX_SEND, MSG_LAUNCH), 0);
    say(1, MSG_FINISH_JOB, &(struct msg_finish_job){.job_id = id});
    const struct msg_job_ended *e = heard(SALLOC, MSG_JOB_ENDED);
    assert_non_null(e);
    assert_int_equal(e->state, JOB_COMPLETED);
    assert_int_equal(state(id), JOB_COMPLETED);
}

static void a_bad_end_is_kept(void **unused)
{
    (void)unused;
    uint64_t id = salloc(SALLOC, a_job("a"));
    finish(id, status_of_code(3));
    assert_int_equal(state(id), JOB_FAILED);
    assert_int_equal(job(id)->exit_status, status_of_code(3));
    assert_int_equal(job(id)->reason, REASON_NON_ZERO_EXIT);
}

static void it_waits_and_is_told_later(void **unused)
{
    (void)unused;
    struct job_spec wide = a_wide_job("b");
    wide.req.min_nodes = wide.req.max_nodes = 4;
    wide.req.ntasks = 32;
    uint64_t first = salloc(SALLOC, wide), second = salloc(SALLOC + 1, a_job("a"));
    assert_null(heard(SALLOC + 1, MSG_ALLOCATED));
    finish(first, 0);
    assert_non_null(heard(SALLOC + 1, MSG_ALLOCATED));
    assert_int_equal(state(second), JOB_RUNNING);
}

static void a_command_that_is_gone_takes_its_job_along(void **unused)
{
    (void)unused;
    uint64_t id = salloc(SALLOC, a_job("a"));
    hang_up(SALLOC);
    pass(59 * SEC);
    assert_int_equal(state(id), JOB_RUNNING);
    pass(2 * SEC);
    assert_int_equal(state(id), JOB_CANCELLED);
    assert_int_equal(job(id)->reason, REASON_INACTIVE_LIMIT);
}

static void a_waiting_one_is_cancelled(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("a");
    spec.hold = true;
    uint64_t id = salloc(SALLOC, spec);
    hang_up(SALLOC);
    pass(61 * SEC);
    assert_int_equal(state(id), JOB_CANCELLED);
}

static void who_comes_back_in_time_keeps_it(void **unused)
{
    (void)unused;
    uint64_t id = salloc(SALLOC, a_job("a"));
    hang_up(SALLOC);
    pass(30 * SEC);
    attach(SALLOC + 1, id, true);
    assert_non_null(heard(SALLOC + 1, MSG_ALLOCATED));
    pass(100 * SEC);
    assert_int_equal(state(id), JOB_RUNNING);
    hang_up(SALLOC); /* an old connection means nothing */
    pass(100 * SEC);
    assert_int_equal(state(id), JOB_RUNNING);
    finish(id, 0);
    assert_non_null(heard(SALLOC + 1, MSG_JOB_ENDED));
}

static void who_only_looks_holds_nothing(void **unused)
{
    (void)unused;
    uint64_t id = salloc(SALLOC, a_job("a"));
    attach(SALLOC + 1, id, false);
    hang_up(SALLOC + 1);
    pass(100 * SEC);
    assert_int_equal(state(id), JOB_RUNNING);
    hang_up(SALLOC);
    attach(SALLOC + 2, id, false);
    pass(100 * SEC);
    assert_int_equal(state(id), JOB_CANCELLED);
}

static void after_a_restart_the_grace_begins_anew(void **unused)
{
    (void)unused;
    uint64_t id = salloc(SALLOC, a_job("a")), other = salloc(SALLOC + 1, a_job("b"));
    pass(10 * SEC);
    restart(CONF);
    for (int i = 1; i <= 4; i++)
        hello(i);
    am_alice();
    pass(40 * SEC);
    attach(SALLOC + 7, id, true);
    pass(30 * SEC);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(state(other), JOB_CANCELLED);
}

/* Who comes back is not heard while the store is away. */
static void no_grace_ends_while_the_store_is_away(void **unused)
{
    (void)unused;
    uint64_t id = salloc(SALLOC, a_job("a")), other = salloc(SALLOC + 1, a_job("b"));
    hang_up(SALLOC);
    hang_up(SALLOC + 1);
    pass(10 * SEC);
    step((struct event){.kind = EV_STORE_AWAY, .text = "disk full"});
    pass(5 * MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    step((struct event){.kind = EV_STORE_BACK});
    pass(20 * SEC);
    attach(SALLOC + 7, id, true);
    pass(50 * SEC);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(state(other), JOB_CANCELLED);
}

static void without_a_holder_it_stays(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("no-shell");
    uint64_t id = submit_alloc(SALLOC, &spec, 1, false);
    hang_up(SALLOC);
    pass(5 * MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    pass(6 * MIN);
    assert_int_equal(state(id), JOB_TIMEOUT);
}

static void components_come_and_go_together(void **unused)
{
    (void)unused;
    struct job_spec specs[2] = {a_job("a"), a_wide_job("b")};
    uint64_t id = submit_alloc(SALLOC, specs, 2, true);
    const struct msg_allocated *m = heard(SALLOC, MSG_ALLOCATED);
    assert_non_null(m);
    assert_int_equal(m->jobs.n, 2);
    assert_int_equal(((const struct job *)m->jobs.v)[1].id, id + 1);
    finish(id + 1, 0);
    assert_non_null(heard(SALLOC, MSG_JOB_ENDED));
    assert_int_equal(state(id), JOB_COMPLETED);
    assert_int_equal(state(id + 1), JOB_COMPLETED);
}

static void all_components_go_with_their_command(void **unused)
{
    (void)unused;
    struct job_spec specs[2] = {a_job("a"), a_wide_job("b")};
    uint64_t id = submit_alloc(SALLOC, specs, 2, true);
    hang_up(SALLOC);
    pass(61 * SEC);
    assert_int_equal(state(id), JOB_CANCELLED);
    assert_int_equal(state(id + 1), JOB_CANCELLED);
}

static void what_cannot_be_is_refused(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("a");
    spec.array = "0-3";
    assert_int_equal(salloc(SALLOC, spec), 0);
    assert_int_equal(refusal(), REFUSE_INVALID_ARRAY);
    uint64_t batch = submit(a_job("b"));
    finish(batch, 0);
    assert_int_equal(refusal(), REFUSE_NOT_SUPPORTED);
    assert_int_equal(state(batch), JOB_RUNNING);
    uint64_t id = salloc(SALLOC, a_job("c"));
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NOT_REQUEUABLE);
    am_bob();
    finish(id, 0);
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    attach(SALLOC + 1, id, true);
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    attach(SALLOC + 1, 99, true);
    assert_int_equal(refusal(), REFUSE_INVALID_JOB_ID);
    am_alice();
    assert_int_equal(state(id), JOB_RUNNING);
}

static void now_or_never(void **unused)
{
    (void)unused;
    struct job_spec wide = a_wide_job("w");
    wide.req.min_nodes = wide.req.max_nodes = 4;
    wide.req.ntasks = 32;
    uint64_t first = salloc(SALLOC, wide);
    struct job_spec spec = a_job("a");
    spec.batch = false;
    struct msg_submit m = {.specs = {&spec, 1}, .attach = true, .immediate = true};
    say(SALLOC + 1, MSG_SUBMIT, &m);
    assert_int_equal(refusal(), REFUSE_UNAVAILABLE);
    finish(first, 0);
    say(SALLOC + 1, MSG_SUBMIT, &m);
    assert_non_null(heard(SALLOC + 1, MSG_ALLOCATED));
}

static void scancel_and_the_limit_end_it(void **unused)
{
    (void)unused;
    uint64_t id = salloc(SALLOC, a_job("a"));
    cancel(ids_of(id));
    const struct msg_job_ended *e = heard(SALLOC, MSG_JOB_ENDED);
    assert_non_null(e);
    assert_int_equal(e->state, JOB_CANCELLED);
    id = salloc(SALLOC, a_job("b"));
    pass(11 * MIN);
    e = heard(SALLOC, MSG_JOB_ENDED);
    assert_non_null(e);
    assert_int_equal(e->state, JOB_TIMEOUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(it_is_told_at_once_and_at_its_end),
        STORY(a_bad_end_is_kept),
        STORY(it_waits_and_is_told_later),
        STORY(a_command_that_is_gone_takes_its_job_along),
        STORY(a_waiting_one_is_cancelled),
        STORY(who_comes_back_in_time_keeps_it),
        STORY(who_only_looks_holds_nothing),
        STORY(after_a_restart_the_grace_begins_anew),
        STORY(no_grace_ends_while_the_store_is_away),
        STORY(without_a_holder_it_stays),
        STORY(components_come_and_go_together),
        STORY(all_components_go_with_their_command),
        STORY(what_cannot_be_is_refused),
        STORY(now_or_never),
        STORY(scancel_and_the_limit_end_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
