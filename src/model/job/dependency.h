/* --dependency: the grammar of sbatch(1), "afterok:10:11_3,singleton" (all) or
 * "afterany:10?afterok:11" (any one), and what the other dialects need beyond it: parentheses,
 * '!' before a condition or a parenthesis, exit codes, counts of elements, and PBS's on and before.
 *
 *   expression  = and | or;  and = term {"," term};  or = term {"?" term}
 *   term        = ["!"] ( "(" expression ")" | condition )
 *   condition   = KIND ":" JOB {":" JOB} | "singleton" | "on:" COUNT
 *   JOB         = ID ["_" INDEX | "_each"] ["+" MINUTES] [("==" | "!=" | "<" | "<=" | ">" | ">=")
 *                 (NUMBER | "all")]
 *
 * A '!' before a parenthesis is moved to the conditions in it, so that a list holds conditions,
 * negated or not, below "all" and "any" alone. A list without parentheses has no form. */
#ifndef REMUDA_MODEL_DEPENDENCY_H
#define REMUDA_MODEL_DEPENDENCY_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIMIT_DEPENDENCY_DEPTH 32u /* parentheses within each other */

enum dep_kind {
    DEP_AFTER,      /* it has begun, or was cancelled before */
    DEP_AFTERANY,   /* it is over */
    DEP_AFTEROK,    /* it ended with exit code 0 */
    DEP_AFTERNOTOK, /* it ended otherwise */
    DEP_AFTERCORR,  /* afterok, element for element */
    DEP_SINGLETON,  /* no other live job of the user has its name */
    DEP_EXIT,       /* ended otherwise than well, with an exit code that compares so */
    DEP_NUMDONE,    /* of an array: elements that ended well */
    DEP_NUMENDED,   /* that are over */
    DEP_NUMEXIT,    /* that ended otherwise than well */
    DEP_NUMSTART,   /* that have begun */
    DEP_NUMRUN,     /* that run */
    DEP_NUMPEND,    /* that wait */
    DEP_NUMHOLD,    /* that are held */
    DEP_ON,         /* so many more jobs must name it with a before */
    DEP_BEFORE,     /* and the next three: the job named is to wait for this one */
    DEP_BEFOREANY,
    DEP_BEFOREOK,
    DEP_BEFORENOTOK,
};

enum dep_compare { DEP_EQ, DEP_NE, DEP_LT, DEP_LE, DEP_GT, DEP_GE };

enum dep_status { DEP_OPEN, DEP_SATISFIED, DEP_FAILED };

#define DEP_ALL (-1) /* the number: as many as the array has */

struct dependency {
    uint64_t job_id;  /* 0 for singleton and on */
    int64_t delay_us; /* after:ID+minutes */
    uint32_t task_id; /* NO_TASK = the whole job or array */
    int32_t number;   /* of exit and num…: compared with; of on: how many more */
    uint8_t kind;     /* enum dep_kind */
    uint8_t compare;  /* enum dep_compare */
    bool each;        /* of an array: each element waits for its counterpart; of aftercorr,
                       * which always means that: and the arrays must have the same size */
    bool whole;       /* of an array, all of it: written ID_* */
    bool negated;     /* must not hold */
    uint8_t status;   /* enum dep_status of it as it stands there, negated or not: what is
                     * SATISFIED stays so, what is FAILED can come right by a requeue alone */
    bool now;         /* while OPEN: it holds at the moment, and may cease to */
};

struct dependency_list {
    struct dependency *v;
    uint32_t n; /* conditions */
    bool any;   /* '?' between them, at the top of the form: one suffices */
    /* How they belong together: '&' or '|' opens a group, ')' closes it, '.' is the next condition.
     * NULL: all of them are in one. Whoever owns v owns it. */
    char *form;
};

/* afterburstbuffer and expand are refused (ERR_UNSUPPORTED) with the reason; ',' and '?' in one
 * parenthesis are refused. What dependency_format writes is read back, with its statuses. Bounds:
 * LIMIT_DEPENDENCIES, LIMIT_DEPENDENCY_DEPTH. */
bool dependency_parse(const char *text, struct arena *a, struct dependency_list *ret,
                      struct err *ret_err);
/* As squeue %E shows the open ones: "afterok:10(unfulfilled),singleton(unfulfilled)"; appended.
 * Failed ones: "(failed)". Satisfied ones are left out. */
void dependency_format(const struct dependency_list *d, struct str *out);

/* What the whole is worth, from the status and `now` of each. */
struct dep_truth {
    bool now;   /* it holds */
    bool final; /* and will for ever, or never will */
};
/* Of the whole list, by the status of its parts; an empty one is true. */
struct dep_truth dependency_truth(const struct dependency_list *d);

bool dep_compares(enum dep_compare how, int64_t a, int64_t b); /* does `a how b` hold? */
bool dep_counts(enum dep_kind kind);                           /* num… */
bool dep_is_before(enum dep_kind kind);                        /* before… */
/* Element for element, where both are arrays. */
bool dep_pairs(const struct dependency *d);
/* of a before…: what the job it names waits for. */
enum dep_kind dep_after_of(enum dep_kind before);
/* What is awaited, in words, without what is satisfied: "job 12 to end well, and (job 13 to start,
 * or more than 3 elements of job 14 to have failed)". */
void dependency_say(const struct dependency_list *d, struct str *out);
/* Each condition that is not satisfied as `one` writes it, joined by these two words, in
 * parentheses where needed. */
void dependency_write(const struct dependency_list *d, const char *and, const char * or,
                      void (*one)(const struct dependency *d, struct str *out), struct str *out);

extern const char *const dep_kind_words[]; /* "after", … by enum dep_kind */
extern const char *const dep_compare_words[];

#endif
