/* Fair share: what is used is charged, decays, survives a restart and decides who comes next; and
 * the parts of a priority. */
#include "sched/books/state.h"

#include "core_help.h"

#include "core/record/accounts/limits.h"
#include "core/record/users/run_times.h"
#include "model/job/job_counts.h"

// clang-format off
#define SHARE_CONF_OF(weights)                                                                                        \
    "ClusterName=test\nOperators=olga\nPriorityWeightAge=0\nPriorityWeightPartition=0\nKillWait=5\n"          \
    "PriorityWeightFairshare=1000\nPriorityCalcPeriod=1\nPriorityDecayHalfLife=0:10:00\n"                   \
    "NodeName=n[1-4] CPUs=8 RealMemory=8000\n"                                                               \
    "PartitionName=main Nodes=n[1-4] Default=YES MaxTime=2:00:00 State=UP\n"                                 \
    "PartitionName=dear Nodes=n[1-4] TRESBillingWeights=" weights " State=UP\n"
#define SHARE_CONF SHARE_CONF_OF("CPU=2,Mem=0.5G")
// clang-format on

static int setup_shares(void **unused)
{
    world_open(SHARE_CONF, 1);
    return 0;
}

#define SHARES(function) cmocka_unit_test_setup_teardown(function, setup_shares, teardown)

static const struct usage *share_of(uint32_t uid)
{
    struct rows r = ask((struct msg_query){.what = QUERY_SHARES});
    const struct usage *found = NULL;
    for (size_t i = 0; i < r.row.n; i++)
        if (((const struct usage *)r.row.v[i])->user_id == uid)
            found = r.row.v[i];
    vec_done(&r.row);
    assert_non_null(found);
    return found;
}

static const struct priority_row *priority_of_job(uint64_t id)
{
    struct rows r = ask((struct msg_query){.what = QUERY_PRIORITY, .ids = ids_of(id)});
    assert_int_equal(r.row.n, 1);
    const struct priority_row *row = r.row.v[0];
    vec_done(&r.row);
    return row;
}

static void near(int64_t is, int64_t expected)
{
    if (is < expected - expected / 100 - 1 || is > expected + expected / 100 + 1)
        fail_msg("%lld is not about %lld", (long long)is, (long long)expected);
}

static void test_use_is_charged_and_decays(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_wide_job("a"));
    assert_int_equal(share_of(ALICE)->usage, 0);
    for (int i = 0; i < 5; i++)
        pass(MIN);
    script_ends(id, 0);
    /* 8 CPUs × 300 s, less what decayed of it meanwhile: Σ 8 × 60 × 2^(−k/10) for k = 1 … 4, and
     * 5 */
    int64_t used = share_of(ALICE)->usage;
    near(used, 1956000);
    for (int i = 0; i < 10; i++)
        pass(MIN);
    near(share_of(ALICE)->usage, used / 2);
    restart(SHARE_CONF);
    near(share_of(ALICE)->usage, used / 2);
    hello(1);
    pass(10 * MIN);
    near(share_of(ALICE)->usage, used / 4);
}

/* ---- how long jobs ran ---- */

static uint64_t asks(int64_t limit_us, bool held)
{
    struct job_spec s = a_wide_job("a");
    s.req.time_limit_us = limit_us;
    s.hold = held;
    return submit(s);
}

static void runs(int64_t limit_us, int64_t run_us)
{
    uint64_t id = asks(limit_us, false);
    assert_int_equal(state(id), JOB_RUNNING);
    pass(run_us);
    script_ends(id, 0);
}

static int64_t expected_of(uint64_t id)
{
    return why_one(id)->expected_us;
}

