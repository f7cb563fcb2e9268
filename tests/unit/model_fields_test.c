#include "unit.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "model/fields.h"

#include <string.h>

/* A small record with a field of every type. */
static const char *const colour_text[] = {"RED", NULL, "BLUE"};
static const struct enum_names colours = {colour_text, ARRAY_LEN(colour_text)};

#define ITEM_FIELDS(X)                                                                             \
    X(TEXT, label, 0, "a text")                                                                    \
    X(I64, amount, 0, "a number")
struct item {
    ITEM_FIELDS(FIELD_MEMBER)
};
#define ITEM_ROW(type, name, aux, doc) FIELD_ROW_AT(struct item, , type, name, aux, doc)
static const struct field item_rows[] = {ITEM_FIELDS(ITEM_ROW)};
static const struct fields item_fields = {"item", sizeof(struct item), item_rows,
                                          ARRAY_LEN(item_rows)};

// clang-format off
#define SAMPLE_FIELDS(X)                                                                                     \
    X(BOOL, flag, 0, "")                                                                                     \
    X(I32, count, 0, "")                                                                                     \
    X(U32, uid, 0, "")                                                                                       \
    X(I64, offset, 0, "")                                                                                    \
    X(U64, id, 0, "")                                                                                        \
    X(TEXT, name, 0, "")                                                                                     \
    X(ENUM, colour, &colours, "")                                                                            \
    X(TIME, at_us, 0, "")                                                                                    \
    X(SPAN, lasts_us, 0, "")                                                                                 \
    X(MIB, mem_mib, 0, "")                                                                                   \
    X(BLOB, data, 0, "")                                                                                     \
    X(LIST, items, &item_fields, "")
// clang-format on
struct sample {
    SAMPLE_FIELDS(FIELD_MEMBER)
};
#define SAMPLE_ROW(type, name, aux, doc) FIELD_ROW_AT(struct sample, , type, name, aux, doc)
static const struct field sample_rows[] = {SAMPLE_FIELDS(SAMPLE_ROW)};
static const struct fields sample_fields = {"sample", sizeof(struct sample), sample_rows,
                                            ARRAY_LEN(sample_rows)};

static struct item items[] = {{"one", 1}, {"two", 2}};

static struct sample example(void)
{
    struct sample s;
    memset(&s, 0, sizeof s);
    s.flag = true;
    s.count = -3;
    s.uid = 1000;
    s.offset = INT64_MIN;
    s.id = UINT64_MAX;
    s.name = "alice";
    s.colour = 2;
    s.at_us = 5;
    s.lasts_us = 6;
    s.mem_mib = 7;
    s.data = (struct blob){"ab\0c", 4};
    s.items = (struct record_list){items, ARRAY_LEN(items)};
    return s;
}

static void test_a_field_is_found_by_its_whole_name(void **state)
{
    for (size_t i = 0; i < sample_fields.n; i++)
        assert_int_equal(fields_find(&sample_fields, sample_fields.field[i].name), i);
    assert_int_equal(fields_find(&sample_fields, "nam"), -1);
    assert_int_equal(fields_find(&sample_fields, "names"), -1);
    assert_int_equal(fields_find(&sample_fields, ""), -1);
}

static void test_values_of_an_enum_have_names(void **state)
{
    int32_t value = 7;
    assert_string_equal(enum_name(&colours, 0), "RED");
    assert_string_equal(enum_name(&colours, 1), "?");
    assert_string_equal(enum_name(&colours, 3), "?");
    assert_string_equal(enum_name(&colours, -1), "?");
    assert_true(enum_value(&colours, "blue", &value));
    assert_int_equal(value, 2);
    assert_false(enum_value(&colours, "green", &value));
    assert_int_equal(value, 2);
}

