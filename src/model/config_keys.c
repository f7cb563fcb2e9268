#include "model/config_keys.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/hostlist.h"
#include "base/str.h"
#include "model/gres.h"
#include "model/limits.h"
#include "model/settings_value.h"

#include <string.h>

/* ---- values ---- */

static bool number(const char *value, int64_t min, int64_t max, int32_t *ret, struct err *ret_err)
{
    int64_t n;
    if (!text_to_i64(value, min, max, &n))
        return err_set(ret_err, ERR_INVALID, "a number from %lld to %lld is expected, not \"%.60s\"", (long long) min, (long long) max, value);
    *ret = (int32_t) n;
    return true;
}

/* UNLIMITED and 0 mean "no limit", which is 0. */
static bool limit_number(const char *value, int32_t *ret, struct err *ret_err)
{
    if (text_is_nocase(value, "UNLIMITED") || text_is_nocase(value, "INFINITE")) {
        *ret = 0;
        return true;
    }
    return number(value, 0, INT32_MAX, ret, ret_err);
}

static bool limit_time(const char *value, int64_t *ret, struct err *ret_err)
{
    if (text_is_nocase(value, "NONE")) {
        *ret = 0;
        return true;
    }
    if (!duration_parse(value, ret, ret_err))
        return false;
    if (*ret == TIME_UNLIMITED)
        *ret = 0;
    return true;
}

static bool limit_mib(const char *value, int64_t *ret, struct err *ret_err)
{
    if (text_is_nocase(value, "UNLIMITED")) {
        *ret = 0;
        return true;
    }
    return size_parse_mib(value, ret, ret_err);
}

static bool list_text(const char *value, const char **ret)
{
    *ret = text_is_nocase(value, "ALL") || text_empty(value) ? NULL : value;
    return true;
}

/* ---- nodes ---- */

#define NODE_KEY(name) static bool node_##name(struct node *n, const char *value, struct arena *a, struct err *ret_err)
#define NODE_TEXT(name, member)  \
    NODE_KEY(name)               \
    {                            \
        (void) a;                \
        (void) ret_err;          \
        n->member = value;       \
        return true;             \
    }
#define NODE_NUMBER(name, member, min, max)                   \
    NODE_KEY(name)                                            \
    {                                                         \
        (void) a;                                             \
        return number(value, min, max, &n->member, ret_err);  \
    }
#define NODE_MIB(name, member)                                \
    NODE_KEY(name)                                            \
    {                                                         \
        (void) a;                                             \
        return size_parse_mib(value, &n->member, ret_err);    \
    }

NODE_TEXT(addr, addr)
NODE_TEXT(hostname, hostname)
NODE_TEXT(features, features)
NODE_TEXT(arch, arch)
NODE_NUMBER(cpus, cpus, 1, LIMIT_CPUS_PER_NODE)
NODE_NUMBER(boards, boards, 1, 1024)
NODE_NUMBER(sockets, sockets, 1, 1024)
NODE_NUMBER(cores, cores_per_socket, 1, 4096)
NODE_NUMBER(threads, threads_per_core, 1, 64)
NODE_NUMBER(core_spec, core_spec, 0, LIMIT_CPUS_PER_NODE)
NODE_NUMBER(weight, weight, 0, INT32_MAX)
NODE_MIB(memory, memory_mib)
NODE_MIB(memory_spec, memory_spec_mib)
NODE_MIB(tmp_disk, tmp_disk_mib)

NODE_KEY(gres)
{
    struct gres_list list;
    if (!gres_parse(value, a, &list, ret_err))
        return false;
    n->gres = text_is_nocase(value, "none") || text_empty(value) ? NULL : value;
    return true;
}

NODE_KEY(devices)
{
    struct device_list list;
    n->devices = value;
    return devices_parse(value, a, &list, ret_err);
}

NODE_KEY(is_virtual)
{
    (void) a;
    return setting_parse_bool(value, &n->is_virtual, ret_err);
}

NODE_KEY(reason)
{
    (void) a;
    (void) ret_err;
    n->reason = value;
    return true;
}

NODE_KEY(state)
{
    (void) a;
    if (text_is_nocase(value, "UNKNOWN") || text_is_nocase(value, "IDLE") || text_is_nocase(value, "CLOUD"))
        n->state = NODE_UNKNOWN;
    else if (text_is_nocase(value, "DOWN"))
        n->state = NODE_DOWN;
    else if (text_is_nocase(value, "DRAIN"))
        n->drain = true;
    else if (text_is_nocase(value, "FAIL") || text_is_nocase(value, "FAILING"))
        n->fail = true;
    else if (text_is_nocase(value, "FUTURE"))
        n->state = NODE_FUTURE;
    else
        return err_set(ret_err, ERR_INVALID, "UNKNOWN, DOWN, DRAIN, FAIL or FUTURE is expected, not \"%.60s\"", value);
    return true;
}

