#include "wire/series.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "model/fields.h"
#include "wire/series_bits.h"

#include <stdlib.h>
#include <string.h>

#define VERSION     1u
#define WHOLE       1u
#define CRC_BYTES   4u
#define SAMPLES_MAX 4096u
#define NUMBERS_MAX (1u << 18) /* of a block: a few bytes can stand for very many */

int series_key_compare(const struct series_source_key *x, const struct series_source_key *y)
{
    if (x->job_id != y->job_id)
        return x->job_id < y->job_id ? -1 : 1;
    if (x->attempt != y->attempt)
        return x->attempt < y->attempt ? -1 : 1;
    int nodes = strcmp(x->node, y->node);
    if (nodes)
        return nodes;
    if (x->step_id != y->step_id)
        return x->step_id < y->step_id ? -1 : 1;
    return (x->device > y->device) - (x->device < y->device);
}

/* ---- making ---- */

struct growing_column {
    uint16_t id;
    uint32_t index;
    int64_t v[SERIES_BLOCK_SAMPLES];
};

struct series_grow {
    struct series_source_key key;
    int64_t gap_ms;
    size_t n;
    int64_t at_ms[SERIES_BLOCK_SAMPLES];
    VEC(struct growing_column) col;
};

struct series_grow *series_grow_new(const struct series_source_key *key)
{
    struct series_grow *g = xcalloc(1, sizeof *g);
    g->key = *key;
    return g;
}

void series_grow_free(struct series_grow *g)
{
    if (!g)
        return;
    vec_done(&g->col);
    free(g);
}

const struct series_source_key *series_grow_key(const struct series_grow *g)
{
    return &g->key;
}

size_t series_grow_count(const struct series_grow *g)
{
    return g->n;
}

void series_grow_clear(struct series_grow *g)
{
    g->n = 0;
    vec_clear(&g->col);
}

/* Samples have their values in the same order, as a rule: it is looked for from `at` on. */
static struct growing_column *column_of(struct series_grow *g, const struct series_point *p,
                                        size_t at)
{
    for (size_t i = 0; i < g->col.n; i++) {
        struct growing_column *c = &g->col.v[(at + i) % g->col.n];
        if (c->id == p->id && c->index == p->index)
            return c;
    }
    if (g->col.n == SERIES_VALUES_MAX)
        return NULL;
    struct growing_column new = {.id = p->id, .index = p->index};
    for (size_t i = 0; i < SERIES_BLOCK_SAMPLES; i++)
        new.v[i] = SERIES_ABSENT;
    vec_push(&g->col, new);
    return &g->col.v[g->col.n - 1];
}

void series_grow_add(struct series_grow *g, int64_t at_ms, int64_t gap_ms,
                     const struct series_point *point, size_t n)
{
    CHECK(g->n < SERIES_BLOCK_SAMPLES);
    g->at_ms[g->n] = at_ms;
    g->gap_ms = gap_ms;
    for (size_t i = 0; i < n; i++) {
        struct growing_column *c = column_of(g, &point[i], i);
        if (c && c->v[g->n] == SERIES_ABSENT)
            c->v[g->n] = point[i].value;
    }
    g->n++;
}

static void text_put(struct str *out, const char *text)
{
    size_t len = strlen(text);
    series_put_u64(out, len);
    str_addn(out, text, len);
}

static bool is_there(const int64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] != SERIES_ABSENT)
            return true;
    return false;
}

static void columns_put(const struct series_grow *g, size_t from, struct str *out)
{
    size_t n = g->n - from, count = 0;
    for (size_t i = 0; i < g->col.n; i++)
        count += is_there(g->col.v[i].v + from, n);
    series_put_u64(out, count);
    for (size_t i = 0; i < g->col.n; i++) {
        const struct growing_column *c = &g->col.v[i];
        if (!is_there(c->v + from, n))
            continue;
        series_put_u64(out, c->id);
        series_put_u64(out, c->index);
        series_put_column(out, c->v + from, n);
    }
}

void series_grow_encode(const struct series_grow *g, size_t from, bool whole, struct str *out)
{
    size_t begin = out->len;
    CHECK(from < g->n);
    str_addc(out, VERSION);
    str_addc(out, whole ? WHOLE : 0);
    series_put_u64(out, g->key.job_id);
    series_put_u64(out, g->key.attempt);
    series_put_i64(out, g->key.step_id);
    series_put_i64(out, g->key.device);
    text_put(out, g->key.node);
    text_put(out, g->key.name);
    series_put_u64(out, g->gap_ms > 0 ? (uint64_t)g->gap_ms : 0);
    series_put_i64(out, g->at_ms[from]);
    series_put_u64(out, g->n - from);
    series_put_i64(out, (int64_t)((uint64_t)g->at_ms[g->n - 1] - (uint64_t)g->at_ms[from]));
    series_put_column(out, g->at_ms + from, g->n - from);
    columns_put(g, from, out);
    uint32_t crc = series_crc(out->data + begin, out->len - begin);
    for (unsigned i = 0; i < CRC_BYTES; i++)
        str_addc(out, (char)(crc >> 8 * i));
}

/* ---- reading ---- */

