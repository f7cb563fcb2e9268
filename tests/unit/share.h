/* How much a test tries of what it draws or multiplies. `make test` tries a share that takes
 * seconds; `make test-heavy` sets REMUDA_TIMES and tries that many times as much of what is drawn,
 * and all of each product (tools/test). A test that fails in one share names its seed or product. */
#ifndef REMUDA_TESTS_SHARE_H
#define REMUDA_TESTS_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* What REMUDA_TIMES says; 1 where it says nothing. */
static inline uint64_t share_times(void)
{
    const char *asked = getenv("REMUDA_TIMES");
    uint64_t times = asked ? strtoull(asked, NULL, 10) : 0;
    return times ? times : 1;
}

/* Of what is drawn: n of it, times what was asked. */
static inline uint64_t worlds_of(uint64_t n)
{
    return n * share_times();
}

/* Of a product: whether its i-th is tried: each of-th of them; where more is asked, all. `of` must
 * have no factor in common with the product's sides, so that each value of each side is tried. */
static inline bool in_share(size_t i, size_t of)
{
    return share_times() > 1 || i % of == 0;
}

#endif
