/* Where jobs go: cores, memory, devices, whole nodes, constraints, layouts. */
#include "sched_help.h"

#include "model/limits.h"

#include <malloc.h>

struct world {
    struct cluster *cl;
    struct plan *plan;
};

static struct world world_make(void)
{
    struct world w = {cluster_new(), plan_new()};
    return w;
}

static void world_end(struct world *w)
{
    cluster_check(w->cl);
    plan_free(w->plan);
    cluster_free(w->cl);
}

/* Plans with one job in the queue and returns its allocation as text. */
static const char *where(struct world *w, struct job_request req)
{
    if (!req.partition)
        req.partition = "main";
    if (!req.time_limit_us)
        req.time_limit_us = HOUR;
    queue_job(w->cl, 1, &req);
    sched_plan(w->cl, NOW, NULL, w->plan);
    const char *text = alloc_text(w->plan, 1);
    cluster_unwait(w->cl, 1);
    return text;
}

/* The same, and the job runs from now on as `id`. */
static const char *runs(struct world *w, uint64_t id, struct job_request req)
{
    const char *text = where(w, req);
    if (w->plan->nstarts) {
        req.partition = req.partition ? req.partition : "main";
        cluster_start(w->cl, id, &req, 1000, w->plan->start[0].partition, &w->plan->start[0].alloc,
                      NOW, NOW + HOUR);
    }
    return text;
}

static void cores_and_memory(void **state)
{
    struct world w = world_make();
    put_nodes(w.cl, "n[1-2]", a_node(NULL));
    struct partition p = a_part("main", "n[1-2]");
    put_part(w.cl, &p);
    assert_string_equal(
        runs(&w, 11, (struct job_request){.cpus_per_task = 3, .mem_per_node_mib = 5000}),
        "n1 cpus=0-2 mem=5000 tasks=1");
    /* Packed beside the first; the rest of its memory would not do for this one. */
    assert_string_equal(runs(&w, 12, (struct job_request){.ntasks = 2, .mem_per_node_mib = 3000}),
                        "n1 cpus=4-5 mem=3000 tasks=2");
    assert_string_equal(runs(&w, 13, (struct job_request){.mem_per_cpu_mib = 100, .ntasks = 4}),
                        "n2 cpus=0-3 mem=400 tasks=4");
    /* No memory asked: its share of the node by CPUs. */
    assert_string_equal(where(&w, (struct job_request){.ntasks = 1}), "n2 cpus=4 mem=1000 tasks=1");
    assert_string_equal(where(&w, (struct job_request){.mem_per_node_mib = MEM_ALL}), "");
    cluster_release(w.cl, 13);
    assert_string_equal(where(&w, (struct job_request){.mem_per_node_mib = MEM_ALL}),
                        "n2 cpus=0 mem=8000 tasks=1");
    world_end(&w);
}

static void threads_go_by_cores(void **state)
{
    struct world w = world_make();
    struct node n = a_node(NULL);
    n.cpus = 16;
    n.threads_per_core = 2;
    put_nodes(w.cl, "n1", n);
    struct partition p = a_part("main", "ALL");
    put_part(w.cl, &p);
    assert_string_equal(runs(&w, 11, (struct job_request){.cpus_per_task = 3}),
                        "n1 cpus=0-3 mem=2000 tasks=1");
    assert_string_equal(
        runs(&w, 12, (struct job_request){.cpus_per_task = 2, .threads_per_core = 1}),
        "n1 cpus=4-7 mem=2000 tasks=1");
    assert_string_equal(where(&w, (struct job_request){.ntasks = 3, .ntasks_per_core = 1}),
                        "n1 cpus=8-13 mem=3000 tasks=3");
    world_end(&w);
}

