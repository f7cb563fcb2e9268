/* A loop's timer, rounds and clock for tests of what shares out its time: nothing goes on but by
 * what the test sets in `note`, and `fire` is called by the test alone. */
#ifndef REMUDA_TESTS_LOOP_STAND_IN_H
#define REMUDA_TESTS_LOOP_STAND_IN_H

#include "unit.h"

#include "base/duration.h"
#include "io/loop.h"

#include <string.h>

static struct {
    int64_t now_us;
    uint64_t round;
    loop_fn fire;
    void *ctx;
    int64_t due_us;
    unsigned called;
} note;

/* ---- stand-ins ---- */

int64_t loop_served_us(struct loop *l)
{
    (void)l;
    return note.now_us;
}

struct loop_rounds loop_rounds(const struct loop *l)
{
    (void)l;
    return (struct loop_rounds){.n = note.round};
}

struct timer *timer_new(struct loop *l, loop_fn fn, void *ctx)
{
    (void)l;
    note.fire = fn;
    note.ctx = ctx;
    return NULL;
}

void timer_free(struct timer *t)
{
    (void)t;
}

void timer_set(struct timer *t, int64_t after_us)
{
    (void)t;
    note.due_us = note.now_us + after_us;
}

void timer_stop(struct timer *t)
{
    (void)t;
    note.due_us = INT64_MAX;
}

/* A new world, in which nothing is due. */
static inline void stand_in_begin(void)
{
    memset(&note, 0, sizeof note);
    note.now_us = 1000 * USEC_PER_SEC;
    note.due_us = INT64_MAX;
}

#endif
