/* How many nodes a waiting job is shown with: the fewest that its CPUs and GPUs can be on. */
#include "core_help.h"

#include "model/job/job_counts.h"

#include <time.h>

#define CLUSTER                                                                                    \
    "ClusterName=test\nGresTypes=gpu\n"                                                            \
    "NodeName=n[1-4] CPUs=8 RealMemory=8000 Gres=gpu:a100:4\n"                                     \
    "NodeName=c[1-4] CPUs=16 RealMemory=8000\n"                                                    \
    "PartitionName=main Nodes=n[1-4] Default=YES State=UP\n"                                       \
    "PartitionName=all Nodes=n[1-4],c[1-4] State=UP\n"

static const struct waiting_case {
    const char *what;
    struct job_request req;
    int32_t nodes;
} cases[] = {
    {"nothing asked", {0}, 1},
    {"as many tasks as a node has CPUs", {.ntasks = 8}, 1},
    {"one more", {.ntasks = 9}, 2},
    {"of several CPUs", {.ntasks = 8, .cpus_per_task = 3}, 3},
    {"GPUs of one node", {.gpus = "4"}, 1},
    {"GPUs of two", {.gpus = "5"}, 2},
    {"by type", {.gpus = "a100:8"}, 2},
    {"no more nodes than allowed", {.gpus = "a100:8", .min_nodes = 1, .max_nodes = 4}, 2},
    {"more than needed are asked", {.gpus = "8", .min_nodes = 3}, 3},
    {"for each task", {.ntasks = 6, .gpus_per_task = "2"}, 3},
    {"CPUs need more nodes than GPUs", {.ntasks = 16, .cpus_per_task = 2, .gpus = "8"}, 4},
    {"on each node", {.gpus_per_node = "4", .min_nodes = 2}, 2},
    {"the largest node counts", {.ntasks = 17, .partition = "all"}, 2},
    {"of both kinds", {.ntasks = 16, .gpus = "16", .partition = "all"}, 4},
};

static void as_few_nodes_as_can_be(void **unused)
{
    configure(CLUSTER);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_spec spec = a_job("waits");
        const char *partition = spec.req.partition;
        spec.req = cases[i].req;
        spec.req.time_limit_us = 60 * MIN;
        if (!spec.req.partition)
            spec.req.partition = partition;
        spec.hold = true;
        const struct job *shown = job(submit(spec));
        if (job_nodes(shown) != cases[i].nodes)
            fail_msg("%s: %d nodes, not %d", cases[i].what, job_nodes(shown), cases[i].nodes);
    }
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void row_count(void *ctx, const void *record)
{
    (void)record;
    ++*(size_t *)ctx;
}

/* With others about a part of a reading is short: each went through all nodes of the partition. */
static void nodes_are_gone_through_once_a_reading(void **unused)
{
    enum { JOBS = 1000 };
    (void)unused;
    configure("ClusterName=test\nGresTypes=gpu\nNodeName=n[1-5000] CPUs=8 RealMemory=8000 "
              "Gres=gpu:a100:4\nPartitionName=main Nodes=n[1-5000] Default=YES State=UP\n");
    w.fills = true;
    for (int i = 0; i < JOBS; i++) {
        struct job_spec spec = a_job("waits");
        spec.req.gpus = "4";
        spec.hold = true;
        if (!submit(spec))
            fail_msg("%s", answer()->detail);
    }
    w.fills = false;
    struct msg_query q = {.what = QUERY_JOBS};
    struct query_at at = {0};
    struct str detail = STR_INIT;
    size_t shown = 0;
    struct view v = {row_count, &shown};
    double began = cpu_seconds();
    do
        assert_int_equal(core_query_part(w.c, &q, &w.peer, w.now, &v, &detail, &at, 1),
                         REFUSE_NONE);
    while (at.more);
    assert_true(cpu_seconds() - began < 1);
    core_query_end(&at);
    assert_int_equal(shown, JOBS);
    str_done(&detail);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(nodes_are_gone_through_once_a_reading),
        STORY(as_few_nodes_as_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
