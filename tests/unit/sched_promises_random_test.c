/* Random worlds of the planner: who is promised what, and EASY by counting. */
#include "sched_random_help.h"

/* ---- who is promised what ---- */

static bool is_promised(const struct sim *s, const struct plan *plan, uint64_t id)
{
    struct arena *a = arena_new();
    const char *text;
    bool yes = sched_sureness(s->cl, plan, id, a, &text) == SURE_PROMISE;
    arena_free(a);
    return yes;
}

static bool starts_in(const struct plan *plan, uint64_t id)
{
    for (size_t i = 0; i < plan->nstarts; i++)
        if (plan->start[i].job_id == id)
            return true;
    return false;
}

struct promise {
    uint64_t job;
    uint32_t rank;
    int64_t at;
};

static int promise_order(const void *a, const void *b)
{
    const struct promise *x = a, *y = b;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Those that wait and are promised a start, in order. */
static size_t promises_of(const struct sim *s, struct promise *ret)
{
    size_t n = 0;
    for (size_t i = 0; i < s->njobs; i++) {
        struct plan_wait w;
        if (!s->job[i].start && plan_wait_of(s->plan, s->cl, s->job[i].id, &w) && w.planned_us &&
            is_promised(s, s->plan, s->job[i].id) && !starts_in(s->plan, s->job[i].id))
            ret[n++] = (struct promise){s->job[i].id, w.rank, w.planned_us};
    }
    qsort(ret, n, sizeof ret[0], promise_order);
    return n;
}

/* When it starts as planned now. */
static int64_t planned_now(const struct sim *s, uint64_t id)
{
    struct plan_wait w = {0};
    if (starts_in(s->plan, id))
        return s->now;
    assert_true(plan_wait_of(s->plan, s->cl, id, &w));
    return w.planned_us ? w.planned_us : INT64_MAX;
}

/* Backfill comes behind the first that is promised a start: planning again after the starts of a
 * pass, at the same time, finds it no later. (Who is promised one behind it may have to make room
 * for it, when it finds other nodes. In the default order it stands behind others' work as soon as
 * more of its own user's runs: then all are of one user.) */
static void turn_keeping(struct sim *s)
{
    struct promise promised[ARRAY_LEN(s->job)];
    end_due(s);
    sched_plan(s->cl, s->now, NULL, s->plan);
    size_t n = promises_of(s, promised);
    for (size_t i = 0; i < s->plan->nstarts; i++)
        start(s, &s->plan->start[i]);
    cluster_check(s->cl);
    sched_plan(s->cl, s->now, NULL, s->plan);
    int64_t at = n > 0 ? planned_now(s, promised[0].job) : 0;
    if (n > 0 && s->nparts == 1 && at > promised[0].at)
        fail_msg(
            "world %llu (%s): job %llu was promised %lld, and has %lld once others have started",
            (unsigned long long)s->seed, s->parameters, (unsigned long long)promised[0].job,
            (long long)promised[0].at, (long long)at);
    for (size_t i = 0; i < s->plan->nstarts; i++)
        start(s, &s->plan->start[i]);
}

/* Every job of one partition has a promise where all are promised one, up to the bound. */
static void turn_promising_all(struct sim *s)
{
    struct promise promised[ARRAY_LEN(s->job)];
    end_due(s);
    sched_plan(s->cl, s->now, NULL, s->plan);
    size_t n = promises_of(s, promised), waiting = 0;
    for (size_t i = 0; i < s->njobs; i++) {
        struct plan_wait w;
        waiting += !s->job[i].start && plan_wait_of(s->plan, s->cl, s->job[i].id, &w) &&
                   w.reason != REASON_REQ_NODE_NOT_AVAIL;
    }
    for (size_t i = 0; i < s->plan->nstarts; i++) {
        start(s, &s->plan->start[i]);
        waiting--;
    }
    if (s->nparts == 1)
        assert_int_equal(n, waiting);
}

static void everybody_is_promised_a_start_on_demand(void **state)
{
    for (uint64_t seed = 1; seed <= worlds_of(35); seed++) {
        struct sim s = {.rng = {seed * 611953}, .seed = seed, .parameters = "promises=all"};
        world_play(&s, turn_promising_all);
        check_all_ran(&s);
        world_done(&s);
    }
}

/* One is held, or comes back to where it stood in the queue, before equals that are promised
 * starts. */
static void hold_some(struct sim *s)
{
    struct task *j = s->njobs ? &s->job[rng_below(&s->rng, s->njobs)] : NULL;
    if (!j || j->start || rng_chance(&s->rng, 500))
        return;
    j->held = !j->held;
    for (size_t i = 0; i < s->njobs; i++) /* components are promised a start together */
        if (&s->job[i] == j || (j->het && s->job[i].het == j->het))
            s->job[i].promised = 0;
    if (j->held)
        cluster_unwait(s->cl, j->id);
    else
        job_wait(s->cl, j);
}

/* Nobody's promise moves later, whoever comes. On one node a cluster that is built anew and told who
 * was promised what promises the same; on several, or with several types on it, that takes the
 * places, too, which a planner keeps for itself. */
static void turn_remembering(struct sim *s)
{
    bool one_place = s->one_node && !text_is(s->node[0].gres, two_types);
    struct str firsts = STR_INIT;
    end_due(s);
    if (s->restless)
        hold_some(s);
    cluster_firsts_tell(s->cl, &firsts);
    sched_plan(s->cl, s->now, NULL, s->plan);
    struct cluster *cl = rebuilt(s);
    struct plan *plan = plan_new();
    cluster_firsts_set(cl, str_text(&firsts));
    sched_plan(cl, s->now, NULL, plan);
    for (size_t i = 0; i < s->njobs; i++) {
        struct task *j = &s->job[i];
        struct plan_wait w, anew;
        if (j->start || !plan_wait_of(s->plan, s->cl, j->id, &w))
            continue;
        if (one_place && plan_wait_of(plan, cl, j->id, &anew) && anew.planned_us != w.planned_us)
            fail_msg("world %llu (%s): job %llu is planned for %lld, by a new planner for %lld",
                     (unsigned long long)s->seed, s->parameters, (unsigned long long)j->id,
                     (long long)w.planned_us, (long long)anew.planned_us);
        int64_t at = starts_in(s->plan, j->id) ? s->now : w.planned_us;
        if (j->promised && s->nparts == 1 && (!at || at > j->promised))
            fail_msg("world %llu (%s): job %llu was promised %lld, and has %lld now",
                     (unsigned long long)s->seed, s->parameters, (unsigned long long)j->id,
                     (long long)j->promised, (long long)at);
        j->promised = is_promised(s, s->plan, j->id) ? w.planned_us : 0;
    }
    for (size_t i = 0; i < s->plan->nstarts; i++)
        start(s, &s->plan->start[i]);
    cluster_check(s->cl);
    plan_free(plan);
    cluster_free(cl);
    str_done(&firsts);
}

static void promises_are_remembered(void **state)
{
    static const char *const parameters[] = {
        "promises=all", "promises=aged,age_bound=1200", "promises=all,promises_max=3",
        "promises=all,order=ageing", "promises=aged,age_bound=600,order=sjf"};
    for (size_t k = 0; k < ARRAY_LEN(parameters); k++)
        for (uint64_t seed = 1; seed <= worlds_of(52); seed++) {
            struct sim s = {.rng = {seed * 32452843},
                            .seed = seed,
                            .exact = seed / 2 % 2,
                            .one_node = seed % 2,
                            .restless = seed % 4 == 1,
                            .parameters = parameters[k]};
            world_play(&s, turn_remembering);
            world_done(&s);
        }
}

/* The same of jobs of several components, each of which has a place. */
static void promises_of_components_are_remembered(void **state)
{
    static const char *const parameters[] = {
        "promises=all", "promises=aged,age_bound=1200", "promises=all,promises_max=3",
        "promises=all,order=ageing", "promises=aged,age_bound=600,order=sjf"};
    for (size_t k = 0; k < ARRAY_LEN(parameters); k++)
        for (uint64_t seed = 1; seed <= worlds_of(12); seed++) {
            struct sim s = {.rng = {seed * 86028121},
                            .seed = seed,
                            .exact = seed / 2 % 2,
                            .one_node = seed % 2,
                            .restless = seed % 4 < 2,
                            .mixed = seed % 3 == 0,
                            .paired = true,
                            .parameters = parameters[k]};
            world_play(&s, turn_remembering);
            world_done(&s);
        }
}

static void the_first_promise_stays_when_others_start(void **state)
{
    static const char *const parameters[] = {"promises=head", "promises=aged,age_bound=1200",
                                             "promises=all",
                                             "promises=all,promises_max=3,order=ageing"};
    for (size_t k = 0; k < ARRAY_LEN(parameters); k++)
        for (uint64_t seed = 1; seed <= worlds_of(65); seed++) {
            struct sim s = {.rng = {seed * 104729},
                            .seed = seed,
                            .exact = seed % 2,
                            .one_user = strstr(parameters[k], "ageing") != NULL,
                            .parameters = parameters[k]};
            world_play(&s, turn_keeping);
            check_all_ran(&s);
            world_done(&s);
        }
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

/* Which of the waiting jobs (in order) start now, as a bitmap: heads while they fit; a reservation
 * for the first that does not; then who ends by then or needs no more than the spare nodes. */
static uint64_t easy(struct flat f, int32_t nodes, const int32_t *width, const int64_t *limit,
                     size_t n, int64_t now)
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
    struct cluster *cl = cluster_of_factors();
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
        struct job_request q = {.partition = "main",
                                .exclusive = EXCLUSIVE_NODE,
                                .min_nodes = (int32_t)rng_range(&r, 1, nodes)};
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
        fail_msg("seed %llu: starts %llx, EASY says %llx", (unsigned long long)seed,
                 (unsigned long long)got, (unsigned long long)expected);
    plan_free(plan);
    cluster_free(cl);
}

static void starts_are_those_of_easy(void **state)
{
    for (uint64_t seed = 1; seed <= worlds_of(250); seed++)
        easy_world(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_are_those_of_easy),
        cmocka_unit_test(the_first_promise_stays_when_others_start),
        cmocka_unit_test(everybody_is_promised_a_start_on_demand),
        cmocka_unit_test(promises_are_remembered),
        cmocka_unit_test(promises_of_components_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
