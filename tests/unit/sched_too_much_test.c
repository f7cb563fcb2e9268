/* Requests that are more than can be worked out: long constraints, very many alternatives, numbers
 * whose products are none any more. They are refused in words, soon. */
#include "sched_help.h"

#include "model/limits.h"
#include "sched/books/feature.h"
#include "sched/books/settle.h"
#include "sched/request/demand.h"

static struct cluster *cl;

static int setup(void **state)
{
    cl = cluster_new();
    struct node n = a_node(NULL);
    n.features = "x,y";
    n.gres = "gpu:a:1,gpu:b:1,gpu:c:1,gpu:d:1";
    put_nodes(cl, "n[1-2]", n);
    struct partition p = a_part("main", "ALL");
    put_part(cl, &p);
    return 0;
}

static int teardown(void **state)
{
    cluster_free(cl);
    return 0;
}

static void one_more(const char *name, const char *gres)
{
    struct node n = a_node(name);
    struct partition p = a_part("main", "ALL");
    n.gres = gres;
    put_node(cl, &n);
    put_part(cl, &p);
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
    if (sched_check(cl, &req, 1000, "users", NULL, &detail) != REFUSE_NONE)
        fail_msg("refused: %s", str_text(&detail));
    str_done(&detail);
}

/* FIRST, and `more` more of PIECE behind it. */
static char *chain(struct arena *a, const char *first, const char *piece, size_t more)
{
    size_t len = strlen(first), each = strlen(piece);
    char *text = arena_alloc(a, len + more * each + 1);
    memcpy(text, first, len);
    for (size_t i = 0; i < more; i++)
        memcpy(text + len + i * each, piece, each);
    text[len + more * each] = '\0';
    return text;
}

/* ---- constraints ---- */

static const struct {
    const char *first, *piece;
} CHAINS[] = {{"[x]", "&x"}, {"x", "&x"},   {"x", "|x"},     {"x*2", "&x"},  {"[x]", "|[x]"},
              {"x", ",x"},   {"(x)", "&y"}, {"x*1", "|x*1"}, {"[x|y", "|x"}, {"x*1", "&y*1"}};

static void constraints_name_so_many_features(void **state)
{
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(CHAINS); i++) {
        const char *more =
            chain(a, CHAINS[i].first, CHAINS[i].piece, LIMIT_TEXT_BYTES / strlen(CHAINS[i].piece));
        refuses((struct job_request){.constraint = more}, REFUSE_FEATURE, "at most 256 features");
        refuses((struct job_request){.prefer = more}, REFUSE_PREFER, "at most 256 features");
    }
    takes((struct job_request){.constraint = chain(a, "x", "|y", 255)});
    takes((struct job_request){.constraint = chain(a, "[x]", "&(x|y)", 5)});
    refuses((struct job_request){.constraint = chain(a, "x", "|y", 256)}, REFUSE_FEATURE,
            "at most 256 features");
    arena_free(a);
}

/* The longest that is read, in each form. */
static void what_is_read_is_read_soon(void **state)
{
    struct arena *a = arena_new();
    for (size_t i = 0; i < ARRAY_LEN(CHAINS); i++) {
        struct feature_arms arms;
        struct err e = {0};
        const char *text = chain(a, CHAINS[i].first, CHAINS[i].piece, 200);
        for (size_t k = 0; k < 20; k++)
            if (feature_parse(text, a, &arms, &e))
                for (size_t n = 0; n < arms.n; n++)
                    feature_arm_holds(&arms.arm[n], "x,y");
    }
    arena_free(a);
}

/* Also of those behind the first 64: each is one that there is. */
static void each_feature_is_known(void **state)
{
    struct arena *a = arena_new();
    refuses((struct job_request){.constraint = chain(a, chain(a, "x", "|y", 200), "|zz", 1)},
            REFUSE_FEATURE, "there is no feature \"zz\"");
    arena_free(a);
}

