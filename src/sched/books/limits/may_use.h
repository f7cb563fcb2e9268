/* Who may use a partition. */
#ifndef REMUDA_SCHED_BOOKS_LIMITS_MAY_USE_H
#define REMUDA_SCHED_BOOKS_LIMITS_MAY_USE_H

#include "model/job/job.h"
#include "model/record/partition.h"
#include "model/refusal.h"

struct applicant {
    uint32_t uid;       /* whose job it is */
    const char *groups; /* names, comma-separated; NULL = not known: groups are not looked at */
};

/* May such a job be queued there? `detail` gets a sentence if not. A job without account or QOS is
 * not held to the lists that deny some, and is kept out by lists that allow some. `req` NULL:
 * whatever job it is. */
struct str;
/* req NULL = only who and the partition's state matter. detail gets the sentence of the refusal. */
enum refusal may_use_partition(const struct partition *p, const struct job_request *req,
                               const struct applicant *who, struct str *detail);
#endif
