/* Each node's amounts are sorted into 128 buckets a dimension, kept up to date node by node. Two
 * first looks are made with them. The joint count tells how many nodes have enough of three
 * dimensions together, and so rules out nearly all of the queue; the screen tells which, for
 * sixteen nodes at a time. Both may let too much through, never too little. */
#include "sched/world/counts.h"
#include "base/alloc.h"
#include "sched/world/row.h"

#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Dimensions that no first look is taken at. */
static bool counted(uint32_t dim)
{
    return dim != DIM_JOBS && dim != DIM_SHARE;
}

void counts_touch(struct world *w, uint32_t node)
{
    if (node >= w->nnodes || !bit_get(w->now.up, node))
        return;
    const int64_t *now = world_free_row(w, node);
    w->counts.changes++;
    for (uint32_t d = 0; d < w->dims; d++)
        if (counted(d)) {
            uint8_t to = bucket_of(w->cl, d, now[d]);
            w->counts.bucket[COUNT_NOW][d * w->counts.padded + node] = to;
            w->counts.bucket[COUNT_EVER][d * w->counts.padded + node] = to;
        }
    /* Where nothing is promised, as much is free for ever as now. */
    if (w->agenda.kept[node] == NONE) {
        bit_clear(w->counts.touched, node);
        return;
    }
    w->counts.any_touched = true;
    bit_set(w->counts.touched, node);
}

static void ever_count(struct world *w, uint32_t node)
{
    const int64_t *ever = world_row(w, node, w->now_us, INT64_MAX);
    for (uint32_t d = 0; d < w->dims; d++)
        if (counted(d))
            w->counts.bucket[COUNT_EVER][d * w->counts.padded + node] =
                bucket_of(w->cl, d, ever[d]);
}

/* What is free for ever is counted when somebody asks: promises come and go more often. */
static void touched_count(struct world *w, int which)
{
    if (!w->counts.any_touched || which == COUNT_NOW)
        return;
    w->counts.any_touched = false;
    for (size_t i = 0; i < BIT_WORDS(w->nnodes); i++) {
        for (uint64_t bits = w->counts.touched[i]; bits; bits &= bits - 1)
            ever_count(w, (uint32_t)(i * 64 + (size_t)__builtin_ctzll(bits)));
        w->counts.touched[i] = 0;
    }
}

void counts_promised(struct world *w, int64_t start_us)
{
    struct agenda *a = &w->agenda;
    a->first_promise_us = start_us < a->first_promise_us ? start_us : a->first_promise_us;
    a->last_promise_us = start_us > a->last_promise_us ? start_us : a->last_promise_us;
}

void counts_promises(struct world *w)
{
    struct agenda *a = &w->agenda;
    a->first_promise_us = INT64_MAX;
    a->last_promise_us = INT64_MIN;
    for (size_t i = 0; i < a->promised.n; i++)
        counts_promised(w, a->job.v[a->promised.v[i]].start_us);
}

static void most_find(struct world *w)
{
    w->counts.most = xcalloc(w->dims, 1);
    for (size_t g = 0; g < w->cl->group.n; g++)
        for (uint32_t d = 0; d < w->dims && d < w->cl->group.v[g]->ntotal; d++) {
            uint8_t b = bucket_of(w->cl, d, w->cl->group.v[g]->total[d]);
            w->counts.most[d] = b > w->counts.most[d] ? b : w->counts.most[d];
        }
}

void counts_init(struct world *w)
{
    w->counts.padded = BIT_WORDS(w->nnodes) * 64;
    w->counts.changes = 1;
    w->counts.touched = xcalloc(BIT_WORDS(w->nnodes) + 1, sizeof w->counts.touched[0]);
    /* A table that is a little old tells too many, which costs a try; making it anew costs a walk
     * over all nodes. So it is made when something came free, or when a quarter of the nodes has
     * changed. */
    w->counts.joint_stale = w->nnodes / 4;
    counts_promises(w);
    most_find(w);
    for (int which = 0; which < COUNTS; which++) {
        /* Most are never asked for: their cells, 32 KiB each, are not touched before they are
         * counted. */
        w->counts.joint[which] = xmalloc(w->dims * sizeof w->counts.joint[which][0]);
        for (uint32_t dim = 0; dim < w->dims; dim++)
            w->counts.joint[which][dim].changes = 0;
        w->counts.bucket[which] = xcalloc(w->counts.padded * w->dims + 8, 1);
    }
    for (uint32_t node = 0; node < w->nnodes; node++)
        counts_touch(w, node);
}

