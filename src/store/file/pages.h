/* The pages of a SQLite file whose state nobody knows, and the rows on them: what is read by the
 * format's description (sqlite.org/fileformat2.html) alone, since SQLite itself gives a damaged
 * file up. Nothing is believed: every length and number is checked, whatever does not fit ends the
 * row. */
#ifndef REMUDA_STORE_FILE_PAGES_H
#define REMUDA_STORE_FILE_PAGES_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_SIZE_MAX 65536u
#define VALUES_MAX    512u /* columns of a row; what has more is none of ours */

struct pages; /* opaque */

/* Opens `path` and its log (`path`-wal), both for reading. With `use_log` the log's last whole
 * commit is what a page is. NULL with ret_err: the file cannot be opened or is empty. */
struct pages *pages_open(const char *path, bool use_log, struct err *ret_err);
void pages_close(struct pages *p);           /* its files, itself */
uint32_t pages_count(const struct pages *p); /* numbers are 1 to this */
/* Has the log whole commits that SQLite does not read, since the log is damaged before them? */
bool pages_log_is_cut(const struct pages *p);
/* Is the file shorter than its head says, and the log without what is missing? */
bool pages_are_cut(struct pages *p);
uint32_t pages_in_log(const struct pages *p); /* pages that the log has */
size_t pages_size(const struct pages *p);     /* bytes of one */
/* Copies a page to `to` (PAGE_SIZE_MAX bytes). False: there is none of that number, or the disk
 * does not give it. */
bool page_read(struct pages *p, uint32_t number, uint8_t *to);

enum page_kind { PAGE_OTHER, PAGE_INDEX_INNER, PAGE_TABLE_INNER, PAGE_INDEX_LEAF, PAGE_TABLE_LEAF };

/* A page of a tree. */
struct tree_page {
    enum page_kind kind;
    const uint8_t *data; /* the whole page, the caller's */
    size_t head;         /* where its header begins */
    unsigned cells;
};
/* Foreign bytes: false = it is no page of a table or index, or damaged. */
bool tree_page_parse(const struct pages *p, uint32_t number, const uint8_t *data,
                     struct tree_page *ret);
/* The page below cell i, for i = cells the last one; 0: none, or not believable. */
uint32_t tree_page_below(const struct pages *p, const struct tree_page *page, unsigned i);

enum value_type { VALUE_NULL, VALUE_INT, VALUE_REAL, VALUE_TEXT, VALUE_BLOB };
struct value {
    enum value_type type;
    int64_t number;
    const uint8_t *data; /* texts and blobs */
    size_t len;
};
struct cell {
    int64_t rowid; /* of tables */
    size_t n;
    struct value value[VALUES_MAX]; /* texts and blobs are the arena's */
};
/* The row in cell i of a page that has rows (all kinds but PAGE_TABLE_INNER). False: it does not
 * parse, or a page that it goes on at cannot be read. */
bool cell_parse(struct pages *p, const struct tree_page *page, unsigned i, struct arena *a,
                struct cell *ret);

#endif
