/* What GPUs did. Those of which the same is to be said are one sentence. */
#include "reading/look.h"
#include "reading/say.h"

#include <stdlib.h>
#include <string.h>

#define MINUTE_MS     INT64_C(60000)
#define TOUCHED       1.0  /* percent: what is below was not used */
#define LITTLE        10.0 /* in the mean */
#define HANG_UTIL     90.0 /* busy so much, */
#define HANG_SM       2.0  /* with work in so little of its processors */
#define HANG_MS       (5 * MINUTE_MS)
#define IDLE_MS       (10 * MINUTE_MS)
#define IDLE_PERCENT  15 /* of the job */
#define UNEVEN        25.0
#define UNEVEN_PART   0.7
#define WAITERS_LEAST 4 /* so many GPUs for each that is waited for */

/* ---- never touched ---- */

static void unused_say(struct look *l)
{
    bool *mark = marks_new(l);
    struct str text = STR_INIT, next = STR_INIT;
    for (size_t i = 0; i < l->gpu.n; i++)
        mark[i] = l->gpu.v[i].unused;
    size_t n = marks_count(l, mark);
    if (n) {
        say_gpus(l, mark, &text);
        str_addf(&text, n > 1 ? " were never used" : " was never used");
        if (n < l->gpu.n)
            str_addf(&next, "ask for %zu GPU%s, or see that the program uses all of them",
                     l->gpu.n - n, l->gpu.n - n > 1 ? "s" : "");
        else
            str_add(&next, "ask for no GPU, or see why the program does not find it (a CUDA build "
                           "of the library? the device moved to?)");
        say_found(l, FOUND_GPU_UNUSED, &text, &next);
    }
    free(mark);
}

/* ---- waits in a collective ---- */

