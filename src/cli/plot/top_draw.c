/* A row for each node: how much of its CPUs is given and in use, a cell for each GPU, its jobs; or
 * a row for each job. Widths are letters on the screen: a cell of a GPU is one, of up to three
 * bytes. */
#include "base/duration.h"
#include "cli/plot/top.h"
#include "cli/program/localtime.h"
#include "model/job/array.h"
#include "wire/utf8.h"

#include <stdio.h>
#include <string.h>

#define HEAD_ROWS  2
#define FOOT_ROWS  1
#define NAME_LEAST 8
#define NAME_MOST  20
#define CELLS_MOST 32 /* GPUs of a node that have a cell */
#define BAR        6
#define BAR_WIDE   20
#define NARROW     76
#define IDLE       5.0
#define LOW        40.0

/* ---- order ---- */

static double share(double sum, double of)
{
    return of > 0 ? sum / of : TOP_NOT_KNOWN;
}

static int down(double x, double y)
{
    return (x < y) - (x > y);
}

static int node_order(const void *va, const void *vb, void *ctx)
{
    const struct top_node *a = *(struct top_node *const *)va, *b = *(struct top_node *const *)vb;
    int order = 0;
    switch (*(const enum top_sort *)ctx) {
    case TOP_BY_NAME: break;
    case TOP_BY_BUSY: order = down(share(a->busy, a->known), share(b->busy, b->known)); break;
    case TOP_BY_FREE:
        order = down((double)a->free, (double)b->free);
        order = order ? order : down(a->n->cpus - a->n->alloc_cpus, b->n->cpus - b->n->alloc_cpus);
        break;
    case TOP_BY_LOAD: order = down(a->n->load_centi, b->n->load_centi); break;
    }
    return order ? order : text_compare_by_number(a->n->name, b->n->name);
}

static int job_order(const void *va, const void *vb, void *ctx)
{
    const struct top_job *a = *(struct top_job *const *)va, *b = *(struct top_job *const *)vb;
    int order = 0;
    switch (*(const enum top_sort *)ctx) {
    case TOP_BY_NAME: break;
    case TOP_BY_BUSY: order = down(share(a->busy, a->known), share(b->busy, b->known)); break;
    case TOP_BY_FREE: order = down(a->gpus, b->gpus); break;
    case TOP_BY_LOAD: order = down(a->j->alloc_cpus, b->j->alloc_cpus); break;
    }
    return order ? order : (a->j->id > b->j->id) - (a->j->id < b->j->id);
}

size_t top_rows(const struct top_view *v)
{
    return v->height ? (size_t)(v->height - HEAD_ROWS - FOOT_ROWS - 1) : SIZE_MAX;
}

size_t top_arrange(struct top *t, struct top_view *v)
{
    size_t n = v->jobs ? t->job.n : t->node.n, fit = top_rows(v);
    if (t->node.n)
        qsort_r(t->node.v, t->node.n, sizeof *t->node.v, node_order, &v->sort);
    if (t->job.n)
        qsort_r(t->job.v, t->job.n, sizeof *t->job.v, job_order, &v->sort);
    v->at = v->at < n ? v->at : n ? n - 1 : 0;
    if (v->at < v->first)
        v->first = v->at;
    if (fit != SIZE_MAX && v->at >= v->first + fit)
        v->first = v->at - fit + 1;
    if (fit == SIZE_MAX || n <= fit)
        v->first = 0;
    else if (v->first > n - fit)
        v->first = n - fit;
    return n;
}

/* ---- pieces ---- */

static void colour(const struct top_view *v, const char *code, struct str *out)
{
    if (v->colour)
        str_addf(out, "\033[%sm", code);
}

static const char *heat(double busy)
{
    return busy < IDLE ? "31" : busy < LOW ? "33" : "32";
}

static void level_add(const struct top_view *v, double percent, struct str *out)
{
    double part = percent < 0 ? 0 : percent > 100 ? 100 : percent;
    int level = (int)(part / 100 * 7 + 0.5);
    if (v->utf8)
        str_addf(out, "\xe2\x96%c", 0x81 + level); /* ▁ to █ */
    else
        str_addc(out, "0123456789"[part >= 100 ? 9 : (int)(part / 10)]);
}

/* Of one that is not at work, or of which that is not known; 0: how busy it is is shown. */
static char gpu_sign(const struct top_gpu *g)
{
    return g->out ? 'x' : g->busy >= 0 ? 0 : g->taken ? '?' : g->away ? '-' : '.';
}

