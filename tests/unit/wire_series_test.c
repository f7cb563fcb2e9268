/* Series as blocks: what goes in comes out; what was cut or damaged is refused; thinning. */
#include "base/alloc.h"
#include "base/rng.h"
#include "unit.h"
#include "wire/series.h"
#include "wire/series_bits.h"

#include <stdlib.h>
#include <string.h>

static const struct series_source_key some_key = {
    .job_id = 42, .attempt = 1, .device = 3, .node = "gpu7", .name = "a100 GPU-1"};

/* ---- columns ---- */

static void column_is_kept(const int64_t *v, size_t n)
{
    struct str bytes = STR_INIT;
    int64_t got[256];
    series_put_column(&bytes, v, n);
    struct series_in in = {(const uint8_t *)bytes.data, (const uint8_t *)bytes.data + bytes.len,
                           false};
    series_get_column(&in, got, n);
    assert_false(in.bad);
    assert_ptr_equal(in.at, in.end);
    assert_memory_equal(got, v, n * sizeof *v);
    str_done(&bytes);
}

static int64_t any_number(struct rng *r, unsigned kind)
{
    switch (kind) {
    case 0: return 7;
    case 1: return (int64_t)rng_below(r, 101);
    case 2: return (int64_t)rng_below(r, UINT64_C(1) << 40) - (INT64_C(1) << 39);
    case 3: return rng_below(r, 20) ? 0 : (int64_t)rng_below(r, 1000000);
    case 4: return rng_below(r, 2) ? INT64_MAX : INT64_MIN + 1;
    default: return rng_below(r, 3) ? 50 + (int64_t)rng_below(r, 5) : SERIES_ABSENT;
    }
}

static void columns_of_every_kind_come_back(void **state)
{
    struct rng r = {1};
    int64_t v[256];
    (void)state;
    for (int round = 0; round < 3000; round++) {
        unsigned kind = (unsigned)rng_below(&r, 6);
        size_t n = 1 + rng_below(&r, 256);
        for (size_t i = 0; i < n; i++)
            v[i] = any_number(&r, kind);
        column_is_kept(v, n);
    }
    for (size_t i = 0; i < 64; i++)
        v[i] = SERIES_ABSENT;
    column_is_kept(v, 64);
}

/* ---- blocks ---- */

static struct series_grow *some_block(struct rng *r, size_t samples)
{
    struct series_grow *g = series_grow_new(&some_key);
    for (size_t i = 0; i < samples; i++) {
        struct series_point p[20];
        size_t n = 0;
        for (uint16_t id = 1; id <= 17; id++)
            if (rng_below(r, 8))
                p[n++] = (struct series_point){id, 0, (int64_t)rng_below(r, 1000)};
        p[n++] = (struct series_point){SERIES_CORE, 5, (int64_t)rng_below(r, 100)};
        series_grow_add(g, INT64_C(1795000000000) + (int64_t)i * 2000, 2000, p, n);
    }
    return g;
}

static int64_t value_in(const struct series_block *b, uint16_t id, uint32_t index, size_t i)
{
    for (size_t k = 0; k < b->ncols; k++)
        if (b->col[k].id == id && b->col[k].index == index)
            return b->col[k].v[i];
    return SERIES_ABSENT;
}

static void a_block_says_whose_it_is_and_what(void **state)
{
    struct series_grow *g = series_grow_new(&some_key);
    struct arena *a = arena_new();
    struct str bytes = STR_INIT;
    struct series_block b;
    struct err err = {0};
    (void)state;
    series_grow_add(g, 1000, 2000, (struct series_point[]){{1, 0, 50}, {5, 0, 2501}}, 2);
    series_grow_add(g, 3001, 2000, (struct series_point[]){{1, 0, 51}}, 1);
    series_grow_add(g, 5000, 2000,
                    (struct series_point[]){{5, 0, 2499}, {1, 0, 0}, {1, 0, 9}, {41, 7, 100}}, 4);
    series_grow_encode(g, 0, true, &bytes);
    assert_true(series_block_read(bytes.data, bytes.len, a, &b, &err));
    assert_int_equal(series_key_compare(&b.head.key, &some_key), 0);
    assert_string_equal(b.head.key.name, "a100 GPU-1");
    assert_true(b.head.whole);
    assert_int_equal(b.head.n, 3);
    assert_int_equal(b.head.first_ms, 1000);
    assert_int_equal(b.head.last_ms, 5000);
    assert_int_equal(b.at_ms[1], 3001);
    assert_int_equal(b.ncols, 3);
    assert_int_equal(value_in(&b, 5, 0, 0), 2501);
    assert_true(value_in(&b, 5, 0, 1) == SERIES_ABSENT);
    assert_int_equal(value_in(&b, 1, 0, 2), 0);
    assert_true(value_in(&b, 41, 7, 0) == SERIES_ABSENT);
    assert_int_equal(value_in(&b, 41, 7, 2), 100);
    str_clear(&bytes);
    series_grow_encode(g, 1, false, &bytes);
    assert_true(series_block_read(bytes.data, bytes.len, a, &b, &err));
    assert_false(b.head.whole);
    assert_int_equal(b.head.n, 2);
    assert_int_equal(b.head.first_ms, 3001);
    str_done(&bytes);
    arena_free(a);
    series_grow_free(g);
}

