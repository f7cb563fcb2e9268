/* scontrol show node. */
#include "model/record/node.h"
#include "base/duration.h"
#include "base/hostlist.h"
#include "base/vec.h"
#include "cli/program/localtime.h"
#include "cli/record/node_json.h"
#include "cli/record/node_words.h"
#include "cli/scontrol/scontrol.h"
#include "cli/table/columns.h"
#include "cli/table/json_slurm.h"
#include "cli/table/listing.h"
#include "model/env/device_out.h"

#include <stdio.h>
#include <string.h>

struct node_found {
    struct arena *a;
    VEC(const struct node *) node;
};

static void node_keep(void *ctx, const void *record)
{
    struct node_found *f = ctx;
    vec_push(&f->node, arena_dup(f->a, record, sizeof(struct node)));
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static void node_resources(struct record_text *r, const struct node *n, int details,
                           struct arena *a)
{
    const char *features = text_empty(n->features) ? NULL : n->features;
    record_addf(r, "CoresPerSocket", "%d", n->cores_per_socket);
    record_break(r);
    record_addf(r, "CPUAlloc", "%d", n->alloc_cpus);
    record_addf(r, "CPUEfctv", "%d",
                n->cpus - n->core_spec * (n->threads_per_core ? n->threads_per_core : 1));
    record_addf(r, "CPUTot", "%d", n->cpus);
    record_add(r, "CPULoad",
               n->responding ? arena_printf(a, "%d.%02d", n->load_centi / 100, n->load_centi % 100)
                             : "N/A");
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
static void devices_out_print(struct record_text *r, const struct node *n,
                              const struct cell_env *env, struct arena *a)
{
    struct device_outs outs = {0};
    device_outs_parse(n->devices_out, a, &outs);
    for (size_t i = 0; i < outs.n; i++) {
        const struct device_out *d = &outs.v[i];
        record_break(r);
        if (device_out_is_process(d)) {
            record_addf(r, "Unkillable", "process:%d since %s: %s", d->index,
                        cell_time_text(env, d->since_us, "Unknown", a), d->why);
            continue;
        }
        record_addf(r, "DeviceOut", "%s:%d %s since %s: %s", d->kind, d->index,
                    d->failed ? "BROKEN" : "NOT_CLEAN",
                    cell_time_text(env, d->since_us, "Unknown", a), d->why);
    }
}

static void node_print(struct scontrol *s, const struct node *n, const struct cell_env *env)
{
    struct record_text r;
    record_begin(&r, s->oneliner);
    record_add(&r, "NodeName", n->name);
    record_add(&r, "Arch", n->arch);
    if (n->cpu_bind)
        record_add(&r, "CpuBind", n->cpu_bind);
    node_resources(&r, n, s->details, s->a);
    node_place(&r, n);
    record_break(&r);
    record_add(&r, "Partitions", n->partitions ? n->partitions : "");
    record_break(&r);
    record_add(&r, "BootTime", cell_time_text(env, n->boot_us, "None", s->a));
    record_add(&r, "SlurmdStartTime", cell_time_text(env, n->daemon_start_us, "None", s->a));
    record_break(&r);
    record_add(&r, "LastBusyTime", cell_time_text(env, n->last_busy_us, "Unknown", s->a));
    record_add(&r, "ResumeAfterTime", "None");
    tres_lines(&r, n);
    if (n->reason) {
        record_break(&r);
        record_addf(&r, "Reason", "%s [%s@%s]", n->reason,
                    n->reason_user ? n->reason_user : "remuda",
                    cell_time_text(env, n->reason_us, "Unknown", s->a));
    }
    if (n->comment) {
        record_break(&r);
        record_add(&r, "Comment", n->comment);
    }
    if (n->extra) {
        record_break(&r);
        record_add(&r, "Extra", n->extra);
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
    if (n->device_trouble) {
        record_break(&r);
        record_add(&r, "DeviceTrouble", n->device_trouble);
    }
    record_print(&r);
}

static void nodes_json(const struct node_found *f, enum json_form form)
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
    json_slurm_end(&o, form);
}

/* One query for one list of names; names that are unknown are told one by one. */
static bool nodes_find(struct scontrol *s, const char *names, struct node_found *f,
                       enum refusal *ret)
{
    struct client *c = scontrol_connect(s, "slurm_load_node error");
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

static bool names_read(struct scontrol *s, const char *list, struct hostlist *ret)
{
    struct err err = {0};
    if (hostlist_parse(ret, list, &err))
        return true;
    scontrol_fail(s, "%s", err.text);
    return false;
}

/* A name that is unknown makes the whole query fail: then each is asked for. */
static bool nodes_find_each(struct scontrol *s, const char *list, struct node_found *f)
{
    struct hostlist names = HOSTLIST_INIT;
    enum refusal unknown;
    bool ok = names_read(s, list, &names);
    for (size_t i = 0; ok && i < names.n; i++)
        ok = nodes_find(s, names.name[i], f, &unknown);
    hostlist_done(&names);
    return ok;
}

static const struct node *node_named(const struct node_found *f, const char *name)
{
    for (size_t i = 0; i < f->node.n; i++)
        if (text_is(f->node.v[i]->name, name))
            return f->node.v[i];
    return NULL;
}

/* In the order of the list, each as often as it is named. */
static void nodes_print_named(struct scontrol *s, const char *list, const struct node_found *f,
                              const struct cell_env *env)
{
    struct hostlist names = HOSTLIST_INIT;
    bool ok = names_read(s, list, &names);
    for (size_t i = 0; ok && i < names.n; i++) {
        const struct node *n = node_named(f, names.name[i]);
        if (n && !s->json)
            node_print(s, n, env);
        if (n)
            continue;
        printf("Node %s not found\n", names.name[i]);
        s->rc = 1;
    }
    hostlist_done(&names);
}

static void nodes_print_all(struct scontrol *s, const struct node_found *f,
                            const struct cell_env *env)
{
    for (size_t i = 0; i < f->node.n; i++)
        if (s->future || f->node.v[i]->state != NODE_FUTURE)
            node_print(s, f->node.v[i], env);
    if (!f->node.n)
        puts("No nodes in the system");
}

void scontrol_show_nodes(struct scontrol *s, const char *names)
{
    struct node_found f = {.a = s->a};
    struct cell_env env = listing_env();
    enum refusal refusal = REFUSE_NONE;
    bool ok = nodes_find(s, names, &f, &refusal);
    if (ok && refusal != REFUSE_NONE)
        ok = nodes_find_each(s, names, &f);
    if (ok && names)
        nodes_print_named(s, names, &f, &env);
    else if (ok && !s->json)
        nodes_print_all(s, &f, &env);
    if (ok && s->json)
        nodes_json(&f, s->json);
    vec_done(&f.node);
}
