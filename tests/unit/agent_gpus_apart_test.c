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

/* With more runs of which it is not known what they have than a look can name. */
static void test_who_is_known_to_have_it_goes_on_with_it_first(void **state)
{
    (void)state;
    int64_t id = 100;
    for (; id < 100 + 3 * LOOK_STEPS_MAX; id++)
        found_with(id, 100, -1, 0);
    found_with(id, 100, -1, 2);
    for (int64_t end = id + 3 * LOOK_STEPS_MAX; id < end; id++)
        found_with(id + 1, 100, -1, 0);
    str_clear(&said);
    up();
    assert_non_null(strstr(str_text(&said), " 1/0(196.1."));
    assert_null(strstr(strstr(str_text(&said), " 1/0(") + 6, "196.1."));
}

static void test_a_gpu_that_is_found_later_is_its_steps_all_the_same(void **state)
{
    (void)state;
    const struct node none = {.name = "n1", .real_cpus = 4},
                      both = {.name = "n1",
                              .real_cpus = 4,
                              .devices = "gpu:v100:0:16000::GPU-a;gpu:v100:1:16000::GPU-b"};
    agent_set_node(agent, &none);
    found_with(5, 100, 1000, 2);
    agent_set_node(agent, &both);
    str_clear(&said);
    up();
    EXPECT("look 0/0 1/0(5.1.-1)");
}

/* The daemon may have been started anew more than once since the release before. */
static void test_a_step_that_says_nothing_leaves_what_another_of_its_run_said(void **state)
{
    const struct note tells = {.job_id = 5, .start_us = 200, .uid_plus1 = 1001, .gpus = 2},
                      older = {.job_id = 5, .step_id = 1, .start_us = 100, .gpus = 2};
    const int64_t from_us[] = {100, 200}; /* its own start, where that is all that was known */
    for (int first = 0; first < 2; first++) {
        found_noted(first == 0 ? tells : older);
        found_noted(first == 0 ? older : tells);
        up();
        assert_int_equal(last_uid, 1000);
        assert_int_equal(last_from_us, from_us[first]);
        teardown(state);
        setup_gpus(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_GPUS(a_step_from_which_all_is_hidden_opened_nothing),
        TEST_GPUS(nor_did_one_that_has_just_begun),
        TEST_GPUS(a_step_from_which_nothing_is_hidden_may_have_opened_all),
        TEST_GPUS(one_that_began_before_the_gpu_was_found_may_have_opened_that),
        TEST_GPUS(a_new_daemon_knows_what_is_hidden),
        TEST_GPUS(who_is_known_to_have_it_goes_on_with_it_first),
        TEST_GPUS(a_gpu_that_is_found_later_is_its_steps_all_the_same),
        TEST_GPUS(a_step_that_says_nothing_leaves_what_another_of_its_run_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
