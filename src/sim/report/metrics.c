#include "sim/report/metrics.h"

#include "base/alloc.h"
#include "base/map.h"
#include "sim/report/sha256.h"

#include <stdlib.h>
#include <string.h>

static int double_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value that so many percent of all are below; `v` is sorted. */
static double percentile(const double *v, size_t n, unsigned percent)
{
    ASSERT(percent < 100);
    return n > 0 ? v[n * percent / 100] : 0;
}

double metrics_slowdown(const struct trace_job *j, const struct replayed *r)
{
    double least = j->run > 10 ? (double)j->run : 10;
    double s = (double)(r->start - j->submit + j->run) / least;
    return s > 1 ? s : 1;
}

bool metrics_count(const struct trace *t, const struct replay_result *r, size_t i)
{
    ASSERT(i < t->job.n);
    return trace_counts(&t->job.v[i]) && !r->job[i].refused;
}

bool recorded_result(const struct trace *t, struct replay_result *ret)
{
    *ret = (struct replay_result){0};
    for (size_t i = 0; i < t->job.n; i++)
        if (t->job.v[i].started < 0 || t->live_at)
            return false;
    ret->job = xcalloc(t->job.n + 1, sizeof ret->job[0]);
    ret->text = arena_new();
    for (size_t i = 0; i < t->job.n; i++) {
        const struct trace_job *j = &t->job.v[i];
        int64_t start = j->started > j->submit ? j->started : j->submit;
        ret->job[i] = (struct replayed){.start = start, .end = start + j->run};
    }
    return t->job.n > 0;
}

static void waits(const struct trace *t, const struct replay_result *r, struct sim_metrics *m)
{
    size_t n = 0;
    double *wait = xcalloc(t->job.n + 1, sizeof wait[0]),
           *slow = xcalloc(t->job.n + 1, sizeof slow[0]);
    double area = 0, weighted = 0, waited = 0, slowed = 0;
    for (size_t i = 0; i < t->job.n; i++) {
        const struct trace_job *j = &t->job.v[i];
        if (!metrics_count(t, r, i))
            continue;
        double work = (double)j->run * (double)j->procs;
        wait[n] = (double)(r->job[i].start - j->submit);
        slow[n] = metrics_slowdown(j, &r->job[i]);
        waited += wait[n];
        slowed += slow[n];
        area += work;
        weighted += work * wait[n++];
    }
    m->jobs = n;
    qsort(wait, n, sizeof wait[0], double_order);
    qsort(slow, n, sizeof slow[0], double_order);
    m->wait.mean = n ? waited / (double)n : 0;
    m->wait.p50 = percentile(wait, n, 50);
    m->wait.p95 = percentile(wait, n, 95);
    m->wait.p99 = percentile(wait, n, 99);
    m->wait.max = n ? wait[n - 1] : 0;
    m->wait.area = area > 0 ? weighted / area : 0;
    m->bsld.mean = n ? slowed / (double)n : 0;
    m->bsld.p95 = percentile(slow, n, 95);
    m->bsld.p99 = percentile(slow, n, 99);
    free(wait);
    free(slow);
}

/* ---- groups ---- */

static int64_t user_key(const struct trace_job *j)
{
    return j->user;
}

/* The power of two at or below the width. */
static int64_t width_key(const struct trace_job *j)
{
    int64_t width = 1;
    while (width * 2 <= j->procs)
        width *= 2;
    return width;
}

static struct group_sum *groups_of(const struct trace *t, const struct replay_result *r,
                                   int64_t (*key_of)(const struct trace_job *), size_t *ret_n)
{
    struct map_u64 *at = map_u64_new();
    VEC(struct group_sum) group = {0};
    for (size_t i = 0; i < t->job.n; i++) {
        const struct trace_job *j = &t->job.v[i];
        uint64_t key = (uint64_t)(key_of(j) + 1);
        if (!metrics_count(t, r, i))
            continue;
        size_t k = (size_t)(uintptr_t)map_u64_get(at, key);
        if (k == 0) {
            vec_push(&group, ((struct group_sum){.key = key_of(j), .name = j->user_name}));
            k = group.n;
            map_u64_put(at, key, (void *)(uintptr_t)k);
        }
        group.v[k - 1].wait += (double)(r->job[i].start - j->submit);
        group.v[k - 1].slow += metrics_slowdown(j, &r->job[i]);
        group.v[k - 1].n++;
    }
    map_u64_free(at);
    *ret_n = group.n;
    return group.v;
}

struct group_sum *groups_by_user(const struct trace *t, const struct replay_result *r,
                                 size_t *ret_n)
{
    return groups_of(t, r, user_key, ret_n);
}

