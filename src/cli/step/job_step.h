/* Steps that commands other than srun launch in a job that runs: a shell, a copy of a file. */
#ifndef REMUDA_CLI_STEP_JOB_STEP_H
#define REMUDA_CLI_STEP_JOB_STEP_H

#include "cli/step/run.h"
#include "cli/submit/allocation.h"

#include <stdbool.h>
#include <stdint.h>

struct job_step {
    struct arena *a;
    struct allocation al; /* the job that it runs in, had or made */
    struct job_spec spec; /* of a job that is made for it */
    struct step_ask step;
    struct step_run_ask run;
};

/* "42", "42_7" or "42+1": one job. */
bool job_step_names_job(const char *text);
/* Connects, finds the running job ("42", "42_7", "42+1"), and fills a step of `name` that shares
 * the job's resources, with this command's directory, limits and environment: of root's, where the
 * job is another's, PATH, TERM and LANG alone, and of sbcast's always. False: it was said why. */
bool job_step_open(struct job_step *s, const char *command, const char *job, const char *name,
                   struct arena *a);
/* The program and its arguments, NULL-terminated. */
void job_step_program(struct job_step *s, const char *const *argv);
/* Runs it; the exit status. */
int job_step_run(struct job_step *s);

#endif
