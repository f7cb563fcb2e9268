#include "unit.h"

#include "base/alloc.h"
#include "base/str.h"
#include "model/state.h"

#include <string.h>

/* The ways from PENDING and back that issue 2 asks for, each a life of one job. */
static void test_lives_that_must_be_possible(void **state)
{
    static const enum job_state lives[][8] = {
        {JOB_PENDING, JOB_RUNNING, JOB_COMPLETED, JOB_STATE_COUNT},
        {JOB_PENDING, JOB_RUNNING, JOB_COMPLETING, JOB_FAILED, JOB_STATE_COUNT},
        {JOB_PENDING, JOB_RUNNING, JOB_COMPLETING, JOB_TIMEOUT, JOB_STATE_COUNT},
        {JOB_PENDING, JOB_RUNNING, JOB_COMPLETING, JOB_OUT_OF_MEMORY, JOB_STATE_COUNT},
        {JOB_PENDING, JOB_RUNNING, JOB_COMPLETING, JOB_PREEMPTED, JOB_STATE_COUNT},
        {JOB_PENDING, JOB_RUNNING, JOB_NODE_FAIL, JOB_STATE_COUNT},
        {JOB_PENDING, JOB_RUNNING, JOB_BOOT_FAIL, JOB_STATE_COUNT},
        {JOB_PENDING, JOB_CANCELLED, JOB_STATE_COUNT},
        {JOB_PENDING, JOB_DEADLINE, JOB_STATE_COUNT},
        {JOB_PENDING, JOB_RUNNING, JOB_SUSPENDED, JOB_RUNNING, JOB_COMPLETED, JOB_STATE_COUNT},
        {JOB_PENDING, JOB_RUNNING, JOB_SUSPENDED, JOB_COMPLETING, JOB_CANCELLED, JOB_STATE_COUNT},
        {JOB_PENDING, JOB_RUNNING, JOB_REQUEUED, JOB_PENDING, JOB_RUNNING, JOB_COMPLETED,
         JOB_STATE_COUNT},
        {JOB_PENDING, JOB_RUNNING, JOB_COMPLETING, JOB_REQUEUED, JOB_SPECIAL_EXIT, JOB_PENDING,
         JOB_STATE_COUNT},
        {JOB_PENDING, JOB_RUNNING, JOB_REQUEUED, JOB_COMPLETING, JOB_CANCELLED, JOB_STATE_COUNT},
        {JOB_COMPLETED, JOB_PENDING, JOB_STATE_COUNT},
        {JOB_FAILED, JOB_SPECIAL_EXIT, JOB_CANCELLED, JOB_STATE_COUNT},
    };
    for (size_t life = 0; life < ARRAY_LEN(lives); life++)
        for (size_t i = 0; lives[life][i + 1] != JOB_STATE_COUNT; i++)
            if (!job_state_allowed(lives[life][i], lives[life][i + 1]))
                fail_msg("%s > %s is not allowed",
                         enum_name(&job_state_names, (int32_t)lives[life][i]),
                         enum_name(&job_state_names, (int32_t)lives[life][i + 1]));
}

