/* Turns: effects are gathered while events are stepped, what is to be stored is committed in one
 * transaction on the writer's thread, and only then the other effects are let out, in order. */
#ifndef REMUDA_CONTROLLER_TURN_H
#define REMUDA_CONTROLLER_TURN_H

#include "controller/controller.h"
#include "controller/disk/writer.h"

struct turns; /* opaque */

/* What turns tell the shell. Calls come from the loop, never from within turns_step; those of a
 * reading (turns_step_reading) are the exception. */
struct turn_ops {
    /* The effect is due: all that was stored before it is committed. It is valid during the
     * call. */
    void (*effect)(struct controller *c, const struct effect *e);
    /* All effects of a turn are out; also before the loop sleeps with nothing under way. */
    void (*released)(struct controller *c);
    /* The daemon is to end, and nothing waits to be committed or let out. May come more than
     * once. */
    void (*over)(struct controller *c);
};

/* Takes the writer (freed by turns_free) of a store whose last commit was last_seq. `ops` is not
 * copied. */
struct turns *turns_new(struct controller *c, struct writer *writer, uint64_t last_seq,
                        const struct turn_ops *ops);
/* After core_loaded: the store could not be opened for writing, `why`; it is away from the
 * beginning. */
void turns_begin_away(struct turns *t, const struct err *why);
/* From now on what each commit has given out is written to `fd` (given.h), which becomes the turns'
 * own; `before`: what it said. */
struct given;
void turns_write_given(struct turns *t, int fd, const struct given *before);
/* Before anything is committed: the numbers of commits go on behind `seq`, to which another store
 * has come, in whose place this one is. So none is both's, and each is older than the one that was
 * written after it. */
void turns_number_beyond(struct turns *t, uint64_t seq);
/* Waits for the writer and lets out what it wrote; nothing is written from then on. Before anything
 * that effects need is freed, and before turns_free. */
void turns_end(struct turns *t);
/* Packs the store when the controller ends by itself, for a quick start. */
void turns_free(struct turns *t);

/* Where the effects of an event that is stepped now go. */
struct effects *turns_effects(struct turns *t);
/* Steps one event, which gets its times here, into the open turn. */
void turns_step(struct turns *t, const struct event *ev);
/* The same for a request of somebody who only wants to know: while the store is away its answer
 * does not wait. */
void turns_step_reading(struct turns *t, const struct event *ev);

/* True while the store is away; `why` (may be NULL) gets the reason. */
bool turns_store_away(const struct turns *t, const char **why);
/* The store's log is cut off on the writer's thread (writer_shorten), then done(ctx) is called on
 * the loop. Passed over while that is under way, and after turns_end. */
void turns_shorten_log(struct turns *t, loop_fn done, void *ctx);
/* May a request that changes something be stepped? Not while the store has been away for some
 * seconds, or too much waits for it. */
bool turns_admit(struct turns *t, bool from_node);
/* Nothing starts for so long, or until it is called with 0: what is not known yet may forbid it.
 * All else goes on. */
void turns_start_later(struct turns *t, int64_t by_us);
/* Nothing waits to be committed or let out. */
bool turns_idle(const struct turns *t);
/* Memory that is free goes back to the system in a second: much was taken that is not needed. */
void turns_trim_soon(struct turns *t);
uint64_t turns_count(const struct turns *t); /* since it started */

/* How long the core took when it was woken, which is when it plans. */
struct plan_times {
    uint64_t n;                      /* passes */
    int64_t last_us, max_us, sum_us; /* in µs, of the clock that is never set */
};
struct plan_times turns_plan_times(const struct turns *t); /* of all passes, and the last (µs) */

#endif
