/* scontrol update, create and delete: Key=Value words → the fields of a job, node or partition. One table an entity; unknown keys name the nearest known one. */
#include "cli/scontrol_update.h"
#include "base/alloc.h"
#include "cli/listing.h"
#include "cli/scontrol_reservation.h"
#include "model/settings.h"

#include <string.h>

bool update_field(struct change *c, const char *name)
{
    c->fields = listing_join(c->fields, name, c->s->a);
    return true;
}

bool update_number(const char *value, int32_t *ret, struct err *ret_err)
{
    int64_t n = 0;
    if (!text_to_i64(value, 0, INT32_MAX, &n))
        return err_set(ret_err, ERR_INVALID, "a number is expected, not \"%s\"", value);
    *ret = (int32_t)n;
    return true;
}

/* ---- nodes --------------------------------------------------------------------------------------------------------------------- */

// clang-format off
#define NODE_TEXT(key, member)                                                                               \
    static bool node_##key(struct change *c, const char *value, struct err *ret_err)                         \
    {                                                                                                        \
        (void)ret_err;                                                                                       \
        c->node.member = text_empty(value) ? NULL : value;                                                   \
        return update_field(c, #member);                                                                     \
    }
// clang-format on
NODE_TEXT(features, features)
NODE_TEXT(gres, gres)
NODE_TEXT(comment, comment)
NODE_TEXT(addr, addr)
NODE_TEXT(hostname, hostname)

static bool node_names(struct change *c, const char *value, struct err *ret_err)
{
    (void)ret_err;
    c->node_msg.names = value;
    return true;
}

static bool node_state(struct change *c, const char *value, struct err *ret_err)
{
    (void)ret_err;
    c->node_msg.state = value;
    return true;
}

static bool node_reason(struct change *c, const char *value, struct err *ret_err)
{
    (void)ret_err;
    c->node_msg.reason = value;
    return true;
}

static bool node_weight(struct change *c, const char *value, struct err *ret_err)
{
    return update_number(value, &c->node.weight, ret_err) && update_field(c, "weight");
}

static const struct key node_keys[] = {
    {"NodeName", node_names},
    {"State", node_state},
    {"Reason", node_reason},
    {"Weight", node_weight},
    {"Features", node_features},
    {"AvailableFeatures", node_features},
    {"ActiveFeatures", node_features},
    {"Gres", node_gres},
    {"Comment", node_comment},
    {"NodeAddr", node_addr},
    {"NodeHostName", node_hostname},
    {"CpuBind", NULL},
    {"Extra", NULL},
    {"InstanceId", NULL},
    {"InstanceType", NULL},
    {"ResumeAfter", NULL},
};

/* ---- partitions: the keys of a PartitionName line, read by the configuration's own parser -------------------------------------------------- */

/* The line is parsed as remuda.conf would be; what the key changed is found by comparing with a record from an empty line. */
static bool partition_line(struct change *c, int n, char **word, struct err *ret_err)
{
    struct str line = STR_INIT, names = STR_INIT;
    struct config with = {0}, without = {0};
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
            if (!text_is(key, "name") && !text_is(key, "nodes") &&
                !record_equal(&one, &with.part[0], &without.part[0]))
                update_field(c, key);
        }
    }
    if (nodes)
        update_field(c, "nodes");
    c->part_msg.name = name;
    if (without.arena)
        config_done(&without);
    if (with.arena)
        config_done(&with);
    str_done(&line);
    str_done(&names);
    return ok;
}

