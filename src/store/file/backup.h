/* A whole cluster in one file: a SQLite database with the tables of the store, and the files that
 * belong to it in a table `file`. Readable with sqlite3 as the store is. */
#ifndef REMUDA_STORE_FILE_BACKUP_H
#define REMUDA_STORE_FILE_BACKUP_H

#include "base/err.h"
#include "model/fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backup_file {
    const char *name; /* below the state directory: "remuda.conf", "tls/ca.key" */
    uint32_t mode;
    struct blob data;
};

/* The files that go with a store, as they are when this is asked; they stay valid. */
typedef bool (*backup_find)(void *ctx, const struct backup_file **ret, size_t *ret_n,
                            struct err *ret_err);

/* Writes `to`, which must not be there, with the mode 0600: the store at `db` as it is at one
 * moment, while others may use it, and the files as they are after that. Durable when it returns
 * true; nothing is left otherwise. */
bool backup_write(const char *db, const char *to, backup_find find, void *ctx, struct err *ret_err);
/* Checks that `from` is a whole backup, writes its store to `db`, which must not be there, and
 * calls file(ctx, …) for each of its files, until that returns false. Tokens stay behind. *ret_seq
 * is the number of its last commit, *ret_next_job_id what it would give next. */
bool backup_read(const char *from, const char *db,
                 bool (*file)(void *ctx, const struct backup_file *f), void *ctx, uint64_t *ret_seq,
                 uint64_t *ret_next_job_id, struct err *ret_err);
/* Raises both to what the store at `path`, in whose place that one comes, says of itself; nothing
 * where it is not there or cannot be read. */
void backup_overtake(const char *path, uint64_t *seq, uint64_t *next_job_id);

/* Appends a line for each program that a trigger of the store at `db` starts, and as whom: whoever
 * has a backup restored has these run. Plain; the first twenty. */
struct str;
/* Appends what the triggers of a copy would run, for a warning; nothing where it cannot be read. */
void backup_programs(const char *db, struct str *out);
/* The same of each host that joined: those that were shut out since are let in again. */
void backup_hosts(const char *db, struct str *out);

#endif
