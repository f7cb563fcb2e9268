/* `remuda extend` and the limits of accounts and QOS: how much each of them leaves. */
#include "core_tree.h"

#define SAFE                                                                                       \
    CONF "PriorityDecayHalfLife=0\nPriorityCalcPeriod=1\nAccountingStorageEnforce=safe,qos\n"

/* A job of 4 CPUs and 10 minutes asks for an hour more. */
static const struct {
    const char *on, *limit;
    int64_t minutes; /* it gets */
    const char *says;
} cases[] = {
    {"physics", "GrpTRESMins=cpu=60", 5, "GrpTRESMins"},
    {"physics/alice", "GrpTRESMins=node=15", 5, "GrpTRESMins"},
    {"root", "GrpTRESMins=billing=60", 5, "GrpTRESMins"},
    {"qos test", "GrpTRESMins=cpu=60", 5, "GrpTRESMins"},
    {"physics", "GrpWall=15", 5, "GrpWall"},
    {"qos test", "GrpWall=15", 5, "GrpWall"},
    {"physics", "GrpTRESRunMins=cpu=60", 5, "GrpTRESRunMins"},
    {"qos test", "GrpTRESRunMins=cpu=60", 5, "GrpTRESRunMins"},
    {"qos test", "MaxTRESRunMinsPerUser=cpu=60", 5, "MaxTRESRunMinsPerUser"},
    {"qos test", "MaxTRESRunMinsPerAccount=cpu=60", 5, "MaxTRESRunMinsPerAccount"},
    {"physics", "MaxWall=25", 15, "MaxWall"},
    {"qos test", "MaxWall=25", 15, "MaxWall"},
    {"physics", "MaxTRESMins=cpu=100", 15, "MaxTRESMins"},
    {"physics", "GrpTRESMins=cpu=40", 0, "GrpTRESMins"},
    {"chem", "GrpTRESMins=cpu=60", 60, NULL},
};

static void each_leaves_so_much(void **unused)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        world_open(SAFE, 4);
        the_tree();
        am_alice();
        assert_int_equal(limit_set(cases[i].on, cases[i].limit), REFUSE_NONE);
        struct job_spec s = job_of(4, "physics", "test");
        s.req.time_limit_us = 10 * MIN;
        uint64_t id = submit(s);
        assert_int_equal(state(id), JOB_RUNNING);
        struct msg_extend m = {.id = ids_of(id), .add_us = 60 * MIN};
        say(1, MSG_EXTEND, &m);
        const char *detail = answer()->detail ? answer()->detail : "";
        if (answer()->count != (uint64_t)cases[i].minutes * 60)
            fail_msg("%s %s: %s", cases[i].on, cases[i].limit, detail);
        assert_int_equal(refusal(), cases[i].minutes ? REFUSE_NONE : REFUSE_TIME_LIMIT);
        if (cases[i].says && !strstr(detail, cases[i].says))
            fail_msg("%s is not in \"%s\"", cases[i].says, detail);
        assert_int_equal(job(id)->limit_us, (10 + cases[i].minutes) * MIN);
        /* The same asked once more finds nothing left of it. */
        if (cases[i].says) {
            say(1, MSG_EXTEND, &m);
            assert_int_equal(refusal(), REFUSE_TIME_LIMIT);
        }
        world_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_leaves_so_much)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
