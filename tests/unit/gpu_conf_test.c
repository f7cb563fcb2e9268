/* GPUs that gres.conf names, and those that it does not: which is whose file, what a job may open,
 * by what names it is told of its own. */
#include "unit.h"

#include "../fake/amd_tree.h"
#include "base/idset.h"
#include "node/daemon/launch.h"
#include "node/hardware/discover_gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena *arena;
static struct gpu_found found, driver;

static int begin(void **state)
{
    (void)state;
    arena = arena_new();
    return 0;
}

static int end(void **state)
{
    (void)state;
    vec_done(&found.gpu);
    vec_done(&driver.gpu);
    memset(&found, 0, sizeof found);
    memset(&driver, 0, sizeof driver);
    arena_free(arena);
    return 0;
}

/* In the order of its maker's list; /dev/null is 1:3, /dev/zero 1:5, /dev/full 1:7. */
static void gpu(struct gpu_found *f, const char *uuid, const char *pci, const char *files)
{
    struct gpu_row *g = gpu_found_add(f);
    g->vendor_index = (uint32_t)f->gpu.n - 1;
    if (uuid && strncmp(uuid, "MIG-", 4) == 0)
        g->vendor_index = UINT32_MAX;
    g->d = (struct device){
        .kind = "gpu", .uuid = uuid, .pci = pci, .index = (int32_t)f->gpu.n - 1, .type = "t"};
    g->files = files;
}

static void conf(const char *text)
{
    struct gres_conf c;
    struct err err = {0};
    struct str counted = STR_INIT;
    assert_true(gres_conf_parse(text, "gres.conf", "n1", arena, &c, &err));
    assert_true(gres_conf_apply(&found, &driver, &c, "gres.conf", 1, arena, &counted, &err));
    str_done(&counted);
}

static void assert_text(const char *is, const char *expected)
{
    assert_string_equal(is ? is : "-", expected);
}

static void three(void)
{
    gpu(&found, "GPU-a", "0000:10:00.0", "1:3");
    gpu(&found, "GPU-b", "0000:11:00.0", "1:5");
    gpu(&found, "GPU-c", "0000:12:00.0", "1:7");
}

static void test_without_lines_nothing_is_closed_and_numbers_do(void **state)
{
    (void)state;
    three();
    conf("");
    assert_int_equal(found.gpu.n, 3);
    assert_text(found.closed, "-");
    assert_text(gpus_names(&found, false, arena), "-");
    assert_text(gpus_names(&found, true, arena), "-");
}

static void test_what_no_line_names_is_closed(void **state)
{
    (void)state;
    three();
    conf("Name=gpu File=/dev/zero Cores=0\nName=gpu File=/dev/full Cores=1\n");
    assert_int_equal(found.gpu.n, 2);
    assert_text(found.closed, "1:3");
    /* Where all are seen, number 0 is not the first of its maker's. */
    assert_text(gpus_names(&found, false, arena), "0=GPU-b,1=GPU-c");
    assert_text(gpus_names(&found, true, arena), "-");
}

static void test_files_in_another_order_than_the_librarys(void **state)
{
    (void)state;
    three();
    conf("Name=gpu File=/dev/full\nName=gpu File=/dev/null\n");
    assert_text(found.closed, "1:5");
    assert_text(gpus_names(&found, false, arena), "0=GPU-c,1=GPU-a");
    assert_text(gpus_names(&found, true, arena), "0=GPU-c,1=GPU-a");
}

static void test_lines_without_files_and_of_other_kinds(void **state)
{
    (void)state;
    three();
    conf("Name=gpu Count=2\n");
    assert_text(found.closed, "-");
    end(NULL);
    begin(NULL);
    three();
    conf("Name=gpu Count=2 Flags=CountOnly\nName=gpu File=/dev/zero\n");
    assert_text(found.closed, "-");
    end(NULL);
    begin(NULL);
    three();
    conf("Name=nic File=/dev/null\n");
    assert_text(found.closed, "-");
    end(NULL);
    begin(NULL);
    three();
    conf("Name=gpu File=/dev/zero\nName=shard File=/dev/null\n");
    assert_text(found.closed, "1:7");
}

