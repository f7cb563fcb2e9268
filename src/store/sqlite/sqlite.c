/* SQLite behind store.h.
 *
 * A commit: BEGIN IMMEDIATE (the write lock, so that what is read next cannot change), compare
 * epoch and number, apply the rows, store the number, COMMIT. With WAL and synchronous=FULL the
 * COMMIT is one fsync of the log, whatever the number of rows. Anything that fails rolls back,
 * and the handle is as before: a full disk that has room again needs no new handle.
 *
 * The log is copied into the database every CHECKPOINT_PAGES pages: pages that change often (the
 * newest jobs) are copied once for many commits. Readers have handles of their own and see the
 * last commit before they began: until none of them needs the log any more it grows. A disk that it
 * has filled lets no commit come to pass, after which it would be copied: so that is done after one
 * that failed, too. */
#include "base/alloc.h"
#include "base/str.h"
#include "model/limits.h"
#include "store/sqlite/open.h"
#include "store/sqlite/packed.h"
#include "store/sqlite/past.h"
#include "store/sqlite/query.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/used.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUSY_MS          1000
#define CHECKPOINT_PAGES 4000 /* of 4 KiB */
#define CACHE_KIB        2048 /* more gained nothing: the kernel caches the file too */

struct sqlite {
    struct store store;
    sqlite3 *db;
    struct sql_table table[STORE_TABLE_COUNT];
    sqlite3_stmt *begin, *commit, *facts, *set_fact; /* NULL in a handle that only reads */
    /* Rows of one job, NULL while a cursor uses it */
    sqlite3_stmt *of_job[STORE_TABLE_COUNT];
    uint64_t unsure_seq; /* batch whose COMMIT failed; 0 = none */
    bool believed;
    size_t log_pages; /* after the last commit */
    struct sql_used *used;
};

struct sqlite_cursor {
    struct cursor cursor;
    const struct sql_table *table;
    sqlite3_stmt *st;
    bool kept; /* st came from of_job and goes back there */
    void *record;
};

static struct sqlite *sqlite_of(struct store *s)
{
    return (struct sqlite *)s;
}

/* ---- opening and closing ---- */

static void sqlite_close(struct store *store)
{
    struct sqlite *s = sqlite_of(store);
    sqlite3_finalize(s->begin);
    sqlite3_finalize(s->commit);
    sqlite3_finalize(s->facts);
    sqlite3_finalize(s->set_fact);
    sql_used_free(s->used);
    for (size_t i = 0; i < STORE_TABLE_COUNT; i++)
        sqlite3_finalize(s->of_job[i]);
    for (size_t i = 0; i < STORE_TABLE_COUNT; i++)
        sql_table_done(&s->table[i]);
    sqlite3_close(s->db);
    free(s->store.description);
    free(s);
}

/* Environments hold secrets: the file is its owner's alone. SQLite gives the log the mode of the
 * database. */
static bool make_file(const char *path, struct err *ret_err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_set(ret_err, ERR_UNAVAILABLE, "cannot open the store %s: %s", path,
                       strerrordesc_np(errno));
    close(fd);
    return true;
}

static bool set_up(struct sqlite *s, bool read_only, struct err *ret_err)
{
    struct str sql = STR_INIT;
    sqlite3_busy_timeout(s->db, BUSY_MS);
    str_addf(&sql, "PRAGMA cache_size=-%d; PRAGMA temp_store=MEMORY;", CACHE_KIB);
    bool good = sql_exec(s->db, str_text(&sql), ret_err) &&
                (read_only || sql_tables_check(s->db, s->table, ret_err));
    str_clear(&sql);
    if (!read_only)
        str_addf(&sql,
                 "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0; "
                 "PRAGMA journal_size_limit=%d;",
                 2 * CHECKPOINT_PAGES * 4096);
    good = good && sql_exec(s->db, str_text(&sql), ret_err) &&
           sql_schema_make(s->db, s->table, read_only, ret_err) &&
           (s->used = sql_used_open(s->db, s->table, read_only, ret_err));
    str_done(&sql);
    return good;
}

