/* What counts of a node do not tell: sockets. Tasks, GPUs and CPUs of each socket; a node that has
 * enough of all but on the wrong socket is passed over for another. */
#include "sched_alone.h"

static void tasks_of_a_socket(void **state)
{
    struct world w = world_make(a_node(NULL), "n[1-3]", a_part("main", "ALL"));
    assert_string_equal(runs(&w, 1, (struct job_request){.ntasks = 4, .ntasks_per_socket = 1}),
                        "n1 cpus=0,4 mem=2000 tasks=2; n2 cpus=0,4 mem=2000 tasks=2");
    /* n3 has one socket left: both tasks would have to lie on it. */
    assert_string_equal(runs(&w, 2, (struct job_request){.cpus_per_task = 4, .nodelist = "n3"}),
                        "n3 cpus=0-3 mem=4000 tasks=1");
    assert_string_equal(
        runs(&w, 3,
             (struct job_request){
                 .ntasks = 2, .ntasks_per_socket = 1, .cpus_per_task = 2, .exclude = "n2"}),
        "n1 cpus=1-2,5-6 mem=4000 tasks=2");
    world_end(&w);
}

/* Two threads a core: each socket has two cores of two CPUs. Tasks are what is bounded, not CPUs:
 * two that would have room on one core lie on two sockets. */
static void tasks_of_a_socket_of_cores_with_two_threads(void **state)
{
    struct node n = a_node(NULL);
    n.cores_per_socket = 2;
    n.threads_per_core = 2;
    struct world w = world_make(n, "n[1-3]", a_part("main", "ALL"));
    struct job_request q = {.ntasks = 4, .ntasks_per_socket = 1, .mem_per_node_mib = 10};
    assert_string_equal(runs(&w, 1, q),
                        "n1 cpus=0-1,4-5 mem=10 tasks=2; n2 cpus=0-1,4-5 mem=10 tasks=2");
    /* Two on a socket share its core, unless each is to have one. */
    q = (struct job_request){
        .ntasks = 3, .ntasks_per_socket = 2, .mem_per_node_mib = 10, .nodelist = "n3"};
    assert_string_equal(runs(&w, 2, q), "n3 cpus=0-1,4-5 mem=10 tasks=3");
    q = (struct job_request){.ntasks = 2,
                             .ntasks_per_socket = 2,
                             .ntasks_per_core = 1,
                             .mem_per_node_mib = 10,
                             .nodelist = "n1,n2",
                             .min_nodes = 1,
                             .max_nodes = 2};
    assert_string_equal(runs(&w, 3, q), "n1 cpus=2-3 mem=10 tasks=1; n2 cpus=2-3 mem=10 tasks=1");
    world_end(&w);
}

static void tasks_of_a_socket_that_take_more_than_a_core(void **state)
{
    struct node n = a_node(NULL);
    n.cores_per_socket = 2;
    n.threads_per_core = 2;
    struct world w = world_make(n, "n[1-2]", a_part("main", "ALL"));
    struct job_request q = {
        .ntasks = 2, .ntasks_per_socket = 1, .cpus_per_task = 3, .mem_per_node_mib = 10};
    assert_string_equal(runs(&w, 1, q), "n1 cpus=0-7 mem=10 tasks=2");
    q.ntasks_per_socket = 2;
    q.ntasks_per_core = 1;
    q.cpus_per_task = 0;
    assert_string_equal(runs(&w, 2, q), "n2 cpus=0-3 mem=10 tasks=2");
    world_end(&w);
}

/* What is left of two sockets is enough for a task, as it is without the bound; its step is laid out
 * there (core_layout). */
static void a_task_of_a_socket_may_lie_on_two(void **state)
{
    struct world w = world_make(a_node(NULL), "n1", a_part("main", "ALL"));
    struct job_request q = {
        .ntasks = 2, .ntasks_per_socket = 1, .cpus_per_task = 2, .mem_per_node_mib = 10};
    assert_string_equal(runs(&w, 1, q), "n1 cpus=0-1,4-5 mem=10 tasks=2");
    q.ntasks = 1;
    q.cpus_per_task = 4;
    assert_string_equal(runs(&w, 2, q), "n1 cpus=2-3,6-7 mem=10 tasks=1");
    world_end(&w);
}