static void text_get(struct series_in *in, char *to, size_t size)
{
    ASSERT(size > 0);
    uint64_t len = series_get_u64(in);
    if (in->bad || len >= size || len > (size_t)(in->end - in->at) || memchr(in->at, 0, len)) {
        in->bad = true;
        return;
    }
    memcpy(to, in->at, len);
    to[len] = '\0';
    in->at += len;
}

static bool is_unbroken(struct series_in *in)
{
    size_t len = (size_t)(in->end - in->at);
    uint32_t crc = 0;
    if (len < CRC_BYTES + 2 || len > SERIES_BLOCK_BYTES)
        return false;
    in->end -= CRC_BYTES;
    for (unsigned i = 0; i < CRC_BYTES; i++)
        crc |= (uint32_t)in->end[i] << 8 * i;
    return crc == series_crc(in->at, len - CRC_BYTES);
}

static bool head_get(struct series_in *in, struct series_head *ret, struct err *ret_err)
{
    *ret = (struct series_head){0};
    if (!is_unbroken(in))
        return err_set(ret_err, ERR_INVALID, "a block of a series is cut or damaged");
    if (*in->at++ != VERSION)
        return err_set(ret_err, ERR_INVALID, "a block of a series is of another release");
    ret->whole = *in->at++ & WHOLE;
    uint64_t attempt, gap, n;
    ret->key.job_id = series_get_u64(in);
    attempt = series_get_u64(in);
    ret->key.step_id = series_get_i64(in);
    int64_t device = series_get_i64(in);
    text_get(in, ret->key.node, sizeof ret->key.node);
    text_get(in, ret->key.name, sizeof ret->key.name);
    gap = series_get_u64(in);
    ret->first_ms = series_get_i64(in);
    n = series_get_u64(in);
    ret->last_ms = (int64_t)((uint64_t)ret->first_ms + (uint64_t)series_get_i64(in));
    if (in->bad || attempt > UINT32_MAX || device < SERIES_OF_STEP || device > INT32_MAX ||
        gap > INT32_MAX || n == 0 || n > SAMPLES_MAX)
        return err_set(ret_err, ERR_INVALID, "a block of a series has a head that cannot be");
    ret->key.attempt = (uint32_t)attempt;
    ret->key.device = (int32_t)device;
    ret->gap_ms = (int64_t)gap;
    ret->n = (size_t)n;
    return true;
}

bool series_head_read(const void *data, size_t len, struct series_head *ret, struct err *ret_err)
{
    struct series_in in = {data, (const uint8_t *)data + len, false};
    return head_get(&in, ret, ret_err);
}

static bool columns_get(struct series_in *in, struct arena *a, struct series_block *ret)
{
    size_t n = ret->head.n;
    uint64_t ncols = series_get_u64(in);
    if (in->bad || ncols > SERIES_VALUES_MAX || ncols * n > NUMBERS_MAX)
        return false;
    ret->ncols = (size_t)ncols;
    ret->col = arena_alloc(a, (ret->ncols + 1) * sizeof *ret->col);
    for (size_t i = 0; i < ret->ncols && !in->bad; i++) {
        uint64_t id = series_get_u64(in), index = series_get_u64(in);
        if (in->bad || id > UINT16_MAX || index > UINT32_MAX)
            return false;
        ret->col[i] = (struct series_column){(uint16_t)id, (uint32_t)index,
                                             arena_alloc(a, n * sizeof(int64_t))};
        series_get_column(in, ret->col[i].v, n);
    }
    return !in->bad;
}

bool series_block_read(const void *data, size_t len, struct arena *a, struct series_block *ret,
                       struct err *ret_err)
{
    struct series_in in = {data, (const uint8_t *)data + len, false};
    *ret = (struct series_block){0};
    if (!head_get(&in, &ret->head, ret_err))
        return false;
    ret->at_ms = arena_alloc(a, ret->head.n * sizeof *ret->at_ms);
    series_get_column(&in, ret->at_ms, ret->head.n);
    return (!in.bad && columns_get(&in, a, ret)) ||
           err_set(ret_err, ERR_INVALID, "a block of a series has columns that cannot be");
}

static bool is_time(int64_t ms)
{
    return ms >= 0 && ms <= FIELD_TIME_MAX / 1000;
}

bool series_time_fits(const struct series_head *h, int64_t at_ms)
{
    const int64_t day_ms = 24 * 3600 * INT64_C(1000);
    return is_time(h->first_ms) && is_time(h->last_ms) && is_time(at_ms) &&
           at_ms >= h->first_ms - day_ms && at_ms <= h->last_ms + day_ms;
}

/* ---- several ---- */

void series_put(struct str *out, const struct str *block)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        str_addc(out, (char)(block->len >> shift));
    str_addn(out, block->data, block->len);
}

bool series_next(const char **data, size_t *len, struct span *ret_block)
{
    const uint8_t *at = (const uint8_t *)*data;
    if (*len < 4)
        return false;
    size_t n = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
    if (n > *len - 4)
        return false;
    *ret_block = (struct span){*data + 4, n};
    *data += 4 + n;
    *len -= 4 + n;
    return true;
}