const struct node_key node_keys[] = {
    {"NodeAddr", node_addr},
    {"NodeHostname", node_hostname},
    {"CPUs", node_cpus},
    {"Procs", node_cpus},
    {"Boards", node_boards},
    {"Sockets", node_sockets},
    {"SocketsPerBoard", node_sockets},
    {"CoresPerSocket", node_cores},
    {"ThreadsPerCore", node_threads},
    {"CoreSpecCount", node_core_spec},
    {"RealMemory", node_memory},
    {"MemSpecLimit", node_memory_spec},
    {"TmpDisk", node_tmp_disk},
    {"Weight", node_weight},
    {"Feature", node_features},
    {"Features", node_features},
    {"Gres", node_gres},
    {"Devices", node_devices},
    {"Virtual", node_is_virtual},
    {"Arch", node_arch},
    {"State", node_state},
    {"Reason", node_reason},
    {"BcastAddr", NULL},
    {"CpuBind", NULL},
    {"CpuSpecList", NULL},
    {"Port", NULL},
};
const size_t node_key_count = ARRAY_LEN(node_keys);

/* ---- partitions ---- */

#define PART_KEY(name) static bool part_##name(struct partition *p, const char *value, struct arena *a, struct err *ret_err)
#define PART_AS(name, call)  \
    PART_KEY(name)           \
    {                        \
        (void) a;            \
        (void) ret_err;      \
        return call;         \
    }

PART_AS(max_time, limit_time(value, &p->max_time_us, ret_err))
PART_AS(default_time, limit_time(value, &p->default_time_us, ret_err))
PART_AS(min_nodes, number(value, 0, LIMIT_NODES, &p->min_nodes, ret_err))
PART_AS(max_nodes, limit_number(value, &p->max_nodes, ret_err))
PART_AS(max_cpus, limit_number(value, &p->max_cpus_per_node, ret_err))
PART_AS(max_mem_node, limit_mib(value, &p->max_mem_per_node_mib, ret_err))
PART_AS(max_mem_cpu, limit_mib(value, &p->max_mem_per_cpu_mib, ret_err))
PART_AS(def_mem_node, limit_mib(value, &p->def_mem_per_node_mib, ret_err))
PART_AS(def_mem_cpu, limit_mib(value, &p->def_mem_per_cpu_mib, ret_err))
PART_AS(def_mem_gpu, limit_mib(value, &p->def_mem_per_gpu_mib, ret_err))
PART_AS(def_cpu_gpu, number(value, 0, LIMIT_CPUS_PER_NODE, &p->def_cpu_per_gpu, ret_err))
PART_AS(allow_groups, list_text(value, &p->allow_groups))
PART_AS(allow_accounts, list_text(value, &p->allow_accounts))
PART_AS(deny_accounts, list_text(value, &p->deny_accounts))
PART_AS(allow_qos, list_text(value, &p->allow_qos))
PART_AS(deny_qos, list_text(value, &p->deny_qos))
PART_AS(alloc_nodes, list_text(value, &p->alloc_nodes))
PART_AS(qos, list_text(value, &p->qos))
PART_AS(alternate, list_text(value, &p->alternate))
PART_AS(windows, list_text(value, &p->time_windows))
PART_AS(tier, number(value, 0, 65533, &p->priority_tier, ret_err))
PART_AS(factor, number(value, 0, 65533, &p->priority_job_factor, ret_err))
PART_AS(grace, setting_parse_span(value, "sec", &p->grace_time_us, ret_err))
PART_AS(is_default, setting_parse_bool(value, &p->is_default, ret_err))
PART_AS(exclusive_user, setting_parse_bool(value, &p->exclusive_user, ret_err))
PART_AS(hidden, setting_parse_bool(value, &p->hidden, ret_err))
PART_AS(root_only, setting_parse_bool(value, &p->root_only, ret_err))
PART_AS(req_resv, setting_parse_bool(value, &p->req_resv, ret_err))
PART_AS(lln, setting_parse_bool(value, &p->lln, ret_err))
PART_AS(disable_root, setting_parse_bool(value, &p->disable_root, ret_err))

