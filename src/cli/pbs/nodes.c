#include "cli/pbs/nodes.h"

#include "base/alloc.h"
#include "model/grammar/gres.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static void node_keep(void *ctx, const void *record)
{
    struct pbs_nodes *p = ctx;
    vec_push(&p->node, (const struct node *)arena_dup(p->a, record, sizeof(struct node)));
}

static void job_keep(void *ctx, const void *record)
{
    struct pbs_nodes *p = ctx;
    if (!lsf_job_is_pending(record))
        vec_push(&p->job, (const struct job *)arena_dup(p->a, record, sizeof(struct job)));
}

static int by_host(const void *va, const void *vb)
{
    const struct pbs_run_on *a = va, *b = vb;
    int order = strcmp(a->host, b->host);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

static void places_add(struct pbs_nodes *p, size_t at)
{
    const struct job *j = p->job.v[at];
    struct lsf_host *host;
    size_t hosts = lsf_job_hosts(j, p->a, &host);
    for (size_t i = 0; i < hosts; i++) {
        struct pbs_run_on place = {host[i].name, j, at, host[i].cpus};
        vec_push(&p->place, place);
    }
}

/* Where those of this host begin, or would stand. */
static size_t places_find(const struct pbs_nodes *p, const char *host)
{
    size_t from = 0, to = p->place.n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (strcmp(p->place.v[middle].host, host) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

bool pbs_nodes_read(struct client *c, struct pbs_nodes *p, struct err *ret_err)
{
    struct msg_query nodes = {.what = QUERY_NODES},
                     jobs = {.what = QUERY_JOBS,
                             .fields = "id,array_job_id,array_task_id,state,priority,alloc,nodes,"
                                       "suspended_by,stopped_us"};
    struct msg_done done;
    if (!client_query(c, &nodes, &node_fields, p->a, node_keep, p, &done, ret_err) ||
        !client_query(c, &jobs, &job_fields, p->a, job_keep, p, &done, ret_err))
        return false;
    for (size_t i = 0; i < p->job.n; i++)
        places_add(p, i);
    if (p->place.n)
        qsort(p->place.v, p->place.n, sizeof p->place.v[0], by_host);
    return true;
}

void pbs_nodes_clear(struct pbs_nodes *p)
{
    vec_clear(&p->node);
    vec_clear(&p->job);
    vec_clear(&p->place);
}

void pbs_nodes_done(struct pbs_nodes *p)
{
    vec_done(&p->node);
    vec_done(&p->job);
    vec_done(&p->place);
}

const struct node *pbs_node_named(const struct pbs_nodes *p, const char *name)
{
    for (size_t i = 0; i < p->node.n; i++)
        if (text_is(p->node.v[i]->name, name))
            return p->node.v[i];
    return NULL;
}

/* ---- facts ---- */

const char *pbs_node_state(const struct pbs_nodes *p, const struct node *n)
{
    const char *away = n->drain || n->fail ? "offline" : NULL;
    const char *is = n->state == NODE_DOWN     ? "down"
                     : n->state != NODE_UP     ? "state-unknown"
                     : n->alloc_cpus <= 0      ? "free"
                     : n->alloc_cpus < n->cpus ? "free"
                     : p->site.torque          ? "job-exclusive"
                                               : "job-busy";
    if (!away)
        return is;
    return text_is(is, "free") ? away : arena_printf(p->a, "%s,%s", is, away);
}

static int64_t gpus_of(const char *gres, struct arena *a)
{
    struct gres_list list;
    return gres && gres_parse(gres, a, &list, NULL) ? gres_count(&list, "gpu") : 0;
}

int64_t pbs_node_gpus(const struct node *n, struct arena *a)
{
    return gpus_of(n->gres, a);
}

/* Of "gpu:v100:2(IDX:0-1),nic:1" without what stands in brackets. */
int64_t pbs_node_gpus_held(const struct node *n, struct arena *a)
{
    struct str plain = STR_INIT;
    unsigned depth = 0;
    for (const char *c = n->alloc_gres ? n->alloc_gres : ""; *c; c++) {
        depth += *c == '(';
        if (!depth)
            str_addc(&plain, *c);
        depth -= *c == ')' && depth;
    }
    int64_t held = plain.len ? gpus_of(str_text(&plain), a) : 0;
    str_done(&plain);
    return held;
}

struct pbs_on_node pbs_node_jobs(const struct pbs_nodes *p, const struct node *n, bool each_cpu)
{
    struct pbs_on_node on = {0};
    struct str list = STR_INIT;
    for (size_t i = places_find(p, n->name); i < p->place.n; i++) {
        const struct pbs_run_on *at = &p->place.v[i];
        if (!text_is(at->host, n->name))
            break;
        const char *id = pbs_job_id(at->job, false, &p->site, p->a);
        bool stopped = pbs_job_state(at->job)[0] == 'S';
        on.jobs++;
        on.suspended += stopped;
        on.running += !stopped;
        if (p->site.torque && at->cpus > 1)
            str_addf(&list, "%s0-%d/%s", list.len ? "," : "", at->cpus - 1, id);
        else if (p->site.torque)
            str_addf(&list, "%s0/%s", list.len ? "," : "", id);
        else if (!each_cpu)
            str_addf(&list, "%s%s", list.len ? "," : "", id);
        for (int32_t c = 0; !p->site.torque && each_cpu && c < at->cpus; c++)
            str_addf(&list, "%s%s/%d", list.len ? ", " : "", id, c);
    }
    on.list = list.len ? arena_strdup(p->a, str_text(&list)) : NULL;
    str_done(&list);
    return on;
}

/* ---- attributes ---- */

static void memory_add(struct pbs_attributes *t, const char *group, int64_t mib)
{
    pbs_attribute_add(t, group, "mem", arena_printf(t->a, "%lldkb", (long long)mib * 1024));
}

static void pro_attributes(const struct pbs_nodes *p, const struct node *n,
                           struct pbs_attributes *t)
{
    const char *has = "resources_available", *held = "resources_assigned";
    pbs_attribute_add(t, NULL, "Mom", n->name);
    pbs_attribute_add(t, NULL, "ntype", "PBS");
    pbs_attribute_add(t, NULL, "state", pbs_node_state(p, n));
    pbs_attribute_number(t, NULL, "pcpus", n->cpus);
    pbs_attribute_list(t, NULL, "jobs", pbs_node_jobs(p, n, true).list);
    pbs_attribute_add(t, has, "arch", n->arch);
    pbs_attribute_add(t, has, "host", n->name);
    memory_add(t, has, n->memory_mib);
    pbs_attribute_number(t, has, "ncpus", n->cpus);
    if (pbs_node_gpus(n, p->a))
        pbs_attribute_number(t, has, "ngpus", pbs_node_gpus(n, p->a));
    struct span rest = span_of(n->features ? n->features : ""), one;
    while (span_next(&rest, ',', &one))
        if (one.len)
            pbs_attribute_add(t, has, arena_strndup(p->a, one.data, one.len), "True");
    pbs_attribute_add(t, has, "vnode", n->name);
    memory_add(t, held, n->alloc_mem_mib);
    pbs_attribute_number(t, held, "ncpus", n->alloc_cpus);
    if (pbs_node_gpus(n, p->a))
        pbs_attribute_number(t, held, "ngpus", pbs_node_gpus_held(n, p->a));
    pbs_attribute_add(t, NULL, "comment", n->reason ? n->reason : n->comment);
    pbs_attribute_add(t, NULL, "resv_enable", "True");
    pbs_attribute_add(t, NULL, "sharing", "default_shared");
    pbs_attribute_add(t, NULL, "queue",
                      n->partitions && !strchr(n->partitions, ',') ? n->partitions : NULL);
    pbs_attribute_add(t, NULL, "last_used_time", pbs_date(n->last_busy_us, p->a));
}

static void torque_attributes(const struct pbs_nodes *p, const struct node *n,
                              struct pbs_attributes *t)
{
    long long kb = (long long)n->memory_mib * 1024;
    pbs_attribute_add(t, NULL, "state", pbs_node_state(p, n));
    pbs_attribute_add(t, NULL, "power_state", "Running");
    pbs_attribute_number(t, NULL, "np", n->cpus);
    pbs_attribute_add(t, NULL, "properties", n->features);
    pbs_attribute_add(t, NULL, "ntype", "cluster");
    pbs_attribute_add(t, NULL, "jobs", pbs_node_jobs(p, n, false).list);
    pbs_attribute_add(
        t, NULL, "status",
        arena_printf(p->a,
                     "opsys=linux,ncpus=%d,physmem=%lldkb,availmem=%lldkb,loadave=%.2f,"
                     "state=%s,rectime=%lld",
                     n->cpus, kb, (long long)(n->memory_mib - n->alloc_mem_mib) * 1024,
                     n->load_centi / 100.0, pbs_node_state(p, n),
                     (long long)(n->last_seen_us / USEC_PER_SEC)));
    pbs_attribute_add(t, NULL, "note", n->reason ? n->reason : n->comment);
    pbs_attribute_number(t, NULL, "gpus", pbs_node_gpus(n, p->a));
}

void pbs_node_attributes(const struct pbs_nodes *p, const struct node *n, struct pbs_attributes *t)
{
    if (p->site.torque)
        torque_attributes(p, n, t);
    else
        pro_attributes(p, n, t);
}