static void what_is_cut_or_damaged_is_refused(void **state)
{
    struct rng r = {1};
    (void)state;
    struct series_grow *g = some_block(&r, 64);
    struct str bytes = STR_INIT;
    struct arena *a = arena_new();
    struct series_block b;
    struct series_head head;
    struct err err = {0};
    series_grow_encode(g, 0, true, &bytes);
    for (size_t len = 0; len < bytes.len; len++) { /* a copy, so that reading past its end shows */
        char *cut = xcalloc(1, len + 1);
        memcpy(cut, bytes.data, len);
        assert_false(series_block_read(cut, len, a, &b, &err));
        assert_false(series_head_read(cut, len, &head, &err));
        free(cut);
    }
    for (int round = 0; round < 2000; round++) {
        size_t at = rng_below(&r, bytes.len);
        char bit = (char)(1 << rng_below(&r, 8));
        bytes.data[at] = (char)(bytes.data[at] ^ bit);
        assert_false(series_block_read(bytes.data, bytes.len, a, &b, &err));
        bytes.data[at] = (char)(bytes.data[at] ^ bit);
    }
    assert_true(series_block_read(bytes.data, bytes.len, a, &b, &err));
    str_done(&bytes);
    arena_free(a);
    series_grow_free(g);
}

static void blocks_follow_one_another(void **state)
{
    struct rng r = {1};
    struct str all = STR_INIT, one = STR_INIT;
    struct span block;
    (void)state;
    for (size_t i = 1; i <= 3; i++) {
        struct series_grow *g = some_block(&r, i);
        str_clear(&one);
        series_grow_encode(g, 0, false, &one);
        series_put(&all, &one);
        series_grow_free(g);
    }
    const char *at = all.data;
    size_t len = all.len, count = 0;
    struct series_head head;
    while (series_next(&at, &len, &block)) {
        assert_true(series_head_read(block.data, block.len, &head, NULL));
        assert_int_equal(head.n, ++count);
    }
    assert_int_equal(count, 3);
    assert_int_equal(len, 0);
    at = all.data;
    len = all.len - 1; /* the last is cut by a kill */
    for (count = 0; series_next(&at, &len, &block); count++)
        continue;
    assert_int_equal(count, 2);
    assert_true(len > 0);
    str_done(&all);
    str_done(&one);
}

/* A training that loads its data badly, as an A100 shows it: noise on power, clocks in steps. */
static void a_value_takes_little(void **state)
{
    struct rng r = {1};
    struct str bytes = STR_INIT;
    struct series_grow *g = series_grow_new(&some_key);
    size_t values = 0, total = 0;
    (void)state;
    for (size_t i = 0; i < 64 * 20; i++) {
        bool dips = i % 80 > 70;
        struct series_point p[] = {
            {SERIES_GPU_UTIL, 0, dips ? 3 : 40 + (int64_t)rng_below(&r, 9)},
            {SERIES_GPU_MEM_UTIL, 0, dips ? 0 : 15 + (int64_t)rng_below(&r, 5)},
            {SERIES_GPU_MEM, 0, 10235 + (int64_t)(i / 500) * 16},
            {SERIES_GPU_MEM_TOTAL, 0, 40960},
            {SERIES_GPU_POWER, 0, (dips ? 800 : 2200) + (int64_t)rng_below(&r, 120)},
            {SERIES_GPU_TEMP, 0, 55 + (int64_t)rng_below(&r, 2)},
            {SERIES_GPU_SM_CLOCK, 0, 1410 - 15 * (int64_t)rng_below(&r, 2)},
            {SERIES_GPU_MEM_CLOCK, 0, 1215},
            {SERIES_GPU_THROTTLE, 0, dips ? 1 : 0},
            {SERIES_GPU_PCIE_TX, 0, (int64_t)rng_below(&r, 90000)},
            {SERIES_GPU_PCIE_RX, 0, (int64_t)rng_below(&r, 900000)},
            {SERIES_GPU_ECC, 0, 0},
        };
        series_grow_add(g, (int64_t)i * 2000 + (int64_t)rng_below(&r, 4), 2000, p, 12);
        values += 12;
        if (series_grow_count(g) < SERIES_BLOCK_SAMPLES)
            continue;
        str_clear(&bytes);
        series_grow_encode(g, 0, true, &bytes);
        total += bytes.len;
        series_grow_clear(g);
    }
    print_message("%.3f bytes a value\n", (double)total / (double)values);
    assert_true(2 * total < 3 * values); /* 1.5 bytes */
    str_done(&bytes);
    series_grow_free(g);
}

