/* scontrol update, create and delete: Key=Value words → the fields of a job, node or partition. One table an entity; unknown keys name the nearest known one. */
#include "base/alloc.h"
#include "base/civil.h"
#include "base/duration.h"
#include "base/vec.h"
#include "cli/listing.h"
#include "cli/localtime.h"
#include "cli/scontrol.h"
#include "model/array.h"
#include "model/gres.h"
#include "model/limits.h"
#include "model/settings_value.h"

#include <stdio.h>
#include <string.h>

/* What the words have said so far. */
struct change {
    struct scontrol *s;
    const char *fields;          /* record fields to set, comma-separated */
    struct job_spec spec;
    struct node node;
    struct partition part;
    struct msg_update_job job;
    struct msg_update_node node_msg;
    struct msg_update_partition part_msg;
};

typedef bool (*set_fn)(struct change *c, const char *value, struct err *ret_err);

struct key {
    const char *name;
    set_fn set;
};

static bool field(struct change *c, const char *name)
{
    c->fields = listing_join(c->fields, name, c->s->a);
    return true;
}

static bool number(const char *value, int32_t *ret, struct err *ret_err)
{
    int64_t n = 0;
    if (!text_to_i64(value, 0, INT32_MAX, &n))
        return err_set(ret_err, ERR_INVALID, "a number is expected, not \"%s\"", value);
    *ret = (int32_t) n;
    return true;
}

/* ---- jobs ---------------------------------------------------------------------------------------------------------------------- */

#define JOB_TEXT(key, member, name)                                                          \
    static bool job_##key(struct change *c, const char *value, struct err *ret_err)          \
    {                                                                                        \
        (void) ret_err;                                                                      \
        c->spec.member = text_empty(value) ? NULL : value;                                   \
        return field(c, name);                                                               \
    }
#define JOB_NUMBER(key, member, name)                                                        \
    static bool job_##key(struct change *c, const char *value, struct err *ret_err)          \
    {                                                                                        \
        return number(value, &c->spec.member, ret_err) && field(c, name);                    \
    }
#define JOB_MIB(key, member, name)                                                           \
    static bool job_##key(struct change *c, const char *value, struct err *ret_err)          \
    {                                                                                        \
        return size_parse_mib(value, &c->spec.member, ret_err) && field(c, name);            \
    }
#define JOB_TIME(key, member, name)                                                                                  \
    static bool job_##key(struct change *c, const char *value, struct err *ret_err)                                  \
    {                                                                                                                \
        return civil_parse(value, time_now_us(), &civil_local, true, &c->spec.member, ret_err) && field(c, name);    \
    }

JOB_TEXT(name, name, "name")
JOB_TEXT(comment, comment, "comment")
JOB_TEXT(account, req.account, "account")
JOB_TEXT(qos, req.qos, "qos")
JOB_TEXT(partition, req.partition, "partition")
JOB_TEXT(reservation, req.reservation, "reservation")
JOB_TEXT(features, req.constraint, "constraint")
JOB_TEXT(prefer, req.prefer, "prefer")
JOB_TEXT(nodelist, req.nodelist, "nodelist")
JOB_TEXT(exclude, req.exclude, "exclude")
JOB_TEXT(licenses, req.licenses, "licenses")
JOB_TEXT(dependency, dependency, "dependency")
JOB_TEXT(wckey, wckey, "wckey")
JOB_TEXT(work_dir, work_dir, "work_dir")
JOB_TEXT(std_out, std_out, "std_out")
JOB_TEXT(std_err, std_err, "std_err")
JOB_TEXT(std_in, std_in, "std_in")
JOB_TEXT(mail_user, mail_user, "mail_user")
JOB_TEXT(extra, extra, "extra")
JOB_NUMBER(tasks, req.ntasks, "ntasks")
JOB_NUMBER(cpus_per_task, req.cpus_per_task, "cpus_per_task")
JOB_NUMBER(per_node, req.ntasks_per_node, "ntasks_per_node")
JOB_NUMBER(min_cpus_node, req.min_cpus_per_node, "min_cpus_per_node")
JOB_NUMBER(switches, req.switches, "switches")
JOB_MIB(mem_node, req.mem_per_node_mib, "mem_per_node_mib")
JOB_MIB(mem_cpu, req.mem_per_cpu_mib, "mem_per_cpu_mib")
JOB_MIB(tmp_disk, req.tmp_disk_mib, "tmp_disk_mib")
JOB_TIME(start, begin_us, "begin_us")
JOB_TIME(deadline, deadline_us, "deadline_us")

