/* Changes: PELT with the cost of a normal distribution whose mean and variance change (R. Killick,
 * P. Fearnhead, I. A. Eckley: Optimal detection of changepoints with a linear computational cost,
 * JASA 107, 2012). A stretch of m samples of variance s costs m ln s in each channel; each stretch
 * costs PENALTY ln n on top, more than their criterion, because samples of a job are no independent
 * draws. A start that cannot be the best of any later end is given up.
 *
 * What a change weighs: Student's t with the pooled variance, of as many samples as n that are
 * correlated are worth: n / (1 + 2 sum r(k)) (M. S. Bartlett: Some aspects of the time-correlation
 * problem, J. R. Stat. Soc. 98, 1935). The sum ends where two neighbours of it are not above
 * nothing (C. J. Geyer: Practical Markov chain Monte Carlo, Stat. Sci. 7, 1992).
 *
 * Periods: the autocorrelation (G. E. P. Box, G. M. Jenkins: Time Series Analysis, chapter 2). The
 * first lag after it has fallen to nothing at which it is about as high as anywhere. */
#include "reading/changes.h"

#include "base/alloc.h"

#include <stdbool.h>
#include <stdlib.h>

#define PENALTY 10.0
#define LIKE    0.4
#define HILL    0.15

/* That of libm would be the only thing here that needs it. */
static double ln(double x)
{
    double whole = 0;
    for (; x >= 2; x /= 2)
        whole += 0.69314718055994531;
    for (; x < 1; x *= 2)
        whole -= 0.69314718055994531;
    double z = (x - 1) / (x + 1), square = z * z, sum = 0, power = z;
    for (int k = 1; k < 20; k += 2, power *= square)
        sum += power / k;
    return whole + 2 * sum;
}

struct changes_sums {
    double *v, *squares; /* of the first i samples */
};

struct pelt {
    size_t channels;
    double floor;
    struct changes_sums *of;
};

static double cost(const struct pelt *p, size_t from, size_t to)
{
    ASSERT(from < to);
    double all = 0, m = (double)(to - from);
    for (size_t c = 0; c < p->channels; c++) {
        double mean = (p->of[c].v[to] - p->of[c].v[from]) / m,
               spread = (p->of[c].squares[to] - p->of[c].squares[from]) / m - mean * mean;
        all += m * ln((spread > 0 ? spread : 0) + p->floor);
    }
    return all;
}

static struct changes_sums sums_of(const double *v, size_t n)
{
    struct changes_sums s = {xcalloc(n + 1, sizeof *s.v), xcalloc(n + 1, sizeof *s.squares)};
    for (size_t i = 0; i < n; i++) {
        s.v[i + 1] = s.v[i] + v[i];
        s.squares[i + 1] = s.squares[i] + v[i] * v[i];
    }
    return s;
}

/* best[t]: the least cost of the first t samples; from[t]: where its last stretch begins. */
static void pelt_run(const struct pelt *p, size_t n, size_t least, double penalty, size_t *from)
{
    ASSERT(least >= 1 && least <= n);
    double *best = xcalloc(n + 1, sizeof *best);
    size_t *start = xcalloc(n + 1, sizeof *start), starts = 1;
    best[0] = -penalty;
    for (size_t t = least; t <= n; t++) {
        size_t kept = 0;
        bool any = false;
        if (t >= 2 * least)
            start[starts++] = t - least;
        for (size_t i = 0; i < starts; i++) {
            double v = best[start[i]] + cost(p, start[i], t) + penalty;
            if (!any || v < best[t]) {
                best[t] = v;
                from[t] = start[i];
                any = true;
            }
        }
        for (size_t i = 0; i < starts; i++)
            if (best[start[i]] + cost(p, start[i], t) <= best[t])
                start[kept++] = start[i];
        starts = kept;
    }
    free(best);
    free(start);
}

