
#include "model_config_help.h"

#define CG "cgroup.conf"

/* ---- grammar ---- */

static void test_nothing_gives_the_defaults(void **state)
{
    const struct config *c = read("");
    assert_string_equal(c->settings.cluster_name, "remuda");
    assert_true(c->nnodes == 0 && c->nparts == 0 && c->nwarnings == 0);
    read("\n\n   # only a comment\n\t\n");
    assert_no_warnings();
}

static void test_keys_in_any_case_several_on_a_line(void **state)
{
    const struct config *c = read("clustername=tiny KILLWAIT = 5 MinJobAge= 60\n");
    assert_string_equal(c->settings.cluster_name, "tiny");
    assert_true(c->settings.kill_wait_us == 5 * USEC_PER_SEC);
    assert_true(c->settings.min_job_age_us == 60 * USEC_PER_SEC);
    assert_no_warnings();
}

static void test_the_last_of_two_values_holds(void **state)
{
    assert_string_equal(read("ClusterName=a\nClusterName=b\n")->settings.cluster_name, "b");
}

static void test_comments_end_a_line_unless_quoted_or_escaped(void **state)
{
    assert_string_equal(read("ClusterName=a # KillWait=soon\n")->settings.cluster_name, "a");
    assert_string_equal(read("Prolog=\"/p #1\"\n")->settings.prolog, "/p #1");
    assert_string_equal(read("Prolog=/p\\#1\n")->settings.prolog, "/p#1");
}

static void test_a_backslash_continues_a_line_but_no_comment(void **state)
{
    const struct config *c =
        read("NodeName=n1 CPUs=2 \\\n  RealMemory=100 \\  \n Weight=3\nClusterName=x\n");
    assert_true(c->node[0].memory_mib == 100 && c->node[0].weight == 3);
    assert_string_equal(c->settings.cluster_name, "x");
    assert_string_equal(read("# off: \\\nClusterName=x\n")->settings.cluster_name, "x");
    assert_string_equal(read("KillWait=5 \\\n# \\\nClusterName=x\n")->settings.cluster_name, "x");
    c = read("NodeName=n1 CPUs=2 \\ # more\n RealMemory=100\n");
    assert_int_equal(c->node[0].memory_mib, 100);
    assert_string_equal(read("Prolog=\"/p \\\n#1\"\n")->settings.prolog, "/p  #1");
    assert_string_equal(read("ClusterName=x\\")->settings.cluster_name, "x");
}

static void test_quotes_keep_blanks(void **state)
{
    const struct config *c = read("NodeName=n1 State=DOWN Reason=\"bad disk\" Weight=2\n");
    assert_string_equal(c->node[0].reason, "bad disk");
    assert_int_equal(c->node[0].weight, 2);
    assert_string_equal(read("NodeName=n1 State=DOWN Reason=don't\n")->node[0].reason, "don't");
    assert_error("\nNodeName=n1 Reason=\"bad\n", "remuda.conf:2", "not closed");
}

static void test_a_value_that_is_written_is_read_again(void **state)
{
    static const char *const values[] = {"/p",   "",     "a b", "a\tb", "\ra",   "a\r",   "a#b",
                                         "a #b", "a\\#", "\\",  "a\\",  "a b\\", "a=b,c", "#"};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        struct str text = STR_INIT;
        str_add(&text, "Prolog=");
        config_value_add(values[i], &text);
        str_add(&text, "\nEpilog=");
        config_value_add(values[i], &text);
        str_add(&text, " KillWait=7\n");
        const struct config *c = read(str_text(&text));
        assert_string_equal(c->settings.prolog, values[i]);
        assert_string_equal(c->settings.epilog, values[i]);
        assert_int_equal(c->settings.kill_wait_us, 7 * USEC_PER_SEC);
        str_done(&text);
    }
}

static void test_lines_may_end_as_on_windows(void **state)
{
    assert_string_equal(read("ClusterName=a\r\nKillWait=3\r\n")->settings.cluster_name, "a");
    assert_no_warnings();
}

static void test_what_is_no_pair_is_an_error_with_its_place(void **state)
{
    assert_error("ClusterName=a\n\nKillWait 30\n", "remuda.conf:3", "Key=Value");
    assert_error("=3\n", "remuda.conf:1", "Key=Value");
    assert_error("NodeName=n1 \\\n CPUs=2 \\\n oops\n", "remuda.conf:1", "\"oops");
}

static void test_a_bad_value_names_place_key_and_what_is_allowed(void **state)
{
    assert_error("\nKillWait=soon\n", "remuda.conf:2: KillWait: ", "seconds");
    assert_error("NodeName=n1 CPUs=lots\n", "remuda.conf:1: CPUs: ", "from 1 to");
    assert_error("PartitionName=p State=SLEEPY\n",
                 "remuda.conf:1: State: ", "UP, DOWN, DRAIN or INACTIVE");
    assert_error("NodeName=n1 State=TIRED\n", "remuda.conf:1: State: ", "DRAIN");
    assert_error("NodeName=n[1-\n", "remuda.conf:1: NodeName: ", "");
}