static void gpu_add(const struct top_view *v, const struct top_gpu *g, struct str *out)
{
    char sign = gpu_sign(g);
    if (sign == '?') {
        str_addc(out, sign);
        return;
    }
    colour(v, sign == 'x' ? "31;1" : sign ? "2" : heat(g->busy), out);
    if (sign)
        str_addc(out, sign);
    else
        level_add(v, g->busy, out);
    colour(v, "0", out);
}

/* Given, in full letters; in use beyond that, lighter. */
static void bar_add(const struct top_view *v, int width, double given, double used, struct str *out)
{
    int full = (int)(given * width + 0.5), to = (int)(used * width + 0.5);
    for (int i = 0; i < width; i++) {
        bool is = i < full, is_used = i < to;
        if (v->utf8)
            str_add(out, is && is_used ? "█" : is ? "▒" : is_used ? "░" : "·");
        else
            str_addc(out, is && is_used ? '#' : is ? '=' : is_used ? '-' : '.');
    }
}

static void state_add(const struct top_node *n, struct str *out)
{
    if (top_takes_jobs(n->n))
        return;
    node_state_word(n->n, NODE_WORD_COMPACT, out);
    str_addc(out, ' ');
}

/* ---- the head ---- */

/* Those that fit; where all do not, without the hour, then without the CPUs: no word is cut. */
static void head_fit(const struct str *clock, const struct str *devices, const struct str *cpus,
                     const struct str *jobs, int width, struct str *out)
{
    size_t all = clock->len + devices->len + cpus->len + jobs->len, most = (size_t)width;
    size_t hour = all > most ? clock->len : 0, begin = out->len;
    if (!hour)
        str_add(out, str_text(clock));
    str_add(out, str_text(devices));
    if (all - hour <= most)
        str_add(out, str_text(cpus));
    str_add(out, str_text(jobs));
    if (out->len - begin > most)
        str_cut(out, begin + most);
    str_addc(out, '\n');
}

static void head_add(const struct top *t, const struct top_view *v, struct str *out)
{
    size_t up = 0, gpus = 0, taken = 0, out_of_use = 0;
    long long cpus = 0, given = 0;
    double busy = 0, known = 0;
    struct str clock = STR_INIT, line = STR_INIT, processors = STR_INIT, jobs = STR_INIT;
    for (size_t i = 0; i < t->node.n; i++) {
        const struct top_node *n = t->node.v[i];
        up += n->n->state == NODE_UP && n->n->responding;
        gpus += n->ngpus;
        taken += n->taken;
        cpus += n->n->cpus;
        given += n->n->alloc_cpus;
        busy += n->busy;
        known += n->known;
        for (size_t k = 0; k < n->ngpus; k++)
            out_of_use += n->gpu[k].out;
    }
    const char *apart = v->width < NARROW ? " " : "  ";
    civil_format(time_now_us(), 0, "%H:%M:%S", &civil_local, &clock);
    str_add(&clock, apart);
    str_addf(&line, "nodes %zu/%zu", up, t->node.n);
    if (gpus)
        str_addf(&line, "%sGPUs %zu/%zu", apart, taken, gpus);
    if (known > 0)
        str_addf(&line, " %.0f%% busy", busy / known);
    if (out_of_use)
        str_addf(&line, " %zu out", out_of_use);
    str_addf(&processors, "%sCPUs %lld/%lld", apart, given, cpus);
    str_addf(&jobs, "%sjobs %zu", apart, t->job.n);
    if (t->waiting)
        str_addf(&jobs, " +%llu wait", (unsigned long long)t->waiting);
    head_fit(&clock, &line, &processors, &jobs, v->width, out);
    str_done(&clock);
    str_done(&line);
    str_done(&processors);
    str_done(&jobs);
}

/* ---- nodes ---- */

struct top_columns {
    int name, cells, bar, jobs;
};

static struct top_columns columns_of(const struct top *t, const struct top_view *v)
{
    struct top_columns c = {.name = NAME_LEAST, .bar = BAR};
    for (size_t i = 0; i < t->node.n; i++) {
        int name = (int)strlen(t->node.v[i]->n->name), cells = (int)t->node.v[i]->ngpus;
        c.name = name > c.name ? name : c.name;
        c.cells = cells > c.cells ? cells : c.cells;
    }
    c.name = c.name < NAME_MOST ? c.name : NAME_MOST;
    c.cells = c.cells < CELLS_MOST ? c.cells : CELLS_MOST;
    if (!c.cells)
        c.bar = BAR_WIDE;
    if (c.cells && c.cells < 5)
        c.cells = 5; /* its head */
    /* mark and name, bar, "128/128", cells, "100%" */
    c.jobs = v->width - (1 + c.name + 1 + c.bar + 1 + 7 + 1 + (c.cells ? c.cells + 1 + 4 + 1 : 0));
    return c;
}

