/* remuda plot: what a job did with its GPUs, CPUs and bytes. */
#include "cli/plot/plot.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/list.h"
#include "base/plain.h"
#include "cli/plot/fetch.h"
#include "cli/plot/picture.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/commands.h"
#include "cli/program/localtime.h"
#include "cli/program/own_line.h"
#include "cli/program/program.h"
#include "cli/program/room.h"
#include "cli/program/window.h"
#include "cli/table/json_form.h"
#include "model/job/array.h"
#include "model/job/job.h"
#include "reading/chart_groups.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define WIDTH_DEFAULT 80
#define WATCH_S       2
#define MOMENTS       (4u << 20) /* of 16 bytes, that phases are found in */
#define TALL_MOST     6          /* charts that get four rows each */
#define LOW_MOST      12         /* and two */
#define CHARTS_MOST   40         /* of more several become one */
#define ROWS_MOST     9          /* of a chart that has a window to itself */
#define AROUND        3          /* rows of a window that are no chart's */

/* ---- which job ---- */

struct plotting {
    struct plot_line *l;
    struct arena *a;
    struct client *client;
    struct arena *seen; /* the job's texts, until it is looked at again */
    struct job job;
    size_t found;
    int64_t from_us, to_us, step_id;
    bool has_step;
    struct curves curves;
};

static void job_found(void *ctx, const void *record)
{
    struct plotting *p = ctx;
    const struct job *j = record;
    if (j->state != JOB_RESIZING) {
        p->job = *j;
        p->found++;
    }
}

static bool job_find(struct plotting *p, struct err *ret_err)
{
    const struct msg_query q = {.what = QUERY_HISTORY, .ids = p->l->job, .states = "all"};
    struct msg_done done = {0};
    p->found = 0;
    arena_reset(p->seen);
    if (!client_query(p->client, &q, &job_fields, p->seen, job_found, p, &done, ret_err))
        return false;
    if (done.refusal != REFUSE_NONE || !p->found)
        return done.detail ? err_set(ret_err, ERR_INVALID, "%s", done.detail)
                           : err_set(ret_err, ERR_INVALID, "there is no job %s", p->l->job);
    if (p->found > 1)
        return err_set(ret_err, ERR_USAGE,
                       "%s is %zu jobs: name one, as %s_0 of an array or %s+0 of a het job",
                       p->l->job, p->found, p->l->job, p->l->job);
    if (!p->job.start_us && p->job.state == JOB_PENDING && p->job.attempt == 0)
        return err_set(ret_err, ERR_INVALID, "job %s has not run yet: remuda why %s says why",
                       p->l->job, p->l->job);
    return true;
}

static bool times_read(struct plotting *p, struct err *ret_err)
{
    int64_t now = time_now_us();
    struct job_ref ref;
    if ((p->l->from && !civil_parse(p->l->from, now, &civil_local, false, &p->from_us, ret_err)) ||
        (p->l->to && !civil_parse(p->l->to, now, &civil_local, false, &p->to_us, ret_err)))
        return false;
    if (!p->l->step)
        return true;
    p->has_step = true;
    bool ok = job_ref_parse(arena_printf(p->a, "1.%s", p->l->step), &ref, ret_err);
    p->step_id = ok ? ref.step_id : 0;
    if (ok)
        job_ref_done(&ref);
    return ok;
}

/* ---- which curves ---- */

static bool is_number_of(const char *list, int32_t number)
{
    struct idset ids = IDSET_INIT;
    bool is = idset_parse(&ids, list, 1u << 20, NULL) && idset_has(&ids, (uint32_t)number);
    idset_done(&ids);
    return is;
}

