/* Curves put together of blocks, and their charts. */
#include "base/alloc.h"
#include "reading/chart_groups.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- profiles ---- */

typedef int64_t (*shape_fn)(size_t i);

static int64_t dips(size_t i)
{
    return i % 20 < 16 ? 40 + (int64_t)(i % 9) : 3;
}
static int64_t now_and_then(size_t i)
{
    return i % 30 == 7 ? 85 : 0;
}
static int64_t full(size_t i)
{
    return 100 + (int64_t)(i * 0);
}

static void add_of(struct curves *c, const char *node, int64_t step, int32_t device, uint16_t id,
                   shape_fn shape, size_t n)
{
    struct series_source_key key = {.job_id = 7, .attempt = 1, .step_id = step, .device = device};
    snprintf(key.node, sizeof key.node, "%s", node);
    struct series_grow *g = series_grow_new(&key);
    struct str block = STR_INIT, all = STR_INIT;
    for (size_t i = 0; i < n; i++) {
        series_grow_add(g, (int64_t)i * 2000, 2000,
                        &(struct series_point){id, 0, shape(i) * series_value_of(id)->scale}, 1);
        if (series_grow_count(g) < SERIES_BLOCK_SAMPLES && i + 1 < n)
            continue;
        str_clear(&block);
        series_grow_encode(g, 0, true, &block);
        series_put(&all, &block);
        series_grow_clear(g);
    }
    curves_add(c, all.data, all.len);
    str_done(&block);
    str_done(&all);
    series_grow_free(g);
}

static void add(struct curves *c, int64_t step, int32_t device, uint16_t id, shape_fn shape,
                size_t n)
{
    add_of(c, "gpu7", step, device, id, shape, n);
}

/* ---- steps ---- */

static const struct curve *curve_named(const struct curves *c, uint16_t id)
{
    for (size_t i = 0; i < c->v.n; i++)
        if (c->v.v[i]->value->id == id)
            return c->v.v[i];
    return NULL;
}

static void steps_are_added_up_and_the_nodes_figures_are_not(void **state)
{
    struct curves c = {0};
    struct figures f;
    (void)state;
    for (int64_t step = -1; step < 3; step++) {
        add(&c, step, SERIES_OF_STEP, SERIES_CPU, full, 40);
        add(&c, step, SERIES_OF_STEP, SERIES_NET_RX, full, 40);
    }
    add(&c, -1, SERIES_OF_STEP, SERIES_CPU, full, 40); /* the same once more */
    assert_int_equal(c.v.n, 8);
    assert_int_equal(c.v.v[0]->at.n, 40);
    curves_join_steps(&c);
    assert_int_equal(c.v.n, 2);
    curve_figures(curve_named(&c, SERIES_CPU), 0, INT64_MAX, &f);
    assert_true(f.least > 399 && f.most < 401);
    curve_figures(curve_named(&c, SERIES_NET_RX), 0, INT64_MAX, &f);
    assert_true(f.least > 99 && f.most < 101);
    curves_done(&c);
}

static void sampled(struct curve *c, int64_t first_ms, size_t n, double v)
{
    for (size_t i = 0; i < n; i++)
        vec_push(&c->at, ((struct moment){first_ms + (int64_t)i * 2000, v}));
}

static struct curve *step_of(struct curves *c, int64_t step)
{
    struct curve *one = xcalloc(1, sizeof *one);
    one->value = series_value_of(SERIES_RSS);
    one->gap_ms = 2000;
    one->key.step_id = step;
    strcpy(one->key.node, "gpu7");
    vec_push(&c->v, one);
    return one;
}

/* Steps one after another, each beside the script's own: where one follows another there is no
 * moment in which both have their memory; where two run at once, none in which one has not. */
