/* scontrol write config: the configuration in force, changes by scontrol included, as a file that
 * could be remuda.conf: settings that are not the defaults, nodes, partitions. */
#include "base/calendar/civil.h"
#include "base/duration.h"
#include "cli/program/cluster_dir.h"
#include "cli/program/give_out.h"
#include "cli/program/localtime.h"
#include "cli/scontrol/scontrol.h"
#include "cli/table/columns.h"
#include "cli/table/listing.h"
#include "model/settings/settings.h"
#include "model/stored.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct scontrol_writing {
    FILE *to;
    struct settings standard;
    struct arena *a;
};

static void pair_write(const struct scontrol_writing *w, const char *key, const char *value)
{
    struct str text = STR_INIT;
    config_value_add(value, &text);
    fprintf(w->to, "%s=%s", key, str_text(&text));
    str_done(&text);
}

static void text_key(const struct scontrol_writing *w, const char *key, const char *value)
{
    if (text_empty(value))
        return;
    fputc(' ', w->to);
    pair_write(w, key, value);
}

static void number_key(const struct scontrol_writing *w, const char *key, int64_t n,
                       int64_t standard)
{
    if (n != standard)
        fprintf(w->to, " %s=%lld", key, (long long)n);
}

/* "30 sec" → "30". */
static void setting_write(void *ctx, const void *record)
{
    const struct scontrol_writing *w = ctx;
    const struct meta *m = record;
    const struct setting *k = setting_find(m->key);
    struct str standard = STR_INIT;
    if (k)
        setting_format(k, &w->standard, &standard);
    if (k && !text_is(str_text(&standard), m->value) && !text_is(m->value, "(null)")) {
        bool unit = !text_empty(k->unit) && strchr(m->value, ' ');
        size_t len = unit ? strcspn(m->value, " ") : strlen(m->value);
        pair_write(w, m->key, arena_strndup(w->a, m->value, len));
        fputc('\n', w->to);
    }
    str_done(&standard);
}

static void node_write(void *ctx, const void *record)
{
    const struct scontrol_writing *w = ctx;
    const struct node *n = record;
    pair_write(w, "NodeName", n->name);
    if (!text_is(n->addr, n->name))
        text_key(w, "NodeAddr", n->addr);
    if (!text_is(n->hostname, n->name))
        text_key(w, "NodeHostName", n->hostname);
    int32_t threads = n->sockets * n->cores_per_socket * n->threads_per_core;
    fprintf(w->to, " Sockets=%d CoresPerSocket=%d ThreadsPerCore=%d RealMemory=%lld",
            (int)n->sockets, (int)n->cores_per_socket, (int)n->threads_per_core,
            (long long)n->memory_mib);
    if (n->cpus != threads && n->cpus == n->sockets * n->cores_per_socket)
        number_key(w, "CPUs", n->cpus, 0);
    number_key(w, "Boards", n->boards, 1);
    number_key(w, "TmpDisk", n->tmp_disk_mib, 0);
    number_key(w, "Weight", n->weight, 1);
    number_key(w, "CoreSpecCount", n->core_spec, 0);
    number_key(w, "MemSpecLimit", n->memory_spec_mib, 0);
    text_key(w, "Feature", n->features);
    text_key(w, "Gres", n->gres);
    text_key(w, "Devices", n->devices);
    text_key(w, "CpuBind", n->cpu_bind);
    if (n->state == NODE_FUTURE)
        fputs(" State=FUTURE", w->to);
    if (n->is_virtual)
        fputs(" Virtual=YES", w->to);
    fputc('\n', w->to);
}

static void span_key(const struct scontrol_writing *w, const char *key, int64_t us)
{
    struct str s = STR_INIT;
    if (us)
        duration_format(us, &s);
    text_key(w, key, str_text(&s));
    str_done(&s);
}

/* A span that is written as a number of its unit. */
static void units_key(const struct scontrol_writing *w, const char *key, int64_t us, int64_t unit)
{
    if (us == TIME_UNLIMITED)
        text_key(w, key, "UNLIMITED");
    else if (us)
        fprintf(w->to, " %s=%lld", key, (long long)(us / unit));
}

static void yes_key(const struct scontrol_writing *w, const char *key, bool yes)
{
    text_key(w, key, yes ? "YES" : NULL);
}

