/* Memory limits where the kernel does not hold a step to them: found by looking at its
 * processes. */
#ifndef REMUDA_NODE_SHEPHERD_WATCH_MEMORY_WATCH_H
#define REMUDA_NODE_SHEPHERD_WATCH_MEMORY_WATCH_H

#include "base/vec.h"
#include "node/step/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_watch {
    int64_t used_bytes, limit_bytes; /* when it was over */
    bool of_job;                     /* the job's limit, by all its steps here together */
};

/* What one process has, with what it shares counted in parts. */
struct memory_share {
    pid_t pid;
    uint64_t start; /* proc_start */
    int64_t bytes;
    int64_t rss; /* its resident set when that was found, or less, as it was since */
};

/* What is known of them where a sample has no time for all; all zero: nothing. */
struct memory_shares {
    VEC(struct memory_share) of; /* by pid */
    int64_t asked_ms;            /* that it took */
    uint64_t newest;             /* start of the youngest that was there in the first sample */
    unsigned doubts;             /* how often it was found out in vain */
    int64_t sum, sum_rss;        /* of all when it was last known, and their resident sets then */
};

struct memory_processes {
    const pid_t *pids;
    const uint64_t *starts;
    size_t n;
    int64_t rss_bytes; /* the sum of their resident sets */
    struct memory_shares *shares;
};

/* Is the step, or its job on this node, over its memory, and is it for this step to end? Resident
 * sets count what processes share once for each of them, so the sum is looked at again with shares
 * before it counts. The step's use is left in its directory for the other steps of the job; of
 * those the largest ends. */
bool memory_watch(struct memory_watch *w, const struct step_plan *p, int steps_fd,
                  const struct memory_processes *of);

#endif
