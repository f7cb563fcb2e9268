/* The methods by themselves: changes, periods, dips; and their bounds. */
#include "reading_curves.h"

#define DAY_LONG_MS (24 * 3600 * INT64_C(1000))

/* ---- the table ---- */

/* A week: what is read of it is bounded, and says the same. */
static void a_long_job_is_read_in_bounds(void **state)
{
    struct reading r;
    struct str words = STR_INIT;
    struct profile p = {
        .part = {A(0, GPU_UTIL, dim), A(STEP, CPU, one_cpu), A(STEP, RSS, rss_leaks)},
        .n = 302400,
        .cpus = 1};
    (void)state;
    profile_read(&p, GAP_MS, true, &r);
    words_of(&r, &words);
    assert_string_equal(str_text(&words), "gpu-low memory-grows");
    assert_true(r.samples <= 20001);
    str_done(&words);
    reading_done(&r);
}

/* What is well in an hour is well in a week, whose samples are put together to cells of 30 s. */
static void a_week_that_was_well(void **state)
{
    struct reading r;
    struct profile p = {.part = {A(0, GPU_UTIL, evaluates), A(STEP, RSS, rss_saws)},
                        .n = 302400,
                        .mem_mib = 32000,
                        .cpus = 1};
    (void)state;
    profile_read(&p, GAP_MS, true, &r);
    for (size_t i = 0; i < r.found.n; i++)
        assert_int_equal(r.found.v[i].kind, FOUND_PHASES);
    reading_done(&r);
}

static void more_curves_than_the_bound_are_left_out(void **state)
{
    struct curves c = {.most = 3};
    (void)state;
    for (int32_t i = 0; i < 8; i++)
        part_add(&c, &(struct part){"gpu7", i, SERIES_GPU_UTIL, flat, 0, 0, 0, 0, 0, 0}, 100,
                 GAP_MS);
    curves_order(&c);
    assert_int_equal(c.v.n, 3);
    assert_true(c.cut);
    curves_done(&c);
}

/* ---- the methods by themselves ---- */

static void changes_are_found_where_they_are_and_nowhere_else(void **state)
{
    double v[600];
    size_t at[8];
    (void)state;
    for (unsigned salt = 0; salt < 200; salt++) {
        for (size_t i = 0; i < 600; i++)
            v[i] = 60 + 10 * noise(i, 100 + salt);
        assert_int_equal(changes_find((const double *const[]){v}, 1, 600, 30, 2, at, 8), 0);
        for (size_t i = 0; i < 600; i++)
            v[i] = (i < 200 ? 60 : i < 450 ? 40 : 75) + 10 * noise(i, 100 + salt);
        assert_int_equal(changes_find((const double *const[]){v}, 1, 600, 30, 2, at, 8), 2);
        assert_in_range(at[0], 195, 205);
        assert_in_range(at[1], 445, 455);
    }
}

static void periods_are_found_and_noise_has_none(void **state)
{
    double v[600], like;
    (void)state;
    for (unsigned salt = 0; salt < 100; salt++) {
        for (size_t i = 0; i < 600; i++)
            v[i] = 60 + 10 * noise(i, 300 + salt);
        assert_int_equal(period_find(v, 600, 4, &like), 0);
        for (size_t i = 0; i < 600; i++)
            v[i] = (i % 47 < 20 ? 60 : 85) + 10 * noise(i, 300 + salt);
        assert_in_range(period_find(v, 600, 4, &like), 46, 48);
        assert_true(like > 0.5);
    }
    assert_int_equal(period_find(v, 5, 4, &like), 0);
}

/* Epochs are no clock: their lengths differ. */
static void dips_that_come_nearly_regularly_are_regular(void **state)
{
    (void)state;
    for (unsigned salt = 0; salt < 50; salt++) {
        struct curve c = {.value = series_value_of(SERIES_GPU_UTIL), .gap_ms = GAP_MS};
        struct dips d;
        size_t next = 60, ends = 0;
        for (size_t i = 0; i < 900; i++) {
            if (i == next) {
                ends = i + 5 + (size_t)(2 + 2 * noise(i, salt));
                next = i + 60 + (size_t)(8 + 8 * noise(i + 1, salt));
            }
            vec_push(&c.at, ((struct moment){BEGAN_MS + (int64_t)i * GAP_MS,
                                             i < ends ? 2 : 80 + 5 * noise(i, salt)}));
        }
        dips_find(&c, 0, INT64_MAX, &d);
        assert_in_range(d.every_ms, 110000, 155000);
        assert_in_range(d.for_ms, 10000, 20000);
        dips_done(&d);
        vec_done(&c.at);
    }
}

/* A node's block says between two good times any other. */
static void samples_of_no_time_are_left_out(void **state)
{
    static const int64_t wrong[] = {
        INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1, -1, BEGAN_MS + 3 * DAY_LONG_MS};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct curves c = {0};
        const int64_t at_ms[] = {BEGAN_MS, wrong[i], BEGAN_MS - 60000, BEGAN_MS + GAP_MS};
        const double v[] = {1, 2, 3, 4};
        const struct series_source_key key = {.job_id = 7, .attempt = 1, .node = "gpu7"};
        int64_t from_ms, to_ms;
        curve_put(&c, &key, SERIES_GPU_UTIL, 0, at_ms, v, 4, GAP_MS);
        curves_order(&c);
        assert_true(curves_span(&c, &from_ms, &to_ms));
        assert_true(from_ms == BEGAN_MS - 60000); /* its clock was set back */
        assert_true(to_ms == BEGAN_MS + GAP_MS);
        assert_int_equal(c.v.v[0]->at.n, 3);
        curves_done(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_job_is_read_in_bounds),
        cmocka_unit_test(a_week_that_was_well),
        cmocka_unit_test(more_curves_than_the_bound_are_left_out),
        cmocka_unit_test(changes_are_found_where_they_are_and_nowhere_else),
        cmocka_unit_test(periods_are_found_and_noise_has_none),
        cmocka_unit_test(dips_that_come_nearly_regularly_are_regular),
        cmocka_unit_test(samples_of_no_time_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
