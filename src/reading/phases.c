/* Phases of a job: where the mean, or the dips, of what its GPUs did (without GPUs: its CPUs)
 * change for good. Two signals, the mean and the least of each of at most CHANGES_N equal times: a
 * dip of a sample a minute is lost in the mean of a day, but not in its least. */
#include "reading/changes.h"
#include "reading/chart.h"
#include "reading/look.h"
#include "reading/say.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define PERIOD_LEAST  4    /* samples, or cells */
#define STILL         2.0  /* percent */
#define OTHER         12.0 /* percent between two phases, */
#define OTHER_PART    0.25 /* or so much of the greater */
#define WEIGHS        25.0 /* and not what a load that comes and goes has by chance */
#define PHASE_PART    20u  /* a phase is no shorter than that part of the job */
#define PHASE_SAMPLES 10u
#define ENDS_PART     10    /* a beginning or end shorter than such a part of the job is not told */
#define ENDS_MS       30000 /* nor one that is shorter than that */
#define FOUND_MOST    64u
#define BATCHES_MS    60000 /* what comes more often is no epoch */
#define SPREAD_LEAST  15.0  /* percent: what goes up and down by less is no round */

struct signal {
    double *mean, *least;
    int64_t *at_ms;
    size_t n;
};

/* Percent of what there is. */
static double scale_of(const struct look *l, const struct curve *c)
{
    const struct look_node *node;
    if (l->phases_of_gpus || !(node = look_node_of(l, c->key.node)) || node->cpus <= 0)
        return 1;
    return 1 / node->cpus;
}

static size_t curves_of(const struct look *l, const struct curve **ret)
{
    size_t n = 0;
    for (size_t i = 0; i < l->gpu.n && l->phases_of_gpus; i++)
        if (l->gpu.v[i].work)
            ret[n++] = l->gpu.v[i].work;
    for (size_t i = 0; i < l->node.n && !l->phases_of_gpus; i++)
        if (l->node.v[i].cpu)
            ret[n++] = l->node.v[i].cpu;
    return n;
}

static void signal_done(struct signal *s)
{
    free(s->mean);
    free(s->least);
    free(s->at_ms);
}

/* Over all curves; times in which none has a sample are left out. */
static void signal_make(const struct look *l, const struct curve *const *curve, size_t ncurves,
                        struct signal *s)
{
    size_t cells = 0, n = 0;
    for (size_t i = 0; i < ncurves; i++)
        cells = curve[i]->at.n > cells ? curve[i]->at.n : cells;
    cells = cells < CHANGES_N ? cells : CHANGES_N;
    struct chart_part *part = xcalloc(cells + 1, sizeof *part);
    size_t *of = xcalloc(cells + 1, sizeof *of);
    *s = (struct signal){xcalloc(cells + 1, sizeof(double)), xcalloc(cells + 1, sizeof(double)),
                         xcalloc(cells + 1, sizeof(int64_t)), 0};
    for (size_t i = 0; i < ncurves; i++) {
        double scale = scale_of(l, curve[i]);
        chart_parts(curve[i], l->from_ms, l->to_ms, part, cells);
        for (size_t k = 0; k < cells; k++) {
            s->mean[k] += part[k].any ? part[k].mean * scale : 0;
            s->least[k] += part[k].any ? part[k].least * scale : 0;
            of[k] += part[k].any;
        }
    }
    for (size_t k = 0; k < cells; k++) {
        if (!of[k])
            continue;
        s->mean[n] = s->mean[k] / (double)of[k];
        s->least[n] = s->least[k] / (double)of[k];
        s->at_ms[n++] = l->from_ms + (l->to_ms - l->from_ms) * (int64_t)k / (int64_t)cells;
    }
    s->n = n;
    free(part);
    free(of);
}

/* ---- what one stretch is like ---- */

struct phases_part {
    size_t from, to;  /* of the signal */
    double middle;    /* median of the means */
    size_t dips;      /* most of a curve */
    double high;      /* what they fall from */
    int64_t every_ms; /* if they come regularly */
    int64_t for_ms, first_ms;
    int64_t from_ms, to_ms;
};

static void part_look(const struct look *l, const struct signal *s,
                      const struct curve *const *curve, size_t ncurves, struct phases_part *p)
{
    size_t n = p->to - p->from;
    double *v = xcalloc(n + 1, sizeof *v);
    p->from_ms = p->from ? s->at_ms[p->from] : l->from_ms;
    p->to_ms = p->to < s->n ? s->at_ms[p->to] - 1 : l->to_ms;
    memcpy(v, s->mean + p->from, n * sizeof *v);
    p->middle = quantile(v, n, 50);
    p->dips = 0;
    p->every_ms = 0;
    for (size_t i = 0; i < ncurves && l->phases_of_gpus && !p->every_ms; i++) {
        struct dips d;
        dips_find(curve[i], p->from_ms, p->to_ms, &d);
        p->dips = d.at.n > p->dips ? d.at.n : p->dips;
        p->high = d.high;
        p->every_ms = d.every_ms;
        p->for_ms = d.for_ms;
        p->first_ms = d.at.n ? d.at.v[0].from_ms : 0;
        dips_done(&d);
    }
    free(v);
}

