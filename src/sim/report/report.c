#include "sim/report/report.h"

#include "base/alloc.h"
#include "base/duration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINES_MAX 40 /* of a live queue that are shown */

/* ---- words ---- */

struct report_text {
    char v[64];
};

static struct report_text span(double seconds)
{
    struct report_text out = {""};
    struct str s = STR_INIT;
    duration_format_short((int64_t)llround(seconds < 0 ? -seconds : seconds) * USEC_PER_SEC, &s);
    snprintf(out.v, sizeof out.v, "%s%s", seconds <= -0.5 ? "-" : "", str_text(&s));
    str_done(&s);
    return out;
}

static struct report_text when(const struct trace *t, int64_t second)
{
    struct report_text out = {""};
    time_t at = (time_t)(second + t->epoch);
    struct tm tm = {0};
    localtime_r(&at, &tm);
    strftime(out.v, sizeof out.v, "%a %d %b %H:%M", &tm);
    return out;
}

static const char *label_of(const struct trace_job *j, struct report_text *room)
{
    snprintf(room->v, sizeof room->v, "%lld", (long long)j->id);
    return j->label ? j->label : room->v;
}

/* ---- what was replayed ---- */

static void left_out(FILE *to, uint64_t n, const char *what, bool *first)
{
    if (n)
        fprintf(to, "%s%llu %s", *first ? "; left out: " : ", ", (unsigned long long)n, what);
    *first &= n == 0;
}

void report_workload(FILE *to, const struct trace *t, const struct replay_machine *m)
{
    bool first = true;
    fprintf(to, "%s: %zu jobs on %lld %s", t->name, t->job.n, (long long)m->procs,
            m->config || m->lines ? "CPUs" : "processors");
    if (m->gpus)
        fprintf(to, " and %lld GPUs", (long long)m->gpus);
    if (m->nodes)
        fprintf(to, " in nodes of %lld", (long long)m->node_procs);
    left_out(to, t->dropped.run0, "that did not run", &first);
    left_out(to, t->dropped.procs0, "without processors", &first);
    left_out(to, t->dropped.submit0, "before time 0", &first);
    left_out(to, t->dropped.wide, "too wide for the machine", &first);
    left_out(to, t->dropped.still,
             t->live_at ? "held, or waiting for other jobs or for a time" : "that have not ended",
             &first);
    fputc('\n', to);
}

/* ---- one run ---- */

static void refusals(FILE *to, const struct trace *t, const struct replay_result *r)
{
    size_t shown = 0;
    if (r->elsewhere)
        fprintf(
            to,
            "  jobs in partitions that the configuration lacks, sent to its default one: %llu\n",
            (unsigned long long)r->elsewhere);
    if (r->refused)
        fprintf(to, "  jobs that the configuration does not take: %llu\n",
                (unsigned long long)r->refused);
    for (size_t i = 0; i < t->job.n && shown < 3; i++) {
        struct report_text room;
        if (!r->job[i].refused ||
            (i > 0 && r->job[i - 1].refused && text_is(r->job[i].refused, r->job[i - 1].refused)))
            continue;
        fprintf(to, "    %s: %s\n", label_of(&t->job.v[i], &room), r->job[i].refused);
        shown++;
    }
}

static int start_order(const void *a, const void *b, void *ctx)
{
    const struct replay_result *r = ctx;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int64_t at = r->job[x].start, other = r->job[y].start;
    return at != other ? (at > other) - (at < other) : (x > y) - (x < y);
}

/* Those that count, in order of their start; freed by the caller. */
static size_t *by_start(const struct trace *t, const struct replay_result *r, size_t *ret_n)
{
    size_t *v = xcalloc(t->job.n + 1, sizeof v[0]), n = 0;
    for (size_t i = 0; i < t->job.n; i++)
        if (metrics_count(t, r, i))
            v[n++] = i;
    qsort_r(v, n, sizeof v[0], start_order, (void *)(uintptr_t)r);
    *ret_n = n;
    return v;
}

