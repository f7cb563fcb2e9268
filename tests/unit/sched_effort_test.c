/* What a user's few jobs may cost the planner: nodes are counted as it looks at them, where they
 * are, else time of the CPU. */
#include "sched/books/order.h"
#include "sched_help.h"

#include <time.h>

static uint64_t looks; /* at nodes that could take something */

static uint64_t node_looked_at(void *ctx, int64_t free, int64_t wanted)
{
    (void)ctx, (void)wanted;
    looks++;
    return (uint64_t)free;
}

/* In the order of arrival. */
static bool by_arrival(void *ctx, const struct order_job *j, bool passing, int64_t *ret_key)
{
    (void)ctx, (void)passing;
    *ret_key = -j->submit_us;
    return true;
}

static struct cluster *counted_cluster(void)
{
    static const struct order_hook hook = {.key = by_arrival, .node_cost = node_looked_at};
    struct cluster *cl = cluster_new();
    cluster_set_hook(cl, &hook);
    looks = 0;
    return cl;
}

static void het_queue(struct cluster *cl, uint64_t id, const struct job_request *req, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct waiting job = {.job_id = id + i,
                              .het_job_id = id,
                              .het_size = (uint32_t)n,
                              .req = &req[i],
                              .uid = 1000,
                              .elements = 1,
                              .submit_us = NOW,
                              .eligible_us = NOW};
        cluster_wait(cl, &job);
    }
}

#define COMPONENTS 128

/* 100 CPUs, and a job of 128 components with one each, of which every eighth asks for a little more
 * memory, where they are not all the same. */
static uint64_t effort_of_components(bool same)
{
    struct cluster *cl = counted_cluster();
    struct plan *plan = plan_new();
    struct budget now_only = {.no_forecast = true};
    struct job_request req[COMPONENTS];
    struct node n = a_node("");
    n.cpus = 10, n.sockets = 1, n.cores_per_socket = 10;
    put_nodes(cl, "n[1-10]", n);
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    for (size_t i = 0; i < COMPONENTS; i++)
        req[i] = (struct job_request){.partition = "main",
                                      .ntasks = 1,
                                      .mem_per_node_mib = same || i % 8 ? 10 : 11 + (int64_t)i,
                                      .time_limit_us = HOUR};
    het_queue(cl, 1, req, COMPONENTS);
    sched_plan(cl, NOW, &now_only, plan);
    assert_int_equal(plan->nstarts, 0);
    plan_free(plan);
    cluster_free(cl);
    return looks;
}

