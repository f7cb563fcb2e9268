/* What remembered promises meet, in random worlds with many heterogeneous jobs: requests that
 * change, jobs that are held, cancelled and sent back, arrays, nodes that go and come, reservations
 * and restarts. Nobody's promise moves later for what others ask; where nodes go, or are kept by a
 * reservation, it may once. */
#include "sched_random_help.h"

#define ARRAYS UINT32_C(1) /* from so many elements on, plus 1, a job is an array */

static uint64_t met[8], checked; /* so that worlds in which nothing happens fail */

static bool is_of(const struct task *a, const struct task *b)
{
    return a == b || (a->het && a->het == b->het);
}

static bool waits(const struct task *j)
{
    return !j->start && !j->gone;
}

/* One that waits, or that runs. */
static struct task *drawn(struct sim *s, bool running)
{
    for (int tries = 0; s->njobs && tries < 8; tries++) {
        struct task *j = &s->job[rng_below(&s->rng, s->njobs)];
        if (running ? j->start && !j->gone : waits(j))
            return j;
    }
    return NULL;
}

static void promises_reset(struct sim *s, const struct task *of)
{
    for (size_t i = 0; i < s->njobs; i++)
        if (!of || is_of(&s->job[i], of))
            s->job[i].promised = 0;
}

/* ---- what happens: true if something did ---- */

static bool one_is_held(struct sim *s)
{
    struct task *j = drawn(s, false);
    if (!j)
        return false;
    j->held = !j->held;
    promises_reset(s, j);
    if (j->held)
        cluster_unwait(s->cl, j->id);
    else
        job_wait(s->cl, j);
    return true;
}

static bool one_asks_for_something_else(struct sim *s)
{
    struct task *j = drawn(s, false);
    struct job_request asked = request_make(s);
    if (!j || sched_check(s->cl, &asked, j->uid, NULL, NULL, NULL) != REFUSE_NONE)
        return false;
    j->req = asked;
    promises_reset(s, j);
    if (!j->held)
        job_wait(s->cl, j);
    return true;
}

static bool one_is_cancelled(struct sim *s)
{
    struct task *j = drawn(s, false);
    for (size_t i = 0; j && i < s->njobs; i++)
        if (is_of(&s->job[i], j)) {
            cluster_unwait(s->cl, s->job[i].id);
            s->job[i].gone = true;
            s->job[i].promised = 0;
        }
    return j != NULL;
}

/* With all of its components, which wait as if they had come now. */
static bool one_is_sent_back(struct sim *s)
{
    struct task *j = drawn(s, true);
    for (size_t i = 0; j && i < s->njobs; i++) {
        struct task *one = &s->job[i];
        if (!is_of(one, j) || one->gone)
            continue;
        cluster_release(s->cl, one->id);
        arena_free(one->arena);
        one->arena = NULL;
        one->start = one->promised = 0;
        one->submit = s->now;
        one->suspended = one->was_suspended = false;
        job_wait(s->cl, one);
    }
    return j != NULL;
}

static bool an_array_comes(struct sim *s)
{
    struct task *j = &s->job[s->njobs];
    if (s->njobs + 12 > ARRAY_LEN(s->job) || !task_make(s, j))
        return false;
    j->elements = 2 + (uint32_t)rng_below(&s->rng, 4);
    s->njobs++;
    job_wait(s->cl, j);
    return true;
}

static bool a_node_goes_or_comes(struct sim *s)
{
    struct node *n = &s->node[rng_below(&s->rng, s->nnodes)];
    n->drain = !n->drain;
    put_node(s->cl, n);
    promises_reset(s, NULL);
    return true;
}

static void reservation_put(struct cluster *cl, const struct sim *s)
{
    struct reservation r = {.name = "kept",
                            .nodes = s->name[s->resv_node],
                            .start_us = s->resv_us,
                            .end_us = s->resv_us + 20 * MIN,
                            .users = "root"};
    cluster_put_reservation(cl, &r);
}

static bool a_reservation_is_put_between(struct sim *s)
{
    if (s->resv_us)
        cluster_remove_reservation(s->cl, "kept");
    s->resv_us = s->resv_us ? 0 : s->now + rng_range(&s->rng, 0, 60) * MIN;
    s->resv_node = rng_below(&s->rng, s->nnodes);
    if (s->resv_us)
        reservation_put(s->cl, s);
    promises_reset(s, NULL);
    return true;
}

