/* A node down to its cores and devices. What is given out as one is a slot: a core, or a single
 * thread under CR_CPU. CPU numbers are slot × slot_cpus + thread, as model/job/alloc.h numbers
 * them. The amounts the planner counts with (cluster.node.free) are always computed from the slots
 * and devices, never adjusted, so that they cannot drift. */
#include "base/alloc.h"
#include "base/idset.h"
#include "base/map.h"
#include "base/rng.h"
#include "model/env/device_out.h"
#include "model/grammar/gres.h"
#include "model/limits.h"
#include "sched/books/run_pack.h"
#include "sched/books/tables.h"
#include "sched/books/unproven.h"

#include <stdlib.h>
#include <string.h>

/* ---- groups ---- */

static void group_slots(const struct cluster *cl, struct group *g, const struct node *n)
{
    int64_t cores = (int64_t)n->sockets * n->cores_per_socket;
    g->cpus = n->cpus > 0 ? n->cpus : 1;
    g->sockets = n->sockets > 0 ? n->sockets : 1;
    if (cores <= 0 || g->cpus % cores != 0)
        cores = g->cpus;
    if (cores % g->sockets != 0)
        g->sockets = 1;
    g->cores_per_socket = (int32_t)(cores / g->sockets);
    g->threads_per_core = (int32_t)(g->cpus / cores);
    int32_t slots = cl->policy.by_thread ? g->cpus : (int32_t)cores;
    g->slot_cpus = g->cpus / slots;
    g->spec_slots = n->core_spec * (cl->policy.by_thread ? g->threads_per_core : 1);
    if (g->spec_slots < 0 || g->spec_slots >= slots)
        g->spec_slots = 0;
    g->slots = slots - g->spec_slots;
    g->cpus = g->slots * g->slot_cpus;
}

static void group_total(struct group *g, uint32_t dim, int64_t count)
{
    if (dim >= g->ntotal) {
        g->total = xrealloc(g->total, (dim + 1) * sizeof g->total[0]);
        memset(g->total + g->ntotal, 0, (dim + 1 - g->ntotal) * sizeof g->total[0]);
        g->ntotal = dim + 1;
    }
    g->total[dim] += count;
}

/* One byte a slot for the folded CPU list of a device; NULL if it names none of the node's, or the
 * node has more than any machine: a place would be looked for among all that, for each job. */
static char *near_slots(const struct group *g, size_t devices, const char *cpus)
{
    struct idset set = IDSET_INIT;
    char *near = NULL;
    int64_t slots = (int64_t)g->slots + g->spec_slots;
    bool is_machine = (int64_t)devices * slots <= LIMIT_NODE_PLACES;
    if (is_machine && !text_empty(cpus) && idset_parse(&set, cpus, LIMIT_CPUS_PER_NODE, NULL)) {
        near = xcalloc((size_t)g->slots, 1);
        bool some = false, all = true;
        for (int32_t s = 0; s < g->slots; s++) {
            near[s] = idset_has(&set, (uint32_t)(s * g->slot_cpus)) ? 1 : 0;
            some |= near[s];
            all &= near[s];
        }
        if (!some || all) {
            free(near);
            near = NULL;
        }
    }
    idset_done(&set);
    return near;
}

/* One of so many. */
static void group_device(struct cluster *cl, struct group *g, size_t devices,
                         const struct device *d)
{
    g->dev = xrealloc(g->dev, (g->ndev + 1) * sizeof g->dev[0]);
    uint32_t dim = cluster_dim(cl, d->kind, d->type);
    g->dev[g->ndev++] = (struct sdevice){.dim = dim,
                                         .kind = cl->dim.v[dim].kind,
                                         .index = d->index,
                                         .mem_mib = d->mem_mib,
                                         .near = near_slots(g, devices, d->cpus)};
    group_total(g, dim, 1);
}

/* Is the device one of those that are configured, of its type or of any? Takes it off their
 * number. */
