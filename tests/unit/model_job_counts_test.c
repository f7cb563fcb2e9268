/* What a job asks for is counted, in whichever way it asks: limits, billing and listings go by it.
 */
#include "model/job/job_counts.h"
#include "unit.h"

static void test_each_way_to_ask_for_gpus_counts(void **state)
{
    (void)state;
    static const struct {
        struct job_request req;
        int64_t gpus, of_type;
    } ways[] = {
        {{.gpus = "4"}, 4, 0},
        {{.gpus = "v100:3,a100:1"}, 4, 3},
        {{.gpus_per_node = "2", .min_nodes = 2}, 4, 0},
        {{.gpus_per_socket = "1"}, 1, 0},
        {{.gpus_per_socket = "v100:1", .sockets_per_node = 2, .min_nodes = 2}, 4, 4},
        {{.gpus_per_task = "v100:1", .ntasks = 4}, 4, 4},
        {{.gres = "gpu:v100:2", .min_nodes = 2}, 4, 4},
        {{.gres = "nic:2", .min_nodes = 2}, 0, 0},
        {{.ntasks = 4, .ntasks_per_gpu = 1}, 4, 0},
        {{.ntasks = 7, .ntasks_per_gpu = 2, .gres = "nic:1"}, 4, 0},
        {{.ntasks = 4, .ntasks_per_gpu = 2, .gres = "gpu:1"}, 1, 0},
        {{.ntasks_per_gpu = 2}, 0, 0},
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct job j = {.spec.req = ways[i].req};
        if (job_gpus_asked(&j) != ways[i].gpus || job_gres_asked(&j, "gpu:v100") != ways[i].of_type)
            fail_msg("way %zu: %lld GPUs, %lld of the type", i, (long long)job_gpus_asked(&j),
                     (long long)job_gres_asked(&j, "gpu:v100"));
    }
}

/* A job of 10 s, suspended for 4 s in which it gave nodes back after 1, that ran for 2 s more and
 * is suspended again; a step began before all of it, another between the two. */
static void test_a_suspension_at_hand_counts(void **state)
{
    (void)state;
    enum { S = 1000000, START = 100 * S, NOW = 121 * S };
    struct job j = {.state = JOB_SUSPENDED,
                    .start_us = START,
                    .suspend_us = START + 16 * S,
                    .suspended_us = 4 * S,
                    .resize_suspended_us = 1 * S};
    struct step first = {.start_us = START},
                second = {.start_us = START + 15 * S, .suspended_before_us = 4 * S},
                over = {.start_us = START, .end_us = START + 15 * S, .suspended_us = 3 * S},
                waits = {.state = JOB_PENDING};
    assert_int_equal(job_suspended_us(&j, NOW), 9 * S);
    assert_int_equal(job_part_suspended_us(&j, NOW), 8 * S);
    assert_int_equal(job_before_suspension_us(&j), 12 * S);
    assert_int_equal(step_suspended_us(&first, &j, NOW), 9 * S);
    assert_int_equal(step_suspended_us(&second, &j, NOW), 5 * S);
    assert_int_equal(step_suspended_us(&over, &j, NOW), 3 * S);
    assert_int_equal(step_suspended_us(&waits, &j, NOW), 0);
    j.state = JOB_RUNNING; /* it went on */
    j.suspend_us = NOW;
    j.suspended_us = 9 * S;
    assert_int_equal(job_suspended_us(&j, NOW + S), 9 * S);
    assert_int_equal(job_before_suspension_us(&j), 12 * S);
    assert_int_equal(step_suspended_us(&second, &j, NOW + S), 5 * S);
    assert_int_equal(job_before_suspension_us(&(struct job){.start_us = START}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_way_to_ask_for_gpus_counts),
        cmocka_unit_test(test_a_suspension_at_hand_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
