/* Components of a heterogeneous job and limits that they only exceed together: said at submission,
 * waited for with Slurm's word, refused with DenyOnLimit, let go when the limit is raised, and the
 * same after a restart. Each row in each of the ways. */
#include "core_tree.h"

static const struct {
    const char *on, *limit, *raised;
    int32_t cpus[2];
    const char *account[2];
    const char *word; /* NULL = they may start */
} rows[] = {
    {"physics",
     "GrpTRES=cpu=6",
     "GrpTRES=cpu=8",
     {4, 4},
     {"physics", "physics"},
     "AssocGrpCpuLimit"},
    {"physics", "GrpTRES=cpu=8", "GrpTRES=cpu=9", {4, 4}, {"physics", "physics"}, NULL},
    {"physics", "GrpTRES=cpu=6", "GrpTRES=cpu=8", {4, 4}, {"physics", "chem"}, NULL},
    {"root", "GrpTRES=cpu=6", "GrpTRES=cpu=8", {4, 4}, {"physics", "chem"}, "AssocGrpCpuLimit"},
    {"physics",
     "GrpTRES=mem=150",
     "GrpTRES=mem=200",
     {1, 1},
     {"physics", "physics"},
     "AssocGrpMemLimit"},
    {"physics", "GrpJobs=1", "GrpJobs=2", {1, 1}, {"physics", "physics"}, "AssocGrpJobsLimit"},
    {"physics/alice",
     "MaxJobs=1",
     "MaxJobs=2",
     {1, 1},
     {"physics", "physics"},
     "AssocMaxJobsLimit"},
    {"physics/alice", "MaxJobs=1", "MaxJobs=2", {1, 1}, {"physics", "chem"}, NULL},
    {"qos test", "GrpTRES=cpu=6", "GrpTRES=cpu=8", {4, 4}, {"physics", "chem"}, "QOSGrpCpuLimit"},
    {"qos test",
     "MaxJobsPerUser=1",
     "MaxJobsPerUser=2",
     {1, 1},
     {"physics", "chem"},
     "QOSMaxJobsPerUserLimit"},
    {"qos test", "MaxJobsPerAccount=1", "MaxJobsPerAccount=2", {1, 1}, {"physics", "chem"}, NULL},
    {"qos test",
     "MaxTRESPerUser=cpu=6",
     "MaxTRESPerUser=cpu=8",
     {4, 4},
     {"physics", "chem"},
     "QOSMaxCpuPerUserLimit"},
    {"qos test",
     "MaxTRESPerAccount=cpu=6",
     "MaxTRESPerAccount=cpu=8",
     {4, 4},
     {"physics", "physics"},
     "MaxCpuPerAccount"},
    {"qos test",
     "MaxTRESPerUser=cpu=6@daily:20-8",
     "MaxTRESPerUser=cpu=8",
     {2, 2},
     {"physics", "physics"},
     NULL},
};

static uint64_t both(size_t row, struct job_spec *s)
{
    for (int i = 0; i < 2; i++)
        s[i] = job_of(rows[row].cpus[i], rows[row].account[i], "test");
    am_alice();
    return submit_all(s, 2);
}

static void waits(uint64_t id, size_t row)
{
    for (uint64_t i = id; i < id + 2; i++) {
        assert_int_equal(state(i), rows[row].word ? JOB_PENDING : JOB_RUNNING);
        if (rows[row].word)
            assert_string_equal(reason(i), rows[row].word);
    }
}

static void let_go_when_raised(size_t row, bool restarted)
{
    struct job_spec s[2];
    world_open(ENFORCED, 4);
    the_tree();
    assert_int_equal(limit_set(rows[row].on, rows[row].limit), REFUSE_NONE);
    uint64_t id = both(row, s);
    assert_true(id > 0);
    waits(id, row);
    if (restarted && rows[row].word) {
        restart(ENFORCED);
        for (int n = 1; n <= 4; n++)
            hello_holding(n, NULL, 0);
        pass(MIN);
        waits(id, row);
    }
    assert_int_equal(limit_set(rows[row].on, rows[row].raised), REFUSE_NONE);
    pass(MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(state(id + 1), JOB_RUNNING);
    world_close();
}

static void each_row(void **unused)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        for (int restarted = 0; restarted < 2; restarted++)
            let_go_when_raised(i, restarted);
}

