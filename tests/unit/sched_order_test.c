/* Orders of the queue. */
#include "sched_help.h"

#include "sched/books/order.h"

static uint64_t key_at(enum sched_order order, int64_t limit_s, int64_t width, int64_t waited_s,
                       int32_t nice)
{
    struct order_job j = {.submit_us = NOW - waited_s * USEC_PER_SEC,
                          .now_us = NOW,
                          .limit_us = limit_s * USEC_PER_SEC,
                          .width = width,
                          .nice = nice,
                          .age_bound_us = 172800 * USEC_PER_SEC};
    return order_key(order, &j);
}

static void short_and_narrow_work_goes_first(void **state)
{
    enum sched_order o = ORDER_AGEING;
    assert_true(key_at(o, 600, 1, 0, 0) > key_at(o, 3600, 1, 0, 0));
    assert_true(key_at(o, 600, 1, 0, 0) > key_at(o, 600, 64, 0, 0));
    assert_true(key_at(o, 5184000, 1, 86400, 0) > key_at(o, 5184000, 1, 86000, 0));
    assert_true(key_at(o, 600, 1, 500, 0) > key_at(o, 600, 1, 500, 100));
}

/* Also of jobs that have just come, however large the values are. */
static void nice_values_tell_apart(void **state)
{
    static const int32_t nice[] = {-2000000, -3600, -2, 0, 1, 2, 3599, 3600, 3602, 100000, 2000000};
    for (size_t i = 0; i + 1 < ARRAY_LEN(nice); i++)
        for (int64_t waited = 0; waited < 10000; waited += 4999)
            if (key_at(ORDER_AGEING, 86400, 8, waited, nice[i]) <=
                key_at(ORDER_AGEING, 86400, 8, waited, nice[i + 1]))
                fail_msg("%d and %d after %lld s", nice[i], nice[i + 1], (long long)waited);
}

static void waiting_pays(void **state)
{
    enum sched_order o = ORDER_AGEING;
    assert_true(key_at(o, 3600, 1, 170000, 0) > key_at(o, 1800, 1, 0, 0));
    assert_true(key_at(ORDER_WFP, 3600, 1, 7200, 0) > key_at(ORDER_WFP, 600, 1, 600, 0));
}

static void past_the_bound_waiting_counts_more_and_more(void **state)
{
    enum sched_order o = ORDER_AGEING;
    int64_t bound = 172800, week = 7 * 86400;
    /* Half of the bound is worth little, twice the bound more than a tenfold limit. */
    assert_true(key_at(o, 36000, 1, bound / 2, 0) < key_at(o, 3600, 1, bound / 4, 0));
    assert_true(key_at(o, 36000, 1, 2 * bound, 0) > key_at(o, 3600, 1, bound / 2, 0));
    assert_true(key_at(o, 5184000, 1000, 10 * week, 0) > key_at(o, 3600, 1, 0, 0));
    assert_true(key_at(o, 3600, 1, 3 * bound, 0) > key_at(o, 3600, 1, 3 * bound - 60, 0));
}

static uint64_t first_key(int64_t limit_s, int64_t waited_s, bool head, bool oldest)
{
    struct order_job j = {.submit_us = NOW - waited_s * USEC_PER_SEC,
                          .now_us = NOW,
                          .limit_us = limit_s * USEC_PER_SEC,
                          .width = 1000,
                          .age_bound_us = 172800 * USEC_PER_SEC,
                          .head = head,
                          .oldest = oldest};
    return order_key(ORDER_AGEING, &j);
}

/* The head goes before the oldest, which goes before all others; and it is one when it waited for
 * its limit. */
static void the_head_and_the_oldest_go_first(void **state)
{
    uint64_t best = key_at(ORDER_AGEING, 1, 1, INT64_C(1) << 28, 0);
    assert_true(first_key(3600, 3600, true, false) > first_key(60, 1 << 28, false, true));
    assert_true(first_key(5184000, 172801, false, true) > best);
    assert_true(first_key(3600, 3599, true, false) == first_key(3600, 3599, false, false));
    assert_true(first_key(3600, 3600, true, false) > first_key(3600, 3599, true, true));
}

