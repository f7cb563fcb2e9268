/* An array that stands before all others, as the head of its partition: one element does, and the
 * next stands where its own priority puts it. */
#include "sched_help.h"

#define LONG  1 /* the array: ten elements of 12 h that waited longer than that */
#define SHORT 50

static struct cluster *cl;
static struct plan *plan;
static struct job_request request = {.partition = "main", .ntasks = 1, .mem_per_node_mib = 1};

static struct job_request asked(struct cluster *unused, uint64_t id)
{
    struct job_request r = request;
    (void)unused;
    r.time_limit_us = id >= SHORT ? MIN : 12 * HOUR;
    return r;
}

static void wait_for(uint64_t id, uint32_t elements, int64_t since_us)
{
    struct job_request r = asked(cl, id);
    cluster_wait(cl, &(struct waiting){.job_id = id,
                                       .req = &r,
                                       .uid = 1000,
                                       .elements = elements,
                                       .submit_us = since_us,
                                       .eligible_us = since_us});
}

/* Eight jobs have the eight CPUs, the array waits and is the head, then short ones come. */
static int world_open(void **state)
{
    struct settings s;
    (void)state;
    cl = cluster_new();
    settings_default(&s);
    put_setting(&s, "SchedulerParameters", "order=ageing");
    cluster_set_policy(cl, &s);
    struct node n = a_node("n1");
    put_node(cl, &n);
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    plan = plan_new();
    for (uint64_t id = 10; id < 18; id++)
        wait_for(id, 1, NOW);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 8);
    apply(cl, plan, NOW, asked);
    wait_for(LONG, 10, NOW - 20 * HOUR);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 0);
    for (uint64_t id = SHORT; id < SHORT + 4; id++)
        wait_for(id, 1, NOW + MIN);
    return 0;
}

static int world_close(void **state)
{
    (void)state;
    plan_free(plan);
    cluster_free(cl);
    return 0;
}

static void pass_at(int64_t at_us)
{
    sched_plan(cl, at_us, NULL, plan);
}

static void it_is_first_once_in_a_pass(void **state)
{
    (void)state;
    cluster_release(cl, 10);
    cluster_release(cl, 11);
    cluster_release(cl, 12);
    pass_at(NOW + MIN);
    assert_int_equal(plan->nstarts, 3);
    assert_int_equal(plan->start[0].job_id, LONG);
    assert_int_equal(plan->start[1].job_id, SHORT);
    assert_int_equal(plan->start[2].job_id, SHORT + 1);
}

static void it_is_first_once_in_all_passes(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        cluster_release(cl, 10 + i);
        pass_at(NOW + MIN + (int64_t)i);
        assert_int_equal(plan->nstarts, 1);
        assert_int_equal(plan->start[0].job_id, i == 0 ? LONG : SHORT + i - 1);
        const struct plan_start *s = &plan->start[0];
        struct job_request r = asked(cl, s->job_id);
        cluster_start(cl, i == 0 ? 1000 : s->job_id, &r, 1000, s->partition, &s->alloc, NOW + MIN,
                      NOW + MIN + s->limit_us);
        if (i == 0)
            wait_for(LONG, 9, NOW - 20 * HOUR);
        else
            cluster_unwait(cl, s->job_id);
    }
}

#define OPENED(function) cmocka_unit_test_setup_teardown(function, world_open, world_close)

int main(void)
{
    const struct CMUnitTest tests[] = {OPENED(it_is_first_once_in_a_pass),
                                       OPENED(it_is_first_once_in_all_passes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