static void devices(void **state)
{
    struct world w = world_make();
    struct node n = a_node(NULL);
    n.gres = "gpu:v100:4";
    n.devices =
        "gpu:v100:0:16384:0-3:;gpu:v100:1:16384:0-3:;gpu:v100:2:16384:4-7:;gpu:v100:3:16384:4-7:";
    put_nodes(w.cl, "v[1-2]", n);
    n.gres = "gpu:a100:2,nic:3";
    n.devices = NULL;
    put_nodes(w.cl, "a1", n);
    struct partition p = a_part("main", "ALL");
    put_part(w.cl, &p);
    assert_string_equal(runs(&w, 11, (struct job_request){.gres = "gpu:v100:1"}),
                        "v1 cpus=0 mem=1000 tasks=1 gpu:v100=0");
    /* A pair that lies together, and cores beside it. */
    assert_string_equal(
        runs(&w, 12, (struct job_request){.gres = "gpu:v100:2", .cpus_per_task = 2}),
        "v1 cpus=4-5 mem=2000 tasks=1 gpu:v100=2-3");
    assert_string_equal(where(&w, (struct job_request){.gres = "gpu:V100:2"}),
                        "v2 cpus=0 mem=1000 tasks=1 gpu:v100=0-1");
    /* Untyped: one type for all nodes. */
    assert_string_equal(
        where(&w, (struct job_request){.gpus_per_node = "1", .min_nodes = 2}),
        "v1 cpus=1 mem=1000 tasks=1 gpu:v100=1; v2 cpus=0 mem=1000 tasks=1 gpu:v100=0");
    assert_string_equal(where(&w, (struct job_request){.gpus_per_node = "2", .min_nodes = 2}), "");
    assert_string_equal(where(&w, (struct job_request){.gpus_per_node = "a100|v100:2"}),
                        "a1 cpus=0 mem=1000 tasks=1 gpu:a100=0-1");
    assert_string_equal(where(&w, (struct job_request){.gres = "nic:2"}),
                        "a1 cpus=0 mem=1000 tasks=1 nic=#2");
    /* Equal options merge. */
    assert_string_equal(where(&w, (struct job_request){.gres = "gpu:4", .gpus_per_node = "v100:4"}),
                        "v2 cpus=0 mem=1000 tasks=1 gpu:v100=0-3");
    assert_string_equal(
        where(&w, (struct job_request){.gpus = "v100:5"}),
        "v1 cpus=1 mem=1000 tasks=1 gpu:v100=1; v2 cpus=0 mem=1000 tasks=1 gpu:v100=0-3");
    assert_string_equal(where(&w, (struct job_request){.gpus = "4",
                                                       .ntasks = 2,
                                                       .cpus_per_gpu = 1,
                                                       .mem_per_gpu_mib = 500}),
                        "v2 cpus=0-3 mem=2000 tasks=2 gpu:v100=0-3");
    assert_string_equal(
        where(&w,
              (struct job_request){
                  .gpus_per_task = "1", .ntasks = 2, .min_nodes = 2, .gpu_mem_mib = 16000}),
        "v1 cpus=1 mem=1000 tasks=1 gpu:v100=1; v2 cpus=0 mem=1000 tasks=1 gpu:v100=0");
    world_end(&w);
}

static void whole_nodes(void **state)
{
    struct world w = world_make();
    put_nodes(w.cl, "n[1-2]", a_node(NULL));
    struct partition p = a_part("main", "ALL");
    put_part(w.cl, &p);
    p = a_part("excl", "ALL");
    p.share = SHARE_EXCLUSIVE;
    put_part(w.cl, &p);
    assert_string_equal(runs(&w, 11, (struct job_request){.ntasks = 1}),
                        "n1 cpus=0 mem=1000 tasks=1");
    assert_string_equal(runs(&w, 12, (struct job_request){.exclusive = EXCLUSIVE_NODE}),
                        "n2 cpus=0-7 mem=8000 tasks=1");
    assert_string_equal(where(&w, (struct job_request){.partition = "excl"}), "");
    cluster_release(w.cl, 11);
    assert_string_equal(
        where(&w, (struct job_request){.partition = "excl", .ntasks = 2, .mem_per_node_mib = 100}),
        "n1 cpus=0-7 mem=100 tasks=2");
    world_end(&w);
}

