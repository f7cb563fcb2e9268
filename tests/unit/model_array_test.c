#include "unit.h"

#include "base/alloc.h"
#include "model/job/array.h"
#include "model/job/job.h"
#include "model/limits.h"

#include <string.h>

static void test_indexes_and_how_many_may_run_at_once(void **state)
{
    struct idset ids = IDSET_INIT;
    uint32_t limit = 7;
    assert_true(array_parse("0-15:4,20%5", LIMIT_ARRAY_INDEX, &ids, &limit, NULL));
    assert_int_equal(ids.count, 5);
    assert_true(idset_has(&ids, 12));
    assert_true(idset_has(&ids, 20));
    assert_int_equal(limit, 5);
    assert_true(array_parse("3", LIMIT_ARRAY_INDEX, &ids, &limit, NULL));
    assert_int_equal(ids.count, 1);
    assert_int_equal(limit, 0);
    idset_done(&ids);
}

static void test_the_largest_index_is_a_setting(void **state)
{
    struct idset ids = IDSET_INIT;
    struct err e = {0};
    uint32_t limit;
    assert_true(array_parse("0-1000", 1000, &ids, &limit, NULL));
    assert_false(array_parse("0-1001", 1000, &ids, &limit, &e));
    assert_non_null(strstr(e.text, "1000"));
    assert_int_equal(ids.count, 1001);
    idset_done(&ids);
}

static void test_a_limit_of_nothing_makes_no_sense(void **state)
{
    static const char *const wrong[] = {"1-3%0", "1-3%", "1-3%x", "%2", "", "1-", "3-1", "a"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct idset ids = IDSET_INIT;
        struct err e = {0};
        uint32_t limit = 9;
        if (array_parse(wrong[i], LIMIT_ARRAY_INDEX, &ids, &limit, &e))
            fail_msg("\"%s\" was accepted", wrong[i]);
        assert_true(e.text[0] && limit == 9);
    }
}

static void test_the_waiting_rest_stands_in_brackets(void **state)
{
    static const struct {
        const char *ids;
        uint32_t limit;
        bool all;
        const char *shown;
    } cases[] = {{"0-9", 4, false, "[0-9%4]"},
                 {"0-9", 0, true, "[0-9]"},
                 {"7", 0, false, "7"},
                 {"7", 2, false, "7"},
                 {"7", 0, true, "[7]"},
                 {"7", 2, true, "[7%2]"},
                 {"1,5", 0, false, "[1,5]"},
                 {"0-9:3", 2, false, "[0,3,6,9%2]"},
                 {"0-20:5", 0, false, "[0-20:5]"},
                 {"0-20:5,7", 0, false, "[0,5,7,10,15,20]"},
                 {"1,2", 0, false, "[1-2]"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct idset ids = IDSET_INIT;
        struct str out = STR_INIT;
        assert_true(idset_parse(&ids, cases[i].ids, LIMIT_ARRAY_INDEX, NULL));
        array_format_pending(&ids, cases[i].limit, cases[i].all, &out);
        assert_string_equal(str_text(&out), cases[i].shown);
        str_done(&out);
        idset_done(&ids);
    }
}

static struct job_ref ref(const char *text)
{
    struct job_ref r;
    struct err e = {0};
    if (!job_ref_parse(text, &r, &e))
        fail_msg("%s", e.text);
    return r;
}

static void test_a_job_is_named_by_its_id(void **state)
{
    struct job_ref r = ref("42");
    assert_int_equal(r.job_id, 42);
    assert_true(r.task_id == NO_TASK && !r.has_step && r.het_offset == -1 && r.tasks.count == 0);
    assert_true(ref("18446744073709551615").job_id == UINT64_MAX);
}

static void test_elements_components_and_steps(void **state)
{
    struct job_ref r = ref("42_7");
    assert_int_equal(r.task_id, 7);
    r = ref("42_7.1");
    assert_true(r.task_id == 7 && r.has_step && r.step_id == 1);
    r = ref("42.batch");
    assert_true(r.has_step && r.step_id == STEP_BATCH);
    assert_true(ref("42.extern").step_id == STEP_EXTERN);
    assert_int_equal(ref("42+1").het_offset, 1);
    assert_true(ref("42_*").task_id == NO_TASK);
    r = ref("42_[1-3,9]");
    assert_int_equal(r.tasks.count, 4);
    assert_true(r.task_id == NO_TASK);
    job_ref_done(&r);
}

static void test_what_names_no_job_is_refused_with_the_forms(void **state)
{
    static const char *const wrong[] = {"",      "0",   "x",    "42_", "42_x", "42_[", "42_[]",
                                        "42_[1", "42.", "42.x", "42+", "-3",   " 42",  "42_[2-1]"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct job_ref r;
        struct err e = {0};
        if (job_ref_parse(wrong[i], &r, &e))
            fail_msg("\"%s\" was accepted", wrong[i]);
        assert_true(e.text[0]);
    }
    struct job_ref r;
    struct err e = {0};
    assert_false(job_ref_parse("job7", &r, &e));
    assert_non_null(strstr(e.text, "42_7"));
    assert_false(job_ref_parse(NULL, &r, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_indexes_and_how_many_may_run_at_once),
        cmocka_unit_test(test_the_largest_index_is_a_setting),
        cmocka_unit_test(test_a_limit_of_nothing_makes_no_sense),
        cmocka_unit_test(test_the_waiting_rest_stands_in_brackets),
        cmocka_unit_test(test_a_job_is_named_by_its_id),
        cmocka_unit_test(test_elements_components_and_steps),
        cmocka_unit_test(test_what_names_no_job_is_refused_with_the_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
