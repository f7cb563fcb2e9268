/* Hours of a partition: who starts in them has no more nodes and no more time than they allow. */
#include "sched/answer/blockers.h"
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

static void components_come(struct world *w, const struct job_request *req, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct waiting job = {.job_id = 100 + i,
                              .het_job_id = 100,
                              .het_size = (uint32_t)n,
                              .req = req,
                              .uid = 1000,
                              .elements = 1,
                              .submit_us = NOW,
                              .eligible_us = NOW};
        cluster_wait(w->cl, &job);
    }
}

/* Each component is a job of its user's. */
static void components_are_so_many_jobs(void **state)
{
    (void)state;
    for (size_t runs_there = 0; runs_there < 4; runs_there++)
        for (size_t most = runs_there ? runs_there : 1; most < 6; most++)
            for (size_t n = 2; n < 4; n++) {
                struct arena *a = arena_new();
                struct world w =
                    in_hours(arena_printf(a, "weekdays 08:00-18:00 max_jobs_per_user=%zu", most));
                struct job_request one = nodes_whole(1, HOUR);
                one.partition = "main";
                for (uint64_t id = 1; id <= runs_there; id++)
                    runs(&w, id, one);
                components_come(&w, &one, n);
                struct waiting behind = {.job_id = 200,
                                         .req = &one,
                                         .uid = 1000,
                                         .elements = 1,
                                         .submit_us = NOW + 1,
                                         .eligible_us = NOW + 1};
                cluster_wait(w.cl, &behind);
                sched_plan(w.cl, NOW, NULL, w.plan);
                bool fits = runs_there + n <= most;
                for (size_t i = 0; i < n; i++)
                    assert_int_equal(start_of(w.plan, 100 + i) != NULL, fits);
                /* They keep nothing for themselves meanwhile. */
                assert_int_equal(start_of(w.plan, 200) != NULL,
                                 runs_there + (fits ? n : 0) + 1 <= most);
                struct plan_wait wait;
                if (!fits) {
                    assert_true(plan_wait_of(w.plan, w.cl, 100, &wait));
                    assert_int_equal(wait.reason, REASON_QOS_MAX_JOBS_PER_USER);
                    assert_true(wait.planned_us > NOW);
                    assert_non_null(strstr(sched_hours_bar(w.cl, 100, NOW, a),
                                           runs_there == most ? "so many of its user run there"
                                                              : "components, and"));
                }
                world_end(&w);
                arena_free(a);
            }
}

/* One that may be in another partition goes there. */
static void a_component_goes_where_no_hours_hold_it(void **state)
{
    (void)state;
    struct world w = in_hours("weekdays 08:00-18:00 max_jobs_per_user=1");
    struct partition night = a_part("night", "ALL");
    struct job_request both = nodes_whole(1, HOUR);
    put_part(w.cl, &night);
    both.partition = "main,night";
    components_come(&w, &both, 3);
    sched_plan(w.cl, NOW, NULL, w.plan);
    size_t in_main = 0;
    for (uint64_t id = 100; id < 103; id++) {
        assert_non_null(start_of(w.plan, id));
        in_main += text_is(start_of(w.plan, id)->partition, "main");
    }
    assert_int_equal(in_main, 1);
    world_end(&w);
}

/* Can each have a place, of those that hours leave? */
static bool all_seated(const unsigned *may, size_t n, int left[3])
{
    bool ok = n == 0;
    for (size_t part = 0; part < 3 && !ok; part++) {
        if (!(may[0] >> part & 1) || left[part] == 0)
            continue;
        left[part]--;
        ok = all_seated(may + 1, n - 1, left);
        left[part]++;
    }
    return ok;
}

