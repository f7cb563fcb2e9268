/* Untyped resources of which no type alone has enough anywhere: nodes give several types. */
#include "sched_help.h"

struct world {
    struct cluster *cl;
    struct plan *plan;
};

static void more_nodes(struct world *w, const char *names, const char *gres)
{
    struct node n = a_node(NULL);
    struct partition p = a_part("main", "ALL");
    n.gres = gres;
    put_nodes(w->cl, names, n);
    put_part(w->cl, &p);
}

static struct world world_of(const char *names, const char *gres)
{
    struct world w = {cluster_new(), plan_new()};
    more_nodes(&w, names, gres);
    return w;
}

static void world_end(struct world *w)
{
    cluster_check(w->cl);
    plan_free(w->plan);
    cluster_free(w->cl);
}

/* What each node of the job gives: "n1 gpu:a=0-1 gpu:v=0; n2 …"; "" if it does not start. */
static const char *gives(struct world *w, struct job_request req, const char *caps)
{
    static char text[1024];
    struct waiting job = {.job_id = 1, .req = &req, .uid = 1000, .elements = 1, .caps = caps};
    req.partition = req.partition ? req.partition : "main";
    req.time_limit_us = HOUR;
    job.submit_us = job.eligible_us = NOW;
    cluster_wait(w->cl, &job);
    sched_plan(w->cl, NOW, NULL, w->plan);
    const struct plan_start *s = start_of(w->plan, 1);
    text[0] = '\0';
    for (size_t i = 0; s && i < s->alloc.n; i++) {
        const struct alloc_node *n = &s->alloc.node[i];
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%s", i ? "; " : "", n->node);
        for (size_t k = 0; k < n->ngres; k++) {
            at = strlen(text);
            snprintf(text + at, sizeof text - at, " %s:%s=%s", n->gres[k].kind, n->gres[k].type,
                     n->gres[k].devices);
        }
    }
    cluster_unwait(w->cl, 1);
    return text;
}

/* The same, and it runs from now on. */
static const char *runs(struct world *w, uint64_t id, struct job_request req)
{
    const char *text = gives(w, req, NULL);
    const struct plan_start *s = start_of(w->plan, 1);
    req.partition = "main";
    if (s)
        cluster_start(w->cl, id, &req, 1000, "main", &s->alloc, NOW, NOW + HOUR);
    return text;
}

static void refuses(struct world *w, struct job_request req, const char *text)
{
    struct str said = STR_INIT;
    enum refusal r = sched_check(w->cl, &req, 1000, NULL, NULL, &said);
    if (r != REFUSE_NODE_CONFIG || !strstr(str_text(&said), text))
        fail_msg("refusal %d: \"%s\" and not \"%s\"", r, str_text(&said), text);
    str_done(&said);
}

#define ASKS(...) ((struct job_request){__VA_ARGS__})