/* ---- thinning ---- */

struct thinned {
    struct arena *a;
    struct series_block b[16];
    size_t n;
};

static void thinned_take(void *ctx, const struct str *block)
{
    struct thinned *t = ctx;
    const char *bytes = arena_dup(t->a, block->data, block->len);
    assert_true(t->n < 16 && series_block_read(bytes, block->len, t->a, &t->b[t->n++], NULL));
}

static void block_of(struct arena *a, const struct series_source_key *key, int64_t from_ms,
                     size_t samples, struct series_block *ret)
{
    struct series_grow *g = series_grow_new(key);
    struct str bytes = STR_INIT;
    for (size_t i = 0; i < samples; i++) {
        int64_t at = from_ms + (int64_t)i * 2000;
        struct series_point p[] = {{SERIES_GPU_UTIL, 0, at / 1000 % 10},
                                   {SERIES_GPU_MEM, 0, at / 1000 % 10},
                                   {SERIES_GPU_ECC, 0, at / 2000},
                                   {SERIES_GPU_THROTTLE, 0, at / 2000 % 5 == 1 ? 4 : 8}};
        series_grow_add(g, at, 2000, p, at / 1000 % 20 < 10 ? 4 : 1);
    }
    series_grow_encode(g, 0, true, &bytes);
    const char *kept = arena_dup(a, bytes.data, bytes.len);
    assert_true(series_block_read(kept, bytes.len, a, ret, NULL));
    str_done(&bytes);
    series_grow_free(g);
}

static void several_samples_become_one(void **state)
{
    struct thinned t = {.a = arena_new()};
    struct series_block b;
    struct series_source_key other = some_key;
    (void)state;
    other.device = 4;
    struct series_thin *thin = series_thin_new(10000, thinned_take, &t);
    block_of(t.a, &some_key, 0, 32, &b); /* 0 … 62 s */
    series_thin_add(thin, &b);
    block_of(t.a, &some_key, 40000, 20, &b); /* of which 40 … 62 s were there */
    series_thin_add(thin, &b);
    block_of(t.a, &other, 0, 5, &b);
    series_thin_add(thin, &b);
    series_thin_end(thin);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.b[0].head.n, 8); /* 0 … 78 s */
    assert_int_equal(t.b[0].head.gap_ms, 10000);
    assert_int_equal(t.b[0].at_ms[0], 5000);
    assert_int_equal(t.b[0].at_ms[7], 75000);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(value_in(&t.b[0], SERIES_GPU_UTIL, 0, i), 4); /* of 0 2 4 6 8 */
        if (i % 2) { /* what was not told is not made up */
            assert_true(value_in(&t.b[0], SERIES_GPU_MEM, 0, i) == SERIES_ABSENT);
            continue;
        }
        assert_int_equal(value_in(&t.b[0], SERIES_GPU_MEM, 0, i), 8);
        assert_int_equal(value_in(&t.b[0], SERIES_GPU_ECC, 0, i), 5 * i + 4);
        assert_int_equal(value_in(&t.b[0], SERIES_GPU_THROTTLE, 0, i), 12);
    }
    assert_int_equal(t.b[1].head.key.device, 4);
    assert_int_equal(t.b[1].head.n, 1);
    arena_free(t.a);
}

/* Blocks of one time, each with values that no other has: each was compared with all before it, for
 * minutes here and days of what a host may send. */
static void values_of_one_time_are_no_more_than_a_block_holds(void **state)
{
    struct thinned t = {.a = arena_new()};
    struct series_thin *thin = series_thin_new(10000, thinned_take, &t);
    (void)state;
    for (uint32_t n = 0; n < 600; n++) {
        struct series_grow *g = series_grow_new(&some_key);
        struct series_point p[300];
        struct series_block b;
        struct str bytes = STR_INIT;
        for (uint32_t i = 0; i < ARRAY_LEN(p); i++)
            p[i] = (struct series_point){SERIES_CORE, n * (uint32_t)ARRAY_LEN(p) + i, 5};
        series_grow_add(g, 10000 + n, 1, p, ARRAY_LEN(p));
        series_grow_encode(g, 0, true, &bytes);
        assert_true(series_block_read(bytes.data, bytes.len, t.a, &b, NULL));
        series_thin_add(thin, &b);
        str_done(&bytes);
        series_grow_free(g);
    }
    series_thin_end(thin);
    assert_int_equal(t.n, 1);
    assert_int_equal(t.b[0].head.n, 1);
    assert_int_equal(t.b[0].ncols, SERIES_VALUES_MAX);
    arena_free(t.a);
}

