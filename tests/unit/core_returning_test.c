/* After a restart of the controller nodes come back one by one. Until they did, or had time for it,
 * who is back already is given to nobody, and promised to nobody for good, that one who stood first
 * might need beside those who are not. */
#include "core_help.h"

#define HOUR USEC_PER_HOUR

#define NODES                                                                                      \
    "ClusterName=test\nOperators=olga\nKillWait=30\n"                                              \
    "NodeName=n[1-4] CPUs=8 RealMemory=8000\n"                                                     \
    "PartitionName=main Nodes=n[1-4] Default=YES State=UP\n"                                       \
    "PartitionName=more Nodes=n[3-4] State=UP\n"                                                   \
    "PartitionName=few Nodes=n[1-2] State=UP\n"

#define ALL "SchedulerParameters=promises=all\n"
#define MIXED                                                                                      \
    "ClusterName=test\nNodeName=n[1-3] CPUs=8 RealMemory=8000\n"                                   \
    "NodeName=n4 CPUs=8 RealMemory=8000 Feature=big\n"                                             \
    "PartitionName=main Nodes=n[1-4] Default=YES State=UP\n"

static const char *const confs[] = {NODES, NODES ALL}, *const mixed[] = {MIXED, MIXED ALL};

static struct job_spec spec_of(int n, int64_t limit_us, const char *partition)
{
    struct job_spec s = a_job("sized");
    s.req.ntasks = 8 * n;
    s.req.min_nodes = s.req.max_nodes = n;
    s.req.time_limit_us = limit_us;
    s.req.partition = partition;
    return s;
}

static uint64_t sized(int n, int64_t limit_us, const char *partition)
{
    return submit(spec_of(n, limit_us, partition));
}

static uint64_t on_node(const char *name, int64_t limit_us)
{
    struct job_spec s = spec_of(1, limit_us, "main");
    s.req.nodelist = name;
    return submit(s);
}

/* With what runs there; 0 = nothing does. */
static void back(int n, uint64_t runs)
{
    hello_holding(n, &(struct held){.job_id = runs, .attempt = 1, .step_id = STEP_BATCH},
                  runs != 0);
}

/* Minutes from then on after which it is said to start. */
static int64_t planned(uint64_t id, int64_t from_us)
{
    return (why_one(id)->planned_us - from_us) / MIN;
}

/* ---- idle nodes that one waits for ---- */

static uint64_t runs, wide, day;

/* n4 has work for half an hour; one of all nodes waits for that, and one of a day behind it. */
static void open_drained(const char *conf)
{
    world_open(conf, 4);
    runs = on_node("n4", 30 * MIN);
    wide = sized(4, 4 * HOUR, "main");
    day = sized(1, 24 * HOUR, "main");
    pass(MIN);
    assert_int_equal(state(runs), JOB_RUNNING);
    assert_int_equal(state(day), JOB_PENDING);
}

static void who_is_back_is_kept_for_who_stood_first(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < ARRAY_LEN(confs); k++)
        for (int first = 0; first < 4; first++) {
            open_drained(confs[k]);
            restart(confs[k]);
            for (int i = 0; i < 4; i++) {
                int n = (first + i) % 4 + 1;
                back(n, n == 4 ? runs : 0);
                assert_int_equal(state(day), JOB_PENDING);
            }
            pass(MIN);
            assert_int_equal(state(day), JOB_PENDING);
            script_ends(runs, 0);
            assert_int_equal(state(wide), JOB_RUNNING);
            teardown(NULL);
        }
}

/* The same where the daemon of a node is another, as all are when programs are changed. */
static void a_node_that_goes_and_comes_undoes_nothing(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < ARRAY_LEN(confs); k++)
        for (int n = 1; n <= 4; n++) {
            open_drained(confs[k]);
            pass(MIN);
            gone(n);
            pass(2 * SEC);
            assert_int_equal(state(day), JOB_PENDING);
            back(n, n == 4 ? runs : 0);
            pass(MIN);
            assert_int_equal(state(day), JOB_PENDING);
            script_ends(runs, 0);
            assert_int_equal(state(wide), JOB_RUNNING);
            teardown(NULL);
        }
}

