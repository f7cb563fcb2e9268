/* scontrol show node, partition, config, hostnames and hostlists. */
#include "base/duration.h"
#include "base/hostlist.h"
#include "base/vec.h"
#include "cli/columns.h"
#include "cli/json_slurm.h"
#include "cli/listing.h"
#include "cli/localtime.h"
#include "cli/node_json.h"
#include "cli/node_words.h"
#include "cli/program.h"
#include "cli/scontrol.h"
#include "cli/submit_host.h"
#include "model/device_out.h"
#include "model/node.h"
#include "model/partition.h"
#include "model/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct found {
    struct arena *a;
    const char *host; /* of aliases */
    VEC(const struct node *) node;
    VEC(const struct partition *) part;
    VEC(const struct meta *) meta;
};

static void node_keep(void *ctx, const void *record)
{
    struct found *f = ctx;
    vec_push(&f->node, arena_dup(f->a, record, sizeof(struct node)));
}

static void part_keep(void *ctx, const void *record)
{
    struct found *f = ctx;
    vec_push(&f->part, arena_dup(f->a, record, sizeof(struct partition)));
}

static void meta_keep(void *ctx, const void *record)
{
    struct found *f = ctx;
    vec_push(&f->meta, arena_dup(f->a, record, sizeof(struct meta)));
}