static void layouts(void **state)
{
    struct world w = world_make();
    put_nodes(w.cl, "n[1-4]", a_node(NULL));
    struct partition p = a_part("main", "ALL");
    put_part(w.cl, &p);
    assert_string_equal(where(&w, (struct job_request){.min_nodes = 2, .ntasks_per_node = 3}),
                        "n1 cpus=0-2 mem=3000 tasks=3; n2 cpus=0-2 mem=3000 tasks=3");
    assert_string_equal(where(&w, (struct job_request){.min_nodes = 2, .ntasks = 5}),
                        "n1 cpus=0-3 mem=4000 tasks=4; n2 cpus=0 mem=1000 tasks=1");
    assert_string_equal(where(&w, (struct job_request){.ntasks = 10}),
                        "n1 cpus=0-7 mem=8000 tasks=8; n2 cpus=0-1 mem=2000 tasks=2");
    assert_string_equal(where(&w, (struct job_request){.ntasks = 4, .ntasks_per_node = 2}),
                        "n1 cpus=0-1 mem=2000 tasks=2; n2 cpus=0-1 mem=2000 tasks=2");
    assert_string_equal(where(&w, (struct job_request){.min_nodes = 2,
                                                       .max_nodes = 9,
                                                       .exclusive = EXCLUSIVE_NODE,
                                                       .mem_per_node_mib = 1}),
                        "n[1-4] cpus=0-7 mem=1 tasks=1");
    assert_string_equal(
        where(&w, (struct job_request){.ntasks = 20, .overcommit = true, .mem_per_node_mib = 1}),
        "n1 cpus=0 mem=1 tasks=20");
    assert_string_equal(where(&w, (struct job_request){.ntasks = 20,
                                                       .min_nodes = 2,
                                                       .cpus_per_task = 3,
                                                       .overcommit = true,
                                                       .mem_per_node_mib = 1}),
                        "n1 cpus=0-2 mem=1 tasks=10; n2 cpus=0-2 mem=1 tasks=10");
    /* Whole nodes have no more CPUs than they have. */
    assert_string_equal(where(&w, (struct job_request){.ntasks = 9,
                                                       .exclusive = EXCLUSIVE_NODE,
                                                       .mem_per_node_mib = 1}),
                        "n1 cpus=0-7 mem=1 tasks=8; n2 cpus=0-7 mem=1 tasks=1");
    runs(&w, 11, (struct job_request){.nodelist = "n2", .cpus_per_task = 8});
    assert_string_equal(where(&w, (struct job_request){.min_nodes = 2, .contiguous = true}),
                        "n3 cpus=0 mem=1000 tasks=1; n4 cpus=0 mem=1000 tasks=1");
    assert_string_equal(
        where(&w, (struct job_request){.nodelist = "n4", .exclude = "n1", .min_nodes = 2}),
        "n3 cpus=0 mem=1000 tasks=1; n4 cpus=0 mem=1000 tasks=1");
    assert_string_equal(where(&w, (struct job_request){.min_nodes = 3, .contiguous = true}), "");
    cluster_release(w.cl, 11);
    assert_string_equal(where(&w, (struct job_request){.nodelist = "n3",
                                                       .min_nodes = 2,
                                                       .max_nodes = 3,
                                                       .contiguous = true}),
                        "n2 cpus=0 mem=1000 tasks=1; n3 cpus=0 mem=1000 tasks=1");
    world_end(&w);
}

static void features_and_weights(void **state)
{
    struct world w = world_make();
    struct node n = a_node(NULL);
    n.weight = 5;
    n.features = "intel,rack1";
    put_nodes(w.cl, "n[1-2]", n);
    n.weight = 1;
    n.features = "amd,rack2";
    put_nodes(w.cl, "n[3-4]", n);
    struct partition p = a_part("main", "ALL");
    put_part(w.cl, &p);
    assert_string_equal(where(&w, (struct job_request){.ntasks = 1}), "n3 cpus=0 mem=1000 tasks=1");
    assert_string_equal(where(&w, (struct job_request){.constraint = "intel&rack1"}),
                        "n1 cpus=0 mem=1000 tasks=1");
    assert_string_equal(where(&w, (struct job_request){.constraint = "(intel|amd)&rack2"}),
                        "n3 cpus=0 mem=1000 tasks=1");
    assert_string_equal(where(&w, (struct job_request){.constraint = "intel&rack2"}), "");
    assert_string_equal(
        where(&w, (struct job_request){.constraint = "[rack1|rack2]", .min_nodes = 3}), "");
    assert_string_equal(
        where(&w, (struct job_request){.constraint = "[rack1|rack2]", .min_nodes = 2}),
        "n1 cpus=0 mem=1000 tasks=1; n2 cpus=0 mem=1000 tasks=1");
    assert_string_equal(
        where(&w, (struct job_request){.constraint = "rack1*1", .min_nodes = 3}),
        "n1 cpus=0 mem=1000 tasks=1; n3 cpus=0 mem=1000 tasks=1; n4 cpus=0 mem=1000 tasks=1");
    assert_string_equal(
        where(&w, (struct job_request){.constraint = "[rack1*2&rack2*1]", .min_nodes = 3}),
        "n1 cpus=0 mem=1000 tasks=1; n2 cpus=0 mem=1000 tasks=1; n3 cpus=0 mem=1000 tasks=1");
    /* Where nothing else says how many nodes, the counts do. */
    assert_string_equal(where(&w, (struct job_request){.constraint = "rack1*2&(intel|amd)"}),
                        "n1 cpus=0 mem=1000 tasks=1; n2 cpus=0 mem=1000 tasks=1");
    assert_string_equal(where(&w, (struct job_request){.constraint = "rack1*2&(intel|amd)*2"}),
                        "n1 cpus=0 mem=1000 tasks=1; n2 cpus=0 mem=1000 tasks=1");
    assert_string_equal(
        where(&w, (struct job_request){.constraint = "[rack1*2&rack2*1]"}),
        "n1 cpus=0 mem=1000 tasks=1; n2 cpus=0 mem=1000 tasks=1; n3 cpus=0 mem=1000 tasks=1");
    assert_string_equal(where(&w, (struct job_request){.constraint = "rack1*2|rack2*1"}),
                        "n3 cpus=0 mem=1000 tasks=1");
    assert_string_equal(where(&w, (struct job_request){.constraint = "rack1*5"}), "");
    assert_string_equal(where(&w, (struct job_request){.constraint = "rack1*2147483647"}), "");
    assert_string_equal(where(&w, (struct job_request){.constraint = "[rack1*2147483647&rack2*9]"}),
                        "");
    assert_string_equal(where(&w, (struct job_request){.constraint = "rack1*2", .max_nodes = 1}),
                        "");
    world_end(&w);
}

