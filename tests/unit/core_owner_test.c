/* A number that becomes somebody else's: what its former owner left in the queue does not run for
 * the next one, who may neither read nor end it. */
#include "core_help.h"

#include "model/job/owner.h"

#define CRON_TEXT "* * * * * secret\n"

/* What name services say now, until nothing more is to be looked at. */
static void told(uint32_t uid, const char *name)
{
    struct owner_name one = {uid, name};
    step((struct event){.kind = EV_OWNERS, .owners = &one, .nowners = 1});
    settle(0);
}

static void am_eve(void)
{
    am(ALICE, "eve", false);
}

static struct job_spec later(const char *name)
{
    struct job_spec spec = a_job(name);
    spec.begin_us = w.now + 10 * MIN;
    return spec;
}

static void assert_held(uint64_t id)
{
    assert_int_equal(state(id), JOB_PENDING);
    assert_true(job(id)->spec.hold && job(id)->admin_hold);
    assert_int_equal(job(id)->reason, REASON_HELD_ADMIN);
    assert_non_null(strstr(job(id)->reason_detail, "was alice"));
    assert_non_null(strstr(job(id)->reason_detail, "is eve now"));
}

static void names_of_one_user_are_his(void **unused)
{
    (void)unused;
    assert_true(owner_same("ada", "ada") && owner_same("ada", "ADA"));
    assert_true(owner_same(NULL, "ada") && owner_same("ada", NULL));
    assert_true(owner_same("ada", "ada@lab.org") && owner_same("LAB\\ada", "ada"));
    assert_true(owner_same("ada@lab.org", "Ada@LAB.org"));
    assert_false(owner_same("ada@lab.org", "ada@other.org") || owner_same("LAB\\ada", "IT\\ada"));
    assert_false(owner_same("ada", "eve") || owner_same("ada", "adam"));
    assert_false(owner_same("ada", "@ada") || owner_same("ada@lab.org", "lab.org"));
}

static void what_waits_is_held_and_not_the_next_ones(void **unused)
{
    (void)unused;
    struct job_spec array = later("array");
    array.array = "0-9%2";
    uint64_t one = submit(later("one")), many = submit(array);
    am_bob();
    uint64_t others = submit(later("others"));
    told(ALICE, "alice");
    told(BOB, "bob");
    assert_false(job(one)->spec.hold);
    told(ALICE, "eve");
    assert_held(one);
    assert_held(many);
    assert_false(job(others)->spec.hold);
    am_eve();
    assert_int_equal(cancel(ids_of(one)), REFUSE_ACCESS_DENIED);
    assert_int_equal(control(ids_of(many), ACTION_RELEASE), REFUSE_ACCESS_DENIED);
    say(1, MSG_GET_SCRIPT, &(struct msg_get_script){.job_id = one});
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    am_root();
    assert_int_equal(control(ids_of(many), ACTION_REQUEUE), REFUSE_JOB_PENDING);
    pass(11 * MIN);
    assert_held(one);
    assert_held(many);
    assert_int_equal(state(others), JOB_RUNNING);
}

static void who_was_renamed_is_let_go(void **unused)
{
    (void)unused;
    uint64_t one = submit(later("one"));
    told(ALICE, "eve");
    am_root();
    assert_int_equal(control(ids_of(one), ACTION_RELEASE), REFUSE_NONE);
    assert_false(job(one)->spec.hold);
    told(ALICE, "eve");
    pass(11 * MIN);
    assert_int_equal(state(one), JOB_RUNNING);
    assert_string_equal(job(one)->user_name, "alice");
    am_eve();
    assert_int_equal(cancel(ids_of(one)), REFUSE_NONE);
}

/* A third one has the number: the word of the operator was not about him. */
static void who_was_renamed_is_nobody_else(void **unused)
{
    (void)unused;
    uint64_t one = submit(later("one"));
    told(ALICE, "eve");
    am_root();
    control(ids_of(one), ACTION_RELEASE);
    told(ALICE, "mallory");
    assert_true(job(one)->spec.hold);
    am(ALICE, "mallory", false);
    assert_int_equal(cancel(ids_of(one)), REFUSE_ACCESS_DENIED);
}

