/* The past: what goes, what must stay, what comes. */
#include "core_help.h"

#include "base/list.h"
#include "model/past.h"

#define DAY (24 * 60 * MIN)

static void remove_rows(const struct past_key *key, size_t n)
{
    struct past_rows rows = {.v = key, .n = n};
    effects_reset(&w.fx);
    step((struct event){.kind = EV_PAST, .past = &rows});
}

static size_t removed(enum store_table table)
{
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        n += w.fx.v[i].kind == FX_STORE && w.fx.v[i].remove && w.fx.v[i].table == table;
    return n;
}

static size_t added(enum store_table table)
{
    size_t n = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        n += w.fx.v[i].kind == FX_STORE && w.fx.v[i].add && w.fx.v[i].table == table;
    return n;
}

static bool waits(uint64_t id)
{
    return state(id) == JOB_PENDING;
}

static void test_what_memory_knows_stays(void **state)
{
    hello(1);
    struct job_spec held = a_job("held");
    held.hold = true;
    uint64_t id = submit(held), unknown = id + 100;
    const struct past_key key[] = {
        {.table = TABLE_STEP, .id = id, .attempt = 1},
        {.table = TABLE_PAYLOAD, .id = id},
        {.table = TABLE_JOB, .id = id},
        {.table = TABLE_JOB, .id = unknown, .het_job_id = id},
        {.table = TABLE_STEP, .id = unknown, .attempt = 1},
        {.table = TABLE_PAYLOAD, .id = unknown},
        {.table = TABLE_JOB_RUN, .id = unknown, .attempt = 1},
        {.table = TABLE_JOB_PART, .id = unknown, .second = 5},
        {.table = TABLE_JOB, .id = unknown},
        {.table = TABLE_TRANSACTION, .id = id},
        {.table = TABLE_NODE_SPELL, .name = "n1", .second = 7},
        {.table = TABLE_PAST_RESERVATION, .name = "r1", .second = 7},
    };
    remove_rows(key, ARRAY_LEN(key));
    assert_int_equal(removed(TABLE_JOB), 1);
    assert_int_equal(removed(TABLE_STEP), 1);
    assert_int_equal(removed(TABLE_PAYLOAD), 1);
    assert_int_equal(removed(TABLE_JOB_RUN), 1);
    assert_int_equal(removed(TABLE_JOB_PART), 1);
    assert_int_equal(removed(TABLE_TRANSACTION), 1);
    assert_int_equal(removed(TABLE_NODE_SPELL), 1);
    assert_int_equal(removed(TABLE_PAST_RESERVATION), 1);
    assert_true(waits(id));
}

static void test_elements_of_an_array_that_waits_stay(void **state)
{
    hello(1);
    struct job_spec spec = a_job("array");
    spec.array = "0-3";
    spec.hold = true;
    uint64_t id = submit(spec);
    const struct past_key key[] = {{.table = TABLE_STEP, .id = id + 50, .array_job_id = id},
                                   {.table = TABLE_JOB, .id = id + 50, .array_job_id = id}};
    remove_rows(key, ARRAY_LEN(key));
    assert_int_equal(removed(TABLE_JOB) + removed(TABLE_STEP), 0);
}

/* A job that came again: its former run goes, and nothing else of it. */
static void test_former_runs_go(void **unused)
{
    hello(1);
    uint64_t id = submit(a_job("again"));
    assert_int_equal(state(id), JOB_RUNNING);
    const struct past_key key[] = {{.table = TABLE_STEP, .id = id, .attempt = 1},
                                   {.table = TABLE_JOB_PART, .id = id, .attempt = 1, .second = 5},
                                   {.table = TABLE_JOB_RUN, .id = id, .attempt = 1},
                                   {.table = TABLE_PAYLOAD, .id = id},
                                   {.table = TABLE_JOB, .id = id}};
    remove_rows(key, ARRAY_LEN(key)); /* it runs */
    assert_int_equal(removed(TABLE_STEP) + removed(TABLE_JOB_PART) + removed(TABLE_JOB_RUN), 0);
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE_HOLD), REFUSE_NONE);
    script_ends(id, 15);
    assert_int_equal(state(id), JOB_PENDING);
    remove_rows(key, ARRAY_LEN(key));
    assert_int_equal(removed(TABLE_STEP), 1);
    assert_int_equal(removed(TABLE_JOB_PART), 1);
    assert_int_equal(removed(TABLE_JOB_RUN), 1);
    assert_int_equal(removed(TABLE_PAYLOAD) + removed(TABLE_JOB), 0);
}

