/* AMD's GPUs by ROCm SMI, where the kernel shows no list: each of its codes from each call, and
 * what every question then gets. FAKE_RSMI is tests/fake/rsmi.c. */
#include "unit.h"

#include "node/hardware/amd/amd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GPUS  3u
#define LIAR  1u
#define PID   4711
#define HANGS 9999

static char top[] = "/tmp/remuda-rsmi-unit-XXXXXX";
static char facts[64];

static void say(const char *text, const char *lie)
{
    char new[80];
    snprintf(new, sizeof new, "%s.new", facts);
    FILE *f = fopen(new, "we");
    assert_true(f && fputs(text, f) >= 0 && fputs(lie, f) >= 0 && fclose(f) == 0);
    assert_int_equal(rename(new, facts), 0);
}

static const char usual[] = "process 0 4711 100\nprocess 1 4711 200\nprocess 1 12 0\nrate 1 50\n";

static int begin(void **state)
{
    (void)state;
    snprintf(facts, sizeof facts, "%s/facts", top);
    setenv("REMUDA_SYS", top, 1); /* nothing is there */
    setenv("REMUDA_KFD", "/dev/null", 1);
    setenv("REMUDA_RSMI", getenv("FAKE_RSMI"), 1);
    setenv("REMUDA_FAKE_AMD", facts, 1);
    unsetenv("REMUDA_AMD_WAIT_MS");
    say(usual, "");
    return 0;
}

static struct amd *opened(void)
{
    struct str why = STR_INIT;
    struct amd *a = amd_open(&why);
    assert_non_null(a);
    assert_string_equal(str_text(&why), ""); /* that the kernel has no list is no news then */
    str_done(&why);
    a->wait_ms = 60000;
    return a;
}

static void assert_nothing(const char *says)
{
    struct str why = STR_INIT;
    assert_null(amd_open(&why));
    if (!strstr(str_text(&why), says))
        fail_msg("\"%s\" has no \"%s\"", str_text(&why), says);
    str_done(&why);
}

static void test_devices_are_described(void **state)
{
    (void)state;
    struct amd *a = opened();
    assert_int_equal(a->n, GPUS);
    assert_string_equal(a->device[1].type, "mi250x");
    assert_string_equal(a->device[2].type, "mi210");
    assert_string_equal(a->device[1].uuid, "GPU-000000000000abc1");
    assert_string_equal(a->device[1].pci, "0000:41:00.0");
    assert_true(a->device[1].links == 1 && a->device[1].render == 129);
    assert_true(a->device[1].bytes == UINT64_C(64) << 30);
    amd_close(a);
}

/* AMD's packages: /opt/rocm/lib, or where ROCM_PATH says, with the number of the release. */
static void test_it_is_found_where_packages_put_it(void **state)
{
    (void)state;
    static const char *const numbers[] = {".so.7", ".so.6", ".so.5", ".so.1", ".so"};
    char rocm[64], dir[80], path[128];
    unsetenv("REMUDA_RSMI");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        snprintf(rocm, sizeof rocm, "%s/%zu", top,
                 i); /* the linker knows again what it opened by a name */
        snprintf(dir, sizeof dir, "%s/lib", rocm);
        assert_true(mkdir(rocm, 0755) == 0 && mkdir(dir, 0755) == 0);
        setenv("ROCM_PATH", rocm, 1);
        snprintf(path, sizeof path, "%s/librocm_smi64%s", dir, numbers[i]);
        assert_int_equal(symlink(getenv("FAKE_RSMI"), path), 0);
        struct amd *a = opened();
        assert_string_equal(a->rsmi.path, path);
        amd_close(a);
        assert_true(unlink(path) == 0 && rmdir(dir) == 0 && rmdir(rocm) == 0);
    }
    unsetenv("ROCM_PATH");
}

static void test_what_stands_in_the_way_is_said(void **state)
{
    (void)state;
    say(usual, "rsmi_init 0 8\n");
    assert_nothing("could not be started: rsmi_init answers 8 (RSMI_STATUS_INIT_ERROR)");
    say(usual, "rsmi_num_monitor_devices 0 6\n");
    assert_nothing("does not say how many devices there are (6, RSMI_STATUS_INTERNAL_EXCEPTION)");
    setenv("REMUDA_RSMI", "libc.so.6", 1);
    assert_nothing("ROCm SMI (libc.so.6) lacks rsmi_init");
    setenv("REMUDA_RSMI", "/nowhere/rsmi.so", 1);
    assert_nothing("ROCm SMI is not there (/nowhere/rsmi.so");
}

/* Its locks lie in memory that everybody can write: who holds one must not hold us. */
static void test_init_waits_for_a_lock(void **state)
{
    (void)state;
    setenv("REMUDA_AMD_WAIT_MS", "50", 1);
    say(usual, "rsmi_init 0 9999\n");
    assert_nothing("AMD GPUs: ROCm SMI does not answer, and they are not used");
    say(usual, "");
}

