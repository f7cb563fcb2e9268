/* Whoever may have user namespaces is 65,536 users without a name: together they have what one user
 * may have, and those with a name have theirs. */
#include "core_accounts_help.h"
#include "core_crontab_help.h"

#include "model/limits.h"

#define FIRST 70000u
#define MOST  40u

static char long_text[65536];

/* So many jobs are taken, each of another number without a name. */
static size_t taken_of_as_many(void)
{
    struct job_spec s = a_job("talker");
    memset(long_text, 'x', sizeof long_text - 1);
    s.hold = true;
    s.comment = long_text;
    size_t n = 0;
    for (; n < MOST; n++) {
        am(FIRST + (uint32_t)n, NULL, false);
        if (!submit(s))
            break;
    }
    return n;
}

static void users_without_a_name_have_the_room_of_one(void **unused)
{
    static const char *const bound[] = {"MaxUserTexts=1\n", "MaxUserScripts=1\n",
                                        "MaxJobCount=20\n"};
    for (size_t i = 0; i < ARRAY_LEN(bound); i++) {
        configure(arena_printf(w.a, CONF "%s", bound[i]));
        size_t first = taken_of_as_many();
        assert_in_range(first, i ? 0 : 10, 19);
        assert_int_not_equal(refusal(), REFUSE_NONE);
        am_bob();
        assert_int_not_equal(submit(a_job("named")), 0);
    }
}

static void users_without_a_name_have_the_calls_of_one(void **unused)
{
    struct job_spec held = a_job("held");
    held.hold = true;
    am_bob();
    struct msg_wait_job wait = {.job_id = submit(held)};
    for (uint32_t i = 0; i < LIMIT_CALLS_PER_USER; i++) {
        am(FIRST + i, NULL, false);
        say(1, MSG_WAIT_JOB, &wait);
        assert_int_equal(refusal(), REFUSE_NONE);
    }
    am(FIRST - 1, NULL, false);
    say(1, MSG_WAIT_JOB, &wait);
    assert_int_equal(refusal(), REFUSE_BUSY);
    am_bob();
    say(2, MSG_WAIT_JOB, &wait);
    assert_int_equal(refusal(), REFUSE_NONE);
}

/* A step is a call until it ends. */
static void steps_are_calls_of_those_without_a_name(void **unused)
{
    enum { STEPS = 10 };
    struct job_spec spec = a_job("step");
    am(FIRST, NULL, false);
    uint64_t id = submit(a_job("runs"));
    assert_int_equal(state(id), JOB_RUNNING);
    struct msg_create_step step = {.job_id = id, .spec = {&spec, 1}, .overlap = true};
    for (size_t i = 0; i < STEPS; i++) {
        say(1, MSG_CREATE_STEP, &step);
        assert_int_equal(refusal(), REFUSE_NONE);
    }
    am_bob();
    spec.hold = true;
    struct msg_wait_job wait = {.job_id = submit(spec)};
    for (uint32_t i = 0; i < LIMIT_CALLS_PER_USER - STEPS; i++) {
        am(FIRST + 1, NULL, false);
        say(1, MSG_WAIT_JOB, &wait);
        assert_int_equal(refusal(), REFUSE_NONE);
    }
    am(FIRST + 2, NULL, false);
    say(1, MSG_WAIT_JOB, &wait);
    assert_int_equal(refusal(), REFUSE_BUSY);
}

static size_t shares(void)
{
    am_root();
    return count((struct msg_query){.what = QUERY_SHARES});
}

/* Whom they name: accounts that nobody made, or that there are, in which none of them is. */
static void users_without_a_name_have_the_accounts_of_one(void **unused)
{
    enum { USERS = 30, EACH = 10, TOLD_APART = 200 };
    struct job_spec s = a_job("one");
    s.hold = true;
    tree();
    for (size_t made = 0; made < 2; made++) {
        restart(CONF);
        am_bob();
        s.req.account = "before";
        cancel(ids_of(submit(s)));
        size_t before = shares();
        for (uint32_t i = 0; i < USERS * EACH; i++) {
            if (made) {
                am_root();
                account(VERB_ADD, arena_printf(w.a, "made%u", i));
                sent_well();
            }
            am(FIRST + i % USERS, NULL, false);
            s.req.account = arena_printf(w.a, "%s%u", made ? "made" : "a", i);
            cancel(ids_of(submit(s)));
        }
        assert_int_equal(shares() - before, TOLD_APART + USERS);
        am_bob();
        s.req.account = "after";
        before = shares();
        am_bob();
        cancel(ids_of(submit(s)));
        assert_int_equal(shares(), before + 1);
    }
}

/* Each has the row of who names no account. A start leaves those that tell something: the last one's,
 * that there is a job of his, in an account that is not told apart. */
