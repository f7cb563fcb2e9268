/* AMD's GPUs by the kernel's files, which lie as real ones do: each lie in each file, and what
 * every question then gets. This test has the place of sysfs_read.c. */
#include "unit.h"

#include "../fake/amd_tree.h"
#include "node/hardware/amd/amd.h"
#include "node/hardware/discover_gpus.h"
#include "node/hardware/sysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GPUS  3u
#define LIAR  1u /* the GPU whose files lie */
#define PID   4711
#define HANGS (-1)

#define KFD "class/kfd/kfd/"
#define BUS "bus/pci/devices/0000:42:00.0"

/* ---- reading, with one file that lies ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const char *file; /* below the tree; NULL: none lies */
    int error;        /* 0: `text` is in it; HANGS: until it does no more */
    const char *text;
} lie = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void lie_set(const char *file, int error, const char *text)
{
    pthread_mutex_lock(&lie.lock);
    lie.file = file;
    lie.error = error;
    lie.text = text;
    pthread_cond_broadcast(&lie.changed);
    pthread_mutex_unlock(&lie.lock);
}

static int honest_read(const char *path, char *to, size_t size, size_t *ret_len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    ssize_t n = read(fd, to, size - 1);
    close(fd);
    to[n > 0 ? n : 0] = '\0';
    if (ret_len)
        *ret_len = n > 0 ? (size_t)n : 0;
    return 0;
}

int sysfs_read(const char *path, char *to, size_t size, size_t *ret_len)
{
    char below[512];
    pthread_mutex_lock(&lie.lock);
    snprintf(below, sizeof below, "%s", path + strlen(sysfs_root()) + 1);
    while (lie.file && text_is(below, lie.file) && lie.error == HANGS)
        pthread_cond_wait(&lie.changed, &lie.lock);
    bool lies = lie.file && text_is(below, lie.file);
    int error = lies ? lie.error : 0;
    if (lies && !error)
        snprintf(to, size, "%s", lie.text);
    if (lies && ret_len)
        *ret_len = error ? 0 : strlen(lie.text);
    pthread_mutex_unlock(&lie.lock);
    return lies ? error : honest_read(path, to, size, ret_len);
}

/* ---- a machine ---- */

static char top[] = "/tmp/remuda-amd-unit-XXXXXX";

static void tree_remove(const char *below)
{
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s/%s'", top, below);
    assert_int_equal(system(command), 0);
}

static void machine_make(const char *first, const char *second, const char *third)
{
    struct amd_tree_gpu gpu[GPUS] = {*amd_tree_model(first), *amd_tree_model(second),
                                     *amd_tree_model(third)};
    tree_remove("");
    amd_tree_make(top, gpu, GPUS);
    amd_tree_say(top, KFD "proc/4711/vram_1000", "1048576\n");
    amd_tree_say(top, KFD "proc/4711/vram_1001", "2097152\n");
    amd_tree_say(top, KFD "proc/4711/vram_1002", "0\n");
    amd_tree_say(top, KFD "proc/4711/queues/0/gpuid", "1001\n");
}

static struct amd *opened(void)
{
    struct str why = STR_INIT;
    struct amd *a = amd_open(&why);
    assert_non_null(a);
    assert_string_equal(str_text(&why), "");
    str_done(&why);
    a->wait_ms = 60000;
    return a;
}

static int begin(void **state)
{
    (void)state;
    setenv("REMUDA_SYS", top, 1);
    setenv("REMUDA_KFD", "/dev/null", 1);
    setenv("REMUDA_RSMI", "/nowhere/rsmi.so", 1); /* whatever this machine has */
    lie_set(NULL, 0, NULL);
    machine_make("mi250x", "mi250x", "mi210");
    return 0;
}

static int end(void **state)
{
    (void)state;
    tree_remove("");
    return 0;
}

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
    gpus_number(&found, NULL, NULL, arena);
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

/* ---- how it is: each lie in each file ---- */

enum { MEMORY = 1, ERRORS = 2, BUSY = 4, BYTES = 8, ON = 16, ALL = 31 };

