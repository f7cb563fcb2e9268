/* What Remuda has no word for is there with its empty value, so that clients that index keys find
 * them. */
#include "cli/record/node_json.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "cli/record/node_words.h"
#include "cli/table/json_slurm.h"
#include "model/env/device_out.h"

#include <string.h>

/* What nothing here corresponds to. */
static const struct json_absent node_absent[] = {
    {"cert_flags", ABSENT_LIST},
    {"cpu_binding", ABSENT_ZERO},
    {"external_sensors", ABSENT_OBJECT},
    {"gpu_spec", ABSENT_TEXT},
    {"instance_id", ABSENT_TEXT},
    {"instance_type", ABSENT_TEXT},
    {"power", ABSENT_OBJECT},
    {"res_cores_per_gpu", ABSENT_ZERO},
    {"resume_after", ABSENT_NUMBER},
    {"topology", ABSENT_TEXT},
};
static const struct json_absent energy_absent[] = {
    {"average_watts", ABSENT_ZERO},
    {"base_consumed_energy", ABSENT_ZERO},
    {"consumed_energy", ABSENT_ZERO},
    {"current_watts", ABSENT_NUMBER},
    {"previous_consumed_energy", ABSENT_ZERO},
    {"last_collected", ABSENT_ZERO},
};
static const struct json_absent part_absent[] = {
    {"select_type", ABSENT_LIST}, {"suspend_time", ABSENT_NUMBER}, {"topology", ABSENT_TEXT}};
static const struct json_absent timeouts_absent[] = {{"resume", ABSENT_NUMBER},
                                                     {"suspend", ABSENT_NUMBER}};

/* "a,b" → ["a","b"]; split at any of the separators. */
static void list(struct json_out *o, const char *key, const char *value, const char *separators)
{
    json_key(o, key);
    json_array(o);
    for (const char *at = value; at && *at;) {
        size_t len = strcspn(at, separators);
        struct str word = STR_INIT;
        str_addn(&word, at, len);
        if (word.len)
            json_text(o, str_text(&word));
        str_done(&word);
        at += len + (at[len] != '\0');
    }
    json_array_end(o);
}

static void written(struct json_out *o, const char *key,
                    void (*write)(const struct node *n, struct str *out), const struct node *n)
{
    struct str s = STR_INIT;
    write(n, &s);
    json_key_word(o, key, str_text(&s));
    str_done(&s);
}

static void tres_all(const struct node *n, struct str *out)
{
    node_tres(n, false, out);
}

static void tres_used(const struct node *n, struct str *out)
{
    node_tres(n, true, out);
}

static void state_list(struct json_out *o, const char *key, const struct node *n)
{
    struct str s = STR_INIT;
    node_state_word(n, NODE_WORD_CONTROL, &s);
    list(o, key, str_text(&s), "+");
    str_done(&s);
}

static void node_hardware(struct json_out *o, const struct node *n)
{
    json_key_i64(o, "boards", n->boards > 0 ? n->boards : 1);
    json_key_i64(o, "sockets", n->sockets);
    json_key_i64(o, "cores", n->cores_per_socket);
    json_key_i64(o, "threads", n->threads_per_core);
    json_key_i64(o, "cpus", n->cpus);
    json_key_i64(o, "effective_cpus",
                 n->cpus - n->core_spec * (n->threads_per_core > 0 ? n->threads_per_core : 1));
    json_key_i64(o, "specialized_cores", n->core_spec);
    json_key_word(o, "specialized_cpus", "");
    json_key_i64(o, "specialized_memory", n->memory_spec_mib);
    json_key_i64(o, "real_memory", n->memory_mib);
    json_key_i64(o, "temporary_disk", n->tmp_disk_mib);
    json_key_i64(o, "weight", n->weight);
    json_key_word(o, "architecture", n->arch);
    json_key_word(o, "operating_system", n->os);
    list(o, "features", n->features, ",");
    list(o, "active_features", n->features, ",");
    json_key_word(o, "gres", n->gres);
    written(o, "gres_drained", node_gres_drained, n);
    written(o, "gres_used", node_gres_used, n);
    written(o, "tres", tres_all, n);
}

