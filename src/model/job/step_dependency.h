/* srun --dependency in an allocation: steps wait for steps of their own job.
 * "afterok:42.3:42.4,afterany:42_7.5": all of them. */
#ifndef REMUDA_MODEL_STEP_DEPENDENCY_H
#define REMUDA_MODEL_STEP_DEPENDENCY_H

#include "base/arena.h"
#include "base/err.h"
#include "model/job/dependency.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct step_dependency {
    enum dep_kind kind; /* DEP_AFTER, DEP_AFTERANY, DEP_AFTEROK or DEP_AFTERNOTOK */
    uint64_t job_id;    /* as written: of an array element ID_TASK the array's */
    uint32_t task_id;   /* NO_TASK = none was written */
    int64_t step_id;    /* 0 or more */
};

struct step_dependency_list {
    struct step_dependency *v;
    size_t n; /* each must hold */
};

/* Does it name steps (rather than jobs)? Their numbers have a point. */
bool step_dependency_is(const char *text);
/* At most LIMIT_DEPENDENCIES. */
bool step_dependency_parse(const char *text, struct arena *a, struct step_dependency_list *ret,
                           struct err *ret_err);

#endif