static void live_run(FILE *to, const struct trace *t, const struct report_run *r)
{
    size_t n, *v = by_start(t, &r->result, &n);
    fprintf(to, "  %-14s %-10s %-12s %6s %5s %12s %12s  %-17s %s\n", "JOB", "USER", "PARTITION",
            "CPUS", "NODES", "LIMIT", "WAITED", "STARTS", "IN");
    for (size_t k = 0; k < n && k < LINES_MAX; k++) {
        const struct trace_job *j = &t->job.v[v[k]];
        struct report_text room;
        int64_t start = r->result.job[v[k]].start;
        fprintf(to, "  %-14s %-10s %-12s %6lld %5lld %12s %12s  %-17s %s\n", label_of(j, &room),
                j->user_name ? j->user_name : "-", j->partition ? j->partition : "-",
                (long long)j->procs, (long long)j->nodes, span((double)j->estimate).v,
                span((double)(t->live_at - j->submit)).v, when(t, start).v,
                start <= t->live_at ? "now" : span((double)(start - t->live_at)).v);
    }
    if (n > LINES_MAX)
        fprintf(to, "  and %zu more: --starts FILE writes them all\n", n - LINES_MAX);
    free(v);
}

void report_run(FILE *to, const struct trace *t, const struct report_run *r)
{
    const struct sim_metrics *m = &r->m;
    fprintf(to, "  policy %s, rule %s\n", r->name, r->setup->rule == RULE_EVENT ? "E" : "B");
    refusals(to, t, &r->result);
    if (t->live_at) {
        live_run(to, t, r);
        return;
    }
    fprintf(
        to,
        "  wait      mean %.1f s, median %.0f, p95 %.0f, p99 %.0f, longest %.0f; by area %.0f\n",
        m->wait.mean, m->wait.p50, m->wait.p95, m->wait.p99, m->wait.max, m->wait.area);
    fprintf(to, "  slowdown  mean %.3f, p95 %.1f, p99 %.1f", m->bsld.mean, m->bsld.p95,
            m->bsld.p99);
    if (m->bsld.worst_user > 0 && m->worst_user >= 0)
        fprintf(to, "; worst user %.2f", m->bsld.worst_user);
    if (m->worst_width > 0)
        fprintf(to, "; worst width %.2f (%lld and more)", m->bsld.worst_width,
                (long long)m->worst_width);
    fputc('\n', to);
    fprintf(to, "  use       %.4f, to the last submission %.4f; makespan %lld s\n", m->util,
            m->util_to_last_submit, (long long)m->makespan);
    if (r->setup->machine.nodes)
        fprintf(to,
                "  idle      %.1f %% of what was idle while jobs waited was on nodes partly busy\n",
                100 * r->result.fragmented);
    if (r->result.lost_s)
        fprintf(to,
                "  lost      %.1f CPU hours of work that was stopped for others and began anew\n",
                (double)r->result.lost_s / 3600);
    fprintf(to, "  passes    %llu; queue of %llu at most\n", (unsigned long long)r->result.passes,
            (unsigned long long)r->result.max_queue);
    if (!r->setup->untimed)
        fprintf(to, "  a pass    mean %.1f us, p99 %.1f, longest %.1f\n", m->pass_us.mean,
                m->pass_us.p99, m->pass_us.max);
    fprintf(to, "  schedule  %s\n", m->schedule);
}

/* ---- two runs ---- */

enum figure_unit { SECONDS, RATIO, SHARE, COUNT, HOURS };

struct policy_row {
    const char *name;
    enum figure_unit unit;
    double recorded, a, b;
};

static struct report_text cell(double v, enum figure_unit unit)
{
    struct report_text out = {""};
    switch (unit) {
    case SECONDS: return span(v);
    case RATIO: snprintf(out.v, sizeof out.v, "%.2f", v); break;
    case SHARE: snprintf(out.v, sizeof out.v, "%.1f %%", 100 * v); break;
    case COUNT: snprintf(out.v, sizeof out.v, "%.0f", v); break;
    case HOURS: snprintf(out.v, sizeof out.v, "%.1f", v); break;
    }
    return out;
}