static void sharing(void **state)
{
    struct world w = world_make();
    put_nodes(w.cl, "n1", a_node(NULL));
    struct partition p = a_part("main", "ALL");
    put_part(w.cl, &p);
    p = a_part("forced", "ALL");
    p.share = SHARE_FORCE;
    p.share_count = 2;
    put_part(w.cl, &p);
    struct job_request wide = {.partition = "forced", .cpus_per_task = 6, .mem_per_node_mib = 100};
    assert_string_equal(runs(&w, 11, wide), "n1 cpus=0-5 mem=100 tasks=1");
    assert_string_equal(runs(&w, 12, wide), "n1 cpus=0-3,6-7 mem=100 tasks=1");
    assert_string_equal(where(&w, wide), "");
    assert_string_equal(where(&w, (struct job_request){.mem_per_node_mib = 100}), "");
    cluster_release(w.cl, 12);
    assert_string_equal(where(&w, (struct job_request){.mem_per_node_mib = 100}),
                        "n1 cpus=6 mem=100 tasks=1");
    world_end(&w);
}

static void suspension_frees_cpus(void **state)
{
    struct world w = world_make();
    put_nodes(w.cl, "n1", a_node(NULL));
    struct partition p = a_part("main", "ALL");
    put_part(w.cl, &p);
    struct job_request all = {.cpus_per_task = 8, .mem_per_node_mib = 5000};
    runs(&w, 11, all);
    assert_string_equal(where(&w, (struct job_request){.mem_per_node_mib = 2000}), "");
    cluster_suspend(w.cl, 11, true);
    assert_string_equal(runs(&w, 12, (struct job_request){.mem_per_node_mib = 2000}),
                        "n1 cpus=0 mem=2000 tasks=1");
    assert_string_equal(where(&w, (struct job_request){.mem_per_node_mib = 2000}), "");
    cluster_suspend(w.cl, 11, false);
    cluster_check(w.cl);
    assert_string_equal(where(&w, (struct job_request){.mem_per_node_mib = 10}), "");
    world_end(&w);
}

static void a_node_that_shrinks(void **state)
{
    struct world w = world_make();
    put_nodes(w.cl, "n1", a_node(NULL));
    struct partition p = a_part("main", "ALL");
    put_part(w.cl, &p);
    runs(&w, 11, (struct job_request){.cpus_per_task = 6, .mem_per_node_mib = 5000});
    struct node n = a_node("n1");
    n.cpus = n.cores_per_socket = 4;
    n.sockets = 1;
    n.memory_mib = 4000;
    put_node(w.cl, &n);
    assert_string_equal(where(&w, (struct job_request){.mem_per_node_mib = 10}), "");
    struct node_use use;
    cluster_node_use(w.cl, "n1", &use, NULL);
    assert_int_equal(use.cpus, 6);
    assert_int_equal(use.mem_mib, 5000);
    cluster_release(w.cl, 11);
    assert_string_equal(where(&w, (struct job_request){.mem_per_node_mib = 10}),
                        "n1 cpus=0 mem=10 tasks=1");
    world_end(&w);
}