/* ---- warnings ---- */

static void test_a_setting_that_another_one_turns_on_says_so(void **state)
{
    const struct config *c = read("ClusterName=x\nMetricsAddress=*:6821\n");
    assert_int_equal(c->nwarnings, 1);
    assert_string_equal(
        c->warning[0],
        "remuda.conf:2: MetricsAddress does nothing without MetricsType=metrics/openmetrics");
    c = read("MetricsAddress=*:6821\nMetricsType=metrics/openmetrics\n");
    assert_int_equal(c->nwarnings, 0);
}

/* Slurm forgets no job then: to forget each at once would be the contrary. */
static void test_no_age_of_jobs_is_a_long_one(void **state)
{
    static const char *const none[] = {"ClusterName=x\nMinJobAge=0\n",
                                       "\nMinJobAge=00 KillWait=0\n"};
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        const struct config *c = read(none[i]);
        assert_true(c->settings.min_job_age_us == USEC_PER_DAY);
        assert_int_equal(c->nwarnings, 1);
        assert_string_equal(c->warning[0], "remuda.conf:2: MinJobAge=0 is a day here: jobs that "
                                           "ended before are shown by sacct alone");
    }
    assert_true(read("MinJobAge=1\n")->settings.min_job_age_us == USEC_PER_SEC);
}

static void test_an_unknown_key_names_its_place_and_the_nearest(void **state)
{
    const struct config *c = read("ClusterName=x\nNodeNam=n1\n");
    assert_int_equal(c->nwarnings, 1);
    assert_string_equal(c->warning[0],
                        "remuda.conf:2: unknown key \"NodeNam\"; did you mean NodeName?");
    c = read("SlurmctldPrt=1\n");
    assert_non_null(strstr(c->warning[0], "SlurmctldPort"));
    c = read("Zebra=1\n");
    assert_string_equal(c->warning[0], "remuda.conf:1: unknown key \"Zebra\"; it has no effect");
    c = read("NodeName=n1 RealMemry=5\nPartitionName=p MaxTme=3\n");
    assert_string_equal(
        c->warning[0],
        "remuda.conf:1: unknown key \"RealMemry\" on a NodeName line; did you mean RealMemory?");
    assert_string_equal(
        c->warning[1],
        "remuda.conf:2: unknown key \"MaxTme\" on a PartitionName line; did you mean MaxTime?");
}

static void test_a_key_of_slurms_without_effect_says_so(void **state)
{
    const struct config *c = read("slurmdport=6817\nNodeName=n1 Port=7\nPartitionName=p "
                                  "SuspendTime=3\nSelectType=select/linear\n");
    assert_int_equal(c->nwarnings, 4);
    assert_string_equal(c->warning[0], "remuda.conf:1: SlurmdPort is known to Slurm but has no "
                                       "effect in Remuda: node daemons do not listen");
    assert_string_equal(c->warning[1], "remuda.conf:2: Port on a NodeName line is known to Slurm "
                                       "but has no effect in Remuda: node "
                                       "daemons connect to the controller, and listen nowhere");
    assert_string_equal(c->warning[2], "remuda.conf:3: SuspendTime on a PartitionName line is "
                                       "known to Slurm but has no effect in Remuda: no nodes are "
                                       "powered down");
    assert_true(text_starts(
        c->warning[3],
        "remuda.conf:4: SelectType has no effect in Remuda; it is kept for compatibility"));
}

static void said_keep(void *ctx, const char *line)
{
    str_addf(ctx, "%s\n", line);
}

