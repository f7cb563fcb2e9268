/* Nodes and partitions as they are shown, a part at a time: first the names of the partitions are
 * noted for the nodes they have, then each node is shown. What was noted is kept by the nodes'
 * places: should the configuration be read again in between, a node that came has none yet. */
#include "base/alloc.h"
#include "base/list.h"
#include "core/query/query.h"
#include "core/record/asked.h"
#include "model/grammar/gres.h"

#include <stdlib.h>

#define HOSTS_A_LOOK 16 /* of a partition; a node that is shown costs more */

struct node_view {
    size_t n;                 /* places */
    struct str *partitions;   /* of each node */
    bool *wanted;             /* each node */
    struct asked_words among; /* partitions whose nodes are */
    size_t part, node;        /* the next of them */
};

static size_t less(size_t most, size_t looks)
{
    return looks < most ? most - looks : 0;
}

/* Adds the partition's name to each of its nodes; if partitions are asked for, those of these are
 * wanted. */
static size_t partition_note(const struct core *c, struct node_view *nv, const struct partition *p)
{
    struct hostlist names = HOSTLIST_INIT;
    bool chosen = nv->among.of && asked_words_have(&nv->among, p->name);
    if (p->nodes)
        hostlist_parse(&names, p->nodes, NULL);
    for (size_t i = 0; i < names.n; i++) {
        const struct noderec *n = node_find(c, names.name[i]);
        if (!n || n->index >= nv->n)
            continue;
        if (nv->partitions[n->index].len) /* no printf: of all nodes of all partitions */
            str_addc(&nv->partitions[n->index], ',');
        str_add(&nv->partitions[n->index], p->name);
        nv->wanted[n->index] |= chosen;
    }
    size_t looks = 1 + names.n / HOSTS_A_LOOK;
    hostlist_done(&names);
    return looks;
}

void node_complete(const struct core *c, const struct noderec *n, int64_t now_us, struct node *copy,
                   struct str *gres)
{
    struct node_use use = {0};
    cluster_node_use(c->cluster, n->n.name, &use, gres);
    copy->alloc_cpus = use.cpus;
    copy->alloc_mem_mib = use.mem_mib;
    copy->alloc_gres = gres->len ? str_text(gres) : NULL;
    copy->planned = use.planned;
    struct node_kept kept;
    cluster_node_kept(c->cluster, n->n.name, now_us, &kept);
    copy->reservation = kept.reservation;
    copy->reserved = kept.reservation != NULL;
    copy->maint |= kept.maint;
    copy->jobs = (int32_t)n->job.n;
    for (size_t i = 0; i < n->job.n; i++) {
        const struct jobrec *r = job_find(c, n->job.v[i]);
        copy->jobs_cleaning += r && (r->j.state == JOB_COMPLETING || r->j.state == JOB_REQUEUED);
    }
}

static void node_show(const struct node_sight *s, const struct node_view *nv,
                      const struct noderec *n, int64_t now_us, struct arena *a,
                      const struct view *v)
{
    struct node copy = n->n;
    struct str gres = STR_INIT;
    node_complete(s->c, n, now_us, &copy, &gres);
    node_hide(s, &copy, a);
    copy.partitions = nv->partitions[n->index].len ? str_text(&nv->partitions[n->index]) : NULL;
    v->row(v->ctx, &copy);
    str_done(&gres);
}

/* Narrows down to the nodes named; each name must be there. */
static enum refusal names_choose(const struct core *c, struct node_view *nv, const char *wanted,
                                 bool also_by_partition, struct str *detail)
{
    struct hostlist names = HOSTLIST_INIT;
    struct err err = {0};
    bool *named = xcalloc(nv->n + 1, sizeof *named);
    enum refusal refusal = names_fit(c, wanted, &err) && hostlist_parse(&names, wanted, &err)
                               ? REFUSE_NONE
                               : REFUSE_INVALID_NODE;
    if (refusal)
        str_add(detail, err.text);
    for (size_t i = 0; !refusal && i < names.n; i++) {
        const struct noderec *n = node_find(c, names.name[i]);
        if (n && node_shown(n)) {
            if (n->index < nv->n)
                named[n->index] = true;
            continue;
        }
        str_addf(detail, "there is no node %s", names.name[i]);
        refusal = REFUSE_INVALID_NODE;
    }
    for (size_t i = 0; i < nv->n; i++)
        nv->wanted[i] = named[i] && (!also_by_partition || nv->wanted[i]);
    free(named);
    hostlist_done(&names);
    return refusal;
}

static void node_view_drop(void *kept)
{
    struct node_view *nv = kept;
    for (size_t i = 0; i < nv->n; i++)
        str_done(&nv->partitions[i]);
    asked_words_done(&nv->among);
    free(nv->partitions);
    free(nv->wanted);
    free(nv);
}

