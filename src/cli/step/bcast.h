/* A file to the nodes of a job: sbcast, srun --bcast. */
#ifndef REMUDA_CLI_STEP_BCAST_H
#define REMUDA_CLI_STEP_BCAST_H

#include "cli/step/run.h"
#include "cli/submit/allocation.h"

struct bcast_ask {
    const char *from, *to; /* `to` as the nodes see it; relative to the step's work directory */
    bool force, preserve, quiet; /* of options without a value */
    const char *refused_as;      /* as in struct step_run_ask */
    int refused_status;          /* what to end with where the controller refuses */
};

/* `step` says on which nodes, with one task each, and with which environment; its program is filled
 * in. The exit status: 0 = it is everywhere; what went wrong was said. */
int bcast_run(struct allocation *al, struct step_ask *step, const struct bcast_ask *ask);

#endif
