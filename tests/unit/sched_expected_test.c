/* How long jobs are expected to run has a say in the order and in nothing else: starts are promised
 * and foreseen, and passed by, as if every job ran to its limit. */
#include "sched_help.h"

#define ALICE 1000
#define BOB   1001

static struct cluster *cl;
static struct plan *plan;

static int setup(void **unused)
{
    struct partition part = a_part("main", "ALL");
    cl = cluster_new();
    plan = plan_new();
    put_nodes(cl, "n[1-4]", a_node(NULL));
    put_part(cl, &part);
    return 0;
}

static int done(void **unused)
{
    plan_free(plan);
    cluster_free(cl);
    return 0;
}

static void waits(uint64_t id, uint32_t uid, int32_t n, int64_t limit_us, int64_t since_us)
{
    struct job_request req = nodes_whole(n, limit_us);
    struct waiting w = {.job_id = id,
                        .req = &req,
                        .uid = uid,
                        .elements = 1,
                        .submit_us = since_us,
                        .eligible_us = since_us};
    cluster_wait(cl, &w);
}

static void runs(uint64_t id, uint32_t uid, int32_t n, int64_t limit_us)
{
    sched_plan(cl, NOW, NULL, plan);
    struct job_request req = nodes_whole(n, limit_us);
    cluster_start(cl, id, &req, uid, "main", &start_of(plan, id)->alloc, NOW, NOW + limit_us);
    cluster_unwait(cl, id);
}

static int64_t planned(uint64_t id)
{
    struct plan_wait w = {0};
    assert_true(plan_wait_of(plan, cl, id, &w));
    return w.planned_us;
}

static void promises_to(const char *whom)
{
    struct settings s;
    settings_default(&s);
    put_setting(&s, "SchedulerParameters", whom);
    cluster_set_policy(cl, &s);
}

/* Alice runs on three nodes, and her limit says for an hour. Bob's job of four nodes waited so long
 * that it is the first: it is promised that moment, and of alice's on the fourth node only the one
 * that is over by then passes it. Nothing of this is another when all jobs are known to last a
 * minute. */
static void what_is_promised_goes_by_limits(void **unused)
{
    static const char *const whom[] = {"promises=head", "promises=aged,age_bound=360000",
                                       "promises=all"};
    for (size_t k = 0; k < 2 * ARRAY_LEN(whom); k++) {
        bool known = k % 2;
        promises_to(whom[k / 2]);
        for (int64_t limit = HOUR / 2; limit <= 4 * HOUR; limit += HOUR / 2) {
            cluster_set_expected(cl, ALICE, NULL, limit, known ? MIN : 0);
            cluster_set_expected(cl, BOB, NULL, limit, known ? MIN : 0);
        }
        waits(1, ALICE, 3, HOUR, NOW);
        runs(1, ALICE, 3, HOUR);
        waits(2, BOB, 4, 4 * HOUR, NOW - 190 * HOUR);
        waits(3, ALICE, 1, 2 * HOUR, NOW);
        waits(4, ALICE, 1, HOUR / 2, NOW);
        sched_plan(cl, NOW, NULL, plan);
        assert_int_equal(plan->nstarts, 1);
        assert_int_equal(plan->start[0].job_id, 4);
        assert_int_equal(planned(2), NOW + HOUR);
        assert_int_equal(planned(3), NOW + 5 * HOUR);
        cluster_release(cl, 1);
        for (uint64_t id = 2; id <= 4; id++)
            cluster_unwait(cl, id);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_promised_goes_by_limits, setup, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
