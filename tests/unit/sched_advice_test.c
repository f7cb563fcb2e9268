/* What would let a waiting job start sooner, who is ahead of it, what is in its way, and how sure
 * its planned start is. */
#include "sched_help.h"

#include "sched/answer/advice.h"
#include "sched/answer/blockers.h"

static struct cluster *cl;
static struct plan *plan;
static struct arena *arena;

static int begin(void **state)
{
    (void)state;
    cl = cluster_new();
    plan = plan_new();
    arena = arena_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    plan_free(plan);
    cluster_free(cl);
    arena_free(arena);
    return 0;
}

static void planned(void)
{
    sched_plan(cl, NOW, NULL, plan);
}

/* Runs until `ends` whatever the plan gives it. */
static void run_job(uint64_t id, struct job_request q, int64_t ends)
{
    queue_job(cl, id, &q);
    planned();
    const struct plan_start *s = start_of(plan, id);
    assert_non_null(s);
    cluster_start(cl, id, &q, 1000, s->partition, &s->alloc, NOW, ends);
    cluster_unwait(cl, id);
    planned();
}

/* Options of what would start it now, each followed by a blank; "…" if not all could be tried. */
static const char *advised(uint64_t id, uint64_t cost_max)
{
    static char text[1024];
    struct advices v;
    size_t at = 0;
    text[0] = '\0';
    planned();
    sched_advise(cl, plan, id, NULL, NOW, cost_max, arena, &v);
    for (size_t i = 0; i < v.v.n; i++)
        if (v.v.v[i].start_us == NOW)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s ", v.v.v[i].option);
    snprintf(text + at, sizeof text - at, "%s", v.cut ? "…" : "");
    advices_done(&v);
    return text;
}

#define expect_option(text, option)                                                                \
    do {                                                                                           \
        if (!strstr(text, option " "))                                                             \
            fail_msg("\"%s\" is not among the advice: %s", option, text);                          \
    } while (0)

static struct job_request whole(int32_t nodes, int64_t limit)
{
    return (struct job_request){.partition = "main",
                                .exclusive = EXCLUSIVE_NODE,
                                .min_nodes = nodes,
                                .max_nodes = nodes,
                                .time_limit_us = limit};
}

static void two_partitions(void)
{
    struct partition p = a_part("main", "n[1-4]"), other = a_part("short", "n5");
    put_nodes(cl, "n[1-5]", a_node(NULL));
    other.max_time_us = HOUR;
    put_part(cl, &p);
    put_part(cl, &other);
}

static void a_shorter_limit_lets_it_pass(void **unused)
{
    two_partitions();
    run_job(1, whole(3, 4 * HOUR), NOW + 4 * HOUR);
    struct job_request wide = whole(4, HOUR), late = whole(1, 6 * HOUR);
    queue_job(cl, 2, &wide);
    queue_job(cl, 3, &late);
    const char *text = advised(3, ADVICE_COST);
    expect_option(text, "--time=3:59:00");
    expect_option(text, "--partition=short --time=1:00:00");
    /* The wide one could do with the node that is free. */
    expect_option(advised(2, ADVICE_COST), "--nodes=1");
}

static void nothing_is_advised_that_costs_too_much_to_try(void **unused)
{
    two_partitions();
    run_job(1, whole(3, 4 * HOUR), NOW + 4 * HOUR);
    struct job_request wide = whole(4, HOUR);
    queue_job(cl, 2, &wide);
    assert_string_equal(advised(2, 1), "…");
}

static void another_type_of_gpu(void **unused)
{
    struct node a = a_node("a1"), v = a_node("v1"), x = a_node("x1");
    struct partition p = a_part("main", "ALL");
    a.gres = "gpu:a100:2";
    v.gres = "gpu:v100:2";
    x.gres = "gpu:h100:1";
    put_node(cl, &a);
    put_node(cl, &v);
    put_node(cl, &x);
    put_part(cl, &p);
    struct job_request q = {.partition = "main", .gpus_per_node = "a100:2", .time_limit_us = HOUR};
    run_job(1, q, NOW + HOUR);
    queue_job(cl, 2, &q);
    expect_option(advised(2, ADVICE_COST), "--gpus-per-node='a100|v100:2'");
}

static void less_memory_and_fewer_cpus(void **unused)
{
    struct partition p = a_part("main", "ALL");
    struct settings s;
    settings_default(&s);
    put_setting(&s, "SelectTypeParameters", "CR_Core_Memory");
    cluster_set_policy(cl, &s);
    put_nodes(cl, "n1", a_node(NULL));
    put_part(cl, &p);
    struct job_request q = {
        .partition = "main", .cpus_per_task = 5, .mem_per_node_mib = 4000, .time_limit_us = HOUR};
    run_job(1, q, NOW + HOUR);
    struct job_request more = q, memory = q;
    memory.cpus_per_task = 2;
    memory.mem_per_node_mib = 8000;
    queue_job(cl, 2, &more);
    expect_option(advised(2, ADVICE_COST), "--cpus-per-task=3");
    queue_job(cl, 3, &memory);
    expect_option(advised(3, ADVICE_COST), "--mem=4000M");
}

