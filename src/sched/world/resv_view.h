/* The world as a job sees it that may not use what reservations keep for others (resv_view.c). */
#ifndef REMUDA_SCHED_WORLD_RESV_VIEW_H
#define REMUDA_SCHED_WORLD_RESV_VIEW_H

#include "sched/world/world.h"

struct viewpoint {
    const struct sresv *inside; /* a job of this reservation; NULL = of none */
    const struct sresv *but;    /* as if that one were not there */
    /* A job of this partition, which bounds what all of its jobs have on a node */
    const struct spart *capped;
    bool cut;                 /* its run may be cut to the end of the reservation */
    int32_t share;            /* jobs that may share its CPUs with it; 0 = it has them alone */
    bool over_work, over_all; /* as if nothing ran; as if there were no reservations */
};

/* Windows of reservations, and when partitions and caps change, as this pass sees them. */
void view_init(struct world *w);
void view_done(struct world *w); /* its lists */

/* Nothing of this file matters on the node: world_row tells. */
bool view_plain(const struct world *w, const struct option *o, uint32_t node);
/* Like world_row, as the option sees it. */
const int64_t *view_row(struct world *w, const struct option *o, uint32_t node, int64_t start_us,
                        int64_t end_us);
/* What is free of each dimension all the time from start to end, as seen from `p`. In the world's
 * scratch: valid until the next. All 0: nothing may run there then. */
const int64_t *view_row_of(struct world *w, const struct viewpoint *p, uint32_t node,
                           int64_t start_us, int64_t end_us);
/* Appends the times at which a start becomes possible or impossible, on top of ends and promises;
 * times may lie in the past. */
void view_times(const struct world *w, const struct option *o, uint32_t node, int64_t limit_us,
                i64_vec *at);

/* The window of the reservation that is open then; NULL = none. */
const struct window *view_window(const struct world *w, const struct sresv *s, int64_t at_us);
/* The limit of a run that starts then: cut to the reservation's end where the job gave no limit of
 * its own, and to what hours of its partition allow where it may be shorter. */
int64_t view_limit(const struct world *w, const struct option *o, int64_t limit_us,
                   int64_t start_us);

/* When a reservation begins or ends next; INT64_MAX = never */
int64_t view_next_turn(const struct world *w);
/* Time goes on; true if one began or ended by then */
bool view_advance(struct world *w, int64_t now_us);

#endif
