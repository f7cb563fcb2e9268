/* What units take from a node. The hot part of the planner: for layouts of one unit a node, which
 * most are, the answer is kept by group. */
#include "base/alloc.h"
#include "base/amount.h"
#include "sched/request/demand.h"

static void take_add(struct take *t, uint32_t dim, int64_t amount)
{
    if (amount > 0)
        t->use[t->n++] = (struct use){dim, amount};
}

/* With MaxMemPerCPU a job that wants more memory for a CPU gets more CPUs, as in Slurm. */
static int64_t cpus_for_memory(const struct option *o, const struct variant *v,
                               const struct group *g, int32_t units, int64_t cpus)
{
    int64_t mem = 0;
    if (o->max_mem_per_cpu_mib <= 0)
        return cpus;
    if (o->mem == MEM_NODE)
        mem = o->mem_mib;
    else if (o->mem == MEM_WHOLE)
        mem = g->mem_mib;
    else if (o->mem == MEM_CPU)
        mem = amount_times(o->mem_mib, cpus);
    else if (o->mem == MEM_GPU)
        mem = amount_times(v->gpu_mem_mib,
                           amount_plus(v->lay.base_gpus, amount_times(v->lay.unit_gpus, units)));
    int64_t needed = (mem + o->max_mem_per_cpu_mib - 1) / o->max_mem_per_cpu_mib;
    return needed > cpus ? needed : cpus;
}

/* CPUs of a slot that tasks may have. */
static int32_t slot_usable(const struct job_request *r, const struct group *g)
{
    int32_t threads = r->hint == HINT_NOMULTITHREAD ? 1 : r->threads_per_core;
    return threads > 0 && threads < g->slot_cpus ? threads : g->slot_cpus;
}

static int64_t up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

int64_t demand_slots_together(const struct job_request *r, const struct group *g, int64_t tasks)
{
    ASSERT(tasks >= 0 && g->slot_cpus > 0);
    int64_t each = r->cpus_per_task > 0 ? r->cpus_per_task : 1;
    int64_t cpus = r->overcommit && tasks > 0 ? each : amount_times(tasks, each);
    int64_t slots = up(cpus, slot_usable(r, g));
    if (r->ntasks_per_core > 0 && amount_times(slots, r->ntasks_per_core) < tasks)
        slots = up(tasks, r->ntasks_per_core);
    return slots;
}

int64_t demand_slots_on_sockets(const struct job_request *r, const struct group *g, int64_t tasks)
{
    ASSERT(r->ntasks_per_socket > 0);
    int64_t full = demand_slots_together(r, g, r->ntasks_per_socket);
    return amount_plus(amount_times(tasks / r->ntasks_per_socket, full),
                       demand_slots_together(r, g, tasks % r->ntasks_per_socket));
}

/* CPUs that the request itself needs; who takes whole nodes gets more. */
static int64_t cpus_asked(const struct compiled *c, const struct option *o, const struct variant *v,
                          const struct group *g, int32_t units)
{
    const struct job_request *r = c->req;
    int64_t cpus = v->base_cpus + (int64_t)v->unit_cpus * units;
    int64_t tasks = v->lay.base_tasks + (int64_t)v->lay.unit_tasks * units;
    if (cpus < r->min_cpus_per_node)
        cpus = r->min_cpus_per_node;
    cpus = cpus_for_memory(o, v, g, units, cpus);
    int64_t slots = up(cpus, slot_usable(r, g));
    if (r->ntasks_per_core > 0 && amount_times(slots, r->ntasks_per_core) < tasks)
        slots = up(tasks, r->ntasks_per_core);
    if (r->ntasks_per_socket > 0 && slots < demand_slots_on_sockets(r, g, tasks))
        slots = demand_slots_on_sockets(r, g, tasks);
    return amount_times(slots > 0 ? slots : 1, g->slot_cpus);
}

static int64_t take_memory(const struct option *o, const struct variant *v, const struct group *g,
                           int64_t cpus, int64_t gpus)
{
    switch (o->mem) {
    case MEM_NONE: return 0;
    case MEM_NODE: return o->mem_mib;
    case MEM_CPU:
        return o->max_mem_per_cpu_mib > 0 && o->mem_mib > o->max_mem_per_cpu_mib
                   ? amount_times(o->max_mem_per_cpu_mib, cpus)
                   : amount_times(o->mem_mib, cpus);
    case MEM_GPU: return amount_times(v->gpu_mem_mib, gpus);
    case MEM_WHOLE: /* all that a job may have */
        return o->max_mem_per_node_mib > 0 && o->max_mem_per_node_mib < g->mem_mib
                   ? o->max_mem_per_node_mib
                   : g->mem_mib;
    case MEM_SHARE: return amount_times(g->mem_mib, cpus) / g->cpus;
    }
    return 0;
}