static bool is_usual(const struct plotting *p, const struct series_value *v, bool gpus)
{
    static const uint16_t with[] = {SERIES_GPU_UTIL,  SERIES_GPU_SM, SERIES_GPU_MEM,
                                    SERIES_GPU_POWER, SERIES_CPU,    SERIES_RSS},
                          without[] = {SERIES_CPU, SERIES_RSS, SERIES_READ, SERIES_WRITE};
    const uint16_t *list = gpus ? with : without;
    size_t n = gpus ? ARRAY_LEN(with) : ARRAY_LEN(without);
    (void)p;
    for (size_t i = 0; i < n; i++)
        if (list[i] == v->id)
            return true;
    return false;
}

static bool has_gpus(const struct curves *c)
{
    for (size_t i = 0; i < c->v.n; i++)
        if (c->v.v[i]->value->source == SERIES_DEVICE)
            return true;
    return false;
}

struct plot_keeping {
    const struct plotting *p;
    bool gpus;
};

static bool is_wanted(void *ctx, const struct curve *c)
{
    const struct plot_keeping *k = ctx;
    const struct plot_line *l = k->p->l;
    bool device = c->value->source == SERIES_DEVICE, file = l->csv || l->json;
    if (device && l->gpus && !is_number_of(l->gpus, c->key.device))
        return false;
    if (!device && l->gpus && !l->values)
        return false;
    if (!device && k->p->has_step && c->key.step_id != k->p->step_id)
        return false;
    if (l->values)
        return list_has(l->values, c->value->word);
    if (l->all || file)
        return true;
    return is_usual(k->p, c->value, k->gpus);
}

static bool fetch(struct plotting *p, struct err *ret_err)
{
    const struct msg_get_series get = {.job_id = p->job.id,
                                       .attempt = (uint32_t)p->l->attempt,
                                       .from_us = p->from_us,
                                       .to_us = p->to_us};
    struct plot_keeping k = {p, false};
    curves_done(&p->curves);
    if (!curves_fetch(&p->curves, p->client, &get, ret_err))
        return false;
    k.gpus = has_gpus(&p->curves);
    curves_know_memory(&p->curves);
    curves_keep(&p->curves, is_wanted, &k);
    if (!p->has_step && !p->l->json && !p->l->csv) {
        curves_join_steps(&p->curves);
        curves_know_job(&p->curves, &p->job);
    }
    return true;
}

/* Of a step, the time in which it was sampled; what was asked for narrows it. */
static bool span_find(const struct plotting *p, int64_t *ret_from_ms, int64_t *ret_to_ms)
{
    struct curves of_step = {0};
    for (size_t i = 0; i < p->curves.v.n; i++)
        if (!p->has_step || p->curves.v.v[i]->value->source == SERIES_STEP)
            vec_push(&of_step.v, p->curves.v.v[i]);
    bool any = curves_span(of_step.v.n ? &of_step : &p->curves, ret_from_ms, ret_to_ms);
    vec_done(&of_step.v);
    if (p->from_us && *ret_from_ms < p->from_us / 1000)
        *ret_from_ms = p->from_us / 1000;
    if (p->to_us && *ret_to_ms > p->to_us / 1000)
        *ret_to_ms = p->to_us / 1000;
    return any && *ret_from_ms <= *ret_to_ms;
}

/* ---- the terminal ---- */

/* As high as all of them fit into the window; where they are only printed, so that they can be
 * read. */
static int rows_of(const struct plot_line *l, size_t n)
{
    int usual = n <= TALL_MOST ? 4 : n <= LOW_MOST ? 2 : 1;
    if (l->height)
        return (int)l->height;
    if (!isatty(STDOUT_FILENO) || !n)
        return usual;
    int fit = (window_height(24) - AROUND) / (int)n - 1;
    fit = fit < 1 ? 1 : fit > ROWS_MOST ? ROWS_MOST : fit;
    fit -= fit > 5 && fit % 2 == 0; /* one has a middle */
    return l->watch || fit > usual ? fit : usual;
}

