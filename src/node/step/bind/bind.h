/* Which CPUs, memory and GPUs each task of a step gets on this node: --cpu-bind, --mem-bind,
 * --gpu-bind and the deeper levels of --distribution. */
#ifndef REMUDA_NODE_STEP_BIND_BIND_H
#define REMUDA_NODE_STEP_BIND_BIND_H

#include "base/arena.h"
#include "base/err.h"
#include "model/job/alloc.h"
#include "model/message.h"

#include <stdbool.h>
#include <stdint.h>

struct bind_ask {
    const struct alloc_node *here; /* what the step holds here, with task_ids */
    const struct job_spec *spec;   /* what was asked */
    /* The system's number of each CPU of the node, core by core; NULL = CPUs are not kept to. */
    const char *cpu_numbers;
    int32_t threads_per_core, cores_per_socket; /* of the machine */
    const char *devices;   /* of the node, with the CPUs near them; NULL = all are near all CPUs */
    const char *gpu_names; /* of instances of GPUs (device_name_of); NULL = numbers do */
    bool gpus_hidden;      /* the step sees its own GPUs only: they are numbered from 0 */
};

struct bind_result {
    /* a line each: "NUMBER CPUS GPUS MEMORY_NODES", "-" = not said (node/step/plan.h) */
    const char *tasks;
    const char *type; /* what it came to, as SLURM_CPU_BIND_TYPE: "none", "threads", "cores", … */
    bool verbose;     /* each task says how it is bound */
};

/* Everything in *ret lives in the arena. */
void bind_tasks(const struct bind_ask *ask, struct arena *a, struct bind_result *ret);

#endif
