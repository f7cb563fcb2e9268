/* QOS flag Relative: limits on resources are percents of what the partitions have whose QOS it is,
 * or, of a QOS that is no partition's, of what the cluster has. What that makes is worked out when
 * limits, partitions or nodes change, not when jobs are asked about. */
#include "base/hostlist.h"
#include "core/record/accounts/limits.h"
#include "core/record/accounts/usage.h"
#include "core/record/record.h"
#include "model/grammar/gres.h"
#include "model/job/job_counts.h"

#include <string.h>

/* ---- what there is -------------------------------------------------------------------------- */

static int64_t gres_of(const struct noderec *n, const char *name)
{
    struct arena *a = arena_new();
    struct gres_list list = {0};
    size_t kind = strcspn(name, ":");
    int64_t sum = 0;
    if (gres_parse(n->n.gres ? n->n.gres : "", a, &list, NULL))
        for (size_t i = 0; i < list.n; i++) {
            const struct gres_item *item = &list.item[i];
            if (strlen(item->kind) == kind && strncmp(item->kind, name, kind) == 0 &&
                (!name[kind] || text_is_nocase(item->type, name + kind + 1)))
                sum += item->count;
        }
    arena_free(a);
    return sum;
}

static int64_t amount_of(const struct noderec *n, const char *tres)
{
    if (text_is(tres, "cpu") || text_is(tres, "billing")) /* one a CPU, where nothing is weighed */
        return n->n.cpus;
    if (text_is(tres, "mem"))
        return n->n.memory_mib;
    if (text_is(tres, "node"))
        return 1;
    return text_starts(tres, "gres/") ? gres_of(n, tres + strlen("gres/")) : 0;
}

/* What the whole partition would cost, were it one job. */
static int64_t billing_of(const struct core *c, const struct partrec *p, const struct hostlist *in)
{
    struct jobrec all = {.j = {.run_partition = p->p.name}};
    struct str gres = STR_INIT;
    for (size_t i = 0; i < in->n; i++) {
        const struct noderec *n = node_find(c, in->name[i]);
        if (!n)
            continue;
        all.j.alloc_nodes++;
        all.j.alloc_cpus += n->n.cpus;
        all.j.alloc_mem_mib += n->n.memory_mib;
        struct span rest = span_of(n->n.gres ? n->n.gres : ""), piece;
        while (span_next(&rest, ',', &piece)) { /* kind:type:count(…) → kind:type=count */
            size_t len = 0;
            while (len < piece.len && piece.data[len] != '(')
                len++;
            const char *count = memrchr(piece.data, ':', len);
            if (count)
                str_addf(&gres, "%s%.*s=%.*s", gres.len ? "," : "", (int)(count - piece.data),
                         piece.data, (int)(piece.data + len - count - 1), count + 1);
        }
    }
    all.j.alloc_gres = str_text(&gres);
    int64_t units = usage_billing_milli(c, &all) / 1000;
    str_done(&gres);
    return units;
}

static int64_t of_cluster(const struct core *c, const char *tres)
{
    int64_t sum = 0;
    for (size_t i = 0; i < c->node.n; i++)
        sum += amount_of(c->node.v[i], tres);
    return sum;
}

static int64_t of_partition(const struct core *c, const struct partrec *p, const char *tres)
{
    struct hostlist names = HOSTLIST_INIT;
    int64_t sum = 0;
    if (p->p.nodes && !hostlist_parse(&names, p->p.nodes, NULL))
        return 0;
    if (text_is(tres, "billing") && p->p.billing_weights) {
        sum = billing_of(c, p, &names);
    } else {
        for (size_t i = 0; i < names.n; i++) {
            const struct noderec *n = node_find(c, names.name[i]);
            sum += n ? amount_of(n, tres) : 0;
        }
    }
    hostlist_done(&names);
    return sum;
}

static int64_t total_of(const struct core *c, const struct qosrec *q, const char *tres)
{
    int64_t sum = 0;
    bool any = false;
    for (size_t i = 0; i < c->part.n; i++)
        if (text_is(c->part.v[i]->p.qos, q->q.name)) {
            sum += of_partition(c, c->part.v[i], tres);
            any = true;
        }
    return any ? sum : of_cluster(c, tres);
}

/* ---- limits --------------------------------------------------------------------------------- */

/* Those that count resources, not resources × time. */
static bool is_share(const struct limit *l)
{
    return resource_limit_table[l->what].unit == UNIT_TRES &&
           resource_limit_table[l->what].scope != SCOPE_NODE && !text_starts(l->tres, "license/");
}

static void qos_know(const struct core *c, struct qosrec *q)
{
    vec_clear(&q->worth);
    if (q->q.deleted || !(q->q.flags & QOS_RELATIVE))
        return;
    for (size_t i = 0; i < q->limit.n; i++) {
        const struct limit *l = &q->limit.v[i];
        int64_t total = is_share(l) ? total_of(c, q, l->tres) : 0;
        vec_push(&q->worth,
                 is_share(l) ? total / 100 * l->value + total % 100 * l->value / 100 : l->value);
    }
}

void relative_know(struct core *c)
{
    struct map_walk w = {0};
    while (map_u64_next(c->accounts.qos, &w))
        qos_know(c, w.value);
}

bool relative_any(const struct core *c)
{
    struct map_walk w = {0};
    while (map_u64_next(c->accounts.qos, &w))
        if (((const struct qosrec *)w.value)->worth.n > 0)
            return true;
    return false;
}
