#include "unit.h"

#include "base/alloc.h"
#include "base/str.h"
#include "sim/replay/lublin.h"
#include "sim/replay/made.h"

#include <math.h>

#define N 40000

static bool near(double got, double wanted, double by)
{
    if (fabs(got - wanted) <= by)
        return true;
    print_error("%f instead of %f +- %f\n", got, wanted, by);
    return false;
}

static bool power_of_two(int64_t n)
{
    return (n & (n - 1)) == 0;
}

/* Published: serial jobs 0.24 (all) and 0.29 (batch), powers of two above one 0.58 and 0.67; what
 * is not rounded to one falls on one now and then. */
static void test_widths_are_the_models(void **state)
{
    const struct lublin *models[] = {&lublin_all, &lublin_batch};
    for (size_t m = 0; m < ARRAY_LEN(models); m++) {
        struct rng r = {1};
        double serial = 0, powers = 0;
        for (int i = 0; i < N; i++) {
            int64_t width = lublin_width(models[m], &r, 1024);
            assert_true(width >= 1 && width <= 1024);
            serial += width == 1;
            powers += width > 1 && power_of_two(width);
        }
        assert_true(serial / N > models[m]->serial - 0.02 && serial / N < models[m]->serial + 0.12);
        assert_true(powers / N > models[m]->power_of_two - 0.10 &&
                    powers / N < models[m]->power_of_two + 0.08);
    }
}

/* Of the table of the paper: parts of jobs, and shapes of the two gammas of the run time's logarithm;
 * and the means that these have, in seconds' logarithms. */
static void test_constants_are_the_published_ones(void **state)
{
    static const struct {
        const struct lublin *l;
        double serial, powers, shape1, shape2, mean1, mean2;
    } rows[] = {{&lublin_all, 0.24, 0.58, 4.2, 312, 3.95, 9.36},
                {&lublin_batch, 0.29, 0.67, 6.57, 639.1, 5.41, 9.97}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct lublin *l = rows[i].l;
        assert_true(near(l->serial, rows[i].serial, 0.005));
        assert_true(near(l->power_of_two, rows[i].powers, 0.005));
        assert_true(near(l->shape1, rows[i].shape1, 1e-9));
        assert_true(near(l->shape2, rows[i].shape2, 1e-9));
        assert_true(near(l->shape1 * l->scale1, rows[i].mean1, 0.01));
        assert_true(near(l->shape2 * l->scale2, rows[i].mean2, 0.01));
    }
}

static void test_gammas_have_their_moments(void **state)
{
    static const double shapes[][2] = {
        {4.2, 0.94}, {312, 0.03}, {6.57, 0.823}, {639.1, 0.0156}, {0.5, 2}};
    for (size_t k = 0; k < ARRAY_LEN(shapes); k++) {
        struct rng r = {k + 1};
        double sum = 0, squares = 0, mean = shapes[k][0] * shapes[k][1],
               variance = mean * shapes[k][1];
        for (int i = 0; i < N; i++) {
            double x = rng_gamma(&r, shapes[k][0], shapes[k][1]);
            assert_true(x > 0);
            sum += x;
            squares += (x - mean) * (x - mean);
        }
        assert_true(near(sum / N, mean, 5 * sqrt(variance / N)));
        assert_true(near(squares / N, variance, variance * 0.1));
    }
}

/* Of narrow batch jobs 0.70 have a logarithm of 5.4 in the mean, the rest of 9.97; of wide ones all
 * are long. */
static void test_run_times_are_hyper_gamma(void **state)
{
    struct rng r = {7};
    double sum = 0, wide = 0;
    for (int i = 0; i < N; i++) {
        sum += log((double)lublin_run(&lublin_batch, &r, 1));
        wide += log((double)lublin_run(&lublin_batch, &r, 1000));
    }
    assert_true(near(sum / N, 0.6956 * 5.38 + 0.3044 * 9.97, 0.1));
    assert_true(near(wide / N, 9.97, 0.05));
}

static void test_a_day_has_its_rush_hours(void **state)
{
    double weight[LUBLIN_BUCKETS], sum = 0;
    lublin_day(&lublin_all, weight);
    for (int i = 0; i < LUBLIN_BUCKETS; i++)
        sum += weight[i];
    assert_true(near(sum, LUBLIN_BUCKETS, 1e-6));
    assert_true(weight[28] > 4 * weight[8]); /* two in the afternoon, four in the morning */
}

static double area_of(const struct trace *t)
{
    double area = 0;
    for (size_t i = 0; i < t->job.n; i++)
        area += (double)t->job.v[i].run * (double)t->job.v[i].procs;
    return area;
}

static void made(const char *name, struct trace *t)
{
    struct err err = {0};
    if (!made_read(name, t, &err))
        fail_msg("%s", err.text);
}

static void test_the_load_is_what_was_asked_for(void **state)
{
    static const struct {
        const char *name;
        double load;
    } rows[] = {{"made:batch,load=0.7", 0.7},
                {"made:all,load=1.1,procs=1000", 1.1},
                {"made:gpu,load=0.9", 0.9}};
    for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
        struct trace t;
        made(rows[k].name, &t);
        assert_int_equal(t.job.n, 5000);
        double span = (double)t.job.v[t.job.n - 1].submit;
        /* The week-end at the end may be a part of the span. */
        assert_true(
            near(area_of(&t) / span / (double)t.max_procs, rows[k].load, rows[k].load * 0.15));
        trace_done(&t);
    }
}

