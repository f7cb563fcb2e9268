/* Reading a file that nobody writes, with its log or without. */
#include "base/str.h"
#include "store/sqlite/open.h"
#include "store/sqlite/schema.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void uri_add_path(struct str *out, const char *path)
{
    str_add(out, "file:");
    for (const char *c = path; *c; c++)
        if (strchr("?#%", *c))
            str_addf(out, "%%%02x", (unsigned char)*c);
        else
            str_addc(out, *c);
}

/* A log that is empty, or is not there, adds nothing: the file alone is the store. Of one that has
 * something SQLite makes the index in memory if told that it cannot be shared; the file for that
 * must be there, empty or not. */
struct store *store_open_still(const char *path, struct err *ret_err)
{
    struct stat st;
    struct str wal = STR_INIT, shm = STR_INIT, uri = STR_INIT;
    str_addf(&wal, "%s-wal", path);
    str_addf(&shm, "%s-shm", path);
    uri_add_path(&uri, path);
    if (stat(str_text(&wal), &st) != 0 || st.st_size == 0) {
        str_add(&uri, "?immutable=1");
    } else {
        int fd = open(str_text(&shm), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0)
            close(fd);
        str_add(&uri, "?readonly_shm=1");
    }
    struct store *s = sqlite_open_as(path, str_text(&uri), true, ret_err);
    if (s && !sqlite_has_any(s)) {
        store_close(s);
        s = NULL;
        err_set(ret_err, ERR_NOT_FOUND, "%s has nothing yet", path);
    }
    str_done(&wal);
    str_done(&shm);
    str_done(&uri);
    return s;
}

static void uri_of_file(struct str *out, const char *path)
{
    uri_add_path(out, path);
    str_add(out, "?immutable=1");
}

struct store *store_open_file(const char *path, struct err *ret_err)
{
    struct str uri = STR_INIT;
    uri_of_file(&uri, path);
    struct store *s = sqlite_open_as(path, str_text(&uri), true, ret_err);
    str_done(&uri);
    return s;
}

static bool whole_as(const char *path, const char *name, struct err *ret_err)
{
    struct sql_table table[STORE_TABLE_COUNT];
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    char said[200] = "";
    int rc = sqlite3_open_v2(name, &db,
                             SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW && sqlite3_column_text(st, 0))
        strncat(said, (const char *)sqlite3_column_text(st, 0), sizeof said - 1);
    bool ok = rc == SQLITE_ROW
                  ? text_is(said, "ok") || sql_trouble(TROUBLE_DAMAGED, path, said, ret_err)
                  : sql_failed(db, rc, "checking it", ret_err);
    sqlite3_finalize(st);
    for (size_t i = 0; i < STORE_TABLE_COUNT; i++)
        sql_table_init(&table[i], (enum store_table)i);
    ok = ok && sql_tables_check(db, table, ret_err);
    for (size_t i = 0; i < STORE_TABLE_COUNT; i++)
        sql_table_done(&table[i]);
    sqlite3_close(db);
    return ok;
}

bool store_whole(const char *path, bool without_log, struct err *ret_err)
{
    struct str uri = STR_INIT;
    if (!sql_is_file(path, ret_err))
        return false;
    uri_add_path(&uri, path);
    str_add(&uri, without_log ? "?immutable=1" : "");
    bool ok = whole_as(path, str_text(&uri), ret_err);
    str_done(&uri);
    return ok;
}
