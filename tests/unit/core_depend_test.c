/* Jobs that wait for others. */
#include "core_depend_help.h"

static void a_job_starts_when_the_other_has_ended_well(void **unused)
{
    uint64_t first = submit(a_job("first")), next = submit_after("next", on("afterok", first));
    assert_int_equal(state(next), JOB_PENDING);
    assert_int_equal(job(next)->reason, REASON_DEPENDENCY);
    script_ends(first, 0);
    assert_int_equal(state(next), JOB_RUNNING);
    assert_null(job(next)->spec.dependency);
}

static void a_job_that_failed_is_never_well(void **unused)
{
    uint64_t first = submit(a_job("first"));
    uint64_t ok = submit_after("ok", on("afterok", first)),
             not_ok = submit_after("notok", on("afternotok", first)),
             any = submit_after("any", on("afterany", first));
    script_ends(first, status_of_code(3));
    assert_int_equal(job(ok)->reason, REASON_DEPENDENCY_NEVER);
    assert_string_equal(job(ok)->spec.dependency,
                        on("afterok", first) ? arena_printf(w.a, "%s(failed)", on("afterok", first))
                                             : "");
    assert_int_equal(state(not_ok), JOB_RUNNING);
    assert_int_equal(state(any), JOB_RUNNING);
}

static void after_waits_for_the_start_and_the_minutes(void **unused)
{
    struct job_spec spec = a_job("first");
    spec.hold = true;
    uint64_t first = submit(spec), soon = submit_after("soon", on("after", first)),
             later = submit_after("later", arena_printf(w.a, "%s+5", on("after", first)));
    assert_int_equal(state(soon), JOB_PENDING);
    control(ids_of(first), ACTION_RELEASE);
    assert_int_equal(state(first), JOB_RUNNING);
    assert_int_equal(state(soon), JOB_RUNNING);
    assert_int_equal(state(later), JOB_PENDING);
    pass(5 * MIN - 1);
    assert_int_equal(state(later), JOB_PENDING);
    pass(1);
    assert_int_equal(state(later), JOB_RUNNING);
}

static void what_became_of_it_cannot_be_asked_for(void **unused)
{
    uint64_t first = submit(a_job("first"));
    struct job_spec spec = a_job("second");
    spec.dependency = arena_printf(w.a, "%s(failed)", on("afterok", first));
    assert_int_equal(submit(spec), 0);
    assert_int_equal(refusal(), REFUSE_DEPENDENCY);
    assert_non_null(strstr(answer()->detail, "\"(failed)\" is what is said"));
}

static void one_of_several_suffices_with_question_marks(void **unused)
{
    uint64_t a = submit(a_job("a")), b = submit(a_job("b"));
    uint64_t all = submit_after("all", arena_printf(w.a, "afterok:%llu:%llu", (unsigned long long)a,
                                                    (unsigned long long)b));
    uint64_t any =
        submit_after("any", arena_printf(w.a, "%s?%s", on("afterok", a), on("afterok", b)));
    script_ends(a, status_of_code(1));
    assert_int_equal(job(all)->reason, REASON_DEPENDENCY_NEVER);
    assert_int_equal(job(any)->reason, REASON_DEPENDENCY);
    script_ends(b, 0);
    assert_int_equal(state(any), JOB_RUNNING);
    assert_int_equal(state(all), JOB_PENDING);
}

static void jobs_nobody_knows_are_refused(void **unused)
{
    assert_int_equal(submit_after("x", "afterok:4711"), 0);
    assert_int_equal(refusal(), REFUSE_DEPENDENCY);
    assert_non_null(strstr(answer()->detail, "4711"));
    assert_int_equal(submit_after("x", "sometime:1"), 0);
    assert_int_equal(refusal(), REFUSE_DEPENDENCY);
}

static void a_running_job_submits_its_successor(void **unused)
{
    uint64_t first = submit(a_job("chain"));
    uint64_t next = submit_after("chain", on("afterok", first)),
             last = submit_after("chain", on("afterok", next));
    script_ends(first, 0);
    assert_int_equal(state(next), JOB_RUNNING);
    assert_int_equal(state(last), JOB_PENDING);
    script_ends(next, 0);
    assert_int_equal(state(last), JOB_RUNNING);
}