static void denied(void **unused)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct job_spec s[2];
        world_open(ENFORCED, 4);
        the_tree();
        struct account_change *ch = change(VERB_MODIFY, NOUN_QOS);
        ch->fields = "flags";
        ch->qos =
            (struct record_list){KEEP(struct qos, .name = "test", .flags = QOS_DENY_ON_LIMIT), 1};
        assert_int_equal(changed(false), REFUSE_NONE);
        assert_int_equal(limit_set(rows[i].on, rows[i].limit), REFUSE_NONE);
        uint64_t id = both(i, s);
        assert_int_equal(id == 0, rows[i].word != NULL);
        if (rows[i].word) {
            assert_int_equal(refusal(), REFUSE_PARTITION_LIMIT);
            assert_non_null(strstr(answer()->detail, "together"));
        }
        world_close();
    }
}

#define WIDE_OF_TEST                                                                               \
    ENFORCED "PartitionName=full Nodes=n[1-4] QOS=wide\nPartitionName=free Nodes=n[1-4] "          \
             "QOS=test\n"

/* A partition that they may not enter lifts no limit of the other's. */
static void a_closed_partition_lifts_nothing(void **unused)
{
    for (int turn = 0; turn < 2; turn++) {
        struct job_spec s[2] = {job_of(4, "physics", "normal"), job_of(4, "physics", "normal")};
        world_open(WIDE_OF_TEST, 4);
        the_tree();
        struct account_change *ch = change(VERB_ADD, NOUN_QOS);
        ch->qos = (struct record_list){KEEP(struct qos, .name = "wide"), 1};
        assert_int_equal(changed(false), REFUSE_NONE);
        assert_int_equal(limit_set("qos test", "MinTRESPerJob=cpu=5"), REFUSE_NONE);
        assert_int_equal(limit_set("qos wide", "GrpTRES=cpu=6"), REFUSE_NONE);
        for (int i = 0; i < 2; i++)
            s[i].req.partition = turn ? "free,full" : "full,free";
        am_alice();
        uint64_t id = submit_all(s, 2);
        for (uint64_t i = id; i < id + 2; i++)
            assert_string_equal(reason(i), "QOSGrpCpuLimit");
        assert_int_equal(limit_set("qos test", "MinTRESPerJob=cpu=-1"), REFUSE_NONE);
        assert_int_equal(state(id), JOB_RUNNING);
        world_close();
    }
}

/* One component that a limit holds by itself holds all: they say so, and keep no node from work that
 * ends later than they could start. */
static void held_by_one(void **unused)
{
    assert_int_equal(limit_set("qos test", "MaxJobsPerUser=1"), REFUSE_NONE);
    am_alice();
    struct job_spec first = job_of(8, "physics", "test"), wide = job_of(24, "physics", "normal"),
                    both[2] = {job_of(8, "physics", "normal"), job_of(8, "physics", "test")};
    first.req.time_limit_us = both[0].req.time_limit_us = both[1].req.time_limit_us = 60 * MIN;
    wide.req.min_nodes = wide.req.max_nodes = 3;
    wide.req.time_limit_us = 110 * MIN;
    uint64_t runs = submit(first), het = submit_all(both, 2);
    assert_int_equal(state(runs), JOB_RUNNING);
    assert_string_equal(reason(het + 1), "QOSMaxJobsPerUserLimit");
    assert_string_equal(reason(het), "QOSMaxJobsPerUserLimit");
    am_bob();
    uint64_t other = submit(wide);
    assert_int_equal(state(other), JOB_RUNNING);
    script_ends(other, 0);
    assert_int_equal(state(het), JOB_PENDING);
    script_ends(runs, 0);
    assert_int_equal(state(het), JOB_RUNNING);
    assert_int_equal(state(het + 1), JOB_RUNNING);
}

/* A component that comes to ask for less lets all of them go; what it may not ask for beside the
 * others is refused. */
