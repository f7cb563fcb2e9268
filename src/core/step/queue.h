/* Steps that wait with no command behind them (srun --async): their records. Files of core/step and
 * the request that makes them use this. */
#ifndef REMUDA_CORE_STEP_QUEUE_H
#define REMUDA_CORE_STEP_QUEUE_H

#include "core/step/step.h"

/* A step that waits. */
struct queuedrec {
    struct arena *arena;  /* of all of it */
    struct queued_step q; /* texts and program in the arena */
    struct step s;        /* as it is shown, PENDING; texts of q */
    size_t bytes;         /* of q, as its user's were counted */
    bool tried;           /* since something of its job became free */
};

/* The i-th in the order in which they came; i < step_queue_count(r). */
struct queuedrec *queue_at(const struct jobrec *r, size_t i);
/* Made by a request of that key; NULL = none. */
const struct queuedrec *queue_find_key(const struct jobrec *r, uint64_t key_hash);
/* Copies q and puts it last. */
struct queuedrec *queue_add(struct core *c, struct jobrec *r, const struct queued_step *q);
/* The i-th leaves the queue: it begins. */
void queue_take_out(struct core *c, struct jobrec *r, size_t i);
/* The i-th never ran: it is stored as cancelled and leaves the queue. */
void queue_end(struct core *c, struct jobrec *r, size_t i);
/* What was asked for it, as a request; borrows all of q. */
struct msg_create_step queue_asked(struct queued_step *q);

#endif
