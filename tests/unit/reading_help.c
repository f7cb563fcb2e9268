#include "reading_help.h"
#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double noise(size_t i, unsigned salt)
{
    uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) + salt * UINT64_C(0xd1b54a32d192ed03);
    x ^= x >> 31;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    return (double)(x % 20001) / 10000 - 1;
}

void curve_put(struct curves *c, const struct series_source_key *key, uint16_t id, uint32_t index,
               const int64_t *at_ms, const double *v, size_t n, int64_t gap_ms)
{
    struct series_grow *g = series_grow_new(key);
    struct str block = STR_INIT, all = STR_INIT;
    for (size_t i = 0; i < n; i++) {
        series_grow_add(
            g, at_ms[i], gap_ms,
            &(struct series_point){id, index, (int64_t)(v[i] * series_value_of(id)->scale + 0.5)},
            1);
        if (series_grow_count(g) < SERIES_BLOCK_SAMPLES && i + 1 < n)
            continue;
        str_clear(&block);
        series_grow_encode(g, 0, true, &block);
        series_put(&all, &block);
        series_grow_clear(g);
    }
    curves_take(c, all.data, all.len);
    str_done(&block);
    str_done(&all);
    series_grow_free(g);
}

/* ---- texts ---- */

struct drawn {
    VEC(int64_t) at_ms;
    VEC(double) v;
    size_t n; /* samples, those that did not come among them */
    int64_t clock_ms, gap_ms;
    unsigned salt;
};

static void draw(struct drawn *d, double v)
{
    vec_push(&d->at_ms, BEGAN_MS + (int64_t)d->n * d->gap_ms + d->clock_ms);
    vec_push(&d->v, v < 0 ? 0 : v);
    d->n++;
}

/* "90", "90~4", "10>90~2" before its "*COUNT". */
static const char *term(struct drawn *d, const char *t)
{
    char *end;
    double from = strtod(t, &end), to = from, spread = 0;
    if (*end == '>')
        to = strtod(end + 1, &end);
    if (*end == '~')
        spread = strtod(end + 1, &end);
    CHECK(*end == '*');
    long count = strtol(end + 1, &end, 10);
    for (long i = 0; i < count; i++)
        draw(d, from + (to - from) * (double)i / (double)(count > 1 ? count - 1 : 1) +
                    spread * noise(d->n, d->salt));
    return end;
}

static const char *terms(struct drawn *d, const char *t)
{
    while (*t && *t != ')') {
        char *end;
        long number = strtol(t, &end, 10);
        if (*t == ' ') {
            t++;
        } else if (!strncmp(t, "-*", 2)) {
            d->n += (size_t)strtol(t + 2, &end, 10);
            t = end;
        } else if (end > t && *end == '(') {
            for (long i = 0; i < number; i++)
                t = terms(d, end + 1);
            t++;
        } else if (end > t && *end == 's') {
            d->clock_ms += number * 1000;
            t = end + 1;
        } else {
            t = term(d, t);
        }
    }
    return t;
}

size_t curve_of_text(struct curves *c, const char *text, int64_t gap_ms, unsigned salt)
{
    struct series_source_key key = {.job_id = 7, .attempt = 1, .step_id = -1, .device = -1};
    struct drawn d = {.gap_ms = gap_ms, .salt = salt};
    const char *colon = strchr(text, ':'), *slash = strchr(text, '/'), *word;
    unsigned rank = 0;
    if (slash && slash < colon)
        snprintf(key.node, sizeof key.node, "%.*s", (int)(slash - text), text);
    else
        strcpy(key.node, "gpu7");
    text = slash && slash < colon ? slash + 1 : text;
    word = memchr(text, ' ', (size_t)(colon - text));
    if (word && sscanf(text, "rank%u", &rank) == 1)
        key.step_id = 0;
    else if (word) {
        key.device = (int32_t)strtol(text, NULL, 10);
        key.step_id = 0;
    }
    word = word ? word + 1 : text;
    const struct series_value *value =
        series_value_named((struct span){word, (size_t)(colon - word)});
    CHECK(value);
    terms(&d, colon + 1);
    curve_put(c, &key, value->id, rank, d.at_ms.v, d.v.v, d.v.n, gap_ms);
    vec_done(&d.at_ms);
    vec_done(&d.v);
    return d.n;
}
