/* Jobs that wait for others. */
#include "core_help.h"

static const char *on(const char *kind, uint64_t id)
{
    return arena_printf(w.a, "%s:%llu", kind, (unsigned long long)id);
}

static uint64_t submit_after(const char *name, const char *dependency)
{
    struct job_spec spec = a_job(name);
    spec.dependency = dependency;
    return submit(spec);
}

static uint64_t submit_array(const char *indexes, const char *dependency)
{
    struct job_spec spec = a_job("many");
    spec.array = indexes;
    spec.dependency = dependency;
    return submit(spec);
}

static const struct job *element(uint64_t array, unsigned task)
{
    return job_named(arena_printf(w.a, "%llu_%u", (unsigned long long)array, task));
}

static void element_ends(uint64_t array, unsigned task, int code)
{
    const struct job *e = element(array, task);
    report(e->batch_host[1] - '0', (struct msg_report){.kind = REPORT_EXITED,
                                                       .job_id = e->id,
                                                       .attempt = e->attempt,
                                                       .step_id = STEP_BATCH,
                                                       .exit_status = status_of_code(code),
                                                       .clean = true});
}

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

/* ---- expressions ---- */

/* "A" and "B" in it are these jobs. */
static const char *text(const char *form, uint64_t a, uint64_t b)
{
    struct str out = STR_INIT;
    for (; *form; form++)
        if (*form == 'A' || *form == 'B')
            str_addf(&out, "%llu", (unsigned long long)(*form == 'A' ? a : b));
        else
            str_addc(&out, *form);
    const char *kept = arena_strdup(w.a, str_text(&out));
    str_done(&out);
    return kept;
}

static void parentheses_and_not(void **unused)
{
    uint64_t a = submit(a_job("a")), b = submit(a_job("b"));
    uint64_t either = submit_after("x", text("(afterok:A,afterok:B)?afternotok:1", a, b));
    uint64_t unless = submit_after("x", text("!afterok:A,afterany:B", a, b));
    uint64_t at_once = submit_after("x", text("!afterok:A", a, 0));
    assert_int_equal(state(at_once), JOB_RUNNING);
    assert_int_equal(state(unless), JOB_PENDING);
    script_ends(a, 0);
    assert_string_equal(job(either)->spec.dependency,
                        text("afterok:B(unfulfilled)?afternotok:A(failed)", a, b));
    assert_int_equal(job(unless)->reason, REASON_DEPENDENCY_NEVER);
    script_ends(b, status_of_code(1));
    assert_int_equal(job(either)->reason, REASON_DEPENDENCY_NEVER);
}

static void exit_codes(void **unused)
{
    uint64_t a = submit(a_job("a"));
    uint64_t high = submit_after("x", text("exit:A>3", a, 0)),
             low = submit_after("x", text("exit:A<=3", a, 0)),
             other = submit_after("x", text("!exit:A==4", a, 0));
    assert_int_equal(state(other), JOB_RUNNING); /* it has not ended so */
    script_ends(a, status_of_code(4));
    assert_int_equal(state(high), JOB_RUNNING);
    assert_int_equal(job(low)->reason, REASON_DEPENDENCY_NEVER);
    uint64_t well = submit(a_job("b")), never = submit_after("x", text("exit:A>=0", well, 0));
    script_ends(well, 0);
    assert_int_equal(job(never)->reason, REASON_DEPENDENCY_NEVER);
}

/* What has been counted is known after a restart. */
static void elements_are_counted(void **unused)
{
    uint64_t array = submit_array("0-3", NULL);
    uint64_t two = submit_after("two", text("numdone:A>=2", array, 0)),
             all = submit_after("all", text("numended:A==all", array, 0)),
             bad = submit_after("bad", text("numexit:A>1", array, 0));
    element_ends(array, 0, 0);
    element_ends(array, 1, 7);
    assert_int_equal(state(two), JOB_PENDING);
    restart(CONF);
    for (int n = 1; n <= 4; n++) {
        struct held held[2] = {{.step_id = STEP_BATCH}, {.step_id = STEP_BATCH}};
        size_t k = 0;
        for (unsigned i = 2; i < 4; i++) {
            const struct job *e = element(array, i);
            held[k] = (struct held){.job_id = e->id, .attempt = e->attempt, .step_id = STEP_BATCH};
            k += text_is(e->batch_host, arena_printf(w.a, "n%d", n));
        }
        hello_holding(n, held, k);
    }
    element_ends(array, 2, 0);
    assert_int_equal(state(two), JOB_RUNNING);
    assert_int_equal(state(all), JOB_PENDING);
    element_ends(array, 3, 0);
    assert_int_equal(state(all), JOB_RUNNING);
    assert_int_equal(job(bad)->reason, REASON_DEPENDENCY_NEVER);
}

