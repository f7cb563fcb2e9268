/* Limits in minutes: each holds, says so with Slurm's word, lets go, and is the same after a
 * restart; several that start at once stay within it; a run that has used one up ends. */
#include "core_tree.h"

#include "base/alloc.h"

#include <stdlib.h>

#define MINUTES_OF(enforce, more)                                                                  \
    CONF "PriorityDecayHalfLife=0\nPriorityCalcPeriod=1\nAccountingStorageEnforce=" enforce        \
         "\n" more
#define SAFE   MINUTES_OF("safe,qos", "")
#define UNSAFE MINUTES_OF("limits,qos", "")

static void minutes_open(const char *conf)
{
    world_open(conf, 4);
    the_tree();
    am_alice();
}

static struct job_spec job_for(int32_t cpus, int64_t minutes, const char *account, const char *qos)
{
    struct job_spec s = job_of(cpus, account, qos);
    s.req.time_limit_us = minutes * MIN;
    return s;
}

static const char *waits_for(uint64_t id)
{
    assert_int_equal(state(id), JOB_PENDING);
    return enum_name(&job_reason_names, job(id)->reason);
}

/* ---- each of them --------------------------------------------------------------------------- */

/* Two jobs of 4 CPUs and 10 minutes: the limit lets one of them run. With `safe` the first takes its
 * whole time from what may be used; what it did not use is there again when it has ended. */
static const struct {
    const char *on, *limit, *lifted, *word;
    const char *free_for; /* who is not concerned */
} cases[] = {
    {"physics", "GrpTRESMins=cpu=60", "GrpTRESMins=cpu=-1", "AssocGrpCPUMinutesLimit", "chem"},
    {"physics/alice", "GrpTRESMins=node=15", "GrpTRESMins=node=-1", "AssocGrpNodeMinutes", "chem"},
    {"root", "GrpTRESMins=billing=60", "GrpTRESMins=billing=-1", "AssocGrpBillingMinutes", NULL},
    {"qos test", "GrpTRESMins=cpu=60", "GrpTRESMins=cpu=-1", "QOSGrpCPUMinutesLimit", NULL},
    {"physics", "GrpWall=15", "GrpWall=-1", "AssocGrpWallLimit", "chem"},
    {"qos test", "GrpWall=15", "GrpWall=-1", "QOSGrpWallLimit", NULL},
    {"physics", "GrpTRESRunMins=cpu=60", "GrpTRESRunMins=cpu=-1", "AssocGrpCPURunMinutesLimit",
     "chem"},
    {"qos test", "GrpTRESRunMins=cpu=60", "GrpTRESRunMins=cpu=-1", "QOSGrpCPURunMinutesLimit",
     NULL},
    {"qos test", "MaxTRESRunMinsPerUser=cpu=60", "MaxTRESRunMinsPerUser=cpu=-1",
     "QOSGrpCPURunMinutesLimit", NULL},
    {"qos test", "MaxTRESRunMinsPerAccount=cpu=60", "MaxTRESRunMinsPerAccount=cpu=-1",
     "QOSGrpCPURunMinutesLimit", "chem"},
};

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

/* Of licences: who asks for none is not concerned. */
static const struct {
    const char *on, *limit, *lifted, *word;
} licences[] = {
    {"physics", "GrpTRESMins=license/matlab=30", "GrpTRESMins=license/matlab=-1",
     "AssocGrpLicenseMinutes"},
    {"physics", "GrpTRESRunMins=license/matlab=30", "GrpTRESRunMins=license/matlab=-1",
     "AssocGrpLicenseRunMinutes"},
    {"qos test", "GrpTRESMins=license/matlab=30", "GrpTRESMins=license/matlab=-1",
     "QOSGrpLicenseMinutes"},
    {"qos test", "MaxTRESRunMinsPerUser=license/matlab=30",
     "MaxTRESRunMinsPerUser=license/matlab=-1", "QOSGrpLicenseRunMinutes"},
};

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

/* ---- told why ------------------------------------------------------------------------------- */

static const struct blocker *limit_of(uint64_t id)
{
    const struct why *y = why_one(id);
    assert_int_equal(y->blockers.n, 1);
    const struct blocker *b = y->blockers.v;
    assert_int_equal(b->kind, BLOCKER_LIMIT);
    return b;
}

/* Its start as squeue --start shows it. */
static int64_t planned(uint64_t id)
{
    struct rows r = ask((struct msg_query){.what = QUERY_JOBS, .ids = ids_of(id)});
    assert_int_equal(r.row.n, 1);
    int64_t at_us = ((const struct job *)r.row.v[0])->planned_us;
    vec_done(&r.row);
    return at_us;
}