static void reservations_too(void **state)
{
    struct arena *a = arena_new();
    struct str detail = STR_INIT;
    struct reservation r = {.name = "r",
                            .features = chain(a, "[x]", "&x", 32000),
                            .node_count = 1,
                            .start_us = NOW + HOUR,
                            .end_us = NOW + 2 * HOUR};
    assert_int_equal(sched_reserve(cl, &r, NOW, a, &detail), REFUSE_FEATURE);
    assert_non_null(strstr(str_text(&detail), "at most 256 features"));
    str_done(&detail);
    arena_free(a);
}

/* ---- alternatives ---- */

/* Twelve spellings of the same types, of which no node has as many. */
static const char *spellings(struct arena *a, const char *kind, const char *count)
{
    static const char *const TYPE[12] = {"a|b|c|d", "b|a|c|d", "c|a|b|d", "d|a|b|c",
                                         "a|c|b|d", "a|d|b|c", "b|c|a|d", "b|d|a|c",
                                         "c|b|a|d", "c|d|a|b", "d|b|a|c", "d|c|a|b"};
    struct str s = STR_INIT;
    for (size_t i = 0; i < 12; i++)
        str_addf(&s, "%s%s:%s:%s", i ? "," : "", kind, TYPE[i], count);
    const char *text = arena_strdup(a, str_text(&s));
    str_done(&s);
    return text;
}

static void so_many_alternatives(void **state)
{
    struct arena *a = arena_new();
    const char *twelve = spellings(a, "gpu", "1");
    refuses((struct job_request){.gres = twelve}, REFUSE_NODE_CONFIG, "more alternatives than can");
    refuses((struct job_request){.gres = twelve, .constraint = "[x|y]", .prefer = "x"},
            REFUSE_NODE_CONFIG, "more alternatives than can");
    /* Those of which few go together count as well. */
    struct str ten = STR_INIT;
    str_add(&ten, twelve);
    str_cut(&ten, 10 * strlen(",gpu:a|b|c|d:1") - 1);
    refuses((struct job_request){.gres = str_text(&ten), .gpus = "50"}, REFUSE_NODE_CONFIG, "");
    str_done(&ten);
    takes((struct job_request){.gres = "gpu:a|b:1,gpu:b|a:1,gpu:c|d:1,gpu:d|c:1"});
    refuses((struct job_request){.gres = "gpu:a|b:2,gpu:b|a:2"}, REFUSE_NODE_CONFIG, "such node");
    arena_free(a);
}

static size_t variants_of(const struct job_request *req)
{
    cluster_settle(cl);
    struct compiled *c = demand_compile(cl, req, NULL);
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += c->option[i].nvariants;
    demand_free(c);
    return n;
}

/* Each that nodes could hold is looked for whenever the job is tried. */
static void so_many_that_nodes_could_hold(void **state)
{
    struct arena *a = arena_new();
    struct str features = STR_INIT;
    struct node n = a_node(NULL);
    for (int i = 1; i <= 10; i++) {
        str_addf(&features, "%sf%d", i > 1 ? "|" : "", i);
        char name[16], feature[16];
        snprintf(name, sizeof name, "f%d", i);
        snprintf(feature, sizeof feature, "f%d", i);
        n.name = name, n.features = feature;
        put_node(cl, &n);
    }
    put_nodes(cl, "g[1-128]", a_node(NULL));
    struct partition p = a_part("main", "ALL"), q = a_part("more", "ALL");
    q.is_default = false;
    put_part(cl, &p);
    put_part(cl, &q);
    struct job_request many = {.partition = "main",
                               .min_nodes = 1,
                               .max_nodes = 127,
                               .node_sizes = "1-127:2",
                               .constraint = arena_printf(a, "[%s]", str_text(&features))};
    refuses(many, REFUSE_NODE_CONFIG, "512 at most");
    many.partition = "main,more";
    refuses(many, REFUSE_NODE_CONFIG, "512 at most");
    /* One that was taken before has the first of them. */
    assert_in_range(variants_of(&many), 1, 512);
    many.constraint = NULL;
    takes(many);
    str_done(&features);
    arena_free(a);
}

