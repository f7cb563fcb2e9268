/* The counts are kept up to date node by node: a change of a node moves it from one bucket to another, and the counts of the buckets between
 * change by one. */
#include "base/alloc.h"
#include "sched/world.h"

#include <stdlib.h>
#include <string.h>

/* A node goes from bucket `from` to bucket `to` of a count. */
static void count_move(struct counts_of *c, uint32_t from, uint32_t to)
{
    for (; from < to; from++)
        c->nodes[from + 1]++;
    for (; from > to; from--)
        c->nodes[from]--;
}

/* Dimensions that no first look is taken at. */
static bool counted(uint32_t dim)
{
    return dim != DIM_JOBS && dim != DIM_SHARE;
}

static inline void dim_count(struct world *w, int which, uint32_t dim, uint32_t node, uint8_t to)
{
    uint8_t *at = &w->bucket[which][dim * w->padded + node];
    if (*at != to) {
        count_move(&w->count[which][dim], *at, to);
        *at = to;
    }
}

void counts_touch(struct world *w, uint32_t node)
{
    if (node >= w->nnodes || !bit_get(w->up, node))
        return;
    const int64_t *now = &w->free[node * w->dims], *ever = world_row(w, node, w->now_us, INT64_MAX);
    w->changes++;
    for (uint32_t d = 0; d < w->dims; d++) {
        if (!counted(d))
            continue;
        uint8_t to = bucket_of(w->cl, d, now[d]);
        dim_count(w, COUNT_NOW, d, node, to);
        dim_count(w, COUNT_EVER, d, node, ever == now ? to : bucket_of(w->cl, d, ever[d]));
    }
}

void counts_promises(struct world *w)
{
    w->first_promise_us = INT64_MAX;
    w->last_promise_us = INT64_MIN;
    for (size_t i = 0; i < w->promised.n; i++) {
        int64_t at = w->job.v[w->promised.v[i]].start_us;
        w->first_promise_us = at < w->first_promise_us ? at : w->first_promise_us;
        w->last_promise_us = at > w->last_promise_us ? at : w->last_promise_us;
    }
}

/* Counts of all nodes at once: how many are in each bucket, then summed from the top. */
static void counts_fill(struct world *w, int which, uint32_t dim)
{
    struct counts_of *c = &w->count[which][dim];
    for (size_t g = 0; g < w->cl->group.n; g++) {
        const struct group *group = w->cl->group.v[g];
        uint8_t most = bucket_of(w->cl, dim, dim < group->ntotal ? group->total[dim] : 0);
        c->most = most > c->most ? most : c->most;
    }
    uint8_t *at = &w->bucket[which][dim * w->padded];
    for (uint32_t node = 0; node < w->nnodes; node++)
        if (bit_get(w->up, node)) {
            at[node] = bucket_of(w->cl, dim, w->free[node * w->dims + dim]);
            c->nodes[at[node]]++;
        }
    for (size_t b = BUCKETS - 1; b-- > 0;)
        c->nodes[b] += c->nodes[b + 1];
}