static const char *time_text(const struct cell_env *env, int64_t us, const char *if_zero, struct arena *a)
{
    struct str s = STR_INIT;
    cell_time(env, us, if_zero, &s);
    const char *text = arena_strdup(a, str_text(&s));
    str_done(&s);
    return text;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------------ */

static void node_resources(struct record_text *r, const struct node *n, int details, struct arena *a)
{
    const char *features = text_empty(n->features) ? NULL : n->features;
    record_addf(r, "CoresPerSocket", "%d", n->cores_per_socket);
    record_break(r);
    record_addf(r, "CPUAlloc", "%d", n->alloc_cpus);
    record_addf(r, "CPUEfctv", "%d",
                n->cpus - n->core_spec * (n->threads_per_core ? n->threads_per_core : 1));
    record_addf(r, "CPUTot", "%d", n->cpus);
    record_add(r, "CPULoad",
               n->responding ? arena_printf(a, "%d.%02d", n->load_centi / 100, n->load_centi % 100) : "N/A");
    record_break(r);
    record_add(r, "AvailableFeatures", features);
    record_break(r);
    record_add(r, "ActiveFeatures", features);
    record_break(r);
    record_add(r, "Gres", text_empty(n->gres) ? NULL : n->gres);
    if (details) {
        struct str used = STR_INIT;
        node_gres_drained(n, &used);
        record_break(r);
        record_add(r, "GresDrain", str_text(&used));
        str_clear(&used);
        node_gres_used(n, &used);
        record_break(r);
        record_add(r, "GresUsed", str_text(&used));
        str_done(&used);
    }
}

static void node_place(struct record_text *r, const struct node *n)
{
    struct str state = STR_INIT;
    node_state_word(n, NODE_WORD_CONTROL, &state);
    record_break(r);
    record_add(r, "NodeAddr", n->addr ? n->addr : n->name);
    record_add(r, "NodeHostName", n->hostname ? n->hostname : n->name);
    if (n->version)
        record_add(r, "Version", "25.05.0");
    record_break(r);
    if (n->os) {
        record_add(r, "OS", n->os);
        record_break(r);
    }
    record_addf(r, "RealMemory", "%lld", (long long)n->memory_mib);
    record_addf(r, "AllocMem", "%lld", (long long)n->alloc_mem_mib);
    if (n->free_mem_mib)
        record_addf(r, "FreeMem", "%lld", (long long)n->free_mem_mib);
    else
        record_add(r, "FreeMem", "N/A");
    record_addf(r, "Sockets", "%d", n->sockets);
    record_addf(r, "Boards", "%d", n->boards);
    record_break(r);
    if (n->core_spec || n->memory_spec_mib) {
        record_addf(r, "CoreSpecCount", "%d", n->core_spec);
        record_addf(r, "MemSpecLimit", "%lld", (long long)n->memory_spec_mib);
        record_break(r);
    }
    record_add(r, "State", str_text(&state));
    record_addf(r, "ThreadsPerCore", "%d", n->threads_per_core);
    record_addf(r, "TmpDisk", "%lld", (long long)n->tmp_disk_mib);
    record_addf(r, "Weight", "%d", n->weight);
    record_add(r, "Owner", "N/A");
    record_add(r, "MCS_label", "N/A");
    str_done(&state);
}

static void tres_lines(struct record_text *r, const struct node *n)
{
    struct str s = STR_INIT;
    node_tres(n, false, &s);
    record_break(r);
    record_add(r, "CfgTRES", str_text(&s));
    str_clear(&s);
    node_tres(n, true, &s);
    record_break(r);
    record_add(r, "AllocTRES", str_text(&s));
    str_done(&s);
}

/* A line for each device that nobody is given, and why. */
static void devices_out_print(struct record_text *r, const struct node *n, const struct cell_env *env,
                              struct arena *a)
{
    struct device_outs outs = {0};
    device_outs_parse(n->devices_out, a, &outs);
    for (size_t i = 0; i < outs.n; i++) {
        const struct device_out *d = &outs.v[i];
        record_break(r);
        record_addf(r, "DeviceOut", "%s:%d %s since %s: %s", d->kind, d->index,
                    d->failed ? "BROKEN" : "NOT_CLEAN", time_text(env, d->since_us, "Unknown", a), d->why);
    }
}

static void node_print(struct scontrol *s, const struct node *n, const struct cell_env *env)
{
    struct record_text r;
    record_begin(&r, s->oneliner);
    record_add(&r, "NodeName", n->name);
    record_add(&r, "Arch", n->arch);
    node_resources(&r, n, s->details, s->a);
    node_place(&r, n);
    record_break(&r);
    record_add(&r, "Partitions", n->partitions ? n->partitions : "");
    record_break(&r);
    record_add(&r, "BootTime", time_text(env, n->boot_us, "None", s->a));
    record_add(&r, "SlurmdStartTime", time_text(env, n->daemon_start_us, "None", s->a));
    record_break(&r);
    record_add(&r, "LastBusyTime", time_text(env, n->last_busy_us, "Unknown", s->a));
    record_add(&r, "ResumeAfterTime", "None");
    tres_lines(&r, n);
    if (n->reason) {
        record_break(&r);
        record_addf(&r, "Reason", "%s [%s@%s]", n->reason, n->reason_user ? n->reason_user : "remuda",
                    time_text(env, n->reason_us, "Unknown", s->a));
    }
    if (n->comment) {
        record_break(&r);
        record_add(&r, "Comment", n->comment);
    }
    if (n->reservation) {
        record_break(&r);
        record_add(&r, "ReservationName", n->reservation);
    }
    if (n->complaint && !s->oneliner) {
        record_break(&r);
        record_add(&r, "Complaint", n->complaint);
    }
    if (n->devices_out)
        devices_out_print(&r, n, env, s->a);
    record_print(&r);
}

static void nodes_json(const struct found *f)
{
    struct str out = STR_INIT;
    struct json_out o;
    json_slurm_begin(&o, &out, "scontrol");
    json_key(&o, "nodes");
    json_array(&o);
    for (size_t i = 0; i < f->node.n; i++)
        node_json(&o, f->node.v[i]);
    json_array_end(&o);
    json_key_time(&o, "last_update", time_now_us());
    json_slurm_end(&o);
}

/* One query for one list of names; names that are unknown are told one by one. */
static bool nodes_find(struct scontrol *s, const char *names, struct found *f, enum refusal *ret)
{
    struct client *c = scontrol_connect(s);
    struct msg_query q = {.what = QUERY_NODES, .names = names};
    struct msg_done done = {0};
    struct err err = {0};
    if (!c)
        return false;
    if (!client_query(c, &q, &node_fields, s->a, node_keep, f, &done, &err)) {
        scontrol_fail(s, "slurm_load_node error: %s", err.text);
        return false;
    }
    *ret = (enum refusal)done.refusal;
    return true;
}

static bool nodes_find_each(struct scontrol *s, const char *list, struct found *f)
{
    struct hostlist names = HOSTLIST_INIT;
    struct err err = {0};
    enum refusal refusal;
    bool ok = hostlist_parse(&names, list, &err);
    if (!ok)
        scontrol_fail(s, "%s", err.text);
    for (size_t i = 0; ok && i < names.n; i++) {
        ok = nodes_find(s, names.name[i], f, &refusal);
        if (ok && refusal != REFUSE_NONE) {
            printf("Node %s not found\n", names.name[i]);
            s->rc = 1;
        }
    }
    hostlist_done(&names);
    return ok;
}

void scontrol_show_nodes(struct scontrol *s, const char *names)
{
    struct found f = {.a = s->a};
    struct cell_env env = listing_env();
    enum refusal refusal = REFUSE_NONE;
    bool ok = nodes_find(s, names, &f, &refusal);
    if (ok && refusal != REFUSE_NONE)
        ok = nodes_find_each(s, names, &f);
    if (ok && s->json)
        nodes_json(&f);
    for (size_t i = 0; ok && !s->json && i < f.node.n; i++)
        if (names || s->future || f.node.v[i]->state != NODE_FUTURE)
            node_print(s, f.node.v[i], &env);
    if (ok && !s->json && !names && !f.node.n)
        puts("No nodes in the system");
    vec_done(&f.node);
}

/* ---- partitions ---------------------------------------------------------------------------------------------------------------- */

static const char *span_or(int64_t us, const char *if_zero, struct arena *a)
{
    struct str s = STR_INIT;
    if (us)
        duration_format(us, &s);
    else
        str_add(&s, if_zero);
    const char *text = arena_strdup(a, str_text(&s));
    str_done(&s);
    return text;
}

static const char *number_or(int64_t n, const char *if_zero, struct arena *a)
{
    return n ? arena_printf(a, "%lld", (long long)n) : if_zero;
}

static void partition_limits(struct record_text *r, const struct partition *p, struct arena *a)
{
    record_break(r);
    record_add(r, "AllowGroups", p->allow_groups ? p->allow_groups : "ALL");
    if (p->deny_accounts)
        record_add(r, "DenyAccounts", p->deny_accounts);
    else
        record_add(r, "AllowAccounts", p->allow_accounts ? p->allow_accounts : "ALL");
    if (p->deny_qos)
        record_add(r, "DenyQos", p->deny_qos);
    else
        record_add(r, "AllowQos", p->allow_qos ? p->allow_qos : "ALL");
    record_break(r);
    record_add(r, "AllocNodes", p->alloc_nodes ? p->alloc_nodes : "ALL");
    record_add(r, "Default", p->is_default ? "YES" : "NO");
    record_add(r, "QoS", p->qos ? p->qos : "N/A");
    record_break(r);
    record_add(r, "DefaultTime", span_or(p->default_time_us, "NONE", a));
    record_add(r, "DisableRootJobs", p->disable_root ? "YES" : "NO");
    record_add(r, "ExclusiveUser", p->exclusive_user ? "YES" : "NO");
    record_add(r, "ExclusiveTopo", "NO");
    record_addf(r, "GraceTime", "%lld", (long long)(p->grace_time_us / USEC_PER_SEC));
    record_add(r, "Hidden", p->hidden ? "YES" : "NO");
    record_break(r);
    record_add(r, "MaxNodes", number_or(p->max_nodes, "UNLIMITED", a));
    record_add(r, "MaxTime", span_or(p->max_time_us, "UNLIMITED", a));
    record_addf(r, "MinNodes", "%d", p->min_nodes);
    record_add(r, "LLN", p->lln ? "YES" : "NO");
    record_add(r, "MaxCPUsPerNode", number_or(p->max_cpus_per_node, "UNLIMITED", a));
    record_add(r, "MaxCPUsPerSocket", "UNLIMITED");
}

static const char *memory_rule(const char *per_cpu, const char *per_node, int64_t cpu_mib, int64_t node_mib,
                               const char **ret_value, struct arena *a)
{
    *ret_value = number_or(cpu_mib ? cpu_mib : node_mib, "UNLIMITED", a);
    return cpu_mib ? per_cpu : per_node;
}

static void partition_print(struct scontrol *s, const struct partition *p)
{
    struct record_text r;
    const char *value, *key;
    record_begin(&r, s->oneliner);
    record_add(&r, "PartitionName", p->name);
    partition_limits(&r, p, s->a);
    record_break(&r);
    record_add(&r, "Nodes", text_empty(p->nodes) ? "(null)" : p->nodes);
    record_break(&r);
    record_addf(&r, "PriorityJobFactor", "%d", p->priority_job_factor);
    record_addf(&r, "PriorityTier", "%d", p->priority_tier);
    record_add(&r, "RootOnly", p->root_only ? "YES" : "NO");
    record_add(&r, "ReqResv", p->req_resv ? "YES" : "NO");
    const char *share = enum_name(&part_share_names, p->share);
    record_add(&r, "OverSubscribe",
               p->share_count > 0 ? arena_printf(s->a, "%s:%d", share, p->share_count) : share);
    record_break(&r);
    record_add(&r, "OverTimeLimit",
               p->over_time_limit_us
                   ? arena_printf(s->a, "%lld", (long long)(p->over_time_limit_us / USEC_PER_MIN))
                   : "NONE");
    record_add(&r, "PreemptMode", enum_name(&preempt_mode_names, p->preempt_mode));
    record_break(&r);
    record_add(&r, "State", enum_name(&part_state_names, p->state));
    record_addf(&r, "TotalCPUs", "%d", p->total_cpus);
    record_addf(&r, "TotalNodes", "%d", p->total_nodes);
    record_add(&r, "SelectTypeParameters", "NONE");
    record_break(&r);
    if (p->def_cpu_per_gpu || p->def_mem_per_gpu_mib)
        record_addf(&r, "JobDefaults", "DefCpuPerGPU=%d,DefMemPerGPU=%lld", p->def_cpu_per_gpu,
                    (long long)p->def_mem_per_gpu_mib);
    else
        record_add(&r, "JobDefaults", "(null)");
    record_break(&r);
    key = memory_rule("DefMemPerCPU", "DefMemPerNode", p->def_mem_per_cpu_mib, p->def_mem_per_node_mib,
                      &value, s->a);
    record_add(&r, key, value);
    key = memory_rule("MaxMemPerCPU", "MaxMemPerNode", p->max_mem_per_cpu_mib, p->max_mem_per_node_mib,
                      &value, s->a);
    record_add(&r, key, value);
    record_break(&r);
    record_add(&r, "TRES", text_empty(p->tres) ? "(null)" : p->tres);
    record_print(&r);
}

static void partitions_json(const struct found *f)
{
    struct str out = STR_INIT;
    struct json_out o;
    json_slurm_begin(&o, &out, "scontrol");
    json_key(&o, "partitions");
    json_array(&o);
    for (size_t i = 0; i < f->part.n; i++)
        partition_json(&o, f->part.v[i]);
    json_array_end(&o);
    json_key_time(&o, "last_update", time_now_us());
    json_slurm_end(&o);
}

static void partitions_missing(struct scontrol *s, const char *names, const struct found *f)
{
    struct span rest = span_of(names), name;
    while (span_next(&rest, ',', &name)) {
        bool found = !name.len;
        for (size_t i = 0; i < f->part.n && !found; i++)
            found = span_is(name, f->part.v[i]->name);
        if (!found) {
            printf("Partition %.*s not found\n", (int)name.len, name.data);
            s->rc = 1;
        }
    }
}

void scontrol_show_partitions(struct scontrol *s, const char *names)
{
    struct client *c = scontrol_connect(s);
    struct found f = {.a = s->a};
    struct msg_query q = {.what = QUERY_PARTITIONS, .names = names};
    struct msg_done done = {0};
    struct err err = {0};
    if (!c)
        return;
    if (!client_query(c, &q, &partition_fields, s->a, part_keep, &f, &done, &err))
        scontrol_fail(s, "slurm_load_partitions error: %s", err.text);
    else if (s->json)
        partitions_json(&f);
    for (size_t i = 0; !s->json && i < f.part.n; i++)
        if (names || s->all || !f.part.v[i]->hidden)
            partition_print(s, f.part.v[i]);
    if (!err.code && names)
        partitions_missing(s, names, &f);
    else if (!err.code && !f.part.n && !s->json)
        puts("No partitions in the system");
    vec_done(&f.part);
}

/* ---- configuration -------------------------------------------------------------------------------------------------------------- */

static int meta_compare(const void *pa, const void *pb)
{
    return strcasecmp((*(const struct meta *const *)pa)->key, (*(const struct meta *const *)pb)->key);
}

static void config_add(struct found *f, const char *key, const char *value)
{
    struct meta m = {.key = key, .value = value};
    meta_keep(f, &m);
}

void scontrol_show_config(struct scontrol *s)
{
    struct client *c = scontrol_connect(s);
    struct found f = {.a = s->a};
    struct msg_query q = {.what = QUERY_SETTINGS};
    struct msg_done done = {0};
    struct err err = {0};
    struct cell_env env = listing_env();
    char host[256] = "";
    if (!c)
        return;
    if (!client_query(c, &q, &meta_fields, s->a, meta_keep, &f, &done, &err)) {
        scontrol_fail(s, "slurm_load_ctl_conf error: %s", err.text);
        return;
    }
    gethostname(host, sizeof host - 1);
    config_add(&f, "SLURM_VERSION", strchr(SLURM_VERSION_TEXT, ' ') + 1);
    if (f.meta.n)
        qsort(f.meta.v, f.meta.n, sizeof f.meta.v[0], meta_compare);
    printf("Configuration data as of %s\n", time_text(&env, env.now_us, "", s->a));
    for (size_t i = 0; i < f.meta.n; i++) {
        const char *key = f.meta.v[i]->key, *value = f.meta.v[i]->value;
        bool unset = text_empty(value) || text_is(value, "(null)");
        if (text_is(key, "SlurmctldHost"))
            printf("%-23s = %s\n", "SlurmctldHost[0]", unset ? host : value);
        else
            printf("%-23s = %s\n", key, unset ? "(null)" : value);
    }
    printf("\nSlurmctld(primary) at %s is UP\n", host);
    vec_done(&f.meta);
}

/* ---- host lists: no controller needed ------------------------------------------------------------------------------------------------ */

/* hostlist /PATH: the names are in a file, one a line or separated by commas. Any other text stays as it is. */
static const char *list_of_file(struct scontrol *s, const char *list)
{
    struct str text = STR_INIT;
    char block[4096];
    size_t n;
    if (list[0] != '/')
        return list;
    FILE *from = fopen(list, "re");
    if (!from) {
        scontrol_fail(s, "%s: %s", list, strerror(errno));
        return NULL;
    }
    while ((n = fread(block, 1, sizeof block, from)) > 0)
        str_addn(&text, block, n);
    fclose(from);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '\n' || text.data[i] == '\r')
            text.data[i] = ' ';
    const char *names = arena_strdup(s->a, str_text(&text));
    str_done(&text);
    return names;
}

