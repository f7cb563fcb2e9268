#include "sim/metrics.h"

#include "base/alloc.h"
#include "base/map.h"
#include "sim/sha256.h"

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
    return n > 0 ? v[n * percent / 100] : 0;
}

static double slowdown(const struct trace_job *j, const struct replayed *r)
{
    double least = j->run > 10 ? (double)j->run : 10;
    double s = (double)(r->start - j->submit + j->run) / least;
    return s > 1 ? s : 1;
}

static void waits(const struct trace *t, const struct replay_result *r, struct metrics *m)
{
    size_t n = t->job.n;
    double *wait = xcalloc(n + 1, sizeof wait[0]), *slow = xcalloc(n + 1, sizeof slow[0]);
    double area = 0, weighted = 0, waited = 0, slowed = 0;
    for (size_t i = 0; i < n; i++) {
        const struct trace_job *j = &t->job.v[i];
        double work = (double)j->run * (double)j->procs;
        wait[i] = (double)(r->job[i].start - j->submit);
        slow[i] = slowdown(j, &r->job[i]);
        waited += wait[i];
        slowed += slow[i];
        area += work;
        weighted += work * wait[i];
    }
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

struct user_sum {
    double slow;
    uint64_t n;
};

/* The mean slowdown of the user who fares worst, of those with ten jobs at least. */
static double worst_user(const struct trace *t, const struct replay_result *r)
{
    struct map_u64 *users = map_u64_new();
    struct map_walk walk = {0};
    double worst = 0;
    for (size_t i = 0; i < t->job.n; i++) {
        uint64_t user = (uint64_t)(t->job.v[i].user + 1);
        struct user_sum *u = map_u64_get(users, user);
        if (!u) {
            u = xcalloc(1, sizeof *u);
            map_u64_put(users, user, u);
        }
        u->slow += slowdown(&t->job.v[i], &r->job[i]);
        u->n++;
    }
    while (map_u64_next(users, &walk)) {
        struct user_sum *u = walk.value;
        if (u->n >= 10 && u->slow / (double)u->n > worst)
            worst = u->slow / (double)u->n;
        free(u);
    }
    map_u64_free(users);
    return worst;
}

static void use(const struct trace *t, const struct replay_machine *machine, const struct replay_result *r,
                struct metrics *m)
{
    size_t n = t->job.n;
    int64_t first = n ? t->job.v[0].submit : 0, last_submit = n ? t->job.v[n - 1].submit : 0, last = first;
    double work = 0, early = 0, procs = (double)machine->procs;
    for (size_t i = 0; i < n; i++) {
        const struct replayed *j = &r->job[i];
        int64_t until = j->end < last_submit ? j->end : last_submit;
        work += (double)(j->end - j->start) * (double)t->job.v[i].procs;
        if (until > j->start)
            early += (double)(until - j->start) * (double)t->job.v[i].procs;
        last = j->end > last ? j->end : last;
    }
    m->makespan = last - first;
    m->util = m->makespan ? work / (procs * (double)m->makespan) : 0;
    m->util_to_last_submit = last_submit > first ? early / (procs * (double)(last_submit - first)) : 0;
}

static void pass_times(const struct replay_result *r, struct metrics *m)
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

struct line {
    int64_t id;
    size_t i;
};

static int line_order(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static struct line *lines_of(const struct trace *t)
{
    struct line *l = xcalloc(t->job.n + 1, sizeof l[0]);
    for (size_t i = 0; i < t->job.n; i++)
        l[i] = (struct line){t->job.v[i].id, i};
    qsort(l, t->job.n, sizeof l[0], line_order);
    return l;
}

static void hashes(const struct trace *t, const struct replay_result *r, struct metrics *m)
{
    struct sha256 schedule, jobs;
    struct line *l = lines_of(t);
    char text[160];
    sha256_init(&schedule);
    sha256_init(&jobs);
    for (size_t k = 0; k < t->job.n; k++) {
        const struct trace_job *j = &t->job.v[l[k].i];
        int n = snprintf(text, sizeof text, "%lld %lld\n", (long long)j->id, (long long)r->job[l[k].i].start);
        sha256_add(&schedule, text, (size_t)n);
        j = &t->job.v[k];
        n = snprintf(text, sizeof text, "%lld %lld %lld %lld %lld\n", (long long)j->id, (long long)j->submit,
                     (long long)j->run, (long long)j->procs, (long long)j->estimate);
        sha256_add(&jobs, text, (size_t)n);
    }
    sha256_hex(&schedule, m->schedule);
    sha256_hex(&jobs, m->jobs);
    free(l);
}

void metrics_of(const struct trace *t, const struct replay_machine *machine, const struct replay_result *r,
                struct metrics *ret)
{
    *ret = (struct metrics){0};
    waits(t, r, ret);
    ret->bsld.worst_user = worst_user(t, r);
    use(t, machine, r, ret);
    pass_times(r, ret);
    hashes(t, r, ret);
}

void starts_csv(FILE *to, const struct trace *t, const struct replay_result *r)
{
    static const char *const why[] = {
        [START_HEAD] = "head", [START_PASSED] = "backfill", [START_PROMISED] = "reservation"};
    struct line *l = lines_of(t);
    fputs("job,submit,start,end,procs,nodes,why\n", to);
    for (size_t k = 0; k < t->job.n; k++) {
        const struct trace_job *j = &t->job.v[l[k].i];
        const struct replayed *s = &r->job[l[k].i];
        fprintf(to, "%lld,%lld,%lld,%lld,%lld,%d,%s\n", (long long)j->id, (long long)j->submit,
                (long long)s->start, (long long)s->end, (long long)j->procs, s->nodes, why[s->why]);
    }
    free(l);
}

static const char *estimates_name(const struct replay_setup *s, char text[40])
{
    switch (s->estimates) {
    case ESTIMATES_USER:
        return "user";
    case ESTIMATES_PERFECT:
        return "perfect";
    case ESTIMATES_FACTOR:
        break;
    }
    snprintf(text, 40, "factor:%g", (double)s->factor / 1000);
    return text;
}

void metrics_json(FILE *to, const struct trace *t, const struct replay_setup *s,
                  const struct replay_result *r, const struct metrics *m)
{
    char text[40];
    fprintf(to, "{\"trace\": \"%s\", \"sha256_jobs\": \"%s\", ", t->name, m->jobs);
    if (s->machine.nodes)
        fprintf(to, "\"machine\": \"%lldx%lld\", ", (long long)s->machine.nodes,
                (long long)s->machine.node_procs);
    else
        fprintf(to, "\"machine\": \"%lld\", ", (long long)s->machine.procs);
    fprintf(
        to,
        "\"jobs\": %zu, \"dropped\": {\"run0\": %llu, \"procs0\": %llu, \"submit0\": %llu, \"wide\": %llu}, ",
        t->job.n, (unsigned long long)t->dropped.run0, (unsigned long long)t->dropped.procs0,
        (unsigned long long)t->dropped.submit0, (unsigned long long)t->dropped.wide);
    fprintf(to, "\"rule\": \"%s\", \"policy\": \"%s\", \"estimates\": \"%s\", ",
            s->rule == RULE_EVENT ? "E" : "B", s->policy.name, estimates_name(s, text));
    fprintf(to,
            "\"wait\": {\"mean\": %.3f, \"p50\": %.0f, \"p95\": %.0f, \"p99\": %.0f, \"max\": %.0f, "
            "\"area\": %.1f}, ",
            m->wait.mean, m->wait.p50, m->wait.p95, m->wait.p99, m->wait.max, m->wait.area);
    fprintf(to, "\"bsld\": {\"mean\": %.4f, \"p95\": %.2f, \"p99\": %.1f, \"worst_user\": %.2f}, ",
            m->bsld.mean, m->bsld.p95, m->bsld.p99, m->bsld.worst_user);
    fprintf(to, "\"util\": %.6f, \"util_to_last_submit\": %.6f, \"makespan\": %lld, \"passes\": %llu, ",
            m->util, m->util_to_last_submit, (long long)m->makespan, (unsigned long long)r->passes);
    if (!s->untimed)
        fprintf(to, "\"pass_us\": {\"mean\": %.1f, \"p99\": %.1f, \"max\": %.1f}, ", m->pass_us.mean,
                m->pass_us.p99, m->pass_us.max);
    fprintf(to, "\"max_queue\": %llu, \"sha256_schedule\": \"%s\"}", (unsigned long long)r->max_queue,
            m->schedule);
}