static void test_how_long_such_jobs_ran_is_remembered(void **unused)
{
    (void)unused;
    uint64_t waits = asks(60 * MIN, true), other = asks(50 * MIN, true);
    am_bob();
    uint64_t bobs = asks(60 * MIN, true);
    am_alice();
    assert_int_equal(expected_of(waits), 0);
    for (int n = 1; n <= 3; n++) { /* 4 min; 4 and 8; 8 and 12 */
        int64_t expected = (n == 1 ? 4 : 4 * n - 2) * MIN;
        runs(60 * MIN, n * 4 * MIN);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(expected_of(waits), expected);
            assert_int_equal(why_one(waits)->limit_us, 60 * MIN);
            assert_int_equal(expected_of(other), 0);
            assert_int_equal(expected_of(bobs), 0);
            restart(SHARE_CONF);
            hello(1);
        }
    }
    /* What somebody ended tells nothing of how long it would have run. */
    uint64_t id = asks(50 * MIN, false);
    pass(MIN);
    cancel(ids_of(id));
    script_ends(id, 9);
    assert_int_equal(state(id), JOB_CANCELLED);
    assert_int_equal(expected_of(other), 0);
    assert_null(share_of(ALICE)->run_times); /* nobody else is told */
}

/* Of the limits that were used last so many are remembered. */
static void test_run_times_are_bounded(void **unused)
{
    (void)unused;
    struct run_times t = {0}, back;
    struct str text = STR_INIT;
    for (int64_t limit = 1; limit <= RUN_TIMES_MOST; limit++)
        assert_int_equal(run_times_learn(&t, limit, 10 * limit), -1);
    assert_int_equal(run_times_learn(&t, 1, 20), -1);
    assert_int_equal(run_times_learn(&t, 100, 7), 2);
    assert_int_equal(t.n, RUN_TIMES_MOST);
    run_times_format(&t, &text);
    assert_true(text_starts(str_text(&text), "100:7,1:20:10,16:160,"));
    run_times_parse(str_text(&text), &back);
    assert_memory_equal(&back, &t, sizeof t);
    assert_int_equal(run_time_expected(&back.v[0]), 7);
    assert_int_equal(run_time_expected(&back.v[1]), 15);
    str_done(&text);
    run_times_parse("3600:5:,x,:,7,-1:4,3600:0,86400:99999999999,60:40:50:9,0:3", &back);
    assert_int_equal(back.n, 3);
    assert_int_equal(back.v[0].limit_s, 3600);
    assert_int_equal(back.v[0].before_last_s, 0);
    assert_int_equal(run_time_expected(&back.v[1]), 45);
    assert_int_equal(back.v[2].limit_s, 0);
}

static void test_weights_of_the_partition(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("a");
    spec.req.partition = "dear";
    spec.req.mem_per_node_mib = 4096;
    uint64_t id = submit(spec);
    pass(10 * SEC);
    script_ends(id, 0);
    near(share_of(ALICE)->usage, 10 * (2000 + 4 * 500));
}

/* What an allocation costs is settled when it is made; what waits is shown what it would cost
 * now. */
static void test_billing_stands_in_the_record(void **unused)
{
    (void)unused;
    struct job_spec spec = a_job("a");
    spec.req.partition = "dear";
    spec.req.ntasks = 4;
    spec.req.mem_per_node_mib = 4096;
    uint64_t runs = submit(spec);
    pass(SEC);
    assert_int_equal(job(runs)->state, JOB_RUNNING);
    assert_int_equal(job_billing(job(runs)), 4 * 2 + 2);
    spec.hold = true;
    uint64_t waits = submit(spec);
    assert_int_equal(job_billing(job(waits)), 4 * 2 + 2);
    restart(SHARE_CONF_OF("CPU=3,Mem=-1G"));
    hello(1);
    pass(SEC);
    assert_int_equal(job_billing(job(runs)), 4 * 2 + 2);
    assert_int_equal(job_billing(job(submit(spec))), 4 * 3 - 4);
    spec.req.ntasks = 1;
    assert_int_equal(job_billing(job(submit(spec))), 0); /* never less than nothing */
    spec.req.partition = "main";
    assert_int_equal(job_billing(job(submit(spec))), 1); /* no weights: its CPUs */
}

