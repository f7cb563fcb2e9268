#include "cli/reports/report_mail.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "cli/plot/picture.h"
#include "cli/program/localtime.h"
#include "cli/record/jobstats.h"
#include "cli/reports/array_digest.h"
#include "cli/reports/efficiency.h"
#include "cli/reports/last_lines.h"
#include "cli/reports/report_job.h"
#include "cli/reports/seen.h"
#include "io/process/become.h"
#include "model/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAIL_WIDTH    72
#define PICTURE_BYTES (400u << 10) /* a larger one is left out */
#define BASE64_LINE   76u

/* ---- the picture ---- */

static bool is_pictured(void *ctx, const struct curve *one)
{
    return report_is_drawn(*(const uint16_t *)ctx, one);
}

/* Libraries that draw letters complain on standard error of what is missing on a host. */
static bool quietly_drawn(const struct picture *p, struct str *out)
{
    struct err ignored = {0};
    int kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3), none = open("/dev/null", O_WRONLY);
    if (kept >= 0 && none >= 0)
        dup2(none, STDERR_FILENO);
    bool ok = picture_png(p, PICTURE_LIGHT, out, &ignored);
    if (kept >= 0) {
        dup2(kept, STDERR_FILENO);
        close(kept);
    }
    if (none >= 0)
        close(none);
    return ok;
}

static void base64_lines_add(const struct str *png, struct str *out)
{
    struct str letters = STR_INIT;
    base64_add(png->data, png->len, &letters);
    for (size_t at = 0; at < letters.len; at += BASE64_LINE) {
        size_t left = letters.len - at;
        str_addn(out, letters.data + at, left < BASE64_LINE ? left : BASE64_LINE);
        str_addc(out, '\n');
    }
    str_done(&letters);
}

/* Its curves are fewer afterwards. */
static void picture_add(struct seen *s, const struct job *j, struct str *out)
{
    uint16_t gpu_value = report_gpu_value(s);
    struct picture p = {
        .curves = &s->curves, .job = j, .phase = s->reading.phase, .nphases = s->reading.nphases};
    struct str png = STR_INIT;
    curves_keep(&s->curves, is_pictured, &gpu_value);
    if (curves_span(&s->curves, &p.from_ms, &p.to_ms) && p.from_ms < p.to_ms &&
        quietly_drawn(&p, &png) && png.len <= PICTURE_BYTES) {
        str_addc(out, '\f');
        base64_lines_add(&png, out);
    }
    str_done(&png);
}

/* ---- one job ---- */

static void used_add(const struct past_jobs *p, const struct job *j, struct str *out)
{
    struct efficiency e;
    efficiency_of(p, j, time_now_us(), &e);
    if (!e.ran_s)
        return;
    str_addf(out, "It used %.0f %% of the time of its %d CPU%s",
             efficiency_percent(e.cpu_s, e.cpu_had_s), j->alloc_cpus,
             j->alloc_cpus == 1 ? "" : "s");
    if (e.mem_bytes && e.mem_had)
        str_addf(out, ", %.0f %% of its memory", efficiency_percent(e.mem_bytes, e.mem_had));
    if (e.gpus && e.gpu_known && e.gpu_had_s)
        str_addf(out, ", %.0f %% of its %d GPU%s", (double)e.gpu_percent_s / (double)e.gpu_had_s,
                 e.gpus, e.gpus == 1 ? "" : "s");
    str_add(out, ".\n");
}

/* Of fewer samples a chart says nothing. */
static void seen_add(const struct seen *s, struct str *out)
{
    if (s->reading.samples < READING_SAMPLES)
        return;
    str_addc(out, '\n');
    report_charts_write(
        s, (struct chart_style){.width = MAIL_WIDTH, .utf8 = true, .zone = &civil_local}, out);
    if (!s->reading.found.n)
        return;
    str_add(out, "\nWhat it did, and what to do about it:\n");
    seen_lines_add(s, 2, MAIL_WIDTH, out);
}

static void job_add(struct client *c, const struct past_jobs *p, const struct job *j, bool png,
                    struct str *out)
{
    struct seen s;
    seen_read(&s, c, j, j->attempt);
    used_add(p, j, out);
    seen_add(&s, out);
    last_lines_add(c, j, out);
    if (png && s.reading.samples >= READING_SAMPLES)
        picture_add(&s, j, out);
    seen_done(&s);
}

