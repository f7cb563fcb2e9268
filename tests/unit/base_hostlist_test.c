#include "unit.h"

#include "base/alloc.h"
#include "base/hostlist.h"

#include <stdlib.h>
#include <string.h>

/* The names `text` reads to, with blanks between them; the error's sentence if it is refused. */
static const char *names(const char *text)
{
    static struct str joined;
    struct hostlist h = HOSTLIST_INIT;
    struct err e = {0};
    str_done(&joined);
    if (!hostlist_parse(&h, text, &e))
        str_add(&joined, e.text);
    for (size_t i = 0; i < h.n; i++) {
        if (i)
            str_addc(&joined, ' ');
        str_add(&joined, h.name[i]);
    }
    hostlist_done(&h);
    return str_text(&joined);
}

static const char *folded(const char *text)
{
    static struct str out;
    struct hostlist h = HOSTLIST_INIT;
    assert_true(hostlist_parse(&h, text, NULL));
    str_done(&out);
    hostlist_fold(&h, &out);
    hostlist_done(&h);
    return str_text(&out);
}

static const char *sorted(const char *text)
{
    static struct str out;
    struct hostlist h = HOSTLIST_INIT;
    assert_true(hostlist_parse(&h, text, NULL));
    hostlist_sort(&h);
    str_done(&out);
    hostlist_fold(&h, &out);
    hostlist_done(&h);
    return str_text(&out);
}

static void test_names_and_brackets(void **state)
{
    assert_string_equal(names("login"), "login");
    assert_string_equal(names("gpu[1-3]"), "gpu1 gpu2 gpu3");
    assert_string_equal(names("gpu[1-3,07],login"), "gpu1 gpu2 gpu3 gpu07 login");
    assert_string_equal(names("gpu[5]"), "gpu5");
    assert_string_equal(names("[1-2]"), "1 2");
    assert_string_equal(names(""), "");
    assert_string_equal(names(" , ,"), "");
}

static void test_names_may_be_separated_by_blanks_and_lines_too(void **state)
{
    assert_string_equal(names("a , b,\tc\nd"), "a b c d");
    assert_string_equal(names("a,,b"), "a b");
    assert_string_equal(names("a[1, 3]"), "a1 a3");
}

static void test_a_range_is_padded_as_its_lower_end_is(void **state)
{
    assert_string_equal(names("n[08-11]"), "n08 n09 n10 n11");
    assert_string_equal(names("n[8-11]"), "n8 n9 n10 n11");
    assert_string_equal(names("n[098-101]"), "n098 n099 n100 n101");
    assert_string_equal(names("n[98-0101]"), "n98 n99 n100 n101");
    assert_string_equal(names("n[00-02]"), "n00 n01 n02");
}

static void test_several_brackets_multiply(void **state)
{
    assert_string_equal(names("a[1-2]b[1-2]"), "a1b1 a1b2 a2b1 a2b2");
    assert_string_equal(names("r[1-2]n[01-02].local"),
                        "r1n01.local r1n02.local r2n01.local r2n02.local");
    assert_string_equal(names("[1-2][3-4]"), "13 14 23 24");
}

static void test_what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"gpu[1-3", "not closed"}, {"gpu1]", "not opened"},
        {"gpu[]", "no number"},    {"gpu[x]", "\"x\" is no number or range"},
        {"gpu[3-1]", "\"3-1\""},   {"gpu[1-]", "\"1-\""},
        {"gpu[-1]", "\"-1\""},     {"gpu[1-2-3]", "\"1-2-3\""},
        {"gpu[1,,2]", "\"\""},     {"gpu[[1]]", "\"[1\""},
        {"a[1]b]", "not opened"},  {"gpu[1000000000000000000]", "no number"},
        {"a\001b", "control"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (!strstr(names(cases[i].text), cases[i].says))
            fail_msg("%s: %s", cases[i].text, names(cases[i].text));
}

