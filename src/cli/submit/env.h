/* The environment a job starts with, as --export and --export-file of sbatch(1) say. */
#ifndef REMUDA_CLI_SUBMIT_ENV_H
#define REMUDA_CLI_SUBMIT_ENV_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "script/options/options.h"

#include <stdbool.h>
#include <stddef.h>

struct env_ask {
    char *const *environ;     /* of the command; NULL-terminated */
    const char *export_env;   /* --export; NULL = ALL */
    struct span file;         /* content of --export-file; data NULL = none */
    bool keep_job;            /* the variables that describe the job stay (a step of that job) */
    bool few;                 /* of `environ` what --export names, without it PATH, TERM, LANG */
    const char *const *extra; /* NAME=VALUE that the job gets in any case; NULL-terminated */
};

/* Appends NAME=VALUE entries, each ended by NUL, to `out`. Inside a job (SLURM_JOB_ID is set) the
 * variables that describe that job's own allocation are left out, so that the new job does not take
 * them for its own. ERR_INVALID: a bad --export; ERR_LIMIT. */
bool submit_env_capture(const struct env_ask *ask, struct str *out, struct err *ret_err);
/* Of a list as --export has it only what it names, as NAME=VALUE, each ended by NUL. ERR_INVALID:
 * a bad list. */
bool submit_env_named(const char *list, char *const *environ, struct str *out, struct err *ret_err);
/* This command's nice value, for SLURM_PRIO_PROCESS. */
int submit_nice(void);
/* Does the node have to make a login environment underneath (--export=NONE and lists of names)? */
bool submit_env_wants_login(const char *export_env);

#define SUBMIT_ENV_OPTIONS 6
/* NAME=VALUE of the options that programs in the job read (SLURM_OPEN_MODE, SLURM_CPU_FREQ_REQ …),
 * as many as were given, then NULL: ret has room for SUBMIT_ENV_OPTIONS and that. How many. */
size_t submit_env_options(const struct submit_options *o, unsigned command, struct arena *a,
                          const char **ret);

#endif
