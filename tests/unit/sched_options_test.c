/* Options and partition settings that shape what a job gets on a node, and have no test elsewhere:
 * one line each. */
#include "sched_alone.h"

static void what_nodes_must_have(void **state)
{
    struct node small = a_node(NULL), big = a_node(NULL);
    big.cpus = 32;
    big.sockets = 4;
    big.cores_per_socket = 4;
    big.threads_per_core = 2;
    big.tmp_disk_mib = 5000;
    struct world w = world_make(small, "a1", a_part("main", "ALL"));
    put_nodes(w.cl, "b1", big);
    struct partition p = a_part("main", "ALL");
    put_part(w.cl, &p);
    struct job_request wants[] = {
        {.sockets_per_node = 4},
        {.threads_per_core = 2, .cpus_per_task = 4},
        {.tmp_disk_mib = 2000},
        {.min_cpus_per_node = 12},
    };
    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        wants[i].mem_per_node_mib = 10;
        assert_true(text_starts(runs(&w, i + 1, wants[i]), "b1 "));
    }
    /* --mincpus is what it gets there, too. */
    assert_string_equal(alloc_text(w.plan, 4), "b1 cpus=8-19 mem=10 tasks=1");
    assert_string_equal(runs(&w, 9, (struct job_request){.cores_per_socket = 5}), "");
    world_end(&w);
}

static void threads_and_hints(void **state)
{
    struct node n = a_node(NULL);
    n.cpus = 16;
    n.threads_per_core = 2;
    struct world w = world_make(n, "n1", a_part("main", "ALL"));
    assert_string_equal(
        runs(&w, 1, (struct job_request){.cpus_per_task = 2, .mem_per_node_mib = 1}),
        "n1 cpus=0-1 mem=1 tasks=1");
    assert_string_equal(runs(&w, 2,
                             (struct job_request){.cpus_per_task = 2,
                                                  .hint = HINT_NOMULTITHREAD,
                                                  .mem_per_node_mib = 1}),
                        "n1 cpus=2-5 mem=1 tasks=1");
    assert_string_equal(runs(&w, 3,
                             (struct job_request){
                                 .cpus_per_task = 2, .threads_per_core = 1, .mem_per_node_mib = 1}),
                        "n1 cpus=8-11 mem=1 tasks=1");
    world_end(&w);
}

static void amounts_for_each_gpu(void **state)
{
    struct node n = a_node(NULL);
    n.gres = "gpu:v100:4";
    struct partition p = a_part("main", "ALL");
    p.def_cpu_per_gpu = 2;
    p.def_mem_per_gpu_mib = 300;
    struct world w = world_make(n, "n1", p);
    /* The partition's defaults, and what the job says instead. */
    assert_string_equal(runs(&w, 1, (struct job_request){.gpus = "2"}),
                        "n1 cpus=0-3 mem=600 tasks=1 gpu:v100=0-1");
    assert_string_equal(
        runs(&w, 2, (struct job_request){.gpus = "1", .cpus_per_gpu = 1, .mem_per_gpu_mib = 50}),
        "n1 cpus=4 mem=50 tasks=1 gpu:v100=2");
    world_end(&w);
}

/* A centre has a table: so many cores and so much memory come with each kind of GPU. */
static void amounts_for_each_type_of_gpu(void **state)
{
    struct node n = a_node(NULL);
    n.gres = "gpu:a100:2,gpu:t4:2";
    struct partition p = a_part("main", "ALL");
    p.def_cpu_per_gpu = 1;
    p.def_cpu_per_gpu_types = "a100=3";
    p.def_mem_per_gpu_mib = 200;
    p.def_mem_per_gpu_types = "A100=1500";
    struct world w = world_make(n, "n1", p);
    assert_string_equal(runs(&w, 1, (struct job_request){.gpus = "a100:1"}),
                        "n1 cpus=0-2 mem=1500 tasks=1 gpu:a100=0");
    assert_string_equal(runs(&w, 2, (struct job_request){.gpus = "t4:2"}),
                        "n1 cpus=4-5 mem=400 tasks=1 gpu:t4=2-3");
    assert_string_equal(
        runs(&w, 3,
             (struct job_request){.gpus = "a100:1", .cpus_per_gpu = 1, .mem_per_gpu_mib = 50}),
        "n1 cpus=3 mem=50 tasks=1 gpu:a100=1");
    world_end(&w);
}

