/* Rice codes: u >> k ones, a zero, then k bits. Of noise that is near the least that is possible,
 * and the width is chosen for each column, once for the numbers themselves (what jumps between few
 * levels) and once for differences (what moves slowly). What would take more than LONGEST ones is
 * LONGEST ones and 64 bits. */
#include "wire/series_bits.h"

#include "base/alloc.h"
#include "model/record/series.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST      20u
#define WIDTH_MAX    56u
#define ALL_THE_SAME 63u
#define HAS_GAPS     128u
#define DIFFERENCES  64u
#define NUMBERS_MAX  4096u

/* ---- numbers ---- */

static uint64_t zigzag(uint64_t n)
{
    return n << 1 ^ (n >> 63 ? UINT64_MAX : 0);
}

static uint64_t unzigzag(uint64_t n)
{
    return n >> 1 ^ (n & 1 ? UINT64_MAX : 0);
}

void series_put_u64(struct str *out, uint64_t n)
{
    for (; n > 127; n >>= 7)
        str_addc(out, (char)((n & 127) | 128));
    str_addc(out, (char)n);
}

void series_put_i64(struct str *out, int64_t n)
{
    series_put_u64(out, zigzag((uint64_t)n));
}

static uint8_t byte_get(struct series_in *in)
{
    if (in->at < in->end)
        return *in->at++;
    in->bad = true;
    return 0;
}

uint64_t series_get_u64(struct series_in *in)
{
    uint64_t n = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = byte_get(in);
        n |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128))
            return n;
    }
    in->bad = true;
    return 0;
}

int64_t series_get_i64(struct series_in *in)
{
    return (int64_t)unzigzag(series_get_u64(in));
}

/* ---- bits ---- */

struct bits_out {
    struct str *out;
    uint8_t byte;
    unsigned used;
};

static void bits_put(struct bits_out *b, uint64_t value, unsigned n)
{
    while (n-- > 0) {
        b->byte = (uint8_t)(b->byte | (value >> n & 1) << (7 - b->used));
        if (++b->used == 8) {
            str_addc(b->out, (char)b->byte);
            b->byte = 0;
            b->used = 0;
        }
    }
}

static void bits_end(struct bits_out *b)
{
    if (b->used)
        str_addc(b->out, (char)b->byte);
}

struct bits_in {
    struct series_in *in;
    uint8_t byte;
    unsigned left;
};

static unsigned bit_get(struct bits_in *b)
{
    if (b->left == 0) {
        b->byte = byte_get(b->in);
        b->left = 8;
    }
    return b->byte >> --b->left & 1;
}

static uint64_t bits_get(struct bits_in *b, unsigned n)
{
    uint64_t value = 0;
    while (n-- > 0)
        value = value << 1 | bit_get(b);
    return value;
}

static void code_put(struct bits_out *b, uint64_t u, unsigned k)
{
    uint64_t ones = u >> k;
    if (ones >= LONGEST) {
        bits_put(b, UINT64_MAX, LONGEST);
        bits_put(b, u, 64);
        return;
    }
    bits_put(b, UINT64_MAX - 1, (unsigned)ones + 1);
    bits_put(b, u, k);
}

static uint64_t code_get(struct bits_in *b, unsigned k)
{
    unsigned ones = 0;
    while (ones < LONGEST && bit_get(b))
        ones++;
    return ones == LONGEST ? bits_get(b, 64) : (uint64_t)ones << k | bits_get(b, k);
}

static uint64_t codes_bits(const uint64_t *u, size_t n, unsigned k)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++)
        bits += u[i] >> k >= LONGEST ? LONGEST + 64 : (u[i] >> k) + 1 + k;
    return bits;
}

/* The best width lies near the logarithm of the mean. */
static unsigned width_of(const uint64_t *u, size_t n, uint64_t *ret_bits)
{
    uint64_t sum = 0;
    unsigned k = 0, best = 0;
    for (size_t i = 0; i < n; i++)
        sum += u[i] / (n ? n : 1);
    while (k < WIDTH_MAX - 2 && sum >> k > 1)
        k++;
    *ret_bits = UINT64_MAX;
    for (unsigned w = k > 2 ? k - 2 : 0; w <= k + 2; w++) {
        uint64_t bits = codes_bits(u, n, w);
        if (bits < *ret_bits) {
            *ret_bits = bits;
            best = w;
        }
    }
    return best;
}

/* ---- columns ---- */

struct series_bits_column {
    uint64_t *v; /* those that are there */
    uint64_t *apart, *above;
    size_t n;
    int64_t least;
};

static void column_read(struct series_bits_column *c, const int64_t *v, size_t n)
{
    c->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i] == SERIES_ABSENT)
            continue;
        c->least = c->n == 0 || v[i] < c->least ? v[i] : c->least;
        c->v[c->n++] = (uint64_t)v[i];
    }
    for (size_t i = 0; i < c->n; i++) {
        c->above[i] = c->v[i] - (uint64_t)c->least;
        c->apart[i] = i ? zigzag(c->v[i] - c->v[i - 1]) : 0;
    }
}