/* What a lie in a file costs: the answer for the device, and what is then not known of it. */
static const struct file {
    const char *path;
    bool of_device; /* it is one that a device, or its driver for it, answers */
    int costs;
} files[] = {
    {KFD "topology/nodes/2/gpu_id", true, 0},   {BUS "/config", true, 0},
    {BUS "/gpu_busy_percent", true, BUSY},      {BUS "/mem_info_vram_total", true, MEMORY},
    {BUS "/mem_info_vram_used", true, MEMORY},  {BUS "/ras/umc_err_count", false, ERRORS},
    {BUS "/power/runtime_status", false, 0},    {KFD "proc/4711/vram_1001", false, BYTES},
    {KFD "proc/4711/queues/0/gpuid", false, 0},
};

static const struct {
    int error;
    enum amd_answer answer;
} errors[] = {
    {EIO, AMD_DOUBT},     {EAGAIN, AMD_DOUBT},    {EBUSY, AMD_DOUBT},     {EPERM, AMD_DOUBT},
    {ETIME, AMD_DOUBT},   {ETIMEDOUT, AMD_DOUBT}, {EREMOTEIO, AMD_DOUBT}, {EFAULT, AMD_DOUBT},
    {ENODEV, AMD_ABSENT}, {ENXIO, AMD_ABSENT},    {ENOENT, AMD_OK},       {EACCES, AMD_OK},
    {EOPNOTSUPP, AMD_OK}, {EINVAL, AMD_OK},       {ENODATA, AMD_OK},      {EINTR, AMD_OK},
    {ENOMEM, AMD_OK},     {EMFILE, AMD_OK},       {EBADMSG, AMD_OK},
};

static int known_of(const struct amd *a, uint32_t device, const amd_process_vec *p)
{
    const struct amd_now *now = amd_now(a, device);
    int known = (now->has_memory ? MEMORY : 0) | (now->has_errors ? ERRORS : 0) |
                (now->has_busy ? BUSY : 0);
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].device == device && p->v[i].pid == PID)
            known |= ON | (p->v[i].has_bytes ? BYTES : 0);
    return known;
}

static void assert_honest(const struct amd *a, const amd_process_vec *p)
{
    assert_int_equal(amd_now(a, 0)->answer, AMD_OK);
    assert_int_equal(known_of(a, 0, p), ALL);
    assert_int_equal(amd_now(a, 2)->answer, AMD_OK);
    assert_int_equal(known_of(a, 2, p), MEMORY | ERRORS | BUSY);
}

static void test_each_error_in_each_file(void **state)
{
    (void)state;
    struct amd *a = opened();
    const amd_process_vec *p;
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++)
        for (size_t e = 0; e < sizeof errors / sizeof errors[0]; e++) {
            /* It is looked for in the list; then that nobody lists it is proof. */
            bool list = f == 0;
            enum amd_answer expected = files[f].of_device ? errors[e].answer : AMD_OK;
            if (list && (errors[e].error == ENOENT || errors[e].error == EBADMSG))
                expected = AMD_ABSENT;
            lie_set(files[f].path, errors[e].error, NULL);
            amd_look(a, AMD_ALL, true);
            assert_true(amd_processes(a, &p));
            lie_set(NULL, 0, NULL);
            assert_int_equal(amd_now(a, LIAR)->answer, expected);
            assert_true((expected == AMD_OK) == (amd_now(a, LIAR)->why[0] == '\0'));
            if (expected != AMD_ABSENT)
                assert_int_equal(known_of(a, LIAR, p), ALL & ~files[f].costs);
            assert_honest(a, p);
        }
    amd_look(a, AMD_ALL, true);
    assert_int_equal(amd_now(a, LIAR)->answer, AMD_OK);
    amd_close(a);
}

static void test_values_that_cannot_be(void **state)
{
    (void)state;
    static const char *const values[] = {"",
                                         "\n",
                                         "garbage",
                                         "-1",
                                         "0x10",
                                         "99999999999999999999999",
                                         "18446744073709551615",
                                         "Query currently inaccessible\n",
                                         "1 GiB?"};
    struct amd *a = opened();
    const amd_process_vec *p;
    for (size_t f = 2; f < sizeof files / sizeof files[0]; f++)
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            lie_set(files[f].path, 0, values[v]);
            amd_look(a, AMD_ALL, true);
            assert_true(amd_processes(a, &p));
            assert_int_equal(amd_now(a, LIAR)->answer, AMD_OK);
            bool is_number = values[v][0] == '1'; /* a small one, or one that is none of bytes */
            if (!is_number)
                assert_int_equal(known_of(a, LIAR, p), ALL & ~files[f].costs);
            assert_true(!amd_now(a, LIAR)->has_memory ||
                        amd_now(a, LIAR)->memory_total <= UINT64_C(1) << 50);
            assert_true(!amd_now(a, LIAR)->has_busy || amd_now(a, LIAR)->busy_percent <= 100);
            assert_honest(a, p);
        }
    lie_set(NULL, 0, NULL);
    amd_close(a);
}