/* Where several hold a job, its start is when the last of them has room; where one never has, none
 * is said. */
static void a_start_is_foreseen(void **unused)
{
    minutes_open(SAFE);
    assert_int_equal(limit_set("physics", "GrpTRESRunMins=cpu=60"), REFUSE_NONE);
    assert_int_equal(limit_set("qos test", "MaxTRESRunMinsPerUser=cpu=50"), REFUSE_NONE);
    uint64_t first = submit(job_for(4, 10, "physics", "test")),
             second = submit(job_for(4, 10, "physics", "test")),
             third = submit(job_for(4, 10, "physics", NULL)),
             never = submit(job_for(8, 10, "physics", NULL));
    int64_t began_us = job(first)->start_us;
    assert_int_equal((planned(third) - began_us + MIN - 1) / MIN, 5);  /* 20 of 40 are left */
    assert_int_equal((planned(second) - began_us + MIN - 1) / MIN, 8); /* 10 of 40 */
    assert_int_equal(planned(never), 0);
    struct job_spec s = job_for(4, 10, "physics", NULL);
    s.hold = true;
    assert_int_equal(planned(submit(s)), 0);
    world_close();
}

/* What running jobs may still use shrinks with the time: after half of it there is room. */
static void when_running_jobs_leave_room(void **unused)
{
    minutes_open(SAFE);
    assert_int_equal(limit_set("physics", "GrpTRESRunMins=cpu=60"), REFUSE_NONE);
    uint64_t first = submit(job_for(4, 10, "physics", "test"));
    am_bob();
    uint64_t second = submit(job_for(4, 10, "physics", "test"));
    const struct blocker *b = limit_of(second);
    assert_string_equal(b->jobs, ids_of(first));
    assert_string_equal(b->users, "alice");
    assert_non_null(strstr(b->what, "GrpTRESRunMins=cpu=60 of account physics"));
    assert_int_equal((b->first_us - job(first)->start_us + MIN - 1) / MIN, 5);
    pass(5 * MIN);
    assert_int_equal(state(second), JOB_RUNNING);
    am_alice();
    uint64_t third = submit(job_for(8, 10, "physics", "test")); /* more than ever may be */
    assert_int_equal(limit_of(third)->first_us, 0);
    world_close();
}

/* With `safe`, what runs may use all that is left to it; what it used decays once it is over, or is
 * forgotten with the next day. Who waits for that starts then at the latest. */
static void when_running_jobs_are_over(void **unused)
{
    static const struct {
        const char *conf;
        int64_t least_min, most_min;
    } ways[] = {
        {MINUTES_OF("safe,qos", "PriorityDecayHalfLife=1:00:00\n"), 10 + 55, 10 + 65},
        {MINUTES_OF("safe,qos", "PriorityUsageResetPeriod=DAILY\n"), 10, 24 * 60},
    };
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        minutes_open(ways[i].conf);
        assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=60"), REFUSE_NONE);
        uint64_t first = submit(job_for(4, 10, "physics", NULL)); /* 40 of 60 */
        int64_t began_us = w.now;
        uint64_t next = submit(job_for(4, 10, "physics", NULL)); /* once 20 of them are gone */
        int64_t at_us = limit_of(next)->first_us;
        assert_int_equal(planned(next), at_us);
        assert_true(at_us >= began_us + ways[i].least_min * MIN);
        assert_true(at_us <= began_us + ways[i].most_min * MIN);
        pass(10 * MIN);
        assert_true(job(first)->state != JOB_RUNNING);
        script_ends(first, 0);
        pass(at_us - w.now - 20 * MIN);
        assert_string_equal(waits_for(next), "AssocGrpCPUMinutesLimit");
        pass(25 * MIN);
        assert_true(job(next)->start_us > 0);
        world_close();
    }
}

