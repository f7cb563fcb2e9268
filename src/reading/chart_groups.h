/* Curves of one value that are shown as one where there are too many for a chart of each: their
 * mean, and from the least to the most of any. */
#ifndef REMUDA_READING_CHART_GROUPS_H
#define REMUDA_READING_CHART_GROUPS_H

#include "reading/chart.h"

struct chart_group {
    const struct series_value *value; /* that all of its curves are of */
    VEC(const struct curve *) of;     /* one at least; they live as long as the curves */
};
struct chart_groups {
    VEC(struct chart_group) v; /* by value, then as the curves are */
};

enum chart_grouping { CHARTS_EACH, CHARTS_BY_NODE, CHARTS_OF_ALL };
/* In the order of the table of values; curves are borrowed. chart_groups_done frees. */
void chart_groups_make(const struct curves *c, enum chart_grouping how, struct chart_groups *ret);
void chart_groups_done(struct chart_groups *t);             /* the lists */
void chart_groups_cut(struct chart_groups *t, size_t most); /* the first stay */
/* Each, if that is `most` charts or fewer; else by node; else a chart for each value. */
void chart_groups_fit(const struct curves *c, size_t most, struct chart_groups *ret);

/* "gpu7 GPU 0", "gpu7, 8 GPUs", "128 GPUs"; plain. */
void chart_group_name(const struct chart_group *t, struct str *out);
/* Of all: the mean of their means, the least and the most of any. n 0: there is no sample. */
void chart_group_figures(const struct chart_group *t, int64_t from_ms, int64_t to_ms,
                         struct figures *ret);
/* Of each of `n` equal parts of that time the least, most and mean of all its curves together. */
void chart_group_parts(const struct chart_group *t, int64_t from_ms, int64_t to_ms,
                       struct chart_part *part, size_t n);
/* What each of them has; 0 = it is not known, or is not the same of all. */
double chart_group_has(const struct chart_group *t);
/* That with the lowest mean, where it is lower than the middle one's by a quarter; else NULL. Of
 * two or fewer there is no middle. */
const struct curve *chart_group_lowest(const struct chart_group *t, int64_t from_ms, int64_t to_ms,
                                       double *ret_mean);

/* ---- in a terminal ---- */

/* A chart of each; those of one value have one axis. */
void chart_groups_write(const struct chart_groups *g, int64_t from_ms, int64_t to_ms,
                        const struct chart_style *style, struct str *out);

#endif