static const struct blocker *blocker_of(const blocker_vec *v, enum blocker_kind kind)
{
    for (size_t i = 0; i < v->n; i++)
        if ((enum blocker_kind)v->v[i].kind == kind)
            return &v->v[i];
    fail_msg("no blocker of kind %s", enum_name(&blocker_kind_names, (int32_t)kind));
    return NULL;
}

static void every_node_is_counted_once(void **unused)
{
    struct node big = a_node("b1"), broken = a_node("b2"), small = a_node("s1");
    struct partition p = a_part("main", "ALL");
    big.gres = broken.gres = "gpu:v100:4";
    broken.drain = true;
    broken.reason = "bad fan";
    put_node(cl, &big);
    put_node(cl, &broken);
    put_node(cl, &small);
    put_part(cl, &p);
    struct job_request q = {.partition = "main", .gpus_per_node = "v100:3", .time_limit_us = HOUR};
    run_job(1, q, NOW + HOUR);
    queue_job(cl, 2, &q);
    planned();
    blocker_vec v = {0};
    sched_blockers(cl, plan, 2, NOW, arena, &v);
    const struct blocker *needs = blocker_of(&v, BLOCKER_NEEDS),
                         *busy = blocker_of(&v, BLOCKER_BUSY);
    assert_int_equal(needs->nodes, 0);
    assert_int_equal(needs->nodes_all, 3);
    assert_string_equal(busy->what, "too few free gpu:v100");
    assert_string_equal(busy->jobs, "1");
    assert_string_equal(busy->names, "b1");
    assert_int_equal(busy->first_us, NOW + HOUR);
    assert_string_equal(blocker_of(&v, BLOCKER_AWAY)->what, "drained: bad fan");
    assert_string_equal(blocker_of(&v, BLOCKER_NEVER)->names, "s1");
    assert_int_equal(v.n, 4);
    vec_done(&v);
}

/* Of a job that names two partitions, one may have no node that could ever hold it: it waits in the
 * other, and is told of both. */
static void a_partition_that_could_never_hold_it(void **unused)
{
    (void)unused;
    struct node small = a_node("s1");
    small.memory_mib = 1000;
    put_node(cl, &small);
    put_nodes(cl, "b1", a_node(NULL));
    struct partition p = a_part("few", "s1"), other = a_part("main", "b1");
    p.is_default = false;
    put_part(cl, &p);
    put_part(cl, &other);
    struct job_request q = {
        .partition = "few,main", .mem_per_node_mib = 5000, .time_limit_us = HOUR};
    run_job(1, q, NOW + HOUR);
    queue_job(cl, 2, &q);
    planned();
    blocker_vec v = {0};
    sched_blockers(cl, plan, 2, NOW, arena, &v);
    assert_string_equal(blocker_of(&v, BLOCKER_LIMIT)->partition, "few");
    assert_string_equal(blocker_of(&v, BLOCKER_NEVER)->names, "s1");
    assert_string_equal(blocker_of(&v, BLOCKER_BUSY)->names, "b1");
    vec_done(&v);
}

/* Where as many nodes are named as it wants, no other is counted as free for it; else one is. */
static void nodes_beside_those_named_are_not_open(void **unused)
{
    (void)unused;
    put_nodes(cl, "n[1-3]", a_node(NULL));
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    struct job_request q = whole(1, HOUR);
    q.nodelist = "n1";
    run_job(1, q, NOW + HOUR);
    for (int nodes = 1; nodes <= 2; nodes++) {
        q.min_nodes = q.max_nodes = nodes;
        queue_job(cl, 2, &q);
        planned();
        blocker_vec v = {0};
        sched_blockers(cl, plan, 2, NOW, arena, &v);
        assert_int_equal(blocker_of(&v, BLOCKER_NEEDS)->nodes, nodes == 1 ? 0 : 2);
        assert_string_equal(blocker_of(&v, BLOCKER_BUSY)->names, "n1");
        if (nodes == 1)
            assert_string_equal(blocker_of(&v, BLOCKER_EXCLUDED)->names, "n[2-3]");
        assert_int_equal(v.n, nodes == 1 ? 3 : 2);
        vec_done(&v);
    }
}

