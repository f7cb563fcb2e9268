#include "unit.h"

#include "base/alloc.h"
#include "model/grammar/gres.h"

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

typedef bool (*parser)(const char *text, struct arena *a, struct gres_list *ret,
                       struct err *ret_err);

/* What `text` is read as, written in the full form; the error's sentence if it is refused. */
static const char *with(parser parse, const char *text)
{
    struct gres_list list = {0};
    struct err e = {0};
    struct str out = STR_INIT;
    if (parse(text, arena, &list, &e))
        gres_format(&list, &out);
    else
        str_addf(&out, "refused: %s", e.text);
    const char *result = arena_strdup(arena, str_text(&out));
    str_done(&out);
    return result;
}

static const char *gres(const char *text)
{
    return with(gres_parse, text);
}

static const char *gpus(const char *text)
{
    return with(gres_parse_gpus, text);
}

static void test_kind_type_and_count(void **state)
{
    assert_string_equal(gres("gpu"), "gpu:1");
    assert_string_equal(gres("gpu:2"), "gpu:2");
    assert_string_equal(gres("gpu:v100"), "gpu:v100:1");
    assert_string_equal(gres("gpu:v100:2"), "gpu:v100:2");
    assert_string_equal(gres("gpu:v100:2,gpu:a100:1,nic"), "gpu:v100:2,gpu:a100:1,nic:1");
    assert_string_equal(gres("shards:2K"), "shards:2048");
}

static void test_a_type_may_look_like_a_number_when_a_count_follows(void **state)
{
    assert_string_equal(gres("gpu:1g:2"), "gpu:1g:2");
    assert_string_equal(gres("gpu:1080ti"), "gpu:1080ti:1");
    assert_string_equal(gres("gpu:1080:2"), "gpu:1080:2");
}

static void test_equal_kind_and_type_add_up(void **state)
{
    assert_string_equal(gres("gpu:1,gpu:2"), "gpu:3");
    assert_string_equal(gres("gpu:v100:1,gpu:V100:2"), "gpu:v100:3");
    assert_string_equal(gres("gpu:1,gpu:v100:2"), "gpu:1,gpu:v100:2");
}

static void test_none_and_zero_are_nothing(void **state)
{
    assert_string_equal(gres("none"), "");
    assert_string_equal(gres(""), "");
    assert_string_equal(gres(NULL), "");
    assert_string_equal(gres("gpu:0"), "");
}

static void test_other_spellings_of_the_same(void **state)
{
    assert_string_equal(gres("gres:gpu:2"), "gpu:2");
    assert_string_equal(gres("gres/gpu:2"), "gpu:2");
    assert_string_equal(gres("gpu:v100:2(S:0-1)"), "gpu:v100:2");
    assert_string_equal(gres("gpu:2(IDX:0,2),nic:1"), "gpu:2,nic:1");
}

static void test_gpus_have_a_kind_already(void **state)
{
    assert_string_equal(gpus("3"), "gpu:3");
    assert_string_equal(gpus("v100"), "gpu:v100:1");
    assert_string_equal(gpus("v100:2,a100:1"), "gpu:v100:2,gpu:a100:1");
    assert_true(text_starts(gpus("gpu:v100:2"), "refused"));
}

