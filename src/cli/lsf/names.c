#include "cli/lsf/names.h"

#include "base/hostlist.h"
#include "base/list.h"
#include "cli/lsf/lsf.h"
#include "model/grammar/gres.h"
#include "model/record/node.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- jobs ---- */

struct search {
    const char *pattern; /* NULL = any name */
    struct str ids;
    uint64_t last;
    bool newest; /* of several of one name the one that was submitted last */
    struct arena *a;
};

/* JOB_DEP_LAST_SUB is a parameter of LSF's clusters; here whoever submits says it. */
static bool newest_is_meant(void)
{
    const char *given = getenv("LSB_JOB_DEP_LAST_SUB");
    return text_is(given, "1") || (given && (given[0] == 'y' || given[0] == 'Y'));
}

static void job_take(void *ctx, const void *record)
{
    struct search *s = ctx;
    const struct job *j = record;
    uint64_t id = lsf_job_number(j);
    if (id == s->last || (s->pattern && !text_glob(s->pattern, j->spec.name ? j->spec.name : "")))
        return;
    if (s->newest && id < s->last)
        return;
    if (s->newest)
        str_clear(&s->ids);
    s->last = id;
    str_addf(&s->ids, "%s%llu", s->ids.len ? ":" : "", (unsigned long long)id);
}

#define JOB_FIELDS "id,array_job_id,array_task_id,name"

/* Numbers joined by ':' of the jobs that the condition means, in the arena; NULL = none. */
static const char *jobs_find(const struct lsf_condition *want, struct client *c, struct arena *a,
                             struct err *e)
{
    struct search s = {.a = a, .pattern = want->named ? want->job : NULL};
    s.newest = want->named && newest_is_meant();
    struct msg_query q = {.what = QUERY_JOBS, .fields = JOB_FIELDS, .states = "all"};
    struct msg_done done;
    q.ids = want->named ? NULL : want->job;
    q.uids = want->named ? arena_printf(a, "%u", (unsigned)getuid()) : NULL;
    bool ok = client_query(c, &q, &job_fields, a, job_take, &s, &done, e);
    if (ok && !s.ids.len) {
        q.what = QUERY_HISTORY;
        ok = client_query(c, &q, &job_fields, a, job_take, &s, &done, e);
    }
    const char *ids = ok && s.ids.len ? arena_strdup(a, str_text(&s.ids)) : NULL;
    str_done(&s.ids);
    if (ok && !ids)
        err_set(e, ERR_NOT_FOUND, "%s: No matching job found", want->job);
    return ids;
}

static bool depend_resolve(const struct lsf_request *r, struct client *c, struct dialect_out *d,
                           struct err *e)
{
    if (!r->depend.n)
        return true;
    const char **ids = arena_alloc(d->a, r->depend.n * sizeof *ids);
    for (size_t i = 0; i < r->depend.n; i++)
        if (!(ids[i] = jobs_find(&r->depend.v[i], c, d->a, e)))
            return false;
    return dialect_give(d, "-w", "dependency", lsf_depend_text(&r->depend, ids, d->a), e);
}

static void queue_take(void *ctx, const void *record)
{
    const char **queue = ctx;
    const struct job *j = record;
    *queue = j->run_partition ? j->run_partition : j->spec.req.partition;
}

const char *lsf_queue_of_job(struct client *c, uint64_t job_id, struct arena *a)
{
    const char *queue = NULL;
    struct msg_query q = {.what = QUERY_JOBS,
                          .fields = "id,partition,run_partition",
                          .ids = arena_printf(a, "%llu", (unsigned long long)job_id),
                          .states = "all"};
    struct msg_done done;
    struct err e = {0};
    client_query(c, &q, &job_fields, a, queue_take, &queue, &done, &e);
    return queue ? queue : "";
}

/* ---- hosts ---- */

struct models {
    struct arena *a;
    struct str list; /* "a|b" */
    unsigned n;
    bool none; /* a host has no feature, and so no model */
};

static void model_take(void *ctx, const void *record)
{
    struct models *m = ctx;
    const struct node *n = record;
    struct span rest = span_of(n->features ? n->features : ""), first, seen = {0}, one;
    span_next(&rest, ',', &first);
    m->none = m->none || !first.len;
    seen = span_of(str_text(&m->list));
    while (seen.len && span_next(&seen, '|', &one))
        if (one.len == first.len && memcmp(one.data, first.data, one.len) == 0)
            return;
    if (!first.len)
        return;
    str_addf(&m->list, "%s%.*s", m->n++ ? "|" : "", (int)first.len, first.data);
}

/* same[model]: all hosts have the first feature of one, as bhosts shows it. */
static bool model_resolve(const struct lsf_request *r, struct client *c, struct dialect_out *d,
                          struct err *e)
{
    struct models m = {.a = d->a, .list = STR_INIT};
    struct msg_query q = {.what = QUERY_NODES};
    struct msg_done done;
    if (!r->same_model || r->one_host)
        return true;
    bool ok = client_query(c, &q, &node_fields, d->a, model_take, &m, &done, e);
    const char *models = arena_printf(d->a, "[%s]", str_text(&m.list));
    if (ok && m.n + m.none > 1)
        ok = dialect_give(d, "-R same[model]", "constraint",
                          r->features ? arena_printf(d->a, "(%s)&%s", r->features, models) : models,
                          e);
    str_done(&m.list);
    return ok;
}

struct lsf_hosts {
    const char *candidates, *select; /* NULL = any */
    int64_t kib;                     /* of sizes without unit in `select` */
    struct hostlist others;
    unsigned found, all;
};