static void node_use(struct json_out *o, const struct node *n)
{
    json_key_i64(o, "alloc_cpus", n->alloc_cpus);
    json_key_i64(o, "alloc_idle_cpus", n->cpus - n->alloc_cpus);
    json_key_i64(o, "alloc_memory", n->alloc_mem_mib);
    written(o, "tres_used", tres_used, n);
    json_key(o, "tres_weighted");
    json_double(o, n->alloc_cpus);
    json_key_i64(o, "cpu_load", n->load_centi);
    json_key_number(o, "free_mem", n->last_seen_us != 0, n->free_mem_mib);
}

/* Of Remuda's own: each device that is out of use, and each process that cannot be killed, and
 * why. */
static void devices_out(struct json_out *o, const struct node *n)
{
    struct arena *a = arena_new();
    struct device_outs outs = {0};
    device_outs_parse(n->devices_out, a, &outs);
    json_key(o, "devices_out");
    json_array(o);
    for (size_t i = 0; i < outs.n; i++) {
        json_object(o);
        json_key_word(o, "kind", outs.v[i].kind);
        json_key_i64(o, "index", outs.v[i].index);
        json_key_word(o, "state",
                      device_out_is_process(&outs.v[i]) ? "UNKILLABLE"
                      : outs.v[i].failed                ? "BROKEN"
                                                        : "NOT_CLEAN");
        json_key_time(o, "since", outs.v[i].since_us);
        json_key_word(o, "reason", outs.v[i].why);
        json_object_end(o);
    }
    json_array_end(o);
    arena_free(a);
}

static void reason(struct json_out *o, const struct node *n)
{
    struct arena *a = arena_new();
    struct node shown = *n;
    node_reason_fill(&shown, a);
    json_key_word(o, "reason", shown.reason);
    json_key_time(o, "reason_changed_at", shown.reason_us);
    json_key_word(o, "reason_set_by_user", shown.reason_user);
    arena_free(a);
}

void node_json(struct json_out *o, const struct node *n)
{
    json_object(o);
    json_key_word(o, "name", n->name);
    json_key_word(o, "hostname", n->hostname ? n->hostname : n->name);
    json_key_word(o, "address", n->addr ? n->addr : n->name);
    json_key_i64(o, "port", 0);
    state_list(o, "state", n);
    list(o, "next_state_after_reboot", NULL, ",");
    node_hardware(o, n);
    node_use(o, n);
    list(o, "partitions", n->partitions, ",");
    reason(o, n);
    json_key_time(o, "boot_time", n->boot_us);
    json_key_time(o, "slurmd_start_time", n->daemon_start_us);
    json_key_time(o, "last_busy", n->last_busy_us);
    json_key_word(o, "version", n->version);
    json_key_word(o, "comment", n->comment);
    json_key_word(o, "extra", n->extra);
    json_key_word(o, "owner", "");
    json_key_word(o, "mcs_label", "");
    json_key_word(o, "reservation", n->reservation);
    json_key_word(o, "cluster_name", "");
    json_key_word(o, "burstbuffer_network_address", "");
    devices_out(o, n);
    json_absent(o, node_absent, ARRAY_LEN(node_absent));
    json_key(o, "energy");
    json_object(o);
    json_absent(o, energy_absent, ARRAY_LEN(energy_absent));
    json_object_end(o);
    json_object_end(o);
}

static void limit(struct json_out *o, const char *key, int64_t n)
{
    json_key(o, key);
    json_object(o);
    json_key_bool(o, "set", n != 0);
    json_key_bool(o, "infinite", n == 0);
    json_key_i64(o, "number", n);
    json_object_end(o);
}

static void text_in(struct json_out *o, const char *key, const char *inner, const char *value)
{
    json_key(o, key);
    json_object(o);
    json_key_word(o, inner, value);
    json_object_end(o);
}

