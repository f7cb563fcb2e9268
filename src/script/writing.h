/* A job written in the words of another system (remuda translate): what the writers of rows have
 * in common. A row of bsub or qsub that has a `write` says there what of the job it stands for;
 * what no row says has no equivalent, and is told. */
#ifndef REMUDA_SCRIPT_WRITING_H
#define REMUDA_SCRIPT_WRITING_H

#include "base/vec.h"
#include "script/dialect.h"
#include "script/options/options.h"

#include <stdbool.h>

/* What is not the same there. `option`: of sbatch, and so of the job; NULL = of none. */
struct writing_note {
    const char *option, *text;
};

/* The job as one layout: what Slurm derives from several options. */
struct writing_size {
    int32_t tasks, cpus; /* of each task */
    int32_t nodes;       /* 0 = any number of them */
    int32_t per_node;    /* tasks on each, where it is so; 0 = anyhow */
    bool whole_nodes;    /* only a number of nodes was asked for, each for itself */
};

struct writing {
    const struct submit_options *o; /* finished */
    const struct job_spec *j;
    enum dialect to;
    const struct dialect_site *site;
    const struct option_env *env;
    const char *name; /* of the script: the job's, where it has none */
    struct arena *a;
    struct writing_size size;
    struct str *out;       /* directives */
    bool said[OPTION_MAX]; /* by index of the row of sbatch */
    VEC(struct writing_note) note;
};

/* By the command line, the script or the environment; false = it has its default. */
bool writing_given(const struct writing *w, const char *option);
/* From now on the option is said, with or without a note. */
void writing_said(struct writing *w, const char *option);
/* The option is not the same there, which is told; it counts as said. */
void writing_lost(struct writing *w, const char *option, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "#BSUB -W 90": value NULL = a flag. Quotes where words are parted. False: the value cannot be
 * quoted there; nothing is written. */
bool writing_line(struct writing *w, const char *option, const char *value);
/* The same of a text that is the value of one option of sbatch, if it was given; what cannot be
 * quoted is told. */
bool writing_text(struct writing *w, const char *ours, const char *option, const char *value);
/* Fills w->size; with `tell`, what of it none but Slurm has is told. */
void writing_size_fill(struct writing *w, bool tell);

/* GPUs: of which kind of option the job's are. */
enum writing_gpus { GPUS_NONE, GPUS_PER_NODE, GPUS_PER_TASK, GPUS_OF_JOB, GPUS_OTHER };
/* *ret_type NULL = any; *ret_option: where they were asked for. OTHER: several types, other generic
 * resources: told already. */
enum writing_gpus writing_gpus_of(struct writing *w, const char **ret_type, int64_t *ret_count,
                                  const char **ret_option);
/* Words joined by one sign only: "a&b" with '&' as "a", "b". False: something else is in it. */
bool writing_words(struct writing *w, const char *text, char sign, const char *allowed,
                   struct span *ret, size_t max, size_t *ret_n);

#endif
