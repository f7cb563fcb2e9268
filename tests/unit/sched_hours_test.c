/* Hours of a partition: who starts in them has no more nodes and no more time than they allow. */
#include "sched_alone.h"

/* Ten nodes; NOW is a Monday, 13:46:40. */
static struct world in_hours(const char *windows)
{
    struct partition p = a_part("main", "ALL");
    p.time_windows = windows;
    return world_make(a_node(""), "n[1-10]", p);
}

/* Plans the job alone. */
static const struct plan_start *starts(struct world *w, const struct job_request *req)
{
    queue_job(w->cl, 1, req);
    sched_plan(w->cl, NOW, NULL, w->plan);
    return start_of(w->plan, 1);
}

static void nodes_that_it_did_not_name(void **state)
{
    (void)state;
    struct job_request tasks = {.partition = "main", .ntasks = 64, .time_limit_us = HOUR},
                       few = {.partition = "main", .ntasks = 30, .time_limit_us = HOUR},
                       range = {.partition = "main",
                                .min_nodes = 1,
                                .max_nodes = 10,
                                .exclusive = EXCLUSIVE_NODE,
                                .time_limit_us = HOUR},
                       spread = few, sizes = range;
    spread.spread_job = true;
    sizes.node_sizes = "2,8";
    const struct {
        const struct job_request *req;
        size_t nodes;
    } cases[] = {{&tasks, 0}, {&few, 4}, {&range, 4}, {&spread, 4}, {&sizes, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world w = in_hours("weekdays 08:00-18:00 max_nodes=4");
        const struct plan_start *s = starts(&w, cases[i].req);
        if ((s ? s->alloc.n : 0) != cases[i].nodes)
            fail_msg("case %zu: %zu nodes", i, s ? s->alloc.n : 0);
        if (!s) { /* when that is over */
            struct plan_wait wait;
            assert_true(plan_wait_of(w.plan, w.cl, 1, &wait));
            assert_true(wait.planned_us > NOW + 4 * HOUR);
        }
        world_end(&w);
    }
}

static void time_that_may_be_shorter(void **state)
{
    (void)state;
    struct world w = in_hours("weekdays 08:00-18:00 max_time=1:00:00");
    struct job_request req = {
        .partition = "main", .time_min_us = 10 * MIN, .time_limit_us = 10 * HOUR};
    const struct plan_start *s = starts(&w, &req);
    assert_non_null(s);
    assert_int_equal(s->limit_us, HOUR);
    cluster_unwait(w.cl, 1);
    req.time_min_us = 2 * HOUR;
    assert_null(starts(&w, &req));
    world_end(&w);
}

/* Where nothing is free, what is kept for it is no longer either. */
static void a_promise_in_them(void **state)
{
    (void)state;
    struct world w = in_hours("weekdays 08:00-18:00 max_time=1:00:00 max_nodes=4");
    struct job_request all = nodes_whole(4, HOUR),
                       req = {.partition = "main",
                              .exclusive = EXCLUSIVE_NODE,
                              .min_nodes = 3,
                              .max_nodes = 10,
                              .time_min_us = 10 * MIN,
                              .time_limit_us = 10 * HOUR},
                       later = nodes_whole(4, HOUR);
    for (uint64_t id = 10; id < 12; id++)
        runs(&w, id, all);
    queue_job(w.cl, 1, &req);
    queue_job(w.cl, 2, &later);
    sched_plan(w.cl, NOW, NULL, w.plan);
    struct plan_wait wait;
    assert_true(plan_wait_of(w.plan, w.cl, 1, &wait));
    assert_int_equal(wait.planned_us, NOW + HOUR);
    assert_string_equal(wait.planned_nodes, "n[5-8]");
    assert_true(plan_wait_of(w.plan, w.cl, 2, &wait));
    assert_int_equal(wait.planned_us, NOW + HOUR);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_that_it_did_not_name),
        cmocka_unit_test(time_that_may_be_shorter),
        cmocka_unit_test(a_promise_in_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