struct group_sum *groups_by_width(const struct trace *t, const struct replay_result *r,
                                  size_t *ret_n)
{
    return groups_of(t, r, width_key, ret_n);
}

/* The group that fares worst by mean slowdown, of those with ten jobs at least. */
static struct group_sum worst_of(struct group_sum *g, size_t n)
{
    struct group_sum worst = {.key = -1, .n = 1};
    for (size_t i = 0; i < n; i++)
        if (g[i].n >= 10 && g[i].slow / (double)g[i].n > worst.slow / (double)worst.n)
            worst = g[i];
    free(g);
    return worst;
}

static void worst(const struct trace *t, const struct replay_result *r, struct sim_metrics *m)
{
    size_t n;
    struct group_sum *g = groups_by_user(t, r, &n), w = worst_of(g, n);
    m->worst_user = w.key;
    m->worst_user_name = w.name;
    m->bsld.worst_user = w.slow / (double)w.n;
    g = groups_by_width(t, r, &n);
    w = worst_of(g, n);
    m->worst_width = w.key > 0 ? w.key : 0;
    m->bsld.worst_width = w.slow / (double)w.n;
}

static void use(const struct trace *t, const struct replay_machine *machine,
                const struct replay_result *r, struct sim_metrics *m)
{
    size_t n = t->job.n;
    int64_t first = n ? t->job.v[0].submit : 0, last_submit = n ? t->job.v[n - 1].submit : 0,
            last = first;
    double work = 0, early = 0, procs = (double)machine->procs;
    for (size_t i = 0; i < n; i++) {
        const struct replayed *j = &r->job[i];
        if (j->refused)
            continue;
        int64_t until = j->end < last_submit ? j->end : last_submit;
        work += (double)(j->end - j->start) * (double)t->job.v[i].procs;
        if (until > j->start)
            early += (double)(until - j->start) * (double)t->job.v[i].procs;
        last = j->end > last ? j->end : last;
    }
    m->makespan = last - first;
    m->util = m->makespan ? work / (procs * (double)m->makespan) : 0;
    m->util_to_last_submit =
        last_submit > first ? early / (procs * (double)(last_submit - first)) : 0;
}

static void pass_times(const struct replay_result *r, struct sim_metrics *m)
{
    size_t n = r->pass_ns.n;
    double *us = xcalloc(n + 1, sizeof us[0]), sum = 0;
    for (size_t i = 0; i < n; i++) {
        us[i] = r->pass_ns.v[i] / 1e3;
        sum += us[i];
    }
    qsort(us, n, sizeof us[0], double_order);
    m->pass_us.mean = n ? sum / (double)n : 0;
    m->pass_us.p99 = percentile(us, n, 99);
    m->pass_us.max = n ? us[n - 1] : 0;
    free(us);
}

struct metrics_line {
    int64_t id;
    size_t i;
};

