/* Tables whose rows are packed: many, and seldom changed. */
#ifndef REMUDA_STORE_PACKED_TABLES_H
#define REMUDA_STORE_PACKED_TABLES_H

#include "base/str.h"
#include "store/store.h"

#define PACKED_TABLES 5u
extern const enum store_table packed_tables[PACKED_TABLES];
/* Appends nothing if there are fewer rows than that, or one that a start would leave out. */
bool packed_rows_make(struct store *s, size_t least, struct str *out, struct err *ret_err);

#endif
