/* The SELECT for a scan: conditions that an index serves, so that few rows beside the wanted ones
 * are read. */
#ifndef REMUDA_STORE_SQLITE_QUERY_H
#define REMUDA_STORE_SQLITE_QUERY_H

#include "store/sqlite/schema.h"

/* NULL with ret_err. The caller finalizes. With scan->of_job, the job id is parameter 1. */
sqlite3_stmt *sql_query_prepare(sqlite3 *db, const struct sql_table *t, const struct scan *scan,
                                struct err *ret_err);

#endif