static int line_order(const void *a, const void *b)
{
    const struct metrics_line *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static struct metrics_line *lines_of(const struct trace *t)
{
    struct metrics_line *l = xcalloc(t->job.n + 1, sizeof l[0]);
    for (size_t i = 0; i < t->job.n; i++)
        l[i] = (struct metrics_line){t->job.v[i].id, i};
    qsort(l, t->job.n, sizeof l[0], line_order);
    return l;
}

static void hashes(const struct trace *t, const struct replay_result *r, struct sim_metrics *m)
{
    struct sha256 schedule, jobs;
    struct metrics_line *l = lines_of(t);
    char text[160];
    sha256_init(&schedule);
    sha256_init(&jobs);
    for (size_t k = 0; k < t->job.n; k++) {
        const struct trace_job *j = &t->job.v[l[k].i];
        int n = snprintf(text, sizeof text, "%lld %lld\n", (long long)j->id,
                         (long long)r->job[l[k].i].start);
        sha256_add(&schedule, text, (size_t)n);
        j = &t->job.v[k];
        n = snprintf(text, sizeof text, "%lld %lld %lld %lld %lld\n", (long long)j->id,
                     (long long)j->submit, (long long)j->run, (long long)j->procs,
                     (long long)j->estimate);
        sha256_add(&jobs, text, (size_t)n);
    }
    sha256_hex(&schedule, m->schedule);
    sha256_hex(&jobs, m->jobs_hash);
    free(l);
}

void metrics_of(const struct trace *t, const struct replay_machine *machine,
                const struct replay_result *r, struct sim_metrics *ret)
{
    *ret = (struct sim_metrics){0};
    waits(t, r, ret);
    worst(t, r, ret);
    use(t, machine, r, ret);
    pass_times(r, ret);
    hashes(t, r, ret);
}

void starts_csv(FILE *to, const struct trace *t, const struct replay_result *r)
{
    static const char *const why[] = {
        [START_HEAD] = "head", [START_PASSED] = "backfill", [START_PROMISED] = "reservation"};
    struct metrics_line *l = lines_of(t);
    fputs("job,submit,start,end,procs,nodes,why\n", to);
    for (size_t k = 0; k < t->job.n; k++) {
        const struct trace_job *j = &t->job.v[l[k].i];
        const struct replayed *s = &r->job[l[k].i];
        if (j->label)
            fprintf(to, "%s,", j->label);
        else
            fprintf(to, "%lld,", (long long)j->id);
        if (s->refused)
            fprintf(to, "%lld,,,%lld,,refused\n", (long long)(j->submit + t->epoch),
                    (long long)j->procs);
        else
            fprintf(to, "%lld,%lld,%lld,%lld,%d,%s\n", (long long)(j->submit + t->epoch),
                    (long long)(s->start + t->epoch), (long long)(s->end + t->epoch),
                    (long long)j->procs, s->nodes, j->nodelist ? "running" : why[s->why]);
    }
    free(l);
}

static const char *estimates_name(const struct replay_setup *s, char text[40])
{
    switch (s->estimates) {
    case ESTIMATES_USER: return "user";
    case ESTIMATES_PERFECT: return "perfect";
    case ESTIMATES_PREDICT: return "predict";
    case ESTIMATES_FACTOR: break;
    }
    snprintf(text, 40, "factor:%g", (double)s->factor / 1000);
    return text;
}

void metrics_json(FILE *to, const struct trace *t, const struct replay_setup *s,
                  const struct replay_result *r, const struct sim_metrics *m)
{
    char text[40];
    fprintf(to, "{\"trace\": \"%s\", \"sha256_jobs\": \"%s\", ", t->name, m->jobs_hash);
    if (s->machine.path)
        fprintf(to, "\"machine\": \"%s\", ", s->machine.path);
    else if (s->machine.nodes)
        fprintf(to, "\"machine\": \"%lldx%lld\", ", (long long)s->machine.nodes,
                (long long)s->machine.node_procs);
    else
        fprintf(to, "\"machine\": \"%lld\", ", (long long)s->machine.procs);
    fprintf(to,
            "\"jobs\": %zu, \"dropped\": {\"run0\": %llu, \"procs0\": %llu, \"submit0\": %llu, "
            "\"wide\": "
            "%llu, \"still\": %llu, \"refused\": %llu}, ",
            m->jobs, (unsigned long long)t->dropped.run0, (unsigned long long)t->dropped.procs0,
            (unsigned long long)t->dropped.submit0, (unsigned long long)t->dropped.wide,
            (unsigned long long)t->dropped.still, (unsigned long long)r->refused);
    fprintf(to, "\"rule\": \"%s\", \"policy\": \"%s\", \"estimates\": \"%s\", ",
            s->rule == RULE_EVENT ? "E" : "B", s->policy.name, estimates_name(s, text));
    fprintf(
        to,
        "\"wait\": {\"mean\": %.3f, \"p50\": %.0f, \"p95\": %.0f, \"p99\": %.0f, \"max\": %.0f, "
        "\"area\": %.1f}, ",
        m->wait.mean, m->wait.p50, m->wait.p95, m->wait.p99, m->wait.max, m->wait.area);
    fprintf(to,
            "\"bsld\": {\"mean\": %.4f, \"p95\": %.2f, \"p99\": %.1f, \"worst_user\": %.2f, "
            "\"worst_width\": "
            "%.2f}, ",
            m->bsld.mean, m->bsld.p95, m->bsld.p99, m->bsld.worst_user, m->bsld.worst_width);
    fprintf(to,
            "\"util\": %.6f, \"util_to_last_submit\": %.6f, \"makespan\": %lld, \"passes\": %llu, ",
            m->util, m->util_to_last_submit, (long long)m->makespan, (unsigned long long)r->passes);
    if (!s->untimed)
        fprintf(to, "\"pass_us\": {\"mean\": %.1f, \"p99\": %.1f, \"max\": %.1f}, ",
                m->pass_us.mean, m->pass_us.p99, m->pass_us.max);
    if (s->machine.nodes)
        fprintf(to, "\"fragmented\": %.4f, ", r->fragmented);
    if (r->promises)
        fprintf(to, "\"promises\": {\"made\": %llu, \"moved_later\": %llu}, ",
                (unsigned long long)r->promises, (unsigned long long)r->moved_later);
    if (r->lost_s)
        fprintf(to, "\"lost_seconds\": %lld, ", (long long)r->lost_s);
    fprintf(to, "\"max_queue\": %llu, \"sha256_schedule\": \"%s\"}",
            (unsigned long long)r->max_queue, m->schedule);
}
