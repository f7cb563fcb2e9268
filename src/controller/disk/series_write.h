/* Writing what samples came within a second into the files of their days: one transaction a file.
 * Used by one thread at a time. */
#ifndef REMUDA_CONTROLLER_SERIES_WRITE_H
#define REMUDA_CONTROLLER_SERIES_WRITE_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct series_write; /* opaque */

struct series_write *series_write_new(const char *dir); /* copied; made when it is needed */
void series_write_free(struct series_write *w);         /* NULL is fine; what was begun is undone */

/* Begins a second: what is of the day that begins at skip_us (0 = none) is left for later. */
void series_write_begin(struct series_write *w, int64_t now_us, int64_t skip_us);
/* The blocks of a frame of that node; what cannot be read, is another's or is of no time that a
 * node can still have is left out. False: not all will be kept. */
bool series_write_put(struct series_write *w, const char *node, struct span blocks);
/* On the disk. False: nothing of the second is, and may be put again. */
bool series_write_end(struct series_write *w, struct err *ret_err);
/* Lets go of all files, between two seconds. */
void series_write_close(struct series_write *w);

#endif
