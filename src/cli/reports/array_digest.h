/* How the elements of an array ended, in a few lines. */
#ifndef REMUDA_CLI_REPORTS_ARRAY_DIGEST_H
#define REMUDA_CLI_REPORTS_ARRAY_DIGEST_H

#include "base/idset.h"
#include "base/vec.h"
#include "model/job/job.h"

/* What is asked of each element (msg_query.fields). */
#define ARRAY_DIGEST_FIELDS                                                                        \
    "id,array_job_id,array_task_id,array_pending,state,exit_status,start_us,end_us,suspended_us,"  \
    "cpu_user_us,cpu_system_us,alloc_cpus"

/* Elements that ended alike. */
struct array_end {
    uint32_t state; /* enum job_state */
    int32_t exit_status;
    struct idset tasks; /* indexes that ended so */
};

struct array_digest {
    uint64_t elements;                  /* counted so far */
    uint64_t in_state[JOB_STATE_COUNT]; /* of these */
    VEC(struct array_end) end; /* of those that did not end well, in the order in which they came */
    VEC(int64_t) ran_us;       /* of each that ran */
    int64_t longest_us;        /* run time */
    uint32_t longest;          /* its index */
    int64_t cpu_us, cpu_had_us; /* used, and had: CPUs × run time */
    uint32_t failed;            /* index of the first that failed; NO_TASK = none */
};

void array_digest_begin(struct array_digest *d); /* empty; array_digest_done frees what comes */
/* An element, or the record that stands for all that wait; one of an unknown state is left out. */
void array_digest_add(struct array_digest *d, const struct job *j);
/* Lines, none wider than that; at most 12 kinds of ends. Appended. */
void array_digest_write(struct array_digest *d, int width, struct str *out);
void array_digest_done(struct array_digest *d); /* the lists and sets */

#endif