static bool is_configured(struct gres_list *gres, const struct device *d)
{
    for (int untyped = 0; untyped < 2; untyped++)
        for (size_t i = 0; i < gres->n; i++) {
            struct gres_item *item = &gres->item[i];
            if (!text_is(item->kind, d->kind) || item->count <= 0 ||
                (item->type == NULL) != untyped ||
                (d->type && !gres_type_matches(item->type, d->type)))
                continue;
            item->count--;
            return true;
        }
    return false;
}

/* Devices of the kind that `devices` lists, of each type at most as many as configured. Returns how
 * many there were. */
static int64_t group_listed(struct cluster *cl, struct group *g, const struct device_list *devices,
                            const char *kind, const struct gres_list *gres, struct arena *a)
{
    struct gres_list left = {.item = arena_dup(a, gres->item, gres->n * sizeof *gres->item),
                             .n = gres->n};
    int64_t count = 0;
    for (size_t i = 0; i < devices->n; i++)
        if (text_is(devices->v[i].kind, kind) && is_configured(&left, &devices->v[i])) {
            group_device(cl, g, devices->n, &devices->v[i]);
            count++;
        }
    return count;
}

static uint64_t device_key(const char *kind, int32_t index)
{
    return hash_text(HASH_INIT, kind) + (uint32_t)index;
}

/* Which devices each is linked with, once all are there. A node says it, who may be anybody's: each
 * link is read once, and of more than any machine has none is, as a set is grown from each. */
static void group_links(struct group *g, const struct device_list *devices)
{
    if (g->ndev > LIMIT_LINKED_DEVICES)
        return;
    struct map_u64 *place = map_u64_new(); /* plus 1 */
    for (size_t k = 0; k < g->ndev; k++)
        map_u64_put(place, device_key(g->dev[k].kind, g->dev[k].index), (void *)(k + 1));
    for (size_t i = 0; i < devices->n; i++) {
        const struct device *said = &devices->v[i];
        struct span rest = span_of(said->links ? said->links : ""), one;
        size_t d = (size_t)map_u64_get(place, device_key(said->kind, said->index));
        for (size_t n = 0; d && n < g->ndev && rest.len > 0 && span_next(&rest, '+', &one); n++) {
            size_t k = (size_t)map_u64_get(
                place, device_key(said->kind, (int32_t)strtol(one.data, NULL, 10)));
            struct sdevice *from = &g->dev[d - 1];
            if (!k || k == d)
                continue;
            from->linked = from->linked ? from->linked : xcalloc(g->ndev, 1);
            from->linked[k - 1] = 1;
        }
    }
    map_u64_free(place);
}

static int32_t sockets_near(const struct group *g, const char *near)
{
    int32_t each = group_socket_slots(g), n = 0, last = -1;
    for (int32_t s = 0; near && s < g->slots; s++)
        if (near[s] && s / each != last) {
            last = s / each;
            n++;
        }
    return near ? n : g->sockets;
}

struct spot {
    const struct group *g;
    uint32_t dev;
};

static int compare_order(const struct spot *a, const struct spot *b)
{
    return (a->dev > b->dev) - (a->dev < b->dev);
}

static int compare_near(const struct spot *a, const struct spot *b)
{
    const char *x = a->g->dev[a->dev].near, *y = b->g->dev[b->dev].near;
    if (!x || !y)
        return (x != NULL) - (y != NULL);
    return memcmp(x, y, (size_t)a->g->slots);
}

static int by_place(const void *x, const void *y)
{
    int c = compare_near(x, y);
    return c ? c : compare_order(x, y);
}

static int by_reach(const void *x, const void *y)
{
    const struct spot *a = x, *b = y;
    int32_t p = a->g->dev[a->dev].reach, q = b->g->dev[b->dev].reach;
    return p != q ? (p > q) - (p < q) : compare_order(a, b);
}

/* Which lie together, and near how many sockets, is found out once: whoever chooses among them, for
 * each start and each request, would compare each with each, slot by slot. */