static uint64_t users_key(int64_t limit_s, int64_t expected_s, int64_t used, int64_t busy)
{
    struct order_job j = {.submit_us = NOW - HOUR,
                          .now_us = NOW,
                          .limit_us = limit_s * USEC_PER_SEC,
                          .expected_us = expected_s * USEC_PER_SEC,
                          .used = used,
                          .busy = busy,
                          .width = 4,
                          .age_bound_us = 144000 * USEC_PER_SEC};
    return order_key(ORDER_AGEING, &j);
}

/* In place of the limit, where it is known, and never more than that. */
static void what_such_jobs_ran_counts(void **state)
{
    uint64_t day = users_key(86400, 0, 0, 0);
    assert_true(users_key(86400, 600, 0, 0) > day);
    assert_true(users_key(86400, 600, 0, 0) == users_key(600, 0, 0, 0));
    assert_true(users_key(86400, 600, 0, 0) > users_key(3600, 0, 0, 0));
    assert_true(users_key(86400, 600000, 0, 0) == day);
    /* Who runs seconds gains nothing on who runs a minute. */
    assert_true(users_key(86400, 1, 0, 0) == users_key(86400, 60, 0, 0));
    assert_true(users_key(86400, 61, 0, 0) < users_key(86400, 60, 0, 0));
}

static void who_has_much_stands_back(void **state)
{
    const int64_t one = 1 << 20;
    uint64_t before = users_key(3600, 0, 0, 0);
    for (int64_t part = 1 << 12; part <= one; part *= 2) {
        uint64_t used = users_key(3600, 0, part, 0), busy = users_key(3600, 0, 0, part);
        assert_true(used < before && busy < used);
        assert_true(users_key(3600, 0, part, part) < busy);
        before = used;
    }
    /* Who has all of the machine waits behind what takes a hundred times as long. */
    assert_true(users_key(360, 0, 0, one) < users_key(36000, 0, 0, 0));
    assert_true(users_key(3600, 0, one, one) == users_key(3600, 0, 9 * one, 9 * one));
}

static void shortest_limits_and_areas(void **state)
{
    assert_true(key_at(ORDER_SJF, 600, 64, 0, 0) > key_at(ORDER_SJF, 601, 1, 9, 0));
    assert_true(key_at(ORDER_SJF, 600, 1, 0, 0) > key_at(ORDER_SJF, 600, 2, 9, 0));
    assert_true(key_at(ORDER_SAF, 600, 2, 0, 0) > key_at(ORDER_SAF, 400, 4, 0, 0));
    assert_true(key_at(ORDER_ARRIVAL, 600, 2, 0, 0) == key_at(ORDER_ARRIVAL, 60, 4, 9, 0));
}

static void keys_stay_in_bounds(void **state)
{
    for (int o = ORDER_ARRIVAL; o <= ORDER_AGEING; o++)
        for (int64_t limit = 1; limit < INT64_C(1) << 40; limit *= 7)
            for (int64_t width = 1; width < INT64_C(1) << 30; width *= 31)
                for (int64_t waited = 0; waited < INT64_C(1) << 40; waited = 5 * waited + 1) {
                    uint64_t key = key_at((enum sched_order)o, limit, width, waited, 0);
                    assert_true(key >= 1 << 20 && key < UINT64_C(1) << 52);
                }
}

static void wait_for_nodes(struct cluster *cl, uint64_t id, const char *nodes, int64_t limit_us,
                           int64_t submit_us)
{
    struct job_request req = {.partition = "main",
                              .exclusive = EXCLUSIVE_NODE,
                              .min_nodes = *nodes - '0',
                              .max_nodes = *nodes - '0',
                              .time_limit_us = limit_us};
    struct waiting w = {.job_id = id,
                        .req = &req,
                        .uid = 1000,
                        .elements = 1,
                        .submit_us = submit_us,
                        .eligible_us = submit_us};
    cluster_wait(cl, &w);
}

