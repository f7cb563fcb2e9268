/* What is refused at submission, and in which words. */
#include "sched_help.h"

#include "model/limits.h"

static struct cluster *cl;

static int setup(void **state)
{
    cl = cluster_new();
    struct node n = a_node(NULL);
    n.gres = "gpu:v100:4";
    n.features = "intel,ib";
    put_nodes(cl, "v[1-3]", n);
    n.gres = NULL;
    n.features = "amd";
    n.memory_mib = 64000;
    put_nodes(cl, "c[1-2]", n);
    struct partition p = a_part("gpu", "v[1-3]");
    p.max_time_us = 24 * HOUR;
    p.max_nodes = 2;
    put_part(cl, &p);
    p = a_part("cpu", "c[1-2]");
    p.is_default = false;
    put_part(cl, &p);
    return 0;
}

static int teardown(void **state)
{
    cluster_free(cl);
    return 0;
}

static void refuses(struct job_request req, enum refusal r, const char *words)
{
    struct str detail = STR_INIT;
    assert_string_equal(refusal_text(sched_check(cl, &req, 1000, "users", NULL, &detail)),
                        refusal_text(r));
    if (!strstr(str_text(&detail), words))
        fail_msg("\"%s\" does not say \"%s\"", str_text(&detail), words);
    str_done(&detail);
}

static void takes(struct job_request req)
{
    struct str detail = STR_INIT;
    enum job_reason pend;
    if (sched_check(cl, &req, 1000, "users", &pend, &detail) != REFUSE_NONE)
        fail_msg("refused: %s", str_text(&detail));
    assert_int_equal(pend, REASON_NONE);
    str_done(&detail);
}

/* Each is within its own range; their product is not. */
static void more_memory_than_can_be_counted_is_refused(void **state)
{
    struct job_request req = {
        .ntasks = 1, .cpus_per_task = LIMIT_CPUS_PER_NODE, .mem_per_cpu_mib = FIELD_MIB_MAX};
    struct str detail = STR_INIT;
    assert_int_not_equal(sched_check(cl, &req, 1000, "users", NULL, &detail), REFUSE_NONE);
    req = (struct job_request){.ntasks = LIMIT_TASKS,
                               .min_cpus_per_node = LIMIT_CPUS_PER_NODE,
                               .mem_per_cpu_mib = FIELD_MIB_MAX};
    assert_int_not_equal(sched_check(cl, &req, 1000, "users", NULL, &detail), REFUSE_NONE);
    req = (struct job_request){.gpus = "1000", .mem_per_gpu_mib = FIELD_MIB_MAX};
    assert_int_not_equal(sched_check(cl, &req, 1000, "users", NULL, &detail), REFUSE_NONE);
    str_done(&detail);
}

static void names_are_suggested(void **state)
{
    refuses((struct job_request){.partition = "gpus"}, REFUSE_INVALID_PARTITION,
            "there is no partition \"gpus\"; did you mean gpu?");
    refuses((struct job_request){.partition = "zebra"}, REFUSE_INVALID_PARTITION,
            "there are: gpu, cpu");
    refuses((struct job_request){.constraint = "inte"}, REFUSE_FEATURE, "did you mean intel?");
    refuses((struct job_request){.gres = "gpu:v10:1"}, REFUSE_GRES, "did you mean gpu:v100?");
    refuses((struct job_request){.licenses = "matlab"}, REFUSE_LICENSES,
            "this cluster has no licence named matlab");
    refuses((struct job_request){.nodelist = "v9"}, REFUSE_INVALID_NODE, "there is no node v9");
    refuses((struct job_request){.constraint = "intel&"}, REFUSE_FEATURE,
            "a feature name is missing at position 7");
    refuses((struct job_request){.constraint = "[[intel]|ib]"}, REFUSE_FEATURE,
            "brackets are in brackets at position 2");
}

static void the_default_partition_is_filled_in(void **state)
{
    struct job_request req = {0};
    assert_int_equal(sched_check(cl, &req, 1000, NULL, NULL, NULL), REFUSE_NONE);
    assert_string_equal(req.partition, "gpu");
}

