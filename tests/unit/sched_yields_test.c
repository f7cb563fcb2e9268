/* Who holds more than a quarter of the cluster takes nothing behind the promised start of another's
 * job that asks half as long or less: it is for those who come next. */
#include "sched_help.h"

#include "model/record/priority.h"

enum { MUCH_UID = 1000, OTHER_UID = 2000, WIDE_UID = 3000, THIRD_UID = 4000 };
#define WIDE  1  /* the head: all that the other user's job holds, for an hour */
#define ASKED 50 /* the job that is looked at */

static struct cluster *cl;
static struct plan *plan;

/* It runs from now on, on one of them at least, for half a day if it does not say how long. */
static void runs(uint64_t id, uint32_t uid, const struct job_request *like)
{
    struct job_request r = *like;
    r.partition = r.partition ? r.partition : "main";
    r.ntasks = 1;
    r.mem_per_node_mib = r.mem_per_node_mib ? r.mem_per_node_mib : 1;
    r.time_limit_us = r.time_limit_us ? r.time_limit_us : 12 * HOUR;
    cluster_wait(cl, &(struct waiting){.job_id = id,
                                       .req = &r,
                                       .uid = uid,
                                       .elements = 1,
                                       .submit_us = NOW,
                                       .eligible_us = NOW});
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 1);
    const struct plan_start *s = &plan->start[0];
    cluster_unwait(cl, id);
    cluster_start(cl, id, &r, uid, s->partition, &s->alloc, NOW, NOW + r.time_limit_us);
}

/* On eight CPUs MUCH_UID holds `much` for half a day, OTHER_UID four for an hour; one is idle, and
 * others have what is left. */
static void holds(uint64_t id, uint32_t uid, int32_t cpus, int64_t limit_us)
{
    runs(id, uid, &(struct job_request){.cpus_per_task = cpus, .time_limit_us = limit_us});
}

static void world_open(const char *order, int32_t much)
{
    struct settings s;
    cl = cluster_new();
    settings_default(&s);
    put_setting(&s, "SchedulerParameters", order);
    cluster_set_policy(cl, &s);
    struct node n = a_node("n1");
    put_node(cl, &n);
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    plan = plan_new();
    holds(10, MUCH_UID, much, 12 * HOUR);
    holds(11, OTHER_UID, 4, HOUR);
    if (much < 3)
        holds(12, OTHER_UID, 3 - much, 12 * HOUR);
}

static void world_close(void)
{
    plan_free(plan);
    cluster_free(cl);
}

static void waits_since(int64_t since_us, uint64_t id, uint32_t uid, int32_t cpus, int64_t limit_us,
                        uint32_t elements)
{
    struct job_request r = {.partition = "main",
                            .ntasks = 1,
                            .cpus_per_task = cpus,
                            .mem_per_node_mib = 1,
                            .time_limit_us = limit_us};
    cluster_wait(cl, &(struct waiting){.job_id = id,
                                       .req = &r,
                                       .uid = uid,
                                       .elements = elements,
                                       .submit_us = since_us,
                                       .eligible_us = since_us});
}

static void waits(uint64_t id, uint32_t uid, int32_t cpus, int64_t limit_us, uint32_t elements)
{
    waits_since(NOW, id, uid, cpus, limit_us, elements);
}

/* The jobs that start; the head never does. */
static size_t starts(void)
{
    sched_plan(cl, NOW, NULL, plan);
    for (size_t i = 0; i < plan->nstarts; i++)
        assert_true(plan->start[i].job_id != WIDE);
    return plan->nstarts;
}

