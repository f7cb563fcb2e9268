/* What reservations keep and partitions allow, where the CPUs of a node are shared. */
#include "sched_alone.h"

static struct world w;

/* One node of 8 CPUs; two jobs may share them in "shared", none may in "main". */
static int begin(void **state)
{
    (void)state;
    struct partition p = a_part("shared", "ALL");
    w = world_make(a_node(NULL), "n1", a_part("main", "ALL"));
    p.share = SHARE_FORCE;
    p.share_count = 2;
    put_part(w.cl, &p);
    return 0;
}

static int end(void **state)
{
    (void)state;
    world_end(&w);
    return 0;
}

static struct job_request so_many(const char *partition, int32_t cpus)
{
    return (struct job_request){
        .partition = partition, .cpus_per_task = cpus, .mem_per_node_mib = 10};
}

static void runs_until(uint64_t id, struct job_request req, int64_t end_us)
{
    if (text_empty(runs(&w, id, req)))
        fail_msg("job %llu does not start", (unsigned long long)id);
    cluster_set_end(w.cl, id, end_us);
}

static void reserve(int64_t start_us)
{
    struct reservation r = {.name = "r",
                            .start_us = start_us,
                            .end_us = start_us + HOUR,
                            .nodes = "n1",
                            .flags = RESV_SPEC_NODES};
    cluster_put_reservation(w.cl, &r);
}

/* No CPU is idle, and shares of some are free: a job that would run into the reservation does not
 * take them. */
static void shares_are_kept_for_a_later_reservation(void **state)
{
    (void)state;
    runs_until(11, so_many("main", 6), NOW + 20 * MIN);
    runs_until(12, so_many("shared", 2), NOW + 20 * MIN);
    reserve(NOW + 30 * MIN);
    assert_string_equal(runs(&w, 13, so_many("shared", 1)), ""); /* an hour */
    reserve(NOW + HOUR);
    assert_string_equal(runs(&w, 14, so_many("shared", 1)), "n1 cpus=6 mem=10 tasks=1");
}

/* ---- what a partition bounds ---- */

/* Work that shares has no more CPUs together than the partition may have, and lies on those it has
 * once they are all. The rows of -c4 and -c2 are what Slurm 22.05 does. */
static void a_partition_bounds_the_cpus_of_work_that_shares(void **state)
{
    (void)state;
    struct partition p = a_part("shared", "ALL");
    p.share = SHARE_FORCE;
    p.share_count = 2;
    p.max_cpus_per_node = 4;
    put_part(w.cl, &p);
    assert_string_equal(runs(&w, 1, so_many("shared", 4)), "n1 cpus=0-3 mem=10 tasks=1");
    assert_string_equal(runs(&w, 2, so_many("shared", 4)), "n1 cpus=0-3 mem=10 tasks=1");
    assert_string_equal(runs(&w, 3, so_many("shared", 1)), "");
    cluster_release(w.cl, 1);
    cluster_release(w.cl, 2);
    assert_string_equal(runs(&w, 4, so_many("shared", 2)), "n1 cpus=0-1 mem=10 tasks=1");
    assert_string_equal(runs(&w, 5, so_many("shared", 2)), "n1 cpus=2-3 mem=10 tasks=1");
    assert_string_equal(runs(&w, 6, so_many("shared", 2)), "n1 cpus=0-1 mem=10 tasks=1");
    assert_string_equal(runs(&w, 7, so_many("shared", 1)), "n1 cpus=2 mem=10 tasks=1");
    for (uint64_t id = 4; id <= 7; id++)
        cluster_release(w.cl, id);
    assert_string_equal(runs(&w, 11, so_many("shared", 3)), "n1 cpus=0-2 mem=10 tasks=1");
    assert_string_equal(runs(&w, 12, so_many("main", 5)), "n1 cpus=3-7 mem=10 tasks=1");
    assert_string_equal(runs(&w, 13, so_many("shared", 3)), "n1 cpus=0-2 mem=10 tasks=1");
    assert_string_equal(runs(&w, 14, so_many("shared", 1)), "");
}

/* A job that has the node to itself leaves CPUs idle where its partition bounds them: they are
 * nobody's, not even its user's. */
static void a_node_that_is_taken_whole_is_not_shared_with_its_user(void **state)
{
    (void)state;
    struct partition p = a_part("main", "ALL");
    p.max_cpus_per_node = 4;
    put_part(w.cl, &p);
    struct job_request whole = so_many("main", 1), own = so_many("shared", 1);
    whole.exclusive = EXCLUSIVE_NODE;
    own.exclusive = EXCLUSIVE_USER;
    assert_string_equal(runs(&w, 11, whole), "n1 cpus=0-3 mem=10 tasks=1");
    assert_string_equal(runs(&w, 12, own), "");
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {T(shares_are_kept_for_a_later_reservation),
                                       T(a_partition_bounds_the_cpus_of_work_that_shares),
                                       T(a_node_that_is_taken_whole_is_not_shared_with_its_user)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
