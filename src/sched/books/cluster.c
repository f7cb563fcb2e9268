/* The cluster as a whole; nodes and partitions come and go. What is derived of them waits until it
 * is needed (settle.c). */
#include "sched/books/state.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "sched/books/classes.h"
#include "sched/books/limits/people.h"
#include "sched/books/limits/qos.h"
#include "sched/books/resv.h"
#include "sched/books/settle.h"
#include "sched/books/tables.h"
#include "sched/books/topo.h"
#include "sched/books/use.h"

#include <stdlib.h>
#include <string.h>

struct cluster *cluster_new(void)
{
    struct cluster *cl = xcalloc(1, sizeof *cl);
    cl->text = intern_new();
    cl->dim.by_label = map_str_new();
    cl->node.by_name = map_str_new();
    cl->group.by_key = map_str_new();
    cl->part.by_name = map_str_new();
    cl->share_of = map_str_new();
    cl->people = map_u64_new();
    cl->qos_of = map_str_new();
    cl->run.by_job = map_u64_new();
    cl->queue.by_job = map_u64_new();
    cl->queue.lane_of = map_u64_new();
    static const char *const fixed[] = {"cpu", "mem", "jobs", "share"};
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        struct dim d = {.kind = xstrdup(fixed[i]), .label = xstrdup(fixed[i])};
        vec_push(&cl->dim, d);
    }
    cl->local.arena = arena_new();
    cl->wiring.arena = arena_new();
    cl->derived.stale = true;
    cl->derived.version = 1;
    struct settings s;
    settings_default(&s);
    cluster_set_policy(cl, &s);
    return cl;
}

static void node_free_all(struct snode *n)
{
    free(n->name);
    free(n->base_key);
    free(n->load);
    free(n->dev_job);
    vec_done(&n->unproven);
    vec_done(&n->hold);
    arena_free(n->arena);
    free(n);
}

static void part_free(struct spart *p)
{
    arena_free(p->arena);
    vec_done(&p->node);
    free(p);
}

void cluster_free(struct cluster *cl)
{
    if (!cl)
        return;
    struct map_walk w = {0};
    while (map_u64_next(cl->run.by_job, &w))
        run_free(cl, w.value);
    classes_free(cl);
    qos_book_free(cl);
    resvs_free(cl);
    topo_free(cl);
    arena_free(cl->wiring.arena);
    for (size_t i = 0; i < cl->node.n; i++)
        node_free_all(cl->node.v[i]);
    for (size_t i = 0; i < cl->group.n; i++)
        group_free(cl->group.v[i]);
    for (size_t i = 0; i < cl->part.n; i++)
        part_free(cl->part.v[i]);
    for (size_t i = 0; i < cl->dim.n; i++) {
        free(cl->dim.v[i].kind);
        free(cl->dim.v[i].type);
        free(cl->dim.v[i].label);
    }
    for (size_t i = 0; i < cl->lic.n; i++) {
        free(cl->lic.v[i].name);
        free(cl->lic.v[i].gres);
    }
    vec_done(&cl->lic.of_cap);
    vec_done(&cl->lic.amount);
    vec_done(&cl->lic.idle);
    vec_done(&cl->lic.named);
    for (size_t i = 0; i < cl->lic.hours.n; i++)
        free(cl->lic.hours.v[i]);
    vec_done(&cl->lic.hours);
    vec_done(&cl->node);
    vec_done(&cl->group);
    vec_done(&cl->part);
    vec_done(&cl->dim);
    vec_done(&cl->lic);
    map_str_free(cl->dim.by_label);
    map_str_free(cl->node.by_name);
    map_str_free(cl->group.by_key);
    map_str_free(cl->part.by_name);
    w = (struct map_walk){0};
    while (map_str_next(cl->share_of, &w)) {
        vec_done(&((struct share *)w.value)->expected);
        free(w.value);
    }
    map_str_free(cl->share_of);
    people_free(cl);
    vec_done(&cl->queue.head);
    vec_done(&cl->queue.oldest);
    vec_done(&cl->queue.promised_in);
    map_u64_free(cl->run.by_job);
    vec_done(&cl->run);
    map_u64_free(cl->queue.by_job);
    free(cl->node.free);
    free(cl->dim.shift);
    intern_free(cl->text);
    free(cl);
}

/* ---- nodes ---- */

/* The fields that placement looks at; everything else would only cost memory. */
static void node_remember(struct snode *s, const struct node *n)
{
    if (s->arena)
        arena_reset(s->arena);
    else
        s->arena = arena_new();
    s->cfg = arena_alloc(s->arena, sizeof *s->cfg);
    s->cfg->state = n->state;
    s->cfg->drain = n->drain;
    s->cfg->fail = n->fail;
    s->cfg->responding = n->responding;
    s->cfg->cpus = n->cpus;
    s->cfg->boards = n->boards;
    s->cfg->sockets = n->sockets;
    s->cfg->cores_per_socket = n->cores_per_socket;
    s->cfg->threads_per_core = n->threads_per_core;
    s->cfg->memory_mib = n->memory_mib;
    s->cfg->memory_spec_mib = n->memory_spec_mib;
    s->cfg->core_spec = n->core_spec;
    s->cfg->tmp_disk_mib = n->tmp_disk_mib;
    s->cfg->weight = n->weight;
    s->cfg->name = s->name;
    s->cfg->features = arena_strdup(s->arena, n->features);
    s->cfg->gres = arena_strdup(s->arena, n->gres);
    s->cfg->devices = arena_strdup(s->arena, n->devices);
    s->cfg->reason = arena_strdup(s->arena, n->reason);
    s->cfg->devices_out = arena_strdup(s->arena, n->devices_out);
}

