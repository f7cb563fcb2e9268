/* The queue as a pass goes through it. */
#ifndef REMUDA_SCHED_PASS_LIVE_H
#define REMUDA_SCHED_PASS_LIVE_H

#include "sched/pass/pass.h"

/* The lane's first that this pass has not decided; NULL = none is left. */
struct wjob *lane_next(const struct pass *p, const struct lane *l);
/* Its first is decided: the next one is first. */
void lane_advance(struct pass *p, const struct lane *l);
/* Once a pass, before its first step: all lanes, by their firsts, with what tells fast whether they
 * fit. `now_only`: equals may stand in the order as one. */
void live_build(struct pass *p, bool now_only);
/* An entry of the lane in each of its partitions, not put in order yet. */
void lane_enter(struct pass *p, struct lane *l);
/* With what tells fast whether it fits. */
struct quick quick_make(const struct pass *p, uint32_t number);
/* Do counts tell about it? Not about jobs that may start in several partitions, on nodes shared by
 * users, or where others make room: these are always tried. */
bool counts_tell(const struct pass *p, const struct compiled *c, const struct option *o);
/* < 0: a comes before b. Total. */
int entry_order(const struct entry *a, const struct entry *b);
/* Where the entry belongs among those from `low` on. Entries whose lane went on are still where
 * they were: they count as the job they stood for. */
size_t live_find(const struct pass *p, const struct entry *e, size_t low);

/* Equals that stand in the order as one (equals.c). May they in this pass, if only the present is
 * asked for? */
bool equals_may_stand(const struct pass *p);
/* All lanes, where they may: of equals the first, the others behind it. */
void equals_enter(struct pass *p);
/* Their leader went on, or is gone: the first of those behind it comes in, at its place among the
 * entries from i on. */
void equals_follow(struct pass *p, struct equals *of, size_t i);
/* The entry waits for what is its user's alone: the first of those behind it, if it leads any,
 * comes in at its place among the entries from i on. Entries may move. */
void equals_pass(struct pass *p, struct entry *e, size_t i);
/* The entry can never start: nor can those behind it. */
void equals_leave(struct pass *p, struct entry *e);
/* Something came free as an entry was looked at (pass.was), which one of its equals that comes
 * later may have: from now on each lane is an entry, and those that come before it count as
 * blocked. *kept is how many entries are done with in this step, *next the next one. */
void equals_all(struct pass *p, size_t *kept, size_t *next);
void equals_done(struct pass *p); /* frees them */

/* Makes the entry that of its lane's next job; its job is NULL if there is none. */
void entry_fill(const struct pass *p, struct entry *e);
/* Has the lane of the entry gone on to another job? */
static inline bool entry_outdated(const struct pass *p, const struct entry *e)
{
    return e->pos != p->pos[e->lane_idx];
}
/* Entry i's lane has another next job: puts it behind those that come before it, so that the next
 * in order is at i. False if the lane has no job left: entry i is still there, and to be passed
 * over. */
bool live_refresh(struct pass *p, size_t i);
/* The order from entry i on becomes the one that says who passes a blocked job first (or again the
 * order proper). */
void live_reorder(struct pass *p, size_t i, bool passing);

/* Could the entry be placed, as far as counts tell? */
bool live_may_fit(const struct pass *p, const struct quick *q);

#endif