/* Of several partitions each, in all ways: they are held where not all can be, and only there. */
static void components_of_several_partitions(void **state)
{
    (void)state;
    static const char *const lists[] = {NULL, "p0",    "p1",    "p0,p1",
                                        "p2", "p0,p2", "p1,p2", "p0,p1,p2"};
    for (unsigned k = 0; k < 7 * 7 * 7 * 2; k++) {
        unsigned may[] = {1 + k % 7, 1 + k / 7 % 7, 1 + k / 49 % 7};
        bool full = k / 343;
        struct world w = in_hours(NULL);
        struct job_request req[3], low = nodes_whole(10, HOUR), one = nodes_whole(1, HOUR);
        for (size_t i = 0; i < 3; i++) {
            struct partition p = a_part(lists[1 << i], "ALL");
            p.priority_tier = 2;
            p.time_windows = i == 2 ? "weekdays 08:00-18:00 max_jobs_per_user=2"
                                    : "weekdays 08:00-18:00 max_jobs_per_user=1";
            put_part(w.cl, &p);
        }
        low.partition = one.partition = "main";
        if (full)
            runs(&w, 1, low);
        for (size_t i = 0; i < 3; i++) {
            req[i] = nodes_whole(1, HOUR);
            req[i].partition = lists[may[i]];
            struct waiting job = {.job_id = 100 + i,
                                  .het_job_id = 100,
                                  .het_size = 3,
                                  .req = &req[i],
                                  .uid = 1000,
                                  .elements = 1,
                                  .submit_us = NOW,
                                  .eligible_us = NOW};
            cluster_wait(w.cl, &job);
        }
        sched_plan(w.cl, NOW, NULL, w.plan);
        int left[] = {1, 1, 2};
        bool fits = all_seated(may, 3, left);
        struct plan_wait wait;
        for (uint64_t id = 100; id < 103 && !full; id++)
            if ((start_of(w.plan, id) != NULL) != fits)
                fail_msg("%u %u %u: job %d", may[0], may[1], may[2], (int)id);
        if (full || !fits) {
            assert_true(plan_wait_of(w.plan, w.cl, 100, &wait));
            assert_int_equal(wait.reason == REASON_QOS_MAX_JOBS_PER_USER, !fits);
        }
        world_end(&w);
    }
}

/* One that may go elsewhere takes no place from those that cannot, nor they from each other where
 * there are as many. */
static void who_may_go_elsewhere_is_not_counted(void **state)
{
    (void)state;
    for (size_t only = 0; only < 4; only++)
        for (int most = 1; most < 4; most++) {
            struct arena *a = arena_new();
            struct world w =
                in_hours(arena_printf(a, "weekdays 08:00-18:00 max_jobs_per_user=%d", most));
            struct partition night = a_part("night", "ALL");
            put_part(w.cl, &night);
            struct job_request req[4];
            for (size_t i = 0; i < 4; i++) {
                req[i] = nodes_whole(1, HOUR);
                req[i].partition = i < only ? "main" : "main,night";
                struct waiting job = {.job_id = 100 + i,
                                      .het_job_id = 100,
                                      .het_size = 4,
                                      .req = &req[i],
                                      .uid = 1000,
                                      .elements = 1,
                                      .submit_us = NOW,
                                      .eligible_us = NOW};
                cluster_wait(w.cl, &job);
            }
            sched_plan(w.cl, NOW, NULL, w.plan);
            for (size_t i = 0; i < only; i++)
                assert_int_equal(sched_hours_bar(w.cl, 100 + i, NOW, a) != NULL, (int)only > most);
            assert_int_equal(start_of(w.plan, 100) != NULL, (int)only <= most);
            world_end(&w);
            arena_free(a);
        }
}

/* ---- what is promised, and who gives way ---- */

/* Partition p1 of n1 to n4, with these hours, and p2 of n5 and n6; both may stop what runs in main,
 * of all nodes, in that way. */
static struct world two_partitions(const char *windows, enum preempt_mode mode)
{
    struct world w = {cluster_new(), plan_new()};
    struct partition main = a_part("main", "ALL"), p1 = a_part("p1", "n[1-4]"),
                     p2 = a_part("p2", "n[5-6]");
    struct settings s;
    settings_default(&s);
    put_setting(&s, "PreemptType", "preempt/partition_prio");
    put_setting(&s, "PreemptMode", "REQUEUE");
    cluster_set_policy(w.cl, &s);
    main.preempt_mode = mode;
    p1.time_windows = windows;
    p1.priority_tier = p2.priority_tier = 2;
    put_nodes(w.cl, "n[1-6]", a_node(""));
    put_part(w.cl, &main);
    put_part(w.cl, &p1);
    put_part(w.cl, &p2);
    return w;
}

/* That user's, on the node of its number. */
static void runs_of(struct world *w, uint64_t id, uint32_t uid, const char *part, int64_t limit_us)
{
    struct job_request req = nodes_whole(1, limit_us);
    char node[8];
    snprintf(node, sizeof node, "n%d", (int)id);
    req.partition = part;
    req.nodelist = node;
    req.mem_per_node_mib = 1;
    cluster_wait(w->cl, &(struct waiting){.job_id = id,
                                          .req = &req,
                                          .uid = uid,
                                          .elements = 1,
                                          .submit_us = NOW,
                                          .eligible_us = NOW});
    sched_plan(w->cl, NOW, NULL, w->plan);
    assert_non_null(start_of(w->plan, id));
    cluster_start(w->cl, id, &req, uid, part, &start_of(w->plan, id)->alloc, NOW, NOW + limit_us);
    cluster_unwait(w->cl, id);
}

