/* Components of a heterogeneous job that fit beside each other in one way alone. */
#include "sched_help.h"

struct world {
    struct cluster *cl;
    struct plan *plan;
};

static struct world world_begin(void)
{
    return (struct world){cluster_of_factors(), plan_new()};
}

static void node_put(struct world *w, struct node n, int64_t mem, const char *gres, int32_t weight)
{
    n.memory_mib = mem;
    n.gres = gres;
    n.weight = weight;
    put_node(w->cl, &n);
}

static struct node two_threads(const char *name)
{
    struct node n = a_node(name);
    n.cpus = 16;
    n.threads_per_core = 2;
    return n;
}

/* Where component `id` starts, as "n1 n3"; "" if it does not. Static buffer. */
static const char *nodes_of(const struct world *w, uint64_t id)
{
    static char text[256];
    const struct plan_start *s = start_of(w->plan, id);
    text[0] = '\0';
    for (size_t i = 0; s && i < s->alloc.n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "",
                 s->alloc.node[i].node);
    return text;
}

/* Components 1 … n come, in a partition of all nodes, and start. */
static void all_start(struct world *w, enum part_share share, struct job_request *req, size_t n)
{
    struct partition p = a_part("main", "ALL");
    p.share = share;
    put_part(w->cl, &p);
    for (size_t i = 0; i < n; i++) {
        struct waiting job = {.job_id = 1 + i,
                              .het_job_id = 1,
                              .het_size = (uint32_t)n,
                              .req = &req[i],
                              .uid = 1000,
                              .elements = 1,
                              .submit_us = NOW,
                              .eligible_us = NOW};
        req[i].partition = "main";
        req[i].time_limit_us = HOUR;
        cluster_wait(w->cl, &job);
    }
    sched_plan(w->cl, NOW, NULL, w->plan);
    assert_int_equal(w->plan->nstarts, n);
}

static void world_end(struct world *w)
{
    cluster_check(w->cl);
    plan_free(w->plan);
    cluster_free(w->cl);
}

/* The GPU is taken where it is cheapest, in the middle of the neighbours; they are the first four,
 * with all nodes that have one. */
static void neighbours_and_a_gpu(void **state)
{
    struct world w = world_begin();
    struct job_request req[] = {
        {.min_nodes = 4, .exclusive = EXCLUSIVE_NODE, .contiguous = true},
        {.gpus_per_node = "a100:1"},
    };
    node_put(&w, a_node("n1"), 5000, "gpu:a100:4", 2);
    node_put(&w, a_node("n2"), 1000, NULL, 1);
    node_put(&w, two_threads("n3"), 2000, "gpu:a100:2,gpu:v100:2", 1);
    node_put(&w, two_threads("n4"), 2000, "gpu:a100:2,gpu:v100:2", 1);
    node_put(&w, a_node("n5"), 1000, NULL, 1);
    all_start(&w, SHARE_NO, req, 2);
    assert_string_equal(nodes_of(&w, 1), "n2 n3 n4 n5");
    assert_string_equal(nodes_of(&w, 2), "n1");
    world_end(&w);
}

/* Three nodes and two of four: the only one with room for both has to be shared. */
static void one_node_is_shared(void **state)
{
    struct world w = world_begin();
    struct job_request req[] = {
        {.min_nodes = 3, .mem_per_node_mib = 978, .cpus_per_task = 1},
        {.min_nodes = 2, .ntasks = 4, .mem_per_node_mib = 886},
    };
    node_put(&w, a_node("n1"), 1000, NULL, 1);
    node_put(&w, a_node("n2"), 1000, NULL, 1);
    node_put(&w, two_threads("n4"), 2000, "gpu:a100:2,gpu:v100:2", 1);
    node_put(&w, a_node("n5"), 1000, NULL, 1);
    all_start(&w, SHARE_NO, req, 2);
    assert_non_null(strstr(nodes_of(&w, 1), "n4"));
    assert_non_null(strstr(nodes_of(&w, 2), "n4"));
    world_end(&w);
}

/* Two whole nodes, and one of the two that have the GPUs. */
static void whole_nodes_leave_the_gpus(void **state)
{
    struct world w = world_begin();
    struct job_request req[] = {
        {.ntasks = 12, .cpus_per_task = 2},
        {.gpus = "a100|v100:2"},
    };
    node_put(&w, two_threads("n1"), 2000, "gpu:a100:1,gpu:v100:2", 1);
    node_put(&w, two_threads("n2"), 2000, NULL, 1);
    node_put(&w, two_threads("n3"), 2000, "gpu:a100:1,gpu:v100:2", 1);
    all_start(&w, SHARE_EXCLUSIVE, req, 2);
    assert_non_null(strstr(nodes_of(&w, 1), "n2"));
    world_end(&w);
}

/* Three, and the whole nodes of two of them are just those that are left by the third. */
static void three_components(void **state)
{
    struct world w = world_begin();
    struct job_request req[] = {
        {.min_nodes = 3, .contiguous = true},
        {.min_nodes = 2, .contiguous = true},
        {.gpus_per_node = "1"},
    };
    node_put(&w, a_node("n1"), 1000, NULL, 1);
    node_put(&w, a_node("n2"), 1000, NULL, 1);
    node_put(&w, a_node("n3"), 1000, "gpu:1", 1);
    node_put(&w, a_node("n4"), 1000, "gpu:1", 1);
    node_put(&w, a_node("n5"), 1000, NULL, 1);
    node_put(&w, a_node("n6"), 1000, NULL, 1);
    all_start(&w, SHARE_EXCLUSIVE, req, 3);
    assert_string_equal(nodes_of(&w, 3), "n3");
    assert_string_equal(nodes_of(&w, 1), "n4 n5 n6");
    world_end(&w);
}

/* Twelve that go anywhere come first, and twelve that go on half of the nodes alone: each of these
 * would have to be moved before all of those, which are alike. */
static void many_alike_stand_back_together(void **state)
{
    (void)state;
    struct world w = world_begin();
    struct job_request req[24] = {{0}};
    char name[24][8];
    for (int i = 0; i < 24; i++) {
        snprintf(name[i], sizeof name[i], "n%02d", i + 1);
        node_put(&w, a_node(name[i]), i < 12 ? 16000 : 4000, NULL, 1);
    }
    for (size_t i = 0; i < 24; i++) {
        req[i].exclusive = EXCLUSIVE_NODE;
        req[i].mem_per_node_mib = i < 12 ? 1000 : 9000;
    }
    all_start(&w, SHARE_NO, req, 24);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_and_a_gpu),           cmocka_unit_test(one_node_is_shared),
        cmocka_unit_test(whole_nodes_leave_the_gpus),     cmocka_unit_test(three_components),
        cmocka_unit_test(many_alike_stand_back_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
