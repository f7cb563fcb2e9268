/* Inside script/: the setters the rows of the option table share, and the notation of the rows. */
#ifndef REMUDA_SCRIPT_OPTION_VALUES_H
#define REMUDA_SCRIPT_OPTION_VALUES_H

#include "script/options.h"

#include <stddef.h>
#include <stdint.h>

#define SETTER(name)                                                                                         \
    bool name(struct submit_options *o, const struct option_row *row, const char *value,                     \
              const struct option_env *env, struct arena *a, struct err *ret_err)

SETTER(set_text);    /* any text; "" takes the value back */
SETTER(set_path);    /* the same; "none" is /dev/null */
SETTER(set_flag);    /* bool = true */
SETTER(set_i32);     /* row->min … row->max */
SETTER(set_mib);     /* a memory size */
SETTER(set_span);    /* a time limit; 0 is without end when row->min is 0 */
SETTER(set_minutes); /* minutes, as --delay-boot */
SETTER(set_time);    /* a point in time, not in the past by the clock alone */
SETTER(set_hosts);   /* a host list */
SETTER(set_gpus);    /* [type:]count,… */
SETTER(set_nothing); /* nothing: the option has no effect here */
SETTER(set_yes_no);  /* enum tristate from yes and no */

/* "Invalid --NAME specification "VALUE": SENTENCE"; returns false. */
bool value_refuse(const struct option_row *row, const char *value, struct err *e, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same before a sentence that is already there. */
bool value_blame(const struct option_row *row, const char *value, struct err *e);
/* A number of row->min … row->max; refuses in Slurm's words. */
bool value_number(const struct option_row *row, const char *value, int64_t min, int64_t max, int64_t *ret,
                  struct err *e);
/* "4", "4k" (times 1024), "2m". */
bool value_count(const struct option_row *row, struct span text, const char *value, int64_t max, int64_t *ret,
                 struct err *e);
/* Notes that something was accepted without effect. */
void note_no_effect(struct submit_options *o, struct arena *a, const char *what, const char *why);

#define AT(member) offsetof(struct submit_options, member)
#define ENV3(suffix)                                                                                         \
    {                                                                                                        \
        "SBATCH_" suffix, "SALLOC_" suffix, "SLURM_" suffix                                                  \
    }

/* The themes. */
// clang-format off
#define OPTION_THEMES(X)                                                                                     \
    X(job, "The job")                                                                                        \
    X(time, "Time and order")                                                                                \
    X(resources, "Nodes, tasks, CPUs and memory")                                                            \
    X(gpus, "GPUs and other generic resources")                                                              \
    X(placement, "Where it runs")                                                                            \
    X(files, "Files and environment")                                                                        \
    X(command, "The command itself")                                                                         \
    X(steps, "Job steps and allocations (salloc, srun)")                                                     \
    X(binding, "Binding, frequencies and networks")                                                          \
    X(absent, "Services outside a cluster of Remuda")
// clang-format on

#define X(theme, title)                                                                                      \
    extern const struct option_row options_##theme[];                                                        \
    extern const size_t options_##theme##_n;
OPTION_THEMES(X)
#undef X

#endif