/* A value equal to the default (MaxTime=UNLIMITED, State=UP, Default=NO …) is a change too: named keys always count. */
struct named {
    const char *key, *field;
};
static const struct named part_named[] = {
    {"MaxTime", "max_time_us"},
    {"DefaultTime", "default_time_us"},
    {"MaxNodes", "max_nodes"},
    {"MinNodes", "min_nodes"},
    {"State", "state"},
    {"Default", "is_default"},
    {"Hidden", "hidden"},
    {"RootOnly", "root_only"},
    {"OverSubscribe", "share,share_count"},
    {"Shared", "share,share_count"},
    {"PriorityTier", "priority_tier"},
    {"PriorityJobFactor", "priority_job_factor"},
    {"AllowGroups", "allow_groups"},
    {"AllowAccounts", "allow_accounts"},
    {"AllowQos", "allow_qos"},
    {"AllocNodes", "alloc_nodes"},
    {"GraceTime", "grace_time_us"},
    {"PreemptMode", "preempt_mode"},
    {"LLN", "lln"},
    {"MaxCPUsPerNode", "max_cpus_per_node"},
    {"DefMemPerCPU", "def_mem_per_cpu_mib"},
    {"DefMemPerNode", "def_mem_per_node_mib"},
    {"MaxMemPerCPU", "max_mem_per_cpu_mib"},
    {"MaxMemPerNode", "max_mem_per_node_mib"},
    {"ExclusiveUser", "exclusive_user"},
    {"ReqResv", "req_resv"},
    {"DisableRootJobs", "disable_root"},
    {"OverTimeLimit", "over_time_limit_us"},
    {"QOS", "qos"},
    {"Alternate", "alternate"},
};

static void named_add(struct change *c, int n, char **word)
{
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < ARRAY_LEN(part_named); k++) {
            size_t len = strlen(part_named[k].key);
            if (text_starts_nocase(word[i], part_named[k].key) && word[i][len] == '=')
                update_field(c, part_named[k].field);
        }
}

/* ---- words ----------------------------------------------------------------------------------------------------------------------- */