static void held_and_running_elements_are_counted(void **unused)
{
    struct job_spec spec = a_job("held");
    spec.array = "0-3";
    spec.hold = true;
    uint64_t array = submit(spec);
    uint64_t held = submit_after("x", text("numhold:A<3", array, 0)),
             run = submit_after("x", text("numrun:A>=2,numpend:B==0", array, array));
    control(text("A_1", array, 0), ACTION_RELEASE);
    assert_int_equal(state(held), JOB_PENDING);
    control(text("A_2", array, 0), ACTION_RELEASE);
    assert_int_equal(state(held), JOB_RUNNING);
    assert_int_equal(state(run), JOB_RUNNING);
}

/* Each element for its own, whatever is asked of the other. */
static void elements_wait_for_their_counterparts(void **unused)
{
    uint64_t first = submit_array("1-3", NULL);
    uint64_t failed = submit_array("1-3", text("exit:A_each>2", first, 0)),
             begun = submit_array("1-3", text("after:A_each", first, 0));
    assert_int_equal(element(begun, 2)->state, JOB_RUNNING);
    assert_int_equal(submit_array("1-4", text("afterok:A_each", first, 0)), 0);
    assert_non_null(strstr(answer()->detail, "Dependent arrays do not have the same size"));
    assert_int_equal(submit_after("x", text("afterok:A_each", first, 0)), 0);
    element_ends(first, 2, 3);
    assert_int_equal(element(failed, 2)->state, JOB_RUNNING);
    element_ends(first, 1, 0);
    assert_int_equal(element(failed, 1)->reason, REASON_DEPENDENCY_NEVER);
    assert_int_equal(element(failed, 3)->state, JOB_PENDING);
}

/* An array that is over and of which one element failed fails only that one's counterpart. */
static void counterparts_of_an_array_that_is_over(void **unused)
{
    uint64_t first = submit_array("1-3", NULL);
    for (unsigned i = 1; i <= 3; i++)
        element_ends(first, i, i == 2 ? 1 : 0);
    uint64_t next = submit_array("1-3", on("aftercorr", first));
    assert_int_equal(element(next, 1)->state, JOB_RUNNING);
    assert_int_equal(element(next, 2)->reason, REASON_DEPENDENCY_NEVER);
    assert_int_equal(element(next, 3)->state, JOB_RUNNING);
}

/* While others of it live, it is known how those ended that left memory. */
static void elements_that_left_memory(void **unused)
{
    uint64_t first = submit_array("1-3", NULL);
    element_ends(first, 1, 0);
    element_ends(first, 2, 5);
    pass(301 * SEC);
    uint64_t next = submit_array("1-3", on("aftercorr", first));
    assert_int_equal(element(next, 1)->state, JOB_RUNNING);
    assert_int_equal(element(next, 2)->reason, REASON_DEPENDENCY_NEVER);
    assert_int_equal(element(next, 3)->state, JOB_PENDING);
    assert_int_equal(state(submit_after("x", text("numended:A>=2,afternotok:B_2", first, first))),
                     JOB_RUNNING);
    assert_int_equal(submit_after("x", text("exit:A_2>3", first, 0)), 0);
}

/* Scripts keep the number of the job before: it may be over for days. */
static void one_that_is_over_and_forgotten_is_waited_for_no_more(void **unused)
{
    static const char *const kinds[] = {"after", "afterany", "afterok", "afternotok", "aftercorr"};
    uint64_t well = submit(a_job("well")), bad = submit(a_job("bad")),
             many = submit_array("1-2", NULL);
    script_ends(well, 0);
    script_ends(bad, status_of_code(3));
    element_ends(many, 1, 0);
    element_ends(many, 2, 1);
    pass(301 * SEC);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const uint64_t over[] = {well, bad, many};
        for (size_t k = 0; k < ARRAY_LEN(over); k++) {
            uint64_t next = submit_after("next", on(kinds[i], over[k]));
            assert_int_equal(state(next), JOB_RUNNING);
            assert_null(job(next)->spec.dependency);
            script_ends(next, 0);
        }
    }
    assert_int_equal(state(submit_after("x", text("afterok:A_2,after:B+5", many, bad))),
                     JOB_RUNNING);
    /* Of others it waits as before; what has to be known of one is known no more. */
    struct job_spec spec = a_job("held");
    spec.hold = true;
    uint64_t held = submit(spec), next = submit_after("x", text("afterok:A:B", well, held));
    assert_int_equal(job(next)->reason, REASON_DEPENDENCY);
    assert_string_equal(job(next)->spec.dependency, text("afterok:A(unfulfilled)", held, 0));
    assert_int_equal(submit_after("x", text("exit:A>1", bad, 0)), 0);
    assert_int_equal(submit_after("x", text("!afterok:A", bad, 0)), 0);
    assert_int_equal(refusal(), REFUSE_DEPENDENCY);
}

