/* Hours of a partition, and starts that are not yet: what is promised to whom they let begin, and
 * who gives way to him. */
#include "sched_hours_help.h"

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

/* That user's, on so many whole nodes of main. */
static void comes_of(struct world *w, uint64_t id, uint32_t uid, int32_t nodes, int64_t limit_us)
{
    struct job_request req = nodes_whole(nodes, limit_us);
    cluster_wait(w->cl, &(struct waiting){.job_id = id,
                                          .req = &req,
                                          .uid = uid,
                                          .elements = 1,
                                          .submit_us = NOW + (int64_t)id,
                                          .eligible_us = NOW + (int64_t)id});
}

#define BY_NIGHT_ONE                                                                               \
    "daily 08:00-20:00 max_jobs_per_user=2; daily 20:00-24:00 max_jobs_per_user=1; "               \
    "daily 00:00-08:00 max_jobs_per_user=1"

static struct world with_promises(const char *windows, const char *to)
{
    struct world w = in_hours(windows);
    struct settings s;
    settings_default(&s);
    put_setting(&s, "PriorityType", "priority/multifactor");
    put_setting(&s, "SchedulerParameters", to);
    cluster_set_policy(w.cl, &s);
    return w;
}

/* What the job is promised at that time; 0 = nothing. */
static int64_t promised_then(struct world *w, uint64_t id, int64_t at_us)
{
    struct budget now_only = {.no_forecast = true};
    sched_plan(w->cl, at_us, &now_only, w->plan);
    return wait_of(w, id).planned_us;
}

/* What was found to start begins. */
static void begins_at(struct world *w, uint64_t id, uint32_t uid, int32_t nodes, int64_t at_us,
                      int64_t limit_us)
{
    struct job_request req = nodes_whole(nodes, limit_us);
    assert_non_null(start_of(w->plan, id));
    cluster_start(w->cl, id, &req, uid, "main", &start_of(w->plan, id)->alloc, at_us,
                  at_us + limit_us);
    cluster_unwait(w->cl, id);
}

/* Its nodes come free in hours that let its user begin nothing beside what he has there, and would
 * hold it before that: he is promised nothing, and who comes has what is free. Else the promise
 * stands at all turns of the hours. */
static void a_plain_job_is_promised_what_hours_leave(void **state)
{
    (void)state;
    static const char *const to[] = {"promises=head", "promises=aged", "promises=all"};
    const int64_t turn = 6 * HOUR + 13 * MIN + 20 * USEC_PER_SEC, freed = 7 * HOUR;
    for (size_t k = 0; k < 3; k++)
        for (int own = 0; own < 4; own++) {
            static const int64_t own_us[] = {0, 5 * HOUR, 9 * HOUR, 240 * HOUR};
            struct world w = with_promises(BY_NIGHT_ONE, to[k]);
            const bool held = own >= 2;
            for (uint64_t id = 2; id <= 8; id++) /* until 20:46:40 */
                runs_of(&w, id, 1000 + (uint32_t)id, "main", freed);
            if (own)
                runs_of(&w, 1, 1000, "main", own_us[own]);
            comes_of(&w, 100, 1000, 9, HOUR);
            comes_of(&w, 200, 1001, 1, 10 * HOUR);
            comes_of(&w, 201, 1001, 1, 10 * HOUR);
            assert_int_equal(promised_then(&w, 100, NOW), held ? 0 : NOW + freed);
            assert_int_equal((start_of(w.plan, 200) != NULL) + (start_of(w.plan, 201) != NULL),
                             held ? 2 : 1);
            if (held) {
                begins_at(&w, 200, 1001, 1, NOW, 10 * HOUR);
                begins_at(&w, 201, 1001, 1, NOW, 10 * HOUR);
            }
            if (own == 1)
                cluster_release(w.cl, 1);
            cluster_unwait(w.cl, 200);
            cluster_unwait(w.cl, 201);
            for (int i = 0; i < 2; i++)
                assert_int_equal(promised_then(&w, 100, NOW + turn + i * 40 * MIN),
                                 held ? 0 : NOW + freed);
            world_end(&w);
        }
}

/* By day he may have another, by night he is held: the next morning is promised to him when it is
 * certain that it can be kept, and at no turn before. Others have the nodes all that time. */
