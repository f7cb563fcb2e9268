/* --constraint: Slurm's grammar over node features.
 *   expression = term { "|" term }        term = factor { "&" factor }        "," means "&"
 *   factor     = name [ "*" count ] | "(" expression ")" [ "*" count ] | "[" expression "]"
 * At most FEATURE_NAMES_MAX names. No bracket is in another. Outside brackets each node must
 * satisfy the expression by itself.
 * "[a|b]": all nodes of the job satisfy the same arm. "a*2": at least two nodes of the job satisfy
 * a. */
#ifndef REMUDA_SCHED_BOOKS_FEATURE_H
#define REMUDA_SCHED_BOOKS_FEATURE_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FEATURE_ARMS_MAX   64
#define FEATURE_COUNTS_MAX 8
#define FEATURE_NAMES_MAX  256 /* in one constraint */

struct feature_expr; /* opaque; lives in the arena it was parsed into */

struct feature_count {
    const struct feature_expr *expr;
    int32_t nodes; /* at least so many nodes of the job satisfy it */
};

/* One way to satisfy a constraint. */
struct feature_arm {
    const struct feature_expr *all[FEATURE_COUNTS_MAX]; /* each node satisfies each of them */
    size_t nall;                                        /* of `all` */
    struct feature_count count[FEATURE_COUNTS_MAX];
    size_t ncount; /* of `count` */
    /* What the counts are about, 0 = there are none: so many nodes has a job that does not say how
     * many. In brackets their sum, as each is of nodes of its own; else the largest. */
    int32_t nodes;
};

struct feature_arms {
    struct feature_arm *arm;
    size_t n; /* alternatives; the first that can be is taken */
};

/* ERR_INVALID names the place; ERR_LIMIT: too many names. An empty text gives one arm that asks
 * nothing. */
bool feature_parse(const char *text, struct arena *a, struct feature_arms *ret,
                   struct err *ret_err);
/* features: a node's, with commas; NULL = none. Counts are not looked at here: whether enough nodes
 * do is the placing's to say. */
bool feature_holds(const struct feature_expr *e, const char *features);
/* The fewest nodes that an arm's counts are about; 0 = there is one without. */
int32_t feature_nodes(const struct feature_arms *arms);
/* The part that each node must satisfy. */
bool feature_arm_holds(const struct feature_arm *arm, const char *features);
/* The feature names a constraint mentions, at most `max`; returns how many. */
size_t feature_names(const char *text, struct arena *a, const char **ret, size_t max);

#endif
