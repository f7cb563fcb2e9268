/* GPUs that are busy by their duty cycle, and wait. By the work that their processors had (GPM),
 * or, where that is not told, by their power: who spins in a collective takes a part of what he
 * took at work. */
#include "reading/look.h"
#include "reading/say.h"

#include <stdlib.h>
#include <string.h>

#define MINUTE_MS    INT64_C(60000)
#define HANG_UTIL    90.0 /* busy so much, */
#define HANG_SM      2.0  /* with work in so little of its processors */
#define HANG_MS      (5 * MINUTE_MS)
#define STILL_MS     (10 * MINUTE_MS) /* by power it must be so long, */
#define STILL_PART   0.4              /* at such a part of the power at work */
#define THIN_SM      20.0
#define THIN_PERCENT 30 /* of the samples */

/* ---- a hang ---- */

struct hang {
    struct stretch at;
    bool all; /* in the mean of all the time */
    double util, sm, power, usual;
};

static bool has_sm(const struct look_gpu *g)
{
    return g->util && g->sm && g->f.n >= READING_SAMPLES && g->sm_f.n >= READING_SAMPLES;
}

/* The longest time in which the one was above and the other below. */
static struct stretch longest_wait(const struct curve *util, const struct curve *other,
                                   double below)
{
    struct stretch best = {0}, now = {0};
    size_t k = 0;
    for (size_t i = 0; i < util->at.n; i++) {
        const struct moment *m = &util->at.v[i];
        bool waits = m->v >= HANG_UTIL && look_near(other, &k, m->at_ms) < below;
        if (waits && !now.from_ms)
            now.from_ms = m->at_ms;
        now.to_ms = m->at_ms;
        if (waits && now.to_ms - now.from_ms > best.to_ms - best.from_ms)
            best = now;
        if (!waits)
            now.from_ms = 0;
    }
    return best;
}

/* What it takes when it is busy: nine of ten such samples are not above. 0: not known. */
static double power_at_work(const struct look_gpu *g)
{
    size_t n = 0, k = 0;
    double *v = xcalloc(g->util->at.n + 1, sizeof *v);
    for (size_t i = 0; i < g->util->at.n; i++)
        if (g->util->at.v[i].v >= HANG_UTIL / 2)
            v[n++] = look_near(g->power, &k, g->util->at.v[i].at_ms);
    double found = n >= READING_SAMPLES ? quantile(v, n, 90) : 0;
    free(v);
    return found;
}

/* By power only of a job of several: one alone waits for nobody, and light kernels take little,
 * too. */
static bool hang_find(const struct look_gpu *g, bool alone, struct hang *h)
{
    struct figures f;
    *h = (struct hang){.sm = -1};
    if (has_sm(g)) {
        h->at = longest_wait(g->util, g->sm, HANG_SM);
        h->all = g->f.mean > HANG_UTIL && g->sm_f.mean < HANG_SM;
        if (!h->all && h->at.to_ms - h->at.from_ms < HANG_MS)
            return false;
        curve_figures(g->sm, h->at.from_ms, h->at.to_ms, &f);
        h->sm = f.mean;
    } else if (!alone && g->util && g->power && !g->sm && g->power->at.n >= READING_SAMPLES) {
        h->usual = power_at_work(g);
        h->at = longest_wait(g->util, g->power, STILL_PART * h->usual);
        if (h->at.to_ms - h->at.from_ms < STILL_MS)
            return false;
        curve_figures(g->power, h->at.from_ms, h->at.to_ms, &f);
        h->power = f.mean;
    } else {
        return false;
    }
    curve_figures(g->util, h->at.from_ms, h->at.to_ms, &f);
    h->util = f.mean;
    return true;
}

/* Those that did nothing while the others waited: nothing else is told of that. */
static size_t late_find(struct look *l, const bool *hangs, const struct stretch *s, bool *ret_mark)
{
    for (size_t i = 0; i < l->gpu.n; i++) {
        struct look_gpu *g = &l->gpu.v[i];
        struct figures f = {0};
        if (!hangs[i] && g->work)
            curve_figures(g->work, s->from_ms, s->to_ms, &f);
        ret_mark[i] = g->late = f.n && f.mean <= LOOK_TOUCHED;
    }
    return marks_count(l, ret_mark);
}