static struct report_text ratio(double a, double b)
{
    struct report_text out = {"-"};
    if (a > 0)
        snprintf(out.v, sizeof out.v, "%.2f", b / a);
    else if (b <= 0)
        snprintf(out.v, sizeof out.v, "=");
    return out;
}

static void columns(FILE *to, bool recorded, const char *name, const char *was, const char *a,
                    const char *b, const char *ratio)
{
    fprintf(to, "  %-32s", name);
    if (recorded)
        fprintf(to, " %16s", was);
    fprintf(to, " %16s %16s %8s\n", a, b, ratio);
}

static void rows_print(FILE *to, const struct report_run *recorded, const struct report_run *a,
                       const struct report_run *b)
{
    static const struct sim_metrics none;
    const struct sim_metrics *w = recorded ? &recorded->m : &none, *x = &a->m, *y = &b->m;
    const struct policy_row rows[] = {
        {"wait, mean", SECONDS, w->wait.mean, x->wait.mean, y->wait.mean},
        {"      median", SECONDS, w->wait.p50, x->wait.p50, y->wait.p50},
        {"      95 of 100 below", SECONDS, w->wait.p95, x->wait.p95, y->wait.p95},
        {"      99 of 100 below", SECONDS, w->wait.p99, x->wait.p99, y->wait.p99},
        {"      longest", SECONDS, w->wait.max, x->wait.max, y->wait.max},
        {"      by area (wide, long jobs)", SECONDS, w->wait.area, x->wait.area, y->wait.area},
        {"slowdown, mean", RATIO, w->bsld.mean, x->bsld.mean, y->bsld.mean},
        {"          95 of 100 below", RATIO, w->bsld.p95, x->bsld.p95, y->bsld.p95},
        {"          of the worst user", RATIO, w->bsld.worst_user, x->bsld.worst_user,
         y->bsld.worst_user},
        {"          of the worst width", RATIO, w->bsld.worst_width, x->bsld.worst_width,
         y->bsld.worst_width},
        {"use, to the last submission", SHARE, w->util_to_last_submit, x->util_to_last_submit,
         y->util_to_last_submit},
        {"all over after", SECONDS, (double)w->makespan, (double)x->makespan, (double)y->makespan},
        {"jobs waiting, at most", COUNT, 0, (double)a->result.max_queue,
         (double)b->result.max_queue},
        {"work lost to preemption, CPU h", HOURS, 0, (double)a->result.lost_s / 3600,
         (double)b->result.lost_s / 3600},
        {"jobs not taken", COUNT, 0, (double)a->result.refused, (double)b->result.refused},
    };
    columns(to, recorded, "", "as it ran", "A", "B", "B / A");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct policy_row *r = &rows[i];
        bool always = i < 12 && r->unit != RATIO, seen = always || r->a > 0 || r->b > 0;
        if (seen)
            columns(to, recorded, r->name, i < 12 ? cell(r->recorded, r->unit).v : "",
                    cell(r->a, r->unit).v, cell(r->b, r->unit).v, ratio(r->a, r->b).v);
    }
}

struct report_change {
    uint64_t earlier, later, same;
    double gained, lost; /* seconds */
    size_t worst[5];
    size_t nworst;
};

static int64_t later_by(const struct report_run *a, const struct report_run *b, size_t i)
{
    return b->result.job[i].start - a->result.job[i].start;
}

/* Those that start later by most, worst first. */
static void worst_keep(struct report_change *c, const struct report_run *a,
                       const struct report_run *b, size_t i)
{
    size_t k = c->nworst < ARRAY_LEN(c->worst) ? c->nworst++ : ARRAY_LEN(c->worst);
    if (k == ARRAY_LEN(c->worst) && later_by(a, b, i) <= later_by(a, b, c->worst[k - 1]))
        return;
    k = k == ARRAY_LEN(c->worst) ? k - 1 : k;
    for (; k > 0 && later_by(a, b, c->worst[k - 1]) < later_by(a, b, i); k--)
        c->worst[k] = c->worst[k - 1];
    c->worst[k] = i;
}

