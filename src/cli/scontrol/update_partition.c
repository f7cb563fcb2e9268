/* scontrol update and create PartitionName=…: the keys of a PartitionName line, read by the
 * configuration's own parser.
 *
 * Each word is read as a line of its own first: what is wrong is said of that word, Slurm's line
 * before ours. Then all are read as one line, the record that this makes is compared with that of
 * an empty line, and what differs is the change. A value equal to the default (MaxTime=UNLIMITED,
 * Hidden=NO) differs in nothing: a key that was named counts always.
 *
 * The name in these lines is ours: whether the partition's is one (DEFAULT, and what would end the
 * line or begin a comment in it, are none) the controller says. */
#include "base/alloc.h"
#include "cli/scontrol/update.h"
#include "model/settings/settings.h"

#include <stdio.h>
#include <string.h>

/* What Slurm says first of a value that it cannot read. */
enum part_said {
    PART_VALUE, /* Invalid KEY value: VALUE */
    PART_INPUT, /* Invalid input: WORD */
    PART_TIME,  /* Invalid input WORD */
    PART_COUNT, /* Invalid numeric value "VALUE" for KEY. */
    PART_SPEC   /* slurm_update error: Invalid KEY specification */
};

static const struct part_key {
    const char *key, *fields;
    enum part_said said;
} part_keys[] = {
    {"MaxTime", "max_time_us", PART_TIME},
    {"DefaultTime", "default_time_us", PART_TIME},
    {"MaxNodes", "max_nodes", PART_COUNT},
    {"MinNodes", "min_nodes", PART_COUNT},
    {"State", "state", PART_INPUT},
    {"Default", "is_default", PART_INPUT},
    {"Hidden", "hidden", PART_INPUT},
    {"RootOnly", "root_only", PART_INPUT},
    {"OverSubscribe", "share,share_count", PART_INPUT},
    {"Shared", "share,share_count", PART_INPUT},
    {"PriorityTier", "priority_tier", PART_VALUE},
    {"PriorityJobFactor", "priority_job_factor", PART_VALUE},
    {"AllowGroups", "allow_groups", PART_VALUE},
    {"AllowAccounts", "allow_accounts", PART_VALUE},
    {"DenyAccounts", "deny_accounts", PART_VALUE},
    {"AllowQos", "allow_qos", PART_VALUE},
    {"DenyQos", "deny_qos", PART_VALUE},
    {"AllocNodes", "alloc_nodes", PART_VALUE},
    {"GpuIdle", "gpu_idle", PART_VALUE},
    {"GraceTime", "grace_time_us", PART_VALUE},
    {"PreemptMode", "preempt_mode", PART_INPUT},
    {"LLN", "lln", PART_INPUT},
    {"MaxCPUsPerNode", "max_cpus_per_node", PART_VALUE},
    {"MaxCPUsPerSocket", "max_cpus_per_socket", PART_VALUE},
    {"DefMemPerCPU", "def_mem_per_cpu_mib,def_mem_per_node_mib", PART_VALUE},
    {"DefMemPerNode", "def_mem_per_node_mib,def_mem_per_cpu_mib", PART_VALUE},
    {"DefMemPerGPU", "def_mem_per_gpu_mib,def_mem_per_gpu_types", PART_VALUE},
    {"DefCpuPerGPU", "def_cpu_per_gpu,def_cpu_per_gpu_types", PART_VALUE},
    {"MaxMemPerCPU", "max_mem_per_cpu_mib,max_mem_per_node_mib", PART_VALUE},
    {"MaxMemPerNode", "max_mem_per_node_mib,max_mem_per_cpu_mib", PART_VALUE},
    {"ExclusiveUser", "exclusive_user", PART_INPUT},
    {"ReqResv", "req_resv", PART_INPUT},
    {"DisableRootJobs", "disable_root", PART_INPUT},
    {"OverTimeLimit", "over_time_limit_us", PART_VALUE},
    {"QOS", "qos", PART_VALUE},
    {"Alternate", "alternate", PART_VALUE},
    {"TimeWindows", "time_windows", PART_VALUE},
    {"TRESBillingWeights", "billing_weights", PART_SPEC},
    {"CpuBind", "cpu_bind", PART_TIME},
    {"JobDefaults",
     "def_cpu_per_gpu,def_cpu_per_gpu_types,def_mem_per_gpu_mib,def_mem_per_gpu_types", PART_SPEC},
};

