/* How long the planner takes. Rows of issue 3: sched-5k, sched-100k, an event on that state; and
 * how the time grows with nodes, jobs and shapes.
 * Usage: sched_bench [ROW]. Prints "name | figure unit | goal". */
#include "base/alloc.h"
#include "base/rng.h"
#include "base/vec.h"
#include "sched/answer/advice.h"
#include "sched/answer/blockers.h"
#include "sched/books/order.h"
#include "sched/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOW (INT64_C(1000000) * USEC_PER_SEC)

/* CPU time: the planner does nothing but compute, and what else the machine does is not its
 * time. */
static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

struct bench {
    struct cluster *cl;
    struct plan *plan;
    struct rng rng;
    struct job_request *shape;
    size_t nshapes;
    uint64_t next_id;
    VEC(uint64_t) running;
    VEC(uint32_t) shape_of; /* by job id */
    bool limits;            /* jobs count against caps (caps_of) */
};

static void nodes_make(struct bench *b, size_t n)
{
    char name[32];
    for (size_t i = 1; i <= n; i++) {
        snprintf(name, sizeof name, "n%zu", i);
        struct node node = {.name = name,
                            .state = NODE_UP,
                            .cpus = 64,
                            .sockets = 2,
                            .cores_per_socket = 32,
                            .threads_per_core = 1,
                            .memory_mib = 512000,
                            .gres = "gpu:a100:8",
                            .weight = 1};
        if (i % 4 == 0)
            node.gres = NULL;
        cluster_put_node(b->cl, &node, NULL);
    }
    struct partition p = {.name = "main",
                          .nodes = "ALL",
                          .is_default = true,
                          .priority_tier = 1,
                          .priority_job_factor = 1};
    cluster_put_partition(b->cl, &p, NULL);
}

/* Of the next bench_open */
static bool with_limits;
static bool by_priority; /* not in the default order, which tells users apart */
static bool to_all;      /* everybody is promised a start */

static void bench_open(struct bench *b, size_t nodes)
{
    *b = (struct bench){.cl = cluster_new(), .plan = plan_new(), .rng = {42}, .next_id = 1};
    b->limits = with_limits;
    struct settings usual;
    settings_default(&usual);
    if (by_priority)
        usual.word.order = ORDER_PRIORITY;
    if (to_all)
        usual.word.promises = PROMISES_ALL;
    cluster_set_policy(b->cl, &usual);
    nodes_make(b, nodes);
}

static void bench_close(struct bench *b)
{
    plan_free(b->plan);
    cluster_free(b->cl);
    free(b->shape);
    vec_done(&b->running);
    vec_done(&b->shape_of);
}

/* 1 to 64 nodes, five limits, and parts of nodes of different kinds: `n` different shapes. */
static void shapes_make(struct bench *b, size_t n, int32_t widest)
{
    static const int64_t hours[] = {1, 2, 4, 8, 24};
    static const char *const gpus[] = {NULL, "1", "2", "4", "8"};
    b->shape = xcalloc(n, sizeof b->shape[0]);
    b->nshapes = n;
    for (size_t i = 0; i < n; i++) {
        struct job_request *q = &b->shape[i];
        *q = (struct job_request){.partition = "main",
                                  .min_nodes = (int32_t)rng_range(&b->rng, 1, widest),
                                  .ntasks_per_node = 1,
                                  .cpus_per_task = (int32_t)rng_range(&b->rng, 1, 64),
                                  .gpus_per_node = gpus[rng_below(&b->rng, 5)],
                                  .mem_per_node_mib = 1000 * rng_range(&b->rng, 1, 400),
                                  .time_limit_us = hours[rng_below(&b->rng, 5)] * USEC_PER_HOUR};
    }
}

/* ---- limits: 500 users in 100 accounts in 10 groups, 20 QOS ---- */

#define USERS    500
#define ACCOUNTS 100
#define GROUPS   10
#define QOS      20
#define KINDS    5 /* jobs, nodes, CPUs, memory, GPUs */

/* Numbers of caps, by whose they are. */
enum {
    CAPS_ROOT = 1,
    CAPS_GROUP = 100,
    CAPS_ACCOUNT = 1000,
    CAPS_QOS = 2000,
    CAPS_USER = 10000,
    CAPS_QOS_ACCOUNT = 100000,
    CAPS_JOB = 3000 /* of a QOS, on each job by itself */
};

