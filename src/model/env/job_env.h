/* The environment of a batch script, and of the site's programs around it: sbatch(1), OUTPUT
 * ENVIRONMENT VARIABLES. */
#ifndef REMUDA_MODEL_JOB_ENV_H
#define REMUDA_MODEL_JOB_ENV_H

#include "base/arena.h"
#include "base/str.h"
#include "model/job/alloc.h"
#include "model/job/job.h"

#include <stdbool.h>

struct job_env_part {
    const struct job *job;
    struct alloc alloc; /* read once, from the job's text */
};

struct job_env {
    const struct job *job;     /* the leader, or the job alone */
    const struct alloc *alloc; /* of job->alloc */
    /* Of a heterogeneous job all components, the leader first, for what names every host. */
    const struct job_env_part *part;
    size_t nparts;        /* components */
    bool interactive;     /* of bsub -I, qsub -I: the shell at somebody's terminal */
    const char *node;     /* the node it is for */
    const char *hostname; /* of the node it is made on */
    const char *cluster_name, *state_dir;
    const char *topology_addr, *topology_pattern; /* switches above the node; NULL = no topology */
    const char *bin_dir;                          /* directory of the commands */
    /* Of the step (found again in its processes' environment when its shepherd was lost) */
    const char *step_dir;
    const char *user, *group, *home, *shell; /* of the owner; NULL = not known */
    struct blob exported; /* what was submitted with the job: NAME=VALUE, each ended by NUL */
    bool has_gpus;        /* the node has GPUs, allocated or not */
    /* Of instances of GPUs, for CUDA_VISIBLE_DEVICES (device_name_of); NULL = numbers do. */
    const char *gpu_names;
    bool gpus_hidden; /* other jobs' GPUs cannot be seen: *_VISIBLE_DEVICES count from 0 */
};

/* Appends NAME=VALUE, each ended by NUL: what describes the job, then of the exported variables
 * those it does not replace. */
void job_env_batch(const struct job_env *e, struct str *out);
/* The hosts of a job of LSF or PBS, a line for each of its tasks, for the file its variables name;
 * nothing for a job of Slurm's. False, and nothing is written, if they are more than
 * JOB_HOSTS_MAX. */
#define JOB_HOSTS_MAX (16u << 20) /* bytes */
bool job_env_hosts(const struct job_env *e, struct str *out);
/* For the shell of salloc: what describes the allocation as a whole, nothing of a task or a
 * node. */
void job_env_allocation(const struct job_env *e, struct str *out);
/* The same of a heterogeneous job: its number and the cluster; the rest is its components'. */
void job_env_leader(const struct job_env *e, struct str *out);
/* The components for e->part, in the arena; nothing for fewer than two. */
void job_env_parts(struct job_env *e, const struct job *jobs, size_t n, struct arena *a);
/* Of a heterogeneous job's n components: each one's allocation with _HET_GROUP_i behind the names,
 * and SLURM_HET_SIZE. `like` says what they have in common; scratch memory comes from a. Nothing
 * for fewer than two. */
void job_env_components(const struct job_env *like, const struct job *jobs, size_t n,
                        struct arena *a, struct str *out);
/* For prolog and epilog: only what describes the job. context: "prolog_slurmd" or
 * "epilog_slurmd". */
void job_env_program(const struct job_env *e, const char *context, struct str *out);

#endif
