/* What a pass finds: starts, promised and foreseen starts, and why a class waits. It stays in the
 * plan until the next pass. */
#ifndef REMUDA_SCHED_PASS_FOUND_H
#define REMUDA_SCHED_PASS_FOUND_H

#include "sched/pass/pass.h"

/* Why the entry's class waits. The entry that came first in the order speaks; what is found in a
 * foreseen future does not count. */
void pass_note(struct pass *p, const struct entry *e, enum job_reason reason);
/* The same, of a cap that lacks room for what it would take where it would start. */
void pass_note_capped(struct pass *p, const struct entry *e, const struct lic_use *use,
                      int64_t takes);
/* Could it start if every node that is up were empty? Kept in the option until nodes come or go. */
bool pass_reachable(struct pass *p, const struct compiled *c, struct option *o);
/* The job starts now where it was placed: adds it to the plan, down to CPUs and devices, with a
 * limit in microseconds. False if single CPUs or devices are not to be had: p->refused_node says
 * where, and nothing was taken. */
bool pass_emit(struct pass *p, const struct wjob *j, const struct compiled *c,
               const struct placement *at, int64_t limit_us, uint64_t priority);

/* The job is expected to start at start_us where it was placed; `promise`: the place is kept for
 * it. A promise replaces what was foreseen in an earlier pass. */
void pass_foresee(struct pass *p, uint64_t job_id, int64_t start_us, const struct placement *at,
                  bool promise);
/* No longer so. */
void foreseen_drop(struct pass *p, const struct wjob *j);
/* A promise that is taken back was no start (plan_private.log). */
void log_unstart(struct plan_private *v, uint64_t job_id, int64_t start_us);
/* What is to start now is no longer planned. */
void planned_prune(struct plan_private *v);
/* What is planned now is `instead` (becomes its own; NULL = nothing). What was is freed later. */
void planned_replace(struct plan_private *v, struct map_u64 *instead);
/* Frees at most so much of it. */
void planned_drain(struct plan_private *v, size_t most);
/* Frees the map with all that is planned in it. NULL is fine. */
void planned_done(struct map_u64 *planned);
/* One planned start more, f.node becomes its own; a former one of the job is gone. */
void planned_put(struct map_u64 *planned, struct planned f);

#endif