static void part_access(struct json_out *o, const struct partition *p)
{
    json_key(o, "nodes");
    json_object(o);
    json_key_word(o, "allowed_allocation", p->alloc_nodes);
    json_key_word(o, "configured", p->nodes);
    json_key_i64(o, "total", p->total_nodes);
    json_object_end(o);
    json_key(o, "accounts");
    json_object(o);
    json_key_word(o, "allowed", p->allow_accounts);
    json_key_word(o, "deny", p->deny_accounts);
    json_object_end(o);
    text_in(o, "groups", "allowed", p->allow_groups);
    json_key(o, "qos");
    json_object(o);
    json_key_word(o, "allowed", p->allow_qos);
    json_key_word(o, "deny", p->deny_qos);
    json_key_word(o, "assigned", p->qos);
    json_object_end(o);
}

static void part_limits(struct json_out *o, const struct partition *p)
{
    struct str share = STR_INIT;
    partition_share_word(p, &share);
    json_key(o, "defaults");
    json_object(o);
    json_key_i64(o, "memory_per_cpu", p->def_mem_per_cpu_mib);
    json_key_number(o, "partition_memory_per_cpu", p->def_mem_per_cpu_mib > 0,
                    p->def_mem_per_cpu_mib);
    json_key_number(o, "partition_memory_per_node", p->def_mem_per_node_mib > 0,
                    p->def_mem_per_node_mib);
    json_key_limit(o, "time", p->default_time_us, USEC_PER_MIN);
    json_key_word(o, "job", "");
    json_object_end(o);
    json_key(o, "maximums");
    json_object(o);
    limit(o, "cpus_per_node", p->max_cpus_per_node);
    limit(o, "cpus_per_socket", 0);
    limit(o, "nodes", p->max_nodes);
    json_key_i64(o, "memory_per_cpu", p->max_mem_per_cpu_mib);
    json_key_number(o, "partition_memory_per_cpu", p->max_mem_per_cpu_mib > 0,
                    p->max_mem_per_cpu_mib);
    json_key_number(o, "partition_memory_per_node", p->max_mem_per_node_mib > 0,
                    p->max_mem_per_node_mib);
    json_key(o, "oversubscribe");
    json_object(o);
    json_key_i64(o, "jobs", p->share_count > 0 ? p->share_count : 1);
    list(o, "flags", p->share == SHARE_FORCE ? "force" : NULL, ",");
    json_object_end(o);
    json_key_word(o, "shares", str_text(&share));
    json_key_limit(o, "time", p->max_time_us ? p->max_time_us : TIME_UNLIMITED, USEC_PER_MIN);
    json_key_limit(o, "over_time_limit", p->over_time_limit_us, USEC_PER_MIN);
    json_object_end(o);
    json_key(o, "minimums");
    json_object(o);
    json_key_i64(o, "nodes", p->min_nodes);
    json_object_end(o);
    str_done(&share);
}

void partition_json(struct json_out *o, const struct partition *p)
{
    json_object(o);
    json_key_word(o, "name", p->name);
    part_access(o, p);
    part_limits(o, p);
    json_key_word(o, "alternate", p->alternate);
    json_key(o, "cpus");
    json_object(o);
    json_key_i64(o, "task_binding", 0);
    json_key_i64(o, "total", p->total_cpus);
    json_object_end(o);
    json_key(o, "tres");
    json_object(o);
    json_key_word(o, "billing_weights", "");
    json_key_word(o, "configured", p->tres);
    json_object_end(o);
    json_key_i64(o, "grace_time", p->grace_time_us / USEC_PER_SEC);
    json_key(o, "priority");
    json_object(o);
    json_key_i64(o, "job_factor", p->priority_job_factor);
    json_key_i64(o, "tier", p->priority_tier);
    json_object_end(o);
    json_key_word(o, "cluster", "");
    json_key_word(o, "node_sets", "");
    json_key(o, "partition");
    json_object(o);
    json_key_words(o, "state", enum_name(&part_state_names, p->state), NULL);
    json_object_end(o);
    json_absent(o, part_absent, ARRAY_LEN(part_absent));
    json_key(o, "timeouts");
    json_object(o);
    json_absent(o, timeouts_absent, ARRAY_LEN(timeouts_absent));
    json_object_end(o);
    list(o, "flags",
         p->is_default ? (p->hidden ? "DEFAULT,HIDDEN" : "DEFAULT")
         : p->hidden   ? "HIDDEN"
                       : NULL,
         ",");
    json_object_end(o);
}