/* A job that has the node to itself must have as many GPUs as it asked for; that it gets all that
 * are whole is exact.c's affair. So it starts where one is broken. */
static int64_t need_of(const struct variant *v, uint32_t dim, int32_t units)
{
    for (size_t i = 0; i < v->ngres; i++)
        if (v->gres[i].dim == dim)
            return need_gres_for(&v->gres[i], units);
    return 0;
}

bool demand_take(const struct cluster *cl, const struct compiled *c, const struct option *o,
                 const struct variant *v, const struct group *g, int32_t units, struct take *ret)
{
    ASSERT(units > 0 && g->sockets > 0);
    const struct partition *p = &o->part->p;
    int64_t most = part_cpus_most(p, g) < g->cpus ? part_cpus_most(p, g) : g->cpus;
    int64_t cpus = cpus_asked(c, o, v, g, units), gpus = 0;
    int64_t tasks = v->lay.base_tasks + (int64_t)v->lay.unit_tasks * units;
    bool fits = cpus <= most;
    if (c->req->ntasks_per_socket > 0 && tasks > (int64_t)c->req->ntasks_per_socket * g->sockets)
        fits = false;
    if (o->mode.whole)
        cpus = most;
    *ret = (struct take){.tasks = v->lay.base_tasks + v->lay.unit_tasks * units,
                         .cpus = (int32_t)(cpus < INT32_MAX ? cpus : INT32_MAX)};
    if (cl->policy.share_max > 1)
        take_add(ret, DIM_SHARE, o->mode.share ? cpus : amount_times(cpus, cl->policy.share_max));
    if (!o->mode.share)
        take_add(ret, DIM_CPU, cpus);
    take_add(ret, DIM_JOBS, o->mode.whole || o->mode.user_only ? JOBS_ALL : 1);
    for (size_t i = 0; i < v->ngres; i++) {
        const struct need_gres *need = &v->gres[i];
        int64_t count = need_gres_for(need, units),
                has = need->dim < g->ntotal ? g->total[need->dim] : 0;
        fits &= count <= has;
        if (cl->dim.v[need->dim].is_gpu)
            gpus = amount_plus(gpus, count);
        if (!o->mode.whole)
            take_add(ret, need->dim, count);
    }
    for (uint32_t d = DIM_GRES; o->mode.whole && d < g->ntotal && ret->n < NEEDS_MAX - 1; d++)
        take_add(ret, d, cl->dim.v[d].is_gpu ? need_of(v, d, units) : g->total[d]);
    ret->mem_mib = take_memory(o, v, g, cpus, gpus);
    take_add(ret, DIM_MEM, ret->mem_mib);
    return fits && ret->mem_mib <= g->mem_mib &&
           (o->max_mem_per_node_mib <= 0 || (o->mode.whole && o->mem == MEM_SHARE) ||
            ret->mem_mib <= o->max_mem_per_node_mib);
}

static bool units_fit(const struct cluster *cl, const struct compiled *c, const struct option *o,
                      const struct variant *v, const struct group *g, int32_t units,
                      const int64_t *row)
{
    struct take t;
    return demand_take(cl, c, o, v, g, units, &t) && take_fits(&t, row);
}

const struct take *take_least(const struct cluster *cl, const struct compiled *c,
                              const struct option *o, struct variant *v, const struct group *g)
{
    ASSERT(bit_get(v->groups, g->idx) && v->lay.umin > 0);
    if (!v->one[g->idx]) {
        struct take *t = arena_alloc(c->arena, sizeof *t);
        CHECK(demand_take(cl, c, o, v, g, v->lay.umin, t)); /* the group is one of v->groups */
        v->one[g->idx] = t;
    }
    return v->one[g->idx];
}

int32_t demand_cap(const struct cluster *cl, const struct compiled *c, const struct option *o,
                   struct variant *v, const struct group *g, const int64_t *row)
{
    ASSERT(v->lay.umin > 0 && v->lay.umin <= v->lay.umax);
    if (!take_fits(take_least(cl, c, o, v, g), row))
        return 0;
    int32_t low = v->lay.umin, high = v->lay.umax;
    while (low < high) { /* more units never take less */
        int32_t middle = low + (high - low + 1) / 2;
        if (units_fit(cl, c, o, v, g, middle, row))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}
