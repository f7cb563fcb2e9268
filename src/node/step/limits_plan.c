#include "node/step/limits_plan.h"

#define WHOLE 10000 /* hundredths of a percent */

static int64_t part_of(int64_t bytes, int32_t hundredths)
{
    return bytes / WHOLE * hundredths + bytes % WHOLE * hundredths / WHOLE;
}

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t ram_limit(const struct msg_node_welcome *w, const struct limits_machine *machine,
                         int64_t mem_mib)
{
    int64_t least = w->min_ram_mib << 20,
            most = machine->memory_mib > 0 && w->max_ram > 0 && w->max_ram < WHOLE
                       ? part_of(machine->memory_mib << 20, w->max_ram)
                       : 0;
    if (mem_mib <= 0)
        return most;
    int64_t bytes = part_of(mem_mib << 20, w->allowed_ram > 0 ? w->allowed_ram : WHOLE);
    bytes = bytes > least ? bytes : least;
    return most > 0 ? least_of(bytes, most) : bytes;
}

/* Plus 1; 0 = no limit. */
static int64_t swap_limit(const struct msg_node_welcome *w, const struct limits_machine *machine,
                          int64_t mem_mib)
{
    if (!w->constrain_swap || mem_mib <= 0)
        return 0;
    int64_t bytes = part_of(mem_mib << 20, w->allowed_swap);
    if (machine->memory_mib > 0 && w->max_swap > 0 && w->max_swap < WHOLE)
        bytes = least_of(bytes, part_of(machine->memory_mib << 20, w->max_swap));
    return bytes + 1;
}

void limits_plan(const struct msg_node_welcome *w, const struct limits_machine *machine,
                 const struct alloc_node *of_job, const struct alloc_node *of_step,
                 struct step_plan *ret)
{
    int64_t job_mib = of_job ? of_job->mem_mib : 0,
            step_mib = of_step && of_step->mem_mib > 0 ? of_step->mem_mib : job_mib;
    ret->pids_max = w->pids_max > 0 ? w->pids_max : machine->pids_max / 2;
    if (!w->constrain_ram && !w->constrain_swap)
        return;
    /* Swap can be limited only together with memory: as in Slurm, ConstrainSwapSpace alone limits
     * both. */
    ret->job_mem_bytes = ram_limit(w, machine, job_mib);
    ret->mem_limit_bytes = ram_limit(w, machine, step_mib);
    ret->job_swap_bytes_plus1 = swap_limit(w, machine, job_mib);
    ret->swap_bytes_plus1 = swap_limit(w, machine, step_mib);
    ret->swappiness_plus1 = w->swappiness_plus1;
    ret->over_memory_kill = w->over_memory_kill;
}
