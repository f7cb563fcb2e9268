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
/* The same of a job of that user's in that option, at that time. */
enum job_reason option_held_by(struct pass *p, const struct option *o, uint32_t uid, int64_t at_us);
/* So many more jobs of that user's may run in the partition then, as its hours have it: 0 and
 * above; INT32_MAX = they say nothing. What runs counts until its end, as its limit has it. */
int32_t hours_room(struct pass *p, const struct spart *part, uint32_t uid, int64_t at_us);
/* The first time from then on, as far as is looked ahead, at which there is room for one;
 * INT64_MAX = none. */
int64_t hours_room_from(struct pass *p, const struct spart *part, uint32_t uid, int64_t at_us);
/* One more that hours count (struct seated). */
void hours_seat(struct pass *p, const struct spart *part, uint32_t uid, bool begins);
/* All but the first n (of pass.seated) no more. */
void hours_unseat(struct pass *p, size_t n);
/* Nothing but lack of room on nodes, or of licences, can keep it. */
bool entry_lacks_room_only(struct pass *p, const struct entry *e);
/* Leaves it to others what it could have? Its user holds more than a quarter of the cluster then
 * (or half, with what began in this pass), a job of another user is the head of its partition, or
 * of one with half of that one's nodes, and however short it may be (--time-min), it asks at least
 * twice as long as that head and would run into its promised start (order=ageing). Which nodes it
 * would have is not looked at. Who was promised something, is the oldest, may stop other work or
 * had some stopped for it, never needs to. One component of a heterogeneous job that does is enough
 * (entry_yields_to). Of those that do now the plan remembers to whom. */
bool entry_yields(struct pass *p, const struct entry *e);
/* The same of one job in one partition, unnoted: the head's job, or 0. */
uint64_t entry_yields_to(const struct pass *p, const struct entry *e);
/* The job leaves to that one what it could have: noted in the plan, at present. */
void yields_note(struct pass *p, const struct entry *e, uint64_t to);
/* How long it may run if it starts now, so that it need not yield: limit_us, or less of what it
 * gives with --time-min. Below its shortest limit: it yields; *ret_to is that head's job then. */
int64_t entry_leaves(const struct pass *p, const struct entry *e, int64_t limit_us,
                     uint64_t *ret_to);
/* The work, by its number in the agenda, begins (sign 1) at the world's time, or ended by then, or
 * is undone (-1): its user holds so much more or less. */
void held_change(struct pass *p, uint32_t world_job, int64_t sign);
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
