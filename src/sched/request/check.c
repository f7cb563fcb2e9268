/* Is a request fit to be queued? Each refusal says what was asked, what is allowed or there, and
 * the nearest thing that works. */
#include "base/alloc.h"
#include "base/list.h"
#include "base/vec.h"
#include "model/grammar/gres.h"
#include "sched/books/limits/licences.h"
#include "sched/books/limits/may_use.h"
#include "sched/books/settle.h"
#include "sched/books/tables.h"
#include "sched/request/demand.h"
#include "sched/request/wording.h"

#include <string.h>

struct demand_checking {
    const struct cluster *cl;
    struct job_request *req;
    uint32_t uid;
    const char *groups;
    struct str *detail;
    struct arena *a;
};

/* ---- names ---- */

static void add_names(struct demand_checking *k, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n && i < 20; i++)
        str_addf(k->detail, "%s%s", i ? ", " : "", names[i]);
    if (n > 20)
        str_add(k->detail, ", …");
}

static enum refusal unknown(struct demand_checking *k, enum refusal r, const char *what,
                            const char *name, const char *const *names, size_t n)
{
    const char *near = text_nearest(name, names, n);
    str_addf(k->detail, "there is no %s \"%.100s\"", what, name);
    if (near)
        str_addf(k->detail, "; did you mean %s?", near);
    else if (n > 0) {
        str_add(k->detail, "; there are: ");
        add_names(k, names, n);
    } else {
        str_add(k->detail, "; this cluster has none");
    }
    return r;
}

static enum refusal unknown_partition(struct demand_checking *k, const char *name)
{
    VEC(const char *) names = {0};
    for (size_t i = 0; i < k->cl->part.n; i++)
        if (!k->cl->part.v[i]->gone && !k->cl->part.v[i]->p.hidden)
            vec_push(&names, k->cl->part.v[i]->p.name);
    enum refusal r = unknown(k, REFUSE_INVALID_PARTITION, "partition", name, names.v, names.n);
    vec_done(&names);
    return r;
}

static enum refusal check_partitions(struct demand_checking *k)
{
    if (text_empty(k->req->partition)) {
        k->req->partition = NULL;
        for (size_t i = 0; i < k->cl->part.n; i++)
            if (!k->cl->part.v[i]->gone && k->cl->part.v[i]->p.is_default)
                k->req->partition = k->cl->part.v[i]->p.name;
        if (!k->req->partition) {
            str_add(k->detail,
                    "no partition was named and none is the default; name one with --partition");
            return REFUSE_INVALID_PARTITION;
        }
    }
    struct span rest = span_of(k->req->partition), piece;
    while (span_next(&rest, ',', &piece)) {
        char *name = arena_strndup(k->a, span_trim(piece).data, span_trim(piece).len);
        const struct spart *part = cluster_part(k->cl, name);
        if (!part)
            return unknown_partition(k, name);
        enum refusal r = may_use_partition(
            &part->p, k->req, &(struct applicant){.uid = k->uid, .groups = k->groups}, k->detail);
        if (r != REFUSE_NONE)
            return r;
    }
    return REFUSE_NONE;
}

enum refusal sched_may_use(const struct cluster *cl, const char *partition,
                           const struct job_request *req, uint32_t uid, const char *groups,
                           struct str *detail)
{
    const struct spart *part = cluster_part(cl, partition);
    if (!part)
        return REFUSE_INVALID_PARTITION;
    return may_use_partition(&part->p, req, &(struct applicant){.uid = uid, .groups = groups},
                             detail);
}

/* ---- features and generic resources ---- */

static void feature_list(struct demand_checking *k, const char ***ret, size_t *ret_n)
{
    VEC(const char *) names = {0};
    for (size_t g = 0; g < k->cl->group.n; g++) {
        struct span rest = span_of(k->cl->group.v[g]->features), piece;
        while (span_next(&rest, ',', &piece)) {
            char *name = arena_strndup(k->a, span_trim(piece).data, span_trim(piece).len);
            bool seen = !*name;
            for (size_t i = 0; i < names.n; i++)
                seen |= text_is(names.v[i], name);
            if (!seen)
                vec_push(&names, name);
        }
    }
    *ret = arena_dup(k->a, names.v, names.n * sizeof names.v[0]);
    *ret_n = names.n;
    vec_done(&names);
}