static void group_places(struct group *g)
{
    struct spot *spot = xcalloc(g->ndev + 1, sizeof spot[0]);
    for (size_t d = 0; d < g->ndev; d++) {
        spot[d] = (struct spot){g, (uint32_t)d};
        g->dev[d].reach = sockets_near(g, g->dev[d].near);
    }
    qsort(spot, g->ndev, sizeof spot[0], by_place);
    for (size_t i = 0; i < g->ndev; i++)
        g->dev[spot[i].dev].place = i > 0 && compare_near(&spot[i - 1], &spot[i]) == 0
                                        ? g->dev[spot[i - 1].dev].place
                                        : spot[i].dev;
    qsort(spot, g->ndev, sizeof spot[0], by_reach);
    g->by_reach = xcalloc(g->ndev + 1, sizeof g->by_reach[0]);
    for (size_t i = 0; i < g->ndev; i++)
        g->by_reach[i] = spot[i].dev;
    free(spot);
}

/* Is the kind among them, if only to say that there is none ("gpu:h100:0")? */
static bool is_named(const char *gres, const char *kind)
{
    struct span rest = span_of(gres ? gres : ""), item, name;
    while (span_next(&rest, ',', &item))
        if (span_next(&item, ':', &name) && span_is(name, kind))
            return true;
    return false;
}

static void group_gres(struct cluster *cl, struct group *g, const struct node *n)
{
    struct arena *a = arena_new();
    struct gres_list gres = {0};
    struct device_list devices = {0};
    if (!text_empty(n->gres))
        (void)gres_parse(n->gres, a, &gres, NULL);
    if (!text_empty(n->devices))
        (void)devices_parse(n->devices, a, &devices, NULL);
    for (size_t i = 0; i < gres.n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= text_is(gres.item[k].kind, gres.item[i].kind);
        const char *kind = gres.item[i].kind;
        int64_t configured = gres_count(&gres, kind);
        if (seen || group_listed(cl, g, &devices, kind, &gres, a) > 0)
            continue;
        /* No device is known: GPUs get the numbers 0, 1, … in the order of the list; other kinds
         * are only counted. */
        int32_t index = 0;
        for (size_t k = i; k < gres.n; k++) {
            const struct gres_item *item = &gres.item[k];
            if (!text_is(item->kind, kind))
                continue;
            bool numbered = text_is(kind, "gpu") && configured <= (int64_t)LIMIT_DEVICES_PER_NODE;
            for (int64_t c = 0; numbered && c < item->count; c++)
                group_device(cl, g, 0,
                             &(struct device){.kind = kind, .type = item->type, .index = index++});
            if (!numbered)
                group_total(g, cluster_dim(cl, kind, item->type), item->count);
        }
    }
    for (size_t i = 0; i < devices.n; i++) /* devices of kinds that Gres= does not name */
        if (!is_named(n->gres, devices.v[i].kind))
            group_device(cl, g, devices.n, &devices.v[i]);
    group_links(g, &devices);
    group_places(g);
    arena_free(a);
}

struct group *group_make(struct cluster *cl, const struct node *n, const char *key)
{
    struct group *g = xcalloc(1, sizeof *g);
    g->key = xstrdup(key);
    group_slots(cl, g, n);
    g->mem_mib = n->memory_mib - n->memory_spec_mib;
    if (g->mem_mib < 1)
        g->mem_mib = 1;
    g->tmp_disk_mib = n->tmp_disk_mib;
    g->weight = n->weight;
    g->features = xstrdup(n->features ? n->features : "");
    group_total(g, DIM_CPU, g->cpus);
    group_total(g, DIM_MEM, g->mem_mib);
    group_total(g, DIM_JOBS, JOBS_ALL);
    group_total(g, DIM_SHARE, (int64_t)g->cpus * cl->policy.share_max);
    group_gres(cl, g, n);
    return g;
}

void group_free(struct group *g)
{
    for (size_t i = 0; i < g->ndev; i++) {
        free(g->dev[i].near);
        free(g->dev[i].linked);
    }
    free(g->dev);
    free(g->by_reach);
    free(g->total);
    free(g->features);
    free(g->parts);
    free(g->key);
    free(g);
}

/* ---- what is taken ---- */

/* Which of the node's devices the i-th of what is held is: the one of its kind, type and number;
 * where there is none, that of its kind and number, whose type was given another name since.
 * SIZE_MAX = the node has it no more. */
