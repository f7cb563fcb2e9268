/* A chart for each value, one below the other, with a line for each device, node or step: the mean
 * of each part of the time, and behind it, lighter, from the least to the most. */
#include "base/duration.h"
#include "base/plain.h"
#include "cli/plot/picture_pen.h"
#include "cli/program/localtime.h"
#include "reading/chart_groups.h"

#include <stdio.h>
#include <string.h>

#define LEFT    96
#define RIGHT   24
#define TOP     58
#define CHART   150
#define BETWEEN 62
#define BOTTOM  44
/* A row of phases, and how wide one has to be for its name, or number. */
#define PHASE_TOP    38
#define PHASE_ROW    16
#define PHASE_WORD   64
#define PHASE_NUMBER 14
#define PARTS        420
#define TICKS        6
#define WIDTH        PICTURE_WIDTH

/* Distinct to the colour-blind as well (after Okabe and Ito), on both grounds. */
const struct picture_ground picture_light = {
    "#ffffff",
    "#1b1f24",
    "#d6dbe1",
    "#eef2f6",
    {"#0072b2", "#d55e00", "#009e73", "#b0568d", "#7a6a00", "#3a8fc4", "#a03c1e", "#555555"}};
const struct picture_ground picture_dark = {
    "#14171b",
    "#e8ebee",
    "#3a4149",
    "#20262d",
    {"#56b4e9", "#ff9e4a", "#3dd6a8", "#e79cc6", "#f0e442", "#9fd0f5", "#ff7f66", "#c0c0c0"}};

static void label_write(const struct pen *pen, double x, double y, enum pen_letters how,
                        enum pen_anchor at, const char *text)
{
    struct str plain = STR_INIT;
    str_add_plain(&plain, text);
    pen->text(pen->ctx, x, y, how, at, str_text(&plain));
    str_done(&plain);
}

/* ---- one chart ---- */