static void cap_make(struct bench *b, uint32_t id, int kind, int64_t most)
{
    static const enum cap_counts counts[KINDS] = {CAP_JOBS, CAP_NODES, CAP_CPUS, CAP_MEM, CAP_GRES};
    cluster_put_cap(
        b->cl, &(struct cap){.id = id,
                             .counts = counts[kind],
                             .gres = kind == 4 ? "gpu" : NULL,
                             .most = most,
                             .each = id >= CAPS_JOB && id < CAPS_USER ? CAP_EACH_JOB : CAP_TOGETHER,
                             .reason = REASON_QOS_MAX_JOBS_PER_USER,
                             .says = "a limit"});
}

/* All are set and wide, but that every third account may run two jobs; made when a job comes that
 * counts against them. */
static void caps_of(struct bench *b, uint64_t job, bool waits, char *text, size_t size)
{
    const int64_t wide = INT64_C(1) << 40;
    uint32_t user = (uint32_t)(job * 2654435761u >> 7) % USERS, account = user % ACCOUNTS,
             qos = (uint32_t)(job * 40503u >> 5) % QOS;
    const uint32_t first[] = {CAPS_ROOT,
                              CAPS_GROUP + account % GROUPS * KINDS,
                              CAPS_ACCOUNT + account * KINDS,
                              CAPS_QOS + qos * KINDS,
                              CAPS_USER + (qos * USERS + user) * KINDS,
                              CAPS_QOS_ACCOUNT + (qos * ACCOUNTS + account) * KINDS,
                              CAPS_JOB + qos * KINDS};
    size_t len = 0;
    for (size_t i = 0; i < ARRAY_LEN(first) - !waits; i++)
        for (uint32_t kind = 0; kind < KINDS; kind++) {
            bool held = kind == 0 && i == 2 && account % 3 == 0;
            cap_make(b, first[i] + kind, (int)kind, held ? 2 : wide);
            len +=
                (size_t)snprintf(text + len, size - len, "%s%u", len ? "," : "", first[i] + kind);
        }
}

static void submit(struct bench *b, uint32_t shape)
{
    char caps[512];
    if (b->limits)
        caps_of(b, b->next_id, true, caps, sizeof caps);
    struct waiting w = {.job_id = b->next_id++,
                        .req = &b->shape[shape],
                        .uid = 1000 + (uint32_t)rng_below(&b->rng, 500),
                        .elements = 1,
                        .submit_us = NOW - 3600 * USEC_PER_SEC + (int64_t)b->next_id,
                        .eligible_us = NOW - 3600 * USEC_PER_SEC + (int64_t)b->next_id};
    while (b->shape_of.n < b->next_id)
        vec_push(&b->shape_of, 0);
    b->shape_of.v[w.job_id] = shape;
    w.caps = b->limits ? caps : NULL;
    cluster_wait(b->cl, &w);
}

static void starts_apply(struct bench *b, int64_t now, bool ragged)
{
    for (size_t i = 0; i < b->plan->nstarts; i++) {
        const struct plan_start *s = &b->plan->start[i];
        int64_t limit = ragged ? rng_range(&b->rng, 60, s->limit_us / USEC_PER_SEC) * USEC_PER_SEC
                               : s->limit_us;
        cluster_start(b->cl, s->job_id, &b->shape[b->shape_of.v[s->job_id]], 1000, "main",
                      &s->alloc, now, now + limit);
        cluster_unwait(b->cl, s->job_id);
        if (b->limits) {
            char caps[512];
            caps_of(b, s->job_id, false, caps, sizeof caps);
            cluster_run_capped(b->cl, s->job_id, caps);
        }
        vec_push(&b->running, s->job_id);
    }
}

static size_t planned(const struct bench *b, uint64_t from)
{
    size_t n = 0;
    struct plan_wait w;
    for (uint64_t id = from; id < b->next_id; id++)
        n += plan_wait_of(b->plan, b->cl, id, &w) && w.planned_us > 0;
    return n;
}

static void row(const char *name, double figure, const char *unit, const char *goal)
{
    printf("%-34s | %10.4f %-9s | %s\n", name, figure, unit, goal);
    fflush(stdout);
}