static uint32_t rank_at(struct cluster *cl, struct plan *plan, uint64_t id, int64_t now_us)
{
    struct plan_wait wait = {0};
    sched_plan(cl, now_us, NULL, plan);
    assert_true(plan_wait_of(plan, cl, id, &wait));
    return wait.rank;
}

/* Job 1 holds one of two nodes. Job 2 wants both and is blocked; job 3, which is shorter, comes
 * later and would be first by its key. */
static void who_was_blocked_first_stays_first(void **state)
{
    struct cluster *cl = cluster_new();
    struct plan *plan = plan_new();
    struct partition part = a_part("main", "ALL");
    uint64_t head, oldest;
    put_nodes(cl, "n[1-2]", a_node(NULL));
    put_part(cl, &part);
    wait_for_nodes(cl, 1, "1", 20 * HOUR, NOW);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 1);
    struct job_request one = {.partition = "main", .exclusive = EXCLUSIVE_NODE};
    cluster_start(cl, 1, &one, 1000, "main", &plan->start[0].alloc, NOW, NOW + 20 * HOUR);
    cluster_unwait(cl, 1);
    wait_for_nodes(cl, 2, "2", 2 * HOUR, NOW);
    sched_plan(cl, NOW, NULL, plan);
    cluster_standing(cl, 2, &head, &oldest);
    assert_true(head != 0 && oldest == 0);
    /* Not yet: it waited for less than its limit. */
    wait_for_nodes(cl, 3, "2", HOUR / 60, NOW + HOUR);
    assert_int_equal(rank_at(cl, plan, 3, NOW + HOUR), 1);
    cluster_unwait(cl, 3);
    sched_plan(cl, NOW + 2 * HOUR, NULL, plan);
    wait_for_nodes(cl, 3, "2", HOUR / 60, NOW + 2 * HOUR);
    assert_int_equal(rank_at(cl, plan, 3, NOW + 2 * HOUR), 2);
    cluster_release(cl, 1);
    sched_plan(cl, NOW + 2 * HOUR, NULL, plan);
    assert_int_equal(plan->nstarts, 1);
    assert_int_equal(plan->start[0].job_id, 2);
    /* What it asks for now has not waited so. */
    wait_for_nodes(cl, 2, "2", 3 * HOUR, NOW);
    cluster_standing(cl, 2, &head, &oldest);
    assert_true(head == 0);
    plan_free(plan);
    cluster_free(cl);
}

/* Job 1 holds one of two nodes, for ten hours. Job 2 wants both and is promised them; what comes
 * then in the same tier does not move it, whatever its order, and what comes in a higher one does. */
static void what_was_promised_stands_but_against_higher_tiers(void **state)
{
    struct cluster *cl = cluster_new();
    struct plan *plan = plan_new();
    struct partition part = a_part("main", "ALL"), high = a_part("high", "ALL");
    struct plan_wait two = {0}, other = {0};
    high.priority_tier = part.priority_tier + 1;
    put_nodes(cl, "n[1-2]", a_node(NULL));
    put_part(cl, &part);
    put_part(cl, &high);
    struct settings set = {0};
    setting_words_default(&set.word);
    put_setting(&set, "SchedulerParameters", "promises=all");
    cluster_set_policy(cl, &set);
    wait_for_nodes(cl, 1, "1", 10 * HOUR, NOW);
    sched_plan(cl, NOW, NULL, plan);
    struct job_request one = {.partition = "main", .exclusive = EXCLUSIVE_NODE};
    cluster_start(cl, 1, &one, 1000, "main", &plan->start[0].alloc, NOW, NOW + 10 * HOUR);
    cluster_unwait(cl, 1);
    wait_for_nodes(cl, 2, "2", 20 * HOUR, NOW);
    sched_plan(cl, NOW, NULL, plan);
    wait_for_nodes(cl, 3, "2", HOUR / 60, NOW + HOUR);
    sched_plan(cl, NOW + HOUR, NULL, plan);
    assert_true(plan_wait_of(plan, cl, 2, &two) && plan_wait_of(plan, cl, 3, &other));
    assert_int_equal(two.planned_us, NOW + 10 * HOUR);
    assert_int_equal(other.planned_us, NOW + 30 * HOUR);
    struct job_request urgent = {.partition = "high",
                                 .exclusive = EXCLUSIVE_NODE,
                                 .min_nodes = 2,
                                 .time_limit_us = 5 * HOUR};
    cluster_wait(cl, &(struct waiting){.job_id = 4,
                                       .req = &urgent,
                                       .uid = 1000,
                                       .elements = 1,
                                       .submit_us = NOW + HOUR,
                                       .eligible_us = NOW + HOUR});
    sched_plan(cl, NOW + HOUR, NULL, plan);
    assert_true(plan_wait_of(plan, cl, 2, &two) && plan_wait_of(plan, cl, 4, &other));
    assert_int_equal(other.planned_us, NOW + 10 * HOUR);
    assert_int_equal(two.planned_us, NOW + 15 * HOUR);
    plan_free(plan);
    cluster_free(cl);
}