/* The longest time in which the one was above and the other below. */
static struct stretch longest_hang(const struct look_gpu *g)
{
    struct stretch best = {0}, now = {0};
    size_t k = 0;
    for (size_t i = 0; i < g->util->at.n; i++) {
        const struct moment *m = &g->util->at.v[i];
        while (k + 1 < g->sm->at.n && g->sm->at.v[k + 1].at_ms <= m->at_ms)
            k++;
        bool waits = m->v >= HANG_UTIL && g->sm->at.v[k].v < HANG_SM;
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

static void hangs_say(struct look *l)
{
    bool *mark = marks_new(l);
    struct str text = STR_INIT, next = STR_INIT;
    struct stretch first = {0};
    double util = 0, sm = 0;
    for (size_t i = 0; i < l->gpu.n; i++) {
        struct look_gpu *g = &l->gpu.v[i];
        if (!g->util || !g->sm || g->f.n < READING_SAMPLES || g->sm_f.n < READING_SAMPLES)
            continue;
        struct stretch s = longest_hang(g);
        bool all = g->f.mean > HANG_UTIL && g->sm_f.mean < HANG_SM;
        g->hangs = all || s.to_ms - s.from_ms >= HANG_MS;
        if (g->hangs && !first.to_ms) {
            struct figures fu, fs;
            curve_figures(g->util, s.from_ms, s.to_ms, &fu);
            curve_figures(g->sm, s.from_ms, s.to_ms, &fs);
            first = s;
            util = fu.mean;
            sm = fs.mean;
        }
        mark[i] = g->hangs;
    }
    size_t n = marks_count(l, mark);
    if (n) {
        say_gpus(l, mark, &text);
        str_addf(&text, n > 1 ? " were" : " was");
        str_addf(&text, " busy %.0f %% of the time from ", util);
        say_times(l, first.from_ms, first.to_ms, &text);
        str_add(&text, ", but their processors had work in ");
        say_number(sm, &text);
        str_addf(&text, " %% of it: %s waited, as in a collective that hangs",
                 n > 1 ? "they" : "it");
        str_add(&next, "see which rank does not come (NCCL_DEBUG=INFO, py-spy dump), and set a "
                       "timeout");
        if (n == 1) {
            struct str one = STR_INIT;
            const char *at = strstr(str_text(&text), "their processors");
            str_addn(&one, text.data, (size_t)(at - text.data));
            str_add(&one, "its");
            str_add(&one, at + strlen("their"));
            str_done(&text);
            text = one;
        }
        say_found(l, FOUND_GPU_HANG, &text, &next);
    }
    free(mark);
}

/* ---- idle for long ---- */

static struct stretch longest_idle(const struct look_gpu *g)
{
    struct stretch best = {0}, now = {0};
    const struct curve *c = g->work;
    for (size_t i = 0; i < c->at.n; i++) {
        bool idle = c->at.v[i].v < TOUCHED,
             gap = i && c->at.v[i].at_ms - c->at.v[i - 1].at_ms > 3 * c->gap_ms;
        if (idle && (!now.from_ms || gap))
            now.from_ms = c->at.v[i].at_ms;
        now.to_ms = c->at.v[i].at_ms;
        if (idle && now.to_ms - now.from_ms > best.to_ms - best.from_ms)
            best = now;
        if (!idle)
            now.from_ms = 0;
    }
    return best;
}

static double most_of(const struct look_gpu *g, int64_t from_ms, int64_t to_ms)
{
    struct figures f;
    curve_figures(g->work, from_ms, to_ms, &f);
    return f.n ? f.most : 0;
}

/* Another GPU of the job was at work then. */
static bool others_work(const struct look *l, const bool *mark, const struct stretch *s)
{
    for (size_t i = 0; i < l->gpu.n; i++) {
        struct figures f = {0};
        if (mark[i] || !l->gpu.v[i].work)
            continue;
        curve_figures(l->gpu.v[i].work, s->from_ms, s->to_ms, &f);
        if (f.n && f.mean >= LITTLE)
            return true;
    }
    return false;
}

static const char *idle_next(const struct look *l, const struct look_gpu *g,
                             const struct stretch *s, bool beside)
{
    if (beside)
        return "see why the program did not use it then, or ask for fewer GPUs";
    if (l->to_ms - s->to_ms < MINUTE_MS)
        return "end the job when its GPU work is done, or do the rest in a job without GPUs "
               "(--dependency=afterok)";
    if (most_of(g, l->from_ms, s->from_ms - 1) < LITTLE)
        return "prepare data in a job without GPUs, and start this one after it "
               "(--dependency=afterok)";
    return "see what the program did then; what needs no GPU can be a job of its own";
}

static void idle_say(struct look *l)
{
    bool *mark = marks_new(l);
    const struct look_gpu *of = NULL;
    struct stretch first = {0};
    for (size_t i = 0; i < l->gpu.n; i++) {
        struct look_gpu *g = &l->gpu.v[i];
        if (!g->work || g->unused || g->f.n < READING_SAMPLES)
            continue;
        struct stretch s = longest_idle(g);
        int64_t ms = s.to_ms - s.from_ms;
        mark[i] = ms >= IDLE_MS && ms * 100 >= (l->to_ms - l->from_ms) * IDLE_PERCENT;
        g->idled = mark[i];
        if (mark[i] && !of) {
            first = s;
            of = g;
        }
    }
    if (of) {
        struct str text = STR_INIT, next = STR_INIT;
        bool beside = others_work(l, mark, &first);
        say_gpus(l, mark, &text);
        str_add(&text, " did nothing from ");
        say_times(l, first.from_ms, first.to_ms, &text);
        str_add(&text, ", ");
        say_span(first.to_ms - first.from_ms, &text);
        str_add(&text, beside ? ", while others worked" : "");
        str_add(&next, idle_next(l, of, &first, beside));
        say_found(l, FOUND_GPU_IDLE, &text, &next);
    }
    free(mark);
}

/* Short bursts, and nothing between. */
static void little_say(struct look *l)
{
    bool *mark = marks_new(l);
    double mean = 0;
    for (size_t i = 0; i < l->gpu.n; i++) {
        const struct look_gpu *g = &l->gpu.v[i];
        mark[i] = g->work && !g->unused && !g->hangs && !look_is_low(g) &&
                  g->f.n >= READING_SAMPLES && g->f.mean < LITTLE;
        mean += mark[i] ? g->f.mean : 0;
    }
    size_t n = marks_count(l, mark);
    if (n) {
        struct str text = STR_INIT, next = STR_INIT;
        say_gpus(l, mark, &text);
        str_addf(&text, " %s busy in ", n > 1 ? "were" : "was");
        say_number(mean / (double)n, &text);
        str_add(&text, " % of the time, in bursts");
        str_add(&next, "a part of a GPU would do (an MIG instance or a shard, where the site has "
                       "them)");
        say_found(l, FOUND_GPU_LOW, &text, &next);
    }
    free(mark);
}

/* ---- uneven ---- */

static int by_figure(const void *va, const void *vb)
{
    double x = *(const double *)va, y = *(const double *)vb;
    return (x > y) - (x < y);
}

static bool has_both(const struct look_gpu *g)
{
    return g->util && g->sm && !g->unused && !g->hangs && !g->idled && g->f.n >= READING_SAMPLES &&
           g->sm_f.n >= READING_SAMPLES;
}

/* Who waits in a collective is as busy as who is waited for; what its processors had to do tells
 * them apart. */
static bool waited_for_say(struct look *l)
{
    bool *mark = marks_new(l);
    double *sm = xcalloc(l->gpu.n, sizeof *sm), high = 0, rest = 0;
    size_t n = 0, nhigh;
    for (size_t i = 0; i < l->gpu.n; i++)
        if (has_both(&l->gpu.v[i]))
            sm[n++] = l->gpu.v[i].sm_f.mean;
    qsort(sm, n, sizeof *sm, by_figure);
    double middle = n ? sm[n / 2] : 0;
    for (size_t i = 0; i < l->gpu.n; i++) {
        const struct look_gpu *g = &l->gpu.v[i];
        if (!has_both(g))
            continue;
        mark[i] = g->sm_f.mean - middle >= UNEVEN && middle < UNEVEN_PART * g->sm_f.mean;
        *(mark[i] ? &high : &rest) += g->sm_f.mean;
    }
    nhigh = marks_count(l, mark);
    bool says = nhigh && n >= WAITERS_LEAST * nhigh;
    if (says) {
        struct str text = STR_INIT, next = STR_INIT;
        say_gpus(l, mark, &text);
        str_addf(&text,
                 " had work for %.0f %% of %s processors in the mean, the others for %.0f %%, and "
                 "all were busy: the others waited",
                 high / (double)nhigh, nhigh > 1 ? "their" : "its", rest / (double)(n - nhigh));
        str_add(&next, "see whether that rank has more to do (larger batches, longer samples, "
                       "what rank 0 does alone), or is slower (--value smclock,temp,throttle)");
        say_found(l, FOUND_GPU_UNEVEN, &text, &next);
    }
    free(mark);
    free(sm);
    return says;
}

static void uneven_say(struct look *l)
{
    bool *mark = marks_new(l);
    double most = 0, rest = 0, low = 0;
    size_t used = 0, nlow;
    for (size_t i = 0; i < l->gpu.n; i++)
        if (l->gpu.v[i].work && !l->gpu.v[i].unused && l->gpu.v[i].f.n >= READING_SAMPLES) {
            most = l->gpu.v[i].f.mean > most ? l->gpu.v[i].f.mean : most;
            used++;
        }
    for (size_t i = 0; i < l->gpu.n; i++) {
        const struct look_gpu *g = &l->gpu.v[i];
        if (!g->work || g->unused || g->f.n < READING_SAMPLES)
            continue;
        mark[i] = !g->idled && most - g->f.mean >= UNEVEN && g->f.mean < UNEVEN_PART * most;
        *(mark[i] ? &low : &rest) += g->f.mean;
    }
    nlow = marks_count(l, mark);
    if (nlow && nlow < used) {
        struct str text = STR_INIT, next = STR_INIT;
        say_gpus(l, mark, &text);
        str_addf(&text, " %s busy %.0f %% in the mean, the other%s %.0f %%",
                 nlow > 1 ? "were" : "was", low / (double)nlow, used - nlow > 1 ? "s" : "",
                 rest / (double)(used - nlow));
        str_add(&next, "the work is not shared evenly: see the batches and data of each rank, and "
                       "whether one rank does more (rank 0 saves, logs, validates)");
        say_found(l, FOUND_GPU_UNEVEN, &text, &next);
    }
    free(mark);
}

void look_gpus(struct look *l)
{
    for (size_t i = 0; i < l->gpu.n; i++) {
        struct look_gpu *g = &l->gpu.v[i];
        /* Of an instance without activity counters nothing is known. */
        g->unused = g->work && g->f.n >= READING_SAMPLES && g->f.most < TOUCHED &&
                    (!g->sm || g->sm_f.most < TOUCHED);
        for (size_t p = 0; p < l->nphases && g->work; p++)
            dips_find(g->work, l->phase[p].from_ms, l->phase[p].to_ms, &g->dips[p]);
    }
    if (!l->gpu.n)
        return;
    hangs_say(l);
    unused_say(l);
    look_dips(l);
    idle_say(l);
    little_say(l);
    if (!waited_for_say(l))
        uneven_say(l);
    look_held(l);
}
