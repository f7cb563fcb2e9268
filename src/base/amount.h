/* Amounts that whoever asks may choose: their products and sums stay numbers. */
#ifndef REMUDA_BASE_AMOUNT_H
#define REMUDA_BASE_AMOUNT_H

#include <stdint.h>

/* More than there is of anything; sixteen of them can still be added. */
#define AMOUNT_MAX (INT64_C(1) << 58)

/* a × b of two amounts (0 or more; less counts as 0), AMOUNT_MAX at most. */
static inline int64_t amount_times(int64_t a, int64_t b)
{
    int64_t product;
    if (a <= 0 || b <= 0)
        return 0;
    return __builtin_mul_overflow(a, b, &product) || product > AMOUNT_MAX ? AMOUNT_MAX : product;
}

/* As many as a field of 32 bits has room for. */
static inline int32_t amount_i32(int64_t n)
{
    return n < INT32_MAX ? (int32_t)n : INT32_MAX;
}

/* a + b of two amounts, AMOUNT_MAX at most: for sums of many. */
static inline int64_t amount_plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) || sum > AMOUNT_MAX ? AMOUNT_MAX : sum;
}

#endif