struct lsf_host_facts lsf_facts_of(const struct node *n)
{
    struct gres_list list;
    struct arena *a = arena_new();
    struct lsf_host_facts facts = {.name = n->name,
                                   .features = n->features,
                                   .mem_mib = n->memory_mib ? n->memory_mib : n->real_memory_mib,
                                   .tmp_mib = n->tmp_disk_mib,
                                   .cpus = n->cpus};
    if (n->gres && gres_parse(n->gres, a, &list, NULL))
        facts.gpus = (int32_t)gres_count(&list, "gpu");
    arena_free(a);
    return facts;
}

static void node_take(void *ctx, const void *record)
{
    struct lsf_hosts *h = ctx;
    const struct node *n = record;
    struct lsf_host_facts facts = lsf_facts_of(n);
    h->all++;
    if ((!h->candidates || list_has(h->candidates, n->name)) &&
        (!h->select || lsf_select_holds(span_of(h->select), h->kib, &facts)))
        h->found++;
    else
        hostlist_add(&h->others, n->name);
}

static bool hosts_resolve(const struct lsf_request *r, struct client *c, struct dialect_out *d,
                          struct err *e)
{
    struct lsf_hosts h = {
        .candidates = r->candidates, .select = r->host_select, .kib = r->site->lsf_resource_kib};
    struct msg_query q = {.what = QUERY_NODES};
    struct msg_done done;
    if (!r->candidates && !r->host_select)
        return true;
    bool ok = client_query(c, &q, &node_fields, d->a, node_take, &h, &done, e);
    if (ok && !h.found && h.all && r->host_select)
        ok = err_set(e, ERR_NOT_FOUND,
                     "-R select[%s]: none of the %u hosts is so; bhosts -R shows "
                     "which are",
                     r->host_select, h.all);
    else if (ok && !h.found && r->candidates)
        ok = err_set(e, ERR_NOT_FOUND, "%s: Bad host name, host group name or cluster name",
                     r->candidates);
    struct str others = STR_INIT;
    hostlist_sort(&h.others);
    hostlist_fold(&h.others, &others); /* of very many hosts the names one by one are too much */
    if (ok && r->excluded)
        str_addf(&others, "%s%s", others.len ? "," : "", r->excluded);
    if (ok && others.len)
        ok = dialect_give(d, "-m", "exclude", str_text(&others), e);
    str_done(&others);
    hostlist_done(&h.others);
    return ok;
}

/* ---- instances of GPUs ---- */

struct instances {
    const struct lsf_request *r;
    struct arena *a;
    struct str fit, all; /* types, with commas */
    unsigned n;
};

/* "a100_3g.20gb" has three slices, "a100_2c.3g.20gb" two of them to compute. */
static bool instance_fits(const struct lsf_request *r, const char *type, struct arena *a)
{
    bool part = r->mig_compute && r->mig_compute != r->mig_slices;
    const char *words = part ? arena_printf(a, "%dc.%dg.", r->mig_compute, r->mig_slices)
                             : arena_printf(a, "%dg.", r->mig_slices);
    const char *at = strcasestr(type, words);
    bool whole = at && (at == type || at[-1] == '_');
    return whole && (!r->gpu_type || strncasecmp(type, r->gpu_type, strlen(r->gpu_type)) == 0);
}

static void type_take(struct instances *t, const char *type)
{
    const char *dot = type ? strchr(type, '.') : NULL;
    if (!dot || dot == type || (dot[-1] != 'g' && dot[-1] != 'c'))
        return; /* a whole device */
    if (!list_has(str_text(&t->all), type))
        str_addf(&t->all, "%s%s", t->all.len ? "," : "", type);
    if (!instance_fits(t->r, type, t->a) || list_has(str_text(&t->fit), type))
        return;
    str_addf(&t->fit, "%s%s", t->fit.len ? "," : "", type);
    t->n++;
}

static void instances_take(void *ctx, const void *record)
{
    struct instances *t = ctx;
    const struct node *n = record;
    struct gres_list list = {0};
    if (!n->gres || !gres_parse(n->gres, t->a, &list, NULL))
        return;
    for (size_t i = 0; i < list.n; i++)
        if (text_is(list.item[i].kind, "gpu"))
            type_take(t, list.item[i].type);
}

/* -gpu mig=3: the one type of such instances that there is. */
static bool instance_resolve(const struct lsf_request *r, struct client *c, struct dialect_out *d,
                             struct err *e)
{
    struct instances t = {.r = r, .a = d->a};
    struct msg_query q = {.what = QUERY_NODES};
    struct msg_done done;
    if (!r->mig_slices || !r->gpus)
        return true;
    bool ok = client_query(c, &q, &node_fields, d->a, instances_take, &t, &done, e);
    if (ok && t.n != 1)
        ok = err_set(e, ERR_NOT_FOUND,
                     t.n ? "-gpu mig: hosts have several such instances: %s; gmodel= says of which"
                         : "-gpu mig: no host has such an instance; there are: %s",
                     t.n         ? str_text(&t.fit)
                     : t.all.len ? str_text(&t.all)
                                 : "none");
    if (ok)
        ok = dialect_give(d, "-gpu mig", r->gpus_per_task ? "gpus-per-task" : "gpus-per-node",
                          arena_printf(d->a, "%s:%d", str_text(&t.fit), r->gpus), e);
    str_done(&t.fit);
    str_done(&t.all);
    return ok;
}

bool lsf_names_resolve(const struct lsf_request *r, struct client *c, struct dialect_out *d,
                       struct err *ret_err)
{
    return depend_resolve(r, c, d, ret_err) && hosts_resolve(r, c, d, ret_err) &&
           model_resolve(r, c, d, ret_err) && instance_resolve(r, c, d, ret_err);
}
