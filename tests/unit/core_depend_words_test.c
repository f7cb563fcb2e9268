/* The words of dependencies beyond the first: parentheses, exit codes, counts, counterparts. */
#include "core_depend_help.h"

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

/* The records of an array's elements are looked at for each condition that names it. */
static void exit_codes_of_many_elements_are_looked_at_so_often(void **unused)
{
    struct job_spec array = a_job("array");
    struct str conditions = STR_INIT;
    array.array = "0-199";
    array.hold = true;
    unsigned long long id = submit(array);
    for (int i = 0; i < 190; i++)
        control(arena_printf(w.a, "%llu_%d", id, i), ACTION_RELEASE);
    for (int i = 0; i < 1500; i++)
        str_addf(&conditions, "%sexit:%llu>%d", i ? "," : "", id, i % 250);
    assert_int_equal(submit_after("x", str_text(&conditions)), 0);
    assert_int_equal(refusal(), REFUSE_DEPENDENCY);
    assert_non_null(strstr(answer()->detail, "name each array once"));
    str_done(&conditions);
    assert_int_not_equal(submit_after("x", arena_printf(w.a, "exit:%llu>3", id)), 0);
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

/* Each that names it adds a condition, and it keeps no more than can be read again. */
static void all_that_name_it_are_read_again(void **unused)
{
    assert_int_equal(submit_after("last", "singleton,on:4096"), 0);
    assert_non_null(strstr(answer()->detail, "4097 together"));
    uint64_t last = submit_after("last", "singleton,on:4095");
    struct job_spec held = a_job("held");
    held.hold = true;
    held.dependency = on("beforeok", last);
    w.fills = true;
    for (int i = 0; i < 4095; i++) {
        held.name = arena_printf(w.a, "held %d", i);
        assert_int_not_equal(submit(held), 0);
    }
    w.fills = false;
    assert_int_equal(submit(held), 0);
    restart(CONF);
    am_alice();
    assert_int_equal(state(last), JOB_PENDING);
    assert_false(job(last)->spec.hold);
    assert_int_equal(job(last)->reason, REASON_DEPENDENCY);
}

/* As one of a former release, or one that somebody changed by hand. */
static void what_cannot_be_read_is_held_with_a_reason(void **unused)
{
    uint64_t a = submit(a_job("a")), b = submit_after("b", on("afterok", a)),
             other = submit_after("c", on("afterok", a));
    for (size_t i = 0; i < w.store.n; i++) {
        struct job *j = w.store.v[i].record;
        if (w.store.v[i].table == TABLE_JOB && (j->id == b || j->id == other))
            j->spec.dependency = "on:4096(unfulfilled),singleton(unfulfilled)";
    }
    for (int k = 0; k < 2; k++) {
        restart(CONF);
        for (int n = 1; n <= 4; n++)
            hello(n);
        am_alice();
        assert_int_equal(state(b), JOB_PENDING);
        assert_true(job(b)->spec.hold);
        assert_int_equal(job(b)->reason, REASON_HELD_USER);
        assert_non_null(strstr(job(b)->reason_detail, "4097 together"));
        assert_non_null(strstr(job(b)->system_comment, "lets it start without"));
    }
    assert_int_equal(control(ids_of(b), ACTION_RELEASE), REFUSE_NONE);
    assert_int_equal(state(b), JOB_RUNNING);
    assert_null(job(b)->spec.dependency);
    struct job_spec values = {.dependency = on("afterok", a)};
    say(1, MSG_UPDATE_JOB,
        &(struct msg_update_job){
            .ids = ids_of(other), .fields = "dependency", .values = {&values, 1}});
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(control(ids_of(other), ACTION_RELEASE), REFUSE_NONE);
    assert_int_equal(state(other), JOB_PENDING);
    script_ends(a, 0);
    assert_int_equal(state(other), JOB_RUNNING);
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

/* By its own number, too, and by its array's. */
static void an_element_stays_while_one_waits_for_it(void **unused)
{
    (void)unused;
    static const bool by_array[] = {false, true};
    for (size_t i = 0; i < ARRAY_LEN(by_array); i++) {
        uint64_t array = submit_array("1-2", NULL), own = element(array, 1)->id;
        assert_true(own != array);
        uint64_t waits =
            submit_after("x", arena_printf(w.a, "after:%llu+600",
                                           (unsigned long long)(by_array[i] ? array : own)));
        element_ends(array, 1, 0);
        element_ends(array, 2, 0);
        pass(30 * MIN);
        assert_int_equal(state(waits), JOB_PENDING);
        assert_int_equal(state(own), JOB_COMPLETED);
        cancel(ids_of(waits));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(parentheses_and_not),
        STORY(exit_codes),
        STORY(exit_codes_of_many_elements_are_looked_at_so_often),
        STORY(elements_are_counted),
        STORY(held_and_running_elements_are_counted),
        STORY(elements_wait_for_their_counterparts),
        STORY(counterparts_of_an_array_that_is_over),
        STORY(elements_that_left_memory),
        STORY(one_that_is_over_and_forgotten_is_waited_for_no_more),
        STORY(on_waits_for_those_that_name_it),
        STORY(all_that_name_it_are_read_again),
        STORY(what_cannot_be_read_is_held_with_a_reason),
        STORY(nobody_makes_anothers_job_wait),
        STORY(a_requeue_opens_what_had_failed),
        STORY(an_element_stays_while_one_waits_for_it),
        STORY(test_one_element_of_a_special_exit_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