static size_t device_held(const struct cluster *cl, const struct snode *n,
                          const struct held_gres *hg, size_t i)
{
    const struct group *g = n->group;
    size_t renamed = SIZE_MAX;
    for (size_t d = 0; d < g->ndev; d++) {
        if (g->dev[d].index != hg->index[i])
            continue;
        if (g->dev[d].dim == hg->dim)
            return d;
        if (renamed == SIZE_MAX && text_is(g->dev[d].kind, cl->dim.v[hg->dim].kind))
            renamed = d;
    }
    return renamed;
}

uint32_t held_dim(const struct cluster *cl, const struct snode *n, const struct held_gres *hg,
                  size_t i)
{
    size_t d = i < hg->nindex ? device_held(cl, n, hg, i) : SIZE_MAX;
    return d == SIZE_MAX ? hg->dim : n->group->dev[d].dim;
}

/* Of two that have it, which a store may say that was written before types were compared so, the
 * one that calls it as the node does. */
static void device_mark(const struct cluster *cl, struct snode *n, const struct held_gres *hg,
                        uint64_t job)
{
    for (size_t i = 0; i < hg->nindex; i++) {
        size_t d = device_held(cl, n, hg, i);
        if (d != SIZE_MAX && (!n->dev_job[d] || n->group->dev[d].dim == hg->dim))
            n->dev_job[d] = job;
    }
}

static void slot_mark(struct snode *n, int32_t slot, bool shares)
{
    if (!shares)
        n->load[slot] = LOAD_ALONE;
    else if (n->load[slot] < LOAD_ALONE - 1)
        n->load[slot]++;
}

/* Slots of the hold's CPUs; a slot is touched once however many of its CPUs are listed. */
static void hold_mark(const struct cluster *cl, struct snode *n, const struct hold *h)
{
    int32_t last = -1;
    for (size_t i = 0; i < h->ncpu && !h->run->suspended && !h->run->lifted; i++) {
        int32_t slot = h->cpu[i] / n->group->slot_cpus;
        if (slot != last && slot < n->group->slots)
            slot_mark(n, slot, h->run->shares);
        last = slot;
    }
    for (size_t i = 0; i < h->ngres && h->run->lifted != LIFTED_ALL; i++)
        device_mark(cl, n, &h->gres[i], h->run->job_id);
}

/* Devices that are out: those that nobody has are marked, those that somebody has do not come free
 * with him. */
static void out_mark(const struct cluster *cl, struct snode *n)
{
    struct arena *a = arena_new();
    struct device_outs out = {0};
    device_outs_parse(n->cfg->devices_out, a, &out);
    for (size_t d = 0; d < n->group->ndev && out.n > 0; d++)
        if (!n->dev_job[d] && device_outs_find(&out, n->group->dev[d].kind, n->group->dev[d].index))
            n->dev_job[d] = DEVICE_OUT;
    unproven_fill(n, &out);
    for (size_t i = 0; i < n->hold.n; i++)
        for (size_t k = 0; k < n->hold.v[i]->ngres; k++) {
            struct held_gres *g = &n->hold.v[i]->gres[k];
            g->back = g->count;
            for (size_t x = 0; x < g->nindex && out.n > 0; x++) {
                size_t d = device_held(cl, n, g, x);
                if (d != SIZE_MAX)
                    g->back -= device_outs_find(&out, n->group->dev[d].kind, g->index[x]) != NULL;
            }
        }
    arena_free(a);
}

/* Loads and devices anew from the holds on it, after its group changed. */
static void node_rebuild(const struct cluster *cl, struct snode *n)
{
    ASSERT(n->group && n->group->slots >= 0);
    n->load = xrealloc(n->load, ((size_t)n->group->slots + 1) * sizeof n->load[0]);
    n->dev_job = xrealloc(n->dev_job, (n->group->ndev + 1) * sizeof n->dev_job[0]);
    memset(n->load, 0, ((size_t)n->group->slots + 1) * sizeof n->load[0]);
    memset(n->dev_job, 0, (n->group->ndev + 1) * sizeof n->dev_job[0]);
    for (size_t i = 0; i < n->hold.n; i++) {
        hold_mark(cl, n, n->hold.v[i]);
        run_pack_drop(n->hold.v[i]->run);
    }
    if (n->has_out || !text_empty(n->cfg->devices_out))
        out_mark(cl, n);
    n->has_out = !text_empty(n->cfg->devices_out);
}

