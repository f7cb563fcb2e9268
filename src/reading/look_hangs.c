/* GPUs that are busy by their duty cycle, and wait. */
#include "reading/look.h"
#include "reading/say.h"

#include <stdlib.h>
#include <string.h>

#define MINUTE_MS INT64_C(60000)
#define HANG_UTIL 90.0 /* busy so much, */
#define HANG_SM   2.0  /* with work in so little of its processors */
#define HANG_MS   (5 * MINUTE_MS)

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

void look_hangs(struct look *l)
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