static void components_are_placed_a_few_times(void **state)
{
    (void)state;
    uint64_t same = effort_of_components(true), mixed = effort_of_components(false);
    if (same > UINT64_C(10) * COMPONENTS * 3)
        fail_msg("%llu nodes were looked at for the same 128 times", (unsigned long long)same);
    if (mixed > UINT64_C(10) * COMPONENTS * 20)
        fail_msg("%llu nodes were looked at for 128 components", (unsigned long long)mixed);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#define NODES 40
#define EACH  64 /* jobs on a node */

/* All nodes are full of jobs that may be stopped, and a GPU is in use by one that may not. */
static struct cluster *full_cluster(bool preempts)
{
    struct cluster *cl = cluster_new();
    struct settings s;
    settings_default(&s);
    put_setting(&s, "PreemptType", preempts ? "preempt/partition_prio" : "preempt/none");
    put_setting(&s, "PreemptMode", preempts ? "REQUEUE" : "OFF");
    cluster_set_policy(cl, &s);
    struct node n = a_node("");
    n.cpus = EACH, n.sockets = 1, n.cores_per_socket = EACH;
    put_nodes(cl, "n[1-40]", n);
    n.name = "gpu", n.gres = "gpu:a100:1";
    put_node(cl, &n);
    struct partition low = a_part("low", "ALL"), high = a_part("high", "ALL");
    high.is_default = false;
    high.priority_tier = 5;
    put_part(cl, &low);
    put_part(cl, &high);
    struct job_request req = {.partition = "low"}, top = {.partition = "high"};
    for (int i = 0; i < NODES * EACH; i++) {
        char name[16], cpu[16];
        snprintf(name, sizeof name, "n%d", i / EACH + 1);
        snprintf(cpu, sizeof cpu, "%d", i % EACH);
        struct alloc_node an = {.node = name, .cpus = cpu, .cpu_count = 1, .mem_mib = 10};
        cluster_start(cl, 1000 + (uint64_t)i, &req, 1000, "low",
                      &(struct alloc){.node = &an, .n = 1}, NOW - HOUR, NOW + HOUR);
    }
    struct alloc_gres gpu = {"gpu", "a100", 1, "0"};
    struct alloc_node an = {
        .node = "gpu", .cpus = "0", .cpu_count = 1, .mem_mib = 10, .gres = &gpu, .ngres = 1};
    cluster_start(cl, 1, &top, 1000, "high", &(struct alloc){.node = &an, .n = 1}, NOW - HOUR,
                  NOW + HOUR);
    return cl;
}

#define ASKERS 100

static double seconds_of_askers(bool preempts)
{
    struct cluster *cl = full_cluster(preempts);
    struct plan *plan = plan_new();
    struct budget now_only = {.no_forecast = true};
    struct job_request req[ASKERS];
    for (size_t i = 0; i < ASKERS; i++) {
        req[i] = (struct job_request){.partition = "high",
                                      .gpus_per_node = "a100:1",
                                      .mem_per_node_mib = 10 + (int64_t)i,
                                      .time_limit_us = HOUR};
        queue_job(cl, 10 + i, &req[i]);
    }
    double before = cpu_seconds();
    sched_plan(cl, NOW, &now_only, plan);
    double took = cpu_seconds() - before;
    assert_int_equal(plan->nstarts + plan->npreempts, 0);
    plan_free(plan);
    cluster_free(cl);
    return took;
}

/* A hundred jobs of a higher tier ask for what none of 2,560 that they may stop has. */
static void nobody_is_lifted_in_vain(void **state)
{
    (void)state;
    double alone = seconds_of_askers(false), asking = seconds_of_askers(true);
    if (asking > 0.5 + 20 * alone)
        fail_msg("%.3f s, and %.3f s where nobody may be stopped", asking, alone);
}

/* Each of 2,500 nodes is asked for by a counted feature. */
static void counted_features_of_many_nodes(void **state)
{
    (void)state;
    struct cluster *cl = cluster_new();
    struct plan *plan = plan_new();
    struct budget now_only = {.no_forecast = true};
    struct node n = a_node(NULL);
    n.features = "ib";
    put_nodes(cl, "n[1-2500]", n);
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    struct job_request req = nodes_whole(2500, HOUR);
    req.constraint = "ib*2500";
    queue_job(cl, 1, &req);
    double before = cpu_seconds();
    sched_plan(cl, NOW, &now_only, plan);
    double took = cpu_seconds() - before;
    assert_int_equal(plan->nstarts, 1);
    if (took > 1.5)
        fail_msg("%.3f s", took);
    plan_free(plan);
    cluster_free(cl);
}

/* A job of all of 9,600 nodes. */
static double seconds_of_network(bool network)
{
    enum { LEAVES = 320, WIDE = 30, SPINES = 16 };
    struct cluster *cl = cluster_new();
    struct plan *plan = plan_new();
    struct budget now_only = {.no_forecast = true};
    struct topo_row rows[LEAVES + SPINES];
    struct arena *a = arena_new();
    put_nodes(cl, "n[1-9600]", a_node(NULL));
    for (int i = 0; i < LEAVES; i++)
        rows[i] =
            (struct topo_row){.name = arena_printf(a, "leaf%d", i),
                              .nodes = arena_printf(a, "n[%d-%d]", WIDE * i + 1, WIDE * i + WIDE)};
    for (int i = 0; i < SPINES; i++)
        rows[LEAVES + i] =
            (struct topo_row){.name = arena_printf(a, "spine%d", i),
                              .switches = arena_printf(a, "leaf[%d-%d]", LEAVES / SPINES * i,
                                                       LEAVES / SPINES * (i + 1) - 1)};
    if (network)
        cluster_set_topology(cl, &(struct topology){rows, LEAVES + SPINES, NULL});
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    struct job_request all = nodes_whole(9600, HOUR);
    queue_job(cl, 1, &all);
    double before = cpu_seconds();
    sched_plan(cl, NOW, &now_only, plan);
    double took = cpu_seconds() - before;
    assert_int_equal(plan->nstarts, 1);
    plan_free(plan);
    cluster_free(cl);
    arena_free(a);
    return took;
}

static void a_network_of_many_switches(void **state)
{
    (void)state;
    double alone = seconds_of_network(false), placed = seconds_of_network(true);
    if (placed > 0.5 + 20 * alone)
        fail_msg("%.3f s, and %.3f s without a network", placed, alone);
}

/* So many heterogeneous jobs of two components that wait for a third. */
static double seconds_of_hets(uint64_t jobs)
{
    struct cluster *cl = cluster_new();
    struct plan *plan = plan_new();
    struct budget now_only = {.no_forecast = true};
    struct partition p = a_part("main", "ALL");
    struct job_request req = nodes_whole(1, HOUR);
    put_nodes(cl, "n1", a_node(NULL));
    put_part(cl, &p);
    for (uint64_t i = 0; i < jobs; i++)
        for (uint64_t k = 0; k < 2; k++)
            cluster_wait(cl, &(struct waiting){.job_id = 2 * i + 1 + k,
                                               .het_job_id = 2 * i + 1,
                                               .het_size = 3,
                                               .req = &req,
                                               .uid = 1000,
                                               .elements = 1,
                                               .submit_us = NOW,
                                               .eligible_us = NOW});
    double before = cpu_seconds();
    sched_plan(cl, NOW, &now_only, plan);
    double took = cpu_seconds() - before;
    plan_free(plan);
    cluster_free(cl);
    return took;
}

/* Each is found, not looked for. */
static void many_jobs_of_components(void **state)
{
    (void)state;
    double few = seconds_of_hets(2500), many = seconds_of_hets(20000);
    if (many > 0.3 + 20 * few)
        fail_msg("%.3f s, and %.3f s of an eighth of them", many, few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(components_are_placed_a_few_times),
        cmocka_unit_test(nobody_is_lifted_in_vain),
        cmocka_unit_test(counted_features_of_many_nodes),
        cmocka_unit_test(a_network_of_many_switches),
        cmocka_unit_test(many_jobs_of_components),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