/* Another user's. */
static void runs_on(struct world *w, uint64_t id, const char *part, int64_t limit_us)
{
    runs_of(w, id, 1001, part, limit_us);
}

static struct plan_wait wait_of(struct world *w, uint64_t id)
{
    struct plan_wait wait;
    assert_true(plan_wait_of(w->plan, w->cl, id, &wait));
    return wait;
}

/* One of two may begin in p1: the other has its nodes of p2 kept. */
static void components_are_promised_what_hours_leave(void **state)
{
    (void)state;
    struct world w = two_partitions("weekdays 08:00-18:00 max_jobs_per_user=1", PREEMPT_OFF);
    struct job_request both = nodes_whole(2, HOUR), small = nodes_whole(1, 10 * HOUR);
    runs_on(&w, 5, "p2", 2 * HOUR);
    both.partition = "p1,p2";
    components_come(&w, &both, 2);
    small.partition = "p2";
    cluster_wait(w.cl, &(struct waiting){.job_id = 200,
                                         .req = &small,
                                         .uid = 1001,
                                         .elements = 1,
                                         .submit_us = NOW + 1,
                                         .eligible_us = NOW + 1});
    sched_plan(w.cl, NOW, NULL, w.plan);
    assert_null(start_of(w.plan, 200));
    for (uint64_t id = 100; id < 102; id++)
        assert_int_equal(wait_of(&w, id).planned_us, NOW + 2 * HOUR);
    assert_string_equal(wait_of(&w, 100).planned_nodes, "n[1-2]");
    assert_string_equal(wait_of(&w, 101).planned_nodes, "n[5-6]");
    world_end(&w);
}

/* One of the two that may run in p1 runs there yet when others' work has ended: they wait for nodes
 * of p2, or for its end where that is sooner. */
static void components_are_promised_what_running_work_leaves(void **state)
{
    (void)state;
    for (int own = 1; own <= 4; own++)
        for (int there = 1; there <= 2; there++) {
            struct world w = two_partitions("daily 00:00-24:00 max_jobs_per_user=2", PREEMPT_OFF);
            struct job_request one = nodes_whole(1, HOUR);
            runs_of(&w, 1, 1000, "p1", own * 2 * HOUR);
            runs_on(&w, 2, "p1", HOUR);
            for (uint64_t id = 5; id <= 6; id++)
                runs_on(&w, id, "p2", 5 * HOUR);
            one.partition = "p1,p2";
            components_come(&w, &one, (size_t)there + 1);
            sched_plan(w.cl, NOW, NULL, w.plan);
            for (uint64_t id = 100; id <= 100 + (uint64_t)there; id++) {
                int64_t start = wait_of(&w, id).planned_us;
                bool own_is_sooner = there == 1 && own * 2 < 5;
                assert_int_equal(start, NOW + (own_is_sooner ? own * 2 : 5) * HOUR);
            }
            world_end(&w);
        }
}

/* They would begin together when nodes come free, in hours that let one begin: once these are
 * over. */
static void components_are_promised_a_time_of_other_hours(void **state)
{
    (void)state;
    struct world w = two_partitions("weekdays 15:00-18:00 max_jobs_per_user=1", PREEMPT_OFF);
    struct job_request one = nodes_whole(1, HOUR);
    for (uint64_t id = 1; id <= 4; id++)
        runs_on(&w, id, "p1", 2 * HOUR);
    one.partition = "p1";
    components_come(&w, &one, 2);
    sched_plan(w.cl, NOW, NULL, w.plan);
    for (uint64_t id = 100; id < 102; id++)
        assert_int_equal(wait_of(&w, id).planned_us, NOW + 4 * HOUR + 13 * MIN + 20 * USEC_PER_SEC);
    world_end(&w);
}

