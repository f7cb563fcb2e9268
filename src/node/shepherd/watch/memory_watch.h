/* Memory limits where the kernel does not hold a step to them: found by looking at its
 * processes. */
#ifndef REMUDA_NODE_SHEPHERD_WATCH_MEMORY_WATCH_H
#define REMUDA_NODE_SHEPHERD_WATCH_MEMORY_WATCH_H

#include "node/step/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_watch {
    int64_t used_bytes, limit_bytes; /* when it was over */
    bool of_job;                     /* the job's limit, by all its steps here together */
};

/* Is the step, or its job on this node, over its memory, and is it for this step to end?
 * `rss_bytes`: the sum of the resident sets of its processes. Resident sets count what processes
 * share once for each of them, so the sum is looked at again with shares before it counts. The
 * step's use is left in its directory for the other steps of the job; of those the largest ends. */
bool memory_watch(struct memory_watch *w, const struct step_plan *p, int steps_fd,
                  const pid_t *pids, size_t n, int64_t rss_bytes);

#endif
