/* A script looked at instead of submitted: remuda lint, sbatch --lint, bsub -lint, qsub --lint. */
#ifndef REMUDA_CLI_SUBMIT_LINT_H
#define REMUDA_CLI_SUBMIT_LINT_H

#include "cli/submit/script.h"
#include "script/lint/lint.h"
#include "wire/json.h"

#include <stdbool.h>

/* What a job gets that nobody asked for. */
struct lint_default {
    const char *what, *value, *from; /* the option; what it is set to; by whom */
};

/* What the cluster says of it. */
struct lint_cluster {
    const char *name;    /* NULL: none was asked … */
    const char *why_not; /* … because */
    VEC(struct lint_default) defaults;
    const char *start; /* when and where it would start now; NULL = it is not known */
};

struct lint_ask {
    struct submit_script script;
    const char *cwd; /* paths of the script are below it */
    const char *state_dir;
    struct option_env env;
    struct arena *a;
    bool own; /* dialect is given; else it is found in the script */
    enum dialect dialect;
    bool by_sbatch;                 /* sbatch would read it, whosever it is */
    bool offline;                   /* no cluster is asked */
    bool run_as_command;            /* bsub FILE: its lines would not be read */
    int argc;                       /* words of the command line that beat the script; 0 = none */
    char *const *argv;              /* options of the line, as of sbatch */
    char *(*get)(const char *name); /* as getenv(3) */
};

struct lint_answer {
    const struct lint_ask *ask; /* borrowed */
    struct lint l;              /* what was looked at, and found */
    struct lint_cluster cluster;
};

/* Everything that there is to say. The caller calls lint_answer_done. */
void lint_ask(const struct lint_ask *ask, struct lint_answer *ret);
void lint_answer_done(struct lint_answer *r); /* what was found, and what the cluster presets */
/* In words; `quiet`: only what looks wrong. */
void lint_print(const struct lint_answer *r, bool quiet, struct str *out);
/* One object of the list "files" (docs/lint.md). */
void lint_json(const struct lint_answer *r, struct json_out *j);
/* Asks the cluster, if one answers. */
void lint_cluster_ask(struct lint *l, const struct lint_ask *ask, struct lint_cluster *ret);

/* The whole for a command that submits: prints, and returns what it ends with. */
int lint_for_command(const struct lint_ask *ask);

#endif