static void who_has_much_leaves_the_rest(void **state)
{
    static const struct {
        const char *order;
        int32_t much;      /* of eight CPUs */
        uint32_t head, of; /* whose the head and the job are */
        int64_t limit_us;
        uint32_t elements;
        bool starts;
    } cases[] = {
        {"order=ageing", 3, WIDE_UID, MUCH_UID, 12 * HOUR, 1, false},
        {"order=ageing", 3, WIDE_UID, MUCH_UID, 12 * HOUR, 5, false},  /* elements of an array */
        {"order=ageing", 3, WIDE_UID, MUCH_UID, 2 * HOUR, 1, false},   /* twice as long */
        {"order=ageing", 3, WIDE_UID, MUCH_UID, 119 * MIN, 1, true},   /* not quite */
        {"order=ageing", 3, WIDE_UID, MUCH_UID, HOUR, 1, true},        /* it ends before */
        {"order=ageing", 3, WIDE_UID, THIRD_UID, 12 * HOUR, 1, true},  /* who has nothing */
        {"order=ageing", 2, WIDE_UID, MUCH_UID, 12 * HOUR, 1, true},   /* a quarter, not more */
        {"order=ageing", 3, MUCH_UID, MUCH_UID, 12 * HOUR, 1, true},   /* nobody else waits */
        {"order=priority", 3, WIDE_UID, MUCH_UID, 12 * HOUR, 1, true}, /* the site says whose */
        {"order=arrival", 3, WIDE_UID, MUCH_UID, 12 * HOUR, 1, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        world_open(cases[i].order, cases[i].much);
        waits(WIDE, cases[i].head, 4, HOUR, 1);
        assert_int_equal(starts(), 0);
        waits(ASKED, cases[i].of, 1, cases[i].limit_us, cases[i].elements);
        if (starts() != cases[i].starts)
            fail_msg("case %zu: it %s", i, cases[i].starts ? "waits" : "starts");
        world_close();
    }
}

/* Nobody waits: what is idle is anybody's. */
static void what_nobody_waits_for_is_free(void **state)
{
    (void)state;
    world_open("order=ageing", 3);
    waits(ASKED, MUCH_UID, 1, 12 * HOUR, 1);
    assert_int_equal(starts(), 1);
    world_close();
}

/* Its equals are of one class with it, and stand in the order as one where nobody foresees. */
static void equals_of_others_start(void **state)
{
    (void)state;
    for (int foreseen = 0; foreseen < 2; foreseen++) {
        struct budget b = {.no_forecast = !foreseen};
        world_open("order=ageing", 3);
        waits_since(NOW - 80 * HOUR, WIDE, WIDE_UID, 4, HOUR, 1);
        assert_int_equal(starts(), 0);
        waits_since(NOW - 60 * HOUR, ASKED, MUCH_UID, 1, 12 * HOUR, 1); /* he comes first */
        waits(ASKED + 1, THIRD_UID, 1, 12 * HOUR, 1);
        cluster_set_use(cl, THIRD_UID, FACTOR_ONE);
        sched_plan(cl, NOW, &b, plan);
        assert_int_equal(plan->nstarts, 1);
        assert_int_equal(plan->start[0].job_id, ASKED + 1);
        world_close();
    }
}

/* It is told why it waits; what it left is its when the head has started. */
static void it_starts_when_the_head_has(void **state)
{
    (void)state;
    world_open("order=ageing", 3);
    waits(WIDE, WIDE_UID, 4, HOUR, 1);
    waits(ASKED, MUCH_UID, 1, 12 * HOUR, 1);
    assert_int_equal(starts(), 0);
    struct plan_wait wait;
    assert_true(plan_wait_of(plan, cl, ASKED, &wait));
    assert_int_equal(wait.reason, REASON_PRIORITY);
    assert_string_equal(wait.detail,
                        "its user holds 37 % of the cluster, so while job 1 of another user waits "
                        "it starts only if it ends before that one is to start, or asks for less "
                        "than twice its time limit");
    cluster_release(cl, 11);
    sched_plan(cl, NOW + MIN, NULL, plan);
    assert_int_equal(plan->nstarts, 2);
    world_close();
}

/* Asked by MUCH_UID, or refused, while the head waits for an hour for its hour. */
static int64_t granted(const struct job_request *req, int64_t deadline_us)
{
    waits(WIDE, WIDE_UID, 4, HOUR, 1);
    assert_int_equal(starts(), 0);
    cluster_wait(cl, &(struct waiting){.job_id = ASKED,
                                       .req = req,
                                       .uid = MUCH_UID,
                                       .elements = 1,
                                       .submit_us = NOW,
                                       .eligible_us = NOW,
                                       .deadline_us = deadline_us});
    return starts() ? plan->start[0].limit_us : 0;
}

/* A short --time-min is no way around it: it runs no longer than it could have asked for. */
static void what_is_shortened_does_not_outstay(void **state)
{
    static const struct {
        int64_t least_us, limit_us, deadline_us, granted_us;
    } cases[] = {
        {MIN, 12 * HOUR, 0, 119 * MIN},         /* less than twice the head's time */
        {2 * HOUR, 12 * HOUR, 0, 0},            /* that is too little */
        {MIN, 100 * MIN, 0, 100 * MIN},         /* as it is */
        {MIN, 12 * HOUR, 90 * MIN, 90 * MIN},   /* it ends by then */
        {MIN, 12 * HOUR, 11 * HOUR, 119 * MIN}, /* or not */
        {0, 12 * HOUR, 13 * HOUR, 0},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_request r = {.partition = "main",
                                .ntasks = 1,
                                .mem_per_node_mib = 1,
                                .time_limit_us = cases[i].limit_us,
                                .time_min_us = cases[i].least_us};
        world_open("order=ageing", 3);
        int64_t got = granted(&r, cases[i].deadline_us ? NOW + cases[i].deadline_us : 0);
        if (got != cases[i].granted_us)
            fail_msg("case %zu: %lld min", i, (long long)(got / MIN));
        world_close();
    }
}

/* Nor are two components of one job, of which one alone is long. */
static void components_are_no_way_around(void **state)
{
    (void)state;
    for (int is_long = 0; is_long < 2; is_long++) {
        world_open("order=ageing", 3);
        cluster_release(cl, 11); /* room for two */
        holds(11, OTHER_UID, 3, HOUR);
        waits(WIDE, WIDE_UID, 5, HOUR, 1);
        assert_int_equal(starts(), 0);
        for (uint64_t i = 0; i < 2; i++) {
            struct job_request r = {.partition = "main",
                                    .ntasks = 1,
                                    .mem_per_node_mib = 1,
                                    .time_min_us = MIN,
                                    .time_limit_us = i == 1 && is_long ? 12 * HOUR : HOUR};
            cluster_wait(cl, &(struct waiting){.job_id = ASKED + i,
                                               .req = &r,
                                               .uid = MUCH_UID,
                                               .elements = 1,
                                               .het_job_id = ASKED,
                                               .het_size = 2,
                                               .submit_us = NOW,
                                               .eligible_us = NOW});
        }
        assert_int_equal(starts(), is_long ? 0 : 2);
        if (is_long) {
            struct plan_wait wait;
            assert_true(plan_wait_of(plan, cl, ASKED + 1, &wait));
            assert_non_null(strstr(wait.detail, "its user holds 37 % of the cluster"));
        }
        world_close();
    }
}

/* Nor another partition of the same nodes; one that is mostly of others is another place. */
static void other_names_of_the_nodes_are_no_way_around(void **state)
{
    struct node more[] = {a_node("n2"), a_node("n3")};
    (void)state;
    for (int apart = 0; apart < 2; apart++) {
        world_open("order=ageing", 3);
        for (size_t i = 0; apart && i < ARRAY_LEN(more); i++)
            put_node(cl, &more[i]);
        struct partition p = a_part("main", "n1"), other = a_part("long", "ALL");
        put_part(cl, &p);
        put_part(cl, &other);
        waits(WIDE, WIDE_UID, 4, HOUR, 1);
        if (apart)
            runs(13, MUCH_UID, &(struct job_request){.partition = "long", .cpus_per_task = 8});
        assert_int_equal(starts(), 0);
        struct job_request r = {.partition = "long", .ntasks = 1, .time_limit_us = 12 * HOUR};
        cluster_wait(cl, &(struct waiting){.job_id = ASKED,
                                           .req = &r,
                                           .uid = MUCH_UID,
                                           .elements = 1,
                                           .submit_us = NOW,
                                           .eligible_us = NOW});
        assert_int_equal(starts(), apart);
        world_close();
    }
}

/* What starts in this very pass is held, too: of who begins with less than a quarter, once it is
 * half of the cluster. The head waits for a node's memory, of which each node has lent some. */
static void who_comes_at_once_has_no_more_than_half(void **state)
{
    (void)state;
    world_open("order=ageing", 2);
    struct node more[] = {a_node("n2"), a_node("n3"), a_node("n4"), a_node("n5")};
    struct partition p = a_part("main", "ALL");
    for (size_t i = 0; i < ARRAY_LEN(more); i++)
        put_node(cl, &more[i]);
    put_part(cl, &p);
    for (size_t i = 0; i <= ARRAY_LEN(more); i++) /* one on n1 */
        runs(13 + i, OTHER_UID,
             &(struct job_request){
                 .cpus_per_task = 1, .mem_per_node_mib = 7900, .time_limit_us = HOUR});
    cluster_wait(cl, &(struct waiting){.job_id = WIDE,
                                       .req = &(struct job_request){.partition = "main",
                                                                    .ntasks = 1,
                                                                    .mem_per_node_mib = 8000,
                                                                    .time_limit_us = HOUR},
                                       .uid = WIDE_UID,
                                       .elements = 1,
                                       .submit_us = NOW,
                                       .eligible_us = NOW});
    waits(ASKED, MUCH_UID, 1, 12 * HOUR, 30);
    assert_int_equal(starts(), 19); /* with 20 of 40 CPUs he may begin one more; there are 21 */
    world_close();
}

/* Who has the memory of a node has it. */
static void memory_is_held(void **state)
{
    (void)state;
    for (int much = 0; much < 2; much++) {
        world_open("order=ageing", 1);
        cluster_release(cl, 12);
        runs(13, MUCH_UID, &(struct job_request){.mem_per_node_mib = much ? 2100 : 1900});
        waits(WIDE, WIDE_UID, 4, HOUR, 1);
        waits(ASKED, MUCH_UID, 1, 12 * HOUR, 1);
        assert_int_equal(starts(), !much);
        world_close();
    }
}

static int64_t foreseen(uint64_t id)
{
    struct plan_wait wait;
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 0);
    assert_true(plan_wait_of(plan, cl, id, &wait));
    return wait.planned_us;
}