/* CPUs beyond those of its tasks lie where there are any. */
static void more_cpus_than_tasks_of_a_socket_need(void **state)
{
    struct world w = world_make(a_node(NULL), "n1", a_part("main", "ALL"));
    struct job_request q = {
        .ntasks = 1, .ntasks_per_socket = 1, .min_cpus_per_node = 6, .mem_per_node_mib = 10};
    assert_string_equal(runs(&w, 1, q), "n1 cpus=0-1,4-7 mem=10 tasks=1");
    world_end(&w);
}

/* Whoever has a node for himself has all CPUs of its sockets, however few of his tasks they take. */
static void a_whole_node_is_all_its_sockets(void **state)
{
    struct world w = world_make(a_node(NULL), "n1", a_part("main", "ALL"));
    assert_string_equal(runs(&w, 1,
                             (struct job_request){
                                 .ntasks = 1, .ntasks_per_socket = 1, .exclusive = EXCLUSIVE_NODE}),
                        "n1 cpus=0-7 mem=8000 tasks=1");
    world_end(&w);
}

static void a_node_whose_socket_is_taken_is_passed_over(void **state)
{
    struct node n = a_node(NULL);
    struct world w = world_make(n, "n[1-2]", a_part("main", "ALL"));
    runs(&w, 1, (struct job_request){.cpus_per_task = 4, .nodelist = "n1"});
    /* Best fit by counts is n1, where only one socket is left. */
    assert_string_equal(
        runs(&w, 2,
             (struct job_request){
                 .ntasks = 2, .ntasks_per_socket = 1, .min_nodes = 1, .max_nodes = 1}),
        "n2 cpus=0,4 mem=2000 tasks=2");
    world_end(&w);
}

static void gpus_of_a_socket(void **state)
{
    struct node n = a_node(NULL);
    n.gres = "gpu:v100:4";
    n.devices =
        "gpu:v100:0:16384:0-3:;gpu:v100:1:16384:0-3:;gpu:v100:2:16384:4-7:;gpu:v100:3:16384:4-7:";
    struct world w = world_make(n, "n[1-2]", a_part("main", "ALL"));
    struct job_request q = {.gpus_per_socket = "1",
                            .sockets_per_node = 2,
                            .ntasks = 2,
                            .ntasks_per_socket = 1,
                            .mem_per_node_mib = 10};
    assert_string_equal(runs(&w, 1, q), "n1 cpus=0,4 mem=10 tasks=2 gpu:v100=0,2");
    /* GPU 3 is left on n1, and 1: one on each. Then with two on each: n2. */
    assert_string_equal(
        runs(&w, 2,
             (struct job_request){.gpus_per_node = "1", .mem_per_node_mib = 10, .nodelist = "n1"}),
        "n1 cpus=1 mem=10 tasks=1 gpu:v100=1");
    q.min_nodes = 1;
    assert_string_equal(runs(&w, 3, q), "n2 cpus=0,4 mem=10 tasks=2 gpu:v100=0,2");
    q.gpus_per_socket = "v100:2";
    assert_string_equal(runs(&w, 4, q), "");
    world_end(&w);
}

/* Two GPUs on each of two sockets. */
static struct node two_on_each(void)
{
    struct node n = a_node(NULL);
    n.gres = "gpu:v100:4";
    n.devices =
        "gpu:v100:0:16384:0-3:;gpu:v100:1:16384:0-3:;gpu:v100:2:16384:4-7:;gpu:v100:3:16384:4-7:";
    return n;
}

/* Whoever has the node to himself gets all GPUs that are there, whatever he asks of each socket;
 * where one is broken, too. */
