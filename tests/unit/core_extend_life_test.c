/* `remuda extend` in each state of a job, behind its limit, of several jobs at once, and with
 * numbers and names that nobody would give. */
#include "core_extend_help.h"

static const char roomy[] =
    "ClusterName=test\nOperators=olga\nMinJobAge=300\nKillWait=30\nLicenses=lab:4\n"
    "NodeName=n[1-4] CPUs=8 RealMemory=8000\n"
    "PartitionName=main Nodes=n[1-4] Default=YES MaxTime=12:00:00 State=UP\n"
    "PartitionName=day Nodes=n[1-4] MaxTime=UNLIMITED State=UP\n";

static int open_roomy(void **unused)
{
    world_open(roomy, 4);
    return 0;
}

static int64_t planned(uint64_t id)
{
    return why_one(id)->planned_us;
}

/* ---- states --------------------------------------------------------------------------------- */

static void waits(uint64_t id)
{
    (void)id;
}

static void hold_up(uint64_t id)
{
    assert_int_equal(control(ids_of(id), ACTION_HOLD), REFUSE_NONE);
}

static void suspend(uint64_t id)
{
    am_root();
    assert_int_equal(control(ids_of(id), ACTION_SUSPEND), REFUSE_NONE);
    am_alice();
}

static void end(uint64_t id)
{
    assert_int_equal(cancel(ids_of(id)), REFUSE_NONE);
}

static void be_over(uint64_t id)
{
    script_ends(id, 0);
}

static void requeue(uint64_t id)
{
    assert_int_equal(control(ids_of(id), ACTION_REQUEUE), REFUSE_NONE);
}

static void come_to_its_last_second(uint64_t id)
{
    (void)id;
    pass(HOUR - SEC);
}

static void pass_its_limit(uint64_t id)
{
    (void)id;
    pass(HOUR + 2 * SEC);
}

static const struct {
    void (*becomes)(uint64_t id);
    enum refusal refusal;
    const char *says;
} states[] = {
    {waits, REFUSE_NONE, "2 h granted"},
    {hold_up, REFUSE_NONE, "2 h granted"}, /* it counts when it comes back to the queue */
    {suspend, REFUSE_NOT_RUNNING, "it is suspended"},
    {end, REFUSE_ALREADY_DONE, "it is ending"},
    {be_over, REFUSE_ALREADY_DONE, "it is over"},
    {requeue, REFUSE_ALREADY_DONE, "it is ending"},
    {come_to_its_last_second, REFUSE_NONE, "2 h granted"},
    {pass_its_limit, REFUSE_ALREADY_DONE, "it is ending"},
};

static void each_state(void **unused)
{
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        world_open(roomy, 4);
        struct job_spec s = sized(1, HOUR);
        s.requeue = YES;
        uint64_t id = submit(s);
        states[i].becomes(id);
        if (extend(id, 2 * HOUR) != states[i].refusal)
            fail_msg("state %zu: refusal %d", i, refusal());
        says(states[i].says);
        assert_int_equal(job(id)->limit_us, states[i].refusal ? HOUR : 3 * HOUR);
        world_close();
    }
}

static void who_was_told_to_give_way_gets_nothing(void **unused)
{
    world_open("ClusterName=test\nOperators=olga\nMinJobAge=300\nKillWait=30\n"
               "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\n"
               "NodeName=n[1-4] CPUs=8 RealMemory=8000\n"
               "PartitionName=main Nodes=n[1-4] Default=YES PriorityTier=1 GraceTime=300 State=UP\n"
               "PartitionName=first Nodes=n[1-4] PriorityTier=10 State=UP\n",
               4);
    uint64_t id = submit(sized(4, HOUR));
    struct job_spec s = sized(4, HOUR);
    s.req.partition = "first";
    assert_int_not_equal(submit(s), 0);
    pass(5 * SEC);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(extend(id, HOUR), REFUSE_ALREADY_DONE);
    says("it was told to give way to another job");
    assert_int_equal(job(id)->limit_us, HOUR);
    world_close();
}

/* Its limit has passed, and it may run on for a while: whoever waits is to start at any moment, and
 * every minute more is one that he waits. */
