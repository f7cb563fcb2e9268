#include "unit.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"
#include "model/limits.h"
#include "model/settings/settings.h"

#include <stdio.h>
#include <string.h>

/* Files by name for Include: name, text, name, text, …, NULL. */
static const char *file_read(void *ctx, const char *path, struct arena *a, struct err *ret_err)
{
    for (const char *const *file = ctx; file && *file; file += 2)
        if (text_is(file[0], path))
            return arena_strdup(a, file[1]);
    err_set(ret_err, ERR_NOT_FOUND, "%s: no such file", path);
    return NULL;
}

/* The configuration of the test at hand; the next `read` and teardown free it. */
static struct config config;

static int teardown(void **state)
{
    if (config.arena)
        config_done(&config);
    return 0;
}

static const struct config *read_with(const char *text, const char *const *files)
{
    struct err e = {0};
    teardown(NULL);
    if (!config_parse(text, "remuda.conf", file_read, (void *)(uintptr_t)files, &config, &e))
        fail_msg("%s", e.text);
    return &config;
}

static const struct config *read(const char *text)
{
    return read_with(text, NULL);
}

static void assert_error_with(const char *text, const char *const *files, const char *starts,
                              const char *says)
{
    struct config untouched = {0}, ret = {0};
    struct err e = {0};
    if (config_parse(text, "remuda.conf", file_read, (void *)(uintptr_t)files, &ret, &e)) {
        config_done(&ret);
        fail_msg("\"%s\" was accepted", text);
    }
    if (!text_starts(e.text, starts) || !strstr(e.text, says))
        fail_msg("%s", e.text);
    assert_memory_equal(&ret, &untouched, sizeof ret);
}

static void assert_error(const char *text, const char *starts, const char *says)
{
    assert_error_with(text, NULL, starts, says);
}

static void assert_no_warnings(void)
{
    if (config.nwarnings)
        fail_msg("%s", config.warning[0]);
}

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

