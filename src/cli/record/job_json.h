/* squeue --json and scontrol show job --json. */
#ifndef REMUDA_CLI_RECORD_JOB_JSON_H
#define REMUDA_CLI_RECORD_JOB_JSON_H

#include "cli/table/json_slurm.h"
#include "model/job/job.h"

/* Prints the whole document. */
void job_json_print(const struct job *const *job, size_t n, const char *command,
                    enum json_form form);

#endif
