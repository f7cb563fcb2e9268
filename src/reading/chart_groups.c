#include "reading/chart_groups.h"

#include "base/alloc.h"
#include "base/plain.h"

#include <stdlib.h>
#include <string.h>

#define LOW_PART  0.75 /* of what the middle one does */
#define LOW_LEAST 0.05 /* and so much of the chart below it */

void chart_groups_done(struct chart_groups *t)
{
    for (size_t i = 0; i < t->v.n; i++)
        vec_done(&t->v.v[i].of);
    vec_done(&t->v);
}

void chart_groups_cut(struct chart_groups *t, size_t most)
{
    while (t->v.n > most) {
        t->v.n--;
        vec_done(&t->v.v[t->v.n].of);
    }
}

/* Curves are by node, so that those of one follow each other. */
static bool goes_with(const struct chart_group *t, const struct curve *c, enum chart_grouping how)
{
    return t && t->value == c->value && how != CHARTS_EACH &&
           (how == CHARTS_OF_ALL || text_is(t->of.v[0]->key.node, c->key.node));
}

void chart_groups_make(const struct curves *c, enum chart_grouping how, struct chart_groups *ret)
{
    *ret = (struct chart_groups){0};
    for (size_t i = 0; i < series_values_n; i++)
        for (size_t k = 0; k < c->v.n; k++) {
            struct chart_group *last = ret->v.n ? &ret->v.v[ret->v.n - 1] : NULL;
            if (c->v.v[k]->value != &series_values[i])
                continue;
            if (!goes_with(last, c->v.v[k], how)) {
                vec_push(&ret->v, ((struct chart_group){.value = &series_values[i]}));
                last = &ret->v.v[ret->v.n - 1];
            }
            vec_push(&last->of, c->v.v[k]);
        }
}

void chart_groups_fit(const struct curves *c, size_t most, struct chart_groups *ret)
{
    for (enum chart_grouping how = CHARTS_EACH;; how++) {
        chart_groups_make(c, how, ret);
        if (ret->v.n <= most || how == CHARTS_OF_ALL)
            return;
        chart_groups_done(ret);
    }
}

static bool of_one_node(const struct chart_group *t)
{
    for (size_t i = 1; i < t->of.n; i++)
        if (!text_is(t->of.v[i]->key.node, t->of.v[0]->key.node))
            return false;
    return true;
}

static const char *noun_of(const struct chart_group *t, bool one_node)
{
    if (t->value->source == SERIES_DEVICE)
        return "GPUs";
    if (t->value->id == SERIES_CORE)
        return "CPUs";
    if (t->value->id == SERIES_TASK_CPU)
        return "tasks";
    return one_node || !t->of.v[0]->of_job ? "steps" : "nodes";
}

void chart_group_name(const struct chart_group *t, struct str *out)
{
    ASSERT(t->of.n > 0);
    bool one_node = of_one_node(t);
    if (t->of.n == 1) {
        curve_name(t->of.v[0], out);
        return;
    }
    if (one_node) {
        str_add_plain(out, t->of.v[0]->key.node);
        str_add(out, ", ");
    }
    str_addf(out, "%zu %s", t->of.n, noun_of(t, one_node));
}

void chart_group_figures(const struct chart_group *t, int64_t from_ms, int64_t to_ms,
                         struct figures *ret)
{
    double sum = 0;
    size_t n = 0;
    *ret = (struct figures){0};
    for (size_t i = 0; i < t->of.n; i++) {
        struct figures f;
        curve_figures(t->of.v[i], from_ms, to_ms, &f);
        if (!f.n)
            continue;
        ret->least = n == 0 || f.least < ret->least ? f.least : ret->least;
        ret->most = n == 0 || f.most > ret->most ? f.most : ret->most;
        ret->last = f.last;
        ret->n += f.n;
        sum += f.mean;
        n++;
    }
    ret->mean = n ? sum / (double)n : 0;
}