/* A cluster that is full, and `jobs` waiting jobs. Returns the time of a full pass. */
static double full_pass(size_t nodes, size_t jobs, size_t shapes, int32_t widest, struct bench *b,
                        size_t *ret_planned)
{
    bench_open(b, nodes);
    shapes_make(b, shapes, widest);
    for (size_t i = 0; i < nodes; i++)
        submit(b, (uint32_t)rng_below(&b->rng, shapes));
    struct budget few = {.promises = 1};
    sched_plan(b->cl, NOW, &few, b->plan);
    starts_apply(b, NOW, true);
    for (uint64_t id = 1; id < b->next_id; id++)
        cluster_unwait(b->cl, id);
    uint64_t from = b->next_id;
    for (size_t i = 0; i < jobs; i++)
        submit(b, shapes == jobs ? (uint32_t)i : (uint32_t)rng_below(&b->rng, shapes));
    plan_free(b->plan);
    b->plan = plan_new();
    double start = now_ms();
    sched_plan(b->cl, NOW, NULL, b->plan);
    double took = now_ms() - start;
    if (ret_planned)
        *ret_planned = planned(b, from) + b->plan->nstarts;
    return took;
}

static void sched_5k(void)
{
    struct bench b;
    size_t n;
    row("sched-5k full pass", full_pass(1000, 5000, 5000, 64, &b, &n), "ms", "<= 100");
    row("sched-5k planned starts", (double)n, "jobs", "5000");
    bench_close(&b);
}

static int double_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Beside the pass without limits, in turn: five of each, the least counts. */
static void sched_limits(void)
{
    double least[2] = {0, 0};
    for (int i = 0; i < 10; i++) {
        struct bench b;
        with_limits = i % 2;
        double took = full_pass(1000, 5000, 5000, 64, &b, NULL);
        bench_close(&b);
        least[i % 2] = i < 2 || took < least[i % 2] ? took : least[i % 2];
    }
    with_limits = false;
    row("sched-limits full pass", least[1], "ms", "");
    row("sched-limits, of a pass without", least[1] / least[0], "times", "<= 1.3");
}

/* In the default order, each of 500 users with whatever shape, beside one that knows no users, in
 * turn: three of each, the least counts. */
static void sched_users(const char *what, size_t jobs, size_t shapes)
{
    double least[2] = {0, 0};
    char name[96];
    for (int i = 0; i < 6; i++) {
        struct bench b;
        by_priority = i % 2 == 0;
        double took = full_pass(1000, jobs, shapes, 64, &b, NULL);
        bench_close(&b);
        least[i % 2] = i < 2 || took < least[i % 2] ? took : least[i % 2];
    }
    by_priority = false;
    snprintf(name, sizeof name, "sched-users %s", what);
    row(name, least[1], "ms", "");
    snprintf(name, sizeof name, "sched-users %s, of a pass by priority", what);
    row(name, least[1] / least[0], "times", "");
}

/* 34,000 waiting jobs with promises=all beside the default, in turn: three of each, the least
 * counts. */
static void sched_promises(void)
{
    double least[2] = {0, 0};
    for (int i = 0; i < 6; i++) {
        struct bench b;
        to_all = i % 2;
        double took = full_pass(1000, 34000, 400, 64, &b, NULL);
        bench_close(&b);
        least[i % 2] = i < 2 || took < least[i % 2] ? took : least[i % 2];
    }
    to_all = false;
    row("sched-promises, 34,000 jobs", least[1], "ms", "");
    row("sched-promises, of the default", least[1] / least[0], "times", "<= 3");
}

static void sched_100k(void)
{
    struct bench b;
    size_t n;
    row("sched-100k full pass", full_pass(10000, 100000, 40, 16, &b, &n), "ms", "<= 500");
    row("sched-100k planned starts", (double)n, "jobs", "100000");
    bench_close(&b);
}

/* One event, its pass, and what starts in it. Returns the time. */
static double event(struct bench *b, size_t i)
{
    int64_t now = NOW + (int64_t)i * 1000;
    double start = now_ms();
    if (i % 2)
        submit(b, (uint32_t)rng_below(&b->rng, b->nshapes));
    else
        cluster_release(b->cl, b->running.v[i]);
    sched_plan(b->cl, now, NULL, b->plan);
    starts_apply(b, now, false);
    return now_ms() - start;
}

