/* Random clusters and queues: nothing is given twice, promises are kept, equal jobs start in order, a cluster built anew plans the same, and
 * on equal whole nodes the starts are those of EASY as the literature counts it. */
#include "sched_help.h"

#include "base/rng.h"

#define WORLDS_OF(n) (n)

struct task {
    uint64_t id;
    struct job_request req;
    int64_t submit, limit, runs, start, end; /* start 0 = waits */
    uint32_t elements;
    bool gone;
    int64_t promised;
    uint32_t nodes;
    struct arena *arena; /* its allocation, once it runs */
    struct alloc al;
    const char *part;
};

struct sim {
    struct rng rng;
    struct cluster *cl;
    struct plan *plan;
    struct node node[40];
    char name[40][32];
    size_t nnodes;
    struct partition part[3];
    size_t nparts;
    struct task job[200];
    size_t njobs;
    uint64_t next_id;
    int64_t now;
    bool exact; /* jobs end when their limit says */
};

/* ---- making worlds ---- */

static const char *const gres_of[] = {"gpu:a100:4", "gpu:v100:2,nic:1", "gpu:4", NULL, NULL};
static const char *const features_of[] = {"intel,fast", "amd", "amd,fast", NULL};

static void nodes_make(struct sim *s)
{
    size_t kinds = 1 + rng_below(&s->rng, 3);
    s->nnodes = 1 + rng_below(&s->rng, 12);
    for (size_t i = 0; i < s->nnodes; i++) {
        struct rng kind = {rng_below(&s->rng, kinds) * 7919 + s->nnodes};
        snprintf(s->name[i], sizeof s->name[i], "n%zu", i + 1);
        s->node[i] = a_node(s->name[i]);
        s->node[i].threads_per_core = 1 + (int32_t)rng_below(&kind, 2);
        s->node[i].cpus = 8 * s->node[i].threads_per_core;
        s->node[i].memory_mib = 1000 * rng_range(&kind, 1, 8);
        s->node[i].gres = gres_of[rng_below(&kind, 5)];
        s->node[i].features = features_of[rng_below(&kind, 4)];
        s->node[i].weight = (int32_t)rng_below(&kind, 3);
        s->node[i].drain = rng_chance(&s->rng, 50);
        put_node(s->cl, &s->node[i]);
    }
}

static void parts_make(struct sim *s)
{
    static const char *const names[] = {"main", "urgent", "shared"};
    s->nparts = 1 + rng_below(&s->rng, 3);
    for (size_t i = 0; i < s->nparts; i++) {
        s->part[i] = a_part(names[i], "ALL");
        s->part[i].priority_tier = 1 + (int32_t)rng_below(&s->rng, 2);
        s->part[i].share = i == 2 ? SHARE_FORCE : rng_chance(&s->rng, 100) ? SHARE_EXCLUSIVE : SHARE_NO;
        s->part[i].share_count = 2;
        put_part(s->cl, &s->part[i]);
    }
}

static const char *pick(struct rng *r, const char *const *v, size_t n)
{
    return v[rng_below(r, n)];
}

static struct job_request request_make(struct sim *s)
{
    static const char *const gpus[] = {"1", "2", "a100:1", "v100:2", "a100|v100:2", "4"};
    static const char *const wants[] = {"fast", "intel|amd", "[intel|amd]", "amd&fast", "fast*1"};
    struct rng *r = &s->rng;
    struct job_request q = {.partition = s->part[rng_below(r, s->nparts)].name};
    if (s->nparts > 1 && rng_chance(r, 100))
        q.partition = "main,urgent";
    if (rng_chance(r, 400))
        q.min_nodes = (int32_t)rng_range(r, 1, 4);
    if (rng_chance(r, 300))
        q.ntasks = (int32_t)rng_range(r, 1, 12);
    if (rng_chance(r, 100) && q.min_nodes)
        q.max_nodes = q.min_nodes + (int32_t)rng_below(r, 3);
    if (rng_chance(r, 300))
        q.cpus_per_task = (int32_t)rng_range(r, 1, 6);
    if (rng_chance(r, 200))
        q.ntasks_per_node = (int32_t)rng_range(r, 1, 3);
    if (rng_chance(r, 500))
        q.mem_per_node_mib = rng_range(r, 1, 2000);
    else if (rng_chance(r, 300))
        q.mem_per_cpu_mib = rng_range(r, 1, 300);
    if (rng_chance(r, 200))
        q.gpus_per_node = pick(r, gpus, ARRAY_LEN(gpus));
    else if (rng_chance(r, 100))
        q.gpus = pick(r, gpus, ARRAY_LEN(gpus));
    else if (rng_chance(r, 100))
        q.gpus_per_task = pick(r, gpus, ARRAY_LEN(gpus));
    if (rng_chance(r, 100))
        q.constraint = pick(r, wants, ARRAY_LEN(wants));
    if (rng_chance(r, 100))
        q.exclusive = rng_chance(r, 500) ? EXCLUSIVE_NODE : EXCLUSIVE_USER;
    q.contiguous = rng_chance(r, 30);
    q.time_limit_us = rng_range(r, 1, 5) * 10 * MIN;
    if (rng_chance(r, 50))
        q.time_min_us = 10 * MIN;
    return q;
}

