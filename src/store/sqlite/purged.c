/* Numbers are given in order and jobs of a time end in about that order, so that ranges are few. */
#include "store/sqlite/purged.h"

#include "base/alloc.h"
#include "store/sqlite/trouble.h"

#include <stdlib.h>

struct sql_purged {
    sqlite3 *db;
    sqlite3_stmt *find, *put, *drop; /* NULL until needed */
};

struct sql_purged *sql_purged_new(sqlite3 *db)
{
    struct sql_purged *p = xcalloc(1, sizeof *p);
    p->db = db;
    return p;
}

void sql_purged_free(struct sql_purged *p)
{
    if (!p)
        return;
    sqlite3_finalize(p->find);
    sqlite3_finalize(p->put);
    sqlite3_finalize(p->drop);
    free(p);
}

static bool prepared(struct sql_purged *p, const char *sql, sqlite3_stmt **st, struct err *ret_err)
{
    int rc =
        *st ? SQLITE_OK : sqlite3_prepare_v3(p->db, sql, -1, SQLITE_PREPARE_PERSISTENT, st, NULL);
    return rc == SQLITE_OK || sql_failed(p->db, rc, "preparing", ret_err);
}

/* The range that begins at `id` or before; *ret_last = 0: none does. */
static bool range_find(struct sql_purged *p, int64_t id, int64_t *ret_first, int64_t *ret_last,
                       struct err *ret_err)
{
    *ret_first = *ret_last = 0;
    if (!prepared(p, "SELECT first, last FROM purged WHERE first<=?1 ORDER BY first DESC LIMIT 1",
                  &p->find, ret_err))
        return false;
    sqlite3_bind_int64(p->find, 1, id);
    int rc = sqlite3_step(p->find);
    if (rc == SQLITE_ROW) {
        *ret_first = sqlite3_column_int64(p->find, 0);
        *ret_last = sqlite3_column_int64(p->find, 1);
    }
    sqlite3_reset(p->find);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ||
           sql_failed(p->db, rc, "looking for removed jobs", ret_err);
}

static bool done(struct sql_purged *p, sqlite3_stmt *st, struct err *ret_err)
{
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    return rc == SQLITE_DONE || sql_failed(p->db, rc, "noting removed jobs", ret_err);
}

static bool range_put(struct sql_purged *p, int64_t first, int64_t last, struct err *ret_err)
{
    if (!prepared(p, "INSERT OR REPLACE INTO purged VALUES (?1, ?2)", &p->put, ret_err))
        return false;
    sqlite3_bind_int64(p->put, 1, first);
    sqlite3_bind_int64(p->put, 2, last);
    return done(p, p->put, ret_err);
}

static bool range_drop(struct sql_purged *p, int64_t first, struct err *ret_err)
{
    if (!prepared(p, "DELETE FROM purged WHERE first=?1", &p->drop, ret_err))
        return false;
    sqlite3_bind_int64(p->drop, 1, first);
    return done(p, p->drop, ret_err);
}

bool sql_purged_has(struct sql_purged *p, int64_t id, bool *ret, struct err *ret_err)
{
    int64_t first, last;
    if (!range_find(p, id, &first, &last, ret_err))
        return false;
    *ret = last >= id;
    return true;
}

bool sql_purged_mark(struct sql_purged *p, int64_t id, struct err *ret_err)
{
    int64_t first, last, next = 0, next_last = 0;
    if (!range_find(p, id, &first, &last, ret_err))
        return false;
    if (last >= id)
        return true;
    if (id < INT64_MAX && !range_find(p, id + 1, &next, &next_last, ret_err))
        return false;
    bool before = last && last + 1 == id, after = next && next - 1 == id;
    if (after && !range_drop(p, next, ret_err))
        return false;
    return range_put(p, before ? first : id, after ? next_last : id, ret_err);
}