static void test_the_same_name_makes_the_same_jobs(void **state)
{
    struct trace a, b, c;
    made("made:all,seed=3,jobs=500", &a);
    made("made:all,seed=3,jobs=500", &b);
    made("made:all,seed=4,jobs=500", &c);
    size_t differ = 0;
    for (size_t i = 0; i < 500; i++) {
        assert_int_equal(a.job.v[i].submit, b.job.v[i].submit);
        assert_int_equal(a.job.v[i].run, b.job.v[i].run);
        differ += a.job.v[i].run != c.job.v[i].run;
    }
    assert_true(differ > 250);
    trace_done(&a);
    trace_done(&b);
    trace_done(&c);
}

static void test_limits_are_as_users_give_them(void **state)
{
    struct trace t;
    size_t round = 0, tenfold = 0;
    made("made:all", &t);
    for (size_t i = 0; i < t.job.n; i++) {
        assert_true(t.job.v[i].run <= t.job.v[i].estimate);
        round += t.job.v[i].estimate % 300 == 0;
        tenfold += t.job.v[i].estimate >= 8 * t.job.v[i].run;
    }
    assert_int_equal(round, t.job.n);
    assert_true(tenfold > t.job.n / 4);
    trace_done(&t);
    made("made:all,limits=day,jobs=100", &t);
    for (size_t i = 0; i < t.job.n; i++)
        assert_int_equal(t.job.v[i].estimate, 86400);
    trace_done(&t);
}

/* Submissions, an array being one: user k has 1/k of what the first has, nights and week-ends are
 * quiet, and an array is one user's narrow jobs of one moment. */
static void test_users_arrays_nights_and_weeks(void **state)
{
    enum { USERS = 20, DAY_S = 86400 };
    struct trace t;
    double of[USERS + 1] = {0}, hour[24] = {0}, day[7] = {0};
    size_t arrays = 0, copies = 0;
    made("made:all,jobs=20000,users=20", &t);
    for (size_t i = 0; i < t.job.n; i++) {
        const struct trace_job *j = &t.job.v[i];
        if (i > 0 && j->submit == j[-1].submit && j->user == j[-1].user) {
            assert_int_equal(j->procs, j[-1].procs);
            arrays += ++copies == 9; /* the tenth of one submission */
            continue;
        }
        copies = 0;
        of[j->user]++;
        hour[j->submit / 3600 % 24]++;
        if (j->submit / DAY_S < t.job.v[t.job.n - 1].submit / DAY_S / 7 * 7) /* whole weeks */
            day[j->submit / DAY_S % 7]++;
    }
    for (int k = 2; k <= USERS; k *= 2)
        assert_true(near(of[k] * k, of[1], 0.2 * of[1]));
    assert_true(arrays > 30);
    assert_true(hour[13] + hour[14] + hour[15] > 3 * (hour[3] + hour[4] + hour[5]));
    double week = day[0] + day[1] + day[2] + day[3] + day[4];
    assert_true(week > 0 && near((day[5] + day[6]) / week, 0.5 / 1.2 * 2 / 5, 0.04));
    trace_done(&t);
}

static void test_what_is_not_known_is_named(void **state)
{
    static const struct {
        const char *name, *word;
    } rows[] = {{"made:bach", "made:bach"},    {"made:all,load=0", "load=0"},
                {"made:all,jobs=x", "jobs=x"}, {"made:all,limits=none", "limits=none"},
                {"made:all,procs", "procs"},   {"made:", "made:"}};
    for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
        struct trace t;
        struct err err = {0};
        assert_false(made_read(rows[k].name, &t, &err));
        assert_non_null(strstr(err.text, rows[k].word));
    }
    assert_false(made_named("/tmp/made:all"));
    assert_true(made_named("made:all"));
}

static void test_streams_have_jobs_that_are_watched(void **state)
{
    for (const struct made_kind *k = made_streams; k->name; k++) {
        struct trace t;
        struct str name = STR_INIT;
        size_t watched = 0;
        str_addf(&name, "made:%s", k->name);
        made(str_text(&name), &t);
        for (size_t i = 0; i < t.job.n; i++) {
            watched += t.job.v[i].queue == 1;
            assert_true(t.job.v[i].procs <= t.max_procs);
        }
        assert_true(watched < t.job.n);
        assert_true(watched > 0 || text_is(k->name, "backlog"));
        trace_done(&t);
        str_done(&name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths_are_the_models),
        cmocka_unit_test(test_constants_are_the_published_ones),
        cmocka_unit_test(test_gammas_have_their_moments),
        cmocka_unit_test(test_run_times_are_hyper_gamma),
        cmocka_unit_test(test_a_day_has_its_rush_hours),
        cmocka_unit_test(test_the_load_is_what_was_asked_for),
        cmocka_unit_test(test_the_same_name_makes_the_same_jobs),
        cmocka_unit_test(test_limits_are_as_users_give_them),
        cmocka_unit_test(test_users_arrays_nights_and_weeks),
        cmocka_unit_test(test_what_is_not_known_is_named),
        cmocka_unit_test(test_streams_have_jobs_that_are_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
