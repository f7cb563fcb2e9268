/* A node's control groups: a group that is delegated, what is missing, what was left. */
#include "cgroup_help.h"

/* ---- the node's group ---- */

static void test_a_delegated_group_is_used(void **state)
{
    (void)state;
    struct cgroup_bases b = bases_of(false, NULL);
    char want[4200];
    snprintf(want, sizeof want, "unified:cpuset+memory+pids=%s\n", in_tree("user/me/remuda.n1.1"));
    assert_string_equal(str_text(&b.text), want);
    assert_true(b.limits_memory);
    assert_false(b.hides_devices);
    assert_string_equal(file_text(in_tree("user/me/remuda.n1.1"), "pids.max"),
                        "300"); /* of all jobs together */
    assert_string_equal(str_text(&b.said),
                        "enforced by cgroup v2: cores, memory, swap, number of processes, the end "
                        "of all processes; "
                        "devices of other jobs are not hidden (that takes root)");
    cgroup_bases_done(&b);
    assert_int_not_equal(access(in_tree("user/me/remuda.n1.1"), F_OK), 0);
}

/* A virtual node keeps jobs to no cores: nobody is told that cores are enforced. */
static void test_of_a_virtual_node_neither_cores_nor_devices_are_told(void **state)
{
    (void)state;
    struct cgroup_system sys = {.mounts = mounts, .own = own, .is_virtual = true};
    struct cgroup_bases b;
    cgroup_bases_make(&b, &sys, "n1.1", NULL);
    assert_string_equal(str_text(&b.said),
                        "enforced by cgroup v2: memory, swap, number of processes, the end of all "
                        "processes");
    assert_true(b.complete);
    cgroup_bases_done(&b);
}

static void test_processes_of_the_own_group_are_moved_out_of_the_way(void **state)
{
    (void)state;
    file_fill(in_tree("user/me"), "cgroup.procs", "1234\n");
    struct cgroup_bases b = bases_of(false, NULL);
    assert_string_equal(file_text(in_tree("user/me/remuda-daemons"), "cgroup.procs"), "1234");
    assert_false(spoiled);
    assert_true(b.limits_memory);
    cgroup_bases_done(&b);
}

static void test_root_of_a_machine_uses_the_top(void **state)
{
    (void)state;
    struct cgroup_bases b = bases_of(true, NULL);
    assert_non_null(strstr(str_text(&b.text), in_tree("remuda.n1.1")));
    assert_true(b.hides_devices && b.complete);
    assert_null(strstr(str_text(&b.said), "not"));
    cgroup_bases_done(&b);
}

/* As systemd delegates to users: everything but cpuset. */
static void test_what_is_not_delegated_is_said(void **state)
{
    (void)state;
    file_fill(tree, "cgroup.controllers", "cpuset memory pids\n");
    subtree_gives = "memory pids\n";
    struct cgroup_bases b = bases_of(false, NULL);
    assert_non_null(
        strstr(str_text(&b.said), "enforced by cgroup v2: memory, swap, number of processes"));
    assert_non_null(strstr(str_text(&b.said),
                           "jobs are kept on their cores by affinity only (the cpuset "
                           "controller is not delegated to /user/me): programs can change it"));
    cgroup_bases_done(&b);
}

static void test_nothing_there_is_said_thing_by_thing(void **state)
{
    (void)state;
    file_fill(in_tree(".."), "mounts", "");
    struct cgroup_bases b = bases_of(false, NULL);
    assert_string_equal(str_text(&b.text), "");
    assert_false(b.limits_memory || b.hides_devices || b.complete);
    assert_string_equal(str_text(&b.said),
                        "jobs are kept on their cores by affinity only (no cpuset controller is "
                        "mounted): programs can "
                        "change it; "
                        "memory is not limited by the kernel (no memory controller is mounted): "
                        "jobs over their memory are "
                        "found by sampling and ended; "
                        "devices of other jobs are not hidden (that takes root); "
                        "the number of processes is not limited (no pids controller is mounted); "
                        "processes of a job are found by descent to end them (there is no "
                        "cgroup.kill and no freezer)");
    cgroup_bases_done(&b);
}

