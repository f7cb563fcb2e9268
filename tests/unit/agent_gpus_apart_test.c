/* Who goes on with a GPU, and from whom the kernel keeps its file, as it goes with a look. */
#include "agent_gpus_help.h"

static void started_with(int64_t id, int64_t hidden)
{
    struct note n = ids(NOTE_STARTED, id, 1);
    n.hidden = hidden;
    note(n);
}

/* Of GPU 1, which job 5 gives back; job 6, without GPUs, stays, and says of what is hidden from it,
 * if it says something: "1 " where that is kept from it. */
static const char *apart_beside(bool says, int64_t hidden)
{
    both_clean();
    launch_with(5, "n1 cpus=0 mem=1 gpu:v100=1");
    launch_with(6, "n1 cpus=0 mem=1");
    started_with(5, 1);
    if (says)
        started_with(6, hidden);
    str_clear(&said);
    exited(5, 1, 0, true);
    assert_non_null(strstr(str_text(&said), "look 1/1"));
    return last_apart;
}

static void test_a_step_from_which_all_is_hidden_opened_nothing(void **state)
{
    (void)state;
    assert_string_equal(apart_beside(true, 3), "1 ");
}

static void test_nor_did_one_that_has_just_begun(void **state)
{
    (void)state;
    assert_string_equal(apart_beside(false, 0), "1 ");
}

/* ConstrainDevices=NO, or a shepherd of an older release. */
static void test_a_step_from_which_nothing_is_hidden_may_have_opened_all(void **state)
{
    (void)state;
    assert_string_equal(apart_beside(true, 0), "");
}

static void test_one_that_began_before_the_gpu_was_found_may_have_opened_that(void **state)
{
    (void)state;
    assert_string_equal(apart_beside(true, 1), "");
}

static void test_a_new_daemon_knows_what_is_hidden(void **state)
{
    (void)state;
    found_noted((struct note){.job_id = 5, .step_id = STEP_BATCH, .gpus = 2, .hidden = 1});
    found_noted((struct note){.job_id = 6, .step_id = STEP_BATCH, .uid_plus1 = 1, .hidden = 2});
    up();
    assert_string_equal(last_apart, "1 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_GPUS(a_step_from_which_all_is_hidden_opened_nothing),
        TEST_GPUS(nor_did_one_that_has_just_begun),
        TEST_GPUS(a_step_from_which_nothing_is_hidden_may_have_opened_all),
        TEST_GPUS(one_that_began_before_the_gpu_was_found_may_have_opened_that),
        TEST_GPUS(a_new_daemon_knows_what_is_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
