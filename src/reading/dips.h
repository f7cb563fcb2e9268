/* Times in which a curve that is high falls low, and comes back. */
#ifndef REMUDA_READING_DIPS_H
#define REMUDA_READING_DIPS_H

#include "reading/curves.h"

struct stretch {
    int64_t from_ms, to_ms; /* of the epoch; the end is not of it */
};

struct dips {
    double high;              /* where the curve is for most of the time */
    double low;               /* where it falls to */
    VEC(struct stretch) at;   /* each, from its first low sample to the next high one */
    size_t samples;           /* looked at */
    int64_t total_ms;         /* all together */
    int64_t every_ms, for_ms; /* of dips that come regularly; else every_ms 0 */
    struct stretch longest;
    struct stretch last; /* that in which the time ends; none: both 0 */
};

/* Those from from_ms to to_ms: below half of what the curve is for most of the time. What lies at
 * either end, or beside a gap, is none: it did not fall, or nobody knows when it came back. None
 * are found in a curve that is low for most of the time. */
void dips_find(const struct curve *c, int64_t from_ms, int64_t to_ms, struct dips *ret);
void dips_done(struct dips *d); /* the list */
/* Means of a curve within these stretches, and in the rest of the time between the first and the
 * last. false: one of them has no sample. */
bool dips_means(const struct curve *c, const struct dips *d, double *ret_within,
                double *ret_beside);

/* Of n numbers, which are put in order: that which so many percent are not above. */
double quantile(double *v, size_t n, int percent);

#endif