/* One falls regularly, and the other stays where that one falls from. */
static bool fall_otherwise(const struct phases_part *a, const struct phases_part *b)
{
    const struct phases_part *falls = a->every_ms ? a : b, *other = a->every_ms ? b : a;
    if (!falls->every_ms || other->every_ms)
        return false;
    int64_t wanted = (other->to_ms - other->from_ms) / falls->every_ms;
    return wanted >= 2 && (int64_t)other->dips * 8 < wanted && other->middle * 2 >= falls->high;
}

static bool are_other(const struct signal *s, const struct phases_part *a,
                      const struct phases_part *b)
{
    double more = a->middle > b->middle ? a->middle : b->middle,
           apart = a->middle > b->middle ? a->middle - b->middle : b->middle - a->middle;
    return fall_otherwise(a, b) ||
           (apart >= OTHER && apart >= OTHER_PART * more &&
            change_weight(s->mean + a->from, b->to - a->from, a->to - a->from, STILL) >= WEIGHS);
}

/* Neighbours that are alike become one, until none are. */
static size_t parts_merge(const struct look *l, const struct signal *s,
                          const struct curve *const *curve, size_t ncurves,
                          struct phases_part *part, size_t n)
{
    ASSERT(n > 0);
    for (size_t i = 0; i + 1 < n;) {
        if (are_other(s, &part[i], &part[i + 1])) {
            i++;
            continue;
        }
        part[i].to = part[i + 1].to;
        part_look(l, s, curve, ncurves, &part[i]);
        memmove(&part[i + 1], &part[i + 2], (n - i - 2) * sizeof *part);
        n--;
        i = i ? i - 1 : 0;
    }
    return n;
}

/* The search has phases no shorter than `least`: a level that is shorter draws some of its
 * neighbour in. Near the border it is put where the two levels are closest to what was seen. */
static void border_place(const struct signal *s, struct phases_part *a, struct phases_part *b,
                         size_t least)
{
    ASSERT(a->from < a->to && a->to == b->from && b->from < b->to);
    size_t from = a->to > a->from + least ? a->to - least : a->from + 1,
           to = b->from + least < b->to ? b->from + least : b->to - 1, best = a->to;
    double apart = a->middle > b->middle ? a->middle - b->middle : b->middle - a->middle, err = -1;
    if (apart < OTHER)
        return;
    for (size_t k = from; k <= to; k++) {
        double sum = 0;
        for (size_t i = from; i <= to; i++) {
            double off = s->mean[i] - (i < k ? a->middle : b->middle);
            sum += off < 0 ? -off : off;
        }
        if (err < 0 || sum < err) {
            err = sum;
            best = k;
        }
    }
    a->to = b->from = best;
}

static void borders_place(const struct look *l, const struct signal *s,
                          const struct curve *const *curve, size_t ncurves,
                          struct phases_part *part, size_t n, size_t least)
{
    for (size_t i = 0; i + 1 < n; i++)
        border_place(s, &part[i], &part[i + 1], least);
    for (size_t i = 0; i < n; i++)
        part_look(l, s, curve, ncurves, &part[i]);
}

/* A phase of dips is seen from its first dip on; it began a round before. */
static void dips_begin(struct phases_part *before, struct phases_part *p)
{
    int64_t round = p->every_ms - p->for_ms, from = p->first_ms - round;
    if (!p->every_ms || before->every_ms)
        return;
    if (p->first_ms - p->from_ms > round) /* the first is at its very beginning, and not counted */
        from -= p->every_ms;
    if (from > before->from_ms + round && from < p->from_ms) {
        p->from_ms = from;
        before->to_ms = from - 1;
    }
}

static void phases_set(struct look *l, const struct signal *s, struct phases_part *part, size_t n)
{
    ASSERT(n > 0 && n <= READING_PHASES);
    l->nphases = n;
    for (size_t i = 1; i < n; i++)
        dips_begin(&part[i - 1], &part[i]);
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        size_t of = 0;
        l->phase[i] = (struct stretch){part[i].from_ms, part[i].to_ms};
        for (size_t k = 0; k < s->n; k++)
            if (s->at_ms[k] >= part[i].from_ms && s->at_ms[k] <= part[i].to_ms) {
                sum += s->mean[k];
                of++;
            }
        l->phase_mean[i] = of ? sum / (double)of : 0;
    }
}

