#include "unit.h"

#include "base/arena.h"

#include <string.h>

static void test_memory_is_zeroed_and_aligned(void **state)
{
    struct arena *a = arena_new();
    for (size_t size = 1; size < 300; size++) {
        unsigned char *p = arena_alloc(a, size);
        assert_int_equal((uintptr_t)p % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xff, size);
    }
    arena_free(a);
}

static void test_memory_is_zeroed_again_after_a_reset(void **state)
{
    struct arena *a = arena_new();
    memset(arena_alloc(a, 1000), 0xff, 1000);
    arena_reset(a);
    unsigned char *p = arena_alloc(a, 1000);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(p[i], 0);
    arena_free(a);
}

static void test_allocations_do_not_overlap(void **state)
{
    struct arena *a = arena_new();
    char *p[2000];
    for (size_t i = 0; i < 2000; i++)
        memset(p[i] = arena_alloc(a, 1 + i % 50), (int)(i % 251), 1 + i % 50);
    for (size_t i = 0; i < 2000; i++)
        for (size_t k = 0; k < 1 + i % 50; k++)
            assert_int_equal((unsigned char)p[i][k], i % 251);
    arena_free(a);
}

static void test_one_allocation_may_be_larger_than_any_block(void **state)
{
    struct arena *a = arena_new();
    char *small = arena_strdup(a, "small");
    char *large = arena_alloc(a, 5 << 20);
    large[(5 << 20) - 1] = 'x';
    assert_string_equal(small, "small");
    assert_string_equal(arena_strdup(a, "after"), "after");
    arena_free(a);
}

static void test_used_counts_bytes_and_a_reset_brings_it_to_nothing(void **state)
{
    struct arena *a = arena_new();
    assert_int_equal(arena_used(a), 0);
    arena_alloc(a, 100);
    assert_in_range(arena_used(a), 100, 116);
    arena_reset(a);
    assert_int_equal(arena_used(a), 0);
    arena_free(a);
    arena_free(NULL);
}

static void test_copies_of_texts(void **state)
{
    struct arena *a = arena_new();
    char text[] = "gpu[1-3]";
    char *copy = arena_strdup(a, text), *cut = arena_strndup(a, text, 3),
         *data = arena_dup(a, text, 5);
    text[0] = 'x';
    assert_string_equal(copy, "gpu[1-3]");
    assert_string_equal(cut, "gpu");
    assert_memory_equal(data, "gpu[1", 5);
    assert_null(arena_strdup(a, NULL));
    assert_string_equal(arena_printf(a, "%s-%d", "job", 17), "job-17");
    assert_int_equal(strlen(arena_printf(a, "%05000d", 1)), 5000);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_zeroed_and_aligned),
        cmocka_unit_test(test_memory_is_zeroed_again_after_a_reset),
        cmocka_unit_test(test_allocations_do_not_overlap),
        cmocka_unit_test(test_one_allocation_may_be_larger_than_any_block),
        cmocka_unit_test(test_used_counts_bytes_and_a_reset_brings_it_to_nothing),
        cmocka_unit_test(test_copies_of_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