static void steps_that_follow_one_another_are_not_added_up(void **state)
{
    (void)state;
    for (int64_t after = 1; after < 2400; after += 160)
        for (int64_t script = 0; script < 2000; script += 330) {
            struct curves c = {0};
            struct figures f;
            sampled(step_of(&c, -1), 100000 + script, 200, 20);
            for (int64_t step = 0; step < 3; step++)
                sampled(step_of(&c, step), 102000 + step * (98000 + after), 50, 4000);
            curves_join_steps(&c);
            assert_int_equal(c.v.n, 1);
            curve_figures(c.v.v[0], 0, INT64_MAX, &f);
            assert_true(f.most > 4000 && f.most < 4021);
            curves_done(&c);
        }
}

static void steps_that_run_at_once_are_added_up_to_the_end(void **state)
{
    (void)state;
    for (int64_t later = 0; later < 2000; later += 130) {
        struct curves c = {0};
        struct figures f;
        sampled(step_of(&c, 0), 100000, 100, 1000);
        sampled(step_of(&c, 1), 100000 + later, 100, 1000);
        curves_join_steps(&c);
        curve_figures(c.v.v[0], 100000 + later, INT64_MAX, &f);
        assert_true(f.least > 1999 && f.most < 2001);
        curves_done(&c);
    }
}

/* ---- charts ---- */

static void a_dip_of_one_sample_is_seen_and_a_gap_is_a_gap(void **state)
{
    struct curves c = {0};
    struct chart_part part[50];
    (void)state;
    add(&c, 0, 1, SERIES_GPU_UTIL, now_and_then, 3000);
    struct curve *one = c.v.v[0];
    chart_parts(one, 0, 3000 * 2000, part, 50);
    for (size_t i = 0; i < 50; i++)
        assert_true(part[i].any && part[i].most > 84 && part[i].least < 1);
    size_t n = 0; /* nothing from 2000 to 4000 s */
    for (size_t i = 0; i < one->at.n; i++)
        if (one->at.v[i].at_ms < 2000000 || one->at.v[i].at_ms > 4000000)
            one->at.v[n++] = one->at.v[i];
    one->at.n = n;
    chart_parts(one, 0, 3000 * 2000, part, 50);
    assert_true(part[10].any && !part[25].any && part[45].any);
    curves_done(&c);
}

static void numbers_are_short_and_axes_round(void **state)
{
    const struct series_value *mib = series_value_of(SERIES_GPU_MEM),
                              *kib = series_value_of(SERIES_READ),
                              *percent = series_value_of(SERIES_GPU_UTIL),
                              *watts = series_value_of(SERIES_GPU_POWER);
    char text[CHART_NUMBER_BYTES];
    (void)state;
    assert_string_equal(chart_number(mib, 40960, text), "40 GiB");
    assert_string_equal(chart_number(mib, 512, text), "512 MiB");
    assert_string_equal(chart_number(mib, 12900, text), "13 GiB");
    assert_string_equal(chart_number(kib, 1536, text), "1.5 MiB/s");
    assert_string_equal(chart_number(percent, 47, text), "47 %");
    assert_string_equal(chart_number(watts, 210.4, text), "210 W");
    assert_true(chart_top(percent, 3) > 99.9 && chart_top(percent, 3) < 100.1);
    assert_true(chart_top(watts, 210) > 249 && chart_top(watts, 210) < 251);
    assert_true(chart_top(mib, 40000) > 40 * 1024 - 1 && chart_top(mib, 40000) < 40 * 1024 + 1);
    assert_true(chart_top(watts, 0) > 0);
}

