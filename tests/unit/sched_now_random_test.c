/* What starts now, and why the others wait, is the same whether a forecast is made or not: without
 * one, equals stand in the order as one (pass/live.c). And in a cluster that is made anew, whose
 * nodes and partitions came in another order, it is what it is in the one that was kept. */
#include "sched_random_help.h"

static void starts_write(const struct plan *p, struct str *out)
{
    for (size_t i = 0; i < p->nstarts; i++) {
        const struct plan_start *s = &p->start[i];
        str_addf(out, "%llu %s %llu %lld %d ", (unsigned long long)s->job_id, s->partition,
                 (unsigned long long)s->priority, (long long)s->limit_us, s->backfilled);
        alloc_format(&s->alloc, out);
        str_addc(out, '\n');
    }
}

/* Promises, too, which are all that is planned without a forecast. Where one was dear, and stands
 * from an earlier pass (foreseen_cost 0), it is not what one of now would be. */
static void waits_compare(struct sim *s, struct plan *full, struct cluster *all, const char *other,
                          struct plan *now, struct cluster *cl)
{
    for (size_t i = 0; i < s->njobs; i++) {
        struct plan_wait x = {0}, y = {0};
        if (s->job[i].start || s->job[i].gone || !plan_wait_of(full, all, s->job[i].id, &x))
            continue;
        assert_true(plan_wait_of(now, cl, s->job[i].id, &y));
        if (x.reason != y.reason || x.rank != y.rank || x.priority != y.priority)
            fail_msg("world %llu, job %llu: %s, %u, %llu; %s %s, %u, %llu",
                     (unsigned long long)s->seed, (unsigned long long)s->job[i].id,
                     enum_name(&job_reason_names, x.reason), x.rank, (unsigned long long)x.priority,
                     other, enum_name(&job_reason_names, y.reason), y.rank,
                     (unsigned long long)y.priority);
        if (y.planned_us && (now != s->plan || now->foreseen_cost > 0))
            assert_int_equal(x.planned_us, y.planned_us);
    }
}

static void turn(struct sim *s)
{
    end_due(s);
    suspend_some(s);
    struct cluster *all = twin_of(s), *cl = twin_of(s);
    struct plan *full = plan_new(), *now = plan_new();
    struct str a = STR_INIT, b = STR_INIT;
    sched_plan(cl, s->now, &(struct budget){.no_forecast = true}, now);
    sched_plan(all, s->now, NULL, full);
    starts_write(full, &a);
    starts_write(now, &b);
    cluster_firsts_tell(all, &a);
    cluster_firsts_tell(cl, &b);
    assert_string_equal(str_text(&a), str_text(&b));
    waits_compare(s, full, all, "without a forecast", now, cl);
    sched_plan(s->cl, s->now, NULL, s->plan);
    waits_compare(s, full, all, "kept", s->plan, s->cl);
    for (size_t i = 0; i < s->plan->nstarts; i++)
        start(s, &s->plan->start[i]);
    str_done(&a);
    str_done(&b);
    plan_free(now);
    plan_free(full);
    cluster_free(cl);
    cluster_free(all);
}

static void worlds_of_order(const char *parameters, uint64_t factor)
{
    for (uint64_t seed = 1; seed <= worlds_of(25); seed++) {
        struct sim s = {.rng = {seed * factor},
                        .seed = seed * factor,
                        .mixed = seed % 3 == 0,
                        .parameters = parameters};
        world_play(&s, turn);
        world_done(&s);
    }
}

static void in_the_default_order(void **state)
{
    worlds_of_order("order=ageing", 982451653);
}

static void by_priority(void **state)
{
    worlds_of_order("order=priority", 32452843);
}

/* Everybody waited four age bounds or more: of each partition one goes first. */
static void past_the_age_bound(void **state)
{
    worlds_of_order("order=ageing,age_bound=60", 49979687);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_the_default_order),
        cmocka_unit_test(by_priority),
        cmocka_unit_test(past_the_age_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