static void the_nearest_is_named(void **state)
{
    refuses((struct job_request){.gres = "gpu:v100:8"}, REFUSE_NODE_CONFIG,
            "the nearest are v[1-3] with 4 gpu:v100 (8 asked)");
    refuses((struct job_request){.mem_per_node_mib = 32000}, REFUSE_NODE_MEMORY,
            "it needs 1 node with 1 CPU and 32000 MiB of memory; partition gpu has no such node: "
            "the nearest "
            "are v[1-3] with 8000 MiB of "
            "memory (32000 asked)");
    refuses((struct job_request){.partition = "cpu", .min_nodes = 3}, REFUSE_NODE_CONFIG,
            "partition cpu has 2 such nodes");
    refuses((struct job_request){.constraint = "amd"}, REFUSE_NODE_CONFIG,
            "the nearest are v[1-3] with the features intel,ib");
}

/* Of who says nothing of nodes; each has a task. */
static void counts_of_features_are_numbers_of_nodes(void **state)
{
    struct job_request req = {.constraint = "intel*2", .ntasks = 1};
    takes(req);
    assert_int_equal(sched_check(cl, &req, 1000, "users", NULL, NULL), REFUSE_NONE);
    assert_int_equal(req.ntasks, 2);
    assert_int_equal(req.min_nodes, 2);
    assert_int_equal(req.max_nodes, 0);
    req = (struct job_request){.constraint = "[intel*1&ib*1]"};
    assert_int_equal(sched_check(cl, &req, 1000, "users", NULL, NULL), REFUSE_NONE);
    assert_true(req.ntasks == 0 && req.min_nodes == 2 && req.max_nodes == 2);
    req = (struct job_request){.constraint = "intel*2", .min_nodes = 1, .max_nodes = 1};
    assert_int_not_equal(sched_check(cl, &req, 1000, "users", NULL, NULL), REFUSE_NONE);
    req = (struct job_request){.constraint = "intel*2147483647", .ntasks = 1};
    assert_int_not_equal(sched_check(cl, &req, 1000, "users", NULL, NULL), REFUSE_NONE);
    assert_int_equal(req.ntasks, 1);
}