static bool job_gres(struct change *c, const char *value, struct err *ret_err)
{
    struct gres_list list;
    c->spec.req.gres = text_empty(value) ? NULL : value;
    return gres_parse(value, c->s->a, &list, ret_err) && field(c, "gres");
}

static bool job_nodes(struct change *c, const char *value, struct err *ret_err)
{
    const char *dash = strchr(value, '-');
    const char *low = dash ? arena_strndup(c->s->a, value, (size_t) (dash - value)) : value;
    if (!number(low, &c->spec.req.min_nodes, ret_err) || (dash && !number(dash + 1, &c->spec.req.max_nodes, ret_err)))
        return false;
    if (!dash)
        c->spec.req.max_nodes = c->spec.req.min_nodes;
    return field(c, "min_nodes,max_nodes");
}

/* NumCPUs=4 of a job of one-CPU tasks: so many tasks. */
static bool job_cpus(struct change *c, const char *value, struct err *ret_err)
{
    const char *dash = strchr(value, '-');
    const char *low = dash ? arena_strndup(c->s->a, value, (size_t) (dash - value)) : value;
    return number(low, &c->spec.req.ntasks, ret_err) && field(c, "ntasks");
}

/* TimeLimit=1:00:00, TimeLimit=+30, TimeLimit+=30, TimeLimit-=10 */
static bool job_limit(struct change *c, const char *value, struct err *ret_err)
{
    int64_t us = 0;
    char sign = value[0];
    if (sign == '+' || sign == '-') {
        if (!duration_parse(value + 1, &us, ret_err))
            return false;
        c->job.time_limit_add_us = sign == '+' ? us : -us;
        return true;
    }
    if (!duration_parse(value, &us, ret_err))
        return false;
    c->spec.req.time_limit_us = us ? us : TIME_UNLIMITED;
    return field(c, "time_limit_us");
}

static bool job_time_min(struct change *c, const char *value, struct err *ret_err)
{
    return duration_parse(value, &c->spec.req.time_min_us, ret_err) && field(c, "time_min_us");
}

static bool job_end_time(struct change *c, const char *value, struct err *ret_err)
{
    return civil_parse(value, time_now_us(), &civil_local, true, &c->job.end_us, ret_err);
}

static bool job_nice(struct change *c, const char *value, struct err *ret_err)
{
    int64_t n = 100;
    if (!text_empty(value) && !text_to_i64(value, -2147483645, 2147483645, &n))
        return err_set(ret_err, ERR_INVALID, "a number from -2147483645 to 2147483645 is expected, not \"%s\"", value);
    c->spec.nice = (int32_t) n;
    return field(c, "nice");
}

/* Priority=0 holds, as in Slurm. */
static bool job_priority(struct change *c, const char *value, struct err *ret_err)
{
    if (!text_to_u64(value, UINT32_MAX, &c->spec.priority_asked))
        return err_set(ret_err, ERR_INVALID, "a number is expected, not \"%s\"", value);
    c->spec.hold = c->spec.priority_asked == 0;
    return field(c, "priority_asked,hold");
}

static bool job_requeue(struct change *c, const char *value, struct err *ret_err)
{
    bool yes;
    if (!setting_parse_bool(value, &yes, ret_err))
        return false;
    c->spec.requeue = yes ? YES : NO;
    return field(c, "requeue");
}

static bool job_contiguous(struct change *c, const char *value, struct err *ret_err)
{
    return setting_parse_bool(value, &c->spec.req.contiguous, ret_err) && field(c, "contiguous");
}

static bool job_oversubscribe(struct change *c, const char *value, struct err *ret_err)
{
    bool shares;
    if (!setting_parse_bool(value, &shares, ret_err))
        return false;
    c->spec.req.oversubscribe = shares;
    c->spec.req.exclusive = shares ? EXCLUSIVE_UNSET : EXCLUSIVE_NODE;
    return field(c, "oversubscribe,exclusive");
}

static bool job_admin_comment(struct change *c, const char *value, struct err *ret_err)
{
    (void) ret_err;
    c->job.admin_comment = value;
    return true;
}

static bool job_throttle(struct change *c, const char *value, struct err *ret_err)
{
    int32_t n = 0;
    if (!number(value, &n, ret_err))
        return false;
    c->job.array_limit_plus1 = (uint32_t) n + 1;
    return true;
}

static bool job_reset_accrue(struct change *c, const char *value, struct err *ret_err)
{
    (void) value;
    (void) ret_err;
    c->job.reset_accrue = 1;
    return true;
}

static bool job_ids(struct change *c, const char *value, struct err *ret_err)
{
    (void) ret_err;
    c->job.ids = listing_join(c->job.ids, value, c->s->a);
    return true;
}