static void a_long_chain_is_cancelled_at_once_when_asked_so(void **unused)
{
    uint64_t first = submit(a_job("first")), id = first;
    for (int i = 0; i < 500; i++) {
        struct job_spec spec = a_job("link");
        spec.dependency = on("afterok", id);
        spec.kill_on_invalid_dep = YES;
        id = submit(spec);
    }
    script_ends(first, status_of_code(1));
    assert_int_equal(state(id), JOB_CANCELLED);
    assert_int_equal(job(id)->reason, REASON_DEPENDENCY_NEVER);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 0);
}

static void the_cluster_may_cancel_what_can_never_run(void **unused)
{
    configure(CONF "SchedulerParameters=kill_invalid_depend\n");
    uint64_t first = submit(a_job("first"));
    struct job_spec spec = a_job("stays");
    spec.dependency = on("afterok", first);
    spec.kill_on_invalid_dep = NO;
    uint64_t goes = submit_after("goes", on("afterok", first)), stays = submit(spec);
    script_ends(first, status_of_code(1));
    assert_int_equal(state(goes), JOB_CANCELLED);
    assert_int_equal(state(stays), JOB_PENDING);
}

static void singletons_run_one_after_another(void **unused)
{
    uint64_t a = submit_after("one", "singleton"), b = submit_after("one", "singleton"),
             c = submit_after("one", "singleton");
    am_bob();
    uint64_t other = submit_after("one", "singleton");
    assert_int_equal(state(a), JOB_RUNNING);
    assert_int_equal(state(other), JOB_RUNNING);
    assert_int_equal(state(b), JOB_PENDING);
    am_alice();
    cancel(ids_of(b));
    assert_int_equal(state(c), JOB_PENDING);
    script_ends(a, 0);
    assert_int_equal(state(c), JOB_RUNNING);
}

/* A command always gives a name; a frame that somebody wrote need not. */
static void singletons_without_a_name_run_one_after_another_too(void **unused)
{
    struct job_spec spec = a_job(NULL);
    spec.dependency = "singleton";
    uint64_t a = submit(spec), b = submit(spec);
    assert_int_equal(state(a), JOB_RUNNING);
    assert_int_equal(state(b), JOB_PENDING);
    script_ends(a, 0);
    assert_int_equal(state(b), JOB_RUNNING);
}

/* One that was held, or was to wait, while others of its name came: whoever runs is waited for. */
static void a_singleton_runs_beside_nobody_of_its_name(void **unused)
{
    struct job_spec s = a_job("one");
    s.dependency = "singleton";
    s.hold = true;
    uint64_t held = submit(s);
    s.hold = false;
    s.begin_us = w.now + 60 * SEC;
    uint64_t later = submit(s), plain = submit(a_job("one"));
    assert_int_equal(state(plain), JOB_RUNNING);
    control(ids_of(held), ACTION_RELEASE);
    pass(61 * SEC);
    assert_int_equal(state(held), JOB_PENDING);
    assert_int_equal(job(held)->reason, REASON_DEPENDENCY);
    script_ends(plain, 0);
    assert_int_equal(state(held), JOB_RUNNING);
    assert_int_equal(state(later), JOB_PENDING);
    script_ends(held, 0);
    assert_int_equal(state(later), JOB_RUNNING);
    s.begin_us = 0;
    s.dependency = NULL;
    uint64_t sent_back = submit(s);
    script_ends(later, 0);
    s.dependency = "singleton";
    s.hold = true;
    int host = job(sent_back)->batch_host[1] - '0';
    uint64_t last = submit(s);
    assert_int_equal(control(ids_of(sent_back), ACTION_REQUEUE_HOLD), REFUSE_NONE);
    report(host, (struct msg_report){.kind = REPORT_RELEASED, .job_id = sent_back, .attempt = 1});
    control(ids_of(last), ACTION_RELEASE);
    assert_int_equal(state(last), JOB_PENDING); /* an earlier one waits */
    cancel(ids_of(sent_back));
    assert_int_equal(state(last), JOB_RUNNING);
}

