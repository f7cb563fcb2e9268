#include "store/sqlite/series_file.h"

#include "base/alloc.h"
#include "base/str.h"
#include "store/sqlite/trouble.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUSY_MS    5000
#define CACHE_KIB  4096
#define JOINED_MAX 8u

#define KEYS "job_id, attempt, node, step_id, device, first_ms"

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS block (job_id INTEGER NOT NULL, attempt INTEGER NOT NULL, "
    "node TEXT NOT NULL, step_id INTEGER NOT NULL, device INTEGER NOT NULL, "
    "first_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL, whole INTEGER NOT NULL, "
    "data BLOB NOT NULL, UNIQUE (" KEYS "))";

struct series_file {
    sqlite3 *db;
    sqlite3_stmt *put, *pieces;
    unsigned joined;
};

static bool made(const char *path, struct err *ret_err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(ret_err, ERR_UNAVAILABLE, "cannot open %s: %s", path,
                       strerrordesc_np(errno));
    close(fd);
    return true;
}

static bool run(struct series_file *f, const char *sql, struct err *ret_err)
{
    int rc = sqlite3_exec(f->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK || sql_failed(f->db, rc, "writing series", ret_err);
}

static bool prepare(struct series_file *f, const char *sql, sqlite3_stmt **ret, struct err *ret_err)
{
    int rc = sqlite3_prepare_v3(f->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
    return rc == SQLITE_OK || sql_failed(f->db, rc, "opening series", ret_err);
}

static bool writer_ready(struct series_file *f, const char *journal, struct err *ret_err)
{
    return run(f, journal, ret_err) && run(f, schema, ret_err) &&
           prepare(f,
                   "INSERT INTO block VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9) ON CONFLICT (" KEYS
                   ") DO UPDATE SET last_ms=excluded.last_ms, whole=excluded.whole, "
                   "data=excluded.data WHERE excluded.last_ms > last_ms OR (excluded.last_ms = "
                   "last_ms AND excluded.whole >= whole)",
                   &f->put, ret_err) &&
           prepare(f,
                   "DELETE FROM block WHERE job_id=?1 AND attempt=?2 AND node=?3 AND step_id=?4 "
                   "AND device=?5 AND first_ms>=?6 AND last_ms<=?7 AND NOT whole",
                   &f->pieces, ret_err);
}

static struct series_file *opened(const char *path, int flags, const char *journal,
                                  struct err *ret_err)
{
    struct series_file *f = xcalloc(1, sizeof *f);
    int rc = sqlite3_open_v2(path, &f->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    struct str sql = STR_INIT;
    bool ok = rc == SQLITE_OK || sql_failed(f->db, rc, "opening", ret_err);
    if (ok)
        sqlite3_busy_timeout(f->db, BUSY_MS);
    str_addf(&sql, "PRAGMA cache_size=-%d", CACHE_KIB);
    ok = ok && run(f, str_text(&sql), ret_err) && (!journal || writer_ready(f, journal, ret_err));
    str_done(&sql);
    if (ok)
        return f;
    series_file_close(f);
    return NULL;
}

struct series_file *series_file_open(const char *path, bool write, struct err *ret_err)
{
    if (!write && access(path, F_OK) != 0) {
        err_set(ret_err, ERR_NOT_FOUND, "%s is not there", path);
        return NULL;
    }
    if (write && !made(path, ret_err))
        return NULL;
    /* Readers of a log have to write in its index, but never in the file. */
    return opened(path, SQLITE_OPEN_READWRITE,
                  write ? "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL" : NULL, ret_err);
}

struct series_file *series_file_make(const char *path, struct err *ret_err)
{
    unlink(path);
    return made(path, ret_err) ? opened(path, SQLITE_OPEN_READWRITE,
                                        "PRAGMA journal_mode=OFF; PRAGMA synchronous=FULL", ret_err)
                               : NULL;
}

void series_file_close(struct series_file *f)
{
    if (!f)
        return;
    sqlite3_finalize(f->put);
    sqlite3_finalize(f->pieces);
    sqlite3_close(f->db);
    free(f);
}

bool series_file_begin(struct series_file *f, struct err *ret_err)
{
    return run(f, "BEGIN IMMEDIATE", ret_err);
}

bool series_file_commit(struct series_file *f, struct err *ret_err)
{
    return run(f, "COMMIT", ret_err);
}

void series_file_undo(struct series_file *f)
{
    if (!sqlite3_get_autocommit(f->db))
        sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- writing ---- */

static void key_bind(sqlite3_stmt *st, const struct series_row *r)
{
    sqlite3_bind_int64(st, 1, (sqlite3_int64)r->job_id);
    sqlite3_bind_int64(st, 2, r->attempt);
    sqlite3_bind_text(st, 3, r->node, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, 4, r->step_id);
    sqlite3_bind_int64(st, 5, r->device);
    sqlite3_bind_int64(st, 6, r->first_ms);
    sqlite3_bind_int64(st, 7, r->last_ms);
}

static bool stepped(struct series_file *f, sqlite3_stmt *st, struct err *ret_err)
{
    int rc = sqlite3_step(st);
    bool ok = rc == SQLITE_DONE || sql_failed(f->db, rc, "writing series", ret_err);
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
    return ok;
}

bool series_file_put(struct series_file *f, const struct series_row *r, struct err *ret_err)
{
    ASSERT(r->data || r->len == 0);
    if (r->whole) {
        key_bind(f->pieces, r);
        if (!stepped(f, f->pieces, ret_err))
            return false;
    }
    key_bind(f->put, r);
    sqlite3_bind_int(f->put, 8, r->whole);
    sqlite3_bind_blob64(f->put, 9, r->data, r->len, SQLITE_STATIC);
    return stepped(f, f->put, ret_err);
}

/* ---- reading ---- */

bool series_file_join(struct series_file *f, const char *path, struct err *ret_err)
{
    ASSERT(f->joined <= JOINED_MAX);
    sqlite3_stmt *st = NULL;
    char sql[64];
    if (f->joined == JOINED_MAX)
        return err_set(ret_err, ERR_LIMIT, "too many files of one day");
    snprintf(sql, sizeof sql, "ATTACH ?1 AS also%u", f->joined);
    if (!prepare(f, sql, &st, ret_err))
        return false;
    sqlite3_bind_text(st, 1, path, -1, SQLITE_STATIC);
    bool ok = stepped(f, st, ret_err);
    sqlite3_finalize(st);
    f->joined += ok;
    return ok;
}

static void select_text(const struct series_file *f, const struct series_where *w, struct str *sql)
{
    for (unsigned i = 0; i <= f->joined; i++) {
        str_addf(sql, "%sSELECT " KEYS ", last_ms, whole, data FROM ", i ? " UNION ALL " : "");
        if (i)
            str_addf(sql, "also%u.", i - 1);
        str_add(sql, "block");
        if (!w->job_id)
            continue;
        str_add(sql, " WHERE job_id=?1 AND attempt=?2 AND last_ms>=?3 AND first_ms<=?4");
        if (w->node)
            str_add(sql, " AND (node, step_id, device, first_ms) > (?5, ?6, ?7, ?8)");
    }
    str_add(sql, " ORDER BY " KEYS);
}

static struct series_row row_of(sqlite3_stmt *st)
{
    return (struct series_row){
        .job_id = (uint64_t)sqlite3_column_int64(st, 0),
        .attempt = (uint32_t)sqlite3_column_int64(st, 1),
        .node = (const char *)sqlite3_column_text(st, 2),
        .step_id = sqlite3_column_int64(st, 3),
        .device = sqlite3_column_int(st, 4),
        .first_ms = sqlite3_column_int64(st, 5),
        .last_ms = sqlite3_column_int64(st, 6),
        .whole = sqlite3_column_int(st, 7),
        .data = sqlite3_column_blob(st, 8),
        .len = (size_t)sqlite3_column_bytes(st, 8),
    };
}

bool series_file_read(struct series_file *f, const struct series_where *w,
                      bool (*row)(void *ctx, const struct series_row *r), void *ctx,
                      struct err *ret_err)
{
    ASSERT(row);
    struct str sql = STR_INIT;
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_DONE;
    select_text(f, w, &sql);
    bool ok = prepare(f, str_text(&sql), &st, ret_err), more = ok;
    str_done(&sql);
    if (ok && w->job_id) {
        sqlite3_bind_int64(st, 1, (sqlite3_int64)w->job_id);
        sqlite3_bind_int64(st, 2, w->attempt);
        sqlite3_bind_int64(st, 3, w->from_ms);
        sqlite3_bind_int64(st, 4, w->to_ms ? w->to_ms : INT64_MAX);
        sqlite3_bind_text(st, 5, w->node, -1, SQLITE_STATIC);
        sqlite3_bind_int64(st, 6, w->step_id);
        sqlite3_bind_int64(st, 7, w->device);
        sqlite3_bind_int64(st, 8, w->first_ms);
    }
    while (more && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct series_row r = row_of(st);
        more = !r.node || !r.data || row(ctx, &r);
    }
    if (ok && rc != SQLITE_ROW && rc != SQLITE_DONE)
        ok = sql_failed(f->db, rc, "reading series", ret_err);
    sqlite3_finalize(st);
    return ok;
}
