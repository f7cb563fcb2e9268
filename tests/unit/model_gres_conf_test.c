/* gres.conf: what its lines say about a node, and what is wrong with them. */
#include "unit.h"

#include "base/str.h"
#include "model/settings/gres_conf.h"

#include <string.h>

static struct arena *arena;
static struct gres_conf conf;

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

static void reads(const char *text)
{
    struct err err = {0};
    bool ok = gres_conf_parse(text, "gres.conf", "n2", arena, &conf, &err);
    assert_string_equal(err.text, "");
    assert_true(ok);
}

static void fails(const char *text, const char *why)
{
    struct err err = {0};
    assert_false(gres_conf_parse(text, "gres.conf", "n2", arena, &conf, &err));
    assert_string_equal(err.text, why);
}

static void test_files_in_ranges(void **state)
{
    (void)state;
    reads("Name=gpu Type=v100 File=/dev/nvidia[0-1] Cores=0-7 # the first\n"
          "name=gpu type=\"t4\" file=/dev/nvidia2,/dev/nvidia3 Links=0,0,-1,16\n");
    assert_int_equal(conf.n, 2);
    assert_string_equal(conf.row[0].type, "v100");
    assert_int_equal(conf.row[0].nfiles, 2);
    assert_string_equal(conf.row[0].file[1], "/dev/nvidia1");
    assert_string_equal(conf.row[0].cores, "0-7");
    assert_int_equal(conf.row[1].line, 2);
    assert_string_equal(conf.row[1].type, "t4");
    assert_string_equal(conf.row[1].file[0], "/dev/nvidia2");
    assert_string_equal(conf.row[1].links, "0,0,-1,16");
    assert_int_equal(conf.detect, DETECT_UNSET);
}

static void test_lines_of_other_nodes_are_not_ours(void **state)
{
    (void)state;
    reads("AutoDetect=nvml\n"
          "NodeName=n[1-3] AutoDetect=off\n"
          "NodeName=n[4-9] AutoDetect=rsmi\n"
          "NodeName=n1 Name=gpu File=/dev/nvidia0\n"
          "NodeName=n[2,5] Name=nic Count=2K\n");
    assert_int_equal(conf.detect, DETECT_OFF);
    assert_int_equal(conf.n, 1);
    assert_string_equal(conf.row[0].name, "nic");
    assert_int_equal(conf.row[0].count, 2048);
    reads("NodeName=n1 AutoDetect=off\nAutoDetect=rsmi\n");
    assert_int_equal(conf.detect, DETECT_RSMI);
}

static void test_several_files_of_one_device_and_counts(void **state)
{
    (void)state;
    reads(
        "Name=gpu Type=a100_1g.5gb \\\n  MultipleFiles=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap21\n"
        "Name=shard Count=8 Flags=CountOnly,nvidia_gpu_env\n");
    assert_true(conf.row[0].one_device);
    assert_int_equal(conf.row[0].nfiles, 2);
    assert_int_equal(conf.row[0].line, 1);
    assert_true(conf.row[1].count_only);
    assert_int_equal(conf.row[1].line, 3);
    assert_string_equal(conf.remarks,
                        "gres.conf:3: Flags=nvidia_gpu_env has no effect: the variables of all "
                        "makers are set, and devices are not shared");
}