/* What somebody counts on is told of by itself; the rest is counted. */
static void test_warnings_are_sorted(void **state)
{
    (void)state;
    struct str said = STR_INIT;
    const struct config *c =
        read("SlurmctldHost=a\nSlurmctldHost=b\nAuthType=auth/munge\nKillWait=3\nKillWait=4\n"
             "SelectTypeParameters=CR_Socket_Memory\nHealthCheckProgram=/x\nTreeWidth=5\n"
             "PreemptTyp=x\nSlurmdPort=1\nDisableRootJobs=YES\n"
             "UsePAM=0\nJobCompType=jobcomp/none\nPrologFlags=NONE\nSlurmctldTimeout=120\n");
    config_warnings_say(c, false, "-v", said_keep, &said);
    assert_string_equal(
        str_text(&said),
        "remuda.conf:2: a second SlurmctldHost, b, has no effect in Remuda: there is one "
        "controller, which is started again where it fails\n"
        "remuda.conf:5: KillWait was given before, at remuda.conf:4; this line counts\n"
        "remuda.conf:6: SelectTypeParameters=CR_Socket_Memory: as CR_Core_Memory: sockets are not "
        "given out whole\n"
        "remuda.conf:7: HealthCheckProgram is known to Slurm but has no effect in Remuda: nodes "
        "are not checked by a program\n"
        "remuda.conf:11: DisableRootJobs is known to Slurm but has no effect in Remuda: jobs of "
        "root are taken; DisableRootJobs=YES of a partition refuses them\n"
        "1 key is not known (PreemptTyp (did you mean PreemptType?)); 8 settings of Slurm's have "
        "no effect here and none is missed (SlurmctldHost, AuthType, TreeWidth, SlurmdPort, "
        "UsePAM, "
        "JobCompType, …); -v tells of each\n");
    assert_string_equal(c->settings.slurmctld_host, "a");
    assert_int_equal(c->settings.kill_wait_us, 4 * USEC_PER_SEC);
    str_clear(&said);
    config_warnings_say(c, true, "-v", said_keep, &said);
    assert_non_null(strstr(str_text(&said), "remuda.conf:8: TreeWidth is known"));
    str_done(&said);
}

static void test_numbers_by_type_of_gpu(void **state)
{
    (void)state;
    const struct config *c =
        read("NodeName=n1 CPUs=4\nPartitionName=a Nodes=n1 DefCpuPerGPU=2,A100:16,v100:8 "
             "DefMemPerGPU=1000,a100:64G\n"
             "PartitionName=b Nodes=n1 "
             "JobDefaults=DefCpuPerGPU=4,a100:16,DefMemPerGPU=2000,v100:3000\n");
    const struct partition *p = c->part;
    assert_int_equal(p->def_cpu_per_gpu, 2);
    assert_string_equal(p->def_cpu_per_gpu_types, "A100=16,v100=8");
    assert_int_equal(partition_per_type(p->def_cpu_per_gpu_types, "a100", 2), 16);
    assert_int_equal(partition_per_type(p->def_cpu_per_gpu_types, "t4", 2), 2);
    assert_int_equal(partition_per_type(p->def_cpu_per_gpu_types, NULL, 2), 2);
    assert_int_equal(partition_per_type(p->def_mem_per_gpu_types, "a100", 1000), 65536);
    assert_int_equal(p[1].def_mem_per_gpu_mib, 2000);
    assert_int_equal(partition_per_type(p[1].def_cpu_per_gpu_types, "a100", 4), 16);
    assert_int_equal(partition_per_type(p[1].def_mem_per_gpu_types, "v100", 0), 3000);
    assert_error("PartitionName=p DefMemPerGPU=a100:5\n",
                 "remuda.conf:1: DefMemPerGPU: ", "a number for all other GPUs is expected");
    assert_error("PartitionName=p DefCpuPerGPU=:5\n",
                 "remuda.conf:1: DefCpuPerGPU: ", "a type of GPU is missing");
}

/* What the cluster says is of the partitions that say nothing of it, wherever it stands. */
static void test_the_cluster_says_what_gpus_bring(void **state)
{
    (void)state;
    const struct config *c = read("NodeName=n1 CPUs=4\nDefCpuPerGPU=2,a100:16\n"
                                  "PartitionName=a Nodes=n1\n"
                                  "PartitionName=b Nodes=n1 DefCpuPerGPU=3 DefMemPerGPU=500\n"
                                  "PartitionName=c Nodes=n1 JobDefaults=DefCpuPerGPU=v100:5\n"
                                  "JobDefaults=DefMemPerGPU=1000\n");
    const struct partition *p = c->part;
    assert_int_equal(c->nwarnings, 0);
    assert_int_equal(p->def_cpu_per_gpu, 2);
    assert_string_equal(p->def_cpu_per_gpu_types, "a100=16");
    assert_int_equal(p->def_mem_per_gpu_mib, 1000);
    assert_int_equal(p[1].def_cpu_per_gpu, 3);
    assert_null(p[1].def_cpu_per_gpu_types);
    assert_int_equal(p[1].def_mem_per_gpu_mib, 500);
    assert_string_equal(p[2].def_cpu_per_gpu_types, "v100=5");
    assert_string_equal(c->settings.job_defaults, "DefCpuPerGPU=2,a100:16,DefMemPerGPU=1000");
    assert_int_equal(p[2].def_mem_per_gpu_mib, 1000);
    assert_error("DefMemPerGPU=x\n", "remuda.conf:1: DefMemPerGPU: ", "x");
}

/* ---- Include ---- */