/* ---- which nodes ---- */

/* One row of buckets for each dimension looked at, from some node on. */
struct counts_rows {
    const uint8_t *cpu, *mem, *gres;
};

#ifdef __SSE2__
/* Sixteen nodes at once: what a node falls short by is zero in each dimension. */
static inline uint64_t enough_64(const struct counts_rows *r, const struct screen *s)
{
    const __m128i cpu = _mm_set1_epi8((char)s->cpu), mem = _mm_set1_epi8((char)s->mem),
                  gres = _mm_set1_epi8((char)s->gres), none = _mm_setzero_si128();
    uint64_t bits = 0;
    for (size_t i = 0; i < 4; i++) {
        __m128i lacks = _mm_subs_epu8(cpu, _mm_loadu_si128((const __m128i *)(r->cpu + i * 16)));
        lacks = _mm_or_si128(
            lacks, _mm_subs_epu8(mem, _mm_loadu_si128((const __m128i *)(r->mem + i * 16))));
        lacks = _mm_or_si128(
            lacks, _mm_subs_epu8(gres, _mm_loadu_si128((const __m128i *)(r->gres + i * 16))));
        bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(lacks, none)) << (i * 16);
    }
    return bits;
}
#else
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Bit 7 of each of eight bytes: is it at least `least`? Buckets are below 128, so no byte borrows
 * from its neighbour. */
static inline uint64_t at_least(const uint8_t *bucket, uint8_t least)
{
    uint64_t eight;
    memcpy(&eight, bucket, 8);
    return (eight | EACH(0x80)) - EACH(least);
}

static inline uint64_t enough_64(const struct counts_rows *r, const struct screen *s)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < 8; i++) {
        uint64_t ok = at_least(r->cpu + i * 8, s->cpu) & at_least(r->mem + i * 8, s->mem) &
                      at_least(r->gres + i * 8, s->gres);
        /* Gathers the eight top bits into one byte, the first node lowest. */
        bits |= (((ok & EACH(0x80)) >> 7) * UINT64_C(0x0102040810204080) >> 56) << (i * 8);
    }
    return bits;
}
#endif

static inline struct counts_rows rows_of(const struct world *w, int which, const struct screen *s)
{
    const uint8_t *bucket = w->counts.bucket[which];
    return (struct counts_rows){&bucket[DIM_CPU * w->counts.padded],
                                &bucket[DIM_MEM * w->counts.padded],
                                &bucket[s->dim * w->counts.padded]};
}

static inline void rows_next(struct counts_rows *r)
{
    r->cpu += 64;
    r->mem += 64;
    r->gres += 64;
}

size_t counts_enough(struct world *w, int which, const struct screen *s)
{
    ASSERT(which == COUNT_NOW || which == COUNT_EVER);
    touched_count(w, which);
    struct counts_rows r = rows_of(w, which, s);
    size_t nodes = 0;
    for (size_t i = 0; i < w->counts.padded / 64; i++) {
        if (w->now.open[i])
            nodes += bit_ones(w->now.open[i] & enough_64(&r, s));
        rows_next(&r);
    }
    return nodes;
}

static size_t screen(struct world *w, int which, const struct compiled *c, const struct option *o,
                     const struct variant *v)
{
    touched_count(w, which);
    struct counts_rows r = rows_of(w, which, &v->screen);
    size_t nodes = 0;
    for (size_t i = 0; i < w->counts.padded / 64; i++) {
        uint64_t bits = w->now.open[i] & option_allows(c, o, i);
        if (bits)
            bits &= enough_64(&r, &v->screen);
        w->scratch.screened[i] = bits;
        nodes += bit_ones(bits);
        rows_next(&r);
    }
    return nodes;
}

size_t counts_screen(struct world *w, int which, const struct compiled *c, const struct option *o,
                     const struct variant *v)
{
    ASSERT(which == COUNT_NOW || which == COUNT_EVER);
    /* Too few now are too few for ever, and cost less. */
    size_t nodes =
        which == COUNT_NOW || w->counts.any_touched ? screen(w, COUNT_NOW, c, o, v) : SIZE_MAX;
    bool enough = nodes >= (size_t)v->lay.nmin;
    return which == COUNT_EVER && enough ? screen(w, COUNT_EVER, c, o, v) : nodes;
}

