/* Lines of partitions in a configuration. */
#include "model_config_help.h"

/* ---- partitions ---- */

static void test_a_partition_with_its_limits(void **state)
{
    const struct config *c = read(
        "NodeName=n[1-4]\nPartitionName=main Nodes=n[1-4] Default=YES State=UP MaxTime=1-0 "
        "DefaultTime=30 "
        "MinNodes=1 MaxNodes=4 MaxCPUsPerNode=8"
        " MaxMemPerNode=64G MaxMemPerCPU=UNLIMITED DefMemPerCPU=2000 DefMemPerGPU=8G "
        "DefCpuPerGPU=4 "
        "AllowGroups=staff AllowAccounts=ALL"
        " DenyQos=slow PriorityTier=3 PriorityJobFactor=5 PreemptMode=SUSPEND,GANG GraceTime=60 "
        "OverTimeLimit=2 OverSubscribe=FORCE:2"
        " Hidden=YES RootOnly=NO LLN=YES Alternate=other TimeWindows=\"weekdays 08:00-18:00 "
        "max_nodes=2\"\n");
    const struct partition *p = &c->part[0];
    assert_int_equal(config.nwarnings, 0);
    assert_string_equal(p->name, "main");
    assert_string_equal(p->nodes, "n[1-4]");
    assert_true(p->is_default && p->state == PART_UP && p->max_time_us == USEC_PER_DAY &&
                p->default_time_us == 30 * USEC_PER_MIN);
    assert_true(p->min_nodes == 1 && p->max_nodes == 4 && p->max_cpus_per_node == 8 &&
                p->max_mem_per_node_mib == 65536);
    assert_true(p->max_mem_per_cpu_mib == 0 && p->def_mem_per_cpu_mib == 2000 &&
                p->def_mem_per_gpu_mib == 8192 && p->def_cpu_per_gpu == 4);
    assert_string_equal(p->allow_groups, "staff");
    assert_null(p->allow_accounts);
    assert_string_equal(p->deny_qos, "slow");
    assert_true(p->priority_tier == 3 && p->priority_job_factor == 5 &&
                p->preempt_mode == PREEMPT_SUSPEND);
    assert_true(p->grace_time_us == USEC_PER_MIN && p->over_time_limit_us == 2 * USEC_PER_MIN);
    assert_true(p->share == SHARE_FORCE && p->share_count == 2 && p->hidden && !p->root_only &&
                p->lln);
    assert_string_equal(p->alternate, "other");
    assert_string_equal(p->time_windows, "weekdays 08:00-18:00 max_nodes=2");
}

static void test_unlimited_is_zero(void **state)
{
    const struct partition *p =
        read("PartitionName=p MaxTime=UNLIMITED DefaultTime=NONE MaxNodes=UNLIMITED\n")->part;
    assert_true(p->max_time_us == 0 && p->default_time_us == 0 && p->max_nodes == 0);
    assert_true(p->priority_tier == 1 && p->priority_job_factor == 1);
    assert_null(p->nodes);
}

static void test_several_names_and_defaults(void **state)
{
    const struct config *c = read("NodeName=n1\nPartitionName=DEFAULT MaxTime=60 "
                                  "Nodes=ALL\nPartitionName=a,b\nPartitionName=DEFAULT "
                                  "State=DOWN\nPartitionName=c MaxTime=30\n");
    assert_int_equal(c->nparts, 3);
    assert_string_equal(c->part[1].name, "b");
    assert_string_equal(c->part[1].nodes, "n1");
    assert_true(c->part[1].max_time_us == USEC_PER_HOUR && c->part[1].state == PART_UP);
    assert_true(c->part[2].max_time_us == USEC_PER_HOUR / 2 && c->part[2].state == PART_DOWN);
    assert_error("PartitionName=a\nPartitionName=a\n",
                 "remuda.conf:2: PartitionName: ", "a is described twice");
    assert_error("PartitionName=a,,b\n", "remuda.conf:1: PartitionName: ", "no name");
}

static void test_its_nodes_may_be_described_later_but_must_be_known(void **state)
{
    assert_string_equal(read("PartitionName=p Nodes=n2,n1,n2\nNodeName=n[1-3]\n")->part[0].nodes,
                        "n[2,1]");
    assert_string_equal(read("PartitionName=p Nodes=ALL\nNodeName=n[1-3]\n")->part[0].nodes,
                        "n[1-3]");
    assert_error("\nPartitionName=p Nodes=n9\nNodeName=n1\n", "remuda.conf:2: Nodes: ", "n9");
}

