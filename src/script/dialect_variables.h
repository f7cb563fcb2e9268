/* What a job finds in its environment, by the names that Slurm, LSF and PBS have for it. */
#ifndef REMUDA_SCRIPT_DIALECT_VARIABLES_H
#define REMUDA_SCRIPT_DIALECT_VARIABLES_H

#include "base/str.h"
#include "model/job/job.h"

#include <stdbool.h>
#include <stddef.h>

/* When the names of a row mean the same to the letter. */
enum same_when {
    SAME_ALWAYS,
    SAME_IN_ARRAYS,  /* of elements of arrays */
    SAME_BUT_ARRAYS, /* of other jobs */
    SAME_ONE_CPU,    /* where each task has one CPU */
    SAME_NEVER,      /* alike, in another form */
};

struct dialect_variable {
    const char *name[3]; /* by enum dialect; of PBS that of Pro; NULL = none */
    const char *torque;  /* where Torque's is another */
    enum same_when same;
    bool pbs_differs;   /* … and then only between Slurm and LSF */
    const char *remark; /* what differs where they are not the same; NULL = nothing */
};

/* NULL past the last. */
const struct dialect_variable *dialect_variable_at(size_t i);
/* The row that has the name for `of`; NULL: none has. */
const struct dialect_variable *dialect_variable_named(struct span name, enum dialect of,
                                                      bool array);
/* What the row is called there; NULL = it has no name there. */
const char *dialect_variable_in(const struct dialect_variable *v, enum dialect d, bool torque);
/* Whose variable it is, by how it begins: LSB_, LS_, PBS_, SLURM_. False: nobody's. */
bool dialect_of_variable(struct span name, enum dialect *ret);
/* The next "$NAME" or "${NAME" in the text from *at on; *at: behind it. */
bool dialect_variable_next(struct span text, size_t *at, struct span *ret);

#endif