/* ---- three dimensions at once ---- */

#define GRES_SHIFT  3 /* 128 buckets to 16, where there are more than 16 */
#define JOINT_SHIFT 2 /* 128 buckets to 32 */

/* How a table is cut: only the levels that occur are summed. */
struct cut {
    uint32_t gres, cpu, mem; /* levels */
    uint32_t shift;          /* from bucket to level of the generic resource */
    bool counted;            /* false: no generic resource, one level */
};

static struct cut cut_of(const struct world *w, uint32_t dim)
{
    struct cut k = {.counted = dim != DIM_CPU};
    k.shift = w->counts.most[dim] < JOINT_GRES ? 0 : GRES_SHIFT; /* few GPUs a node: a level each */
    k.gres = k.counted ? (w->counts.most[dim] >> k.shift) + 1u : 1;
    k.cpu = (w->counts.most[DIM_CPU] >> JOINT_SHIFT) + 1u;
    k.mem = (w->counts.most[DIM_MEM] >> JOINT_SHIFT) + 1u;
    return k;
}

#define ROW(j, g, c) (&(j)->nodes[((size_t)(g)*JOINT_SIDE + (size_t)(c)) * JOINT_SIDE])

static inline void row_sum(uint16_t *restrict to, const uint16_t *restrict more)
{
    for (size_t m = 0; m < JOINT_SIDE; m++)
        to[m] = (uint16_t)(to[m] + more[m]);
}

/* From nodes in each cell to nodes in that cell or any higher one, a dimension at a time. */
static void joint_sum(struct joint *j, const struct cut *k)
{
    for (size_t g = k->gres; g-- > 0;)
        for (size_t c = k->cpu; c-- > 0;) {
            uint16_t *row = ROW(j, g, c), sum = row[k->mem - 1];
            for (size_t m = k->mem - 1; m-- > 0;)
                row[m] = sum = (uint16_t)(sum + row[m]);
            if (c + 1 < k->cpu)
                row_sum(row, ROW(j, g, c + 1));
        }
    for (size_t g = k->gres - 1; g-- > 0;)
        for (size_t c = 0; c < k->cpu; c++)
            row_sum(ROW(j, g, c), ROW(j, g + 1, c));
}

void counts_joint_make(struct world *w, int which, uint32_t dim)
{
    ASSERT(dim < w->dims && (which == COUNT_NOW || which == COUNT_EVER));
    touched_count(w, which);
    const uint8_t *cpu = &w->counts.bucket[which][DIM_CPU * w->counts.padded],
                  *mem = &w->counts.bucket[which][DIM_MEM * w->counts.padded],
                  *gres = &w->counts.bucket[which][dim * w->counts.padded];
    struct joint *j = &w->counts.joint[which][dim];
    struct cut k = cut_of(w, dim);
    memset(j->nodes, 0, (size_t)k.gres * JOINT_SIDE * JOINT_SIDE * sizeof j->nodes[0]);
    j->freed = w->now.freed;
    j->changes = w->counts.changes;
    for (size_t i = 0; i < w->counts.padded / 64; i++)
        for (uint64_t bits = w->now.up[i]; bits; bits &= bits - 1) {
            size_t n = i * 64 + (size_t)__builtin_ctzll(bits);
            ROW(j, k.counted ? gres[n] >> k.shift : 0, cpu[n] >> JOINT_SHIFT)
            [mem[n] >> JOINT_SHIFT]++;
        }
    joint_sum(j, &k);
}

uint16_t counts_cell(const struct world *w, const struct screen *s)
{
    ASSERT(s->dim < w->dims);
    struct cut k = cut_of(w, s->dim);
    uint32_t gres = k.counted ? (uint32_t)s->gres >> k.shift : 0;
    return (uint16_t)((gres * JOINT_SIDE + (s->cpu >> JOINT_SHIFT)) * JOINT_SIDE +
                      (s->mem >> JOINT_SHIFT));
}

void counts_done(struct world *w)
{
    for (int which = 0; which < COUNTS; which++) {
        free(w->counts.joint[which]);
        free(w->counts.bucket[which]);
    }
    free(w->counts.most);
    free(w->counts.touched);
}