bool cluster_put_node(struct cluster *cl, const struct node *n, struct err *ret_err)
{
    if (text_empty(n->name))
        return err_set(ret_err, ERR_INVALID, "a node needs a name");
    struct snode *s = cluster_node(cl, n->name);
    if (!s) {
        s = xcalloc(1, sizeof *s);
        s->name = xstrdup(n->name);
        vec_push(&cl->node, s);
        map_str_put(cl->node.by_name, s->name, s);
        cl->derived.stale = true;
    }
    bool out_changed = !s->cfg || !text_is(s->cfg->devices_out, n->devices_out);
    node_remember(s, n);
    char *key = node_key(cl, s->cfg);
    if (!text_is(key, s->base_key))
        cl->derived.stale = true;
    free(s->base_key);
    s->base_key = key;
    bool returns = n->state == NODE_UNKNOWN && !n->drain && !n->fail;
    cl->derived.lost += returns && !s->returns;
    s->returns = returns;
    bool up = n->state == NODE_UP && !n->drain && !n->fail;
    if (up != s->up) {
        s->up = up;
        cl->derived.up_version++;
        if (!cl->derived.stale)
            s->group->up += up ? 1u : UINT32_MAX;
    }
    if (out_changed && !cl->derived.stale)
        node_recount(cl, s);
    return true;
}

void cluster_remove_node(struct cluster *cl, const char *name)
{
    struct snode *s = cluster_node(cl, name);
    if (!s)
        return;
    CHECK(s->hold.n == 0);
    cluster_settle(cl);
    map_str_del(cl->node.by_name, name);
    vec_remove(&cl->node, s->idx);
    node_free_all(s);
    for (size_t p = 0; p < cl->part.n; p++)
        for (size_t i = 0; i < cl->part.v[p]->node.n; i++)
            if (cl->part.v[p]->node.v[i] == s) {
                vec_remove(&cl->part.v[p]->node, i);
                break;
            }
    cl->derived.stale = true;
}

/* ---- partitions ---- */

static bool part_nodes(const struct cluster *cl, const struct partition *p, struct spart *s,
                       struct err *ret_err)
{
    if (text_is_nocase(p->nodes, "ALL")) {
        for (size_t i = 0; i < cl->node.n; i++)
            vec_push(&s->node, cl->node.v[i]);
        return true;
    }
    struct hostlist names = HOSTLIST_INIT;
    bool ok = text_empty(p->nodes) || hostlist_parse(&names, p->nodes, ret_err);
    struct hostlist unknown = HOSTLIST_INIT;
    hostlist_uniq(&names);
    for (size_t i = 0; ok && i < names.n; i++) {
        struct snode *n = cluster_node(cl, names.name[i]);
        if (n)
            vec_push(&s->node, n);
        else
            hostlist_add(&unknown, names.name[i]);
    }
    if (ok && unknown.n > 0) {
        struct str folded = STR_INIT;
        hostlist_fold(&unknown, &folded);
        ok = err_set(ret_err, ERR_NOT_FOUND,
                     "partition %s names %s, which %s no node%s of this cluster", p->name,
                     str_text(&folded), unknown.n == 1 ? "is" : "are", unknown.n == 1 ? "" : "s");
        str_done(&folded);
    }
    hostlist_done(&names);
    hostlist_done(&unknown);
    return ok;
}

bool cluster_put_partition(struct cluster *cl, const struct partition *p, struct err *ret_err)
{
    struct spart *s = xcalloc(1, sizeof *s);
    s->arena = arena_new();
    record_copy(&partition_fields, &s->p, p, s->arena);
    if (!time_windows_parse(p->time_windows, s->arena, &s->windows, ret_err) ||
        !part_nodes(cl, p, s, ret_err)) {
        part_free(s);
        return false;
    }
    s->is_billed = p->billing_weights && tres_weights_parse(p->billing_weights, &s->billing, NULL);
    struct spart *old = cluster_part(cl, p->name);
    if (old) {
        s->idx = old->idx;
        cl->part.v[s->idx] = s;
        map_str_put(cl->part.by_name, p->name, s);
        part_free(old);
    } else {
        s->idx = (uint32_t)cl->part.n;
        vec_push(&cl->part, s);
        map_str_put(cl->part.by_name, p->name, s);
    }
    cl->derived.stale = true;
    return true;
}

void cluster_remove_partition(struct cluster *cl, const char *name)
{
    struct spart *s = map_str_del(cl->part.by_name, name);
    if (!s)
        return;
    s->gone = true;
    vec_clear(&s->node);
    cl->derived.stale = true;
}
