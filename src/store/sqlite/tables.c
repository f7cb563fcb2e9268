/* A table that is made anew where one was lost would hide the loss. Those that the store has are
 * written in it; of the oldest stores two are known that none was without. */
#include "base/str.h"
#include "store/sqlite/schema.h"

#include <stdio.h>

/* One text; false if there is none or it cannot be read. */
static bool text_read(sqlite3 *db, const char *sql, const char *key, struct str *out)
{
    sqlite3_stmt *st = NULL;
    bool ok = sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
              sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC) == SQLITE_OK &&
              sqlite3_step(st) == SQLITE_ROW && sqlite3_column_text(st, 0);
    if (ok)
        str_add(out, (const char *)sqlite3_column_text(st, 0));
    sqlite3_finalize(st);
    return ok;
}

static bool table_is_there(sqlite3 *db, const char *name)
{
    struct str text = STR_INIT;
    bool there =
        text_read(db, "SELECT name FROM sqlite_master WHERE type='table' AND name=?1", name, &text);
    str_done(&text);
    return there;
}

bool sql_tables_any(sqlite3 *db, const struct sql_table table[STORE_TABLE_COUNT])
{
    bool any = false;
    for (size_t i = 0; i < STORE_TABLE_COUNT && !any; i++)
        any = table_is_there(db, table[i].row->name);
    return any;
}

bool sql_tables_check(sqlite3 *db, const struct sql_table table[STORE_TABLE_COUNT],
                      struct err *ret_err)
{
    const char *path = sqlite3_db_filename(db, "main");
    struct str had = STR_INIT;
    struct span rest, name;
    bool ok = true;
    if (!sql_tables_any(db, table)) {
        bool other = text_read(db, "SELECT name FROM sqlite_master WHERE type=?1", "table", &had);
        str_done(&had);
        return !other || sql_trouble(TROUBLE_FOREIGN, path, NULL, ret_err);
    }
    if (!text_read(db, "SELECT value FROM meta WHERE key=?1", META_TABLES, &had))
        str_add(&had, "meta,job");
    rest = span_of(str_text(&had));
    while (ok && span_next(&rest, ',', &name)) {
        char text[64];
        snprintf(text, sizeof text, "%.*s", (int)name.len, name.data);
        ok = table_is_there(db, text) || sql_trouble(TROUBLE_TABLE_GONE, path, text, ret_err);
    }
    str_done(&had);
    return ok;
}

bool sql_tables_note(sqlite3 *db, struct err *ret_err)
{
    struct str names = STR_INIT, had = STR_INIT, sql = STR_INIT;
    table_names(&names);
    str_addf(&sql, "INSERT OR REPLACE INTO meta (key, value) VALUES ('" META_TABLES "', '%s')",
             str_text(&names));
    bool ok = (text_read(db, "SELECT value FROM meta WHERE key=?1", META_TABLES, &had) &&
               text_is(str_text(&had), str_text(&names))) ||
              sql_exec(db, str_text(&sql), ret_err);
    str_done(&names);
    str_done(&had);
    str_done(&sql);
    return ok;
}