static void behind_its_limit_each_minute_counts(void **unused)
{
    configure(arena_printf(w.a, "OverTimeLimit=60\n%s", roomy));
    uint64_t id = submit(sized(1, HOUR)), other = submit(sized(3, 10 * HOUR));
    uint64_t next = submit(sized(1, HOUR));
    pass(HOUR + 20 * MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(extend(id, 10 * MIN), REFUSE_TIME_LIMIT);
    says("nothing granted; 10 min would delay job");
    assert_int_equal(cancel(ids_of(next)), REFUSE_NONE);
    assert_int_equal(extend(id, 30 * MIN), REFUSE_NONE);
    assert_int_equal(job(id)->limit_us, 90 * MIN);
    pass(HOUR);
    assert_int_equal(state(id), JOB_RUNNING);
    pass(15 * MIN);
    assert_int_not_equal(state(id), JOB_RUNNING);
    assert_int_equal(state(other), JOB_RUNNING);
}

/* The controller is killed before it wrote anything down, and so before it answered. */
static void what_was_not_written_was_not_granted(void **unused)
{
    uint64_t id = submit(sized(1, HOUR));
    struct msg_extend m = {.id = ids_of(id), .add_us = HOUR};
    struct message asked = {.kind = MSG_EXTEND, .seq = ++w.seq, .body = &m};
    effects_reset(&w.fx);
    step((struct event){.kind = EV_MESSAGE, .conn = 1, .peer = &w.peer, .msg = &asked});
    assert_int_equal(job(id)->limit_us, 2 * HOUR);
    restart(roomy);
    for (int n = 1; n <= 4; n++)
        hello_holding(n, &(struct held){.job_id = id, .attempt = 1, .step_id = STEP_BATCH},
                      n == job(id)->batch_host[1] - '0');
    assert_int_equal(job(id)->limit_us, HOUR);
    assert_null(job(id)->extensions);
    assert_int_equal(extend(id, HOUR), REFUSE_NONE);
    assert_int_equal(job(id)->limit_us, 2 * HOUR);
}

/* ---- several -------------------------------------------------------------------------------- */

static struct job_spec quarter(int32_t cpus, const char *licences)
{
    struct job_spec s = sized(1, HOUR);
    s.req.ntasks = cpus;
    s.req.licenses = licences;
    s.req.nodelist = "n1";
    return s;
}

/* Each of two jobs leaves enough of what a reservation keeps, and both together too little. */
static void a_reservation_is_kept_from_all_together(void **unused)
{
    static const struct {
        const char *licences, *cores;
        int32_t cpus;
        enum refusal second;
    } rows[] = {{NULL, "4", 3, REFUSE_TIME_LIMIT},
                {NULL, "2", 3, REFUSE_NONE},
                {"lab:2", NULL, 1, REFUSE_TIME_LIMIT},
                {"lab:1", NULL, 1, REFUSE_NONE}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        world_open(roomy, 4);
        uint64_t a = submit(quarter(rows[i].cpus, rows[i].licences));
        uint64_t b = submit(quarter(rows[i].cpus, rows[i].licences));
        struct reservation r = {.users = "bob",
                                .nodes = "n1",
                                .core_counts = rows[i].cores,
                                .licenses = "lab:2",
                                .start_us = w.now + HOUR,
                                .duration_us = HOUR,
                                .flags = rows[i].licences ? RESV_ANY_NODES : 0};
        reserve("theirs", r,
                rows[i].licences ? "users,licenses,flags,start_us,duration_us"
                                 : "users,nodes,core_counts,start_us,duration_us");
        assert_int_equal(state(b), JOB_RUNNING);
        assert_int_equal(extend(a, HOUR), REFUSE_NONE);
        if (extend(b, HOUR) != rows[i].second)
            fail_msg("row %zu: refusal %d", i, refusal());
        if (rows[i].second)
            says("reservation theirs begins then");
        world_close();
    }
}

/* What others waits for is free when either component ends: each alone may go on, not both. */
static void components_are_raised_together(void **unused)
{
    configure(arena_printf(w.a, "OwnerExtends=update\n%s", roomy));
    assert_int_not_equal(submit(sized(2, 10 * HOUR)), 0);
    struct job_spec s[2] = {sized(1, HOUR), sized(1, HOUR)};
    uint64_t id = submit_all(s, 2), next = submit(sized(1, HOUR));
    int64_t was = planned(next);
    struct job_spec to[2] = {sized(1, 3 * HOUR), sized(1, 3 * HOUR)};
    struct msg_update_job m = {
        .ids = ids_of(id), .fields = "time_limit_us;time_limit_us", .values = {to, 2}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_TIME_LIMIT);
    says("would delay job");
    assert_int_equal(job(id)->limit_us, HOUR);
    to[1].req.time_limit_us = HOUR;
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(job(id)->limit_us, 3 * HOUR);
    assert_int_equal(job(id)->extended_us, 2 * HOUR);
    assert_int_equal(job(id + 1)->limit_us, HOUR);
    assert_int_equal(planned(next), was);
    to[0].req.time_limit_us = 4 * HOUR;
    to[1].req.time_limit_us = 90 * MIN;
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_TIME_LIMIT);
    assert_int_equal(cancel(ids_of(next)), REFUSE_NONE);
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
    assert_int_equal(job(id)->limit_us, 4 * HOUR);
    assert_int_equal(job(id + 1)->limit_us, 90 * MIN);
}

