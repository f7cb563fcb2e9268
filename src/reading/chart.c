/* A column of a Braille chart is half a letter wide; in it are all dots from the least to the most
 * of its time, and on to the column before: a dip of one sample is seen however long the time. */
#include "reading/chart.h"

#include "base/alloc.h"
#include "base/calendar/civil.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL      11 /* columns left of a chart */
#define SHORT_HEAD 34 /* and of one of a row */

/* ---- parts ---- */

static void part_add(struct chart_part *p, double v, size_t *count)
{
    p->least = !p->any || v < p->least ? v : p->least;
    p->most = !p->any || v > p->most ? v : p->most;
    p->mean = p->any ? p->mean + (v - p->mean) / (double)(*count + 1) : v;
    p->any = true;
    ++*count;
}

void chart_parts(const struct curve *c, int64_t from_ms, int64_t to_ms, struct chart_part *part,
                 size_t n)
{
    ASSERT(n > 0);
    double span = to_ms > from_ms ? (double)(to_ms - from_ms) : 1;
    size_t *count = xcalloc(n, sizeof *count), before = 0;
    bool had = false;
    memset(part, 0, n * sizeof *part);
    for (size_t i = 0; i < c->at.n; i++) {
        const struct moment *m = &c->at.v[i];
        if (m->at_ms < from_ms || m->at_ms > to_ms)
            continue;
        size_t at = (size_t)((double)(m->at_ms - from_ms) / span * (double)n);
        at = at < n ? at : n - 1;
        for (size_t k = before + 1;
             had && k < at && m->at_ms - c->at.v[i - 1].at_ms <= 3 * c->gap_ms; k++)
            part_add(&part[k], c->at.v[i - 1].v, &count[k]);
        part_add(&part[at], m->v, &count[at]);
        before = at;
        had = true;
    }
    free(count);
}

/* ---- numbers ---- */

double chart_top(const struct series_value *v, double most)
{
    static const double step[] = {1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10};
    if (strcmp(v->unit, "%") == 0 && most <= 100)
        return 100;
    bool binary = strcmp(v->unit, "MiB") == 0 || strcmp(v->unit, "KiB/s") == 0;
    double ten = 1;
    while (binary && most / ten >= 1000)
        ten *= 1024;
    while (most / ten >= 10)
        ten *= 10;
    for (size_t i = 0; i < sizeof step / sizeof step[0]; i++)
        if (step[i] * ten >= most * 0.999)
            return step[i] * ten;
    return 10 * ten;
}

/* Its unit, or the first multiple of it of which there are fewer than `fewer`. */
static const char *unit_for(const struct series_value *v, double n, double fewer, double *ret_one)
{
    static const char *const mib[] = {"MiB", "GiB", "TiB", "PiB"};
    static const char *const kib[] = {"KiB/s", "MiB/s", "GiB/s", "TiB/s"};
    const char *const *unit = strcmp(v->unit, "MiB") == 0     ? mib
                              : strcmp(v->unit, "KiB/s") == 0 ? kib
                                                              : NULL;
    size_t at = 0;
    *ret_one = 1;
    while (unit && n / *ret_one >= fewer && at < 3) {
        *ret_one *= 1024;
        at++;
    }
    return unit ? unit[at] : v->unit;
}

const char *chart_number(const struct series_value *v, double n, char text[CHART_NUMBER_BYTES])
{
    double one;
    const char *unit = unit_for(v, n, 1000, &one);
    n /= one;
    int digits = n < 10 && n >= 0.05 && n > (double)(int)n ? 1 : 0;
    snprintf(text, CHART_NUMBER_BYTES, "%.*f%s%s", digits, n, *unit ? " " : "", unit);
    return text;
}

const char *chart_axis_number(const struct series_value *v, double n, double top,
                              char text[CHART_NUMBER_BYTES])
{
    double one;
    const char *unit = unit_for(v, top, 1024, &one);
    int len = snprintf(text, CHART_NUMBER_BYTES, "%.2f", n / one);
    while (text[len - 1] == '0')
        len--;
    len -= text[len - 1] == '.';
    snprintf(text + len, (size_t)(CHART_NUMBER_BYTES - len), "%s%s", *unit ? " " : "", unit);
    return text;
}