static void every_way_to_ask(void **state)
{
    (void)state;
    struct world w = world_of("n1", "gpu:a:2,gpu:v:2");
    static const char three[] = "n1 gpu:a=0-1 gpu:v=2";
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:3"), NULL), three);
    assert_string_equal(gives(&w, ASKS(.gpus_per_node = "3"), NULL), three);
    assert_string_equal(gives(&w, ASKS(.gpus = "3"), NULL), three);
    assert_string_equal(gives(&w, ASKS(.gpus = "3", .min_nodes = 1, .max_nodes = 1), NULL), three);
    assert_string_equal(gives(&w, ASKS(.gpus_per_task = "1", .ntasks = 3), NULL), three);
    assert_string_equal(gives(&w, ASKS(.gpus_per_task = "3", .ntasks = 1), NULL), three);
    assert_string_equal(gives(&w, ASKS(.gpus = "3", .ntasks = 3), NULL), three);
    assert_string_equal(gives(&w, ASKS(.ntasks = 3, .ntasks_per_gpu = 1), NULL), three);
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:3", .ntasks = 5), NULL), three);
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:4"), NULL), "n1 gpu:a=0-1 gpu:v=2-3");
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:3", .exclusive = EXCLUSIVE_NODE), NULL),
                        "n1 gpu:a=0-1 gpu:v=2-3");
    /* What says of which type is about that type; sockets have their own. */
    refuses(&w, ASKS(.gres = "gpu:a:3"), "the nearest is n1 with 2 gpu:a (3 asked)");
    refuses(&w, ASKS(.gres = "gpu:a|v:3"), "the nearest is n1 with 2 gpu:a (3 asked)");
    refuses(&w, ASKS(.gpus_per_socket = "3", .sockets_per_node = 1), "with 2 gpu:a (3 asked)");
    refuses(&w, ASKS(.gres = "gpu:5"),
            "it needs 1 node with 1 CPU and 5 gpu; partition main has no such node: the nearest is "
            "n1 with 4 gpu (5 asked)");
    refuses(&w, ASKS(.gres = "gpu:3", .min_nodes = 2, .max_nodes = 2),
            "it needs 2 nodes with 1 CPU and 3 gpu each; partition main has 1 such node");
    world_end(&w);
}

/* GPUs that are alike are worth waiting for, where there are so many. */
static void one_type_where_one_can(void **state)
{
    (void)state;
    struct world w = world_of("n1", "gpu:a:3,gpu:v:2");
    assert_string_equal(runs(&w, 11, ASKS(.gres = "gpu:a:1")), "n1 gpu:a=0");
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:3"), NULL), "");
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:4"), NULL), "n1 gpu:a=1-2 gpu:v=3-4");
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:2"), NULL), "n1 gpu:a=1-2");
    cluster_release(w.cl, 11);
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:3"), NULL), "n1 gpu:a=0-2");
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:4"), NULL), "n1 gpu:a=0-2 gpu:v=3");
    /* In another partition that it names, too. */
    struct partition few = a_part("few", "m1"), many = a_part("many", "m2");
    few.is_default = many.is_default = false;
    more_nodes(&w, "m1", "gpu:a:2,gpu:v:2");
    more_nodes(&w, "m2", "gpu:v:4");
    put_part(w.cl, &few);
    put_part(w.cl, &many);
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:4", .partition = "few"), NULL),
                        "m1 gpu:a=0-1 gpu:v=2-3");
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:4", .partition = "few,many"), NULL),
                        "m2 gpu:v=0-3");
    world_end(&w);
}

static void what_is_free_is_made_up(void **state)
{
    (void)state;
    struct world w = world_of("n1", "gpu:a:2,gpu:v:2");
    assert_string_equal(runs(&w, 11, ASKS(.gres = "gpu:a:1")), "n1 gpu:a=0");
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:3"), NULL), "n1 gpu:a=1 gpu:v=2-3");
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:4"), NULL), "");
    world_end(&w);
    /* Many mixes of many types: few types first, and one for each kind of node. */
    w = world_of("n1", "gpu:a:4,gpu:b:4,gpu:c:4,gpu:d:4");
    more_nodes(&w, "n2", "gpu:w:1,gpu:x:1,gpu:y:1,gpu:z:1,gpu:d:2");
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:6"), NULL), "n1 gpu:a=0-3 gpu:b=4-5");
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:6", .nodelist = "n2"), NULL),
                        "n2 gpu:d=4-5 gpu:w=0 gpu:x=1 gpu:y=2 gpu:z=3");
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:16"), NULL),
                        "n1 gpu:a=0-3 gpu:b=4-7 gpu:c=8-11 gpu:d=12-15");
    assert_string_equal(runs(&w, 11, ASKS(.gres = "gpu:a:4,gpu:b:4")), "n1 gpu:a=0-3 gpu:b=4-7");
    assert_string_equal(gives(&w, ASKS(.gres = "gpu:6"), NULL), "n1 gpu:c=8-11 gpu:d=12-13");
    world_end(&w);
}