static void test_instances(void **state)
{
    (void)state;
    gpu(&found, "MIG-a", "0000:10:00.0", "1:3+1:5");
    gpu(&found, "MIG-b", "0000:10:00.0", "1:3+1:7");
    conf("Name=gpu MultipleFiles=/dev/null,/dev/zero\n");
    assert_text(found.closed, "1:3 1:7"); /* who has the first has the GPU's file with it */
    assert_text(gpus_names(&found, true, arena), "0=MIG-a");
    end(NULL);
    begin(NULL);
    gpu(&found, "MIG-a", "0000:10:00.0", "1:3+1:5");
    gpu(&found, "MIG-b", "0000:10:00.0", "1:3+1:7");
    conf("Name=gpu File=/dev/null\n"); /* the GPU with all that is made of it */
    assert_int_equal(found.gpu.n, 1);
    assert_text(found.closed, "-");
}

/* A whole GPU after two instances has number 2, and is its maker's second. */
static void test_a_gpu_beside_one_with_instances(void **state)
{
    (void)state;
    gpu(&found, "MIG-a", "0000:10:00.0", "195:0+241:1");
    gpu(&found, "MIG-b", "0000:10:00.0", "195:0+241:2");
    gpu(&found, "GPU-c", "0000:11:00.0", "195:1");
    found.gpu.v[2].vendor_index = 1;
    assert_text(gpus_names(&found, false, arena), "0=MIG-a,1=MIG-b,2=GPU-c");
    assert_text(gpus_names(&found, true, arena), "0=MIG-a,1=MIG-b");
}

/* Of AMD's a line names the render node; /dev/kfd (here 1:5) is with each. */
static void test_a_file_that_all_devices_have(void **state)
{
    (void)state;
    gpu(&found, "GPU-a", "0000:41:00.0", "1:3+1:5");
    gpu(&found, "GPU-b", "0000:42:00.0", "1:7+1:5");
    conf("Name=gpu File=/dev/full\n");
    assert_int_equal(found.gpu.n, 1);
    assert_text(found.gpu.v[0].d.uuid, "GPU-b");
    assert_text(found.gpu.v[0].files, "1:7+1:5");
    assert_text(found.closed, "1:3 1:5");
    assert_text(gpus_names(&found, false, arena), "0=GPU-b");
}

static void test_each_maker_counts_its_own(void **state)
{
    (void)state;
    gpu(&found, "GPU-a", "0000:10:00.0", "195:0");
    gpu(&found, "GPU-b", "0000:41:00.0", "226:128+511:0");
    found.gpu.v[1].vendor_index = 0;
    assert_text(gpus_names(&found, true, arena), "-");
    assert_text(gpus_names(&found, false, arena), "0=GPU-a,1=GPU-b");
}

/* Each set of eight cores, as a list of devices has them: a step's ':' ended the part before it. */
static void test_cores_are_read_as_they_were_said(void **state)
{
    (void)state;
    for (unsigned set = 1; set < 256; set++) {
        struct str text = STR_INIT, cores = STR_INIT;
        struct device_list list;
        struct idset cpus = IDSET_INIT;
        end(NULL);
        begin(NULL);
        gpu(&found, "GPU-a", "0000:10:00.0", "1:3");
        for (unsigned i = 0; i < 8; i++)
            if (set >> i & 1)
                str_addf(&cores, "%s%u", cores.len ? "," : "", i);
        conf(arena_printf(arena, "Name=gpu File=/dev/null Cores=%s\n", str_text(&cores)));
        devices_format(&(struct device_list){&found.gpu.v[0].d, 1}, &text);
        assert_true(devices_parse(str_text(&text), arena, &list, NULL));
        assert_text(list.v[0].uuid, "GPU-a");
        assert_true(idset_parse(&cpus, list.v[0].cpus, 100, NULL));
        for (uint32_t i = 0; i < 8; i++)
            assert_int_equal(idset_has(&cpus, i), set >> i & 1);
        idset_done(&cpus);
        str_done(&text);
        str_done(&cores);
    }
}

/* ---- numbers over a change of the lines ---- */

static const char *const of_file[] = {"/dev/null", "/dev/zero", "/dev/full"}, *const number_of[] = {
                                                                                  "1:3", "1:5",
                                                                                  "1:7"};