static struct report_change change_of(const struct trace *t, const struct report_run *a,
                                      const struct report_run *b)
{
    struct report_change c = {0};
    for (size_t i = 0; i < t->job.n; i++) {
        if (!metrics_count(t, &a->result, i) || !metrics_count(t, &b->result, i))
            continue;
        int64_t by = later_by(a, b, i);
        c.same += by == 0;
        c.earlier += by < 0;
        c.later += by > 0;
        c.gained -= by < 0 ? (double)by : 0;
        c.lost += by > 0 ? (double)by : 0;
        if (by > 0)
            worst_keep(&c, a, b, i);
    }
    return c;
}

static double mean_of(double sum, uint64_t n)
{
    return n ? sum / (double)n : 0;
}

static void change_print(FILE *to, const struct trace *t, const struct report_run *a,
                         const struct report_run *b)
{
    struct report_change c = change_of(t, a, b);
    double all = (double)(c.earlier + c.later + c.same);
    fprintf(to,
            "\n  With B %llu jobs (%.0f %%) start earlier, by %s in the mean; %llu (%.0f %%) "
            "later, by %s; "
            "%llu at the same time.\n",
            (unsigned long long)c.earlier, all > 0 ? 100 * (double)c.earlier / all : 0,
            span(mean_of(c.gained, c.earlier)).v, (unsigned long long)c.later,
            all > 0 ? 100 * (double)c.later / all : 0, span(mean_of(c.lost, c.later)).v,
            (unsigned long long)c.same);
    if (c.nworst == 0)
        return;
    fprintf(to, "\n  %-14s %-12s %8s %14s %14s %14s %14s\n", "later by most", "user", "width",
            "limit", "waits with A", "with B", "longer by");
    for (size_t k = 0; k < c.nworst; k++) {
        const struct trace_job *j = &t->job.v[c.worst[k]];
        struct report_text room;
        fprintf(to, "  %-14s %-12s %8lld %14s %14s %14s %14s\n", label_of(j, &room),
                j->user_name ? j->user_name : "-", (long long)j->procs, span((double)j->estimate).v,
                span((double)(a->result.job[c.worst[k]].start - j->submit)).v,
                span((double)(b->result.job[c.worst[k]].start - j->submit)).v,
                span((double)later_by(a, b, c.worst[k])).v);
    }
}

static const struct group_sum *group_find(const struct group_sum *g, size_t n, int64_t key)
{
    for (size_t i = 0; i < n; i++)
        if (g[i].key == key)
            return &g[i];
    return NULL;
}

static int by_key(const void *a, const void *b)
{
    const struct group_sum *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

static int by_count(const void *a, const void *b)
{
    const struct group_sum *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n ? 1 : -1) : by_key(a, b);
}

static void groups_print(FILE *to, const char *title, bool users, struct group_sum *a, size_t na,
                         struct group_sum *b, size_t nb)
{
    if (na > 1)
        qsort(a, na, sizeof a[0], users ? by_count : by_key);
    fprintf(to, "\n  %-14s %8s %14s %14s %8s %12s %12s %8s\n", title, "jobs", "mean wait A", "B",
            "B / A", "slowdown A", "B", "B / A");
    for (size_t i = 0; i < na && i < (users ? 10 : 24); i++) {
        const struct group_sum *x = &a[i], *y = group_find(b, nb, x->key);
        char name[32];
        if (!y)
            continue;
        if (users && x->name)
            snprintf(name, sizeof name, "%.14s", x->name);
        else
            snprintf(name, sizeof name, users ? "user %lld" : "%lld", (long long)x->key);
        if (!users && i + 1 < na && x->key > 1)
            snprintf(name + strlen(name), sizeof name - strlen(name), " to %lld",
                     (long long)(2 * x->key - 1));
        fprintf(to, "  %-14s %8llu %14s %14s %8s %12.2f %12.2f %8s\n", name,
                (unsigned long long)x->n, span(mean_of(x->wait, x->n)).v,
                span(mean_of(y->wait, y->n)).v,
                ratio(mean_of(x->wait, x->n), mean_of(y->wait, y->n)).v, mean_of(x->slow, x->n),
                mean_of(y->slow, y->n), ratio(mean_of(x->slow, x->n), mean_of(y->slow, y->n)).v);
    }
    if (users && na > 10)
        fprintf(to, "  and %zu more\n", na - 10);
}

