#include "unit.h"

#include "node/shepherd/watch/oom.h"

#include <string.h>

static const char kernel_log[] =
    "6,101,1,-;python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0\n"
    "6,102,1,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/"
    ",mems_allowed=0,oom_memcg=/x/"
    "remuda.n1.1/7.1/7.1.batch,"
    "task_memcg=/x/remuda.n1.1/7.1/7.1.batch,task=first,pid=10,uid=0\n"
    "3,103,1,-;Memory cgroup out of memory: Killed process 10 (first) total-vm:9kB, "
    "anon-rss:1024kB, "
    "file-rss:0kB, shmem-rss:0kB, UID:0\n"
    "6,104,1,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/"
    ",mems_allowed=0,oom_memcg=/x/"
    "remuda.n1.1/7.1,"
    "task_memcg=/x/remuda.n1.1/7.1/7.1.0/task_3,task=py (x),pid=77,uid=0\n"
    "3,105,1,-;Memory cgroup out of memory: Killed process 77 (py (x)) total-vm:218672kB, "
    "anon-rss:50560kB, "
    "file-rss:5480kB, shmem-rss:8kB, UID:0\n"
    "6,106,1,-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),task_memcg=/x/remuda.n2.1/7.1/"
    "7.1.0,task=other,pid=99,uid=0\n";

static void test_the_process_of_the_group_is_found_in_the_log(void **state)
{
    (void)state;
    struct oom_victim v;
    enum oom_limit limit = OOM_OF_JOB;
    assert_true(oom_log_find(kernel_log, "/remuda.n1.1/7.1/7.1.batch", &v, &limit));
    assert_int_equal(v.pid, 10);
    assert_string_equal(v.name, "first");
    assert_int_equal(v.rss_bytes, 1 << 20);
    assert_int_equal(limit, OOM_OF_STEP);
}

static void test_a_task_killed_for_the_limit_of_the_job(void **state)
{
    (void)state;
    struct oom_victim v;
    enum oom_limit limit = OOM_OF_STEP;
    assert_true(oom_log_find(kernel_log, "/remuda.n1.1/7.1/7.1.0", &v, &limit));
    assert_int_equal(v.pid, 77);
    assert_string_equal(v.name, "py (x)");
    assert_int_equal(v.rss_bytes, (50560 + 5480 + 8) * 1024);
    assert_int_equal(limit, OOM_OF_JOB);
}

static void test_the_machine_s_memory_and_limits_above_are_not_the_job_s(void **state)
{
    (void)state;
    struct oom_victim v;
    enum oom_limit limit = OOM_OF_STEP;
    assert_true(oom_log_find(kernel_log, "/remuda.n2.1/7.1/7.1.0", &v, &limit));
    assert_int_equal(limit, OOM_OF_MACHINE);
    const char *above =
        "6,1,1,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/x,task_memcg=/x/"
        "remuda.n1.1/7.1/7.1.0,task=py,pid=5,uid=0\n";
    limit = OOM_OF_STEP;
    assert_true(oom_log_find(above, "/remuda.n1.1/7.1/7.1.0", &v, &limit));
    assert_int_equal(limit, OOM_OF_MACHINE);
}

static void test_a_log_without_it(void **state)
{
    (void)state;
    struct oom_victim v;
    enum oom_limit limit;
    assert_false(oom_log_find(kernel_log, "/remuda.n1.1/8.1/8.1.batch", &v, &limit));
    assert_false(oom_log_find("", "/remuda.n1.1/7.1/7.1.batch", &v, &limit));
    assert_int_equal(v.pid, 0);
}

static void test_what_is_suggested(void **state)
{
    (void)state;
    const int64_t mib = 1 << 20;
    assert_int_equal(oom_suggest_mib(60 * mib, 60 * mib, true), 100);
    assert_int_equal(oom_suggest_mib(100 * mib, 100 * mib, true), 200);
    assert_int_equal(oom_suggest_mib(4096 * mib, 4096 * mib, true), 6144);
    assert_int_equal(oom_suggest_mib(32768 * mib, 32768 * mib, true), 49152);
    /* It is known what was in use. */
    assert_int_equal(oom_suggest_mib(350 * mib, 100 * mib, false), 500);
    for (int64_t m = 1; m < 300000; m = m * 3 / 2 + 1)
        assert_true(oom_suggest_mib(m * mib, m * mib, false) > m);
}

static void test_the_sentence(void **state)
{
    (void)state;
    struct oom_victim v = {.pid = 77, .rss_bytes = 58 << 20, .name = "python3"}, none = {0};
    struct str out = STR_INIT;
    oom_sentence(60 << 20, 60 << 20, false, true, &v, &out);
    assert_string_equal(str_text(&out),
                        "exceeded its memory limit: 60 MiB in use of 60 MiB; process 77 "
                        "(python3, 58 MiB) was ended; ask for more, for example --mem=100M");
    str_clear(&out);
    oom_sentence(INT64_C(30) << 30, INT64_C(20) << 30, true, false, &none, &out);
    assert_string_equal(str_text(&out), "exceeded its job's memory limit: 30 GiB in use of 20 GiB; "
                                        "ask for more, for example --mem=36G");
    str_clear(&out);
    oom_machine_sentence(58 << 20, 100 << 20, &v, &out);
    assert_string_equal(
        str_text(&out),
        "was within its memory limit, but the machine ran out of memory: 58 MiB in use of "
        "100 MiB; process 77 (python3, 58 MiB) was ended");
    str_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_process_of_the_group_is_found_in_the_log),
        cmocka_unit_test(test_a_task_killed_for_the_limit_of_the_job),
        cmocka_unit_test(test_the_machine_s_memory_and_limits_above_are_not_the_job_s),
        cmocka_unit_test(test_a_log_without_it),
        cmocka_unit_test(test_what_is_suggested),
        cmocka_unit_test(test_the_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
