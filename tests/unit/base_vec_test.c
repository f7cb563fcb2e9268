#include "unit.h"

#include "base/vec.h"

static void test_a_vector_keeps_what_is_pushed_in_order(void **state)
{
    VEC(int) numbers = {0};
    for (int i = 0; i < 1000; i++)
        vec_push(&numbers, i * i);
    assert_int_equal(numbers.n, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(numbers.v[i], i * i);
    vec_done(&numbers);
    assert_null(numbers.v);
    assert_int_equal(numbers.n + numbers.cap, 0);
}

static void test_removing_keeps_the_order_at_either_end_too(void **state)
{
    VEC(char) letters = {0};
    for (const char *c = "abcdef"; *c; c++)
        vec_push(&letters, *c);
    vec_remove(&letters, 0);
    vec_remove(&letters, 2);
    vec_remove(&letters, letters.n - 1);
    assert_int_equal(letters.n, 3);
    assert_memory_equal(letters.v, "bce", 3);
    vec_done(&letters);
}

static void test_a_reserved_vector_does_not_move(void **state)
{
    VEC(long) numbers = {0};
    vec_reserve(&numbers, 100);
    long *at = numbers.v;
    for (int i = 0; i < 100; i++)
        vec_push(&numbers, i);
    assert_ptr_equal(numbers.v, at);
    vec_reserve(&numbers, 5);
    assert_int_equal(numbers.cap, 100);
    vec_clear(&numbers);
    assert_int_equal(numbers.n, 0);
    assert_ptr_equal(numbers.v, at);
    vec_done(&numbers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_vector_keeps_what_is_pushed_in_order),
        cmocka_unit_test(test_removing_keeps_the_order_at_either_end_too),
        cmocka_unit_test(test_a_reserved_vector_does_not_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