static void test_a_refused_text_changes_nothing(void **state)
{
    struct hostlist h = HOSTLIST_INIT;
    struct err e = {0};
    assert_true(hostlist_parse(&h, "a,b", NULL));
    assert_false(hostlist_parse(&h, "c[1-3],d[", &e));
    assert_int_equal(e.code, ERR_INVALID);
    assert_int_equal(h.n, 2);
    assert_true(hostlist_has(&h, "b") && !hostlist_has(&h, "c1"));
    hostlist_done(&h);
}

static void test_a_list_has_a_bounded_number_of_names(void **state)
{
    static const char *const too_many[] = {"n[0-131072]", "n[1-999999999999999999]",
                                           "n[1-1000]x[1-1000]y[1-1000]", "n[0-131071],one"};
    for (size_t i = 0; i < ARRAY_LEN(too_many); i++) {
        struct hostlist h = HOSTLIST_INIT;
        struct err e = {0};
        assert_false(hostlist_parse(&h, too_many[i], &e));
        assert_int_equal(e.code, ERR_LIMIT);
        assert_int_equal(h.n, 0);
        hostlist_done(&h);
    }
    struct hostlist h = HOSTLIST_INIT;
    assert_true(hostlist_parse(&h, "n[0-131071]", NULL));
    assert_int_equal(h.n, HOSTLIST_MAX);
    hostlist_done(&h);
}

/* Each name goes through all brackets: eighty of them made a second of 255 bytes. */
static void test_an_expression_has_a_bounded_number_of_brackets(void **state)
{
    for (size_t n = 0; n < 84; n++) {
        struct hostlist h = HOSTLIST_INIT;
        struct str text = STR_INIT;
        struct err e = {0};
        str_add(&text, "one,b[1][2],a");
        for (size_t i = 0; i < n; i++)
            str_add(&text, i % 2 ? "-[1-2]" : "[1]");
        bool few = n <= 8;
        assert_int_equal(hostlist_parse(&h, str_text(&text), &e), few);
        assert_int_equal(h.n, few ? 2 + (1u << n / 2) : 0);
        assert_int_equal(e.code, few ? ERR_NONE : ERR_LIMIT);
        hostlist_done(&h);
        str_done(&text);
    }
}

static void test_a_name_has_at_most_255_bytes(void **state)
{
    struct str text = STR_INIT;
    for (int i = 0; i < 252; i++)
        str_addc(&text, 'a');
    str_add(&text, "[100]");
    assert_int_equal(strlen(names(str_text(&text))), 255);
    str_add(&text, "[1]");
    assert_non_null(strstr(names(str_text(&text)), "longer than 255"));
    for (int i = 0; i < 100000; i++)
        str_addc(&text, 'a');
    assert_non_null(strstr(names(str_text(&text)), "longer than 255"));
    for (int i = 0; i < 100000; i++)
        str_add(&text, "[1]");
    assert_non_null(strstr(names(str_text(&text)), "8 brackets"));
    str_done(&text);
}

