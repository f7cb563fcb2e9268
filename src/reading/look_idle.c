/* GPUs that nobody used: never, for long, or for most of the time. */
#include "reading/look.h"
#include "reading/say.h"

#include <stdlib.h>
#include <string.h>

#define MINUTE_MS    INT64_C(60000)
#define LITTLE       10.0 /* in the mean */
#define IDLE_MS      (10 * MINUTE_MS)
#define IDLE_PERCENT 15 /* of the job */

/* ---- never touched ---- */

void look_unused(struct look *l)
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

/* ---- idle for long ---- */

static struct stretch longest_idle(const struct look_gpu *g)
{
    struct stretch best = {0}, now = {0};
    const struct curve *c = g->work;
    for (size_t i = 0; i < c->at.n; i++) {
        bool idle = c->at.v[i].v < LOOK_TOUCHED,
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

void look_idle(struct look *l)
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
void look_little(struct look *l)
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