/* PBS: who names it with before… is who it waits for. */
static void on_waits_for_those_that_name_it(void **unused)
{
    uint64_t last = submit_after("last", "on:2");
    assert_string_equal(job(last)->spec.dependency, "on:2(unfulfilled)");
    uint64_t a = submit_after("a", on("beforeok", last));
    assert_int_equal(state(a), JOB_RUNNING);
    assert_null(job(a)->spec.dependency);
    assert_string_equal(job(last)->spec.dependency,
                        text("on:1(unfulfilled),afterok:A(unfulfilled)", a, 0));
    script_ends(a, 0);
    assert_string_equal(job(last)->spec.dependency, "on:1(unfulfilled)");
    restart(CONF);
    for (int n = 1; n <= 4; n++)
        hello(n);
    am_alice();
    uint64_t b = submit_after("b", on("before", last));
    assert_int_equal(state(b), JOB_RUNNING);
    assert_int_equal(state(last), JOB_RUNNING);
}

static void nobody_makes_anothers_job_wait(void **unused)
{
    uint64_t last = submit_after("last", "on:1"), plain = submit_after("p", on("afterany", last));
    am_bob();
    assert_int_equal(submit_after("a", on("beforeok", last)), 0);
    assert_non_null(strstr(answer()->detail, "is another user's"));
    am_alice();
    assert_int_equal(submit_after("a", on("beforeok", plain)), 0);
    assert_non_null(strstr(answer()->detail, "does not wait for (more) jobs that name it"));
    assert_int_equal(submit_after("a", text("afterok:A,before:B", last, last)), 0);
    assert_non_null(strstr(answer()->detail, "neither could ever start"));
    uint64_t a = submit_after("a", on("beforeany", last));
    assert_int_equal(submit_after("b", on("beforeany", last)), 0); /* it waits for no more */
    script_ends(a, status_of_code(1));
    assert_int_equal(state(last), JOB_RUNNING);
    assert_int_equal(submit_after("b", on("beforeany", last)), 0);
    assert_non_null(strstr(answer()->detail, "does not wait (any more)"));
}

/* What held for good stays so; what failed can come right. */
static void a_requeue_opens_what_had_failed(void **unused)
{
    uint64_t a = submit(a_job("a")), b = submit(a_job("b"));
    uint64_t kept = submit_after("x", text("!afterok:A,afterok:B", a, b)),
             open = submit_after("x", text("(afterok:A,afterok:B)?exit:1==9", a, b));
    script_ends(a, status_of_code(1));
    assert_string_equal(job(kept)->spec.dependency, text("afterok:B(unfulfilled)", a, b));
    assert_int_equal(job(open)->reason, REASON_DEPENDENCY_NEVER);
    control(ids_of(a), ACTION_REQUEUE);
    assert_int_equal(job(open)->reason, REASON_DEPENDENCY);
    script_ends(a, 0);
    script_ends(b, 0);
    assert_int_equal(state(kept), JOB_RUNNING);
    assert_int_equal(state(open), JOB_RUNNING);
}

/* scancel of one element of an array that was requeued and held with SPECIAL_EXIT ends that element
 * only. */
static void test_one_element_of_a_special_exit_array(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("array");
    spec.array = "0-2";
    uint64_t id = submit(spec);
    struct msg_job_control m = {
        .action = ACTION_REQUEUE_HOLD, .ids = ids_of(id), .special_exit = true};
    am_root();
    say(1, MSG_JOB_CONTROL, &m);
    for (unsigned i = 0; i < 3; i++)
        script_ends(job_named(arena_printf(w.a, "%llu_%u", (unsigned long long)id, i))->id, 15);
    const char *element = arena_printf(w.a, "%llu_1", (unsigned long long)id);
    cancel(element);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(job_named(element)->state, JOB_CANCELLED);
    for (unsigned i = 0; i < 3; i += 2) {
        const struct job *other =
            job_named(arena_printf(w.a, "%llu_%u", (unsigned long long)id, i));
        assert_int_equal(other->state, JOB_SPECIAL_EXIT);
        assert_int_equal(other->reason, REASON_REQUEUED_HELD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(parentheses_and_not),
        STORY(exit_codes),
        STORY(elements_are_counted),
        STORY(held_and_running_elements_are_counted),
        STORY(elements_wait_for_their_counterparts),
        STORY(counterparts_of_an_array_that_is_over),
        STORY(elements_that_left_memory),
        STORY(one_that_is_over_and_forgotten_is_waited_for_no_more),
        STORY(on_waits_for_those_that_name_it),
        STORY(nobody_makes_anothers_job_wait),
        STORY(a_requeue_opens_what_had_failed),
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
        STORY(a_whole_array_is_waited_for),
        STORY(one_element_that_failed_fails_its_array),
        STORY(elements_correspond),
        STORY(an_array_that_waits_starts_as_a_whole),
        STORY(a_failed_job_that_is_requeued_may_still_end_well),
        STORY(a_restart_forgets_no_dependency),
        STORY(test_one_element_of_a_special_exit_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
