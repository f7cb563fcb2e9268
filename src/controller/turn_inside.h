/* The turns, between turn.c, which steps and wakes, and turn_commit.c, which commits and lets
 * out. */
#ifndef REMUDA_CONTROLLER_TURN_INSIDE_H
#define REMUDA_CONTROLLER_TURN_INSIDE_H

#include "controller/disk/given.h"
#include "controller/session/causes.h"
#include "controller/turn.h"
#include "io/work.h"

struct controller_turn {
    struct effects fx;        /* of its events, in their order */
    struct batch *batch;      /* NULL = nothing to store */
    struct err err;           /* of the commit */
    bool ok;                  /* the commit */
    struct causes causes;     /* who asked for it */
    int64_t cost_ns, took_us; /* of the commit: processor time, and until it was there */
};

struct turns {
    struct controller *c;
    const struct turn_ops *ops;
    struct writer *store;        /* opened by another; borrowed */
    struct worker *writer;       /* the thread that commits */
    int given_fd;                /* -1 = what was given out is not written down */
    struct given given;          /* of the commit that comes next */
    struct controller_turn a, b; /* one is filled while the other is written */
    struct controller_turn *open,
        *sent; /* sent: at the writer, or being retried; NULL = the writer is free */
    bool woke; /* the core was woken since the last hand-over, and that is enough until the next */
    uint64_t seq, count; /* of the batch given out last; turns so far */
    uint64_t gap; /* of the next: numbers that another store may have, in whose place it is */
    /* the core's, the store's, the planner's rest, memory */
    struct timer *wake, *retry, *rested, *trim;
    bool away; /* a commit failed, and none has worked since */
    struct err away_why;
    loop_fn shortened; /* NULL: the log is not being cut off */
    void *shortened_ctx;
    struct timer *grace; /* until what waits for the store is refused */
    struct plan_times times;
    bool refusing;         /* away for longer than the grace */
    struct causes to_plan; /* of what was stored since the core was woken last */
    int64_t rest_until_us; /* the planner rests (monotonic clock); 0 = it does not */
    int64_t clock_us;      /* the wall clock less the monotonic one, as the core saw it last */
};

/* Hands the open turn to the writer, if there is something in it and the writer is free. */
void turns_close(struct turns *t);
/* Timers of struct turns, which is their ctx: the store is tried again … */
void turns_retry_due(void *ctx);
/* … it has been away for longer than is waited: who waits for it is refused. */
void turns_grace_over(void *ctx);

#endif
