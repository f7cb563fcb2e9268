/* The % limit of an array is that of all its elements, also of those that became records of their
 * own because somebody changed or held them, or sent them back. */
#include "core_help.h"

static uint64_t array_of_two(void)
{
    struct job_spec s = a_job("many");
    s.array = "0-9%2";
    return submit(s);
}

static size_t running(void)
{
    return count((struct msg_query){.what = QUERY_JOBS, .states = "R"});
}

static const char *element(uint64_t id, const char *which)
{
    return arena_printf(w.a, "%llu_%s", (unsigned long long)id, which);
}

/* Makes them records of their own. */
static void apart(uint64_t id, const char *which)
{
    assert_int_equal(control(element(id, which), ACTION_HOLD), REFUSE_NONE);
    assert_int_equal(control(element(id, which), ACTION_RELEASE), REFUSE_NONE);
}

static void elements_with_records_of_their_own_keep_to_it(void **unused)
{
    uint64_t id = array_of_two();
    assert_int_equal(running(), 2);
    apart(id, "[5,7]");
    pass(10 * SEC);
    assert_int_equal(running(), 2);
    assert_int_equal(job_named(element(id, "5"))->state, JOB_PENDING);
    assert_int_equal(job_named(element(id, "5"))->reason, REASON_ARRAY_TASK_LIMIT);
}

static void each_that_ends_lets_one_begin(void **unused)
{
    uint64_t id = array_of_two();
    apart(id, "[0-9]");
    size_t over = 0;
    for (int round = 0; round < 10; round++) {
        assert_in_range(running(), 1, 2);
        for (int task = 0; task < 10; task++) {
            const struct job *j = job_named(element(id, arena_printf(w.a, "%d", task)));
            if (j->state != JOB_RUNNING)
                continue;
            script_ends(j->id, 0);
            over++;
            break;
        }
    }
    assert_int_equal(over, 10);
    assert_int_equal(running(), 0);
}

static void several_that_could_begin_at_once_share_what_is_left(void **unused)
{
    uint64_t id = array_of_two();
    apart(id, "[3,5,7]");
    assert_int_equal(control(element(id, "[3,5,7]"), ACTION_HOLD), REFUSE_NONE);
    const struct job *zero = job_named(element(id, "0"));
    script_ends(zero->id, 0);
    assert_int_equal(running(), 2);
    assert_int_equal(control(element(id, "[3,5,7]"), ACTION_RELEASE), REFUSE_NONE);
    script_ends(job_named(element(id, "1"))->id, 0);
    assert_int_equal(running(), 2);
    restart(CONF);
    assert_int_equal(running(), 2);
}

static void a_limit_that_is_lifted_lets_all_begin(void **unused)
{
    uint64_t id = array_of_two();
    apart(id, "[2-9]");
    say(1, MSG_UPDATE_JOB, &(struct msg_update_job){.ids = ids_of(id), .array_limit_plus1 = 6 + 1});
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(running(), 6);
    say(1, MSG_UPDATE_JOB, &(struct msg_update_job){.ids = ids_of(id), .array_limit_plus1 = 1});
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(running(), 10);
}

static void one_that_goes_back_waits_for_its_place(void **unused)
{
    uint64_t id = array_of_two();
    assert_int_equal(control(element(id, "0"), ACTION_REQUEUE), REFUSE_NONE);
    script_ends(job_named(element(id, "0"))->id, 15);
    pass(300 * SEC);
    assert_int_equal(running(), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(elements_with_records_of_their_own_keep_to_it),
        STORY(each_that_ends_lets_one_begin),
        STORY(several_that_could_begin_at_once_share_what_is_left),
        STORY(a_limit_that_is_lifted_lets_all_begin),
        STORY(one_that_goes_back_waits_for_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