static void test_moves_that_would_be_wrong(void **state)
{
    static const enum job_state wrong[][2] = {
        {JOB_PENDING, JOB_SUSPENDED},    {JOB_PENDING, JOB_COMPLETED},
        {JOB_PENDING, JOB_COMPLETING},   {JOB_PENDING, JOB_TIMEOUT},
        {JOB_COMPLETING, JOB_RUNNING},   {JOB_REQUEUED, JOB_RUNNING},
        {JOB_SPECIAL_EXIT, JOB_RUNNING}, {JOB_COMPLETED, JOB_FAILED},
        {JOB_COMPLETED, JOB_RUNNING},    {JOB_CANCELLED, JOB_RUNNING},
        {JOB_COMPLETING, JOB_SUSPENDED},
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        if (job_state_allowed(wrong[i][0], wrong[i][1]))
            fail_msg("%s > %s is allowed", enum_name(&job_state_names, (int32_t)wrong[i][0]),
                     enum_name(&job_state_names, (int32_t)wrong[i][1]));
}

static void test_an_ended_job_only_comes_back_by_requeue(void **state)
{
    for (int from = 0; from < JOB_STATE_COUNT; from++)
        for (int to = 0; to < JOB_STATE_COUNT; to++)
            if (job_state_over((enum job_state)from) &&
                job_state_allowed((enum job_state)from, (enum job_state)to))
                assert_true(to == JOB_PENDING || to == JOB_SPECIAL_EXIT);
}

static void test_nobody_stays_where_he_is_and_everybody_can_end(void **state)
{
    for (int from = 0; from < JOB_STATE_COUNT; from++) {
        bool ends = job_state_over((enum job_state)from);
        assert_false(job_state_allowed((enum job_state)from, (enum job_state)from));
        for (int to = 0; to < JOB_STATE_COUNT; to++)
            ends |= job_state_over((enum job_state)to) &&
                    job_state_allowed((enum job_state)from, (enum job_state)to);
        assert_true(ends);
    }
}

static void test_states_out_of_range_go_nowhere(void **state)
{
    assert_false(job_state_allowed(JOB_STATE_COUNT, JOB_PENDING));
    assert_false(job_state_allowed(JOB_PENDING, JOB_STATE_COUNT));
    assert_false(job_state_over(JOB_STATE_COUNT));
    assert_string_equal(job_state_short(JOB_STATE_COUNT), "?");
}

static void test_states_are_read_long_and_short_in_any_case(void **state)
{
    int32_t value;
    for (int s = 0; s < JOB_STATE_COUNT; s++) {
        assert_true(job_state_parse(enum_name(&job_state_names, s), &value) && value == s);
        assert_true(job_state_parse(job_state_short((enum job_state)s), &value) && value == s);
    }
    assert_true(job_state_parse("pending", &value) && value == JOB_PENDING);
    assert_true(job_state_parse("oom", &value) && value == JOB_OUT_OF_MEMORY);
}

static void test_states_of_slurm_that_no_job_of_ours_is_in(void **state)
{
    static const char *const words[] = {
        "CONFIGURING", "cf", "REVOKED",     "RV", "SIGNALING",    "SI", "STAGE_OUT",     "SO",
        "STOPPED",     "ST", "REQUEUE_FED", "RF", "REQUEUE_HOLD", "RH", "RESV_DEL_HOLD", "RD"};
    int32_t value;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        value = 5;
        assert_true(job_state_parse(words[i], &value));
        assert_int_equal(value, -1);
    }
    assert_false(job_state_parse("SLEEPING", &value));
    assert_false(job_state_parse("", &value));
}

static void test_every_reason_has_a_word_and_a_sentence(void **state)
{
    for (int r = 0; r < REASON_COUNT; r++) {
        assert_true(enum_name(&job_reason_names, r)[0]);
        assert_true(r == REASON_NONE || job_reason_sentence((enum job_reason)r)[0]);
    }
    assert_string_equal(enum_name(&job_reason_names, REASON_BEGIN_TIME), "BeginTime");
    assert_string_equal(job_reason_sentence(REASON_COUNT), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lives_that_must_be_possible),
        cmocka_unit_test(test_moves_that_would_be_wrong),
        cmocka_unit_test(test_an_ended_job_only_comes_back_by_requeue),
        cmocka_unit_test(test_nobody_stays_where_he_is_and_everybody_can_end),
        cmocka_unit_test(test_states_out_of_range_go_nowhere),
        cmocka_unit_test(test_states_are_read_long_and_short_in_any_case),
        cmocka_unit_test(test_states_of_slurm_that_no_job_of_ours_is_in),
        cmocka_unit_test(test_every_reason_has_a_word_and_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
