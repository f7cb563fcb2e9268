#include "cli/reports/report_job.h"

#include "base/duration.h"
#include "base/plain.h"
#include "cli/program/localtime.h"
#include "cli/program/room.h"
#include "cli/program/window.h"
#include "cli/reports/efficiency.h"
#include "cli/reports/seen.h"
#include "model/job/array.h"
#include "reading/chart_groups.h"
#include "wire/json.h"

#include <inttypes.h>
#include <stdio.h>

#define JOBS_MOST   20u
#define CHARTS_MOST 9u
#define WIDTH       80

/* ---- the head ---- */

/* `now`: what it is since that run. */
static void head_write(const struct job *j, const struct job *now, const struct efficiency *e,
                       struct str *out)
{
    str_add(out, "Job ");
    job_label(j, out);
    if (j->spec.name) {
        str_addc(out, ' ');
        str_add_plain(out, j->spec.name);
    }
    str_add(out, " of ");
    str_add_plain(out, j->user_name ? j->user_name : "?");
    str_addf(out, ": %s", enum_name(&job_state_names, j->state));
    if (now->restarts)
        str_addf(out, ", run %u", j->attempt);
    if (now != j)
        str_addf(out, " (now %s)", enum_name(&job_state_names, now->state));
    str_add(out, ", ");
    duration_format(e->ran_s * USEC_PER_SEC, out);
    if (j->nodes) {
        str_add(out, " on ");
        str_add_plain(out, j->nodes);
    }
    str_addf(out, ", %d CPU%s", j->alloc_cpus, j->alloc_cpus == 1 ? "" : "s");
    if (e->gpus)
        str_addf(out, ", %d GPU%s", e->gpus, e->gpus == 1 ? "" : "s");
    str_addc(out, '\n');
}

/* ---- the picture ---- */

uint16_t report_gpu_value(const struct seen *s)
{
    const struct curves *c = &s->curves;
    uint16_t found = 0;
    bool waits = false;
    for (size_t i = 0; i < s->reading.found.n; i++)
        waits = waits || s->reading.found.v[i].kind == FOUND_GPU_HANG ||
                s->reading.found.v[i].kind == FOUND_GPU_THIN;
    for (size_t i = 0; i < c->v.n; i++) {
        uint16_t id = c->v.v[i]->value->id;
        if (id == SERIES_GPU_SM && (waits || !found))
            found = id;
        if (id == SERIES_GPU_UTIL && !(waits && found == SERIES_GPU_SM))
            found = id;
    }
    return found;
}

bool report_is_drawn(uint16_t gpu_value, const struct curve *one)
{
    return one->value->id == SERIES_CPU || (gpu_value && one->value->id == gpu_value);
}

void report_charts_write(const struct seen *s, struct chart_style style, struct str *out)
{
    const struct curves *c = &s->curves;
    int64_t from, to;
    uint16_t gpu_value = report_gpu_value(s);
    struct curves drawn = {0};
    struct chart_groups t;
    if (!curves_span(c, &from, &to))
        return;
    for (size_t i = 0; i < c->v.n; i++)
        if (report_is_drawn(gpu_value, c->v.v[i]))
            vec_push(&drawn.v, c->v.v[i]);
    chart_groups_fit(&drawn, CHARTS_MOST, &t);
    style.rows = t.v.n <= 2 ? 3 : 1;
    chart_groups_write(&t, from, to, &style, out);
    chart_times_write(from, to, &style, out);
    chart_groups_done(&t);
    vec_done(&drawn.v);
}

/* ---- one job ---- */

static void nothing_print(const struct seen *s, const struct job *j)
{
    if (!s->curves.v.n)
        puts("  Nothing was sampled: it was too short, its samples are too old (JobSeriesKeep), or "
             "it asked for none (--acctg-freq=0).");
    else if (s->reading.samples < READING_SAMPLES)
        printf("  %zu sample%s: too few to say anything.\n", s->reading.samples,
               s->reading.samples == 1 ? "" : "s");
    else
        printf("  Nothing stands out. remuda plot %" PRIu64 " shows all of it.\n", j->id);
}

static void job_print(const struct past_jobs *p, size_t i, const struct seen *s)
{
    const struct job *j = p->job.v[i];
    struct str text = STR_INIT;
    struct efficiency e;
    efficiency_of(p, j, time_now_us(), &e);
    head_write(j, p->now.v[i], &e, &text);
    report_charts_write(s,
                        (struct chart_style){.width = window_width(WIDTH),
                                             .utf8 = window_has_utf8(),
                                             .colour = window_has_colour(),
                                             .zone = &civil_local},
                        &text);
    fputs(str_text(&text), stdout);
    str_done(&text);
    if (s->reading.found.n)
        seen_print_lines(s, 2);
    else
        nothing_print(s, j);
    if (s->curves.cut)
        puts("  Only a part of its GPUs and nodes was looked at: there are too many.");
}