/* Elements one after the other: the second is asked about when the first has its time. */
static void elements_are_raised_one_by_one(void **unused)
{
    configure(arena_printf(w.a, "OwnerExtends=update\n%s", roomy));
    assert_int_not_equal(submit(sized(2, 10 * HOUR)), 0);
    struct job_spec s = sized(1, HOUR);
    s.array = "0-1";
    uint64_t id = submit(s), next = submit(sized(1, HOUR));
    int64_t was = planned(next);
    limit_add(ids_of(id), HOUR);
    int64_t first = job_named(arena_printf(w.a, "%llu_0", (unsigned long long)id))->limit_us;
    int64_t second = job_named(arena_printf(w.a, "%llu_1", (unsigned long long)id))->limit_us;
    assert_int_equal(first + second, 3 * HOUR);
    assert_int_equal(planned(next), was);
}

/* ---- numbers and names ---------------------------------------------------------------------- */

static void nonsense_changes_nothing(void **unused)
{
    static const char *const names[] = {
        "",    "x",   "1,1",     "1.0", "1.batch", "1_1", "1+0",  "-1", "1_[0-5]",
        "1+5", "1-3", "1_[0-1]", " 1",  "0",       "99",  "1 99", "*",  "99999999999999999999"};
    static const int64_t times[] = {0, -1, -HOUR, INT64_MIN, 1, SEC - 1};
    uint64_t id = submit(sized(1, HOUR));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_int_equal(extend_by((struct msg_extend){.id = names[i], .add_us = HOUR}),
                         REFUSE_INVALID_JOB_ID);
    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        assert_int_equal(extend(id, times[i]), REFUSE_TIME_LIMIT);
    assert_int_equal(job(id)->limit_us, HOUR);
    assert_null(job(id)->extensions);
    assert_int_equal(extend(id, SEC + 1), REFUSE_NONE);
    assert_int_equal(job(id)->limit_us, HOUR + SEC);
}

/* No row has a limit that it would be left out for when the controller starts again. */
static void no_limit_is_longer_than_a_row_may_say(void **unused)
{
    struct job_spec s = sized(1, FIELD_SPAN_MAX - HOUR);
    s.req.partition = "day";
    uint64_t id = submit(s);
    assert_int_equal(extend(id, TIME_UNLIMITED), REFUSE_NONE);
    assert_int_equal(answer()->count, HOUR / SEC);
    says("no time limit is longer than that");
    assert_int_equal(extend(id, FIELD_SPAN_MAX), REFUSE_TIME_LIMIT);
    am_root();
    assert_int_equal(limit_add(ids_of(id), HOUR), REFUSE_TIME_LIMIT);
    says("no time limit is longer than 2982616 days");
    am_alice();
    s = sized(4, HOUR);
    uint64_t next = submit(s);
    assert_int_equal(limit_add(ids_of(next), FIELD_SPAN_MAX), REFUSE_TIME_LIMIT);
    restart(roomy);
    for (int n = 1; n <= 4; n++)
        hello_holding(n, &(struct held){.job_id = id, .attempt = 1, .step_id = STEP_BATCH},
                      n == job(id)->batch_host[1] - '0');
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->limit_us, FIELD_SPAN_MAX);
}

/* Another of its partitions would allow more; it does not run there. */
static void the_partition_it_runs_in_counts(void **unused)
{
    world_open("ClusterName=test\nOperators=olga\nMinJobAge=300\nKillWait=30\n"
               "AccountingStorageEnforce=limits,qos\nNodeName=n[1-4] CPUs=8 RealMemory=8000\n"
               "PartitionName=main Nodes=n[1-4] Default=YES MaxTime=12:00:00 State=UP QOS=test\n"
               "PartitionName=day Nodes=n[1-4] MaxTime=UNLIMITED State=UP\n",
               4);
    the_tree();
    am_alice();
    assert_int_equal(limit_set("qos test", "MaxWall=100"), REFUSE_NONE);
    struct job_spec s = sized(1, HOUR);
    s.req.account = "physics";
    s.req.partition = "main,day";
    uint64_t id = submit(s);
    assert_string_equal(job(id)->run_partition, "main");
    assert_int_equal(extend(id, 2 * HOUR), REFUSE_NONE);
    assert_int_equal(job(id)->limit_us, 100 * MIN);
    says("of QOS test");
    world_close();
}

#define ROOMY(function) cmocka_unit_test_setup_teardown(function, open_roomy, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_state),
        cmocka_unit_test(who_was_told_to_give_way_gets_nothing),
        ROOMY(behind_its_limit_each_minute_counts),
        ROOMY(what_was_not_written_was_not_granted),
        cmocka_unit_test(a_reservation_is_kept_from_all_together),
        ROOMY(components_are_raised_together),
        ROOMY(elements_are_raised_one_by_one),
        ROOMY(nonsense_changes_nothing),
        ROOMY(no_limit_is_longer_than_a_row_may_say),
        cmocka_unit_test(the_partition_it_runs_in_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
