/* The queue as a pass goes through it. */
#ifndef REMUDA_SCHED_LIVE_H
#define REMUDA_SCHED_LIVE_H

#include "sched/pass.h"

struct wjob *lane_next(const struct pass *p, const struct lane *l);
void lane_advance(struct pass *p, const struct lane *l);
void live_build(struct pass *p);
void live_refresh(
    struct pass *p,
    size_t i); /* entry i's lane has another next job: puts it where it belongs, or takes it out */
/* The order from entry i on becomes the one that says who passes a blocked job first (or again the order proper). */
void live_reorder(struct pass *p, size_t i, bool passing);
void live_remove(struct pass *p, size_t i);

/* Could the entry be placed, as far as counts tell? */
bool live_may_fit(const struct pass *p, const struct quick *q);

#endif