void chart_group_parts(const struct chart_group *t, int64_t from_ms, int64_t to_ms,
                       struct chart_part *part, size_t n)
{
    ASSERT(n > 0 && t->of.n > 0);
    struct chart_part *one = xcalloc(n, sizeof *one);
    size_t *count = xcalloc(n, sizeof *count);
    memset(part, 0, n * sizeof *part);
    for (size_t i = 0; i < t->of.n; i++) {
        chart_parts(t->of.v[i], from_ms, to_ms, one, n);
        for (size_t k = 0; k < n; k++) {
            if (!one[k].any)
                continue;
            bool first = count[k]++ == 0;
            part[k].any = true;
            part[k].least = first || one[k].least < part[k].least ? one[k].least : part[k].least;
            part[k].most = first || one[k].most > part[k].most ? one[k].most : part[k].most;
            part[k].mean += (one[k].mean - part[k].mean) / (double)count[k];
        }
    }
    free(one);
    free(count);
}

static int up(const void *va, const void *vb)
{
    double x = *(const double *)va, y = *(const double *)vb;
    return (x > y) - (x < y);
}

const struct curve *chart_group_lowest(const struct chart_group *t, int64_t from_ms, int64_t to_ms,
                                       double *ret_mean)
{
    ASSERT(t->of.n > 0);
    const struct curve *lowest = NULL;
    double *mean = xcalloc(t->of.n, sizeof *mean), most = 0;
    size_t n = 0;
    for (size_t i = 0; i < t->of.n; i++) {
        struct figures f;
        curve_figures(t->of.v[i], from_ms, to_ms, &f);
        if (!f.n)
            continue;
        if (!lowest || f.mean < *ret_mean) {
            lowest = t->of.v[i];
            *ret_mean = f.mean;
        }
        most = f.most > most ? f.most : most;
        mean[n++] = f.mean;
    }
    qsort(mean, n, sizeof *mean, up);
    bool is_low = n > 2 && *ret_mean < LOW_PART * mean[n / 2] &&
                  mean[n / 2] - *ret_mean > LOW_LEAST * chart_top(t->value, most);
    free(mean);
    return is_low ? lowest : NULL;
}

double chart_group_has(const struct chart_group *t)
{
    double has = t->of.v[0]->has;
    for (size_t i = 1; i < t->of.n; i++)
        if (t->of.v[i]->has < has || t->of.v[i]->has > has)
            return 0;
    return has;
}

/* ---- in a terminal ---- */

static void group_write(const struct chart_group *t, int64_t from_ms, int64_t to_ms,
                        const struct chart_style *style, double most, struct str *out)
{
    struct str name = STR_INIT, after = STR_INIT;
    size_t n = chart_parts_of(style);
    struct chart_part *part = xcalloc(n, sizeof *part);
    char number[CHART_NUMBER_BYTES];
    double mean = 0;
    const struct curve *lowest = chart_group_lowest(t, from_ms, to_ms, &mean);
    chart_group_name(t, &name);
    if (chart_group_has(t) > 0)
        str_addf(&after, ", of %s", chart_number(t->value, chart_group_has(t), number));
    if (lowest) {
        str_add(&after, "; lowest: ");
        curve_name(lowest, &after);
        str_addf(&after, ", %s", chart_number(t->value, mean, number));
    }
    struct chart chart = {.value = t->value,
                          .name = str_text(&name),
                          .after = str_text(&after),
                          .most = most,
                          .part = part};
    chart_group_figures(t, from_ms, to_ms, &chart.figures);
    chart_group_parts(t, from_ms, to_ms, part, n);
    chart_draw(&chart, style, out);
    free(part);
    str_done(&name);
    str_done(&after);
}

static double most_of(const struct chart_groups *g, const struct series_value *value,
                      int64_t from_ms, int64_t to_ms)
{
    double most = 0;
    for (size_t i = 0; i < g->v.n; i++) {
        struct figures f;
        if (g->v.v[i].value != value)
            continue;
        chart_group_figures(&g->v.v[i], from_ms, to_ms, &f);
        most = f.most > most ? f.most : most;
    }
    return most;
}

void chart_groups_write(const struct chart_groups *g, int64_t from_ms, int64_t to_ms,
                        const struct chart_style *style, struct str *out)
{
    double most = 0;
    for (size_t i = 0; i < g->v.n; i++) {
        if (i == 0 || g->v.v[i].value != g->v.v[i - 1].value)
            most = most_of(g, g->v.v[i].value, from_ms, to_ms);
        group_write(&g->v.v[i], from_ms, to_ms, style, most, out);
    }
}
