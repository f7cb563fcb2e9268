/* Constants as published with the model; the rest is textbook: gammas by Marsaglia and Tsang
 * (2000), the incomplete gamma function by its series. */
#include "sim/replay/lublin.h"

#include "base/alloc.h"

#include <math.h>

/* As in the authors' program: 45 hours, five days */
#define LOG_RUN_MAX 12
#define LOG_GAP_MAX 13

const struct lublin lublin_batch = {
    .name = "batch",
    .serial = 0.2927,
    .power_of_two = 0.6686,
    .low = 1.2,
    .below_high = 2.5,
    .first = 0.875,
    .shape1 = 6.57,
    .scale1 = 0.823,
    .shape2 = 639.1,
    .scale2 = 0.0156,
    .slope = -0.003,
    .base = 0.6986,
    .gap_shape = 6.0415,
    .gap_scale = 0.8531,
    .day_shape = 6.1271,
    .day_scale = 5.2740,
};

const struct lublin lublin_all = {
    .name = "all",
    .serial = 0.244,
    .power_of_two = 0.576,
    .low = 0.8,
    .below_high = 2.5,
    .first = 0.86,
    .shape1 = 4.2,
    .scale1 = 0.94,
    .shape2 = 312,
    .scale2 = 0.03,
    .slope = -0.0054,
    .base = 0.78,
    .gap_shape = 10.2303,
    .gap_scale = 0.4871,
    .day_shape = 8.1737,
    .day_scale = 3.9631,
};

double rng_unit(struct rng *r)
{
    return ((double)(rng_next(r) >> 11) + 0.5) / 9007199254740992.0;
}

double rng_normal(struct rng *r)
{
    double radius = sqrt(-2 * log(rng_unit(r))), angle = 2 * acos(-1.0) * rng_unit(r);
    return radius * cos(angle);
}

double rng_gamma(struct rng *r, double shape, double scale)
{
    if (shape < 1)
        return rng_gamma(r, shape + 1, scale) * pow(rng_unit(r), 1 / shape);
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = rng_normal(r), v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        if (log(rng_unit(r)) < 0.5 * x * x + d - d * v + d * log(v))
            return d * v * scale;
    }
}

static double between(struct rng *r, double low, double high)
{
    ASSERT(low <= high);
    return low + (high - low) * rng_unit(r);
}

int64_t lublin_width(const struct lublin *l, struct rng *r, int64_t machine)
{
    double high = log2((double)machine), middle = high - l->below_high;
    double kind = rng_unit(r);
    if (machine < 2 || kind < l->serial)
        return 1;
    double low = l->low < high ? l->low : high;
    middle = middle < low ? low : middle;
    double power = rng_unit(r) < l->first ? between(r, low, middle) : between(r, middle, high);
    if (kind < l->serial + l->power_of_two)
        power = floor(power + 0.5);
    int64_t width = (int64_t)(exp2(power) + 0.5);
    return width < 1 ? 1 : width > machine ? machine : width;
}

int64_t lublin_run(const struct lublin *l, struct rng *r, int64_t width)
{
    double p = l->slope * (double)width + l->base, seconds;
    p = p < 0 ? 0 : p > 1 ? 1 : p;
    do
        seconds = rng_unit(r) < p ? rng_gamma(r, l->shape1, l->scale1)
                                  : rng_gamma(r, l->shape2, l->scale2);
    while (seconds > LOG_RUN_MAX);
    int64_t run = (int64_t)exp(seconds);
    return run > 0 ? run : 1;
}

double lublin_gap(const struct lublin *l, struct rng *r)
{
    double gap;
    do
        gap = rng_gamma(r, l->gap_shape, l->gap_scale);
    while (gap > LOG_GAP_MAX);
    return exp(gap);
}

/* Lower regularised incomplete gamma function. */
static double gamma_below(double shape, double x)
{
    double term = 1 / shape, sum = term;
    if (x <= 0)
        return 0;
    for (int k = 1; k < 1000 && term > sum * 1e-12; k++)
        sum += term *= x / (shape + k);
    return sum * exp(-x + shape * log(x) - lgamma(shape));
}

void lublin_day(const struct lublin *l, double weight[LUBLIN_BUCKETS])
{
    enum { FIRST = 11 }; /* the quietest half hour: the model's day begins there */
    double sum = 0;
    for (int i = FIRST; i < FIRST + LUBLIN_BUCKETS; i++) {
        double w = gamma_below(l->day_shape, (i + 0.5) / l->day_scale) -
                   gamma_below(l->day_shape, (i - 0.5) / l->day_scale);
        sum += weight[i % LUBLIN_BUCKETS] = w;
    }
    for (int i = 0; i < LUBLIN_BUCKETS; i++)
        weight[i] *= LUBLIN_BUCKETS / sum;
}
