#include "reading/dips.h"
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLES_LEAST   20u
#define DIPS_MOST       4096u
#define HIGH_LEAST      12.0 /* percent: below that there is nothing to fall from */
#define LOW_MOST        60   /* percent of the samples that may be low */
#define REGULAR_LEAST   4u
#define REGULAR_PERCENT 70  /* of the times between dips, */
#define REGULAR_WITHIN  0.3 /* that are so near to their median */
#define EVERY_LEAST     4   /* samples */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile(double *v, size_t n, int percent)
{
    ASSERT(percent >= 0 && percent <= 100);
    if (n == 0)
        return 0;
    qsort(v, n, sizeof *v, by_size);
    return v[(n - 1) * (size_t)percent / 100];
}

void dips_done(struct dips *d)
{
    vec_done(&d->at);
}

/* ---- finding ---- */

struct dips_range {
    const struct curve *c;
    size_t from, to; /* samples */
};

static struct dips_range range_of(const struct curve *c, int64_t from_ms, int64_t to_ms)
{
    struct dips_range r = {c, 0, c->at.n};
    while (r.from < r.to && c->at.v[r.from].at_ms < from_ms)
        r.from++;
    while (r.to > r.from && c->at.v[r.to - 1].at_ms > to_ms)
        r.to--;
    return r;
}

static double range_quantile(const struct dips_range *r, int percent)
{
    size_t n = r->to - r->from;
    double *v = xcalloc(n + 1, sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = r->c->at.v[r->from + i].v;
    double found = quantile(v, n, percent);
    free(v);
    return found;
}

static bool gap_before(const struct curve *c, size_t i)
{
    ASSERT(i > 0 && i < c->at.n);
    return c->at.v[i].at_ms - c->at.v[i - 1].at_ms > 3 * c->gap_ms;
}

/* Its least samples, each dip's, are what dips fall to in the mean. */
static void runs_find(const struct dips_range *r, struct dips *d)
{
    ASSERT(r->from <= r->to && r->to <= r->c->at.n);
    double limit = d->high / 2, lows = 0;
    size_t start = 0, lowest = 0;
    bool in = false, known = false;
    for (size_t i = r->from; i < r->to; i++) {
        const struct moment *m = &r->c->at.v[i];
        bool low = m->v<limit, gap = i> r->from && gap_before(r->c, i);
        if (gap)
            known = false;
        if (low && !in) {
            start = lowest = i;
            known = i > r->from && !gap;
        }
        if (low && m->v < r->c->at.v[lowest].v)
            lowest = i;
        if (!low && in && known && d->at.n < DIPS_MOST) {
            vec_push(&d->at, ((struct stretch){r->c->at.v[start].at_ms, m->at_ms}));
            lows += r->c->at.v[lowest].v;
        }
        in = low;
    }
    if (in && known)
        d->last =
            (struct stretch){r->c->at.v[start].at_ms, r->c->at.v[r->to - 1].at_ms + r->c->gap_ms};
    d->low = d->at.n ? lows / (double)d->at.n : 0;
}

static bool many_are_low(const struct dips_range *r, double limit)
{
    size_t low = 0;
    for (size_t i = r->from; i < r->to; i++)
        low += r->c->at.v[i].v < limit;
    return low * 100 > (r->to - r->from) * LOW_MOST;
}

static void regular_find(const struct curve *c, struct dips *d)
{
    size_t n = d->at.n, near = 0;
    if (n < REGULAR_LEAST)
        return;
    double *every = xcalloc(n, sizeof *every), *length = xcalloc(n, sizeof *length);
    for (size_t i = 0; i < n; i++) {
        length[i] = (double)(d->at.v[i].to_ms - d->at.v[i].from_ms);
        if (i)
            every[i - 1] = (double)(d->at.v[i].from_ms - d->at.v[i - 1].from_ms);
    }
    double middle = quantile(every, n - 1, 50), length_middle = quantile(length, n, 50);
    for (size_t i = 0; i + 1 < n; i++)
        near +=
            every[i] > middle * (1 - REGULAR_WITHIN) && every[i] < middle * (1 + REGULAR_WITHIN);
    if (near * 100 >= (n - 1) * REGULAR_PERCENT && middle >= (double)(EVERY_LEAST * c->gap_ms) &&
        length_middle <= 0.6 * middle) {
        d->every_ms = (int64_t)middle;
        d->for_ms = (int64_t)length_middle;
    }
    free(every);
    free(length);
    /* The one in which the time ends comes when it should have. */
    double since = (double)(d->last.from_ms - d->at.v[n - 1].from_ms);
    if (d->every_ms && d->last.to_ms > d->last.from_ms && since > middle * (1 - REGULAR_WITHIN) &&
        since < middle * (1 + REGULAR_WITHIN))
        vec_push(&d->at, d->last);
}

void dips_find(const struct curve *c, int64_t from_ms, int64_t to_ms, struct dips *ret)
{
    struct dips_range r = range_of(c, from_ms, to_ms);
    *ret = (struct dips){.samples = r.to - r.from};
    if (ret->samples < SAMPLES_LEAST)
        return;
    /* What is above it is three quarters of a curve with few dips, and half of one with many. */
    ret->high = range_quantile(&r, 75);
    if (ret->high < HIGH_LEAST || many_are_low(&r, ret->high / 2))
        return;
    runs_find(&r, ret);
    regular_find(c, ret);
    for (size_t i = 0; i < ret->at.n; i++) {
        const struct stretch *s = &ret->at.v[i];
        ret->total_ms += s->to_ms - s->from_ms;
        if (s->to_ms - s->from_ms > ret->longest.to_ms - ret->longest.from_ms)
            ret->longest = *s;
    }
}

/* ---- what else was so then ---- */

bool dips_means(const struct curve *c, const struct dips *d, double *ret_within, double *ret_beside)
{
    double within = 0, beside = 0;
    size_t nwithin = 0, nbeside = 0, k = 0;
    if (!d->at.n)
        return false;
    for (size_t i = 0; i < c->at.n; i++) {
        const struct moment *m = &c->at.v[i];
        while (k < d->at.n && d->at.v[k].to_ms <= m->at_ms)
            k++;
        if (k == d->at.n)
            break;
        if (m->at_ms < d->at.v[0].from_ms)
            continue;
        if (m->at_ms >= d->at.v[k].from_ms) {
            within += m->v;
            nwithin++;
        } else {
            beside += m->v;
            nbeside++;
        }
    }
    *ret_within = nwithin ? within / (double)nwithin : 0;
    *ret_beside = nbeside ? beside / (double)nbeside : 0;
    return nwithin > 0 && nbeside > 0;
}
