/* Who starts when, who is promised what, and what the others are told. */
#include "sched_help.h"

#include "sched/answer/blockers.h"

static struct cluster *cl;
static struct plan *plan;

static int setup(void **state)
{
    cl = cluster_of_factors();
    plan = plan_new();
    put_nodes(cl, "n[1-4]", a_node(NULL));
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    return 0;
}

static int teardown(void **state)
{
    cluster_check(cl);
    plan_free(plan);
    cluster_free(cl);
    return 0;
}

static struct job_request nodes_for(int32_t nodes, int64_t limit)
{
    return (struct job_request){.partition = "main",
                                .min_nodes = nodes,
                                .exclusive = EXCLUSIVE_NODE,
                                .time_limit_us = limit};
}

/* Starts job `id` at once, to end after `limit`. */
static void running(uint64_t id, struct job_request req)
{
    queue_job(cl, id, &req);
    sched_plan(cl, NOW, NULL, plan);
    const struct plan_start *s = start_of(plan, id);
    assert_non_null(s);
    cluster_start(cl, id, &req, 1000, s->partition, &s->alloc, NOW, NOW + s->limit_us);
    cluster_unwait(cl, id);
}

static void waits(uint64_t id, struct job_request req)
{
    queue_job(cl, id, &req);
}

static struct plan_wait wait_of(uint64_t id)
{
    struct plan_wait w;
    assert_true(plan_wait_of(plan, cl, id, &w));
    return w;
}

/* NOW is a Monday, 13:46:40. */
static void hours_of_a_partition_are_foreseen_and_named(void **state)
{
    struct arena *a = arena_new();
    struct partition p = a_part("day", "n[1-2]");
    struct job_request one = nodes_for(1, HOUR), two = nodes_for(2, HOUR),
                       long_ = nodes_for(1, 8 * HOUR);
    p.is_default = false;
    p.time_windows = "weekdays 08:00-18:00 max_jobs_per_user=1 max_nodes=1 max_time=4:00:00";
    put_part(cl, &p);
    one.partition = two.partition = long_.partition = "day";
    running(1, one);
    waits(2, one);
    waits(3, one);
    waits(4, two);
    waits(5, long_);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 0);
    /* The second begins when the first has ended, the third when the second has: never two. */
    assert_int_equal(wait_of(2).reason, REASON_QOS_MAX_JOBS_PER_USER);
    assert_int_equal(wait_of(2).planned_us, NOW + HOUR);
    assert_int_equal(wait_of(3).planned_us, NOW + 2 * HOUR);
    assert_true(wait_of(4).planned_us > NOW + 4 * HOUR);
    assert_string_equal(sched_hours_bar(cl, 2, NOW, a),
                        "TimeWindows of partition day allow a user 1 running job until Mon 18:00; "
                        "so many of its user run there (1)");
    assert_string_equal(sched_hours_bar(cl, 4, NOW, a),
                        "TimeWindows of partition day allow a job 1 node until Mon 18:00; it "
                        "needs 2");
    assert_string_equal(sched_hours_bar(cl, 5, NOW, a),
                        "TimeWindows of partition day allow a job 04:00:00 until Mon 18:00; its "
                        "time limit is 08:00:00");
    assert_null(sched_hours_bar(cl, 2, NOW + 12 * HOUR, a));
    blocker_vec found = {0};
    sched_blockers(cl, plan, 2, NOW, a, &found);
    assert_int_equal(found.v[0].kind, BLOCKER_LIMIT);
    assert_string_equal(found.v[0].what, sched_hours_bar(cl, 2, NOW, a));
    vec_done(&found);
    arena_free(a);
}

static void a_short_job_passes_a_wide_one(void **state)
{
    running(1, nodes_for(3, 2 * HOUR));
    waits(2, nodes_for(4, HOUR));
    waits(3, nodes_for(1, 3 * HOUR));
    waits(4, nodes_for(1, 2 * HOUR));
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 1);
    assert_int_equal(plan->start[0].job_id, 4);
    struct plan_wait w = wait_of(2);
    assert_int_equal(w.reason, REASON_RESOURCES);
    assert_int_equal(w.planned_us, NOW + 2 * HOUR);
    assert_string_equal(w.planned_nodes, "n[1-4]");
    assert_int_equal(w.rank, 1);
    w = wait_of(3);
    assert_int_equal(w.reason, REASON_PRIORITY);
    assert_int_equal(w.planned_us, NOW + 3 * HOUR);
    assert_int_equal(w.rank, 2);
}