static enum refusal check_features(struct demand_checking *k, const char *text,
                                   enum refusal refusal)
{
    const char *asked[FEATURE_NAMES_MAX], **have;
    size_t n = feature_names(text, k->a, asked, FEATURE_NAMES_MAX), nhave;
    if (n == 0)
        return REFUSE_NONE;
    feature_list(k, &have, &nhave);
    for (size_t i = 0; i < n; i++) {
        bool there = false;
        for (size_t h = 0; h < nhave; h++)
            there |= text_is(asked[i], have[h]);
        if (!there)
            return unknown(k, refusal, "feature", asked[i], have, nhave);
    }
    return REFUSE_NONE;
}

static enum refusal check_gres_list(struct demand_checking *k, const char *text, bool gpus)
{
    struct gres_list list = {0};
    if (text_empty(text) ||
        !(gpus ? gres_parse_gpus(text, k->a, &list, NULL) : gres_parse(text, k->a, &list, NULL)))
        return REFUSE_NONE; /* a text that cannot be read is refused when it is worked out */
    for (size_t i = 0; i < list.n; i++) {
        VEC(const char *) names = {0};
        bool there = false;
        for (uint32_t d = DIM_GRES; d < k->cl->dim.n; d++) {
            bool exists = false;
            for (size_t g = 0; g < k->cl->group.n; g++)
                exists |= d < k->cl->group.v[g]->ntotal && k->cl->group.v[g]->total[d] > 0;
            there |= exists && text_is(k->cl->dim.v[d].kind, list.item[i].kind) &&
                     gres_type_matches(list.item[i].type, k->cl->dim.v[d].type);
            if (exists)
                vec_push(&names, k->cl->dim.v[d].label);
        }
        char *label = list.item[i].type
                          ? arena_printf(k->a, "%s:%s", list.item[i].kind, list.item[i].type)
                          : arena_strdup(k->a, list.item[i].kind);
        enum refusal r = there
                             ? REFUSE_NONE
                             : unknown(k, REFUSE_GRES, "generic resource", label, names.v, names.n);
        vec_done(&names);
        if (r != REFUSE_NONE)
            return r;
    }
    return REFUSE_NONE;
}

static enum refusal check_gres(struct demand_checking *k)
{
    enum refusal r = check_gres_list(k, k->req->gres, false);
    const char *gpus[] = {k->req->gpus, k->req->gpus_per_node, k->req->gpus_per_task,
                          k->req->gpus_per_socket};
    for (size_t i = 0; i < ARRAY_LEN(gpus) && r == REFUSE_NONE; i++)
        r = check_gres_list(k, gpus[i], true);
    return r;
}

/* ---- limits ---- */

static const char *duration(struct demand_checking *k, int64_t us)
{
    struct str s = STR_INIT;
    duration_format(us, &s);
    char *text = arena_strdup(k->a, str_text(&s));
    str_done(&s);
    return text;
}

static void limit_text(struct demand_checking *k, const struct option *o)
{
    const struct partition *p = &o->part->p;
    if (o->never == REASON_PARTITION_TIME_LIMIT)
        str_addf(k->detail, "a time limit of %s was asked for; partition %s allows %s",
                 duration(k, k->req->time_limit_us), p->name, duration(k, p->max_time_us));
    else if (p->max_nodes > 0 && o->nodes_min > p->max_nodes)
        str_addf(k->detail, "%d nodes were asked for; partition %s allows a job %d", o->nodes_min,
                 p->name, p->max_nodes);
    else
        str_addf(k->detail, "%d node%s asked for; the smallest job in partition %s has %d",
                 o->nodes_min, o->nodes_min == 1 ? " was" : "s were", p->name, p->min_nodes);
}

static bool limit_reason(enum job_reason r)
{
    return r == REASON_PARTITION_TIME_LIMIT || r == REASON_PARTITION_NODE_LIMIT;
}

