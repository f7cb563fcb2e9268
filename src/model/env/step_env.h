/* The environment of a step's tasks, as far as all tasks of a node share it: srun(1), OUTPUT
 * ENVIRONMENT VARIABLES. */
#ifndef REMUDA_MODEL_STEP_ENV_H
#define REMUDA_MODEL_STEP_ENV_H

#include "model/env/job_env.h"
#include "model/message.h"

struct step_env {
    struct job_env job; /* of the job on this node */
    const struct step *step;
    const struct msg_create_step *asked; /* as its command asked for it */
    const struct alloc *layout;          /* of step->layout */
    const char *cpu_bind,
        /* "quiet,mask_cpu:", … as SLURM_CPU_BIND_TYPE and _LIST show them; NULL = none. */
        *cpu_list;
};

/* SLURM_STEP_ID of a step: a step of its own kind (STEP_BATCH, …) has Slurm's number for it. */
int64_t step_env_number(int64_t step_id);
/* Appends NAME=VALUE, each ended by NUL. */
void step_env_shared(const struct step_env *e, struct str *out);
/* What differs when n steps of as many components of a heterogeneous job run as one: the tasks and
 * nodes of all of them, in this order. Scratch memory comes from a. */
void step_env_whole(const struct job *const *jobs, const struct step *steps, size_t n,
                    struct arena *a, struct str *out);

#endif
