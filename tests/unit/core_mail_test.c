/* --mail-type: who is told what, and when. */
#include "core_help.h"

#include "model/job/pattern.h"
#include "model/limits.h"

#define ALL_ENDS (MAIL_END | MAIL_FAIL)

static struct job_spec mailing(uint32_t types)
{
    struct job_spec s = a_job("train");
    s.mail_types = types;
    return s;
}

static void nobody_is_told_who_did_not_ask(void **unused)
{
    uint64_t id = submit(a_job("train"));
    assert_int_equal(mails(), 0);
    script_ends(id, 0);
    assert_int_equal(mails(), 0);
}

static void a_beginning_and_an_end(void **unused)
{
    uint64_t id = submit(mailing(MAIL_BEGIN | ALL_ENDS));
    assert_int_equal(mails(), 1);
    assert_string_equal(mail(0)->to, "alice");
    assert_string_equal(mail(0)->subject,
                        arena_printf(w.a,
                                     "Slurm Job_id=%llu Name=train Began, Queued time 00:00:00",
                                     (unsigned long long)id));
    assert_non_null(strstr(mail(0)->body, "alice"));
    assert_non_null(strstr(
        mail(0)->body, arena_printf(w.a, "Output: /tmp/slurm-%llu.out\n", (unsigned long long)id)));
    pass(62 * SEC);
    assert_int_equal(mails(), 0);
    script_ends(id, 0);
    assert_int_equal(mails(), 1);
    assert_string_equal(
        mail(0)->subject,
        arena_printf(w.a,
                     "Slurm Job_id=%llu Name=train Ended, Run time 00:01:02, COMPLETED, ExitCode 0",
                     (unsigned long long)id));
}

/* Each mail of a wide array has it, all of them in one turn. */
static void a_path_is_shown_by_its_head(void **unused)
{
    char *name = arena_alloc(w.a, LIMIT_JOB_NAME_BYTES + 1);
    struct job_spec s = mailing(MAIL_BEGIN);
    memset(name, '\x01', LIMIT_JOB_NAME_BYTES);
    name[LIMIT_JOB_NAME_BYTES] = '\0';
    s.name = name;
    s.std_out = "/d/%x%x%x%x%x%x%x%x%x%x";
    submit(s);
    const char *shown = strstr(mail(0)->body, "Output: /d/\\x01\\x01");
    assert_non_null(shown);
    assert_in_range(strcspn(shown, "\n"), 1000, 4200);
}

/* A friendly first line; what a name grows to is bounded where it is opened. */
static void a_name_that_no_node_could_open_is_refused(void **unused)
{
    char *path = arena_alloc(w.a, PATTERN_NAME_MAX + 1);
    memset(path, 'x', PATTERN_NAME_MAX);
    path[0] = '/';
    path[PATTERN_NAME_MAX] = '\0';
    for (int which = 0; which < 4; which++) {
        struct job_spec s = a_job("train");
        *(const char **[]){&s.std_out, &s.std_err, &s.std_in, &s.work_dir}[which] = path;
        assert_int_equal(submit(s), 0);
        assert_int_equal(refusal(), REFUSE_TOO_LARGE);
    }
    path[PATTERN_NAME_MAX - 1] = '\0';
    struct job_spec s = a_job("train");
    s.std_out = s.std_err = s.std_in = path;
    assert_true(submit(s) > 0);
}

static void time_in_the_queue_is_told(void **unused)
{
    struct job_spec s = mailing(MAIL_BEGIN);
    s.hold = true;
    s.mail_user = "team@example.org";
    uint64_t id = submit(s);
    pass(5 * SEC);
    assert_int_equal(control(ids_of(id), ACTION_RELEASE), REFUSE_NONE);
    assert_int_equal(mails(), 1);
    assert_string_equal(mail(0)->to, "team@example.org");
    assert_non_null(strstr(mail(0)->subject, "Began, Queued time 00:00:05"));
}

