/* Licences as a request names them. */
#ifndef REMUDA_SCHED_BOOKS_LIMITS_LICENCES_H
#define REMUDA_SCHED_BOOKS_LIMITS_LICENCES_H

#include "base/arena.h"
#include "sched/books/state.h"

struct licence_list {
    struct lic_use *v; /* in the arena; each licence once */
    size_t n;          /* in the order of the text */
};

/* "matlab:2,ansys" (NULL or "" = none). False at the first that is malformed, that the cluster does
 * not have or has not so many of: *ret_wrong is a sentence in the arena then, and *ret holds those
 * before it. */
bool licences_find(const struct cluster *cl, const char *text, struct arena *a,
                   struct licence_list *ret, const char **ret_wrong);

#endif
