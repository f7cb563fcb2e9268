/* A limit on one job holds for what it would get, and not for what it asks for alone: the rest of a
 * whole node, GPUs of a type that it did not name, nodes that it might have. */
#include "core_tree.h"

#define WORLD                                                                                      \
    "ClusterName=test\nMinJobAge=300\nKillWait=30\nGresTypes=gpu\nLicenses=a:9,matlab:50\n"        \
    "NodeName=n[1-2] CPUs=8 RealMemory=8000 Gres=gpu:v100:4\n"                                     \
    "NodeName=n[3-4] CPUs=8 RealMemory=8000 Gres=gpu:p100:4\n"                                     \
    "PartitionName=main Nodes=n[1-4] Default=YES MaxTime=2:00:00 State=UP\n"                       \
    "PartitionName=two Nodes=n[1-4] MaxTime=2:00:00 State=UP QOS=test\n"                           \
    "AccountingStorageEnforce=limits,qos\n"

static int got_setup(void **unused)
{
    world_open(WORLD, 0);
    for (int n = 1; n <= 4; n++) {
        struct node node = {.name = arena_printf(w.a, "n%d", n),
                            .real_cpus = 8,
                            .real_memory_mib = 8000,
                            .real_gres = n <= 2 ? "gpu:v100:4" : "gpu:p100:4",
                            .version = "test"};
        struct msg_node_hello m = {.node = {&node, 1}, .pid = 7};
        am_root();
        say(CONN_OF(n), MSG_NODE_HELLO, &m);
    }
    the_tree();
    am_alice();
    return 0;
}

/* How a job asks for GPUs of a type; each asks for four. */
static void asked_in(size_t way, struct job_spec *s)
{
    s->req.ntasks = 4;
    switch (way) {
    case 0: s->req.gres = "gpu:v100:4"; return;
    case 1: s->req.gpus = "v100:4"; return;
    case 2: s->req.gpus_per_node = "v100:4"; return;
    default: s->req.gpus_per_task = "v100:1"; return;
    }
}

static void a_type_asked_for_in_any_way(void **unused)
{
    assert_int_equal(limit_set("qos test", "MaxTRESPerJob=gres/gpu:v100=3"), REFUSE_NONE);
    for (size_t way = 0; way < 4; way++) {
        struct job_spec s = job_of(4, "physics", "test");
        asked_in(way, &s);
        uint64_t id = submit(s);
        assert_int_equal(state(id), JOB_PENDING);
        assert_string_equal(reason(id), "QOSMaxGRESPerJob");
        cancel(ids_of(id));
    }
}

static void the_rest_of_a_whole_node(void **unused)
{
    assert_int_equal(limit_set("qos test", "MaxTRESPerJob=cpu=6"), REFUSE_NONE);
    struct job_spec s = job_of(1, "physics", "test");
    s.req.exclusive = EXCLUSIVE_NODE;
    uint64_t id = submit(s);
    assert_int_equal(state(id), JOB_PENDING);
    assert_string_equal(reason(id), "QOSMaxCpuPerJobLimit");
    const struct blocker *b = why_one(id)->blockers.v;
    assert_string_equal(b->what,
                        "MaxTRESPerJob=cpu=6 of QOS test: as it would be placed it gets 8");
    assert_int_equal(limit_set("qos test", "MaxTRESPerJob=cpu=8"), REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
}

/* On each node, and times its limit, too. */
static void on_a_node_and_in_minutes(void **unused)
{
    static const char *const limits[][3] = {
        {"MaxTRESPerNode=cpu=7", "MaxTRESPerNode=cpu=8", "QOSMaxCpuPerNode"},
        {"MaxTRESMins=cpu=79", "MaxTRESMins=cpu=80", "QOSMaxCpuMinutesPerJobLimit"}};
    struct job_spec s = job_of(1, "physics", "test");
    s.req.exclusive = EXCLUSIVE_NODE;
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        assert_int_equal(limit_set("qos test", limits[i][0]), REFUSE_NONE);
        uint64_t id = submit(s);
        assert_int_equal(state(id), JOB_PENDING);
        assert_string_equal(reason(id), limits[i][2]);
        assert_int_equal(limit_set("qos test", limits[i][1]), REFUSE_NONE);
        assert_int_equal(state(id), JOB_RUNNING);
    }
}