/* Places are not known then; on one node the order is enough. */
static bool the_controller_starts_again(struct sim *s)
{
    struct cluster *cl = twin_of(s);
    plan_free(s->plan);
    cluster_free(s->cl);
    s->cl = cl;
    s->plan = plan_new();
    if (s->resv_us)
        reservation_put(s->cl, s);
    if (!s->one_node || text_is(s->node[0].gres, two_types) || s->resv_us)
        promises_reset(s, NULL);
    return true;
}

static bool (*const happens[])(struct sim *s) = {
    one_is_held,
    one_asks_for_something_else,
    one_is_cancelled,
    one_is_sent_back,
    an_array_comes,
    a_node_goes_or_comes,
    a_reservation_is_put_between,
    the_controller_starts_again,
};

/* ---- what must hold ---- */

/* An element of an array runs as a job of its own. */
static void start_one(struct sim *s, const struct plan_start *ps)
{
    struct task *j = job_of(s, ps->job_id);
    if (j->elements <= ARRAYS) {
        start(s, ps);
        return;
    }
    struct task *one = &s->job[s->njobs++], *array = j;
    assert_true(s->njobs <= ARRAY_LEN(s->job));
    *one = *array;
    one->id = s->next_id++;
    one->elements = 1;
    array->elements--;
    job_wait(s->cl, array);
    struct plan_start of_it = *ps;
    of_it.job_id = one->id;
    start(s, &of_it);
}

static void check_promises(struct sim *s)
{
    for (size_t i = 0; i < s->njobs; i++) {
        struct task *j = &s->job[i];
        struct plan_wait w;
        struct arena *a = arena_new();
        const char *text;
        if (!waits(j) || j->held || !plan_wait_of(s->plan, s->cl, j->id, &w)) {
            arena_free(a);
            continue;
        }
        int64_t at = start_of(s->plan, j->id) ? s->now : w.planned_us;
        bool kept = j->promised && (s->nparts == 1 || s->one_tier);
        checked += kept && j->het;
        if (kept && (!at || at > j->promised))
            fail_msg("world %llu (%s): job %llu was promised %lld min, and has %lld now",
                     (unsigned long long)s->seed, s->parameters, (unsigned long long)j->id,
                     (long long)((j->promised - NOW) / MIN), (long long)((at - NOW) / MIN));
        bool promise = sched_sureness(s->cl, s->plan, j->id, a, &text) == SURE_PROMISE;
        j->promised = promise && j->elements <= ARRAYS ? w.planned_us : 0;
        arena_free(a);
    }
}

/* They are promised a start together, and start together. */
static void check_components(struct sim *s)
{
    for (size_t i = 0; i + 1 < s->njobs; i++) {
        struct task *a = &s->job[i], *b = &s->job[i + 1];
        if (!a->het || a->het != b->het)
            continue;
        assert_int_equal(a->promised, b->promised);
        assert_int_equal(start_of(s->plan, a->id) != NULL, start_of(s->plan, b->id) != NULL);
    }
}

static void turn(struct sim *s)
{
    end_due(s);
    size_t what = rng_below(&s->rng, 2 * ARRAY_LEN(happens));
    if (what < ARRAY_LEN(happens))
        met[what] += happens[what](s);
    sched_plan(s->cl, s->now, NULL, s->plan);
    check_promises(s);
    check_components(s);
    for (size_t i = 0; i < s->plan->nstarts; i++)
        start_one(s, &s->plan->start[i]);
    cluster_check(s->cl);
}

static void no_promise_moves_later_for_what_others_ask(void **state)
{
    static const char *const parameters[] = {"promises=all", "promises=all,order=ageing",
                                             "promises=aged,age_bound=600",
                                             "promises=all,promises_max=3"};
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(parameters); k++)
        for (uint64_t seed = 1; seed <= worlds_of(12); seed++) {
            struct sim s = {.rng = {seed * 49979687},
                            .seed = seed,
                            .exact = seed / 2 % 2,
                            .one_node = seed % 3 == 0,
                            .mixed = seed % 4 == 0,
                            .wakes = true,
                            .one_tier = seed % 5 < 2,
                            .paired = true,
                            .parameters = parameters[k]};
            world_play(&s, turn);
            world_done(&s);
        }
    for (size_t i = 0; i < ARRAY_LEN(met); i++)
        assert_true(met[i] > 0);
    assert_true(checked > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_promise_moves_later_for_what_others_ask)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