static void nothing_is_kept_for_who_will_be_held(void **state)
{
    (void)state;
    struct world w = with_promises(BY_NIGHT_ONE, "promises=all");
    const int64_t morning = 18 * HOUR + 13 * MIN + 20 * USEC_PER_SEC;
    for (uint64_t id = 2; id <= 9; id++) /* until 20:46:40 */
        runs_of(&w, id, 1000 + (uint32_t)id, "main", 7 * HOUR);
    runs_of(&w, 1, 1000, "main", 240 * HOUR);
    comes_of(&w, 100, 1000, 9, HOUR);
    assert_int_equal(promised_then(&w, 100, NOW), 0);
    for (uint64_t id = 2; id <= 9; id++)
        cluster_release(w.cl, id);
    comes_of(&w, 200, 1001, 8, 12 * HOUR); /* until 08:46:40 */
    assert_int_equal(promised_then(&w, 100, NOW + 7 * HOUR), 0);
    begins_at(&w, 200, 1001, 8, NOW + 7 * HOUR, 12 * HOUR);
    assert_int_equal(promised_then(&w, 100, NOW + morning), NOW + 19 * HOUR);
    comes_of(&w, 201, 1002, 1, 10 * HOUR);
    assert_int_equal(promised_then(&w, 100, NOW + morning + MIN), NOW + 19 * HOUR);
    assert_null(start_of(w.plan, 201));
    cluster_release(w.cl, 200);
    (void)promised_then(&w, 201, NOW + 19 * HOUR);
    assert_non_null(start_of(w.plan, 100));
    world_end(&w);
}

/* A pair in one partition, of which hours let one begin for a while before its nodes are free. */
static void nothing_is_kept_for_components_that_will_be_held(void **state)
{
    (void)state;
    for (int held = 0; held < 2; held++) {
        struct world w = in_hours(held ? "weekdays 15:00-18:00 max_jobs_per_user=1"
                                       : "weekdays 16:00-18:00 max_jobs_per_user=1");
        struct job_request one = nodes_whole(1, HOUR);
        for (uint64_t id = 1; id <= 9; id++)
            runs_on(&w, id, "main", 2 * HOUR); /* until 15:46:40 */
        one.partition = "main";
        components_come(&w, &one, 2);
        comes_of(&w, 200, 1002, 1, 4 * HOUR);
        assert_int_equal(promised_then(&w, 100, NOW), held ? 0 : NOW + 2 * HOUR);
        world_end(&w);
    }
}

/* For the first there is no start that hours leave, as by day its nodes are reserved: what the second
 * of its user's can have is kept for that. */
static void who_can_be_promised_nothing_is_in_no_way(void **state)
{
    (void)state;
    struct world w = in_hours("daily 08:00-20:00 max_jobs_per_user=2; daily 20:00-24:00 "
                              "max_jobs_per_user=1; daily 00:00-08:00 max_jobs_per_user=1");
    struct settings s;
    settings_default(&s);
    put_setting(&s, "PriorityType", "priority/multifactor");
    cluster_set_policy(w.cl, &s);
    runs_of(&w, 1, 1000, "main", 240 * HOUR);
    runs_of(&w, 9, 1002, "main", 2 * HOUR);
    cluster_put_reservation(w.cl, &(struct reservation){.name = "day",
                                                        .nodes = "n[2-8]",
                                                        .users = "root",
                                                        .flags = RESV_DAILY,
                                                        .start_us = NOW - 6 * HOUR,
                                                        .end_us = NOW + 7 * HOUR});
    comes_of(&w, 100, 1000, 9, HOUR);
    comes_of(&w, 101, 1000, 2, HOUR);
    comes_of(&w, 200, 1001, 1, 10 * HOUR);
    struct budget now_only = {.no_forecast = true};
    sched_plan(w.cl, NOW, &now_only, w.plan);
    assert_int_equal(wait_of(&w, 100).planned_us, 0);
    assert_int_equal(wait_of(&w, 101).planned_us, NOW + 2 * HOUR);
    assert_null(start_of(w.plan, 200));
    world_end(&w);
}

/* promises=all: of two of one user's, one may run at a time. The second is held while the first
 * runs: nothing is kept for it before that is over, and what it is promised then it is not to lose. */
