/* Columns of numbers as few bytes, for series.c. */
#ifndef REMUDA_WIRE_SERIES_BITS_H
#define REMUDA_WIRE_SERIES_BITS_H

#include "base/str.h"

/* Bytes that are read; `bad`: they ended too soon. */
struct series_in {
    const uint8_t *at, *end;
    bool bad;
};

void series_put_u64(struct str *out, uint64_t n);
void series_put_i64(struct str *out, int64_t n);
uint64_t series_get_u64(struct series_in *in);
int64_t series_get_i64(struct series_in *in);
/* At most 4096 numbers, some of them SERIES_ABSENT. */
void series_put_column(struct str *out, const int64_t *v, size_t n);
void series_get_column(struct series_in *in, int64_t *v, size_t n);
uint32_t series_crc(const void *data, size_t len);

#endif