/* The expectations are what `scontrol show hostlist` prints. */
static void test_folding_keeps_the_order_and_joins_neighbours(void **state)
{
    static const struct {
        const char *names, *folded;
    } cases[] = {
        {"", ""},
        {"tux1", "tux1"},
        {"tux", "tux"},
        {"tux1,tux2,tux3", "tux[1-3]"},
        {"tux1,tux3,tux2", "tux[1,3,2]"},
        {"tux2,tux1,tux2", "tux[2,1-2]"},
        {"tux1,tux1", "tux[1,1]"},
        {"tux1,login,tux2", "tux1,login,tux2"},
        {"login,login", "login,login"},
        {"tux9,tux10,tux11", "tux[9-11]"},
        {"a1,a2,b1,b2", "a[1-2],b[1-2]"},
        {"a[1-2]b[1-2]", "a1b[1-2],a2b[1-2]"},
        {"a1b,a2b", "a1b,a2b"},
        {"n1.x,n2.x", "n1.x,n2.x"},
        {"tux,tux1", "tux,tux1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(folded(cases[i].names), cases[i].folded);
}

static void test_folding_joins_only_equal_padding(void **state)
{
    assert_string_equal(folded("tux1,tux03"), "tux[1,03]");
    assert_string_equal(folded("tux09,tux10"), "tux[09-10]");
    assert_string_equal(folded("tux08,tux9,tux10"), "tux[08,9-10]");
    assert_string_equal(folded("tux099,tux100,tux101"), "tux[099-101]");
    assert_string_equal(folded("tux99,tux100"), "tux[99-100]");
    assert_string_equal(folded("tux09,tux010"), "tux[09,010]");
    assert_string_equal(folded("tux1,tux02"), "tux[1,02]");
}

static void test_numbers_too_long_for_64_bits_are_part_of_the_name(void **state)
{
    assert_string_equal(folded("n12345678901234567890,n12345678901234567891"),
                        "n12[345678901234567890-345678901234567891]");
    assert_string_equal(folded("n999999999999999999,n1000000000000000000"),
                        "n999999999999999999,n1000000000000000000");
}

static void test_folding_appends(void **state)
{
    struct hostlist h = HOSTLIST_INIT;
    struct str out = STR_INIT;
    str_add(&out, "on ");
    assert_true(hostlist_parse(&h, "gpu[1-2]", NULL));
    hostlist_fold(&h, &out);
    assert_string_equal(str_text(&out), "on gpu[1-2]");
    str_done(&out);
    hostlist_done(&h);
}

static void test_sorting_takes_numbers_as_numbers(void **state)
{
    assert_string_equal(sorted("gpu10,gpu9,gpu1"), "gpu[1,9-10]");
    assert_string_equal(sorted("b1,a2,b,a10,a1"), "a[1-2,10],b,b1");
    assert_string_equal(sorted("n2,n02,n1"), "n[1,02,2]");
}

static void test_uniq_keeps_the_first_of_each(void **state)
{
    struct hostlist h = HOSTLIST_INIT;
    struct str out = STR_INIT;
    assert_true(hostlist_parse(&h, "b,a,b,c,a,a01,a1", NULL));
    hostlist_uniq(&h);
    hostlist_fold(&h, &out);
    assert_string_equal(str_text(&out), "b,a,c,a[01,1]");
    str_done(&out);
    hostlist_done(&h);
}

static void test_names_are_found_whole(void **state)
{
    struct hostlist h = HOSTLIST_INIT;
    hostlist_uniq(&h);
    hostlist_sort(&h);
    hostlist_add(&h, "gpu1");
    hostlist_add(&h, "gpu10");
    assert_int_equal(hostlist_find(&h, "gpu10"), 1);
    assert_int_equal(hostlist_find(&h, "gpu"), -1);
    assert_int_equal(hostlist_find(&h, "GPU1"), -1);
    assert_true(hostlist_has(&h, "gpu1"));
    hostlist_done(&h);
    assert_int_equal(h.n, 0);
}

/* Without multiplying out: as many as there would be, or one more than is asked about. */
static void test_names_are_counted(void **state)
{
    static const char *const lists[] = {"",
                                        "a",
                                        "a,b c",
                                        "a[1-10]",
                                        "a[1-10],b",
                                        "a[1-3,7,09-11]x",
                                        "a[1-2]b[1-3]c",
                                        "n[1-2000],n[1-2000]",
                                        "[1]",
                                        "a[ 1-2 , 3 ]",
                                        " ,, a ,"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct hostlist h = HOSTLIST_INIT;
        assert_true(hostlist_parse(&h, lists[i], NULL));
        assert_int_equal(hostlist_count(lists[i], 1000000), h.n);
        for (size_t most = 0; most < 12; most++)
            assert_int_equal(hostlist_count(lists[i], most), h.n < most + 1 ? h.n : most + 1);
        hostlist_done(&h);
    }
    assert_int_equal(hostlist_count("a[0-999999999999999999][0-999999999999999999]", 70000), 70001);
    assert_int_equal(hostlist_count("a[1-100][1-100][1-100][1-100][1-100][1-100]", 5000), 5001);
    (void)hostlist_count("a[,b]c[[d]", 9); /* no matter what, but it ends */
    (void)hostlist_count("a[5-", 9);
}

/* Lists are read for each sample that a node sends: one of ten thousand names took a
 * millisecond. */
static void test_a_name_is_found_in_a_text(void **state)
{
    static const char *const lists[] = {"",
                                        "n1",
                                        "a[1-3,7,09-12]b[2,4-5],n2 n[08-11]",
                                        "r[1-2]n[1-20]x,r[10-11]n[005-007],n10",
                                        "x[1-12][1-12],y[0-3]",
                                        "n[0-2,00-02,000]"};
    struct hostlist all = HOSTLIST_INIT;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        assert_true(hostlist_parse(&all, lists[i], NULL));
    for (size_t i = 0; i < all.n; i++) /* and what is nearly each of them */
        for (int more = 0; more < 4; more++) {
            struct str name = STR_INIT;
            str_addf(&name, "%.*s%s", (int)strlen(all.name[i]) - (more == 1), all.name[i],
                     more == 2   ? "0"
                     : more == 3 ? "x"
                                 : "");
            for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
                struct hostlist h = HOSTLIST_INIT;
                assert_true(hostlist_parse(&h, lists[k], NULL));
                if (hostlist_text_has(lists[k], str_text(&name)) !=
                    hostlist_has(&h, str_text(&name)))
                    fail_msg("\"%s\" in \"%s\"", str_text(&name), lists[k]);
                hostlist_done(&h);
            }
            str_done(&name);
        }
    hostlist_done(&all);
    (void)hostlist_text_has("n[1-,5", "n5"); /* no matter what, but it ends */
    (void)hostlist_text_has("n[[1]]", "n1");
}

/* Of seventy digits each bracket may take one, two or three: one by one that would be more ways
 * than can be gone. */
static void test_ways_through_brackets_are_not_gone_one_by_one(void **state)
{
    (void)state;
    struct str text = STR_INIT, name = STR_INIT;
    str_add(&text, "n");
    str_add(&name, "n");
    for (size_t i = 0; i < 35; i++) {
        str_add(&text, "[0,00,000]");
        str_add(&name, "00");
    }
    assert_true(hostlist_text_has(str_text(&text), str_text(&name)));
    str_add(&text, "x");
    assert_false(hostlist_text_has(str_text(&text), str_text(&name)));
    str_done(&text);
    str_done(&name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_brackets),
        cmocka_unit_test(test_names_may_be_separated_by_blanks_and_lines_too),
        cmocka_unit_test(test_a_range_is_padded_as_its_lower_end_is),
        cmocka_unit_test(test_several_brackets_multiply),
        cmocka_unit_test(test_an_expression_has_a_bounded_number_of_brackets),
        cmocka_unit_test(test_what_is_wrong_is_named),
        cmocka_unit_test(test_ways_through_brackets_are_not_gone_one_by_one),
        cmocka_unit_test(test_a_refused_text_changes_nothing),
        cmocka_unit_test(test_a_list_has_a_bounded_number_of_names),
        cmocka_unit_test(test_a_name_has_at_most_255_bytes),
        cmocka_unit_test(test_folding_keeps_the_order_and_joins_neighbours),
        cmocka_unit_test(test_folding_joins_only_equal_padding),
        cmocka_unit_test(test_numbers_too_long_for_64_bits_are_part_of_the_name),
        cmocka_unit_test(test_folding_appends),
        cmocka_unit_test(test_sorting_takes_numbers_as_numbers),
        cmocka_unit_test(test_uniq_keeps_the_first_of_each),
        cmocka_unit_test(test_names_are_found_whole),
        cmocka_unit_test(test_names_are_counted),
        cmocka_unit_test(test_a_name_is_found_in_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