/* Work is stopped where all components may begin, and nowhere else. */
static void components_stop_what_hours_leave(void **state)
{
    (void)state;
    static const enum preempt_mode modes[] = {PREEMPT_REQUEUE, PREEMPT_SUSPEND};
    for (size_t m = 0; m < 2; m++) {
        struct world w = two_partitions("weekdays 08:00-18:00 max_jobs_per_user=1", modes[m]);
        struct job_request one = nodes_whole(1, HOUR);
        for (uint64_t id = 1; id <= 6; id++)
            runs_on(&w, id, "main", 10 * HOUR);
        one.partition = "p1,p2";
        one.mem_per_node_mib = 1;
        components_come(&w, &one, 2);
        sched_plan(w.cl, NOW, NULL, w.plan);
        size_t in_p1 = 0;
        for (size_t i = 0; i < w.plan->npreempts; i++)
            in_p1 += w.plan->preempt[i].victim <= 4;
        assert_int_equal(w.plan->npreempts, 2);
        assert_int_equal(in_p1, 1);
        world_end(&w);
    }
}

/* Work is suspended for the first, who begins with the next pass: its user's second has no place
 * beside him. */
static void who_begins_on_suspended_work_is_counted(void **state)
{
    (void)state;
    for (int most = 1; most <= 2; most++) {
        struct arena *a = arena_new();
        struct world w = two_partitions(
            arena_printf(a, "weekdays 08:00-18:00 max_jobs_per_user=%d", most), PREEMPT_SUSPEND);
        struct job_request first = nodes_whole(1, HOUR), second = first;
        runs_on(&w, 1, "main", 10 * HOUR);
        first.partition = second.partition = "p1";
        first.nodelist = "n1";
        first.mem_per_node_mib = 1;
        queue_job(w.cl, 100, &first);
        queue_job(w.cl, 101, &second);
        sched_plan(w.cl, NOW, NULL, w.plan);
        assert_int_equal(w.plan->npreempts, 1);
        assert_null(start_of(w.plan, 100));
        assert_int_equal(start_of(w.plan, 101) != NULL, most == 2);
        world_end(&w);
        arena_free(a);
    }
}

/* Work ends for the first, who begins when that is over: until then he is counted, and no more of
 * his user's stop any. Pass by pass, as that takes long. */
static void who_waits_for_work_that_ends_is_counted(void **state)
{
    (void)state;
    for (size_t components = 1; components <= 2; components++)
        for (int most = 1; most <= 4; most++) {
            struct arena *a = arena_new();
            struct world w =
                two_partitions(arena_printf(a, "weekdays 08:00-18:00 max_jobs_per_user=%d", most),
                               PREEMPT_REQUEUE);
            struct job_request one = nodes_whole(1, HOUR);
            for (uint64_t id = 1; id <= 6; id++)
                runs_on(&w, id, "main", 10 * HOUR);
            one.partition = "p1";
            one.mem_per_node_mib = 1;
            for (uint64_t id = 100; id < 108; id++)
                cluster_wait(w.cl, &(struct waiting){.job_id = id,
                                                     .het_job_id = components == 1 ? 0 : id / 2 * 2,
                                                     .het_size = components == 1 ? 0 : 2,
                                                     .req = &one,
                                                     .uid = 1000,
                                                     .elements = 1,
                                                     .submit_us = NOW,
                                                     .eligible_us = NOW});
            size_t stopped = 0;
            for (int pass = 0; pass < 3; pass++) {
                sched_plan(w.cl, NOW + pass, NULL, w.plan);
                for (size_t i = 0; i < w.plan->npreempts; i++)
                    cluster_ending(w.cl, w.plan->preempt[i].victim, w.plan->preempt[i].for_job,
                                   NOW + MIN);
                stopped += w.plan->npreempts;
            }
            assert_int_equal(stopped, most / (int)components * (int)components);
            world_end(&w);
            arena_free(a);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_that_it_did_not_name),
        cmocka_unit_test(time_that_may_be_shorter),
        cmocka_unit_test(a_promise_in_them),
        cmocka_unit_test(components_are_so_many_jobs),
        cmocka_unit_test(components_of_several_partitions),
        cmocka_unit_test(who_may_go_elsewhere_is_not_counted),
        cmocka_unit_test(a_component_goes_where_no_hours_hold_it),
        cmocka_unit_test(components_are_promised_what_hours_leave),
        cmocka_unit_test(components_are_promised_what_running_work_leaves),
        cmocka_unit_test(components_are_promised_a_time_of_other_hours),
        cmocka_unit_test(components_stop_what_hours_leave),
        cmocka_unit_test(who_begins_on_suspended_work_is_counted),
        cmocka_unit_test(who_waits_for_work_that_ends_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