/* As discovery does it; `lists` is devices and files as a daemon keeps them, and becomes these. */
static void discovers(const char *lines, bool library, const char **lists)
{
    struct str devices = STR_INIT, files = STR_INIT;
    vec_done(&found.gpu);
    memset(&found, 0, sizeof found);
    if (library)
        three();
    gpus_number(&found, lists[0], lists[1], NULL, arena);
    conf(lines);
    gpus_number_lines(&found, lists[0], lists[1], arena);
    for (size_t i = 0; i < found.gpu.n; i++) {
        const struct gpu_row *g = &found.gpu.v[i];
        str_addf(&devices, "%s", i ? ";" : "");
        devices_format(&(struct device_list){(struct device *)&g->d, 1}, &devices);
        if (text_is(g->d.kind, "gpu") && g->files)
            str_addf(&files, "%s%d=%s", files.len ? "," : "", g->d.index, g->files);
    }
    lists[0] = arena_strdup(arena, str_text(&devices));
    lists[1] = arena_strdup(arena, str_text(&files));
    str_done(&devices);
    str_done(&files);
}

/* The k-th of all orders of some of the three, behind a device of another kind; -1: there are no
 * more. ret_number[f] is -1. */
static const char *order(int k, int32_t *ret_number)
{
    const char *text = "Name=nic File=/dev/null\n";
    int place[3] = {k % 4, k / 4 % 4, k / 16}; /* 0: none */
    for (int i = 0; i < 3; i++) {
        ret_number[i] = -1;
        for (int n = 0; n < i; n++)
            if (place[i] && place[i] == place[n])
                return NULL;
        if (place[i])
            text = arena_printf(arena, "%sName=gpu File=%s\n", text, of_file[place[i] - 1]);
    }
    return text;
}

static void numbers_take(int32_t *ret_number)
{
    for (size_t i = 0; i < found.gpu.n; i++)
        for (size_t f = 0; f < 3; f++)
            if (text_is(found.gpu.v[i].d.kind, "gpu") &&
                text_is(found.gpu.v[i].files, number_of[f]))
                ret_number[f] = found.gpu.v[i].d.index;
}

/* A GPU that a job had as number 0 was number 0 no more, and another was, which the next got. */
static void test_numbers_stay_when_lines_change(void **state)
{
    (void)state;
    for (int k = 0; k < 64 * 64 * 4; k++) {
        end(NULL);
        begin(NULL);
        int32_t was[3], is[3];
        const char *lists[2] = {NULL, NULL}, *before = order(k % 64, was),
                   *after = order(k / 64 % 64, is);
        if (!before || !after)
            continue;
        discovers(before, k / 4096 & 1, lists);
        numbers_take(was);
        for (int32_t i = 0, line = 0; i < (int32_t)found.gpu.n; i++)
            if (text_is(found.gpu.v[i].d.kind, "gpu"))
                assert_int_equal(found.gpu.v[i].d.index, line++);
        discovers(after, k / 8192, lists);
        numbers_take(is);
        for (int f = 0; f < 3; f++)
            for (int g = 0; g < 3; g++)
                if (is[f] >= 0 && (was[f] >= 0 || k / 4096 == 0) &&
                    (f == g ? was[f] >= 0 && is[f] != was[f] : is[f] == is[g] || is[f] == was[g]))
                    fail_msg("of %s and then %s: %s is %d after %d", before, after, of_file[f],
                             is[f], was[f]);
    }
}

/* As older releases kept them: NVIDIA's library failed after an upgrade, and the four that jobs had
 * became 4 to 7, with 0 to 3 free for others. */
static void test_numbers_stay_where_nothing_can_be_compared(void **state)
{
    (void)state;
    for (int k = 0; k < 64 * 4; k++) {
        end(NULL);
        begin(NULL);
        int32_t was[3];
        const char *lists[2] = {NULL, NULL}, *lines = order(k % 64, was);
        if (!lines)
            continue;
        discovers(lines, k / 64 & 1, lists);
        lists[1] = "";
        discovers(lines, k / 128, lists);
        for (int32_t i = 0, line = 0; i < (int32_t)found.gpu.n; i++)
            if (text_is(found.gpu.v[i].d.kind, "gpu") && found.gpu.v[i].d.index != line++)
                fail_msg("%s: line %d is %d", lines, line - 1, found.gpu.v[i].d.index);
    }
}