/* A block whose head is of its day says others inside. */
static void what_is_thinned_is_of_its_time(void **state)
{
    struct thinned t = {.a = arena_new()};
    const int64_t began_ms = INT64_C(1790000000000);
    struct series_block b;
    (void)state;
    struct series_thin *thin = series_thin_new(10000, thinned_take, &t);
    block_of(t.a, &some_key, began_ms, 32, &b);
    b.at_ms[3] = INT64_MAX;
    b.at_ms[4] = (INT64_C(1) << 48) - 1;
    b.at_ms[5] = -5;
    series_thin_add(thin, &b);
    series_thin_end(thin);
    assert_int_equal(t.n, 1);
    assert_true(t.b[0].head.last_ms < began_ms + 70000);
    assert_int_equal(t.b[0].head.n, 7);
    arena_free(t.a);
}

static void thinned_once_more_it_is_coarser_alone(void **state)
{
    struct thinned fine = {.a = arena_new()}, both = {.a = arena_new()}, once = {.a = both.a};
    struct series_block b;
    (void)state;
    struct series_thin *thin = series_thin_new(10000, thinned_take, &fine),
                       *direct = series_thin_new(60000, thinned_take, &once);
    for (int64_t i = 0; i < 9; i++) {
        block_of(fine.a, &some_key, i * 64 * 2000, 64, &b);
        series_thin_add(thin, &b);
        series_thin_add(direct, &b);
    }
    series_thin_end(thin);
    series_thin_end(direct);
    thin = series_thin_new(60000, thinned_take, &both);
    for (size_t i = 0; i < fine.n; i++)
        series_thin_add(thin, &fine.b[i]);
    series_thin_end(thin);
    assert_int_equal(both.n, once.n);
    assert_int_equal(both.b[0].head.n, once.b[0].head.n);
    for (size_t i = 0; i < both.b[0].head.n; i++) {
        assert_int_equal(both.b[0].at_ms[i], once.b[0].at_ms[i]);
        assert_int_equal(value_in(&both.b[0], SERIES_GPU_MEM, 0, i), 8);
        assert_int_equal(value_in(&both.b[0], SERIES_GPU_ECC, 0, i),
                         value_in(&once.b[0], SERIES_GPU_ECC, 0, i));
    }
    arena_free(fine.a);
    arena_free(both.a);
}

/* ---- how long ---- */

static void how_long_they_are_kept(void **state)
{
    static const char *const bad[] = {"",
                                      "2s",
                                      "2s:1",
                                      "2:1d",
                                      "2s:1d,",
                                      "10s:1d,2s:9d",
                                      "2s:9d,10s:1d",
                                      "x:1d",
                                      "2s:0d",
                                      "2s:1d,2s:2d",
                                      "1s:1m,2s:2m,3s:3m,4s:4m,5s:5m",
                                      "nothing",
                                      "-2s:1d"};
    struct series_keep k;
    struct err err = {0};
    (void)state;
    assert_true(series_keep_parse("2s:1d,10s:30d,1m:365d", &k, &err));
    assert_int_equal(k.n, 3);
    assert_int_equal(k.level[2].gap_us, INT64_C(60000000));
    assert_int_equal(k.level[1].age_us, INT64_C(30) * 86400 * 1000000);
    assert_true(series_keep_parse("None", &k, &err));
    assert_int_equal(k.n, 0);
    assert_true(series_keep_parse("1s:1h", &k, &err));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(series_keep_parse(bad[i], &k, &err));
        assert_true(strlen(err.text) > 20);
    }
}

static void numbers_and_words_are_given_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < series_values_n; i++) {
        assert_ptr_equal(series_value_of(series_values[i].id), &series_values[i]);
        assert_ptr_equal(series_value_named(span_of(series_values[i].word)), &series_values[i]);
        assert_true(series_values[i].scale > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_every_kind_come_back),
        cmocka_unit_test(a_block_says_whose_it_is_and_what),
        cmocka_unit_test(what_is_cut_or_damaged_is_refused),
        cmocka_unit_test(blocks_follow_one_another),
        cmocka_unit_test(a_value_takes_little),
        cmocka_unit_test(several_samples_become_one),
        cmocka_unit_test(values_of_one_time_are_no_more_than_a_block_holds),
        cmocka_unit_test(what_is_thinned_is_of_its_time),
        cmocka_unit_test(thinned_once_more_it_is_coarser_alone),
        cmocka_unit_test(how_long_they_are_kept),
        cmocka_unit_test(numbers_and_words_are_given_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
