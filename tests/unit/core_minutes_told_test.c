/* Minutes that are used up: what people are told of when jobs may start. */
#include "core_minutes_help.h"

/* ---- told why ------------------------------------------------------------------------------- */

static const struct blocker *limit_of(uint64_t id)
{
    const struct why *y = why_one(id);
    assert_int_equal(y->blockers.n, 1);
    const struct blocker *b = y->blockers.v;
    assert_int_equal(b->kind, BLOCKER_LIMIT);
    return b;
}

/* Its start as squeue --start shows it. */
static int64_t planned(uint64_t id)
{
    struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .ids = ids_of(id)});
    assert_int_equal(r.row.n, 1);
    int64_t at_us = ((const struct job *)r.row.v[0])->planned_us;
    vec_done(&r.row);
    return at_us;
}

/* Where several hold a job, its start is when the last of them has room; where one never has, none
 * is said. */
static void a_start_is_foreseen(void **unused)
{
    minutes_open(SAFE);
    assert_int_equal(limit_set("physics", "GrpTRESRunMins=cpu=60"), REFUSE_NONE);
    assert_int_equal(limit_set("qos test", "MaxTRESRunMinsPerUser=cpu=50"), REFUSE_NONE);
    uint64_t first = submit(job_for(4, 10, "physics", "test")),
             second = submit(job_for(4, 10, "physics", "test")),
             third = submit(job_for(4, 10, "physics", NULL)),
             never = submit(job_for(8, 10, "physics", NULL));
    int64_t began_us = job(first)->start_us;
    assert_int_equal((planned(third) - began_us + MIN - 1) / MIN, 5);  /* 20 of 40 are left */
    assert_int_equal((planned(second) - began_us + MIN - 1) / MIN, 8); /* 10 of 40 */
    assert_int_equal(planned(never), 0);
    struct job_spec s = job_for(4, 10, "physics", NULL);
    s.hold = true;
    assert_int_equal(planned(submit(s)), 0);
    world_close();
}

/* What running jobs may still use shrinks with the time: after half of it there is room. */
static void when_running_jobs_leave_room(void **unused)
{
    minutes_open(SAFE);
    assert_int_equal(limit_set("physics", "GrpTRESRunMins=cpu=60"), REFUSE_NONE);
    uint64_t first = submit(job_for(4, 10, "physics", "test"));
    am_bob();
    uint64_t second = submit(job_for(4, 10, "physics", "test"));
    const struct blocker *b = limit_of(second);
    assert_string_equal(b->jobs, ids_of(first));
    assert_string_equal(b->users, "alice");
    assert_non_null(strstr(b->what, "GrpTRESRunMins=cpu=60 of account physics"));
    assert_int_equal((b->first_us - job(first)->start_us + MIN - 1) / MIN, 5);
    pass(5 * MIN);
    assert_int_equal(state(second), JOB_RUNNING);
    am_alice();
    uint64_t third = submit(job_for(8, 10, "physics", "test")); /* more than ever may be */
    assert_int_equal(limit_of(third)->first_us, 0);
    world_close();
}

/* What an allocation keeps of its nodes counts, whichever of them it gave back. */
static void when_an_allocation_that_became_smaller_leaves_room(void **unused)
{
    static const char *const kept[] = {"n1", "n2"};
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        minutes_open(SAFE);
        assert_int_equal(limit_set("physics", "GrpTRESRunMins=cpu=120"), REFUSE_NONE);
        struct job_spec s = job_for(8, 10, "physics", NULL), to = {.req.nodelist = kept[i]};
        s.batch = false;
        s.req.min_nodes = s.req.max_nodes = 2;
        s.req.ntasks_per_node = 4;
        uint64_t first = submit(s);
        assert_string_equal(job(first)->nodes, "n[1-2]");
        struct msg_update_job m = {.ids = ids_of(first), .fields = "nodelist", .values = {&to, 1}};
        say(1, MSG_UPDATE_JOB, &m);
        assert_int_equal(refusal(), REFUSE_NONE);
        report(i ? 1 : 2,
               (struct msg_report){.kind = REPORT_RELEASED, .job_id = first, .attempt = 1});
        assert_string_equal(job(first)->nodes, kept[i]);
        uint64_t next = submit(job_for(4, 25, "physics", NULL)); /* 100, beside 40 */
        const struct blocker *b = limit_of(next);
        assert_non_null(b->jobs);
        assert_string_equal(b->jobs, ids_of(first));
        assert_int_equal((b->first_us - job(first)->start_us + MIN - 1) / MIN, 5);
        world_close();
    }
}