static void hosts(struct json_out *o, const char *key, const struct hostlist *h)
{
    json_key(o, key);
    json_array(o);
    for (size_t i = 0; i < h->n; i++)
        json_text(o, h->name[i]);
    json_array_end(o);
}

static void extent(struct json_out *o, const char *key, const struct extent *e)
{
    json_key(o, key);
    json_object(o);
    json_key_i64(o, "minimum", e->min);
    json_key_i64(o, "maximum", e->max);
    json_object_end(o);
}

static void tally(struct json_out *o, const struct sinfo_tally *t)
{
    json_key_i64(o, "allocated", t->alloc);
    json_key_i64(o, "idle", t->idle);
    json_key_i64(o, "other", t->other);
    json_key_i64(o, "total", t->total);
}

static void row_sizes(struct json_out *o, const struct sinfo_row *r)
{
    json_key(o, "nodes");
    json_object(o);
    tally(o, &r->nodes);
    hosts(o, "hostnames", &r->hosts);
    hosts(o, "addresses", &r->addrs);
    hosts(o, "nodes", &r->names);
    json_object_end(o);
    json_key(o, "cpus");
    json_object(o);
    json_key_i64(o, "minimum", r->cpus.min);
    json_key_i64(o, "maximum", r->cpus.max);
    tally(o, &r->cpu);
    extent(o, "load", &r->load);
    json_key(o, "per_node");
    json_object(o);
    limit(o, "max", r->part->max_cpus_per_node);
    json_object_end(o);
    json_object_end(o);
    extent(o, "sockets", &r->sockets);
    extent(o, "cores", &r->cores);
    extent(o, "threads", &r->threads);
    extent(o, "disk", &r->disk);
    extent(o, "weight", &r->weight);
    json_key(o, "memory");
    json_object(o);
    json_key_i64(o, "minimum", r->memory.min);
    json_key_i64(o, "maximum", r->memory.max);
    json_key(o, "free");
    json_object(o);
    json_key_number(o, "minimum", r->node && r->node->last_seen_us, r->free_mem.min);
    json_key_number(o, "maximum", r->node && r->node->last_seen_us, r->free_mem.max);
    json_object_end(o);
    json_key_i64(o, "allocated", r->node ? r->node->alloc_mem_mib : 0);
    json_object_end(o);
}

void sinfo_row_json(struct json_out *o, const struct sinfo_row *r)
{
    static const struct node nothing;
    const struct node *n = r->node ? r->node : &nothing;
    json_object(o);
    json_key_i64(o, "port", 0);
    json_key(o, "node");
    json_object(o);
    state_list(o, "state", n);
    json_object_end(o);
    row_sizes(o, r);
    json_key(o, "features");
    json_object(o);
    json_key_word(o, "total", n->features);
    json_key_word(o, "active", n->features);
    json_object_end(o);
    json_key(o, "gres");
    json_object(o);
    json_key_word(o, "total", n->gres);
    written(o, "used", node_gres_used, n);
    written(o, "drained", node_gres_drained, n);
    json_object_end(o);
    json_key_word(o, "cluster", "");
    json_key_word(o, "comment", n->comment);
    json_key_word(o, "extra", n->extra);
    json_key(o, "reason");
    json_object(o);
    json_key_word(o, "description", n->reason);
    json_key_time(o, "time", n->reason_us);
    json_key_word(o, "user", n->reason_user);
    json_object_end(o);
    devices_out(o, n);
    json_key_word(o, "reservation", n->reservation);
    json_key(o, "partition");
    partition_json(o, r->part);
    json_object_end(o);
}