static void test_who_used_less_comes_first(void **unused)
{
    (void)unused;
    uint64_t first = submit(a_wide_job("a"));
    pass(3 * MIN);
    uint64_t again = submit(a_wide_job("a"));
    am_bob();
    uint64_t bobs = submit(a_wide_job("b"));
    assert_true(priority_of_job(bobs)->priority > priority_of_job(again)->priority);
    assert_int_equal(priority_of_job(bobs)->fairshare, 1000);
    assert_int_equal(priority_of_job(again)->fairshare, 500); /* rank 1 of 2 */
    script_ends(first, 0);
    assert_int_equal(state(bobs), JOB_RUNNING);
    assert_int_equal(state(again), JOB_PENDING);
    restart(SHARE_CONF);
    assert_true(share_of(ALICE)->usage > 0);
    assert_true(share_of(BOB)->fairshare > share_of(ALICE)->fairshare);
}

static void test_classic_fair_share_and_forgetting(void **unused)
{
    (void)unused;
    uint64_t id = submit(a_wide_job("a"));
    am_bob();
    submit(a_wide_job("b"));
    pass(2 * MIN);
    configure(SHARE_CONF "PriorityFlags=NO_FAIR_TREE\n");
    pass(MIN);
    /* All of the use with half of the shares: 2^-2. */
    near(share_of(ALICE)->fairshare, FACTOR_ONE / 4);
    assert_int_equal(share_of(BOB)->fairshare, FACTOR_ONE);
    am_alice();
    cancel(ids_of(id));
    script_ends(id, 15);
    restart(SHARE_CONF "PriorityUsageResetPeriod=NOW\n");
    assert_int_equal(share_of(ALICE)->usage, 0);
}

static void test_a_day_ends(void **unused)
{
    (void)unused;
    configure(SHARE_CONF "PriorityUsageResetPeriod=DAILY\nPriorityDecayHalfLife=0\n");
    uint64_t id = submit(a_wide_job("a"));
    pass(2 * MIN);
    script_ends(id, 0);
    assert_true(share_of(ALICE)->usage > 0);
    pass(30 * MIN);
    assert_true(share_of(ALICE)->usage > 0);
    for (int i = 0; i < 24; i++)
        pass(60 * MIN);
    assert_int_equal(share_of(ALICE)->usage, 0);
}

/* Stopped time costs nothing. */
static void test_suspended_time_is_free(void **unused)
{
    (void)unused;
    am_root();
    uint64_t id = submit(a_wide_job("a"));
    pass(10 * SEC);
    assert_int_equal(control(ids_of(id), ACTION_SUSPEND), REFUSE_NONE);
    pass(5 * MIN);
    assert_int_equal(control(ids_of(id), ACTION_RESUME), REFUSE_NONE);
    pass(10 * SEC);
    script_ends(id, 0);
    int64_t used = share_of(0)->usage;
    assert_true(used > 8 * 13 * 1000 && used <= 8 * 20 * 1000);
}