static const struct part_key *part_key_find(struct span name)
{
    for (size_t i = 0; i < ARRAY_LEN(part_keys); i++)
        if (span_is_nocase(name, part_keys[i].key))
            return &part_keys[i];
    return NULL;
}

static void value_said(struct update_change *c, const struct part_key *k, const char *word)
{
    const char *value = strchr(word, '=') + 1;
    switch (k ? k->said : PART_INPUT) {
    case PART_VALUE: scontrol_fail(c->s, "Invalid %s value: %s", k->key, value); break;
    case PART_INPUT: scontrol_fail(c->s, "Invalid input: %s", word); break;
    case PART_TIME: scontrol_fail(c->s, "Invalid input %s", word); break;
    case PART_COUNT:
        scontrol_fail(c->s, "Invalid numeric value \"%s\" for %s.", value, k->key);
        break;
    case PART_SPEC:
        scontrol_refuse(c->s, "slurm_update error: Invalid %s specification", k->key);
        break;
    }
}

/* A sentence of the parser without the place in a file that is none. */
static const char *without_place(const char *text)
{
    const char *place = strstr(text, "scontrol:1: ");
    return place ? place + strlen("scontrol:1: ") : text;
}

static bool parse(struct update_change *c, const char *words, struct config *ret,
                  struct err *ret_err)
{
    struct err err = {0};
    const char *line = arena_printf(c->s->a, "PartitionName=it%s", words);
    if (config_parse(line, "scontrol", NULL, NULL, ret, &err)) {
        ASSERT(ret->nparts == 1);
        return true;
    }
    return err_set(ret_err, err.code, "%s", without_place(err.text));
}

/* As a line of the configuration has it. Quotes of one's own are kept; what is not in them, and
 * would begin a comment, is none. */
static const char *word_quote(struct update_change *c, const char *word)
{
    const char *value = strchr(word, '=') + 1;
    bool own = strchr(value, '"') != NULL;
    struct str out = STR_INIT;
    str_addn(&out, word, (size_t)(value - word));
    if (!own)
        config_value_add(value, &out);
    for (; own && *value; value++)
        str_addf(&out, *value == '#' ? "\\%c" : "%c", *value);
    const char *text = arena_strdup(c->s->a, str_text(&out));
    str_done(&out);
    return text;
}

/* Would a line of the configuration end in it, or its key begin a comment? */
static bool ends_line(const char *word, struct span key)
{
    return strchr(word, '\n') || memchr(key.data, '#', key.len);
}

/* One Key=Value: is it known, can it be read, has it an effect? Adds its fields to the change. */
static bool word_take(struct update_change *c, const char *word, struct err *ret_err)
{
    const char *equals = strchr(word, '=');
    struct span key = {word, equals ? (size_t)(equals - word) : 0};
    const struct part_key *k = part_key_find(key);
    struct config one = {0};
    if (!equals) {
        scontrol_fail(c->s, "Invalid input: %s  Request aborted", word);
        return err_set(ret_err, ERR_INVALID, "Key=Value is expected, not \"%s\"", word);
    }
    bool ok = ends_line(word, key)
                  ? err_set(ret_err, ERR_INVALID, "no partition has such a word: \"%s\"", word)
                  : parse(c, arena_printf(c->s->a, " %s", word_quote(c, word)), &one, ret_err);
    const char *warning = ok && one.nwarnings ? without_place(one.warning[0]) : NULL;
    if (!ok)
        value_said(c, k, word);
    if (warning && !k) {
        scontrol_fail(c->s, "Update of this parameter is not supported: %s", word);
        ok = err_set(ret_err, ERR_INVALID, "%s", warning);
    } else if (warning && !c->s->quiet) {
        fprintf(stderr, "scontrol: %s\n", warning);
    }
    if (one.arena)
        config_done(&one);
    return ok && (!k || update_field(c, k->fields));
}

/* The values that the words make, and every field in which they differ from those of a partition of
 * which nothing is said. */