static bool is_one_number(const struct series_bits_column *c)
{
    for (size_t i = 1; i < c->n; i++)
        if (c->v[i] != c->v[0])
            return false;
    return true;
}

static void gaps_put(struct str *out, const int64_t *v, size_t n)
{
    struct bits_out b = {.out = out};
    for (size_t i = 0; i < n; i++)
        bits_put(&b, v[i] != SERIES_ABSENT, 1);
    bits_end(&b);
}

static void codes_put(struct str *out, const uint64_t *u, size_t n, unsigned k)
{
    ASSERT(k < 64);
    struct bits_out b = {.out = out};
    for (size_t i = 0; i < n; i++)
        code_put(&b, u[i], k);
    bits_end(&b);
}

void series_put_column(struct str *out, const int64_t *v, size_t n)
{
    CHECK(n <= NUMBERS_MAX);
    uint64_t *numbers = xmalloc((3 * n + 1) * sizeof *numbers);
    struct series_bits_column column = {numbers, numbers + n, numbers + 2 * n, 0, 0}, *c = &column;
    column_read(c, v, n);
    uint64_t apart_bits, above_bits;
    size_t first = c->n ? 1 : 0;
    unsigned apart = width_of(c->apart + first, c->n - first, &apart_bits),
             above = width_of(c->above, c->n, &above_bits), gaps = c->n < n ? HAS_GAPS : 0;
    bool by_steps = apart_bits < above_bits;
    unsigned mode = is_one_number(c) ? ALL_THE_SAME : by_steps ? DIFFERENCES | apart : above;
    str_addc(out, (char)(gaps | mode));
    if (gaps)
        gaps_put(out, v, n);
    series_put_i64(out, c->n == 0 ? 0 : by_steps ? (int64_t)c->v[0] : c->least);
    if (mode != ALL_THE_SAME && by_steps)
        codes_put(out, c->apart + 1, c->n - 1, apart);
    else if (mode != ALL_THE_SAME)
        codes_put(out, c->above, c->n, above);
    free(numbers);
}

void series_get_column(struct series_in *in, int64_t *v, size_t n)
{
    uint8_t there[NUMBERS_MAX / 8], mode = byte_get(in);
    unsigned k = mode & 63;
    CHECK(n <= NUMBERS_MAX);
    memset(there, 0xff, sizeof there);
    for (size_t i = 0; mode & HAS_GAPS && i < (n + 7) / 8; i++)
        there[i] = byte_get(in);
    uint64_t base = (uint64_t)series_get_i64(in), now = base;
    bool first = true, same = (mode & 63) == ALL_THE_SAME;
    in->bad |= !same && k > WIDTH_MAX;
    struct bits_in b = {.in = in};
    for (size_t i = 0; i < n && !in->bad; i++) {
        v[i] = SERIES_ABSENT;
        if (!(there[i / 8] >> (7 - i % 8) & 1))
            continue;
        if (!same && mode & DIFFERENCES)
            now += first ? 0 : unzigzag(code_get(&b, k));
        else if (!same)
            now = base + code_get(&b, k);
        v[i] = (int64_t)now;
        first = false;
    }
}