static void test_what_is_wrong_is_refused_with_the_grammar(void **state)
{
    static const char *const wrong[] = {
        "gpu:",   ":2",     "gpu:v100:",   "gpu:v100:x", "gpu:a:b:c",
        "gpu:-1", "g pu:1", "gpu:v100:-2", "gpu:2:3:4"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        if (!text_starts(gres(wrong[i]), "refused"))
            fail_msg("\"%s\" was read as %s", wrong[i], gres(wrong[i]));
    assert_non_null(strstr(gres("gpu:a:b:c"), "gpu:v100:2"));
    assert_true(text_starts(gres("gpu:9223372036854775807,gpu:1"), "refused"));
    assert_true(text_starts(gres("gpu:a:9223372036854775807,gpu:b:1"), "refused"));
    assert_true(text_starts(gres("nic:1T,gpu:1"), "refused"));
    assert_string_equal(gres("nic:1T"), "nic:1099511627776");
}

/* It is read again and again for a job that waits. */
static void test_a_list_has_an_end(void **state)
{
    for (int n = 256; n <= 257; n++) {
        struct str text = STR_INIT;
        for (int i = 0; i < n; i++)
            str_addf(&text, "%sgpu:1", i ? "," : "");
        assert_string_equal(gres(str_text(&text)),
                            n == 256 ? "gpu:256"
                                     : "refused: a list of resources has at most 256 items");
        str_done(&text);
    }
}

static void test_counting_all_types(void **state)
{
    struct gres_list list;
    assert_true(gres_parse("gpu:v100:2,gpu:a100:1,nic", arena, &list, NULL));
    assert_int_equal(gres_count(&list, "gpu"), 3);
    assert_int_equal(gres_count(&list, "nic"), 1);
    assert_int_equal(gres_count(&list, "fpga"), 0);
}

static void test_types_match_without_letter_case_and_with_alternatives(void **state)
{
    assert_true(gres_type_matches(NULL, "v100"));
    assert_true(gres_type_matches(NULL, NULL));
    assert_true(gres_type_matches("V100", "v100"));
    assert_true(gres_type_matches("a100|a40", "A40"));
    assert_false(gres_type_matches("a100|a40", "a4"));
    assert_false(gres_type_matches("v100", NULL));
}

static void test_devices_are_written_as_they_are_read(void **state)
{
    static const char text[] = "gpu:v100:0:16384:0-7:GPU-uuid;gpu::1:::0000:3b:00.0";
    struct device_list list = {0};
    struct str out = STR_INIT;
    assert_true(devices_parse(text, arena, &list, NULL));
    assert_int_equal(list.n, 2);
    assert_string_equal(list.v[0].type, "v100");
    assert_int_equal(list.v[0].mem_mib, 16384);
    assert_string_equal(list.v[0].cpus, "0-7");
    assert_null(list.v[1].type);
    assert_null(list.v[1].cpus);
    assert_int_equal(list.v[1].index, 1);
    assert_string_equal(list.v[1].uuid, "0000:3b:00.0");
    devices_format(&list, &out);
    assert_string_equal(str_text(&out), text);
    str_done(&out);
}

static void test_what_more_is_known_of_a_device(void **state)
{
    static const char text[] =
        "gpu:a100:0:40960:0-7:GPU-a|pci=0000:3b:00.0|numa=1|links=1+3;gpu:a100:1:::|links=0";
    struct device_list list = {0};
    struct str out = STR_INIT;
    assert_true(devices_parse(text, arena, &list, NULL));
    assert_string_equal(list.v[0].uuid, "GPU-a");
    assert_string_equal(list.v[0].pci, "0000:3b:00.0");
    assert_string_equal(list.v[0].numa, "1");
    assert_string_equal(list.v[0].links, "1+3");
    assert_null(list.v[1].uuid);
    assert_string_equal(list.v[1].links, "0");
    devices_format(&list, &out);
    assert_string_equal(str_text(&out), text);
    str_clear(&out);
    assert_true(devices_parse("gpu:a100:0:::GPU-a|colour=red|numa=2", arena, &list,
                              NULL)); /* of a later release */
    assert_string_equal(list.v[0].numa, "2");
    str_done(&out);
}

static void test_a_device_needs_kind_and_index(void **state)
{
    static const char *const wrong[] = {"gpu",     "gpu:v100",        "gpu:v100:x",
                                        ":v100:0", "gpu:v100:0:much", "gpu:v100:-1"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct device_list list = {0};
        struct err e = {0};
        if (devices_parse(wrong[i], arena, &list, &e))
            fail_msg("\"%s\" was accepted", wrong[i]);
        assert_true(e.text[0] && list.n == 0);
    }
}

/* By kind and index: of another type or uuid, too, it would be two jobs' at once. */
static void test_a_device_is_named_once(void **state)
{
    static const char *const kinds[] = {"gpu", "nic"}, *const types[] = {"", "a", "b"};
    for (size_t i = 0; i < 2 * 3 * 2; i++) { /* a list of three, and one more at its end */
        const char *kind = kinds[i % 2], *type = types[i / 2 % 3];
        int index = i / 6 ? 1 : 2;
        const char *text = arena_printf(
            arena, "gpu:a:2:::;nic:a:3:::;gpu:a:0:::GPU-a;%s:%s:%d:::", kind, type, index);
        struct device_list list = {0};
        struct err e = {0};
        if (devices_parse(text, arena, &list, &e) != (text_is(kind, "nic") || index != 2))
            fail_msg("\"%s\": %s", text, e.text);
        if (e.text[0])
            assert_string_equal(e.text, "device gpu 2 is named twice");
    }
}

static const char *asked(const char *text)
{
    struct err e = {0};
    const char *v = text;
    return gres_asked(&v, arena, &e) ? v ? v : "nothing" : "refused";
}

static void test_what_a_job_asks_has_no_prefix_and_may_be_nothing(void **state)
{
    assert_string_equal(asked("gpu:2"), "gpu:2");
    assert_string_equal(asked("gres:gpu:2"), "gpu:2");
    assert_string_equal(asked("gres/gpu:2,gres/nic:1"), "gpu:2,gres/nic:1");
    assert_string_equal(asked("gpu:1,gpu:3"), "gpu:3");
    assert_string_equal(asked("gpu:1,none"), "gpu:1,none");
    static const char *const none[] = {"", "NONE", "none", "gpu:0", "gres/none", "gpu:v100:0,none"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_string_equal(asked(none[i]), "nothing");
    assert_string_equal(asked("gpu:v100:1,gpu:1"), "refused");
    assert_string_equal(asked("gpu:x:y"), "refused");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kind_type_and_count),
        cmocka_unit_test(test_a_type_may_look_like_a_number_when_a_count_follows),
        cmocka_unit_test(test_equal_kind_and_type_add_up),
        cmocka_unit_test(test_none_and_zero_are_nothing),
        cmocka_unit_test(test_other_spellings_of_the_same),
        cmocka_unit_test(test_gpus_have_a_kind_already),
        cmocka_unit_test(test_what_is_wrong_is_refused_with_the_grammar),
        cmocka_unit_test(test_a_list_has_an_end),
        cmocka_unit_test(test_counting_all_types),
        cmocka_unit_test(test_types_match_without_letter_case_and_with_alternatives),
        cmocka_unit_test(test_devices_are_written_as_they_are_read),
        cmocka_unit_test(test_what_more_is_known_of_a_device),
        cmocka_unit_test(test_a_device_needs_kind_and_index),
        cmocka_unit_test(test_a_device_is_named_once),
        cmocka_unit_test(test_what_a_job_asks_has_no_prefix_and_may_be_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
