/* What sbatch, bsub and qsub do alike once the options of their scripts are read: the records of
 * the jobs, the environment, the submission, the wait for the end. */
#ifndef REMUDA_CLI_SUBMIT_BATCH_H
#define REMUDA_CLI_SUBMIT_BATCH_H

#include "cli/submit/command.h"
#include "cli/submit/script.h"
#include "io/client/client.h"

#include <stdbool.h>

#define BATCH_ENV_MAX 24

struct submit_batch {
    struct submit_command line; /* the command line, read */
    struct submit_script script;
    char *const *args;              /* of the script; NULL-terminated */
    const char *env[BATCH_ENV_MAX]; /* NAME=VALUE, beside what --export lets through */
    size_t nenv;                    /* variables to be sent */
    /* --quiet on the command line: of a directive the number is printed all the same */
    bool silent;
};

/* The jobs of all components, in the arena; NULL: ret_err says why not. */
struct job_spec *batch_specs(struct submit_batch *b, struct err *ret_err);
/* The environment that goes with them, appended. */
bool batch_env(struct submit_batch *b, struct str *out, struct err *ret_err);
/* Gives `env` to this process, for a job that runs at this terminal. */
void batch_env_export(const struct submit_batch *b);
/* Sends it over `c`, again while the controller is busy. The answer is SUBMITTED or DONE. */
bool batch_send(struct submit_batch *b, struct client *c, const struct msg_submit *m,
                struct message *ret_answer, struct err *ret_err);
/* Waits for the end of the job, through restarts of the controller; closes `c`. NULL: it cannot be
 * learned. */
const struct msg_job_ended *batch_wait(struct submit_batch *b, struct client *c, uint64_t job_id);
/* Lines for the user, each after the name of the command, to standard error; none is left. */
void submit_warnings_say(const char *command, struct str *warnings);

#endif
