#include "unit.h"

#include "base/alloc.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static void test_an_empty_string_needs_no_memory_and_reads_as_nothing(void **state)
{
    struct str s = STR_INIT;
    assert_string_equal(str_text(&s), "");
    assert_null(s.data);
    str_add(&s, NULL);
    assert_int_equal(s.len, 0);
    char *taken = str_take(&s);
    assert_string_equal(taken, "");
    free(taken);
    str_done(&s);
}

static void test_a_string_grows_piece_by_piece(void **state)
{
    struct str s = STR_INIT;
    str_add(&s, "job ");
    str_add_i64(&s, -17);
    str_addc(&s, ':');
    str_addf(&s, " %s %d%%", "done", 50);
    str_addn(&s, "!!!!", 2);
    assert_string_equal(str_text(&s), "job -17: done 50%!!");
    assert_int_equal(s.len, strlen(s.data));
    str_cut(&s, 7);
    str_cut(&s, 100);
    assert_string_equal(str_text(&s), "job -17");
    str_clear(&s);
    assert_string_equal(str_text(&s), "");
    str_done(&s);
}

static void test_one_letter_at_a_time_makes_a_long_string(void **state)
{
    struct str s = STR_INIT;
    for (int i = 0; i < 10000; i++)
        str_addc(&s, (char)('a' + i % 26));
    assert_int_equal(s.len, 10000);
    assert_int_equal(strlen(s.data), 10000);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(s.data[i], 'a' + i % 26);
    str_done(&s);
}

static void test_reserved_room_is_used_without_moving(void **state)
{
    struct str s = STR_INIT;
    str_reserve(&s, 1000);
    const char *at = s.data;
    assert_string_equal(str_text(&s), "");
    for (int i = 0; i < 100; i++)
        str_add(&s, "0123456789");
    assert_ptr_equal(s.data, at);
    str_done(&s);
}

static void test_numbers_at_their_bounds(void **state)
{
    struct str s = STR_INIT;
    str_add_i64(&s, 0);
    str_addc(&s, ' ');
    str_add_i64(&s, INT64_MAX);
    str_addc(&s, ' ');
    str_add_i64(&s, INT64_MIN);
    str_addc(&s, ' ');
    str_add_u64(&s, UINT64_MAX);
    assert_string_equal(str_text(&s),
                        "0 9223372036854775807 -9223372036854775808 18446744073709551615");
    str_done(&s);
}

static void test_a_taken_text_is_the_callers(void **state)
{
    struct str s = STR_INIT;
    str_add(&s, "mine");
    char *taken = str_take(&s);
    str_add(&s, "other");
    assert_string_equal(taken, "mine");
    free(taken);
    str_done(&s);
}

/* Joins the pieces with '|'. */
static const char *pieces(const char *text, char sep)
{
    static char joined[100];
    struct span rest = span_of(text), piece;
    size_t at = 0;
    joined[0] = '\0';
    while (span_next(&rest, sep, &piece)) {
        memcpy(joined + at, piece.data, piece.len);
        at += piece.len;
        memcpy(joined + at, "|", 2);
        at++;
    }
    return joined;
}

static void test_a_span_splits_at_every_separator(void **state)
{
    assert_string_equal(pieces("a,b c,d", ','), "a|b c|d|");
    assert_string_equal(pieces("a,,", ','), "a|||");
    assert_string_equal(pieces(",a", ','), "|a|");
    assert_string_equal(pieces("a", ','), "a|");
    assert_string_equal(pieces("", ','), "|");
    assert_string_equal(pieces(NULL, ','), "");
}

static void test_spans_are_trimmed_and_compared(void **state)
{
    assert_true(span_is(span_trim(span_of(" \t gpu 1\t ")), "gpu 1"));
    assert_true(span_is(span_trim(span_of("  ")), ""));
    assert_true(span_is(span_of(NULL), ""));
    assert_false(span_is(span_of("gpu"), "gpu1"));
    assert_false(span_is(span_of("GPU"), "gpu"));
    assert_true(span_is_nocase(span_of("GPU"), "gpu"));
    assert_false(span_is_nocase(span_of("GPU1"), "gpu"));
}