static void wait_for_gpu(struct cluster *cl, uint64_t id, const char *gpu, int64_t minutes)
{
    struct job_request req = {
        .partition = "main", .gpus_per_node = gpu, .time_limit_us = minutes * MIN};
    queue_job(cl, id, &req);
}

/* A node with a GPU of each of two types, and jobs that take either: the third of them could begin
 * before its promise where the fourth, who can have one type alone, was promised to be. */
static void of_two_types_that_of_another_is_not_taken(void **state)
{
    struct cluster *cl = cluster_new();
    struct plan *plan = plan_new();
    struct partition part = a_part("main", "ALL");
    struct node n = a_node("n1");
    struct settings set = {0};
    struct plan_wait third, fourth;
    n.gres = "gpu:a:1,gpu:v:1";
    put_node(cl, &n);
    put_part(cl, &part);
    setting_words_default(&set.word);
    put_setting(&set, "SchedulerParameters", "promises=all");
    cluster_set_policy(cl, &set);
    for (uint64_t id = 1; id <= 2; id++)
        wait_for_gpu(cl, id, "a|v:1", 40);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 2);
    for (uint64_t id = 1; id <= 2; id++) {
        struct job_request req = {.partition = "main", .gpus_per_node = "a|v:1"};
        cluster_start(cl, id, &req, 1000, "main", &start_of(plan, id)->alloc, NOW, NOW + 40 * MIN);
        cluster_unwait(cl, id);
    }
    for (uint64_t id = 3; id <= 5; id++)
        wait_for_gpu(cl, id, "a|v:1", 10);
    wait_for_gpu(cl, 6, "v:1", 50);
    sched_plan(cl, NOW, NULL, plan);
    assert_true(plan_wait_of(plan, cl, 5, &third) && plan_wait_of(plan, cl, 6, &fourth));
    assert_int_equal(third.planned_us, NOW + 50 * MIN);
    assert_int_equal(fourth.planned_us, NOW + 50 * MIN);
    cluster_release(cl, 2); /* which had the other type */
    sched_plan(cl, NOW + 32 * MIN, NULL, plan);
    assert_int_equal(plan->nstarts, 1);
    assert_true(plan_wait_of(plan, cl, 5, &third) && plan_wait_of(plan, cl, 6, &fourth));
    assert_int_equal(third.planned_us, NOW + 50 * MIN);
    assert_int_equal(fourth.planned_us, NOW + 42 * MIN);
    plan_free(plan);
    cluster_free(cl);
}

/* Job 1 leaves three CPUs idle. Job 2, who shares CPUs, has all that it asks for once job 1 is gone,
 * and not the three alone: job 3 is promised what is left then. */
