/* What a heterogeneous job was promised (promises=all) stands, whatever happens beside it, also when
 * the controller is another; and it ends with what the job loses. */
#include "core_help.h"

#define HOUR USEC_PER_HOUR

static const char conf[] = "ClusterName=test\nOperators=olga\nKillWait=30\n"
                           "SchedulerParameters=promises=all\n"
                           "NodeName=n[1-4] CPUs=8 RealMemory=8000\n"
                           "PartitionName=main Nodes=n[1-4] Default=YES State=UP\n"
                           "PartitionName=more Nodes=n[1-4] State=UP\n";

/* All nodes are busy for two hours. Then a job of two components follows, in two partitions, an
 * hour; a plain one, half an hour; another pair, an hour; and, later, one of minutes, which would
 * go before all of them if nothing were promised. */
static struct {
    uint64_t runs, pair, plain, last, brief;
    int64_t from_us;
} q;

static struct job_spec sized(int nodes, int64_t limit_us, const char *partition)
{
    struct job_spec s = a_job("sized");
    s.req.ntasks = 8 * nodes;
    s.req.min_nodes = s.req.max_nodes = nodes;
    s.req.time_limit_us = limit_us;
    s.req.partition = partition;
    return s;
}

static uint64_t two(int nodes, int64_t limit_us, const char *a, const char *b)
{
    struct job_spec both[] = {sized(nodes, limit_us, a), sized(4 - nodes, limit_us, b)};
    return submit_all(both, 2);
}

/* Minutes from the beginning at which it is said to start; -1 = never. */
static int64_t planned(uint64_t id)
{
    const struct msg_explained *e = why(ids_of(id));
    for (size_t i = 0; i < e->jobs.n; i++) {
        const struct why *one = &((const struct why *)e->jobs.v)[i];
        if (one->job_id == id && one->planned_us)
            return (one->planned_us - q.from_us) / MIN;
    }
    return -1;
}

static int open_it(void **unused)
{
    (void)unused;
    world_open(conf, 4);
    q.from_us = w.now;
    q.runs = submit(sized(4, 2 * HOUR, "main"));
    q.pair = two(1, HOUR, "main", "more");
    q.plain = submit(sized(4, 30 * MIN, "main"));
    q.last = two(2, HOUR, "main", "main");
    pass(MIN);
    q.brief = submit(sized(4, 5 * MIN, "main"));
    pass(MIN);
    assert_int_equal(planned(q.pair), 120);
    return 0;
}

/* ---- what happens ---- */

static void nothing(void)
{
}

static void restarted(void)
{
    restart(conf);
    for (int n = 1; n <= 4; n++)
        hello_holding(n, &(struct held){.job_id = q.runs, .attempt = 1, .step_id = STEP_BATCH}, 1);
}

static void held_and_released(void)
{
    assert_int_equal(control(ids_of(q.pair + 1), ACTION_HOLD), REFUSE_NONE);
    pass(MIN);
    assert_int_equal(control(ids_of(q.pair + 1), ACTION_RELEASE), REFUSE_NONE);
}

/* Between two passes. */
static void held_for_a_moment(void)
{
    assert_int_equal(control(ids_of(q.pair), ACTION_HOLD), REFUSE_NONE);
    assert_int_equal(control(ids_of(q.pair), ACTION_RELEASE), REFUSE_NONE);
}

static void one_component_changed(void)
{
    struct msg_update_job m = {.ids = ids_of(q.pair + 1), .time_limit_add_us = HOUR};
    am_olga();
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    am_alice();
}

