/* Limits of a partition by time of day, for the planner. */
#ifndef REMUDA_SCHED_WORLD_PART_WINDOWS_H
#define REMUDA_SCHED_WORLD_PART_WINDOWS_H

#include "sched/world/world.h"

/* May a job of the option start then as far as its size and limit go? What stands in its way, or
 * REASON_NONE. */
enum job_reason part_window_bars(const struct world *w, const struct option *o, int64_t start_us);
/* Nodes that a job which starts then may have, of so many. */
int32_t part_window_nodes(const struct world *w, const struct option *o, int64_t start_us,
                          int32_t most);
/* How long it may run then, where its limit may be shorter (--time-min). */
int64_t part_window_limit(const struct world *w, const struct option *o, int64_t limit_us,
                          int64_t start_us);
/* Appends when windows of the option's partition open and close, from the world's time on. */
void part_window_times(const struct world *w, const struct spart *part, i64_vec *at);

#endif
