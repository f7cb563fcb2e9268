#include "unit.h"

#include "base/alloc.h"
#include "model/job/alloc.h"

#include <string.h>

static struct arena *arena;

static int setup(void **state)
{
    arena = arena_new();
    return 0;
}

static int teardown(void **state)
{
    arena_free(arena);
    return 0;
}

static struct alloc parsed(const char *text)
{
    struct alloc al = {0};
    struct err e = {0};
    if (!alloc_parse(text, arena, &al, &e))
        fail_msg("%s", e.text);
    return al;
}

static void assert_refused(const char *text)
{
    struct alloc al = {0};
    struct err e = {0};
    assert_false(alloc_parse(text, arena, &al, &e));
    assert_int_equal(e.code, ERR_INVALID);
    assert_null(al.node);
}

/* What is read is written again in the same words. */
static void assert_same(const char *text)
{
    struct str out = STR_INIT;
    struct alloc al = parsed(text);
    alloc_format(&al, &out);
    assert_string_equal(str_text(&out), text);
    str_done(&out);
}

static void test_tasks_that_were_dealt_in_turn(void **state)
{
    assert_same("n1 cpus=0-3 mem=5 tasks=3 ids=0-4:2; n2 cpus=0-3 mem=5 tasks=3 ids=1-5:2");
}

static void test_each_node_has_cpus_memory_and_devices(void **state)
{
    struct alloc al = parsed(
        "gpu1 cpus=0-3 mem=8000 gpu=0,2; gpu2 cpus=0-3,8 mem=4000 tasks=2 gpu:v100=1 nic=#2");
    assert_int_equal(al.n, 2);
    const struct alloc_node *n = alloc_find(&al, "gpu1");
    assert_int_equal(n->cpu_count, 4);
    assert_int_equal(n->mem_mib, 8000);
    assert_int_equal(n->ngres, 1);
    assert_string_equal(n->gres[0].kind, "gpu");
    assert_null(n->gres[0].type);
    assert_int_equal(n->gres[0].count, 2);
    n = alloc_find(&al, "gpu2");
    assert_int_equal(n->cpu_count, 5);
    assert_string_equal(n->cpus, "0-3,8");
    assert_int_equal(n->tasks, 2);
    assert_string_equal(n->gres[0].type, "v100");
    assert_string_equal(n->gres[0].devices, "1");
    assert_string_equal(n->gres[1].kind, "nic");
    assert_int_equal(n->gres[1].count, 2);
    assert_null(n->gres[1].devices);
    assert_null(alloc_find(&al, "gpu3"));
}

static struct alloc many(size_t n, const char *prefix, int width, int first)
{
    struct alloc al = {.node = arena_alloc(arena, n * sizeof al.node[0]), .n = n};
    for (size_t i = 0; i < n; i++)
        al.node[i] = (struct alloc_node){
            .node = arena_printf(arena, "%s%0*d", prefix, width, first + (int)i),
            .cpus = "0-3",
            .mem_mib = 5};
    return al;
}

static void assert_text(const struct alloc *al, const char *text)
{
    struct str out = STR_INIT;
    alloc_format(al, &out);
    assert_string_equal(str_text(&out), text);
    struct alloc back = parsed(text);
    assert_int_equal(back.n, al->n);
    for (size_t i = 0; i < al->n; i++) {
        assert_string_equal(back.node[i].node, al->node[i].node);
        assert_string_equal(back.node[i].cpus, al->node[i].cpus);
        assert_true(text_is(back.node[i].task_ids, al->node[i].task_ids));
        assert_int_equal(back.node[i].tasks, al->node[i].tasks);
        assert_int_equal(back.node[i].mem_mib, al->node[i].mem_mib);
        assert_int_equal(back.node[i].ngres, al->node[i].ngres);
    }
    str_done(&out);
}