/* Cuts the request to what the partition allows and says so. */
static bool clamp(struct demand_checking *k, const struct option *o)
{
    const struct partition *p = &o->part->p;
    size_t before = k->detail->len;
    limit_text(k, o);
    if (o->never == REASON_PARTITION_TIME_LIMIT) {
        k->req->time_limit_us = p->max_time_us;
        str_addf(k->detail, "; the limit was set to %s", duration(k, p->max_time_us));
        return true;
    }
    if (p->max_nodes > 0 && k->req->min_nodes > p->max_nodes && k->req->ntasks == 0) {
        k->req->min_nodes = k->req->max_nodes = p->max_nodes;
        str_addf(k->detail, "; it gets %d nodes", p->max_nodes);
        return true;
    }
    str_cut(k->detail, before);
    return false;
}

/* ---- what there is ---- */

/* Nodes of the partition, up or not, that could hold a part of it if they were empty. *ret_types:
 * others could with another type of its resource, of which a job has one, or another mix. */
static int64_t nodes_that_hold(const struct compiled *c, const struct option *o, bool *ret_types)
{
    int64_t most = 0;
    const struct variant *first = NULL;
    *ret_types = false;
    for (size_t i = 0; i < o->nvariants; i++) {
        int64_t nodes = 0;
        for (size_t n = 0; n < o->part->node.n; n++) {
            const struct snode *node = o->part->node.v[n];
            nodes += bit_get(o->variant[i].groups, node->group->idx) &&
                     (option_allows(c, o, node->idx / 64) >> (node->idx % 64) & 1);
        }
        most = nodes > most ? nodes : most;
        const struct variant *v = &o->variant[i];
        first = !first && nodes && v->ngres ? v : first;
        *ret_types |= first && nodes && v->ngres &&
                      (c->mixes ? v != first : v->gres[0].dim != first->gres[0].dim);
    }
    return most;
}

/* The others that this user's job may go to, with commas between. */
static const char *others_list(struct demand_checking *k, const struct spart *but)
{
    struct str list = STR_INIT, unused = STR_INIT;
    for (size_t i = 0; i < k->cl->part.n; i++) {
        const struct spart *part = k->cl->part.v[i];
        struct job_request req = *k->req;
        req.partition = part->p.name;
        if (part != but && !part->gone && !part->p.hidden &&
            may_use_partition(&part->p, &req,
                              &(struct applicant){.uid = k->uid, .groups = k->groups},
                              &unused) == REFUSE_NONE)
            list_addf(&list, "%s", part->p.name);
        str_clear(&unused);
    }
    const char *text = arena_strdup(k->a, str_text(&list));
    str_done(&list);
    str_done(&unused);
    return text;
}

/* Another partition that this user's job would fit: all are worked out at once, as what they have
 * in common (long lists of nodes) is dear. */
static void word_elsewhere(struct demand_checking *k, const struct option *o)
{
    struct job_request req = *k->req;
    req.partition = others_list(k, o->part);
    if (text_empty(req.partition))
        return;
    struct compiled *c = demand_compile(k->cl, &req, NULL);
    bool fits = false;
    for (size_t i = 0; i < c->n && !fits; i++) {
        fits = c->option[i].never == REASON_NONE && demand_possible(k->cl, c, &c->option[i], false);
        if (fits)
            str_addf(k->detail, "; partition %s could hold it", c->option[i].part->p.name);
    }
    demand_free(c);
}

/* What no node of the partition has enough of, for itself; the first in Slurm's order. */
static enum refusal lacking(const struct cluster *cl, const struct compiled *c,
                            const struct option *o)
{
    const struct job_request *q = c->req;
    bool cpus = false, memory = false, disk = false, sockets = false;
    for (size_t i = 0; o->wish && i < cl->group.n; i++) {
        const struct group *g = cl->group.v[i];
        struct take t = {0};
        if (!bit_get(g->parts, o->part->idx))
            continue;
        demand_take(cl, c, o, o->wish, g, o->wish->lay.umin, &t);
        bool enough = q->min_cpus_per_node <= g->cpus;
        for (uint32_t k = 0; k < t.n; k++)
            enough &=
                t.use[k].dim != DIM_CPU || q->cpus_per_gpu || t.use[k].amount <= g->total[DIM_CPU];
        cpus |= enough;
        memory |= q->mem_per_node_mib <= g->mem_mib && q->mem_per_cpu_mib <= g->mem_mib;
        disk |= q->tmp_disk_mib <= g->tmp_disk_mib;
        sockets |= q->sockets_per_node <= g->sockets &&
                   q->cores_per_socket <= g->cores_per_socket &&
                   q->threads_per_core <= g->threads_per_core;
    }
    return !o->wish   ? REFUSE_NODE_CONFIG
           : !cpus    ? REFUSE_NODE_CPUS
           : !memory  ? REFUSE_NODE_MEMORY
           : !disk    ? REFUSE_NODE_DISK
           : !sockets ? REFUSE_NODE_SOCKETS
                      : REFUSE_NODE_CONFIG;
}

