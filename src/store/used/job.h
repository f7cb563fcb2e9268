/* What the row of a job adds to reports: how much of what it had falls into a time. Sums over the
 * parts of a time are those over the whole, to the second. Pure. */
#ifndef REMUDA_STORE_USED_JOB_H
#define REMUDA_STORE_USED_JOB_H

#include "model/job/job.h"
#include "model/record/used.h"

#include <stdbool.h>
#include <stdint.h>

struct used_job {
    const struct job *j;
    int64_t start_s, from_s, to_s; /* begun; had what it has from … to; seconds since 1970 */
    int64_t suspended_s;           /* of that: stopped */
    int64_t planned_s;             /* might have begun; start_s = it did not wait */
    bool counts;                   /* as a run: parts of one do not */
};

/* Rows that a run left before it gave nodes back are parts. `now_us`: until when one that runs is
 * counted. False: it used nothing. */
bool used_job_init(struct used_job *u, const struct job *j, bool part, int64_t now_us);

struct used_share {
    struct used sum; /* without by whom, gres and from_us; jobs: runs that were there or began */
    int64_t ran_s;   /* by which each of its generic resources counts */
    uint64_t began;  /* of sum.jobs */
};
/* What falls into [from_s, to_s). False: nothing does. */
bool used_job_share(const struct used_job *u, int64_t from_s, int64_t to_s, struct used_share *ret);

/* The generic resources it has: fn(ctx, "gpu:v100", 4) for each, types and their sums. */
typedef void (*used_gres_fn)(void *ctx, const char *name, int64_t count);
/* fn for each kind of device that the job had, and how many. */
void used_job_gres(const struct job *j, used_gres_fn fn, void *ctx);

#endif
