/* SHA-256 (FIPS 180-4), to name schedules and workloads by their content. */
#ifndef REMUDA_SIM_SHA256_H
#define REMUDA_SIM_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t h[8];
    uint64_t len;
    unsigned char block[64];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
void sha256_hex(struct sha256 *s, char ret[65]); /* ends it */

#endif