/* What is said is what was asked for, and what there is of it. */
static void what_was_asked_is_named(void **state)
{
    struct node n = a_node(NULL);
    n.gres = "gpu:a100:2";
    n.cpus = 16;
    n.cores_per_socket = 8;
    n.memory_mib = 64000;
    put_nodes(cl, "a[1-4]", n);
    n.gres = "gpu:v100:2";
    put_nodes(cl, "w[1-4]", n);
    struct partition p = a_part("mixed", "a[1-4],w[1-4]");
    p.is_default = false;
    put_part(cl, &p);
    /* Two of the four asked for are nearer than none, wherever they stand in the list. */
    refuses((struct job_request){.partition = "mixed", .gres = "gpu:v100:4"}, REFUSE_NODE_CONFIG,
            "no such node: the nearest are w[1-4] with 2 gpu:v100 (4 asked)");
    /* Where nodes were named, these lack something; those that are excluded are not near. */
    refuses((struct job_request){.partition = "mixed", .gres = "gpu:v100:4", .nodelist = "a[1-2]"},
            REFUSE_NODE_CONFIG, "the ones asked for are a[1-2] with no gpu:v100 (4 asked)");
    refuses((struct job_request){.partition = "mixed", .gres = "gpu:v100:2", .nodelist = "a1"},
            REFUSE_NODE_CONFIG,
            "partition mixed has 4 such nodes and the node list a1 must be among them; the one "
            "asked for is a1 with no gpu:v100 (2 asked)");
    refuses((struct job_request){.partition = "mixed", .gres = "gpu:v100:4", .exclude = "w[1-4]"},
            REFUSE_NODE_CONFIG, "the nearest are a[1-4] with no gpu:v100 (4 asked)");
    refuses((struct job_request){.partition = "mixed", .exclude = "w[1-4],a[1-4]"},
            REFUSE_NODE_CONFIG, "the nearest are a[1-4],w[1-4], which --exclude leaves out");
    refuses((struct job_request){.partition = "mixed", .gres = "gpu:4"}, REFUSE_NODE_CONFIG,
            "it needs 1 node with 1 CPU and 4 gpu; partition mixed has no such node: the nearest "
            "are a[1-4] with 2 gpu:a100 (4 asked)");
    refuses((struct job_request){.partition = "mixed", .ntasks = 16, .gpus_per_task = "1"},
            REFUSE_NODE_CONFIG,
            "it needs 16 tasks on 1 to 16 nodes, each with 1 CPU and 1 gpu; partition mixed has "
            "room for 8 of them: 4 such nodes with 64 CPUs and 8 gpu:a100 in all (all gpu of a job "
            "are of one type)");
    refuses(
        (struct job_request){.partition = "mixed", .min_nodes = 6, .max_nodes = 6, .gres = "gpu:1"},
        REFUSE_NODE_CONFIG,
        "it needs 6 nodes with 1 CPU and 1 gpu each; partition mixed has 4 such nodes (all gpu "
        "of a job are of one type)");
    refuses((struct job_request){.partition = "mixed", .gpus = "v100:10"}, REFUSE_NODE_CONFIG,
            "it needs 10 gpu:v100 on 1 to 10 nodes, each with 1 CPU and 1 gpu:v100; partition "
            "mixed has room for 8 of them: 4 such nodes with 64 CPUs and 8 gpu:v100 in all");
    refuses((struct job_request){.partition = "mixed", .ntasks = 200}, REFUSE_NODE_CONFIG,
            "it needs 200 tasks on 1 to 200 nodes, each with 1 CPU; partition mixed has room for "
            "128 of them: 8 such nodes with 128 CPUs in all");
    refuses(
        (struct job_request){.partition = "mixed", .ntasks = 100, .min_nodes = 2, .max_nodes = 2},
        REFUSE_NODE_CONFIG,
        "it needs 100 tasks on 2 nodes, each with 1 CPU; partition mixed has room for 32 of "
        "them on 2 nodes");
    refuses(
        (struct job_request){.partition = "mixed", .ntasks = 100, .min_nodes = 1, .max_nodes = 1},
        REFUSE_NODE_CPUS,
        "it needs 1 node with 100 CPUs; partition mixed has no such node: the nearest are "
        "a[1-4],w[1-4] with 16 CPUs (100 asked)");
    refuses((struct job_request){.partition = "mixed", .ntasks = 6, .gpus = "v100:9"},
            REFUSE_NODE_CONFIG, "it needs 3 times 2 tasks with 3 gpu:v100 on 1 to 3 nodes");
}

/* What no node has enough of, for itself. */
static void the_refusal_says_what_is_lacking(void **state)
{
    refuses((struct job_request){.cpus_per_task = 9}, REFUSE_NODE_CPUS, "9 CPUs");
    refuses((struct job_request){.tmp_disk_mib = 1000000}, REFUSE_NODE_DISK, "no such node");
    refuses((struct job_request){.sockets_per_node = 9}, REFUSE_NODE_SOCKETS, "no such node");
    refuses((struct job_request){.core_spec = 100}, REFUSE_NODE_CONFIG, "--core-spec leaves one");
    refuses(
        (struct job_request){.min_nodes = 1, .max_nodes = 1, .ntasks = 4, .ntasks_per_socket = 1},
        REFUSE_NODE_CONFIG, "with 4 sockets; partition");
    refuses((struct job_request){.cpus_per_task = 9, .mem_per_node_mib = 32000}, REFUSE_NODE_CPUS,
            "9 CPUs");
    assert_string_equal(refusal_text(REFUSE_NODE_CPUS), refusal_text(REFUSE_NODE_CONFIG));
    assert_string_equal(refusal_lead(REFUSE_NODE_CPUS), "CPU count per node can not be satisfied");
    assert_null(refusal_lead(REFUSE_NODE_CONFIG));
}

static void limits_of_the_partition(void **state)
{
    refuses((struct job_request){.time_limit_us = 48 * HOUR}, REFUSE_TIME_LIMIT,
            "a time limit of 2-00:00:00 was asked for; partition gpu allows 1-00:00:00");
    refuses((struct job_request){.min_nodes = 3}, REFUSE_INVALID_NODE_COUNT,
            "3 nodes were asked for; partition gpu allows a job 2");
    takes((struct job_request){.min_nodes = 2, .time_limit_us = 24 * HOUR});
    takes((struct job_request){.partition = "gpu,cpu",
                               .mem_per_node_mib = 32000}); /* one of them can */
}