static void partial_release(void **state)
{
    struct world w = world_make();
    put_nodes(w.cl, "n[1-2]", a_node(NULL));
    struct partition p = a_part("main", "ALL");
    put_part(w.cl, &p);
    runs(&w, 11, (struct job_request){.min_nodes = 2, .cpus_per_task = 8});
    cluster_release_node(w.cl, 11, "n2");
    assert_true(cluster_is_running(w.cl, 11));
    assert_string_equal(where(&w, (struct job_request){.ntasks = 1}), "n2 cpus=0 mem=1000 tasks=1");
    cluster_release_node(w.cl, 11, "n1");
    assert_false(cluster_is_running(w.cl, 11));
    world_end(&w);
}

/* 0-3 and 1-2 are linked. */
static void linked_devices_go_together(void **state)
{
    (void)state;
    struct world w = world_make();
    struct node n = a_node(NULL);
    struct partition p = a_part("main", "ALL");
    n.gres = "gpu:a100:4";
    n.devices = "gpu:a100:0::::|links=3;gpu:a100:1::::|links=2;gpu:a100:2::::|links=1;gpu:a100:3:::"
                ":|links=0";
    put_nodes(w.cl, "v1", n);
    put_part(w.cl, &p);
    /* A pair, not the first two; then what leaves the other pair whole has none to leave. */
    assert_string_equal(runs(&w, 11, (struct job_request){.gres = "gpu:2"}),
                        "v1 cpus=0 mem=1000 tasks=1 gpu:a100=0,3");
    assert_string_equal(where(&w, (struct job_request){.gres = "gpu:2"}),
                        "v1 cpus=1 mem=1000 tasks=1 gpu:a100=1-2");
    cluster_release(w.cl, 11);
    /* Single ones use up a pair that is broken already. */
    assert_string_equal(runs(&w, 12, (struct job_request){.gres = "gpu:1"}),
                        "v1 cpus=0 mem=1000 tasks=1 gpu:a100=0");
    assert_string_equal(where(&w, (struct job_request){.gres = "gpu:1"}),
                        "v1 cpus=1 mem=1000 tasks=1 gpu:a100=3");
    assert_string_equal(where(&w, (struct job_request){.gres = "gpu:3"}),
                        "v1 cpus=1 mem=1000 tasks=1 gpu:a100=1-3");
    world_end(&w);
}

/* So many devices on a node; the first is linked with the last, and each is near CPU 0. */
static struct node many_devices(struct arena *a, int n)
{
    struct node node = a_node(NULL);
    struct str text = STR_INIT;
    for (int i = 0; i < n; i++)
        str_addf(&text, "%sgpu:a100:%d::0::|links=%d", i ? ";" : "", i, i ? 0 : n - 1);
    node.gres = arena_printf(a, "gpu:a100:%d", n);
    node.devices = arena_strdup(a, str_text(&text));
    str_done(&text);
    return node;
}

/* What a node says: a thousand devices on a million CPUs had a byte for each of both (1 GB), gone
 * through for each job, and links of a thousand were a thousand sets grown from a thousand. */
static void more_than_a_machine_has_lies_nowhere(void **state)
{
    (void)state;
    struct world w = world_make();
    struct arena *a = arena_new();
    struct partition p = a_part("main", "ALL");
    put_nodes(w.cl, "v1", many_devices(a, LIMIT_LINKED_DEVICES));
    put_part(w.cl, &p);
    assert_string_equal(where(&w, (struct job_request){.gres = "gpu:2"}),
                        "v1 cpus=0 mem=1000 tasks=1 gpu:a100=0,63");
    put_nodes(w.cl, "v1", many_devices(a, LIMIT_LINKED_DEVICES + 1));
    assert_string_equal(where(&w, (struct job_request){.gres = "gpu:2"}),
                        "v1 cpus=0 mem=1000 tasks=1 gpu:a100=0-1");
    struct node large = many_devices(a, 400);
    large.cpus = 1 << 20;
    large.sockets = large.cores_per_socket = large.threads_per_core = 0;
    struct mallinfo2 before = mallinfo2();
    put_nodes(w.cl, "v1", large);
    struct mallinfo2 after = mallinfo2();
    assert_true(after.uordblks + after.hblkhd < before.uordblks + before.hblkhd + (100u << 20));
    assert_string_equal(where(&w, (struct job_request){.gres = "gpu:1"}),
                        "v1 cpus=0 mem=0 tasks=1 gpu:a100=0");
    arena_free(a);
    world_end(&w);
}

