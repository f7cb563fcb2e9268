/* Jobs whose rows are gone and whose use stays in the sums, as ranges of their numbers: what is
 * added back of them adds nothing again. In a transaction of the caller's. */
#ifndef REMUDA_STORE_SQLITE_PURGED_H
#define REMUDA_STORE_SQLITE_PURGED_H

#include "base/err.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct sql_purged; /* opaque */

#define SQL_PURGED_SCHEMA                                                                          \
    "CREATE TABLE IF NOT EXISTS purged (first INTEGER PRIMARY KEY, last INTEGER NOT NULL);"

/* The table must be there when it is first asked. */
struct sql_purged *sql_purged_new(sqlite3 *db);
void sql_purged_free(struct sql_purged *p); /* NULL is fine */
/* in *ret; false: the store fails */
bool sql_purged_has(struct sql_purged *p, int64_t id, bool *ret, struct err *ret_err);
/* ranges that touch become one */
bool sql_purged_mark(struct sql_purged *p, int64_t id, struct err *ret_err);

#endif
