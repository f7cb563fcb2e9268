/* A sum of all bytes of a backup, in the four of SQLite's header that are the application's: SQLite
 * keeps none of its pages, and a key or a script with another byte in it looks like one. */
#ifndef REMUDA_STORE_FILE_SUM_H
#define REMUDA_STORE_FILE_SUM_H

#include "base/err.h"

#include <stdbool.h>

/* Writes it into the file, durably. */
bool sum_write(const char *path, struct err *ret_err);
/* True where it is right, or where the file has none: of an earlier release, or made by hand. */
bool sum_check(const char *path, struct err *ret_err);

#endif
