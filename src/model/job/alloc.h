/* What a job holds on each of its nodes, as job.alloc carries it in one line of text:
 *   "gpu1 cpus=0-3 mem=8000 gpu=0,2; gpu2 cpus=0-3 mem=8000 gpu=1"
 * cpus are CPU numbers of the node (threads, numbered core by core: socket 0 core 0 thread 0,
 * thread 1, core 1 …); mem is MiB; any other key is a gres kind with device indexes, or with a
 * plain count as "kind=#n" when the kind has no devices; a step's mem and devices are what it may
 * use, shared or its own (step.shares). Neighbours that hold the same are written once, from four
 * of them on: "gpu[1-16] cpus=0-3 mem=8000 tasks=4 ids=0-3+4", where "+4" says that the task
 * numbers of each next node are higher by four. So a job on a thousand equal nodes is a line,
 * wherever it is sent or stored. tasks=N is the number of tasks laid out there; ids=0-3,8 are their
 * numbers in the step (steps only). */
#ifndef REMUDA_MODEL_ALLOC_H
#define REMUDA_MODEL_ALLOC_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct alloc_gres {
    const char *kind;    /* "gpu" */
    const char *type;    /* "v100"; NULL = untyped */
    int64_t count;       /* with indexes: how many */
    const char *devices; /* folded indexes "0,2-3"; NULL = counted only */
};

struct alloc_node {
    const char *node;     /* its name */
    int32_t cpu_count;    /* of `cpus` */
    const char *cpus;     /* folded CPU numbers "0-3,8"; never NULL */
    int64_t mem_mib;      /* 0 = memory is not counted */
    int32_t tasks;        /* of the job or step, there */
    const char *task_ids; /* folded; NULL = not said */
    struct alloc_gres *gres;
    size_t ngres; /* of `gres` */
};

struct alloc {
    struct alloc_node *node;
    size_t n; /* nodes, in their order */
};

/* nodes that have the same are folded */
void alloc_format(const struct alloc *al, struct str *out);
/* Everything in *ret lives in the arena. ERR_INVALID names the place. A gres is written
 * "gpu:v100=0,2". */
bool alloc_parse(const char *text, struct arena *a, struct alloc *ret, struct err *ret_err);
/* NULL = nothing of it; one by one */
const struct alloc_node *alloc_find(const struct alloc *al, const char *node);

#endif
