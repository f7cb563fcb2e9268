#include "model/settings/config_keys.h"
#include "model/grammar/cpu_bind.h"
#include "model/grammar/time_windows.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "base/list.h"
#include "base/str.h"
#include "model/grammar/gpu_idle.h"
#include "model/grammar/gres.h"
#include "model/limits.h"
#include "model/record/priority.h"
#include "model/settings/settings_value.h"

#include <string.h>

#define PRIORITY_MAX 65533

/* ---- values ---- */

static bool text(const char *value, const char **ret)
{
    *ret = text_empty(value) ? NULL : value;
    return true;
}

/* Says which of the names is near. */
static bool name_suggest(const struct enum_names *names, const char *value, struct err *ret_err)
{
    const char *near = text_nearest(value, names->name, names->n);
    return list_suggest(near ? near : "", span_of(value), ret_err);
}

static bool enum_set(const struct enum_names *names, const char *allowed, const char *value,
                     int32_t *ret, struct err *ret_err)
{
    return enum_value(names, value, ret) ||
           err_set(ret_err, ERR_INVALID, "%s is expected, not \"%.60s\"", allowed, value) ||
           name_suggest(names, value, ret_err);
}

static bool number(const char *value, int64_t min, int64_t max, int32_t *ret, struct err *ret_err)
{
    ASSERT(min <= max && min >= INT32_MIN && max <= INT32_MAX);
    int64_t n;
    if (!text_to_i64(value, min, max, &n))
        return err_set(ret_err, ERR_INVALID,
                       "a number from %lld to %lld is expected, not \"%.60s\"", (long long)min,
                       (long long)max, value);
    *ret = (int32_t)n;
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

static bool list_text(const char *value, const char **ret)
{
    *ret = text_is_nocase(value, "ALL") || text_empty(value) ? NULL : value;
    return true;
}

/* ---- nodes ---- */

#define NODE_KEY(name)                                                                             \
    static bool node_##name(void *record, const char *value, struct arena *a, struct err *ret_err)
// clang-format off
#define NODE_AS(name, call)                                                                                  \
    NODE_KEY(name)                                                                                           \
    {                                                                                                        \
        struct node_draft *d = record;                                                                       \
        return call;                                                                                         \
    }
// clang-format on

NODE_AS(addr, text(value, &d->node.addr))
NODE_AS(hostname, text(value, &d->node.hostname))
NODE_AS(features, text(value, &d->node.features))
NODE_AS(cpu_bind, cpu_bind_wanted_parse(value, &d->node.cpu_bind, ret_err))
NODE_AS(arch, text(value, &d->node.arch))
NODE_AS(reason, text(value, &d->node.reason))
NODE_AS(cpus, number(value, 1, LIMIT_CPUS_PER_NODE, &d->node.cpus, ret_err))
NODE_AS(boards, number(value, 1, 1024, &d->node.boards, ret_err))
NODE_AS(sockets, number(value, 1, LIMIT_CPUS_PER_NODE, &d->node.sockets, ret_err))
NODE_AS(board_sockets, number(value, 1, 1024, &d->sockets_per_board, ret_err))
NODE_AS(cores, number(value, 1, LIMIT_CPUS_PER_NODE, &d->node.cores_per_socket, ret_err))
NODE_AS(threads, number(value, 1, 64, &d->node.threads_per_core, ret_err))
NODE_AS(core_spec, number(value, 0, LIMIT_CPUS_PER_NODE, &d->node.core_spec, ret_err))
NODE_AS(weight, number(value, 0, INT32_MAX, &d->node.weight, ret_err))
NODE_AS(memory, size_parse_mib(value, &d->node.memory_mib, ret_err))
NODE_AS(memory_spec, size_parse_mib(value, &d->node.memory_spec_mib, ret_err))
NODE_AS(tmp_disk, size_parse_mib(value, &d->node.tmp_disk_mib, ret_err))
NODE_AS(is_virtual, setting_parse_bool(value, &d->node.is_virtual, ret_err))
NODE_AS(state, node_state_set(&d->node, value, ret_err))

NODE_KEY(gres)
{
    struct node_draft *d = record;
    struct gres_list list;
    struct str folded = STR_INIT;
    if (!gres_parse_node(value, a, &list, ret_err))
        return false;
    gres_format(&list, &folded);
    d->node.gres = list.n ? arena_strdup(a, str_text(&folded)) : NULL;
    str_done(&folded);
    return true;
}

NODE_KEY(devices)
{
    struct node_draft *d = record;
    struct device_list list;
    d->node.devices = text_empty(value) ? NULL : value;
    return devices_parse(value, a, &list, ret_err);
}

bool node_state_set(struct node *n, const char *value, struct err *ret_err)
{
    static const struct {
        const char *word;
        enum node_state state;
        bool drain, fail;
    } words[] = {
        {"UNKNOWN", NODE_UNKNOWN, false, false}, {"IDLE", NODE_UNKNOWN, false, false},
        {"CLOUD", NODE_UNKNOWN, false, false},   {"DOWN", NODE_DOWN, false, false},
        {"FUTURE", NODE_FUTURE, false, false},   {"DRAIN", NODE_UNKNOWN, true, false},
        {"FAIL", NODE_UNKNOWN, false, true},     {"FAILING", NODE_UNKNOWN, false, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (text_is_nocase(words[i].word, value)) {
            n->state = words[i].state;
            n->drain = words[i].drain;
            n->fail = words[i].fail;
            return true;
        }
    return err_set(ret_err, ERR_INVALID,
                   "UNKNOWN, DOWN, DRAIN, FAIL or FUTURE is expected, not \"%.60s\"", value) ||
           list_suggest("UNKNOWN,DOWN,DRAIN,FAIL,FUTURE", span_of(value), ret_err);
}

// clang-format off
static const struct line_key node_rows[] = {
    {"NodeAddr", node_addr, "address", "its name", "address to reach it; a list where the line names several nodes", false},
    {"NodeHostname", node_hostname, "host", "its name", "what `hostname` prints there", false},
    {"CPUs", node_cpus, "N", "sockets x cores x threads", "CPUs to schedule: threads, cores or sockets, whichever number it is", false},
    {"Procs", node_cpus, "N", "", "old name of CPUs", false},
    {"Boards", node_boards, "N", "1", "boards", false},
    {"Sockets", node_sockets, "N", "CPUs / cores / threads", "sockets", false},
    {"SocketsPerBoard", node_board_sockets, "N", "", "in place of Sockets: of each board", false},
    {"CoresPerSocket", node_cores, "N", "1", "cores of a socket", false},
    {"ThreadsPerCore", node_threads, "N", "1", "threads of a core", false},
    {"CoreSpecCount", node_core_spec, "N", "0", "cores that no job gets: for the system", false},
    {"RealMemory", node_memory, "size, MB", "as found", "memory to schedule", false},
    {"MemSpecLimit", node_memory_spec, "size, MB", "0", "of that, for the system: no job gets it", false},
    {"TmpDisk", node_tmp_disk, "size, MB", "0", "room in /tmp, for --tmp", false},
    {"Weight", node_weight, "N", "1", "of the nodes that would do, those of less weight are taken first", false},
    {"Feature", node_features, "word,…", "none", "what --constraint asks for", false},
    {"Features", node_features, "word,…", "", "the same", false},
    {"Gres", node_gres, "kind[:type]:N,…", "as found", "GPUs and other generic resources", false},
    {"Devices", node_devices, "kind:type:index:MB:cores:uuid;…", "as found", "each device; `remuda up` writes it, and gres.conf is the way to say it by hand", false},
    {"Virtual", node_is_virtual, "YES, NO", "NO", "one of several nodes on the controller's machine, to try things out", false},
    {"Arch", node_arch, "word", "as found", "architecture", false},
    {"State", node_state, "UNKNOWN, DOWN, DRAIN, FAIL, FUTURE", "UNKNOWN", "how it begins; FUTURE: described, not there yet", false},
    {"Reason", node_reason, "text", "", "why it is DOWN, DRAIN or FAIL", false},
    {"BcastAddr", NULL, "", "", "files are sent to NodeAddr", false},
    {"CpuBind", node_cpu_bind, "none, socket, ldom, core, thread", "as srun does", "how tasks are bound that nobody asks to be bound", false},
    {"CpuSpecList", NULL, "", "", "cores for the system are counted (CoreSpecCount), not named", true},
    {"Parameters", NULL, "", "", "no plugin reads them", false},
    {"Port", NULL, "", "", "node daemons connect to the controller, and listen nowhere", false},
    {"RestrictedCoresPerGPU", NULL, "", "", "no cores are kept for jobs that have GPUs", true},
    {"Topology", NULL, "", "", "topology.conf says which switch a node is at", false},
};
// clang-format on
const struct line_keys node_keys = {node_rows, ARRAY_LEN(node_rows)};

/* ---- partitions ---- */

#define PART_KEY(name)                                                                             \
    static bool part_##name(void *record, const char *value, struct arena *a, struct err *ret_err)
// clang-format off
#define PART_AS(name, call)                                                                                  \
    PART_KEY(name)                                                                                           \
    {                                                                                                        \
        struct partition *p = record;                                                                        \
        return call;                                                                                         \
    }
// clang-format on

PART_AS(nodes, text(value, &p->nodes))
PART_AS(state,
        enum_set(&part_state_names, "UP, DOWN, DRAIN or INACTIVE", value, &p->state, ret_err))
PART_AS(max_time, limit_time(value, &p->max_time_us, ret_err))
PART_AS(default_time, limit_time(value, &p->default_time_us, ret_err))
PART_AS(min_nodes, number(value, 0, LIMIT_NODES, &p->min_nodes, ret_err))
PART_AS(max_nodes, limit_number(value, &p->max_nodes, ret_err))
PART_AS(max_cpus_socket, limit_number(value, &p->max_cpus_per_socket, ret_err))
PART_AS(max_cpus, limit_number(value, &p->max_cpus_per_node, ret_err))
PART_AS(max_mem_node, setting_parse_mib(value, &p->max_mem_per_node_mib, ret_err))
PART_AS(max_mem_cpu, setting_parse_mib(value, &p->max_mem_per_cpu_mib, ret_err))
PART_AS(def_mem_node, setting_parse_mib(value, &p->def_mem_per_node_mib, ret_err))
PART_AS(def_mem_cpu, setting_parse_mib(value, &p->def_mem_per_cpu_mib, ret_err))

/* "4", "4,a100:16,v100:8": of every GPU, and of those of a type. *ret_types as the partition keeps
 * it; what was said of it before is forgotten, and *ret_all stays where no number is for all. */
static bool per_type(const char *value, bool memory, const char **types, int64_t *ret_all,
                     struct arena *a, struct err *ret_err)
{
    struct span rest = span_of(value), piece;
    struct str list = STR_INIT;
    bool ok = true, all = false;
    while (ok && span_next(&rest, ',', &piece)) {
        const char *item = arena_strndup(a, piece.data, piece.len), *colon = strchr(item, ':');
        const char *text = colon ? colon + 1 : item;
        int64_t n = 0;
        int32_t cpus = 0;
        ok = memory ? setting_parse_mib(text, &n, ret_err)
                    : number(text, 0, LIMIT_CPUS_PER_NODE, &cpus, ret_err);
        n = memory ? n : cpus;
        if (ok && colon == item)
            ok = err_set(ret_err, ERR_INVALID, "a type of GPU is missing before \"%.60s\"", item);
        if (ok && colon)
            list_addf(&list, "%.*s=%lld", (int)(colon - item), item, (long long)n);
        else
            *ret_all = n, all = true;
    }
    if (ok && !all && (memory || !list.len))
        ok = err_set(ret_err, ERR_INVALID,
                     "a number for all other GPUs is expected beside those of types: "
                     "8000,a100:64000, not \"%.60s\"",
                     value);
    *types = ok && list.len ? arena_strdup(a, str_text(&list)) : NULL;
    str_done(&list);
    return ok;
}

static bool part_def_mem_gpu(void *record, const char *value, struct arena *a, struct err *ret_err)
{
    struct partition *p = record;
    return per_type(value, true, &p->def_mem_per_gpu_types, &p->def_mem_per_gpu_mib, a, ret_err);
}

static bool part_def_cpu_gpu(void *record, const char *value, struct arena *a, struct err *ret_err)
{
    struct partition *p = record;
    int64_t all = 0;
    bool ok = per_type(value, false, &p->def_cpu_per_gpu_types, &all, a, ret_err);
    p->def_cpu_per_gpu = (int32_t)all;
    return ok;
}

PART_AS(allow_groups, list_text(value, &p->allow_groups))
PART_AS(allow_accounts, list_text(value, &p->allow_accounts))
PART_AS(deny_accounts, list_text(value, &p->deny_accounts))
PART_AS(allow_qos, list_text(value, &p->allow_qos))
PART_AS(deny_qos, list_text(value, &p->deny_qos))
PART_AS(alloc_nodes, list_text(value, &p->alloc_nodes))
PART_AS(qos, list_text(value, &p->qos))
PART_AS(alternate, (p->alternate = text_empty(value) ? NULL : value, true))
PART_KEY(windows)
{
    struct partition *p = record;
    struct time_windows read;
    p->time_windows = text_empty(value) ? NULL : value;
    return time_windows_parse(value, a, &read, ret_err);
}

PART_AS(tier, number(value, 0, PRIORITY_MAX, &p->priority_tier, ret_err))
PART_AS(factor, number(value, 0, PRIORITY_MAX, &p->priority_job_factor, ret_err))
PART_KEY(gpu_idle)
{
    struct partition *p = record;
    struct gpu_idle read;
    p->gpu_idle = text_empty(value) ? NULL : value;
    return gpu_idle_parse(value, &read, ret_err);
}

/* A partition's own span; -1, which of other spans is UNLIMITED, is none here. */
static bool span_parse(const char *value, const char *unit, int64_t *ret_us, struct err *ret_err)
{
    if (value[0] == '-')
        return err_set(ret_err, ERR_INVALID, "it is not below 0; UNLIMITED has no end");
    return setting_parse_span(value, unit, ret_us, ret_err);
}

PART_AS(grace, span_parse(value, "sec", &p->grace_time_us, ret_err))
PART_KEY(billing)
{
    struct partition *p = record;
    struct tres_weights w;
    if (!tres_weights_parse(value, &w, ret_err))
        return false;
    p->billing_weights = value;
    return true;
}

PART_AS(is_default, setting_parse_bool(value, &p->is_default, ret_err))
PART_AS(exclusive_user, setting_parse_bool(value, &p->exclusive_user, ret_err))
PART_AS(hidden, setting_parse_bool(value, &p->hidden, ret_err))
PART_AS(root_only, setting_parse_bool(value, &p->root_only, ret_err))
PART_AS(req_resv, setting_parse_bool(value, &p->req_resv, ret_err))
PART_AS(lln, setting_parse_bool(value, &p->lln, ret_err))
PART_AS(disable_root, setting_parse_bool(value, &p->disable_root, ret_err))

PART_AS(cpu_bind, cpu_bind_wanted_parse(value, &p->cpu_bind, ret_err))

/* 0 says that there is none, whatever the cluster's OverTimeLimit allows, and what is not said is
 * the cluster's: kept as a moment, of which there are no minutes. */
PART_KEY(over_time)
{
    struct partition *p = record;
    if (!span_parse(value, "min", &p->over_time_limit_us, ret_err))
        return false;
    p->over_time_limit_us = p->over_time_limit_us ? p->over_time_limit_us : 1;
    return true;
}

/* The key of old releases for both. */
PART_KEY(priority)
{
    struct partition *p = record;
    if (!number(value, 0, PRIORITY_MAX, &p->priority_tier, ret_err))
        return false;
    p->priority_job_factor = p->priority_tier;
    return true;
}

/* DefCpuPerGPU=4,a100:16,DefMemPerGPU=8000: what has no key belongs to the one before. */
PART_KEY(job_defaults)
{
    struct span rest = span_of(value), piece;
    struct str list[2] = {STR_INIT, STR_INIT}, *at = NULL;
    bool ok = true;
    while (ok && *value && span_next(&rest, ',', &piece)) {
        const char *item = arena_strndup(a, piece.data, piece.len), *equals = strchr(item, '=');
        const char *key = arena_strndup(a, item, equals ? (size_t)(equals - item) : 0);
        if (equals)
            at = text_is_nocase(key, "DefCpuPerGPU")   ? &list[0]
                 : text_is_nocase(key, "DefMemPerGPU") ? &list[1]
                                                       : NULL;
        if (at)
            list_addf(at, "%s", equals ? equals + 1 : item);
        else
            ok = err_set(ret_err, ERR_INVALID,
                         "DefCpuPerGPU=count and DefMemPerGPU=size are expected, not \"%.60s\"",
                         value);
    }
    if (ok && list[0].len)
        ok = part_def_cpu_gpu(record, arena_strdup(a, str_text(&list[0])), a, ret_err);
    if (ok && list[1].len)
        ok = part_def_mem_gpu(record, arena_strdup(a, str_text(&list[1])), a, ret_err);
    str_done(&list[0]);
    str_done(&list[1]);
    return ok;
}

/* GANG beside another mode says how suspended jobs are woken: SUSPEND,GANG is SUSPEND. */
PART_KEY(preempt)
{
    struct partition *p = record;
    struct span rest = span_of(value), piece;
    int32_t mode = PREEMPT_UNSET, one;
    while (span_next(&rest, ',', &piece)) {
        const char *word = arena_strndup(a, piece.data, piece.len);
        if (!enum_set(&preempt_mode_names, "OFF, CANCEL, REQUEUE, SUSPEND or GANG", word, &one,
                      ret_err))
            return false;
        if (mode == PREEMPT_UNSET || mode == PREEMPT_OFF || mode == PREEMPT_GANG)
            mode = one;
    }
    p->preempt_mode = mode;
    return true;
}

/* NO, EXCLUSIVE, YES[:n], FORCE[:n] */
PART_KEY(share)
{
    struct partition *p = record;
    const char *colon = strchr(value, ':');
    const char *word = colon ? arena_strndup(a, value, (size_t)(colon - value)) : value;
    p->share_count = 4;
    if (!enum_value(&part_share_names, word, &p->share) ||
        (colon && !number(colon + 1, 1, 32767, &p->share_count, NULL)))
        return err_set(ret_err, ERR_INVALID,
                       "NO, EXCLUSIVE, YES[:count] or FORCE[:count] is expected, not \"%.60s\"",
                       value) ||
               name_suggest(&part_share_names, word, ret_err);
    if (p->share == SHARE_NO || p->share == SHARE_EXCLUSIVE)
        p->share_count = 0;
    return true;
}

// clang-format off
static const struct line_key partition_rows[] = {
    {"Nodes", part_nodes, "names, ALL, NodeSet", "none", "its nodes", false},
    {"Default", part_is_default, "YES, NO", "NO", "jobs that name no partition go here; the last that says YES is it", false},
    {"State", part_state, "UP, DOWN, DRAIN, INACTIVE", "UP", "DOWN starts nothing, DRAIN takes no new jobs, INACTIVE neither", false},
    {"MaxTime", part_max_time, "time, UNLIMITED", "UNLIMITED", "longest limit of a job", false},
    {"DefaultTime", part_default_time, "time, NONE", "MaxTime", "limit of jobs that give none", false},
    {"MinNodes", part_min_nodes, "N", "0", "nodes a job has at least", false},
    {"MaxNodes", part_max_nodes, "N, UNLIMITED", "UNLIMITED", "nodes a job has at most", false},
    {"MaxCPUsPerNode", part_max_cpus, "N, UNLIMITED", "UNLIMITED", "CPUs that all its jobs together have on a node", false},
    {"MaxMemPerNode", part_max_mem_node, "size, MB", "as the cluster", "memory a job has on a node at most", false},
    {"MaxMemPerCPU", part_max_mem_cpu, "size, MB", "as the cluster", "memory a job has for each CPU: who wants more gets more CPUs", false},
    {"DefMemPerNode", part_def_mem_node, "size, MB", "as the cluster", "memory on a node of jobs that ask none", false},
    {"DefMemPerCPU", part_def_mem_cpu, "size, MB", "as the cluster", "memory for each CPU of jobs that ask none", false},
    {"DefMemPerGPU", part_def_mem_gpu, "size, MB[,type:size]", "none", "memory for each GPU of jobs that ask none: 16G,a100:64G", false},
    {"DefCpuPerGPU", part_def_cpu_gpu, "N[,type:N]", "none", "CPUs for each GPU of jobs that ask none: 4,a100:16", false},
    {"AllowGroups", part_allow_groups, "group,…", "ALL", "whose members may use it", false},
    {"AllowAccounts", part_allow_accounts, "account,…", "ALL", "which may use it", false},
    {"DenyAccounts", part_deny_accounts, "account,…", "none", "which may not, where AllowAccounts does not say", false},
    {"AllowQos", part_allow_qos, "QOS,…", "ALL", "which may use it", false},
    {"DenyQos", part_deny_qos, "QOS,…", "none", "which may not, where AllowQos does not say", false},
    {"AllocNodes", part_alloc_nodes, "host,…", "ALL", "hosts from which jobs may be submitted", false},
    {"QOS", part_qos, "QOS", "none", "whose limits hold for all its jobs together", false},
    {"Alternate", part_alternate, "partition", "none", "takes its jobs while it is DRAIN or INACTIVE", false},
    {"TimeWindows", part_windows, "days HH:MM-HH:MM limit …;…", "none", "ours: limits by time of day: weekdays 08:00-18:00 max_jobs_per_user=2 max_time=4:00:00", false},
    {"PriorityTier", part_tier, "0 to 65533", "1", "jobs of higher tiers are considered first, and may stop others (PreemptType=preempt/partition_prio)", false},
    {"PriorityJobFactor", part_factor, "0 to 65533", "1", "its part in the priority, times PriorityWeightPartition", false},
    {"Priority", part_priority, "0 to 65533", "", "old name of both", false},
    {"PreemptMode", part_preempt, "OFF, CANCEL, REQUEUE, SUSPEND, GANG", "as the cluster", "how its jobs give way", false},
    {"GpuIdle", part_gpu_idle, "warn:TIME,notify:TIME,…", "as the cluster", "ours: what is done about jobs that do not use their GPUs", false},
    {"GraceTime", part_grace, "seconds", "0", "between SIGTERM and SIGKILL of a job that gives way", false},
    {"OverTimeLimit", part_over_time, "minutes", "as the cluster", "how far past its limit a job may run", false},
    {"OverSubscribe", part_share, "NO, EXCLUSIVE, YES[:N], FORCE[:N]", "NO", "EXCLUSIVE: whole nodes; YES, FORCE: N jobs (4) share a resource", false},
    {"Shared", part_share, "", "", "old name of OverSubscribe", false},
    {"ExclusiveUser", part_exclusive_user, "YES, NO", "NO", "a node serves one user at a time", false},
    {"Hidden", part_hidden, "YES, NO", "NO", "only -a shows it", false},
    {"RootOnly", part_root_only, "YES, NO", "NO", "only root submits", false},
    {"ReqResv", part_req_resv, "YES, NO", "NO", "only jobs of a reservation", false},
    {"LLN", part_lln, "YES, NO", "NO", "least loaded nodes first", false},
    {"DisableRootJobs", part_disable_root, "YES, NO", "NO", "root does not submit", false},
    {"CpuBind", part_cpu_bind, "none, socket, ldom, core, thread", "as srun does", "how tasks are bound that nobody asks to be bound, where their nodes do not say it", false},
    {"ExclusiveTopo", NULL, "", "", "no block of a topology is given to one job alone", true},
    {"JobDefaults", part_job_defaults, "DefCpuPerGPU=N,DefMemPerGPU=size", "none", "another way to say these", false},
    {"MaxCPUsPerSocket", part_max_cpus_socket, "N, UNLIMITED", "UNLIMITED", "CPUs that all its jobs together have on a socket", false},
    {"PowerDownOnIdle", NULL, "", "", "no nodes are powered down", false},
    {"ResumeTimeout", NULL, "", "", "no nodes are powered down", false},
    {"SelectTypeParameters", NULL, "", "", "what is counted is the same in all partitions", true},
    {"SuspendTime", NULL, "", "", "no nodes are powered down", false},
    {"SuspendTimeout", NULL, "", "", "no nodes are powered down", false},
    {"TRESBillingWeights", part_billing, "CPU=1.0,Mem=0.25G,GRES/gpu=2", "1 a CPU", "what use of its resources costs", false},
    {"Topology", NULL, "", "", "topology.conf is for all partitions", false},
};
// clang-format on
const struct line_keys partition_keys = {partition_rows, ARRAY_LEN(partition_rows)};
