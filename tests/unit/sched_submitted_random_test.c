/* In random worlds: a job that is tried is said to start when it is planned once it is submitted,
 * where promises are remembered with their nodes, too. */
#include "sched_random_help.h"

#include "sched/answer/submitted.h"

static uint64_t now, later; /* so that worlds in which nobody waits fail */

static struct waiting waiting_of(const struct task *j)
{
    return (struct waiting){.job_id = j->id,
                            .req = &j->req,
                            .uid = j->uid,
                            .het_job_id = j->het,
                            .het_size = j->het_size,
                            .elements = 1,
                            .submit_us = j->submit,
                            .eligible_us = j->submit};
}

static void compare(const struct sim *s, const struct task *j, const struct submitted_start *said)
{
    struct plan_wait w = {0};
    int64_t planned = start_of(s->plan, j->id)                  ? s->now
                      : plan_wait_of(s->plan, s->cl, j->id, &w) ? w.planned_us
                                                                : 0;
    if (planned != said->start_us)
        fail_msg("world %llu, job %llu: %lld min are said, and it is planned in %lld",
                 (unsigned long long)s->seed, (unsigned long long)j->id,
                 (long long)((said->start_us - s->now) / MIN),
                 (long long)((planned - s->now) / MIN));
    now += planned == s->now;
    later += planned > s->now;
}

/* The same job, of one component or several, tried and then submitted. */
static void try_one(struct sim *s)
{
    struct task *j = &s->job[s->njobs];
    struct submitted_start said[3];
    struct waiting asked[3];
    if (s->njobs + 4 > ARRAY_LEN(s->job))
        return;
    uint32_t n = tasks_make(s, j);
    if (n == 0)
        return;
    struct arena *a = arena_new();
    for (uint32_t i = 0; i < n; i++)
        asked[i] = waiting_of(&j[i]);
    sched_submitted(s->cl, s->plan, asked, n, s->now, false, a, said);
    s->njobs += n;
    for (uint32_t i = 0; i < n; i++)
        job_wait(s->cl, &j[i]);
    sched_plan(s->cl, s->now, NULL, s->plan);
    for (uint32_t i = 0; i < n; i++)
        compare(s, &j[i], &said[i]);
    for (size_t i = 0; i < s->plan->nstarts; i++)
        start(s, &s->plan->start[i]);
    arena_free(a);
}

static void turn(struct sim *s)
{
    end_due(s);
    suspend_some(s);
    /* How wide the heads are is seen as a pass begins: they are those of the pass before. */
    for (int quiet = 0; quiet < 2; quiet = s->plan->nstarts ? 0 : quiet + 1) {
        sched_plan(s->cl, s->now, NULL, s->plan);
        for (size_t i = 0; i < s->plan->nstarts; i++)
            start(s, &s->plan->start[i]);
    }
    if (rng_chance(&s->rng, 500))
        try_one(s);
}

static void worlds(const char *parameters, uint64_t factor)
{
    now = later = 0;
    for (uint64_t seed = 1; seed <= worlds_of(15); seed++) {
        struct sim s = {.rng = {seed * factor},
                        .seed = seed * factor,
                        .paired = seed % 12 == 0,
                        .parameters = parameters};
        world_play(&s, turn);
        world_done(&s);
    }
    assert_true(now > 0 && later > 0);
}

static void in_the_default_order(void **state)
{
    (void)state;
    worlds("order=ageing", 15485867);
}

static void where_all_are_promised(void **state)
{
    (void)state;
    worlds("order=ageing,promises=all", 32452843);
}

static void where_the_aged_are(void **state)
{
    (void)state;
    worlds("order=ageing,promises=aged,age_bound=60", 49979687);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_the_default_order),
                                       cmocka_unit_test(where_all_are_promised),
                                       cmocka_unit_test(where_the_aged_are)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