size_t changes_find(const double *const *signal, size_t channels, size_t n, size_t least,
                    double still, size_t *ret_at, size_t max)
{
    size_t found = 0;
    if (n > CHANGES_N || least < 2 || n < 2 * least || channels == 0)
        return 0;
    struct pelt p = {channels, still * still, xcalloc(channels, sizeof *p.of)};
    size_t *from = xcalloc(n + 1, sizeof *from);
    for (size_t c = 0; c < channels; c++)
        p.of[c] = sums_of(signal[c], n);
    pelt_run(&p, n, least, PENALTY * ln((double)n), from);
    for (size_t t = from[n]; t > 0; t = from[t])
        found++;
    size_t at = found;
    for (size_t t = from[n]; t > 0; t = from[t])
        if (--at < max)
            ret_at[at] = t;
    for (size_t c = 0; c < channels; c++) {
        free(p.of[c].v);
        free(p.of[c].squares);
    }
    free(p.of);
    free(from);
    return found < max ? found : max;
}

/* ---- what a change weighs ---- */

static double mean_of(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return n ? sum / (double)n : 0;
}

/* Sum of the products of samples so far apart in one stretch, off its mean. */
static double products(const double *off, size_t from, size_t to, size_t lag)
{
    double sum = 0;
    for (size_t i = from; i + lag < to; i++)
        sum += off[i] * off[i + lag];
    return sum;
}

double change_weight(const double *v, size_t n, size_t border, double still)
{
    ASSERT(border > 0 && border < n);
    double *off = xcalloc(n + 1, sizeof *off), before = mean_of(v, border),
           after = mean_of(v + border, n - border), worth = 1;
    for (size_t i = 0; i < n; i++)
        off[i] = v[i] - (i < border ? before : after);
    double spread = products(off, 0, border, 0) + products(off, border, n, 0);
    for (size_t lag = 1; lag + 1 < n && spread > 0; lag += 2) {
        double like = (products(off, 0, border, lag) + products(off, border, n, lag) +
                       products(off, 0, border, lag + 1) + products(off, border, n, lag + 1)) /
                      spread;
        if (like <= 0)
            break;
        worth += 2 * like;
    }
    free(off);
    double error = (spread / (double)n * worth + still * still) *
                   (1 / (double)border + 1 / (double)(n - border));
    return (after - before) * (after - before) / error;
}

/* ---- periods ---- */

static double like_at(const double *v, size_t n, size_t lag, double mean, double spread)
{
    ASSERT(lag < n && spread > 0);
    double sum = 0;
    for (size_t i = 0; i + lag < n; i++)
        sum += (v[i] - mean) * (v[i + lag] - mean);
    return sum / (double)(n - lag) / spread;
}

/* The first hill that is about as high as the highest: its multiples are as like. */
static size_t first_hill(const double *like, size_t from, size_t to, double least)
{
    for (size_t lag = from; lag < to; lag++) {
        size_t top = lag;
        for (; lag < to && like[lag] >= LIKE; lag++)
            top = like[lag] > like[top] ? lag : top;
        if (like[top] >= least)
            return top;
    }
    return 0;
}

size_t period_find(const double *v, size_t n, size_t least, double *ret_like)
{
    double mean = 0, spread = 0, best = 0;
    size_t fell = 0, most = n / 4 + 1;
    *ret_like = 0;
    if (n > CHANGES_N || n < 12)
        return 0;
    for (size_t i = 0; i < n; i++)
        mean += v[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        spread += (v[i] - mean) * (v[i] - mean) / (double)n;
    if (spread <= 1e-9)
        return 0;
    double *like = xcalloc(most + 1, sizeof *like);
    for (size_t lag = 1; lag < most; lag++) {
        like[lag] = like_at(v, n, lag, mean, spread);
        fell = !fell && like[lag] < 0.1 ? lag : fell;
        best = fell && like[lag] > best ? like[lag] : best;
    }
    fell = fell > least ? fell : fell ? least : 0;
    size_t found = fell && best >= LIKE ? first_hill(like, fell, most, best - HILL) : 0;
    *ret_like = found ? like[found] : 0;
    free(like);
    return found;
}