static void what_runs_goes_on_and_does_not_come_back(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("runs"));
    assert_int_equal(state(id), JOB_RUNNING);
    told(ALICE, "eve");
    assert_int_equal(state(id), JOB_RUNNING);
    am_eve();
    assert_int_equal(cancel(ids_of(id)), REFUSE_ACCESS_DENIED);
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_ACCESS_DENIED);
    am_root();
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
    script_ends(id, 0);
    pass(3 * MIN);
    assert_held(id);
}

static void who_is_renamed_while_he_runs_is_let_go(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_job("runs"));
    told(ALICE, "eve");
    am_root();
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    am_eve();
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
    script_ends(id, 0);
    pass(3 * MIN);
    assert_int_equal(state(id), JOB_RUNNING);
}

/* What a former owner left, held or still running, is not an earlier job of the next one's. */
static void a_singleton_waits_for_its_owners_jobs_alone(void **unused)
{
    (void)unused;
    for (int restarts = 0; restarts < 2; restarts++) {
        struct job_spec first = later("same"), alone = a_job("same");
        alone.dependency = "singleton";
        uint64_t waits = submit(first), runs = submit(a_job("same"));
        assert_int_equal(state(runs), JOB_RUNNING);
        uint64_t former = submit(alone);
        assert_int_equal(state(former), JOB_PENDING);
        told(ALICE, "eve");
        am_eve();
        uint64_t hers = submit(alone), second = submit(alone);
        assert_int_equal(state(hers), JOB_RUNNING);
        assert_int_equal(job(second)->reason, REASON_DEPENDENCY);
        if (restarts) {
            restart(CONF);
            for (int n = 1; n <= 4; n++)
                hello(n);
            told(ALICE, "eve");
            pass(MIN);
            assert_int_equal(job(second)->reason, REASON_DEPENDENCY);
        }
        script_ends(hers, 0);
        assert_int_equal(state(second), JOB_RUNNING);
        script_ends(second, 0);
        am_root(); /* she was alice all the while: they are hers */
        control(ids_of(waits), ACTION_RELEASE);
        am_eve();
        second = submit(alone);
        assert_int_equal(job(second)->reason, REASON_DEPENDENCY);
        am_root();
        const uint64_t all[] = {waits, runs, former, second};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            cancel(ids_of(all[i]));
        script_ends(runs, 0);
        told(ALICE, "alice");
        am_alice();
    }
}

/* Names come again after a restart, and jobs of the next owner are his. */
static void a_hold_outlives_the_controller(void **unused)
{
    (void)unused;
    uint64_t one = submit(later("one")), two = submit(later("two"));
    told(ALICE, "eve");
    am_eve();
    uint64_t hers = submit(later("hers"));
    restart(CONF);
    hello(1);
    assert_held(one);
    assert_held(two);
    told(ALICE, "eve");
    assert_false(job(hers)->spec.hold);
    pass(11 * MIN);
    assert_held(one);
    assert_int_equal(state(hers), JOB_RUNNING);
    am_eve();
    assert_int_equal(cancel(ids_of(hers)), REFUSE_NONE);
}

/* What was told of the number before she came does not hold what is hers. */
static void who_is_new_is_not_held_for_what_was_told_before(void **unused)
{
    (void)unused;
    told(ALICE, "alice");
    am_eve();
    uint64_t hers = submit(a_job("hers"));
    assert_int_equal(state(hers), JOB_RUNNING);
    told(BOB, NULL);
    am_bob();
    assert_int_equal(state(submit(a_job("his"))), JOB_RUNNING);
}

static void who_has_no_name_waits_until_he_has_one(void **unused)
{
    (void)unused;
    uint64_t id = submit(later("one"));
    told(ALICE, NULL);
    pass(11 * MIN);
    assert_int_equal(state(id), JOB_PENDING);
    assert_int_equal(job(id)->reason, REASON_USER_UNKNOWN);
    assert_false(job(id)->spec.hold);
    told(ALICE, "Alice");
    assert_int_equal(state(id), JOB_RUNNING);
}

