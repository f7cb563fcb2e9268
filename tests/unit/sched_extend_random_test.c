/* More time for what runs, in random worlds: so much is granted if and only if no promise and no
 * planned start moves later by it, and what is offered in place of it is the most that moves none.
 * Both are found out by planning anew, minute by minute, in clusters made from nothing, through
 * what everybody sees of a plan. */
#include "sched_random_help.h"

#include "sched/answer/extend.h"

#define MOST 60 /* minutes that are asked for */

static struct {
    uint64_t whole, part, none, jobs_later;
} found; /* so that worlds in which nothing is asked of the search fail */

struct asked {
    uint64_t job[3];
    struct extend_ask ask;
};

/* ---- who, and how long ---- */

static bool may_ask(const struct sim *s, const struct task *j)
{
    return j->start && !j->gone && !j->suspended && end_expected(j) > s->now;
}

/* One that runs, with its other component. */
static bool somebody(struct sim *s, struct asked *a)
{
    struct task *j = s->njobs ? &s->job[rng_below(&s->rng, s->njobs)] : NULL;
    if (!j || !may_ask(s, j))
        return false;
    *a = (struct asked){.job = {j->id}};
    size_t n = 1;
    for (size_t i = 0; j->het && i < s->njobs; i++)
        if (&s->job[i] != j && s->job[i].het == j->het) {
            if (!may_ask(s, &s->job[i]))
                return false;
            a->job[n++] = s->job[i].id;
        }
    a->ask = (struct extend_ask){
        .job = a->job, .n = n, .add_us = rng_range(&s->rng, 1, MOST) * MIN, .cost_max = UINT64_MAX};
    return true;
}

/* ---- by planning anew ---- */

/* Planned in a pass of the cluster; returns how many start at once. */
static size_t planned_see(struct sim *s, struct cluster *cl, struct plan *p, int64_t at[])
{
    sched_plan(cl, s->now, NULL, p);
    for (size_t i = 0; i < s->njobs; i++) {
        struct plan_wait w = {0};
        at[i] = 0;
        if (s->job[i].start || s->job[i].gone)
            continue;
        if (start_of(p, s->job[i].id))
            at[i] = s->now;
        else if (plan_wait_of(p, cl, s->job[i].id, &w))
            at[i] = w.planned_us;
    }
    return p->nstarts;
}

/* The same of the cluster made anew, after a pass: with promises, if the policy makes any. */
static size_t planned_with(struct sim *s, const struct asked *a, int64_t add_us, int64_t at[])
{
    struct cluster *cl = twin_of(s);
    struct plan *p = plan_new();
    planned_see(s, cl, p, at); /* how wide the heads are is seen as the next begins */
    planned_see(s, cl, p, at);
    for (size_t i = 0; i < a->ask.n; i++)
        cluster_set_end(cl, a->job[i], end_expected(job_of(s, a->job[i])) + add_us);
    size_t starts = planned_see(s, cl, p, at);
    plan_free(p);
    cluster_free(cl);
    return starts;
}

static size_t later(const struct sim *s, const int64_t was[], const int64_t is[])
{
    size_t n = 0;
    for (size_t i = 0; i < s->njobs; i++)
        n += was[i] != 0 && (is[i] == 0 || is[i] > was[i]);
    return n;
}

static bool moves_nobody(struct sim *s, const struct asked *a, const int64_t was[], int64_t add_us)
{
    int64_t is[ARRAY_LEN(s->job)];
    planned_with(s, a, add_us, is);
    return later(s, was, is) == 0;
}

static void count(const struct extension *e, int64_t add_us)
{
    found.jobs_later += e->later_jobs;
    found.whole += e->granted_us == add_us;
    found.part += e->granted_us > 0 && e->granted_us < add_us;
    found.none += e->granted_us == 0;
}

/* Does a job of several components wait? Then more may move nobody though less does, and halving
 * finds one of both, and says that there may be others. */
static bool several_wait(const struct sim *s)
{
    for (size_t i = 0; i < s->njobs; i++)
        if (s->job[i].het && !s->job[i].start && !s->job[i].gone)
            return true;
    return false;
}

