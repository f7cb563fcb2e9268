/* What is over since long, read to be kept elsewhere and removed. */
#ifndef REMUDA_STORE_SQLITE_PAST_H
#define REMUDA_STORE_SQLITE_PAST_H

#include "store/sqlite/schema.h"

/* As store_query_past. */
bool sql_past_read(sqlite3 *db, const struct sql_table table[STORE_TABLE_COUNT],
                   struct past_query *q, store_past_fn fn, void *ctx, struct err *ret_err);
/* Bytes of the file, and of those what is free for new rows. */
bool sql_space(sqlite3 *db, int64_t *ret_bytes, int64_t *ret_free, struct err *ret_err);

#endif
