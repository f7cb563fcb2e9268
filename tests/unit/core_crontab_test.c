/* Tables for scrontab: what becomes of their jobs, whatever happens to them. */
#include "core_crontab_help.h"
#include "core_tree.h"

#include "model/limits.h"

static const char *text_of(uint32_t uid)
{
    say(1, MSG_GET_CRONTAB, &(struct msg_get_crontab){.user_plus1 = uid + 1});
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_CRONTAB)
            return ((const struct msg_crontab *)w.fx.v[i].msg.body)->text;
    return "refused";
}

static int64_t minute_after(int64_t us)
{
    return us - us % MIN + MIN;
}

static void pass_to(int64_t us)
{
    assert_true(us >= w.now);
    pass(us - w.now);
}

static size_t former_runs(uint64_t id)
{
    size_t n = 0;
    for (size_t i = 0; i < w.store.n; i++)
        n += w.store.v[i].table == TABLE_JOB_RUN &&
             ((const struct job *)w.store.v[i].record)->id == id;
    return n;
}

/* What a table has no more, who changed it has ended. */
static void who_takes_an_entry_out_has_ended_its_job(void **state_)
{
    begin();
    assert_int_equal(set("", NULL, 0), REFUSE_NONE);
    for (uint64_t id = 1; id <= 2; id++) {
        assert_int_equal(state(id), JOB_CANCELLED);
        assert_int_equal(job(id)->killed_by_uid_plus1, ALICE + 1);
    }
}

static void a_job_waits_runs_and_waits_again(void **state_)
{
    begin();
    int64_t due = minute_after(w.now);
    assert_int_equal(state(1), JOB_PENDING);
    assert_int_equal(job(1)->reason, REASON_BEGIN_TIME);
    assert_true(job(1)->spec.begin_us == due);
    assert_non_null(strstr(why_one(1)->because, "line 1 of its owner's scrontab"));
    pass_to(due - 1);
    assert_int_equal(state(1), JOB_PENDING);
    pass_to(due);
    assert_int_equal(state(1), JOB_RUNNING);
    assert_true(job(1)->eligible_us == due);
    pass(10 * SEC);
    script_ends(1, 0);
    assert_int_equal(state(1), JOB_PENDING);
    assert_int_equal(job(1)->restarts, 1);
    assert_true(job(1)->spec.begin_us == due + MIN && job(1)->cron_ran_us == due);
    assert_true(job(1)->submit_us == due + 10 * SEC);
    assert_int_equal(former_runs(1), 1);
    pass_to(due + MIN);
    assert_int_equal(state(1), JOB_RUNNING);
}

/* It ends after its next time has come: that one is left out. */
static void what_was_due_meanwhile_is_left_out(void **state_)
{
    begin();
    int64_t due = minute_after(w.now);
    pass_to(due);
    pass(100 * SEC);
    script_ends(1, 256);
    assert_int_equal(state(1), JOB_PENDING);
    assert_true(job(1)->spec.begin_us == due + 2 * MIN);
}

static void however_a_run_ends_it_comes_again(void **state_)
{
    begin();
    pass_to(minute_after(w.now));
    pass(11 * MIN); /* its limit */
    report(job(1)->batch_host[1] - '0',
           (struct msg_report){.kind = REPORT_RELEASED, .job_id = 1, .attempt = 1});
    assert_int_equal(state(1), JOB_PENDING);
    assert_string_equal(text_of(ALICE), TABLE);
    for (int run = 2; run < 12; run++) { /* more often than any other may fail */
        pass_to(minute_after(w.now));
        assert_int_equal(state(1), JOB_RUNNING);
        report(job(1)->batch_host[1] - '0', (struct msg_report){.kind = REPORT_FAILED,
                                                                .job_id = 1,
                                                                .attempt = job(1)->attempt,
                                                                .step_id = STEP_BATCH,
                                                                .retry = true,
                                                                .detail = "no such user"});
        if (state(1) != JOB_PENDING)
            report(job(1)->batch_host[1] - '0', (struct msg_report){.kind = REPORT_RELEASED,
                                                                    .job_id = 1,
                                                                    .attempt = job(1)->attempt});
        assert_int_equal(state(1), JOB_PENDING);
        assert_false(job(1)->spec.hold);
    }
}