static void failures_are_told_apart(void **unused)
{
    uint64_t id = submit(mailing(MAIL_FAIL));
    pass(SEC);
    script_ends(id, status_of_code(3));
    assert_int_equal(mails(), 1);
    assert_non_null(strstr(mail(0)->subject, "Failed, Run time 00:00:01, FAILED, ExitCode 3"));
    id = submit(mailing(MAIL_FAIL));
    script_ends(id, 0);
    assert_int_equal(mails(), 0);
    id = submit(mailing(ALL_ENDS));
    script_ends(id, 9);
    assert_int_equal(mails(), 1);
    assert_non_null(strstr(mail(0)->subject, "Failed, Run time 00:00:00, FAILED, ExitSignal 9"));
}

static void a_requeue_and_a_dependency_that_cannot_be_kept(void **unused)
{
    uint64_t id = submit(mailing(MAIL_REQUEUE));
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
    script_ends(id, 15);
    assert_int_equal(mails(), 1);
    assert_non_null(strstr(mail(0)->subject, "Requeued"));
    uint64_t first = submit(a_job("first"));
    struct job_spec s = mailing(MAIL_INVALID_DEPEND);
    s.dependency = arena_printf(w.a, "afterok:%llu", (unsigned long long)first);
    submit(s);
    script_ends(first, status_of_code(1));
    assert_int_equal(mails(), 1);
    assert_non_null(strstr(mail(0)->subject, "Invalid dependency"));
}

static void limits_come_nearer(void **unused)
{
    submit(mailing(MAIL_TIME_LIMIT | MAIL_TIME_LIMIT_50 | MAIL_TIME_LIMIT_80 | MAIL_TIME_LIMIT_90));
    pass(5 * MIN);
    assert_int_equal(mails(), 1);
    assert_non_null(strstr(mail(0)->subject, "Reached 50% of time limit, Run time 00:05:00"));
    pass(3 * MIN);
    assert_int_equal(mails(), 1);
    assert_non_null(strstr(mail(0)->subject, "Reached 80% of time limit"));
    pass(MIN);
    assert_non_null(strstr(mail(0)->subject, "Reached 90% of time limit"));
    pass(MIN);
    assert_int_equal(mails(), 1);
    assert_non_null(strstr(mail(0)->subject, "Reached time limit, Run time 00:10:00"));
}

/* ---- arrays ---- */

static struct job_spec array_of(const char *tasks, uint32_t types)
{
    struct job_spec s = mailing(types);
    s.array = tasks;
    return s;
}

static uint64_t element(uint64_t array, uint32_t task)
{
    return job_named(arena_printf(w.a, "%llu_%u", (unsigned long long)array, task))->id;
}

static void an_array_begins_once_and_ends_once(void **unused)
{
    uint64_t id = submit(array_of("0-3%1", MAIL_BEGIN | ALL_ENDS));
    assert_int_equal(mails(), 1);
    assert_string_equal(
        mail(0)->subject,
        arena_printf(
            w.a, "Slurm Array Summary Job_id=%llu_* (%llu) Name=train Began, Queued time 00:00:00",
            (unsigned long long)id, (unsigned long long)id));
    for (uint32_t task = 0; task < 3; task++) {
        pass(SEC);
        script_ends(element(id, task), status_of_code(task == 1 ? 2 : 0));
        assert_int_equal(mails(), 0);
        /* What ended is forgotten long before the array ends. */
        pass(400 * SEC);
        assert_int_equal(mails(), 0);
    }
    script_ends(element(id, 3), 0);
    assert_int_equal(mails(), 1);
    assert_string_equal(
        mail(0)->subject,
        arena_printf(
            w.a,
            "Slurm Array Summary Job_id=%llu_* (%llu) Name=train Failed, Mixed, ExitCode [0-2]",
            (unsigned long long)id, (unsigned long long)id));
}

static void an_array_that_ends_well(void **unused)
{
    uint64_t id = submit(array_of("1-2", MAIL_END));
    script_ends(element(id, 2), 0);
    assert_int_equal(mails(), 0);
    script_ends(element(id, 1), 0);
    assert_int_equal(mails(), 1);
    assert_non_null(strstr(mail(0)->subject, "Ended, COMPLETED, ExitCode [0-0]"));
}