uint32_t series_crc(const void *data, size_t len)
{
    static const uint32_t of_byte[256] = {
        0x00000000, 0x77073096, 0xee0e612c, 0x990951ba, 0x076dc419, 0x706af48f, 0xe963a535,
        0x9e6495a3, 0x0edb8832, 0x79dcb8a4, 0xe0d5e91e, 0x97d2d988, 0x09b64c2b, 0x7eb17cbd,
        0xe7b82d07, 0x90bf1d91, 0x1db71064, 0x6ab020f2, 0xf3b97148, 0x84be41de, 0x1adad47d,
        0x6ddde4eb, 0xf4d4b551, 0x83d385c7, 0x136c9856, 0x646ba8c0, 0xfd62f97a, 0x8a65c9ec,
        0x14015c4f, 0x63066cd9, 0xfa0f3d63, 0x8d080df5, 0x3b6e20c8, 0x4c69105e, 0xd56041e4,
        0xa2677172, 0x3c03e4d1, 0x4b04d447, 0xd20d85fd, 0xa50ab56b, 0x35b5a8fa, 0x42b2986c,
        0xdbbbc9d6, 0xacbcf940, 0x32d86ce3, 0x45df5c75, 0xdcd60dcf, 0xabd13d59, 0x26d930ac,
        0x51de003a, 0xc8d75180, 0xbfd06116, 0x21b4f4b5, 0x56b3c423, 0xcfba9599, 0xb8bda50f,
        0x2802b89e, 0x5f058808, 0xc60cd9b2, 0xb10be924, 0x2f6f7c87, 0x58684c11, 0xc1611dab,
        0xb6662d3d, 0x76dc4190, 0x01db7106, 0x98d220bc, 0xefd5102a, 0x71b18589, 0x06b6b51f,
        0x9fbfe4a5, 0xe8b8d433, 0x7807c9a2, 0x0f00f934, 0x9609a88e, 0xe10e9818, 0x7f6a0dbb,
        0x086d3d2d, 0x91646c97, 0xe6635c01, 0x6b6b51f4, 0x1c6c6162, 0x856530d8, 0xf262004e,
        0x6c0695ed, 0x1b01a57b, 0x8208f4c1, 0xf50fc457, 0x65b0d9c6, 0x12b7e950, 0x8bbeb8ea,
        0xfcb9887c, 0x62dd1ddf, 0x15da2d49, 0x8cd37cf3, 0xfbd44c65, 0x4db26158, 0x3ab551ce,
        0xa3bc0074, 0xd4bb30e2, 0x4adfa541, 0x3dd895d7, 0xa4d1c46d, 0xd3d6f4fb, 0x4369e96a,
        0x346ed9fc, 0xad678846, 0xda60b8d0, 0x44042d73, 0x33031de5, 0xaa0a4c5f, 0xdd0d7cc9,
        0x5005713c, 0x270241aa, 0xbe0b1010, 0xc90c2086, 0x5768b525, 0x206f85b3, 0xb966d409,
        0xce61e49f, 0x5edef90e, 0x29d9c998, 0xb0d09822, 0xc7d7a8b4, 0x59b33d17, 0x2eb40d81,
        0xb7bd5c3b, 0xc0ba6cad, 0xedb88320, 0x9abfb3b6, 0x03b6e20c, 0x74b1d29a, 0xead54739,
        0x9dd277af, 0x04db2615, 0x73dc1683, 0xe3630b12, 0x94643b84, 0x0d6d6a3e, 0x7a6a5aa8,
        0xe40ecf0b, 0x9309ff9d, 0x0a00ae27, 0x7d079eb1, 0xf00f9344, 0x8708a3d2, 0x1e01f268,
        0x6906c2fe, 0xf762575d, 0x806567cb, 0x196c3671, 0x6e6b06e7, 0xfed41b76, 0x89d32be0,
        0x10da7a5a, 0x67dd4acc, 0xf9b9df6f, 0x8ebeeff9, 0x17b7be43, 0x60b08ed5, 0xd6d6a3e8,
        0xa1d1937e, 0x38d8c2c4, 0x4fdff252, 0xd1bb67f1, 0xa6bc5767, 0x3fb506dd, 0x48b2364b,
        0xd80d2bda, 0xaf0a1b4c, 0x36034af6, 0x41047a60, 0xdf60efc3, 0xa867df55, 0x316e8eef,
        0x4669be79, 0xcb61b38c, 0xbc66831a, 0x256fd2a0, 0x5268e236, 0xcc0c7795, 0xbb0b4703,
        0x220216b9, 0x5505262f, 0xc5ba3bbe, 0xb2bd0b28, 0x2bb45a92, 0x5cb36a04, 0xc2d7ffa7,
        0xb5d0cf31, 0x2cd99e8b, 0x5bdeae1d, 0x9b64c2b0, 0xec63f226, 0x756aa39c, 0x026d930a,
        0x9c0906a9, 0xeb0e363f, 0x72076785, 0x05005713, 0x95bf4a82, 0xe2b87a14, 0x7bb12bae,
        0x0cb61b38, 0x92d28e9b, 0xe5d5be0d, 0x7cdcefb7, 0x0bdbdf21, 0x86d3d2d4, 0xf1d4e242,
        0x68ddb3f8, 0x1fda836e, 0x81be16cd, 0xf6b9265b, 0x6fb077e1, 0x18b74777, 0x88085ae6,
        0xff0f6a70, 0x66063bca, 0x11010b5c, 0x8f659eff, 0xf862ae69, 0x616bffd3, 0x166ccf45,
        0xa00ae278, 0xd70dd2ee, 0x4e048354, 0x3903b3c2, 0xa7672661, 0xd06016f7, 0x4969474d,
        0x3e6e77db, 0xaed16a4a, 0xd9d65adc, 0x40df0b66, 0x37d83bf0, 0xa9bcae53, 0xdebb9ec5,
        0x47b2cf7f, 0x30b5ffe9, 0xbdbdf21c, 0xcabac28a, 0x53b39330, 0x24b4a3a6, 0xbad03605,
        0xcdd70693, 0x54de5729, 0x23d967bf, 0xb3667a2e, 0xc4614ab8, 0x5d681b02, 0x2a6f2b94,
        0xb40bbe37, 0xc30c8ea1, 0x5a05df1b, 0x2d02ef8d,
    };
    uint32_t crc = UINT32_MAX;
    for (const uint8_t *at = data; len-- > 0; at++)
        crc = of_byte[(crc ^ *at) & 255] ^ crc >> 8;
    return ~crc;
}
