/* Root's connections and those of node daemons have no share to keep within: they keep the cluster
 * going. But they, too, are served a round of the loop at a time: what all of them together get in
 * one is bounded, and those who must wait go on in the next, in turn. So twenty thousand
 * submissions in one go hold nobody up for longer than one. */
#ifndef REMUDA_CONTROLLER_CROWD_H
#define REMUDA_CONTROLLER_CROWD_H

#include "io/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct crowd; /* opaque */

/* Of one connection; zeroed at first. */
struct crowd_place {
    struct crowd *crowd;              /* in which it waits */
    struct crowd_place *next, **link; /* link: NULL = it does not wait */
    loop_fn fn;                       /* called with ctx, from the loop */
    void *ctx;
    int64_t owed_ns; /* it was called, and has so much whoever else is served */
};

struct crowd *crowd_new(struct loop *l); /* nobody waits */
void crowd_free(struct crowd *c);        /* nobody must wait */

/* May this one be served in this round? */
bool crowd_may(const struct crowd *c, const struct crowd_place *p);
/* So much processor time of the loop went into it. */
void crowd_spent(struct crowd *c, struct crowd_place *p, int64_t ns);
/* Waits for a next round: fn(ctx) is called once, those that wait longest first. */
void crowd_wait(struct crowd *c, struct crowd_place *p, loop_fn fn, void *ctx);
/* Nothing where it does not stand in line. */
void crowd_leave(struct crowd_place *p);

#endif