static void who_shares_is_promised_what_is_idle_then(void **state)
{
    struct cluster *cl = cluster_new();
    struct plan *plan = plan_new();
    struct partition part = a_part("main", "ALL"), shared = a_part("shared", "ALL");
    struct node n = a_node("n1");
    struct settings set = {0};
    struct plan_wait two, three;
    shared.share = SHARE_FORCE;
    shared.share_count = 2;
    put_node(cl, &n);
    put_part(cl, &part);
    put_part(cl, &shared);
    setting_words_default(&set.word);
    put_setting(&set, "SchedulerParameters", "promises=all");
    cluster_set_policy(cl, &set);
    struct job_request req[] = {
        {.partition = "main", .cpus_per_task = 5, .mem_per_node_mib = 8000},
        {.partition = "shared", .cpus_per_task = 6, .mem_per_node_mib = 1000},
        {.partition = "main", .cpus_per_task = 4, .mem_per_node_mib = 1000},
    };
    for (size_t i = 0; i < ARRAY_LEN(req); i++) {
        req[i].time_limit_us = HOUR;
        queue_job(cl, 1 + i, &req[i]);
        sched_plan(cl, NOW, NULL, plan);
        if (i > 0)
            continue;
        cluster_start(cl, 1, &req[0], 1000, "main", &start_of(plan, 1)->alloc, NOW, NOW + HOUR);
        cluster_unwait(cl, 1);
    }
    assert_true(plan_wait_of(plan, cl, 2, &two) && plan_wait_of(plan, cl, 3, &three));
    assert_int_equal(two.planned_us, NOW + HOUR);
    assert_int_equal(three.planned_us, NOW + 2 * HOUR);
    plan_free(plan);
    cluster_free(cl);
}

/* Past four times the bound the oldest goes first whatever it asks; the others by their keys. */
static void past_the_bound_one_goes_first(void **state)
{
    struct cluster *cl = cluster_new();
    struct plan *plan = plan_new();
    struct partition part = a_part("main", "ALL");
    uint64_t head, oldest;
    put_nodes(cl, "n1", a_node(NULL));
    put_part(cl, &part);
    wait_for_nodes(cl, 1, "1", 900 * HOUR, NOW - 202 * HOUR);
    wait_for_nodes(cl, 2, "1", 1 * HOUR, NOW - 201 * HOUR);
    wait_for_nodes(cl, 3, "1", HOUR, NOW);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 1);
    assert_int_equal(plan->start[0].job_id, 1);
    for (uint64_t id = 1; id <= 3; id++) {
        cluster_standing(cl, id, &head, &oldest);
        assert_int_equal(oldest != 0, id == 1);
    }
    plan_free(plan);
    cluster_free(cl);
}

/* The shorter job overtakes in the default order, and not under the multifactor priority. */
static void run_alone(struct cluster *cl, uint64_t id, uint32_t uid, const char *node)
{
    struct job_request req = {.partition = "main", .exclusive = EXCLUSIVE_NODE};
    struct alloc_node on = {.node = node, .cpus = "0-7"};
    struct alloc al = {.node = &on, .n = 1};
    cluster_start(cl, id, &req, uid, "main", &al, NOW, NOW + HOUR);
}

