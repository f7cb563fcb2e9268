/* Limits in minutes: each holds, says so with Slurm's word, lets go, and is the same after a
 * restart; several that start at once stay within it; a run that has used one up ends. */
#include "core_minutes_help.h"

#define UNSAFE MINUTES_OF("limits,qos", "")

/* ---- each of them ---- */

static void each_of_them(void **unused)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        minutes_open(SAFE);
        assert_int_equal(limit_set(cases[i].on, cases[i].limit), REFUSE_NONE);
        struct job_spec s = job_for(4, 10, "physics", "test");
        s.array = "1-2";
        uint64_t both = submit(s); /* both in one pass */
        size_t run = 0;
        uint64_t waits = 0, runs = 0;
        struct rows r = ask((struct msg_query){.what = QUERY_JOBS});
        for (size_t k = 0; k < r.row.n; k++) {
            const struct job *j = r.row.v[k];
            run += j->state == JOB_RUNNING;
            *(j->state == JOB_RUNNING ? &runs : &waits) = j->id;
        }
        vec_done(&r.row);
        assert_true(both > 0);
        assert_int_equal(run, 1);
        assert_string_equal(waits_for(waits), cases[i].word);
        assert_int_equal(job(waits)->eligible_us, w.now); /* it gains by waiting */
        if (cases[i].free_for)
            assert_int_equal(state(submit(job_for(4, 10, cases[i].free_for, "test"))), JOB_RUNNING);
        assert_int_equal(state(submit(job_for(4, 10, "physics", "test"))), JOB_PENDING);
        restart(SAFE);
        hello(1);
        hello(2);
        hello(3);
        hello(4);
        assert_string_equal(waits_for(waits), cases[i].word);
        assert_int_equal(limit_set(cases[i].on, cases[i].lifted), REFUSE_NONE);
        assert_int_equal(state(waits), JOB_RUNNING);
        (void)runs;
        world_close();
    }
}

static void minutes_of_licences(void **unused)
{
    for (size_t i = 0; i < ARRAY_LEN(licences); i++) {
        minutes_open(MINUTES_OF("safe,qos", "Licenses=matlab:9,ansys:9\n"));
        assert_int_equal(limit_set(licences[i].on, licences[i].limit), REFUSE_NONE);
        struct job_spec s = job_for(1, 10, "physics", "test");
        s.req.licenses = "ansys,matlab:2";
        uint64_t first = submit(s), second = submit(s);
        assert_int_equal(state(first), JOB_RUNNING);
        assert_string_equal(waits_for(second), licences[i].word);
        s.req.licenses = "ansys:3";
        assert_int_equal(state(submit(s)), JOB_RUNNING);
        restart(MINUTES_OF("safe,qos", "Licenses=matlab:9,ansys:9\n"));
        hello(2);
        assert_string_equal(waits_for(second), licences[i].word);
        assert_int_equal(limit_set(licences[i].on, licences[i].lifted), REFUSE_NONE);
        assert_int_equal(state(second), JOB_RUNNING);
        world_close();
    }
}

/* What it did not use is there for the next; what it used is not. */
static void by_an_end(void **unused)
{
    minutes_open(SAFE);
    assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=60"), REFUSE_NONE);
    uint64_t first = submit(job_for(4, 10, "physics", NULL)),
             second = submit(job_for(4, 10, "physics", NULL));
    assert_int_equal(state(second), JOB_PENDING);
    pass(3 * MIN);
    script_ends(first, 0); /* 12 of 60 */
    assert_int_equal(state(second), JOB_RUNNING);
    pass(8 * MIN);
    script_ends(second, 0); /* 44 of 60 */
    uint64_t third = submit(job_for(4, 10, "physics", NULL));
    assert_string_equal(waits_for(third), "AssocGrpCPUMinutesLimit");
    assert_int_equal(state(submit(job_for(4, 4, "physics", NULL))), JOB_RUNNING);
    world_close();
}

static void by_forgetting(void **unused)
{
    minutes_open(SAFE);
    assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=60"), REFUSE_NONE);
    uint64_t first = submit(job_for(6, 10, "physics", NULL));
    pass(9 * MIN);
    script_ends(first, 0);
    uint64_t next = submit(job_for(4, 10, "physics", NULL));
    assert_int_equal(state(next), JOB_PENDING);
    struct account_change *ch = change(VERB_MODIFY, NOUN_ASSOC);
    ch->no_usage = true;
    ch->assoc = (struct record_list){KEEP(struct assoc, .account = "physics"), 1};
    assert_int_equal(changed(false), REFUSE_NONE);
    assert_int_equal(state(next), JOB_RUNNING);
    world_close();
}