static void nodes_give_as_many_of_each(void **state)
{
    (void)state;
    struct world w = world_of("n[1-2]", "gpu:a:2,gpu:v:2");
    static const char both[] = "n1 gpu:a=0-1 gpu:v=2; n2 gpu:a=0-1 gpu:v=2";
    struct job_request two = {.gres = "gpu:3", .min_nodes = 2, .max_nodes = 2};
    more_nodes(&w, "n3", "gpu:a:3");
    assert_string_equal(gives(&w, two, NULL), both);
    two.ntasks = 7;
    assert_string_equal(gives(&w, two, NULL), both);
    assert_string_equal(gives(&w, ASKS(.gpus = "8"), NULL),
                        "n1 gpu:a=0-1 gpu:v=2-3; n2 gpu:a=0-1 gpu:v=2-3");
    assert_string_equal(gives(&w, ASKS(.ntasks = 8, .gpus_per_task = "1"), NULL),
                        "n1 gpu:a=0-1 gpu:v=2-3; n2 gpu:a=0-1 gpu:v=2-3");
    refuses(
        &w, ASKS(.gres = "gpu:3", .min_nodes = 3, .max_nodes = 3),
        "partition main has 2 such nodes (all gpu of a job are of one type, or each node gives as "
        "many of each)");
    refuses(&w, ASKS(.gpus = "9"),
            "partition main has room for 7 of them: 3 such nodes with 24 CPUs and 7 gpu:a in all "
            "(all gpu of a job are of one type, or each node gives as many of each)");
    /* A number that nobody means is refused at once. */
    refuses(&w, ASKS(.gpus = "1000000000"), "partition main has room for 7 of them");
    refuses(&w, ASKS(.gres = "gpu:1000000000000"), "with 4 gpu (1000000000000 asked)");
    world_end(&w);
}

/* A mix of which a limit allows as much. */
static void limits_choose_the_mix(void **state)
{
    (void)state;
    struct world w = world_of("n1", "gpu:a:2,gpu:v:2");
    struct cap of_a = {.id = 1,
                       .counts = CAP_GRES,
                       .gres = "gpu:a",
                       .most = 1,
                       .reason = REASON_QOS_GRP_GRES,
                       .says = "GrpTRES=gres/gpu:a=1 of QOS few"};
    struct cap of_v = of_a, all = of_a;
    struct plan_wait wait;
    of_v.id = 2;
    of_v.gres = "gpu:v";
    all.id = 3;
    all.gres = "gpu";
    all.most = 3;
    cluster_put_cap(w.cl, &of_a);
    cluster_put_cap(w.cl, &of_v);
    cluster_put_cap(w.cl, &all);
    struct job_request three = {.partition = "main", .gres = "gpu:3", .time_limit_us = HOUR};
    assert_string_equal(gives(&w, three, NULL), "n1 gpu:a=0-1 gpu:v=2");
    assert_string_equal(gives(&w, three, "1"), "n1 gpu:a=0 gpu:v=2-3");
    assert_string_equal(gives(&w, three, "1,3"), "n1 gpu:a=0 gpu:v=2-3");
    assert_string_equal(gives(&w, three, "2"), "n1 gpu:a=0-1 gpu:v=2");
    struct waiting job = {.job_id = 1, .req = &three, .elements = 1, .caps = "1,2"};
    cluster_wait(w.cl, &job);
    sched_plan(w.cl, NOW, NULL, w.plan);
    assert_null(start_of(w.plan, 1));
    assert_true(plan_wait_of(w.plan, w.cl, 1, &wait));
    assert_int_equal(wait.reason, REASON_QOS_GRP_GRES);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_ask),        cmocka_unit_test(one_type_where_one_can),
        cmocka_unit_test(what_is_free_is_made_up), cmocka_unit_test(nodes_give_as_many_of_each),
        cmocka_unit_test(limits_choose_the_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
