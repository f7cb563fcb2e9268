/* What partitions, features and switches say about which nodes a job gets. */
#include "sched_help.h"

#include "model/settings/topology.h"
#include "sched/books/state.h"

/* ---- partitions and constraints ---- */

static struct cluster *cl;
static struct plan *plan;

static int setup(void **state)
{
    cl = cluster_new();
    plan = plan_new();
    return 0;
}

static int teardown(void **state)
{
    plan_free(plan);
    cluster_free(cl);
    return 0;
}

static const char *where(uint64_t id, struct job_request req)
{
    static char nodes[256];
    struct budget b = {0};
    if (!req.partition)
        req.partition = "main";
    if (!req.mem_per_node_mib)
        req.mem_per_node_mib = 1;
    queue_job(cl, id, &req);
    sched_plan(cl, NOW, &b, plan);
    const struct plan_start *s = start_of(plan, id);
    nodes[0] = '\0';
    for (size_t i = 0; s && i < s->alloc.n; i++)
        snprintf(nodes + strlen(nodes), sizeof nodes - strlen(nodes), "%s%s", i ? "," : "",
                 s->alloc.node[i].node);
    if (s)
        cluster_start(cl, id, &req, 1000, "main", &s->alloc, NOW, NOW + HOUR);
    cluster_unwait(cl, id);
    return nodes;
}

static void features(const char *names, const char *list)
{
    struct node n = a_node(NULL);
    n.features = list;
    put_nodes(cl, names, n);
}

static void what_is_preferred(void **state)
{
    features("n[1-2]", "slow");
    features("n3", "slow,fast");
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    assert_string_equal(where(1, (struct job_request){.ntasks = 8, .prefer = "fast"}), "n3");
    assert_string_equal(where(2, (struct job_request){.ntasks = 8, .prefer = "fast"}),
                        "n1"); /* liked, not needed */
    assert_string_equal(
        where(3, (struct job_request){.ntasks = 8, .prefer = "fast", .constraint = "fast"}), "");
    assert_string_equal(where(4, (struct job_request){.ntasks = 8, .prefer = "none"}), "n2");
}

static void constraints(void **state)
{
    features("a[1-2]", "x,rack1");
    features("b[1-2]", "y,rack2");
    features("c1", "x,y,rack2");
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    assert_string_equal(
        where(1, (struct job_request){.min_nodes = 1, .ntasks = 8, .constraint = "x&y"}), "c1");
    assert_string_equal(
        where(2, (struct job_request){.min_nodes = 2, .ntasks = 16, .constraint = "[rack1|rack2]"}),
        "a1,a2");
    assert_string_equal(where(3, (struct job_request){.min_nodes = 2,
                                                      .max_nodes = 2,
                                                      .ntasks = 4,
                                                      .constraint = "x&(rack1|rack2)"}),
                        "");
    cluster_release(cl, 1);
    cluster_release(cl, 2);
    assert_string_equal(
        where(4, (struct job_request){.min_nodes = 3, .max_nodes = 3, .constraint = "[x*2&y*1]"}),
        "a1,a2,b1");
}

/* Each cost 80 KB, and time, on ten thousand nodes for ever. What a job holds keeps its name. */
static void types_that_nobody_has_any_more_are_forgotten(void **state)
{
    struct node n = a_node("n1"), busy = a_node("n2");
    struct partition p = a_part("main", "ALL");
    busy.gres = "gpu:first:2";
    put_node(cl, &busy);
    put_node(cl, &n);
    put_part(cl, &p);
    assert_string_equal(where(1, (struct job_request){.gpus = "first:1"}), "n2");
    for (int i = 0; i < 1000; i++) {
        char gres[64];
        snprintf(gres, sizeof gres, "gpu:t%d:1,gpu:u%d:1", i, i);
        n.gres = gres;
        busy.gres = i % 2 ? "gpu:first:2" : NULL;
        put_node(cl, &n);
        put_node(cl, &busy);
        assert_string_equal(where(2, (struct job_request){.gpus = "first:2"}), "");
        snprintf(gres, sizeof gres, "u%d:1", i);
        assert_string_equal(where(3, (struct job_request){.gpus = gres}), "n1");
        cluster_release(cl, 3);
        assert_in_range(cl->dim.n, DIM_GRES + 3, 200);
    }
    assert_string_equal(where(4, (struct job_request){.gpus = "first:1"}), "n2");
    cluster_release(cl, 1);
    assert_string_equal(where(5, (struct job_request){.gpus = "first:1"}), "n2");
}

