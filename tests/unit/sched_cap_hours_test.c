/* Caps of some hours: who starts in them is bound, and leaves what was promised for them. */
#include "sched_alone.h"

#define HOURS "weekdays 08:00-18:00"

/* Monday, 13:46:40. A job that has nodes n1 and n2 waits until work of so many hours there ends,
 * and is promised all that the cap allows. */
static struct world promised(struct cap cap, int64_t hours)
{
    struct world w = world_make(a_node(""), "n[1-8]", a_part("main", "ALL"));
    struct job_request there = nodes_whole(2, hours * HOUR), wide = nodes_whole(2, HOUR);
    there.nodelist = wide.nodelist = "n[1-2]";
    there.time_limit_us = hours * HOUR;
    cap.id = 1;
    cap.reason = REASON_ASSOC_GRP_CPU;
    cap.says = "the cap";
    cluster_put_cap(w.cl, &cap);
    queue_job(w.cl, 1, &there);
    sched_plan(w.cl, NOW, NULL, w.plan);
    cluster_start(w.cl, 1, &there, 1000, "main", &start_of(w.plan, 1)->alloc, NOW,
                  NOW + hours * HOUR);
    cluster_unwait(w.cl, 1);
    cluster_wait(w.cl, &(struct waiting){.job_id = 2,
                                         .req = &wide,
                                         .uid = 1000,
                                         .elements = 1,
                                         .submit_us = NOW - 2,
                                         .eligible_us = NOW - 2,
                                         .caps = "1"});
    return w;
}

/* Beside it comes one of the same cap, on nodes of its own, for so many hours. */
static void who_stays_into_other_hours_leaves_what_was_promised(void **state)
{
    static const struct {
        int64_t promised, hours; /* hours from now: the promise begins, the other ends */
        const char *when;
        bool starts;
    } rows[] = {
        {20, 24, HOURS, false}, /* promised tomorrow at 09:46, in hours of the cap */
        {20, 19, HOURS, true},  /* over before it */
        {8, 24, HOURS, true},   /* promised tonight, when the cap binds nobody */
        {3, 4, HOURS, false},   /* promised in the hours that are now */
        {3, 2, HOURS, true},
        {3, 4, NULL, false},
        {20, 24, NULL, false},
        {20, 24, "weekdays 20:00-22:00", true}, /* it binds neither */
        {7, 24, "weekdays 20:00-22:00", false}, /* it binds only who is promised */
    };
    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        size_t k = i / 2;
        bool nodes = i % 2;
        struct world w = promised((struct cap){.counts = nodes ? CAP_NODES : CAP_CPUS,
                                               .most = nodes ? 2 : 16,
                                               .hours = rows[k].when},
                                  rows[k].promised);
        struct job_request one = nodes_whole(1, rows[k].hours * HOUR);
        cluster_wait(w.cl, &(struct waiting){.job_id = 3,
                                             .req = &one,
                                             .uid = 1000,
                                             .elements = 1,
                                             .submit_us = NOW - 1,
                                             .eligible_us = NOW - 1,
                                             .caps = "1"});
        sched_plan(w.cl, NOW, NULL, w.plan);
        assert_null(start_of(w.plan, 2));
        if ((start_of(w.plan, 3) != NULL) != rows[k].starts)
            fail_msg("row %zu, of %s", k, nodes ? "nodes" : "CPUs");
        world_end(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_stays_into_other_hours_leaves_what_was_promised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