/* ---- sentence ---- */

/* What begins and ends every job is shown, not told. */
static bool only_ends(const struct look *l)
{
    int64_t all = l->to_ms - l->from_ms;
    for (size_t i = 0; i < 2; i++) {
        int64_t of = l->phase[i].to_ms - l->phase[i].from_ms;
        if ((of * ENDS_PART < all || of < ENDS_MS) && l->nphases == 2)
            return true;
    }
    return false;
}

static void phases_say(struct look *l)
{
    struct str text = STR_INIT;
    int64_t least = l->to_ms - l->from_ms;
    if (only_ends(l))
        return;
    for (size_t i = 0; i < l->nphases; i++)
        least = l->phase[i].to_ms - l->phase[i].from_ms < least
                    ? l->phase[i].to_ms - l->phase[i].from_ms
                    : least;
    str_addf(&text, "it had %zu phases: ", l->nphases);
    for (size_t i = 0; i < l->nphases; i++) {
        str_add(&text, i ? ", " : "");
        say_times_like(l, l->phase[i].from_ms, l->phase[i].to_ms + 1, least, &text);
        str_addf(&text, " %s%.0f %% busy",
                 i                   ? ""
                 : l->phases_of_gpus ? "its GPUs "
                                     : "its CPUs ",
                 l->phase_mean[i]);
    }
    if (l->job->suspended_us > 0) {
        str_add(&text, "; it was suspended for ");
        say_span(l->job->suspended_us / 1000, &text);
        str_add(&text, " of that time");
    }
    say_found(l, FOUND_PHASES, &text, NULL);
}

/* A load that comes again and again, of one phase, without the falls that are told elsewhere. */
static void period_say(struct look *l, const struct signal *s, const struct phases_part *p)
{
    double like, *v = xcalloc(p->to - p->from + 1, sizeof *v), low, high;
    size_t n = p->to - p->from, lag;
    memcpy(v, s->mean + p->from, n * sizeof *v);
    low = quantile(v, n, 10);
    high = quantile(v, n, 90);
    memcpy(v, s->mean + p->from, n * sizeof *v);
    lag = period_find(v, n, 2, &like); /* what is shorter than can be told has longer echoes */
    free(v);
    if (lag < PERIOD_LEAST || p->every_ms || high - low < SPREAD_LEAST)
        return;
    struct str text = STR_INIT;
    str_addf(&text, "the load of its %s comes again each ", l->phases_of_gpus ? "GPUs" : "CPUs");
    int64_t every_ms = (l->to_ms - l->from_ms) * (int64_t)lag / (int64_t)s->n;
    say_span(every_ms, &text);
    str_addf(&text, ", between %.0f and %.0f %%: %s, or another round of the program", low, high,
             every_ms < BATCHES_MS ? "batches" : "epochs");
    say_found(l, FOUND_PHASES, &text, NULL);
}

void look_phases(struct look *l)
{
    const struct curve **curve = xcalloc(l->gpu.n + l->node.n + 1, sizeof *curve);
    size_t at[FOUND_MOST], ncurves, n;
    struct phases_part part[FOUND_MOST + 1];
    struct signal s;
    for (size_t i = 0; i < l->gpu.n; i++)
        l->phases_of_gpus = l->phases_of_gpus || l->gpu.v[i].work;
    ncurves = curves_of(l, curve);
    signal_make(l, curve, ncurves, &s);
    l->nphases = 1;
    l->phase[0] = (struct stretch){l->from_ms, l->to_ms};
    size_t least = s.n / PHASE_PART > PHASE_SAMPLES ? s.n / PHASE_PART : PHASE_SAMPLES;
    if (s.n >= READING_SAMPLES && !l->set_back) {
        n = changes_find((const double *const[]){s.mean, s.least}, 2, s.n, least, STILL, at,
                         FOUND_MOST);
        for (size_t i = 0; i <= n; i++) {
            part[i] = (struct phases_part){.from = i ? at[i - 1] : 0, .to = i < n ? at[i] : s.n};
            part_look(l, &s, curve, ncurves, &part[i]);
        }
        n = parts_merge(l, &s, curve, ncurves, part, n + 1);
        if (n > 1 && n <= READING_PHASES) {
            borders_place(l, &s, curve, ncurves, part, n, least);
            phases_set(l, &s, part, n);
            memcpy(l->to->phase, l->phase, n * sizeof *l->phase);
            l->to->nphases = n;
            phases_say(l);
        } else {
            part[0].from = 0;
            part[0].to = s.n;
            part_look(l, &s, curve, ncurves, &part[0]);
            period_say(l, &s, &part[0]);
        }
    }
    signal_done(&s);
    free(curve);
}
