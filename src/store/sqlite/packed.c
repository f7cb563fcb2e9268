/* Triggers of the database take the packed copy away, in the same transaction, whoever changes a
 * row: another release, or a person with sqlite3. So what is there is always true, and a start
 * after kill -9 needs no other proof. */
#include "store/sqlite/packed.h"

#include "base/alloc.h"
#include "store/packed_tables.h"
#include "store/sqlite/schema.h"

static void trigger_add(struct str *sql, enum store_table table, const char *deed)
{
    const char *name = store_table_rows[table].name;
    str_addf(sql,
             "CREATE TRIGGER IF NOT EXISTS packed_%s_%s AFTER %s ON \"%s\" BEGIN DELETE FROM "
             "packed; END;",
             name, deed, deed, name);
}

bool sql_packed_make(sqlite3 *db, struct err *ret_err)
{
    struct str sql = STR_INIT;
    str_add(&sql, "CREATE TABLE IF NOT EXISTS packed (id INTEGER PRIMARY KEY, rows BLOB);");
    for (size_t i = 0; i < PACKED_TABLES; i++) {
        trigger_add(&sql, packed_tables[i], "INSERT");
        trigger_add(&sql, packed_tables[i], "UPDATE");
        trigger_add(&sql, packed_tables[i], "DELETE");
    }
    bool ok = sql_exec(db, str_text(&sql), ret_err);
    str_done(&sql);
    return ok;
}

bool sql_packed_drop(sqlite3 *db, struct err *ret_err)
{
    struct str sql = STR_INIT;
    static const char *const deeds[] = {"INSERT", "UPDATE", "DELETE"};
    for (size_t i = 0; i < PACKED_TABLES; i++)
        for (size_t k = 0; k < ARRAY_LEN(deeds); k++)
            str_addf(&sql, "DROP TRIGGER IF EXISTS packed_%s_%s;",
                     store_table_rows[packed_tables[i]].name, deeds[k]);
    str_add(&sql, "DROP TABLE IF EXISTS packed;");
    bool ok = sql_exec(db, str_text(&sql), ret_err);
    str_done(&sql);
    return ok;
}

bool sql_packed_get(sqlite3 *db, packed_bytes_fn fn, void *ctx, struct err *ret_err)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT rows FROM packed WHERE id=1", -1, &st, NULL);
    if (rc == SQLITE_ERROR) /* a store of an older release, opened for reading */
        return true;
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW && sqlite3_column_type(st, 0) == SQLITE_BLOB)
        fn(ctx, sqlite3_column_blob(st, 0), (size_t)sqlite3_column_bytes(st, 0));
    bool ok =
        rc == SQLITE_ROW || rc == SQLITE_DONE || sql_failed(db, rc, "reading packed rows", ret_err);
    sqlite3_finalize(st);
    return ok;
}

bool sql_packed_put(sqlite3 *db, const struct str *bytes, struct err *ret_err)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, "INSERT OR REPLACE INTO packed (id, rows) VALUES (1, ?1)", -1,
                                &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_blob64(st, 1, bytes->data, bytes->len, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    bool ok = rc == SQLITE_DONE || sql_failed(db, rc, "writing packed rows", ret_err);
    sqlite3_finalize(st);
    return ok;
}