static bool words_read(struct update_change *c, const char *words, struct err *ret_err)
{
    struct config with = {0}, without = {0};
    bool ok = parse(c, "", &without, ret_err) && parse(c, words, &with, ret_err);
    for (size_t i = 0; ok && i < partition_fields.n; i++) {
        const char *key = partition_fields.field[i].name;
        struct fields one = {"partition", sizeof(struct partition), &partition_fields.field[i], 1};
        if (!text_is(key, "name") && !text_is(key, "nodes") &&
            !record_equal(&one, &with.part[0], &without.part[0]))
            update_field(c, key);
    }
    if (ok)
        record_copy(&partition_fields, &c->part, &with.part[0], c->s->a);
    if (without.arena)
        config_done(&without);
    if (with.arena)
        config_done(&with);
    return ok;
}

struct nodes_of {
    struct arena *a;
    const char *name, *nodes;
};

static void nodes_keep(void *ctx, const void *record)
{
    struct nodes_of *f = ctx;
    const struct partition *p = record;
    if (text_is(p->name, f->name))
        f->nodes = arena_strdup(f->a, p->nodes ? p->nodes : "");
}

/* Nodes+=LIST, Nodes-=LIST: worked out here, from the partition as it is. One that is not there the
 * controller refuses. */
static bool nodes_change(struct update_change *c, const char *name, const char *word,
                         const char **ret, struct err *ret_err)
{
    const char *equals = strchr(word, '=');
    struct nodes_of f = {.a = c->s->a, .name = name};
    struct msg_query q = {.what = QUERY_PARTITIONS, .names = name, .fields = "name,nodes"};
    struct msg_done done = {0};
    struct client *client = scontrol_connect(c->s, "slurm_update error");
    if (!client ||
        !client_query(client, &q, &partition_fields, c->s->a, nodes_keep, &f, &done, ret_err))
        return false;
    bool ok = scontrol_nodes_change(c->s->a, f.nodes, equals + 1, equals[-1], ret, ret_err);
    if (!ok && f.nodes)
        scontrol_refuse(c->s, "slurm_update error: %s", refusal_text(REFUSE_INVALID_NODE));
    return ok || !f.nodes;
}

/* Is the word about nodes? Nodes=, Nodes+=, Nodes-= */
static bool is_nodes(const char *word)
{
    return text_starts_nocase(word, "Nodes=") || text_starts_nocase(word, "Nodes+=") ||
           text_starts_nocase(word, "Nodes-=");
}

static bool line_read(struct update_change *c, int n, char **word, struct err *ret_err)
{
    const char *name = NULL, *nodes = NULL, *words = "";
    for (int i = 0; i < n; i++)
        if (text_starts_nocase(word[i], "PartitionName="))
            name = strchr(word[i], '=') + 1;
    if (text_empty(name))
        return err_set(ret_err, ERR_INVALID, "PartitionName= is missing");
    c->part_msg.name = name;
    for (int i = 0; i < n; i++) {
        bool nodes_word = is_nodes(word[i]);
        if (nodes_word && strlen("Nodes") == strcspn(word[i], "="))
            nodes = strchr(word[i], '=') + 1;
        else if (nodes_word && !nodes_change(c, name, word[i], &nodes, ret_err))
            return false;
        else if (nodes_word)
            continue;
        else if (text_starts_nocase(word[i], "PartitionName="))
            continue;
        else if (!word_take(c, word[i], ret_err))
            return false;
        else
            words = arena_printf(c->s->a, "%s %s", words, word_quote(c, word[i]));
    }
    if (!words_read(c, words, ret_err))
        return false;
    c->part.nodes = nodes;
    return !nodes || update_field(c, "nodes");
}

bool update_partition(struct update_change *c, int n, char **word, bool create, struct err *ret_err)
{
    if (!line_read(c, n, word, ret_err))
        return false;
    if (!create && !c->fields) {
        scontrol_fail(c->s, "No changes specified");
        return true;
    }
    c->part_msg.create = create;
    c->part_msg.fields = c->fields;
    c->part_msg.values.v = &c->part;
    c->part_msg.values.n = 1;
    scontrol_change(c->s, MSG_UPDATE_PARTITION, &c->part_msg,
                    create ? "Error creating the partition" : "slurm_update error");
    return true;
}