static void memory_of_gpus_and_types(void **state)
{
    struct node n = a_node("small");
    n.gres = "gpu:a40:2";
    n.devices = "gpu:a40:0:24000::;gpu:a40:1:24000::";
    put_node(cl, &n);
    n.name = "large";
    n.gres = "gpu:a100:2";
    n.devices = "gpu:a100:0:80000::;gpu:a100:1:80000::";
    put_node(cl, &n);
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    assert_string_equal(where(1, (struct job_request){.gpus = "1", .gpu_mem_mib = 40960}), "large");
    assert_string_equal(where(2, (struct job_request){.gpus = "1", .gpu_mem_mib = 20480}), "small");
    assert_string_equal(where(3, (struct job_request){.gpus = "a100|a40:2"}), "");
    cluster_release(cl, 2);
    assert_string_equal(where(4, (struct job_request){.gpus = "a100|a40:2"}), "small");
}

/* Types of devices get other names while jobs have the devices: what is given is given. */
static void a_device_is_the_same_by_another_name(void **state)
{
    static const struct {
        const char *gres, *devices;
    } before[] = {{"gpu:a40:2", "gpu:a40:0:24000::;gpu:a40:1:24000::"},
                  {"gpu:2", NULL},
                  {"gpu:a40:2", NULL}},
      after[] = {{"gpu:a100:2", "gpu:a100:0:24000::;gpu:a100:1:24000::"},
                 {"gpu:a100:2", NULL},
                 {"gpu:2", NULL}};
    struct partition p = a_part("main", "ALL");
    for (size_t i = 0; i < ARRAY_LEN(before); i++) {
        struct node n = a_node("n1");
        n.gres = before[i].gres;
        n.devices = before[i].devices;
        put_node(cl, &n);
        put_part(cl, &p);
        assert_string_equal(where(1, (struct job_request){.gpus = "1"}), "n1");
        n.gres = after[i].gres;
        n.devices = after[i].devices;
        put_node(cl, &n);
        put_part(cl, &p);
        assert_string_equal(where(2, (struct job_request){.gpus = "2"}), "");
        assert_string_equal(where(3, (struct job_request){.gpus = "1"}), "n1");
        assert_string_equal(where(4, (struct job_request){.gpus = "1"}), "");
        cluster_check(cl);
        cluster_release(cl, 1);
        assert_string_equal(where(5, (struct job_request){.gpus = "1"}), "n1");
        cluster_release(cl, 3);
        cluster_release(cl, 5);
        cluster_check(cl);
        assert_string_equal(where(6, (struct job_request){.gpus = "2"}), "n1");
        cluster_release(cl, 6);
    }
}

/* Two jobs that an older release gave one device, by two names of its type, are both there after a
 * start, in any order. */
static void a_device_that_two_have_by_two_names(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++) {
        struct partition p = a_part("main", "ALL");
        struct node n = a_node("n1");
        n.gres = "gpu:a100:2";
        put_node(cl, &n);
        put_part(cl, &p);
        for (int k = 0; k < 2; k++) {
            bool old = k == order;
            struct alloc_gres g = {
                .kind = "gpu", .type = old ? "a40" : "a100", .count = 1, .devices = "0"};
            struct alloc_node an = {.node = "n1",
                                    .cpus = old ? "0" : "1",
                                    .cpu_count = 1,
                                    .mem_mib = 1,
                                    .tasks = 1,
                                    .gres = &g,
                                    .ngres = 1};
            struct alloc al = {.node = &an, .n = 1};
            struct job_request req = {.partition = "main"};
            cluster_start(cl, 1 + (uint64_t)k, &req, 1000, "main", &al, NOW, NOW + HOUR);
        }
        cluster_check(cl);
        cluster_release(cl, 1);
        cluster_release(cl, 2);
        cluster_check(cl);
    }
}

/* And is promised as what it is called now. */
static void a_renamed_device_comes_free(void **state)
{
    struct partition p = a_part("main", "ALL");
    struct node n = a_node("n1");
    n.gres = "gpu:a40:2";
    put_node(cl, &n);
    put_part(cl, &p);
    assert_string_equal(where(1, (struct job_request){.gpus = "a40:2"}), "n1");
    n.gres = "gpu:a100:2";
    put_node(cl, &n);
    put_part(cl, &p);
    struct job_request req = {.partition = "main", .gpus = "a100:2", .time_limit_us = HOUR};
    struct plan_wait wait;
    queue_job(cl, 2, &req);
    sched_plan(cl, NOW, NULL, plan);
    assert_int_equal(plan->nstarts, 0);
    assert_true(plan_wait_of(plan, cl, 2, &wait));
    assert_int_equal(wait.planned_us, NOW + HOUR);
}