#define MANY                                                                                       \
    "ClusterName=test\nNodeName=n[1-4] CPUs=8 RealMemory=8000\n"                                   \
    "PartitionName=main Nodes=n[1-4] Default=YES MaxTime=UNLIMITED OverSubscribe=FORCE:20\n"       \
    "PriorityDecayHalfLife=0\nPriorityCalcPeriod=1\nAccountingStorageEnforce=safe,qos\n"

/* Of many that run what is left is worked out in groups: a start is foreseen at the latest, and
 * not by much too late. */
static void when_many_leave_room(void **unused)
{
    enum { RUNS = 300, NEED = 300 };
    int64_t sum = 0, exact = 0, left;
    world_open(MANY, 4);
    the_tree();
    for (int i = 0; i < RUNS; i++) {
        assert_int_equal(state(submit(job_for(1, 10 + i, "physics", NULL))), JOB_RUNNING);
        sum += 10 + i;
    }
    assert_int_equal(
        limit_set("physics", arena_printf(w.a, "GrpTRESRunMins=cpu=%lld", (long long)sum)),
        REFUSE_NONE);
    uint64_t id = submit(job_for(1, NEED, "physics", NULL));
    assert_string_equal(waits_for(id), "AssocGrpCPURunMinutesLimit");
    do {
        left = 0;
        exact++;
        for (int i = 0; i < RUNS; i++)
            left += 10 + i > exact ? 10 + i - exact : 0;
    } while (left + NEED > sum);
    int64_t at_us = planned(id), why_us = limit_of(id)->first_us;
    assert_true(at_us >= w.now + (exact - 1) * MIN && at_us <= w.now + (exact + 2) * MIN);
    assert_true(why_us >= w.now + (exact - 1) * MIN && why_us <= at_us);
    world_close();
}

/* With `safe`, what runs may use all that is left to it; what it used decays once it is over, or is
 * forgotten with the next day. Who waits for that starts then at the latest. */
static void when_running_jobs_are_over(void **unused)
{
    static const struct {
        const char *conf;
        int64_t least_min, most_min;
    } ways[] = {
        {MINUTES_OF("safe,qos", "PriorityDecayHalfLife=1:00:00\n"), 10 + 55, 10 + 65},
        {MINUTES_OF("safe,qos", "PriorityUsageResetPeriod=DAILY\n"), 10, 24 * 60},
    };
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        minutes_open(ways[i].conf);
        assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=60"), REFUSE_NONE);
        uint64_t first = submit(job_for(4, 10, "physics", NULL)); /* 40 of 60 */
        int64_t began_us = w.now;
        uint64_t next = submit(job_for(4, 10, "physics", NULL)); /* once 20 of them are gone */
        int64_t at_us = limit_of(next)->first_us;
        assert_int_equal(planned(next), at_us);
        assert_true(at_us >= began_us + ways[i].least_min * MIN);
        assert_true(at_us <= began_us + ways[i].most_min * MIN);
        pass(10 * MIN);
        assert_true(job(first)->state != JOB_RUNNING);
        script_ends(first, 0);
        pass(at_us - w.now - 20 * MIN);
        assert_string_equal(waits_for(next), "AssocGrpCPUMinutesLimit");
        pass(25 * MIN);
        assert_true(job(next)->start_us > 0);
        world_close();
    }
}

