/* SHA-256 (FIPS 180-4), to name schedules and workloads by their content. */
#ifndef REMUDA_SIM_SHA256_H
#define REMUDA_SIM_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t h[8];
    uint64_t len;            /* bytes so far */
    unsigned char block[64]; /* the last, while it is not full */
};

/* Before anything is added; what stood there before does not matter. */
void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len); /* in any pieces */
/* 64 small hexadecimal digits and a zero byte. Ends it: more is added only after sha256_init. */
void sha256_hex(struct sha256 *s, char ret[65]);

#endif
