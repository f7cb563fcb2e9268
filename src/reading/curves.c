#include "reading/curves.h"

#include "base/plain.h"
#include "model/job/job.h"

#include <stdlib.h>
#include <string.h>

void curves_done(struct curves *c)
{
    for (size_t i = 0; i < c->v.n; i++) {
        vec_done(&c->v.v[i]->at);
        free(c->v.v[i]);
    }
    vec_done(&c->v);
    free(c->warning);
    *c = (struct curves){0};
}

/* ---- blocks ---- */

static bool is_of(const struct curve *c, const struct series_source_key *key, uint16_t id,
                  uint32_t index)
{
    return c->value->id == id && c->index == index && series_key_compare(&c->key, key) == 0;
}

static struct curve *curve_of(struct curves *c, const struct series_source_key *key, uint16_t id,
                              uint32_t index)
{
    const struct series_value *value = series_value_of(id);
    if (!value || (c->wants && !c->wants(value)))
        return NULL;
    for (size_t i = c->v.n; i-- > 0;) /* blocks of a source follow one another */
        if (is_of(c->v.v[i], key, id, index))
            return c->v.v[i];
    bool rank = id == SERIES_TASK_CPU;
    if (c->most && rank && c->ranks >= CURVES_OF_RANKS) /* others tell enough */
        return NULL;
    if (c->most && !rank && c->v.n - c->ranks >= c->most) {
        c->cut = true;
        return NULL;
    }
    c->ranks += rank;
    struct curve *new = xcalloc(1, sizeof *new);
    *new = (struct curve){.value = value, .key = *key, .index = index};
    vec_push(&c->v, new);
    return new;
}

/* Into the last cell, where it is of its time. */
static bool cell_join(const struct curves *c, struct curve *to, int64_t at_ms, double v)
{
    struct moment *last = to->at.n ? &to->at.v[to->at.n - 1] : NULL;
    if (!c->cell_ms || !last || at_ms / c->cell_ms != last->at_ms / c->cell_ms)
        return false;
    to->in_cell++;
    switch (to->value->join) {
    case SERIES_MEAN: last->v += (v - last->v) / (double)to->in_cell; break;
    case SERIES_MOST: last->v = v > last->v ? v : last->v; break;
    case SERIES_LAST: last->v = v; break;
    case SERIES_BITS: last->v = (double)((int64_t)last->v | (int64_t)v); break;
    }
    return true;
}

static void moment_add(const struct curves *c, struct curve *to, int64_t at_ms, double v)
{
    if (cell_join(c, to, at_ms, v))
        return;
    vec_push(&to->at, ((struct moment){at_ms, v}));
    to->in_cell = 1;
}

static void block_add(struct curves *c, struct span bytes, struct arena *a)
{
    struct series_block b;
    if (!series_block_read(bytes.data, bytes.len, a, &b, NULL))
        return;
    for (size_t i = 0; i < b.ncols; i++) {
        struct curve *to = curve_of(c, &b.head.key, b.col[i].id, b.col[i].index);
        if (!to)
            continue;
        to->gap_ms = to->gap_ms && to->gap_ms < b.head.gap_ms ? to->gap_ms : b.head.gap_ms;
        to->gap_ms = to->gap_ms > c->cell_ms ? to->gap_ms : c->cell_ms;
        for (size_t k = 0; k < b.head.n; k++)
            if (b.col[i].v[k] != SERIES_ABSENT)
                moment_add(c, to, b.at_ms[k], (double)b.col[i].v[k] / to->value->scale);
    }
}

static int by_time(const void *va, const void *vb)
{
    const struct moment *x = va, *y = vb;
    return (x->at_ms > y->at_ms) - (x->at_ms < y->at_ms);
}

/* A piece may be there beside the block that replaced it. */
static void moments_sort(struct curve *c)
{
    size_t n = 0;
    if (c->at.n)
        qsort(c->at.v, c->at.n, sizeof *c->at.v, by_time);
    for (size_t i = 0; i < c->at.n; i++)
        if (n == 0 || c->at.v[i].at_ms != c->at.v[n - 1].at_ms)
            c->at.v[n++] = c->at.v[i];
    c->at.n = n;
}

