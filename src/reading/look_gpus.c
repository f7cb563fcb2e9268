/* What GPUs did. Those of which the same is to be said are one sentence. */
#include "reading/look.h"
#include "reading/say.h"

#include <stdlib.h>
#include <string.h>

#define UNEVEN        25.0
#define UNEVEN_PART   0.7
#define WAITERS_LEAST 4 /* so many GPUs for each that is waited for */

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
        mark[i] =
            !g->idled && !g->late && most - g->f.mean >= UNEVEN && g->f.mean < UNEVEN_PART * most;
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
                       "whether one rank does more (rank 0 saves, logs, validates; DataParallel "
                       "gathers on one GPU: DistributedDataParallel does not)");
        say_found(l, FOUND_GPU_UNEVEN, &text, &next);
    }
    free(mark);
}

/* Who takes turns is not uneven. */
static bool told_of_turns(const struct look *l)
{
    for (size_t i = 0; i < l->to->found.n; i++)
        if (strstr(l->to->found.v[i].text, " took turns"))
            return true;
    return false;
}

void look_gpus(struct look *l)
{
    for (size_t i = 0; i < l->gpu.n; i++) {
        struct look_gpu *g = &l->gpu.v[i];
        /* Of an instance without activity counters nothing is known. */
        g->unused = g->work && g->f.n >= READING_SAMPLES && g->f.most <= LOOK_TOUCHED &&
                    (!g->sm || g->sm_f.most <= LOOK_TOUCHED);
        for (size_t p = 0; p < l->nphases && g->work && !l->set_back; p++)
            dips_find(g->work, l->phase[p].from_ms, l->phase[p].to_ms, &g->dips[p]);
    }
    if (!l->gpu.n)
        return;
    look_hangs(l);
    look_thin(l);
    look_unused(l);
    look_dips(l);
    look_idle(l);
    look_little(l);
    if (!told_of_turns(l) && !waited_for_say(l))
        uneven_say(l);
    look_held(l);
}