static void nodes_head(const struct top_columns *c, const struct top_view *v, struct str *out)
{
    struct str line = STR_INIT;
    str_addf(&line, " %-*s %-*s ", c->name, "NODE", c->bar + 8, "CPUS");
    if (c->cells)
        str_addf(&line, "%-*s %4s ", c->cells, "GPUS", "BUSY");
    str_add(&line, "JOBS");
    utf8_cut_columns(&line, (size_t)v->width);
    colour(v, "1", out);
    str_add(out, str_text(&line));
    colour(v, "0", out);
    str_addc(out, '\n');
    str_done(&line);
}

/* "42 ann, 43_7 bob +2", as much as there is room for. */
static void node_jobs(const struct top_node *n, int width, struct str *out)
{
    struct str all = STR_INIT, one = STR_INIT;
    state_add(n, &all);
    for (size_t i = 0; i < n->job.n; i++) {
        char more[24];
        size_t left = n->job.n - i - 1;
        int needs = left ? snprintf(more, sizeof more, " +%zu", left) : 0;
        str_clear(&one);
        str_add(&one, i ? ", " : "");
        job_label(n->job.v[i]->j, &one);
        str_addf(&one, " %s", n->job.v[i]->j->user_name ? n->job.v[i]->j->user_name : "?");
        if ((int)(all.len + one.len) + needs > width) {
            str_addf(&all, " +%zu", left + 1);
            break;
        }
        str_add(&all, str_text(&one));
    }
    utf8_cut_columns(&all, (size_t)(width > 0 ? width : 0));
    str_add(out, str_text(&all));
    str_done(&all);
    str_done(&one);
}

static void node_add(const struct top_node *n, const struct top_columns *c,
                     const struct top_view *v, bool chosen, struct str *out)
{
    double cpus = n->n->cpus > 0 ? n->n->cpus : 1;
    char given[24];
    size_t cells = n->ngpus < (size_t)c->cells ? n->ngpus : (size_t)c->cells;
    snprintf(given, sizeof given, "%d/%d", n->n->alloc_cpus, n->n->cpus);
    str_addf(out, "%c%-*.*s ", chosen ? '>' : ' ', c->name, c->name, n->n->name);
    bar_add(v, c->bar, n->n->alloc_cpus / cpus, n->n->load_centi / 100.0 / cpus, out);
    str_addf(out, " %-7.7s ", given);
    for (size_t i = 0; i < cells; i++)
        gpu_add(v, &n->gpu[i], out);
    if (c->cells) {
        str_addf(out, "%*s ", c->cells - (int)cells, "");
        if (n->known > 0)
            str_addf(out, "%3.0f%% ", n->busy / n->known);
        else
            str_addf(out, "%4s ", "");
    }
    node_jobs(n, c->jobs, out);
    str_addc(out, '\n');
}

/* ---- jobs ---- */

/* Of a narrow terminal each column has what most of them need, so that the nodes are to be seen. */
struct job_columns {
    int job, user, cpus, time, name;
};

static struct job_columns job_columns_of(const struct top_view *v)
{
    return v->width < NARROW ? (struct job_columns){10, 7, 4, 8, 8}
                             : (struct job_columns){10, 8, 5, 10, 12};
}

static void job_add(const struct top_job *t, const struct top_view *v, bool chosen, struct str *out)
{
    const struct job_columns c = job_columns_of(v);
    struct str line = STR_INIT, label = STR_INIT, ran = STR_INIT;
    int64_t us = time_now_us() - t->j->start_us - t->j->suspended_us;
    job_label(t->j, &label);
    duration_format_short(t->j->start_us ? us : 0, &ran);
    str_addf(&line, "%c%-*.*s ", chosen ? '>' : ' ', c.job, c.job, str_text(&label));
    utf8_add_columns(&line, t->j->user_name ? t->j->user_name : "?", (size_t)c.user);
    str_addc(&line, ' ');
    str_addf(&line, "%*d %4d ", c.cpus, t->j->alloc_cpus, t->gpus);
    if (t->known > 0)
        str_addf(&line, "%3.0f%% ", t->busy / t->known);
    else
        str_addf(&line, "%4s ", t->gpus ? "?" : "");
    str_addf(&line, "%*s ", c.time, str_text(&ran));
    utf8_add_columns(&line, t->j->spec.name, (size_t)c.name);
    str_addc(&line, ' ');
    str_add(&line, t->j->nodes ? t->j->nodes : "");
    utf8_cut_columns(&line, (size_t)v->width);
    str_addf(out, "%s\n", str_text(&line));
    str_done(&line);
    str_done(&label);
    str_done(&ran);
}

