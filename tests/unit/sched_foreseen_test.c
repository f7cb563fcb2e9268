/* Forecasts that cost more than a pass may are made elsewhere and taken over in parts. */
#include "sched_help.h"
#include "share.h"

#include "unit.h"

#define JOBS 3000
#define MOST                                                                                       \
    250000 /* entries; one start costs some 450. Below 200,000 each pass makes a forecast */
/* A step that was begun is finished: here one end of work, and four starts, as far as each lane's
 * next job is tried */
#define STEP 10000

static struct cluster *cl;
static struct plan *plan, *whole;
static const struct budget little = {.forecast_most = MOST};

static int setup(void **state)
{
    (void)state;
    cl = cluster_of_factors();
    plan = plan_new();
    whole = plan_new();
    put_nodes(cl, "n[1-4]", a_node(NULL));
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    for (uint64_t id = 1; id <= JOBS; id++) {
        struct job_request req = {.partition = "main",
                                  .min_nodes = id % 7 == 0 ? 2 : 1,
                                  .exclusive = EXCLUSIVE_NODE,
                                  .time_limit_us = (int64_t)(1 + id % 5) * HOUR};
        queue_job(cl, id, &req);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cluster_check(cl);
    plan_free(plan);
    plan_free(whole);
    cluster_free(cl);
    return 0;
}

static void pass_at(int64_t now)
{
    struct budget b = little;
    sched_plan(cl, now, &b, plan);
}

/* Jobs that have a planned start. */
static size_t foreseen(const struct plan *p)
{
    size_t n = 0;
    for (uint64_t id = 1; id <= JOBS; id++) {
        struct plan_wait w;
        n += plan_wait_of(p, cl, id, &w) && w.planned_us > 0;
    }
    return n;
}

static void assert_same_plans(void)
{
    for (uint64_t id = 1; id <= JOBS; id++) {
        struct plan_wait a, b;
        assert_int_equal(plan_wait_of(plan, cl, id, &a), plan_wait_of(whole, cl, id, &b));
        assert_int_equal(a.planned_us, b.planned_us);
        assert_true(text_is(a.planned_nodes, b.planned_nodes));
        assert_int_equal(a.reason, b.reason);
    }
}

static void a_pass_foresees_as_much_as_it_may(void **state)
{
    (void)state;
    sched_plan(cl, NOW, NULL, whole);
    assert_false(whole->foresee);
    assert_in_range(whole->foreseen_cost, 3 * MOST, 30000000);
    pass_at(NOW);
    assert_in_range(plan->foreseen_cost, MOST, MOST + STEP);
    assert_true(plan->foresee);
    size_t some = foreseen(plan);
    assert_in_range(some, 1, JOBS / 2);
    /* From then on nothing is spent in vain, and what is there stays. */
    for (int i = 1; i < 5; i++) {
        pass_at(NOW + i);
        assert_int_equal(plan->foreseen_cost, 0);
        assert_true(plan->foresee);
        assert_int_equal(foreseen(plan), some);
    }
}

/* However many are waiting: the cluster is not taken for idle in between. */
static void the_last_of_many_is_foreseen_in_time(void **state)
{
    (void)state;
    int64_t node_us = 0;
    struct plan_wait w;
    for (uint64_t id = 1; id <= JOBS; id++)
        node_us += (int64_t)(1 + id % 5) * HOUR * (id % 7 == 0 ? 2 : 1);
    sched_plan(cl, NOW, NULL, whole);
    assert_true(whole->foreseen_cost > 500000);
    assert_true(plan_wait_of(whole, cl, JOBS, &w));
    assert_in_range(w.planned_us, NOW + node_us / 4 * 9 / 10, NOW + node_us / 4 * 11 / 10);
}

/* Returns how many parts it came in. */
static size_t take_over(const struct str *bytes, size_t most)
{
    struct foreseen f = {.bytes = bytes};
    size_t parts = 0, before = foreseen(plan), at = 0;
    do {
        plan_foreseen(plan, cl, &f, most);
        parts++;
        /* Of a job or a node no more than 24 bytes; four nodes are all that one job can have beyond. */
        assert_true(f.at - at <= (most + 4) * 24 + 32);
        at = f.at;
        if (f.more)
            assert_int_equal(foreseen(plan), before);
    } while (f.more);
    return parts;
}

static void what_was_foreseen_elsewhere_is_what_would_have_been_here(void **state)
{
    (void)state;
    struct str bytes = STR_INIT;
    sched_plan(cl, NOW, NULL, whole);
    pass_at(NOW);
    plan_foresee(cl, NOW, &bytes);
    assert_true(take_over(&bytes, 200) > JOBS / 200);
    assert_false(plan->foresee);
    pass_at(NOW);
    assert_false(plan->foresee);
    assert_same_plans();
    /* It stands for as long as it took, a hundred times over; then the next is due. */
    pass_at(NOW + (int64_t)whole->foreseen_cost / 4);
    assert_false(plan->foresee);
    assert_true(plan->next_us > NOW && plan->next_us < NOW + USEC_PER_SEC * 10);
    pass_at(plan->next_us);
    assert_true(plan->foresee);
    str_done(&bytes);
}

static void it_is_dropped_when_nodes_were_configured_anew(void **state)
{
    (void)state;
    struct str bytes = STR_INIT;
    struct node more = a_node("n5");
    struct foreseen f = {0};
    pass_at(NOW);
    plan_foresee(cl, NOW, &bytes);
    f.bytes = &bytes;
    plan_foreseen(plan, cl, &f, 10);
    assert_true(f.more);
    put_node(cl, &more);
    plan_foreseen(plan, cl, &f, 10);
    assert_false(f.more);
    assert_true(plan->foresee);
    pass_at(NOW);
    assert_true(plan->foresee);
    assert_int_equal(foreseen(plan), 1); /* the promise */
    /* The next one fits. */
    str_clear(&bytes);
    plan_foresee(cl, NOW, &bytes);
    take_over(&bytes, 1000);
    pass_at(NOW);
    sched_plan(cl, NOW, NULL, whole);
    assert_same_plans();
    str_done(&bytes);
}

static void jobs_may_come_and_go_meanwhile(void **state)
{
    (void)state;
    struct str bytes = STR_INIT;
    struct foreseen f = {0};
    struct job_request req = {.partition = "main", .min_nodes = 1, .time_limit_us = HOUR};
    pass_at(NOW);
    plan_foresee(cl, NOW, &bytes);
    f.bytes = &bytes;
    plan_foreseen(plan, cl, &f, 10);
    for (uint64_t id = 20; id < 200; id++)
        cluster_unwait(cl, id);
    queue_job(cl, JOBS + 1, &req);
    pass_at(NOW + 1);
    while (f.more)
        plan_foreseen(plan, cl, &f, 10);
    pass_at(NOW + 2);
    struct plan_wait w;
    assert_true(plan_wait_of(plan, cl, JOBS + 1, &w));
    assert_int_equal(w.planned_us, 0); /* it came later */
    assert_true(plan_wait_of(plan, cl, JOBS, &w));
    assert_true(w.planned_us > NOW);
    str_done(&bytes);
}

/* What is short is foreseen in the pass again. */
static void a_queue_that_became_short_is_foreseen_here(void **state)
{
    (void)state;
    struct str bytes = STR_INIT;
    pass_at(NOW);
    for (uint64_t id = 20; id <= JOBS; id++)
        cluster_unwait(cl, id);
    plan_foresee(cl, NOW, &bytes);
    take_over(&bytes, 1000);
    pass_at(NOW + HOUR);
    assert_false(plan->foresee);
    assert_in_range(plan->foreseen_cost, 1, MOST);
    str_done(&bytes);
}

/* Bytes that are cut, or not what was written, harm nobody. */
static void what_is_not_whole_is_left_out(void **state)
{
    (void)state;
    struct str bytes = STR_INIT, cut = STR_INIT;
    size_t step = share_times() > 1 ? 1009 : 7001;
    pass_at(NOW);
    plan_foresee(cl, NOW, &bytes);
    for (size_t len = 0; len < bytes.len; len += len < 200 ? 1 : step) {
        str_clear(&cut);
        str_addn(&cut, bytes.data, len);
        take_over(&cut, 1000);
        pass_at(NOW);
    }
    for (size_t at = 32; at < bytes.len; at += step) {
        str_clear(&cut);
        str_addn(&cut, bytes.data, bytes.len);
        cut.data[at] = (char)0xff;
        take_over(&cut, 1000);
        pass_at(NOW);
        foreseen(plan);
    }
    str_done(&cut);
    str_done(&bytes);
}

/* A forecast of a time that has not come yet, by a clock that was set back, is no forecast. */
static void a_clock_that_is_set_back_makes_it_due(void **state)
{
    (void)state;
    sched_plan(cl, NOW + 5 * HOUR, NULL, plan);
    sched_plan(cl, NOW, NULL, plan);
    sched_plan(cl, NOW, NULL, whole);
    assert_same_plans();
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_pass_foresees_as_much_as_it_may),
        T(the_last_of_many_is_foreseen_in_time),
        T(what_was_foreseen_elsewhere_is_what_would_have_been_here),
        T(it_is_dropped_when_nodes_were_configured_anew),
        T(jobs_may_come_and_go_meanwhile),
        T(a_queue_that_became_short_is_foreseen_here),
        T(what_is_not_whole_is_left_out),
        T(a_clock_that_is_set_back_makes_it_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