static void spare_nodes_may_be_held_past_the_promise(void **state)
{
    running(1, nodes_for(2, 2 * HOUR));
    waits(2, nodes_for(3, HOUR));
    waits(3, nodes_for(1, 9 * HOUR));
    waits(4, nodes_for(1, 9 * HOUR));
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 1);
    assert_non_null(start_of(plan, 3));
    assert_int_equal(wait_of(2).planned_us, NOW + 2 * HOUR);
    assert_int_equal(wait_of(4).planned_us, NOW + 3 * HOUR);
}

/* Two types of GPU on one node: who could take either does not start early with those of another. */
static void a_promise_of_a_type_of_gpu_is_kept(void **unused)
{
    (void)unused;
    struct settings set;
    settings_default(&set);
    setting_words_default(&set.word);
    put_setting(&set, "SchedulerParameters", "promises=all");
    cluster_set_policy(cl, &set);
    for (int i = 2; i <= 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        cluster_remove_node(cl, name);
    }
    struct node n = a_node("n1");
    n.gres = "gpu:a100:2,gpu:v100:2";
    put_node(cl, &n);
    struct job_request a100 = {.partition = "main",
                               .gpus_per_node = "a100:2",
                               .mem_per_node_mib = 1,
                               .time_limit_us = 40 * MIN},
                       v100 = a100, either = a100;
    v100.gpus_per_node = "v100:2";
    either.gpus_per_node = "a100|v100:2";
    either.time_limit_us = 30 * MIN;
    running(1, a100);
    v100.time_limit_us = 50 * MIN;
    running(2, v100);
    waits(10, either);
    waits(11, v100);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(wait_of(10).planned_us, NOW + 40 * MIN);
    assert_int_equal(wait_of(11).planned_us, NOW + 50 * MIN);
    cluster_release(cl, 2);
    sched_plan(cl, NOW + 32 * MIN, NULL, plan);
    assert_null(start_of(plan, 10));
    assert_non_null(start_of(plan, 11));
    assert_int_equal(wait_of(10).planned_us, NOW + 40 * MIN);
}

static void waits_since(uint64_t id, struct job_request req, int64_t submit_us)
{
    struct waiting w = {.job_id = id,
                        .req = &req,
                        .uid = 1000,
                        .elements = 1,
                        .submit_us = submit_us,
                        .eligible_us = submit_us};
    cluster_wait(cl, &w);
}

/* Job 11 is promised a start as the first. Once job 10 has waited long, it is promised an earlier
 * one and is the first: that of job 11 stands, though it has not waited so long. */
static void who_is_first_no_more_keeps_its_promise(void **unused)
{
    (void)unused;
    struct settings set;
    settings_default(&set);
    setting_words_default(&set.word);
    put_setting(&set, "SchedulerParameters", "promises=aged,age_bound=600,order=sjf");
    cluster_set_policy(cl, &set);
    running(1, nodes_for(2, HOUR));
    running(2, nodes_for(1, 2 * HOUR));
    running(3, nodes_for(1, 2 * HOUR));
    waits_since(10, nodes_for(2, HOUR), NOW);
    waits_since(11, nodes_for(4, 30 * MIN), NOW + 5 * MIN);
    for (int minute = 5; minute <= 13; minute += minute == 5 ? 6 : 1) {
        if (minute == 12) {
            cluster_release(cl, 3);
            waits_since(12, nodes_for(1, 9 * HOUR), NOW + minute * MIN);
        }
        sched_plan(cl, NOW + minute * MIN, NULL, plan);
        assert_int_equal(plan->nstarts, 0);
        assert_int_equal(wait_of(10).planned_us, NOW + HOUR);
        assert_int_equal(wait_of(11).planned_us, NOW + 2 * HOUR);
    }
}

static void a_limit_is_cut_to_its_minimum(void **state)
{
    running(1, nodes_for(3, 2 * HOUR));
    waits(2, nodes_for(4, HOUR));
    struct job_request flexible = nodes_for(1, 9 * HOUR);
    flexible.time_min_us = HOUR;
    waits(3, flexible);
    sched_plan(cl, NOW, NULL, plan);
    assert_non_null(start_of(plan, 3));
    assert_int_equal(start_of(plan, 3)->limit_us, 2 * HOUR);
}