static void depends_on_another(void)
{
    struct job_spec to = {.dependency =
                              arena_printf(w.a, "afterok:%llu", (unsigned long long)q.last)};
    struct msg_update_job m = {.ids = ids_of(q.pair), .fields = "dependency", .values = {&to, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
}

static void cancelled(void)
{
    assert_int_equal(cancel(ids_of(q.pair)), REFUSE_NONE);
}

static void brief_to_the_top(void)
{
    assert_int_equal(control(ids_of(q.brief), ACTION_TOP), REFUSE_NONE);
}

/* As its first component is, so that it could have the place of that alone. */
static void one_like_it_to_the_top(void)
{
    uint64_t like = submit(sized(1, 30 * MIN, "main"));
    assert_int_equal(control(ids_of(like), ACTION_TOP), REFUSE_NONE);
}

static void component_to_the_top(void)
{
    assert_int_equal(control(ids_of(q.last + 1), ACTION_TOP), REFUSE_NONE);
}

static void array_beside(void)
{
    struct job_spec s = sized(1, 10 * MIN, "main");
    s.array = "1-5";
    assert_int_not_equal(submit(s), 0);
}

static void work_ends_early(void)
{
    script_ends(q.runs, 0);
}

static void more_time_is_asked(void)
{
    struct msg_extend m = {.id = ids_of(q.runs), .add_us = HOUR, .all = true};
    say(1, MSG_EXTEND, &m);
    assert_int_not_equal(refusal(), REFUSE_NONE);
}

static void a_node_goes_and_comes(void)
{
    struct msg_update_node m = {.names = "n4", .state = "DRAIN", .reason = "cable"};
    am_root();
    say(1, MSG_UPDATE_NODE, &m);
    pass(MIN);
    m.state = "RESUME";
    say(1, MSG_UPDATE_NODE, &m);
    am_alice();
}

#define LOST INT64_MAX

static const struct {
    const char *name;
    void (*happens)(void);
    int64_t pair, plain, last; /* minutes, at the latest */
    /* What the nodes are said to have then has ended */
    bool not_restarted;
} rows[] = {
    {"nothing", nothing, 120, 180, 210, false},
    {"restart", restarted, 120, 180, 210, false},
    {"hold, release", held_and_released, LOST, 180, 210, false},
    {"hold, release at once", held_for_a_moment, LOST, 180, 210, false},
    {"a component asks for more", one_component_changed, LOST, 180, 210, false},
    {"it depends on another", depends_on_another, LOST, 180, 210, false},
    {"cancel", cancelled, LOST, 180, 210, false},
    {"the brief one to the top", brief_to_the_top, 120, 180, 210, false},
    {"one like a component to the top", one_like_it_to_the_top, 120, 180, 210, false},
    {"a component to the top", component_to_the_top, 120, 180, 210, false},
    {"an array", array_beside, 120, 180, 210, false},
    {"more time", more_time_is_asked, 120, 180, 210, false},
    {"a node goes and comes", a_node_goes_and_comes, 120, 180, 210, false},
    {"work ends early", work_ends_early, 3, 63, 93, true},
};

static void check(const char *row, const char *whose, uint64_t id, int64_t latest)
{
    int64_t at = state(id) == JOB_PENDING ? planned(id) : 0;
    if (latest != LOST && (at < 0 || at > latest))
        fail_msg("%s: %s is planned for minute %lld, at the latest for %lld", row, whose,
                 (long long)at, (long long)latest);
}

static void what_was_promised_stands(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (int restarts = 0; restarts < 2 - rows[i].not_restarted; restarts++) {
            open_it(NULL);
            rows[i].happens();
            pass(MIN);
            if (restarts)
                restarted();
            pass(MIN);
            check(rows[i].name, "the pair", q.pair, rows[i].pair);
            check(rows[i].name, "its other component", q.pair + 1, rows[i].pair);
            check(rows[i].name, "the plain one", q.plain, rows[i].plain);
            check(rows[i].name, "the last", q.last, rows[i].last);
            check(rows[i].name, "the last's other", q.last + 1, rows[i].last);
            teardown(NULL);
        }
}

/* ---- the head, where nothing else is promised ---- */

static void back(uint64_t runs)
{
    restart(arena_printf(w.a, "%s", strstr(conf, "NodeName")));
    for (int n = 1; n <= 4; n++)
        hello_holding(n, &(struct held){.job_id = runs, .attempt = 1, .step_id = STEP_BATCH}, 1);
}

/* Short work that fits goes before it and moves its start, until the one that it was first promised
 * is past: then it stays first (core_head has the same of a job of one piece). */
static void the_head_that_missed_its_first_promise_stays_first(void **unused)
{
    (void)unused;
    for (int restarts = 0; restarts < 2; restarts++) {
        world_open(strstr(conf, "NodeName"), 4);
        q.from_us = w.now;
        uint64_t runs = submit(sized(2, 30 * MIN, "main")), head = two(2, 4 * HOUR, "main", "main");
        pass(SEC);
        assert_int_equal(planned(head), 30);
        pass(28 * MIN);
        uint64_t late = submit(sized(2, HOUR, "main"));
        assert_int_equal(state(late), JOB_RUNNING);
        assert_true(planned(head) > 30);
        pass(3 * MIN);
        script_ends(runs, 0);
        if (restarts)
            back(late);
        uint64_t longer = submit(sized(1, 2 * HOUR, "main")),
                 brief = submit(sized(1, 10 * MIN, "main"));
        assert_int_equal(state(longer), JOB_PENDING);
        assert_int_equal(state(brief), JOB_RUNNING);
        script_ends(brief, 0);
        script_ends(late, 0);
        assert_int_equal(state(head), JOB_RUNNING);
        assert_int_equal(state(head + 1), JOB_RUNNING);
        teardown(NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_promised_stands),
        cmocka_unit_test(the_head_that_missed_its_first_promise_stays_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