/* What was used decays: after a half-life there is room, and it is told who used it. */
static void when_use_has_decayed(void **unused)
{
    minutes_open(MINUTES_OF("limits,qos", "PriorityDecayHalfLife=1:00:00\n"));
    uint64_t first = submit(job_for(4, 20, "physics", "test"));
    pass(20 * MIN);
    assert_true(job(first)->state != JOB_RUNNING);
    assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=31"), REFUSE_NONE);
    am_bob();
    uint64_t id = submit(job_for(1, 10, "physics", "test"));
    const struct blocker *b = limit_of(id);
    assert_non_null(strstr(b->what, "; used by alice in physics (6"));
    int64_t at_us = b->first_us;
    assert_true(at_us > w.now + 50 * MIN && at_us < w.now + 70 * MIN);
    pass(at_us - w.now - 5 * MIN);
    assert_int_equal(state(id), JOB_PENDING);
    pass(10 * MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    world_close();
}

static void factor_set(int64_t factor_e6, uint32_t flags)
{
    struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
    ch->fields = "usage_factor_e6_plus1,flags";
    ch->qos = (struct record_list){
        KEEP(struct qos, .name = "test", .flags = flags, .usage_factor_e6_plus1 = factor_e6 + 1),
        1};
    assert_int_equal(changed(false), REFUSE_NONE);
}

/* With `safe` a job starts if its whole time fits; with UsageFactorSafe, times the use factor of its
 * QOS, without it as if that were 1. */
static void the_use_factor_beforehand(void **unused)
{
    static const struct {
        int64_t factor_e6;
        bool safe;
        int32_t fit; /* of three jobs of 40 CPU minutes, beside a limit of 100 */
    } factors[] = {{2000000, true, 1}, {2000000, false, 2}, {500000, true, 3}, {500000, false, 2}};
    for (size_t i = 0; i < ARRAY_LEN(factors); i++) {
        minutes_open(SAFE);
        factor_set(factors[i].factor_e6, factors[i].safe ? QOS_USAGE_FACTOR_SAFE : 0);
        assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=100"), REFUSE_NONE);
        uint64_t id[3];
        for (int k = 0; k < 3; k++)
            id[k] = submit(job_for(4, 10, "physics", "test"));
        for (int k = 0; k < 3; k++)
            if (k < factors[i].fit)
                assert_int_equal(state(id[k]), JOB_RUNNING);
            else
                assert_string_equal(waits_for(id[k]), "AssocGrpCPUMinutesLimit");
        if (factors[i].fit < 3) { /* it fits without the factor, and with a smaller one */
            factor_set(100000, QOS_USAGE_FACTOR_SAFE);
            assert_int_equal(state(id[2]), JOB_RUNNING);
        }
        world_close();
    }
}

static struct priority_row priority_row_of(uint64_t id)
{
    struct rows r = ask((struct msg_query){.what = QUERY_PRIORITY, .ids = ids_of(id)});
    assert_int_equal(r.row.n, 1);
    struct priority_row row = *(const struct priority_row *)r.row.v[0];
    vec_done(&r.row);
    return row;
}

/* Who is held by minutes has the priority that the planner will see once it is not. */
static void held_jobs_have_a_priority(void **unused)
{
    static const char multifactor[] =
        "PriorityType=priority/multifactor\nPriorityWeightQOS=1000\nPriorityWeightAge=0\n"
        "PriorityWeightFairshare=5000\nPriorityWeightJobSize=700\n";
    static const char *const settings[] = {multifactor, "PriorityType=priority/basic\n", ""};
    for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
        minutes_open(MINUTES_OF("safe,qos", ""));
        char *conf = xasprintf("%s%s", MINUTES_OF("safe,qos", ""), settings[i]);
        configure(conf);
        uint64_t all = submit(job_for(32, 60, "chem", NULL)); /* all there is */
        assert_int_equal(state(all), JOB_RUNNING);
        assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=60"), REFUSE_NONE);
        uint64_t id = submit(job_for(16, 10, "physics", "test"));
        assert_string_equal(waits_for(id), "AssocGrpCPUMinutesLimit");
        struct priority_row held = priority_row_of(id);
        uint64_t shown = job(id)->priority;
        if (i == 0)
            assert_true(held.size > 0 && held.fairshare > 0);
        assert_true(shown > 1 && shown == held.priority);
        assert_int_equal(limit_set("physics", "GrpTRESMins=cpu=-1"), REFUSE_NONE);
        assert_string_equal(waits_for(id), "Resources");
        struct priority_row queued = priority_row_of(id);
        assert_int_equal(held.priority, queued.priority);
        assert_int_equal(held.size, queued.size);
        assert_int_equal(held.fairshare, queued.fairshare);
        assert_int_equal(held.qos_part, queued.qos_part);
        assert_int_equal(job(id)->priority, shown);
        assert_int_equal(control(ids_of(id), ACTION_HOLD), REFUSE_NONE);
        struct rows none = ask((struct msg_query){.what = QUERY_PRIORITY, .ids = ids_of(id)});
        assert_int_equal(none.row.n, 0);
        vec_done(&none.row);
        free(conf);
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
        cmocka_unit_test(when_running_jobs_leave_room),
        cmocka_unit_test(a_start_is_foreseen),
        cmocka_unit_test(held_jobs_have_a_priority),
        cmocka_unit_test(the_use_factor_beforehand),
        cmocka_unit_test(when_running_jobs_are_over),
        cmocka_unit_test(when_use_has_decayed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
