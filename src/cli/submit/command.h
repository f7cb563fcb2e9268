/* What sbatch, salloc and srun do alike with their command lines: components, options in rising
 * order of strength, what a job takes along, and Slurm's words for what the controller answers. */
#ifndef REMUDA_CLI_SUBMIT_COMMAND_H
#define REMUDA_CLI_SUBMIT_COMMAND_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/message.h"
#include "script/options/options.h"

#include <stdbool.h>
#include <stddef.h>

struct words {
    int from, to; /* of one component: its options are argv[from] … argv[to - 1] */
    int end;      /* srun: its program and arguments are argv[to] … argv[end - 1] */
};

struct submit_command {
    const char *name; /* "sbatch" */
    bool by_root;     /* it began as root, whoever it became */
    unsigned command; /* CMD_SBATCH … */
    struct arena *a;
    struct option_env env; /* variables, clock and zone that options look at */
    const char *cwd;       /* where it was called */
    int argc;              /* as main had them */
    char **argv;
    struct words words[COMPONENTS_MAX];
    size_t nwords; /* of `words`, one for each component */
    /* First word after the options (of the last component); argc = none. */
    int rest_at;
    struct submit_options *comp; /* COMPONENTS_MAX, zeroed; freed by submit_command_done */
    size_t ncomp;                /* of `comp` */
    const char *cluster;         /* set by submit_cluster_check when -M was given: name to print */
    const char *state_dir;       /* NULL = the one that is found */
};

/* Nothing is read yet; argv and the arena must outlive it. */
void submit_command_init(struct submit_command *c, const char *name, unsigned command, int argc,
                         char **argv, struct arena *a);
void submit_command_done(struct submit_command *c); /* components; texts are the arena's */

/* SLURM_EXIT_ERROR, else 1. */
int submit_exit_error(void);
/* Tells as `name` that the variable has no exit code, if it is set. */
void submit_exit_check(const char *name, const char *variable);
/* What --immediate exits with when there is nothing at once: SLURM_EXIT_IMMEDIATE, else as for any
 * error. */
int submit_exit_immediate(void);
/* Prints the error as the command's, behind Slurm's own words for it; returns what to exit with:
 * 255 for a command line that cannot be read, else submit_exit_error(). */
int submit_fail(const struct submit_command *c, const struct err *e);

/* Finds the components of the command line; the first one's options are read into `first` (zeroed),
 * for --help and the like. */
bool submit_split(struct submit_command *c, struct submit_options *first, struct err *ret_err);
/* --help, --usage, --version or --OPTION=help: prints it; true if it was one. */
bool submit_information(const struct submit_command *c, const struct submit_options *first);
/* Options of component i: variables, command line, what carries over from the one before, -F; then
 * the cross-checks. Directives of a script are in c->comp[i] already. */
bool submit_component(struct submit_command *c, size_t i, struct str *warnings,
                      struct err *ret_err);
/* All components that the command line has; prints the warnings. */
bool submit_components(struct submit_command *c, struct err *ret_err);
/* One warning a line, with `about` (a script's name, or "") before it; nothing with --quiet.
 * Empties it. */
void submit_warnings_print(const struct submit_command *c, const char *about, struct str *warnings);
/* -v: the options in force, and what came of none. */
void submit_verbose_print(const struct submit_command *c);

/* "first word word …", in the arena. */
const char *submit_joined(struct arena *a, const char *first, char *const *words);
/* What any job takes along: work directory, host, limits, umask, the line itself. */
void submit_spec_complete(struct submit_command *c, struct submit_options *o);
/* -M: this cluster by its name, or all; there are no others. */
bool submit_cluster_check(struct submit_command *c, struct err *ret_err);

/* Prints what the controller refused, in Slurm's words and ours; returns submit_exit_error(). */
int submit_refused(const struct submit_command *c, const struct msg_done *m);
/* "Job 42 to start at …" for --test-only. */
void submit_test_print(const struct submit_command *c, const struct msg_submitted *m);
/* Should the submission be tried again soon? Says so on stderr at the first try (1). */
bool submit_is_busy(const struct submit_command *c, const struct message *answer, unsigned tries);

#endif
