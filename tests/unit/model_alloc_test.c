#include "unit.h"

#include "base/alloc.h"
#include "model/alloc.h"

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

static void test_each_node_has_cpus_memory_and_devices(void **state)
{
    struct alloc al =
        parsed("gpu1 cpus=0-3 mem=8000 gpu=0,2; gpu2 cpus=0-3,8 mem=4000 tasks=2 gpu:v100=1 nic=#2");
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
    assert_refused("gpu1 mem=much");
    assert_refused("gpu1 mem=-1");
    assert_refused("gpu1 gpu=#x");
    assert_refused("gpu1 =3");
    assert_refused("cpus=0-3 mem=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_node_has_cpus_memory_and_devices),
        cmocka_unit_test(test_it_is_written_as_it_is_read),
        cmocka_unit_test(test_nothing_is_no_nodes),
        cmocka_unit_test(test_nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