static void test_a_copy_shares_nothing(void **state)
{
    struct arena *a = arena_new();
    struct sample from = example(), to;
    record_copy(&sample_fields, &to, &from, a);
    assert_true(record_equal(&sample_fields, &from, &to));
    assert_ptr_not_equal(to.name, from.name);
    assert_ptr_not_equal(to.data.data, from.data.data);
    assert_ptr_not_equal(to.items.v, from.items.v);
    const struct item *copied = to.items.v;
    assert_ptr_not_equal(copied[1].label, items[1].label);
    assert_string_equal(copied[1].label, "two");
    arena_free(a);
}

static void test_a_copy_of_nothing_is_nothing(void **state)
{
    struct arena *a = arena_new();
    struct sample from, to;
    memset(&from, 0, sizeof from);
    record_copy(&sample_fields, &to, &from, a);
    assert_true(!to.name && !to.data.data && !to.items.v);
    assert_true(record_equal(&sample_fields, &from, &to));
    arena_free(a);
}

/* Changes field i to something else. */
static void change(struct sample *s, size_t i)
{
    static struct item other[] = {{"one", 1}, {"TWO", 2}};
    const struct field *f = &sample_fields.field[i];
    char *at = field_ptr(f, s);
    if (f->type == FIELD_TEXT)
        s->name = NULL;
    else if (f->type == FIELD_BLOB)
        s->data = (struct blob){"ab\0d", 4};
    else if (f->type == FIELD_LIST)
        s->items.v = other;
    else if (f->type == FIELD_BOOL)
        s->flag = !s->flag;
    else
        *at ^= 1;
}

static void test_every_field_counts_for_equality_and_hash(void **state)
{
    struct sample a = example();
    uint64_t hash = record_hash(&sample_fields, &a, HASH_INIT);
    for (size_t i = 0; i < sample_fields.n; i++) {
        struct sample b = example();
        assert_true(record_equal(&sample_fields, &a, &b));
        assert_true(record_hash(&sample_fields, &b, HASH_INIT) == hash);
        change(&b, i);
        if (record_equal(&sample_fields, &a, &b))
            fail_msg("%s does not count", sample_fields.field[i].name);
        assert_true(record_hash(&sample_fields, &b, HASH_INIT) != hash);
    }
}

static void test_no_text_differs_from_an_empty_one(void **state)
{
    struct sample a = example(), b = example();
    a.name = NULL;
    b.name = "";
    assert_false(record_equal(&sample_fields, &a, &b));
}

static void test_hashes_tell_neighbours_apart(void **state)
{
    /* The same letters, divided differently between two texts of a list. */
    struct item split1[] = {{"ab", 0}, {"c", 0}}, split2[] = {{"a", 0}, {"bc", 0}};
    struct sample a = example(), b = example();
    a.items.v = split1;
    b.items.v = split2;
    assert_true(record_hash(&sample_fields, &a, HASH_INIT) !=
                record_hash(&sample_fields, &b, HASH_INIT));
}

static void test_a_size_is_that_of_a_copy(void **state)
{
    struct item two[] = {{"ab", 0}, {NULL, 0}};
    struct sample a = {0};
    assert_int_equal(record_bytes(&sample_fields, &a), sizeof a);
    a.name = "abc";
    a.data = (struct blob){"ab\0d", 4};
    a.items = (struct record_list){two, 2};
    assert_int_equal(record_bytes(&sample_fields, &a), sizeof a + 4 + 4 + sizeof two + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_field_is_found_by_its_whole_name),
        cmocka_unit_test(test_values_of_an_enum_have_names),
        cmocka_unit_test(test_a_copy_shares_nothing),
        cmocka_unit_test(test_a_copy_of_nothing_is_nothing),
        cmocka_unit_test(test_every_field_counts_for_equality_and_hash),
        cmocka_unit_test(test_no_text_differs_from_an_empty_one),
        cmocka_unit_test(test_hashes_tell_neighbours_apart),
        cmocka_unit_test(test_a_size_is_that_of_a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