void counts_init(struct world *w)
{
    w->padded = BIT_WORDS(w->nnodes) * 64;
    counts_promises(w);
    w->changes = 1;
    for (int which = 0; which < COUNTS; which++) {
        w->count[which] = xcalloc(w->dims, sizeof w->count[which][0]);
        w->joint[which] = xcalloc(w->dims, sizeof w->joint[which][0]);
        w->bucket[which] = xcalloc(w->padded * w->dims + 8, 1);
        for (uint32_t d = 0; d < w->dims; d++)
            counts_fill(w, which, d);
    }
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Bit 7 of each of eight bytes: is it at least `least`? Buckets are below 128, so no byte borrows from its neighbour. */
static inline uint64_t at_least(const uint8_t *bucket, uint8_t least)
{
    uint64_t eight;
    memcpy(&eight, bucket, 8);
    return (eight | EACH(0x80)) - EACH(least);
}

uint64_t counts_screen(const struct world *w, int which, const struct variant *v, size_t word)
{
    const uint8_t *cpu = &w->bucket[which][DIM_CPU * w->padded + word * 64],
                  *mem = &w->bucket[which][DIM_MEM * w->padded + word * 64],
                  *gres = &w->bucket[which][v->screen.dim * w->padded + word * 64];
    uint64_t bits = 0;
    for (size_t i = 0; i < 8; i++) {
        uint64_t ok = at_least(cpu + i * 8, v->screen.cpu) & at_least(mem + i * 8, v->screen.mem) &
                      at_least(gres + i * 8, v->screen.gres);
        /* Gathers the eight top bits into one byte, the first node lowest. */
        bits |= (((ok & EACH(0x80)) >> 7) * UINT64_C(0x0102040810204080) >> 56) << (i * 8);
    }
    return bits;
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
    const struct counts_of *c = w->count[COUNT_NOW];
    struct cut k = {.counted = dim != DIM_CPU};
    k.shift = c[dim].most < JOINT_GRES ? 0 : GRES_SHIFT; /* few GPUs a node: a level each */
    k.gres = k.counted ? (c[dim].most >> k.shift) + 1u : 1;
    k.cpu = (c[DIM_CPU].most >> JOINT_SHIFT) + 1u;
    k.mem = (c[DIM_MEM].most >> JOINT_SHIFT) + 1u;
    return k;
}

/* From nodes in each cell to nodes in that cell or any higher one, a dimension at a time. */
static void joint_sum(struct joint *j, const struct cut *k)
{
    for (size_t g = k->gres; g-- > 0;)
        for (size_t c = k->cpu; c-- > 0;) {
            for (size_t m = k->mem - 1; m-- > 0;)
                j->nodes[g][c][m] = (uint16_t)(j->nodes[g][c][m] + j->nodes[g][c][m + 1]);
            for (size_t m = 0; c + 1 < k->cpu && m < JOINT_SIDE; m++)
                j->nodes[g][c][m] = (uint16_t)(j->nodes[g][c][m] + j->nodes[g][c + 1][m]);
        }
    for (size_t g = k->gres - 1; g-- > 0;)
        for (size_t c = 0; c < k->cpu; c++)
            for (size_t m = 0; m < JOINT_SIDE; m++)
                j->nodes[g][c][m] = (uint16_t)(j->nodes[g][c][m] + j->nodes[g + 1][c][m]);
}

static void joint_make(struct world *w, int which, uint32_t dim, struct joint *j)
{
    const uint8_t *cpu = &w->bucket[which][DIM_CPU * w->padded], *mem = &w->bucket[which][DIM_MEM * w->padded],
                  *gres = &w->bucket[which][dim * w->padded];
    struct cut k = cut_of(w, dim);
    memset(j->nodes, 0, k.gres * sizeof j->nodes[0]);
    j->freed = w->freed;
    j->changes = w->changes;
    for (uint32_t n = 0; n < w->nnodes; n++)
        if (bit_get(w->up, n))
            j->nodes[k.counted ? gres[n] >> k.shift : 0][cpu[n] >> JOINT_SHIFT][mem[n] >> JOINT_SHIFT]++;
    joint_sum(j, &k);
}

int32_t counts_joint(struct world *w, int which, const struct screen *s)
{
    struct joint *j = w->joint[which][s->dim];
    if (w->nnodes > UINT16_MAX)
        return INT32_MAX;
    if (!j)
        j = w->joint[which][s->dim] = xcalloc(1, sizeof *j);
    if (j->changes == 0 || j->freed != w->freed || w->changes - j->changes > w->nnodes / 4)
        joint_make(w, which, s->dim, j);
    struct cut k = cut_of(w, s->dim);
    return j->nodes[k.counted ? s->gres >> k.shift : 0][s->cpu >> JOINT_SHIFT][s->mem >> JOINT_SHIFT];
}

void counts_done(struct world *w)
{
    for (int which = 0; which < COUNTS; which++) {
        for (uint32_t d = 0; d < w->dims; d++)
            free(w->joint[which][d]);
        free(w->joint[which]);
        free(w->count[which]);
        free(w->bucket[which]);
    }
}
