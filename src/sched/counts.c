/* Each node's amounts are sorted into 128 buckets a dimension, kept up to date node by node. Two first looks are made with them. The joint
 * count tells how many nodes have enough of three dimensions together, and so rules out nearly all of the queue; the screen tells which, for
 * eight nodes at a time. Both may let too much through, never too little. */
#include "base/alloc.h"
#include "sched/world.h"

#include <stdlib.h>
#include <string.h>

/* Dimensions that no first look is taken at. */
static bool counted(uint32_t dim)
{
    return dim != DIM_JOBS && dim != DIM_SHARE;
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
        w->bucket[COUNT_NOW][d * w->padded + node] = to;
        w->bucket[COUNT_EVER][d * w->padded + node] = ever == now ? to : bucket_of(w->cl, d, ever[d]);
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

static void most_find(struct world *w)
{
    w->most = xcalloc(w->dims, 1);
    for (size_t g = 0; g < w->cl->group.n; g++)
        for (uint32_t d = 0; d < w->dims && d < w->cl->group.v[g]->ntotal; d++) {
            uint8_t b = bucket_of(w->cl, d, w->cl->group.v[g]->total[d]);
            w->most[d] = b > w->most[d] ? b : w->most[d];
        }
}

void counts_init(struct world *w)
{
    w->padded = BIT_WORDS(w->nnodes) * 64;
    w->changes = 1;
    counts_promises(w);
    most_find(w);
    for (int which = 0; which < COUNTS; which++) {
        w->joint[which] = xcalloc(w->dims, sizeof w->joint[which][0]);
        w->bucket[which] = xcalloc(w->padded * w->dims + 8, 1);
    }
    for (uint32_t node = 0; node < w->nnodes; node++)
        counts_touch(w, node);
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
    struct cut k = {.counted = dim != DIM_CPU};
    k.shift = w->most[dim] < JOINT_GRES ? 0 : GRES_SHIFT; /* few GPUs a node: a level each */
    k.gres = k.counted ? (w->most[dim] >> k.shift) + 1u : 1;
    k.cpu = (w->most[DIM_CPU] >> JOINT_SHIFT) + 1u;
    k.mem = (w->most[DIM_MEM] >> JOINT_SHIFT) + 1u;
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
    const uint8_t *cpu = &w->bucket[which][DIM_CPU * w->padded],
                  *mem = &w->bucket[which][DIM_MEM * w->padded], *gres = &w->bucket[which][dim * w->padded];
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
        free(w->bucket[which]);
    }
    free(w->most);
}
