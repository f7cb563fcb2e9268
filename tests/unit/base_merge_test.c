#include "unit.h"

#include "base/alloc.h"
#include "base/merge.h"
#include "base/rng.h"

#include <stdlib.h>

struct item {
    uint32_t key, came;
};

static size_t compared;

static int by_key(const void *va, const void *vb)
{
    const struct item *a = va, *b = vb;
    compared++;
    return (a->key > b->key) - (a->key < b->key);
}

static struct item *items(size_t n, uint64_t seed)
{
    struct rng rng = {.state = seed};
    struct item *v = xcalloc(n + 1, sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = (struct item){(uint32_t)rng_below(&rng, n / 2 + 1), (uint32_t)i};
    return v;
}

/* In order, what is equal as it came, each item once. */
static void is_sorted(const struct item *v, size_t n)
{
    char *there = xcalloc(n + 1, 1);
    for (size_t i = 0; i < n; i++) {
        assert_false(there[v[i].came]);
        there[v[i].came] = 1;
        assert_true(!i || v[i - 1].key < v[i].key ||
                    (v[i - 1].key == v[i].key && v[i - 1].came < v[i].came));
    }
    free(there);
}

/* However long the slices are; none compares more than it may. */
static void sorts_in_slices(void **unused)
{
    static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 100, 1000, 4097},
                        slices[] = {1, 2, 5, 64, 100000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        for (size_t k = 0; k < ARRAY_LEN(slices); k++) {
            struct item *v = items(sizes[i], 7 * i + k);
            struct merge_sort m;
            size_t calls = 0, most;
            bool over;
            merge_begin(&m, v, sizes[i], sizeof v[0], by_key);
            do {
                most = slices[k];
                compared = 0;
                over = merge_go(&m, &most);
                assert_true(compared <= slices[k] && (over || !most));
                assert_true(++calls <= 1 + sizes[i] * 14 / slices[k]);
            } while (!over);
            merge_done(&m);
            is_sorted(v, sizes[i]);
            free(v);
        }
}

/* Whoever asks no more frees it half done, in either of the two places. */
static void may_be_left(void **unused)
{
    for (size_t most = 0; most < 700; most += 50) {
        struct item *v = items(100, 3);
        struct merge_sort m;
        size_t left = most;
        merge_begin(&m, v, 100, sizeof v[0], by_key);
        (void)merge_go(&m, &left);
        merge_done(&m);
        free(v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_in_slices),
        cmocka_unit_test(may_be_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
