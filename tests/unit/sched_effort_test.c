/* What a user's few jobs may cost the planner: nodes are counted as it looks at them, no clock is
 * asked. */
#include "sched/books/order.h"
#include "sched_help.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(components_are_placed_a_few_times)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
