/* Many records in one run of bytes, column by column, each text once: what a start takes in at once
 * where row by row would take ten times as long. It is a copy that is made anew when it does not
 * fit: bytes of another release, or damaged ones, are refused as a whole. */
#ifndef REMUDA_MODEL_PACKED_H
#define REMUDA_MODEL_PACKED_H

#include "base/arena.h"
#include "base/str.h"
#include "model/stored.h"

#define PACKED_FIELDS_MAX 32u
#define PACKED_TABLES_MAX 8u

/* ---- making it ------------------------------------------------------------------------------ */
struct packer; /* opaque */

struct packer *packer_new(void);    /* of no rows */
void packer_free(struct packer *p); /* NULL is allowed */
/* Records of a table come one after another; there are no bytes and lists in them. An
 * empty text is none. */
void packer_add(struct packer *p, enum store_table table, const void *record);
void packer_end(struct packer *p, struct str *out); /* appended; the packer is spent */

/* ---- taking it apart ------------------------------------------------------------------------ */
/* A value is `base` and what stands in `width` bytes at its place: 0, 1, 2, 4 or 8. */
struct packed_column {
    const uint8_t *at; /* n values, `width` bytes each */
    int64_t base;      /* added to each */
    uint32_t width;
};

struct packed_table {
    enum store_table table;
    size_t n;                                       /* rows */
    struct packed_column column[PACKED_FIELDS_MAX]; /* as the fields of the table */
};

struct packed {
    const char *const *text; /* each once */
    size_t ntext;            /* of `text` */
    struct packed_table table[PACKED_TABLES_MAX];
    size_t ntable; /* of `table` */
};

/* What it points to lies in the bytes and in the arena. ERR_INVALID: they are damaged, or of a
 * release whose records differ. */
bool packed_open(const void *bytes, size_t len, struct arena *a, struct packed *ret,
                 struct err *ret_err);
/* NULL = nothing of that table was packed. */
const struct packed_table *packed_find(const struct packed *p, enum store_table table);
/* All records of the table, `stride` bytes apart, into memory that is zero. Texts are those of
 * `text`, in the places of p->text; `uses` (as many) is raised by one with each use. */
void packed_records(const struct packed *p, const struct packed_table *t, void *at, size_t stride,
                    const char *const *text, uint32_t *uses);

#endif
