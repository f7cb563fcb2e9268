/* How much of what a job had it used, as its steps tell. */
#ifndef REMUDA_CLI_RECORD_EFFICIENCY_H
#define REMUDA_CLI_RECORD_EFFICIENCY_H

#include "model/job/job.h"

#include <stdbool.h>

struct efficiency {
    int64_t ran_s;                    /* without what it was stopped */
    int64_t cpu_s, cpu_had_s;         /* CPU time used; CPUs × time */
    int64_t mem_bytes, mem_had;       /* at most; allocated, both in all. 0 = not known */
    bool mem_estimated;               /* of several tasks: the largest times their number */
    int32_t gpus;                     /* that it had */
    bool gpu_known;                   /* what its processes used of them */
    int64_t gpu_percent_s, gpu_had_s; /* percent × seconds; GPUs × seconds */
    int64_t gpu_mem_bytes;            /* at most, in all */
};

/* Of the run that the record tells of; `step`: those of many jobs, in the order of their jobs'
 * ids. */
void efficiency_of_steps(const struct step *const *step, size_t nsteps, const struct job *j,
                         int64_t now_us, struct efficiency *ret);
/* 0 where there was nothing. */
double efficiency_percent(int64_t used, int64_t had);

#endif