static void test_what_is_wrong_is_named(void **state)
{
    (void)state;
    fails("\n\nName=gpu Fiel=/dev/x\n",
          "gres.conf:3: unknown key Fiel; NodeName, Name, Type, File, "
          "MultipleFiles, Count, Cores, Links, Flags and AutoDetect are known");
    fails("Name=gpu File=nvidia0\n",
          "gres.conf:1: File=nvidia0 is no path of device files: /dev/nvidia0, "
          "/dev/nvidia[0-3] or several with commas are");
    fails("Name=gpu Count=none\n",
          "gres.conf:1: Count=none is no number from 1 on (K, M, G may follow)");
    fails("Name=nic Count=2T\n", "gres.conf:1: Count=2T is more than 1T (2^40)");
    fails("Name=nic Count=9223372036854775807p\n",
          "gres.conf:1: Count=9223372036854775807p is more than 1T (2^40)");
    fails("Name=gpu File=/dev/nvidia[0-1] Count=3\n",
          "gres.conf:1: Count=3 does not fit to 2 devices of File=: leave Count out");
    fails("File=/dev/nvidia0\n", "gres.conf:1: Name= is missing: which resource is this?");
    fails("Name=gpu File=/dev/nvidia0 Cores=a-b\n",
          "gres.conf:1: Cores=a-b is no list of core numbers: 0-7 or 0,2,4 are");
    fails("Name=gpu File=/dev/nvidia0 Links=1,x\n",
          "gres.conf:1: Links=1,x is no list of link counts, one for each device of the node, -1 "
          "for itself: "
          "-1,16,16,0 is");
    fails("AutoDetect=oneapi\n",
          "gres.conf:1: AutoDetect=oneapi is not supported: nvml, rsmi and off are; "
          "without it both makers' libraries are asked");
    fails("Name=gpu Flags=explicit File=/dev/nvidia0\n",
          "gres.conf:1: Flags=explicit is not supported: CountOnly is; the *_gpu_env flags are "
          "accepted "
          "without effect");
    fails("Name=gpu Type=\"v100\nName=x", "gres.conf:1: the quotes after Type= do not end");
    fails("Name=gpu File=\n", "gres.conf:1: File= has no value");
    fails("gpu\n", "gres.conf:1: \"gpu\" is no KEY=VALUE");
    fails("Name=x Cores=1\n",
          "gres.conf:1: Cores and Links say something of devices: name them with File= or Count=");
    fails("Name=gpu Flags=CountOnly File=/dev/nvidia0\n",
          "gres.conf:1: Flags=CountOnly and File= exclude each other");
}

/* They stand in lists of what a node has, between ':' and ','. */
static void test_names_can_be_asked_for(void **state)
{
    (void)state;
    static const char *const name[] = {"n:ic", "gres", "\"n ic\"", "n,ic", "_nic", "n;ic"};
    static const char *const type[] = {"a:b", "\"Tesla V100\"", "a;b", "a,b", ".a", "(a)", "a|b"};
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
        struct err err = {0};
        if (gres_conf_parse(arena_printf(arena, "Name=%s", name[i]), "gres.conf", "n2", arena,
                            &conf, &err))
            fail_msg("%s is read", name[i]);
        assert_non_null(strstr(err.text, "gres.conf:1: Name="));
        reads(arena_printf(arena, "NodeName=n1 Name=%s\n", name[i])); /* another node's */
        assert_int_equal(conf.n, 0);
    }
    for (size_t i = 0; i < sizeof type / sizeof type[0]; i++) {
        reads(arena_printf(arena, "Name=gpu Type=%s Count=2\n", type[i]));
        assert_int_equal(conf.n, 1);
        assert_null(conf.row[0].type);
        assert_non_null(strstr(conf.remarks, "gres.conf:1: Type="));
        reads(arena_printf(arena, "NodeName=n1 Name=gpu Type=%s Count=2\n", type[i]));
        assert_null(conf.remarks);
    }
    reads("Name=GPU Type=H100 Count=2\nName=Nic Count=1\n");
    assert_string_equal(conf.row[0].name, "gpu");
    assert_string_equal(conf.row[0].type, "H100");
    assert_string_equal(conf.row[1].name, "Nic");
}

static void test_a_comment_does_not_go_on(void **state)
{
    (void)state;
    reads("#Name=gpu \\\nName=nic Count=1\nName=x \\ # two\n Count=2\n");
    assert_int_equal(conf.n, 2);
    assert_string_equal(conf.row[0].name, "nic");
    assert_int_equal(conf.row[1].count, 2);
}

static void test_an_empty_file_says_nothing(void **state)
{
    (void)state;
    reads("# nothing\n\n   \n");
    assert_int_equal(conf.n, 0);
    assert_int_equal(conf.detect, DETECT_UNSET);
    assert_null(conf.remarks);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_in_ranges),
        TEST(lines_of_other_nodes_are_not_ours),
        TEST(several_files_of_one_device_and_counts),
        TEST(what_is_wrong_is_named),
        TEST(names_can_be_asked_for),
        TEST(a_comment_does_not_go_on),
        TEST(an_empty_file_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
