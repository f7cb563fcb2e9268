#include "unit.h"

#include "base/alloc.h"
#include "base/rng.h"

#include <stdbool.h>

/* The first numbers of seed 1234567, as published with the algorithm's reference
 * implementations. */
static void test_the_numbers_are_those_of_splitmix64(void **state)
{
    static const uint64_t expected[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973), UINT64_C(9817491932198370423),
        UINT64_C(4593380528125082431), UINT64_C(16408922859458223821)};
    struct rng r = {1234567};
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        assert_true(rng_next(&r) == expected[i]);
}

static void test_below_stays_below_and_reaches_everything(void **state)
{
    struct rng r = {1};
    unsigned times[7] = {0};
    for (int i = 0; i < 70000; i++)
        times[rng_below(&r, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(times[i], 9500, 10500);
    assert_int_equal(rng_below(&r, 1), 0);
    assert_true(rng_below(&r, UINT64_MAX) < UINT64_MAX);
}

static void test_a_range_includes_both_ends(void **state)
{
    struct rng r = {1};
    unsigned times[5] = {0};
    for (int i = 0; i < 1000; i++) {
        int64_t n = rng_range(&r, -2, 2);
        assert_true(n >= -2 && n <= 2);
        times[n + 2]++;
    }
    for (int i = 0; i < 5; i++)
        assert_true(times[i] > 0);
    assert_int_equal(rng_range(&r, 9, 9), 9);
    bool negative = false, positive = false;
    for (int i = 0; i < 100; i++) {
        int64_t n = rng_range(&r, INT64_MIN, INT64_MAX);
        negative |= n < 0;
        positive |= n > 0;
    }
    assert_true(negative && positive);
}

static void test_a_chance_is_in_thousandths(void **state)
{
    struct rng r = {1};
    int hits = 0;
    for (int i = 0; i < 10000; i++) {
        hits += rng_chance(&r, 250);
        assert_false(rng_chance(&r, 0));
        assert_true(rng_chance(&r, 1000));
    }
    assert_in_range(hits, 2300, 2700);
}

static void test_the_hash_is_fnv_1a(void **state)
{
    assert_true(hash_bytes(HASH_INIT, "", 0) == HASH_INIT);
    assert_true(hash_bytes(HASH_INIT, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(hash_bytes(HASH_INIT, "foobar", 6) == UINT64_C(0x85944171f73967e8));
}

static void test_texts_hash_with_their_ends(void **state)
{
    uint64_t ab_c = hash_text(hash_text(HASH_INIT, "ab"), "c"),
             a_bc = hash_text(hash_text(HASH_INIT, "a"), "bc");
    assert_true(ab_c != a_bc);
    assert_true(hash_text(HASH_INIT, NULL) != hash_text(HASH_INIT, ""));
    assert_true(hash_text(HASH_INIT, "") != HASH_INIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_numbers_are_those_of_splitmix64),
        cmocka_unit_test(test_below_stays_below_and_reaches_everything),
        cmocka_unit_test(test_a_range_includes_both_ends),
        cmocka_unit_test(test_a_chance_is_in_thousandths),
        cmocka_unit_test(test_the_hash_is_fnv_1a),
        cmocka_unit_test(test_texts_hash_with_their_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
