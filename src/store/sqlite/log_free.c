/* Cutting off the log of a store that cannot be opened for writing, as the disk has no room for
 * what this release would add to it. */
#include "base/str.h"
#include "model/limits.h"
#include "store/sqlite/schema.h"
#include "store/store.h"

static bool last_is(sqlite3 *db, uint64_t seq)
{
    sqlite3_stmt *st = NULL;
    uint64_t last;
    bool same = sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key='" META_SEQ "'", -1, &st,
                                   NULL) == SQLITE_OK &&
                sqlite3_step(st) == SQLITE_ROW && sqlite3_column_text(st, 0) &&
                text_to_u64((const char *)sqlite3_column_text(st, 0), LIMIT_COUNTED, &last) &&
                last == seq;
    sqlite3_finalize(st);
    return same;
}

void store_log_free(const char *path, uint64_t seq)
{
    sqlite3 *db = NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
            SQLITE_OK &&
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) == SQLITE_OK &&
        last_is(db, seq))
        sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    sqlite3_close(db);
}