/* That for a moment no node was there is not what they waited for all the time before. */
static void what_they_waited_for_is_told_as_before(void **unused)
{
    (void)unused;
    open_drained(confs[0]);
    pass(10 * MIN);
    assert_string_equal(why_one(wide)->waited_for, "Resources=660");
    assert_string_equal(why_one(day)->waited_for, "Priority=660");
    restart(confs[0]);
    pass(2 * SEC);
    assert_null(strstr(why_one(wide)->waited_for, "ReqNode"));
    for (int n = 1; n <= 4; n++)
        back(n, n == 4 ? runs : 0);
    pass(8 * SEC);
    assert_string_equal(why_one(wide)->waited_for, "Resources=670");
    assert_string_equal(why_one(day)->waited_for, "Priority=670");
    script_ends(runs, 0);
    assert_string_equal(job(wide)->waited_for, "Resources=670");
    teardown(NULL);
}

/* One that is gone for good is waited for half a minute. */
static void but_not_for_long(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < ARRAY_LEN(confs); k++) {
        open_drained(confs[k]);
        gone(2);
        pass(20 * SEC);
        assert_int_equal(state(day), JOB_PENDING);
        pass(11 * SEC);
        assert_int_equal(state(day), JOB_RUNNING);
        teardown(NULL);
    }
}

/* One that goes and comes all the time holds others up for half a minute, and then for a tenth of
 * the time; whose daemon was another once, of a cluster that is well, has that half minute. */
static void one_that_flaps_is_not_waited_for_each_time(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < ARRAY_LEN(confs); k++) {
        open_drained(confs[k]);
        for (int i = 0; i < 2; i++) {
            gone(2);
            pass(13 * SEC);
            assert_int_equal(state(day), JOB_PENDING);
            back(2, 0);
            pass(10 * SEC);
            assert_int_equal(state(day), JOB_PENDING);
        }
        gone(2);
        pass(2 * SEC);
        assert_int_equal(state(day), JOB_PENDING);
        pass(5 * SEC); /* of what is left, and of a second or two that came back */
        assert_int_equal(state(day), JOB_RUNNING);
        teardown(NULL);
    }
}

/* They are waited for half a minute, or until they are DOWN; a node that somebody drained is not. */
static void not_for_long(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < ARRAY_LEN(confs); k++) {
        open_drained(confs[k]);
        restart(confs[k]);
        back(1, 0);
        back(2, 0);
        pass(20 * SEC);
        assert_int_equal(state(day), JOB_PENDING);
        pass(11 * SEC);
        assert_int_equal(state(day), JOB_RUNNING);
        teardown(NULL);
    }
}

/* Nor one that somebody drains meanwhile. */
static void nor_for_one_that_is_drained(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < ARRAY_LEN(confs); k++) {
        open_drained(confs[k]);
        gone(2);
        pass(2 * SEC);
        assert_int_equal(state(day), JOB_PENDING);
        struct msg_update_node m = {.names = "n2", .state = "drain", .reason = "cable"};
        am_olga();
        say(1, MSG_UPDATE_NODE, &m);
        assert_int_equal(refusal(), REFUSE_NONE);
        wake();
        assert_int_equal(state(day), JOB_RUNNING);
        teardown(NULL);
    }
}

/* Nor anew when anything else is said of one that is gone. */
static void nor_anew_for_one_that_is_gone_still(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < ARRAY_LEN(confs); k++) {
        open_drained(confs[k]);
        gone(2);
        pass(31 * SEC);
        script_ends(day, 0);
        pass(20 * SEC);
        configure(confs[k]);
        assert_int_equal(node("n2")->state, NODE_UP); /* not DOWN yet */
        assert_int_equal(state(sized(1, 24 * HOUR, "main")), JOB_RUNNING);
        teardown(NULL);
    }
}

/* Who has no node in common with the one that waits begins at once. */
static void others_begin(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < ARRAY_LEN(confs); k++) {
        world_open(confs[k], 4);
        runs = on_node("n4", 30 * MIN);
        wide = sized(2, 4 * HOUR, "more");
        uint64_t busy = sized(2, 10 * MIN, "few");
        day = sized(1, 24 * HOUR, "few");
        pass(MIN);
        assert_int_equal(state(busy), JOB_RUNNING);
        restart(confs[k]);
        back(1, busy);
        script_ends(busy, 0);
        assert_int_equal(state(wide), JOB_PENDING);
        back(2, 0);
        assert_int_equal(state(day), JOB_RUNNING);
        teardown(NULL);
    }
}