static bool prepare(struct sqlite *s, const char *sql, sqlite3_stmt **ret, struct err *ret_err)
{
    int rc = sqlite3_prepare_v3(s->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
    return rc == SQLITE_OK || sql_failed(s->db, rc, "preparing", ret_err);
}

static bool prepare_table(struct sqlite *s, struct sql_table *t, struct err *ret_err)
{
    struct str put = STR_INIT, del = STR_INIT;
    sql_put_text(t, &put);
    sql_delete_text(t, &del);
    bool good = prepare(s, str_text(&put), &t->put, ret_err) &&
                prepare(s, str_text(&del), &t->del, ret_err);
    str_done(&put);
    str_done(&del);
    return good;
}

static bool prepare_writer(struct sqlite *s, struct err *ret_err)
{
    for (size_t i = 0; i < STORE_TABLE_COUNT; i++)
        if (!prepare_table(s, &s->table[i], ret_err))
            return false;
    return prepare(s, "BEGIN IMMEDIATE", &s->begin, ret_err) &&
           prepare(s, "COMMIT", &s->commit, ret_err) &&
           prepare(s,
                   "SELECT (SELECT value FROM meta WHERE key='" META_EPOCH
                   "'), (SELECT value FROM meta WHERE key='" META_SEQ "')",
                   &s->facts, ret_err) &&
           prepare(s, "UPDATE meta SET value=?2 WHERE key=?1", &s->set_fact, ret_err);
}

/* ---- committing ---- */

static bool may_write(const struct sqlite *s, struct err *ret_err)
{
    return s->begin ||
           err_set(ret_err, ERR_DENIED, "%s was opened for reading only", s->store.description);
}

/* Runs a statement that yields no rows, and leaves it ready for the next time. */
static bool run(struct sqlite *s, sqlite3_stmt *st, const char *doing, struct err *ret_err)
{
    int rc = sqlite3_step(st);
    if (rc != SQLITE_DONE)
        sql_failed(s->db, rc, doing, ret_err);
    sqlite3_reset(st);
    return rc == SQLITE_DONE;
}

static void sqlite_log_shorten(struct store *store)
{
    struct sqlite *s = sqlite_of(store);
    sqlite3_busy_timeout(s->db, 0);
    if (sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL) == SQLITE_OK)
        s->log_pages = 0;
    sqlite3_busy_timeout(s->db, BUSY_MS);
}