static void promises_of_one_user_are_as_many_as_hours_let_begin(void **state)
{
    (void)state;
    for (int most = 1; most <= 2; most++)
        for (int users = 1; users <= 2; users++) {
            struct arena *a = arena_new();
            struct world w = with_promises(
                arena_printf(a, "daily 00:00-24:00 max_jobs_per_user=%d", most), "promises=all");
            for (uint64_t id = 1; id <= 9; id++)
                runs_of(&w, id, 2000 + (uint32_t)id, "main", HOUR);
            comes_of(&w, 100, 1000, 8, HOUR);
            comes_of(&w, 101, users == 1 ? 1000 : 1002, 2, HOUR);
            comes_of(&w, 200, 1001, 1, HOUR + 30 * MIN);
            const bool beside = most == 2 || users == 2;
            assert_int_equal(promised_then(&w, 101, NOW), beside ? NOW + HOUR : 0);
            assert_int_equal(wait_of(&w, 100).planned_us, NOW + HOUR);
            assert_int_equal(start_of(w.plan, 200) != NULL, !beside);
            for (uint64_t id = 1; id <= 9; id++)
                cluster_release(w.cl, id);
            cluster_unwait(w.cl, 200);
            (void)promised_then(&w, 101, NOW + HOUR);
            assert_int_equal(start_of(w.plan, 101) != NULL, beside);
            begins_at(&w, 100, 1000, 8, NOW + HOUR, HOUR);
            assert_int_equal(promised_then(&w, 101, NOW + HOUR + MIN), 0);
            world_end(&w);
            arena_free(a);
        }
}

/* A start that is promised for later keeps none of its user's from beginning now. */
static void who_is_promised_a_start_keeps_none_of_his_from_one_now(void **state)
{
    (void)state;
    struct world w = in_hours("daily 00:00-24:00 max_jobs_per_user=1");
    runs_of(&w, 1, 1001, "main", 2 * HOUR);
    comes_of(&w, 100, 1000, 10, HOUR);
    comes_of(&w, 101, 1000, 1, HOUR);
    sched_plan(w.cl, NOW, NULL, w.plan);
    assert_int_equal(wait_of(&w, 100).planned_us, NOW + 2 * HOUR);
    assert_non_null(start_of(w.plan, 101));
    world_end(&w);
}

/* Work ends for a pair for which no common start is found, as these hours are over by then and come
 * in a week: it is counted all the same, and other pairs of its user's stop nothing. */
static void components_without_a_start_are_counted(void **state)
{
    (void)state;
    struct world w = two_partitions("mon 13:00-13:47 max_jobs_per_user=2; "
                                    "mon 13:47-24:00 max_jobs_per_user=1; "
                                    "tue-sun 00:00-04:00 max_jobs_per_user=1; "
                                    "tue-sun 04:00-08:00 max_jobs_per_user=1; "
                                    "tue-sun 08:00-12:00 max_jobs_per_user=1; "
                                    "tue-sun 12:00-16:00 max_jobs_per_user=1; "
                                    "tue-sun 16:00-20:00 max_jobs_per_user=1; "
                                    "tue-sun 20:00-24:00 max_jobs_per_user=1; "
                                    "mon 00:00-13:00 max_jobs_per_user=1",
                                    PREEMPT_REQUEUE);
    struct job_request one = nodes_whole(1, HOUR);
    for (uint64_t id = 1; id <= 6; id++)
        runs_on(&w, id, "main", 10 * HOUR);
    one.partition = "p1";
    one.mem_per_node_mib = 1;
    for (uint64_t id = 100; id < 104; id++)
        cluster_wait(w.cl, &(struct waiting){.job_id = id,
                                             .het_job_id = id / 2 * 2,
                                             .het_size = 2,
                                             .req = &one,
                                             .uid = 1000,
                                             .elements = 1,
                                             .submit_us = NOW,
                                             .eligible_us = NOW});
    size_t stopped = 0;
    for (int pass = 0; pass < 3; pass++) {
        sched_plan(w.cl, NOW + pass, NULL, w.plan);
        for (size_t i = 0; i < w.plan->npreempts; i++)
            cluster_ending(w.cl, w.plan->preempt[i].victim, w.plan->preempt[i].for_job, NOW + MIN);
        stopped += w.plan->npreempts;
    }
    assert_int_equal(stopped, 2);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(components_are_promised_what_hours_leave),
        cmocka_unit_test(components_are_promised_what_running_work_leaves),
        cmocka_unit_test(components_are_promised_a_time_of_other_hours),
        cmocka_unit_test(components_stop_what_hours_leave),
        cmocka_unit_test(a_plain_job_is_promised_what_hours_leave),
        cmocka_unit_test(nothing_is_kept_for_who_will_be_held),
        cmocka_unit_test(nothing_is_kept_for_components_that_will_be_held),
        cmocka_unit_test(who_can_be_promised_nothing_is_in_no_way),
        cmocka_unit_test(promises_of_one_user_are_as_many_as_hours_let_begin),
        cmocka_unit_test(who_is_promised_a_start_keeps_none_of_his_from_one_now),
        cmocka_unit_test(who_begins_on_suspended_work_is_counted),
        cmocka_unit_test(who_waits_for_work_that_ends_is_counted),
        cmocka_unit_test(components_without_a_start_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
