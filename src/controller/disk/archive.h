/* A file of the past: a line of JSON a row, readable by people, complete and on the disk before it
 * gets its name. docs/past.md describes it. */
#ifndef REMUDA_CONTROLLER_ARCHIVE_H
#define REMUDA_CONTROLLER_ARCHIVE_H

#include "base/err.h"
#include "model/past.h"

#include <stdbool.h>
#include <stdint.h>

struct archive; /* opaque; of one thread */

/* Its directory must be there. NULL with ret_err. */
struct archive *archive_new(const char *dir, const char *cluster, enum past_kind kind,
                            int64_t before_us, struct err *ret_err);
/* table STORE_TABLE_COUNT: a struct used. `at_us`: when it was over, 0 = it
 * belongs to one that says it. A row that cannot be written is
 * told by archive_keep. */
void archive_row(struct archive *a, enum store_table table, const void *record, int64_t at_us);
/* Ends it; *ret_path, malloced, is where it is now. False with ret_err: nothing is left of it. */
bool archive_keep(struct archive *a, char **ret_path, struct err *ret_err);
/* Drops it unfinished; NULL is fine. */
void archive_drop(struct archive *a);

#endif