static void a_component_changes(void **unused)
{
    struct job_spec s[2] = {job_of(4, "physics", "test"), job_of(4, "physics", "test")},
                    less = {.req = {.ntasks = 2}}, more = {.req = {.licenses = "x:2"}};
    assert_int_equal(limit_set("physics", "GrpTRES=cpu=6"), REFUSE_NONE);
    uint64_t id = submit_all(s, 2);
    assert_string_equal(reason(id), "AssocGrpCpuLimit");
    struct msg_update_job m = {.ids = ids_of(id + 1), .fields = "ntasks", .values = {&less, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    pass(MIN);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(state(id + 1), JOB_RUNNING);
    configure(ENFORCED "Licenses=x:2\n");
    s[0].hold = s[1].hold = true;
    s[0].req.licenses = "x:1";
    id = submit_all(s, 2);
    assert_true(id > 0);
    m = (struct msg_update_job){.ids = ids_of(id + 1), .fields = "licenses", .values = {&more, 1}};
    say(1, MSG_UPDATE_JOB, &m);
    assert_true(refusal() != REFUSE_NONE);
    more.req.licenses = "x:1";
    say(1, MSG_UPDATE_JOB, &m);
    assert_int_equal(refusal(), REFUSE_NONE);
}

/* Changed in one request they are looked at as they will all be, not each beside the others as they
 * were. */
static void components_change_together(void **unused)
{
    static const struct {
        const char *to[2], *fields;
        bool taken;
    } asked[] = {
        {{"x:1", "x:1"}, "licenses;licenses", true},
        {{"x:2", "x:1"}, "licenses;licenses", false},
        {{"x:1", "x:2"}, "licenses;licenses", false},
        {{NULL, "x:2"}, "licenses;licenses", true}, /* from one to the other … */
        {{"x:2", NULL}, "licenses;licenses", true},
        {{"x:2", "x:1"}, "licenses;comment", true}, /* that of the other stays */
        {{"x:2", "x:1"}, "comment;licenses", false},
    };
    configure(ENFORCED "Licenses=x:2\n");
    struct job_spec s[2] = {job_of(1, "physics", "test"), job_of(1, "physics", "test")};
    s[0].hold = s[1].hold = true;
    uint64_t id = submit_all(s, 2);
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        const char *had[2] = {job(id)->spec.req.licenses, job(id + 1)->spec.req.licenses};
        struct job_spec to[2] = {{.req.licenses = asked[i].to[0]},
                                 {.req.licenses = asked[i].to[1]}};
        struct msg_update_job m = {.ids = ids_of(id), .fields = asked[i].fields, .values = {to, 2}};
        say(1, MSG_UPDATE_JOB, &m);
        assert_int_equal(refusal(), asked[i].taken ? REFUSE_NONE : REFUSE_LICENSES);
        for (size_t k = 0; k < 2 && !asked[i].taken; k++) {
            const char *has = job(id + k)->spec.req.licenses;
            assert_true(text_is(has, had[k]));
            assert_non_null(strstr(answer()->detail, "together"));
        }
    }
    pass(MIN);
    assert_int_equal(count((struct msg_query){.what = QUERY_JOBS, .states = "PENDING"}), 2);
}

#define MANY 128 /* components, and partitions of each */

/* Each is asked about with all the others, in each of their partitions: once for all of them, not
 * once for each (two million looks, half a minute under the sanitizers). */
static void many_components_of_many_partitions(void **unused)
{
    struct str conf = STR_INIT, names = STR_INIT;
    struct job_spec s[MANY];
    str_add(&conf, ENFORCED);
    for (int i = 0; i < MANY; i++) {
        str_addf(&conf, "PartitionName=q%d Nodes=n[1-4]\n", i);
        str_addf(&names, "%sq%d", i ? "," : "", i);
    }
    world_open(str_text(&conf), 4);
    the_tree();
    assert_int_equal(limit_set("physics", "GrpTRES=cpu=127"), REFUSE_NONE);
    for (int i = 0; i < MANY; i++) {
        s[i] = job_of(1, "physics", "test");
        s[i].req.partition = str_text(&names);
    }
    am_alice();
    uint64_t id = submit_all(s, MANY);
    assert_true(id > 0);
    for (uint64_t i = id; i < id + MANY; i++)
        assert_string_equal(reason(i), "AssocGrpCpuLimit");
    assert_int_equal(limit_set("physics", "GrpTRES=cpu=128"), REFUSE_NONE);
    for (uint64_t i = id; i < id + MANY; i++)
        assert_string_not_equal(reason(i), "AssocGrpCpuLimit");
    world_close();
    str_done(&names);
    str_done(&conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row),
        cmocka_unit_test(denied),
        cmocka_unit_test(a_closed_partition_lifts_nothing),
        cmocka_unit_test(many_components_of_many_partitions),
        TREE_STORY(held_by_one),
        TREE_STORY(a_component_changes),
        TREE_STORY(components_change_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