static void a_whole_node_is_all_gpus_of_its_sockets(void **state)
{
    struct node n = two_on_each();
    struct partition alone = a_part("main", "ALL");
    alone.share = SHARE_EXCLUSIVE;
    struct job_request q = {.gpus_per_socket = "1", .sockets_per_node = 2, .mem_per_node_mib = 10};
    struct job_request whole = q, spared = q;
    whole.exclusive = EXCLUSIVE_NODE;
    spared.core_spec = 2;
    for (int i = 0; i < 4; i++) {
        n.devices_out = i == 3 ? "gpu:1:failed:7000000:XID 79" : NULL;
        struct world w = world_make(n, "n1", i == 1 ? alone : a_part("main", "ALL"));
        assert_string_equal(runs(&w, 1,
                                 i == 0 || i == 3 ? whole
                                 : i == 1         ? q
                                                  : spared),
                            i == 2   ? "n1 cpus=0-6 mem=10 tasks=1 gpu:v100=0-3"
                            : i == 3 ? "n1 cpus=0-7 mem=10 tasks=1 gpu:v100=0,2-3"
                                     : "n1 cpus=0-7 mem=10 tasks=1 gpu:v100=0-3");
        world_end(&w);
    }
}

/* Of each type as many as are asked for of that type. */
static void gpus_of_a_socket_by_type(void **state)
{
    struct node n = a_node(NULL);
    n.gres = "gpu:a:2,gpu:b:4";
    n.devices = "gpu:a:0:16384:0-3:;gpu:b:1:16384:0-3:;gpu:b:2:16384:0-3:;gpu:a:3:16384:4-7:;"
                "gpu:b:4:16384:4-7:;gpu:b:5:16384:4-7:";
    struct world w = world_make(n, "n1", a_part("main", "ALL"));
    struct job_request q = {
        .gpus_per_socket = "a:1,b:1", .sockets_per_node = 2, .mem_per_node_mib = 10};
    assert_string_equal(runs(&w, 1, q), "n1 cpus=0 mem=10 tasks=1 gpu:a=0,3 gpu:b=1,4");
    world_end(&w);
}

static void refuses(struct world *w, struct job_request req, const char *words)
{
    struct str detail = STR_INIT;
    req.partition = "main";
    assert_int_not_equal(sched_check(w->cl, &req, 1000, "users", NULL, &detail), REFUSE_NONE);
    if (!strstr(str_text(&detail), words))
        fail_msg("\"%s\" does not say \"%s\"", str_text(&detail), words);
    str_done(&detail);
}

/* Counts would be enough; no socket has so many. */
static void more_gpus_of_a_socket_than_any_has(void **state)
{
    struct world w = world_make(two_on_each(), "n[1-2]", a_part("main", "ALL"));
    struct job_request q = {.gpus_per_socket = "3", .sockets_per_node = 1, .ntasks = 1};
    refuses(&w, q, "the nearest are n[1-2] with 2 GPUs on each of its sockets (3 asked)");
    q.exclusive = EXCLUSIVE_NODE;
    refuses(&w, q, "with 2 GPUs on each of its sockets (3 asked)");
    q.gpus_per_socket = "2";
    q.sockets_per_node = 2;
    struct str detail = STR_INIT;
    q.partition = "main";
    assert_int_equal(sched_check(w.cl, &q, 1000, "users", NULL, &detail), REFUSE_NONE);
    str_done(&detail);
    world_end(&w);
}

/* What two words ask of a type comes together on each socket, and no more is given than is counted:
 * where one says "either", of what is left of the other. */