static void nodes_kept_for_a_promise_are_named(void **unused)
{
    two_partitions();
    run_job(1, whole(3, 4 * HOUR), NOW + 4 * HOUR);
    struct job_request wide = whole(4, HOUR), late = whole(1, 6 * HOUR);
    queue_job(cl, 2, &wide);
    queue_job(cl, 3, &late);
    planned();
    blocker_vec v = {0};
    sched_blockers(cl, plan, 3, NOW, arena, &v);
    const struct blocker *kept = blocker_of(&v, BLOCKER_KEPT);
    assert_string_equal(kept->jobs, "2");
    assert_int_equal(kept->first_us, NOW + 4 * HOUR);
    vec_done(&v);
    const char *text;
    assert_int_equal(sched_sureness(cl, plan, 2, arena, &text), SURE_PROMISE);
    assert_int_equal(sched_sureness(cl, plan, 3, arena, &text), SURE_FORECAST);
    uint64_t ahead[4];
    assert_int_equal(sched_ahead(cl, plan, 3, ahead, 4), 1);
    assert_int_equal(ahead[0], 2);
    assert_int_equal(sched_ahead(cl, plan, 2, ahead, 4), 0);
}

static void a_job_without_limit_is_named_when_nothing_can_be_foreseen(void **unused)
{
    two_partitions();
    run_job(7, whole(4, TIME_UNLIMITED), TIME_UNLIMITED);
    struct job_request q = whole(1, HOUR);
    queue_job(cl, 8, &q);
    planned();
    const char *text;
    assert_int_equal(sched_sureness(cl, plan, 8, arena, &text), SURE_NONE);
    assert_non_null(strstr(text, "job 7 has no time limit"));
}

/* One component runs nowhere as it is; with another request of that component both start. */
static void a_component_of_a_heterogeneous_job(void **unused)
{
    two_partitions();
    run_job(1, whole(3, 4 * HOUR), NOW + 4 * HOUR);
    struct job_request wide = whole(2, HOUR), one = whole(1, HOUR);
    wide.partition = "main";
    one.partition = "short";
    struct waiting w[] = {
        {.job_id = 11,
         .req = &wide,
         .uid = 1000,
         .elements = 1,
         .het_job_id = 11,
         .het_size = 2,
         .submit_us = NOW,
         .eligible_us = NOW},
        {.job_id = 12,
         .req = &one,
         .uid = 1000,
         .elements = 1,
         .het_job_id = 11,
         .het_size = 2,
         .submit_us = NOW,
         .eligible_us = NOW},
    };
    cluster_wait(cl, &w[0]);
    cluster_wait(cl, &w[1]);
    assert_string_equal(advised(11, 100000000), "--nodes=1 ");
    assert_string_equal(advised(12, 100000000), ""); /* nothing of this one is in the way */
    planned();
    assert_null(start_of(plan, 11));
    struct job_request less = whole(1, HOUR);
    less.partition = "main";
    w[0].req = &less;
    cluster_wait(cl, &w[0]);
    planned();
    assert_non_null(start_of(plan, 11));
    assert_non_null(start_of(plan, 12));
}

static void who_would_have_to_give_way_is_said(void **unused)
{
    struct settings set;
    settings_default(&set);
    put_setting(&set, "PreemptType", "preempt/partition_prio");
    put_setting(&set, "PreemptMode", "REQUEUE");
    cluster_set_policy(cl, &set);
    put_nodes(cl, "n[1-2]", a_node(NULL));
    struct partition low = a_part("low", "n[1-2]"), high = a_part("high", "n[1-2]");
    high.priority_tier = 9;
    high.is_default = false;
    put_part(cl, &low);
    put_part(cl, &high);
    struct job_request q = whole(2, 4 * HOUR);
    q.partition = "low";
    run_job(7, q, NOW + 4 * HOUR);
    struct job_request late = whole(1, HOUR);
    late.partition = "low";
    queue_job(cl, 8, &late);
    planned();
    struct advices v;
    sched_advise(cl, plan, 8, NULL, NOW, 100000000, arena, &v);
    assert_int_equal(v.v.n, 1);
    assert_string_equal(v.v.v[0].option, "--partition=high");
    assert_string_equal(v.v.v[0].stops, "job 7 is requeued");
    queue_job(cl, 8, &v.v.v[0].req);
    planned();
    assert_int_equal(plan->npreempts, 1);
    assert_int_equal(plan->preempt[0].victim, 7);
    assert_int_equal(plan->preempt[0].for_job, 8);
    cluster_ending(cl, 7, 8, NOW + MIN);
    planned();
    const char *text;
    assert_int_equal(sched_sureness(cl, plan, 8, arena, &text), SURE_PROMISE);
    assert_non_null(strstr(text, "job 7 makes way for it and is ending"));
    advices_done(&v);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_shorter_limit_lets_it_pass),
        T(nothing_is_advised_that_costs_too_much_to_try),
        T(another_type_of_gpu),
        T(less_memory_and_fewer_cpus),
        T(every_node_is_counted_once),
        T(a_partition_that_could_never_hold_it),
        T(nodes_beside_those_named_are_not_open),
        T(nodes_kept_for_a_promise_are_named),
        T(a_component_of_a_heterogeneous_job),
        T(who_would_have_to_give_way_is_said),
        T(a_job_without_limit_is_named_when_nothing_can_be_foreseen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