static void job_wait(struct cluster *cl, const struct task *j)
{
    struct waiting w = {.job_id = j->id,
                        .req = &j->req,
                        .uid = 1000 + (uint32_t)(j->id % 3),
                        .elements = j->elements,
                        .submit_us = j->submit,
                        .eligible_us = j->submit};
    cluster_wait(cl, &w);
}

static void submit(struct sim *s)
{
    struct task *j = &s->job[s->njobs];
    *j = (struct task){.id = s->next_id++, .submit = s->now, .elements = 1};
    if (s->njobs > 0 && rng_chance(&s->rng, 500))
        j->req = s->job[rng_below(&s->rng, s->njobs)].req;
    else
        j->req = request_make(s);
    if (sched_check(s->cl, &j->req, 1, NULL, NULL, NULL) != REFUSE_NONE)
        return;
    s->njobs++;
    job_wait(s->cl, j);
}

/* ---- running them ---- */

static struct task *job_of(struct sim *s, uint64_t id)
{
    for (size_t i = 0; i < s->njobs; i++)
        if (s->job[i].id == id)
            return &s->job[i];
    return NULL;
}

static void start(struct sim *s, const struct plan_start *ps)
{
    struct task *j = job_of(s, ps->job_id);
    assert_non_null(j);
    assert_true(j->start == 0);
    assert_true(ps->limit_us <= j->req.time_limit_us &&
                ps->limit_us >= (j->req.time_min_us ? j->req.time_min_us : j->req.time_limit_us));
    j->start = s->now;
    j->limit = ps->limit_us;
    j->runs =
        s->exact || rng_chance(&s->rng, 500) ? ps->limit_us : rng_range(&s->rng, 1, ps->limit_us / MIN) * MIN;
    j->end = s->now + j->runs;
    j->arena = arena_new();
    struct str text = STR_INIT;
    alloc_format(&ps->alloc, &text);
    assert_true(alloc_parse(str_text(&text), j->arena, &j->al, NULL));
    str_done(&text);
    j->part = arena_strdup(j->arena, ps->partition);
    cluster_start(s->cl, j->id, &j->req, 1000 + (uint32_t)(j->id % 3), ps->partition, &j->al, s->now,
                  s->now + ps->limit_us);
    cluster_unwait(s->cl, j->id);
}

static void check_order(const struct sim *s)
{
    for (size_t i = 0; i < s->njobs; i++)
        for (size_t k = i + 1; k < s->njobs; k++)
            if (!s->job[i].start && s->job[k].start == s->now && s->job[i].req.exclusive != EXCLUSIVE_USER &&
                record_equal(&job_request_fields, &s->job[i].req, &s->job[k].req))
                fail_msg("job %llu started before its equal %llu", (unsigned long long)s->job[k].id,
                         (unsigned long long)s->job[i].id);
}

/* The first in each queue was promised a start; with exact ends and only younger jobs coming, it may not move to a later time. */
static void check_promises(struct sim *s)
{
    for (size_t i = 0; i < s->njobs; i++) {
        struct task *j = &s->job[i];
        struct plan_wait w;
        if (j->start || j->gone || !plan_wait_of(s->plan, s->cl, j->id, &w)) {
            if (j->start == s->now && j->promised)
                assert_true(j->start <= j->promised);
            continue;
        }
        if (j->promised && w.planned_us > j->promised)
            fail_msg("the promise to job %llu moved from %lld to %lld", (unsigned long long)j->id,
                     (long long)j->promised, (long long)w.planned_us);
        if (w.rank == 1 && w.planned_us)
            j->promised = w.planned_us;
    }
}

