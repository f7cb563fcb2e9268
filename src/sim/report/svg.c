/* Busy processors and waiting jobs are steps: they change at submissions, starts and ends. A
 * picture has fewer points than a year has changes, so what is drawn for each point of it is the
 * mean of its span of time. */
#include "sim/report/svg.h"

#include "base/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POINTS 600
#define WIDTH  600
#define HEIGHT 150
#define LEFT   70
#define TOP    64
#define GAP    46 /* below each row, for its axis */

enum series { CPUS, GPUS, WAITING, SERIES };

struct svg_curve {
    double v[POINTS]; /* means */
    double most;      /* the highest mean */
};

struct svg_picture {
    const struct trace *t;
    int64_t from, to; /* seconds that are drawn */
    size_t runs;
    const struct report_run *const *run;
    struct svg_curve (*curve)[SERIES]; /* by run */
    double capacity[SERIES];           /* 0 = none */
    FILE *out;
};

/* Adds `amount` over [from, to) to the points it covers. */
static void cover(const struct svg_picture *p, struct svg_curve *c, int64_t from, int64_t to,
                  double amount)
{
    double each = (double)(p->to - p->from) / POINTS;
    double low = (double)(from - p->from) / each, high = (double)(to - p->from) / each;
    low = low > 0 ? low : 0;
    high = high < POINTS ? high : POINTS;
    for (size_t i = (size_t)low; i < POINTS && (double)i < high; i++) {
        double begin = low > (double)i ? low : (double)i,
               end = high < (double)(i + 1) ? high : (double)(i + 1);
        c->v[i] += amount * (end - begin);
    }
}

static void curves_make(struct svg_picture *p, size_t k)
{
    ASSERT(k < p->runs);
    const struct replay_result *r = &p->run[k]->result;
    struct svg_curve *c = p->curve[k];
    for (size_t i = 0; i < p->t->job.n; i++) {
        const struct trace_job *j = &p->t->job.v[i];
        const struct replayed *s = &r->job[i];
        if (s->refused)
            continue;
        cover(p, &c[CPUS], s->start, s->end, (double)j->procs);
        cover(p, &c[GPUS], s->start, s->end, (double)j->gpus);
        cover(p, &c[WAITING], j->submit, s->start, 1);
    }
    for (size_t s = 0; s < SERIES; s++)
        for (size_t i = 0; i < POINTS; i++)
            c[s].most = c[s].v[i] > c[s].most ? c[s].v[i] : c[s].most;
}

/* The least of 1, 2 and 5 times a power of ten that is not below. */
static double round_up(double v)
{
    double unit = 1;
    while (unit * 10 < v)
        unit *= 10;
    return v <= unit ? unit : v <= 2 * unit ? 2 * unit : v <= 5 * unit ? 5 * unit : 10 * unit;
}

static double scale_of(const struct svg_picture *p, enum series s)
{
    double most = p->capacity[s];
    for (size_t k = 0; k < p->runs; k++)
        most = p->curve[k][s].most > most ? p->curve[k][s].most : most;
    return p->capacity[s] > 0 && most <= p->capacity[s] ? p->capacity[s]
                                                        : round_up(most > 1 ? most : 1);
}

static void text(const struct svg_picture *p, double x, double y, const char *anchor,
                 const char *class, const char *what)
{
    fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor,
            class);
    for (; *what; what++)
        fputs(*what == '&'   ? "&amp;"
              : *what == '<' ? "&lt;"
              : *what == '>' ? "&gt;"
                             : (char[]){*what, '\0'},
              p->out);
    fputs("</text>\n", p->out);
}

static void curve_draw(const struct svg_picture *p, const struct svg_curve *c, double x, double y,
                       double scale, const char *class)
{
    fprintf(p->out, "<path class=\"%s\" d=\"M%.1f,%.1f", class, x, y + HEIGHT);
    for (size_t i = 0; i < POINTS; i++) {
        double at = x + (double)i * WIDTH / POINTS, next = x + (double)(i + 1) * WIDTH / POINTS;
        double level = y + HEIGHT - c->v[i] / scale * HEIGHT;
        fprintf(p->out, "L%.1f,%.1fL%.1f,%.1f", at, level, next, level);
    }
    fprintf(p->out, "L%.1f,%.1fZ\"/>\n", x + WIDTH, y + (double)HEIGHT);
}

/* Days since the start if the time is not known. */
static void time_label(const struct svg_picture *p, int64_t at, char *out, size_t size)
{
    ASSERT(size > 0);
    time_t sec = (time_t)(at + p->t->epoch);
    struct tm tm = {0};
    bool hours = p->to - p->from < 3 * 86400;
    if (p->t->epoch == 0) {
        snprintf(out, size, hours ? "hour %.0f" : "day %.0f", (double)at / (hours ? 3600 : 86400));
        return;
    }
    localtime_r(&sec, &tm);
    strftime(out, size, hours ? "%d %b %H:%M" : "%d %b %Y", &tm);
}

