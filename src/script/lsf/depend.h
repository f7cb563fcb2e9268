/* bsub -w: 'done(12) && ended("prep*")', and what of it becomes a dependency of ours. */
#ifndef REMUDA_SCRIPT_LSF_DEPEND_H
#define REMUDA_SCRIPT_LSF_DEPEND_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/job/dependency.h"

#include <stdbool.h>
#include <stddef.h>

struct lsf_condition {
    const char *type; /* "afterok" … */
    const char *job;  /* its number, or a name; a name may end in '*' */
    bool named;       /* it is a name */
    /* of "12[3]", "3"; "1,2,3" = of all of them; "*" = each element waits for its own; NULL =
     * none */
    const char *index;
    const char *compare; /* ">=3", "==all"; NULL = none */
};

struct lsf_depend {
    struct lsf_condition *v;
    size_t n;         /* conditions */
    const char *form; /* as our dependency, with a mark for each condition */
};

/* ERR_UNSUPPORTED for what there is not: post_err(), external(). */
bool lsf_depend_parse(const char *text, struct arena *a, struct lsf_depend *ret,
                      struct err *ret_err);
/* "afterok:12,afterany:7_3". ids[i] are the numbers of the jobs that condition i means, joined by
 * ':'. */
const char *lsf_depend_text(const struct lsf_depend *d, const char *const *ids, struct arena *a);
bool lsf_depend_says(const struct dependency *d); /* has LSF words for it? */
/* A dependency of ours as LSF would say it: "done(12) && exit(13,>3)"; as it is where it says
 * nothing. */
const char *lsf_depend_of(const char *dependency, struct arena *a);

#endif