static struct job past_job(uint64_t id)
{
    return (struct job){.id = id,
                        .array_task_id = NO_TASK,
                        .state = JOB_COMPLETED,
                        .submit_us = w.now - 9 * DAY,
                        .start_us = w.now - 8 * DAY,
                        .end_us = w.now - 7 * DAY};
}

static enum refusal add(struct job *j, size_t n)
{
    am_root();
    effects_reset(&w.fx);
    say(1, MSG_ADD_PAST, &(struct msg_add_past){.jobs = {j, n}});
    return refusal();
}

static void test_numbers_of_what_comes_are_never_given(void **state)
{
    struct job j[] = {past_job(700), past_job(40)};
    hello(1);
    am_alice();
    assert_int_equal(submit(a_job("one")), 1);
    assert_int_equal(add(j, 2), REFUSE_NONE);
    assert_int_equal(added(TABLE_JOB), 2);
    am_alice();
    assert_int_equal(submit(a_job("two")), 701);
}

static void test_nonsense_does_not_come(void **state)
{
    struct job j[] = {past_job(7), past_job(8)};
    j[1].id = 0;
    assert_int_equal(add(j, 2), REFUSE_UPDATE);
    assert_int_equal(added(TABLE_JOB), 0);
    j[1] = past_job(UINT64_C(1) << 40);
    assert_int_equal(add(j, 2), REFUSE_UPDATE);
    j[1] = past_job(8);
    j[1].state = JOB_RUNNING;
    assert_int_equal(add(j, 2), REFUSE_UPDATE);
    j[1].state = JOB_COMPLETED;
    j[1].end_us = w.now + DAY;
    assert_int_equal(add(j, 2), REFUSE_UPDATE);
    assert_non_null(strstr(answer()->detail, "job 8: "));
    j[1] = past_job(8);
    assert_int_equal(add(j, 2), REFUSE_NONE);
    struct step nobodys = {.job_id = 0};
    say(1, MSG_ADD_PAST, &(struct msg_add_past){.steps = {&nobodys, 1}});
    assert_int_equal(refusal(), REFUSE_UPDATE);
}

static void test_ages(void **state)
{
    static const struct {
        const char *text;
        enum age_unit unit;
        int32_t n; /* -1 = refused */
    } cases[] = {{"", AGE_MONTHS, 0},
                 {"NONE", AGE_MONTHS, 0},
                 {"12", AGE_MONTHS, 12},
                 {"12months", AGE_MONTHS, 12},
                 {"1mon", AGE_MONTHS, 1},
                 {"30days", AGE_DAYS, 30},
                 {"48Hours", AGE_HOURS, 48},
                 {"48 hours", AGE_HOURS, 48},
                 {"5weeks", 0, -1},
                 {"-1", 0, -1},
                 {"days", 0, -1},
                 {"99999999999days", 0, -1}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct age age;
        struct err err = {0};
        assert_int_equal(age_parse(cases[i].text, &age, &err), cases[i].n >= 0);
        assert_int_equal(age.n, cases[i].n >= 0 ? cases[i].n : 0);
        assert_int_equal(age.unit, cases[i].n >= 0 ? cases[i].unit : AGE_MONTHS);
    }
}

static void test_a_request_changes_the_rules(void **state)
{
    struct settings s;
    struct past_rule rule[PAST_COUNT];
    struct err err = {0};
    settings_default(&s);
    s.purge_job_after = "12";
    s.archive_txn = true;
    past_rules(&s, rule);
    assert_int_equal(rule[PAST_JOBS].age.n, 12);
    assert_true(rule[PAST_TXN].archive && !rule[PAST_JOBS].archive);
    assert_true(past_rules_change(rule, "jobs=2days,steps=1hours", "jobs,usage", &err));
    assert_int_equal(rule[PAST_JOBS].age.unit, AGE_DAYS);
    assert_int_equal(rule[PAST_STEPS].age.n, 1);
    assert_true(rule[PAST_JOBS].archive && rule[PAST_USAGE].archive);
    assert_true(past_rules_change(rule, "", "", &err));
    assert_false(past_rules_change(rule, "nodes=1days", NULL, &err));
    assert_false(past_rules_change(rule, NULL, "everything", &err));
}

/* ---- what is said afterwards ---- */

