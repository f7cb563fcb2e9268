/* Sums of hours that came from archives, in reports. */
#ifndef REMUDA_STORE_SQLITE_USED_LOADED_H
#define REMUDA_STORE_SQLITE_USED_LOADED_H

#include "store/sqlite/schema.h"
#include "store/used/slots.h"
#include "store/used/tally.h"

/* In a transaction, after own sums of the level were removed that began before cut_s (a slot's
 * begin, seconds since 1970): notes how far there are none left. */
bool sql_used_gone_note(sqlite3 *db, enum used_level level, int64_t cut_s, struct err *ret_err);

/* Adds those of the piece to the tally, in slots of which the store has no sums of its own. `t`:
 * that of TABLE_USED_HOUR; `first`: the piece is the first of the query's time. */
bool sql_used_loaded_add(sqlite3 *db, const struct sql_table *t, const struct used_query *q,
                         int64_t ahead_s, const struct used_piece *piece, bool first,
                         struct used_tally *tally, struct err *ret_err);

#endif