static int by_source(const void *va, const void *vb)
{
    const struct curve *x = *(struct curve *const *)va, *y = *(struct curve *const *)vb;
    int nodes = text_compare_by_number(x->key.node, y->key.node), order;
    if (nodes)
        return nodes;
    if (x->value->source != y->value->source)
        return x->value->source < y->value->source ? -1 : 1;
    if ((order = series_key_compare(&x->key, &y->key)) != 0)
        return order;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

void curves_order(struct curves *c)
{
    for (size_t i = 0; i < c->v.n; i++)
        moments_sort(c->v.v[i]);
    if (c->v.n)
        qsort(c->v.v, c->v.n, sizeof *c->v.v, by_source);
}

void curves_take(struct curves *c, const char *blocks, size_t len)
{
    struct arena *a = arena_new();
    struct span block;
    while (series_next(&blocks, &len, &block)) {
        block_add(c, block, a);
        arena_reset(a);
    }
    arena_free(a);
}

void curves_add(struct curves *c, const char *blocks, size_t len)
{
    curves_take(c, blocks, len);
    curves_order(c);
}

/* ---- steps together ---- */

static bool is_of_node(const struct series_value *v)
{
    return v->id == SERIES_CORE || v->id == SERIES_NET_RX || v->id == SERIES_NET_TX ||
           v->id == SERIES_IB_RX || v->id == SERIES_IB_TX;
}

static bool is_pressure(const struct series_value *v)
{
    return v->id == SERIES_PSI_CPU || v->id == SERIES_PSI_MEM || v->id == SERIES_PSI_IO;
}

/* What it was at that time, if there was a sample not long before. */
static bool value_at(const struct curve *c, size_t *at, int64_t ms, double *ret)
{
    while (*at + 1 < c->at.n && c->at.v[*at + 1].at_ms <= ms)
        ++*at;
    if (!c->at.n || c->at.v[*at].at_ms > ms || ms - c->at.v[*at].at_ms > 2 * c->gap_ms)
        return false;
    *ret = c->at.v[*at].v;
    return true;
}

/* Of the node's and of pressures, which cannot be added, the most. */
static void curve_join(struct curve *to, const struct curve *c)
{
    VEC(struct moment) sum = {0};
    size_t i = 0, k = 0, at_to = 0, at_c = 0;
    bool most = is_of_node(c->value) || is_pressure(c->value);
    while (i < to->at.n || k < c->at.n) {
        int64_t a = i < to->at.n ? to->at.v[i].at_ms : INT64_MAX,
                b = k < c->at.n ? c->at.v[k].at_ms : INT64_MAX, ms = a < b ? a : b;
        double x = 0, y = 0;
        value_at(to, &at_to, ms, &x);
        value_at(c, &at_c, ms, &y);
        vec_push(&sum, ((struct moment){ms, !most ? x + y : x > y ? x : y}));
        i += a == ms;
        k += b == ms;
    }
    to->gap_ms = c->gap_ms > to->gap_ms ? c->gap_ms : to->gap_ms;
    vec_done(&to->at);
    to->at.v = sum.v;
    to->at.n = sum.n;
    to->at.cap = sum.cap;
}

void curves_join_steps(struct curves *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->v.n; i++) {
        struct curve *one = c->v.v[i], *same = NULL;
        for (size_t k = n; k-- > 0 && !same;)
            if (c->v.v[k]->of_job && c->v.v[k]->value == one->value &&
                c->v.v[k]->index == one->index && !strcmp(c->v.v[k]->key.node, one->key.node))
                same = c->v.v[k];
        if (one->value->id == SERIES_TASK_CPU) { /* of steps apart: rank 0 is another in each */
            c->v.v[n++] = one;
            continue;
        }
        if (one->value->source == SERIES_STEP && same) {
            curve_join(same, one);
            vec_done(&one->at);
            free(one);
            continue;
        }
        one->of_job = one->value->source == SERIES_STEP;
        c->v.v[n++] = one;
    }
    c->v.n = n;
}

void curves_keep(struct curves *c, bool (*keep)(void *ctx, const struct curve *c), void *ctx)
{
    size_t n = 0;
    for (size_t i = 0; i < c->v.n; i++) {
        struct curve *one = c->v.v[i];
        if (keep(ctx, one)) {
            c->v.v[n++] = one;
        } else {
            vec_done(&one->at);
            free(one);
        }
    }
    c->v.n = n;
}

/* ---- figures ---- */

void curve_figures(const struct curve *c, int64_t from_ms, int64_t to_ms, struct figures *ret)
{
    double sum = 0;
    *ret = (struct figures){0};
    for (size_t i = 0; i < c->at.n; i++) {
        double v = c->at.v[i].v;
        if (c->at.v[i].at_ms < from_ms || c->at.v[i].at_ms > to_ms)
            continue;
        ret->least = ret->n == 0 || v < ret->least ? v : ret->least;
        ret->most = ret->n == 0 || v > ret->most ? v : ret->most;
        ret->last = v;
        sum += v;
        ret->n++;
    }
    ret->mean = ret->n ? sum / (double)ret->n : 0;
}

bool curves_span(const struct curves *c, int64_t *ret_from_ms, int64_t *ret_to_ms)
{
    bool any = false;
    for (size_t i = 0; i < c->v.n; i++) {
        const struct curve *one = c->v.v[i];
        if (!one->at.n)
            continue;
        int64_t first = one->at.v[0].at_ms, last = one->at.v[one->at.n - 1].at_ms;
        *ret_from_ms = !any || first < *ret_from_ms ? first : *ret_from_ms;
        *ret_to_ms = !any || last > *ret_to_ms ? last : *ret_to_ms;
        any = true;
    }
    return any;
}

void curve_name(const struct curve *c, struct str *out)
{
    str_add_plain(out, c->key.node);
    if (c->value->source == SERIES_DEVICE) {
        str_addf(out, " GPU %d", c->key.device);
    } else if (!c->of_job) {
        str_add(out, " step ");
        step_label(c->key.step_id, out);
    }
    if (c->value->id == SERIES_CORE)
        str_addf(out, " CPU %u", c->index);
    if (c->value->id == SERIES_TASK_CPU)
        str_addf(out, " task %u", c->index);
}