static void who_requeues_one_lets_it_wait_for_its_next_time(void **state_)
{
    begin();
    int64_t due = minute_after(w.now);
    pass_to(due);
    assert_int_equal(control("1", ACTION_REQUEUE), REFUSE_NONE);
    report(job(1)->batch_host[1] - '0',
           (struct msg_report){.kind = REPORT_RELEASED, .job_id = 1, .attempt = 1});
    assert_int_equal(state(1), JOB_PENDING);
    assert_true(job(1)->spec.begin_us == due + MIN);
    pass(SEC);
    assert_int_equal(state(1), JOB_PENDING);
}

static void who_cancels_one_takes_its_lines_out(void **state_)
{
    begin();
    assert_int_equal(cancel("2"), REFUSE_NONE);
    assert_int_equal(state(2), JOB_CANCELLED);
    assert_string_equal(text_of(ALICE), "#SCRON -t 10\n* * * * * a\n\n#DISABLED: @hourly b\n");
    pass_to(minute_after(w.now));
    assert_int_equal(cancel("1"), REFUSE_NONE);
    report(job(1)->batch_host[1] - '0',
           (struct msg_report){.kind = REPORT_RELEASED, .job_id = 1, .attempt = 1});
    assert_int_equal(state(1), JOB_CANCELLED);
    assert_string_equal(text_of(ALICE), "#DISABLED: #SCRON -t 10\n#DISABLED: * * * * * a\n\n"
                                        "#DISABLED: @hourly b\n");
    restart(CONF);
    assert_string_equal(text_of(ALICE), "#DISABLED: #SCRON -t 10\n#DISABLED: * * * * * a\n\n"
                                        "#DISABLED: @hourly b\n");
    pass(2 * USEC_PER_HOUR);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "PENDING"}), 0);
}

/* While its epilog runs. */
static void one_that_is_just_ending_is_cancelled_too(void **state_)
{
    begin();
    pass_to(minute_after(w.now));
    int n = job(1)->batch_host[1] - '0';
    report(n, (struct msg_report){
                  .kind = REPORT_EXITED, .job_id = 1, .attempt = 1, .step_id = STEP_BATCH});
    assert_int_equal(state(1), JOB_COMPLETING);
    assert_int_equal(cancel("1"), REFUSE_NONE);
    report(n, (struct msg_report){.kind = REPORT_RELEASED, .job_id = 1, .attempt = 1});
    assert_int_equal(state(1), JOB_COMPLETED);
    assert_string_equal(text_of(ALICE),
                        "#DISABLED: #SCRON -t 10\n#DISABLED: * * * * * a\n\n@hourly b\n");
}

static void a_signal_is_no_end(void **state_)
{
    begin();
    pass_to(minute_after(w.now));
    say(1, MSG_CANCEL, &(struct msg_cancel){.ids = "1", .signal = 10});
    assert_int_equal(refusal(), REFUSE_NONE);
    script_ends(1, 0);
    assert_int_equal(state(1), JOB_PENDING);
    assert_string_equal(text_of(ALICE), TABLE);
}

static void cron_is_to_be_said_where_the_site_wants_it(void **state_)
{
    configure(CONF "ScronParameters=enable,explicit_scancel\n");
    begin();
    assert_int_equal(cancel("1"), REFUSE_CRON_CANCEL);
    say(1, MSG_CANCEL, &(struct msg_cancel){.uids = "1000"});
    assert_int_equal(state(1), JOB_PENDING);
    say(1, MSG_CANCEL, &(struct msg_cancel){.ids = "1", .cron = true});
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(state(1), JOB_CANCELLED);
}

