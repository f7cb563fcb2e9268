/* scontrol show partition. */
#include "model/record/partition.h"
#include "base/duration.h"
#include "base/vec.h"
#include "cli/program/localtime.h"
#include "cli/record/node_json.h"
#include "cli/scontrol/scontrol.h"
#include "cli/table/json_slurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct partition_found {
    struct arena *a;
    VEC(const struct partition *) part;
};

static void part_keep(void *ctx, const void *record)
{
    struct partition_found *f = ctx;
    vec_push(&f->part, arena_dup(f->a, record, sizeof(struct partition)));
}

/* A span as a number of its unit. */
static const char *number_or_unlimited(struct arena *a, int64_t us, int64_t unit)
{
    return us == TIME_UNLIMITED ? "UNLIMITED" : arena_printf(a, "%lld", (long long)(us / unit));
}

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
    if (p->alternate)
        record_add(r, "Alternate", p->alternate);
    record_add(r, "Default", p->is_default ? "YES" : "NO");
    if (p->cpu_bind)
        record_add(r, "CpuBind", p->cpu_bind);
    record_add(r, "QoS", p->qos ? p->qos : "N/A");
    record_break(r);
    record_add(r, "DefaultTime", span_or(p->default_time_us, "NONE", a));
    record_add(r, "DisableRootJobs", p->disable_root ? "YES" : "NO");
    record_add(r, "ExclusiveUser", p->exclusive_user ? "YES" : "NO");
    record_add(r, "ExclusiveTopo", "NO");
    if (p->gpu_idle)
        record_add(r, "GpuIdle", p->gpu_idle);
    record_add(r, "GraceTime", number_or_unlimited(a, p->grace_time_us, USEC_PER_SEC));
    record_add(r, "Hidden", p->hidden ? "YES" : "NO");
    record_break(r);
    record_add(r, "MaxNodes", number_or(p->max_nodes, "UNLIMITED", a));
    record_add(r, "MaxTime", span_or(p->max_time_us, "UNLIMITED", a));
    record_addf(r, "MinNodes", "%d", p->min_nodes);
    record_add(r, "LLN", p->lln ? "YES" : "NO");
    record_add(r, "MaxCPUsPerNode", number_or(p->max_cpus_per_node, "UNLIMITED", a));
    record_add(r, "MaxCPUsPerSocket", number_or(p->max_cpus_per_socket, "UNLIMITED", a));
}

static const char *memory_rule(const char *per_cpu, const char *per_node, int64_t cpu_mib,
                               int64_t node_mib, const char **ret_value, struct arena *a)
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
                   ? number_or_unlimited(s->a, p->over_time_limit_us, USEC_PER_MIN)
                   : "NONE");
    record_add(&r, "PreemptMode", enum_name(&preempt_mode_names, p->preempt_mode));
    record_break(&r);
    record_add(&r, "State", enum_name(&part_state_names, p->state));
    record_addf(&r, "TotalCPUs", "%d", p->total_cpus);
    record_addf(&r, "TotalNodes", "%d", p->total_nodes);
    record_add(&r, "SelectTypeParameters", "NONE");
    record_break(&r);
    const char *gpus = partition_job_defaults(p, s->a);
    record_add(&r, "JobDefaults", gpus ? gpus : "(null)");
    record_break(&r);
    key = memory_rule("DefMemPerCPU", "DefMemPerNode", p->def_mem_per_cpu_mib,
                      p->def_mem_per_node_mib, &value, s->a);
    record_add(&r, key, value);
    key = memory_rule("MaxMemPerCPU", "MaxMemPerNode", p->max_mem_per_cpu_mib,
                      p->max_mem_per_node_mib, &value, s->a);
    record_add(&r, key, value);
    record_break(&r);
    record_add(&r, "TRES", text_empty(p->tres) ? "(null)" : p->tres);
    if (!text_empty(p->billing_weights)) {
        record_break(&r);
        record_add(&r, "TRESBillingWeights", p->billing_weights);
    }
    record_print(&r);
}

static void partitions_json(const struct partition_found *f, enum json_form form)
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
    json_slurm_end(&o, form);
}

static void partitions_missing(struct scontrol *s, const char *names,
                               const struct partition_found *f)
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
    struct client *c = scontrol_connect(s, "slurm_load_partitions error");
    struct partition_found f = {.a = s->a};
    struct msg_query q = {.what = QUERY_PARTITIONS, .names = names};
    struct msg_done done = {0};
    struct err err = {0};
    if (!c)
        return;
    if (!client_query(c, &q, &partition_fields, s->a, part_keep, &f, &done, &err))
        scontrol_fail(s, "slurm_load_partitions error: %s", err.text);
    else if (s->json)
        partitions_json(&f, s->json);
    for (size_t i = 0; !s->json && i < f.part.n; i++)
        if (names || s->all || !f.part.v[i]->hidden)
            partition_print(s, f.part.v[i]);
    if (!err.code && names)
        partitions_missing(s, names, &f);
    else if (!err.code && !f.part.n && !s->json)
        puts("No partitions in the system");
    vec_done(&f.part);
}