struct panel {
    const struct series_value *value;
    const struct chart_group *all;
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

static void axis_write(const struct panel *p, const struct pen *pen)
{
    char number[CHART_NUMBER_BYTES];
    for (int i = 0; i <= 4; i++) {
        double v = p->top * i / 4, y = y_of(p, v);
        pen->rule(pen->ctx, LEFT, y, WIDTH - RIGHT, y);
        if (i % 2 == 0)
            label_write(pen, LEFT - 8, y + 5, PEN_INK, PEN_END,
                        chart_axis_number(p->value, v, p->top, number));
    }
}

/* A band and a line for each stretch without a gap. */
static void stretch_write(const struct panel *p, const struct chart_part *part, size_t from,
                          size_t to, size_t colour, const struct pen *pen)
{
    struct pen_point at[2 * PARTS + 2];
    size_t n = 0;
    if (from >= to)
        return;
    for (size_t i = from; i < to; i++)
        at[n++] = (struct pen_point){x_of(i), y_of(p, part[i].most)};
    for (size_t i = to; i-- > from;)
        at[n++] = (struct pen_point){x_of(i), y_of(p, part[i].least)};
    pen->band(pen->ctx, at, n, colour);
    n = 0;
    for (size_t i = from; i < to; i++)
        at[n++] = (struct pen_point){x_of(i), y_of(p, part[i].mean)};
    if (to == from + 1) /* a single sample is a dash */
        at[n++] = (struct pen_point){x_of(from) + 2, at[0].y};
    pen->line(pen->ctx, at, n, colour);
}

static void parts_write(const struct panel *p, const struct chart_part *part, size_t colour,
                        const struct pen *pen)
{
    for (size_t i = 0, k; i < PARTS; i = k + 1) {
        for (k = i; k < PARTS && part[k].any; k++)
            continue;
        if (k > i)
            stretch_write(p, part, i, k, colour, pen);
    }
}

static void curve_write(const struct panel *p, const struct curve *c, int64_t from_ms,
                        int64_t to_ms, size_t colour, const struct pen *pen)
{
    struct chart_part part[PARTS];
    chart_parts(c, from_ms, to_ms, part, PARTS);
    parts_write(p, part, colour, pen);
}

/* "gpu7 GPU 0", and of the next of the same node and kind what is its own: "1". */
static void legend_name(const struct panel *p, size_t i, struct str *out)
{
    struct str before = STR_INIT, whole = STR_INIT;
    size_t same = 0, last = 0;
    curve_name(p->all->of.v[i], &whole);
    if (i > 0)
        curve_name(p->all->of.v[i - 1], &before);
    while (same < before.len && same < whole.len && before.data[same] == whole.data[same]) {
        same++;
        last = before.data[same - 1] == ' ' ? same : last;
    }
    str_clear(out);
    str_add(out, str_text(&whole) + last);
    str_done(&before);
    str_done(&whole);
}

/* Its numbers bear their unit, which may be another than that of the samples. */
static size_t title_len(const struct series_value *v)
{
    const char *unit = strstr(v->title, " [");
    return unit ? (size_t)(unit - v->title) : strlen(v->title);
}

/* How wide a text is at most in the fonts that are asked for, in points: the viewer's is not known.
 * Bold ones are a tenth wider. */
static double width_of(const char *text, size_t len, bool bold)
{
    double width = 0;
    for (size_t i = 0; i < len; i++)
        width += strchr("ijlI.,:;'|! ", text[i])    ? 4.6
                 : strchr("frt()[]-/", text[i])     ? 5.8
                 : strchr("mwMW%@", text[i])        ? 13.4
                 : text[i] >= 'A' && text[i] <= 'Z' ? 10.2
                                                    : 9;
    return bold ? width * 1.1 : width;
}

/* Where the next one begins; 0: there was no room for it. */
static double key_write(const struct panel *p, double x, double right, size_t colour,
                        const char *name, const struct pen *pen)
{
    double needs = 24 + width_of(name, strlen(name), false) + 16;
    if (x + needs > right)
        return 0;
    pen->key(pen->ctx, x, p->y - 21, 18, 5, colour);
    label_write(pen, x + 24, p->y - 14, PEN_INK, PEN_START, name);
    return x + needs;
}

static double title_of(const struct panel *p, const struct pen *pen)
{
    struct str name = STR_INIT;
    str_addn(&name, p->value->title, title_len(p->value));
    label_write(pen, LEFT, p->y - 14, PEN_NAME, PEN_START, str_text(&name));
    double x = LEFT + width_of(str_text(&name), name.len, true) + 16;
    if (chart_group_has(p->all) > 0) {
        char number[CHART_NUMBER_BYTES];
        str_clear(&name);
        str_addf(&name, "of %s", chart_number(p->value, chart_group_has(p->all), number));
        label_write(pen, x - 8, p->y - 14, PEN_FAINT, PEN_START, str_text(&name));
        x += width_of(str_text(&name), name.len, false) + 8;
    }
    str_done(&name);
    return x;
}

static void each_write(const struct panel *p, int64_t from_ms, int64_t to_ms, const struct pen *pen)
{
    double x = title_of(p, pen);
    struct str name = STR_INIT;
    for (size_t i = 0; i < p->all->of.n; i++)
        curve_write(p, p->all->of.v[i], from_ms, to_ms, i, pen);
    for (size_t i = 0; i < p->all->of.n; i++) {
        legend_name(p, i, &name);
        double next = key_write(p, x, WIDTH - RIGHT - (i + 1 < p->all->of.n ? 90 : 0), i,
                                str_text(&name), pen);
        if (!next) {
            str_clear(&name);
            str_addf(&name, "and %zu more", p->all->of.n - i);
            label_write(pen, x, p->y - 14, PEN_FAINT, PEN_START, str_text(&name));
            break;
        }
        x = next;
    }
    str_done(&name);
}

/* More of them than there are colours: the mean, and behind it from the least to the most of any;
 * and the one that does much less than the others. */
static void group_draw(const struct panel *p, int64_t from_ms, int64_t to_ms, const struct pen *pen)
{
    struct chart_part part[PARTS];
    struct str name = STR_INIT;
    double mean, x = title_of(p, pen);
    const struct curve *lowest = chart_group_lowest(p->all, from_ms, to_ms, &mean);
    chart_group_parts(p->all, from_ms, to_ms, part, PARTS);
    parts_write(p, part, 0, pen);
    str_add(&name, "mean of ");
    chart_group_name(p->all, &name);
    x = key_write(p, x, WIDTH, 0, str_text(&name), pen);
    if (lowest) {
        curve_write(p, lowest, from_ms, to_ms, 1, pen);
        str_clear(&name);
        str_add(&name, "lowest: ");
        curve_name(lowest, &name);
        x = key_write(p, x, WIDTH - RIGHT, 1, str_text(&name), pen);
    }
    if (x && x < WIDTH - RIGHT - 250)
        label_write(pen, x, p->y - 14, PEN_FAINT, PEN_START, "shaded: least to most of any");
    str_done(&name);
}

static void panel_write(const struct panel *p, int64_t from_ms, int64_t to_ms,
                        const struct pen *pen)
{
    axis_write(p, pen);
    (p->all->of.n > PICTURE_COLOURS ? group_draw : each_write)(p, from_ms, to_ms, pen);
}

/* ---- phases ---- */

static double x_at(const struct picture *p, int64_t ms)
{
    double part = (double)(ms - p->from_ms) / (double)(p->to_ms - p->from_ms);
    return LEFT + (WIDTH - LEFT - RIGHT) * (part < 0 ? 0 : part > 1 ? 1 : part);
}

/* Every second one is shaded, behind all charts; each has its number above them. */
static void phases_write(const struct picture *p, double height, const struct pen *pen)
{
    for (size_t i = 0; i < p->nphases && p->to_ms > p->from_ms; i++) {
        double x = x_at(p, p->phase[i].from_ms), end = x_at(p, p->phase[i].to_ms);
        if (i % 2)
            pen->shade(pen->ctx, x, PHASE_TOP, end - x, height - BOTTOM - PHASE_TOP);
    }
    for (size_t i = 0; i < p->nphases && p->to_ms > p->from_ms; i++) {
        double x = x_at(p, p->phase[i].from_ms), end = x_at(p, p->phase[i].to_ms);
        char text[24];
        snprintf(text, sizeof text, end - x < PHASE_WORD ? "%zu" : "phase %zu", i + 1);
        if (end - x >= PHASE_NUMBER)
            label_write(pen, (x + end) / 2, PHASE_TOP + 15, PEN_FAINT, PEN_MIDDLE, text);
    }
}

/* ---- the picture ---- */

/* The first gap of at most TICKS in the time; of days where none is enough. */
static int64_t tick_gap_s(int64_t span_s)
{
    static const int64_t gap_s[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
                                    600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};
    for (size_t i = 0; i < sizeof gap_s / sizeof *gap_s; i++)
        if (span_s / gap_s[i] <= TICKS)
            return gap_s[i];
    return (span_s / TICKS / 86400 + 1) * 86400;
}

static int64_t zone_ms_at(int64_t ms)
{
    struct civil local;
    civil_local.sec_to_local(ms / 1000, &local);
    return (civil_to_sec(&local) - ms / 1000) * 1000;
}

/* At full minutes, hours, … of the viewer's clock. A word at the edge would be cut. */
static void times_write(const struct picture *p, double y, const struct pen *pen)
{
    int64_t gap_ms = tick_gap_s((p->to_ms - p->from_ms) / 1000) * 1000;
    int64_t zone_ms = zone_ms_at(p->from_ms);
    int64_t at = (p->from_ms + zone_ms + gap_ms - 1) / gap_ms * gap_ms - zone_ms;
    for (; at <= p->to_ms; at += gap_ms) {
        struct str text = STR_INIT;
        double x = x_at(p, at);
        chart_time(at, p->to_ms - p->from_ms, &civil_local, &text);
        if (gap_ms >= 60000 && p->to_ms - p->from_ms <= 86400000)
            str_cut(&text, strlen("12:34"));
        pen->rule(pen->ctx, x, y, x, y + 5);
        label_write(pen, x, y + 22, PEN_INK, x > WIDTH - RIGHT - 40 ? PEN_END : PEN_MIDDLE,
                    str_text(&text));
        str_done(&text);
    }
}

static void title_write(const struct job *j, int64_t from_ms, int64_t to_ms, const struct pen *pen)
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
    str_add(&text, " long");
    label_write(pen, LEFT, 26, PEN_BIG, PEN_START, str_text(&text));
    str_done(&text);
}