static void alias_add(void *ctx, const void *record)
{
    struct found *f = ctx;
    const struct node *n = record;
    if (text_is(f->host, n->hostname) || text_is(f->host, n->name))
        vec_push(&f->node, arena_dup(f->a, record, sizeof(struct node)));
}

/* Nodes of a machine: several where nodes are virtual. */
void scontrol_show_aliases(struct scontrol *s, const char *host)
{
    struct client *c = scontrol_connect(s);
    struct found f = {.a = s->a, .host = host ? host : submit_hostname(s->a)};
    struct msg_query q = {.what = QUERY_NODES, .fields = "name,hostname"};
    struct msg_done done = {0};
    struct err err = {0};
    if (!c)
        return;
    if (!client_query(c, &q, &node_fields, s->a, alias_add, &f, &done, &err))
        scontrol_fail(s, "slurm_load_node error: %s", err.text);
    for (size_t i = 0; i < f.node.n; i++)
        printf("%s%s", i ? " " : "", f.node.v[i]->name);
    if (f.node.n)
        putchar('\n');
    else if (!err.code)
        scontrol_fail(s, "no node is on host %s", f.host);
    vec_done(&f.node);
}

void scontrol_show_hosts(struct scontrol *s, const char *kind, const char *list)
{
    struct hostlist names = HOSTLIST_INIT;
    struct err err = {0};
    struct str folded = STR_INIT;
    if (!list)
        list = getenv("SLURM_JOB_NODELIST") ? getenv("SLURM_JOB_NODELIST") : getenv("SLURM_NODELIST");
    if (list && text_starts_nocase(kind, "hostlist"))
        list = list_of_file(s, list);
    if (text_empty(list)) {
        scontrol_fail(s, "host list is empty");
        return;
    }
    if (!hostlist_parse(&names, list, &err)) {
        scontrol_fail(s, "Invalid hostlist: %s", list);
        fprintf(stderr, "scontrol: error: %s\n", err.text);
    } else if (text_starts_nocase(kind, "hostn")) {
        for (size_t i = 0; i < names.n; i++)
            puts(names.name[i]);
    } else {
        /* Sorted, not made unique: as Slurm's. */
        if (text_starts_nocase(kind, "hostlistsorted"))
            hostlist_sort(&names);
        hostlist_fold(&names, &folded);
        puts(str_text(&folded));
    }
    str_done(&folded);
    hostlist_done(&names);
}
