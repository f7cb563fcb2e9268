/* Charts of curves in a terminal: Braille dots, block elements, or letters alone. */
#ifndef REMUDA_READING_CHART_H
#define REMUDA_READING_CHART_H

#include "base/calendar/civil.h"
#include "reading/curves.h"

struct chart_part;

struct chart_style {
    int width;         /* columns of the terminal */
    int rows;          /* of a chart; 1: a line of blocks, with its name and figures beside it */
    bool utf8, colour; /* what the terminal can show */
    const struct civil_zone *zone; /* of its times */
};

/* Its name, with its mean, least and most, then the chart. */
struct chart {
    const struct series_value *value;
    const char *name;              /* plain */
    const char *after;             /* of its figures, where there is room; "" = nothing */
    struct figures figures;        /* of all of its samples */
    double most;                   /* its axis has room for that, so that charts can be compared */
    const struct chart_part *part; /* chart_parts_of() of them */
};
/* So many parts of time are drawn beside each other. */
size_t chart_parts_of(const struct chart_style *style);
/* style->rows lines; with one row a line of its own kind, for lists. */
void chart_draw(const struct chart *c, const struct chart_style *style, struct str *out);
/* The times below the charts. */
void chart_times_write(int64_t from_ms, int64_t to_ms, const struct chart_style *style,
                       struct str *out);

/* ---- also for other pictures ---- */

/* What lies within each of n equal parts of the time. A part without samples between two samples
 * that are no gap apart has the value of the first of them. */
struct chart_part {
    bool any;                 /* there is a sample in it */
    double least, most, mean; /* in the value's unit */
};
/* Cuts the time into n parts and says of each what the curve did in it; parts are the caller's, n
 * of them. */
void chart_parts(const struct curve *c, int64_t from_ms, int64_t to_ms, struct chart_part *part,
                 size_t n);
/* The upper end of its axis: 100 of percents up to that, else a round number from `most` on. */
double chart_top(const struct series_value *v, double most);
/* "12.5 GiB", "38 %", in few letters, in the unit's multiples. */
#define CHART_NUMBER_BYTES 32
/* In the unit that makes it short, written into text, which is returned. */
const char *chart_number(const struct series_value *v, double number,
                         char text[CHART_NUMBER_BYTES]);
/* One on an axis that ends at `top`, in the unit of that, exact for halves of chart_top(). */
const char *chart_axis_number(const struct series_value *v, double number, double top,
                              char text[CHART_NUMBER_BYTES]);
/* "12:04:10", or with the date where the span is longer than a day. */
void chart_time(int64_t ms, int64_t span_ms, const struct civil_zone *zone, struct str *out);

#endif
