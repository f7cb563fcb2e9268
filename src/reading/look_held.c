/* GPUs that could not do what they can. */
#include "reading/look.h"
#include "reading/say.h"

#include <stdlib.h>
#include <string.h>

#define THROTTLE_PERCENT 10
#define SLOWED           0.93 /* of its clock otherwise */
#define THROTTLE_POWER   0x4
#define THROTTLE_HEAT    (0x20 | 0x40)
#define THROTTLE_BOARD   (0x8 | 0x80)

/* ---- held back ---- */

struct held_for {
    size_t samples, held;
    double clock_held, clock_free, temp, power;
    size_t nheld, nfree;
};

static double value_near(const struct curve *c, size_t *at, int64_t ms)
{
    if (!c || !c->at.n)
        return -1;
    while (*at + 1 < c->at.n && c->at.v[*at + 1].at_ms <= ms)
        ++*at;
    return c->at.v[*at].v;
}

static void held_find(const struct look_gpu *g, int64_t bits, struct held_for *h)
{
    size_t clock_at = 0, temp_at = 0, power_at = 0;
    *h = (struct held_for){0};
    for (size_t i = 0; g->throttle && i < g->throttle->at.n; i++) {
        const struct moment *m = &g->throttle->at.v[i];
        bool held = ((int64_t)m->v & bits) != 0, idle = ((int64_t)m->v & 1) != 0;
        double clock = value_near(g->clock, &clock_at, m->at_ms),
               temp = value_near(g->temp, &temp_at, m->at_ms),
               power = value_near(g->power, &power_at, m->at_ms);
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

/* A GPU at work is often at its power limit; it matters where its clock is lower by it. */
static bool is_held(const struct held_for *h, bool slows_only)
{
    bool slow = h->clock_free > 0 && h->clock_held > 0 && h->clock_held < SLOWED * h->clock_free;
    return h->samples >= READING_SAMPLES && h->held * 100 >= h->samples * THROTTLE_PERCENT &&
           (slow || !slows_only);
}

static void held_say(struct look *l, int64_t bits, enum finding_kind kind, const char *by,
                     const char *what_next)
{
    bool *mark = marks_new(l);
    struct held_for h, first = {0};
    for (size_t i = 0; i < l->gpu.n; i++) {
        held_find(&l->gpu.v[i], bits, &h);
        mark[i] = is_held(&h, kind == FOUND_GPU_POWER);
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

static void ecc_say(struct look *l)
{
    bool *mark = marks_new(l);
    double errors = 0;
    for (size_t i = 0; i < l->gpu.n; i++) {
        const struct curve *c = l->gpu.v[i].ecc;
        double more = c && c->at.n > 1 ? c->at.v[c->at.n - 1].v - c->at.v[0].v : 0;
        mark[i] = more > 0;
        errors += more > 0 ? more : 0;
    }
    if (marks_count(l, mark)) {
        struct str text = STR_INIT, next = STR_INIT;
        say_gpus(l, mark, &text);
        str_addf(&text, " had %.0f memory error%s that could not be corrected", errors,
                 errors > 1 ? "s" : "");
        str_add(&next, "its results may be wrong: run it again elsewhere, and tell those who run "
                       "the cluster");
        say_found(l, FOUND_GPU_ECC, &text, &next);
    }
    free(mark);
}

void look_held(struct look *l)
{
    held_say(l, THROTTLE_HEAT, FOUND_GPU_HEAT, "heat",
             "nothing in the job helps; tell those who run the cluster");
    held_say(l, THROTTLE_POWER | THROTTLE_BOARD, FOUND_GPU_POWER, "its power limit",
             "the limit is the site's; what runs in lower precision, or waits less for memory, "
             "needs less power");
    ecc_say(l);
}
