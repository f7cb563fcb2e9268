/* S7: tasks arrive in random order and never leave; how many of the cluster's GPUs are allocated
 * when as many were asked for. */
#ifndef REMUDA_SIM_PACKING_H
#define REMUDA_SIM_PACKING_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum packing_rule {
    PACK_BEST_FIT, /* the node with the least left over */
    /* The node that loses least capacity for the mix of tasks (after Weng et al., USENIX ATC
     * 2023) */
    PACK_LEAST_LOST
};

struct packing_result {
    double percent, deviation;  /* of GPUs allocated, over the seeds */
    size_t nodes, tasks, kinds; /* what was read: nodes with GPUs, tasks, kinds of them */
    int64_t gpus;
};

/* `nodes`: a table of nodes (machine.h). `tasks`: a table with the columns cpu_milli, memory_mib,
 * num_gpu, gpu_milli (share of the one GPU), gpu_spec (models, A|B; "" = any). Orders of arrival 1
 * … seeds. */
bool packing_run(const char *nodes, const char *tasks, enum packing_rule rule, unsigned seeds,
                 struct packing_result *ret, struct err *ret_err);

#endif