static void tiers_then_nice_then_age(void **state)
{
    struct partition p = a_part("urgent", "ALL");
    p.priority_tier = 9;
    put_part(cl, &p);
    struct job_request whole = nodes_for(4, HOUR);
    waits(1, whole);
    struct waiting w = {.job_id = 2,
                        .req = &whole,
                        .uid = 1,
                        .elements = 1,
                        .submit_us = NOW,
                        .eligible_us = NOW,
                        .nice = -50000};
    cluster_wait(cl, &w);
    whole.partition = "urgent";
    w = (struct waiting){
        .job_id = 3, .req = &whole, .uid = 1, .elements = 1, .submit_us = NOW, .eligible_us = NOW};
    cluster_wait(cl, &w);
    whole.partition = "main";
    w = (struct waiting){.job_id = 4,
                         .req = &whole,
                         .uid = 1,
                         .elements = 1,
                         .submit_us = NOW - 5,
                         .eligible_us = NOW - 5,
                         .priority_asked = 1};
    cluster_wait(cl, &w);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 1);
    assert_int_equal(plan->start[0].job_id, 3);
    assert_int_equal(wait_of(2).rank, 2);
    assert_int_equal(wait_of(1).rank, 3);
    assert_int_equal(wait_of(4).rank, 4);
    assert_int_equal(wait_of(2).planned_us, NOW + HOUR);
    assert_int_equal(wait_of(1).planned_us, NOW + 2 * HOUR);
    assert_int_equal(wait_of(4).planned_us, NOW + 3 * HOUR);
    assert_true(wait_of(2).priority > wait_of(1).priority);
    assert_int_equal(wait_of(4).priority, 1);
}

/* priority/basic: one less for each job, and --nice counts from there. */
static void nice_counts_the_places_given_up(void **state)
{
    struct settings s;
    settings_default(&s);
    s.word.priority_ageing = false;
    s.word.priority_basic = true;
    cluster_set_policy(cl, &s);
    struct job_request whole = nodes_for(4, HOUR);
    for (uint64_t id = 1; id <= 4; id++) {
        struct waiting w = {.job_id = id,
                            .req = &whole,
                            .uid = 1,
                            .elements = 1,
                            .submit_us = NOW,
                            .eligible_us = NOW,
                            .nice = id == 1 ? 2 : 0};
        cluster_wait(cl, &w);
    }
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->start[0].job_id, 2);
    assert_int_equal(wait_of(1).priority, wait_of(3).priority);
    assert_int_equal(wait_of(3).priority, wait_of(4).priority + 1);
    assert_int_equal(wait_of(4).rank, 4);
}

static void several_elements_start_at_once(void **state)
{
    struct job_request one = {.partition = "main", .cpus_per_task = 3, .time_limit_us = HOUR};
    struct waiting w = {
        .job_id = 7, .req = &one, .uid = 1, .elements = 20, .submit_us = NOW, .eligible_us = NOW};
    cluster_wait(cl, &w);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 8);
    for (size_t i = 0; i < plan->nstarts; i++)
        assert_int_equal(plan->start[i].job_id, 7);
    assert_int_equal(wait_of(7).planned_us, NOW + HOUR);
    assert_int_equal(plan->considered, 1);
}

static void components_start_together_or_not_at_all(void **state)
{
    running(1, nodes_for(2, HOUR));
    struct job_request a = nodes_for(2, HOUR), b = nodes_for(1, HOUR);
    struct waiting w = {.job_id = 11,
                        .het_job_id = 11,
                        .het_size = 2,
                        .req = &a,
                        .uid = 1,
                        .elements = 1,
                        .submit_us = NOW,
                        .eligible_us = NOW};
    cluster_wait(cl, &w);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 0); /* its other half is not here yet */
    w.job_id = 12;
    w.req = &b;
    cluster_wait(cl, &w);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 0);
    assert_int_equal(wait_of(11).planned_us, NOW + HOUR);
    assert_int_equal(wait_of(12).planned_us, NOW + HOUR);
    cluster_release(cl, 1);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 2);
}

static void licences_are_waited_for(void **state)
{
    struct settings s;
    settings_default(&s);
    s.word.priority_ageing = false;
    s.licenses = "matlab:2,fluent";
    cluster_set_policy(cl, &s);
    struct job_request req = {.partition = "main", .licenses = "matlab:2", .time_limit_us = HOUR};
    running(1, req);
    waits(2, req);
    req.licenses = "fluent";
    waits(3, req);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 1);
    assert_int_equal(plan->start[0].job_id, 3);
    assert_int_equal(wait_of(2).reason, REASON_LICENSES);
    assert_int_equal(wait_of(2).planned_us, NOW + HOUR);
    assert_non_null(strstr(wait_of(2).detail, "needs 2 of the licence matlab: 0 of 2 are free"));
    cluster_release(cl, 1);
    cluster_check(cl);
}

/* What runs holds its licences, whether or not its request could be met today: a node that it named
 * may be gone. */
static void licences_are_held_though_a_named_node_is_gone(void **state)
{
    struct settings s;
    settings_default(&s);
    s.licenses = "matlab:2";
    cluster_set_policy(cl, &s);
    struct job_request req = {.partition = "main", .licenses = "matlab:2", .time_limit_us = HOUR};
    struct job_request then = req;
    then.nodelist = "n1,long-gone";
    waits(1, req);
    sched_plan(cl, NOW, NULL, plan);
    cluster_start(cl, 1, &then, 1000, "main", &start_of(plan, 1)->alloc, NOW, NOW + HOUR);
    cluster_unwait(cl, 1);
    waits(2, req);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 0);
    assert_int_equal(wait_of(2).reason, REASON_LICENSES);
    cluster_release(cl, 1);
    cluster_check(cl);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 1);
}