/* Which say the same are one. */
static void equal_features_are_one_alternative(void **state)
{
    struct arena *a = arena_new();
    struct job_request same = {.partition = "main", .constraint = "[x|y]"};
    assert_int_equal(variants_of(&same), variants_of(&(struct job_request){.partition = "main"}));
    same.constraint = arena_printf(a, "%s]", chain(a, "[x", "|x", 63));
    takes(same);
    assert_int_equal(variants_of(&same), 1);
    same.constraint = "[x*1|y*1|x*2]", same.min_nodes = 2;
    assert_int_equal(variants_of(&same), 2);
    arena_free(a);
}

/* Also beside what nodes could give in several types. */
static void so_many_beside_a_mix(void **state)
{
    struct arena *a = arena_new();
    one_more("m1", "gpu:a:1,gpu:b:1,nic:a:1,nic:b:1,nic:c:1,nic:d:1");
    struct str all = STR_INIT;
    str_add(&all, spellings(a, "nic", "1"));
    str_cut(&all, 11 * strlen(",nic:a|b|c|d:1") - 1);
    str_add(&all, ",gpu:2");
    refuses((struct job_request){.gres = str_text(&all)}, REFUSE_NODE_CONFIG,
            "more alternatives than can");
    str_done(&all);
    arena_free(a);
}

/* Nodes whose resources are counted in billions: how they could be mixed is not counted out. */
static void large_counts_are_mixed_soon(void **state)
{
    one_more("m1", "tokens:a:1G");
    one_more("m2", "tokens:a:1,tokens:b:1G");
    takes((struct job_request){.gres = "tokens:1073741825"});
    refuses((struct job_request){.gres = "tokens:1073741826"}, REFUSE_NODE_CONFIG, "such node");
}

/* What a request names again and again takes room once: a class keeps it while its jobs wait. */
static void names_take_room_once(void **state)
{
    struct arena *a = arena_new();
    struct reservation r = {.name = "r", .nodes = "n1", .start_us = NOW, .end_us = NOW + HOUR};
    struct settings s;
    settings_default(&s);
    s.licenses = "big:1000000";
    cluster_set_policy(cl, &s);
    cluster_put_reservation(cl, &r);
    const struct job_request often[] = {
        {.partition = "main", .reservation = chain(a, "r", ",r", LIMIT_TEXT_BYTES / 2 - 1)},
        {.partition = "main", .licenses = chain(a, "big", ",big", LIMIT_TEXT_BYTES / 4 - 1)},
        {.partition = "main", .licenses = chain(a, ",", ",", LIMIT_TEXT_BYTES - 1)},
        {.partition = chain(a, "main", ",main", LIMIT_TEXT_BYTES / 5 - 1)},
    };
    cluster_settle(cl);
    for (size_t i = 0; i < ARRAY_LEN(often); i++) {
        struct compiled *c = demand_compile(cl, &often[i], NULL);
        assert_int_equal(c->n, 1);
        assert_in_range(arena_used(c->arena), 1, 16 << 10);
        demand_free(c);
    }
    arena_free(a);
}

/* ---- products ---- */

static void memory_of_cpus(void **state)
{
    struct settings s;
    settings_default(&s);
    put_setting(&s, "MaxMemPerCPU", "2048");
    cluster_set_policy(cl, &s);
    refuses((struct job_request){.ntasks = 6,
                                 .cpus_per_task = LIMIT_CPUS_PER_NODE,
                                 .threads_per_core = 1,
                                 .ntasks_per_core = LIMIT_TASKS,
                                 .mem_per_cpu_mib = 1395864371},
            REFUSE_NODE_CPUS, "such node");
    refuses((struct job_request){.ntasks = 6,
                                 .cpus_per_task = LIMIT_CPUS_PER_NODE,
                                 .ntasks_per_core = LIMIT_TASKS,
                                 .ntasks_per_socket = 1,
                                 .mem_per_cpu_mib = FIELD_MIB_MAX},
            REFUSE_NODE_CPUS, "such node");
}

