/* Seeded, portable random numbers (SplitMix64, Steele et al. 2014): the same seed gives the same
 * numbers everywhere. */
#ifndef REMUDA_BASE_RNG_H
#define REMUDA_BASE_RNG_H

#include <stdint.h>

struct rng {
    uint64_t state;
};

uint64_t rng_next(struct rng *r);              /* 64 bits (splitmix64, Steele et al. 2014) */
uint64_t rng_below(struct rng *r, uint64_t n); /* 0 … n-1, without bias; n > 0 */
int64_t rng_range(struct rng *r, int64_t min, int64_t max); /* both ends included */
int rng_chance(struct rng *r, uint32_t permille);           /* true with that probability */

/* FNV-1a, 64 bits: for tables and for the hashes that compare two runs; not for security. Start
 * with HASH_INIT. */
#define HASH_INIT UINT64_C(0xcbf29ce484222325)
uint64_t hash_bytes(uint64_t hash, const void *data, unsigned long len);
uint64_t hash_text(uint64_t hash, const char *text); /* with its NUL; NULL is another than "" */
/* Eight bytes at a time: for tables in memory alone, from whose order nothing comes. */
uint64_t hash_quick(const char *data, unsigned long len);

#endif
