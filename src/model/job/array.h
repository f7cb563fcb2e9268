/* --array: "0-15:4,20%5". */
#ifndef REMUDA_MODEL_ARRAY_H
#define REMUDA_MODEL_ARRAY_H

#include "base/idset.h"

/* Reads indexes and the optional %limit (0 = none). Indexes above max_index are refused by name. */
bool array_parse(const char *text, uint32_t max_index, struct idset *ret_ids, uint32_t *ret_limit,
                 struct err *ret_err);
/* Indexes as Slurm writes them: runs ("0-3,7"), and "0-20:4" only where that is all of it and spans
 * more than ten. Sets with very many members are written as idset_format does. */
void array_format_tasks(const struct idset *ids, struct str *out);
/* "[0-9%4]" as squeue shows the pending rest; one that is left stands alone, unless it is all that
 * there ever was. */
void array_format_pending(const struct idset *ids, uint32_t limit, bool all, struct str *out);

/* A job as people name it in a list: ID, ID_TASK, ID_[tasks], ID+OFFSET, ID.STEP, ID_TASK.STEP. */
struct job_ref {
    uint64_t job_id;    /* of an array: the array's */
    uint32_t task_id;   /* NO_TASK = none given */
    bool has_step;      /* then step_id */
    int64_t step_id;    /* STEP_BATCH … when has_step */
    int32_t het_offset; /* -1 = none given */
    struct idset tasks; /* ID_[…]: owned; empty otherwise */
    /* ID means the very record of that number, even where it is an array's; not parsed, but set by
     * who knows. */
    bool exact;
};
/* "42", "42_7", "42_[1-5]", "42+1", "42.0"; job_ref_done frees. ERR_INVALID shows these forms. */
bool job_ref_parse(const char *text, struct job_ref *ret, struct err *ret_err);
/* The same of one of the references of a request, which share *room, LIMIT_REF_RANGES at first: see
 * idset_parse_within (ERR_LIMIT). */
bool job_ref_parse_within(const char *text, uint64_t *room, struct job_ref *ret,
                          struct err *ret_err);
void job_ref_done(struct job_ref *r); /* its indexes */

#endif
