/* What the kernel's files say of GPUs of AMD: which there are, their sensors, their table. */
#include "amd_kernel_help.h"

/* ---- what there is ---- */

static void test_devices_are_described(void **state)
{
    (void)state;
    struct amd *a = opened();
    assert_int_equal(a->n, GPUS);
    const struct amd_device *d = &a->device[1];
    assert_string_equal(d->type, "mi250x");
    assert_string_equal(d->uuid, "GPU-000000000000abc1");
    assert_string_equal(d->pci, "0000:42:00.0");
    assert_true(d->bytes == UINT64_C(64) << 30);
    assert_true(d->has_render && d->render == 129);
    assert_int_equal(d->numa, 0);
    assert_string_equal(d->cpus, "0");
    assert_true(d->links == 1);
    assert_true(a->device[2].links == 0);
    assert_string_equal(a->device[2].type, "mi210");
    assert_int_equal(amd_find(a, "GPU-000000000000abc2", 0), 2);
    assert_int_equal(amd_find(a, "-", 130), 2);
    assert_int_equal(amd_find(a, "GPU-1", 130), UINT32_MAX);
    amd_close(a);
}

/* A card without a number that is its own is known by its file; of one that no list names the type
 * is its instruction set. */
static void test_cards_without_names(void **state)
{
    (void)state;
    machine_make("w7900", "w7900", "mi100");
    amd_tree_say(top, KFD "topology/nodes/1/properties",
                 "vendor_id 4098\ndevice_id 1\nlocation_id 16640\ndomain 0\ndrm_render_minor "
                 "128\ngfx_target_version "
                 "90402\n");
    amd_tree_say(top, BUS "/product_name", "AMD Radeon PRO W7900 Dual Slot\n");
    struct amd *a = opened();
    assert_string_equal(a->device[0].type, "gfx942");
    assert_string_equal(a->device[0].uuid, "");
    /* As the device says: no memory bank is listed. */
    assert_true(a->device[0].bytes == UINT64_C(48) << 30);
    assert_int_equal(amd_find(a, "-", 128), 0);
    assert_string_equal(a->device[1].type, "w7900");
    amd_close(a);
}

/* Parts of one GPU (CPX) have its address and its number: figures of the whole are no part's. */
static void test_parts_of_a_gpu(void **state)
{
    (void)state;
    machine_make("mi300x", "mi300x", "mi300x");
    amd_tree_say(top, KFD "topology/nodes/2/properties",
                 "vendor_id 4098\ndevice_id 29857\nlocation_id 268452096\ndomain "
                 "0\ndrm_render_minor 129\nunique_id "
                 "43968\nmem_banks_count 1\n");
    struct amd *a = opened();
    assert_string_equal(a->device[1].pci, a->device[0].pci);
    assert_true(a->device[0].is_part && a->device[1].is_part && !a->device[2].is_part);
    assert_string_equal(a->device[0].uuid, "");
    assert_string_equal(a->device[2].uuid, "GPU-000000000000abc2");
    amd_look(a, AMD_ALL, true);
    assert_int_equal(amd_now(a, 1)->answer, AMD_OK);
    assert_false(amd_now(a, 1)->has_memory || amd_now(a, 1)->has_busy);
    assert_true(amd_now(a, 2)->has_memory && amd_now(a, 2)->has_busy);
    amd_close(a);
}

/* ---- sensors, and the driver's table ---- */

static void number_put(unsigned char *table, size_t at, uint64_t n, size_t size)
{
    for (size_t i = 0; i < size; i++)
        table[at + i] = (unsigned char)(n >> 8 * i);
}

static void table_make(unsigned char *table, size_t size, unsigned revision)
{
    memset(table, 0xff, 512);
    number_put(table, 0, size, 2);
    table[2] = 1;
    table[3] = (unsigned char)revision;
}

static void sensors_are(struct amd *a, const char *text)
{
    amd_look(a, AMD_ALL, false);
    assert_string_equal(amd_now(a, 1)->sensors, text);
}

static void test_what_its_sensors_and_its_table_say(void **state)
{
    unsigned char table[512];
    (void)state;
    struct amd *a = opened();
    sensors_are(a, "");
    amd_tree_say(top, BUS "/mem_busy_percent", "31\n");
    amd_tree_say(top, BUS "/hwmon/hwmon3/power1_average", "425060000\n");
    amd_tree_say(top, BUS "/hwmon/hwmon3/temp1_label", "junction\n");
    amd_tree_say(top, BUS "/hwmon/hwmon3/temp1_input", "61000\n");
    amd_tree_say(top, BUS "/hwmon/hwmon3/freq1_label", "sclk\n");
    amd_tree_say(top, BUS "/hwmon/hwmon3/freq1_input", "1700000000\n");
    sensors_are(a, " 2:31 5:4251 6:61 8:1700");
    table_make(table, 120, 3);
    number_put(table, 20, 12, 2);
    number_put(table, 112, UINT64_C(1) << 34 | 1, 8);
    amd_tree_write(top, BUS "/gpu_metrics", table, 120);
    sensors_are(a, " 2:31 5:4251 6:61 8:1700 16:12 10:36");
    table_make(table, 296, 4); /* two of four engines are there, three of eight links */
    number_put(table, 16, 10, 2);
    number_put(table, 18, 21, 2);
    for (size_t i = 0; i < 3; i++) {
        number_put(table, 104 + 8 * i, 1000 * (i + 1), 8);
        number_put(table, 168 + 8 * i, 10 * (i + 1), 8);
    }
    amd_tree_write(top, BUS "/gpu_metrics", table, 296);
    sensors_are(a, " 2:31 5:4251 6:61 8:1700 16:16");
    const struct amd_table *t = &amd_now(a, 1)->table;
    assert_true(t->has_links && t->links_rx_kib == 6000 && t->links_tx_kib == 60);
    amd_close(a);
}

