/* A chart for each value, one below the other, with a line for each device, node or step: the mean
 * of each part of the time, and behind it, lighter, from the least to the most. */
#include "base/duration.h"
#include "base/plain.h"
#include "cli/plot/picture.h"
#include "cli/program/localtime.h"
#include "reading/chart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH   960
#define LEFT    96
#define RIGHT   24
#define TOP     58
#define CHART   150
#define BETWEEN 62
#define BOTTOM  44
#define PARTS   420
#define COLOURS 8
#define TICKS   6

/* Distinct to the colour-blind as well (after Okabe and Ito), on both grounds. */
static const char *const light[COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#b0568d",
                                           "#7a6a00", "#3a8fc4", "#a03c1e", "#555555"};
static const char *const dark[COLOURS] = {"#56b4e9", "#ff9e4a", "#3dd6a8", "#e79cc6",
                                          "#f0e442", "#9fd0f5", "#ff7f66", "#c0c0c0"};

static void rules(struct str *out, const char *ground, const char *ink, const char *grid,
                  const char *const colour[COLOURS])
{
    str_addf(out,
             ".ground{fill:%s}.ink{fill:%s}.faint{fill:%s;opacity:.75}.grid{stroke:%s;stroke-width:"
             "1}",
             ground, ink, ink, grid);
    for (int i = 0; i < COLOURS; i++)
        str_addf(out, ".l%d{stroke:%s}.f%d{fill:%s}", i, colour[i], i, colour[i]);
}

static void style_write(enum picture_theme theme, struct str *out)
{
    str_add(out, "<style>text{font-family:system-ui,'DejaVu Sans',Helvetica,Arial,sans-serif;"
                 "font-size:14px}.big{font-size:18px;font-weight:600}.name{font-weight:600}"
                 ".line{fill:none;stroke-width:1.6;stroke-linejoin:round}.band{opacity:.22}");
    if (theme != PICTURE_DARK)
        rules(out, "#ffffff", "#1b1f24", "#d6dbe1", light);
    if (theme == PICTURE_AUTO)
        str_add(out, "@media (prefers-color-scheme:dark){");
    if (theme != PICTURE_LIGHT)
        rules(out, "#14171b", "#e8ebee", "#3a4149", dark);
    str_add(out, theme == PICTURE_AUTO ? "}</style>\n" : "</style>\n");
}

/* Plain, and no marks of XML's. */
static void text_add(const char *text, struct str *out)
{
    struct str plain = STR_INIT;
    str_add_plain(&plain, text);
    for (const char *at = str_text(&plain); *at; at++)
        if (*at == '<' || *at == '>' || *at == '&' || *at == '"' || *at == '\'')
            str_addf(out, "&#%d;", *at);
        else
            str_addc(out, *at);
    str_done(&plain);
}

static void label_write(struct str *out, double x, double y, const char *class, const char *anchor,
                        const char *text)
{
    str_addf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, class,
             anchor);
    text_add(text, out);
    str_add(out, "</text>\n");
}

/* ---- one chart ---- */

struct panel {
    const struct series_value *value;
    VEC(const struct curve *) curve;
    double y, top;
};

static double x_of(size_t part)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * ((double)part + 0.5) / PARTS;
}

static double y_of(const struct panel *p, double v)
{
    return p->y + CHART - CHART * (v < p->top ? v : p->top) / p->top;
}

static void axis_write(const struct panel *p, struct str *out)
{
    char number[CHART_NUMBER_BYTES];
    for (int i = 0; i <= 4; i++) {
        double v = p->top * i / 4, y = y_of(p, v);
        str_addf(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>\n", LEFT,
                 WIDTH - RIGHT, y, y);
        if (i % 2 == 0)
            label_write(out, LEFT - 8, y + 5, "ink", "end", chart_number(p->value, v, number));
    }
}

/* A band and a line for each stretch without a gap. */
static void stretch_write(const struct panel *p, const struct chart_part *part, size_t from,
                          size_t to, size_t colour, struct str *out)
{
    str_addf(out, "<path class=\"band f%zu\" d=\"", colour);
    for (size_t i = from; i < to; i++)
        str_addf(out, "%c%.1f %.1f", i == from ? 'M' : 'L', x_of(i), y_of(p, part[i].most));
    for (size_t i = to; i-- > from;)
        str_addf(out, "L%.1f %.1f", x_of(i), y_of(p, part[i].least));
    str_addf(out, "Z\"/>\n<path class=\"line l%zu\" d=\"", colour);
    for (size_t i = from; i < to; i++)
        str_addf(out, "%c%.1f %.1f", i == from ? 'M' : 'L', x_of(i), y_of(p, part[i].mean));
    if (to == from + 1) /* a single sample is a dash */
        str_addf(out, "l2 0");
    str_add(out, "\"/>\n");
}

