/* Series (model/record/series.h) as bytes: blocks of up to SERIES_BLOCK_SAMPLES samples of one
 * source, a column for each value. On the wire and in files; a block says by itself whose it is.
 *
 * A block: version, flags, the source, gap, first time, number of samples, time of the last from
 * the first, the times, the columns (number, index, values), CRC-32. Numbers are variable-length
 * (7 bits a byte, least first), signed ones zigzag. Values of a column: a mode byte (128 some are
 * absent: a bit for each sample follows; 64 differences from the one before, else from the least;
 * the rest is the width k of the Rice codes, 63 = all are the same), the first or the least, the
 * codes. */
#ifndef REMUDA_WIRE_SERIES_H
#define REMUDA_WIRE_SERIES_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "model/record/series.h"

#define SERIES_BLOCK_SAMPLES 64u
#define SERIES_BLOCK_BYTES   (256u << 10) /* a block that is longer is none */

struct series_source_key {
    uint64_t job_id;
    uint32_t attempt;
    int64_t step_id; /* 0 of a device: a job's steps share it */
    int32_t device;  /* SERIES_OF_STEP, or its number on the node */
    char node[SERIES_NODE_BYTES];
    char name[SERIES_NAME_BYTES]; /* of a device: "a100 GPU-uuid"; else "" */
};
/* Order: job, attempt, node, step, device; the name is no part of it. */
int series_key_compare(const struct series_source_key *x, const struct series_source_key *y);

struct series_head {
    struct series_source_key key;
    bool whole;                /* it replaces the pieces of its time */
    int64_t gap_ms;            /* between its samples, as was asked for */
    int64_t first_ms, last_ms; /* wall clock since 1970 */
    size_t n;
};
struct series_column {
    uint16_t id;
    uint32_t index;
    int64_t *v; /* of each sample; SERIES_ABSENT = not told */
};
struct series_block {
    struct series_head head;
    int64_t *at_ms;
    struct series_column *col;
    size_t ncols;
};

/* ---- making ---- */

struct series_grow; /* opaque: the block that samples are added to */

/* of no samples; `key` is copied, its texts not */
struct series_grow *series_grow_new(const struct series_source_key *key);
void series_grow_free(struct series_grow *g); /* NULL is fine */
/* as it was made with */
const struct series_source_key *series_grow_key(const struct series_grow *g);
/* At most SERIES_BLOCK_SAMPLES samples; of each SERIES_VALUES_MAX points, others are left out, and
 * so is a point of a number and index that the sample has already. */
void series_grow_add(struct series_grow *g, int64_t at_ms, int64_t gap_ms,
                     const struct series_point *point, size_t n);
/* Instants in the block that grows. */
size_t series_grow_count(const struct series_grow *g);
/* Appends the block of the samples from number `from` on: the whole, or a piece. */
void series_grow_encode(const struct series_grow *g, size_t from, bool whole, struct str *out);
/* No samples; the key stays. */
void series_grow_clear(struct series_grow *g);

/* ---- reading ---- */

/* The bytes may be anything: refused is what is no block, is cut, or was damaged. Everything of
 * *ret lives in the arena. */
bool series_head_read(const void *data, size_t len, struct series_head *ret, struct err *ret_err);
/* Foreign bytes: false, with the sentence, for whatever is no block of this format. Lists are in
 * the arena. */
bool series_block_read(const void *data, size_t len, struct arena *a, struct series_block *ret,
                       struct err *ret_err);

/* Can a sample of that block be of this time? Between its first and its last, or within a day of
 * them, as when a node's clock was set. Foreign blocks say any. */
bool series_time_fits(const struct series_head *h, int64_t at_ms);

/* Blocks one after another, each with four bytes of length before it (most significant first).
 * Takes the first off; false at the end, or where no whole one follows (*len is not 0 then). */
bool series_next(const char **data, size_t *len, struct span *ret_block);
/* Appends a block behind its length, as files of series have them. */
void series_put(struct str *out, const struct str *block);

/* ---- thinning ---- */

struct series_thin; /* opaque */

/* Makes blocks with a sample for each `gap_ms`, at its middle, of one source's. emit: a block that
 * is full; valid during the call. */
struct series_thin *series_thin_new(int64_t gap_ms,
                                    void (*emit)(void *ctx, const struct str *block), void *ctx);
/* Blocks of one source in the order of their first times; of another source: the last is ended.
 * Samples that are not later than those before are left out (they were there already, in a
 * piece). */
void series_thin_add(struct series_thin *t, const struct series_block *b);
void series_thin_end(struct series_thin *t); /* emits what is left; frees it */

#endif