/* The forecast knows who yields, and when he has that little that he need not. */
static void it_is_foreseen(void **state)
{
    (void)state;
    for (int gives_back = 0; gives_back < 2; gives_back++) {
        world_open("order=ageing", 3);
        cluster_release(cl, 10);
        holds(12, OTHER_UID, 1, 30 * MIN);
        holds(13, MUCH_UID, 1, 12 * HOUR);
        holds(14, MUCH_UID, 2, gives_back ? 30 * MIN : 12 * HOUR);
        waits(WIDE, WIDE_UID, gives_back ? 5 : 4, HOUR, 1);
        waits(ASKED, MUCH_UID, 1, 12 * HOUR, 1);
        assert_int_equal(foreseen(WIDE), NOW + HOUR);
        assert_int_equal(foreseen(ASKED), NOW + (gives_back ? 30 * MIN : HOUR));
        world_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_has_much_leaves_the_rest),
                                       cmocka_unit_test(what_nobody_waits_for_is_free),
                                       cmocka_unit_test(equals_of_others_start),
                                       cmocka_unit_test(it_starts_when_the_head_has),
                                       cmocka_unit_test(what_is_shortened_does_not_outstay),
                                       cmocka_unit_test(components_are_no_way_around),
                                       cmocka_unit_test(other_names_of_the_nodes_are_no_way_around),
                                       cmocka_unit_test(who_comes_at_once_has_no_more_than_half),
                                       cmocka_unit_test(memory_is_held),
                                       cmocka_unit_test(it_is_foreseen)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
