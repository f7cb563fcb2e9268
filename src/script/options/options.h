/* The option table of sbatch, salloc and srun, whose rows (script/options/option.h) stand
 * beside it, a file a theme: job.c, gpus.c, time.c, … Directives of scripts are read by it, too. */
#ifndef REMUDA_SCRIPT_OPTIONS_H
#define REMUDA_SCRIPT_OPTIONS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/grammar/container.h"
#include "model/message.h"
#include "script/options/option.h"

#include <stdbool.h>
#include <stddef.h>

enum command { CMD_SBATCH = 1, CMD_SALLOC = 2, CMD_SRUN = 4 };
#define CMD_ALLOC (CMD_SBATCH | CMD_SALLOC)
#define CMD_STEP  (CMD_SALLOC | CMD_SRUN)
#define CMD_ALL   (CMD_SBATCH | CMD_SALLOC | CMD_SRUN)

#define COMPONENTS_MAX 128 /* components of a heterogeneous job */

/* What srun and salloc need beside the job: how a step is launched. */
struct launch_options {
    bool async, label, unbuffered, pty, exact, whole, overlap, multi_prog, preserve_env,
        disable_status, quit_on_interrupt, interactive, no_rendezvous, wait_children;
    enum tristate kill_on_bad_exit;
    bool wait_given;
    int64_t wait_us;        /* --wait; 0 = for ever */
    int32_t relative_plus1; /* --relative, plus 1 */
    uint64_t job_id;        /* --jobid; 0 = not given */
    const char *het_group;
    const char *mpi;
    const char *bcast; /* "" = given without a path */
    const char *prolog, *epilog, *task_prolog, *task_epilog;
    bool bell, no_bell, no_shell;   /* salloc */
    int kill_command;               /* salloc: signal; 0 = none */
    struct container_ask container; /* --container-image and its kin */
};

/* What the commands themselves need, beside the job: filled by the same table. */
struct submit_options {
    struct job_spec spec; /* het jobs: one struct submit_options a component */
    const char *wrap;     /* --wrap */
    bool parsable, wait, test_only, lint, quiet, help, usage, version, ignore_pbs;
    int verbose;
    bool immediate;                    /* -I */
    int64_t immediate_us;              /* -I seconds */
    const char *clusters;              /* -M */
    const char *export_file;           /* --export-file */
    const char *nodefile;              /* -F, or a -w that names a file: the command reads it */
    const char *nodelist_file;         /* the latter; the same address as nodefile if it counts */
    const char *exclude_file;          /* a -x that names a file: likewise */
    const char *uid, *gid;             /* --uid, --gid (root only) */
    const char *get_user_env;          /* "" = given without value */
    const char *propagate;             /* --propagate as given; "" = ALL */
    const char *acctg_freq, *cpu_freq; /* as given: variables of the job */
    struct launch_options launch;
    const struct option_row *values_asked; /* --NAME=help */
    const char *no_effect;                 /* "--reboot (no power control)"; comma-separated */
    /* By index of the row: who set it, and the text that did ("" for a flag). */
    enum option_source source[OPTION_MAX];
    const char *given[OPTION_MAX];
};

size_t option_count(void); /* of all themes */
/* index < option_count(); in the order of the themes */
const struct option_row *option_at(size_t index);
size_t option_index(const struct option_row *row); /* of a row of these tables */
/* The themes of the table, for help and documentation: NULL past the last. */
const char *option_theme(size_t theme, const struct option_row **ret_rows, size_t *ret_n);
/* The heading of --help under which a theme's options stand, as Slurm's users know it; several
 * themes share one. */
const char *option_heading(size_t theme);

/* The row of that exact name; NULL if there is none. */
const struct option_row *option_named(const char *name, unsigned command);
/* Was the option of that name set, and by whom? */
enum option_source option_source_of(const struct submit_options *o, const char *name,
                                    unsigned command);

/* Sets an option if `source` is at least as strong as who set it before. value NULL = a flag, or an
 * optional value left out. ERR_UNSUPPORTED for refused ones. */
bool option_set(struct submit_options *o, const struct option_row *row, const char *value,
                enum option_source source, const struct option_env *env, struct arena *a,
                struct err *ret_err);
/* Parses the options of a command line up to the first word that is none (or after "--"), GNU
 * style: bundled and attached letters, prefixes of long names, --name=value and --name value.
 * argv[0] is skipped. *ret_rest: index of that word. */
bool options_parse_argv(struct submit_options *o, unsigned command, int argc, char *const argv[],
                        enum option_source source, const struct option_env *env, struct arena *a,
                        int *ret_rest, struct err *ret_err);
/* From the environment: getenv is the caller's. Errors name the variable. */
bool options_parse_env(struct submit_options *o, unsigned command, char *(*get)(const char *name),
                       const struct option_env *env, struct arena *a, struct err *ret_err);
/* Heterogeneous jobs: gives `o` every job-wide option of the component before that it has not set
 * itself. */
bool options_carry_over(struct submit_options *o, const struct submit_options *before,
                        const struct option_env *env, struct arena *a, struct err *ret_err);
/* Cross-checks and derived values once everything is in (ntasks from nodes, --gres with
 * --gpus-per-node merged or refused, kinds of memory exclusive …). Remarks that people should see
 * on stderr, one a line, are appended to `warnings`. */
bool options_finish(struct submit_options *o, unsigned command, struct arena *a,
                    struct str *warnings, struct err *ret_err);

/* " --ntasks=4 --time=90": the options that are set, as the command would be given them. */
void options_write_words(const struct submit_options *o, unsigned command, struct str *out);
/* `sbatch --help` and `--usage`. */
void options_write_help(unsigned command, struct str *out);
/* the lines of --usage; `command` is one bit */
void options_write_usage(unsigned command, struct str *out);
/* What --NAME=help prints. */
void options_write_values(const struct option_row *row, struct str *out);
/* The head of docs/options.md: every option of the three commands and what Remuda does with it. */
void options_write_markdown(struct str *out);

#endif
