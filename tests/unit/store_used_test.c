/* The sums of what was used are what a count of all jobs anew gives: after any history, in any
 * zone, for any time. */
#include "store_used_help.h"

#define ROUNDS 6

static void test_sums_are_what_a_count_gives(void **state)
{
    size_t found = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct both b;
        zone_set(zones[round % ARRAY_LEN(zones)]);
        both_open(&b, 15200000 + round);
        history_make(&b, 1);
        found += ask(&b, false);
        world_reopen(&b.sql);
        history_make(&b, 1000);
        found += ask(&b, false);
        both_close(&b);
    }
    assert_true(found > 100);
}

static void test_jobs_that_were_purged_stay_in_the_sums(void **state)
{
    struct both b;
    struct err e;
    zone_set("Europe/Berlin");
    both_open(&b, 15200100);
    history_make(&b, 1);
    both_commit(&b);
    struct batch *batch = world_batch(&b.sql);
    for (size_t i = 0; i < b.job.n; i++)
        if (job_state_over((enum job_state)b.job.v[i].state))
            batch_add(batch, ROW_DELETE, TABLE_JOB, &b.job.v[i]);
    assert_true(world_commit(&b.sql, batch, &e));
    assert_true(ask(&b, true) > 10);
    both_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_are_what_a_count_gives),
        cmocka_unit_test(test_jobs_that_were_purged_stay_in_the_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