static void a_partition_bounds_its_cpus_on_a_node(void **state)
{
    put_nodes(cl, "n[1-2]", a_node(NULL));
    struct partition p = a_part("main", "ALL");
    p.max_cpus_per_node = 3;
    put_part(cl, &p);
    p = a_part("other", "ALL");
    put_part(cl, &p);
    assert_string_equal(where(1, (struct job_request){.ntasks = 2}), "n1");
    assert_string_equal(where(2, (struct job_request){.ntasks = 2}),
                        "n2"); /* together they would have four on n1 */
    assert_string_equal(where(3, (struct job_request){.ntasks = 1}), "n1");
    assert_string_equal(where(4, (struct job_request){.ntasks = 2}), "");
    assert_string_equal(where(5, (struct job_request){.ntasks = 5, .partition = "other"}), "n1");
}

static void least_loaded_first(void **state)
{
    put_nodes(cl, "n[1-3]", a_node(NULL));
    struct partition p = a_part("main", "ALL");
    p.lln = true;
    put_part(cl, &p);
    assert_string_equal(where(1, (struct job_request){.ntasks = 2}), "n1");
    assert_string_equal(where(2, (struct job_request){.ntasks = 1}), "n2");
    assert_string_equal(where(3, (struct job_request){.ntasks = 1}), "n3");
    assert_string_equal(where(4, (struct job_request){.ntasks = 1}), "n2");
}

static void neighbours_spread_and_few(void **state)
{
    put_nodes(cl, "n[1-6]", a_node(NULL));
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    assert_string_equal(where(1, (struct job_request){.ntasks = 8, .nodelist = "n2"}), "n2");
    assert_string_equal(where(2, (struct job_request){.min_nodes = 3,
                                                      .max_nodes = 3,
                                                      .contiguous = true,
                                                      .exclusive = EXCLUSIVE_NODE}),
                        "n3,n4,n5");
    cluster_release(cl, 2);
    assert_string_equal(where(3, (struct job_request){.ntasks = 4, .spread_job = true}),
                        "n1,n3,n4,n5");
    cluster_release(cl, 3);
    assert_string_equal(where(4, (struct job_request){.min_nodes = 2,
                                                      .max_nodes = 4,
                                                      .use_min_nodes = true,
                                                      .exclusive = EXCLUSIVE_NODE}),
                        "n1,n3");
}

static void blocks(void **state)
{
    put_nodes(cl, "n[1-8]", a_node(NULL));
    struct topo_row rows[] = {{.name = "b1", .nodes = "n[1-2]", .block = true},
                              {.name = "b2", .nodes = "n[3-4]", .block = true},
                              {.name = "b3", .nodes = "n[5-6]", .block = true},
                              {.name = "b4", .nodes = "n[7-8]", .block = true}};
    cluster_set_topology(cl, &(struct topology){rows, 4, "2,4"});
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    assert_string_equal(where(1, (struct job_request){.ntasks = 8, .nodelist = "n1"}), "n1");
    assert_string_equal(
        where(2, (struct job_request){.min_nodes = 2, .max_nodes = 2, .exclusive = EXCLUSIVE_NODE}),
        "n3,n4");
    assert_string_equal(
        where(3, (struct job_request){.min_nodes = 3, .max_nodes = 3, .exclusive = EXCLUSIVE_NODE}),
        "n5,n6,n7");
}

/* Whose time of insisting on few switches is over does without, though an equal request before it
 * insists still. */
static void who_insists_no_more_is_not_kept_by_equals(void **state)
{
    struct topo_row rows[] = {{.name = "s1", .nodes = "n[1-2]"},
                              {.name = "s2", .nodes = "n[3-4]"},
                              {.name = "top", .switches = "s[1-2]"}};
    struct partition p = a_part("main", "ALL");
    put_nodes(cl, "n[1-4]", a_node(NULL));
    cluster_set_topology(cl, &(struct topology){rows, ARRAY_LEN(rows), NULL});
    put_part(cl, &p);
    where(1, (struct job_request){.ntasks = 8, .nodelist = "n1", .time_limit_us = HOUR});
    where(2, (struct job_request){.ntasks = 8, .nodelist = "n3", .time_limit_us = HOUR});
    struct job_request near = nodes_whole(2, MIN);
    near.switches = 1;
    struct waiting insists = {.job_id = 3,
                              .req = &near,
                              .uid = 1000,
                              .elements = 1,
                              .priority_asked = 2000,
                              .submit_us = NOW,
                              .eligible_us = NOW},
                   over = insists, new = insists;
    over.job_id = 4;
    over.uid = 1001;
    over.priority_asked = 1000;
    over.submit_us = over.eligible_us = NOW - HOUR;
    new.job_id = 5;
    new.uid = 1002;
    new.priority_asked = 500;
    cluster_wait(cl, &insists);
    cluster_wait(cl, &over);
    cluster_wait(cl, &new);
    sched_plan(cl, NOW, NULL, plan);
    assert_null(start_of(plan, 3));
    assert_null(start_of(plan, 5));
    const struct plan_start *s = start_of(plan, 4);
    assert_non_null(s);
    assert_string_equal(s->alloc.node[0].node, "n2");
    assert_string_equal(s->alloc.node[1].node, "n4");
}