static void each_element_is_told_of_when_asked_for(void **unused)
{
    uint64_t id = submit(array_of("1-2", MAIL_END | MAIL_ARRAY_TASKS));
    uint64_t first = element(id, 1);
    script_ends(first, 0);
    assert_int_equal(mails(), 1);
    assert_string_equal(mail(0)->subject,
                        arena_printf(w.a,
                                     "Slurm Array Task Job_id=%llu_1 (%llu) Name=train "
                                     "Ended, Run time 00:00:00, COMPLETED, ExitCode 0",
                                     (unsigned long long)id, (unsigned long long)first));
    script_ends(element(id, 2), 0);
    assert_int_equal(mails(), 1);
}

/* What the job did is told at its end, of an array once for all, of elements each. */
static void ends_say_of_what_more_is_to_be_told(void **unused)
{
    uint64_t id = submit(mailing(MAIL_BEGIN | ALL_ENDS));
    assert_null(mail(0)->about);
    pass(10 * SEC);
    script_ends(id, 0);
    assert_string_equal(mail(0)->about, ids_of(id));
    assert_false(mail(0)->samples_come);
    id = submit(mailing(MAIL_FAIL));
    pass(MIN);
    script_ends(id, status_of_code(3));
    assert_string_equal(mail(0)->about, ids_of(id));
    assert_true(mail(0)->samples_come);
    id = submit(array_of("3-4", MAIL_END));
    script_ends(element(id, 3), 0);
    script_ends(element(id, 4), 0);
    assert_string_equal(mail(0)->about, ids_of(id));
    id = submit(array_of("3-4", MAIL_END | MAIL_ARRAY_TASKS));
    script_ends(element(id, 4), 0);
    assert_string_equal(mail(0)->about, arena_printf(w.a, "%s_4", ids_of(id)));
    struct job_spec s = mailing(ALL_ENDS);
    s.hold = true;
    id = submit(s);
    assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
    assert_null(mail(0)->about);
}

static void an_array_cancelled_before_it_began_ends_once(void **unused)
{
    struct job_spec s = array_of("1-5", ALL_ENDS);
    s.hold = true;
    uint64_t id = submit(s);
    assert_int_equal(cancel(arena_printf(w.a, "%llu_3", (unsigned long long)id)), REFUSE_NONE);
    assert_int_equal(mails(), 0);
    assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
    assert_int_equal(mails(), 1);
    assert_non_null(strstr(mail(0)->subject, "CANCELLED"));
}

static void an_array_whose_dependency_fails_is_told_of_once(void **unused)
{
    uint64_t first = submit(a_job("first"));
    struct job_spec s = array_of("1-5", MAIL_INVALID_DEPEND);
    s.dependency = arena_printf(w.a, "afterok:%llu", (unsigned long long)first);
    submit(s);
    script_ends(first, status_of_code(1));
    assert_int_equal(mails(), 1);
    assert_non_null(strstr(mail(0)->subject, "Slurm Array Summary"));
    assert_non_null(strstr(mail(0)->subject, "Invalid dependency"));
}

static const struct msg_submitted *submitted(void)
{
    for (size_t i = 0; i < w.fx.n; i++)
        if (w.fx.v[i].kind == FX_REPLY && w.fx.v[i].msg.kind == MSG_SUBMITTED)
            return w.fx.v[i].msg.body;
    fail_msg("nothing was submitted");
    return NULL;
}

/* Said when it is asked for, not in the log when it is too late. */
static void who_will_get_none_is_told_at_once(void **unused)
{
    step((struct event){.kind = EV_CONFIG,
                        .config = &w.config,
                        .mail_fault = "/no/mta: No such file or directory"});
    submit(mailing(MAIL_END));
    assert_string_equal(submitted()->warning, "no mail will come of this job: /no/mta: No such "
                                              "file or directory; MailProg or SmtpServer in "
                                              "remuda.conf names what sends it");
    submit(a_job("train"));
    assert_null(submitted()->warning);
    step((struct event){.kind = EV_CONFIG, .config = &w.config});
    submit(mailing(MAIL_END));
    assert_null(submitted()->warning);
}

