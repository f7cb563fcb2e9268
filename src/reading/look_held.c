/* GPUs that could not do what they can. */
#include "reading/look.h"
#include "reading/say.h"

#include <stdlib.h>
#include <string.h>

#define THROTTLE_PERCENT 10
#define HEAT_SLOWED      0.98
#define SLOWED           0.93 /* of its clock otherwise */
#define THROTTLE_POWER   0x4
#define THROTTLE_SLOWED  0x8 /* by the board, for heat or another reason that is told beside it */
#define THROTTLE_HEAT    (0x20 | 0x40)
#define THROTTLE_BRAKE   0x80 /* from outside, as where a power supply is lost */

/* ---- held back ---- */

struct held_for {
    size_t samples, held;
    double clock_held, clock_free, temp, power;
    size_t nheld, nfree;
};

typedef bool (*held_by_fn)(int64_t bits);

static bool by_heat(int64_t bits)
{
    return (bits & THROTTLE_HEAT) != 0;
}

static bool by_brake(int64_t bits)
{
    return (bits & THROTTLE_BRAKE) || ((bits & THROTTLE_SLOWED) && !by_heat(bits));
}

static bool by_limit(int64_t bits)
{
    return (bits & THROTTLE_POWER) && !by_brake(bits);
}

static void held_find(const struct look_gpu *g, held_by_fn by, struct held_for *h)
{
    size_t clock_at = 0, temp_at = 0, power_at = 0;
    *h = (struct held_for){0};
    for (size_t i = 0; g->throttle && i < g->throttle->at.n; i++) {
        const struct moment *m = &g->throttle->at.v[i];
        bool held = by((int64_t)m->v), idle = ((int64_t)m->v & 1) != 0;
        double clock = look_near(g->clock, &clock_at, m->at_ms),
               temp = look_near(g->temp, &temp_at, m->at_ms),
               power = look_near(g->power, &power_at, m->at_ms);
        h->samples++;
        h->held += held;
        if (held) {
            h->temp = temp > h->temp ? temp : h->temp;
            h->power = power > h->power ? power : h->power;
        }
        if (clock > 0 && held) {
            h->clock_held += clock;
            h->nheld++;
        } else if (clock > 0 && !idle) {
            h->clock_free = clock > h->clock_free ? clock : h->clock_free;
            h->nfree++;
        }
    }
    h->clock_held = h->nheld ? h->clock_held / (double)h->nheld : 0;
}

/* A GPU at work is often at its power limit; it matters where its clock is lower by it. Samples
 * that were put together have each reason that any had: of heat the clock has its say where it
 * can. */
static bool is_held(const struct held_for *h, bool slows_only)
{
    bool known = h->clock_free > 0 && h->clock_held > 0,
         slow = known && h->clock_held < (slows_only ? SLOWED : HEAT_SLOWED) * h->clock_free;
    return h->samples >= READING_SAMPLES && h->held * 100 >= h->samples * THROTTLE_PERCENT &&
           (slow || (!slows_only && !known));
}

static void held_say(struct look *l, held_by_fn is_by, enum finding_kind kind, const char *by,
                     const char *what_next)
{
    bool *mark = marks_new(l);
    struct held_for h, first = {0};
    for (size_t i = 0; i < l->gpu.n; i++) {
        held_find(&l->gpu.v[i], is_by, &h);
        mark[i] = is_held(&h, is_by == by_limit);
        if (mark[i] && !first.samples)
            first = h;
    }
    size_t n = marks_count(l, mark);
    if (n) {
        struct str text = STR_INIT, next = STR_INIT;
        say_gpus(l, mark, &text);
        str_addf(&text, " %s slowed by %s in %.0f %% of the time", n > 1 ? "were" : "was", by,
                 100.0 * (double)first.held / (double)first.samples);
        if (kind == FOUND_GPU_HEAT && first.temp > 0)
            str_addf(&text, ", at up to %.0f C", first.temp);
        if (kind == FOUND_GPU_POWER && first.power > 0)
            str_addf(&text, ", at up to %.0f W", first.power);
        if (first.clock_free > first.clock_held && first.clock_held > 0)
            str_addf(&text, ": %.0f MHz instead of %.0f", first.clock_held, first.clock_free);
        str_add(&next, what_next);
        say_found(l, kind, &text, &next);
    }
    free(mark);
}

/* How many more there were than at first, of all that are marked then. */
static double more_of(struct look *l, bool xid, bool *ret_mark)
{
    double all = 0;
    for (size_t i = 0; i < l->gpu.n; i++) {
        const struct curve *c = xid ? l->gpu.v[i].xid : l->gpu.v[i].ecc;
        double more = c && c->at.n > 1 ? c->at.v[c->at.n - 1].v - c->at.v[0].v : 0;
        ret_mark[i] = more > 0;
        all += more > 0 ? more : 0;
    }
    return all;
}

static void errors_say(struct look *l)
{
    bool *mark = marks_new(l);
    struct str text = STR_INIT, next = STR_INIT;
    double errors = more_of(l, false, mark);
    if (errors > 0) {
        say_gpus(l, mark, &text);
        str_addf(&text, " had %.0f memory error%s that could not be corrected", errors,
                 errors > 1 ? "s" : "");
        str_add(&next, "its results may be wrong: run it again elsewhere, and tell those who run "
                       "the cluster");
        say_found(l, FOUND_GPU_ECC, &text, &next);
    }
    text = next = STR_INIT;
    errors = more_of(l, true, mark);
    if (errors > 0) {
        str_addf(&text, "the driver named %.0f error%s (XID) of ", errors, errors > 1 ? "s" : "");
        say_gpus(l, mark, &text);
        str_add(&text, " while it ran");
        str_add(&next, "an access out of bounds (compute-sanitizer finds it), or the GPU itself: "
                       "the log of the node has the number, which says what it was");
        say_found(l, FOUND_GPU_XID, &text, &next);
    }
    free(mark);
}

void look_held(struct look *l)
{
    held_say(l, by_heat, FOUND_GPU_HEAT, "heat",
             "nothing in the job helps; tell those who run the cluster");
    held_say(l, by_limit, FOUND_GPU_POWER, "the power limit",
             "the limit is the site's; what runs in lower precision, or waits less for memory, "
             "needs less power");
    held_say(l, by_brake, FOUND_GPU_POWER, "its board (a power brake, or heat)",
             "nothing in the job helps; tell those who run the cluster");
    errors_say(l);
}
