#include "unit.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/rng.h"

#include <stdio.h>
#include <string.h>

static char values[4000];

static void test_what_is_put_is_found_and_what_is_deleted_is_not(void **state)
{
    struct map_u64 *m = map_u64_new();
    map_u64_put(m, 0, &values[0]);
    map_u64_put(m, UINT64_MAX, &values[1]);
    assert_ptr_equal(map_u64_get(m, 0), &values[0]);
    assert_ptr_equal(map_u64_get(m, UINT64_MAX), &values[1]);
    assert_null(map_u64_get(m, 1));
    assert_int_equal(map_u64_count(m), 2);
    assert_ptr_equal(map_u64_del(m, 0), &values[0]);
    assert_null(map_u64_del(m, 0));
    assert_null(map_u64_get(m, 0));
    assert_int_equal(map_u64_count(m), 1);
    map_u64_free(m);
    map_u64_free(NULL);
}

static void test_a_text_key_is_copied(void **state)
{
    struct map_str *m = map_str_new();
    char key[] = "gpu1";
    map_str_put(m, key, &values[0]);
    key[3] = '2';
    assert_ptr_equal(map_str_get(m, "gpu1"), &values[0]);
    assert_null(map_str_get(m, "gpu2"));
    assert_null(map_str_get(m, "gpu"));
    assert_null(map_str_get(m, ""));
    map_str_put(m, "", &values[1]);
    assert_ptr_equal(map_str_get(m, ""), &values[1]);
    assert_ptr_equal(map_str_del(m, "gpu1"), &values[0]);
    assert_null(map_str_del(m, "gpu1"));
    assert_int_equal(map_str_count(m), 1);
    map_str_free(m);
    map_str_free(NULL);
}

static void test_a_slot_is_a_place_to_read_and_write(void **state)
{
    struct map_str *m = map_str_new();
    const char *kept, *again;
    assert_null(map_str_slot(m, "a", false, &kept));
    assert_int_equal(map_str_count(m), 0);
    void **slot = map_str_slot(m, "a", true, &kept);
    assert_null(*slot);
    *slot = &values[7];
    assert_ptr_equal(map_str_get(m, "a"), &values[7]);
    assert_ptr_equal(map_str_slot(m, "a", true, &again), slot);
    assert_ptr_equal(again, kept);
    map_str_free(m);
}

/* Writes the keys in the order of a walk as one text. */
static const char *walk_u64(const struct map_u64 *m)
{
    static char text[200];
    struct map_walk w = {0};
    size_t at = 0;
    text[0] = '\0';
    while (map_u64_next(m, &w))
        at += (size_t)snprintf(text + at, sizeof text - at, "%d ", (int)w.key);
    return text;
}

static void test_a_walk_goes_in_the_order_of_insertion(void **state)
{
    struct map_u64 *m = map_u64_new();
    const int keys[] = {5, 900, 1, 30, 2};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        map_u64_put(m, (uint64_t)keys[i], &values[i]);
    assert_string_equal(walk_u64(m), "5 900 1 30 2 ");
    map_u64_put(m, 900, &values[9]);
    assert_string_equal(walk_u64(m), "5 900 1 30 2 ");
    map_u64_del(m, 900);
    map_u64_put(m, 900, &values[1]);
    assert_string_equal(walk_u64(m), "5 1 30 2 900 ");
    map_u64_free(m);
}

static void test_a_walk_of_texts_gives_keys_and_values(void **state)
{
    struct map_str *m = map_str_new();
    struct map_walk w = {0};
    map_str_put(m, "z", &values[0]);
    map_str_put(m, "a", &values[1]);
    assert_true(map_str_next(m, &w));
    assert_string_equal(w.text, "z");
    assert_ptr_equal(w.value, &values[0]);
    assert_true(map_str_next(m, &w));
    assert_string_equal(w.text, "a");
    assert_ptr_equal(w.value, &values[1]);
    assert_false(map_str_next(m, &w));
    assert_false(map_str_next(m, &w));
    map_str_free(m);
}

static void test_the_current_entry_may_be_deleted_while_walking(void **state)
{
    for (unsigned doomed = 0; doomed < 32; doomed++) {
        struct map_u64 *m = map_u64_new();
        struct map_walk w = {0};
        unsigned seen = 0;
        for (uint64_t key = 0; key < 5; key++)
            map_u64_put(m, key, &values[key]);
        while (map_u64_next(m, &w)) {
            assert_false(seen & 1u << w.key);
            seen |= 1u << w.key;
            if (doomed & 1u << w.key)
                map_u64_del(m, w.key);
        }
        assert_int_equal(seen, 31);
        for (uint64_t key = 0; key < 5; key++)
            assert_int_equal(map_u64_get(m, key) == NULL, doomed >> key & 1);
        map_u64_free(m);
    }
}

static void test_entries_added_while_walking_are_visited(void **state)
{
    struct map_u64 *m = map_u64_new();
    struct map_walk w = {0};
    unsigned visits = 0;
    map_u64_put(m, 1, &values[0]);
    while (map_u64_next(m, &w)) {
        visits++;
        if (w.key < 20)
            map_u64_put(m, w.key + 1, &values[0]);
        if (w.key % 2)
            map_u64_del(m, w.key);
    }
    assert_int_equal(visits, 20);
    assert_string_equal(walk_u64(m), "2 4 6 8 10 12 14 16 18 20 ");
    map_u64_free(m);
}

