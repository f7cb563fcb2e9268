#include "unit.h"

#include "node/shepherd/watch/account.h"

#include <stdlib.h>

static int32_t id_of(const void *ctx, size_t i)
{
    return *(const int32_t *)ctx + (int32_t)i;
}

static struct note told(const struct proc_account *a)
{
    static const int32_t first = 10;
    struct note n = {0};
    account_note(a, id_of, &first, &n);
    return n;
}

static void test_processes_of_a_task_are_added_and_the_most_is_kept(void **state)
{
    (void)state;
    struct proc_account a;
    account_open(&a, 2);
    account_begin(&a);
    account_add(&a, 0, &(struct proc_usage){.rss_bytes = 100, .vm_bytes = 1000});
    account_add(&a, 0, &(struct proc_usage){.rss_bytes = 50, .vm_bytes = 500});
    account_add(&a, 1, &(struct proc_usage){.rss_bytes = 120, .vm_bytes = 2000});
    account_end(&a);
    account_begin(&a);
    account_add(&a, 0, &(struct proc_usage){.rss_bytes = 10});
    account_end(&a);
    struct note n = told(&a);
    assert_int_equal(n.tasks, 2);
    assert_int_equal(n.max_rss_bytes, 150);
    assert_int_equal(n.rss_task, 10);
    assert_int_equal(n.ave_rss_bytes, (150 + 120) / 2);
    assert_int_equal(n.max_vm_bytes, 2000);
    assert_int_equal(n.vm_task, 11);
    account_close(&a);
}

/* A process that ended stays counted, once: neither forgotten with it nor added to its last
 * sample. */
static void test_what_ended_is_counted_once(void **state)
{
    (void)state;
    struct proc_account a;
    account_open(&a, 1);
    account_begin(&a);
    account_add(&a, 0, &(struct proc_usage){.cpu_user_us = 900000, .write_bytes = 4096});
    account_add(&a, 0, &(struct proc_usage){.cpu_system_us = 50000, .major_faults = 3});
    account_end(&a);
    struct rusage r = {.ru_utime = {1, 0}, .ru_maxrss = 7};
    account_ended(&a, 0, &r, &(struct proc_usage){.write_bytes = 8192});
    struct note n = told(&a);
    assert_int_equal(n.ave_cpu_us, 1000000);
    assert_int_equal(n.write_bytes, 8192);
    assert_int_equal(n.max_rss_bytes, 7 * 1024);
    assert_int_equal(n.max_vm_bytes, 7 * 1024); /* at least that, though no sample met it */
    assert_int_equal(n.ave_vm_bytes, 7 * 1024);
    account_begin(&a);
    account_add(&a, 0, &(struct proc_usage){.cpu_system_us = 60000, .major_faults = 3});
    account_end(&a);
    n = told(&a);
    assert_int_equal(n.ave_cpu_us, 1060000);
    assert_int_equal(n.max_pages, 3);
    account_close(&a);
}

/* What a process read is known from its io where that could be seen, from the disk's blocks else;
 * the larger counts. */
static void test_reading_and_writing_of_what_ended(void **state)
{
    (void)state;
    struct proc_account a;
    account_open(&a, 2);
    struct rusage r = {.ru_inblock = 4, .ru_oublock = 2};
    account_ended(&a, 0, &r, NULL);
    account_ended(&a, 1, &r, &(struct proc_usage){.read_bytes = 5000, .write_bytes = 10});
    struct note n = told(&a);
    assert_int_equal(n.read_bytes, 4 * 512 + 5000);
    assert_int_equal(n.read_max_bytes, 5000);
    assert_int_equal(n.read_task, 11);
    assert_int_equal(n.write_bytes, 2 * 2 * 512);
    assert_int_equal(n.write_task, 10);
    account_close(&a);
}

static void test_the_task_that_worked_least(void **state)
{
    (void)state;
    struct proc_account a;
    account_open(&a, 3);
    for (size_t i = 0; i < 3; i++) {
        struct rusage r = {.ru_utime = {i == 1 ? 1 : 5, 0}};
        account_ended(&a, i, &r, NULL);
    }
    struct note n = told(&a);
    assert_int_equal(n.min_cpu_us, 1000000);
    assert_int_equal(n.cpu_task, 11);
    account_close(&a);
}

static void test_orphans_stay_with_the_task_they_were_seen_with(void **state)
{
    (void)state;
    struct proc_account a;
    account_open(&a, 4);
    assert_int_equal(account_task_of(&a, 500), 0);
    account_remember(&a, (struct account_child[]){{700, 3}, {500, 2}, {600, 1}}, 3);
    assert_int_equal(account_task_of(&a, 500), 2);
    assert_int_equal(account_task_of(&a, 600), 1);
    assert_int_equal(account_task_of(&a, 700), 3);
    assert_int_equal(account_task_of(&a, 650), 0);
    account_remember(&a, NULL, 0);
    assert_int_equal(account_task_of(&a, 700), 0);
    account_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes_of_a_task_are_added_and_the_most_is_kept),
        cmocka_unit_test(test_what_ended_is_counted_once),
        cmocka_unit_test(test_reading_and_writing_of_what_ended),
        cmocka_unit_test(test_the_task_that_worked_least),
        cmocka_unit_test(test_orphans_stay_with_the_task_they_were_seen_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