static void gpus_of_a_socket_in_two_words(void **state)
{
    struct node n = a_node(NULL);
    n.gres = "gpu:v100:6,gpu:x:2";
    n.devices = "gpu:v100:0:16384:0-3:;gpu:v100:1:16384:0-3:;gpu:v100:2:16384:0-3:;"
                "gpu:v100:3:16384:4-7:;gpu:v100:4:16384:4-7:;gpu:v100:5:16384:4-7:;"
                "gpu:x:6:16384:0-3:;gpu:x:7:16384:4-7:";
    static const struct {
        const char *each;
        int32_t sockets;
        const char *got;
    } cases[] = {
        {"v100|v100:1,v100:2", 1, "n1 cpus=0 mem=10 tasks=1 gpu:v100=0-2"},
        {"v100|v100:1,v100:2", 2, "n1 cpus=0 mem=10 tasks=1 gpu:v100=0-5"},
        {"x|v100:1,v100:2", 2, "n1 cpus=0 mem=10 tasks=1 gpu:v100=0-5"},
        {"x|v100:1,v100:3", 2, "n1 cpus=0 mem=10 tasks=1 gpu:x=6-7 gpu:v100=0-5"},
        {"v100:2,x|v100:1", 2, "n1 cpus=0 mem=10 tasks=1 gpu:v100=0-5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct world w = world_make(n, "n1", a_part("main", "ALL"));
        struct job_request q = {.gpus_per_socket = cases[i].each,
                                .sockets_per_node = cases[i].sockets,
                                .mem_per_node_mib = 10};
        assert_string_equal(runs(&w, 1, q), cases[i].got);
        world_end(&w);
    }
}

static void checked_in(struct world *w, const char *partition, struct job_request req, bool ok)
{
    struct str detail = STR_INIT;
    req.partition = partition;
    assert_int_equal(sched_check(w->cl, &req, 1000, "users", NULL, &detail) == REFUSE_NONE, ok);
    str_done(&detail);
}

/* A device that is near any socket, or both, is left for one that has none of its own. */
static void gpus_near_several_sockets(void **state)
{
    static const char *const devices[] = {
        "gpu:v100:0:16384::;gpu:v100:1:16384:0-3:", "gpu:v100:0:16384:0-7:;gpu:v100:1:16384:0-3:",
        "gpu:v100:0:16384::;gpu:v100:1:16384:4-7:", "gpu:v100:0:16384::;gpu:v100:1:16384::"};
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        struct node n = a_node(NULL);
        n.gres = "gpu:v100:2";
        n.devices = devices[i];
        struct world w = world_make(n, "n1", a_part("main", "ALL"));
        struct job_request q = {
            .gpus_per_socket = "1", .sockets_per_node = 2, .mem_per_node_mib = 10};
        checked_in(&w, "main", q, true);
        assert_non_null(strstr(runs(&w, 1, q), " gpu:v100=0-1"));
        world_end(&w);
    }
}

/* A partition without nodes: there are no sockets to ask, of any number of GPUs. The refusal says
 * in words what was asked. */
static void gpus_of_sockets_of_no_nodes(void **state)
{
    struct node n = a_node(NULL);
    n.gres = "gpu:a:2,gpu:b:2";
    n.devices = "gpu:a:0:16384:0-3:;gpu:b:1:16384:0-3:;gpu:b:2:16384:4-7:;gpu:a:3:16384:4-7:";
    struct world w = world_make(n, "n1", a_part("main", "ALL"));
    struct partition empty = a_part("empty", "");
    empty.is_default = false;
    put_part(w.cl, &empty);
    static const char *const each[] = {"1", "b:1", "a:1,b:1", "a|b:1", "a|b:1,b:1"};
    for (size_t i = 0; i < 2 * sizeof each / sizeof each[0]; i++) {
        struct job_request q = {.gpus_per_socket = each[i / 2],
                                .gpus = i % 2 ? "b:1" : NULL,
                                .sockets_per_node = 1,
                                .ntasks = 1};
        checked_in(&w, "empty", q, false);
        checked_in(&w, "main", q, true);
    }
    world_end(&w);
}

/* The last socket gives what is left, wherever it lies: the first has one GPU, the second two. */
static void the_poorer_socket_may_come_first(void **state)
{
    struct node n = a_node(NULL);
    n.gres = "gpu:v100:3";
    n.devices = "gpu:v100:0:16384:0-3:;gpu:v100:1:16384:4-7:;gpu:v100:2:16384:4-7:";
    struct world w = world_make(n, "n1", a_part("main", "ALL"));
    struct job_request q = {
        .gpus_per_socket = "v100:2", .gpus_per_node = "x|v100:1", .mem_per_node_mib = 10};
    checked_in(&w, "main", q, true);
    assert_string_equal(runs(&w, 1, q), "n1 cpus=0 mem=10 tasks=1 gpu:v100=0-2");
    world_end(&w);
}

/* `each`: so many devices of the node lie near each of its CPUs; 0 = nobody says where. */
static struct node a_node_of_many_sockets(int32_t sockets, int32_t devices, int32_t each,
                                          struct str *text)
{
    struct node n = a_node(NULL);
    n.cpus = n.sockets = sockets;
    n.cores_per_socket = 1;
    n.memory_mib = 100000;
    str_clear(text);
    for (int32_t i = 0; i < devices; i++) {
        str_addf(text, "gpu:a:%d:16384:", i);
        if (each)
            str_addf(text, "%d", i / each);
        str_add(text, ":;");
    }
    n.devices = str_text(text);
    return n;
}