static void by_decay(void **unused)
{
    minutes_open(MINUTES_OF("safe,qos", "PriorityDecayHalfLife=0:10:00\n"));
    assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=60"), REFUSE_NONE);
    uint64_t first = submit(job_for(6, 10, "physics", NULL));
    pass(9 * MIN);
    script_ends(first, 0);
    uint64_t next = submit(job_for(5, 10, "physics", NULL));
    assert_int_equal(state(next), JOB_PENDING);
    for (int i = 0; i < 40 && state(next) == JOB_PENDING; i++)
        pass(MIN);
    assert_int_equal(state(next), JOB_RUNNING);
    world_close();
}

/* Time that passes frees what running jobs may still use; a longer limit takes more. */
static void by_time(void **unused)
{
    minutes_open(SAFE);
    assert_int_equal(limit_set("physics", "GrpTRESRunMins=cpu=60"), REFUSE_NONE);
    uint64_t first = submit(job_for(4, 10, "physics", NULL)),
             second = submit(job_for(4, 10, "physics", NULL));
    assert_int_equal(state(second), JOB_PENDING);
    for (int i = 0; i < 6; i++)
        pass(MIN);
    assert_int_equal(state(first), JOB_RUNNING);
    assert_int_equal(state(second), JOB_RUNNING);
    world_close();
}

/* A run is charged for whole seconds: what it ran of the next one is still to come, so that it and
 * one that starts beside it stay within the limit, second by second. */
static void by_the_second(void **unused)
{
    static const int64_t after_us[] = {0, SEC / 2, SEC - 1};
    for (size_t i = 0; i < ARRAY_LEN(after_us); i++) {
        minutes_open(SAFE);
        assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=60"), REFUSE_NONE);
        uint64_t first = submit(job_for(4, 10, "physics", NULL));
        pass(2 * MIN + after_us[i]); /* and charged */
        struct job_spec s = job_for(4, 5, "physics", NULL);
        s.req.time_limit_us += SEC;
        uint64_t much = submit(s);
        assert_string_equal(waits_for(much), "AssocGrpCPUMinutesLimit");
        restart(SAFE);
        for (uint32_t node = 1; node <= 4; node++)
            hello(node);
        assert_int_equal(state(first), JOB_RUNNING);
        assert_string_equal(waits_for(much), "AssocGrpCPUMinutesLimit");
        assert_int_equal(state(submit(job_for(4, 5, "physics", NULL))), JOB_RUNNING);
        world_close();
    }
}

/* Components that are too much together, each of which is not, wait; nobody looks at them without
 * end, and they start when there is room. */
static void components_together(void **unused)
{
    minutes_open(SAFE);
    assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=60"), REFUSE_NONE);
    struct job_spec two[2] = {job_for(4, 10, "physics", NULL), job_for(4, 10, "physics", NULL)};
    uint64_t id = submit_all(two, 2);
    assert_string_equal(waits_for(id), "AssocGrpCPUMinutesLimit");
    pass(10 * MIN);
    assert_string_equal(waits_for(id), "AssocGrpCPUMinutesLimit");
    assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=80"), REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
    world_close();
}

/* Nor at one that would be content with less time than the planner gives it. */
static void with_less_time(void **unused)
{
    minutes_open(SAFE);
    assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=20"), REFUSE_NONE);
    struct job_spec s = job_for(4, 10, "physics", NULL);
    s.req.time_min_us = MIN;
    uint64_t id = submit(s);
    assert_string_equal(waits_for(id), "AssocGrpCPUMinutesLimit");
    assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=40"), REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
    world_close();
}

/* What running jobs may still use does not become less because somebody sets the clock. */
static void the_clock_is_set(void **unused)
{
    minutes_open(SAFE);
    assert_int_equal(limit_set("physics", "GrpTRESRunMins=cpu=60"), REFUSE_NONE);
    uint64_t waiting[8]; /* some are looked at before the one that runs */
    struct job_spec s = job_for(4, 10, "physics", NULL);
    s.hold = true;
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
        waiting[i] = submit(s);
    uint64_t first = submit(job_for(4, 10, "physics", NULL));
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
        control(ids_of(waiting[i]), ACTION_RELEASE);
    effects_reset(&w.fx);
    step((struct event){.kind = EV_WAKE, .mono_us = 1000 * SEC});
    w.now += 300 * MIN;
    step((struct event){.kind = EV_WAKE, .mono_us = 1000 * SEC});
    settle(0);
    assert_int_equal(state(first), JOB_RUNNING);
    for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
        assert_string_equal(waits_for(waiting[i]), "AssocGrpCPURunMinutesLimit");
    world_close();
}