void chart_time(int64_t ms, int64_t span_ms, const struct civil_zone *zone, struct str *out)
{
    civil_format(ms * 1000, ms * 1000, span_ms > 86400000 ? "%m-%dT%H:%M" : "%H:%M:%S", zone, out);
}

/* ---- drawing ---- */

static const char *colour_of(const struct series_value *v)
{
    switch (v->id) {
    case SERIES_GPU_UTIL:
    case SERIES_GPU_SM: return "\033[32m";
    case SERIES_GPU_POWER:
    case SERIES_GPU_TEMP: return "\033[33m";
    case SERIES_GPU_MEM:
    case SERIES_RSS:
    case SERIES_CACHE: return "\033[34m";
    case SERIES_CPU:
    case SERIES_CORE: return "\033[36m";
    default: return "\033[35m";
    }
}

static void coloured(struct str *out, const struct chart *c, const struct chart_style *style,
                     bool on)
{
    if (style->colour)
        str_add(out, on ? colour_of(c->value) : "\033[0m");
}

static void utf8_add(struct str *out, unsigned code)
{
    str_addc(out, (char)(0xe0 | code >> 12));
    str_addc(out, (char)(0x80 | (code >> 6 & 63)));
    str_addc(out, (char)(0x80 | (code & 63)));
}

static int level_of(double v, double top, int levels)
{
    ASSERT(levels > 0 && top > 0);
    double at = v / top * (levels - 1) + 0.5;
    return at < 0 ? 0 : at >= levels ? levels - 1 : (int)at;
}

/* Dots of a letter by column and row from below, as Unicode numbers them. */
static const unsigned char dots[2][4] = {{0x40, 0x04, 0x02, 0x01}, {0x80, 0x20, 0x10, 0x08}};

static void dots_set(unsigned char *cell, int cells, int rows, const struct chart_part *part,
                     double top)
{
    int levels = 4 * rows;
    for (int x = 0; x < 2 * cells; x++) {
        if (!part[x].any)
            continue;
        int low = level_of(part[x].least, top, levels), high = level_of(part[x].most, top, levels);
        if (x > 0 && part[x - 1].any) {
            int last = level_of(part[x - 1].mean, top, levels);
            low = last < low ? last : low;
            high = last > high ? last : high;
        }
        for (int y = low; y <= high; y++)
            cell[(rows - 1 - y / 4) * cells + x / 2] |= dots[x % 2][y % 4];
    }
}

static void label_write(const struct chart *c, double v, double top, struct str *out)
{
    char text[CHART_NUMBER_BYTES];
    str_addf(out, "%*s ", LABEL - 1, chart_axis_number(c->value, v, top, text));
}

static void rows_label(const struct chart *c, int row, int rows, double top, struct str *out)
{
    if (row == 0)
        label_write(c, top, top, out);
    else if (row == rows - 1)
        label_write(c, 0, top, out);
    else if (rows >= 5 && rows % 2 && row == rows / 2)
        label_write(c, top / 2, top, out);
    else
        str_addf(out, "%*s", LABEL, "");
}

static void braille_write(const struct chart *c, double top, const struct chart_style *style,
                          int cells, struct str *out)
{
    unsigned char *cell = xcalloc((size_t)(cells * style->rows), 1);
    dots_set(cell, cells, style->rows, c->part, top);
    for (int row = 0; row < style->rows; row++) {
        rows_label(c, row, style->rows, top, out);
        utf8_add(out, 0x2502); /* │ */
        coloured(out, c, style, true);
        for (int i = 0; i < cells; i++)
            if (cell[row * cells + i])
                utf8_add(out, 0x2800u + cell[row * cells + i]);
            else
                str_addc(out, ' ');
        coloured(out, c, style, false);
        str_addc(out, '\n');
    }
    free(cell);
}

/* The mean as a surface: full letters below it, a dot or a colon for its last part. */
static void letters_write(const struct chart *c, double top, const struct chart_style *style,
                          int cells, struct str *out)
{
    for (int row = 0; row < style->rows; row++) {
        int below = 3 * (style->rows - 1 - row);
        rows_label(c, row, style->rows, top, out);
        str_addc(out, '|');
        for (int i = 0; i < cells; i++) {
            int level =
                c->part[i].any ? level_of(c->part[i].mean, top, 3 * style->rows + 1) - below : -1;
            str_addc(out, " .:#"[level <= 0  ? (level == 0 && below == 0 ? 1 : 0)
                                 : level > 3 ? 3
                                             : level]);
        }
        str_addc(out, '\n');
    }
}