/* The same behind one whose nodes are others, where all are one queue. */
static void others_begin_behind_it(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < ARRAY_LEN(confs); k++) {
        struct job_spec behind = spec_of(1, 24 * HOUR, "few");
        world_open(confs[k], 4);
        runs = on_node("n4", 30 * MIN);
        wide = sized(2, 4 * HOUR, "more");
        pass(MIN);
        gone(3);
        assert_int_equal(state(submit(behind)), JOB_RUNNING);
        behind.req.partition = "main";
        assert_int_equal(state(submit(behind)), JOB_PENDING);
        teardown(NULL);
    }
}

/* One that stood first and could not have the node that is gone does not wait for it: n4 alone is
 * big, and it is taken. */
static void nor_does_anybody_wait_for_a_node_that_it_cannot_have(void **unused)
{
    (void)unused;
    static const struct {
        int nodes;
        const char *exclude, *named, *constraint;
        bool waits;
    } rows[] = {
        {3, NULL, NULL, NULL, true},      {3, "n2", NULL, NULL, false},
        {1, NULL, "n4", NULL, false},     {2, NULL, "n4", NULL, true},
        {2, NULL, "n[3-4]", NULL, false}, {1, NULL, NULL, "big", false},
    };
    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        struct job_spec first = spec_of(rows[i / 2].nodes, 4 * HOUR, "main");
        struct job_spec brief = spec_of(1, 10 * MIN, "main");
        brief.nice = 100000;
        first.req.exclude = rows[i / 2].exclude;
        first.req.nodelist = rows[i / 2].named;
        first.req.constraint = rows[i / 2].constraint;
        world_open(mixed[i % 2], 4);
        runs = on_node("n4", 30 * MIN);
        uint64_t other = on_node("n1", 30 * MIN);
        uint64_t waits = submit(first);
        pass(MIN);
        assert_int_equal(state(waits), JOB_PENDING);
        gone(2);
        if (state(submit(brief)) != (rows[i / 2].waits ? JOB_PENDING : JOB_RUNNING))
            fail_msg("row %zu", i / 2);
        assert_int_equal(state(other), JOB_RUNNING);
        teardown(NULL);
    }
}

/* Its components do not keep each other out. */
static void components_that_have_nodes_begin(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < ARRAY_LEN(confs); k++) {
        uint64_t busy[4];
        world_open(confs[k], 4);
        for (int n = 1; n <= 4; n++)
            busy[n - 1] = on_node(arena_printf(w.a, "n%d", n), HOUR);
        struct job_spec both[] = {spec_of(1, HOUR, "main"), spec_of(1, HOUR, "main")};
        uint64_t pair = submit_all(both, 2);
        pass(MIN);
        gone(2);
        script_ends(busy[2], 0);
        assert_int_equal(state(pair), JOB_PENDING);
        script_ends(busy[3], 0);
        assert_int_equal(state(pair), JOB_RUNNING);
        assert_int_equal(state(pair + 1), JOB_RUNNING);
        teardown(NULL);
    }
}

/* A component does not begin where it would be kept out because another of its job is not. */
static void nor_do_components_get_by(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < ARRAY_LEN(confs); k++)
        for (int swapped = 0; swapped < 2; swapped++) {
            struct job_spec both[] = {spec_of(1, 24 * HOUR, swapped ? "few" : "more"),
                                      spec_of(1, 24 * HOUR, swapped ? "more" : "few")};
            world_open(confs[k], 4);
            runs = on_node("n1", 30 * MIN);
            wide = sized(2, 4 * HOUR, "few");
            uint64_t pair = submit_all(both, 2);
            pass(MIN);
            assert_int_equal(state(pair), JOB_PENDING);
            gone(1);
            pass(2 * SEC);
            assert_int_equal(state(pair), JOB_PENDING);
            back(1, runs);
            pass(SEC);
            assert_int_equal(state(pair), JOB_PENDING);
            script_ends(runs, 0);
            assert_int_equal(state(wide), JOB_RUNNING);
            teardown(NULL);
        }
}

/* Nor does who begins at once keep others out. */
static void who_begins_does_not_wait_for_it(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < ARRAY_LEN(confs); k++) {
        world_open(confs[k], 4);
        uint64_t two = sized(2, HOUR, "few"), busy[] = {on_node("n3", HOUR), on_node("n4", HOUR)};
        uint64_t first = sized(1, 4 * HOUR, "main");
        day = sized(1, 24 * HOUR, "main");
        pass(MIN);
        gone(4);
        script_ends(two, 0);
        assert_int_equal(state(first), JOB_RUNNING);
        assert_int_equal(state(day), JOB_RUNNING);
        assert_int_equal(state(busy[0]), JOB_RUNNING);
        teardown(NULL);
    }
}

