/* Which GPUs of a step each of its tasks on a node sees: --gpu-bind, --gpus-per-task and
 * --ntasks-per-gpu. */
#ifndef REMUDA_NODE_STEP_BIND_GPUS_H
#define REMUDA_NODE_STEP_BIND_GPUS_H

#include "base/idset.h"
#include "base/str.h"
#include "base/vec.h"
#include "node/step/bind/bind.h"
#include "node/step/bind/lists.h"

#include <stddef.h>
#include <stdint.h>

enum gpu_way { GPU_WAY_NONE, GPU_WAY_SINGLE, GPU_WAY_PER_TASK, GPU_WAY_CLOSEST, GPU_WAY_LIST };

/* What was asked, read once for all tasks. Begins as {0}; gpu_binding_done frees it. */
struct gpu_binding {
    /* In the order of their numbers, in which those that are left over are counted; an allocation
     * has them type by type. */
    VEC(uint32_t) gpu;
    /* As CUDA is to be told of each: by name where it has one, else by its number, which counts
     * from 0 where the others are hidden. */
    VEC(char *) name;
    /* Of each GPU: the CPUs that are near it; none = not known. By the system's numbers where CPUs
     * are kept to. */
    VEC(struct idset) near;
    enum gpu_way way;
    size_t share; /* tasks a GPU (single), GPUs a task (per_task) */
    struct bind_list list;
};

/* `system`: the system's number of each CPU of the node; `tasks`: how many the step has here. */
void gpu_binding_read(struct gpu_binding *g, const struct bind_ask *ask, const bind_numbers *system,
                      size_t tasks);
/* Appends those of the index-th task on the node, "0,1", and returns how many; 0: it sees all.
 * `cpus`: the task's, the step's if it is not bound. */
size_t gpu_binding_task(const struct gpu_binding *g, size_t index, const struct idset *cpus,
                        struct str *out);
void gpu_binding_done(struct gpu_binding *g); /* empty again */

#endif
