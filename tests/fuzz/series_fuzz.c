/* Blocks of series: from nodes, from files of a day, in answers. Any bytes are refused or read, and
 * what is read can be thinned and written again. And samples as shepherds and the process that
 * watches the GPUs say them, and what settings say of gaps and ages. */
#include "fuzz.h"

#include "base/alloc.h"
#include "wire/series.h"
#include "wire/series_bits.h"

#include <stdlib.h>
#include <string.h>

const char *const fuzz_words[] = {
    "\001\001\052\001\001\006\004gpu7\006a100 "
    "x\240\037\200\200\001\002\240\037\077\240\037\001\001",
    "1:50 41.7:100 ",
    "task=5,energy=10",
    "2s:1d,10s:30d",
    "\377\377\377\377\377\377\377\377\377\001",
    "\177",
    "\277\377",
    "\300",
    NULL,
};

static void emitted(void *ctx, const struct str *block)
{
    struct series_head head;
    (void)ctx;
    CHECK(series_head_read(block->data, block->len, &head, NULL));
}

static void try(const char *data, size_t len)
{
    struct arena *a = arena_new();
    struct series_block b;
    struct series_thin *t = series_thin_new(10000, emitted, NULL);
    struct err err = {0};
    if (series_block_read(data, len, a, &b, &err)) {
        CHECK(b.head.n > 0 && strlen(b.head.key.node) < SERIES_NODE_BYTES);
        series_thin_add(t, &b);
    } else {
        CHECK(err.text[0]);
    }
    series_thin_end(t);
    arena_free(a);
}

static void texts_try(const char *data, size_t size)
{
    struct series_point point[16];
    struct series_gaps gaps = SERIES_GAPS_INIT;
    struct series_keep keep;
    struct err err = {0};
    int64_t task = 0;
    char *text = xstrndup(size ? data : "", size ? strnlen(data, size) : 0);
    size_t n = series_points_read((struct span){data, size}, point, 16);
    CHECK(n <= 16);
    for (size_t i = 0; i < n; i++)
        CHECK(series_value_of(point[i].id));
    CHECK(series_gaps_read(text, &task, &gaps, &err) ? task >= 0 : err.text[0] != 0);
    err = (struct err){0};
    CHECK(series_keep_parse(text, &keep, &err) ? keep.n <= 4 : err.text[0] != 0);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    texts_try((const char *)data, size);
    const char *at = (const char *)data;
    size_t left = size;
    struct span block;
    while (series_next(&at, &left, &block))
        try(block.data, block.len);
    if (size > 4096)
        return 0;
    /* With the right sum, so that what stands behind it is reached. */
    char sealed[4100];
    if (size)
        memcpy(sealed, data, size);
    uint32_t crc = series_crc(sealed, size);
    for (unsigned i = 0; i < 4; i++)
        sealed[size + i] = (char)(crc >> 8 * i);
    try(sealed, size + 4);
    return 0;
}
