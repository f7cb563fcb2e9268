/* A set of task indexes of a job array, kept as ranges: a million elements cost what their gaps
 * cost. */
#ifndef REMUDA_BASE_IDSET_H
#define REMUDA_BASE_IDSET_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idrange {
    uint32_t first, last, step; /* first, first+step … last; step ≥ 1; last is a member */
};

struct idset {
    struct idrange *range; /* owned; ascending, extents do not overlap */
    size_t n, cap;         /* ranges, and room for so many */
    uint64_t count;        /* members */
};

#define IDSET_INIT ((struct idset){0})

void idset_done(struct idset *s);                            /* empty again */
void idset_copy(struct idset *to, const struct idset *from); /* `to` is replaced */
/* Reads "1,3,5-10,20-100:5"; members up to `max`. Replaces what s held; on error s is unchanged.
 * Ranges with steps that interleave with others may have 2^16 members, all of a text (ERR_LIMIT).
 * The text after a '%' is not part of it (see array_parse in model). */
bool idset_parse(struct idset *s, const char *text, uint32_t max, struct err *ret_err);
/* The same of one of many texts that share *room: each takes of it what it has of ranges, as they
 * are written, and of such members. ERR_LIMIT where there is no more. */
bool idset_parse_within(struct idset *s, const char *text, uint32_t max, uint64_t *room,
                        struct err *ret_err);
/* "0-12:4,20", as sbatch(1) --array; two members make "1,2"; equal sets give equal texts. */
void idset_format(const struct idset *s, struct str *out);
bool idset_has(const struct idset *s, uint32_t id); /* by halves */
void idset_add(struct idset *s, uint32_t id);       /* nothing if already there */
/* All from first to last (≥ first), which are above every member that is there. */
void idset_append(struct idset *s, uint32_t first, uint32_t last);
bool idset_del(struct idset *s, uint32_t id);              /* was it there */
bool idset_first(const struct idset *s, uint32_t *ret_id); /* the least; false: it is empty */
/* Smallest member > after. */
bool idset_next(const struct idset *s, uint32_t after, uint32_t *ret_id);
/* Smallest member ≥ from that both have. Costs what their ranges cost, however many members these
 * have and however long they go on beside each other and never meet. */
bool idset_common(const struct idset *a, const struct idset *b, uint32_t from, uint32_t *ret_id);
/* What both have replaces what `to` held, which may be one of them. Costs as idset_common. */
void idset_both(struct idset *to, const struct idset *a, const struct idset *b);
uint32_t idset_last(const struct idset *s); /* 0 if empty */

#endif