static bool one_add(struct client *c, const char *job, uint32_t attempt, bool png, struct str *out,
                    struct err *ret_err)
{
    struct arena *a = arena_new();
    struct past_jobs p = {0};
    const struct msg_query q = {.ids = job};
    bool ok = attempt ? past_runs_read(c, job, attempt, a, &p, ret_err)
                      : past_read(c, &q, a, &p, ret_err);
    if (ok && p.job.n != 1)
        ok = err_set(ret_err, ERR_INVALID,
                     p.job.n ? "%s is %zu jobs: name one" : "there is no job %s", job, p.job.n);
    else if (ok)
        job_add(c, &p, p.job.v[0], png, out);
    past_done(&p);
    arena_free(a);
    return ok;
}

/* ---- an array ---- */

static void element_take(void *ctx, const void *record)
{
    array_digest_add(ctx, record);
}

/* Of those that failed, one speaks for all. */
static void failed_add(struct client *c, const char *array, uint32_t task, struct str *out)
{
    struct arena *a = arena_new();
    struct past_jobs p = {0};
    struct err ignored = {0};
    const struct msg_query q = {.ids = arena_printf(a, "%s_%u", array, task)};
    struct str lines = STR_INIT;
    if (past_read(c, &q, a, &p, &ignored) && p.job.n == 1)
        last_lines_add(c, p.job.v[0], &lines);
    if (lines.len)
        str_addf(out, "\nOf element %u, the first that failed:\n%s", task, str_text(&lines));
    str_done(&lines);
    past_done(&p);
    arena_free(a);
}

static bool array_add(struct client *c, const char *array, struct str *out, struct err *ret_err)
{
    const struct msg_query q = {
        .what = QUERY_HISTORY, .ids = array, .states = "all", .fields = ARRAY_DIGEST_FIELDS};
    struct arena *a = arena_new();
    struct array_digest d;
    struct msg_done done = {0};
    array_digest_begin(&d);
    bool ok = client_query(c, &q, &job_fields, a, element_take, &d, &done, ret_err);
    if (ok && d.elements) {
        array_digest_write(&d, MAIL_WIDTH, out);
        if (d.failed != NO_TASK)
            failed_add(c, array, d.failed, out);
    }
    array_digest_done(&d);
    arena_free(a);
    return ok;
}

/* ---- either ---- */

static void kind_take(void *ctx, const void *record)
{
    const struct job *j = record;
    bool *array = ctx;
    *array |= j->array_job_id != 0;
}

/* A bare number may be an array's. */
static bool is_array(struct client *c, const char *job, bool *ret, struct err *ret_err)
{
    const struct msg_query q = {
        .what = QUERY_HISTORY, .ids = job, .states = "all", .fields = "id,array_job_id"};
    struct arena *a = arena_new();
    struct msg_done done = {0};
    *ret = false;
    bool ok =
        strchr(job, '_') || client_query(c, &q, &job_fields, a, kind_take, ret, &done, ret_err);
    arena_free(a);
    return ok;
}

bool report_mail_become(const char *owner, struct err *ret_err)
{
    struct span rest = span_of(owner), id[2];
    char text[2][16];
    uint64_t n[2];
    for (int i = 0; i < 2; i++)
        if (!span_next(&rest, ':', &id[i]) ||
            snprintf(text[i], sizeof text[i], "%.*s", (int)id[i].len, id[i].data) >
                (int)sizeof text[i] - 1 ||
            !text_to_u64(text[i], UINT32_MAX, &n[i]))
            return err_set(ret_err, ERR_USAGE,
                           "--as=%.40s: two numbers are allowed, a user's and a group's: 1000:100",
                           owner);
    if (geteuid() != 0)
        return err_set(ret_err, ERR_DENIED, "--as is for root, whose mailer says in whose name");
    return process_become((uid_t)n[0], (gid_t)n[1]) ||
           err_set(ret_err, ERR_DENIED, "cannot become user %s: %s", owner, strerror(errno));
}

bool report_mail(struct client *c, const char *job, uint32_t attempt, bool png, struct err *ret_err)
{
    struct str out = STR_INIT;
    bool array;
    bool ok =
        is_array(c, job, &array, ret_err) &&
        (array ? array_add(c, job, &out, ret_err) : one_add(c, job, attempt, png, &out, ret_err));
    if (ok)
        fwrite(str_text(&out), 1, out.len, stdout);
    str_done(&out);
    return ok;
}
