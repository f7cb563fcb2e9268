/* What srun takes from nodes about the tasks of its step. */
#include "unit.h"

#include "cli/step/tasks.h"

static struct step_tasks *four(void)
{
    static struct alloc_node nodes[] = {{.node = "n1", .task_ids = "0-1"},
                                        {.node = "n2", .task_ids = "2-3"}};
    return tasks_new(&(struct alloc){.node = nodes, .n = 2}, 4, 0);
}

static void test_each_end_is_counted_once(void **state)
{
    (void)state;
    struct str line = STR_INIT;
    struct step_tasks *t = four();
    tasks_started(t, "n1", "0-1");
    tasks_started(t, "n2", "2-3");
    assert_int_equal(tasks_count(t, TASK_RUNS), 4);
    tasks_ended(t, "n1", "0-1", 3 << 8, &line);
    tasks_ended(t, "n1", "0", 0, &line);
    assert_int_equal(tasks_count(t, TASK_ENDED), 2);
    assert_int_equal(tasks_worst(t), 3);
    assert_string_equal(str_text(&line), "n1: tasks 0-1: Exited with exit code 3");
    tasks_lost(t, "n2");
    assert_int_equal(tasks_count(t, TASK_ENDED), 4);
    str_done(&line);
    tasks_free(t);
}

/* Four thousand million numbers in a few bytes, and again: srun did nothing else any more. */
static void test_tasks_that_are_none_are_not_heard_of(void **state)
{
    (void)state;
    struct str line = STR_INIT;
    struct step_tasks *t = four();
    tasks_started(t, "n1", "0-4294967294");
    tasks_started(t, "n1", "4");
    tasks_started(t, "n1", "x");
    assert_int_equal(tasks_count(t, TASK_WAITS), 4);
    tasks_ended(t, "n1", "0-4294967294", 0, &line);
    assert_int_equal(tasks_count(t, TASK_ENDED), 0);
    tasks_ended(t, "n1", "2-9", 9, &line);
    assert_int_equal(tasks_count(t, TASK_ENDED), 0);
    assert_int_equal(line.len, 0);
    str_done(&line);
    tasks_free(t);
}

static void test_a_node_speaks_for_its_own_tasks(void **state)
{
    (void)state;
    struct str line = STR_INIT;
    struct step_tasks *t = four();
    tasks_started(t, "n1", "0-3");
    assert_int_equal(tasks_count(t, TASK_RUNS), 2);
    tasks_ended(t, "n1", "1-3", 3 << 8, &line);
    assert_int_equal(tasks_count(t, TASK_ENDED), 1);
    assert_string_equal(str_text(&line), "n1: task 1: Exited with exit code 3");
    assert_true(tasks_is_on(t, 0, "n1") && tasks_is_on(t, 3, "n2"));
    assert_false(tasks_is_on(t, 0, "n2") || tasks_is_on(t, 4, "n2") || tasks_is_on(t, -1, "n1"));
    str_done(&line);
    tasks_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_end_is_counted_once),
        cmocka_unit_test(test_a_node_speaks_for_its_own_tasks),
        cmocka_unit_test(test_tasks_that_are_none_are_not_heard_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