/* The same cluster made from nothing, in another order. */
static void check_rebuilt(struct sim *s)
{
    struct cluster *cl = cluster_new();
    struct plan *plan = plan_new();
    for (size_t i = s->nnodes; i-- > 0;)
        put_node(cl, &s->node[i]);
    for (size_t i = s->nparts; i-- > 0;)
        put_part(cl, &s->part[i]);
    for (size_t i = s->njobs; i-- > 0;) {
        struct task *j = &s->job[i];
        if (j->gone)
            continue;
        if (!j->start)
            job_wait(cl, j);
        else
            cluster_start(cl, j->id, &j->req, 1000 + (uint32_t)(j->id % 3), j->part, &j->al, j->start,
                          j->start + j->limit);
    }
    sched_plan(cl, s->now, NULL, plan);
    assert_int_equal(plan->nstarts, s->plan->nstarts);
    struct str a = STR_INIT, b = STR_INIT;
    for (size_t i = 0; i < plan->nstarts; i++) {
        assert_int_equal(plan->start[i].job_id, s->plan->start[i].job_id);
        alloc_format(&plan->start[i].alloc, &a);
        alloc_format(&s->plan->start[i].alloc, &b);
    }
    assert_string_equal(str_text(&a), str_text(&b));
    for (size_t i = 0; i < s->njobs; i++) {
        struct plan_wait x = {0}, y = {0};
        if (!s->job[i].start && plan_wait_of(plan, cl, s->job[i].id, &x)) {
            assert_true(plan_wait_of(s->plan, s->cl, s->job[i].id, &y));
            assert_int_equal(x.planned_us, y.planned_us);
            assert_int_equal(x.reason, y.reason);
            assert_int_equal(x.rank, y.rank);
            if (x.planned_us)
                assert_string_equal(x.planned_nodes, y.planned_nodes);
        }
    }
    str_done(&a);
    str_done(&b);
    plan_free(plan);
    cluster_free(cl);
}

static void turn(struct sim *s, bool promises, bool rebuild)
{
    for (size_t i = 0; i < s->njobs; i++)
        if (s->job[i].start && !s->job[i].gone && s->job[i].end <= s->now) {
            cluster_release(s->cl, s->job[i].id);
            s->job[i].gone = true;
            arena_free(s->job[i].arena);
            s->job[i].arena = NULL;
        }
    sched_plan(s->cl, s->now, NULL, s->plan);
    if (rebuild)
        check_rebuilt(s);
    for (size_t i = 0; i < s->plan->nstarts; i++)
        start(s, &s->plan->start[i]);
    cluster_check(s->cl);
    check_order(s);
    if (promises)
        check_promises(s);
}

static int64_t next_end(const struct sim *s)
{
    int64_t at = INT64_MAX;
    for (size_t i = 0; i < s->njobs; i++)
        if (s->job[i].start && !s->job[i].gone && s->job[i].end < at)
            at = s->job[i].end;
    return at;
}

static void sim_run(uint64_t seed, bool exact, bool rebuild)
{
    struct sim s = {
        .rng = {seed}, .cl = cluster_new(), .plan = plan_new(), .next_id = 1, .now = NOW, .exact = exact};
    nodes_make(&s);
    parts_make(&s);
    size_t jobs = 1 + rng_below(&s.rng, 40);
    for (size_t i = 0; i < jobs; i++) {
        submit(&s);
        if (rng_chance(&s.rng, 400)) {
            turn(&s, exact && s.nparts == 1, rebuild);
            int64_t end = next_end(&s), later = s.now + rng_range(&s.rng, 1, 20) * MIN;
            s.now = end < later ? end : later;
        }
    }
    for (int64_t end = s.now; end != INT64_MAX; end = next_end(&s)) {
        s.now = end;
        turn(&s, exact && s.nparts == 1, rebuild);
    }
    for (size_t i = 0; i < s.njobs; i++) {
        struct plan_wait w;
        /* Whoever has not run cannot: nodes that it needs are drained. */
        if (!s.job[i].start) {
            assert_true(plan_wait_of(s.plan, s.cl, s.job[i].id, &w));
            if (w.reason != REASON_REQ_NODE_NOT_AVAIL)
                fail_msg("job %llu never ran: %s, %s", (unsigned long long)s.job[i].id,
                         enum_name(&job_reason_names, w.reason), w.detail);
        }
    }
    plan_free(s.plan);
    cluster_free(s.cl);
}

static void nothing_is_given_twice_and_all_run(void **state)
{
    for (uint64_t seed = 1; seed <= WORLDS_OF(1500); seed++)
        sim_run(seed, false, false);
}

static void promises_are_kept(void **state)
{
    for (uint64_t seed = 1; seed <= WORLDS_OF(1500); seed++)
        sim_run(seed * 1000003, true, false);
}