/* Sockets are as many as CPUs where nobody says how many there are. What each device lies near is
 * counted once, not anew for each device, each socket and each number of sockets. */
static void many_devices_of_many_sockets(void **state)
{
    struct str text = STR_INIT;
    for (int32_t each = 0; each < 2; each++) {
        struct world w = world_make(a_node_of_many_sockets(1024, 1024, each, &text), "n[1-2]",
                                    a_part("main", "ALL"));
        struct job_request q = {
            .gpus_per_socket = "1", .sockets_per_node = 1024, .mem_per_node_mib = 10};
        assert_non_null(strstr(runs(&w, 1, q), " gpu:a=0-1023"));
        q.gpus_per_socket = "2";
        q.sockets_per_node = 512;
        if (each)
            refuses(&w, q, "the nearest are n[1-2] with 1 GPU on each of its sockets (2 asked)");
        else
            assert_non_null(strstr(runs(&w, 2, q), " gpu:a=0-1023"));
        world_end(&w);
    }
    str_done(&text);
}

/* Devices that all lie elsewhere, whoever asks for how many: which lie together is known, and not
 * found by comparing each with each for each that is taken. */
static void many_devices_that_lie_apart(void **state)
{
    struct str text = STR_INIT;
    struct world w =
        world_make(a_node_of_many_sockets(1024, 1024, 1, &text), "n[1-40]", a_part("main", "ALL"));
    struct job_request q = {.gpus_per_node = "1024", .mem_per_node_mib = 10};
    for (uint64_t i = 1; i <= 40; i++)
        assert_non_null(strstr(runs(&w, i, q), " gpu:a=0-1023"));
    world_end(&w);
    str_done(&text);
}

static void a_partition_bounds_its_cpus_on_a_socket(void **state)
{
    struct partition p = a_part("main", "ALL"), other = a_part("other", "ALL");
    p.max_cpus_per_socket = 3;
    other.is_default = false;
    struct world w = world_make(a_node(NULL), "n1", p);
    put_part(w.cl, &other);
    assert_string_equal(
        runs(&w, 1, (struct job_request){.cpus_per_task = 4, .mem_per_node_mib = 10}),
        "n1 cpus=0-2,4 mem=10 tasks=1");
    assert_string_equal(
        runs(&w, 2, (struct job_request){.cpus_per_task = 2, .mem_per_node_mib = 10}),
        "n1 cpus=5-6 mem=10 tasks=1");
    assert_string_equal(runs(&w, 3, (struct job_request){.mem_per_node_mib = 10}), "");
    assert_string_equal(runs(&w, 4,
                             (struct job_request){
                                 .partition = "other", .cpus_per_task = 2, .mem_per_node_mib = 10}),
                        "n1 cpus=3,7 mem=10 tasks=1");
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_of_a_socket),
        cmocka_unit_test(tasks_of_a_socket_of_cores_with_two_threads),
        cmocka_unit_test(tasks_of_a_socket_that_take_more_than_a_core),
        cmocka_unit_test(a_task_of_a_socket_may_lie_on_two),
        cmocka_unit_test(more_cpus_than_tasks_of_a_socket_need),
        cmocka_unit_test(a_whole_node_is_all_its_sockets),
        cmocka_unit_test(a_node_whose_socket_is_taken_is_passed_over),
        cmocka_unit_test(gpus_of_a_socket),
        cmocka_unit_test(a_whole_node_is_all_gpus_of_its_sockets),
        cmocka_unit_test(gpus_of_a_socket_by_type),
        cmocka_unit_test(more_gpus_of_a_socket_than_any_has),
        cmocka_unit_test(gpus_of_a_socket_in_two_words),
        cmocka_unit_test(gpus_near_several_sockets),
        cmocka_unit_test(gpus_of_sockets_of_no_nodes),
        cmocka_unit_test(the_poorer_socket_may_come_first),
        cmocka_unit_test(many_devices_of_many_sockets),
        cmocka_unit_test(many_devices_that_lie_apart),
        cmocka_unit_test(a_partition_bounds_its_cpus_on_a_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
