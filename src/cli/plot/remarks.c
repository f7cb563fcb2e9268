#include "cli/plot/remarks.h"

#include <inttypes.h>
#include <stdint.h>

#define LOW_PERCENT   50.0 /* a GPU that is never above this */
#define WAITS_PERCENT 90.0 /* that is busy so much of the time, */
#define WAITS_SM      2.0  /* and whose processors have work in so little of it: waits */

static const struct curve *other_of(const struct curves *c, const struct curve *of, uint16_t id)
{
    for (size_t i = 0; i < c->v.n; i++)
        if (c->v.v[i]->value->id == id && series_key_compare(&c->v.v[i]->key, &of->key) == 0)
            return c->v.v[i];
    return NULL;
}

static void figures_of(const struct curve *c, struct figures *ret)
{
    *ret = (struct figures){0};
    if (c)
        curve_figures(c, 0, INT64_MAX, ret);
}

static void gpu_say(const struct curves *c, const struct curve *util, struct str *out)
{
    struct figures f, sm;
    figures_of(util, &f);
    figures_of(other_of(c, util, SERIES_GPU_SM), &sm);
    bool knows = sm.n >= REMARKS_SAMPLES;
    if (f.n < REMARKS_SAMPLES)
        return;
    if (f.most <= 0 && (!knows || sm.most < WAITS_SM)) {
        curve_name(util, out);
        str_add(out, " was never used: ask for fewer GPUs, or see whether the program finds it\n");
    } else if (f.most < LOW_PERCENT) {
        curve_name(util, out);
        str_addf(out,
                 " was never above %.0f %%, %.0f %% in the mean: more loader workers or larger "
                 "batches, if it waits for data\n",
                 f.most, f.mean);
    } else if (knows && f.mean > WAITS_PERCENT && sm.mean < WAITS_SM) {
        curve_name(util, out);
        str_addf(out,
                 " was busy %.0f %% of the time, but its processors had work in %.1f %% of it: "
                 "it waited, as in a collective that hangs\n",
                 f.mean, sm.mean);
    }
}

/* What nodes had at most, together: never less than what there was at one time. */
static void cpus_say(const struct curves *c, const struct job *j, struct str *out)
{
    double most = 0;
    size_t samples = SIZE_MAX, nodes = 0;
    for (size_t i = 0; i < c->v.n; i++) {
        struct figures f;
        if (c->v.v[i]->value->id != SERIES_CPU)
            continue;
        figures_of(c->v.v[i], &f);
        most += f.most / 100;
        samples = f.n < samples ? f.n : samples;
        nodes++;
    }
    if (!nodes || nodes < (size_t)j->alloc_nodes || samples < REMARKS_SAMPLES ||
        most > 0.5 * j->alloc_cpus || j->alloc_cpus < 2)
        return;
    str_addf(out, "of its %d CPUs at most %.1f were busy at a time: ask for fewer (-c, -n)\n",
             j->alloc_cpus, most);
}

void remarks_say(const struct curves *c, const struct job *j, struct str *out)
{
    for (size_t i = 0; i < c->v.n; i++)
        if (c->v.v[i]->value->id == SERIES_GPU_UTIL)
            gpu_say(c, c->v.v[i], out);
    cpus_say(c, j, out);
}