static struct chart_style style_of(const struct plotting *p, size_t n)
{
    return (struct chart_style){.width = window_width(WIDTH_DEFAULT),
                                .rows = rows_of(p->l, n),
                                .utf8 = window_has_utf8(),
                                .colour = window_has_colour(),
                                .zone = &civil_local};
}

/* What is drawn again and again is to fit. */
static size_t charts_most(const struct plot_line *l)
{
    size_t fit = (size_t)(window_height(24) - AROUND) / (l->height > 1 ? (size_t)l->height + 1 : 1);
    return l->each ? SIZE_MAX : l->watch && fit < CHARTS_MOST ? fit : CHARTS_MOST;
}

static void head_write(const struct plotting *p, int64_t from_ms, int64_t to_ms, struct str *out)
{
    str_add(out, "Job ");
    job_label(&p->job, out);
    if (p->l->step)
        str_addf(out, " step %s", p->l->step);
    str_addf(out, " %s", enum_name(&job_state_names, p->job.state));
    if (p->job.spec.name) {
        str_addc(out, ' ');
        str_add_plain(out, p->job.spec.name);
    }
    str_add(out, ", ");
    civil_format(from_ms * 1000, from_ms * 1000, "%Y-%m-%d", &civil_local, out);
    str_add(out, ", ");
    duration_format((to_ms - from_ms) / 1000 * USEC_PER_SEC, out);
    str_add(out, " long\n");
}

static void nothing_say(const struct plotting *p)
{
    bool asked = p->l->values || p->l->gpus || p->has_step || p->l->from || p->l->to;
    program_error("remuda plot", "job %s has no samples%s", p->l->job,
                  asked ? " of what was asked for: remuda plot -a shows what there is"
                        : ": it ran before they were kept, they are too old (JobSeriesKeep), or it "
                          "asked for none (--acctg-freq=0)");
}

static void screen_write(struct plotting *p, struct str *out)
{
    int64_t from, to;
    struct chart_groups t;
    if (!span_find(p, &from, &to)) {
        str_addf(out, "Job %s: no samples yet\n", p->l->job);
        return;
    }
    chart_groups_fit(&p->curves, charts_most(p->l), &t);
    size_t all = t.v.n, most = charts_most(p->l);
    if (p->l->watch && !p->l->each && all > most) /* each is of another value: a row is for that */
        chart_groups_cut(&t, most - 1);
    struct chart_style style = style_of(p, t.v.n);
    head_write(p, from, to, out);
    chart_groups_write(&t, from, to, &style, out);
    chart_times_write(from, to, &style, out);
    if (all > t.v.n)
        str_addf(out, "and %zu more: a higher window has them, or --value\n", all - t.v.n);
    chart_groups_done(&t);
}

static enum picture_theme theme_of(const struct plot_line *l)
{
    return text_is_nocase(l->theme, "dark")    ? PICTURE_DARK
           : text_is_nocase(l->theme, "light") ? PICTURE_LIGHT
                                               : PICTURE_AUTO;
}

/* Its phases are the whole job's, whatever of it is drawn. */
static bool drawing(struct plotting *p, int64_t from, int64_t to, struct str *out,
                    struct err *ret_err)
{
    const struct msg_get_series get = {.job_id = p->job.id, .attempt = (uint32_t)p->l->attempt};
    struct curves all = {0};
    struct reading r = {0};
    struct err ignored = {0};
    reading_bound(&all, &p->job, time_now_us(), MOMENTS);
    curves_fetch(&all, p->client, &get, &ignored);
    reading_make(&all, &p->job, &civil_local, &r);
    const struct picture of = {&p->curves, &p->job, from, to, r.phase, r.nphases};
    bool ok = true;
    if (p->l->png)
        ok = picture_png(&of, theme_of(p->l), out, ret_err);
    else
        picture_svg(&of, theme_of(p->l), out);
    reading_done(&r);
    curves_done(&all);
    return ok;
}

