/* Sums of what jobs used that are over, in tables beside their rows: "used" by hour, day and month
 * and by whom and where ("used_by"), "used_gres" the same of generic resources. They are changed in
 * the transaction that stores the end of a job, so that both are there or neither. */
#ifndef REMUDA_STORE_SQLITE_USED_H
#define REMUDA_STORE_SQLITE_USED_H

#include "store/sqlite/schema.h"
#include "store/used/tally.h"

struct sql_used; /* opaque */

/* Makes the tables unless read_only. The two others stay the caller's and must outlive it. */
struct sql_used *sql_used_open(sqlite3 *db, const struct sql_table table[STORE_TABLE_COUNT],
                               bool read_only, struct err *ret_err);
void sql_used_free(struct sql_used *u); /* NULL is fine */

/* In a transaction: at its beginning, before each row, and at its end. The rows of
 * jobs that were there before the sums are counted some at each beginning. */
bool sql_used_begin(struct sql_used *u, struct err *ret_err);
/* one row of a batch; call it before the row is written */
bool sql_used_row(struct sql_used *u, const struct row *row, struct err *ret_err);
/* after the last row of the batch: sums are written */
bool sql_used_end(struct sql_used *u, struct err *ret_err);
/* The transaction is rolled back, or its end is not known. */
void sql_used_forget(struct sql_used *u);

struct used_facts {
    bool known;         /* the tables are there: a file of an older release has none */
    int64_t ahead_s;    /* hours begin so much before those of UTC */
    int64_t counted_to; /* job id; USED_ALL = all are counted */
};
#define USED_ALL INT64_MAX
/* ret->known is false where no sums are kept yet, or the store is of an older release. Returns
 * false with ret_err where that cannot be told. */
bool used_facts_read(sqlite3 *db, struct used_facts *ret, struct err *ret_err);

/* The row may be META_USED_SINCE: the oldest slots of each level go, so many at once. */
bool sql_used_forget_slots(sqlite3 *db, const struct used_facts *fact, const struct meta *row,
                           struct err *ret_err);

/* As store_ops.used. *ret_tally is the caller's if it returns true. */
bool sql_used_read(sqlite3 *db, const struct sql_table table[STORE_TABLE_COUNT],
                   struct used_query *q, struct used_tally **ret_tally, bool *ret_kept,
                   struct err *ret_err);

#endif