static void a_cluster_built_anew_plans_the_same(void **state)
{
    for (uint64_t seed = 1; seed <= WORLDS_OF(300); seed++)
        sim_run(seed * 7777777, false, true);
}

/* ---- EASY by counting ---- */

struct flat {
    int64_t end[64];
    int32_t width[64];
    size_t n;
};

static int32_t flat_free(const struct flat *f, int32_t nodes, int64_t at)
{
    for (size_t i = 0; i < f->n; i++)
        nodes -= f->end[i] > at ? f->width[i] : 0;
    return nodes;
}

/* Which of the waiting jobs (in order) start now, as a bitmap: heads while they fit; a reservation for the first that does not; then who ends by
 * then or needs no more than the spare nodes. */
static uint64_t easy(struct flat f, int32_t nodes, const int32_t *width, const int64_t *limit, size_t n,
                     int64_t now)
{
    uint64_t started = 0;
    size_t i = 0;
    for (; i < n && width[i] <= flat_free(&f, nodes, now); i++) {
        f.width[f.n] = width[i];
        f.end[f.n++] = now + limit[i];
        started |= UINT64_C(1) << i;
    }
    if (i == n)
        return started;
    int64_t shadow = INT64_MAX;
    for (size_t k = 0; k < f.n; k++)
        if (f.end[k] > now && f.end[k] < shadow && flat_free(&f, nodes, f.end[k]) >= width[i])
            shadow = f.end[k];
    int32_t spare = flat_free(&f, nodes, shadow) - width[i];
    for (size_t k = i + 1; k < n; k++) {
        bool ends = now + limit[k] <= shadow;
        if (width[k] > flat_free(&f, nodes, now) || (!ends && width[k] > spare))
            continue;
        spare -= ends ? 0 : width[k];
        f.width[f.n] = width[k];
        f.end[f.n++] = now + limit[k];
        started |= UINT64_C(1) << k;
    }
    return started;
}

static void easy_world(uint64_t seed)
{
    struct rng r = {seed};
    struct cluster *cl = cluster_new();
    struct plan *plan = plan_new();
    struct flat f = {0};
    int32_t nodes = (int32_t)rng_range(&r, 1, 12), width[20];
    int64_t limit[20];
    char names[32];
    snprintf(names, sizeof names, nodes > 1 ? "n[1-%d]" : "n%d", nodes);
    put_nodes(cl, names, a_node(NULL));
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    size_t running = rng_below(&r, 6), waiting = 1 + rng_below(&r, 19);
    for (uint64_t id = 1; id <= running; id++) {
        struct job_request q = {
            .partition = "main", .exclusive = EXCLUSIVE_NODE, .min_nodes = (int32_t)rng_range(&r, 1, nodes)};
        q.time_limit_us = rng_range(&r, 1, 9) * 10 * MIN;
        queue_job(cl, id, &q);
        sched_plan(cl, NOW, NULL, plan);
        if (plan->nstarts) {
            cluster_start(cl, id, &q, 1, "main", &plan->start[0].alloc, NOW, NOW + q.time_limit_us);
            f.width[f.n] = q.min_nodes;
            f.end[f.n++] = NOW + q.time_limit_us;
        }
        cluster_unwait(cl, id);
    }
    for (size_t i = 0; i < waiting; i++) {
        width[i] = (int32_t)rng_range(&r, 1, nodes);
        limit[i] = rng_range(&r, 1, 9) * 10 * MIN;
        struct job_request q = {.partition = "main",
                                .exclusive = EXCLUSIVE_NODE,
                                .min_nodes = width[i],
                                .time_limit_us = limit[i]};
        queue_job(cl, 100 + i, &q);
    }
    sched_plan(cl, NOW, NULL, plan);
    uint64_t expected = easy(f, nodes, width, limit, waiting, NOW), got = 0;
    for (size_t i = 0; i < plan->nstarts; i++)
        got |= UINT64_C(1) << (plan->start[i].job_id - 100);
    if (expected != got)
        fail_msg("seed %llu: starts %llx, EASY says %llx", (unsigned long long)seed, (unsigned long long)got,
                 (unsigned long long)expected);
    plan_free(plan);
    cluster_free(cl);
}

static void starts_are_those_of_easy(void **state)
{
    for (uint64_t seed = 1; seed <= WORLDS_OF(5000); seed++)
        easy_world(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_are_those_of_easy),
        cmocka_unit_test(nothing_is_given_twice_and_all_run),
        cmocka_unit_test(promises_are_kept),
        cmocka_unit_test(a_cluster_built_anew_plans_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
