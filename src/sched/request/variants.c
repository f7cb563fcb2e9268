/* The variants of an option: each arm of the constraint × each choice of types for the untyped
 * resources (all nodes of a job get one type; where none can do, see mixes.c) × each layout, and
 * the groups of nodes on which a variant could go if they were empty. */
#include "sched/request/demand_work.h"

#include "base/alloc.h"
#include "base/amount.h"

#include <stdlib.h>
#include <string.h>

#define VARIANTS_MAX 64

/* core_spec is one more than is set aside: one core at least is left to the job. */
static bool group_meets(const struct demand_work *w, const struct group *g)
{
    const struct job_request *r = w->req;
    return (r->sockets_per_node <= 0 || g->sockets >= r->sockets_per_node) &&
           (r->cores_per_socket <= 0 || g->cores_per_socket >= r->cores_per_socket) &&
           (r->threads_per_core <= 1 || g->threads_per_core >= r->threads_per_core) &&
           (r->tmp_disk_mib <= 0 || g->tmp_disk_mib >= r->tmp_disk_mib) &&
           (r->min_cpus_per_node <= 0 || g->cpus >= r->min_cpus_per_node) &&
           (r->core_spec <= 1 || g->slots >= r->core_spec);
}

/* With --gpu-mem: have the node's devices of the types chosen so much memory? */
static bool devices_meet(const struct demand_work *w, const struct variant *v,
                         const struct group *g)
{
    for (size_t i = 0; w->req->gpu_mem_mib > 0 && i < v->ngres; i++)
        for (size_t d = 0; d < g->ndev; d++)
            if (g->dev[d].dim == v->gres[i].dim &&
                text_is(w->cl->dim.v[v->gres[i].dim].kind, "gpu") &&
                g->dev[d].mem_mib < w->req->gpu_mem_mib)
                return false;
    return true;
}

/* What comes with a GPU of the types chosen, where the partition has numbers by type: of several,
 * the most. */
static int64_t of_types(const struct demand_work *w, const struct variant *v, const char *types,
                        int64_t otherwise)
{
    int64_t most = -1;
    for (size_t i = 0; types && i < v->ngres; i++) {
        const struct dim *d = &w->cl->dim.v[v->gres[i].dim];
        int64_t n = d->is_gpu ? partition_per_type(types, d->type, otherwise) : -1;
        most = n > most ? n : most;
    }
    return most >= 0 ? most : otherwise;
}

static void variant_memory(const struct demand_work *w, const struct option *o, struct variant *v)
{
    v->gpu_mem_mib = w->req->mem_per_gpu_mib > 0
                         ? o->mem_mib
                         : of_types(w, v, o->part->p.def_mem_per_gpu_types, o->mem_mib);
}

static void variant_cpus(const struct demand_work *w, const struct option *o, struct variant *v)
{
    const struct job_request *r = w->req;
    const struct partition *p = &o->part->p;
    int32_t each = r->cpus_per_task > 0 ? r->cpus_per_task : 1;
    int64_t per_gpu = r->cpus_per_gpu > 0 ? r->cpus_per_gpu
                      : r->cpus_per_task > 0
                          ? 0
                          : of_types(w, v, p->def_cpu_per_gpu_types, p->def_cpu_per_gpu);
    int64_t base = (int64_t)v->lay.base_tasks * each, unit = (int64_t)v->lay.unit_tasks * each;
    if (r->overcommit) { /* as for one task on each node */
        base = v->lay.base_tasks > 0 || v->lay.unit_tasks > 0 ? each : 0;
        unit = 0;
    }
    int64_t base_of_gpus = amount_times(v->lay.base_gpus, per_gpu),
            unit_of_gpus = amount_times(v->lay.unit_gpus, per_gpu);
    base = base > base_of_gpus ? base : base_of_gpus;
    unit = unit > unit_of_gpus ? unit : unit_of_gpus;
    /* The CPUs that come with the GPUs do for the tasks; they are not for them on top. */
    if (v->lay.base_gpus == 0 && v->lay.unit_tasks == 0 && per_gpu > 0 &&
        base <= amount_times(unit, v->lay.umin))
        base = 0;
    v->base_cpus = base > INT32_MAX / 4 ? INT32_MAX / 4 : (int32_t)base;
    v->unit_cpus = unit > INT32_MAX / 4 ? INT32_MAX / 4 : (int32_t)unit;
}

static void gres_add(struct variant *v, struct need_gres add)
{
    size_t at = 0;
    while (at < v->ngres && v->gres[at].dim != add.dim)
        at++;
    if (at == v->ngres)
        v->gres[v->ngres++] = (struct need_gres){.dim = add.dim};
    v->gres[at].base = amount_plus(v->gres[at].base, add.base);
    v->gres[at].unit = amount_plus(v->gres[at].unit, add.unit);
}

/* Of one dimension. */
static void gres_add_all(const struct asked *k, uint32_t dim, struct variant *v)
{
    struct need_gres add = {.dim = dim};
    if (k->per == PER_NODE && v->lay.units == 0)
        add.unit = k->item.count;
    else if (k->per == PER_NODE)
        add.base = k->item.count;
    else if (k->per == PER_TASK) {
        add.base = amount_times(k->item.count, v->lay.base_tasks);
        add.unit = amount_times(k->item.count, v->lay.unit_tasks);
    } else if (v->lay.gpu_share > 0)
        add.unit = (k->item.count + v->lay.gpu_share - 1) / v->lay.gpu_share;
    gres_add(v, add);
}

