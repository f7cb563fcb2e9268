/* VACUUM INTO copies one snapshot of the store, whoever writes meanwhile. The copy is made beside
 * its place, completed, synchronised, and moved there by a link, which never overwrites: a backup
 * is whole or is not there. The files are read after that snapshot: keys and lines of hosts that
 * join meanwhile may be there too many, which harms nothing (the store decides who is in), and none
 * that the store speaks of is missing.
 *
 * SQLite opens by name, twice. Where others could have the name lead to a file of theirs in
 * between, with the cluster's keys in it, the copy is made beside the store and brought there. */
#include "store/file/backup.h"

#include "base/alloc.h"
#include "base/plain.h"
#include "base/str.h"
#include "model/limits.h"
#include "store/file/place.h"
#include "store/file/sum.h"
#include "store/sqlite/packed.h"
#include "store/sqlite/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_MS    10000
#define FILE_TABLE "CREATE TABLE file (name TEXT PRIMARY KEY, mode INTEGER NOT NULL, data BLOB)"

static bool db_open(const char *path, int flags, sqlite3 **ret, struct err *ret_err)
{
    int rc = sqlite3_open_v2(path, ret, flags, NULL);
    if (rc != SQLITE_OK) {
        sql_failed(*ret, rc, "opening", ret_err);
        sqlite3_close(*ret);
        *ret = NULL;
        return false;
    }
    sqlite3_busy_timeout(*ret, BUSY_MS);
    return true;
}

/* Copies one snapshot of a database to a file that is not there yet, or empty. */
static bool vacuum_into(const char *from, const char *to, struct err *ret_err)
{
    sqlite3 *db;
    sqlite3_stmt *st = NULL;
    if (!db_open(from, SQLITE_OPEN_READONLY, &db, ret_err))
        return false;
    mode_t before = umask(077);
    int rc = sqlite3_prepare_v2(db, "VACUUM INTO ?1", -1, &st, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_text(st, 1, to, -1, SQLITE_STATIC);
        rc = sqlite3_step(st);
    }
    umask(before);
    bool ok = rc == SQLITE_DONE ||
              ((rc & 0xff) == SQLITE_FULL ? err_set(ret_err, ERR_UNAVAILABLE,
                                                    "cannot write %s: there is no room for it", to)
                                          : sql_failed(db, rc, "copying", ret_err));
    sqlite3_finalize(st);
    sqlite3_close(db);
    return ok;
}

static bool synced(const char *path, struct err *ret_err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && fsync(fd) == 0;
    if (!ok)
        err_set(ret_err, ERR_UNAVAILABLE, "%s: %s", path, strerrordesc_np(errno));
    if (fd >= 0)
        close(fd);
    return ok;
}

/* ---- writing ---- */

static bool file_put(sqlite3 *db, const struct backup_file *f, struct err *ret_err)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, "INSERT INTO file VALUES (?1,?2,?3)", -1, &st, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_text(st, 1, f->name, -1, SQLITE_STATIC);
        sqlite3_bind_int64(st, 2, f->mode);
        sqlite3_bind_blob64(st, 3, f->data.len ? f->data.data : "", f->data.len, SQLITE_STATIC);
        rc = sqlite3_step(st);
    }
    bool ok = rc == SQLITE_DONE || sql_failed(db, rc, "writing a file", ret_err);
    sqlite3_finalize(st);
    return ok;
}

static bool files_put(const char *path, backup_find find, void *ctx, struct err *ret_err)
{
    sqlite3 *db;
    const struct backup_file *files;
    size_t n;
    if (!find(ctx, &files, &n, ret_err) || !db_open(path, SQLITE_OPEN_READWRITE, &db, ret_err))
        return false;
    bool ok = sql_exec(db, "BEGIN; " FILE_TABLE, ret_err) && sql_packed_drop(db, ret_err);
    for (size_t i = 0; ok && i < n; i++)
        ok = file_put(db, &files[i], ret_err);
    ok = ok && sql_exec(db, "COMMIT", ret_err);
    sqlite3_close(db);
    return ok;
}