enum { MEMORY = 1, ERRORS = 2, BUSY = 4, BYTES = 8, ON = 16, ALL = 31 };

static int known_of(const struct amd *a, uint32_t device, const amd_process_vec *p)
{
    const struct amd_now *now = amd_now(a, device);
    int known = (now->has_memory ? MEMORY : 0) | (now->has_errors ? ERRORS : 0) |
                (now->has_busy ? BUSY : 0);
    for (size_t i = 0; p && i < p->n; i++)
        if (p->v[i].device == device && p->v[i].pid == PID)
            known |= ON | (p->v[i].has_bytes ? BYTES : 0);
    return known;
}

static const struct {
    const char *call;
    bool of_device;
    int costs;
} calls[] = {
    {"rsmi_dev_busy_percent_get", true, BUSY},
    {"rsmi_dev_memory_total_get", true, MEMORY},
    {"rsmi_dev_memory_usage_get", true, MEMORY},
    {"rsmi_dev_ecc_count_get", false, ERRORS},
    {"rsmi_compute_process_info_by_device_get", false, BYTES},
    {"rsmi_dev_unique_id_get", false, 0}, /* not asked again */
};

static const struct {
    unsigned code;
    enum amd_answer answer;
} codes[] = {
    {1, AMD_OK},
    {2, AMD_OK},
    {3, AMD_DOUBT},
    {4, AMD_OK},
    {5, AMD_OK},
    {6, AMD_DOUBT},
    {7, AMD_OK},
    {8, AMD_BLIND},
    {9, AMD_OK},
    {10, AMD_OK},
    {11, AMD_OK},
    {12, AMD_OK},
    {13, AMD_DOUBT},
    {14, AMD_OK},
    {15, AMD_DOUBT},
    {16, AMD_OK},
    {17, AMD_OK},
    {18, AMD_DOUBT},
    {0xffffffff, AMD_DOUBT},
};

static void test_each_code_of_each_call(void **state)
{
    (void)state;
    struct amd *a = opened();
    const amd_process_vec *p;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (size_t k = 0; k < sizeof codes / sizeof codes[0]; k++) {
            char lie[128];
            snprintf(lie, sizeof lie, "%s %u %u\n", calls[i].call, LIAR, codes[k].code);
            say(usual, lie);
            amd_look(a, AMD_ALL, true);
            assert_true(amd_processes(a, &p));
            enum amd_answer expected = calls[i].of_device ? codes[k].answer : AMD_OK;
            assert_int_equal(amd_now(a, LIAR)->answer, expected);
            assert_true((expected == AMD_OK) == (amd_now(a, LIAR)->why[0] == '\0'));
            assert_int_equal(known_of(a, LIAR, p), ALL & ~calls[i].costs);
            assert_int_equal(amd_now(a, 0)->answer, AMD_OK);
            assert_int_equal(known_of(a, 0, p), ALL);
            assert_int_equal(known_of(a, 2, p), MEMORY | ERRORS | BUSY);
        }
    amd_close(a);
}

/* Processes that cannot be listed are not known to be none; that there is no such call says so of
 * none. */
static void test_each_code_of_the_list_of_processes(void **state)
{
    (void)state;
    struct amd *a = opened();
    const amd_process_vec *p;
    for (size_t k = 0; k < sizeof codes / sizeof codes[0]; k++) {
        char lie[128];
        unsigned code = codes[k].code;
        bool none = code == 1 || code == 2 || code == 4 || code == 7 || code == 9 || code == 10 ||
                    code == 14;
        snprintf(lie, sizeof lie, "rsmi_compute_process_info_get 0 %u\n", code);
        say(usual, lie);
        assert_int_equal(amd_processes(a, &p), none);
        assert_true(!none || p->n == 0);
    }
    amd_close(a);
}

static void test_processes_have_memory_where_they_have_it(void **state)
{
    (void)state;
    struct amd *a = opened();
    const amd_process_vec *p;
    assert_true(amd_processes(a, &p));
    assert_int_equal(p->n, 3);
    assert_true(p->v[0].device == 0 && p->v[0].bytes == UINT64_C(100) << 20);
    assert_true(p->v[1].device == 1 && p->v[1].bytes == UINT64_C(200) << 20);
    assert_true(p->v[2].pid == 12 && p->v[2].device == 1 && p->v[2].has_bytes &&
                p->v[2].bytes == 0);
    amd_close(a);
}

/* More than there is room for is not none. */
static void test_very_many_processes(void **state)
{
    (void)state;
    struct amd *a = opened();
    const amd_process_vec *p;
    struct str many = STR_INIT;
    for (int i = 1; i <= 1100; i++)
        str_addf(&many, "process 2 %d 1\n", i);
    say(str_text(&many), "");
    assert_false(amd_processes(a, &p));
    str_done(&many);
    amd_close(a);
}