static void users_without_a_name_are_forgotten(void **unused)
{
    enum { USERS = 30, TOLD_APART = 200 };
    struct job_spec s = a_job("one");
    s.hold = true;
    restart(CONF);
    size_t before = shares();
    for (uint32_t i = 0; i < USERS; i++) {
        am(FIRST + i, NULL, false);
        cancel(ids_of(submit(s)));
    }
    assert_int_equal(shares(), before + USERS);
    for (int i = 0; i <= TOLD_APART; i++) {
        s.req.account = arena_printf(w.a, "a%d", i);
        am(FIRST + USERS, NULL, false);
        uint64_t id = submit(s);
        if (i < TOLD_APART)
            cancel(ids_of(id));
    }
    assert_int_equal(shares(), before + USERS + TOLD_APART + 1);
    restart(CONF);
    assert_int_equal(shares(), before + 1);
}

/* A request of so many jobs that it is worked off a slice at a time. */
static void cancel_all(void)
{
    struct msg_cancel m = {.uids = arena_printf(w.a, "%u", (unsigned)w.peer.uid)};
    struct message ask = {.kind = MSG_CANCEL, .seq = ++w.seq, .body = &m};
    step(
        (struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &ask, .hurry = true});
}

static uint64_t left_of_bob(void)
{
    return count((struct msg_query){.what = QUERY_JOBS, .uids = "1001"});
}

static void users_without_a_name_have_the_turns_of_one(void **unused)
{
    struct job_spec held = a_job("held");
    held.hold = true;
    for (uint32_t user = 0; user < 5; user++) {
        if (user == 4)
            am_bob();
        else
            am(FIRST + user, NULL, false);
        for (int i = 0; i < 100; i++)
            assert_int_not_equal(submit(held), 0);
    }
    for (uint32_t i = 0; i < 4; i++) {
        am(FIRST + i, NULL, false);
        cancel_all();
    }
    am_bob();
    cancel_all();
    uint64_t left = left_of_bob();
    for (int wakes = 0; wakes < 4; wakes++) {
        w.now += SEC / 100;
        step((struct event){.kind = EV_WAKE});
    }
    assert_int_equal(left - left_of_bob(), 2 * 16);
}

static enum refusal output_asked(uint64_t id)
{
    effects_reset(&w.fx);
    say(7, MSG_GET_OUTPUT, &(struct msg_get_output){.job_id = id, .attempt = 1, .out = "/d/o"});
    return answer() ? refusal() : REFUSE_NONE;
}

static void users_without_a_name_have_the_output_of_one(void **unused)
{
    for (uint32_t i = 0; i < 5; i++) {
        am(FIRST + i, NULL, false);
        uint64_t id = submit(a_job("talks"));
        assert_int_equal(state(id), JOB_RUNNING);
        assert_int_equal(output_asked(id), i < 4 ? REFUSE_NONE : REFUSE_BUSY);
    }
    am_bob();
    assert_int_equal(output_asked(submit(a_job("named"))), REFUSE_NONE);
}

static size_t tables(void)
{
    size_t n = 0;
    for (size_t i = 0; i < w.store.n; i++)
        n += w.store.v[i].table == TABLE_CRONTAB;
    return n;
}

/* One of remarks alone makes no job, which would have its room. */
static void users_without_a_name_have_no_tables(void **unused)
{
    struct cron_entry one[] = {{.cron = "@hourly"}};
    for (uint32_t i = 0; i < MOST; i++) {
        am(FIRST + i, NULL, false);
        assert_int_equal(set("# a remark\n", NULL, 0), REFUSE_ACCESS_DENIED);
        assert_int_equal(set("", NULL, 0), REFUSE_ACCESS_DENIED);
        assert_int_equal(set("@hourly a\n", one, 1), REFUSE_ACCESS_DENIED);
    }
    assert_int_equal(tables(), 0);
    am(0, NULL, true);
    assert_int_equal(set("# a remark\n", NULL, 0), REFUSE_NONE);
    am_bob();
    assert_int_equal(set("# a remark\n", NULL, 0), REFUSE_NONE);
}

/* Made before name services lost him. */
static void who_has_lost_his_name_can_remove_his_table(void **unused)
{
    am_alice();
    begin();
    restart(CONF);
    am(ALICE, NULL, false);
    assert_int_equal(state(1), JOB_PENDING);
    assert_int_equal(set("# a remark\n", NULL, 0), REFUSE_ACCESS_DENIED);
    assert_int_equal(state(1), JOB_PENDING);
    assert_int_equal(set(NULL, NULL, 0), REFUSE_NONE);
    assert_int_equal(state(1), JOB_CANCELLED);
    assert_int_equal(tables(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(users_without_a_name_have_the_room_of_one),
        STORY(users_without_a_name_have_the_calls_of_one),
        STORY(steps_are_calls_of_those_without_a_name),
        STORY(users_without_a_name_have_the_accounts_of_one),
        STORY(users_without_a_name_are_forgotten),
        STORY(users_without_a_name_have_the_turns_of_one),
        STORY(users_without_a_name_have_the_output_of_one),
        STORY(users_without_a_name_have_no_tables),
        STORY(who_has_lost_his_name_can_remove_his_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