static void test_node_sets_by_name_and_by_feature(void **state)
{
    static const char nodes[] =
        "NodeName=n[1-2] Features=fast,big\nNodeName=n[3-4] "
        "Features=slow\nNodeSet=quick Feature=fast\nNodeSet=some Nodes=n[2-3]\n";
    struct str text = STR_INIT;
    str_addf(&text,
             "%sPartitionName=a Nodes=quick\nPartitionName=b Nodes=some,n4\nPartitionName=c "
             "Nodes=quick,some\n",
             nodes);
    const struct config *c = read(str_text(&text));
    assert_no_warnings();
    assert_string_equal(c->part[0].nodes, "n[1-2]");
    assert_string_equal(c->part[1].nodes, "n[2-4]");
    assert_string_equal(c->part[2].nodes, "n[1-3]");
    str_done(&text);
}

static void test_the_last_default_partition_is_the_one(void **state)
{
    const struct config *c = read("PartitionName=a Default=YES\nPartitionName=b Default=YES\n");
    assert_false(c->part[0].is_default);
    assert_true(c->part[1].is_default);
    assert_int_equal(c->nwarnings, 1);
}

static void test_old_keys_still_work(void **state)
{
    const struct partition *p =
        read("PartitionName=p Shared=YES Priority=7 JobDefaults=DefCpuPerGPU=3,DefMemPerGPU=4G\n")
            ->part;
    assert_no_warnings();
    assert_true(p->share == SHARE_YES && p->share_count == 4 && p->priority_tier == 7 &&
                p->priority_job_factor == 7);
    assert_true(p->def_cpu_per_gpu == 3 && p->def_mem_per_gpu_mib == 4096);
    assert_error("PartitionName=p OverSubscribe=FORCE:0\n",
                 "remuda.conf:1: OverSubscribe: ", "FORCE[:count]");
    assert_error("PartitionName=p PreemptMode=NICE\n", "remuda.conf:1: PreemptMode: ", "REQUEUE");
}

static void test_values_without_effect_are_said(void **state)
{
    (void)state;
    const struct config *c = read("PreemptType=preempt/qos\nPreemptMode=SUSPEND,GANG\n"
                                  "PreemptParameters=strict_order\n");
    assert_int_equal(c->nwarnings, 1);
    assert_non_null(
        strstr(c->warning[0], "PreemptParameters=strict_order has no effect in Remuda"));
    assert_string_equal(read("SchedulerParameters=bf_window=60,defer\n")->warning[0],
                        "remuda.conf:1: SchedulerParameters=bf_window has no effect in Remuda: the "
                        "plan has no end");
}

static void test_preemption_that_is_not_there_is_refused(void **state)
{
    (void)state;
    assert_error("PreemptMode=SUSPEND,GANG,WITHIN\n", "remuda.conf:1: PreemptMode",
                 "not \"WITHIN\"");
    assert_error("PreemptMode=REQUEUE,PRIORITY\n", "remuda.conf:1: PreemptMode",
                 "OFF,CANCEL,REQUEUE,SUSPEND,GANG is expected");
    assert_error("PreemptParameters=youngest_first,strictly\n", "remuda.conf:1: PreemptParameters",
                 "youngest_first,send_user_signal,reclaim_licenses is expected");
    assert_error("NodeName=a\nPartitionName=p Nodes=a PreemptMode=WITHIN\n",
                 "remuda.conf:2: PreemptMode", "WITHIN");
    assert_string_equal(read("PreemptParameters=send_user_signal\n")->settings.preempt_parameters,
                        "send_user_signal");
}

/* All users' listings carry it. */
static void test_a_name_writes_nothing_else_to_a_terminal(void **state)
{
    assert_error("PartitionName=p\033[1m\n", "remuda.conf:1: PartitionName: ", "control");
    assert_error("PartitionName=a,b\xc2\x9b\n", "remuda.conf:1: PartitionName: ", "control");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_without_effect_are_said),
        cmocka_unit_test(test_preemption_that_is_not_there_is_refused),
        cmocka_unit_test(test_a_partition_with_its_limits),
        cmocka_unit_test(test_unlimited_is_zero),
        cmocka_unit_test(test_several_names_and_defaults),
        cmocka_unit_test(test_its_nodes_may_be_described_later_but_must_be_known),
        cmocka_unit_test(test_node_sets_by_name_and_by_feature),
        cmocka_unit_test(test_the_last_default_partition_is_the_one),
        cmocka_unit_test(test_old_keys_still_work),
        cmocka_unit_test(test_a_name_writes_nothing_else_to_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
