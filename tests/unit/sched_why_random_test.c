/* On random clusters and queues: an advice that is followed does what it says; looking for it
 * changes nothing; every node of a partition is counted once among the blockers; whoever has a rank
 * is ahead of whoever has a higher one. */
#include "sched_worlds.h"

#include "sched/answer/advice.h"
#include "sched/answer/blockers.h"

#define PLENTY UINT64_C(1000000000)

static uint64_t advised, advised_later; /* so that a test that never sees any fails */

static const struct task *task_of(struct sim *s, uint64_t id)
{
    const struct task *j = job_of(s, id);
    assert_non_null(j);
    return j;
}

/* The change is made in a copy of the cluster, as `scontrol update` or a new submission would make
 * it. */
static void follow(struct sim *s, const struct task *j, const struct advice *one)
{
    struct cluster *cl = rebuilt(s);
    struct plan *plan = plan_new();
    struct plan_wait wait;
    struct task changed = *j;
    changed.req = one->req;
    if (!one->update)
        changed.submit = s->now;
    job_wait(cl, &changed);
    sched_plan(cl, s->now, NULL, plan);
    bool started = start_of(plan, j->id) != NULL;
    if (one->start_us == s->now && !started)
        fail_msg("world %llu: job %llu does not start with %s", (unsigned long long)s->seed,
                 (unsigned long long)j->id, one->option);
    if (one->start_us != s->now) {
        assert_false(started);
        assert_true(plan_wait_of(plan, cl, j->id, &wait));
        if (wait.planned_us != one->start_us)
            fail_msg("job %llu is planned %lld with %s, not %lld", (unsigned long long)j->id,
                     (long long)wait.planned_us, one->option, (long long)one->start_us);
    }
    plan_free(plan);
    cluster_free(cl);
}

static void check_advice(struct sim *s, const struct task *j)
{
    struct arena *a = arena_new();
    struct advices v;
    sched_advise(s->cl, s->plan, j->id, NULL, s->now, PLENTY, a, &v);
    for (size_t i = 0; i < v.v.n; i++) {
        follow(s, j, &v.v.v[i]);
        advised += v.v.v[i].start_us == s->now;
        advised_later += v.v.v[i].start_us != s->now;
    }
    advices_done(&v);
    arena_free(a);
}

static void check_blockers(struct sim *s, const struct task *j)
{
    struct arena *a = arena_new();
    blocker_vec v = {0};
    int32_t all = -1, counted = 0;
    sched_blockers(s->cl, s->plan, j->id, s->now, a, &v);
    for (size_t i = 0; i < v.n; i++) {
        const struct blocker *b = &v.v[i];
        if (b->kind == BLOCKER_NEEDS) {
            assert_true(all < 0 || all == counted);
            all = b->nodes_all;
            counted = b->nodes;
        } else if (b->kind != BLOCKER_KEPT) {
            counted += b->nodes;
        }
    }
    assert_true(all < 0 || all == counted);
    vec_done(&v);
    arena_free(a);
}

static void check_ahead(struct sim *s, const struct task *j)
{
    uint64_t ahead[4];
    struct plan_wait own, other;
    if (!plan_wait_of(s->plan, s->cl, j->id, &own))
        return;
    size_t n = sched_ahead(s->cl, s->plan, j->id, ahead, 4);
    assert_int_equal(n, own.rank - 1 < 4 ? own.rank - 1 : 4);
    for (size_t i = 0; i < n; i++) {
        assert_true(plan_wait_of(s->plan, s->cl, task_of(s, ahead[i])->id, &other));
        assert_int_equal(other.rank, i + 1);
    }
}