/* The elder waits while the younger runs, and no longer once that is sent back. */
static void a_singleton_goes_ahead_of_who_is_sent_back(void **unused)
{
    struct job_spec s = a_job("one");
    s.dependency = "singleton";
    s.hold = true;
    uint64_t elder = submit(s), younger = submit(a_job("one"));
    int host = job(younger)->batch_host[1] - '0';
    control(ids_of(elder), ACTION_RELEASE);
    assert_int_equal(state(elder), JOB_PENDING);
    control(ids_of(younger), ACTION_REQUEUE_HOLD);
    report(host, (struct msg_report){.kind = REPORT_RELEASED, .job_id = younger, .attempt = 1});
    assert_int_equal(state(elder), JOB_RUNNING);
}

static void the_elements_of_a_singleton_run_together(void **unused)
{
    uint64_t array = submit_array("1-3", "singleton");
    for (uint32_t i = 1; i <= 3; i++)
        assert_int_equal(
            job_named(arena_printf(w.a, "%llu_%u", (unsigned long long)array, i))->state,
            JOB_RUNNING);
}

static void a_whole_array_is_waited_for(void **unused)
{
    uint64_t array = submit_array("1-3", NULL);
    uint64_t ok = submit_after("ok", on("afterok", array)),
             any = submit_after("any", on("afterany", array)),
             second =
                 submit_after("2", arena_printf(w.a, "afterok:%llu_2", (unsigned long long)array));
    element_ends(array, 1, 0);
    assert_int_equal(state(any), JOB_PENDING);
    element_ends(array, 2, 0);
    assert_int_equal(state(second), JOB_RUNNING);
    assert_int_equal(state(ok), JOB_PENDING);
    element_ends(array, 3, 0);
    assert_int_equal(state(ok), JOB_RUNNING);
    assert_int_equal(state(any), JOB_RUNNING);
}

static void one_element_that_failed_fails_its_array(void **unused)
{
    uint64_t array = submit_array("1-3", NULL), ok = submit_after("ok", on("afterok", array)),
             not_ok = submit_after("notok", on("afternotok", array));
    element_ends(array, 2, 1);
    assert_int_equal(job(ok)->reason, REASON_DEPENDENCY_NEVER);
    assert_int_equal(state(not_ok), JOB_PENDING);
    element_ends(array, 1, 0);
    pass(301 * SEC);
    element_ends(array, 3, 0);
    assert_int_equal(state(ok), JOB_PENDING);
    assert_int_equal(state(not_ok), JOB_RUNNING);
}

static void elements_correspond(void **unused)
{
    uint64_t first = submit_array("1-4", NULL),
             second = submit_array("1-4", on("aftercorr", first));
    element_ends(first, 2, 0);
    assert_int_equal(element(second, 2)->state, JOB_RUNNING);
    assert_int_equal(element(second, 1)->state, JOB_PENDING);
    element_ends(first, 3, 1);
    assert_int_equal(element(second, 3)->state, JOB_PENDING);
    assert_int_equal(element(second, 3)->reason, REASON_DEPENDENCY_NEVER);
    /* Who comes later finds what was decided already. */
    uint64_t late = submit_array("1-4", on("aftercorr", first));
    assert_int_equal(element(late, 2)->state, JOB_RUNNING);
    assert_int_equal(element(late, 3)->reason, REASON_DEPENDENCY_NEVER);
    assert_int_equal(element(late, 4)->reason, REASON_DEPENDENCY);
    element_ends(first, 1, 0);
    element_ends(first, 4, 0);
    assert_int_equal(element(second, 1)->state, JOB_RUNNING);
    assert_int_equal(element(second, 4)->state, JOB_RUNNING);
    assert_int_equal(element(late, 4)->state, JOB_RUNNING);
}

