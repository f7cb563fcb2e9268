/* How the rows of one table lie in a file, and what is one: used where SQLite cannot be asked. */
#ifndef REMUDA_STORE_FILE_SHAPE_H
#define REMUDA_STORE_FILE_SHAPE_H

#include "base/arena.h"
#include "store/file/pages.h"
#include "store/store_ops.h"

/* The columns in the order in which they are stored. */
struct shape {
    enum store_table table;
    bool rowid;     /* the key is the row's number, and its column empty */
    size_t n, keys; /* columns; how many of the first make the key (without a row's number) */
    const struct field *column[VALUES_MAX]; /* NULL: one that this release does not have */
};

/* As this release makes the table. */
void shape_init(struct shape *s, enum store_table table);
/* As the text says that made it ("CREATE TABLE …", as SQLite keeps it); false and as before if that
 * is not understood. */
bool shape_from_sql(struct shape *s, const char *sql);

/* Fills a zeroed record from a row; texts are the arena's. False: it is none of this table's.
 * `sure`: its page belongs to the table; else it must look like a row that is whole. */
bool shape_read(const struct shape *s, const struct cell *c, bool sure, struct arena *a,
                void *record);

#endif
