/* What SQLite reports, in the words of model/record/trouble.h. */
#ifndef REMUDA_STORE_SQLITE_TROUBLE_H
#define REMUDA_STORE_SQLITE_TROUBLE_H

#include "base/err.h"
#include "model/record/trouble.h"

#include <sqlite3.h>

/* Error of SQLite → ours: ERR_UNAVAILABLE for troubles that pass, else ERR_INTERNAL. Always
 * false. */
bool sql_failed(sqlite3 *db, int rc, const char *doing, struct err *ret_err);
/* without rows; false: *ret_err has SQLite's reason and what was asked */
bool sql_exec(sqlite3 *db, const char *sql, struct err *ret_err);
/* False with ret_err: there is something of that name that is no file, behind links or not. */
bool sql_is_file(const char *path, struct err *ret_err);
/* A trouble found by looking. Always false. */
bool sql_trouble(enum store_trouble t, const char *path, const char *detail, struct err *ret_err);

#endif
