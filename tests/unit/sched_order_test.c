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

static void waiting_pays(void **state)
{
    enum sched_order o = ORDER_AGEING;
    assert_true(key_at(o, 3600, 1, 170000, 0) > key_at(o, 1800, 1, 0, 0));
    assert_true(key_at(ORDER_WFP, 3600, 1, 7200, 0) > key_at(ORDER_WFP, 600, 1, 600, 0));
}

static void who_waited_past_the_bound_goes_before_all_others_by_arrival(void **state)
{
    enum sched_order o = ORDER_AGEING;
    assert_true(key_at(o, 5184000, 1000, 172801, 0) > key_at(o, 1, 1, 172800, 0));
    assert_true(key_at(o, 5184000, 1000, 172802, 0) > key_at(o, 60, 1, 172801, 0));
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

/* The shorter job overtakes in the default order, and not under the multifactor priority. */
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
        cmocka_unit_test(waiting_pays),
        cmocka_unit_test(who_waited_past_the_bound_goes_before_all_others_by_arrival),
        cmocka_unit_test(shortest_limits_and_areas),
        cmocka_unit_test(keys_stay_in_bounds),
        cmocka_unit_test(the_settings_choose),
        cmocka_unit_test(choices_of_settings_are_those_of_the_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
