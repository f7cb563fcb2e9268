#include "reading/curves.h"

#include "base/alloc.h"
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
            if (b.col[i].v[k] != SERIES_ABSENT && series_time_fits(&b.head, b.at_ms[k]))
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

/* One of those that are joined. */
struct joined_curve {
    struct curve *c;
    size_t next; /* sample, the first that is later than what is looked at */
};

/* What it was at that time: between two samples that are near each other what the first says; after
 * its last, and beside a hole, nothing, for a step that is over has no memory and no CPU time
 * beside the next one's. But at the end of all (of a job that runs, what came last comes a little
 * later from one step than from another) the last one stands for as long as samples are apart, if
 * what is looked at has had a sample before it. */
static double value_at(const struct joined_curve *j, int64_t ms, int64_t before_ms, int64_t end_ms)
{
    const struct curve *c = j->c;
    ASSERT(j->next <= c->at.n);
    if (j->next == 0)
        return 0;
    const struct moment *m = &c->at.v[j->next - 1];
    bool stands = m->at_ms == ms ||
                  (j->next < c->at.n ? m[1].at_ms - m->at_ms <= 5 * c->gap_ms / 2
                                     : end_ms - m->at_ms < c->gap_ms && before_ms <= m->at_ms);
    return stands ? m->v : 0;
}

/* The next time of which one has a sample, and when that one had its last before; false: none. */
static bool next_moment(struct joined_curve *j, size_t n, int64_t *ret_ms, int64_t *ret_before_ms)
{
    ASSERT(n > 0);
    int64_t ms = INT64_MAX, before = INT64_MAX;
    for (size_t i = 0; i < n; i++)
        if (j[i].next < j[i].c->at.n && j[i].c->at.v[j[i].next].at_ms < ms)
            ms = j[i].c->at.v[j[i].next].at_ms;
    for (size_t i = 0; i < n && ms < INT64_MAX; i++) {
        const struct curve *c = j[i].c;
        if (j[i].next == c->at.n || c->at.v[j[i].next].at_ms != ms)
            continue;
        if (j[i].next > 0 && c->at.v[j[i].next - 1].at_ms < before)
            before = c->at.v[j[i].next - 1].at_ms;
        while (j[i].next < c->at.n && c->at.v[j[i].next].at_ms == ms)
            j[i].next++;
    }
    *ret_ms = ms;
    *ret_before_ms = before;
    return ms < INT64_MAX;
}

/* All become the first. Of the node's and of pressures, which cannot be added, the most. */
static void steps_add(struct joined_curve *j, size_t n, int64_t end_ms)
{
    ASSERT(n > 0);
    struct curve *to = j[0].c;
    VEC(struct moment) sum = {0};
    bool most = is_of_node(to->value) || is_pressure(to->value);
    int64_t ms, before_ms;
    while (next_moment(j, n, &ms, &before_ms)) {
        double all = 0;
        for (size_t i = 0; i < n; i++) {
            double v = value_at(&j[i], ms, before_ms, end_ms);
            all = !most ? all + v : v > all ? v : all;
        }
        vec_push(&sum, ((struct moment){ms, all}));
    }
    for (size_t i = 1; i < n; i++) {
        to->gap_ms = j[i].c->gap_ms > to->gap_ms ? j[i].c->gap_ms : to->gap_ms;
        vec_done(&j[i].c->at);
        free(j[i].c);
    }
    vec_done(&to->at);
    to->at.v = sum.v;
    to->at.n = sum.n;
    to->at.cap = sum.cap;
}

static bool are_joined(const struct curve *a, const struct curve *b)
{
    return a->value == b->value && a->index == b->index && !strcmp(a->key.node, b->key.node);
}

void curves_join_steps(struct curves *c)
{
    size_t n = 0;
    int64_t from_ms, end_ms = 0;
    struct joined_curve *j = xcalloc(c->v.n + 1, sizeof *j);
    curves_span(c, &from_ms, &end_ms);
    for (size_t i = 0; i < c->v.n; i++) {
        struct curve *one = c->v.v[i];
        if (!one)
            continue;
        c->v.v[n++] = one;
        /* Of tasks each step stays apart: rank 0 is another in each. */
        if (one->value->source != SERIES_STEP || one->value->id == SERIES_TASK_CPU)
            continue;
        size_t same = 1;
        one->of_job = true;
        j[0] = (struct joined_curve){one, 0};
        for (size_t k = i + 1; k < c->v.n; k++)
            if (c->v.v[k] && are_joined(one, c->v.v[k])) {
                j[same++] = (struct joined_curve){c->v.v[k], 0};
                c->v.v[k] = NULL;
            }
        if (same > 1)
            steps_add(j, same, end_ms);
    }
    c->v.n = n;
    free(j);
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

/* ---- limits ---- */

static double memory_of_gpu(const struct curves *c, const struct curve *used)
{
    struct figures f = {0};
    for (size_t i = 0; i < c->v.n && !f.n; i++)
        if (c->v.v[i]->value->id == SERIES_GPU_MEM_TOTAL &&
            c->v.v[i]->key.device == used->key.device &&
            !strcmp(c->v.v[i]->key.node, used->key.node))
            curve_figures(c->v.v[i], 0, INT64_MAX, &f);
    return f.n ? f.most : 0;
}

void curves_know_memory(struct curves *c)
{
    for (size_t i = 0; i < c->v.n; i++)
        if (c->v.v[i]->value->id == SERIES_GPU_MEM)
            c->v.v[i]->has = memory_of_gpu(c, c->v.v[i]);
}

void curves_know_job(struct curves *c, const struct job *j)
{
    for (size_t i = 0; i < c->v.n; i++) {
        struct curve *one = c->v.v[i];
        if (!one->of_job || j->alloc_nodes != 1)
            continue;
        if (one->value->id == SERIES_CPU)
            one->has = 100.0 * j->alloc_cpus;
        if (one->value->id == SERIES_RSS)
            one->has = (double)j->alloc_mem_mib;
    }
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