/* ▁▂▃▄▅▆▇█, or digits of ten. */
static void line_write(const struct chart *c, double top, const struct chart_style *style,
                       int cells, struct str *out)
{
    coloured(out, c, style, true);
    for (int i = 0; i < cells; i++) {
        if (!c->part[i].any)
            str_addc(out, ' ');
        else if (style->utf8)
            utf8_add(out, 0x2581u + (unsigned)level_of(c->part[i].mean, top, 8));
        else
            str_addc(out, "0123456789"[level_of(c->part[i].mean, top, 10)]);
    }
    coloured(out, c, style, false);
    str_addc(out, '\n');
}

static void head_write(const struct chart *c, int width, struct str *out)
{
    size_t from = out->len;
    char least[CHART_NUMBER_BYTES], mean[CHART_NUMBER_BYTES], most[CHART_NUMBER_BYTES];
    const struct figures *f = &c->figures;
    str_addf(out, "%s %s: ", c->name, c->value->word);
    chart_number(c->value, f->least, least);
    chart_number(c->value, f->most, most);
    if (f->n)
        str_addf(out, "mean %s", chart_number(c->value, f->mean, mean));
    else
        str_add(out, "no samples");
    if (f->n && !text_is(least, most))
        str_addf(out, ", %s to %s", least, most);
    if (out->len + strlen(c->after) <= from + (size_t)width)
        str_add(out, c->after);
    if (out->len > from + (size_t)width)
        str_cut(out, from + (size_t)width);
}

/* Those of a list have their figures in the same columns. */
static void short_head_write(const struct chart *c, int width, struct str *out)
{
    ASSERT(width > 10);
    struct str name = STR_INIT;
    char mean[CHART_NUMBER_BYTES];
    str_addf(&name, "%s %s", c->name, c->value->word);
    if (name.len > (size_t)(width - 10))
        str_cut(&name, (size_t)(width - 10));
    str_addf(out, "%-*s %8s ", width - 10, str_text(&name),
             c->figures.n ? chart_number(c->value, c->figures.mean, mean) : "");
    str_done(&name);
}

/* Columns that stand before a chart. */
static int beside_of(const struct chart_style *style)
{
    if (style->rows > 1)
        return LABEL + 1;
    return style->width / 2 < SHORT_HEAD ? style->width / 2 : SHORT_HEAD;
}

static int cells_of(const struct chart_style *style)
{
    int cells = style->width - beside_of(style) - 1;
    return cells < 10 ? 10 : cells;
}

size_t chart_parts_of(const struct chart_style *style)
{
    return (size_t)cells_of(style) * (style->utf8 && style->rows > 1 ? 2 : 1);
}

void chart_draw(const struct chart *c, const struct chart_style *style, struct str *out)
{
    double top = chart_top(c->value, c->most);
    if (style->rows == 1) {
        short_head_write(c, beside_of(style), out);
        line_write(c, top, style, cells_of(style), out);
        return;
    }
    head_write(c, style->width, out);
    str_addc(out, '\n');
    (style->utf8 ? braille_write : letters_write)(c, top, style, cells_of(style), out);
}

void chart_times_write(int64_t from_ms, int64_t to_ms, const struct chart_style *style,
                       struct str *out)
{
    ASSERT(from_ms <= to_ms);
    struct str from = STR_INIT, to = STR_INIT, middle = STR_INIT;
    int beside = beside_of(style), cells = style->width - beside - 1;
    int64_t span = to_ms - from_ms;
    chart_time(from_ms, span, style->zone, &from);
    chart_time(from_ms + span / 2, span, style->zone, &middle);
    chart_time(to_ms, span, style->zone, &to);
    int left = cells / 2 - (int)middle.len / 2 - (int)from.len,
        right = cells - (int)(from.len + middle.len + to.len) - (left > 0 ? left : 0);
    if (left < 1 || right < 1)
        str_addf(out, "%*s%s - %s\n", beside, "", str_text(&from), str_text(&to));
    else
        str_addf(out, "%*s%s%*s%s%*s%s\n", beside, "", str_text(&from), left, "", str_text(&middle),
                 right, "", str_text(&to));
    str_done(&from);
    str_done(&middle);
    str_done(&to);
}