static void jobs_head(const struct top_view *v, struct str *out)
{
    const struct job_columns c = job_columns_of(v);
    struct str line = STR_INIT;
    str_addf(&line, " %-*s %-*s %*s %4s %4s %*s %-*s %s", c.job, "JOB", c.user, "USER", c.cpus,
             "CPUS", "GPUS", "BUSY", c.time, "TIME", c.name, "NAME", "NODES");
    utf8_cut_columns(&line, (size_t)v->width);
    colour(v, "1", out);
    str_add(out, str_text(&line));
    colour(v, "0", out);
    str_addc(out, '\n');
    str_done(&line);
}

/* ---- the foot ---- */

/* Whole, or not at all. */
static void piece_add(const struct top_view *v, const char *piece, struct str *line)
{
    const char *apart = v->width < NARROW ? " " : "  ";
    if (line->len + strlen(apart) + strlen(piece) <= (size_t)v->width)
        str_addf(line, "%s%s", apart, piece);
}

static bool is_on_screen(const struct top *t, const struct top_view *v, char sign)
{
    size_t end = v->first + top_rows(v);
    for (size_t i = v->first; i < t->node.n && i < end; i++)
        for (size_t k = 0; k < t->node.v[i]->ngpus; k++)
            if (gpu_sign(&t->node.v[i]->gpu[k]) == sign)
                return true;
    return false;
}

/* Those that are seen first, then the others, as many as there is room for. */
static void signs_add(const struct top *t, const struct top_view *v, struct str *line)
{
    static const char signs[] = ".?x-";
    static const char *const wide[] = {". free", "? unknown", "x out", "- away"},
                             *const narrow[] = {".free", "?unknown", "xout", "-away"};
    size_t before = line->len;
    for (int seen = 1; seen >= 0; seen--)
        for (size_t i = 0; signs[i]; i++) {
            struct str piece = STR_INIT;
            if (is_on_screen(t, v, signs[i]) != seen)
                continue;
            str_addf(&piece, "%s%s", line->len == before && v->width >= NARROW ? "GPUs: " : "",
                     v->width < NARROW ? narrow[i] : wide[i]);
            piece_add(v, str_text(&piece), line);
            str_done(&piece);
        }
}

static void keys_add(const struct top *t, const struct top_view *v, size_t n, struct str *line)
{
    static const char *const nodes[TOP_SORTS] = {"s:name", "s:busy", "s:free", "s:load"},
                             *const jobs[TOP_SORTS] = {"s:number", "s:busy", "s:GPUs", "s:CPUs"};
    size_t fit = top_rows(v);
    const char *order = (v->jobs ? jobs : nodes)[v->sort];
    str_addf(line, "%zu-%zu/%zu", n ? v->first + 1 : 0, v->first + fit < n ? v->first + fit : n, n);
    piece_add(v, "q quit", line);
    piece_add(v, v->jobs ? "Tab nodes" : "Tab jobs", line);
    piece_add(v, order, line);
    piece_add(v, "Enter open", line);
    if (!v->jobs)
        signs_add(t, v, line);
}

static void foot_add(const struct top *t, const struct top_view *v, size_t n, struct str *out)
{
    struct str line = STR_INIT;
    if (v->message)
        str_add(&line, v->message);
    else
        keys_add(t, v, n, &line);
    utf8_cut_columns(&line, (size_t)v->width);
    colour(v, "7", out);
    str_add(out, str_text(&line));
    colour(v, "0", out);
    str_done(&line);
}

void top_draw(const struct top *t, const struct top_view *v, struct str *out)
{
    size_t n = v->jobs ? t->job.n : t->node.n, fit = top_rows(v), shown = 0;
    struct top_columns c = columns_of(t, v);
    head_add(t, v, out);
    if (v->jobs)
        jobs_head(v, out);
    else
        nodes_head(&c, v, out);
    for (size_t i = v->first; i < n && shown < fit; i++, shown++)
        if (v->jobs)
            job_add(t->job.v[i], v, v->height && i == v->at, out);
        else
            node_add(t->node.v[i], &c, v, v->height && i == v->at, out);
    if (!v->height)
        return;
    for (; shown < fit; shown++)
        str_addc(out, '\n');
    foot_add(t, v, n, out);
}