/* The driver waits for a device that does not come back: the others are not held up, and nothing is
 * asked of it twice. */
static void test_one_that_hangs(void **state)
{
    (void)state;
    for (size_t f = 0; f < 6; f++) {
        struct amd *a = opened();
        lie_set(files[f].path, HANGS, NULL);
        a->wait_ms = 200;
        bool others = false;
        for (int i = 0; i < 100 && !others;
             i++) { /* a slow machine may need more than that for the others, too */
            amd_look(a, AMD_ALL, true);
            others = amd_now(a, 0)->answer == AMD_OK && amd_now(a, 2)->answer == AMD_OK;
            assert_int_equal(amd_now(a, LIAR)->answer, AMD_BLIND);
            assert_string_equal(amd_now(a, LIAR)->why, "its driver does not answer");
        }
        assert_true(others);
        lie_set(NULL, 0, NULL);
        a->wait_ms = 60000;
        while (!bounded_wait(a->asked[LIAR].thread, bounded_now_ms() + 1000))
            ;
        amd_look(a, AMD_ALL, true);
        assert_int_equal(amd_now(a, LIAR)->answer, AMD_OK);
        amd_close(a);
    }
}

static void test_processes_that_cannot_be_told(void **state)
{
    (void)state;
    struct amd *a = opened();
    const amd_process_vec *p;
    lie_set(KFD "proc/4711/vram_1000", HANGS, NULL);
    a->wait_ms = 50;
    assert_false(amd_processes(a, &p));
    assert_false(amd_processes(a, &p));
    lie_set(NULL, 0, NULL);
    a->wait_ms = 60000;
    while (!bounded_wait(a->thread, bounded_now_ms() + 1000))
        ;
    assert_true(amd_processes(a, &p));
    assert_int_equal(p->n, 2);
    assert_true(p->v[1].bytes == 2097152);
    amd_close(a);
}

/* ---- devices that go ---- */

static void test_one_falls_off_its_bus(void **state)
{
    (void)state;
    struct amd *a = opened();
    for (unsigned looks = 1; looks <= AMD_ONES_MOST + 1; looks++) {
        amd_tree_write(top, BUS "/config", "\xff\xff\xff\xff", 4);
        amd_look(a, AMD_ALL, true);
        assert_int_equal(amd_now(a, LIAR)->answer, looks < AMD_ONES_MOST ? AMD_DOUBT : AMD_LOST);
        assert_non_null(strstr(amd_now(a, LIAR)->why, "its PCI registers read as all ones"));
        assert_int_equal(amd_now(a, 0)->answer, AMD_OK);
    }
    amd_tree_write(top, BUS "/config", "\x02\x10\x0c\x74", 4);
    amd_look(a, AMD_ALL, true);
    assert_int_equal(amd_now(a, LIAR)->answer, AMD_OK);
    amd_tree_write(top, BUS "/config", "\xff\xff\xff\xff",
                   4); /* it counts from the beginning: a reset */
    amd_look(a, AMD_ALL, true);
    assert_int_equal(amd_now(a, LIAR)->answer, AMD_DOUBT);
    amd_close(a);
}