static void gpus_of_tasks(void **state)
{
    refuses((struct job_request){.ntasks = LIMIT_TASKS,
                                 .min_nodes = 1,
                                 .max_nodes = 1,
                                 .overcommit = true,
                                 .gpus_per_task = "1T"},
            REFUSE_NODE_CONFIG, "such node");
    refuses((struct job_request){.sockets_per_node = 1 << 20, .gpus_per_socket = "a:16T"},
            REFUSE_GRES, "");
    refuses((struct job_request){.sockets_per_node = 1 << 20, .gpus_per_socket = "a:1T"},
            REFUSE_NODE_CONFIG, "such node");
    refuses((struct job_request){.gpus_per_node = "1T", .cpus_per_gpu = LIMIT_CPUS_PER_NODE},
            REFUSE_NODE_CONFIG, "such node");
    refuses((struct job_request){.gpus_per_node = "4T"}, REFUSE_GRES, "");
}

/* ---- tasks ---- */

static void tasks_of_all_nodes(void **state)
{
    const struct job_request MANY[] = {
        {.min_nodes = 2, .max_nodes = 3, .ntasks_per_node = LIMIT_TASKS},
        {.ntasks = LIMIT_TASKS, .min_nodes = 3, .max_nodes = 3, .gpus = "3"},
        {.gpus = "4", .ntasks_per_gpu = LIMIT_TASKS / 2},
        {.gpus = "1000000000", .ntasks_per_gpu = LIMIT_TASKS},
        {.gpus_per_node = "1G", .ntasks_per_gpu = LIMIT_TASKS},
        {.ntasks_per_node = LIMIT_TASKS, .nodelist = "n[1-2]"},
        {.ntasks_per_node = LIMIT_TASKS, .constraint = "x*2"},
    };
    for (size_t i = 0; i < ARRAY_LEN(MANY); i++) {
        struct job_request req = MANY[i];
        req.overcommit = true;
        refuses(req, REFUSE_INVALID_TASK_COUNT, "more tasks than a job may have: 16777216 in all");
    }
    takes((struct job_request){.ntasks_per_node = LIMIT_TASKS, .overcommit = true});
    takes((struct job_request){.ntasks = LIMIT_TASKS, .min_nodes = 2, .overcommit = true});
}

/* What leaves the number of nodes open gets as many as it may have tasks for. */
static void fewer_nodes_for_fewer_tasks(void **state)
{
    struct job_request req = {.partition = "main",
                              .min_nodes = 1,
                              .max_nodes = 2,
                              .ntasks_per_node = LIMIT_TASKS,
                              .overcommit = true,
                              .time_limit_us = HOUR};
    struct plan *plan = plan_new();
    struct budget b = {0};
    takes(req);
    queue_job(cl, 1, &req);
    sched_plan(cl, NOW, &b, plan);
    assert_int_equal(start_of(plan, 1)->alloc.n, 1);
    plan_free(plan);
}

static void memory_of_gpus_needs_gpus(void **state)
{
    refuses((struct job_request){.mem_per_gpu_mib = 100}, REFUSE_GRES,
            "memory for each GPU needs GPUs");
    takes((struct job_request){.mem_per_gpu_mib = 100, .gpus = "1"});
    takes((struct job_request){.mem_per_gpu_mib = 100, .ntasks = 2, .ntasks_per_gpu = 2});
    takes((struct job_request){.mem_per_gpu_mib = 100, .gres = "gpu:a:1"});
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(constraints_name_so_many_features),
        T(what_is_read_is_read_soon),
        T(each_feature_is_known),
        T(reservations_too),
        T(so_many_alternatives),
        T(so_many_that_nodes_could_hold),
        T(equal_features_are_one_alternative),
        T(so_many_beside_a_mix),
        T(large_counts_are_mixed_soon),
        T(names_take_room_once),
        T(memory_of_cpus),
        T(gpus_of_tasks),
        T(tasks_of_all_nodes),
        T(fewer_nodes_for_fewer_tasks),
        T(memory_of_gpus_needs_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