static void curve_write(const struct panel *p, const struct curve *c, int64_t from_ms,
                        int64_t to_ms, size_t colour, struct str *out)
{
    struct chart_part part[PARTS];
    chart_parts(c, from_ms, to_ms, part, PARTS);
    for (size_t i = 0, k; i < PARTS; i = k + 1) {
        for (k = i; k < PARTS && part[k].any; k++)
            continue;
        if (k > i)
            stretch_write(p, part, i, k, colour, out);
    }
}

static void legend_write(const struct panel *p, struct str *out)
{
    double x = LEFT;
    struct str name = STR_INIT;
    str_addf(&name, "%s", p->value->title);
    label_write(out, x, p->y - 14, "ink name", "start", str_text(&name));
    x += 10.0 * (double)name.len + 20;
    for (size_t i = 0; i < p->curve.n; i++) {
        str_clear(&name);
        curve_name(p->curve.v[i], &name);
        double needs = 26 + 8.4 * (double)name.len + 14;
        if (x + needs > WIDTH - RIGHT - (i + 1 < p->curve.n ? 90 : 0)) {
            str_clear(&name);
            str_addf(&name, "and %zu more", p->curve.n - i);
            label_write(out, x, p->y - 14, "faint", "start", str_text(&name));
            break;
        }
        str_addf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"18\" height=\"5\" class=\"f%zu\"/>\n", x,
                 p->y - 21, i % COLOURS);
        label_write(out, x + 24, p->y - 14, "ink", "start", str_text(&name));
        x += needs;
    }
    str_done(&name);
}

static void panel_write(const struct panel *p, int64_t from_ms, int64_t to_ms, struct str *out)
{
    axis_write(p, out);
    for (size_t i = 0; i < p->curve.n; i++)
        curve_write(p, p->curve.v[i], from_ms, to_ms, i % COLOURS, out);
    legend_write(p, out);
}

/* ---- the picture ---- */

static void times_write(double y, int64_t from_ms, int64_t to_ms, struct str *out)
{
    for (int i = 0; i <= TICKS; i++) {
        struct str text = STR_INIT;
        double x = LEFT + (double)(WIDTH - LEFT - RIGHT) * i / TICKS;
        chart_time(from_ms + (to_ms - from_ms) * i / TICKS, to_ms - from_ms, &civil_local, &text);
        label_write(out, x, y + 22, "ink",
                    i == TICKS ? "end"
                    : i        ? "middle"
                               : "start",
                    str_text(&text));
        str_done(&text);
    }
}

static void title_write(const struct job *j, int64_t from_ms, int64_t to_ms, struct str *out)
{
    struct str text = STR_INIT;
    str_add(&text, "Job ");
    job_label(j, &text);
    if (j->spec.name)
        str_addf(&text, " %s", j->spec.name);
    if (j->user_name)
        str_addf(&text, " of %s", j->user_name);
    str_add(&text, ", ");
    civil_format(from_ms * 1000, from_ms * 1000, "%Y-%m-%d", &civil_local, &text);
    str_add(&text, ", ");
    duration_format((to_ms - from_ms) / 1000 * USEC_PER_SEC, &text);
    label_write(out, LEFT, 26, "ink big", "start", str_text(&text));
    str_done(&text);
}

static size_t panels_find(const struct curves *c, int64_t from_ms, int64_t to_ms,
                          struct panel *panel)
{
    size_t n = 0;
    for (size_t i = 0; i < series_values_n; i++) {
        struct panel *p = &panel[n];
        double most = 0;
        *p = (struct panel){.value = &series_values[i],
                            .y = TOP + 20 + (double)n * (CHART + BETWEEN)};
        for (size_t k = 0; k < c->v.n; k++) {
            struct figures f;
            if (c->v.v[k]->value != p->value)
                continue;
            curve_figures(c->v.v[k], from_ms, to_ms, &f);
            most = f.most > most ? f.most : most;
            vec_push(&p->curve, c->v.v[k]);
        }
        p->top = chart_top(p->value, most);
        n += p->curve.n > 0;
    }
    return n;
}

void picture_svg(const struct curves *c, const struct job *j, int64_t from_ms, int64_t to_ms,
                 enum picture_theme theme, struct str *out)
{
    struct panel *panel = xcalloc(series_values_n + 1, sizeof *panel);
    size_t n = panels_find(c, from_ms, to_ms, panel);
    double height = TOP + 20 + (double)n * (CHART + BETWEEN) - BETWEEN + BOTTOM;
    height = n ? height : TOP + BOTTOM;
    str_addf(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" "
             "height=\"%.0f\" role=\"img\">\n",
             WIDTH, height, WIDTH, height);
    style_write(theme, out);
    str_add(out, "<rect width=\"100%\" height=\"100%\" class=\"ground\"/>\n");
    title_write(j, from_ms, to_ms, out);
    for (size_t i = 0; i < n; i++)
        panel_write(&panel[i], from_ms, to_ms, out);
    if (n)
        times_write(height - BOTTOM, from_ms, to_ms, out);
    else
        label_write(out, LEFT, TOP + 10, "ink", "start", "no samples");
    str_add(out, "</svg>\n");
    for (size_t i = 0; i < n; i++)
        vec_done(&panel[i].curve);
    free(panel);
}
