#include "base/rng.h"

#include "base/alloc.h"

#include <string.h>

uint64_t rng_next(struct rng *r)
{
    uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    CHECK(n > 0);
    /* Draws from the incomplete last multiple of n are drawn again. */
    uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t x;
    do
        x = rng_next(r);
    while (x >= limit);
    return x % n;
}

int64_t rng_range(struct rng *r, int64_t min, int64_t max)
{
    ASSERT(min <= max);
    uint64_t width = (uint64_t)max - (uint64_t)min + 1;
    uint64_t off = width ? rng_below(r, width) : rng_next(r);
    return (int64_t)((uint64_t)min + off);
}

int rng_chance(struct rng *r, uint32_t permille)
{
    return rng_below(r, 1000) < permille;
}

uint64_t hash_bytes(uint64_t hash, const void *data, unsigned long len)
{
    const unsigned char *p = data;
    for (unsigned long i = 0; i < len; i++)
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    return hash;
}

uint64_t hash_text(uint64_t hash, const char *text)
{
    return text ? hash_bytes(hash, text, strlen(text) + 1) : hash_bytes(hash, "\1", 1);
}

/* Both halves of a product matter, so they are folded together. */
uint64_t hash_quick(const char *data, unsigned long len)
{
    uint64_t h = len * UINT64_C(0x9e3779b97f4a7c15), word;
    for (; len >= sizeof word; data += sizeof word, len -= sizeof word) {
        memcpy(&word, data, sizeof word);
        h = (h ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, data, len);
    h = (h ^ word) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 32;
}
