/* The option table of sbatch, salloc and srun: the only description of each option. getopt, directives of three dialects, environment
 * variables, help texts, the manual page, the support matrix (docs/options.md) and refusals come from it. */
#ifndef REMUDA_SCRIPT_OPTIONS_H
#define REMUDA_SCRIPT_OPTIONS_H

#include "base/arena.h"
#include "base/civil.h"
#include "base/err.h"
#include "model/message.h"

#include <stdbool.h>
#include <stddef.h>

enum command { CMD_SBATCH = 1, CMD_SALLOC = 2, CMD_SRUN = 4 };

enum support {
    SUPPORT_HONOURED,
    SUPPORT_NO_EFFECT, /* accepted; reported in the job's system_comment (and by sbatch -v), because nothing comes of it */
    SUPPORT_REFUSED,   /* "not supported yet: --burst-buffer (…)" */
};

enum option_arg { ARG_NONE, ARG_REQUIRED, ARG_OPTIONAL /* attached only: -I5, --exclusive=user; never the next word */ };

/* Who gave a value; a higher one beats a lower one. */
enum option_source { FROM_DEFAULT, FROM_DIRECTIVE, FROM_ENVIRONMENT, FROM_COMMAND_LINE };

/* What the commands themselves need, beside the job: filled by the same table. */
struct submit_options {
    struct job_spec spec;      /* het jobs: one struct submit_options a component */
    const char *wrap;          /* --wrap */
    bool parsable, wait, test_only, quiet, help, usage, version, ignore_pbs;
    int verbose;
    bool immediate;            /* -I */
    int64_t immediate_us;      /* -I seconds */
    const char *clusters;      /* -M */
    const char *export_file;   /* --export-file */
    const char *uid, *gid;     /* --uid, --gid (root only) */
    const char *get_user_env;  /* "" = given without value */
    const char *propagate;     /* --propagate as given; "" = ALL */
    const char *no_effect;     /* names of options accepted without effect, comma-separated */
    enum option_source source[256]; /* by index in option_table: who set it */
    /* srun, salloc (Part 3) add their own below */
};

struct option_env;

struct option_row {
    const char *name;          /* long name, without -- */
    const char *const *alias;  /* other long names ("tasks-per-node"), NULL-terminated; NULL = none */
    char letter;               /* 0 = none */
    enum option_arg arg;
    unsigned commands;         /* bits of enum command */
    enum support support;
    const char *env;           /* variable without prefix: "TIMELIMIT" → SBATCH_TIMELIMIT, SALLOC_…, SLURM_…; NULL = none */
    const char *metavar;       /* "minutes" */
    const char *doc;           /* one line of --help */
    const char *why;           /* NO_EFFECT, REFUSED: the reason and the nearest thing that works */
    bool (*set)(struct submit_options *o, const char *value, const struct option_env *env, struct arena *a, struct err *ret_err);
};
/* What value parsers may need to know; given by the caller, so that this library stays pure. */
struct option_env {
    int64_t now_us;
    const struct civil_zone *zone;
    const char *cwd;
    const char *user;
};
extern const struct option_row option_table[];
extern const size_t option_count;

/* Finds a long option: exact, else an unambiguous prefix. Error text lists the candidates or the nearest name. */
const struct option_row *option_find(const char *name, unsigned command, struct err *ret_err);
/* Sets an option if `source` is at least as strong as who set it before. ERR_UNSUPPORTED for refused ones. */
bool option_set(struct submit_options *o, const struct option_row *row, const char *value, enum option_source source, const struct option_env *env,
                struct arena *a, struct err *ret_err);
/* Parses the options of a command line up to the first word that is none (or "--"), GNU style: bundled and attached letters, prefixes of long names,
 * --name=value and --name value. Returns the index of that word in *ret_rest. */
bool options_parse_argv(struct submit_options *o, unsigned command, int argc, char *const argv[], enum option_source source, const struct option_env *env,
                        struct arena *a, int *ret_rest, struct err *ret_err);
/* From the environment: getenv is the caller's. */
bool options_parse_env(struct submit_options *o, unsigned command, const char *(*get)(const char *name), const struct option_env *env, struct arena *a,
                       struct err *ret_err);
/* Cross-checks and derived values once everything is in (ntasks from nodes, --gres with --gpus-per-node merged or refused, mem kinds exclusive …). */
bool options_finish(struct submit_options *o, unsigned command, struct arena *a, struct err *ret_err);

#endif