static void hang_text(const struct look *l, const bool *mark, const struct hang *h, bool went_on,
                      struct str *text)
{
    size_t n = marks_count(l, mark);
    const char *who = n > 1 ? "they" : "it";
    say_gpus(l, mark, text);
    str_addf(text, "%s busy %.0f %% of the time from ", n > 1 ? " were" : " was", h->util);
    say_times(l, h->at.from_ms, h->at.to_ms, text);
    if (h->sm >= 0) {
        str_addf(text, ", but %s processors had work in ", n > 1 ? "their" : "its");
        say_number(h->sm, text);
        str_addf(text, " %% of it: %s waited, as in a collective", who);
    } else {
        str_addf(text,
                 ", but took %.0f W, and %.0f at work: %s seem%s to have waited, as in a "
                 "collective",
                 h->power, h->usual, who, n > 1 ? "" : "s");
    }
    str_add(text, went_on ? "" : " that hangs");
}

void look_hangs(struct look *l)
{
    bool *mark = marks_new(l), *late = marks_new(l);
    struct hang h, first = {0};
    for (size_t i = 0; i < l->gpu.n; i++) {
        struct look_gpu *g = &l->gpu.v[i];
        g->hangs = mark[i] = hang_find(g, l->gpu.n == 1, &h);
        if (mark[i] && !first.at.to_ms)
            first = h;
    }
    if (marks_count(l, mark)) {
        struct str text = STR_INIT, next = STR_INIT;
        bool went_on = !first.all && l->to_ms - first.at.to_ms > MINUTE_MS;
        hang_text(l, mark, &first, went_on, &text);
        if (late_find(l, mark, &first.at, late)) {
            str_add(&text, "; ");
            say_gpus(l, late, &text);
            str_add(&text, " did nothing then");
        }
        str_add(&next, went_on ? "see what the rank that came last did so long (py-spy dump): data "
                                 "that it prepares, a file that it waits for"
                               : "see which rank does not come (NCCL_DEBUG=INFO, py-spy dump), and "
                                 "set a timeout");
        say_found(l, FOUND_GPU_HANG, &text, &next);
    }
    free(mark);
    free(late);
}

/* ---- busy, with little to do ---- */

struct thin {
    size_t samples, thin;
    double sum; /* of the processors at work then */
};

static struct thin thin_of(const struct look_gpu *g)
{
    struct thin t = {.samples = g->util->at.n};
    size_t k = 0;
    for (size_t i = 0; i < g->util->at.n; i++) {
        double sm = look_near(g->sm, &k, g->util->at.v[i].at_ms);
        if (g->util->at.v[i].v < HANG_UTIL || sm >= THIN_SM)
            continue;
        t.thin++;
        t.sum += sm;
    }
    return t;
}

void look_thin(struct look *l)
{
    bool *mark = marks_new(l);
    struct thin of = {0};
    for (size_t i = 0; i < l->gpu.n; i++) {
        const struct look_gpu *g = &l->gpu.v[i];
        struct thin t = {0};
        if (has_sm(g) && !g->hangs)
            t = thin_of(g);
        mark[i] = t.thin && t.thin * 100 >= t.samples * THIN_PERCENT;
        if (mark[i] && !of.thin)
            of = t;
    }
    size_t n = marks_count(l, mark);
    if (n) {
        struct str text = STR_INIT, next = STR_INIT;
        say_gpus(l, mark, &text);
        str_addf(&text, " %s busy, but with work for ", n > 1 ? "were" : "was");
        say_number(of.sum / (double)of.thin, &text);
        str_addf(&text, " %% of %s processors alone, in %.0f %% of the time",
                 n > 1 ? "their" : "its", 100.0 * (double)of.thin / (double)of.samples);
        str_add(&next, "larger batches, or fewer and larger kernels (torch.compile, CUDA graphs)");
        if (l->gpu.n > 1)
            str_add(&next, "; or they wait for each other or the network: fewer and larger "
                           "exchanges, NCCL_DEBUG=INFO says by which way");
        say_found(l, FOUND_GPU_THIN, &text, &next);
    }
    free(mark);
}
