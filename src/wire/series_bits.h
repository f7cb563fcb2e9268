/* Columns of numbers as few bytes, for series.c. */
#ifndef REMUDA_WIRE_SERIES_BITS_H
#define REMUDA_WIRE_SERIES_BITS_H

#include "base/str.h"

/* Bytes that are read; `bad`: they ended too soon. */
struct series_in {
    const uint8_t *at, *end;
    bool bad;
};

/* Seven bits a byte, the lowest first; of signed numbers the sign is the lowest bit (LEB128 over
 * zigzag). */
void series_put_u64(struct str *out, uint64_t n);
void series_put_i64(struct str *out, int64_t n); /* zigzag: small ones of either sign are short */
/* 0, and in->bad, where the bytes end or are no number; further reads are 0, too. */
uint64_t series_get_u64(struct series_in *in);
int64_t series_get_i64(struct series_in *in); /* 0 where it ends too early, which `in` remembers */
/* At most 4096 numbers, some of them SERIES_ABSENT. */
void series_put_column(struct str *out, const int64_t *v, size_t n);
/* n at most NUMBERS_MAX, which the caller has checked; gaps read as they were put. */
void series_get_column(struct series_in *in, int64_t *v, size_t n);
/* CRC-32 as of IEEE 802.3 (reflected, polynomial 0xedb88320), as zlib's. */
uint32_t series_crc(const void *data, size_t len);

#endif