static bool copy_name(const char *partial, const char *to, struct err *ret_err)
{
    int fd = open(partial, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && place_name(fd, partial, to);
    if (!ok)
        err_set(ret_err, ERR_UNAVAILABLE, "cannot make %s: %s", to, strerrordesc_np(errno));
    if (fd >= 0)
        close(fd);
    return ok;
}

bool backup_write(const char *db, const char *to, backup_find find, void *ctx, struct err *ret_err)
{
    char *here = place_ours(to), *partial = xasprintf("%s.XXXXXX", here ? here : db);
    bool ok;
    int fd = -1;
    if (access(to, F_OK) == 0) {
        ok = err_set(ret_err, ERR_EXISTS,
                     "%s is there already; a backup does not overwrite: name another file", to);
    } else if ((fd = mkostemp(partial, O_CLOEXEC)) < 0) {
        ok = err_set(ret_err, ERR_UNAVAILABLE, "cannot make %s: %s", partial,
                     strerrordesc_np(errno));
    } else {
        close(fd);
        ok = vacuum_into(db, partial, ret_err) && files_put(partial, find, ctx, ret_err) &&
             sum_write(partial, ret_err) &&
             (here ? copy_name(partial, here, ret_err) : place_copy(partial, to, ret_err));
        unlink(partial);
    }
    free(partial);
    free(here);
    return ok;
}

/* ---- reading ---- */

/* One value of one row; false if there is none. */
static bool value_read(sqlite3 *db, const char *sql, char *ret, size_t size)
{
    sqlite3_stmt *st = NULL;
    bool ok = sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
              sqlite3_step(st) == SQLITE_ROW && sqlite3_column_text(st, 0);
    if (ok) {
        ret[0] = '\0';
        strncat(ret, (const char *)sqlite3_column_text(st, 0), size - 1);
    }
    sqlite3_finalize(st);
    return ok;
}

static bool number_read(sqlite3 *db, const char *sql, uint64_t *ret)
{
    char text[32];
    return value_read(db, sql, text, sizeof text) && text_to_u64(text, LIMIT_COUNTED, ret);
}

static bool backup_check(sqlite3 *db, const char *from, uint64_t *ret_seq, uint64_t *ret_next,
                         struct err *ret_err)
{
    char said[64] = "";
    char number[32];
    uint64_t files;
    *ret_next = 1;
    if (!value_read(db, "PRAGMA quick_check", said, sizeof said) || !text_is(said, "ok"))
        return err_set(ret_err, ERR_INVALID, "%s is damaged, or no backup of Remuda: %s", from,
                       *said ? said : sqlite3_errmsg(db));
    if (!number_read(db, "SELECT count(*) FROM file", &files) ||
        !value_read(db, "SELECT value FROM meta WHERE key='seq'", number, sizeof number))
        return err_set(ret_err, ERR_INVALID,
                       "%s is no backup of Remuda: `remuda backup` makes them", from);
    /* They would act on what the controller writes. */
    if (value_read(db, "SELECT name FROM sqlite_master WHERE type NOT IN ('table','index')", said,
                   sizeof said))
        return err_set(ret_err, ERR_INVALID,
                       "%s holds %s, a trigger or a view, which no backup of Remuda has", from,
                       said);
    if (!text_to_u64(number, LIMIT_COUNTED, ret_seq))
        *ret_seq = 0; /* what it was written with last is not known */
    number_read(db, "SELECT value FROM meta WHERE key='next_job_id'", ret_next);
    return true;
}

static bool files_get(sqlite3 *db, bool (*file)(void *ctx, const struct backup_file *f), void *ctx,
                      struct err *ret_err)
{
    sqlite3_stmt *st = NULL;
    bool ok = true;
    int rc = sqlite3_prepare_v2(db, "SELECT name,mode,data FROM file ORDER BY name", -1, &st, NULL);
    while (ok && rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        const struct backup_file f = {
            .name = (const char *)sqlite3_column_text(st, 0),
            .mode = (uint32_t)sqlite3_column_int64(st, 1),
            .data = {sqlite3_column_blob(st, 2), (size_t)sqlite3_column_bytes(st, 2)},
        };
        ok = f.name && file(ctx, &f);
        rc = SQLITE_OK;
    }
    if (ok && rc != SQLITE_DONE)
        ok = sql_failed(db, rc, "reading its files", ret_err);
    sqlite3_finalize(st);
    return ok;
}

/* One that was used up since would let in once more whoever has it. */
static bool tokens_drop(sqlite3 *db, struct err *ret_err)
{
    char name[8];
    return !value_read(db, "SELECT name FROM sqlite_master WHERE name='token'", name,
                       sizeof name) ||
           sql_exec(db, "DELETE FROM token", ret_err);
}

/* Looked at once more: what was copied need not be what was looked at by that name. */
static bool copy_finish(const char *path, const char *from, uint64_t *ret_seq, uint64_t *ret_next,
                        struct err *ret_err)
{
    sqlite3 *db;
    if (!db_open(path, SQLITE_OPEN_READWRITE, &db, ret_err))
        return false;
    bool ok = backup_check(db, from, ret_seq, ret_next, ret_err) &&
              sql_exec(db, "PRAGMA application_id=0; DROP TABLE file", ret_err) &&
              tokens_drop(db, ret_err) && sql_packed_drop(db, ret_err);
    sqlite3_close(db);
    return ok;
}

bool backup_read(const char *from, const char *db,
                 bool (*file)(void *ctx, const struct backup_file *f), void *ctx, uint64_t *ret_seq,
                 uint64_t *ret_next_job_id, struct err *ret_err)
{
    sqlite3 *source;
    struct stat st;
    if (access(from, R_OK) != 0 || stat(from, &st) != 0)
        return err_set(ret_err, ERR_NOT_FOUND, "%s: %s", from, strerrordesc_np(errno));
    if (!S_ISREG(st.st_mode)) /* SQLite would wait for the other end of a pipe */
        return err_set(ret_err, ERR_INVALID, "%s is no ordinary file, as a backup is", from);
    if (!sum_check(from, ret_err) || !db_open(from, SQLITE_OPEN_READONLY, &source, ret_err))
        return false;
    bool ok = backup_check(source, from, ret_seq, ret_next_job_id, ret_err) &&
              vacuum_into(from, db, ret_err) &&
              copy_finish(db, from, ret_seq, ret_next_job_id, ret_err) && synced(db, ret_err) &&
              files_get(source, file, ctx, ret_err);
    sqlite3_close(source);
    return ok;
}

/* Of a damaged store it may be noise: no cluster comes so far, nor gives so many numbers between a
 * backup and its end. */
#define SEQ_BELIEVED (LIMIT_COUNTED / 2)
#define IDS_BELIEVED UINT64_C(100000000)

void backup_overtake(const char *path, uint64_t *seq, uint64_t *next_job_id)
{
    ASSERT(seq && next_job_id);
    sqlite3 *db;
    struct stat st;
    uint64_t last;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
        !db_open(path, SQLITE_OPEN_READONLY, &db, NULL))
        return;
    if (number_read(db, "SELECT value FROM meta WHERE key='seq'", &last) && last > *seq &&
        last < SEQ_BELIEVED)
        *seq = last;
    if (number_read(db, "SELECT value FROM meta WHERE key='next_job_id'", &last) &&
        last > *next_job_id && last - *next_job_id < IDS_BELIEVED)
        *next_job_id = last;
    sqlite3_close(db);
}