/* By that name of its type: a device whose type was called otherwise may have been given twice, by
 * an older release, and both are there. */
static bool is_held_so(const struct snode *n, uint32_t dim, int32_t index)
{
    for (size_t a = 0; a < n->hold.n; a++)
        for (size_t b = 0; b < n->hold.v[a]->ngres; b++) {
            const struct held_gres *g = &n->hold.v[a]->gres[b];
            for (size_t x = 0; g->dim == dim && x < g->nindex; x++)
                if (g->index[x] == index)
                    return true;
        }
    return false;
}

void hold_expect_free(const struct snode *n, const struct hold *h)
{
    for (size_t i = 0; i < h->ngres; i++)
        for (size_t k = 0; k < h->gres[i].nindex; k++)
            for (size_t d = 0; d < n->group->ndev; d++)
                CHECK(n->group->dev[d].dim != h->gres[i].dim ||
                      n->group->dev[d].index != h->gres[i].index[k] || !n->dev_job[d] ||
                      n->dev_job[d] == DEVICE_OUT ||
                      !is_held_so(n, h->gres[i].dim, h->gres[i].index[k]));
}

/* CPUs of a hold that the node no longer has: they count as used, so that nothing new starts until
 * they fit again. */
static int64_t cpus_beyond(const struct snode *n, const struct hold *h)
{
    int64_t beyond = 0;
    for (size_t i = 0; i < h->ncpu; i++)
        beyond += h->cpu[i] >= n->group->slots * n->group->slot_cpus;
    return beyond;
}

static void recount_hold(const struct cluster *cl, const struct snode *n, const struct hold *h,
                         int64_t *row)
{
    if (h->run->lifted == LIFTED_ALL)
        return;
    row[DIM_MEM] -= h->mem_mib;
    if (!h->run->yields && !h->run->lifted)
        row[DIM_JOBS] =
            h->run->whole || h->run->user_only ? 0 : row[DIM_JOBS] - (row[DIM_JOBS] > 0);
    if (!h->run->suspended && !h->run->lifted) {
        int64_t beyond = cpus_beyond(n, h);
        row[DIM_CPU] -= beyond;
        row[DIM_SHARE] -= beyond * cl->policy.share_max;
    }
    for (size_t i = 0; i < h->ngres; i++) {
        const struct held_gres *g = &h->gres[i];
        row[g->dim] -= g->count - (int64_t)g->nindex;
        for (size_t x = 0; x < g->nindex; x++)
            row[held_dim(cl, n, g, x)]--;
    }
}

void node_recount(struct cluster *cl, struct snode *n)
{
    ASSERT(!cl->derived.stale && n->idx < cl->node.n && cl->node.v[n->idx] == n);
    node_rebuild(cl, n);
    int64_t *row = node_free(cl, n);
    const struct group *g = n->group;
    for (size_t d = 0; d < cl->dim.n; d++)
        row[d] = d < g->ntotal ? g->total[d] : 0;
    for (int32_t s = 0; s < g->slots; s++) {
        if (n->load[s] == 0)
            continue;
        row[DIM_CPU] -= g->slot_cpus;
        int32_t load = n->load[s] == LOAD_ALONE || n->load[s] > cl->policy.share_max
                           ? cl->policy.share_max
                           : n->load[s];
        row[DIM_SHARE] -= (int64_t)g->slot_cpus * load;
    }
    for (size_t i = 0; i < n->hold.n; i++)
        recount_hold(cl, n, n->hold.v[i], row);
    for (size_t d = 0; n->has_out && d < g->ndev; d++)
        row[g->dev[d].dim] -= n->dev_job[d] == DEVICE_OUT;
}