/* Counted features of which there are too few, or more than the job has nodes. */
static void counts_say(const struct demand_checking *k, const struct option *o)
{
    const struct variant *v = &o->variant[0];
    for (size_t i = 0; o->nvariants && i < v->ncount; i++) {
        uint32_t have = 0;
        for (size_t g = 0; g < k->cl->group.n; g++)
            have += bit_get(v->count[i].groups, g) ? k->cl->group.v[g]->nodes : 0;
        if ((int64_t)have < v->count[i].nodes || v->count[i].nodes > v->lay.nmax)
            str_addf(k->detail, ", %u of the kind asked %d times", have, v->count[i].nodes);
    }
}

static enum refusal never_fits(struct demand_checking *k, const struct compiled *c,
                               const struct option *o)
{
    bool types;
    int64_t nodes = nodes_that_hold(c, o, &types);
    struct demand_room room = {0};
    const struct variant *pieces = demand_roomiest(k->cl, c, o, &room);
    str_add(k->detail, "it needs ");
    if (o->wish)
        word_demand(k->cl, c, o,
                    pieces         ? pieces
                    : o->nvariants ? &o->variant[0]
                                   : o->wish,
                    MEMORY_ASKED, k->detail);
    if (pieces && room.units > 0 && room.units < pieces->lay.units && c->nmust == 0) {
        str_addf(k->detail, "; partition %s", o->part->p.name);
        word_room(k->cl, c, o, pieces, &room, k->detail);
        word_elsewhere(k, o);
        return REFUSE_NODE_CONFIG;
    }
    if (nodes > 0) {
        str_addf(k->detail, "; partition %s has %lld such node%s", o->part->p.name,
                 (long long)nodes, nodes == 1 ? "" : "s");
        if (types)
            word_one_type(k->cl, c, &o->variant[0], k->detail);
        counts_say(k, o);
        if (c->nmust > 0)
            str_addf(k->detail, " and the node list %.100s must be among them", k->req->nodelist);
        if (word_nearest_is_named(k->cl, c, o)) {
            str_add(k->detail, "; ");
            word_nearest(k->cl, c, o, k->detail);
        }
        word_elsewhere(k, o);
        return REFUSE_NODE_CONFIG;
    }
    str_addf(k->detail, "; partition %s has no such node: ", o->part->p.name);
    word_nearest(k->cl, c, o, k->detail);
    word_elsewhere(k, o);
    return lacking(k->cl, c, o);
}

static enum refusal too_much_memory(struct demand_checking *k, const struct option *o,
                                    enum job_reason *ret_pend)
{
    str_addf(k->detail,
             "%lld MiB of memory on a node were asked for; partition %s allows a job %lld",
             (long long)o->mem_mib, o->part->p.name, (long long)o->max_mem_per_node_mib);
    if (k->cl->policy.limits != LIMITS_PEND)
        return REFUSE_MEMORY;
    *ret_pend = REASON_BAD_CONSTRAINTS;
    return REFUSE_NONE;
}