/* Its elements that waited have no record of their own that could decide. */
static void an_array_that_is_cancelled_as_it_waits_fails_its_counterparts(void **unused)
{
    struct job_spec spec = a_job("many");
    spec.array = "1-4";
    spec.hold = true;
    uint64_t first = submit(spec);
    uint64_t next = submit_array("1-4", on("aftercorr", first));
    uint64_t wider = submit_array("3-6", on("aftercorr", first));
    uint64_t none_well = submit_array("1-4", arena_printf(w.a, "%s_each", on("afternotok", first)));
    am_root();
    cancel(ids_of(first));
    assert_int_equal(job(next)->reason, REASON_DEPENDENCY_NEVER);
    assert_int_equal(job(wider)->reason, REASON_DEPENDENCY_NEVER);
    assert_int_equal(element(none_well, 1)->state, JOB_RUNNING);
    pass(400 * SEC);
    restart(CONF);
    assert_int_equal(job(next)->reason, REASON_DEPENDENCY_NEVER);
    assert_int_equal(state(wider), JOB_PENDING);
}

/* What had ended before decides for its own counterpart, what waited for the others. */
static void the_rest_of_an_array_is_cancelled(void **unused)
{
    struct job_spec spec = a_job("many");
    spec.array = "1-4%1";
    uint64_t first = submit(spec);
    uint64_t next = submit_array("1-4", on("aftercorr", first));
    element_ends(first, 1, 0);
    assert_int_equal(element(next, 1)->state, JOB_RUNNING);
    am_root();
    cancel(ids_of(first));
    script_ends(element(first, 2)->id, 15);
    assert_int_equal(element(next, 1)->state, JOB_RUNNING);
    uint64_t late = submit_array("1-4", on("aftercorr", first));
    assert_int_equal(element(late, 1)->state, JOB_RUNNING);
    for (unsigned task = 2; task <= 4; task++) {
        assert_int_equal(element(next, task)->reason, REASON_DEPENDENCY_NEVER);
        assert_int_equal(element(late, task)->reason, REASON_DEPENDENCY_NEVER);
    }
}

static void an_array_that_waits_starts_as_a_whole(void **unused)
{
    uint64_t first = submit(a_job("first")), array = submit_array("0-9", on("afterok", first));
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS}), 2);
    script_ends(first, 0);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "RUNNING"}), 10);
    assert_null(element(array, 9)->spec.dependency);
}

static void a_failed_job_that_is_requeued_may_still_end_well(void **unused)
{
    uint64_t first = submit(a_job("first")), next = submit_after("next", on("afterok", first));
    script_ends(first, status_of_code(1));
    assert_int_equal(job(next)->reason, REASON_DEPENDENCY_NEVER);
    control(ids_of(first), ACTION_REQUEUE);
    assert_int_equal(state(first), JOB_RUNNING);
    assert_int_equal(job(next)->reason, REASON_DEPENDENCY);
    script_ends(first, 0);
    assert_int_equal(state(next), JOB_RUNNING);
}

/* Of which only the last has been over for less than jobs are remembered. */
static void a_restart_remembers_how_all_of_an_array_ended(void **unused)
{
    (void)unused;
    uint64_t id = submit_array("0-1", NULL);
    element_ends(id, 0, 1);
    pass(60 * MIN);
    element_ends(id, 1, 0);
    restart(CONF);
    hello(1);
    pass(MIN);
    uint64_t after = submit_after("after", on("afterok", id));
    assert_int_equal(job(after)->reason, REASON_DEPENDENCY_NEVER);
    assert_int_equal(state(submit_after("any", on("afterany", id))), JOB_RUNNING);
}

static void a_restart_forgets_no_dependency(void **unused)
{
    uint64_t first = submit(a_job("first")), other = submit(a_job("other"));
    uint64_t next = submit_after(
        "next", arena_printf(w.a, "%s,%s", on("afterok", first), on("afterany", other)));
    uint64_t single = submit_after("first", "singleton");
    uint64_t bad = submit_after("bad", on("afternotok", other));
    script_ends(other, 0);
    restart(CONF);
    for (int n = 1; n <= 4; n++) {
        struct held held = {.job_id = first, .attempt = 1, .step_id = STEP_BATCH};
        hello_holding(n, &held, text_is(job(first)->batch_host, arena_printf(w.a, "n%d", n)));
    }
    assert_int_equal(state(next), JOB_PENDING);
    assert_int_equal(state(single), JOB_PENDING);
    assert_int_equal(job(bad)->reason, REASON_DEPENDENCY_NEVER);
    script_ends(first, 0);
    assert_int_equal(state(next), JOB_RUNNING);
    assert_int_equal(state(single), JOB_RUNNING);
    assert_int_equal(job(bad)->reason, REASON_DEPENDENCY_NEVER);
}