static void test_a_backslash_continues_a_line_even_a_comment(void **state)
{
    const struct config *c =
        read("NodeName=n1 CPUs=2 \\\n  RealMemory=100 \\  \n Weight=3\nClusterName=x\n");
    assert_true(c->node[0].memory_mib == 100 && c->node[0].weight == 3);
    assert_string_equal(c->settings.cluster_name, "x");
    assert_string_equal(read("# off: \\\nClusterName=x\n")->settings.cluster_name, "remuda");
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

static void test_errors_say_in_which_file_they_are(void **state)
{
    static const char *const files[] = {"a.conf", "\nKillWait=soon\n", "loop.conf",
                                        "Include loop.conf\n", NULL};
    assert_error_with("Include a.conf\n", files, "a.conf:2: KillWait: ", "seconds");
    assert_error_with("\nInclude gone.conf\n", files, "remuda.conf:2: Include: ", "gone.conf");
    assert_error_with("Include loop.conf\n", files, "loop.conf:1: Include: ", "16");
    assert_error_with("Include\n", files, "remuda.conf:1: Include: ", "missing");
}

/* ---- nodes ---- */

static void test_a_node_with_every_key(void **state)
{
    const struct config *c =
        read("NodeName=n1 NodeAddr=10.0.0.1 NodeHostname=host1 CPUs=32 Boards=1 "
             "Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 CoreSpecCount=1"
             " RealMemory=64000 MemSpecLimit=512 TmpDisk=1000 Weight=7 Feature=a,b "
             "Gres=gpu:v100:2 Devices=gpu:v100:0:16384:0-7:u"
             " Virtual=YES Arch=x86_64 State=DRAIN Reason=test\n");
    const struct node *n = &c->node[0];
    assert_no_warnings();
    assert_string_equal(n->name, "n1");
    assert_string_equal(n->addr, "10.0.0.1");
    assert_string_equal(n->hostname, "host1");
    assert_true(n->cpus == 32 && n->boards == 1 && n->sockets == 2 && n->cores_per_socket == 8 &&
                n->threads_per_core == 2 && n->core_spec == 1);
    assert_true(n->memory_mib == 64000 && n->memory_spec_mib == 512 && n->tmp_disk_mib == 1000 &&
                n->weight == 7);
    assert_string_equal(n->features, "a,b");
    assert_string_equal(n->gres, "gpu:v100:2");
    assert_string_equal(n->devices, "gpu:v100:0:16384:0-7:u");
    assert_string_equal(n->arch, "x86_64");
    assert_string_equal(n->reason, "test");
    assert_true(n->is_virtual && n->drain && n->state == NODE_UNKNOWN);
}

static void test_ranges_make_one_node_each(void **state)
{
    const struct config *c =
        read("NodeName=gpu[08-10],login NodeAddr=10.0.0.[8-10],10.0.1.1 NodeHostname=box CPUs=2\n");
    static const char *const names[] = {"gpu08", "gpu09", "gpu10", "login"};
    static const char *const addresses[] = {"10.0.0.8", "10.0.0.9", "10.0.0.10", "10.0.1.1"};
    assert_int_equal(c->nnodes, ARRAY_LEN(names));
    for (size_t i = 0; i < c->nnodes; i++) {
        assert_string_equal(c->node[i].name, names[i]);
        assert_string_equal(c->node[i].addr, addresses[i]);
        assert_string_equal(c->node[i].hostname, "box");
    }
    assert_error("NodeName=n[1-3] NodeAddr=a[1-2]\n", "remuda.conf:1: NodeName: NodeAddr",
                 "2 values for 3 nodes");
}

static void assert_shape(const char *line, int32_t cpus, int32_t sockets, int32_t cores,
                         int32_t threads)
{
    const struct node *n = read(line)->node;
    if (n->cpus != cpus || n->sockets != sockets || n->cores_per_socket != cores ||
        n->threads_per_core != threads)
        fail_msg("%s: CPUs=%d %d:%d:%d", line, n->cpus, n->sockets, n->cores_per_socket,
                 n->threads_per_core);
}

static void test_cpus_sockets_cores_and_threads_follow_from_each_other(void **state)
{
    assert_shape("NodeName=n", 1, 1, 1, 1);
    assert_shape("NodeName=n CPUs=8", 8, 8, 1, 1);
    assert_shape("NodeName=n Procs=8", 8, 8, 1, 1);
    assert_shape("NodeName=n Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", 32, 2, 8, 2);
    assert_shape("NodeName=n CPUs=16 CoresPerSocket=8", 16, 2, 8, 1);
    assert_shape("NodeName=n SocketsPerBoard=2 Boards=2 CoresPerSocket=4", 16, 4, 4, 1);
    assert_shape("NodeName=n CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", 16, 2, 8, 2);
    assert_no_warnings();
    assert_shape("NodeName=n CPUs=7 Sockets=2 CoresPerSocket=2", 4, 2, 2, 1);
    assert_true(text_starts(config.warning[0], "remuda.conf:1: CPUs=7 "));
    assert_error("NodeName=n Sockets=1024 CoresPerSocket=1025\n", "remuda.conf:1: ", "1048576");
}

static void test_default_lines_hold_for_what_follows_and_add_up(void **state)
{
    const struct config *c =
        read("NodeName=a\nNodeName=DEFAULT CPUs=4 RealMemory=100\nNodeName=b\nNodeName=default "
             "RealMemory=200\nNodeName=c Weight=2\n");
    assert_true(c->node[0].cpus == 1 && c->node[0].memory_mib == 0);
    assert_true(c->node[1].cpus == 4 && c->node[1].memory_mib == 100);
    assert_true(c->node[2].cpus == 4 && c->node[2].memory_mib == 200 && c->node[2].weight == 2);
    assert_int_equal(c->nnodes, 3);
}

static void test_a_node_is_described_once(void **state)
{
    assert_error("NodeName=n[1-3]\nNodeName=n2\n",
                 "remuda.conf:2: NodeName: ", "n2 is described twice");
    assert_error("NodeName= CPUs=3\n", "remuda.conf:1", "NodeName has no value");
    assert_error("NodeName=\"\"\n", "remuda.conf:1: NodeName: ", "missing");
}

/* joined.conf is read last by whoever reads the configuration. */
static void test_a_host_that_joined_may_be_described_by_the_site_too(void **state)
{
    static const char *const files[] = {
        "joined.conf", "NodeName=n2 CPUs=8\nNodeName=n9 CPUs=9\nNodeName=n9 CPUs=1\n", "mine.conf",
        "NodeName=n2 CPUs=8\n", NULL};
    const struct config *c = read_with("NodeName=n[1-3] CPUs=4\nInclude joined.conf\n", files);
    assert_int_equal(c->nnodes, 4);
    assert_true(text_is(c->node[1].name, "n2") && c->node[1].cpus == 4);
    assert_true(text_is(c->node[3].name, "n9") && c->node[3].cpus == 9);
    assert_error_with("NodeName=n[1-3]\nInclude mine.conf\n", files,
                      "mine.conf:1: NodeName: ", "n2 is described twice");
    assert_error_with("Include joined.conf\nNodeName=n9\n", files,
                      "remuda.conf:2: NodeName: ", "n9 is described twice");
}

/* What such a host says of itself keeps nobody from starting: a line that cannot be read is left
 * out, and said. */
static void test_a_line_of_a_host_that_joined_may_be_wrong(void **state)
{
    static const char *const wrong[] = {
        "NodeName=n9 CPUs=99999999999",
        "NodeName=n9 CPUs=1 Gres=gpu:1::::",
        "NodeName=n9 State=UP",
        "NodeName=n9 CPUs=1 Virtual=YES",
        "NodeName=n[9-9999999999] CPUs=1",
        "NodeName=n9 CPUs=\"1",
        "NodeName=",
        "= = =",
        "Include nowhere.conf",
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        char text[200];
        snprintf(text, sizeof text, "NodeName=n7 CPUs=7\n%s\nNodeName=n8 CPUs=8\n", wrong[i]);
        const char *const files[] = {"joined.conf", text, "mine.conf", text, NULL};
        const struct config *c = read_with("NodeName=n1\nInclude joined.conf\n", files);
        assert_int_equal(c->nnodes, 3);
        assert_true(text_is(c->node[1].name, "n7") && text_is(c->node[2].name, "n8"));
        bool said = false;
        for (size_t k = 0; k < c->nwarnings; k++)
            said |= strstr(c->warning[k], "joined.conf:2: the line is left out: ") != NULL;
        assert_true(said);
        /* The site's own lines are another matter. */
        if (!strstr(wrong[i], "Virtual"))
            assert_error_with("NodeName=n1\nInclude mine.conf\n", files, "mine.conf:2: ", "");
    }
}

static void test_down_nodes(void **state)
{
    const struct config *c =
        read("DownNodes=n[1-2] State=DRAIN Reason=\"new fans\"\nDownNodes=n3\nNodeName=n[1-4]\n");
    assert_true(c->node[0].drain && c->node[1].drain && c->node[2].state == NODE_DOWN);
    assert_true(!c->node[3].drain && c->node[3].state == NODE_UNKNOWN && !c->node[3].reason);
    assert_string_equal(c->node[1].reason, "new fans");
    assert_error("NodeName=n1\nDownNodes=n2\n", "remuda.conf:2: DownNodes: ", "n2");
    assert_error("DownNodes=n2 State=SAD\n", "remuda.conf:1: State: ", "SAD");
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_gives_the_defaults),
        cmocka_unit_test(test_keys_in_any_case_several_on_a_line),
        cmocka_unit_test(test_the_last_of_two_values_holds),
        cmocka_unit_test(test_comments_end_a_line_unless_quoted_or_escaped),
        cmocka_unit_test(test_a_backslash_continues_a_line_even_a_comment),
        cmocka_unit_test(test_quotes_keep_blanks),
        cmocka_unit_test(test_lines_may_end_as_on_windows),
        cmocka_unit_test(test_what_is_no_pair_is_an_error_with_its_place),
        cmocka_unit_test(test_a_bad_value_names_place_key_and_what_is_allowed),
        cmocka_unit_test(test_a_setting_that_another_one_turns_on_says_so),
        cmocka_unit_test(test_an_unknown_key_names_its_place_and_the_nearest),
        cmocka_unit_test(test_a_key_of_slurms_without_effect_says_so),
        cmocka_unit_test(test_warnings_are_sorted),
        cmocka_unit_test(test_numbers_by_type_of_gpu),
        cmocka_unit_test(test_the_cluster_says_what_gpus_bring),
        cmocka_unit_test(test_values_without_effect_are_said),
        cmocka_unit_test(test_preemption_that_is_not_there_is_refused),
        cmocka_unit_test(test_include_reads_another_file_in_place),
        cmocka_unit_test(test_errors_say_in_which_file_they_are),
        cmocka_unit_test(test_a_node_with_every_key),
        cmocka_unit_test(test_ranges_make_one_node_each),
        cmocka_unit_test(test_cpus_sockets_cores_and_threads_follow_from_each_other),
        cmocka_unit_test(test_default_lines_hold_for_what_follows_and_add_up),
        cmocka_unit_test(test_a_node_is_described_once),
        cmocka_unit_test(test_a_host_that_joined_may_be_described_by_the_site_too),
        cmocka_unit_test(test_a_line_of_a_host_that_joined_may_be_wrong),
        cmocka_unit_test(test_down_nodes),
        cmocka_unit_test(test_a_partition_with_its_limits),
        cmocka_unit_test(test_unlimited_is_zero),
        cmocka_unit_test(test_several_names_and_defaults),
        cmocka_unit_test(test_its_nodes_may_be_described_later_but_must_be_known),
        cmocka_unit_test(test_node_sets_by_name_and_by_feature),
        cmocka_unit_test(test_the_last_default_partition_is_the_one),
        cmocka_unit_test(test_old_keys_still_work),
    };
    return cmocka_run_group_tests(tests, NULL, teardown);
}
