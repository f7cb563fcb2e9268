/* --dependency: the grammar of sbatch(1).  "afterok:10:11_3,singleton" (all) or
 * "afterany:10?afterok:11" (any one). */
#ifndef REMUDA_MODEL_DEPENDENCY_H
#define REMUDA_MODEL_DEPENDENCY_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dep_kind {
    DEP_AFTER,
    DEP_AFTERANY,
    DEP_AFTEROK,
    DEP_AFTERNOTOK,
    DEP_AFTERCORR,
    DEP_SINGLETON
};

enum dep_status { DEP_OPEN, DEP_SATISFIED, DEP_FAILED };

struct dependency {
    enum dep_kind kind;
    uint64_t job_id;  /* 0 for singleton */
    uint32_t task_id; /* NO_TASK = the whole job or array */
    int64_t delay_us; /* after:ID+minutes */
    enum dep_status status;
};

struct dependency_list {
    struct dependency *v;
    size_t n;
    bool any; /* '?' between them: one suffices */
};

/* afterburstbuffer and expand are refused (ERR_UNSUPPORTED) with the reason; mixing ',' and '?' is
 * refused. What dependency_format writes is read back, with its statuses. */
bool dependency_parse(const char *text, struct arena *a, struct dependency_list *ret,
                      struct err *ret_err);
/* As squeue %E shows the open ones: "afterok:10(unfulfilled),singleton(unfulfilled)"; appended.
 * Failed ones: "(failed)". Satisfied ones are left out. */
void dependency_format(const struct dependency_list *d, struct str *out);

#endif
