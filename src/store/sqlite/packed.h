/* The rows of some tables once more, packed (model/packed.h), beside those in their own tables. */
#ifndef REMUDA_STORE_SQLITE_PACKED_H
#define REMUDA_STORE_SQLITE_PACKED_H

#include "store/store_ops.h"

#include <sqlite3.h>

/* Its table, and what takes the bytes away in the transaction that changes a row. */
bool sql_packed_make(sqlite3 *db, struct err *ret_err);
/* Takes it out: of a backup, which has no trigger, and of one that is restored, as it would be
 * believed. The next start makes it again. */
bool sql_packed_drop(sqlite3 *db, struct err *ret_err);
/* fn gets the bytes, valid during the call, if there are any; none is no error. */
bool sql_packed_get(sqlite3 *db, packed_bytes_fn fn, void *ctx, struct err *ret_err);
/* In place of those that there are. */
bool sql_packed_put(sqlite3 *db, const struct str *bytes, struct err *ret_err);

#endif
