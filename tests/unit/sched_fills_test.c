/* Wide work that takes most of what is idle goes first in the default order (order.h, idle.h). */
#include "sched_help.h"

#include "sched/books/order.h"

static struct cluster *cl;
static struct plan *plan;

static int open_it(void **unused)
{
    cl = cluster_new();
    plan = plan_new();
    return 0;
}

static int close_it(void **unused)
{
    plan_free(plan);
    cluster_free(cl);
    return 0;
}

static void runs(uint64_t id, const struct job_request *req, int64_t until_us)
{
    queue_job(cl, id, req);
    sched_plan(cl, NOW, NULL, plan);
    cluster_start(cl, id, req, 1000, "main", &start_of(plan, id)->alloc, NOW, until_us);
    cluster_unwait(cl, id);
}

static uint32_t rank_of_job(uint64_t id)
{
    struct plan_wait wait = {0};
    sched_plan(cl, NOW, NULL, plan);
    assert_true(plan_wait_of(plan, cl, id, &wait));
    return wait.rank;
}

static void machine(const char *names, struct node n)
{
    struct partition part = a_part("main", "ALL");
    put_nodes(cl, names, n);
    put_part(cl, &part);
}

static uint64_t key_of(int64_t fills)
{
    struct order_job j = {.submit_us = NOW,
                          .now_us = NOW,
                          .limit_us = HOUR,
                          .width = 64,
                          .fills = fills,
                          .age_bound_us = 50 * HOUR};
    return order_key(ORDER_AGEING, &j);
}

/* As much as a sixteenth of what the job is expected to run, to the power of 3/4, would be worth;
 * half of it for a quarter. */
static void all_that_is_idle_is_worth_sixteen(void **unused)
{
    const uint64_t octave = UINT64_C(1) << 33;
    assert_true(key_of(1 << 20) == key_of(0) + 4 * octave);
    assert_true(key_of(1 << 19) == key_of(0) + 2 * octave);
    assert_true(key_of(INT64_C(1) << 40) == key_of(1 << 20));
}

/* Half of eight nodes is idle: a job of one would go before the one of four. */
static void who_takes_what_is_idle_goes_first(void **unused)
{
    struct job_request four = nodes_whole(4, HOUR), one = nodes_whole(1, HOUR / 2);
    machine("n[1-8]", a_node(NULL));
    runs(1, &four, NOW + HOUR);
    queue_job(cl, 2, &one);
    queue_job(cl, 3, &four);
    assert_int_equal(rank_of_job(3), 1);
    assert_true(start_of(plan, 3) != NULL);
    /* What is idle on nodes that take no work is not idle. */
    struct node away = a_node("n5");
    away.drain = true;
    put_node(cl, &away);
    assert_int_equal(rank_of_job(3), 2);
    assert_true(start_of(plan, 2) != NULL);
}

/* Two of eight nodes are all that is idle, but a quarter of the machine is not wide. */
static void a_quarter_of_the_machine_is_not_wide(void **unused)
{
    struct job_request six = nodes_whole(6, HOUR), two = nodes_whole(2, HOUR);
    struct job_request one = nodes_whole(1, HOUR / 2);
    machine("n[1-8]", a_node(NULL));
    runs(1, &six, NOW + HOUR);
    queue_job(cl, 2, &one);
    queue_job(cl, 3, &two);
    assert_int_equal(rank_of_job(3), 2);
}

/* Job 2 was blocked first, and wants more than twice what job 3 takes. */
static void the_head_is_not_filled_up(void **unused)
{
    struct job_request five = nodes_whole(5, HOUR), eight = nodes_whole(8, HOUR);
    struct job_request three = nodes_whole(3, 2 * HOUR);
    machine("n[1-8]", a_node(NULL));
    runs(1, &five, NOW + HOUR);
    queue_job(cl, 2, &eight);
    sched_plan(cl, NOW, NULL, plan);
    queue_job(cl, 3, &three);
    assert_int_equal(rank_of_job(3), 2);
    assert_int_equal(plan->nstarts, 0);
    /* Nobody is in the way of one as wide as that. */
    cluster_unwait(cl, 2);
    sched_plan(cl, NOW, NULL, plan);
    struct job_request six = nodes_whole(6, HOUR);
    queue_job(cl, 2, &six);
    assert_int_equal(rank_of_job(3), 1);
}

/* All GPUs that are idle, with a few of the CPUs. */
static void gpus_that_are_idle_count(void **unused)
{
    struct node n = a_node("n1");
    struct job_request all = {.partition = "main", .gpus_per_node = "4", .time_limit_us = HOUR},
                       cpu = {.partition = "main", .cpus_per_task = 1, .time_limit_us = HOUR / 2};
    n.gres = "gpu:4";
    machine("n1", n);
    queue_job(cl, 1, &cpu);
    queue_job(cl, 2, &all);
    assert_int_equal(rank_of_job(2), 1);
}

#define OPENED(function) cmocka_unit_test_setup_teardown(function, open_it, close_it)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPENED(all_that_is_idle_is_worth_sixteen),
        OPENED(who_takes_what_is_idle_goes_first),
        OPENED(a_quarter_of_the_machine_is_not_wide),
        OPENED(the_head_is_not_filled_up),
        OPENED(gpus_that_are_idle_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