/* Its ends and its middle are in one unit, exact, and no wider than the column beside a chart. */
static void numbers_of_an_axis_have_one_unit(void **state)
{
    const struct series_value *mib = series_value_of(SERIES_GPU_MEM),
                              *kib = series_value_of(SERIES_NET_RX),
                              *percent = series_value_of(SERIES_GPU_UTIL);
    char text[CHART_NUMBER_BYTES];
    (void)state;
    assert_string_equal(chart_axis_number(mib, 0, 6144, text), "0 GiB");
    assert_string_equal(chart_axis_number(mib, 12800, 25600, text), "12.5 GiB");
    assert_string_equal(chart_axis_number(mib, 768, 1536, text), "0.75 GiB");
    assert_string_equal(chart_axis_number(mib, 1280, 2560, text), "1.25 GiB");
    assert_string_equal(chart_axis_number(mib, 1000, 1000, text), "1000 MiB");
    assert_string_equal(chart_axis_number(mib, 50, 100, text), "50 MiB");
    assert_string_equal(chart_axis_number(kib, 0, 2048, text), "0 MiB/s");
    assert_string_equal(chart_axis_number(percent, 100, 100, text), "100 %");
    for (double most = 0.7; most < 1e9; most *= 1.07) {
        double top = chart_top(kib, most);
        char of_top[CHART_NUMBER_BYTES], of_half[CHART_NUMBER_BYTES];
        chart_axis_number(kib, top, top, of_top);
        chart_axis_number(kib, top / 2, top, of_half);
        assert_string_equal(strchr(of_top, ' '), strchr(of_half, ' '));
        assert_true(strtod(of_half, NULL) * 2 - strtod(of_top, NULL) < 1e-9 &&
                    strtod(of_top, NULL) - strtod(of_half, NULL) * 2 < 1e-9);
        assert_true(strlen(of_top) <= 10 && strlen(of_half) <= 10);
    }
}

/* ---- several as one ---- */

static int64_t slow(size_t i)
{
    return 50 + (int64_t)(i % 3);
}

/* 12 nodes of 4 GPUs; GPU 2 of n9 is slow where it is said. */
static void wide_make(struct curves *c, bool one_is_slow)
{
    for (int node = 12; node >= 1; node--) {
        char name[8];
        snprintf(name, sizeof name, "n%d", node);
        for (int gpu = 0; gpu < 4; gpu++)
            add_of(c, name, 0, gpu, SERIES_GPU_UTIL,
                   one_is_slow && node == 9 && gpu == 2 ? slow : full, 100);
        add_of(c, name, -1, SERIES_OF_STEP, SERIES_CPU, full, 100);
        add_of(c, name, 0, SERIES_OF_STEP, SERIES_CPU, full, 100);
    }
    curves_join_steps(c);
}

static void named(const struct chart_group *g, const char *name)
{
    struct str out = STR_INIT;
    chart_group_name(g, &out);
    assert_string_equal(str_text(&out), name);
    str_done(&out);
}

static void too_many_curves_are_one_by_node_then_of_all(void **state)
{
    static const struct {
        size_t most, charts;
        const char *first, *second, *last;
    } row[] = {{60, 60, "n1 GPU 0", "n1 GPU 1", "n12"},
               {59, 24, "n1, 4 GPUs", "n2, 4 GPUs", "n12"},
               {24, 24, "n1, 4 GPUs", "n2, 4 GPUs", "n12"},
               {23, 2, "48 GPUs", "12 nodes", "12 nodes"},
               {1, 2, "48 GPUs", "12 nodes", "12 nodes"}};
    struct curves c = {0};
    (void)state;
    wide_make(&c, false);
    for (size_t i = 0; i < ARRAY_LEN(row); i++) {
        struct chart_groups g;
        chart_groups_fit(&c, row[i].most, &g);
        assert_int_equal(g.v.n, row[i].charts);
        named(&g.v.v[0], row[i].first);
        named(&g.v.v[1], row[i].second);
        named(&g.v.v[g.v.n - 1], row[i].last);
        chart_groups_done(&g);
    }
    curves_done(&c);
}