static void scontrol_does_not_change_one(void **state_)
{
    begin();
    struct job_spec values = {.name = "other"};
    assert_int_equal(control("1", ACTION_HOLD), REFUSE_CRON_CHANGE);
    assert_int_equal(control("1", ACTION_TOP), REFUSE_CRON_CHANGE);
    assert_int_equal(control("1", ACTION_RELEASE), REFUSE_CRON_CHANGE);
    assert_int_equal(control("1", ACTION_REQUEUE), REFUSE_JOB_PENDING);
    am_root();
    say(1, MSG_UPDATE_JOB,
        &(struct msg_update_job){.ids = "1", .fields = "name", .values = {&values, 1}});
    assert_int_equal(refusal(), REFUSE_CRON_CHANGE);
}

static void a_new_table_takes_the_place_of_the_old(void **state_)
{
    begin();
    pass_to(minute_after(w.now));
    assert_int_equal(state(1), JOB_RUNNING);
    struct cron_entry one[] = {{.cron = "*/5 * * * *"}};
    assert_int_equal(set("*/5 * * * * c\n", one, 1), REFUSE_NONE);
    assert_int_equal(state(1), JOB_RUNNING);
    assert_int_equal(state(2), JOB_CANCELLED);
    assert_int_equal(state(3), JOB_PENDING);
    assert_string_equal(text_of(ALICE), "*/5 * * * * c\n");
    script_ends(1, 0);
    assert_int_equal(state(1), JOB_COMPLETED); /* it is not of the new one */
    assert_string_equal(text_of(ALICE), "*/5 * * * * c\n");
    assert_int_equal(set(NULL, NULL, 0), REFUSE_NONE);
    assert_int_equal(state(3), JOB_CANCELLED);
    assert_null(text_of(ALICE));
    restart(CONF);
    assert_null(text_of(ALICE));
}

static void one_bad_line_changes_nothing(void **state_)
{
    begin();
    uint64_t hash = core_hash(w.c);
    struct job_spec nowhere = a_job("x"), array = a_job("y"), after = a_job("z");
    nowhere.req.partition = "nowhere";
    array.array = "1-3";
    after.dependency = "afterok:1";
    struct cron_entry bad[] = {
        {.cron = "* * * * *"},
        {.cron = "* * * * *", .spec = {&nowhere, 1}},
        {.cron = "99 * * * *"},
        {.cron = "* * * * *", .spec = {&array, 1}},
        {.cron = "* * * * *", .spec = {&after, 1}},
    };
    assert_int_equal(set("bad", bad, 5), REFUSE_INVALID_PARTITION);
    const struct result *result = answer()->results.v;
    assert_int_equal(answer()->results.n, 4);
    assert_string_equal(result[0].ref, "2");
    assert_string_equal(result[1].ref, "3");
    assert_non_null(strstr(result[1].detail, "minute \"99\""));
    assert_true(core_hash(w.c) == hash);
    assert_string_equal(text_of(ALICE), TABLE);
    assert_int_equal(set("a\x1b[2J", bad, 1), REFUSE_TOO_LARGE);
    assert_int_equal(set(NULL, bad, 1), REFUSE_BAD_MESSAGE);
    struct cron_entry *many = xcalloc(LIMIT_CRONTAB_ENTRIES + 1, sizeof *many);
    for (size_t i = 0; i <= LIMIT_CRONTAB_ENTRIES; i++)
        many[i].cron = "@daily";
    assert_int_equal(set("x", many, LIMIT_CRONTAB_ENTRIES + 1), REFUSE_TOO_LARGE);
    free(many);
    assert_string_equal(text_of(ALICE), TABLE);
}

/* The entries that go make room for those that come. */
static void limits_count_the_new_table_alone(void **state_)
{
    struct cron_entry three[3] = {0}, four[4] = {0};
    for (int i = 0; i < 4; i++)
        four[i].cron = three[i % 3].cron = "@daily";
    assert_int_equal(limit_set("physics/alice", "MaxSubmitJobs=3"), REFUSE_NONE);
    assert_int_equal(set("3", three, 3), REFUSE_NONE);
    assert_int_equal(set("3 again", three, 3), REFUSE_NONE);
    assert_int_equal(set("4", four, 4), REFUSE_PARTITION_LIMIT);
    assert_int_equal(answer()->results.n, 1);
    assert_string_equal(text_of(ALICE), "3 again");
    assert_int_equal(submit(a_job("fourth")), 0);
    assert_int_equal(set(NULL, NULL, 0), REFUSE_NONE);
    assert_true(submit(a_job("first")) > 0);
    assert_int_equal(set("3", three, 3), REFUSE_PARTITION_LIMIT);
}

