#include "node/hardware/machine.h"

#include <hwloc.h>
#include <unistd.h>

/* CPUs are numbered core by core as model/job/alloc.h says; hwloc's logical order is that. */
static const char *numbers_of(hwloc_topology_t t, int cpus, struct arena *a)
{
    struct str text = STR_INIT;
    for (int i = 0; i < cpus; i++)
        str_addf(&text, "%s%u", i ? "," : "",
                 hwloc_get_obj_by_type(t, HWLOC_OBJ_PU, (unsigned)i)->os_index);
    const char *result = arena_strdup(a, str_text(&text));
    str_done(&text);
    return result;
}

static void from_hwloc(struct machine *m, hwloc_topology_t t, struct arena *a)
{
    int cpus = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU);
    int cores = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_CORE);
    int sockets = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PACKAGE);
    if (cpus <= 0)
        return;
    if (cores <= 0)
        cores = cpus;
    if (sockets <= 0)
        sockets = 1;
    m->cpus = cpus;
    m->cpu_numbers = numbers_of(t, cpus, a);
    /* A container may be given odd parts of a machine; then the shape is said as one socket of
     * single-threaded cores. */
    if (cpus % cores == 0 && cores % sockets == 0) {
        m->sockets = sockets;
        m->cores_per_socket = cores / sockets;
        m->threads_per_core = cpus / cores;
    } else {
        m->sockets = 1;
        m->cores_per_socket = cpus;
        m->threads_per_core = 1;
    }
}

void discover_topology(struct machine *m, struct arena *a, struct str *remarks)
{
    hwloc_topology_t t;
    if (hwloc_topology_init(&t) == 0) {
        if (hwloc_topology_load(t) == 0)
            from_hwloc(m, t, a);
        hwloc_topology_destroy(t);
    }
    if (m->cpus > 0)
        return;
    m->cpus = sysconf(_SC_NPROCESSORS_ONLN);
    m->sockets = m->threads_per_core = 1;
    m->cores_per_socket = m->cpus;
    str_addf(remarks, "%ssockets and cores are not known: hwloc found nothing",
             remarks->len ? "; " : "");
}