static bool picture_make(struct plotting *p, struct str *out, bool *ret_any, struct err *ret_err)
{
    int64_t from, to;
    *ret_any = span_find(p, &from, &to);
    if (p->l->csv)
        picture_csv(&p->curves, !p->l->csv_bare, out);
    else if (p->l->json)
        picture_json(&p->curves, &p->job, out);
    else if (*ret_any && (p->l->png || p->l->svg))
        return drawing(p, from, to, out, ret_err);
    else if (*ret_any)
        screen_write(p, out);
    return true;
}

static int file_write(struct plotting *p)
{
    struct str out = STR_INIT;
    struct err err = {0};
    bool any, ok = picture_make(p, &out, &any, &err);
    if (ok && p->l->json)
        json_form_print(&out, p->l->json);
    else if (ok)
        fwrite(str_text(&out), 1, out.len, stdout);
    str_done(&out);
    if (!ok)
        return own_line_failed("remuda plot", &err);
    if (!any)
        nothing_say(p);
    return any ? 0 : 1;
}

/* ---- again and again ---- */

static bool watch(struct plotting *p, struct err *ret_err)
{
    bool over = false;
    for (;;) {
        struct str out = STR_INIT;
        if (!job_find(p, ret_err) || !fetch(p, ret_err))
            return false;
        str_add(&out, "\033[H\033[2J");
        screen_write(p, &out);
        fwrite(str_text(&out), 1, out.len, stdout);
        fflush(stdout);
        str_done(&out);
        if (over)
            return true;
        over = job_state_over((enum job_state)p->job.state);
        nanosleep(&(struct timespec){.tv_sec = WATCH_S}, NULL);
    }
}

static bool line_check(const struct plot_line *l, struct err *ret_err)
{
    struct idset ids = IDSET_INIT;
    if (!l->job)
        return err_set(ret_err, ERR_USAGE, "which job? remuda plot JOB");
    if (l->csv + (l->json != FORM_TABLE) + l->svg + l->png + l->watch > 1)
        return err_set(ret_err, ERR_USAGE,
                       "one of --csv, --json or --yaml, --svg, --png and -w goes at a time");
    if (l->watch && !isatty(STDOUT_FILENO))
        return err_set(
            ret_err, ERR_USAGE,
            "-w draws on a terminal again and again; without it the chart is drawn once");
    if (l->png && isatty(STDOUT_FILENO))
        return err_set(ret_err, ERR_USAGE,
                       "--png writes bytes that are nothing for a terminal: remuda plot %s --png "
                       ">job.png",
                       l->job);
    bool ok = !l->gpus || idset_parse(&ids, l->gpus, 1u << 20, NULL);
    idset_done(&ids);
    return ok || err_set(ret_err, ERR_USAGE, "--gpu has numbers, as 0,2-3, not \"%.40s\"", l->gpus);
}

int cmd_plot(int argc, char **argv)
{
    struct plot_line l = {0};
    struct plotting p = {.l = &l, .a = arena_new(), .seen = arena_new()};
    struct option_line line = {.table = &plot_options, .to = &l, .a = p.a};
    struct err e = {0};
    int status = 0;
    local_letters_read();
    if (own_line_read("remuda plot", &line, argc, argv, &status)) {
        bool ok = line_check(&l, &e);
        p.client = ok ? cluster_reach(state_dir_find(l.state_dir, p.a), &e) : NULL;
        if (p.client && l.json)
            client_keep_texts(p.client, true);
        ok = p.client && job_find(&p, &e) && times_read(&p, &e) &&
             (l.watch ? watch(&p, &e) : fetch(&p, &e));
        status = !ok ? own_line_failed("remuda plot", &e) : l.watch ? 0 : file_write(&p);
        if (p.curves.warning)
            program_error("remuda plot", "not all could be read: %s", p.curves.warning);
        if (p.client)
            client_close(p.client);
    }
    curves_done(&p.curves);
    arena_free(p.seen);
    arena_free(p.a);
    return status;
}
