/* Fields of sacct: every one of --helpformat, in Slurm's order (prefixes resolve to the first that
 * fits). */
#ifndef REMUDA_CLI_RECORD_COLUMNS_ACCT_H
#define REMUDA_CLI_RECORD_COLUMNS_ACCT_H

#include "cli/table/columns.h"
#include "model/job/job.h"

/* A line of sacct: a job, or one of its steps. */
struct acct_row {
    const struct job *job;   /* of a step: the job that it is of */
    const struct step *step; /* NULL = the job itself */
};

extern const struct column_table acct_columns;
/* So many are shown by --helpformat; the rest are old names that still work. */
extern const size_t acct_columns_listed;

/* --helpformat: their names, four a line. */
void acct_help_format_print(void);

/* cell_env.more of this table. */
struct acct_env {
    const char *cluster;    /* its name, for the column of that name */
    int64_t from_us, to_us; /* --truncate; 0 = off */
    /* What AdminComment shows where there is none; NULL = nothing. */
    const struct jobstats *jobstats;
    /* acct_assoc_key → number of an association, name → number of a QOS; NULL = none is known. */
    struct map_str *assoc, *qos;
};
/* Names an association in acct_env.assoc; partition may be NULL. In the arena. */
const char *acct_assoc_key(const char *account, const char *user, const char *partition,
                           struct arena *a);
struct format;
/* Is the field of that name one of the format's? */
bool acct_shows(const struct format *f, const char *name);
/* Is it one of the format's fields? Then the controller is asked for it. */
bool acct_shows_admin_comment(const struct format *f);

/* How long it was suspended, with the suspension at hand. */
int64_t acct_suspended_us(const struct cell_env *env, const struct acct_row *row);
/* In whole seconds, without suspended ones; until now where it has not ended. Bounds of sacct -T
 * cut it. */
int64_t acct_elapsed_us(const struct cell_env *env, const struct acct_row *row);
/* As accounting has it: of a job that was ended, 0. How its script then left is the batch
 * step's. */
int32_t acct_job_exit(const struct job *j);
/* Of a job that is ending: as which it ends. A step that runs is suspended with its job. */
enum job_state acct_state(const struct acct_row *row);
/* Did it begin in this run, or in this part of it? */
bool acct_step_is_of(const struct step *step, const struct job *j);
/* The first of those that may be the job's, in n steps sorted by job and attempt; n: none. Those
 * behind it may be its own as long as job and attempt are. */
size_t acct_steps_of(const struct step *const *step, size_t n, const struct job *j);

/* What the line's job or step had: "cpu=4,mem=2G,node=1,gres/gpu=2", in the order of their numbers;
 * nothing of a job that waits. Memory in this unit, one of KMGTP; 0 = as it fits. */
void acct_tres_allocated(const struct acct_row *row, char unit, struct str *out);
/* What the line's job asked for, in the same words; nothing of a step. */
void acct_tres_requested(const struct acct_row *row, char unit, struct str *out);

#endif
