/* Products and sums of what somebody asks for stay numbers. */
#include "base/amount.h"
#include "unit.h"

static void products_that_fit_are_products(void **unused)
{
    (void)unused;
    assert_int_equal(amount_times(3, 7), 21);
    assert_int_equal(amount_times(INT64_C(1) << 29, INT64_C(1) << 29), AMOUNT_MAX);
    assert_int_equal(amount_times((INT64_C(1) << 29) - 1, INT64_C(1) << 29),
                     AMOUNT_MAX - (INT64_C(1) << 29));
    assert_int_equal(amount_times(0, INT64_MAX), 0);
    assert_int_equal(amount_times(-1, 5), 0);
}

static void larger_ones_are_the_most_there_is(void **unused)
{
    (void)unused;
    assert_int_equal(amount_times(INT64_MAX, INT64_MAX), AMOUNT_MAX);
    assert_int_equal(amount_times(INT64_C(1) << 44, 1048577), AMOUNT_MAX);
    assert_true(16 * (AMOUNT_MAX / 16) > 0 && AMOUNT_MAX <= INT64_MAX / 16);
}

static void sums_too(void **unused)
{
    (void)unused;
    assert_int_equal(amount_plus(3, 7), 10);
    assert_int_equal(amount_plus(AMOUNT_MAX, 1), AMOUNT_MAX);
    assert_int_equal(amount_plus(INT64_MAX, INT64_MAX), AMOUNT_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_that_fit_are_products),
        cmocka_unit_test(larger_ones_are_the_most_there_is),
        cmocka_unit_test(sums_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