#define LINES_TOLD 20

/* A line for each row, of columns that are texts, by line(). */
static void rows_tell(const char *path, const char *sql,
                      void (*line)(sqlite3_stmt *st, struct str *out), struct str *out)
{
    sqlite3 *db;
    sqlite3_stmt *st = NULL;
    int told = 0;
    if (!db_open(path, SQLITE_OPEN_READONLY, &db, NULL))
        return;
    if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
        st = NULL; /* of a release without */
    while (st && sqlite3_step(st) == SQLITE_ROW) {
        if (told++ == LINES_TOLD) {
            str_add(out, "  and others\n");
            break;
        }
        line(st, out);
        str_addc(out, '\n');
    }
    sqlite3_finalize(st);
    sqlite3_close(db);
}

static void plain_column(sqlite3_stmt *st, int i, struct str *out)
{
    const char *text = (const char *)sqlite3_column_text(st, i);
    str_add_plain(out, text ? text : "");
}

static void program_line(sqlite3_stmt *st, struct str *out)
{
    str_addf(out, "  trigger %lld runs as ", (long long)sqlite3_column_int64(st, 0));
    if (sqlite3_column_type(st, 1) != SQLITE_NULL)
        plain_column(st, 1, out);
    else
        str_addf(out, "uid %lld", (long long)sqlite3_column_int64(st, 2));
    str_add(out, ": ");
    plain_column(st, 3, out);
}

void backup_programs(const char *path, struct str *out)
{
    rows_tell(path, "SELECT id,user_name,user_id,program FROM trigger_set ORDER BY id",
              program_line, out);
}

static void host_line(sqlite3_stmt *st, struct str *out)
{
    str_add(out, "  ");
    plain_column(st, 0, out);
    str_add(out, " (");
    plain_column(st, 1, out);
    str_add(out, "), ");
    plain_column(st, 2, out);
}

void backup_hosts(const char *path, struct str *out)
{
    rows_tell(path, "SELECT name,id,lower(coalesce(kind,'')) FROM host ORDER BY joined_us",
              host_line, out);
}