static void test_an_entry_deleted_and_put_back_while_walking_comes_again(void **state)
{
    struct map_str *m = map_str_new();
    struct map_walk w = {0};
    unsigned visits = 0;
    map_str_put(m, "only", &values[0]);
    while (map_str_next(m, &w) && visits < 10) {
        visits++;
        map_str_del(m, "only");
        if (visits < 3)
            map_str_put(m, "only", &values[visits]);
    }
    assert_int_equal(visits, 3);
    map_str_free(m);
}

/* A table is compared with an array that says the same, for a long random life. */
static void test_a_map_equals_an_array_whatever_happens(void **state)
{
    struct map_u64 *m = map_u64_new();
    void *model[500] = {0};
    size_t count = 0;
    struct rng r = {1};
    for (int i = 0; i < 20000; i++) {
        uint64_t key = rng_below(&r, ARRAY_LEN(model));
        void *value = rng_chance(&r, 500) ? &values[rng_below(&r, sizeof values)] : NULL;
        count += (value != NULL) - (model[key] != NULL);
        if (value)
            map_u64_put(m, key << 32, value);
        else
            assert_ptr_equal(map_u64_del(m, key << 32), model[key]);
        model[key] = value;
        assert_int_equal(map_u64_count(m), count);
    }
    for (uint64_t key = 0; key < ARRAY_LEN(model); key++)
        assert_ptr_equal(map_u64_get(m, key << 32), model[key]);
    map_u64_free(m);
}

/* The keys of the map in order, as a plain list has them. */
struct twin {
    uint64_t key[600];
    size_t n;
};

static void twin_change(struct twin *t, struct map_u64 *m, struct rng *rng)
{
    uint64_t key = rng_below(rng, 500) << (rng_below(rng, 2) * 20);
    size_t i = 0;
    while (i < t->n && t->key[i] != key)
        i++;
    assert_int_equal(map_u64_get(m, key) != NULL, i < t->n);
    if (rng_below(rng, 1000) < 520) {
        map_u64_put(m, key, &values[key % 4000]);
        if (i == t->n && t->n < ARRAY_LEN(t->key))
            t->key[t->n++] = key;
    } else {
        assert_int_equal(map_u64_del(m, key) != NULL, i < t->n);
        if (i < t->n)
            memmove(&t->key[i], &t->key[i + 1], (--t->n - i) * sizeof t->key[0]);
    }
}

static void twin_compare(const struct twin *t, const struct map_u64 *m)
{
    struct map_walk w = {0};
    size_t i = 0;
    assert_int_equal(map_u64_count(m), t->n);
    for (; map_u64_next(m, &w); i++) {
        assert_true(i < t->n && w.key == t->key[i]);
        assert_ptr_equal(w.value, &values[w.key % 4000]);
    }
    assert_int_equal(i, t->n);
}

static void test_many_changes_leave_what_a_plain_list_has(void **state)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct rng rng = {seed};
        struct map_u64 *m = map_u64_new();
        struct twin t = {.n = 0};
        for (int i = 0; i < 6000; i++) {
            if (t.n < ARRAY_LEN(t.key) - 1)
                twin_change(&t, m, &rng);
            if (i % 50 == 0)
                twin_compare(&t, m);
        }
        while (t.n > 0) { /* from the front, as jobs leave */
            assert_non_null(map_u64_del(m, t.key[0]));
            memmove(&t.key[0], &t.key[1], --t.n * sizeof t.key[0]);
            twin_compare(&t, m);
        }
        map_u64_free(m);
    }
}

/* Deletions behind the walk close gaps: everything after its place moves. */
static void test_a_walk_finds_its_place_again_when_entries_move(void **state)
{
    struct map_u64 *m = map_u64_new();
    struct map_walk w = {0};
    uint64_t next = 0;
    for (uint64_t key = 0; key < 1000; key++)
        map_u64_put(m, key, &values[key]);
    for (; map_u64_next(m, &w); next++) {
        assert_int_equal(w.key, next);
        if (w.key % 10 != 9)
            map_u64_del(m, w.key);
    }
    assert_int_equal(next, 1000);
    assert_int_equal(map_u64_count(m), 100);
    map_u64_free(m);
}

/* Between two steps of a walk any may be deleted, and others added. */
static void test_a_walk_of_texts_survives_deletions(void **state)
{
    struct map_str *m = map_str_new();
    struct map_walk w = {0};
    char key[16];
    unsigned seen = 0;
    for (uintptr_t i = 1; i <= 20; i++) {
        snprintf(key, sizeof key, "k%u", (unsigned)i);
        map_str_put(m, key, (void *)i);
    }
    for (unsigned i = 0; i < 10; i++) {
        assert_true(map_str_next(m, &w));
        assert_int_equal((uintptr_t)w.value, ++seen);
    }
    map_str_del(m, "k10"); /* the current one */
    map_str_del(m, "k9");  /* those before it */
    map_str_del(m, "k1");
    map_str_del(m, "k11"); /* the next one */
    map_str_put(m, "k21", (void *)(uintptr_t)21);
    for (seen = 12; map_str_next(m, &w); seen++)
        assert_int_equal((uintptr_t)w.value, seen);
    assert_int_equal(seen, 22);
    map_str_free(m);
}

