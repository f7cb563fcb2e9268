/* Cores of a step, whole ones; and how many tasks they hold where no more than so many may lie on a
 * core or a socket: socket by socket, the first filled first. What a job was given may leave a task
 * its CPUs on two sockets only: it counts on one of them. */
#include "core/step/cores.h"

#include "base/alloc.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int32_t step_threads_of(const struct step_room *r)
{
    ASSERT(r->threads_per_core >= 0);
    return r->threads_per_core > 0 ? r->threads_per_core : 1;
}

void step_cores_take(const struct step_room *r, int64_t enough, struct idset *out)
{
    ASSERT(r->held);
    struct idset held = IDSET_INIT;
    uint32_t cpu, threads = (uint32_t)step_threads_of(r);
    idset_parse(&held, r->held->cpus, INT32_MAX, NULL);
    bool more = idset_first(&held, &cpu);
    while (more && (int64_t)out->count < enough) {
        uint32_t core = cpu / threads, first = cpu;
        bool whole = true;
        for (; more && cpu / threads == core; more = idset_next(&held, cpu, &cpu))
            whole &= idset_has(&r->free, cpu);
        for (uint32_t t = first; whole && t < (core + 1) * threads; t++)
            if (idset_has(&held, t))
                idset_add(out, t);
    }
    idset_done(&held);
}

/* Of one socket, or some of it. */
struct cores_of {
    int64_t cpus, cores;
};

static struct cores_of needed(const struct step_want *w, int64_t tasks)
{
    int64_t each = w->cpus_per_task > 0 ? w->cpus_per_task : 1;
    return (struct cores_of){tasks * each,
                             w->per_core ? (tasks + w->per_core - 1) / w->per_core : 0};
}

/* Where each has so many CPUs. */
static int64_t tasks_on(const struct step_want *w, struct cores_of has, int64_t tasks, int64_t each)
{
    if (w->per_socket)
        tasks = least(tasks, w->per_socket);
    if (w->per_core)
        tasks = least(tasks, has.cores * w->per_core);
    return w->overcommit ? tasks : least(tasks, has.cpus / each);
}

/* Counts the CPUs of `from` below `end`, from *cpu on, until there are enough; those join `out`.
 * *ret_more: there is one behind them, *cpu. */
static struct cores_of count(const struct step_room *r, const struct idset *from, uint64_t end,
                             const struct cores_of *enough, uint32_t *cpu, bool *ret_more,
                             struct idset *out)
{
    struct cores_of has = {0};
    uint32_t threads = (uint32_t)step_threads_of(r), core = UINT32_MAX;
    bool more = true;
    for (; more && *cpu < end; more = idset_next(from, *cpu, cpu)) {
        bool next = *cpu / threads != core;
        if (next && enough && has.cpus >= enough->cpus && has.cores >= enough->cores)
            break;
        has.cores += next;
        has.cpus++;
        core = *cpu / threads;
        if (out)
            idset_add(out, *cpu);
    }
    *ret_more = more;
    return has;
}

/* Returns how many of the tasks have room with so many CPUs each; `out`, which may be NULL, gets
 * these. */
static int64_t by_socket(const struct step_want *w, const struct step_room *r,
                         const struct idset *from, int64_t tasks, int64_t each, struct idset *out)
{
    uint64_t size =
        w->per_socket && r->cpus_per_socket > 0 ? (uint64_t)r->cpus_per_socket : UINT32_MAX;
    int64_t placed = 0;
    uint32_t cpu;
    bool more = idset_first(from, &cpu), ignored;
    while (more && placed < tasks) {
        uint64_t end = (cpu / size + 1) * size;
        uint32_t first = cpu;
        int64_t here =
            tasks_on(w, count(r, from, end, NULL, &cpu, &more, NULL), tasks - placed, each);
        struct cores_of enough = needed(w, here);
        if (out && here > 0)
            count(r, from, end, &enough, &first, &ignored, out);
        placed += here;
    }
    return placed;
}

int64_t step_cores_hold(const struct step_want *w, const struct step_room *r, int64_t tasks)
{
    ASSERT(w->per_core || w->per_socket);
    struct idset from = IDSET_INIT;
    if (w->exact)
        step_cores_take(r, INT64_MAX, &from);
    else
        idset_parse(&from, r->held->cpus, INT32_MAX, NULL);
    int64_t fit = by_socket(w, r, &from, tasks, 1, NULL);
    idset_done(&from);
    return fit;
}

void step_cores_deal(const struct step_want *w, const struct step_room *r, int64_t tasks,
                     struct idset *out)
{
    ASSERT(w->exact && (w->per_core || w->per_socket));
    struct idset from = IDSET_INIT;
    step_cores_take(r, INT64_MAX, &from);
    by_socket(w, r, &from, tasks, w->cpus_per_task > 0 ? w->cpus_per_task : 1, out);
    idset_done(&from);
}
