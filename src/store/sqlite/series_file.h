/* Files of series, beside the store: DIR/2026-11-23.db has the blocks of that day (UTC, by their
 * first sample), DIR/2026-11-23.10s.db those that were made of it with a sample each 10 s. A
 * block's bytes are not looked at here. A file that is damaged is an error, never a crash. */
#ifndef REMUDA_STORE_SQLITE_SERIES_FILE_H
#define REMUDA_STORE_SQLITE_SERIES_FILE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct series_row {
    uint64_t job_id;
    uint32_t attempt;
    const char *node;
    int64_t step_id;
    int32_t device;
    bool whole; /* replaces the pieces of its time */
    int64_t first_ms, last_ms;
    const void *data;
    size_t len;
};

struct series_file; /* opaque: a handle, of one thread */

/* To write: made if it is not there, its owner's alone. To read: ERR_NOT_FOUND if it is not
 * there. */
struct series_file *series_file_open(const char *path, bool write, struct err *ret_err);
/* A file that is written once, as a whole, and then gets its name: no log beside it. */
struct series_file *series_file_make(const char *path, struct err *ret_err);
void series_file_close(struct series_file *f); /* NULL is fine; what was begun is undone */

/* a transaction that may write */
bool series_file_begin(struct series_file *f, struct err *ret_err);
/* Of a block that is there already the one that goes further counts. */
bool series_file_put(struct series_file *f, const struct series_row *row, struct err *ret_err);
bool series_file_commit(struct series_file *f, struct err *ret_err); /* on the disk */
void series_file_undo(struct series_file *f); /* what is not committed; nothing else */

/* Which rows, from where on. */
struct series_where {
    uint64_t job_id; /* 0 = of all jobs */
    uint32_t attempt;
    int64_t from_ms, to_ms; /* some of its samples within; to_ms 0 = without end */
    /* After this one in the order job, attempt, node, step, device, first time; node NULL = from
     * the first. Of one job alone. */
    const char *node;
    int64_t step_id, first_ms;
    int32_t device;
};
/* row(ctx, r) for each in that order, until it returns false; what r points to is valid during the
 * call. */
bool series_file_read(struct series_file *f, const struct series_where *w,
                      bool (*row)(void *ctx, const struct series_row *r), void *ctx,
                      struct err *ret_err);
/* The rows of another file of the same day are read as if they were in this one, too. */
bool series_file_join(struct series_file *f, const char *path, struct err *ret_err);

#endif