PART_KEY(nodes)
{
    (void) a;
    struct hostlist names = HOSTLIST_INIT;
    bool ok = text_is_nocase(value, "ALL") || hostlist_parse(&names, value, ret_err);
    hostlist_done(&names);
    p->nodes = value;
    return ok;
}

PART_KEY(over_time)
{
    (void) a;
    if (text_is_nocase(value, "UNLIMITED")) {
        p->over_time_limit_us = TIME_UNLIMITED;
        return true;
    }
    return setting_parse_span(value, "min", &p->over_time_limit_us, ret_err);
}

PART_KEY(priority)
{
    (void) a;
    return number(value, 0, 65533, &p->priority_tier, ret_err) && number(value, 0, 65533, &p->priority_job_factor, ret_err);
}

PART_KEY(state)
{
    (void) a;
    return enum_value(&part_state_names, value, &p->state) ||
           err_set(ret_err, ERR_INVALID, "UP, DOWN, DRAIN or INACTIVE is expected, not \"%.60s\"", value);
}

PART_KEY(preempt)
{
    (void) a;
    return enum_value(&preempt_mode_names, value, &p->preempt_mode) ||
           err_set(ret_err, ERR_INVALID, "OFF, CANCEL, REQUEUE, SUSPEND or GANG is expected, not \"%.60s\"", value);
}

/* NO, EXCLUSIVE, YES[:n], FORCE[:n] */
PART_KEY(share)
{
    const char *colon = strchr(value, ':');
    const char *word = colon ? arena_strndup(a, value, (size_t) (colon - value)) : value;
    p->share_count = 4;
    if (!enum_value(&part_share_names, word, &p->share) || (colon && !number(colon + 1, 1, 32767, &p->share_count, NULL)))
        return err_set(ret_err, ERR_INVALID, "NO, EXCLUSIVE, YES[:count] or FORCE[:count] is expected, not \"%.60s\"", value);
    if (p->share == SHARE_NO || p->share == SHARE_EXCLUSIVE)
        p->share_count = 0;
    return true;
}

const struct partition_key partition_keys[] = {
    {"Nodes", part_nodes},
    {"Default", part_is_default},
    {"State", part_state},
    {"MaxTime", part_max_time},
    {"DefaultTime", part_default_time},
    {"MinNodes", part_min_nodes},
    {"MaxNodes", part_max_nodes},
    {"MaxCPUsPerNode", part_max_cpus},
    {"MaxMemPerNode", part_max_mem_node},
    {"MaxMemPerCPU", part_max_mem_cpu},
    {"DefMemPerNode", part_def_mem_node},
    {"DefMemPerCPU", part_def_mem_cpu},
    {"DefMemPerGPU", part_def_mem_gpu},
    {"DefCpuPerGPU", part_def_cpu_gpu},
    {"AllowGroups", part_allow_groups},
    {"AllowAccounts", part_allow_accounts},
    {"DenyAccounts", part_deny_accounts},
    {"AllowQos", part_allow_qos},
    {"DenyQos", part_deny_qos},
    {"AllocNodes", part_alloc_nodes},
    {"QOS", part_qos},
    {"Alternate", part_alternate},
    {"TimeWindows", part_windows},
    {"PriorityTier", part_tier},
    {"PriorityJobFactor", part_factor},
    {"Priority", part_priority},
    {"PreemptMode", part_preempt},
    {"GraceTime", part_grace},
    {"OverTimeLimit", part_over_time},
    {"OverSubscribe", part_share},
    {"Shared", part_share},
    {"ExclusiveUser", part_exclusive_user},
    {"Hidden", part_hidden},
    {"RootOnly", part_root_only},
    {"ReqResv", part_req_resv},
    {"LLN", part_lln},
    {"DisableRootJobs", part_disable_root},
    {"CpuBind", NULL},
    {"MaxCPUsPerSocket", NULL},
    {"PowerDownOnIdle", NULL},
    {"ResumeTimeout", NULL},
    {"SelectTypeParameters", NULL},
    {"SuspendTime", NULL},
    {"SuspendTimeout", NULL},
    {"TRESBillingWeights", NULL},
    {"Topology", NULL},
};
const size_t partition_key_count = ARRAY_LEN(partition_keys);