static void test_equal_neighbours_are_written_once(void **state)
{
    struct alloc al = many(1000, "n", 1, 1);
    assert_text(&al, "n[1-1000] cpus=0-3 mem=5");
    al = many(4, "gpu", 3, 98);
    assert_text(&al, "gpu[098-101] cpus=0-3 mem=5");
    al = many(3, "n", 1, 1); /* too few */
    assert_text(&al, "n1 cpus=0-3 mem=5; n2 cpus=0-3 mem=5; n3 cpus=0-3 mem=5");
    al = many(9, "n", 1, 1);
    al.node[4].mem_mib = 6;
    assert_text(&al, "n[1-4] cpus=0-3 mem=5; n5 cpus=0-3 mem=6; n[6-9] cpus=0-3 mem=5");
    al = many(5, "n", 1, 8);
    al.node[1].node = "n09"; /* padded differently: n8, n09, n10 … */
    assert_text(&al, "n8 cpus=0-3 mem=5; n[09-12] cpus=0-3 mem=5");
    al = many(4, "", 1, 1);
    for (int i = 0; i < 4; i++)
        al.node[i].node = arena_printf(arena, "login-%c", 'a' + i);
    assert_text(&al, "login-a cpus=0-3 mem=5; login-b cpus=0-3 mem=5; login-c cpus=0-3 mem=5; "
                     "login-d cpus=0-3 mem=5");
    struct alloc_gres gpu = {.kind = "gpu", .devices = "0,2", .count = 2};
    al = many(5, "n", 1, 1);
    for (size_t i = 0; i < 5; i++) {
        al.node[i].gres = &gpu;
        al.node[i].ngres = i < 4;
    }
    assert_text(&al, "n[1-4] cpus=0-3 mem=5 gpu=0,2; n5 cpus=0-3 mem=5");
}

static void test_task_numbers_that_count_on_are_written_once(void **state)
{
    struct alloc al = many(6, "n", 1, 1);
    for (int i = 0; i < 6; i++) {
        al.node[i].tasks = 3;
        al.node[i].task_ids = arena_printf(arena, "%d-%d,%d", 8 * i, 8 * i + 1, 8 * i + 100);
    }
    assert_text(&al, "n[1-6] cpus=0-3 mem=5 tasks=3 ids=0-1,100+8");
    al.node[5].task_ids = "40-41,141"; /* not the same distance for all */
    assert_text(
        &al,
        "n[1-5] cpus=0-3 mem=5 tasks=3 ids=0-1,100+8; n6 cpus=0-3 mem=5 tasks=3 ids=40-41,141");
    al = many(4, "n", 1, 1);
    for (int i = 0; i < 4; i++)
        al.node[i].task_ids = arena_printf(arena, "%d", 9 - i); /* downwards is not counted */
    assert_text(&al, "n1 cpus=0-3 mem=5 ids=9; n2 cpus=0-3 mem=5 ids=8; n3 cpus=0-3 mem=5 ids=7; "
                     "n4 cpus=0-3 mem=5 ids=6");
}

static void test_it_is_written_as_it_is_read(void **state)
{
    assert_same("");
    assert_same("gpu1 cpus=0-3 mem=8000");
    assert_same("gpu1 cpus=0-3 mem=8000 gpu=0,2; gpu2 cpus=0-3 mem=8000 tasks=3 gpu:v100=1 nic=#2");
}

static void test_nothing_is_no_nodes(void **state)
{
    assert_int_equal(parsed("").n, 0);
    assert_int_equal(parsed(NULL).n, 0);
    assert_int_equal(parsed("gpu1 cpus=0 mem=1;").n, 1);
}

static void test_nonsense_is_refused(void **state)
{
    assert_refused("gpu1 cpus");
    assert_refused("gpu1 cpus=3-1");
    assert_refused("gpu1 cpus=a");
    assert_refused("gpu1 cpus=0-2147483646"); /* no node has so many */
    assert_refused("gpu1 cpus=2147483646");
    assert_refused("gpu1 cpus=0-700000,0-700000");
    assert_refused("gpu1 gpu=0-2000000");
    assert_refused("gpu1 gpu=2000000000");
    assert_refused("gpu1 mem=much");
    assert_refused("gpu1 mem=-1");
    assert_refused("gpu1 gpu=#x");
    assert_refused("gpu1 =3");
    assert_refused("cpus=0-3 mem=1");
    assert_refused("n[1-2] ids=9223372036854775807+5");
    assert_refused("n[1-2] ids=0-2147483648+1");
    assert_refused("n[1-2] ids=+5");
    assert_refused("n1 ids=ss=#*"); /* found by libFuzzer: it is written in another way */
    assert_refused("n1 ids=1+x");
    assert_refused("n[1-2] ids=0-4:2+1"); /* its step would grow, too */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_node_has_cpus_memory_and_devices),
        cmocka_unit_test(test_equal_neighbours_are_written_once),
        cmocka_unit_test(test_task_numbers_that_count_on_are_written_once),
        cmocka_unit_test(test_it_is_written_as_it_is_read),
        cmocka_unit_test(test_nothing_is_no_nodes),
        cmocka_unit_test(test_tasks_that_were_dealt_in_turn),
        cmocka_unit_test(test_nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