static void a_restart_forgets_nothing(void **state_)
{
    begin();
    int64_t due = minute_after(w.now);
    restart(CONF);
    assert_true(job(1)->spec.begin_us == due);
    assert_non_null(strstr(why_one(1)->because, "line 1 of its owner's scrontab"));
    assert_string_equal(text_of(ALICE), TABLE);
    core_free(w.c); /* away while it is due, twice */
    effects_reset(&w.fx);
    w.now = due + 90 * SEC;
    start_controller(CONF);
    for (int n = 1; n <= 4; n++)
        hello(n);
    assert_int_equal(state(1), JOB_RUNNING); /* once */
    script_ends(1, 0);
    assert_int_equal(state(1), JOB_PENDING);
    assert_true(job(1)->spec.begin_us == due + 2 * MIN);
}

static void tick(int64_t by_us, int64_t set_us)
{
    static int64_t mono;
    mono = mono ? mono + by_us : 1000 * SEC;
    w.now += by_us + set_us;
    effects_reset(&w.fx);
    step((struct event){.kind = EV_WAKE, .mono_us = mono});
    settle(0);
}

static void a_clock_that_is_set_neither_stops_nor_repeats_it(void **state_)
{
    tick(0, 0);
    begin();
    int64_t due = minute_after(w.now);
    tick(due - w.now, 0);
    script_ends(1, 0);
    tick(SEC, -10 * MIN); /* it has run for all these */
    assert_true(job(1)->spec.begin_us == due + MIN);
    tick(SEC, -USEC_PER_DAY); /* it was a day ahead: it does not wait for a day */
    assert_true(job(1)->spec.begin_us == minute_after(w.now));
    tick(SEC, 2 * USEC_PER_HOUR);
    assert_int_equal(state(1), JOB_RUNNING);
    assert_int_equal(state(2), JOB_RUNNING);
}

static void a_zone_counts(void **state_)
{
    struct cron_entry one[] = {{.cron = "30 12 * * *"}};
    assert_int_equal(set("30 12 * * * x\n", one, 1), REFUSE_NONE);
    int64_t by_utc = job(1)->spec.begin_us;
    w.config.zone = "0:3600";
    effects_reset(&w.fx);
    step((struct event){.kind = EV_CONFIG, .config = &w.config});
    settle(0);
    int64_t by_east = job(1)->spec.begin_us;
    assert_true(by_east == by_utc - USEC_PER_HOUR || by_east == by_utc + 23 * USEC_PER_HOUR);
    w.config.zone = NULL;
}

static void the_dead_of_a_run_are_seen_by_dependents(void **state_)
{
    begin();
    struct job_spec after = a_job("after");
    after.dependency = "afternotok:1";
    assert_int_equal(submit(after), 3);
    pass_to(minute_after(w.now));
    script_ends(1, 256);
    assert_int_equal(state(1), JOB_PENDING);
    assert_int_equal(state(3), JOB_RUNNING);
}

static void each_run_has_its_mails(void **state_)
{
    struct job_spec spec = a_job("mails");
    spec.mail_types = MAIL_END | MAIL_REQUEUE;
    struct cron_entry one[] = {{.cron = "* * * * *", .spec = {&spec, 1}}};
    assert_int_equal(set("* * * * * x\n", one, 1), REFUSE_NONE);
    for (int i = 0; i < 2; i++) {
        pass_to(minute_after(w.now));
        script_ends(1, 0);
        assert_int_equal(mails(), 1);
        assert_non_null(strstr(mail(0)->subject, "Ended"));
    }
}

