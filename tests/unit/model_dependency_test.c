#include "unit.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "model/dependency.h"
#include "model/job.h"
#include "model/limits.h"

#include <string.h>

static struct arena *arena;

static int setup(void **state)
{
    arena = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(arena);
    return 0;
}

static struct dependency_list parsed(const char *text)
{
    struct dependency_list d = {0};
    struct err e = {0};
    if (!dependency_parse(text, arena, &d, &e))
        fail_msg("%s", e.text);
    return d;
}

static const char *shown(const struct dependency_list *d)
{
    struct str out = STR_INIT;
    dependency_format(d, &out);
    const char *text = arena_strdup(arena, str_text(&out));
    str_done(&out);
    return text;
}

/* What squeue's %E shows before anything of it has happened. */
static const char *open_form(const char *text)
{
    struct dependency_list d = parsed(text);
    return shown(&d);
}

static const char *refusal(const char *text, enum err_code code)
{
    struct dependency_list d = {0};
    struct err e = {0};
    assert_false(dependency_parse(text, arena, &d, &e));
    assert_int_equal(e.code, code);
    return arena_strdup(arena, e.text);
}

/* A controller that restarts reads what it wrote. */
static void test_what_is_written_is_read_back(void **state)
{
    struct dependency_list d = parsed("after:7+5,afterok:10_3:11,singleton");
    d.v[0].status = DEP_SATISFIED;
    d.v[1].status = DEP_FAILED;
    const char *text = shown(&d);
    struct dependency_list again = parsed(text);
    assert_string_equal(text,
                        "afterok:10_3(failed),afterok:11(unfulfilled),singleton(unfulfilled)");
    assert_string_equal(shown(&again), text);
    assert_int_equal(again.n, 3);
    assert_int_equal(again.v[0].status, DEP_FAILED);
    assert_int_equal(again.v[1].status, DEP_OPEN);
    assert_int_equal(again.v[2].kind, DEP_SINGLETON);
}

static void test_every_type(void **state)
{
    assert_string_equal(open_form("after:10"), "after:10(unfulfilled)");
    assert_string_equal(open_form("afterany:10"), "afterany:10(unfulfilled)");
    assert_string_equal(open_form("afterok:10"), "afterok:10(unfulfilled)");
    assert_string_equal(open_form("afternotok:10"), "afternotok:10(unfulfilled)");
    assert_string_equal(open_form("aftercorr:10"), "aftercorr:10(unfulfilled)");
    assert_string_equal(open_form("singleton"), "singleton(unfulfilled)");
    assert_string_equal(open_form("AfterOK:10"), "afterok:10(unfulfilled)");
}

static void test_a_number_alone_is_afterany(void **state)
{
    assert_string_equal(open_form("10"), "afterany:10(unfulfilled)");
    assert_string_equal(open_form("10:11"), "afterany:10(unfulfilled),afterany:11(unfulfilled)");
}

static void test_commas_mean_all_and_question_marks_any(void **state)
{
    struct dependency_list d = parsed("afterok:10:11_3,singleton");
    assert_int_equal(d.n, 3);
    assert_false(d.any);
    assert_int_equal(d.v[1].task_id, 3);
    assert_true(d.v[0].task_id == NO_TASK);
    d = parsed("afterany:10?afterok:11");
    assert_true(d.any);
    assert_string_equal(shown(&d), "afterany:10(unfulfilled)?afterok:11(unfulfilled)");
    assert_non_null(strstr(refusal("afterok:1,afterok:2?afterok:3", ERR_INVALID), "not both"));
}

static void test_after_takes_minutes(void **state)
{
    struct dependency_list d = parsed("after:10+5:11");
    assert_int_equal(d.v[0].delay_us, 5 * USEC_PER_MIN);
    assert_int_equal(d.v[1].delay_us, 0);
    assert_string_equal(shown(&d), "after:10+5(unfulfilled),after:11(unfulfilled)");
    assert_non_null(strstr(refusal("afterok:10+5", ERR_INVALID), "after:JOB+MINUTES"));
}

static void test_a_star_is_the_whole_array(void **state)
{
    assert_true(parsed("afterok:10_*").v[0].task_id == NO_TASK);
}

static void test_nothing_and_zero_take_dependencies_away(void **state)
{
    assert_int_equal(parsed("").n, 0);
    assert_int_equal(parsed(NULL).n, 0);
    assert_int_equal(parsed("0").n, 0);
}

static void test_satisfied_ones_are_not_shown_and_failed_ones_say_so(void **state)
{
    struct dependency_list d = parsed("afterok:10:11:12");
    d.v[0].status = DEP_SATISFIED;
    d.v[1].status = DEP_FAILED;
    assert_string_equal(shown(&d), "afterok:11(failed),afterok:12(unfulfilled)");
}

static void test_what_is_not_supported_yet_says_so(void **state)
{
    assert_non_null(strstr(refusal("afterburstbuffer:10", ERR_UNSUPPORTED),
                           "not supported yet: afterburstbuffer"));
    assert_non_null(strstr(refusal("expand:10", ERR_UNSUPPORTED), "not supported yet: expand"));
}

static void test_what_is_wrong_is_named(void **state)
{
    assert_non_null(strstr(refusal("afterever:10", ERR_INVALID), "\"afterever\""));
    assert_non_null(strstr(refusal("afterok:ten", ERR_INVALID), "\"ten\""));
    assert_non_null(strstr(refusal("afterok", ERR_INVALID), "names no job"));
    assert_non_null(strstr(refusal("afterok:0", ERR_INVALID), "\"0\""));
    assert_non_null(strstr(refusal("afterok:10_x", ERR_INVALID), "\"10_x\""));
    refusal("afterok:", ERR_INVALID);
    refusal("afterok:10,", ERR_INVALID);
    refusal("singleton:10", ERR_INVALID);
}

static void test_there_is_a_limit(void **state)
{
    struct str text = STR_INIT;
    str_add(&text, "afterok");
    for (unsigned i = 1; i <= LIMIT_DEPENDENCIES; i++)
        str_addf(&text, ":%u", i);
    assert_int_equal(parsed(str_text(&text)).n, LIMIT_DEPENDENCIES);
    str_add(&text, ":99999");
    assert_non_null(strstr(refusal(str_text(&text), ERR_LIMIT), "4096"));
    str_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_a_number_alone_is_afterany),
        cmocka_unit_test(test_commas_mean_all_and_question_marks_any),
        cmocka_unit_test(test_after_takes_minutes),
        cmocka_unit_test(test_a_star_is_the_whole_array),
        cmocka_unit_test(test_nothing_and_zero_take_dependencies_away),
        cmocka_unit_test(test_satisfied_ones_are_not_shown_and_failed_ones_say_so),
        cmocka_unit_test(test_what_is_not_supported_yet_says_so),
        cmocka_unit_test(test_what_is_wrong_is_named),
        cmocka_unit_test(test_there_is_a_limit),
        cmocka_unit_test(test_what_is_written_is_read_back),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