/* Nor longer because the clock was set back meanwhile. */
static void not_for_longer_by_a_clock_that_is_set_back(void **unused)
{
    (void)unused;
    for (size_t k = 0; k < ARRAY_LEN(confs); k++) {
        open_drained(confs[k]);
        gone(2);
        pass(SEC);
        w.now -= HOUR;
        sized(1, HOUR, "few"); /* the planner looks */
        pass(31 * SEC);
        assert_int_equal(state(day), JOB_RUNNING);
        teardown(NULL);
    }
}

/* ---- promises ---- */

/* All nodes have work for two hours; wide work was promised a start then, and narrow behind it.
 * It could have the first node that is back before. */
static void promises_are_made_where_all_are_back(void **unused)
{
    (void)unused;
    for (int first = 0; first < 4; first++)
        for (int several = 0; several < 2; several++) {
            world_open(confs[1], 4);
            int64_t from_us = w.now;
            runs = sized(4, 2 * HOUR, "main");
            wide = sized(several ? 2 : 4, HOUR, several ? "more,main" : "main");
            uint64_t narrow = sized(1, HOUR, "main,few"), after = sized(4, HOUR, "main");
            pass(MIN);
            int64_t was[] = {planned(wide, from_us), planned(narrow, from_us),
                             planned(after, from_us)};
            assert_int_equal(was[0], 120);
            restart(confs[1]);
            for (int i = 0; i < 4; i++)
                back((first + i) % 4 + 1, runs);
            pass(SEC);
            assert_int_equal(planned(wide, from_us), was[0]);
            assert_true(planned(narrow, from_us) <= was[1]);
            assert_true(planned(after, from_us) <= was[2]);
            teardown(NULL);
        }
}

/* Two are promised the same start, each on nodes of its own, of which the narrow one could have
 * the other's: their places are known after a node was gone for a moment, not their starts only. */
static void places_stand_while_a_node_is_gone(void **unused)
{
    (void)unused;
    for (int n = 1; n <= 4; n++) {
        world_open(confs[1], 4);
        int64_t from_us = w.now;
        runs = sized(4, 2 * HOUR, "main");
        wide = sized(4, HOUR, "main");
        uint64_t two = sized(2, HOUR, "few"), narrow = sized(1, HOUR, "main,few");
        pass(MIN);
        int64_t was[] = {planned(wide, from_us), planned(two, from_us), planned(narrow, from_us)};
        assert_int_equal(was[1], 180);
        gone(n);
        pass(2 * SEC);
        if (n > 2) /* a start that it could have is said meanwhile, too */
            assert_int_equal(planned(two, from_us), was[1]);
        back(n, runs);
        pass(SEC);
        assert_int_equal(planned(wide, from_us), was[0]);
        assert_true(planned(two, from_us) <= was[1]);
        assert_true(planned(narrow, from_us) <= was[2]);
        teardown(NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_back_is_kept_for_who_stood_first),
        cmocka_unit_test(not_for_long),
        cmocka_unit_test(a_node_that_goes_and_comes_undoes_nothing),
        cmocka_unit_test(but_not_for_long),
        cmocka_unit_test(what_they_waited_for_is_told_as_before),
        cmocka_unit_test(one_that_flaps_is_not_waited_for_each_time),
        cmocka_unit_test(nor_for_one_that_is_drained),
        cmocka_unit_test(nor_anew_for_one_that_is_gone_still),
        cmocka_unit_test(others_begin),
        cmocka_unit_test(others_begin_behind_it),
        cmocka_unit_test(nor_does_anybody_wait_for_a_node_that_it_cannot_have),
        cmocka_unit_test(components_that_have_nodes_begin),
        cmocka_unit_test(nor_do_components_get_by),
        cmocka_unit_test(who_begins_does_not_wait_for_it),
        cmocka_unit_test(not_for_longer_by_a_clock_that_is_set_back),
        cmocka_unit_test(promises_are_made_where_all_are_back),
        cmocka_unit_test(places_stand_while_a_node_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
