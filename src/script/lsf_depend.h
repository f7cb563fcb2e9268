/* bsub -w: 'done(12) && ended("prep*")', and what of it becomes a dependency of ours. */
#ifndef REMUDA_SCRIPT_LSF_DEPEND_H
#define REMUDA_SCRIPT_LSF_DEPEND_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct lsf_condition {
    const char *type;  /* "afterok" … */
    const char *job;   /* its number, or a name; a name may end in '*' */
    bool named;        /* it is a name */
    const char *index; /* of "12[3]"; "*" = each element waits for its own; NULL = none */
};

struct lsf_depend {
    struct lsf_condition *v;
    size_t n;
    bool any; /* one suffices (||); else all */
};

/* ERR_UNSUPPORTED for what our dependencies cannot say: both && and ||, !, exit codes, num*. */
bool lsf_depend_parse(const char *text, struct arena *a, struct lsf_depend *ret,
                      struct err *ret_err);
/* "afterok:12,afterany:7_3". ids[i] are the numbers of the jobs that condition i means, joined by
 * ':'. */
const char *lsf_depend_text(const struct lsf_depend *d, const char *const *ids, struct arena *a);

#endif