static void job_json(const struct job *j, const struct seen *s, struct json_out *o)
{
    struct str label = STR_INIT;
    job_label(j, &label);
    json_object(o);
    json_key_i64(o, "job_id", (int64_t)j->id);
    json_key_text(o, "job", str_text(&label));
    json_key_text(o, "state", enum_name(&job_state_names, j->state));
    json_key_i64(o, "run", j->attempt);
    json_key_i64(o, "samples", (int64_t)s->reading.samples);
    json_key(o, "findings");
    json_array(o);
    for (size_t i = 0; i < s->reading.found.n; i++) {
        const struct finding *f = &s->reading.found.v[i];
        json_object(o);
        json_key_text(o, "kind", finding_word(f->kind));
        json_key_text(o, "text", f->text);
        json_key_text(o, "next", f->next);
        json_object_end(o);
    }
    json_array_end(o);
    json_object_end(o);
    str_done(&label);
}

/* ---- all that are named ---- */

static void jobs_json(struct client *c, const struct past_jobs *p, enum json_form form)
{
    struct str text = STR_INIT;
    struct json_out o;
    json_begin(&o, &text, true);
    json_object(&o);
    json_key(&o, "jobs");
    json_array(&o);
    for (size_t i = 0; i < p->job.n; i++) {
        struct seen s;
        seen_read(&s, c, p->job.v[i], p->job.v[i]->attempt);
        job_json(p->job.v[i], &s, &o);
        seen_done(&s);
    }
    json_array_end(&o);
    json_object_end(&o);
    json_form_print(&text, form);
    str_done(&text);
}

static void jobs_print(struct client *c, const struct past_jobs *p)
{
    size_t n = p->job.n, shown = n < JOBS_MOST ? n : JOBS_MOST;
    for (size_t i = 0; i < shown; i++) {
        struct seen s;
        if (i)
            putchar('\n');
        seen_read(&s, c, p->job.v[i], p->job.v[i]->attempt);
        job_print(p, i, &s);
        seen_done(&s);
    }
    if (n > shown)
        printf("\nand %zu more: name one, as %" PRIu64 "_7\n", n - shown,
               p->job.v[0]->array_job_id ? p->job.v[0]->array_job_id : p->job.v[0]->id);
}

/* Why there is nothing to show. */
static bool none_refuse(struct client *c, const char *job, uint32_t attempt, struct arena *a,
                        struct err *ret_err)
{
    struct past_jobs p = {0};
    const struct msg_query q = {.ids = job};
    bool ok = past_read(c, &q, a, &p, ret_err);
    uint32_t runs = ok && p.job.n ? p.job.v[0]->attempt : 0;
    if (ok && !p.job.n)
        err_set(ret_err, ERR_INVALID, "there is no job %s", job);
    else if (ok && !runs)
        err_set(ret_err, ERR_INVALID, "job %s has not run yet: remuda why %s says why", job, job);
    else if (ok && attempt > runs)
        err_set(ret_err, ERR_INVALID, "job %s has had %u run%s, no run %u", job, runs,
                runs == 1 ? "" : "s", attempt);
    else if (ok)
        err_set(ret_err, ERR_INVALID, "nothing is known any more of run %u of job %s", attempt,
                job);
    past_done(&p);
    return false;
}

bool report_jobs(struct client *c, const char *job, uint32_t attempt, enum json_form form,
                 struct err *ret_err)
{
    struct past_jobs p = {0};
    struct arena *a = arena_new();
    local_letters_read();
    bool ok = past_runs_read(c, job, attempt, a, &p, ret_err);
    if (ok && form && p.known)
        jobs_json(c, &p, form);
    else if (ok && p.job.n)
        jobs_print(c, &p);
    else if (ok)
        ok = none_refuse(c, job, attempt, a, ret_err);
    past_done(&p);
    arena_free(a);
    return ok;
}

bool report_job_read(const char **job, const char *word, struct arena *a, struct err *ret_err)
{
    struct job_ref ref;
    if (*job)
        return err_set(ret_err, ERR_USAGE, "one job is looked at, and \"%s\" is another", word);
    if (!job_ref_parse(word, &ref, ret_err))
        return false;
    job_ref_done(&ref);
    *job = arena_strdup(a, word);
    return true;
}
