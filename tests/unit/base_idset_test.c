#include "unit.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "base/rng.h"

#include <string.h>

#define INDEX_MAX INT32_MAX /* the largest task index there is */

static struct idset set_of(const char *text)
{
    struct idset s = IDSET_INIT;
    struct err e = {0};
    if (!idset_parse(&s, text, INDEX_MAX, &e))
        fail_msg("%s: %s", text, e.text);
    return s;
}

static const char *text_of(const struct idset *s)
{
    static struct str out;
    str_done(&out);
    idset_format(s, &out);
    return str_text(&out);
}

static const char *normal(const char *text)
{
    struct idset s = set_of(text);
    const char *written = text_of(&s);
    idset_done(&s);
    return written;
}

static void test_sets_are_written_as_ranges_with_steps(void **state)
{
    static const struct {
        const char *text, *normal;
    } cases[] = {
        {"7", "7"},
        {"0", "0"},
        {"1-10", "1-10"},
        {"1,3,5-10,20-100:5", "1,3,5-10,20-100:5"},
        {"0-15:4", "0-12:4"}, /* the last member ends the range */
        {"0-15:4,20", "0-12:4,20"},
        {"1,2", "1,2"},
        {"1-2", "1,2"},
        {"1,2,3", "1-3"},
        {"3,1,2", "1-3"},
        {"1,1,1", "1"},
        {"5-5", "5"},
        {"5-9:100", "5"},
        {"1-10:9", "1,10"},
        {"1-5,3-8", "1-8"},
        {"1-5,6-8", "1-8"},
        {"1-9:2,2-10:2", "1-10"},
        {"1-9:2,5", "1-9:2"},
        {"0-100:10,5", "0,5,10-100:10"},
        {" 1 , 2 ", "1,2"},
        {"1,5,9,13", "1-13:4"},
        {"1,2,4,6,8", "1,2-8:2"},
        {"1-5:2", "1-5:2"},
        {"1-5:2,20", "1,3,5,20"}, /* three are no range of their own before another */
        {"1-7:2,20", "1-7:2,20"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(normal(cases[i].text), cases[i].normal);
}

static void test_what_is_no_set_is_refused_and_changes_nothing(void **state)
{
    static const char *const wrong[] = {"",     "a",   "1-",     "-1",   "1--2",  "5-1",    "1-5:0",
                                        "1-5:", "5:2", "1-5:-1", "1,,2", "1,",    "1-5:2x", "1 2",
                                        "0x10", "1.5", "1-3-5",  "%2",   "1-3%2", "[1-3]"};
    struct idset s = set_of("4,6");
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct err e = {0};
        if (idset_parse(&s, wrong[i], INDEX_MAX, &e))
            fail_msg("\"%s\" was read", wrong[i]);
        assert_int_equal(e.code, ERR_INVALID);
        assert_true(e.text[0]);
    }
    assert_string_equal(text_of(&s), "4,6");
    idset_done(&s);
}

static void test_the_largest_index_is_allowed_and_the_next_is_not(void **state)
{
    struct idset s = IDSET_INIT;
    struct err e = {0};
    assert_true(idset_parse(&s, "0-2147483647", INDEX_MAX, &e));
    assert_true(s.count == UINT64_C(2147483648) && s.n == 1);
    assert_true(idset_parse(&s, "2147483647", INDEX_MAX, &e));
    assert_int_equal(idset_last(&s), 2147483647);
    static const char *const above[] = {"2147483648", "0-2147483648", "4294967296",
                                        "0-4294967297:2", "99999999999999999999999"};
    for (size_t i = 0; i < ARRAY_LEN(above); i++) {
        assert_false(idset_parse(&s, above[i], INDEX_MAX, &e));
        assert_int_equal(e.code, ERR_LIMIT);
    }
    assert_false(idset_parse(&s, "1001", 1000, &e));
    assert_non_null(strstr(e.text, "1000"));
    assert_true(idset_parse(&s, "0-10:4294967296", 1000, &e));
    assert_string_equal(text_of(&s), "0");
    idset_done(&s);
}

static void test_a_million_elements_cost_one_range(void **state)
{
    struct idset s = set_of("0-999999");
    assert_int_equal(s.n, 1);
    for (uint32_t id = 0; id < 999990; id++)
        assert_true(idset_del(&s, id));
    assert_int_equal(s.n, 1);
    assert_string_equal(text_of(&s), "999990-999999");
    idset_done(&s);
    for (uint32_t id = 0; id < 100000; id++)
        idset_add(&s, 3 * id);
    assert_int_equal(s.n, 1);
    assert_string_equal(text_of(&s), "0-299997:3");
    idset_done(&s);
}

static void test_interleaved_steps_have_a_limit(void **state)
{
    struct idset s = IDSET_INIT;
    struct err e = {0};
    assert_true(idset_parse(&s, "0-60000:2,1-60000:2", INDEX_MAX, &e));
    assert_string_equal(text_of(&s), "0-60000");
    assert_false(idset_parse(&s, "0-2147483646:2,1-2147483647:2", INDEX_MAX, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    assert_string_equal(text_of(&s), "0-60000");
    /* Of a text all together, however they lie: thirty bytes are 60,000 ranges, and so are the
     * next thirty. */
    assert_true(idset_parse(&s, "0-120000000:4099,0-120000000:4111", INDEX_MAX, &e));
    assert_true(s.n > 50000);
    assert_false(idset_parse(&s,
                             "0-120000000:4099,0-120000000:4111,"
                             "200000000-320000000:4099,200000000-320000000:4111",
                             INDEX_MAX, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    assert_true(idset_parse(&s, "0-1000000000:2,1000000001-2147483647:3", INDEX_MAX, &e));
    assert_int_equal(s.n, 2);
    idset_done(&s);
}

/* What the texts of a request may cost together, whatever one of them does. */
static void test_texts_share_their_room(void **state)
{
    static const struct {
        const char *text;
        uint64_t room, left;
        bool fits;
    } rows[] = {
        {"7", 1, 0, true},
        {"7", 0, 0, false},
        {"1-1000000", 5, 4, true},
        {"0-1000000000:2", 5, 4, true},
        {"1,3,6,10", 4, 0, true},
        {"1,3,6,10", 3, 0, false},
        {"0-9:2,1-9:3", 10, 0, true}, /* two ranges, of 5 and 3 members */
        {"0-9:2,1-9:3", 9, 7, false},
        {"0-9:2,1-9:3,100-109:2,101-109:3", 20, 0, true},
        {"0-120000000:4099,0-120000000:4111", 1u << 20, (1u << 20) - 2 - 29276 - 29190, true},
        {"0-2147483647:4099,0-2147483647:4111", UINT64_MAX, UINT64_MAX - 2, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct idset s = IDSET_INIT, alone = IDSET_INIT;
        uint64_t room = rows[i].room;
        struct err e = {0};
        assert_int_equal(idset_parse_within(&s, rows[i].text, INDEX_MAX, &room, &e), rows[i].fits);
        assert_int_equal(room, rows[i].left);
        assert_int_equal(e.code, rows[i].fits ? ERR_NONE : ERR_LIMIT);
        if (rows[i].fits) {
            assert_true(idset_parse(&alone, rows[i].text, INDEX_MAX, &e));
            assert_int_equal(s.n, alone.n);
        }
        idset_done(&s);
        idset_done(&alone);
    }
}

static void test_members_come_in_order(void **state)
{
    struct idset s = set_of("20,2-10:4,15-16");
    uint32_t id;
    static const uint32_t expected[] = {2, 6, 10, 15, 16, 20};
    assert_int_equal(s.count, ARRAY_LEN(expected));
    assert_true(idset_first(&s, &id));
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        assert_int_equal(id, expected[i]);
        assert_int_equal(idset_next(&s, id, &id), i + 1 < ARRAY_LEN(expected));
    }
    assert_true(idset_next(&s, 0, &id) && id == 2);
    assert_true(idset_next(&s, 7, &id) && id == 10);
    assert_false(idset_next(&s, UINT32_MAX, &id));
    assert_int_equal(idset_last(&s), 20);
    idset_done(&s);
    assert_false(idset_first(&s, &id));
    assert_false(idset_next(&s, 0, &id));
    assert_int_equal(idset_last(&s), 0);
    assert_string_equal(text_of(&s), "");
}

static void test_a_member_may_leave_a_stepped_range_and_come_back(void **state)
{
    struct idset s = set_of("0-40:10");
    assert_false(idset_del(&s, 15));
    assert_true(idset_del(&s, 20));
    assert_false(idset_del(&s, 20));
    assert_string_equal(text_of(&s), "0,10,30,40");
    idset_add(&s, 20);
    idset_add(&s, 20);
    assert_string_equal(text_of(&s), "0-40:10");
    idset_add(&s, 15);
    assert_true(idset_has(&s, 15) && idset_has(&s, 20) && !idset_has(&s, 25));
    assert_int_equal(s.count, 6);
    idset_done(&s);
}

static void test_the_largest_numbers_are_members_like_others(void **state)
{
    struct idset s = IDSET_INIT;
    idset_add(&s, UINT32_MAX);
    idset_add(&s, 0);
    idset_add(&s, UINT32_MAX - 1);
    assert_true(idset_has(&s, UINT32_MAX) && idset_has(&s, 0) && s.count == 3);
    assert_true(idset_del(&s, UINT32_MAX));
    assert_string_equal(text_of(&s), "0,4294967294");
    idset_done(&s);
}

static void test_a_copy_is_its_own(void **state)
{
    struct idset a = set_of("1-5"), b = set_of("9");
    idset_copy(&b, &a);
    idset_del(&a, 3);
    assert_string_equal(text_of(&b), "1-5");
    assert_int_equal(b.count, 5);
    idset_done(&a);
    idset_copy(&b, &a);
    assert_int_equal(b.count + b.n, 0);
    idset_done(&b);
}

static void test_formatting_appends(void **state)
{
    struct idset s = set_of("1-3,7");
    struct str out = STR_INIT;
    str_add(&out, "17_[");
    idset_format(&s, &out);
    assert_string_equal(str_text(&out), "17_[1-3,7");
    str_done(&out);
    idset_done(&s);
}

static void invariants_check(const struct idset *s)
{
    uint64_t count = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct idrange *r = &s->range[i];
        assert_true(r->step >= 1 && r->first <= r->last && (r->last - r->first) % r->step == 0);
        assert_true(i == 0 || s->range[i - 1].last < r->first);
        count += (r->last - r->first) / r->step + 1;
    }
    assert_true(count == s->count);
}

static void members_check(const struct idset *s, const bool *member, uint32_t size)
{
    uint32_t next = 0, id;
    bool any = idset_first(s, &id);
    for (uint32_t i = 0; i < size; i++) {
        assert_int_equal(idset_has(s, i), member[i]);
        if (!member[i])
            continue;
        assert_true(any && id == i);
        next++;
        any = idset_next(s, id, &id);
    }
    assert_false(any);
    assert_true(s->count == next);
}

/* Runs put behind what is there make the set that adding one by one makes, range by range. */
static void test_runs_are_put_behind_what_is_there(void **state)
{
    struct rng r = {11};
    for (int life = 0; life < 2000; life++) {
        struct idset runs = IDSET_INIT, ones = IDSET_INIT;
        uint32_t next = (uint32_t)rng_below(&r, 4), gap = 1 + (uint32_t)rng_below(&r, 3);
        for (int i = 0; i < 12; i++) {
            uint32_t n = rng_chance(&r, 600) ? 1 : 1 + (uint32_t)rng_below(&r, 5);
            idset_append(&runs, next, next + n - 1);
            for (uint32_t id = next; id < next + n; id++)
                idset_add(&ones, id);
            next += n - 1 + (rng_chance(&r, 700) ? gap : 1 + (uint32_t)rng_below(&r, 4));
            invariants_check(&runs);
            struct str text = STR_INIT;
            idset_format(&ones, &text);
            assert_string_equal(text_of(&runs), str_text(&text));
            str_done(&text);
        }
        idset_done(&runs);
        idset_done(&ones);
    }
}

/* A set is compared with an array of booleans, for a long random life; its text reads to the same
 * set. */
static void test_a_set_equals_an_array_whatever_happens(void **state)
{
    bool member[64] = {false};
    struct idset s = IDSET_INIT, again = IDSET_INIT;
    struct rng r = {7};
    for (int i = 0; i < 20000; i++) {
        uint32_t id = (uint32_t)rng_below(&r, ARRAY_LEN(member));
        if (rng_chance(&r, i / 1000 % 2 ? 300 : 700)) {
            idset_add(&s, id);
            member[id] = true;
        } else {
            assert_int_equal(idset_del(&s, id), member[id]);
            member[id] = false;
        }
        invariants_check(&s);
        members_check(&s, member, ARRAY_LEN(member));
        if (i % 50 == 0 && s.count) {
            struct str text = STR_INIT;
            idset_format(&s, &text);
            assert_true(idset_parse(&again, str_text(&text), INDEX_MAX, NULL));
            members_check(&again, member, ARRAY_LEN(member));
            assert_string_equal(text_of(&again), str_text(&text));
            str_done(&text);
        }
    }
    idset_done(&s);
    idset_done(&again);
}

/* Random lists of ranges, too. */
static void test_any_list_of_ranges_reads_to_its_members(void **state)
{
    struct rng r = {11};
    for (int i = 0; i < 2000; i++) {
        bool member[80] = {false};
        struct str text = STR_INIT;
        for (uint64_t k = 1 + rng_below(&r, 5); k; k--) {
            uint64_t first = rng_below(&r, 40), last = first + rng_below(&r, 40),
                     step = 1 + rng_below(&r, 6);
            str_addf(&text, "%s%d-%d:%d", text.len ? "," : "", (int)first, (int)last, (int)step);
            for (uint64_t id = first; id <= last; id += step)
                member[id] = true;
        }
        struct idset s = set_of(str_text(&text));
        invariants_check(&s);
        members_check(&s, member, ARRAY_LEN(member));
        idset_done(&s);
        str_done(&text);
    }
}

static bool both_have(const bool *a, const bool *b, size_t n, size_t from, uint32_t *ret)
{
    for (size_t id = from; id < n; id++)
        if (a[id] && b[id]) {
            *ret = (uint32_t)id;
            return true;
        }
    return false;
}

static struct idset any_set(struct rng *r, bool member[100])
{
    struct str text = STR_INIT;
    memset(member, 0, 100 * sizeof *member);
    for (uint64_t k = 1 + rng_below(r, 6); k; k--) {
        uint64_t first = rng_below(r, 60), last = first + rng_below(r, 40),
                 step = 1 + rng_below(r, 9);
        str_addf(&text, "%s%d-%d:%d", text.len ? "," : "", (int)first, (int)last, (int)step);
        for (uint64_t id = first; id <= last; id += step)
            member[id] = true;
    }
    struct idset s = set_of(str_text(&text));
    str_done(&text);
    return s;
}

static void test_what_two_sets_have_in_common(void **state)
{
    struct rng r = {12};
    bool in_a[100], in_b[100], in_both[100];
    for (int i = 0; i < 3000; i++) {
        struct idset a = any_set(&r, in_a), b = any_set(&r, in_b), both = IDSET_INIT;
        for (uint32_t from = 0; from < 100; from += 1 + (uint32_t)rng_below(&r, 20)) {
            uint32_t found = 0, due = 0;
            bool any = both_have(in_a, in_b, 100, from, &due);
            assert_int_equal(idset_common(&a, &b, from, &found), any);
            assert_int_equal(found, due);
        }
        for (size_t id = 0; id < 100; id++)
            in_both[id] = in_a[id] && in_b[id];
        idset_both(&both, &a, &b);
        invariants_check(&both);
        members_check(&both, in_both, 100);
        idset_both(&a, &a, &b);
        members_check(&a, in_both, 100);
        idset_done(&a);
        idset_done(&b);
        idset_done(&both);
    }
}

/* Member by member each of these questions is two thousand million steps. */
static void test_large_sets_cost_their_ranges(void **state)
{
    struct idset even = set_of("0-2147483646:2"), odd = set_of("1-2147483647:2");
    struct idset all = set_of("0-2147483647"), some = set_of("3-2147483647:65537"),
                 both = IDSET_INIT;
    uint32_t found = 0;
    for (int i = 0; i < 1000; i++) {
        assert_false(idset_common(&even, &odd, (uint32_t)i, &found));
        assert_true(idset_common(&odd, &some, 1000, &found));
        assert_int_equal(found, 3 + 2 * 65537);
        assert_true(idset_common(&all, &all, INDEX_MAX, &found));
        assert_int_equal(found, INDEX_MAX);
        idset_both(&both, &even, &odd);
        assert_int_equal(both.count, 0);
        idset_both(&both, &all, &even);
        assert_string_equal(text_of(&both), "0-2147483646:2");
        idset_both(&both, &even, &some);
        assert_string_equal(text_of(&both), "65540-2147450882:131074");
    }
    struct idset one = set_of("7"), none = IDSET_INIT;
    assert_false(idset_common(&none, &all, 0, &found));
    assert_false(idset_common(&all, &none, 0, &found));
    assert_false(idset_common(&one, &all, 8, &found));
    idset_both(&both, &one, &all);
    assert_string_equal(text_of(&both), "7");
    struct idset *const done[] = {&even, &odd, &all, &some, &both, &one};
    for (size_t i = 0; i < ARRAY_LEN(done); i++)
        idset_done(done[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets_are_written_as_ranges_with_steps),
        cmocka_unit_test(test_what_is_no_set_is_refused_and_changes_nothing),
        cmocka_unit_test(test_the_largest_index_is_allowed_and_the_next_is_not),
        cmocka_unit_test(test_a_million_elements_cost_one_range),
        cmocka_unit_test(test_interleaved_steps_have_a_limit),
        cmocka_unit_test(test_texts_share_their_room),
        cmocka_unit_test(test_members_come_in_order),
        cmocka_unit_test(test_a_member_may_leave_a_stepped_range_and_come_back),
        cmocka_unit_test(test_the_largest_numbers_are_members_like_others),
        cmocka_unit_test(test_a_copy_is_its_own),
        cmocka_unit_test(test_formatting_appends),
        cmocka_unit_test(test_runs_are_put_behind_what_is_there),
        cmocka_unit_test(test_a_set_equals_an_array_whatever_happens),
        cmocka_unit_test(test_any_list_of_ranges_reads_to_its_members),
        cmocka_unit_test(test_what_two_sets_have_in_common),
        cmocka_unit_test(test_large_sets_cost_their_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
