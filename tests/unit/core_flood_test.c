/* What one user can make the controller keep: bounded, however he asks. */
#include "core_help.h"

#include "model/limits.h"

static size_t stored(enum store_table table)
{
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        n += w.fx.v[i].kind == FX_STORE && w.fx.v[i].table == table;
    return n;
}

/* A submission of 128 components, each with the script and the environment of all, would take 128
 * times their room. */
static void components_share_their_script(void **unused)
{
    struct job_spec spec[3] = {a_job("a"), a_job("b"), a_job("c")};
    assert_int_equal(submit_all(spec, 3), 1);
    assert_int_equal(stored(TABLE_PAYLOAD), 1);
    for (uint64_t id = 1; id <= 3; id++) {
        say(1, MSG_GET_SCRIPT, &(struct msg_get_script){.job_id = id});
        assert_int_equal(sent(FX_REPLY, MSG_SCRIPT), 1);
        assert_int_equal(w.fx.v[0].payload_job, 1);
    }
}

/* Calls that are answered later: each end of a job looks through all of them. */
static void calls_are_bounded_for_each_user(void **unused)
{
    struct job_spec held = a_job("held");
    held.hold = true;
    struct msg_wait_job wait = {.job_id = submit(held)};
    for (size_t i = 0; i < LIMIT_CALLS_PER_USER; i++) {
        say(1, MSG_WAIT_JOB, &wait);
        assert_int_equal(refusal(), REFUSE_NONE);
    }
    say(1, MSG_WAIT_JOB, &wait);
    assert_int_equal(refusal(), REFUSE_BUSY);
    assert_int_not_equal(submit(held), 0); /* what is answered at once goes on */
    am_bob();
    say(2, MSG_WAIT_JOB, &wait);
    assert_int_equal(refusal(), REFUSE_NONE);
    effects_reset(&w.fx);
    step((struct event){.kind = EV_CLOSED, .conn = 1});
    am_alice();
    say(3, MSG_WAIT_JOB, &wait);
    assert_int_equal(refusal(), REFUSE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(components_share_their_script),
        STORY(calls_are_bounded_for_each_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
