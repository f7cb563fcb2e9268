/* Bitmaps in words of 64: which nodes, which groups, which partitions. Who makes one makes it
 * zeroed, BIT_WORDS long for so many bits. */
#ifndef REMUDA_SCHED_BOOKS_BITS_H
#define REMUDA_SCHED_BOOKS_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool bit_get(const uint64_t *bits, size_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}
static inline void bit_set(uint64_t *bits, size_t i)
{
    bits[i / 64] |= UINT64_C(1) << (i % 64);
}
static inline void bit_clear(uint64_t *bits, size_t i)
{
    bits[i / 64] &= ~(UINT64_C(1) << (i % 64));
}
/* __builtin_popcountll is a call where the processor is not known. */
static inline size_t bit_ones(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    return ((x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f)) * UINT64_C(0x0101010101010101) >> 56;
}
#define BIT_WORDS(n) (((n) + 63) / 64)

#endif