const char *const idle_keys[] = {
    "AccountingStorageBackupHost",
    "AccountingStorageEnforce",
    "AccountingStorageExternalHost",
    "AccountingStorageHost",
    "AccountingStorageParameters",
    "AccountingStoragePass",
    "AccountingStoragePort",
    "AccountingStorageTRES",
    "AccountingStorageUser",
    "AccountingStoreFlags",
    "AcctGatherEnergyType",
    "AcctGatherFilesystemType",
    "AcctGatherInterconnectType",
    "AcctGatherProfileType",
    "AllowSpecResourcesUsage",
    "AllowUsers",
    "AuthAltParameters",
    "AuthAltTypes",
    "AuthInfo",
    "AuthType",
    "BackupAddr",
    "BackupController",
    "BatchStartTimeout",
    "BcastExclude",
    "BcastParameters",
    "BurstBufferType",
    "CliFilterPlugins",
    "CommunicationParameters",
    "CompleteWait",
    "ControlAddr",
    "ControlMachine",
    "CoreSpecPlugin",
    "CpuFreqDef",
    "CpuFreqGovernors",
    "CredType",
    "DataParserParameters",
    "DebugFlags",
    "DenyGroups",
    "DenyUsers",
    "DependencyParameters",
    "DownNodes",
    "EioTimeout",
    "EpilogMsgTime",
    "EpilogSlurmctld",
    "ExtSensorsFreq",
    "ExtSensorsType",
    "FairShareDampeningFactor",
    "FederationParameters",
    "FrontendAddr",
    "FrontendName",
    "GetEnvTimeout",
    "GroupUpdateForce",
    "GroupUpdateTime",
    "HashPlugin",
    "HealthCheckInterval",
    "HealthCheckNodeState",
    "HealthCheckProgram",
    "InteractiveStepOptions",
    "JobAcctGatherParams",
    "JobCompHost",
    "JobCompLoc",
    "JobCompParams",
    "JobCompPass",
    "JobCompPort",
    "JobCompType",
    "JobCompUser",
    "JobContainerType",
    "JobFileAppend",
    "JobSubmitPlugins",
    "KillOnBadExit",
    "LaunchParameters",
    "LaunchType",
    "LogTimeFormat",
    "MCSParameters",
    "MCSPlugin",
    "MaxDBDMsgs",
    "MaxJobId",
    "MaxNodeCount",
    "MaxStepCount",
    "MaxTasksPerNode",
    "MessageTimeout",
    "MpiParams",
    "NodeFeaturesPlugins",
    "NodeSet",
    "PlugStackConfig",
    "PluginDir",
    "PowerParameters",
    "PowerPlugin",
    "PrEpParameters",
    "PrEpPlugins",
    "PreemptExemptTime",
    "PriorityCalcPeriod",
    "PriorityFavorSmall",
    "PriorityParameters",
    "PrioritySiteFactorParameters",
    "PrioritySiteFactorPlugin",
    "PriorityUsageResetPeriod",
    "PriorityWeightAssoc",
    "PrivateData",
    "PrologFlags",
    "PrologSlurmctld",
    "PropagatePrioProcess",
    "RebootProgram",
    "ReconfigFlags",
    "RequeueExit",
    "RequeueExitHold",
    "ResumeFailProgram",
    "ResumeProgram",
    "ResumeRate",
    "ResvEpilog",
    "ResvOverRun",
    "ResvProlog",
    "RoutePlugin",
    "SchedulerRootFilter",
    "ScronParameters",
    "SlurmSchedLogFile",
    "SlurmSchedLogLevel",
    "SlurmctldAddr",
    "SlurmctldDebug",
    "SlurmctldLogFile",
    "SlurmctldParameters",
    "SlurmctldPidFile",
    "SlurmctldPlugstack",
    "SlurmctldPort",
    "SlurmctldPrimaryOffProg",
    "SlurmctldPrimaryOnProg",
    "SlurmctldSyslogDebug",
    "SlurmctldTimeout",
    "SlurmdDebug",
    "SlurmdLogFile",
    "SlurmdParameters",
    "SlurmdPidFile",
    "SlurmdPort",
    "SlurmdSpoolDir",
    "SlurmdSyslogDebug",
    "SlurmdUser",
    "SrunEpilog",
    "SrunPortRange",
    "SrunProlog",
    "SuspendExcNodes",
    "SuspendExcParts",
    "SuspendProgram",
    "SuspendRate",
    "SwitchParameters",
    "SwitchType",
    "TCPTimeout",
    "TaskEpilog",
    "TaskPluginParam",
    "TaskProlog",
    "TmpFS",
    "TopologyParam",
    "TopologyPlugin",
    "TrackWCKey",
    "TreeWidth",
    "UnkillableStepProgram",
    "UsePAM",
    "VSizeFactor",
    "WaitTime",
};
const size_t idle_key_count = ARRAY_LEN(idle_keys);
