/* CRC-32 as in zlib, the four bytes themselves taken as zero. */
#include "store/file/sum.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUM_AT     68 /* application_id: https://sqlite.org/fileformat2.html */
#define SUM_BYTES  4
#define PART       (64u << 10)
#define POLYNOMIAL UINT32_C(0xedb88320)

static uint32_t bits_of(uint32_t byte)
{
    for (int i = 0; i < 8; i++)
        byte = byte & 1 ? POLYNOMIAL ^ byte >> 1 : byte >> 1;
    return byte;
}

static uint32_t sum_add(uint32_t sum, const uint32_t of[256], const unsigned char *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum = of[(sum ^ data[i]) & 0xff] ^ sum >> 8;
    return sum;
}

/* *ret_said is what the file has, 0 where it has none. */
static bool sum_of(int fd, uint32_t *ret, uint32_t *ret_said)
{
    uint32_t of[256], sum = UINT32_MAX;
    unsigned char *part = xmalloc(PART), said[SUM_BYTES] = {0};
    ssize_t n;
    for (uint32_t i = 0; i < 256; i++)
        of[i] = bits_of(i);
    for (off_t at = 0; (n = pread(fd, part, PART, at)) > 0; at += n) {
        if (at == 0 && n >= SUM_AT + SUM_BYTES) {
            memcpy(said, part + SUM_AT, SUM_BYTES);
            memset(part + SUM_AT, 0, SUM_BYTES);
        }
        sum = sum_add(sum, of, part, (size_t)n);
    }
    free(part);
    *ret = ~sum ? ~sum : 1; /* 0 is none */
    *ret_said =
        (uint32_t)said[0] << 24 | (uint32_t)said[1] << 16 | (uint32_t)said[2] << 8 | said[3];
    return n == 0;
}

static bool failed(const char *path, struct err *ret_err)
{
    return err_set(ret_err, ERR_UNAVAILABLE, "%s: %s", path, strerrordesc_np(errno));
}

bool sum_write(const char *path, struct err *ret_err)
{
    uint32_t sum, said;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    bool ok = fd >= 0 && sum_of(fd, &sum, &said);
    if (ok) {
        const unsigned char b[SUM_BYTES] = {sum >> 24, sum >> 16 & 0xff, sum >> 8 & 0xff,
                                            sum & 0xff};
        ok = pwrite(fd, b, SUM_BYTES, SUM_AT) == SUM_BYTES && fsync(fd) == 0;
    }
    if (!ok)
        failed(path, ret_err);
    if (fd >= 0)
        close(fd);
    return ok;
}

bool sum_check(const char *path, struct err *ret_err)
{
    uint32_t sum, said;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool read = fd >= 0 && sum_of(fd, &sum, &said);
    if (!read)
        failed(path, ret_err);
    if (fd >= 0)
        close(fd);
    return read && (said == 0 || said == sum ||
                    err_set(ret_err, ERR_INVALID,
                            "%s is damaged, or no backup of Remuda: its bytes are not those that "
                            "were written (whoever changed it by hand: PRAGMA application_id=0)",
                            path));
}