/* A failed statement may have ended the transaction already. */
static bool roll_back(struct sqlite *s)
{
    int rc = sqlite3_errcode(s->db) & 0xff;
    sql_used_forget(s->used);
    if (!sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    if (s->believed && (rc == SQLITE_FULL || rc == SQLITE_IOERR))
        sqlite_log_shorten(&s->store);
    return false;
}

/* One that cannot be is none: what the store was written with last is then unknown. */
static uint64_t fact(sqlite3_stmt *st, int column)
{
    const char *text = (const char *)sqlite3_column_text(st, column);
    uint64_t n;
    return text && text_to_u64(text, LIMIT_COUNTED, &n) ? n : 0;
}

static bool read_facts(struct sqlite *s, uint64_t *ret_epoch, uint64_t *ret_seq,
                       struct err *ret_err)
{
    int rc = sqlite3_step(s->facts);
    if (rc == SQLITE_ROW) {
        *ret_epoch = fact(s->facts, 0);
        *ret_seq = fact(s->facts, 1);
    } else {
        sql_failed(s->db, rc, "reading its epoch", ret_err);
    }
    sqlite3_reset(s->facts);
    return rc == SQLITE_ROW;
}

static bool set_fact(struct sqlite *s, const char *key, uint64_t value, struct err *ret_err)
{
    struct str text = STR_INIT;
    str_add_u64(&text, value);
    sqlite3_bind_text(s->set_fact, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(s->set_fact, 2, str_text(&text), -1, SQLITE_TRANSIENT);
    str_done(&text);
    return run(s, s->set_fact, "storing a number", ret_err);
}

static bool row_is_there(struct sqlite *s, struct sql_table *t, const void *record, bool *ret,
                         struct err *ret_err)
{
    struct str sql = STR_INIT;
    sql_find_text(t, &sql);
    bool ok = t->find || prepare(s, str_text(&sql), &t->find, ret_err);
    str_done(&sql);
    if (!ok)
        return false;
    int rc = sql_bind_key(t, t->find, record);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(t->find);
    *ret = rc == SQLITE_ROW;
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        sql_failed(s->db, rc, "looking for a row", ret_err);
    sqlite3_reset(t->find);
    return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

static bool apply_row(struct sqlite *s, const struct row *row, struct err *ret_err)
{
    struct sql_table *t = &s->table[row->table];
    sqlite3_stmt *st = row->op == ROW_DELETE ? t->del : t->put;
    bool there = false;
    if (row->op == ROW_ADD && !row_is_there(s, t, row->record, &there, ret_err))
        return false;
    if (there)
        return true;
    if (!sql_used_row(s->used, row, ret_err))
        return false;
    sqlite3_clear_bindings(st);
    int rc = row->op == ROW_DELETE ? sql_bind_key(t, st, row->record)
                                   : sql_bind_record(t, st, row->record);
    if (rc != SQLITE_OK)
        return sql_failed(s->db, rc, "binding a row", ret_err);
    return run(s, st, "writing a row", ret_err);
}

static bool apply_batch(struct sqlite *s, const struct batch *b, struct err *ret_err)
{
    uint64_t epoch = 0, seq = 0;
    if (!read_facts(s, &epoch, &seq, ret_err))
        return false;
    /* The COMMIT before said it failed, yet the batch is there: done. */
    if (b->seq == s->unsure_seq && seq == b->seq && epoch == b->epoch)
        return true;
    if (!batch_may_follow(b, epoch, seq, ret_err))
        return false;
    if (!sql_used_begin(s->used, ret_err))
        return false;
    for (size_t i = 0; i < b->n; i++)
        if (!apply_row(s, &b->row[i], ret_err))
            return false;
    return sql_used_end(s->used, ret_err) && set_fact(s, META_SEQ, b->seq, ret_err);
}

/* Instead of SQLite's own: no PRAGMA wal_autocheckpoint may follow. The commit has been made,
 * whatever comes of this. */
static int log_grew(void *ctx, sqlite3 *db, const char *name, int pages)
{
    struct sqlite *s = ctx;
    s->log_pages = pages > 0 ? (size_t)pages : 0;
    if (pages >= CHECKPOINT_PAGES)
        sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    return SQLITE_OK;
}

/* Until the first batch the store may still be refused: a log that is another's must not have been
 * copied into the file by then, neither meanwhile nor as the handle is closed. */
static void believe(struct sqlite *s)
{
    if (s->believed)
        return;
    s->believed = true;
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    sqlite3_wal_hook(s->db, log_grew, s);
}

static bool sqlite_commit(struct store *store, const struct batch *b, struct err *ret_err)
{
    struct sqlite *s = sqlite_of(store);
    believe(s);
    if (!may_write(s, ret_err) || !run(s, s->begin, "beginning a commit", ret_err))
        return false;
    if (!apply_batch(s, b, ret_err))
        return roll_back(s);
    if (!run(s, s->commit, "committing", ret_err)) {
        s->unsure_seq = b->seq;
        return roll_back(s);
    }
    s->unsure_seq = 0;
    return true;
}

static size_t sqlite_log_pages(const struct store *store)
{
    return ((const struct sqlite *)store)->log_pages;
}

static bool sqlite_take_epoch(struct store *store, uint64_t *ret_epoch, uint64_t *ret_seq,
                              struct err *ret_err)
{
    struct sqlite *s = sqlite_of(store);
    if (!may_write(s, ret_err) || !run(s, s->begin, "taking over", ret_err))
        return false;
    if (!read_facts(s, ret_epoch, ret_seq, ret_err) ||
        !set_fact(s, META_EPOCH, *ret_epoch + 1, ret_err) ||
        !run(s, s->commit, "taking over", ret_err))
        return roll_back(s);
    *ret_epoch += 1;
    return true;
}

/* ---- cursors ---- */

static void sqlite_done(struct cursor *cursor)
{
    struct sqlite_cursor *c = (struct sqlite_cursor *)cursor;
    struct sqlite *s = sqlite_of(cursor->store);
    enum store_table table = cursor->scan->table;
    sqlite3_reset(c->st);
    if (c->kept && !s->of_job[table])
        s->of_job[table] = c->st;
    else
        sqlite3_finalize(c->st);
    free(c->record);
    free(c);
}

/* Steps and scripts are asked for job by job, thousands of times in a row: that SELECT is prepared
 * once. */
static sqlite3_stmt *take_statement(struct sqlite *s, const struct scan *scan, struct err *ret_err)
{
    sqlite3_stmt *st = scan->of_job ? s->of_job[scan->table] : NULL;
    if (st)
        s->of_job[scan->table] = NULL;
    else
        st = sql_query_prepare(s->db, &s->table[scan->table], scan, ret_err);
    if (st && scan->of_job)
        sqlite3_bind_int64(st, 1, (int64_t)scan->job_id);
    return st;
}

static struct cursor *sqlite_open(struct store *store, const struct scan *scan, struct err *ret_err)
{
    struct sqlite *s = sqlite_of(store);
    sqlite3_stmt *st = take_statement(s, scan, ret_err);
    if (!st)
        return NULL;
    struct sqlite_cursor *c = xcalloc(1, sizeof *c);
    *c = (struct sqlite_cursor){
        .cursor = {.store = store, .scan = scan}, .st = st, .kept = scan->of_job};
    c->table = &s->table[scan->table];
    c->record = xcalloc(1, c->table->row->fields->size);
    return &c->cursor;
}

static bool sqlite_used(struct store *store, struct used_query *q, struct used_tally **ret_tally,
                        bool *ret_kept, struct err *ret_err)
{
    const struct sqlite *s = sqlite_of(store);
    return sql_used_read(s->db, s->table, q, ret_tally, ret_kept, ret_err);
}

static bool sqlite_packed_get(struct store *store, packed_bytes_fn fn, void *ctx,
                              struct err *ret_err)
{
    return sql_packed_get(sqlite_of(store)->db, fn, ctx, ret_err);
}

static bool sqlite_packed_put(struct store *store, const struct str *bytes, struct err *ret_err)
{
    return may_write(sqlite_of(store), ret_err) &&
           sql_packed_put(sqlite_of(store)->db, bytes, ret_err);
}

static bool sqlite_hold(struct store *store, bool on, struct err *ret_err)
{
    return sql_exec(sqlite_of(store)->db, on ? "BEGIN" : "COMMIT", ret_err);
}

static bool sqlite_past(struct store *store, struct past_query *q, store_past_fn fn, void *ctx,
                        struct err *ret_err)
{
    struct sqlite *s = sqlite_of(store);
    return sql_past_read(s->db, s->table, q, fn, ctx, ret_err);
}

static bool sqlite_space(struct store *store, int64_t *ret_bytes, int64_t *ret_free,
                         struct err *ret_err)
{
    return sql_space(sqlite_of(store)->db, ret_bytes, ret_free, ret_err);
}

static const void *sqlite_next(struct cursor *cursor, bool *ret_failed, struct err *ret_err)
{
    struct sqlite_cursor *c = (struct sqlite_cursor *)cursor;
    int rc = sqlite3_step(c->st);
    if (rc == SQLITE_DONE)
        return NULL;
    memset(c->record, 0, c->table->row->fields->size);
    if (rc != SQLITE_ROW) {
        *ret_failed = !sql_failed(sqlite_of(cursor->store)->db, rc, "reading", ret_err);
        return NULL;
    }
    sql_read_record(c->table, c->st, c->record);
    return c->record;
}

/* Until a commit says how long it is. */
static size_t log_length(const char *path)
{
    struct stat st;
    struct str wal = STR_INIT;
    str_addf(&wal, "%s-wal", path);
    size_t pages = stat(str_text(&wal), &st) == 0 ? (size_t)st.st_size / 4096 : 0;
    str_done(&wal);
    return pages;
}

struct store *sqlite_open_as(const char *path, const char *name, bool read_only,
                             struct err *ret_err)
{
    static const struct store_ops ops = {
        .close = sqlite_close,
        .used = sqlite_used,
        .packed_get = sqlite_packed_get,
        .packed_put = sqlite_packed_put,
        .past = sqlite_past,
        .space = sqlite_space,
        .hold = sqlite_hold,
        .commit = sqlite_commit,
        .log_pages = sqlite_log_pages,
        .log_shorten = sqlite_log_shorten,
        .take_epoch = sqlite_take_epoch,
        .open = sqlite_open,
        .next = sqlite_next,
        .done = sqlite_done,
    };
    struct sqlite *s = xcalloc(1, sizeof *s);
    s->store = (struct store){.ops = &ops, .description = xasprintf("SQLite %s", path)};
    for (size_t i = 0; i < STORE_TABLE_COUNT; i++)
        sql_table_init(&s->table[i], (enum store_table)i);
    int flags = (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_NOMUTEX;
    int rc = sqlite3_open_v2(name, &s->db, flags | (name == path ? 0 : SQLITE_OPEN_URI), NULL);
    if (rc != SQLITE_OK)
        sql_failed(s->db, rc, "opening", ret_err);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (rc == SQLITE_OK && set_up(s, read_only, ret_err) &&
        (read_only || prepare_writer(s, ret_err))) {
        s->log_pages = read_only ? 0 : log_length(path);
        return &s->store;
    }
    sqlite_close(&s->store);
    return NULL;
}

struct store *store_open_sqlite(const char *path, bool read_only, struct err *ret_err)
{
    if (!sql_is_file(path, ret_err) ||
        (!read_only && access(path, F_OK) != 0 && !make_file(path, ret_err)))
        return NULL;
    return sqlite_open_as(path, path, read_only, ret_err);
}

bool sqlite_has_any(struct store *s)
{
    return sql_tables_any(sqlite_of(s)->db, sqlite_of(s)->table);
}