/* One that gets another name waits for jobs of that one, also where the condition comes with it. */
static void a_singleton_gets_another_name(void **unused)
{
    for (int at_once = 0; at_once < 2; at_once++) {
        struct job_spec x = a_job("x"), y = a_job("y"),
                        to = {.name = "x", .dependency = "singleton"};
        uint64_t runs = submit(x), namesake = submit(y);
        y.dependency = at_once ? NULL : "singleton";
        y.hold = at_once;
        uint64_t waits = submit(y);
        assert_int_equal(state(waits), JOB_PENDING);
        struct msg_update_job m = {.ids = ids_of(waits),
                                   .fields = at_once ? "name,dependency" : "name",
                                   .values = {&to, 1}};
        say(1, MSG_UPDATE_JOB, &m);
        assert_int_equal(refusal(), REFUSE_NONE);
        if (at_once)
            assert_int_equal(control(ids_of(waits), ACTION_RELEASE), REFUSE_NONE);
        script_ends(namesake, 0);
        settle(0);
        pass(MIN);
        assert_int_equal(state(waits), JOB_PENDING);
        script_ends(runs, 0);
        settle(0);
        pass(MIN);
        assert_int_equal(state(waits), JOB_RUNNING);
        script_ends(waits, 0);
        settle(0);
        pass(MIN);
    }
}

/* Who waits for the name hears of it when it is another's, not when that was asked for in vain. */
static void a_name_that_was_refused_frees_nobody(void **unused)
{
    struct job_spec first = a_job("x"), held = a_job("held"), to = {.name = "y"};
    first.hold = held.hold = true;
    uint64_t a = submit(first), b = submit_after("x", "singleton"), h = submit(held);
    const char *const refused[] = {on("afterok", 999), on("afterok", a), "after",
                                   on("before", 999)};
    assert_int_equal(state(b), JOB_PENDING);
    struct msg_update_job m = {.ids = ids_of(a), .fields = "name,dependency", .values = {&to, 1}};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        to.dependency = refused[i];
        say(1, MSG_UPDATE_JOB, &m);
        assert_int_not_equal(refusal(), REFUSE_NONE);
        assert_string_equal(job(a)->spec.name, "x");
        assert_int_equal(state(b), JOB_PENDING);
        pass(MIN);
        assert_int_equal(state(b), JOB_PENDING);
    }
    to.dependency = on("afterok", h);
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(state(b), JOB_RUNNING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_job_starts_when_the_other_has_ended_well),
        STORY(a_job_that_failed_is_never_well),
        STORY(after_waits_for_the_start_and_the_minutes),
        STORY(what_became_of_it_cannot_be_asked_for),
        STORY(one_of_several_suffices_with_question_marks),
        STORY(jobs_nobody_knows_are_refused),
        STORY(a_running_job_submits_its_successor),
        STORY(a_long_chain_is_cancelled_at_once_when_asked_so),
        STORY(the_cluster_may_cancel_what_can_never_run),
        STORY(singletons_run_one_after_another),
        STORY(singletons_without_a_name_run_one_after_another_too),
        STORY(a_singleton_runs_beside_nobody_of_its_name),
        STORY(a_singleton_goes_ahead_of_who_is_sent_back),
        STORY(the_elements_of_a_singleton_run_together),
        STORY(a_whole_array_is_waited_for),
        STORY(one_element_that_failed_fails_its_array),
        STORY(elements_correspond),
        STORY(an_array_that_is_cancelled_as_it_waits_fails_its_counterparts),
        STORY(the_rest_of_an_array_is_cancelled),
        STORY(an_array_that_waits_starts_as_a_whole),
        STORY(a_failed_job_that_is_requeued_may_still_end_well),
        STORY(a_restart_remembers_how_all_of_an_array_ended),
        STORY(a_restart_forgets_no_dependency),
        STORY(a_singleton_gets_another_name),
        STORY(a_name_that_was_refused_frees_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
