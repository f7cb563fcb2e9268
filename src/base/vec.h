/* Typed growing arrays: `VEC(struct job *) jobs = {0}; vec_push(&jobs, j); for (size_t i = 0; i <
 * jobs.n; i++) jobs.v[i]` */
#ifndef REMUDA_BASE_VEC_H
#define REMUDA_BASE_VEC_H

#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
/* Begins as {0}; of no items v may be NULL. Whoever has it frees it with vec_done. */
#define VEC(type)   \
    struct {        \
        type *v;    \
        size_t n;   \
        size_t cap; \
    }

/* The same, of at most 2^32 items: half the size while empty. */
#define VEC_SMALL(type) \
    struct {            \
        type *v;        \
        uint32_t n;     \
        uint32_t cap;   \
    }

/* The memory doubles where it is full: addresses of items hold until the next push. The program
 * ends where there is no more. `item` is worked out once, after that. */
#define vec_push(vec, item)                                                            \
    do {                                                                               \
        if ((vec)->n == (vec)->cap) {                                                  \
            (vec)->cap = (vec)->cap ? 2 * (vec)->cap : 8;                              \
            (vec)->v = xrealloc((vec)->v, (vec)->cap * sizeof((vec)->v[0]));           \
        }                                                                              \
        (vec)->v[(vec)->n++] = (item);                                                 \
    } while (0)

/* So many items in all fit without a move; fewer than there are: nothing. */
#define vec_reserve(vec, count)                                                        \
    do {                                                                               \
        if ((vec)->cap < (size_t) (count)) {                                           \
            (vec)->cap = (count);                                                      \
            (vec)->v = xrealloc((vec)->v, (vec)->cap * sizeof((vec)->v[0]));           \
        }                                                                              \
    } while (0)

/* Removes item i, which is there, keeping the order: those behind it move. */
#define vec_remove(vec, i)                                                                                     \
    do {                                                                                                       \
        memmove(&(vec)->v[(i)], &(vec)->v[(i) + 1], ((vec)->n - (size_t) (i) - 1) * sizeof((vec)->v[0]));      \
        (vec)->n--;                                                                                            \
    } while (0)
/* The first `count` go, at once: one by one from the front each would move all the others. */
#define vec_remove_first(vec, count)                                                                           \
    do {                                                                                                       \
        size_t gone_ = (count);                                                                                \
        if (gone_)                                                                                             \
            memmove((vec)->v, (vec)->v + gone_, ((vec)->n - gone_) * sizeof((vec)->v[0]));                     \
        (vec)->n -= gone_;                                                                                     \
    } while (0)
// clang-format on

/* No items; the memory stays. Here and below, what items point to is the caller's. */
#define vec_clear(vec) ((void)((vec)->n = 0))

// clang-format off
/* As at the beginning: it may be filled anew, or ended again. */
#define vec_done(vec)       \
    do {                    \
        free((vec)->v);     \
        (vec)->v = NULL;    \
        (vec)->n = 0;       \
        (vec)->cap = 0;     \
    } while (0)
// clang-format on

#endif