/* Two texts of 16 bytes that hash_quick does not tell apart. */
static void twins_of_one_hash(char a[17], char b[17])
{
    static const uint64_t most = UINT64_C(0xbf58476d1ce4e5b9), len = UINT64_C(0x9e3779b97f4a7c15);
    struct rng rng = {7};
    bool plain = false;
    while (!plain) {
        uint64_t first[2], second[2], half[2];
        for (int i = 0; i < 2; i++) {
            first[i] = rng_next(&rng);
            half[i] = ((16 * len) ^ first[i]) * most;
            half[i] ^= half[i] >> 32;
        }
        second[0] = rng_next(&rng);
        second[1] = second[0] ^ half[0] ^ half[1];
        memcpy(a, &first[0], 8);
        memcpy(a + 8, &second[0], 8);
        memcpy(b, &first[1], 8);
        memcpy(b + 8, &second[1], 8);
        a[16] = b[16] = '\0';
        plain = strlen(a) == 16 && strlen(b) == 16;
    }
    assert_int_equal(hash_quick(a, 16), hash_quick(b, 16));
}

static void test_texts_of_one_hash_are_told_apart(void **state)
{
    char a[17], b[17], key[16];
    struct map_walk w = {0};
    struct map_str *m = map_str_new();
    twins_of_one_hash(a, b);
    map_str_put(m, a, &values[1]);
    assert_null(map_str_get(m, b));
    assert_null(map_str_del(m, b));
    map_str_put(m, b, &values[2]);
    for (int i = 0; i < 100; i++) { /* and they stay so when entries move */
        snprintf(key, sizeof key, "k%d", i);
        map_str_put(m, key, &values[3]);
    }
    assert_ptr_equal(map_str_get(m, a), &values[1]);
    assert_ptr_equal(map_str_get(m, b), &values[2]);
    assert_true(map_str_next(m, &w) && strcmp(w.text, a) == 0);
    assert_ptr_equal(map_str_del(m, a), &values[1]);
    assert_null(map_str_get(m, a));
    assert_ptr_equal(map_str_get(m, b), &values[2]);
    assert_true(map_str_next(m, &w) && strcmp(w.text, b) == 0);
    map_str_free(m);
}

/* The same long random life with texts, a copy of which is compared in their order. */
static void test_a_map_of_texts_has_what_one_of_numbers_has(void **state)
{
    struct map_str *m = map_str_new();
    struct map_u64 *same = map_u64_new();
    struct rng rng = {3};
    map_str_reserve(m, 30);
    for (int i = 0; i < 20000; i++) {
        char key[24];
        uint64_t n = rng_below(&rng, 300);
        void *value = rng_chance(&rng, 500) ? &values[rng_below(&rng, sizeof values)] : NULL;
        snprintf(key, sizeof key, "node%llu", (unsigned long long)n);
        assert_ptr_equal(map_str_get(m, key), map_u64_get(same, n));
        if (value) {
            map_str_put(m, key, value);
            *map_u64_slot(same, n) = value;
        } else {
            assert_ptr_equal(map_str_del(m, key), map_u64_del(same, n));
        }
        assert_int_equal(map_str_count(m), map_u64_count(same));
        for (struct map_walk w = {0}, v = {0}; i % 100 == 0 && map_str_next(m, &w);) {
            assert_true(map_u64_next(same, &v));
            snprintf(key, sizeof key, "node%llu", (unsigned long long)v.key);
            assert_string_equal(w.text, key);
            assert_ptr_equal(w.value, v.value);
        }
    }
    map_str_free(m);
    map_u64_free(same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_put_is_found_and_what_is_deleted_is_not),
        cmocka_unit_test(test_a_text_key_is_copied),
        cmocka_unit_test(test_a_slot_is_a_place_to_read_and_write),
        cmocka_unit_test(test_a_walk_goes_in_the_order_of_insertion),
        cmocka_unit_test(test_a_walk_of_texts_gives_keys_and_values),
        cmocka_unit_test(test_the_current_entry_may_be_deleted_while_walking),
        cmocka_unit_test(test_entries_added_while_walking_are_visited),
        cmocka_unit_test(test_an_entry_deleted_and_put_back_while_walking_comes_again),
        cmocka_unit_test(test_a_map_equals_an_array_whatever_happens),
        cmocka_unit_test(test_many_changes_leave_what_a_plain_list_has),
        cmocka_unit_test(test_a_walk_finds_its_place_again_when_entries_move),
        cmocka_unit_test(test_a_walk_of_texts_survives_deletions),
        cmocka_unit_test(test_texts_of_one_hash_are_told_apart),
        cmocka_unit_test(test_a_map_of_texts_has_what_one_of_numbers_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
