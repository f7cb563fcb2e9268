#include "wire/series.h"

#include "base/alloc.h"
#include "base/vec.h"

#include <stdlib.h>

/* One value while its samples are taken together. */
struct thin_joined {
    uint16_t id;
    uint32_t index;
    int64_t sum, most, last, bits, count;
};

struct series_thin {
    int64_t gap_ms;
    void (*emit)(void *ctx, const struct str *block);
    void *ctx;
    struct series_grow *grow; /* NULL: no source yet */
    int64_t last_ms;          /* of the samples taken */
    int64_t slot;             /* whose samples are in `joined` */
    bool any;
    VEC(struct thin_joined) joined;
    VEC(struct series_point) point;
};

struct series_thin *series_thin_new(int64_t gap_ms,
                                    void (*emit)(void *ctx, const struct str *block), void *ctx)
{
    struct series_thin *t = xcalloc(1, sizeof *t);
    *t = (struct series_thin){.gap_ms = gap_ms, .emit = emit, .ctx = ctx};
    return t;
}

static void grow_emit(struct series_thin *t)
{
    struct str block = STR_INIT;
    if (!t->grow || series_grow_count(t->grow) == 0)
        return;
    series_grow_encode(t->grow, 0, true, &block);
    t->emit(t->ctx, &block);
    series_grow_clear(t->grow);
    str_done(&block);
}

static int64_t joined_value(const struct thin_joined *j)
{
    const struct series_value *v = series_value_of(j->id);
    switch (v ? v->join : SERIES_MEAN) {
    case SERIES_MOST: return j->most;
    case SERIES_LAST: return j->last;
    case SERIES_BITS: return j->bits;
    case SERIES_MEAN: break;
    }
    return (j->sum + (j->sum < 0 ? -j->count / 2 : j->count / 2)) / j->count;
}

static void slot_end(struct series_thin *t)
{
    if (!t->any)
        return;
    vec_clear(&t->point);
    for (size_t i = 0; i < t->joined.n; i++)
        vec_push(&t->point, ((struct series_point){t->joined.v[i].id, t->joined.v[i].index,
                                                   joined_value(&t->joined.v[i])}));
    series_grow_add(t->grow, t->slot * t->gap_ms + t->gap_ms / 2, t->gap_ms, t->point.v,
                    t->point.n);
    vec_clear(&t->joined);
    t->any = false;
    if (series_grow_count(t->grow) == SERIES_BLOCK_SAMPLES)
        grow_emit(t);
}

static void source_begin(struct series_thin *t, const struct series_source_key *key)
{
    if (t->grow && series_key_compare(series_grow_key(t->grow), key) == 0)
        return;
    slot_end(t);
    grow_emit(t);
    series_grow_free(t->grow);
    t->grow = series_grow_new(key);
    t->last_ms = INT64_MIN;
}

/* NULL: no block holds one more. Blocks of one time may each have other values. */
static struct thin_joined *joined_of(struct series_thin *t, const struct series_column *c,
                                     size_t at)
{
    for (size_t i = 0; i < t->joined.n; i++) {
        struct thin_joined *j = &t->joined.v[(at + i) % t->joined.n];
        if (j->id == c->id && j->index == c->index)
            return j;
    }
    if (t->joined.n == SERIES_VALUES_MAX)
        return NULL;
    vec_push(&t->joined, ((struct thin_joined){.id = c->id, .index = c->index, .most = INT64_MIN}));
    return &t->joined.v[t->joined.n - 1];
}

/* What is beyond any figure is not added: a sum of any number of the others is within 64 bits. */
static bool is_figure(int64_t v)
{
    return v != SERIES_ABSENT && v > -(INT64_C(1) << 48) && v < INT64_C(1) << 48;
}

static void sample_add(struct series_thin *t, const struct series_block *b, size_t i)
{
    ASSERT(i < b->head.n);
    for (size_t k = 0; k < b->ncols; k++) {
        int64_t v = b->col[k].v[i];
        if (!is_figure(v))
            continue;
        struct thin_joined *j = joined_of(t, &b->col[k], k);
        if (!j)
            continue;
        j->sum += v;
        j->count++;
        j->most = v > j->most ? v : j->most;
        j->last = v;
        j->bits |= v;
    }
    t->any = true;
}

void series_thin_add(struct series_thin *t, const struct series_block *b)
{
    source_begin(t, &b->head.key);
    for (size_t i = 0; i < b->head.n; i++) {
        if (b->at_ms[i] <= t->last_ms || !series_time_fits(&b->head, b->at_ms[i]))
            continue;
        t->last_ms = b->at_ms[i];
        if (t->any && t->slot != b->at_ms[i] / t->gap_ms)
            slot_end(t);
        t->slot = b->at_ms[i] / t->gap_ms;
        sample_add(t, b, i);
    }
}

void series_thin_end(struct series_thin *t)
{
    slot_end(t);
    grow_emit(t);
    series_grow_free(t->grow);
    vec_done(&t->joined);
    vec_done(&t->point);
    free(t);
}