/* Of what is cut off, longer than it can be, or of a layout that is not known nothing is read. */
static void test_a_table_that_lies(void **state)
{
    static const struct {
        size_t size, len;
        unsigned revision;
        bool told;
    } row[] = {
        {120, 120, 3, true},  {80, 80, 1, true},    {104, 104, 2, true},    {79, 79, 1, false},
        {120, 119, 3, false}, {120, 3, 3, false},   {65535, 512, 3, false}, {0, 512, 3, false},
        {4, 4, 1, false},     {232, 232, 4, true},  {231, 231, 4, false},   {304, 304, 5, true},
        {303, 303, 5, false}, {304, 304, 0, false}, {304, 304, 6, false},   {304, 304, 255, false}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(row); i++) {
        unsigned char table[512];
        struct amd_table t;
        table_make(table, row[i].size, row[i].revision);
        for (size_t at = 16; at < 80; at += 2)
            number_put(table, at, 50, 2);
        char *exact = malloc(row[i].len); /* a byte beyond it is found by the sanitizers */
        memcpy(exact, table, row[i].len);
        amd_table_read(exact, row[i].len, &t);
        free(exact);
        assert_true(t.has_engines == row[i].told);
        assert_true(!t.has_engines || t.engines_percent == 50);
        assert_false(t.has_slowed || t.has_links);
    }
}

static void assert_nothing(const char *says)
{
    struct str why = STR_INIT;
    assert_null(amd_open(&why));
    assert_non_null(strstr(str_text(&why), says));
    str_done(&why);
}

static void test_what_stands_in_the_way_is_said(void **state)
{
    (void)state;
    tree_remove(KFD "topology/nodes/3");
    lie_set(KFD "topology/nodes/1/gpu_id", EPERM, NULL);
    struct amd *a = opened(); /* what is hidden from it is no news */
    assert_int_equal(a->n, 1);
    amd_close(a);
    tree_remove(KFD "topology/nodes/2");
    assert_nothing("1 are in ");
    assert_nothing("may not use them");
    lie_set(KFD "topology/nodes/1/gpu_id", EIO, NULL);
    assert_nothing("1 of the devices in ");
    lie_set(NULL, 0, NULL);
    tree_remove(KFD "topology/nodes/1");
    assert_nothing("has none (is one bound to the driver amdgpu?)");
    assert_nothing("; ROCm SMI is not there (/nowhere/rsmi.so");
    tree_remove("class");
    assert_nothing("/dev/null is there, but no AMD GPU can be used: the kernel's list of them");
    unsetenv("REMUDA_RSMI");
    setenv("REMUDA_KFD", "/nowhere/kfd", 1);
    struct str why = STR_INIT;
    assert_null(amd_open(&why)); /* a machine without AMD's driver: nothing is said */
    assert_string_equal(str_text(&why), "");
}

/* The second of three: the third stays the third. */
static void one_unreadable(const char *file)
{
    struct arena *arena = arena_new();
    struct gpu_found found = {0};
    struct str trouble = STR_INIT, search = STR_INIT;
    lie_set(file, EIO, NULL);
    discover_amd(&found, arena, &trouble, &search);
    gpus_number(&found, NULL, NULL, NULL, arena);
    assert_int_equal(found.gpu.n, 2);
    assert_int_equal(found.gpu.v[0].d.index, 0);
    assert_int_equal(found.gpu.v[1].d.index, 2);
    assert_string_equal(found.gpu.v[1].d.type, "mi210");
    assert_non_null(strstr(str_text(&trouble), "1 of the devices in "));
    assert_non_null(strstr(str_text(&trouble), "; the others keep their numbers"));
    vec_done(&found.gpu);
    str_done(&trouble);
    str_done(&search);
    arena_free(arena);
}

static void test_what_cannot_be_read_keeps_its_number(void **state)
{
    (void)state;
    one_unreadable(KFD "topology/nodes/2/properties");
    one_unreadable(KFD "topology/nodes/2/gpu_id");
    lie_set(NULL, 0, NULL);
}

int main(void)
{
    if (!mkdtemp(top))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_devices_are_described, begin, end),
        cmocka_unit_test_setup_teardown(test_cards_without_names, begin, end),
        cmocka_unit_test_setup_teardown(test_parts_of_a_gpu, begin, end),
        cmocka_unit_test_setup_teardown(test_what_its_sensors_and_its_table_say, begin, end),
        cmocka_unit_test(test_a_table_that_lies),
        cmocka_unit_test_setup_teardown(test_what_stands_in_the_way_is_said, begin, end),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_read_keeps_its_number, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