static void compare(struct sim *s, const struct asked *a)
{
    int64_t was[ARRAY_LEN(s->job)], add = a->ask.add_us;
    struct extension found_here, *e = &found_here;
    struct cluster *cl = twin_of(s);
    struct plan *p = plan_new();
    bool quiet = planned_see(s, cl, p, was) == 0; /* who asks comes after passes */
    quiet &= planned_see(s, cl, p, was) == 0;
    assert_true(sched_extend(cl, p, &a->ask, s->now, e));
    plan_free(p);
    cluster_free(cl);
    quiet &= planned_with(s, a, 0, was) == 0;
    if (!quiet)
        return; /* nodes of promises are not told to a cluster that is made anew */
    bool sure = e->granted_us == add || add <= MIN || !several_wait(s);
    if (moves_nobody(s, a, was, add) != (e->granted_us == add) || e->cut == sure)
        fail_msg("world %llu, job %llu: of %lld min %lld are granted", (unsigned long long)s->seed,
                 (unsigned long long)a->job[0], (long long)(add / MIN),
                 (long long)(e->granted_us / MIN));
    if (e->granted_us < add && e->later_jobs == 0)
        fail_msg("world %llu, job %llu: nobody is later, and not all is granted",
                 (unsigned long long)s->seed, (unsigned long long)a->job[0]);
    count(e, add);
    if (e->granted_us > 0 && !moves_nobody(s, a, was, e->granted_us))
        fail_msg("world %llu, job %llu: %lld min are granted and delay somebody",
                 (unsigned long long)s->seed, (unsigned long long)a->job[0],
                 (long long)(e->granted_us / MIN));
    for (int64_t more = e->granted_us + MIN; more < add && !several_wait(s); more += MIN)
        if (moves_nobody(s, a, was, more))
            fail_msg("world %llu, job %llu: of %lld min %lld are granted, and %lld delay nobody",
                     (unsigned long long)s->seed, (unsigned long long)a->job[0],
                     (long long)(add / MIN), (long long)(e->granted_us / MIN),
                     (long long)(more / MIN));
}

/* ---- and in the world itself, where promises are remembered with their nodes ---- */

/* What is granted is given: no promise that the planner made, and nothing it planned, is later in
 * its next pass, and those that are all or nothing get all or nothing. */
static void give(struct sim *s, const struct asked *a, bool all)
{
    int64_t was[ARRAY_LEN(s->job)], is[ARRAY_LEN(s->job)];
    struct extension e;
    struct extend_ask ask = a->ask;
    ask.all = all;
    if (planned_see(s, s->cl, s->plan, was) > 0)
        return; /* components are promised anew in each pass, which may let somebody start */
    assert_true(sched_extend(s->cl, s->plan, &ask, s->now, &e));
    assert_true(!all || e.granted_us == 0 || e.granted_us == ask.add_us);
    count(&e, ask.add_us);
    for (size_t i = 0; i < ask.n; i++) {
        struct task *j = job_of(s, ask.job[i]);
        j->limit += e.granted_us;
        j->end += rng_chance(&s->rng, 500) ? e.granted_us : 0;
        cluster_set_end(s->cl, j->id, end_expected(j));
    }
    planned_see(s, s->cl, s->plan, is);
    for (size_t i = 0; i < s->njobs; i++)
        if (was[i] != 0 && (is[i] == 0 || is[i] > was[i]))
            fail_msg("world %llu: job %llu had %lld min, and job %llu is planned %lld min later",
                     (unsigned long long)s->seed, (unsigned long long)ask.job[0],
                     (long long)(e.granted_us / MIN), (unsigned long long)s->job[i].id,
                     (long long)((is[i] - was[i]) / MIN));
}

static void turn(struct sim *s)
{
    struct asked a;
    end_due(s);
    suspend_some(s);
    do { /* what is idle counts in the order: more may start in a second pass */
        sched_plan(s->cl, s->now, NULL, s->plan);
        for (size_t i = 0; i < s->plan->nstarts; i++)
            start(s, &s->plan->start[i]);
    } while (s->plan->nstarts > 0);
    if (!somebody(s, &a))
        return;
    compare(s, &a);
    if (rng_chance(&s->rng, 500))
        give(s, &a, rng_chance(&s->rng, 300));
}

static void worlds(const char *parameters, uint64_t factor)
{
    memset(&found, 0, sizeof found);
    for (uint64_t seed = 1; seed <= worlds_of(6); seed++) {
        struct sim s = {.rng = {seed * factor},
                        .seed = seed * factor,
                        .mixed = seed % 3 == 0,
                        .paired = seed % 3 == 1,
                        .parameters = parameters};
        world_play(&s, turn);
        world_done(&s);
    }
    assert_true(found.whole > 0 && found.part > 0 && found.none > 0);
    assert_true(found.jobs_later >= found.part + found.none);
}

static void in_the_default_order(void **state)
{
    (void)state;
    worlds("order=ageing", 15485863);
}

static void by_priority(void **state)
{
    (void)state;
    worlds(NULL, 32452867);
}

static void where_all_are_promised(void **state)
{
    (void)state;
    worlds("order=ageing,promises=all", 5047948993); /* the first needs the places of promises */
}

static void where_the_aged_are(void **state)
{
    (void)state;
    worlds("order=ageing,promises=aged,age_bound=60", 67867979);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_the_default_order),
        cmocka_unit_test(by_priority),
        cmocka_unit_test(where_all_are_promised),
        cmocka_unit_test(where_the_aged_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
