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
    uint64_t v[NUMBERS_MAX]; /* those that are there */
    uint64_t apart[NUMBERS_MAX], above[NUMBERS_MAX];
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
    struct bits_out b = {.out = out};
    for (size_t i = 0; i < n; i++)
        code_put(&b, u[i], k);
    bits_end(&b);
}

void series_put_column(struct str *out, const int64_t *v, size_t n)
{
    struct series_bits_column *c = xcalloc(1, sizeof *c);
    CHECK(n <= NUMBERS_MAX);
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
    free(c);
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
    static const uint32_t of_half[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
                                         0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
                                         0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                         0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = UINT32_MAX;
    for (const uint8_t *at = data; len-- > 0; at++) {
        crc = of_half[(crc ^ *at) & 15] ^ crc >> 4;
        crc = of_half[(crc ^ *at >> 4) & 15] ^ crc >> 4;
    }
    return ~crc;
}