/* Its files are another's now. */
static void test_a_gpu_at_another_address_is_another(void **state)
{
    (void)state;
    static const char *const pci[] = {"0000:11:00.0", "0000:10:00.0", NULL};
    for (size_t i = 0; i < 3; i++) {
        end(NULL);
        begin(NULL);
        gpu(&found, NULL, pci[i], "1:3");
        gpus_number(&found, "gpu:t:5:::|pci=0000:10:00.0", "5=1:3", NULL, arena);
        assert_int_equal(found.gpu.v[0].d.index == 5, i > 0);
    }
}

static const char *numbers(void)
{
    const char *text = "";
    for (size_t i = 0; i < found.gpu.n; i++)
        text = arena_printf(arena, "%s%d(%s) ", text, found.gpu.v[i].d.index,
                            found.gpu.v[i].d.links ? found.gpu.v[i].d.links : "");
    return text;
}

/* Lines without a file are known by their place; Links= count the lines. */
static void test_places_of_lines_and_links(void **state)
{
    (void)state;
    const char *lists[2] = {NULL, NULL};
    discovers("Name=gpu Count=2\n", false, lists);
    discovers("Name=gpu Count=3\n", false, lists);
    assert_text(numbers(), "0() 1() 2() ");
    discovers("Name=gpu Count=1\nName=gpu File=/dev/zero\n", true, lists);
    assert_text(numbers(), "0() 1() ");
    lists[0] = lists[1] = NULL;
    discovers("Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n", false, lists);
    discovers("Name=gpu File=/dev/full Links=-1,0,4\nName=gpu File=/dev/zero Links=0,-1,4\n"
              "Name=gpu File=/dev/null Links=4,4,-1\n",
              false, lists);
    assert_text(numbers(), "2(0) 1(0) 0(2+1) ");
}

/* ---- files and lists of drivers ---- */

static char top[] = "/tmp/remuda-gpu-conf-XXXXXX";

static void test_a_file_for_displays(void **state)
{
    (void)state;
    amd_tree_say(top, "dev/char/226:1/dev", "226:1\n");
    assert_int_equal(
        symlink("../../../0000:42:00.0", arena_printf(arena, "%s/dev/char/226:1/device", top)), 0);
    setenv("REMUDA_SYS", top, 1);
    gpu(&found, "GPU-a", "0000:41:00.0", "226:128+511:0");
    gpu(&found, "GPU-b", "0000:42:00.0", "226:129+511:0");
    const struct gpu_row *is = gpu_of_files(&found, "226:1");
    assert_non_null(is);
    assert_text(is->d.uuid, "GPU-b");
    assert_null(gpu_of_files(&found, "226:2"));
    assert_null(gpu_of_files(&found, "226:128+226:129")); /* one device of two is neither */
    struct gpu_found made = {0};
    gpu(&made, "GPU-b", NULL, gpu_files_with("226:1", is->files, arena));
    assert_text(made.gpu.v[0].files, "226:1+226:129+511:0");
    assert_text(gpus_closed(&found, &driver, &made, arena), "226:128 511:0");
    vec_done(&made.gpu);
    unsetenv("REMUDA_SYS");
}

/* AutoDetect=off, or a library that does not answer: the driver's own list. */
static void test_what_the_driver_lists(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) /* as on real machines, the files' numbers may run against it */
        amd_tree_say(top, arena_printf(arena, "driver/nvidia/gpus/0000:1%d:00.0/information", i),
                     "Model: \t NVIDIA A100-SXM4-40GB\nDevice Minor: \t %d\n", 92 - i);
    setenv("REMUDA_PROC", top, 1);
    nvidia_listed(&driver, arena);
    assert_int_equal(driver.gpu.n, 3);
    assert_text(driver.gpu.v[0].files, "195:92");
    struct gpu_found made = {0};
    gpu(&made, NULL, NULL, "195:91");
    gpu(&made, NULL, NULL, "195:90");
    made.gpu.v[0].vendor_index = gpu_of_files(&driver, "195:91")->vendor_index;
    made.gpu.v[1].vendor_index = gpu_of_files(&driver, "195:90")->vendor_index;
    assert_text(gpus_closed(&found, &driver, &made, arena), "195:92");
    assert_text(gpus_names(&made, false, arena), "0=1,1=2"); /* no library, no names */
    vec_done(&made.gpu);
    unsetenv("REMUDA_PROC");
}