/* Of many candidates, in whatever order: those of the least weight, which are few of them, most or
 * all. */
static void the_best_of_many(void **state)
{
    enum { NODES = 211 };
    for (int i = 0; i < NODES; i++) {
        char name[8];
        struct node n = a_node(NULL);
        n.weight = 1 + i * 57 % NODES; /* each once */
        snprintf(name, sizeof name, "n%d", i);
        put_nodes(cl, name, n);
    }
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    static const int counts[] = {1, 2, 17, 100, 194, 210, 211};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        struct job_request req = {.min_nodes = counts[c],
                                  .max_nodes = counts[c],
                                  .exclusive = EXCLUSIVE_NODE,
                                  .mem_per_node_mib = 1,
                                  .partition = "main"};
        queue_job(cl, c + 1, &req);
        sched_plan(cl, NOW, &(struct budget){0}, plan);
        const struct plan_start *s = start_of(plan, c + 1);
        assert_non_null(s);
        assert_int_equal(s->alloc.n, counts[c]);
        for (size_t i = 0; i < s->alloc.n; i++)
            assert_true(atoi(s->alloc.node[i].node + 1) * 57 % NODES < counts[c]);
        cluster_unwait(cl, c + 1);
    }
}

static void one_node_in(enum node_state state)
{
    struct node n = a_node("n1");
    n.state = state;
    put_node(cl, &n);
    sched_plan(cl, NOW + HOUR, NULL, plan);
}

/* A long job was promised the node, which goes away and comes back; one that is short, and would
 * otherwise go first, has come meanwhile. */
static void who_was_promised_a_start_goes_first_when_its_node_is_back(void **state)
{
    struct settings set = {0};
    struct partition p = a_part("main", "ALL");
    struct job_request busy = {.partition = "main", .ntasks = 8, .time_limit_us = 10 * HOUR},
                       promised = {.partition = "main", .ntasks = 8, .time_limit_us = 20 * HOUR},
                       brief = {.partition = "main", .ntasks = 8, .time_limit_us = MIN};
    struct plan_wait two = {0};
    put_nodes(cl, "n1", a_node(NULL));
    put_part(cl, &p);
    setting_words_default(&set.word);
    put_setting(&set, "SchedulerParameters", "promises=all,order=sjf");
    cluster_set_policy(cl, &set);
    queue_job(cl, 1, &busy);
    sched_plan(cl, NOW, NULL, plan);
    assert_non_null(start_of(plan, 1));
    cluster_start(cl, 1, &busy, 1000, "main", &start_of(plan, 1)->alloc, NOW, NOW + 10 * HOUR);
    cluster_unwait(cl, 1);
    queue_job(cl, 2, &promised);
    sched_plan(cl, NOW, NULL, plan);
    assert_true(plan_wait_of(plan, cl, 2, &two));
    assert_int_equal(two.planned_us, NOW + 10 * HOUR);
    cluster_release(cl, 1);
    one_node_in(NODE_DOWN);
    queue_job(cl, 3, &brief);
    one_node_in(NODE_DOWN);
    assert_int_equal(plan->nstarts, 0);
    one_node_in(NODE_UP);
    assert_int_equal(plan->nstarts, 1);
    assert_non_null(start_of(plan, 2));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(what_is_preferred),
        T(constraints),
        T(types_that_nobody_has_any_more_are_forgotten),
        T(memory_of_gpus_and_types),
        T(a_device_is_the_same_by_another_name),
        T(a_renamed_device_comes_free),
        T(a_device_that_two_have_by_two_names),
        T(a_partition_bounds_its_cpus_on_a_node),
        T(least_loaded_first),
        T(neighbours_spread_and_few),
        T(blocks),
        T(who_insists_no_more_is_not_kept_by_equals),
        T(the_best_of_many),
        T(who_was_promised_a_start_goes_first_when_its_node_is_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