/* GPUs for each task beside those of the node are the same GPUs. */
static void gpus_of_tasks_are_those_of_the_node(void **state)
{
    struct node n = a_node(NULL);
    n.gres = "gpu:v100:4";
    struct world w = world_make(n, "n1", a_part("main", "ALL"));
    assert_string_equal(runs(&w, 1,
                             (struct job_request){.gpus = "4",
                                                  .gpus_per_node = "4",
                                                  .gpus_per_task = "2",
                                                  .ntasks = 2,
                                                  .ntasks_per_node = 2,
                                                  .min_nodes = 1,
                                                  .max_nodes = 1,
                                                  .mem_per_node_mib = 1}),
                        "n1 cpus=0-1 mem=1 tasks=2 gpu:v100=0-3");
    world_end(&w);
}

static void several_kinds_of_resources(void **state)
{
    struct node n = a_node(NULL);
    n.gres = "gpu:a100:2,nic:2,fpga:1";
    struct world w = world_make(n, "n1", a_part("main", "ALL"));
    assert_string_equal(
        runs(&w, 1, (struct job_request){.gres = "gpu:a100:1,nic:2", .mem_per_node_mib = 1}),
        "n1 cpus=0 mem=1 tasks=1 gpu:a100=0 nic=#2");
    assert_string_equal(
        runs(&w, 2, (struct job_request){.gres = "gpu:1,nic:1", .mem_per_node_mib = 1}), "");
    assert_string_equal(
        runs(&w, 3, (struct job_request){.gres = "gpu:1,fpga:1", .mem_per_node_mib = 1}),
        "n1 cpus=1 mem=1 tasks=1 gpu:a100=1 fpga=#1");
    world_end(&w);
}

static void who_may_share_a_node(void **state)
{
    struct partition p = a_part("main", "ALL"), open = a_part("open", "ALL");
    p.exclusive_user = true;
    open.is_default = false;
    struct world w = world_make(a_node(NULL), "n1", p);
    put_part(w.cl, &open);
    assert_string_equal(runs(&w, 1, (struct job_request){.mem_per_node_mib = 1}),
                        "n1 cpus=0 mem=1 tasks=1");
    assert_string_equal(runs(&w, 2, (struct job_request){.mem_per_node_mib = 1}),
                        "n1 cpus=1 mem=1 tasks=1");
    struct waiting other = {
        .job_id = 3, .uid = 2000, .elements = 1, .submit_us = NOW, .eligible_us = NOW};
    struct job_request req = {.partition = "open", .mem_per_node_mib = 1, .time_limit_us = HOUR};
    other.req = &req;
    cluster_wait(w.cl, &other);
    sched_plan(w.cl, NOW, NULL, w.plan);
    assert_int_equal(w.plan->nstarts, 0);
    world_end(&w);
}

