/* Random clusters and queues: nothing is given twice, promises are kept, equal jobs start in order,
 * a cluster built anew plans the same, and on equal whole nodes the starts are those of EASY as the
 * literature counts it. */
#include "sched_random_help.h"

static void check_order(const struct sim *s)
{
    for (size_t i = 0; i < s->njobs; i++)
        for (size_t k = i + 1; k < s->njobs; k++)
            if (!s->job[i].start && !s->job[i].gone && !s->job[i].held &&
                s->job[k].start == s->now && s->job[i].nice <= s->job[k].nice &&
                s->job[i].req.exclusive != EXCLUSIVE_USER && !s->job[i].het && !s->job[k].het &&
                record_equal(&job_request_fields, &s->job[i].req, &s->job[k].req))
                fail_msg("job %llu started before its equal %llu", (unsigned long long)s->job[k].id,
                         (unsigned long long)s->job[i].id);
}

/* The first in each queue was promised a start; with exact ends and only younger jobs coming, it
 * may not move to a later time. */
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

static void check_rebuilt(struct sim *s)
{
    struct cluster *cl = rebuilt(s);
    struct plan *plan = plan_new();
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
        if (!s->job[i].start && !s->job[i].gone && !s->job[i].held &&
            plan_wait_of(plan, cl, s->job[i].id, &x)) {
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

/* ---- a second set of books ---- */

struct ledger {
    int64_t mem;
    int alone[64], shared[64], suspended[64]; /* by CPU: jobs that hold it */
    uint64_t device[8];                       /* by kind and index: who holds it */
};

static bool shares(const struct sim *s, const struct task *j)
{
    return s->nparts == 3 && text_is(j->part, "shared");
}

static void ledger_devices(struct ledger *l, const struct task *j, const struct alloc_node *a)
{
    for (size_t i = 0; i < a->ngres; i++) {
        struct idset set = IDSET_INIT;
        bool gpu = text_is(a->gres[i].kind, "gpu");
        if (!a->gres[i].devices)
            continue;
        assert_true(idset_parse(&set, a->gres[i].devices, 63, NULL));
        for (int d = 0; d < 4; d++) {
            uint64_t *holder = &l->device[(gpu ? 0 : 4) + d];
            if (!idset_has(&set, (uint32_t)d))
                continue;
            if (*holder)
                fail_msg("jobs %llu and %llu have one device of %s", (unsigned long long)*holder,
                         (unsigned long long)j->id, a->node);
            *holder = j->id;
        }
        idset_done(&set);
    }
}

static void ledger_add(struct sim *s, struct ledger *l, const struct task *j,
                       const struct alloc_node *a)
{
    struct idset set = IDSET_INIT;
    int32_t cpus = 0;
    l->mem += a->mem_mib;
    assert_true(idset_parse(&set, a->cpus, 63, NULL));
    for (int c = 0; c < 64; c++)
        if (idset_has(&set, (uint32_t)c)) {
            *(j->was_suspended ? &l->suspended[c]
              : shares(s, j)   ? &l->shared[c]
                               : &l->alone[c]) += 1;
            cpus++;
        }
    assert_int_equal(cpus, a->cpu_count);
    idset_done(&set);
    ledger_devices(l, j, a);
}

/* Nothing that the planner counts with is used here: only what jobs were told they have, and what
 * the nodes were said to be. */
static void check_ledger(struct sim *s)
{
    int licences = 0;
    for (size_t n = 0; n < s->nnodes; n++) {
        struct ledger l = {0};
        for (size_t i = 0; i < s->njobs; i++) {
            const struct task *j = &s->job[i];
            const struct alloc_node *a =
                j->start && !j->gone ? alloc_find(&j->al, s->name[n]) : NULL;
            if (a)
                ledger_add(s, &l, j, a);
        }
        if (l.mem > s->node[n].memory_mib)
            fail_msg("%lld MiB are given on %s", (long long)l.mem, s->name[n]);
        for (int c = 0; c < 64; c++) {
            bool there = c < s->node[n].cpus;
            if (l.alone[c] > there || l.shared[c] > 2 * there || (l.alone[c] && l.shared[c]))
                fail_msg("CPU %d of %s is given to %d jobs alone and %d together", c, s->name[n],
                         l.alone[c], l.shared[c]);
        }
    }
    for (size_t i = 0; i < s->njobs; i++)
        if (s->job[i].start && !s->job[i].gone && s->job[i].req.licenses)
            licences += atoi(strchr(s->job[i].req.licenses, ':') + 1);
    assert_true(licences <= 2);
}

/* ---- events ---- */

static struct task *any_job(struct sim *s, bool running)
{
    size_t first = s->njobs ? rng_below(&s->rng, s->njobs) : 0;
    for (size_t i = 0; i < s->njobs; i++) {
        struct task *j = &s->job[(first + i) % s->njobs];
        if (!j->gone && !j->het && (j->start != 0) == running)
            return j;
    }
    return NULL;
}

static void drain_some(struct sim *s)
{
    struct node *n = &s->node[rng_below(&s->rng, s->nnodes)];
    n->drain = !n->drain;
    put_node(s->cl, n);
}

static void change_tier(struct sim *s)
{
    struct partition *p = &s->part[rng_below(&s->rng, s->nparts)];
    p->priority_tier = 1 + (int32_t)rng_below(&s->rng, 3);
    put_part(s->cl, p);
}

static void change_waiting(struct sim *s)
{
    struct task *j = any_job(s, false);
    if (!j)
        return;
    switch (rng_below(&s->rng, 4)) {
    case 0: j->nice = (int32_t)rng_below(&s->rng, 3) * 100; break;
    case 1: {
        struct job_request q = request_make(s);
        if (sched_check(s->cl, &q, 1000, NULL, NULL, NULL) == REFUSE_NONE)
            j->req = q;
        break;
    }
    case 2: j->held = !j->held; break;
    default: j->gone = true; break;
    }
    cluster_unwait(s->cl, j->id);
    if (!j->held && !j->gone)
        job_wait(s->cl, j);
}

static void change_running(struct sim *s)
{
    struct task *j = any_job(s, true);
    if (!j)
        return;
    if (rng_chance(&s->rng, 300)) {
        j->end = s->now; /* cancelled */
        end_due(s);
        return;
    }
    j->limit += rng_range(&s->rng, -3, 6) * 10 * MIN;
    if (end_expected(j) <= s->now)
        j->limit = s->now - j->start - j->paused + MIN;
    if (j->end > end_expected(j) && !j->suspended)
        j->end = end_expected(j);
    cluster_set_end(s->cl, j->id, end_expected(j));
}

static void events(struct sim *s)
{
    static void (*const kinds[])(struct sim * s) = {drain_some, change_tier, change_waiting,
                                                    change_waiting, change_running};
    for (uint64_t n = rng_below(&s->rng, 4); n > 0; n--)
        kinds[rng_below(&s->rng, ARRAY_LEN(kinds))](s);
}

/* Components start together. */
static void check_het(const struct sim *s)
{
    for (size_t i = 0; i + 1 < s->njobs; i++)
        if (s->job[i].het && s->job[i].het == s->job[i + 1].het)
            assert_int_equal(s->job[i].start, s->job[i + 1].start);
}

static void plan_and_start(struct sim *s, bool promises, bool rebuild)
{
    end_due(s);
    suspend_some(s);
    sched_plan(s->cl, s->now, NULL, s->plan);
    if (rebuild)
        check_rebuilt(s);
    for (size_t i = 0; i < s->plan->nstarts; i++)
        start(s, &s->plan->start[i]);
    cluster_check(s->cl);
    check_ledger(s);
    check_order(s);
    check_het(s);
    if (promises)
        check_promises(s);
}

static void turn(struct sim *s)
{
    plan_and_start(s, false, false);
}
static void turn_promising(struct sim *s)
{
    plan_and_start(s, s->nparts == 1, false);
}
static void turn_rebuilding(struct sim *s)
{
    plan_and_start(s, false, true);
}

/* Whatever happens, what is kept between passes makes no difference: the plan is that of a cluster
 * and planner that never saw anything else. */
static void turn_eventful(struct sim *s)
{
    events(s);
    plan_and_start(s, false, true);
}

static void play(uint64_t seed, bool exact, bool mixed, void (*each_turn)(struct sim *s))
{
    struct sim s = {.rng = {seed}, .seed = seed, .exact = exact, .mixed = mixed};
    world_play(&s, each_turn);
    check_all_ran(&s);
    world_done(&s);
}

static void nothing_is_given_twice_and_all_run(void **state)
{
    for (uint64_t seed = 1; seed <= worlds_of(100); seed++)
        play(seed, false, false, turn);
}

static void nor_with_licences_pairs_and_suspended_work(void **state)
{
    for (uint64_t seed = 1; seed <= worlds_of(85); seed++)
        play(seed * 31, false, true, turn);
}

static void promises_are_kept(void **state)
{
    for (uint64_t seed = 1; seed <= worlds_of(130); seed++)
        play(seed * 1000003, true, false, turn_promising);
}

static void a_cluster_built_anew_plans_the_same(void **state)
{
    for (uint64_t seed = 1; seed <= worlds_of(35); seed++)
        play(seed * 7777777, false, seed % 2 == 0, turn_rebuilding);
}

static void after_any_events_it_plans_as_from_scratch(void **state)
{
    for (uint64_t seed = 1; seed <= worlds_of(20); seed++) {
        struct sim s = {.rng = {seed * 15485863}, .seed = seed, .mixed = seed % 2 == 0};
        world_play(&s, turn_eventful);
        world_done(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_given_twice_and_all_run),
        cmocka_unit_test(nor_with_licences_pairs_and_suspended_work),
        cmocka_unit_test(promises_are_kept),
        cmocka_unit_test(a_cluster_built_anew_plans_the_same),
        cmocka_unit_test(after_any_events_it_plans_as_from_scratch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