static void test_include_reads_another_file_in_place(void **state)
{
    static const char *const files[] = {"nodes.conf", "NodeName=n1 CPUs=2 Weigh=3\nKillWait=7\n",
                                        NULL};
    const struct config *c =
        read_with("KillWait=5\nInclude nodes.conf\nMinJobAge=9\nOops=1\n", files);
    assert_int_equal(c->nnodes, 1);
    assert_true(c->settings.kill_wait_us == 7 * USEC_PER_SEC &&
                c->settings.min_job_age_us == 9 * USEC_PER_SEC);
    assert_int_equal(c->nwarnings, 3);
    assert_true(text_starts(c->warning[0], "nodes.conf:1: "));
    assert_string_equal(c->warning[1], "nodes.conf:2: KillWait was given before, at "
                                       "remuda.conf:1; this line counts");
    assert_true(text_starts(c->warning[2], "remuda.conf:4: "));
}

/* A comment that spoke of it kept it from being read. */
static void test_cgroup_conf_is_read_unless_it_is_included(void **state)
{
    static const char *const files[] = {
        CG, "ConstrainRAMSpace=no\n", "/etc/" CG, "\n", "old-" CG, "\n", NULL};
    static const struct {
        const char *text;
        bool read;
    } rows[] = {
        {"# see " CG "\n", true},
        {"ClusterName=a # Include " CG "\n", true},
        {"#Include " CG "\n", true},
        {"Prolog=/x/" CG "\n", true},
        {"Include old-" CG "\n", true},
        {"Include /etc/" CG "\n", false},
        {" include\t/etc/" CG " # ours\n", false},
        {"Include=\"/etc/" CG "\"\r\n", false},
        {"Include \\\n/etc/" CG "\n", false},
        {"Include \\ # ours\r\n \\\n  /etc/" CG "\n", false},
        {"# \\\nInclude /etc/" CG "\n", false},
        {"Include /etc/" CG " \\", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (read_with(rows[i].text, files)->settings.constrain_ram == rows[i].read)
            fail_msg("%s", rows[i].text);
    assert_false(read_with("Include " CG "\n", files)->settings.constrain_ram);
    assert_no_warnings();
}

static void test_errors_say_in_which_file_they_are(void **state)
{
    static const char *const files[] = {"a.conf", "\nKillWait=soon\n", "loop.conf",
                                        "Include loop.conf\n", NULL};
    assert_error_with("Include a.conf\n", files, "a.conf:2: KillWait: ", "seconds");
    assert_error_with("\nInclude gone.conf\n", files, "remuda.conf:2: Include: ", "gone.conf");
    assert_error_with("Include loop.conf\n", files, "loop.conf:1: Include: ", "16");
    assert_error_with("Include\n", files, "remuda.conf:1: Include: ", "missing");
}

/* One that is included often counts as often, and each counts some beside its own. */
static void test_what_is_included_has_an_end(void **state)
{
    static const char *const files[] = {"x", "\n", NULL};
    struct str text = STR_INIT;
    for (int i = 0; i < 1000; i++)
        str_add(&text, "KillWait=5 Include=x\n");
    read_with(str_text(&text), files);
    for (int i = 0; i < 39000; i++)
        str_add(&text, "KillWait=5 Include=x\n");
    assert_error_with(str_text(&text), files, "remuda.conf:3", "too many files");
    str_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_gives_the_defaults),
        cmocka_unit_test(test_keys_in_any_case_several_on_a_line),
        cmocka_unit_test(test_the_last_of_two_values_holds),
        cmocka_unit_test(test_comments_end_a_line_unless_quoted_or_escaped),
        cmocka_unit_test(test_a_backslash_continues_a_line_but_no_comment),
        cmocka_unit_test(test_quotes_keep_blanks),
        cmocka_unit_test(test_a_value_that_is_written_is_read_again),
        cmocka_unit_test(test_lines_may_end_as_on_windows),
        cmocka_unit_test(test_what_is_no_pair_is_an_error_with_its_place),
        cmocka_unit_test(test_a_bad_value_names_place_key_and_what_is_allowed),
        cmocka_unit_test(test_a_setting_that_another_one_turns_on_says_so),
        cmocka_unit_test(test_no_age_of_jobs_is_a_long_one),
        cmocka_unit_test(test_an_unknown_key_names_its_place_and_the_nearest),
        cmocka_unit_test(test_a_key_of_slurms_without_effect_says_so),
        cmocka_unit_test(test_warnings_are_sorted),
        cmocka_unit_test(test_numbers_by_type_of_gpu),
        cmocka_unit_test(test_the_cluster_says_what_gpus_bring),
        cmocka_unit_test(test_include_reads_another_file_in_place),
        cmocka_unit_test(test_cgroup_conf_is_read_unless_it_is_included),
        cmocka_unit_test(test_what_is_included_has_an_end),
        cmocka_unit_test(test_errors_say_in_which_file_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