static void test_leftovers_of_killed_daemons_go_others_stay(void **state)
{
    (void)state;
    struct cgroup_system sys = {.mounts = mounts, .own = own};
    struct cgroup_bases alive;
    cgroup_bases_make(&alive, &sys, "n2.1", NULL); /* its daemon lives: it holds the lock */
    assert_int_equal(mkdir(in_tree("user/me/remuda.n3.1"), 0755), 0);
    assert_int_equal(mkdir(in_tree("user/me/remuda.n3.1/5.1"), 0755), 0);
    assert_int_equal(mkdir(in_tree("user/me/remuda.n4.1"), 0755), 0);
    assert_int_equal(mkdir(in_tree("user/me/remuda.n4.1/5.1"), 0755), 0);
    file_fill(in_tree("user/me/remuda.n4.1/5.1"), "cgroup.procs", "77\n");
    assert_int_equal(mkdir(in_tree("user/former"), 0755), 0);
    char former[4200];
    snprintf(former, sizeof former, "unified:=%s\n", in_tree("user/former"));
    struct cgroup_bases b = bases_of(false, former);
    assert_int_equal(access(in_tree("user/me/remuda.n2.1"), F_OK), 0);
    assert_int_not_equal(access(in_tree("user/me/remuda.n3.1"), F_OK), 0);
    assert_int_equal(access(in_tree("user/me/remuda.n4.1/5.1"), F_OK), 0);
    assert_int_not_equal(access(in_tree("user/former"), F_OK), 0);
    struct str known = STR_INIT;
    cgroup_bases_known(&b, former, &known);
    assert_string_equal(str_text(&known), str_text(&b.text));
    str_done(&known);
    file_fill(in_tree("user/me/remuda.n4.1/5.1"), "cgroup.procs", "");
    cgroup_bases_done(&b);
    cgroup_bases_done(&alive);
}

/* A daemon that was started in a copy of a directory finds the groups of the one that lives
 * there: what is in them is none of its steps. */
static void test_groups_of_who_lives_are_not_ours(void **state)
{
    (void)state;
    struct cgroup_system sys = {.mounts = mounts, .own = own};
    struct cgroup_bases alive;
    cgroup_bases_make(&alive, &sys, "n2.1", NULL);
    assert_int_equal(mkdir(in_tree("user/me/remuda.n2.1/5.1"), 0755), 0);
    file_fill(in_tree("user/me/remuda.n2.1/5.1"), "cgroup.procs", "77\n");
    char *former = xstrdup(str_text(&alive.text));
    struct cgroup_bases b = bases_of(false, former);
    struct str known = STR_INIT;
    cgroup_bases_known(&b, former, &known);
    assert_string_equal(str_text(&known), str_text(&b.text));
    for (size_t i = 0; i < alive.nlocks; i++) /* it is killed */
        close(alive.lock[i]);
    alive.nlocks = 0;
    str_clear(&known);
    cgroup_bases_known(&b, former, &known);
    assert_non_null(strstr(str_text(&known), former));
    file_fill(in_tree("user/me/remuda.n2.1/5.1"), "cgroup.procs", "");
    cgroup_bases_done(&b);
    cgroup_bases_done(&alive);
    str_done(&known);
    free(former);
}

/* The daemon's groups are made once: without them no job of its would have limits. */
static void test_a_base_is_waited_for(void **state)
{
    (void)state;
    refusal.end = "/remuda.n1.1";
    refusal.why = ENOMEM;
    refusal.times = 2;
    struct cgroup_bases b = bases_of(false, NULL);
    assert_true(b.limits_memory);
    cgroup_bases_done(&b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_base_is_waited_for),
        TEST(a_delegated_group_is_used),
        TEST(of_a_virtual_node_neither_cores_nor_devices_are_told),
        TEST(processes_of_the_own_group_are_moved_out_of_the_way),
        TEST(root_of_a_machine_uses_the_top),
        TEST(what_is_not_delegated_is_said),
        TEST(nothing_there_is_said_thing_by_thing),
        TEST(leftovers_of_killed_daemons_go_others_stay),
        TEST(groups_of_who_lives_are_not_ours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