static void the_first_partition_that_can_takes_it(void **state)
{
    put_nodes(cl, "big1", a_node(NULL));
    struct partition p = a_part("small", "n1"), big = a_part("big", "big1");
    put_part(cl, &p);
    put_part(cl, &big);
    struct job_request full = {.partition = "small", .cpus_per_task = 8, .time_limit_us = HOUR};
    running(1, full);
    full.partition = "small,big";
    waits(2, full);
    waits(3, full);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 1);
    assert_string_equal(plan->start[0].partition, "big");
    assert_int_equal(plan->start[0].job_id, 2);
    assert_int_equal(wait_of(3).planned_us, NOW + HOUR);
}

static void nodes_that_are_away_are_named(void **state)
{
    struct node n = a_node("n3");
    n.drain = true;
    n.reason = "bad fan";
    put_node(cl, &n);
    waits(1, nodes_for(4, HOUR));
    waits(2, nodes_for(1, HOUR));
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 1);
    struct plan_wait w = wait_of(1);
    assert_int_equal(w.reason, REASON_REQ_NODE_NOT_AVAIL);
    assert_int_equal(w.planned_us, 0);
    assert_non_null(strstr(
        w.detail, "needs 4 whole nodes with 1 CPU each: of 4 nodes of partition main, 3 have "
                  "that free now, 1 is down or drained (n3: bad fan)"));
}

static void what_blocks_is_counted(void **state)
{
    struct node n = a_node(NULL);
    n.gres = "gpu:v100:2";
    put_nodes(cl, "g[1-3]", n);
    struct partition p = a_part("gpu", "g[1-3]");
    put_part(cl, &p);
    struct job_request one = {.partition = "gpu", .gres = "gpu:v100:1", .time_limit_us = HOUR};
    running(1, one);
    struct job_request two = {
        .partition = "gpu", .gpus_per_node = "2", .min_nodes = 3, .time_limit_us = HOUR};
    waits(2, two);
    sched_plan(cl, NOW, NULL, plan);
    assert_string_equal(wait_of(2).detail, "needs 3 nodes with 1 CPU, 2 gpu and 1000 MiB of memory "
                                           "each: of 3 nodes of partition gpu, 2 have that "
                                           "free now, 1 has too few free devices");
}

static void a_deadline_that_cannot_be_met(void **state)
{
    struct job_request req = nodes_for(1, 2 * HOUR);
    struct waiting w = {.job_id = 5,
                        .req = &req,
                        .uid = 1,
                        .elements = 1,
                        .submit_us = NOW,
                        .eligible_us = NOW,
                        .deadline_us = NOW + HOUR};
    cluster_wait(cl, &w);
    waits(6, nodes_for(1, HOUR));
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 1);
    assert_int_equal(wait_of(5).reason, REASON_DEADLINE);
}

static void who_overruns_is_expected_to_leave_soon(void **state)
{
    running(1, nodes_for(4, HOUR));
    waits(2, nodes_for(1, HOUR));
    sched_plan(cl, NOW + 2 * HOUR, NULL, plan);
    assert_int_equal(plan->nstarts, 0);
    assert_int_equal(wait_of(2).planned_us, NOW + 2 * HOUR + 30 * USEC_PER_SEC);
}

static void a_question_about_a_job_that_came_later(void **state)
{
    struct plan_wait w;
    sched_plan(cl, NOW, NULL, plan);
    waits(1, nodes_for(1, HOUR));
    assert_false(plan_wait_of(plan, cl, 1, &w));
    assert_false(plan_wait_of(plan, cl, 99, &w));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(hours_of_a_partition_are_foreseen_and_named),
        T(a_short_job_passes_a_wide_one),
        T(spare_nodes_may_be_held_past_the_promise),
        T(a_promise_of_a_type_of_gpu_is_kept),
        T(who_is_first_no_more_keeps_its_promise),
        T(a_limit_is_cut_to_its_minimum),
        T(tiers_then_nice_then_age),
        T(nice_counts_the_places_given_up),
        T(several_elements_start_at_once),
        T(components_start_together_or_not_at_all),
        T(licences_are_waited_for),
        T(licences_are_held_though_a_named_node_is_gone),
        T(the_first_partition_that_can_takes_it),
        T(nodes_that_are_away_are_named),
        T(what_blocks_is_counted),
        T(a_deadline_that_cannot_be_met),
        T(who_overruns_is_expected_to_leave_soon),
        T(a_question_about_a_job_that_came_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