/* ---- jobs ---- */

static int64_t hidden; /* by what denied() returned last */

/* What a batch script of a job with these GPUs may not open; *env gets its variables. */
static const char *denied(const char *alloc, bool constrains, struct plan_bytes *env)
{
    static struct msg_node_welcome settings;
    static const struct owner owner = {.name = "u"};
    struct job j = {.id = 7, .attempt = 1, .alloc = alloc, .nodes = "n1"};
    struct step_plan p;
    struct err err = {0};
    settings = (struct msg_node_welcome){.constrain_devices = constrains};
    struct launch_site site = {.node = "n1",
                               .hostname = "n1",
                               .node_dir = "/s/nodes/n1",
                               .state_dir = "/s",
                               .welcome = &settings,
                               .is_root = true,
                               .has_gpus = true,
                               .names_all = "0=GPU-b,1=GPU-c",
                               .device_files = "0=195:1,1=195:2",
                               .closed_files = "195:0 195:2"};
    struct msg_launch l = {.job = {&j, 1}, .step_id = STEP_BATCH, .script = {"x", 1}};
    assert_true(launch_plan(&site, &l, &owner, arena, &p, &err));
    *env = p.env;
    hidden = p.hidden;
    return p.deny;
}

static bool has_variable(struct plan_bytes env, const char *text)
{
    for (const char *at = env.data, *end = at + env.len; at < end; at += strlen(at) + 1)
        if (strcmp(at, text) == 0)
            return true;
    return false;
}

static void test_nobody_opens_what_is_closed(void **state)
{
    (void)state;
    struct plan_bytes env;
    assert_text(denied("n1 cpus=0 gpu=0", true, &env), "195:2 195:0");
    assert_int_equal(hidden, 2);
    assert_true(has_variable(env, "CUDA_VISIBLE_DEVICES=0"));
    assert_text(denied("n1 cpus=0 gpu=1", true, &env), "195:1 195:0"); /* its own stay its own */
    assert_text(denied("n1 cpus=0", true, &env), "195:1 195:2 195:0");
    assert_int_equal(hidden, 3);
    /* Not hidden: by the name, as its number is another's. */
    assert_text(denied("n1 cpus=0 gpu=0", false, &env), "-");
    assert_int_equal(hidden, 0);
    assert_true(has_variable(env, "CUDA_VISIBLE_DEVICES=GPU-b"));
}

int main(void)
{
    if (!mkdtemp(top))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_without_lines_nothing_is_closed_and_numbers_do, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_what_no_line_names_is_closed, begin, end),
        cmocka_unit_test_setup_teardown(test_files_in_another_order_than_the_librarys, begin, end),
        cmocka_unit_test_setup_teardown(test_lines_without_files_and_of_other_kinds, begin, end),
        cmocka_unit_test_setup_teardown(test_instances, begin, end),
        cmocka_unit_test_setup_teardown(test_a_gpu_beside_one_with_instances, begin, end),
        cmocka_unit_test_setup_teardown(test_a_file_that_all_devices_have, begin, end),
        cmocka_unit_test_setup_teardown(test_each_maker_counts_its_own, begin, end),
        cmocka_unit_test_setup_teardown(test_cores_are_read_as_they_were_said, begin, end),
        cmocka_unit_test_setup_teardown(test_numbers_stay_when_lines_change, begin, end),
        cmocka_unit_test_setup_teardown(test_numbers_stay_where_nothing_can_be_compared, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_a_gpu_at_another_address_is_another, begin, end),
        cmocka_unit_test_setup_teardown(test_places_of_lines_and_links, begin, end),
        cmocka_unit_test_setup_teardown(test_a_file_for_displays, begin, end),
        cmocka_unit_test_setup_teardown(test_what_the_driver_lists, begin, end),
        cmocka_unit_test_setup_teardown(test_nobody_opens_what_is_closed, begin, end),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", top);
    return system(command) == 0 ? failed : 1;
}
