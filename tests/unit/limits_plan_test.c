#include "unit.h"

#include "node/step/limits_plan.h"

#define MIB INT64_C(1048576)

static const struct limits_machine machine = {.memory_mib = 1000, .pids_max = 30000};

static struct step_plan plan_of(struct msg_node_welcome w, int64_t job_mib, int64_t step_mib)
{
    struct step_plan p = {0};
    const struct alloc_node job = {.mem_mib = job_mib}, step = {.mem_mib = step_mib};
    limits_plan(&w, &machine, &job, &step, &p);
    return p;
}

static void test_the_job_and_its_step_have_limits_of_their_own(void **state)
{
    (void)state;
    struct step_plan p =
        plan_of((struct msg_node_welcome){.constrain_ram = true, .min_ram_mib = 30}, 400, 100);
    assert_int_equal(p.job_mem_bytes, 400 * MIB);
    assert_int_equal(p.mem_limit_bytes, 100 * MIB);
    assert_int_equal(p.swap_bytes_plus1, 0);
    assert_int_equal(p.pids_max, 15000);
    p = plan_of((struct msg_node_welcome){.constrain_ram = true}, 400, 0);
    /* a step without memory of its own has the job's. */
    assert_int_equal(p.mem_limit_bytes, 400 * MIB);
}

static void test_parts_and_bounds(void **state)
{
    (void)state;
    struct msg_node_welcome w = {.constrain_ram = true,
                                 .constrain_swap = true,
                                 .allowed_ram = 10150,
                                 .allowed_swap = 5000,
                                 .max_ram = 5000,
                                 .max_swap = 1000,
                                 .min_ram_mib = 30,
                                 .pids_max = 77,
                                 .swappiness_plus1 = 11};
    struct step_plan p = plan_of(w, 200, 10);
    assert_int_equal(p.job_mem_bytes, 203 * MIB); /* 101.5 % */
    /* Half of it, 10 % of the machine at most. */
    assert_int_equal(p.job_swap_bytes_plus1, 100 * MIB + 1);
    assert_int_equal(p.mem_limit_bytes, 30 * MIB); /* MinRAMSpace */
    assert_int_equal(p.swap_bytes_plus1, 5 * MIB + 1);
    assert_int_equal(p.pids_max, 77);
    assert_int_equal(p.swappiness_plus1, 11);
    p = plan_of(w, 900, 900);
    assert_int_equal(p.job_mem_bytes, 500 * MIB); /* MaxRAMPercent */
    p = plan_of(w, 0, 0);
    assert_int_equal(p.job_mem_bytes, 500 * MIB); /* holds those without memory too */
}

static void test_nothing_is_limited_unless_the_settings_say_so(void **state)
{
    (void)state;
    struct step_plan p = plan_of((struct msg_node_welcome){.allowed_swap = 5000}, 400, 100);
    assert_int_equal(p.job_mem_bytes, 0);
    assert_int_equal(p.mem_limit_bytes, 0);
    assert_int_equal(p.swap_bytes_plus1, 0);
    p = plan_of((struct msg_node_welcome){.constrain_ram = true}, 0, 0);
    assert_int_equal(p.mem_limit_bytes, 0);
    p = plan_of((struct msg_node_welcome){.constrain_swap = true}, 400,
                100); /* swap alone cannot be limited: memory is too */
    assert_int_equal(p.mem_limit_bytes, 100 * MIB);
    assert_int_equal(p.swap_bytes_plus1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_job_and_its_step_have_limits_of_their_own),
        cmocka_unit_test(test_parts_and_bounds),
        cmocka_unit_test(test_nothing_is_limited_unless_the_settings_say_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