static void groups_compare(FILE *to, const struct trace *t, const struct report_run *a,
                           const struct report_run *b)
{
    size_t na, nb;
    struct group_sum *x = groups_by_width(t, &a->result, &na),
                     *y = groups_by_width(t, &b->result, &nb);
    groups_print(to, "width", false, x, na, y, nb);
    free(x);
    free(y);
    x = groups_by_user(t, &a->result, &na);
    y = groups_by_user(t, &b->result, &nb);
    if (na > 1)
        groups_print(to, "user", true, x, na, y, nb);
    free(x);
    free(y);
}

static void live_compare(FILE *to, const struct trace *t, const struct report_run *a,
                         const struct report_run *b)
{
    size_t n, *v = by_start(t, &a->result, &n);
    fprintf(to, "  %-14s %-10s %-12s %6s %12s  %-17s %-17s %s\n", "JOB", "USER", "PARTITION",
            "CPUS", "LIMIT", "STARTS WITH A", "WITH B", "DIFFERENCE");
    for (size_t k = 0; k < n && k < LINES_MAX; k++) {
        const struct trace_job *j = &t->job.v[v[k]];
        struct report_text room, by = {"no start with B"};
        bool both = metrics_count(t, &b->result, v[k]);
        if (both)
            by = later_by(a, b, v[k]) ? span((double)later_by(a, b, v[k]))
                                      : (struct report_text){"the same"};
        fprintf(to, "  %-14s %-10s %-12s %6lld %12s  %-17s %-17s %s\n", label_of(j, &room),
                j->user_name ? j->user_name : "-", j->partition ? j->partition : "-",
                (long long)j->procs, span((double)j->estimate).v,
                when(t, a->result.job[v[k]].start).v,
                both ? when(t, b->result.job[v[k]].start).v : "-", by.v);
    }
    if (n > LINES_MAX)
        fprintf(to, "  and %zu more: remuda-sim run --starts FILE writes them all\n",
                n - LINES_MAX);
    fputc('\n', to);
    free(v);
}

void report_compare(FILE *to, const struct trace *t, const struct report_run *recorded,
                    const struct report_run *a, const struct report_run *b)
{
    fprintf(to, "  A is %s, B is %s\n", a->name, b->name);
    refusals(to, t, &a->result);
    if (b->result.refused != a->result.refused || b->result.elsewhere != a->result.elsewhere)
        refusals(to, t, &b->result);
    fputc('\n', to);
    if (t->live_at)
        live_compare(to, t, a, b);
    rows_print(to, recorded, a, b);
    change_print(to, t, a, b);
    if (!t->live_at)
        groups_compare(to, t, a, b);
}

void report_compare_json(FILE *to, const struct trace *t, const struct report_run *recorded,
                         const struct report_run *a, const struct report_run *b)
{
    struct report_change c = change_of(t, a, b);
    fputs("{\"a\": ", to);
    metrics_json(to, t, a->setup, &a->result, &a->m);
    fputs(", \"b\": ", to);
    metrics_json(to, t, b->setup, &b->result, &b->m);
    if (recorded)
        fprintf(to,
                ", \"recorded\": {\"wait\": {\"mean\": %.3f, \"p50\": %.0f, \"p95\": %.0f, "
                "\"max\": %.0f}, "
                "\"bsld\": {\"mean\": %.4f}}",
                recorded->m.wait.mean, recorded->m.wait.p50, recorded->m.wait.p95,
                recorded->m.wait.max, recorded->m.bsld.mean);
    fprintf(to,
            ", \"earlier\": %llu, \"later\": %llu, \"same\": %llu, \"gained_s\": %.0f, \"lost_s\": "
            "%.0f}\n",
            (unsigned long long)c.earlier, (unsigned long long)c.later, (unsigned long long)c.same,
            c.gained, c.lost);
}