static void sched_event(void)
{
    struct bench b;
    double took[200];
    full_pass(10000, 100000, 40, 16, &b, NULL);
    starts_apply(&b, NOW, false);
    for (size_t i = 0; i < ARRAY_LEN(took); i++)
        took[i] = event(&b, i);
    qsort(took, ARRAY_LEN(took), sizeof took[0], double_order);
    row("sched-event, median", took[ARRAY_LEN(took) / 2], "ms", "<= 5");
    row("sched-event, p99", took[ARRAY_LEN(took) * 99 / 100], "ms", "");
    bench_close(&b);
}

/* All that `remuda why JOB` asks of the planner. */
static double why_one(struct bench *b, uint64_t id, int64_t now, double *ret_advice)
{
    struct arena *a = arena_new();
    struct advices v;
    struct plan_wait w;
    blocker_vec blockers = {0};
    uint64_t ahead[5];
    double start = now_ms();
    plan_wait_of(b->plan, b->cl, id, &w);
    sched_ahead(b->cl, b->plan, id, ahead, 5);
    sched_blockers(b->cl, b->plan, id, now, a, &blockers);
    double middle = now_ms();
    sched_advise(b->cl, b->plan, id, NULL, now, ADVICE_COST, a, &v);
    double took = now_ms() - start;
    *ret_advice = now_ms() - middle;
    advices_done(&v);
    vec_done(&blockers);
    arena_free(a);
    return took;
}

static void why(const char *name, size_t nodes, size_t jobs, size_t shapes, const char *goal)
{
    struct bench b;
    double took[41], advice[41];
    char text[64];
    full_pass(nodes, jobs, shapes, 16, &b, NULL);
    starts_apply(&b, NOW, false);
    sched_plan(b.cl, NOW, NULL, b.plan);
    for (size_t i = 0; i < ARRAY_LEN(took); i++)
        took[i] = why_one(&b, b.next_id - 1 - rng_below(&b.rng, jobs), NOW, &advice[i]);
    qsort(took, ARRAY_LEN(took), sizeof took[0], double_order);
    qsort(advice, ARRAY_LEN(advice), sizeof advice[0], double_order);
    snprintf(text, sizeof text, "%s, median", name);
    row(text, took[ARRAY_LEN(took) / 2], "ms", "");
    snprintf(text, sizeof text, "%s, longest", name);
    row(text, took[ARRAY_LEN(took) - 1], "ms", goal);
    snprintf(text, sizeof text, "%s, of it advice, longest", name);
    row(text, advice[ARRAY_LEN(took) - 1], "ms", "");
    bench_close(&b);
}

/* The least of some passes: what else is in the caches is not to be measured here. */
static double least_pass(const size_t v[3])
{
    double least = 0;
    for (int i = 0; i < 3; i++) {
        struct bench b;
        double took = full_pass(v[0], v[1], v[2], 16, &b, NULL);
        bench_close(&b);
        least = i == 0 || took < least ? took : least;
    }
    return least;
}

static void growth(void)
{
    const size_t base[3] = {300, 2000, 40};
    static const char *const what[] = {"nodes x10", "jobs x10", "shapes x10"};
    double one = least_pass(base);
    row("growth: 300 nodes, 2,000 jobs, 40 shapes", one, "ms", "");
    for (int k = 0; k < 3; k++) {
        size_t v[3] = {base[0], base[1], base[2]};
        v[k] *= 10;
        row(what[k], least_pass(v) / one, "times", "");
    }
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : "";
    if (!*only || strcmp(only, "sched-5k") == 0)
        sched_5k();
    if (!*only || strcmp(only, "sched-limits") == 0)
        sched_limits();
    if (!*only || strcmp(only, "sched-users") == 0) {
        sched_users("5,000 shapes", 5000, 5000);
        sched_users("20,000 jobs of 40 shapes", 20000, 40);
    }
    if (!*only || strcmp(only, "sched-promises") == 0)
        sched_promises();
    if (!*only || strcmp(only, "sched-100k") == 0)
        sched_100k();
    if (!*only || strcmp(only, "sched-event") == 0)
        sched_event();
    if (!*only || strcmp(only, "sched-why") == 0) {
        why("why, 1,000 nodes, 5,000 shapes", 1000, 5000, 5000, "<= 100");
        why("why, 10,000 nodes, 100,000 jobs", 10000, 100000, 40, "<= 100");
    }
    if (!*only || strcmp(only, "growth") == 0)
        growth();
    return 0;
}
