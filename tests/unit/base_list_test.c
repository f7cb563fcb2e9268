#include "unit.h"

#include "base/list.h"

static void test_a_word_counts_as_a_whole_without_the_blanks_around_it(void **state)
{
    assert_true(list_has("gpu,big,ssd", "gpu") && list_has("gpu,big,ssd", "ssd"));
    assert_true(list_has(" gpu\t, big", "big") && list_has(" gpu\t, big", "gpu"));
    assert_false(list_has("gpus,biggest", "gpu") || list_has("gpu", "gpus"));
    assert_false(list_has("GPU", "gpu"));
    assert_true(list_has_nocase("GPU,All", "all"));
    assert_false(list_has_nocase("Almost,All ways", "all"));
    assert_true(list_has_span("gpu,big", (struct span){"bigger", 3}));
}

static void test_the_empty_word_is_in_lists_that_have_one(void **state)
{
    assert_true(list_has("", "") && list_has("", NULL) && list_has("a,,b", NULL));
    assert_false(list_has("a,b", "") || list_has("a,b", NULL));
    assert_false(list_has(NULL, "a") || list_has(NULL, "") || list_has(NULL, NULL));
}

static void test_two_lists_share_a_word_that_says_something(void **state)
{
    assert_true(list_shares("red, green", "blue,green"));
    assert_false(list_shares("red,green", "blue,gree"));
    assert_false(list_shares("", "") || list_shares("a,,b", "c,,d"));
    assert_false(list_shares(NULL, "a") || list_shares("a", NULL));
}

static void test_words_are_joined_with_commas_between_them(void **state)
{
    struct str s = STR_INIT;
    list_addf(&s, "%s", "gpu");
    assert_string_equal(str_text(&s), "gpu");
    list_addf(&s, "%s:%d", "nic", 2);
    list_addf(&s, "ssd");
    assert_string_equal(str_text(&s), "gpu,nic:2,ssd");
    str_done(&s);
}

static void test_long_lists_have_each_word_once(void **state)
{
    struct arena *a = arena_new();
    const char *list = "b, a,b,c ,a,,b";
    assert_ptr_equal(list_once(list, 7, a), list);
    assert_string_equal(list_once(list, 6, a), "b,a,c,");
    assert_string_equal(list_once("x,x", 0, a), "x");
    assert_string_equal(list_once("", 0, a), "");
    assert_null(list_once(NULL, 0, a));
    arena_free(a);
}

static void test_a_list_is_cut_behind_a_word(void **state)
{
    struct arena *a = arena_new();
    const char *list = "one,,three, four";
    assert_int_equal(list_count(list), 4);
    assert_int_equal(list_count(NULL) + list_count(""), 0);
    assert_ptr_equal(list_first(list, 4, a), list);
    assert_string_equal(list_first(list, 3, a), "one,,three");
    assert_string_equal(list_first(list, 2, a), "one,");
    assert_string_equal(list_first(list, 1, a), "one");
    assert_string_equal(list_first(list, 0, a), "");
    assert_null(list_first(NULL, 0, a));
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_word_counts_as_a_whole_without_the_blanks_around_it),
        cmocka_unit_test(test_the_empty_word_is_in_lists_that_have_one),
        cmocka_unit_test(test_two_lists_share_a_word_that_says_something),
        cmocka_unit_test(test_a_list_is_cut_behind_a_word),
        cmocka_unit_test(test_long_lists_have_each_word_once),
        cmocka_unit_test(test_words_are_joined_with_commas_between_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