static void test_errors_of_all_blocks_are_added(void **state)
{
    (void)state;
    struct amd *a = opened();
    say(usual,
        "ecc 1 2 1\necc 1 3 8\necc 1 4 32\necc 1 5 131072\n"); /* UMC, MMHUB, PCIE_BIF and one that is newer */
    amd_look(a, AMD_ALL, true);
    assert_true(amd_now(a, LIAR)->has_errors);
    assert_int_equal(amd_now(a, LIAR)->uncorrectable, 2 + 3 + 4 + 5);
    assert_int_equal(amd_now(a, 0)->uncorrectable, 0);
    amd_close(a);
}

static void test_one_is_not_listed_any_more(void **state)
{
    (void)state;
    struct amd *a = opened();
    a->device[2].id = 3;
    amd_look(a, AMD_ALL, true);
    assert_int_equal(amd_now(a, 2)->answer, AMD_ABSENT);
    assert_int_equal(amd_now(a, 0)->answer, AMD_OK);
    amd_close(a);
}

static void test_one_call_hangs(void **state)
{
    (void)state;
    struct amd *a = opened();
    say(usual, "rsmi_dev_busy_percent_get 1 9999\n");
    a->wait_ms = 200;
    bool others = false;
    for (int i = 0; i < 100 && !others; i++) {
        amd_look(a, AMD_ALL, true);
        others = amd_now(a, 0)->answer == AMD_OK && amd_now(a, 2)->answer == AMD_OK;
        assert_int_equal(amd_now(a, LIAR)->answer, AMD_BLIND);
    }
    assert_true(others);
    say(usual, "");
    while (!bounded_wait(a->asked[LIAR].thread, bounded_now_ms() + 1000))
        ;
    a->wait_ms = 60000;
    amd_look(a, AMD_ALL, true);
    assert_int_equal(amd_now(a, LIAR)->answer, AMD_OK);
    amd_close(a);
}

/* A release without the newer functions: nothing is told of processes, and nothing is made up. */
static void sensors_are(struct amd *a, uint32_t device, const char *text)
{
    amd_look(a, AMD_ALL, false);
    assert_int_equal(amd_now(a, device)->answer, AMD_OK);
    assert_string_equal(amd_now(a, device)->sensors, text);
}

/* What is not told, or cannot be, is absent. */
static void test_what_its_sensors_say(void **state)
{
    (void)state;
    struct amd *a = opened();
    sensors_are(a, 1, "");
    say(usual, "membusy 1 31\nmilliwatts 1 425060\ncelsius 1 61 74\ntable 1 12 1700\n"
               "slowed 1 4294967296\n");
    sensors_are(a, 1, " 2:31 5:4251 6:61 7:74 16:12 10:32 8:1700");
    sensors_are(a, 0, "");
    say(usual, "membusy 1 101\nmilliwatts 1 9000000\ncelsius 1 900 0\ntable 1 65535 65535\n"
               "slowed 1 18446744073709551615\n");
    sensors_are(a, 1, "");
    say(usual, "membusy 1 31\ntable 1 12 1700\nslowed 1 1\n"
               "rsmi_dev_memory_busy_percent_get 1 16\nrsmi_dev_gpu_metrics_info_get 1 6\n");
    sensors_are(a, 1, "");
    amd_close(a);
}

static void test_an_old_library(void **state)
{
    (void)state;
    setenv("REMUDA_RSMI", getenv("FAKE_RSMI_OLD"), 1);
    struct amd *a = opened();
    const amd_process_vec *p;
    assert_true(amd_processes(a, &p));
    assert_int_equal(p->n, 0);
    amd_look(a, AMD_ALL, true);
    assert_int_equal(amd_now(a, 0)->answer, AMD_OK);
    amd_close(a);
}

static int end(void **state)
{
    (void)state;
    unlink(facts);
    return 0;
}

int main(void)
{
    if (!mkdtemp(top) || !getenv("FAKE_RSMI"))
        return 1;
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(test_devices_are_described),
        TEST(test_it_is_found_where_packages_put_it),
        TEST(test_what_stands_in_the_way_is_said),
        TEST(test_init_waits_for_a_lock),
        TEST(test_each_code_of_each_call),
        TEST(test_each_code_of_the_list_of_processes),
        TEST(test_processes_have_memory_where_they_have_it),
        TEST(test_very_many_processes),
        TEST(test_errors_of_all_blocks_are_added),
        TEST(test_one_is_not_listed_any_more),
        TEST(test_one_call_hangs),
        TEST(test_what_its_sensors_say),
        TEST(test_an_old_library),
#undef TEST
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(top);
    return failed;
}