static void axes_draw(const struct svg_picture *p, double x, double y, double scale,
                      const char *title, bool first)
{
    char label[40];
    for (int i = 0; i <= 4; i++) {
        double level = y + HEIGHT - i * HEIGHT / 4.0;
        fprintf(p->out, "<path class=\"grid\" d=\"M%.1f,%.1fH%.1f\"/>\n", x, level, x + WIDTH);
        snprintf(label, sizeof label, "%.4g", scale * i / 4);
        if (first)
            text(p, x - 8, level + 4, "end", "axis", label);
    }
    for (int i = 0; i <= 4; i++) {
        double at = x + i * WIDTH / 4.0;
        time_label(p, p->from + (p->to - p->from) * i / 4, label, sizeof label);
        fprintf(p->out, "<path class=\"grid\" d=\"M%.1f,%.1fv5\"/>\n", at, y + (double)HEIGHT);
        text(p, at, y + HEIGHT + 18, i == 0 ? "start" : i == 4 ? "end" : "middle", "axis", label);
    }
    text(p, x, y - 8, "start", "title", title);
}

static void row_draw(const struct svg_picture *p, enum series s, double y)
{
    static const char *const titles[] = {
        [CPUS] = "busy CPUs", [GPUS] = "busy GPUs", [WAITING] = "waiting jobs"};
    double scale = scale_of(p, s);
    ASSERT(scale > 0);
    for (size_t k = 0; k < p->runs; k++) {
        double x = LEFT + (double)k * (WIDTH + LEFT),
               full = y + HEIGHT - p->capacity[s] / scale * HEIGHT;
        axes_draw(p, x, y, scale, titles[s], true);
        curve_draw(p, &p->curve[k][s], x, y, scale, s == WAITING ? "waiting" : "busy");
        if (p->capacity[s] > 0)
            fprintf(p->out, "<path class=\"full\" d=\"M%.1f,%.1fH%.1f\"/>\n", x, full, x + WIDTH);
    }
}

static void heads_draw(const struct svg_picture *p)
{
    char line[200];
    for (size_t k = 0; k < p->runs; k++) {
        double x = LEFT + (double)k * (WIDTH + LEFT);
        const struct sim_metrics *m = &p->run[k]->m;
        text(p, x, 22, "start", "head", p->run[k]->name);
        snprintf(line, sizeof line,
                 "mean wait %.0f s, 95 of 100 below %.0f s; mean slowdown %.2f; use %.1f %%",
                 m->wait.mean, m->wait.p95, m->bsld.mean, 100 * m->util_to_last_submit);
        text(p, x, 38, "start", "axis", line);
    }
}

static void draw(struct svg_picture *p)
{
    bool gpus = false;
    for (size_t i = 0; i < p->t->job.n; i++)
        gpus |= p->t->job.v[i].gpus > 0 && p->capacity[GPUS] > 0;
    size_t rows = gpus ? 3 : 2;
    double width = LEFT + (double)p->runs * (WIDTH + LEFT),
           height = TOP + (double)rows * (HEIGHT + GAP);
    fprintf(p->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
            "height=\"%.0f\" font-family=\"sans-serif\">\n"
            "<style>.head{font-size:15px;font-weight:bold}.title{font-size:12px;font-weight:bold}."
            "axis{font-"
            "size:11px;fill:#444}"
            ".grid{stroke:#ddd;fill:none}.busy{fill:#4477aa;fill-opacity:.75}.waiting{fill:#cc6677;"
            "fill-"
            "opacity:.75}"
            ".full{stroke:#222;stroke-dasharray:4 3;fill:none}</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    heads_draw(p);
    double y = TOP;
    row_draw(p, CPUS, y);
    if (gpus)
        row_draw(p, GPUS, y += HEIGHT + GAP);
    row_draw(p, WAITING, y + HEIGHT + GAP);
    fputs("</svg>\n", p->out);
}

static void span_find(struct svg_picture *p)
{
    p->from = p->t->live_at ? p->t->live_at : p->t->job.v[0].submit;
    p->to = p->from + 1;
    for (size_t k = 0; k < p->runs; k++)
        for (size_t i = 0; i < p->t->job.n; i++)
            if (!p->run[k]->result.job[i].refused && p->run[k]->result.job[i].end > p->to)
                p->to = p->run[k]->result.job[i].end;
}

bool svg_write(const char *path, const struct trace *t, const struct report_run *const *run,
               size_t runs, struct err *ret_err)
{
    struct svg_picture p = {.t = t, .run = run, .runs = runs, .out = fopen(path, "w")};
    if (!p.out)
        return err_set(ret_err, ERR_INVALID, "%s: %s", path, strerror(errno));
    p.curve = xcalloc(runs, sizeof p.curve[0]);
    span_find(&p);
    for (size_t k = 0; k < runs; k++) {
        curves_make(&p, k);
        if (run[k]->setup) {
            p.capacity[CPUS] = (double)run[k]->setup->machine.procs;
            p.capacity[GPUS] = (double)run[k]->setup->machine.gpus;
        }
    }
    draw(&p);
    free(p.curve);
    return fclose(p.out) == 0 || err_set(ret_err, ERR_INVALID, "%s: %s", path, strerror(errno));
}
