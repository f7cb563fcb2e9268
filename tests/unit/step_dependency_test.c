#include "unit.h"

#include "model/job/job.h"
#include "model/job/step_dependency.h"
#include "model/limits.h"

#include "base/str.h"

#include <string.h>

static struct arena *arena;
static struct step_dependency_list list;
static struct err err;

static int setup(void **state)
{
    (void)state;
    arena = arena_new();
    err = (struct err){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static bool parses(const char *text)
{
    return step_dependency_parse(text, arena, &list, &err);
}

static void test_numbers_with_a_point_are_steps(void **state)
{
    (void)state;
    assert_true(step_dependency_is("afterok:42.3"));
    assert_false(step_dependency_is("afterok:42"));
    assert_false(step_dependency_is("singleton"));
    assert_false(step_dependency_is(NULL));
}

static void test_all_that_is_named_is_found(void **state)
{
    (void)state;
    assert_true(parses("afterok:42.3:42.4,AfterAny:42_7.5,after:1.0,afternotok:9.1"));
    assert_int_equal(list.n, 5);
    static const struct step_dependency want[] = {{DEP_AFTEROK, 42, NO_TASK, 3},
                                                  {DEP_AFTEROK, 42, NO_TASK, 4},
                                                  {DEP_AFTERANY, 42, 7, 5},
                                                  {DEP_AFTER, 1, NO_TASK, 0},
                                                  {DEP_AFTERNOTOK, 9, NO_TASK, 1}};
    for (size_t i = 0; i < list.n; i++) {
        assert_int_equal(list.v[i].kind, want[i].kind);
        assert_int_equal(list.v[i].job_id, want[i].job_id);
        assert_int_equal(list.v[i].task_id, want[i].task_id);
        assert_int_equal(list.v[i].step_id, want[i].step_id);
    }
}

static void test_what_is_none_is_refused_with_a_sentence(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        ",",
        "afterok",
        "afterok:",
        "afterok:42",
        "afterok:42.batch",
        "afterok:42.3:42",
        "afterok:42+1.0",
        "aftercorr:42.3",
        "singleton:42.3",
        "42.3",
        "afterok:42.3?afterany:42.4",
        "afterok:42.3,",
        "afterok:x.3",
        "afterok:42.-3",
        "afterok:42.99999999999999999999",
        "expand:1.0",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        err = (struct err){0};
        if (parses(bad[i]))
            fail_msg("\"%s\" was accepted", bad[i]);
        assert_true(err.text[0] != '\0');
    }
}

static void test_as_many_as_jobs_have_and_no_more(void **state)
{
    (void)state;
    struct str text = STR_INIT;
    str_add(&text, "afterany");
    for (unsigned i = 0; i < LIMIT_DEPENDENCIES; i++)
        str_addf(&text, ":1.%u", i);
    assert_true(parses(str_text(&text)));
    assert_int_equal(list.n, LIMIT_DEPENDENCIES);
    str_add(&text, ":1.0");
    assert_false(parses(str_text(&text)));
    str_done(&text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(numbers_with_a_point_are_steps),
        TEST(all_that_is_named_is_found),
        TEST(what_is_none_is_refused_with_a_sentence),
        TEST(as_many_as_jobs_have_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
