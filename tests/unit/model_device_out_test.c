/* Devices that nobody may be given, as text and back. */
#include "unit.h"

#include "model/env/device_out.h"

#include <string.h>

static struct arena *arena;

static int setup(void **state)
{
    (void)state;
    arena = arena_new();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static void test_what_is_written_is_read(void **state)
{
    (void)state;
    struct device_out stuck = {"gpu", 2, false, 1790000000000000,
                               "process 4711 (a;b) still\nholds it"},
                      broken = {"gpu", 5, true, 7, "XID 79: it is gone"};
    struct device_outs list;
    struct str text = STR_INIT, said = STR_INIT;
    device_out_format(&stuck, &text);
    device_out_format(&broken, &text);
    assert_string_equal(str_text(&text),
                        "gpu:2:unproven:1790000000000000:process 4711 (a,b) still holds "
                        "it;gpu:5:failed:7:XID 79: it is gone");
    assert_true(device_outs_parse(str_text(&text), arena, &list));
    assert_int_equal(list.n, 2);
    assert_int_equal(list.v[0].index, 2);
    assert_false(list.v[0].failed);
    assert_true(list.v[0].since_us == 1790000000000000);
    assert_true(list.v[1].failed);
    assert_string_equal(list.v[1].why, "XID 79: it is gone");
    assert_ptr_equal(device_outs_find(&list, "gpu", 5), &list.v[1]);
    assert_null(device_outs_find(&list, "gpu", 1));
    assert_null(device_outs_find(&list, "nic", 5));
    device_outs_say(&list, false, &said);
    assert_string_equal(str_text(&said), "gpu 2 is not used: process 4711 (a,b) still holds it; "
                                         "gpu 5 is not used: XID 79: it is gone");
    str_clear(&said);
    device_outs_say(&list, true, &said);
    assert_string_equal(str_text(&said), "gpu 5 is not used: XID 79: it is gone");
    str_done(&text);
    str_done(&said);
}

static void test_nothing_and_nonsense(void **state)
{
    (void)state;
    static const char *const wrong[] = {"gpu", "gpu:x:failed:1:a", "gpu:1:sick:1:a",
                                        ":1:failed:1:a", "gpu:1:failed:soon:a"};
    struct device_outs list;
    assert_true(device_outs_parse(NULL, arena, &list));
    assert_int_equal(list.n, 0);
    assert_true(device_outs_parse("", arena, &list));
    assert_int_equal(list.n, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(device_outs_parse(wrong[i], arena, &list));
}

static void test_long_reasons_are_cut(void **state)
{
    (void)state;
    char why[2000];
    struct str text = STR_INIT;
    memset(why, 'x', sizeof why - 1);
    why[sizeof why - 1] = '\0';
    struct device_out d = {"gpu", 0, true, 1, why};
    device_out_format(&d, &text);
    assert_int_equal(text.len, strlen("gpu:0:failed:1:") + DEVICE_WHY_BYTES);
    str_done(&text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {TEST(what_is_written_is_read), TEST(nothing_and_nonsense),
                                       TEST(long_reasons_are_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