/* As the shell asks it: with the rows of what is in the store. */
static enum refusal amend(struct job *rows, size_t n, struct msg_amend_jobs m, struct job values)
{
    const struct record_list read = {rows, n};
    m.values = (struct record_list){&values, 1};
    struct message msg = {.kind = MSG_AMEND_JOBS, .seq = ++w.seq, .body = &m};
    effects_reset(&w.fx);
    step(
        (struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &msg, .rows = &read});
    return refusal();
}

static const struct job *stored_job(uint64_t id)
{
    const struct job *last = NULL;
    for (size_t i = 0; i < w.fx.n; i++) {
        const struct job *j = w.fx.v[i].record;
        if (w.fx.v[i].kind == FX_STORE && w.fx.v[i].table == TABLE_JOB && j->id == id)
            last = j;
    }
    return last;
}

static void test_a_job_that_memory_forgot_is_amended(void **state)
{
    struct job j[] = {past_job(70), past_job(71)};
    j[0].user_id = j[1].user_id = ALICE;
    j[0].spec.comment = "old";
    j[0].spec.extra = "kept";
    am_alice();
    const struct msg_amend_jobs m = {.ids = "70", .fields = "comment,wckey,derived_exit_status"};
    const struct job values = {.spec = {.comment = "new", .extra = "unsaid", .wckey = "k"},
                               .derived_exit_status = 9};
    assert_int_equal(amend(j, 2, m, values), REFUSE_NONE);
    const struct job *now = stored_job(70);
    assert_non_null(now);
    assert_string_equal(now->spec.comment, "new");
    assert_string_equal(now->spec.wckey, "k");
    assert_string_equal(now->spec.extra, "kept");
    assert_int_equal(now->derived_exit_status, 9);
    assert_int_equal(now->end_us, j[0].end_us);
    assert_null(stored_job(71));
}

static void test_all_are_amended_or_none(void **state)
{
    struct job j[] = {past_job(70), past_job(71)};
    struct msg_amend_jobs m = {.ids = "70,71", .fields = "comment"};
    const struct job v = {.spec.comment = "new"};
    j[0].user_id = ALICE;
    j[1].user_id = BOB;
    am_alice();
    assert_int_equal(amend(j, 2, m, v), REFUSE_ACCESS_DENIED);
    assert_non_null(strstr(answer()->detail, "job 71 is another user's"));
    assert_null(stored_job(70));
    am_olga();
    m.test_only = true;
    assert_int_equal(amend(j, 2, m, v), REFUSE_NONE);
    assert_null(stored_job(70));
    m.test_only = false;
    assert_int_equal(amend(j, 1, m, v), REFUSE_INVALID_JOB_ID); /* 71 went meanwhile */
    assert_null(stored_job(70));
    assert_int_equal(amend(j, 2, m, v), REFUSE_NONE);
    assert_non_null(stored_job(70));
    assert_non_null(stored_job(71));
}

static void test_a_thousand_at_once_and_no_more(void **state)
{
    struct job j[] = {past_job(70)};
    const struct job v = {.spec.comment = "new"};
    struct str ids = STR_INIT;
    for (int i = 0; i < AMENDED_AT_ONCE; i++)
        str_add(&ids, i ? ",70" : "70"); /* each counts, again too */
    am_olga();
    struct msg_amend_jobs m = {.ids = str_text(&ids), .fields = "comment"};
    assert_int_equal(amend(j, 1, m, v), REFUSE_NONE);
    assert_non_null(stored_job(70));
    str_add(&ids, ",70");
    m.ids = str_text(&ids);
    assert_int_equal(amend(j, 1, m, v), REFUSE_TOO_LARGE);
    assert_non_null(strstr(answer()->detail, "at most 1,000 jobs at once"));
    assert_null(stored_job(70));
    str_done(&ids);
}