/* Where the charts begin: below the row of phases. */
static double head_of(const struct picture *p)
{
    return p->nphases ? TOP + PHASE_ROW : TOP;
}

static void panel_make(const struct picture *of, const struct chart_group *all, size_t n,
                       struct panel *ret)
{
    struct figures f;
    chart_group_figures(all, of->from_ms, of->to_ms, &f);
    *ret = (struct panel){.value = all->value,
                          .all = all,
                          .y = head_of(of) + 20 + (double)n * (CHART + BETWEEN),
                          .top = chart_top(all->value, f.most)};
}

static double height_of(const struct picture *p, size_t n)
{
    return n ? head_of(p) + 20 + (double)n * (CHART + BETWEEN) - BETWEEN + BOTTOM : TOP + BOTTOM;
}

double picture_height(const struct picture *p)
{
    struct chart_groups t;
    chart_groups_make(p->curves, CHARTS_OF_ALL, &t);
    double height = height_of(p, t.v.n);
    chart_groups_done(&t);
    return height;
}

void picture_draw(const struct pen *pen, const struct picture *p)
{
    struct chart_groups t;
    chart_groups_make(p->curves, CHARTS_OF_ALL, &t);
    if (t.v.n)
        phases_write(p, height_of(p, t.v.n), pen);
    title_write(p->job, p->from_ms, p->to_ms, pen);
    for (size_t i = 0; i < t.v.n; i++) {
        struct panel panel;
        panel_make(p, &t.v.v[i], i, &panel);
        panel_write(&panel, p->from_ms, p->to_ms, pen);
    }
    if (t.v.n)
        times_write(p, height_of(p, t.v.n) - BOTTOM, pen);
    else
        label_write(pen, LEFT, TOP + 10, PEN_INK, PEN_START, "no samples");
    chart_groups_done(&t);
}
