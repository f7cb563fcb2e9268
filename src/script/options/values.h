/* Inside script/: what setters say when they refuse, and the notation of the rows of sbatch, salloc
 * and srun. */
#ifndef REMUDA_SCRIPT_OPTION_VALUES_H
#define REMUDA_SCRIPT_OPTION_VALUES_H

#include "base/help.h"
#include "script/options/options.h"

#include <stddef.h>
#include <stdint.h>

/* A setter of one row of sbatch, salloc and srun: the same, and knows what it fills. */
// clang-format off
#define JOB_SETTER(name)                                                                                     \
    static bool name##_in(struct submit_options *o, const struct option_row *row, const char *value,         \
                          const struct option_env *env, struct arena *a, struct err *ret_err);               \
    static SETTER(name)                                                                                      \
    {                                                                                                        \
        return name##_in(to, row, value, env, a, ret_err);                                                   \
    }                                                                                                        \
    static bool name##_in(struct submit_options *o, const struct option_row *row, const char *value,         \
                          const struct option_env *env, struct arena *a, struct err *ret_err)
// clang-format on

/* "--NAME=VALUE: SENTENCE", led by Slurm's "Invalid --NAME specification"; returns false. */
bool value_refuse(const struct option_row *row, const char *value, struct err *e,
                  const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same before a sentence that is already there. */
bool value_blame(const struct option_row *row, const char *value, struct err *e);
/* The same with another lead ("error: " stands before it): Slurm has words of its own for some
 * options. */
bool value_lead(const struct option_row *row, const char *value, struct err *e,
                const char *sentence, const char *lead, ...) __attribute__((format(printf, 5, 6)));
/* The same for a value that Slurm's controller would refuse, in its words; the sentence is there
 * already. */
bool value_refused(const struct option_row *row, const char *value, struct err *e,
                   const char *slurm);
/* A number of row->min … row->max; refuses in Slurm's words. */
bool value_number(const struct option_row *row, const char *value, int64_t min, int64_t max,
                  int64_t *ret, struct err *e);
/* "4", "4k" (times 1024), "2m". */
bool value_count(const struct option_row *row, struct span text, const char *value, int64_t max,
                 int64_t *ret, struct err *e);
/* Notes that something was accepted without effect. */
void note_no_effect(struct submit_options *o, struct arena *a, const char *what, const char *why);

/* How help shows the option. */
struct help_option option_help_of(const struct option_row *row);

#define AT(member) offsetof(struct submit_options, member)
#define ENV3(suffix)                                                                               \
    {                                                                                              \
        "SBATCH_" suffix, "SALLOC_" suffix, "SLURM_" suffix                                        \
    }

/* The themes: the heading in docs/options.md, and that of --help. */
// clang-format off
#define OPTION_THEMES(X)                                                                                     \
    X(job, "The job", "Parallel run options")                                                                \
    X(time, "Time and order", "Parallel run options")                                                        \
    X(resources, "Nodes, tasks, CPUs and memory", "Consumable resources related options")                    \
    X(gpus, "GPUs and other generic resources", "GPU scheduling options")                                    \
    X(placement, "Where it runs", "Constraint options")                                                      \
    X(files, "Files and environment", "Parallel run options")                                                \
    X(command, "The command itself", "Parallel run options")                                                 \
    X(steps, "Job steps and allocations (salloc, srun)", "Parallel run options")                             \
    X(binding, "Binding, frequencies and networks", "Affinity/Multi-core options")                           \
    X(containers, "Containers (srun)", "Containers")                                                         \
    X(absent, "Services outside a cluster of Remuda", "Parallel run options")                                \
    X(help, "Help", "Help options")                                                                          \
    X(version, "Version", "Other options")
// clang-format on

#define X(theme, title, heading)                                                                   \
    extern const struct option_row options_##theme[];                                              \
    extern const size_t options_##theme##_n;
OPTION_THEMES(X)
#undef X

#endif