static void a_type_that_it_did_not_name(void **unused)
{
    assert_int_equal(limit_set("qos test", "MaxTRESPerJob=gres/gpu:v100=3"), REFUSE_NONE);
    struct job_spec s = job_of(1, "physics", "test");
    s.req.gres = "gpu:4";
    uint64_t id = submit(s), second = submit(s), third = submit(s);
    assert_string_equal(job(id)->batch_host, "n3");
    assert_string_equal(job(second)->batch_host, "n4");
    assert_int_equal(state(third), JOB_PENDING);
    s.req.gres = "gpu:3";
    assert_string_equal(job(submit(s))->batch_host, "n1");
}

static void nodes_that_it_might_have(void **unused)
{
    assert_int_equal(limit_set("qos test", "MaxTRESPerJob=node=2"), REFUSE_NONE);
    struct job_spec s = job_of(4, "physics", "test");
    s.req.min_nodes = 1;
    s.req.max_nodes = 4;
    s.req.ntasks_per_node = 1;
    s.req.ntasks = 0;
    uint64_t id = submit(s);
    assert_int_equal(state(id), JOB_RUNNING);
    assert_int_equal(job(id)->alloc_nodes, 2);
}

/* The limit is the reason where so few are not enough. */
static void nodes_that_are_too_few(void **unused)
{
    assert_int_equal(limit_set("qos test", "MaxTRESPerJob=node=2"), REFUSE_NONE);
    struct job_spec s = job_of(3, "physics", "test");
    s.req.min_nodes = 1;
    s.req.max_nodes = 4;
    s.req.ntasks_per_node = 1;
    uint64_t id = submit(s);
    assert_int_equal(state(id), JOB_PENDING);
    assert_string_equal(reason(id), "QOSMaxNodePerJobLimit");
    assert_int_equal(limit_set("qos test", "MaxTRESPerJob=node=3"), REFUSE_NONE);
    assert_int_equal(state(id), JOB_RUNNING);
}

/* Licences count however their list is written. */
static void licences_in_any_spelling(void **unused)
{
    static const char *const spelled[] = {"matlab:3",           "a:1, matlab:3",
                                          "a, matlab:3 ",       "\tmatlab:3,a",
                                          "matlab:1, matlab:2", "matlab:00000000000000000003"};
    assert_int_equal(limit_set("qos test", "GrpTRES=license/matlab=2"), REFUSE_NONE);
    for (size_t i = 0; i < ARRAY_LEN(spelled); i++) {
        struct job_spec s = job_of(1, "physics", "test");
        s.req.licenses = spelled[i];
        uint64_t id = submit(s);
        assert_int_equal(state(id), JOB_PENDING);
        assert_string_equal(reason(id), "QOSGrpLicense");
        cancel(ids_of(id));
    }
}

/* So does the partition whose QOS holds its jobs. */
static void partitions_in_any_spelling(void **unused)
{
    static const char *const spelled[] = {"two", " two", "two ", "two,\ttwo", " two , two"};
    assert_int_equal(limit_set("qos test", "GrpTRES=cpu=2"), REFUSE_NONE);
    for (size_t i = 0; i < ARRAY_LEN(spelled); i++) {
        struct job_spec s = job_of(3, "physics", "normal");
        s.req.partition = spelled[i];
        uint64_t id = submit(s);
        assert_string_equal(reason(id), "QOSGrpCpuLimit");
        assert_int_equal(state(id), JOB_PENDING);
        cancel(ids_of(id));
    }
}

#define GOT(function) cmocka_unit_test_setup_teardown(function, got_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        GOT(a_type_asked_for_in_any_way), GOT(the_rest_of_a_whole_node),
        GOT(on_a_node_and_in_minutes),    GOT(a_type_that_it_did_not_name),
        GOT(nodes_that_it_might_have),    GOT(nodes_that_are_too_few),
        GOT(licences_in_any_spelling),    GOT(partitions_in_any_spelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
