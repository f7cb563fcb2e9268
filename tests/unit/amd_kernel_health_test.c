/* How GPUs of AMD are, by the files of the kernel: each lie in each file, devices that go, figures. */
#include "amd_kernel_help.h"

#include <sys/stat.h>

#define LIAR 1u /* the GPU whose files lie */
#define PID  4711

/* ---- how it is: each lie in each file ---- */

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

/* Of who is not read nothing is known, so the list proves nothing. */
static void test_more_processes_than_are_read_prove_nothing(void **state)
{
    (void)state;
    struct amd *a = opened();
    const amd_process_vec *p;
    for (int n = 2; n <= 4096; n++) { /* one is there */
        char path[96];
        assert_true(n % 1000 != 0 || amd_processes(a, &p));
        snprintf(path, sizeof path, "%s/" KFD "proc/%d", top, 10000 + n);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    assert_false(amd_processes(a, &p));
    amd_close(a);
}

int main(void)
{
    if (!mkdtemp(top))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_error_in_each_file, begin, end),
        cmocka_unit_test_setup_teardown(test_values_that_cannot_be, begin, end),
        cmocka_unit_test_setup_teardown(test_one_that_hangs, begin, end),
        cmocka_unit_test_setup_teardown(test_processes_that_cannot_be_told, begin, end),
        cmocka_unit_test_setup_teardown(test_one_falls_off_its_bus, begin, end),
        cmocka_unit_test_setup_teardown(test_one_goes_and_comes_back, begin, end),
        cmocka_unit_test_setup_teardown(test_one_sleeps, begin, end),
        cmocka_unit_test_setup_teardown(test_errors_of_all_blocks_are_added, begin, end),
        cmocka_unit_test_setup_teardown(test_processes_are_where_they_have_something, begin, end),
        cmocka_unit_test_setup_teardown(test_more_processes_than_are_read_prove_nothing, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