static const struct key job_keys[] = {
    {"JobId", job_ids},
    {"Account", job_account},
    {"AdminComment", job_admin_comment},
    {"ArrayTaskThrottle", job_throttle},
    {"Comment", job_comment},
    {"Contiguous", job_contiguous},
    {"CPUs/Task", job_cpus_per_task},
    {"CpusPerTask", job_cpus_per_task},
    {"Deadline", job_deadline},
    {"Dependency", job_dependency},
    {"EligibleTime", job_start},
    {"EndTime", job_end_time},
    {"ExcNodeList", job_exclude},
    {"Extra", job_extra},
    {"Features", job_features},
    {"Gres", job_gres},
    {"JobName", job_name},
    {"Name", job_name},
    {"Licenses", job_licenses},
    {"MailUser", job_mail_user},
    {"MinCPUsNode", job_min_cpus_node},
    {"MinMemoryCPU", job_mem_cpu},
    {"MinMemoryNode", job_mem_node},
    {"MinTmpDiskNode", job_tmp_disk},
    {"Nice", job_nice},
    {"NodeList", job_nodelist},
    {"NtasksPerNode", job_per_node},
    {"NumCPUs", job_cpus},
    {"NumNodes", job_nodes},
    {"NumTasks", job_tasks},
    {"OverSubscribe", job_oversubscribe},
    {"Shared", job_oversubscribe},
    {"Partition", job_partition},
    {"Prefer", job_prefer},
    {"Priority", job_priority},
    {"QOS", job_qos},
    {"ReqNodeList", job_nodelist},
    {"ReqNodes", job_nodes},
    {"ReqCPUs", job_cpus},
    {"Requeue", job_requeue},
    {"ReservationName", job_reservation},
    {"ResetAccrueTime", job_reset_accrue},
    {"StartTime", job_start},
    {"StdErr", job_std_err},
    {"StdIn", job_std_in},
    {"StdOut", job_std_out},
    {"Switches", job_switches},
    {"TimeLimit", job_limit},
    {"TimeMin", job_time_min},
    {"WCKey", job_wckey},
    {"WorkDir", job_work_dir},
};

/* ---- nodes --------------------------------------------------------------------------------------------------------------------- */