static void test_site_factor_and_nice(void **unused)
{
    (void)unused;
    submit(a_wide_job("a"));
    uint64_t id = submit(a_wide_job("b"));
    uint64_t before = priority_of_job(id)->priority;
    struct job_spec values = {.site_factor = 77};
    struct msg_update_job m = {.ids = ids_of(id), .fields = "site_factor", .values = {&values, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_ACCESS_DENIED);
    am_olga();
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_true(priority_of_job(id)->priority == before + 77);
    values = (struct job_spec){.nice = 7};
    m.fields = "nice";
    say(1, MSG_UPDATE_JOB, &m);
    assert_true(priority_of_job(id)->priority == before + 70);
    assert_int_equal(priority_of_job(id)->nice, 7);
}

static void test_factors(void **unused)
{
    (void)unused;
    restart("ClusterName=test\nPriorityWeightAge=100\nPriorityWeightJobSize="
            "1000\nPriorityWeightPartition="
            "500\nPriorityMaxAge=10\n"
            "PriorityWeightTRES=CPU=4000,Node=40\nNodeName=n[1-4] CPUs=8 RealMemory=8000\n"
            "PartitionName=main Nodes=n[1-4] Default=YES PriorityJobFactor=10\nPartitionName=low "
            "Nodes=n1 "
            "PriorityJobFactor=5\n");
    hello(1);
    submit(a_wide_job("a"));
    uint64_t id = submit(a_wide_job("b")); /* one node of 4, 8 CPUs of 32 */
    pass(5 * MIN);
    const struct priority_row *p = priority_of_job(id);
    assert_int_equal(p->age, 50);
    assert_int_equal(p->size, 250);
    assert_int_equal(p->part, 500);
    assert_int_equal(p->tres_sum, 1000 + 10);
    assert_string_equal(p->tres, "cpu=1000,node=10");
    assert_int_equal(p->priority, 50 + 250 + 500 + 1010);
    struct job_spec spec = a_wide_job("c");
    spec.req.partition = "low,main";
    id = submit(spec);
    struct rows r = ask((struct msg_query){.what = QUERY_PRIORITY, .ids = ids_of(id)});
    assert_int_equal(r.row.n, 2); /* one a partition */
    assert_int_equal(((const struct priority_row *)r.row.v[0])->part, 250);
    vec_done(&r.row);
    spec = a_wide_job("d");
    spec.req.partition = "main";
    id = submit(spec);
    am_root();
    struct job_spec values = {.priority_asked = 7};
    struct msg_update_job m = {
        .ids = ids_of(id), .fields = "priority_asked", .values = {&values, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    p = priority_of_job(id);
    assert_true(p->priority == 7 && !p->part && !p->size && !p->age && !p->tres);
}

/* Who takes whole nodes is ordered by the smallest of the partition: by CPUs, then by memory; in
 * whatever order the configuration names them. */
static void test_whole_nodes_count_as_the_smallest(void **unused)
{
    static const char *const small = "NodeName=a CPUs=8 RealMemory=9000\n",
                             *const smaller = "NodeName=b CPUs=4 RealMemory=8000\n",
                             *const smallest = "NodeName=c CPUs=4 RealMemory=2000\n";
    const char *const orders[][3] = {{small, smaller, smallest}, {small, smallest, smaller},
                                     {smaller, small, smallest}, {smaller, smallest, small},
                                     {smallest, small, smaller}, {smallest, smaller, small}};
    (void)unused;
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        world_close();
        world_open(arena_printf(a,
                                "ClusterName=test\nPriorityWeightJobSize=96\n"
                                "PriorityWeightTRES=Mem=19000\n%s%s%s"
                                "PartitionName=main Nodes=ALL Default=YES\n",
                                orders[i][0], orders[i][1], orders[i][2]),
                   0);
        struct job_spec spec = a_job("whole");
        spec.req.exclusive = EXCLUSIVE_NODE;
        spec.req.mem_per_cpu_mib = 0;
        spec.req.mem_per_node_mib = MEM_ALL;
        const struct priority_row *p = priority_of_job(submit(spec));
        assert_in_range(p->tres_sum, 1999, 2000); /* cut */
        assert_in_range(p->size, 27, 28);         /* a node of 3, 4 CPUs of 16 */
    }
    arena_free(a);
}

/* What is no sum of weights adds up, too: all of it is the wait. */
static void test_parts_of_the_default_order(void **unused)
{
    (void)unused;
    restart("ClusterName=test\nOperators=olga\nNodeName=n[1-4] CPUs=8 RealMemory=8000\n"
            "PartitionName=main Nodes=n[1-4] Default=YES\n");
    hello(1);
    submit(a_wide_job("a"));
    struct job_spec spec = a_wide_job("b");
    spec.nice = 100;
    uint64_t id = submit(spec);
    pass(5 * MIN);
    const struct priority_row *p = priority_of_job(id);
    assert_true(p->priority > 1000 && p->age == (int64_t)p->priority + 100);
    assert_int_equal(p->nice, 100);
    assert_true(p->part == 0 && p->size == 0 && p->fairshare == 0 && p->qos_part == 0 && !p->tres);
    am_olga();
    struct job_spec values = {.priority_asked = 7};
    struct msg_update_job m = {
        .ids = ids_of(id), .fields = "priority_asked", .values = {&values, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    p = priority_of_job(id);
    assert_true(p->priority == 7 && p->asked && p->age == 0);
}

/* Names of accounts are free where nobody made any: thousands of them cost no more than as many
 * jobs of one. */
static void test_accounts_that_somebody_thinks_of(void **unused)
{
    struct job_spec s = a_job("one");
    s.hold = true;
    for (int i = 0; i < 3000; i++) {
        s.req.account = arena_printf(w.a, "a%d", i);
        assert_true(submit(s));
    }
    pass(6 * MIN);
    core_check(w.c);
}

static size_t shares(void)
{
    struct rows r = ask((struct msg_query){.what = QUERY_SHARES});
    size_t n = r.row.n;
    vec_done(&r.row);
    return n;
}

/* A user who names ever new ones leaves so many rows, and none for ever; and what he used in those
 * that are told apart no more counts as his. */
static void test_names_of_accounts_are_not_kept_for_ever(void **unused)
{
    struct job_spec s = a_job("one"), held = s;
    struct limit_subject who;
    struct map_walk walk = {0};
    held.hold = true;
    am_alice();
    for (int i = 0; i < 1000; i++) {
        held.req.account = arena_printf(w.a, "a%d", i);
        cancel(ids_of(submit(held)));
    }
    assert_in_range(shares(), 200, 201);
    assert_false(limits_next_subject(w.c, &walk, &who)); /* no job is there */
    s.req.account = "a3";
    uint64_t told_apart = submit(s);
    s.req.account = "b1";
    uint64_t as_hers = submit(s);
    pass(20 * MIN);
    script_ends(told_apart, 0);
    script_ends(as_hers, 0);
    am_bob();
    assert_int_equal(state(submit(a_wide_job("bob's"))), JOB_RUNNING);
    s.req.account = "b2";
    uint64_t bobs = submit(s);
    am_alice();
    uint64_t hers = submit(s);
    s.req.account = "a9";
    uint64_t fresh = submit(s);
    assert_true(job(hers)->priority < job(bobs)->priority);
    assert_true(job(hers)->priority < job(fresh)->priority);
    restart(SHARE_CONF);
    assert_in_range(shares(), 4, 6); /* a3, her own, a9, of which a job waits, and bob's */
    size_t stored = 0;
    for (size_t i = 0; i < w.store.n; i++)
        stored += w.store.v[i].table == TABLE_USAGE;
    assert_in_range(stored, 4, 6);
    held.req.account = "c";
    assert_true(submit(held) > 0);
    assert_in_range(shares(), 5, 7); /* and there is room again */
}

/* Nor does the planner keep any of those that are only asked about, or that a job comes to name. */
static void test_names_that_no_job_comes_with(void **unused)
{
    struct job_spec s = a_job("one"), to = s;
    struct msg_submit tried = {.specs = {&s, 1}, .test_only = true};
    am_alice();
    for (int i = 0; i < 1000; i++) {
        s.req.account = arena_printf(w.a, "a%d", i);
        say(1, MSG_SUBMIT, &tried);
        assert_int_equal(refusal(), REFUSE_NONE);
    }
    assert_in_range(map_str_count(w.c->cluster->share_of), 0, 2);
    s.hold = true;
    uint64_t id = submit(s);
    struct msg_update_job m = {.ids = ids_of(id), .fields = "account", .values = {&to, 1}};
    for (int i = 0; i < 1000; i++) {
        to.req.account = arena_printf(w.a, "b%d", i);
        say(1, MSG_UPDATE_JOB, &m);
        assert_int_equal(refusal(), REFUSE_NONE);
    }
    assert_in_range(map_str_count(w.c->cluster->share_of), 200, 203);
    assert_in_range(shares(), 200, 202);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHARES(test_whole_nodes_count_as_the_smallest),
        SHARES(test_use_is_charged_and_decays),
        SHARES(test_how_long_such_jobs_ran_is_remembered),
        SHARES(test_run_times_are_bounded),
        SHARES(test_weights_of_the_partition),
        SHARES(test_billing_stands_in_the_record),
        SHARES(test_who_used_less_comes_first),
        SHARES(test_classic_fair_share_and_forgetting),
        SHARES(test_a_day_ends),
        SHARES(test_suspended_time_is_free),
        SHARES(test_site_factor_and_nice),
        SHARES(test_factors),
        SHARES(test_parts_of_the_default_order),
        SHARES(test_accounts_that_somebody_thinks_of),
        SHARES(test_names_of_accounts_are_not_kept_for_ever),
        SHARES(test_names_that_no_job_comes_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