/* What was used decays: after a half-life there is room, and it is told who used it. */
static void when_use_has_decayed(void **unused)
{
    minutes_open(MINUTES_OF("limits,qos", "PriorityDecayHalfLife=1:00:00\n"));
    uint64_t first = submit(job_for(4, 20, "physics", "test"));
    pass(20 * MIN);
    assert_true(job(first)->state != JOB_RUNNING);
    assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=31"), REFUSE_NONE);
    am_bob();
    uint64_t id = submit(job_for(1, 10, "physics", "test"));
    const struct blocker *b = limit_of(id);
    assert_non_null(strstr(b->what, "; used by alice in physics (6"));
    int64_t at_us = b->first_us;
    assert_true(at_us > w.now + 50 * MIN && at_us < w.now + 70 * MIN);
    pass(at_us - w.now - 5 * MIN);
    assert_int_equal(state(id), JOB_PENDING);
    pass(10 * MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    world_close();
}

static void factor_set(int64_t factor_e6, uint32_t flags)
{
    struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
    ch->fields = "usage_factor_e6_plus1,flags";
    ch->qos = (struct record_list){
        KEEP(struct qos, .name = "test", .flags = flags, .usage_factor_e6_plus1 = factor_e6 + 1),
        1};
    assert_int_equal(changed(false), REFUSE_NONE);
}

/* With `safe` a job starts if its whole time fits; with UsageFactorSafe, times the use factor of its
 * QOS, without it as if that were 1. */
static void the_use_factor_beforehand(void **unused)
{
    static const struct {
        int64_t factor_e6;
        bool safe;
        int32_t fit; /* of three jobs of 40 CPU minutes, beside a limit of 100 */
    } factors[] = {{2000000, true, 1}, {2000000, false, 2}, {500000, true, 3}, {500000, false, 2}};
    for (size_t i = 0; i < ARRAY_LEN(factors); i++) {
        minutes_open(SAFE);
        factor_set(factors[i].factor_e6, factors[i].safe ? QOS_USAGE_FACTOR_SAFE : 0);
        assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=100"), REFUSE_NONE);
        uint64_t id[3];
        for (int k = 0; k < 3; k++)
            id[k] = submit(job_for(4, 10, "physics", "test"));
        for (int k = 0; k < 3; k++)
            if (k < factors[i].fit)
                assert_int_equal(state(id[k]), JOB_RUNNING);
            else
                assert_string_equal(waits_for(id[k]), "AssocGrpCPUMinutesLimit");
        if (factors[i].fit < 3) { /* it fits without the factor, and with a smaller one */
            factor_set(100000, QOS_USAGE_FACTOR_SAFE);
            assert_int_equal(state(id[2]), JOB_RUNNING);
        }
        world_close();
    }
}

static struct priority_row priority_row_of(uint64_t id)
{
    struct rows r = ask((struct msg_query){.what = QUERY_PRIORITY, .ids = ids_of(id)});
    assert_int_equal(r.row.n, 1);
    struct priority_row row = *(const struct priority_row *)r.row.v[0];
    vec_done(&r.row);
    return row;
}

/* Who is held by minutes has the priority that the planner will see once it is not. */
static void held_jobs_have_a_priority(void **unused)
{
    static const char multifactor[] =
        "PriorityType=priority/multifactor\nPriorityWeightQOS=1000\nPriorityWeightAge=0\n"
        "PriorityWeightFairshare=5000\nPriorityWeightJobSize=700\n";
    static const char *const settings[] = {multifactor, "PriorityType=priority/basic\n", ""};
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        minutes_open(MINUTES_OF("safe,qos", ""));
        char *conf = xasprintf("%s%s", MINUTES_OF("safe,qos", ""), settings[i]);
        configure(conf);
        uint64_t all = submit(job_for(32, 60, "chem", NULL)); /* all there is */
        assert_int_equal(state(all), JOB_RUNNING);
        assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=60"), REFUSE_NONE);
        uint64_t id = submit(job_for(16, 10, "physics", "test"));
        assert_string_equal(waits_for(id), "AssocGrpCPUMinutesLimit");
        struct priority_row held = priority_row_of(id);
        uint64_t shown = job(id)->priority;
        if (i == 0)
            assert_true(held.size > 0 && held.fairshare > 0);
        assert_true(shown > 1 && shown == held.priority);
        assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=-1"), REFUSE_NONE);
        assert_string_equal(waits_for(id), "Resources");
        struct priority_row queued = priority_row_of(id);
        assert_int_equal(held.priority, queued.priority);
        assert_int_equal(held.size, queued.size);
        assert_int_equal(held.fairshare, queued.fairshare);
        assert_int_equal(held.qos_part, queued.qos_part);
        assert_int_equal(job(id)->priority, shown);
        assert_int_equal(control(ids_of(id), ACTION_HOLD), REFUSE_NONE);
        struct rows none = ask((struct msg_query){.what = QUERY_PRIORITY, .ids = ids_of(id)});
        assert_int_equal(none.row.n, 0);
        vec_done(&none.row);
        free(conf);
        world_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(when_running_jobs_leave_room),
        cmocka_unit_test(a_start_is_foreseen),
        cmocka_unit_test(held_jobs_have_a_priority),
        cmocka_unit_test(the_use_factor_beforehand),
        cmocka_unit_test(when_running_jobs_are_over),
        cmocka_unit_test(when_use_has_decayed),
        cmocka_unit_test(when_many_leave_room),
        cmocka_unit_test(when_an_allocation_that_became_smaller_leaves_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