/* Users 1000 and 1001 want the same; the first has half of the machine. */
static void the_machine_is_shared_among_users(void **state)
{
    struct cluster *cl = cluster_new();
    struct plan *plan = plan_new();
    struct partition part = a_part("main", "ALL");
    struct job_request req = {
        .partition = "main", .exclusive = EXCLUSIVE_NODE, .time_limit_us = HOUR};
    put_nodes(cl, "n[1-2]", a_node(NULL));
    put_part(cl, &part);
    run_alone(cl, 1, 1000, "n1");
    for (uint64_t id = 2; id <= 5; id++) {
        struct waiting w = {.job_id = id,
                            .req = &req,
                            .uid = id < 5 ? 1000 : 1001,
                            .elements = 1,
                            .submit_us = NOW - (10 - (int64_t)id) * USEC_PER_MIN};
        w.eligible_us = w.submit_us;
        cluster_wait(cl, &w);
    }
    assert_int_equal(rank_at(cl, plan, 5, NOW), 1);
    assert_int_equal(plan->nstarts, 1);
    assert_int_equal(plan->start[0].job_id, 5);
    /* What it has counts as long as it has it; then what it had, which somebody has to say. */
    cluster_release(cl, 1);
    assert_int_equal(rank_at(cl, plan, 5, NOW), 4);
    cluster_set_use(cl, 1000, 1 << 19);
    assert_int_equal(rank_at(cl, plan, 5, NOW), 1);
    /* Of what user 1000 asks an hour for, minutes are needed. */
    cluster_set_expected(cl, 1000, NULL, HOUR, HOUR / 60);
    assert_int_equal(rank_at(cl, plan, 5, NOW), 4);
    assert_int_equal(cluster_expected(cl, 1000, NULL, HOUR), HOUR / 60);
    cluster_set_expected(cl, 1000, NULL, HOUR, 0);
    assert_int_equal(rank_at(cl, plan, 5, NOW), 1);
    plan_free(plan);
    cluster_free(cl);
}

static void the_settings_choose(void **state)
{
    for (int factors = 0; factors < 2; factors++) {
        struct cluster *cl = factors ? cluster_of_factors() : cluster_new();
        struct plan *plan = plan_new();
        struct partition p = a_part("main", "ALL");
        put_nodes(cl, "n1", a_node(NULL));
        put_part(cl, &p);
        struct job_request one = {.partition = "main",
                                  .exclusive = EXCLUSIVE_NODE,
                                  .time_limit_us = 2 * HOUR},
                           two = {.partition = "main",
                                  .exclusive = EXCLUSIVE_NODE,
                                  .time_limit_us = HOUR};
        queue_job(cl, 1, &one);
        queue_job(cl, 2, &two);
        sched_plan(cl, NOW, NULL, plan);
        assert_int_equal(plan->nstarts, 1);
        assert_int_equal(plan->start[0].job_id, factors ? 1 : 2);
        plan_free(plan);
        cluster_free(cl);
    }
}

/* A choice of a setting is kept as its place in the row: the names here must be in the same
 * order. */
static void choices_of_settings_are_those_of_the_orders(void **state)
{
    enum sched_order order;
    enum sched_backfill backfill;
    enum sched_promises promises;
    for (size_t i = 0; i < setting_word_count; i++) {
        const struct setting_word *w = &setting_word_table[i];
        struct span rest = span_of(w->choices), one;
        for (unsigned place = 0; w->kind == WORD_CHOICE && span_next(&rest, '|', &one); place++) {
            char *name = xstrndup(one.data, one.len);
            if (text_is(w->word, "order"))
                assert_true(order_named(name, &order) && order == place);
            else if (text_is(w->word, "backfill"))
                assert_true(backfill_named(name, &backfill) && backfill == place);
            else
                assert_true(text_is(w->word, "promises") && promises_named(name, &promises) &&
                            promises == place);
            free(name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_and_narrow_work_goes_first),
        cmocka_unit_test(nice_values_tell_apart),
        cmocka_unit_test(waiting_pays),
        cmocka_unit_test(past_the_bound_waiting_counts_more_and_more),
        cmocka_unit_test(the_head_and_the_oldest_go_first),
        cmocka_unit_test(who_was_blocked_first_stays_first),
        cmocka_unit_test(what_was_promised_stands_but_against_higher_tiers),
        cmocka_unit_test(of_two_types_that_of_another_is_not_taken),
        cmocka_unit_test(who_shares_is_promised_what_is_idle_then),
        cmocka_unit_test(past_the_bound_one_goes_first),
        cmocka_unit_test(what_such_jobs_ran_counts),
        cmocka_unit_test(who_has_much_stands_back),
        cmocka_unit_test(the_machine_is_shared_among_users),
        cmocka_unit_test(shortest_limits_and_areas),
        cmocka_unit_test(keys_stay_in_bounds),
        cmocka_unit_test(the_settings_choose),
        cmocka_unit_test(choices_of_settings_are_those_of_the_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
