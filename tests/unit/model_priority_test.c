/* Weights of resources, and powers of two in integers. */
#include "base/alloc.h"
#include "model/record/priority.h"
#include "unit.h"

#include <string.h>

static void test_weights(void **state)
{
    (void)state;
    struct tres_weights w;
    struct err err = {0};
    assert_true(
        tres_weights_parse("CPU=1.5, Mem=0.25G,gres/gpu=-2,GRES/gpu:a100=10,Node=3", &w, NULL));
    assert_int_equal(w.n, 5);
    assert_true(w.v[0].kind == TRES_CPU && w.v[0].milli == 1500);
    assert_true(w.v[1].kind == TRES_MEM && w.v[1].milli == 250 && w.v[1].per == 1024);
    assert_true(w.v[2].kind == TRES_GRES && w.v[2].milli == -2000);
    assert_string_equal(w.v[3].name, "gpu:a100");
    assert_true(w.v[4].kind == TRES_NODE && w.v[4].milli == 3000);
    assert_true(tres_weights_parse(NULL, &w, NULL) && w.n == 0);
    static const char *const wrong[] = {"CPU",     "CPU=",   "CPU=1x", "Disk=1",
                                        "gres/=1", "Mem=1Q", "CPU=1G"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_false(tres_weights_parse(wrong[i], &w, &err));
    assert_non_null(strstr(err.text, "CPU=1.0"));
}

static void test_powers(void **state)
{
    (void)state;
    assert_true(exp2_neg(0, 7) == UINT64_C(1) << 32);
    assert_true(exp2_neg(7, 7) == UINT64_C(1) << 31);
    assert_true(exp2_neg(40 * 7, 7) == 0);
    static const struct {
        int64_t part, whole;
        uint64_t power;
    } exact[] = {
        {1, 2, 3037000499u},
        {1, 3, 3408917801u},
        {5, 10080, 4293490841u},
        {300, 604800, 4293490841u},
        {604799, 604800, 2147486109u},
        {3, 1, 536870912u},
        {7, 5, 1627488270u},
        {1000000007, 998244353, 2144867316u},
        {1, 1152921504606846976, 4294967295u},
        {123456789, 604800000, 3728302339u},
    };
    for (size_t i = 0; i < ARRAY_LEN(exact); i++) {
        uint64_t ours = exp2_neg(exact[i].part, exact[i].whole);
        if (ours > exact[i].power + 2 || ours + 40 < exact[i].power)
            fail_msg("2^(-%lld/%lld) is %llu in 2^32nds, not %llu", (long long)exact[i].part,
                     (long long)exact[i].whole, (unsigned long long)exact[i].power,
                     (unsigned long long)ours);
    }
    assert_true(scale32(INT64_MAX, UINT64_C(1) << 32) == INT64_MAX);
    assert_true(scale32(1000, UINT64_C(1) << 31) == 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_weights),
                                       cmocka_unit_test(test_powers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