static void test_one_goes_and_comes_back(void **state)
{
    (void)state;
    struct amd *a = opened();
    tree_remove(KFD "topology/nodes/2"); /* the driver lets go */
    amd_look(a, AMD_ALL, true);
    assert_int_equal(amd_now(a, LIAR)->answer, AMD_ABSENT);
    assert_string_equal(amd_now(a, LIAR)->why, "its driver does not list it any more");
    tree_remove(BUS);
    amd_look(a, AMD_ALL, true);
    assert_int_equal(amd_now(a, LIAR)->answer, AMD_ABSENT);
    assert_non_null(strstr(amd_now(a, LIAR)->why, "neither on its bus nor in its driver's list"));
    machine_make("mi250x", "mi250x", "mi210");
    amd_tree_say(top, KFD "topology/nodes/2/gpu_id",
                 "1002\n"); /* the list is in another order now */
    amd_tree_say(top, KFD "topology/nodes/3/gpu_id", "1001\n");
    amd_look(a, AMD_ALL, true);
    assert_int_equal(amd_now(a, LIAR)->answer, AMD_OK);
    assert_int_equal(amd_now(a, 2)->answer, AMD_OK);
    tree_remove("class"); /* the driver is unloaded */
    amd_look(a, AMD_ALL, true);
    for (uint32_t i = 0; i < GPUS; i++)
        assert_int_equal(amd_now(a, i)->answer, AMD_ABSENT);
    amd_close(a);
}

/* One that saves power refuses to say how busy it is, and is not woken to be asked. */
static void test_one_sleeps(void **state)
{
    (void)state;
    struct amd *a = opened();
    amd_tree_say(top, BUS "/power/runtime_status", "suspended\n");
    lie_set(BUS "/gpu_busy_percent", EPERM, NULL);
    amd_look(a, AMD_ALL, true);
    assert_int_equal(amd_now(a, LIAR)->answer, AMD_OK);
    assert_true(amd_now(a, LIAR)->has_memory);
    assert_false(amd_now(a, LIAR)->has_busy);
    amd_close(a);
}

/* ---- figures ---- */

static void test_errors_of_all_blocks_are_added(void **state)
{
    (void)state;
    struct amd *a = opened();
    amd_tree_say(top, BUS "/ras/mmhub_err_count", "ue: 3\nce: 9\n");
    amd_tree_say(top, BUS "/ras/xgmi_wafl_err_count", "ue: 4\nce: 9\nde: 1\n");
    amd_look(a, AMD_ALL, true);
    assert_true(amd_now(a, LIAR)->has_errors && amd_now(a, LIAR)->uncorrectable == 7);
    amd_look(a, AMD_ALL, false);
    assert_false(amd_now(a, LIAR)->has_errors);
    tree_remove(BUS "/ras"); /* a card that does not count */
    amd_look(a, AMD_ALL, true);
    assert_int_equal(amd_now(a, LIAR)->answer, AMD_OK);
    assert_false(amd_now(a, LIAR)->has_errors);
    amd_close(a);
}

/* Each process has all devices; on those where it has neither memory nor a queue it is not. */
static void test_processes_are_where_they_have_something(void **state)
{
    (void)state;
    struct amd *a = opened();
    const amd_process_vec *p;
    amd_tree_say(top, KFD "proc/9/vram_1002", "0\n");
    amd_tree_say(top, KFD "proc/9/queues/3/gpuid", "1002\n");
    amd_tree_say(top, KFD "proc/10/vram_1000", "0\n");
    assert_true(amd_processes(a, &p));
    assert_int_equal(p->n, 3);
    for (size_t i = 0; i < p->n; i++) {
        assert_true(p->v[i].pid == PID ||
                    (p->v[i].pid == 9 && p->v[i].device == 2 && p->v[i].bytes == 0));
        assert_true(p->v[i].has_bytes);
    }
    tree_remove(KFD "proc"); /* an old kernel */
    assert_true(amd_processes(a, &p));
    assert_int_equal(p->n, 0);
    amd_close(a);
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
        cmocka_unit_test_setup_teardown(test_each_error_in_each_file, begin, end),
        cmocka_unit_test_setup_teardown(test_values_that_cannot_be, begin, end),
        cmocka_unit_test_setup_teardown(test_one_that_hangs, begin, end),
        cmocka_unit_test_setup_teardown(test_processes_that_cannot_be_told, begin, end),
        cmocka_unit_test_setup_teardown(test_one_falls_off_its_bus, begin, end),
        cmocka_unit_test_setup_teardown(test_one_goes_and_comes_back, begin, end),
        cmocka_unit_test_setup_teardown(test_one_sleeps, begin, end),
        cmocka_unit_test_setup_teardown(test_errors_of_all_blocks_are_added, begin, end),
        cmocka_unit_test_setup_teardown(test_processes_are_where_they_have_something, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