/* Who may, and whose jobs. */
static void partition_access_write(const struct scontrol_writing *w, const struct partition *p)
{
    yes_key(w, "Default", p->is_default);
    yes_key(w, "Hidden", p->hidden);
    yes_key(w, "RootOnly", p->root_only);
    yes_key(w, "ReqResv", p->req_resv);
    yes_key(w, "DisableRootJobs", p->disable_root);
    text_key(w, "AllowGroups", p->allow_groups);
    text_key(w, "AllowAccounts", p->allow_accounts);
    text_key(w, "DenyAccounts", p->deny_accounts);
    text_key(w, "AllowQos", p->allow_qos);
    text_key(w, "DenyQos", p->deny_qos);
    text_key(w, "AllocNodes", p->alloc_nodes);
    text_key(w, "QOS", p->qos);
    text_key(w, "Alternate", p->alternate);
}

/* How its jobs are shared out, and who goes first. */
static void partition_order_write(const struct scontrol_writing *w, const struct partition *p)
{
    const char *share = enum_name(&part_share_names, p->share);
    number_key(w, "PriorityTier", p->priority_tier, 1);
    number_key(w, "PriorityJobFactor", p->priority_job_factor, 1);
    if (p->preempt_mode != PREEMPT_UNSET)
        text_key(w, "PreemptMode", enum_name(&preempt_mode_names, p->preempt_mode));
    units_key(w, "GraceTime", p->grace_time_us, USEC_PER_SEC);
    if (p->share_count > 0)
        fprintf(w->to, " OverSubscribe=%s:%d", share, (int)p->share_count);
    else if (p->share != SHARE_NO)
        text_key(w, "OverSubscribe", share);
    yes_key(w, "ExclusiveUser", p->exclusive_user);
    yes_key(w, "LLN", p->lln);
    text_key(w, "CpuBind", p->cpu_bind);
    text_key(w, "GpuIdle", p->gpu_idle);
    text_key(w, "TRESBillingWeights", p->billing_weights);
    text_key(w, "TimeWindows", p->time_windows);
}

static void partition_write(void *ctx, const void *record)
{
    const struct scontrol_writing *w = ctx;
    const struct partition *p = record;
    pair_write(w, "PartitionName", p->name);
    text_key(w, "Nodes", p->nodes);
    partition_access_write(w, p);
    span_key(w, "MaxTime", p->max_time_us);
    span_key(w, "DefaultTime", p->default_time_us);
    units_key(w, "OverTimeLimit", p->over_time_limit_us, USEC_PER_MIN);
    number_key(w, "MaxNodes", p->max_nodes, 0);
    number_key(w, "MinNodes", p->min_nodes, 0);
    number_key(w, "MaxCPUsPerNode", p->max_cpus_per_node, 0);
    number_key(w, "MaxCPUsPerSocket", p->max_cpus_per_socket, 0);
    number_key(w, "DefMemPerCPU", p->def_mem_per_cpu_mib, 0);
    number_key(w, "DefMemPerNode", p->def_mem_per_node_mib, 0);
    number_key(w, "MaxMemPerCPU", p->max_mem_per_cpu_mib, 0);
    number_key(w, "MaxMemPerNode", p->max_mem_per_node_mib, 0);
    text_key(w, "JobDefaults", partition_job_defaults(p, w->a));
    partition_order_write(w, p);
    text_key(w, "State", enum_name(&part_state_names, p->state));
    fputc('\n', w->to);
}

static bool all_write(struct scontrol *s, struct scontrol_writing *w, struct err *e)
{
    struct msg_query settings = {.what = QUERY_SETTINGS}, nodes = {.what = QUERY_NODES},
                     parts = {.what = QUERY_PARTITIONS};
    struct msg_done done = {0};
    settings_default(&w->standard);
    return client_query(s->client, &settings, &meta_fields, s->a, setting_write, w, &done, e) &&
           client_query(s->client, &nodes, &node_fields, s->a, node_write, w, &done, e) &&
           client_query(s->client, &parts, &partition_fields, s->a, partition_write, w, &done, e);
}

void scontrol_write_config(struct scontrol *s, const char *path)
{
    struct scontrol_writing w = {.a = s->a};
    struct err err = {0};
    struct str when = STR_INIT;
    civil_format_iso(time_now_us(), &civil_local, &when);
    if (!path)
        path = arena_printf(s->a, "%s/remuda.conf", state_dir_find(NULL, s->a));
    path = arena_printf(s->a, "%s.%s", path, str_text(&when));
    str_done(&when);
    if (!scontrol_connect(s, "slurm_load_ctl_conf error"))
        return;
    w.to = foreseen_file(path); /* the time in it is no secret */
    if (!w.to) {
        scontrol_fail(s, "cannot write %s: %s", path, strerror(errno));
        return;
    }
    bool ok = all_write(s, &w, &err);
    if (fclose(w.to) != 0)
        ok = err_set(&err, ERR_INVALID, "cannot write %s: %s", path, strerror(errno));
    if (!ok)
        scontrol_fail(s, "%s", err.text);
    else if (!s->quiet)
        printf("Slurm config saved to %s\n", path);
}
