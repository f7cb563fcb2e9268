/* How often a forecast is due is the planner's affair: it takes a hundredth of the time. Where
 * there is no room for a copy, or it did not get to an end, the one before stands for a while. */
#include "controller/foresight.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "controller/turn.h"
#include "io/clock.h"
#include "io/process/aside.h"
#include "sched/plan.h"

#include <stdlib.h>

#define BYTES_MOST (64u << 20)
#define REST_US    USEC_PER_MIN /* after one that came to nothing */

struct foresight {
    struct controller *c;
    struct aside *copy;
    struct str found;       /* what it wrote */
    struct foreseen coming; /* how much of that is taken over */
    struct timer *next;     /* the next part, or the end of a rest */
    bool taking, rests;
};

static void part_take(struct foresight *f)
{
    turns_step(f->c->turns, &(struct event){.kind = EV_FORESEEN, .foreseen = &f->coming});
    f->taking = f->coming.more;
    if (f->taking)
        timer_set(f->next, 0);
    else
        str_done(&f->found);
}

static void next_due(void *ctx)
{
    struct foresight *f = ctx;
    f->rests = false;
    if (f->taking)
        part_take(f);
    else
        foresight_look(f);
}

struct foresight *foresight_new(struct controller *c)
{
    struct foresight *f = xcalloc(1, sizeof *f);
    f->c = c;
    f->next = timer_new(c->loop, next_due, f);
    return f;
}

void foresight_free(struct foresight *f)
{
    if (!f)
        return;
    aside_free(f->copy);
    timer_free(f->next);
    str_done(&f->found);
    free(f);
}

/* In the copy. */
static void work_out(void *ctx, struct str *out)
{
    const struct foresight *f = ctx;
    core_foresee(f->c->core, clock_now_us(), out);
}

static void rest_begin(struct foresight *f)
{
    f->rests = true;
    timer_set(f->next, REST_US);
}

static void worked_out(void *ctx, const struct str *answer, int64_t cpu_us)
{
    struct foresight *f = ctx;
    f->copy = NULL;
    if (!answer) {
        log_warning(f->c->log,
                    "planned starts are those of an earlier time: working them out came to no end "
                    "within %lld ms of a processor; tried again in a minute",
                    (long long)cpu_us / 1000);
        rest_begin(f);
        return;
    }
    str_addn(&f->found, answer->data, answer->len);
    f->coming = (struct foreseen){.bytes = &f->found};
    f->taking = true;
    timer_set(f->next, 0);
}

void foresight_look(struct foresight *f)
{
    struct err err = {0};
    if (f->copy || f->taking || f->rests || f->c->stopping || !core_foresee_due(f->c->core))
        return;
    f->copy = aside_start(f->c->loop, work_out, worked_out, f, BYTES_MOST, &err);
    if (f->copy)
        return;
    log_warning(f->c->log,
                "planned starts are those of an earlier time: %s; tried again in a minute",
                err.text);
    rest_begin(f);
}