static struct node_view *node_view_open(const struct core *c, const struct msg_query *q,
                                        struct query_at *at)
{
    struct node_view *nv = xcalloc(1, sizeof *nv);
    nv->n = c->node.n;
    nv->partitions = xcalloc(nv->n + 1, sizeof(struct str));
    nv->wanted = xcalloc(nv->n + 1, sizeof(bool));
    for (size_t i = 0; i < nv->n; i++)
        nv->wanted[i] = !q->partitions;
    nv->among = asked_words_read(q->partitions);
    at->kept = nv;
    at->drop = node_view_drop;
    return nv;
}

enum refusal query_nodes(const struct core *c, const struct msg_query *q, const struct peer *peer,
                         int64_t now_us, const struct view *v, struct str *detail,
                         struct query_at *at, size_t most)
{
    ASSERT(most > 0);
    const char *named = q->names ? q->names : q->nodes;
    struct node_view *nv = at->kept ? at->kept : node_view_open(c, q, at);
    enum refusal refusal = REFUSE_NONE;
    for (; nv->part < c->part.n && most; nv->part++)
        most = less(most, partition_note(c, nv, &c->part.v[nv->part]->p));
    if (nv->part >= c->part.n && named && nv->node == 0)
        refusal = names_choose(c, nv, named, q->partitions != NULL, detail);
    struct node_sight sight = node_sight_open(c, peer);
    struct arena *a = arena_new();
    for (; nv->part >= c->part.n && !refusal && nv->node < nv->n && nv->node < c->node.n && most;
         nv->node++, most--) {
        if (nv->wanted[nv->node] && node_shown(c->node.v[nv->node]))
            node_show(&sight, nv, c->node.v[nv->node], now_us, a, v);
        arena_reset(a);
    }
    arena_free(a);
    node_sight_close(&sight);
    at->more = !refusal && (nv->part < c->part.n || (nv->node < nv->n && nv->node < c->node.n));
    return refusal;
}

/* ---- partitions ----------------------------------------------------------------------------- */

static size_t partition_show(const struct core *c, const struct partrec *p, const struct view *v)
{
    struct partition copy = p->p;
    struct hostlist names = HOSTLIST_INIT;
    struct str tres = STR_INIT, gres = STR_INIT;
    int64_t memory = 0;
    if (p->p.nodes)
        hostlist_parse(&names, p->p.nodes, NULL);
    for (size_t i = 0; i < names.n; i++) {
        const struct noderec *n = node_find(c, names.name[i]);
        if (!n)
            continue;
        copy.total_nodes++;
        copy.total_cpus += n->n.cpus;
        memory += n->n.memory_mib;
        if (!text_empty(n->n.gres))
            list_addf(&gres, "%s", n->n.gres);
    }
    str_addf(&tres, "cpu=%d,mem=%lldM,node=%d,billing=%d", copy.total_cpus, (long long)memory,
             copy.total_nodes, copy.total_cpus);
    gres_text_tres(str_text(&gres), &tres);
    copy.tres = str_text(&tres);
    if (copy.preempt_mode == PREEMPT_UNSET)
        copy.preempt_mode = cluster_preempt_mode(c->cluster);
    v->row(v->ctx, &copy);
    str_done(&tres);
    str_done(&gres);
    size_t looks = 1 + names.n / HOSTS_A_LOOK;
    hostlist_done(&names);
    return looks;
}

struct part_view {
    struct asked_words names;
    size_t next, shown;
};

static void part_view_drop(void *kept)
{
    struct part_view *k = kept;
    asked_words_done(&k->names);
    free(k);
}

enum refusal query_partitions(const struct core *c, const struct msg_query *q, const struct view *v,
                              struct str *detail, struct query_at *at, size_t most)
{
    ASSERT(most > 0);
    if (!at->kept) {
        struct part_view *made = xcalloc(1, sizeof *made);
        made->names = asked_words_read(q->names);
        at->kept = made;
        at->drop = part_view_drop;
    }
    struct part_view *k = at->kept;
    for (; k->next < c->part.n && most; k->next++) {
        const struct partrec *p = c->part.v[k->next];
        bool wanted = asked_words_have(&k->names, p->p.name);
        most = less(most, wanted ? partition_show(c, p, v) : 1);
        k->shown += wanted;
    }
    at->more = k->next < c->part.n;
    if (at->more || k->shown || !q->names)
        return REFUSE_NONE;
    str_add(detail, "there is no partition ");
    str_addn(detail, q->names, strnlen(q->names, LIMIT_NAME_BYTES));
    return REFUSE_INVALID_PARTITION;
}

bool core_node_had(const struct core *c, const char *node, uint64_t job_id, uint32_t attempt)
{
    const struct noderec *n = node_find(c, node);
    return n && former_run_may_be(c, n, job_id, attempt);
}
