/* Inside model/: how the environments of jobs, steps and programs are put together. A name that was
 * put stays: what comes later does not replace it. */
#ifndef REMUDA_MODEL_ENV_MAKER_H
#define REMUDA_MODEL_ENV_MAKER_H

#include "base/map.h"
#include "model/env/job_env.h"

struct env_maker {
    const struct job_env *e; /* the whole, of which `job` is at hand */
    const struct job *job;
    const struct alloc_node *here; /* NULL if the allocation does not name the node */
    struct map_str *set;           /* names already written */
    struct str *out;               /* "NAME=value", each ended by NUL */
};

/* The caller frees .set. */
struct env_maker env_maker_of(const struct job_env *e, struct str *out);
/* Appends NAME=VALUE with its NUL, unless that name was put before: the first stands. */
void env_put(struct env_maker *m, const char *name, const char *value);
void env_put_given(struct env_maker *m, const char *name, const char *value); /* unless empty */
void env_put_i64(struct env_maker *m, const char *name, int64_t n);           /* as decimals */
void env_put_count(struct env_maker *m, const char *name, int64_t n);         /* unless 0 */

/* Groups of variables. */
void env_put_job(struct env_maker *m);      /* its number, name, partition, account … */
void env_put_identity(struct env_maker *m); /* the same, its owner, the cluster */
void env_put_place(struct env_maker *m);    /* this node */
void env_put_array(struct env_maker *m);    /* SLURM_ARRAY_*; nothing for what is no element */
/* SLURM_JOB_START_TIME, _END_TIME, SLURM_RESTART_COUNT; seconds */
void env_put_times(struct env_maker *m);
void env_put_memory(struct env_maker *m); /* SLURM_MEM_PER_CPU or _NODE, MiB */
void env_put_tasks(struct env_maker *m);  /* SLURM_NTASKS*, SLURM_CPUS_PER_TASK and its like */
/* Was it said how many tasks there are? */
static inline bool env_tasks_asked(const struct job_request *r)
{
    return r->ntasks > 0 || r->ntasks_per_node > 0 || r->ntasks_per_gpu > 0;
}
void env_put_gpu_requests(struct env_maker *m); /* SLURM_GPUS*, as they were asked for */
void env_put_distribution(struct env_maker *m); /* SLURM_DISTRIBUTION and its parts */
/* SLURM_MEM_BIND and what goes with it: of a job; of a step, with every part. NULL: nothing. */
void env_put_mem_bind(struct env_maker *m, const char *asked);
/* SLURM_MEM_BIND_TYPE, _LIST, _PREFER */
void env_put_mem_bind_parts(struct env_maker *m, const char *asked);
void env_put_mem_bind_batch(struct env_maker *m, const char *asked); /* SBATCH_MEM_BIND … */
/* SLURM_THREADS_PER_CORE: asked for, or what the hint comes to. */
void env_put_threads(struct env_maker *m, const struct job_request *r);
/* SLURM_DISTRIBUTION and SLURM_DIST_PLANESIZE of "plane=4"; nothing of NULL. */
void env_put_spread(struct env_maker *m, const char *distribution);
/* "0,2" of the node's GPUs, appended; how many. */
int64_t env_gpu_numbers(const struct env_maker *m, const struct alloc_node *node, struct str *out);
/* CUDA_VISIBLE_DEVICES and its like: `n` GPUs; names where they have some, from 0 where the others
 * are hidden. */
void env_put_visible_devices(struct env_maker *m, const char *numbers, int64_t n);
/* Of a job of LSF or PBS: LSB_* or PBS_*, beside Slurm's; NAME=VALUE, each ended by NUL. */
void job_env_dialect(const struct job_env *e, struct str *out);
/* "2(x3),1": CPUs or tasks on each node; equal neighbours are counted. */
void env_put_per_node(struct env_maker *m, const char *name, const struct alloc *al, bool tasks);

#endif