/* A reservation that draws a job changes where it runs, not when. */
static void drawn_jobs_run_inside_where_it_holds_them(void **state)
{
    struct world w = world_make(a_node(NULL), "n[1-2]", a_part("main", "ALL"));
    struct reservation r = {.name = "mag",
                            .start_us = NOW - HOUR,
                            .end_us = NOW + HOUR,
                            .nodes = "n2",
                            .flags = RESV_MAGNETIC | RESV_SPEC_NODES};
    cluster_put_reservation(w.cl, &r);
    struct job_request req = {.partition = "main", .ntasks = 1, .mem_per_node_mib = 1};
    struct waiting job = {.req = &req,
                          .uid = 1000,
                          .elements = 1,
                          .submit_us = NOW,
                          .eligible_us = NOW,
                          .magnets = "mag"};
    static const struct {
        int64_t limit_us;
        const char *magnets, *reservation, *node;
    } rows[] = {
        {HOUR / 2, "mag", "mag", "n2"}, {2 * HOUR, "mag", NULL, "n1"},
        {HOUR / 2, NULL, NULL, "n1"},   {HOUR / 2, "gone,mag", "mag", "n2"},
        {0, "mag", NULL, "n1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        job.job_id = i + 1;
        job.magnets = rows[i].magnets;
        req.time_limit_us = rows[i].limit_us;
        cluster_wait(w.cl, &job);
        sched_plan(w.cl, NOW, NULL, w.plan);
        const struct plan_start *s = start_of(w.plan, job.job_id);
        assert_non_null(s);
        assert_string_equal(s->alloc.node[0].node, rows[i].node);
        assert_true(text_is(s->reservation, rows[i].reservation));
        cluster_unwait(w.cl, job.job_id);
    }
    world_end(&w);
}

/* The nodes of job `id`, planned alone in a cluster whose nodes n1 … have these features. */
static const char *neighbours_with(const char *const *features, size_t n, struct job_request req,
                                   uint64_t id)
{
    static char names[256];
    struct world w = world_make(a_node(NULL), "n1", a_part("main", "ALL"));
    for (size_t i = 0; i < n; i++) {
        char name[32];
        struct node one = a_node(name);
        snprintf(name, sizeof name, "n%zu", i + 1);
        one.features = features[i];
        put_node(w.cl, &one);
    }
    struct partition p = a_part("main", "ALL");
    put_part(w.cl, &p);
    req.contiguous = true;
    (void)runs(&w, id, req);
    const struct plan_start *s = start_of(w.plan, id);
    names[0] = '\0';
    for (size_t i = 0; s && i < s->alloc.n; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? " " : "",
                 s->alloc.node[i].node);
    world_end(&w);
    return names;
}

static void neighbours_with_counted_features(void **state)
{
    static const char *const side[] = {"", "", "a", "b", "b"}, *const apart[] = {"a", "", "b", "b"};
    struct job_request two = {.min_nodes = 2, .constraint = "a*1&b*1"}, more = two, both = two;
    more.min_nodes = 2, more.max_nodes = 4;
    both.constraint = "b*2";
    assert_string_equal(neighbours_with(side, 5, two, 1), "n3 n4");
    assert_string_equal(neighbours_with(side, 5, both, 1), "n4 n5");
    assert_string_equal(neighbours_with(apart, 4, more, 1), "n1 n2 n3");
    assert_string_equal(neighbours_with(apart, 4, two, 1), "");
    struct world w = world_make(a_node(NULL), "n1", a_part("main", "ALL"));
    struct node n = a_node(NULL);
    n.features = "a";
    put_nodes(w.cl, "n[1,3]", n);
    n.features = "b";
    put_nodes(w.cl, "n[4-5]", n);
    n.features = "";
    put_nodes(w.cl, "n2", n);
    struct partition p = a_part("main", "ALL");
    put_part(w.cl, &p);
    struct str why = STR_INIT;
    struct job_request never = {.partition = "main",
                                .min_nodes = 3,
                                .max_nodes = 3,
                                .contiguous = true,
                                .constraint = "a*2&b*2"};
    assert_true(sched_check(w.cl, &never, 1000, "users", NULL, &why) != REFUSE_NONE);
    never.constraint = "a*1&b*2";
    assert_int_equal(sched_check(w.cl, &never, 1000, "users", NULL, &why), REFUSE_NONE);
    str_done(&why);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nodes_must_have),
        cmocka_unit_test(threads_and_hints),
        cmocka_unit_test(amounts_for_each_gpu),
        cmocka_unit_test(amounts_for_each_type_of_gpu),
        cmocka_unit_test(gpus_of_tasks_are_those_of_the_node),
        cmocka_unit_test(several_kinds_of_resources),
        cmocka_unit_test(who_may_share_a_node),
        cmocka_unit_test(neighbours_with_counted_features),
        cmocka_unit_test(drawn_jobs_run_inside_where_it_holds_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
