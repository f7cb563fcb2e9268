/* Inside script/: what each row of qsub says of a job, when one is written in PBS' words. */
#ifndef REMUDA_SCRIPT_PBS_WRITE_H
#define REMUDA_SCRIPT_PBS_WRITE_H

#include "script/writing.h"

// clang-format off
#define PBS_WRITERS(X)                                                                             \
    X(account)                                                                                     \
    X(array)                                                                                       \
    X(attributes)                                                                                  \
    X(begin) X(directory) X(environment) X(error) X(exclusive) X(hold) X(join) X(mail_points)      \
        X(mail_to) X(name) X(output) X(priority) X(project) X(queue) X(rerun) X(tolerant)          \
        X(torque_array) X(variables)
// clang-format on
#define X(name) void pbs_write_##name(struct writing *w, const struct option_row *row);
PBS_WRITERS(X)
#undef X

/* Of -l: the value of a resource, appended; nothing = it is left out. */
// clang-format off
#define PBS_RESOURCE_WRITERS(X)                                                                    \
    X(select) X(place) X(nodes) X(ncpus) X(gpus) X(procs) X(mem) X(pmem) X(walltime)           \
        X(file) X(qos) X(software)
// clang-format on
#define X(name) void pbs_write_##name(struct writing *w, struct str *out);
PBS_RESOURCE_WRITERS(X)
#undef X

/* Options of the job's size: what is written says all of them. */
void pbs_size_said(struct writing *w);
/* Of -l in Torque's words, which has no select. */
void pbs_write_torque_pmem(struct writing *w, struct str *out);

#endif