static void test_numbers_in_names_have_their_order(void **state)
{
    static const char *const in_order[] = {"",
                                           "1",
                                           "01x",
                                           "2",
                                           "10",
                                           "a",
                                           "n",
                                           "n1",
                                           "n2",
                                           "n2-1",
                                           "n10",
                                           "n10a",
                                           "n99999999999999999999998",
                                           "n99999999999999999999999",
                                           "nx",
                                           "\xc3\xa4"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(in_order); i++)
        for (size_t k = 0; k < ARRAY_LEN(in_order); k++) {
            int order = text_compare_by_number(in_order[i], in_order[k]);
            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
    assert_true(text_compare_by_number("n01", "n1") != 0);
    assert_true(text_compare_by_number("n1", "n01") != 0);
}

static void test_texts_compare_and_null_equals_only_null(void **state)
{
    assert_true(text_is("a", "a"));
    assert_false(text_is("a", "A"));
    assert_false(text_is("a", NULL));
    assert_false(text_is(NULL, ""));
    assert_true(text_is(NULL, NULL));
    assert_true(text_is_nocase("UnLimited", "UNLIMITED"));
    assert_false(text_is_nocase(NULL, "x"));
    assert_true(text_empty(NULL) && text_empty("") && !text_empty(" "));
    assert_true(text_starts("gpu1", "gpu") && text_starts("gpu1", "") && !text_starts("gp", "gpu"));
    assert_true(text_starts_nocase("GPU1", "gpu") && !text_starts_nocase("GP", "gpu"));
}

static void test_a_number_is_the_whole_text_and_in_bounds(void **state)
{
    int64_t n = 99;
    assert_true(text_to_i64("-17", -20, 20, &n));
    assert_int_equal(n, -17);
    assert_true(text_to_i64("+5", 0, 9, &n));
    assert_int_equal(n, 5);
    assert_true(text_to_i64("9223372036854775807", INT64_MIN, INT64_MAX, &n) && n == INT64_MAX);
    assert_true(text_to_i64("-9223372036854775808", INT64_MIN, INT64_MAX, &n) && n == INT64_MIN);
    n = 99;
    static const char *const wrong[] = {"",
                                        "-",
                                        "+",
                                        "--1",
                                        "+-1",
                                        "1 ",
                                        " 1",
                                        "1x",
                                        "0x10",
                                        "1.0",
                                        "1e3",
                                        "21",
                                        "-21",
                                        "9223372036854775808",
                                        "-9223372036854775809",
                                        "99999999999999999999999",
                                        NULL};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_false(text_to_i64(wrong[i], -20, 20, &n));
    assert_int_equal(n, 99);
}

static void test_an_unsigned_number_has_no_sign(void **state)
{
    uint64_t n = 99;
    assert_true(text_to_u64("18446744073709551615", UINT64_MAX, &n) && n == UINT64_MAX);
    assert_true(text_to_u64("007", 7, &n) && n == 7);
    static const char *const wrong[] = {"", "-1", "+1", "18446744073709551616", "8", NULL};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_false(text_to_u64(wrong[i], 7, &n));
    assert_int_equal(n, 7);
}

static void test_the_nearest_name_is_suggested_if_it_is_near(void **state)
{
    static const char *const options[] = {"partition", "nodes", "ntasks", "ntasks-per-node",
                                          "gpus",      "time",  NULL};
    size_t count = ARRAY_LEN(options);
    assert_string_equal(text_nearest("partiton", options, count), "partition");
    assert_string_equal(text_nearest("PARTITION", options, count), "partition");
    assert_string_equal(text_nearest("itme", options, count), "time");
    assert_string_equal(text_nearest("ntask", options, count), "ntasks");
    assert_string_equal(text_nearest("ntasks_per_node", options, count), "ntasks-per-node");
    assert_null(text_nearest("account", options, count));
    assert_null(text_nearest("x", options, count));
    assert_null(text_nearest("", options, count));
    assert_null(text_nearest("gpus", options, 0));
    char *endless = xasprintf("%0100000d", 1);
    assert_null(text_nearest(endless, options, count));
    free(endless);
}

static void test_a_pattern_matches_whole_texts(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"gpu*", "gpu", true},
        {"gpu*", "gpu17", true},
        {"gpu*", "cpu1", false},
        {"*", "", true},
        {"", "", true},
        {"", "x", false},
        {"gpu?", "gpu1", true},
        {"gpu?", "gpu", false},
        {"gpu?", "gpu12", false},
        {"*1*", "gpu12", true},
        {"a*b*c", "aXbXbXc", true},
        {"a*b*c", "aXbXbX", false},
        {"[abc]x", "bx", true},
        {"[a-c]x", "dx", false},
        {"[!a-c]x", "dx", true},
        {"[^a-c]x", "ax", false},
        {"[]]", "]", true},
        {"[a-]", "-", true},
        {"[ab", "[ab", true},
        {"[ab", "a", false},
        {"a\\*b", "a*b", true},
        {"a\\*b", "aXb", false},
        {"node[1-3]", "node2", true},
        {"**a", "bba", true},
        {"x\\", "x\\", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (text_glob(cases[i].pattern, cases[i].text) != cases[i].matches)
            fail_msg("%s on %s", cases[i].pattern, cases[i].text);
}

static void test_a_pattern_of_many_stars_is_not_slow(void **state)
{
    char text[2001];
    memset(text, 'a', 2000);
    text[2000] = '\0';
    assert_false(text_glob("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

/* What stands behind a list is somebody else's. */
static void test_what_no_nul_ends_is_no_text_of_a_list(void **state)
{
    static const char list[] = "A=1\0\0B=2\0C=3stale\0older";
    struct span rest = {list, 12}, none = {NULL, 0};
    const char *text = NULL;
    assert_true(text_next(&rest, &text));
    assert_string_equal(text, "A=1");
    assert_true(text_next(&rest, &text));
    assert_string_equal(text, "");
    assert_true(text_next(&rest, &text));
    assert_string_equal(text, "B=2");
    assert_false(text_next(&rest, &text));
    assert_false(text_next(&rest, &text));
    assert_false(text_next(&none, &text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_string_needs_no_memory_and_reads_as_nothing),
        cmocka_unit_test(test_a_string_grows_piece_by_piece),
        cmocka_unit_test(test_one_letter_at_a_time_makes_a_long_string),
        cmocka_unit_test(test_reserved_room_is_used_without_moving),
        cmocka_unit_test(test_numbers_at_their_bounds),
        cmocka_unit_test(test_a_taken_text_is_the_callers),
        cmocka_unit_test(test_a_span_splits_at_every_separator),
        cmocka_unit_test(test_numbers_in_names_have_their_order),
        cmocka_unit_test(test_what_no_nul_ends_is_no_text_of_a_list),
        cmocka_unit_test(test_spans_are_trimmed_and_compared),
        cmocka_unit_test(test_texts_compare_and_null_equals_only_null),
        cmocka_unit_test(test_a_number_is_the_whole_text_and_in_bounds),
        cmocka_unit_test(test_an_unsigned_number_has_no_sign),
        cmocka_unit_test(test_the_nearest_name_is_suggested_if_it_is_near),
        cmocka_unit_test(test_a_pattern_matches_whole_texts),
        cmocka_unit_test(test_a_pattern_of_many_stars_is_not_slow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