static void devices_that_are_out_are_given_to_nobody(void **state)
{
    (void)state;
    struct world w = world_make();
    struct node n = a_node(NULL);
    struct partition p = a_part("main", "ALL");
    n.gres = "gpu:v100:3";
    n.devices_out = "gpu:1:unproven:5:process 9 holds it";
    put_nodes(w.cl, "v1", n);
    put_part(w.cl, &p);
    assert_string_equal(where(&w, (struct job_request){.gres = "gpu:2"}),
                        "v1 cpus=0 mem=1000 tasks=1 gpu:v100=0,2");
    assert_string_equal(where(&w, (struct job_request){.exclusive = EXCLUSIVE_NODE}),
                        "v1 cpus=0-7 mem=8000 tasks=1 gpu:v100=0,2");
    assert_string_equal(where(&w, (struct job_request){.gres = "gpu:3"}), "");
    /* Who has it keeps it; when he ends it is still out. */
    n.devices_out = NULL;
    put_nodes(w.cl, "v1", n);
    assert_string_equal(runs(&w, 11, (struct job_request){.gres = "gpu:2"}),
                        "v1 cpus=0 mem=1000 tasks=1 gpu:v100=0-1");
    n.devices_out = "gpu:1:failed:5:XID 79";
    put_nodes(w.cl, "v1", n);
    cluster_check(w.cl);
    cluster_release(w.cl, 11);
    assert_string_equal(where(&w, (struct job_request){.gres = "gpu:2"}),
                        "v1 cpus=0 mem=1000 tasks=1 gpu:v100=0,2");
    n.devices_out = NULL;
    put_nodes(w.cl, "v1", n);
    assert_string_equal(where(&w, (struct job_request){.gres = "gpu:3"}),
                        "v1 cpus=0 mem=1000 tasks=1 gpu:v100=0-2");
    cluster_check(w.cl);
    world_end(&w);
}

static void node_use_names_devices(void **state)
{
    struct world w = world_make();
    struct node n = a_node(NULL);
    n.gres = "gpu:v100:4";
    put_nodes(w.cl, "n1", n);
    struct partition p = a_part("main", "ALL");
    put_part(w.cl, &p);
    runs(&w, 11, (struct job_request){.gres = "gpu:2", .cpus_per_task = 2});
    struct node_use use;
    struct str gres = STR_INIT;
    cluster_node_use(w.cl, "n1", &use, &gres);
    assert_string_equal(str_text(&gres), "gpu:v100:2(IDX:0-1)");
    assert_int_equal(use.cpus, 2);
    assert_int_equal(use.jobs, 1);
    str_done(&gres);
    world_end(&w);
}

static void nodes_for_one_user(void **state)
{
    struct world w = world_make();
    put_nodes(w.cl, "n[1-2]", a_node(NULL));
    struct partition p = a_part("main", "ALL");
    put_part(w.cl, &p);
    struct job_request own = {.exclusive = EXCLUSIVE_USER, .cpus_per_task = 2};
    assert_string_equal(runs(&w, 11, own), "n1 cpus=0-1 mem=2000 tasks=1");
    assert_string_equal(runs(&w, 12, own), "n1 cpus=2-3 mem=2000 tasks=1");
    assert_string_equal(runs(&w, 13, (struct job_request){.cpus_per_task = 2}),
                        "n2 cpus=0-1 mem=2000 tasks=1");
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_and_memory),
        cmocka_unit_test(threads_go_by_cores),
        cmocka_unit_test(devices),
        cmocka_unit_test(whole_nodes),
        cmocka_unit_test(layouts),
        cmocka_unit_test(features_and_weights),
        cmocka_unit_test(sharing),
        cmocka_unit_test(suspension_frees_cpus),
        cmocka_unit_test(a_node_that_shrinks),
        cmocka_unit_test(partial_release),
        cmocka_unit_test(linked_devices_go_together),
        cmocka_unit_test(more_than_a_machine_has_lies_nowhere),
        cmocka_unit_test(devices_that_are_out_are_given_to_nobody),
        cmocka_unit_test(node_use_names_devices),
        cmocka_unit_test(nodes_for_one_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
