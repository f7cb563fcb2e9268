/* S7: tasks arrive in random order and never leave; how many of the cluster's GPUs are allocated when as many were asked for. */
#ifndef REMUDA_SIM_PACKING_H
#define REMUDA_SIM_PACKING_H

#include "base/err.h"

#include <stdbool.h>

enum packing_rule {
    PACK_BEST_FIT, /* the node with the least left over */
    PACK_FGD       /* the node that loses least capacity for the mix of tasks (after Weng et al., USENIX ATC 2023) */
};

struct packing_result {
    double percent, deviation; /* of GPUs allocated, over the seeds */
};

/* Reads openb-nodes.csv.gz and openb-pods-default.csv.gz in the folder. */
bool packing_run(const char *folder, enum packing_rule rule, unsigned seeds, struct packing_result *ret,
                 struct err *ret_err);

#endif
