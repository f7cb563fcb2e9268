/* Who uses a round up waits for the next. Where several wait they are called few at a time and get
 * the same each, whoever comes first in the loop. */
#include "controller/session/crowd.h"

#include "base/alloc.h"

#include <stdlib.h>

#define ROUND_NS  4000000 /* for all of them */
#define CALLED_NS 500000  /* for one that was called */
#define CALLED    8       /* in a round */

struct crowd {
    struct loop *loop;
    struct timer *timer;
    uint64_t round;
    int64_t ns; /* spent in it */
    struct crowd_place *first, **last;
};

static void crowd_call(void *ctx)
{
    struct crowd *c = ctx;
    for (int i = 0; i < CALLED && c->first; i++) {
        struct crowd_place *p = c->first;
        crowd_leave(p);
        p->owed_ns = CALLED_NS;
        p->fn(p->ctx);
    }
    if (c->first)
        timer_set(c->timer, 0);
}

struct crowd *crowd_new(struct loop *l)
{
    struct crowd *c = xcalloc(1, sizeof *c);
    c->loop = l;
    c->timer = timer_new(l, crowd_call, c);
    c->last = &c->first;
    return c;
}

void crowd_free(struct crowd *c)
{
    if (!c)
        return;
    CHECK(!c->first);
    timer_free(c->timer);
    free(c);
}

bool crowd_may(const struct crowd *c, const struct crowd_place *p)
{
    if (c->first || p->owed_ns > 0) /* others wait: who was called has what it was called for */
        return p->owed_ns > 0;
    return c->round != loop_rounds(c->loop).n || c->ns < ROUND_NS;
}

void crowd_spent(struct crowd *c, struct crowd_place *p, int64_t ns)
{
    ASSERT(ns >= 0);
    uint64_t round = loop_rounds(c->loop).n;
    c->ns = c->round == round ? c->ns + ns : ns;
    c->round = round;
    p->owed_ns -= ns;
}

void crowd_wait(struct crowd *c, struct crowd_place *p, loop_fn fn, void *ctx)
{
    ASSERT(fn);
    if (p->link)
        return;
    *p = (struct crowd_place){.crowd = c, .link = c->last, .fn = fn, .ctx = ctx};
    *c->last = p;
    c->last = &p->next;
    timer_set(c->timer, 0);
}

void crowd_leave(struct crowd_place *p)
{
    if (!p->link)
        return;
    *p->link = p->next;
    if (p->next)
        p->next->link = p->link;
    else
        p->crowd->last = p->link;
    p->link = NULL;
}
