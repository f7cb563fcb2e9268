#include "unit.h"

#include "base/intern.h"

#include <stdio.h>
#include <string.h>

static void test_equal_texts_give_equal_pointers(void **state)
{
    struct intern *pool = intern_new();
    char a[] = "/home/wilson", b[] = "/home/wilson";
    const char *first = intern_take(pool, a), *second = intern_take(pool, b),
               *other = intern_take(pool, "/home/alvis");
    assert_ptr_equal(first, second);
    assert_ptr_not_equal(first, other);
    assert_ptr_not_equal(first, a);
    assert_string_equal(first, "/home/wilson");
    assert_int_equal(intern_count(pool), 2);
    intern_free(pool);
}

static void test_a_text_stays_until_its_last_user_drops_it(void **state)
{
    struct intern *pool = intern_new();
    const char *text = intern_take(pool, "x");
    assert_ptr_equal(intern_take(pool, "x"), text);
    intern_drop(pool, text);
    assert_int_equal(intern_count(pool), 1);
    assert_string_equal(text, "x");
    intern_drop(pool, text);
    assert_int_equal(intern_count(pool), 0);
    assert_string_equal(intern_take(pool, "x"), "x");
    intern_free(pool);
}

static void test_to_find_a_text_takes_no_share_of_it(void **state)
{
    struct intern *pool = intern_new();
    assert_null(intern_find(pool, "x"));
    assert_null(intern_find(pool, NULL));
    assert_int_equal(intern_count(pool), 0);
    const char *text = intern_take(pool, "x");
    assert_ptr_equal(intern_find(pool, "x"), text);
    intern_drop(pool, text);
    assert_null(intern_find(pool, "x"));
    intern_free(pool);
}

static void test_no_text_is_no_text_and_the_empty_one_is_a_text(void **state)
{
    struct intern *pool = intern_new();
    assert_null(intern_take(pool, NULL));
    intern_drop(pool, NULL);
    assert_int_equal(intern_count(pool), 0);
    assert_string_equal(intern_take(pool, ""), "");
    assert_int_equal(intern_count(pool), 1);
    intern_free(pool);
    intern_free(NULL);
}

static void test_pointers_hold_while_the_pool_grows(void **state)
{
    struct intern *pool = intern_new();
    const char *kept[5000];
    char text[32];
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "/scratch/run-%d", i);
        kept[i] = intern_take(pool, text);
    }
    for (int i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "/scratch/run-%d", i);
        assert_ptr_equal(intern_take(pool, text), kept[i]);
    }
    assert_int_equal(intern_count(pool), 5000);
    intern_free(pool);
}

static void test_texts_that_go_leave_the_others_where_they_are(void **state)
{
    struct intern *pool = intern_new();
    const char *kept[3000];
    char text[32];
    for (int i = 0; i < 3000; i++) {
        snprintf(text, sizeof text, "job-%d", i);
        kept[i] = intern_take(pool, text);
    }
    for (int i = 0; i < 3000; i++)
        if (i % 7)
            intern_drop(pool, kept[i]);
    assert_int_equal(intern_count(pool), 429);
    for (int i = 0; i < 3000; i += 7) {
        snprintf(text, sizeof text, "job-%d", i);
        assert_ptr_equal(intern_take(pool, text), kept[i]);
        assert_string_equal(kept[i], text);
    }
    assert_int_equal(intern_count(pool), 429);
    intern_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_texts_give_equal_pointers),
        cmocka_unit_test(test_a_text_stays_until_its_last_user_drops_it),
        cmocka_unit_test(test_to_find_a_text_takes_no_share_of_it),
        cmocka_unit_test(test_no_text_is_no_text_and_the_empty_one_is_a_text),
        cmocka_unit_test(test_pointers_hold_while_the_pool_grows),
        cmocka_unit_test(test_texts_that_go_leave_the_others_where_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