/* The verdict of one partition. */
static enum refusal check_option(struct demand_checking *k, const struct compiled *c,
                                 struct option *o, enum job_reason *ret_pend)
{
    *ret_pend = REASON_NONE;
    if (o->never == REASON_PARTITION_DOWN) {
        *ret_pend = REASON_PARTITION_DOWN;
        return REFUSE_NONE;
    }
    if (limit_reason(o->never)) {
        if (k->cl->policy.limits == LIMITS_CLAMP && clamp(k, o))
            return REFUSE_NONE;
        limit_text(k, o);
        if (k->cl->policy.limits == LIMITS_PEND) {
            *ret_pend = o->never;
            return REFUSE_NONE;
        }
        return o->never == REASON_PARTITION_TIME_LIMIT ? REFUSE_TIME_LIMIT
                                                       : REFUSE_INVALID_NODE_COUNT;
    }
    if (demand_possible(k->cl, c, o, false))
        return REFUSE_NONE;
    return o->max_mem_per_node_mib > 0 && o->mem == MEM_NODE && o->mem_mib > o->max_mem_per_node_mib
               ? too_much_memory(k, o, ret_pend)
               : never_fits(k, c, o);
}

/* It is enough if one of its partitions takes it, unless the policy is that each must. */
static enum refusal check_options(struct demand_checking *k, const struct compiled *c,
                                  enum job_reason *ret_pend)
{
    enum refusal first = REFUSE_NONE;
    struct str said = STR_INIT, *detail = k->detail;
    bool taken = false, pends = false, all = k->cl->policy.limits == LIMITS_ALL;
    for (size_t i = 0; i < c->n && (!taken || all) && !(all && first != REFUSE_NONE); i++) {
        struct str now = STR_INIT;
        enum job_reason pend;
        k->detail = &now;
        enum refusal r = check_option(k, c, &c->option[i], &pend);
        taken = r == REFUSE_NONE && (pend == REASON_NONE || all);
        if (pend != REASON_NONE && !pends)
            *ret_pend = pend;
        pends |= pend != REASON_NONE;
        if (r != REFUSE_NONE && first == REFUSE_NONE)
            first = r;
        if (taken)
            str_clear(&said);
        if (said.len == 0)
            str_add(&said, str_text(&now));
        str_done(&now);
    }
    k->detail = detail;
    str_add(detail, str_text(&said));
    str_done(&said);
    if (taken)
        *ret_pend = REASON_NONE;
    return (taken || pends) && !(all && first != REFUSE_NONE) ? REFUSE_NONE : first;
}

enum refusal sched_check(struct cluster *cl, struct job_request *req, uint32_t uid,
                         const char *user_groups, enum job_reason *ret_pend, struct str *detail)
{
    cluster_settle(cl);
    struct str unused = STR_INIT;
    struct demand_checking k = {.cl = cl,
                                .req = req,
                                .uid = uid,
                                .groups = user_groups,
                                .detail = detail ? detail : &unused,
                                .a = arena_new()};
    enum job_reason pend = REASON_NONE;
    enum refusal r = check_partitions(&k);
    if (r == REFUSE_NONE)
        r = check_features(&k, k.req->constraint, REFUSE_FEATURE);
    if (r == REFUSE_NONE)
        r = check_features(&k, k.req->prefer, REFUSE_PREFER);
    if (r == REFUSE_NONE)
        r = check_gres(&k);
    if (r == REFUSE_NONE) {
        struct verdict v = {.text = k.detail};
        demand_hold_counts(req);
        struct compiled *c = demand_compile(cl, req, &v);
        r = v.refusal != REFUSE_NONE ? v.refusal : check_options(&k, c, &pend);
        demand_free(c);
    }
    if (ret_pend)
        *ret_pend = pend;
    arena_free(k.a);
    str_done(&unused);
    return r;
}

enum refusal sched_check_together(const struct cluster *cl, const char *const *licences, size_t n,
                                  struct str *detail)
{
    ASSERT(licences || n == 0);
    struct arena *a = arena_new();
    struct str all = STR_INIT;
    struct licence_list list;
    const char *wrong;
    for (size_t i = 0; i < n; i++)
        if (!text_empty(licences[i]))
            list_addf(&all, "%s", licences[i]);
    bool ok = licences_find(cl, str_text(&all), a, &list, &wrong);
    if (!ok)
        str_addf(detail, "by all components together %s", wrong);
    str_done(&all);
    arena_free(a);
    return ok ? REFUSE_NONE : REFUSE_LICENSES;
}
