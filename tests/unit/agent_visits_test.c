/* Jobs on a node with programs of its site around them: what begins with the first launch, and ends
 * with the word that nothing of the job is left. */
#include "agent_world.h"

#include "agent/inside.h"

static size_t visits(void)
{
    return map_u64_count(agent->held.visit);
}

static void site(const char *prolog, const char *epilog)
{
    settings.prolog = prolog;
    settings.epilog = epilog;
    begin();
}

static void prolog_ok(int64_t id, uint32_t attempt, int64_t step_id)
{
    struct note n = {.job_id = id, .attempt = attempt, .step_id = step_id};
    step((struct agent_event){.kind = AGENT_PROLOG_DONE, .note = &n, .ok = true});
}

/* Where there is no epilog, nothing but the end itself says so. */
static void test_no_job_that_is_over_is_remembered(void **state)
{
    (void)state;
    site("/p", NULL);
    for (int64_t id = 1; id <= 3; id++) {
        launch((uint64_t)id, 1);
        assert_int_equal(visits(), 1);
        prolog_ok(id, 1, STEP_BATCH);
        exited(id, 1, 0, true);
        assert_int_equal(visits(), 0);
    }
    launch(4, 1); /* told to end */
    prolog_ok(4, 1, STEP_BATCH);
    started(4, 1);
    terminate(4, 1);
    assert_int_equal(visits(), 1);
    exited(4, 1, 15, true);
    assert_int_equal(visits(), 0);
    launch(6, 1); /* its shepherd was lost */
    prolog_ok(6, 1, STEP_BATCH);
    started(6, 1);
    note(ids(NOTE_GONE, 6, 1));
    assert_int_equal(visits(), 0);
}

static void test_a_visit_lasts_as_long_as_the_allocation(void **state)
{
    (void)state;
    site("/p", NULL);
    step_launch(5, 0, NULL);
    EXPECT("prolog 5.1");
    prolog_ok(5, 1, 0);
    EXPECT("start 5.1");
    step_note(NOTE_STARTED, 0);
    step_note(NOTE_EXITED, 0);
    EXPECT("report started 5.1; report exited 5.1 #100");
    ack(100);
    EXPECT("forget 5.1 pid=9");
    assert_int_equal(visits(), 1);
    step_launch(5, 1, NULL);
    EXPECT("start 5.1"); /* its prolog ran */
    step_note(NOTE_EXITED, 1);
    str_clear(&said);
    ack(101);
    terminate(5, 1);
    EXPECT("forget 5.1 pid=10; report released 5.1 #102");
    assert_int_equal(visits(), 0);
}

/* The word about a run that is over comes late, when the job's next run is here. */
static void test_a_late_word_does_not_end_the_visit_of_the_next_run(void **state)
{
    (void)state;
    site("/p", "/e");
    launch(7, 2);
    str_clear(&said);
    terminate(7, 1);
    EXPECT("report released 7.1 #100");
    assert_int_equal(visits(), 1);
    prolog_ok(7, 2, STEP_BATCH);
    exited(7, 2, 0, true);
    EXPECT("start 7.2; report exited 7.2 #101; epilog 7.2 pid=1007 job");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_job_that_is_over_is_remembered),
        TEST(a_visit_lasts_as_long_as_the_allocation),
        TEST(a_late_word_does_not_end_the_visit_of_the_next_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
