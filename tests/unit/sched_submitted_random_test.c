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
                            .elements = 1,
                            .submit_us = j->submit,
                            .eligible_us = j->submit};
}

/* The same job, tried and then submitted. */
static void try_one(struct sim *s)
{
    struct task *j = &s->job[s->njobs];
    struct submitted_start said;
    struct plan_wait w = {0};
    if (s->njobs + 2 > ARRAY_LEN(s->job) || !task_make(s, j))
        return;
    struct arena *a = arena_new();
    struct waiting asked = waiting_of(j);
    sched_submitted(s->cl, s->plan, &asked, 1, s->now, false, a, &said);
    s->njobs++;
    job_wait(s->cl, j);
    sched_plan(s->cl, s->now, NULL, s->plan);
    int64_t planned = start_of(s->plan, j->id)                  ? s->now
                      : plan_wait_of(s->plan, s->cl, j->id, &w) ? w.planned_us
                                                                : 0;
    if (planned != said.start_us)
        fail_msg("world %llu, job %llu: %lld min are said, and it is planned in %lld",
                 (unsigned long long)s->seed, (unsigned long long)j->id,
                 (long long)((said.start_us - s->now) / MIN),
                 (long long)((planned - s->now) / MIN));
    now += planned == s->now;
    later += planned > s->now;
    for (size_t i = 0; i < s->plan->nstarts; i++)
        start(s, &s->plan->start[i]);
    arena_free(a);
}

static void turn(struct sim *s)
{
    end_due(s);
    suspend_some(s);
    do {
        sched_plan(s->cl, s->now, NULL, s->plan);
        for (size_t i = 0; i < s->plan->nstarts; i++)
            start(s, &s->plan->start[i]);
    } while (s->plan->nstarts > 0);
    if (rng_chance(&s->rng, 500))
        try_one(s);
}

static void worlds(const char *parameters, uint64_t factor)
{
    now = later = 0;
    for (uint64_t seed = 1; seed <= worlds_of(60); seed++) {
        struct sim s = {.rng = {seed * factor}, .seed = seed * factor, .parameters = parameters};
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