static void limits_may_pend_or_clamp(void **state)
{
    struct settings s;
    struct str detail = STR_INIT;
    enum job_reason pend;
    settings_default(&s);
    s.enforce_part_limits = LIMITS_PEND;
    cluster_set_policy(cl, &s);
    struct job_request req = {.time_limit_us = 48 * HOUR};
    assert_int_equal(sched_check(cl, &req, 1000, NULL, &pend, &detail), REFUSE_NONE);
    assert_int_equal(pend, REASON_PARTITION_TIME_LIMIT);
    s.enforce_part_limits = LIMITS_CLAMP;
    cluster_set_policy(cl, &s);
    str_clear(&detail);
    assert_int_equal(sched_check(cl, &req, 1000, NULL, &pend, &detail), REFUSE_NONE);
    assert_int_equal(pend, REASON_NONE);
    assert_int_equal(req.time_limit_us, 24 * HOUR);
    assert_non_null(strstr(str_text(&detail), "the limit was set to 1-00:00:00"));
    str_done(&detail);
}

/* ALL: each partition of the list must take it; ANY: one is enough. */
static void limits_of_all_partitions(void **state)
{
    struct settings s;
    settings_default(&s);
    takes((struct job_request){.partition = "gpu,cpu", .time_limit_us = 48 * HOUR});
    s.enforce_part_limits = LIMITS_ALL;
    cluster_set_policy(cl, &s);
    refuses((struct job_request){.partition = "cpu,gpu", .time_limit_us = 48 * HOUR},
            REFUSE_TIME_LIMIT, "partition gpu allows 1-00:00:00");
    refuses((struct job_request){.partition = "gpu,cpu", .mem_per_node_mib = 32000},
            REFUSE_NODE_MEMORY, "the nearest are v[1-3]");
    takes((struct job_request){.partition = "gpu,cpu", .time_limit_us = 24 * HOUR});
}

static void who_may(void **state)
{
    struct partition p = a_part("gpu", "v[1-3]");
    p.allow_groups = "physics,bio";
    put_part(cl, &p);
    refuses((struct job_request){.partition = "gpu"}, REFUSE_PARTITION_ACCESS,
            "for members of the groups physics,bio; you are in users");
    p.allow_groups = "physics,users";
    put_part(cl, &p);
    takes((struct job_request){.partition = "gpu"});
    p.state = PART_DRAIN;
    put_part(cl, &p);
    refuses((struct job_request){.partition = "gpu"}, REFUSE_PARTITION_DOWN,
            "partition gpu is drained and takes no new jobs");
}

static void accounts_and_qos(void **state)
{
    struct partition p = a_part("gpu", "v[1-3]");
    p.allow_accounts = "chem,bio";
    p.deny_accounts = "bio"; /* moot beside a list that allows */
    put_part(cl, &p);
    refuses((struct job_request){.partition = "gpu"}, REFUSE_ACCOUNT,
            "is for the accounts chem,bio; the job names none: add --account");
    refuses((struct job_request){.partition = "gpu", .account = "math"}, REFUSE_ACCOUNT,
            "the job has math");
    takes((struct job_request){.partition = "gpu", .account = "bio"});
    p = a_part("gpu", "v[1-3]");
    p.deny_qos = "scavenge";
    p.deny_accounts = "bio";
    put_part(cl, &p);
    refuses((struct job_request){.partition = "gpu", .qos = "scavenge"}, REFUSE_QOS,
            "is not for the QOS scavenge");
    refuses((struct job_request){.partition = "gpu", .account = "bio"}, REFUSE_ACCOUNT,
            "is not for the accounts bio");
    takes((struct job_request){.partition = "gpu", .qos = "normal"});
    p.deny_qos = NULL;
    p.allow_qos = "normal";
    put_part(cl, &p);
    refuses((struct job_request){.partition = "gpu"}, REFUSE_QOS, "add --qos");
    p.allow_qos = "ALL";
    p.req_resv = true;
    put_part(cl, &p);
    refuses((struct job_request){.partition = "gpu"}, REFUSE_RESERVATION,
            "name one with --reservation");
}