static void one_of_many_that_does_less_is_named(void **state)
{
    (void)state;
    for (int one_is_slow = 0; one_is_slow < 2; one_is_slow++) {
        struct curves c = {0};
        struct chart_groups g;
        struct figures f;
        struct chart_part part[10];
        struct str out = STR_INIT;
        const struct chart_style style = {.width = 80, .rows = 3, .zone = &civil_utc};
        double mean;
        wide_make(&c, one_is_slow);
        chart_groups_make(&c, CHARTS_OF_ALL, &g);
        chart_group_figures(&g.v.v[0], 0, 200000, &f);
        assert_int_equal(f.n, 4800);
        assert_true(f.most > 99 && (one_is_slow ? f.least < 51 && f.mean < 99.5 : f.least > 99));
        chart_group_parts(&g.v.v[0], 0, 200000, part, 10);
        assert_true(part[4].any && part[4].most > 99 && part[4].mean > 98);
        assert_true(one_is_slow ? part[4].least < 51 : part[4].least > 99);
        const struct curve *lowest = chart_group_lowest(&g.v.v[0], 0, 200000, &mean);
        assert_true(!lowest == !one_is_slow);
        chart_groups_write(&g, 0, 200000, &style, &out);
        assert_true(!strstr(str_text(&out), "; lowest: n9 GPU 2, 5") == !one_is_slow);
        assert_null(chart_group_lowest(&g.v.v[1], 0, 200000, &mean));
        chart_groups_done(&g);
        curves_done(&c);
        str_done(&out);
    }
}

static int64_t little(size_t i)
{
    return 5 + (int64_t)(i * 0);
}

/* 5 W beside 100 W are no full chart. */
static void charts_of_one_value_have_one_axis(void **state)
{
    const struct chart_style style = {.width = 60, .rows = 1, .zone = &civil_utc};
    struct curves c = {0};
    struct chart_groups g;
    struct str out = STR_INIT;
    (void)state;
    add(&c, 0, 0, SERIES_GPU_POWER, full, 100);
    add(&c, 0, 1, SERIES_GPU_POWER, little, 100);
    chart_groups_make(&c, CHARTS_EACH, &g);
    chart_groups_write(&g, 0, 200000, &style, &out);
    assert_non_null(strstr(str_text(&out), "100 W 9999"));
    assert_non_null(strstr(str_text(&out), "5 W 0000"));
    chart_groups_done(&g);
    curves_done(&c);
    str_done(&out);
}

static void every_width_keeps_its_columns(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct curves c = {0};
        struct chart_groups g;
        if (wide)
            wide_make(&c, true);
        else
            add(&c, 0, 1, SERIES_GPU_UTIL, dips, 300);
        chart_groups_make(&c, CHARTS_OF_ALL, &g);
        for (int width = 40; width <= 200; width += 7)
            for (int rows = 1; rows <= 5; rows += 2) {
                const struct chart_style style = {.width = width, .rows = rows, .zone = &civil_utc};
                struct str out = STR_INIT;
                chart_groups_write(&g, 0, 600000, &style, &out);
                chart_times_write(0, 600000, &style, &out);
                struct span rest = span_of(str_text(&out)), line;
                while (span_next(&rest, '\n', &line))
                    assert_true(line.len <= (size_t)width);
                str_done(&out);
            }
        chart_groups_done(&g);
        curves_done(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_added_up_and_the_nodes_figures_are_not),
        cmocka_unit_test(steps_that_follow_one_another_are_not_added_up),
        cmocka_unit_test(steps_that_run_at_once_are_added_up_to_the_end),
        cmocka_unit_test(a_dip_of_one_sample_is_seen_and_a_gap_is_a_gap),
        cmocka_unit_test(numbers_are_short_and_axes_round),
        cmocka_unit_test(numbers_of_an_axis_have_one_unit),
        cmocka_unit_test(too_many_curves_are_one_by_node_then_of_all),
        cmocka_unit_test(one_of_many_that_does_less_is_named),
        cmocka_unit_test(charts_of_one_value_have_one_axis),
        cmocka_unit_test(every_width_keeps_its_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
