/* What keeps a job of a pass from starting now. Three kinds, asked in this order: a limit that it
 * is held to (it is not tried, and not promised a start, until others end), its own deadline, and,
 * for one that was tried in vain, what was lacking. Limits of users, accounts and QOS belong to the
 * first. */
#ifndef REMUDA_SCHED_PASS_BARS_H
#define REMUDA_SCHED_PASS_BARS_H

#include "sched/pass/pass.h"

/* The limit that holds it at the world's time, whatever is free; REASON_NONE = none does. In the
 * future those count of whom it is foreseen that they run then. */
enum job_reason entry_held_by(struct pass *p, const struct entry *e);
/* Nothing but lack of room on nodes, or of licences, can keep it. */
bool entry_lacks_room_only(struct pass *p, const struct entry *e);
/* The job for whose sake it leaves to others what it could have; 0 = it need not. Its user holds
 * more than a quarter of the cluster, that job, of another user, is the head of its partition, and
 * it asks at least twice as long as that one and may run into its promised start (order=ageing, at
 * present only). Nodes are not looked at. Who was promised something, is the oldest, may stop other
 * work or had some stopped for it, and components of heterogeneous jobs, never need to. */
uint64_t entry_yields_to(const struct pass *p, const struct entry *e);
/* A cap (cluster.h) that leaves nothing for it, at the world's time; REASON_NONE = none does. It is
 * not promised a start: others of its account or QOS end first, which the forecast sees. */
enum job_reason entry_capped_by(struct pass *p, const struct entry *e);
/* It cannot end before its deadline any more. */
bool entry_too_late(const struct pass *p, const struct entry *e);
/* How long it may run if it starts at start_us: limit_us, or until its deadline where that is
 * sooner and leaves the shortest limit it takes. */
int64_t entry_limit(const struct entry *e, int64_t limit_us, int64_t start_us);
/* Why it did not start: never REASON_NONE. */
enum job_reason entry_blocked_by(struct pass *p, const struct entry *e);

#endif