static void memory_limits(void **state)
{
    struct settings s;
    settings_default(&s);
    s.max_mem_per_node_mib = 6000;
    s.max_mem_per_cpu_mib = 1000;
    cluster_set_policy(cl, &s);
    refuses((struct job_request){.mem_per_node_mib = 7000}, REFUSE_MEMORY,
            "7000 MiB of memory on a node were asked for; partition gpu allows a job 6000");
    takes((struct job_request){.mem_per_node_mib = 6000});
    takes((struct job_request){.mem_per_node_mib = MEM_ALL}); /* all that is allowed */
    refuses((struct job_request){.ntasks = 8,
                                 .cpus_per_task = 1,
                                 .min_nodes = 1,
                                 .max_nodes = 1,
                                 .mem_per_cpu_mib = 1500},
            REFUSE_NODE_CPUS, "12 CPUs");
    struct partition p = a_part("gpu", "v[1-3]");
    p.max_mem_per_node_mib = 8000; /* the partition's stands */
    put_part(cl, &p);
    takes((struct job_request){.mem_per_node_mib = 7000});
}

/* Who wants more memory for a CPU than MaxMemPerCPU gets more CPUs. */
static void memory_costs_cpus(void **state)
{
    struct settings s;
    settings_default(&s);
    s.max_mem_per_cpu_mib = 1000;
    cluster_set_policy(cl, &s);
    struct job_request by_node = {.partition = "gpu", .mem_per_node_mib = 2500},
                       by_cpu = {.partition = "gpu",
                                 .ntasks = 2,
                                 .mem_per_cpu_mib = 1500,
                                 .max_nodes = 1};
    struct plan *plan = plan_new();
    struct budget b = {0};
    queue_job(cl, 1, &by_node);
    queue_job(cl, 2, &by_cpu);
    sched_plan(cl, NOW, &b, plan);
    assert_string_equal(alloc_text(plan, 1), "v1 cpus=0-2 mem=2500 tasks=1");
    assert_string_equal(alloc_text(plan, 2), "v1 cpus=4-6 mem=3000 tasks=2");
    plan_free(plan);
}

static void another_partition_is_named_that_could_hold_it(void **state)
{
    refuses((struct job_request){.partition = "gpu", .mem_per_node_mib = 32000}, REFUSE_NODE_MEMORY,
            "; partition cpu could hold it");
    refuses((struct job_request){.partition = "cpu", .gres = "gpu:v100:2", .time_limit_us = HOUR},
            REFUSE_NODE_CONFIG, "; partition gpu could hold it");
    struct job_request both = {
        .partition = "cpu", .gres = "gpu:v100:2", .min_nodes = 3, .time_limit_us = HOUR};
    struct str detail = STR_INIT;
    sched_check(cl, &both, 1000, "users", NULL, &detail); /* gpu allows a job 2 nodes */
    assert_null(strstr(str_text(&detail), "could hold it"));
    str_done(&detail);
}

static void contradictions(void **state)
{
    refuses((struct job_request){.gres = "gpu:4", .gpus_per_node = "2"}, REFUSE_GRES,
            "different numbers of the same resource");
    refuses((struct job_request){.min_nodes = 4, .max_nodes = 2}, REFUSE_INVALID_NODE_COUNT,
            "below the smallest");
    refuses((struct job_request){.min_nodes = 2, .gpus = "1"}, REFUSE_GRES,
            "fewer GPUs than nodes");
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(names_are_suggested),
        T(counts_of_features_are_numbers_of_nodes),
        T(the_default_partition_is_filled_in),
        T(the_nearest_is_named),
        T(what_was_asked_is_named),
        T(the_refusal_says_what_is_lacking),
        T(limits_of_the_partition),
        T(limits_may_pend_or_clamp),
        T(who_may),
        T(another_partition_is_named_that_could_hold_it),
        T(contradictions),
        T(accounts_and_qos),
        T(more_memory_than_can_be_counted_is_refused),
        T(memory_limits),
        T(memory_costs_cpus),
        T(limits_of_all_partitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
