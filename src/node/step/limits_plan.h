/* What a step and its job may use of a node, from the settings and the allocation. Pure. */
#ifndef REMUDA_NODE_STEP_LIMITS_PLAN_H
#define REMUDA_NODE_STEP_LIMITS_PLAN_H

#include "model/job/alloc.h"
#include "model/message.h"
#include "node/step/plan.h"

/* Of the machine. */
struct limits_machine {
    int64_t memory_mib; /* 0 = not known */
    int64_t pids_max;   /* processes and threads it can have; 0 = not known */
};

/* Fills the limits of *ret. `of_job` and `of_step`: what each has on this node; of_step without
 * memory of its own has the job's. */
void limits_plan(const struct msg_node_welcome *w, const struct limits_machine *machine,
                 const struct alloc_node *of_job, const struct alloc_node *of_step,
                 struct step_plan *ret);

#endif