static void turn(struct sim *s)
{
    end_due(s);
    suspend_some(s);
    sched_plan(s->cl, s->now, NULL, s->plan);
    for (size_t i = 0; i < s->plan->nstarts; i++)
        start(s, &s->plan->start[i]);
    sched_plan(s->cl, s->now, NULL, s->plan);
    for (size_t i = 0; i < s->njobs; i++) {
        if (s->job[i].start || s->job[i].gone || !rng_chance(&s->rng, 100))
            continue;
        check_ahead(s, &s->job[i]);
        check_blockers(s, &s->job[i]);
        check_advice(s, &s->job[i]);
    }
    size_t starts = s->plan->nstarts;
    sched_plan(s->cl, s->now, NULL, s->plan); /* looking for advice has changed nothing */
    assert_int_equal(s->plan->nstarts, starts);
    cluster_check(s->cl);
}

static void who_follows_an_advice_starts_then(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= worlds_of(100); seed++) {
        struct sim s = {.rng = {seed * 104729}, .seed = seed, .mixed = seed % 2 == 0};
        world_play(&s, turn);
        world_done(&s);
    }
    assert_true(advised > 0 && advised_later > 0);
    print_message("# %llu advices of a start now and %llu of a later one were followed\n",
                  (unsigned long long)advised, (unsigned long long)advised_later);
}

/* ---- in the world itself, where promises are remembered with their nodes ---- */

static struct arena *changed; /* requests that were changed in the world */

/* One advice is carried out, as `scontrol update` does it. */
static void carry_out(struct sim *s, struct task *j)
{
    struct arena *a = arena_new();
    struct advices v;
    sched_advise(s->cl, s->plan, j->id, NULL, s->now, PLENTY, a, &v);
    size_t which = v.v.n ? rng_below(&s->rng, v.v.n) : 0;
    const struct advice *one = v.v.n ? &v.v.v[which] : NULL;
    if (one && one->update && !one->stops) {
        struct plan_wait wait = {0};
        record_copy(&job_request_fields, &j->req, &one->req, changed);
        job_wait(s->cl, j);
        sched_plan(s->cl, s->now, NULL, s->plan);
        if (!start_of(s->plan, j->id))
            assert_true(plan_wait_of(s->plan, s->cl, j->id, &wait));
        int64_t at = start_of(s->plan, j->id) ? s->now : wait.planned_us;
        if (at != one->start_us)
            fail_msg("world %llu (%s): job %llu starts in %lld min with %s, and %lld were said",
                     (unsigned long long)s->seed, s->parameters, (unsigned long long)j->id,
                     (long long)((at - s->now) / MIN), one->option,
                     (long long)((one->start_us - s->now) / MIN));
        advised += at == s->now;
        advised_later += at != s->now;
    }
    advices_done(&v);
    arena_free(a);
}

static void starts_do(struct sim *s)
{
    for (size_t i = 0; i < s->plan->nstarts; i++)
        start(s, &s->plan->start[i]);
}

static void turn_carrying_out(struct sim *s)
{
    end_due(s);
    suspend_some(s);
    do {
        sched_plan(s->cl, s->now, NULL, s->plan);
        starts_do(s);
    } while (s->plan->nstarts > 0);
    for (size_t i = 0; i < s->njobs; i++)
        if (!s->job[i].start && !s->job[i].gone && rng_chance(&s->rng, 60)) {
            carry_out(s, &s->job[i]);
            starts_do(s);
            return;
        }
}

static void advice_knows_where_promises_stand(void **state)
{
    static const char *const parameters[] = {"promises=all", "promises=all,order=ageing",
                                             "promises=aged,age_bound=600"};
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(parameters); k++) {
        advised = advised_later = 0;
        for (uint64_t seed = 1; seed <= worlds_of(60); seed++) {
            struct sim s = {.rng = {seed * 15485863},
                            .seed = seed,
                            .paired = seed % 12 == 0,
                            .parameters = parameters[k]};
            changed = arena_new();
            world_play(&s, turn_carrying_out);
            world_done(&s);
            arena_free(changed);
        }
        assert_true(advised > 0 && advised_later > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_follows_an_advice_starts_then),
                                       cmocka_unit_test(advice_knows_where_promises_stand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