/* What an earlier life of the controller has sent is not sent again. */
static void parts_of_the_limit_are_told_once_whatever_restarts(void **unused)
{
    uint64_t id = submit(mailing(MAIL_TIME_LIMIT_50 | MAIL_TIME_LIMIT_90));
    size_t told = 0;
    for (int s = 0; s < 7 * 60; s++) {
        pass(SEC);
        told += mails();
    }
    assert_int_equal(told, 1);
    restart(CONF);
    told = mails();
    for (int n = 1; n <= 4; n++) {
        struct held held = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH};
        hello_holding(n, &held, text_is(job(id)->batch_host, arena_printf(w.a, "n%d", n)));
        told += mails();
    }
    for (int s = 0; s < 2 * 60 - 30; s++) {
        pass(SEC);
        told += mails();
    }
    assert_int_equal(told, 0);
    for (int s = 0; s < 45; s++) {
        pass(SEC);
        told += mails();
    }
    assert_int_equal(told, 1); /* at 90 percent */
}

static size_t minutes_pass(int n)
{
    size_t told = 0;
    for (int s = 0; s < n * 60; s++) {
        pass(SEC);
        told += mails();
    }
    return told;
}

/* One that was suspended at the restart was told all that it had been told before once more as it
 * went on, and warned again. */
static void nor_are_they_of_one_that_was_suspended(void **unused)
{
    for (int ran = 1; ran < 10; ran++) {
        struct job_spec s = mailing(MAIL_TIME_LIMIT_50 | MAIL_TIME_LIMIT_80 | MAIL_TIME_LIMIT_90);
        s.signal = 10;
        s.signal_before_us = 5 * MIN + 30 * SEC;
        uint64_t id = submit(s);
        size_t told = minutes_pass(ran);
        assert_int_equal(told, (ran >= 5) + (ran >= 8) + (ran >= 9));
        am_root();
        assert_int_equal(control(ids_of(id), ACTION_SUSPEND), REFUSE_NONE);
        told += minutes_pass(7);
        restart(CONF);
        told += mails();
        for (int n = 1; n <= 4; n++) {
            struct held held = {.job_id = id, .attempt = 1, .step_id = STEP_BATCH};
            hello_holding(n, &held, text_is(job(id)->batch_host, arena_printf(w.a, "n%d", n)));
            told += mails();
        }
        am_root();
        assert_int_equal(control(ids_of(id), ACTION_RESUME), REFUSE_NONE);
        pass(SEC);
        size_t signals = sent(FX_SEND, MSG_SIGNAL);
        assert_int_equal(told + mails(), (ran >= 5) + (ran >= 8) + (ran >= 9));
        assert_int_equal(signals, 0);
        told += mails() + minutes_pass(10 - ran);
        assert_int_equal(told, 3);
        script_ends(id, 0);
        am_alice();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(nobody_is_told_who_did_not_ask),
        STORY(a_beginning_and_an_end),
        STORY(a_path_is_shown_by_its_head),
        STORY(a_name_that_no_node_could_open_is_refused),
        STORY(time_in_the_queue_is_told),
        STORY(who_will_get_none_is_told_at_once),
        STORY(failures_are_told_apart),
        STORY(a_requeue_and_a_dependency_that_cannot_be_kept),
        STORY(limits_come_nearer),
        STORY(an_array_begins_once_and_ends_once),
        STORY(an_array_that_ends_well),
        STORY(each_element_is_told_of_when_asked_for),
        STORY(ends_say_of_what_more_is_to_be_told),
        STORY(an_array_cancelled_before_it_began_ends_once),
        STORY(an_array_whose_dependency_fails_is_told_of_once),
        STORY(parts_of_the_limit_are_told_once_whatever_restarts),
        STORY(nor_are_they_of_one_that_was_suspended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
