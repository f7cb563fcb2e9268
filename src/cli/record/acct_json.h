/* sacct --json: jobs with their steps, as Slurm's data parser v0.0.40 and later describes them. */
#ifndef REMUDA_CLI_RECORD_ACCT_JSON_H
#define REMUDA_CLI_RECORD_ACCT_JSON_H

#include "cli/table/columns.h"
#include "cli/table/json_slurm.h"
#include "model/job/job.h"

/* `step` is sorted by job and attempt. env->more is a struct acct_env. */
void acct_json_print(const struct job *const *job, size_t njobs, const struct step *const *step,
                     size_t nsteps, const struct cell_env *env, enum json_form form);

#endif