#define NODE_TEXT(key, member)                                                               \
    static bool node_##key(struct change *c, const char *value, struct err *ret_err)         \
    {                                                                                        \
        (void) ret_err;                                                                      \
        c->node.member = text_empty(value) ? NULL : value;                                   \
        return field(c, #member);                                                            \
    }
NODE_TEXT(features, features)
NODE_TEXT(gres, gres)
NODE_TEXT(comment, comment)
NODE_TEXT(addr, addr)
NODE_TEXT(hostname, hostname)

static bool node_names(struct change *c, const char *value, struct err *ret_err)
{
    (void) ret_err;
    c->node_msg.names = value;
    return true;
}

static bool node_state(struct change *c, const char *value, struct err *ret_err)
{
    (void) ret_err;
    c->node_msg.state = value;
    return true;
}

static bool node_reason(struct change *c, const char *value, struct err *ret_err)
{
    (void) ret_err;
    c->node_msg.reason = value;
    return true;
}

static bool node_weight(struct change *c, const char *value, struct err *ret_err)
{
    return number(value, &c->node.weight, ret_err) && field(c, "weight");
}

static const struct key node_keys[] = {
    {"NodeName", node_names}, {"State", node_state},       {"Reason", node_reason},     {"Weight", node_weight},     {"Features", node_features},
    {"AvailableFeatures", node_features}, {"ActiveFeatures", node_features}, {"Gres", node_gres}, {"Comment", node_comment},
    {"NodeAddr", node_addr},  {"NodeHostName", node_hostname},
};

/* ---- partitions: the keys of a PartitionName line, read by the configuration's own parser -------------------------------------------------- */

/* The line is parsed as remuda.conf would be; what the key changed is found by comparing with a record from an empty line. */
static bool partition_line(struct change *c, int n, char **word, struct err *ret_err)
{
    struct str line = STR_INIT, names = STR_INIT;
    struct config with, without;
    const char *name = NULL;
    for (int i = 0; i < n; i++) {
        if (text_starts_nocase(word[i], "PartitionName="))
            name = strchr(word[i], '=') + 1;
        else if (!text_starts_nocase(word[i], "Nodes="))
            str_addf(&line, " %s", word[i]);
        if (text_starts_nocase(word[i], "Nodes="))
            c->part.nodes = strchr(word[i], '=') + 1;
    }
    if (text_empty(name)) {
        str_done(&line);
        return err_set(ret_err, ERR_INVALID, "PartitionName= is missing");
    }
    str_addf(&names, "PartitionName=%s", name);
    bool ok = config_parse(str_text(&names), "empty", NULL, NULL, &without, ret_err);
    str_addf(&names, "%s", str_text(&line));
    ok = ok && config_parse(str_text(&names), "scontrol", NULL, NULL, &with, ret_err);
    if (ok && with.nwarnings)
        ok = err_set(ret_err, ERR_INVALID, "%s", with.warning[0]);
    const char *nodes = c->part.nodes;
    if (ok && with.nparts == 1) {
        record_copy(&partition_fields, &c->part, &with.part[0], c->s->a);
        c->part.nodes = nodes;
        for (size_t i = 0; i < partition_fields.n; i++) {
            const char *key = partition_fields.field[i].name;
            struct fields one = {"partition", sizeof(struct partition), &partition_fields.field[i], 1};
            if (!text_is(key, "name") && !text_is(key, "nodes") && !record_equal(&one, &with.part[0], &without.part[0]))
                field(c, key);
        }
    }
    if (nodes)
        field(c, "nodes");
    c->part_msg.name = name;
    str_done(&line);
    str_done(&names);
    return ok;
}

/* A value equal to the default (MaxTime=UNLIMITED, State=UP, Default=NO …) is a change too: named keys always count. */
struct named {
    const char *key, *field;
};
static const struct named part_named[] = {
    {"MaxTime", "max_time_us"}, {"DefaultTime", "default_time_us"}, {"MaxNodes", "max_nodes"}, {"MinNodes", "min_nodes"}, {"State", "state"},
    {"Default", "is_default"}, {"Hidden", "hidden"}, {"RootOnly", "root_only"}, {"OverSubscribe", "share,share_count"}, {"Shared", "share,share_count"},
    {"PriorityTier", "priority_tier"}, {"PriorityJobFactor", "priority_job_factor"}, {"AllowGroups", "allow_groups"}, {"AllowAccounts", "allow_accounts"},
    {"AllowQos", "allow_qos"}, {"AllocNodes", "alloc_nodes"}, {"GraceTime", "grace_time_us"}, {"PreemptMode", "preempt_mode"}, {"LLN", "lln"},
    {"MaxCPUsPerNode", "max_cpus_per_node"}, {"DefMemPerCPU", "def_mem_per_cpu_mib"}, {"DefMemPerNode", "def_mem_per_node_mib"},
    {"MaxMemPerCPU", "max_mem_per_cpu_mib"}, {"MaxMemPerNode", "max_mem_per_node_mib"}, {"ExclusiveUser", "exclusive_user"}, {"ReqResv", "req_resv"},
    {"DisableRootJobs", "disable_root"}, {"OverTimeLimit", "over_time_limit_us"}, {"QOS", "qos"}, {"Alternate", "alternate"},
};

static void named_add(struct change *c, int n, char **word)
{
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < ARRAY_LEN(part_named); k++) {
            size_t len = strlen(part_named[k].key);
            if (text_starts_nocase(word[i], part_named[k].key) && word[i][len] == '=')
                field(c, part_named[k].field);
        }
}

/* ---- words ----------------------------------------------------------------------------------------------------------------------- */

static bool key_unknown(const char *name, const struct key *keys, size_t n, struct err *ret_err)
{
    const char *names[64];
    for (size_t i = 0; i < n; i++)
        names[i] = keys[i].name;
    const char *near = text_nearest(name, names, n);
    if (near)
        return err_set(ret_err, ERR_INVALID, "Update of this parameter is not supported: %s; did you mean %s?", name, near);
    return err_set(ret_err, ERR_INVALID, "Update of this parameter is not supported: %s", name);
}

/* Exact, else the only key that starts so (Slurm abbreviates: "Time=" is TimeLimit). */
static const struct key *key_find(const struct key *keys, size_t n, const char *name)
{
    const struct key *found = NULL;
    for (size_t i = 0; i < n; i++) {
        if (text_is_nocase(keys[i].name, name))
            return &keys[i];
        if (!found && strlen(name) >= 3 && text_starts_nocase(keys[i].name, name))
            found = &keys[i];
    }
    return found;
}

