/* The workload model of Lublin and Feitelson (JPDC 63, 2003): how wide parallel jobs are, how long
 * they run, and when in the day they come, with its published constants. */
#ifndef REMUDA_SIM_LUBLIN_H
#define REMUDA_SIM_LUBLIN_H

#include "base/rng.h"

#include <stdint.h>

/* Constants of one kind of jobs. Sizes are powers of two: uniform in two stages, low … middle with
 * probability `first`, else middle … log2 of the machine. Natural logarithms of run times are
 * hyper-gamma: the first gamma with probability slope × processors + base. */
struct lublin {
    const char *name;
    double serial, power_of_two;
    double low, below_high, first; /* middle = log2 of the machine − below_high */
    double shape1, scale1, shape2, scale2, slope, base;
    double gap_shape, gap_scale; /* of the logarithm of the time between two arrivals */
    double day_shape, day_scale; /* when in the day, in half hours since midnight */
};
extern const struct lublin lublin_batch, lublin_all;

double rng_unit(struct rng *r);   /* 0 < x < 1 */
double rng_normal(struct rng *r); /* mean 0, deviation 1 (Box and Muller, 1958) */
double rng_gamma(struct rng *r, double shape, double scale); /* Marsaglia and Tsang (2000) */

/* processors of a job, 1 … machine; often a power of two */
int64_t lublin_width(const struct lublin *l, struct rng *r, int64_t machine);
int64_t lublin_run(const struct lublin *l, struct rng *r, int64_t width); /* seconds, ≥ 1 */
/* seconds to the next arrival, at an average hour */
double lublin_gap(const struct lublin *l, struct rng *r);
/* Share of a day's arrivals that fall into each half hour; their mean is 1. */
#define LUBLIN_BUCKETS 48
void lublin_day(const struct lublin *l, double weight[LUBLIN_BUCKETS]);

#endif