static void variant_gres(const struct demand_work *w, const struct serving *chosen,
                         struct variant *v)
{
    for (size_t i = 0; i < w->nasked; i++) {
        const struct serving *c = &chosen[i];
        if (c->n == 1)
            gres_add_all(&w->asked[i], c->part[0].dim, v);
        for (size_t p = 0; c->n > 1 && p < c->n; p++)
            gres_add(v, v->lay.units == 0
                            ? (struct need_gres){c->part[p].dim, 0, c->part[p].amount}
                            : (struct need_gres){c->part[p].dim, c->part[p].amount, 0});
    }
}

/* With --gpus-per-socket: do they lie so on an empty node? */
static bool sockets_meet(const struct demand_work *w, const struct variant *v,
                         const struct group *g)
{
    int64_t asked;
    return demand_on_sockets(w->c, v, g, &asked) == asked;
}

static bool groups_find(struct demand_work *w, struct option *o, struct variant *v,
                        const struct demand_arm *arm)
{
    const struct cluster *cl = w->cl;
    bool any = false;
    v->groups = arena_alloc(w->a, BIT_WORDS(cl->group.n + 1) * sizeof v->groups[0]);
    for (size_t i = 0; i < cl->group.n; i++) {
        const struct group *g = cl->group.v[i];
        struct take t;
        if (!bit_get(g->parts, o->part->idx) || !group_meets(w, g) || !bit_get(arm->groups, i) ||
            !devices_meet(w, v, g) || !demand_take(cl, w->c, o, v, g, v->lay.umin, &t) ||
            !sockets_meet(w, v, g))
            continue;
        bit_set(v->groups, i);
        any = true;
    }
    return any;
}

static void variant_screen(const struct demand_work *w, const struct option *o, struct variant *v)
{
    int64_t cpus = INT64_MAX, mem = INT64_MAX, gres = INT64_MAX;
    v->screen.dim = v->ngres > 0 && !o->mode.whole ? v->gres[0].dim : DIM_CPU;
    for (size_t g = 0; g < w->cl->group.n; g++) {
        struct take t;
        if (!bit_get(v->groups, g))
            continue;
        demand_take(w->cl, w->c, o, v, w->cl->group.v[g], v->lay.umin, &t);
        cpus = t.cpus < cpus ? t.cpus : cpus;
        mem = t.mem_mib < mem ? t.mem_mib : mem;
    }
    if (v->screen.dim != DIM_CPU)
        gres = need_gres_for(&v->gres[0], v->lay.umin);
    v->screen.cpu = o->mode.share ? 0 : bucket_of(w->cl, DIM_CPU, cpus);
    v->screen.mem = bucket_of(w->cl, DIM_MEM, mem);
    v->screen.gres = v->screen.dim == DIM_CPU ? 0 : bucket_of(w->cl, v->screen.dim, gres);
}

bool demand_variants_full(const struct demand_work *w, const struct option *o)
{
    return o->nvariants == VARIANTS_MAX * (w->sizes.n ? w->sizes.n : 1);
}

void demand_variant_add(struct demand_work *w, struct option *o, const struct layout *lay,
                        const struct demand_arm *arm, const struct serving *chosen)
{
    if (demand_variants_full(w, o) || !demand_try(w))
        return;
    struct variant v = {.lay = *lay};
    variant_gres(w, chosen, &v);
    variant_cpus(w, o, &v);
    variant_memory(w, o, &v);
    bool any = groups_find(w, o, &v, arm);
    variant_screen(w, o, &v);
    if (!o->wish && !any)
        o->wish = arena_dup(w->a, &v, sizeof v);
    w->crowded |= any && !w->drawn && w->asked_for == VARIANTS_ALL_MAX;
    if (!any || (w->crowded && !w->drawn))
        return;
    w->asked_for += !w->drawn;
    for (size_t i = 0; i < arm->ncount; i++)
        v.count[v.ncount++] = arm->count[i];
    v.one = arena_alloc(w->a, (w->cl->group.n + 1) * sizeof v.one[0]);
    v.number = w->numbered++;
    if ((o->nvariants & (o->nvariants - 1)) == 0) { /* 0, 1, 2, 4, …: it is full */
        struct variant *more =
            arena_alloc(w->a, (o->nvariants ? 2 * o->nvariants : 1) * sizeof more[0]);
        if (o->nvariants)
            memcpy(more, o->variant, o->nvariants * sizeof more[0]);
        o->variant = more;
    }
    o->variant[o->nvariants++] = v;
}

bool demand_choice_allowed(const struct demand_work *w, const struct serving *chosen, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (text_is(w->asked[k].item.kind, w->asked[i].item.kind) &&
            chosen[k].part[0].dim != chosen[i].part[0].dim &&
            (text_empty(w->asked[k].item.type) || text_empty(w->asked[i].item.type)))
            return false;
    return true;
}

void demand_variants(struct demand_work *w, struct option *o, const struct demand_arm *arm,
                     struct serving *chosen, size_t i)
{
    ASSERT(i <= w->nasked);
    if (i == w->nasked) {
        for (size_t l = 0; l < w->nlayouts; l++)
            demand_variant_add(w, o, &w->layout[l], arm, chosen);
        return;
    }
    for (size_t k = 0; k < w->asked[i].nchoices; k++) {
        chosen[i].n = 1;
        chosen[i].part[0].dim = w->asked[i].choice[k];
        /* Types of several resources multiply: those that do not go together count, too. */
        if (demand_variants_full(w, o) || !demand_try(w))
            return;
        if (demand_choice_allowed(w, chosen, i))
            demand_variants(w, o, arm, chosen, i + 1);
    }
}