static void who_never_had_a_name_runs(void **unused)
{
    (void)unused;
    am(ALICE, NULL, false);
    uint64_t id = submit(later("one")), other = submit(later("two"));
    told(ALICE, NULL);
    pass(11 * MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    told(ALICE, "alice");
    assert_int_equal(state(other), JOB_RUNNING);
}

static void components_are_held_together(void **unused)
{
    (void)unused;
    struct job_spec parts[] = {later("a"), later("b")};
    uint64_t id = submit_all(parts, 2);
    told(ALICE, "eve");
    assert_held(id);
    assert_held(id + 1);
    am_root();
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    pass(11 * MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(state(id + 1), JOB_RUNNING);
}

/* His own hold becomes one that the next owner cannot take back. */
static void a_hold_of_his_own_is_an_administrators(void **unused)
{
    (void)unused;
    uint64_t id = submit(later("one"));
    control(ids_of(id), ACTION_HOLD);
    assert_false(job(id)->admin_hold);
    told(ALICE, "eve");
    assert_held(id);
    am_alice(); /* as one whose name is not looked up again yet */
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_ACCESS_DENIED);
}

static const char *table_read(void)
{
    say(1, MSG_GET_CRONTAB, &(struct msg_get_crontab){.user_plus1 = ALICE + 1});
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_CRONTAB)
            return ((const struct msg_crontab *)w.fx.v[i].msg.body)->text;
    return "refused";
}

static void table_set(const char *text)
{
    struct job_spec spec = a_job("cron");
    struct cron_entry entry = {.cron = "* * * * *",
                               .first = 1,
                               .last = 1,
                               .script = {"#!/bin/sh\n", 10},
                               .spec = {&spec, 1}};
    say(1, MSG_SET_CRONTAB, &(struct msg_set_crontab){.text = text, .entries = {&entry, 1}});
    assert_int_equal(refusal(), REFUSE_NONE);
}

static void a_table_fires_for_nobody_else(void **unused)
{
    (void)unused;
    table_set(CRON_TEXT);
    assert_string_equal(table_read(), CRON_TEXT);
    pass(MIN);
    assert_int_equal(state(1), JOB_RUNNING);
    told(ALICE, "eve");
    script_ends(1, 0);
    pass(5 * MIN);
    assert_held(1);
    am_eve();
    assert_null(table_read());
    am_root();
    assert_string_equal(table_read(), CRON_TEXT);
    am_eve();
    table_set("* * * * * hers\n");
    assert_int_equal(state(1), JOB_CANCELLED);
    pass(MIN);
    assert_int_equal(state(2), JOB_RUNNING);
}

/* Very many are looked at slice by slice, and nothing starts meanwhile. */
static void none_of_very_many_slips_through(void **unused)
{
    (void)unused;
    uint64_t first = 0;
    for (int i = 0; i < 2500; i++) {
        uint64_t id = submit(later("one"));
        first = first ? first : id;
    }
    w.now += 11 * MIN; /* all could begin, and nobody has looked yet */
    told(ALICE, "eve");
    pass(MIN);
    for (uint64_t id = first; id < first + 2500; id += 499)
        assert_held(id);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "RUNNING"}), 0);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_one_user_are_his),
        T(what_waits_is_held_and_not_the_next_ones),
        T(who_was_renamed_is_let_go),
        T(who_was_renamed_is_nobody_else),
        T(what_runs_goes_on_and_does_not_come_back),
        T(who_is_renamed_while_he_runs_is_let_go),
        T(a_singleton_waits_for_its_owners_jobs_alone),
        T(a_hold_outlives_the_controller),
        T(who_is_new_is_not_held_for_what_was_told_before),
        T(who_has_no_name_waits_until_he_has_one),
        T(who_never_had_a_name_runs),
        T(components_are_held_together),
        T(a_hold_of_his_own_is_an_administrators),
        T(a_table_fires_for_nobody_else),
        T(none_of_very_many_slips_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