static bool words_take(struct change *c, const struct key *keys, size_t nkeys, int n, char **word, struct err *ret_err)
{
    for (int i = 0; i < n; i++) {
        const char *equals = strchr(word[i], '=');
        if (!equals)
            return err_set(ret_err, ERR_INVALID, "Key=Value is expected, not \"%s\"", word[i]);
        size_t len = (size_t) (equals - word[i]);
        const char *value = equals + 1;
        /* Key+=Value and Key-=Value */
        if (len && (word[i][len - 1] == '+' || word[i][len - 1] == '-')) {
            value = arena_printf(c->s->a, "%c%s", word[i][len - 1], value);
            len--;
        }
        const char *name = arena_strndup(c->s->a, word[i], len);
        const struct key *k = key_find(keys, nkeys, name);
        if (!k)
            return key_unknown(name, keys, nkeys, ret_err);
        if (!k->set(c, value, ret_err))
            return err_prefix(ret_err, "%s", k->name);
    }
    return true;
}

static bool starts(int n, char **word, const char *key)
{
    for (int i = 0; i < n; i++)
        if (text_starts_nocase(word[i], key))
            return true;
    return false;
}

static bool job_update(struct change *c, int n, char **word, struct err *ret_err)
{
    if (!words_take(c, job_keys, ARRAY_LEN(job_keys), n, word, ret_err))
        return false;
    if (!c->job.ids) {
        /* update Name=… alone names the jobs; nothing would be changed then. */
        return err_set(ret_err, ERR_INVALID, "No job is named: JobId= says which");
    }
    c->job.fields = c->fields;
    if (c->fields) {
        c->job.values.v = &c->spec;
        c->job.values.n = 1;
    }
    scontrol_change(c->s, MSG_UPDATE_JOB, &c->job, "slurm_update");
    return true;
}

static bool node_update(struct change *c, int n, char **word, struct err *ret_err)
{
    if (!words_take(c, node_keys, ARRAY_LEN(node_keys), n, word, ret_err))
        return false;
    c->node_msg.fields = c->fields;
    c->node_msg.values.v = &c->node;
    c->node_msg.values.n = c->fields ? 1 : 0;
    scontrol_change(c->s, MSG_UPDATE_NODE, &c->node_msg, "slurm_update");
    return true;
}

static bool part_update(struct change *c, int n, char **word, bool create, struct err *ret_err)
{
    if (!partition_line(c, n, word, ret_err))
        return false;
    named_add(c, n, word);
    c->part_msg.create = create;
    c->part_msg.fields = c->fields;
    c->part_msg.values.v = &c->part;
    c->part_msg.values.n = 1;
    scontrol_change(c->s, MSG_UPDATE_PARTITION, &c->part_msg, create ? "slurm_create_partition" : "slurm_update");
    return true;
}

void scontrol_update(struct scontrol *s, int n, char **word)
{
    struct change c = {.s = s};
    struct err err = {0};
    bool ok;
    if (starts(n, word, "JobId="))
        ok = job_update(&c, n, word, &err);
    else if (starts(n, word, "NodeName="))
        ok = node_update(&c, n, word, &err);
    else if (starts(n, word, "PartitionName="))
        ok = part_update(&c, n, word, false, &err);
    else if (starts(n, word, "ReservationName=") || starts(n, word, "StepId=") || starts(n, word, "FrontendName=") || starts(n, word, "SuspendExc"))
        ok = err_set(&err, ERR_UNSUPPORTED, "not supported yet: update of %s; jobs, nodes and partitions can be updated", word[0]);
    else
        ok = err_set(&err, ERR_INVALID, "No valid entity in update command: JobId=, NodeName= or PartitionName= says what to change");
    if (!ok)
        scontrol_fail(s, "%s", err.text);
}

void scontrol_create(struct scontrol *s, int n, char **word)
{
    struct change c = {.s = s};
    struct err err = {0};
    int from = n && text_is_nocase(word[0], "partition");
    if (starts(n, word, "PartitionName=")) {
        if (!part_update(&c, n - from, word + from, true, &err))
            scontrol_fail(s, "%s", err.text);
    } else {
        scontrol_fail(s, "not supported yet: create %s; partitions can be created: scontrol create PartitionName=NAME Nodes=LIST", n ? word[0] : "");
    }
}

void scontrol_delete(struct scontrol *s, int n, char **word)
{
    int from = n && text_is_nocase(word[0], "partition");
    const char *name = n > from ? word[from] : NULL;
    if (name && text_starts_nocase(name, "PartitionName="))
        name = strchr(name, '=') + 1;
    else if (!from)
        name = NULL;
    if (!name) {
        scontrol_fail(s, "not supported yet: delete %s; partitions can be deleted: scontrol delete PartitionName=NAME", n ? word[0] : "");
        return;
    }
    struct msg_update_partition m = {.name = name, .remove = true};
    scontrol_change(s, MSG_UPDATE_PARTITION, &m, "slurm_delete_partition");
}