static void who_may(void **state_)
{
    begin();
    am_bob();
    assert_string_equal(text_of(ALICE), "refused");
    assert_null(text_of(BOB));
    assert_int_equal(set(NULL, NULL, 0), REFUSE_NONE); /* his own */
    am_olga();
    assert_string_equal(text_of(ALICE), TABLE);
    configure(CONF "ScronParameters=disable\n");
    am_bob();
    struct cron_entry one[] = {{.cron = "@daily"}};
    assert_int_equal(set("@daily x\n", one, 1), REFUSE_DISABLED);
    am_alice();
    assert_string_equal(text_of(ALICE), TABLE);
    assert_int_equal(set(NULL, NULL, 0), REFUSE_NONE);
    assert_int_equal(state(1), JOB_CANCELLED);
}

/* What looks at scripts, a submit filter among them, may see nothing behind it: a shell runs that. */
static void a_script_with_a_nul_is_none(void **unused)
{
    (void)unused;
    struct job_spec s = a_job("hides");
    struct msg_submit m = {.specs = {&s, 1}, .script = {"#!/bin/bash\n:\n\0\nid\n", 19}};
    struct cron_entry two[] = {{.cron = "@daily"}, {.cron = "@daily", .script = m.script}};
    say(1, MSG_SUBMIT, &m);
    assert_int_equal(refusal(), REFUSE_SCRIPT);
    m.test_only = true;
    say(1, MSG_SUBMIT, &m);
    assert_int_equal(refusal(), REFUSE_SCRIPT);
    assert_int_not_equal(set("@daily a\n@daily b\n", two, 2), REFUSE_NONE);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 0);
}

/* Who reads it would read on in what lies behind it. */
static void an_environment_that_nothing_ends_is_none(void **unused)
{
    (void)unused;
    struct job_spec s = a_job("reads on");
    struct msg_submit m = {.specs = {&s, 1}, .script = {"#!/bin/sh\n", 10}, .env = {"A=x", 3}};
    struct cron_entry two[] = {{.cron = "@daily"}, {.cron = "@daily", .env = m.env}};
    say(1, MSG_SUBMIT, &m);
    assert_int_equal(refusal(), REFUSE_BAD_MESSAGE);
    assert_int_not_equal(set("@daily a\n@daily b\n", two, 2), REFUSE_NONE);
    m.env.len = 4;
    say(1, MSG_SUBMIT, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 1);
}

/* Due in 2027 and then in eleven years, which is no reason to lose it at the next start. */
static void what_is_due_in_many_years_waits_for_it(void **unused)
{
    (void)unused;
    struct cron_entry one[] = {{.cron = "0 0 */31 2 1"}, {.cron = "0 0 29 2 */7"}};
    w.now = INT64_C(1801526400) * SEC; /* 2027-02-02 */
    assert_int_equal(set("0 0 */31 2 1 a\n0 0 29 2 */7 b\n", one, 2), REFUSE_NONE);
    restart(CONF);
    am_alice();
    assert_true(job(1)->spec.begin_us == INT64_C(2148595200) * SEC); /* 2038-02-01 */
    assert_true(job(2)->spec.begin_us == INT64_C(1961625600) * SEC); /* 2032-02-29 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(who_takes_an_entry_out_has_ended_its_job),
        STORY(a_job_waits_runs_and_waits_again),
        STORY(what_was_due_meanwhile_is_left_out),
        STORY(however_a_run_ends_it_comes_again),
        STORY(who_requeues_one_lets_it_wait_for_its_next_time),
        STORY(who_cancels_one_takes_its_lines_out),
        STORY(one_that_is_just_ending_is_cancelled_too),
        STORY(a_signal_is_no_end),
        STORY(cron_is_to_be_said_where_the_site_wants_it),
        STORY(scontrol_does_not_change_one),
        STORY(a_new_table_takes_the_place_of_the_old),
        STORY(one_bad_line_changes_nothing),
        TREE_STORY(limits_count_the_new_table_alone),
        STORY(a_restart_forgets_nothing),
        STORY(a_clock_that_is_set_neither_stops_nor_repeats_it),
        STORY(a_zone_counts),
        STORY(the_dead_of_a_run_are_seen_by_dependents),
        STORY(each_run_has_its_mails),
        STORY(who_may),
        STORY(a_script_with_a_nul_is_none),
        STORY(an_environment_that_nothing_ends_is_none),
        STORY(what_is_due_in_many_years_waits_for_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
