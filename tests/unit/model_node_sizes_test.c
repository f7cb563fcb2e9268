/* Lists of numbers of nodes. */
#include "unit.h"

#include "base/str.h"
#include "model/settings/node_sizes.h"

#include <stdio.h>
#include <string.h>

static const char *folded(const char *text)
{
    static char out[1024];
    struct node_sizes s;
    struct err err = {0};
    struct str all = STR_INIT;
    if (!node_sizes_parse(text, &s, &err)) {
        snprintf(out, sizeof out, "%s", err.text);
        return out;
    }
    for (size_t i = 0; i < s.n; i++)
        str_addf(&all, s.range[i].low == s.range[i].high ? "%s%d" : "%s%d-%d", i ? "," : "",
                 s.range[i].low, s.range[i].high);
    snprintf(out, sizeof out, "%s", str_text(&all));
    str_done(&all);
    return out;
}

static void lists_are_folded(void **unused)
{
    assert_string_equal(folded("1-15:4"), "1,5,9,13");
    assert_string_equal(folded("1,3-5:2"), "1,3,5");
    assert_string_equal(folded("8,1-3,4"), "1-4,8");
    assert_string_equal(folded("1-9:2,2-8:2"), "1-9");
    assert_string_equal(folded("2,2,2"), "2");
    assert_string_equal(folded("1k, 4"), "4,1024");
    assert_string_equal(folded("3-20,5-7,19-25"), "3-25");
}

static void what_is_no_list_is_said(void **unused)
{
    assert_string_equal(folded("5-1,2"), "the smaller number comes first");
    assert_non_null(strstr(folded("1-200:2"), "64 ranges are allowed"));
    static const char *const wrong[] = {"",      "1,",      ",",       "0,1",  "x",
                                        "1-",    "-2,3",    "1:2",     "1-5:", "1-5:0",
                                        "1-5:x", "1-2-3,4", "65537,1", "99k"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(node_sizes_parse(wrong[i], &(struct node_sizes){0}, NULL));
}

/* The first range covers the others, so that they come to one range however many there are. */
static void what_is_counted_again_and_again_is_refused(void **unused)
{
    struct str text = STR_INIT;
    struct err err = {0};
    str_add(&text, "1-64K");
    for (int i = 0; i < 2; i++)
        str_add(&text, ",1-64K:2");
    assert_string_equal(folded(str_text(&text)), "1-65536");
    for (int i = 0; i < 8000; i++)
        str_add(&text, ",1-64K:2");
    assert_false(node_sizes_parse(str_text(&text), &(struct node_sizes){0}, &err));
    assert_non_null(strstr(err.text, "one by one"));
    str_done(&text);
}

/* What is covered is looked for in all of the ranges. */
static void what_is_covered_by_the_last_of_many_ranges_is_refused(void **unused)
{
    struct str text = STR_INIT;
    struct err err = {0};
    for (int i = 1; i < 127; i += 2)
        str_addf(&text, "%d,", i);
    str_add(&text, "127-64K,127-64K:2,128-64K:2");
    for (int i = 0; i < 900; i++)
        str_add(&text, ",127-64K:2");
    assert_non_null(strstr(folded(str_text(&text)), "123,125,127-65536"));
    for (int i = 0; i < 200; i++)
        str_add(&text, ",127-128:2");
    assert_false(node_sizes_parse(str_text(&text), &(struct node_sizes){0}, &err));
    assert_non_null(strstr(err.text, "one by one"));
    str_done(&text);
}

/* From a number within a range the next one that is looked at is the first behind it. */
static void steps_go_on_behind_what_is_covered(void **unused)
{
    assert_string_equal(folded("4-9,2-16:3"), "2,4-9,11,14");
    assert_string_equal(folded("4-8,2-16:3"), "2,4-8,11,14");
    assert_string_equal(folded("5,5-6:65536,1-9:4"), "1,5,9");
}

static void the_largest_that_there_is_room_for(void **unused)
{
    struct node_sizes s;
    assert_true(node_sizes_parse("2,4-6,10", &s, NULL));
    assert_int_equal(node_sizes_largest(&s, 100), 10);
    assert_int_equal(node_sizes_largest(&s, 9), 6);
    assert_int_equal(node_sizes_largest(&s, 5), 5);
    assert_int_equal(node_sizes_largest(&s, 3), 2);
    assert_int_equal(node_sizes_largest(&s, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_folded),
        cmocka_unit_test(what_is_no_list_is_said),
        cmocka_unit_test(what_is_counted_again_and_again_is_refused),
        cmocka_unit_test(what_is_covered_by_the_last_of_many_ranges_is_refused),
        cmocka_unit_test(steps_go_on_behind_what_is_covered),
        cmocka_unit_test(the_largest_that_there_is_room_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
