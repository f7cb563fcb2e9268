/* Work that is taken out of the way of other work within a pass: what the rest of the pass counts
 * on. */
#include "sched_help.h"

static struct cluster *cl;
static struct plan *plan;

static void make(const char *type, struct partition low)
{
    struct settings s;
    settings_default(&s);
    put_setting(&s, "PreemptType", type);
    put_setting(&s, "PreemptMode", "REQUEUE");
    cluster_set_policy(cl, &s);
    put_nodes(cl, "n1", a_node(NULL));
    struct partition high = a_part("high", "n1");
    high.priority_tier = 5;
    high.is_default = false;
    put_part(cl, &low);
    put_part(cl, &high);
    cluster_put_qos(cl, &(struct sched_qos){.name = "low"});
    cluster_put_qos(cl, &(struct sched_qos){.name = "top", .preempt = "low"});
}

static int begin(void **state)
{
    (void)state;
    cl = cluster_new();
    plan = plan_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    cluster_check(cl);
    plan_free(plan);
    cluster_free(cl);
    return 0;
}

static void runs(uint64_t id, struct job_request req, const char *cpus, int64_t end_us)
{
    struct alloc_node an = {.node = "n1", .cpus = cpus, .mem_mib = 10};
    struct alloc al = {.node = &an, .n = 1};
    cluster_start(cl, id, &req, 1000, req.partition, &al, NOW - HOUR, end_us);
}

static int64_t planned_of(uint64_t id, int64_t now_us)
{
    struct plan_wait wait;
    sched_plan(cl, now_us, NULL, plan);
    assert_true(plan_wait_of(plan, cl, id, &wait));
    return wait.planned_us;
}

/* What is suspended gives its CPUs back once: at its end they are not there a second time. */
static void cpus_of_suspended_work_come_once(void **state)
{
    (void)state;
    struct partition low = a_part("low", "n1");
    low.preempt_mode = PREEMPT_SUSPEND;
    make("preempt/partition_prio", low);
    struct job_request all = {.partition = "low",
                              .cpus_per_task = 8,
                              .mem_per_node_mib = 10,
                              .time_limit_us = HOUR},
                       urgent = all;
    urgent.partition = "high";
    runs(100, all, "0-7", NOW + 20 * MIN);
    queue_job(cl, 10, &urgent);
    queue_job(cl, 20, &all);
    int64_t planned_us = planned_of(20, NOW);
    assert_int_equal(plan->npreempts, 1);
    assert_int_equal(plan->preempt[0].victim, 100);
    cluster_yield(cl, 100, NOW);
    sched_plan(cl, NOW, NULL, plan);
    const struct plan_start *s = start_of(plan, 10);
    assert_non_null(s);
    cluster_start(cl, 10, &urgent, 1000, "high", &s->alloc, NOW, NOW + HOUR);
    cluster_unwait(cl, 10);
    assert_int_equal(planned_of(20, NOW), NOW + HOUR);
    assert_int_equal(planned_us, NOW + HOUR); /* the same was foreseen at once */
}

/* What would go counts no longer towards what its partition may have of a node. */
static void a_bound(int32_t per_node, int32_t per_socket)
{
    struct partition low = a_part("low", "n1");
    low.max_cpus_per_node = per_node;
    low.max_cpus_per_socket = per_socket;
    make("preempt/qos", low);
    struct job_request four = {.partition = "low",
                               .qos = "low",
                               .cpus_per_task = 4,
                               .mem_per_node_mib = 10,
                               .time_limit_us = HOUR},
                       top = four;
    top.qos = "top";
    runs(100, four, "0-1,4-5", NOW + HOUR);
    queue_job(cl, 10, &top);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->npreempts, 1);
    assert_int_equal(plan->preempt[0].victim, 100);
}

static void who_would_go_leaves_the_bound_of_its_partition(void **state)
{
    (void)state;
    a_bound(4, 0);
}

static void who_would_go_leaves_the_bound_of_sockets(void **state)
{
    (void)state;
    a_bound(0, 2);
}

/* Whoever is promised what running work leaves does not keep that work from being stopped for a job
 * that is behind him in the queue and before both of them. */
static void a_promise_of_what_goes_is_not_in_the_way(void **state)
{
    (void)state;
    make("preempt/qos", a_part("low", "n1"));
    struct job_request all = {.partition = "low",
                              .qos = "low",
                              .cpus_per_task = 8,
                              .mem_per_node_mib = 10,
                              .time_limit_us = HOUR},
                       top = all;
    top.qos = "top";
    runs(100, all, "0-7", NOW + 20 * MIN);
    queue_job(cl, 5, &all);
    queue_job(cl, 10, &top);
    assert_int_equal(planned_of(5, NOW), NOW + 20 * MIN);
    assert_int_equal(plan->npreempts, 1);
    assert_int_equal(plan->preempt[0].for_job, 10);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(cpus_of_suspended_work_come_once), T(who_would_go_leaves_the_bound_of_its_partition),
        T(who_would_go_leaves_the_bound_of_sockets), T(a_promise_of_what_goes_is_not_in_the_way)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