static void test_of_what_memory_knows_the_row_says_nothing(void **state)
{
    hello(1);
    am_alice();
    struct job_spec held = a_job("held");
    held.hold = true;
    uint64_t id = submit(held);
    struct job row = past_job(id);
    row.user_id = BOB;
    am_bob();
    const struct msg_amend_jobs comment = {.ids = "1", .fields = "comment"};
    const struct job mine = {.spec.comment = "mine"};
    assert_int_equal(amend(&row, 1, comment, mine), REFUSE_ACCESS_DENIED);
    am_alice();
    assert_int_equal(amend(&row, 1, (struct msg_amend_jobs){.ids = "1", .fields = "wckey"}, mine),
                     REFUSE_UPDATE);
    assert_int_equal(
        amend(&row, 1, (struct msg_amend_jobs){.ids = "1", .fields = "derived_exit_status"}, mine),
        REFUSE_UPDATE);
    assert_int_equal(amend(&row, 1, comment, mine), REFUSE_NONE);
    assert_string_equal(stored_job(id)->spec.comment, "mine");
    assert_true(waits(id));
    assert_int_equal(amend(&row, 1, (struct msg_amend_jobs){.ids = "1", .fields = "state"}, mine),
                     REFUSE_BAD_MESSAGE);
    char *large = arena_alloc(w.a, 2000);
    memset(large, 'x', 1999);
    assert_int_equal(amend(&row, 1, comment, (struct job){.spec.comment = large}),
                     REFUSE_TOO_LARGE);
    /* A command of before sent its values otherwise: nothing is taken away for that. */
    struct message old = {.kind = MSG_AMEND_JOBS, .seq = ++w.seq, .body = &comment};
    effects_reset(&w.fx);
    step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &old});
    assert_int_equal(refusal(), REFUSE_BAD_MESSAGE);
    assert_null(stored_job(id));
}

/* What is only asked, refused, or an operator's takes nothing of the room of the day; what is done
 * takes what its texts may grow by: of a MiB 204 times. */
static void test_what_is_amended_counts_for_the_day(void **state)
{
    (void)state;
    configure("MaxUserScripts=1\n" CONF);
    hello(1);
    am_alice();
    struct job_spec held = a_job("held");
    held.hold = true;
    assert_int_equal(submit(held), 1);
    struct msg_amend_jobs m = {.ids = "1", .fields = "comment", .test_only = true};
    const struct job v = {.spec.comment = "mine"};
    for (int i = 0; i < 300; i++)
        assert_int_equal(amend(NULL, 0, m, v), REFUSE_NONE);
    m.test_only = false;
    m.fields = "wckey"; /* of one that is not over: refused */
    for (int i = 0; i < 300; i++)
        assert_int_equal(amend(NULL, 0, m, v), REFUSE_UPDATE);
    m.fields = "comment";
    for (int i = 0; i < 204; i++)
        assert_int_equal(amend(NULL, 0, m, v), REFUSE_NONE);
    assert_int_equal(amend(NULL, 0, m, v), REFUSE_TOO_LARGE);
    am_olga();
    assert_int_equal(amend(NULL, 0, m, v), REFUSE_NONE);
}

/* Each field was looked for in the list for each job: 350 ms a request, and a list of 64 KiB in the
 * books for each. */
static void test_what_is_named_again_is_looked_at_once(void **state)
{
    struct str ids = STR_INIT, fields = STR_INIT;
    hello(1);
    am_alice();
    struct job_spec held = a_job("held");
    held.hold = true;
    assert_int_equal(submit(held), 1);
    for (int i = 0; i < 1000; i++) {
        list_addf(&ids, "1");
        list_addf(&fields, i % 2 ? "extra" : "comment");
    }
    struct msg_amend_jobs m = {.ids = str_text(&ids), .fields = str_text(&fields)};
    const struct job v = {.spec = {.comment = "mine", .extra = "more"}};
    assert_int_equal(amend(NULL, 0, m, v), REFUSE_NONE);
    size_t noted = 0;
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_STORE && w.fx.v[i].table == TABLE_TRANSACTION) {
            const struct transaction *t = w.fx.v[i].record;
            assert_string_equal(t->info, "comment,extra");
            noted++;
        }
    assert_int_equal(noted, 1);
    list_addf(&ids, "1");
    m.ids = str_text(&ids);
    assert_int_equal(amend(NULL, 0, m, v), REFUSE_TOO_LARGE);
    str_done(&ids);
    str_done(&fields);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(test_what_memory_knows_stays),
        STORY(test_elements_of_an_array_that_waits_stay),
        STORY(test_former_runs_go),
        STORY(test_numbers_of_what_comes_are_never_given),
        STORY(test_nonsense_does_not_come),
        STORY(test_ages),
        STORY(test_a_request_changes_the_rules),
        STORY(test_a_job_that_memory_forgot_is_amended),
        STORY(test_all_are_amended_or_none),
        STORY(test_a_thousand_at_once_and_no_more),
        STORY(test_of_what_memory_knows_the_row_says_nothing),
        STORY(test_what_is_amended_counts_for_the_day),
        STORY(test_what_is_named_again_is_looked_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