static bool key_unknown(const char *name, const struct key *keys, size_t n, struct err *ret_err)
{
    const char *names[128];
    CHECK(n <= ARRAY_LEN(names));
    for (size_t i = 0; i < n; i++)
        names[i] = keys[i].name;
    const char *near = text_nearest(name, names, n);
    if (near)
        return err_set(ret_err, ERR_INVALID,
                       "Update of this parameter is not supported: %s; did you mean %s?", name, near);
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

static bool words_take(struct change *c, const struct key *keys, size_t nkeys, int n, char **word,
                       struct err *ret_err)
{
    for (int i = 0; i < n; i++) {
        const char *equals = strchr(word[i], '=');
        if (!equals)
            return err_set(ret_err, ERR_INVALID, "Key=Value is expected, not \"%s\"", word[i]);
        size_t len = (size_t)(equals - word[i]);
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
        if (!k->set)
            return err_set(ret_err, ERR_UNSUPPORTED, "%s: not supported yet", k->name);
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

/* JobName= with UserID=: the jobs are looked up first. */
static bool jobs_of_users(struct change *c, struct err *ret_err)
{
    const char *name = c->job.ids + strlen("name=");
    struct msg_query q = {.what = QUERY_JOBS, .names = name, .uids = c->uids};
    c->job.ids = scontrol_job_labels(c->s, &q);
    return c->job.ids || err_set(ret_err, ERR_NOT_FOUND, "No jobs with name '%s'", name);
}

static bool job_update(struct change *c, int n, char **word, struct err *ret_err)
{
    if (!words_take(c, update_job_keys, update_job_key_count, n, word, ret_err))
        return false;
    const struct msg_update_job *m = &c->job;
    if (!m->ids)
        return err_set(ret_err, ERR_INVALID, "No job is named: JobId= or JobName= says which");
    if (!c->fields && !m->time_limit_add_us && !m->admin_comment && !m->array_limit_plus1 && !m->end_us &&
        !m->reset_accrue)
        return err_set(ret_err, ERR_INVALID, "No changes specified");
    if (c->uids && !jobs_of_users(c, ret_err))
        return false;
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
    if (!c->fields && !c->node_msg.state && !c->node_msg.reason)
        return err_set(ret_err, ERR_INVALID, "No changes specified");
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
    scontrol_change(c->s, MSG_UPDATE_PARTITION, &c->part_msg,
                    create ? "slurm_create_partition" : "slurm_update");
    return true;
}

/* "job 4 TimeLimit=5", "job=4", "node n1 State=…": the entity as show names it → the key of update. */
static void entity_join(struct scontrol *s, int *n, char **word)
{
    static const struct {
        const char *entity, *key;
    } rows[] = {{"job", "JobId"},
                {"jobid", "JobId"},
                {"node", "NodeName"},
                {"nodename", "NodeName"},
                {"partition", "PartitionName"},
                {"part", "PartitionName"}};
    const char *equals = strchr(word[0], '=');
    size_t len = equals ? (size_t)(equals - word[0]) : strlen(word[0]);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!span_is_nocase((struct span){word[0], len}, rows[i].entity) || (!equals && *n < 2))
            continue;
        const char *name = equals ? equals + 1 : word[1];
        int taken = equals ? 1 : 2;
        word[taken - 1] = arena_printf(s->a, "%s=%s", rows[i].key, name);
        memmove(word, word + taken - 1, (size_t)(*n - taken + 1) * sizeof *word);
        *n -= taken - 1;
        return;
    }
}

void scontrol_update(struct scontrol *s, int n, char **word)
{
    struct change c = {.s = s};
    struct err err = {0};
    bool ok;
    if (scontrol_reservation_update(s, n, word))
        return;
    entity_join(s, &n, word);
    if (starts(n, word, "JobId="))
        ok = job_update(&c, n, word, &err);
    else if (starts(n, word, "NodeName="))
        ok = node_update(&c, n, word, &err);
    else if (starts(n, word, "PartitionName="))
        ok = part_update(&c, n, word, false, &err);
    else if (starts(n, word, "JobName=") || starts(n, word, "Name=")) {
        c.by_name = true;
        ok = job_update(&c, n, word, &err);
    } else if (starts(n, word, "StepId=") || starts(n, word, "FrontendName=") ||
               starts(n, word, "SuspendExc"))
        ok = err_set(&err, ERR_UNSUPPORTED,
                     "not supported yet: update of %s; jobs, nodes and partitions can be updated", word[0]);
    else
        ok = err_set(
            &err, ERR_INVALID,
            "No valid entity in update command: JobId=, NodeName= or PartitionName= says what to change");
    if (!ok)
        scontrol_fail(s, "%s", err.text);
}

void scontrol_create(struct scontrol *s, int n, char **word)
{
    struct change c = {.s = s};
    struct err err = {0};
    int from = n && text_is_nocase(word[0], "partition");
    if (scontrol_reservation_create(s, n, word))
        return;
    if (starts(n, word, "PartitionName=")) {
        if (!part_update(&c, n - from, word + from, true, &err))
            scontrol_fail(s, "%s", err.text);
    } else {
        scontrol_fail(s,
                      "not supported yet: create %s; partitions can be created: scontrol create "
                      "PartitionName=NAME Nodes=LIST",
                      n ? word[0] : "");
    }
}

void scontrol_delete(struct scontrol *s, int n, char **word)
{
    int from = n && text_is_nocase(word[0], "partition");
    const char *name = n > from ? word[from] : NULL;
    if (scontrol_reservation_delete(s, n, word))
        return;
    if (name && text_starts_nocase(name, "PartitionName="))
        name = strchr(name, '=') + 1;
    else if (!from)
        name = NULL;
    if (!name) {
        scontrol_fail(
            s, "not supported yet: delete %s; partitions can be deleted: scontrol delete PartitionName=NAME",
            n ? word[0] : "");
        return;
    }
    struct msg_update_partition m = {.name = name, .remove = true};
    scontrol_change(s, MSG_UPDATE_PARTITION, &m, "slurm_delete_partition");
}