/* A limit of 0 lets nobody run. */
static void none_at_all(void **unused)
{
    minutes_open(UNSAFE);
    assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=0"), REFUSE_NONE);
    assert_string_equal(waits_for(submit(job_for(1, 1, "physics", NULL))),
                        "AssocGrpCPUMinutesLimit");
    assert_int_equal(state(submit(job_for(1, 1, "chem", NULL))), JOB_RUNNING);
    world_close();
}

/* Without `safe` a job starts while anything is left, and ends when it is used up. */
static void used_up(void **unused)
{
    minutes_open(UNSAFE);
    assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=20"), REFUSE_NONE);
    uint64_t first = submit(job_for(4, 10, "physics", NULL)),
             other = submit(job_for(4, 10, "chem", NULL));
    assert_int_equal(state(first), JOB_RUNNING);
    for (int i = 0; i < 4; i++)
        pass(MIN);
    assert_int_equal(state(first), JOB_RUNNING);
    pass(2 * MIN);
    script_ends(first, 15);
    assert_int_equal(state(first), JOB_TIMEOUT);
    assert_non_null(strstr(job(first)->reason_detail, "GrpTRESMins=cpu=20 of account physics"));
    assert_int_equal(state(other), JOB_RUNNING);
    assert_string_equal(waits_for(submit(job_for(1, 1, "physics", NULL))),
                        "AssocGrpCPUMinutesLimit");
    world_close();
}

static void the_threshold(void **unused)
{
    minutes_open(MINUTES_OF("limits,qos", "PriorityWeightFairshare=1000\n"));
    struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
    ch->fields = "usage_threshold_e6_plus1,flags";
    ch->qos =
        (struct record_list){KEEP(struct qos, .name = "test", .usage_threshold_e6_plus1 = 300001,
                                  .flags = QOS_ENFORCE_USAGE_THRESHOLD),
                             1};
    assert_int_equal(changed(false), REFUSE_NONE);
    uint64_t first = submit(job_for(4, 10, "physics", "test"));
    assert_int_equal(state(first), JOB_RUNNING);
    pass(2 * MIN);
    assert_string_equal(waits_for(submit(job_for(1, 1, "physics", "test"))), "QOSUsageThreshold");
    assert_int_equal(state(submit(job_for(1, 1, "physics", "normal"))), JOB_RUNNING);
    assert_int_equal(state(submit(job_for(1, 1, "chem", "test"))), JOB_RUNNING);
    world_close();
}

/* Naming another partition beside that of the QOS does not open it. */
static void the_threshold_of_a_second_partition(void **unused)
{
    for (int turn = 0; turn < 2; turn++) {
        minutes_open(MINUTES_OF("limits,qos", "PriorityWeightFairshare=1000\n"
                                              "PartitionName=full Nodes=n1\n"
                                              "PartitionName=free Nodes=n[2-4] QOS=test\n"));
        struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
        ch->fields = "usage_threshold_e6_plus1,flags";
        ch->qos = (struct record_list){KEEP(struct qos, .name = "test",
                                            .usage_threshold_e6_plus1 = 300001,
                                            .flags = QOS_ENFORCE_USAGE_THRESHOLD),
                                       1};
        assert_int_equal(changed(false), REFUSE_NONE);
        struct job_spec s = job_for(8, 10, "physics", "normal");
        s.req.partition = "full";
        uint64_t first = submit(s);
        assert_int_equal(state(first), JOB_RUNNING);
        pass(2 * MIN);
        s.req.partition = turn ? "free,full" : "full,free";
        uint64_t second = submit(s);
        assert_int_equal(state(second), JOB_PENDING);
        script_ends(first, 0);
        assert_string_equal(job(second)->run_partition, "full");
        world_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_of_them),
        cmocka_unit_test(minutes_of_licences),
        cmocka_unit_test(by_an_end),
        cmocka_unit_test(by_forgetting),
        cmocka_unit_test(by_decay),
        cmocka_unit_test(by_time),
        cmocka_unit_test(none_at_all),
        cmocka_unit_test(by_the_second),
        cmocka_unit_test(components_together),
        cmocka_unit_test(with_less_time),
        cmocka_unit_test(the_clock_is_set),
        cmocka_unit_test(used_up),
        cmocka_unit_test(the_threshold),
        cmocka_unit_test(the_threshold_of_a_second_partition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
