#include "unit.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "model/job/dependency.h"
#include "model/job/job.h"
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

/* ---- expressions ---- */

static void test_parentheses_say_what_belongs_together(void **state)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"(afterok:1,after:2)?afterany:3", "(afterok:1,after:2)?afterany:3"},
        {"afterok:1:2?after:3", "afterok:1?afterok:2?after:3"},
        {"(afterok:1:2)?after:3", "(afterok:1,afterok:2)?after:3"},
        {"afterok:1,(after:2,(after:3))", "afterok:1,after:2,after:3"},
        {"((afterok:1?after:2)),after:3", "(afterok:1?after:2),after:3"},
        {"!(afterok:1,after:2?!after:3)", NULL},
        {"!(afterok:1,!after:2),singleton", "(!afterok:1?after:2),singleton"},
        {"!!(afterok:1)", "afterok:1"},
        {"! ( afterok:1 ? after:2 )", "!afterok:1,!after:2"},
        {"exit:1>3,exit:2_4!=0,exit:3", "exit:1>3,exit:2_4!=0,exit:3!=0"},
        {"numdone:1>=3:2==all", "numdone:1>=3,numdone:2==all"},
        {"numrun:1=2", "numrun:1==2"},
        {"afterany:1_each,exit:2_each<=4", "afterany:1_each,exit:2_each<=4"},
        {"afterok:1_*:2,aftercorr:3_*", "afterok:1_*,afterok:2,aftercorr:3_*"},
        {"on:3,before:1:2,beforeok:3,beforenotok:4,beforeany:5",
         "on:3,before:1,before:2,beforeok:3,beforenotok:4,beforeany:5"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct dependency_list d;
        struct err e = {0};
        bool ok = dependency_parse(rows[i].text, arena, &d, &e);
        assert_int_equal(ok, rows[i].shown != NULL);
        if (!ok)
            continue;
        struct str plain = STR_INIT;
        for (const char *at = shown(&d); *at;)
            if (text_starts(at, "(unfulfilled)"))
                at += strlen("(unfulfilled)");
            else
                str_addc(&plain, *at++);
        assert_string_equal(str_text(&plain), rows[i].shown);
        str_done(&plain);
    }
}

static void test_what_an_expression_cannot_be_is_named(void **state)
{
    assert_non_null(strstr(refusal("(after:1", ERR_INVALID), "a ')' is missing"));
    assert_non_null(strstr(refusal("after:1)", ERR_INVALID), "cannot be read at \")\""));
    assert_non_null(strstr(refusal("()", ERR_INVALID), "is no type of dependency"));
    assert_non_null(strstr(refusal("!", ERR_INVALID), "is no type of dependency"));
    assert_non_null(strstr(refusal("!singleton", ERR_INVALID), "'!' before singleton"));
    assert_non_null(strstr(refusal("!afterok:1_each", ERR_INVALID), "afterok:…_each"));
    assert_non_null(strstr(refusal("numdone:1", ERR_INVALID), "numdone:JOB>=3"));
    assert_non_null(strstr(refusal("numdone:1=>3", ERR_INVALID), "numbers are compared as"));
    assert_non_null(strstr(refusal("exit:1>all", ERR_INVALID), "numbers are compared as"));
    assert_non_null(strstr(refusal("exit:1>4294967296", ERR_INVALID), "numbers are compared as"));
    assert_non_null(strstr(refusal("on:0", ERR_INVALID), "on:COUNT"));
    assert_non_null(strstr(refusal("on:1?after:2", ERR_INVALID), "without '?'"));
    assert_non_null(strstr(refusal("on:4096,after:1", ERR_LIMIT), "4097 together"));
    assert_int_equal(parsed("on:4095,after:1").n, 2);
    assert_int_equal(parsed("on:4096").n, 1);
    assert_non_null(strstr(refusal("(before:1?after:2),after:3", ERR_INVALID), "without '?'"));
    assert_non_null(strstr(refusal("numdone:1_each>3", ERR_INVALID), "_each is for"));
    char deep[200] = "";
    for (unsigned i = 0; i <= LIMIT_DEPENDENCY_DEPTH; i++)
        strcat(deep, "(");
    strcat(deep, "after:1");
    assert_non_null(strstr(refusal(deep, ERR_LIMIT), "parentheses"));
}

/* What is satisfied for good is not shown, and what holds for a while counts. */
static void test_what_the_whole_is_worth(void **state)
{
    struct dependency_list d = parsed("after:1,(afterok:2?(numrun:3>1,after:4))");
    assert_false(dependency_truth(&d).now);
    d.v[0].status = DEP_SATISFIED;
    d.v[2].now = true;
    assert_string_equal(shown(&d), "afterok:2(unfulfilled)?(numrun:3>1(unfulfilled),after:4"
                                   "(unfulfilled))");
    assert_false(dependency_truth(&d).now);
    d.v[3].status = DEP_SATISFIED;
    assert_true(dependency_truth(&d).now);
    assert_false(dependency_truth(&d).final);
    d.v[2].status = DEP_SATISFIED;
    assert_true(dependency_truth(&d).final);
    d.v[2].status = DEP_FAILED;
    assert_false(dependency_truth(&d).now);
    assert_false(dependency_truth(&d).final);
    d.v[1].status = DEP_FAILED;
    assert_true(dependency_truth(&d).final);
    assert_string_equal(shown(&d), "afterok:2(failed)?numrun:3>1(failed)");
}

static void test_in_words(void **state)
{
    struct str out = STR_INIT;
    struct dependency_list d = parsed("afterok:12,(after:13+5?!afterany:14_3?exit:15>3),"
                                      "numexit:16<=2,numdone:17==all,singleton,aftercorr:18");
    dependency_say(&d, &out);
    assert_string_equal(
        str_text(&out),
        "job 12 to end well, and (job 13 to start and 5 minutes to pass then, or job 14_3 not to "
        "have ended, or job 15 to fail with an exit code above 3), and at most 2 elements of job "
        "16 to have failed, and all elements of job 17 to have ended well, and all earlier jobs "
        "of its name and user to end, and its own element of job 18 to end well");
    str_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parentheses_say_what_belongs_together),
        cmocka_unit_test(test_what_an_expression_cannot_be_is_named),
        cmocka_unit_test(test_what_the_whole_is_worth),
        cmocka_unit_test(test_in_words),
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
