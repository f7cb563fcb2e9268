/* How much a job has, or asks for: what listings, accounting and billing count. */
#ifndef REMUDA_MODEL_JOB_COUNTS_H
#define REMUDA_MODEL_JOB_COUNTS_H

#include "model/job/job.h"
#include "model/record/priority.h"

/* Allocated, or asked for at least; 1 or more. */
int32_t job_nodes(const struct job *j);
/* What it has; while it has nothing, what it asks for. */
int32_t job_tasks(const struct job *j);
/* That it has or, before it starts, would have at least: one a node and those of its tasks. */
int32_t job_cpus(const struct job *j);
/* Allocated, or asked for, in MiB; 0 = its partition's default, which is not known here. */
int64_t job_mem_mib(const struct job *j);
/* Of "gpu" or another kind asked for in whichever way, of whatever type; of "gpu:v100" what is
 * asked for by that type. */
int64_t job_gres_asked(const struct job *j, const char *name);
/* The same of "gpu". */
int64_t job_gpus_asked(const struct job *j);
/* GPUs of all types in what a job holds (job.alloc_gres): "gpu:v100=4,nic=2" are 4. NULL: none. */
int32_t job_gpus_held(const char *gres);
/* Billing units as its record has them; its CPUs where no weights apply. */
int64_t job_billing(const struct job *j);
/* How long it was suspended, with the suspension at hand. */
int64_t job_suspended_us(const struct job *j, int64_t now_us);
/* The same since it gave nodes back last; of a run that did not, at all. */
int64_t job_part_suspended_us(const struct job *j, int64_t now_us);
/* How long it had run when it was suspended last; 0 = it never was. */
int64_t job_before_suspension_us(const struct job *j);
/* How long a step was suspended, with its job j. */
int64_t step_suspended_us(const struct step *s, const struct job *j, int64_t now_us);
/* From when on it gains priority by age; 0 = it does not. */
int64_t job_accrue_us(const struct job *j);
/* When it was submitted, however often it went back to the queue since. */
int64_t job_first_submit_us(const struct job *j);
/* The limit that it asks for, in whole seconds' µs; 0 = it gives none, or is to have none. */
int64_t job_limit_asked(const struct job_request *req);
/* What such weights (TRESBillingWeights) make of what the job has, or asks for; in thousandths,
 * 0 or more. `largest`: the largest weighted resource counts, not their sum (MAX_TRES). */
int64_t job_billing_milli(const struct job *j, const struct tres_weights *w, bool largest);

#endif
