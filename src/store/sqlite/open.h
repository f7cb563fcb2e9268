/* Handles of a database. */
#ifndef REMUDA_STORE_SQLITE_OPEN_H
#define REMUDA_STORE_SQLITE_OPEN_H

#include "store/store_ops.h"

/* `name` is the path, or a URI of it (another pointer). Sets the database up, and makes what is
 * missing unless read_only. NULL with ret_err. */
struct store *sqlite_open_as(const char *path, const char *name, bool read_only,
                             struct err *ret_err);
/* Has it any table of a store? */
bool sqlite_has_any(struct store *s);

#endif
