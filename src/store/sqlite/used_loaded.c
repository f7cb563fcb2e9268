/* Sums of hours that came from archives lie in a table of their own, a row for each hour and whom
 * it is about, so that one that comes twice is there once. They count only where the store has no
 * sums of its own: in a slot whose own sums were removed, or before the first it ever had. That is
 * asked of each level by itself, for the oldest months, days and hours go at different moments.
 *
 * "gone_LEVEL" is where the removed ones end. Slots that are only partly removed (a purge that was
 * killed) are not among them: too little is told for as long, never too much. */
#include "store/sqlite/used_loaded.h"

#include "base/alloc.h"
#include "base/str.h"
#include "model/record/used.h"
#include "store/sqlite/trouble.h"

#include <string.h>

/* Where the store's own sums of a level were removed until, and where those there are begin. */
struct used_loaded_own {
    int64_t gone_until_s, first_s;
};

static bool number_read(sqlite3 *db, const char *sql, int64_t *ret, struct err *ret_err)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW && sqlite3_column_type(st, 0) != SQLITE_NULL)
        *ret = sqlite3_column_int64(st, 0);
    else if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        sql_failed(db, rc, "looking for sums of archives", ret_err);
    sqlite3_finalize(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

bool sql_used_gone_note(sqlite3 *db, enum used_level level, int64_t cut_s, struct err *ret_err)
{
    struct str sql = STR_INIT;
    str_addf(&sql,
             "INSERT OR REPLACE INTO used_fact SELECT 'gone_%1$d', max(ifnull((SELECT value FROM "
             "used_fact WHERE key='gone_%1$d'), 0), min(ifnull((SELECT min(slot) FROM used WHERE "
             "level=%1$d AND slot<%2$lld), %2$lld), ifnull((SELECT min(slot) FROM used_gres WHERE "
             "level=%1$d AND slot<%2$lld), %2$lld)))",
             (int)level, (long long)cut_s);
    bool ok = sql_exec(db, str_text(&sql), ret_err);
    str_done(&sql);
    return ok;
}

static bool own_read(sqlite3 *db, enum used_level level, struct used_loaded_own *ret,
                     struct err *ret_err)
{
    struct str sql = STR_INIT;
    *ret = (struct used_loaded_own){.gone_until_s = INT64_MIN, .first_s = INT64_MAX};
    str_addf(&sql, "SELECT value FROM used_fact WHERE key='gone_%d'", (int)level);
    bool ok = number_read(db, str_text(&sql), &ret->gone_until_s, ret_err);
    str_clear(&sql);
    str_addf(&sql, "SELECT min(slot) FROM used WHERE level=%d", (int)level);
    ok = ok && number_read(db, str_text(&sql), &ret->first_s, ret_err);
    str_done(&sql);
    return ok;
}

/* "gpu=7200,gpu:v100=7200" */
static void gres_add(struct used_tally *t, const char *gres)
{
    struct str text = STR_INIT;
    char *next, *name;
    str_add(&text, gres ? gres : "");
    for (next = text.data; next && (name = strsep(&next, ","));) {
        char *equals = strchr(name, '=');
        int64_t amount;
        if (equals && text_to_i64(equals + 1, 0, INT64_MAX, &amount)) {
            *equals = '\0';
            tally_add_gres(t, name, amount);
        }
    }
    str_done(&text);
}

struct used_loaded_reading {
    const struct used_query *q;
    struct used_tally *tally;
    int64_t ahead_s;
    const struct used_piece *piece;
    struct used_loaded_own own;
    bool first;
};

static void hour_add(const struct used_loaded_reading *r, const struct used_hour *row)
{
    int64_t hour_s = used_slot_of(USED_LEVEL_HOUR, row->from_us / USEC_PER_SEC, r->ahead_s),
            slot_s = used_slot_of(r->piece->level, hour_s, r->ahead_s);
    struct used u = used_of_hour(row);
    if ((slot_s >= r->own.gone_until_s && slot_s >= r->own.first_s) || u.cpu_s < 0)
        return;
    if (r->q->each_hour || (r->first && hour_s == r->piece->from_s))
        u.jobs += u.there;
    tally_add(r->tally, &u, r->q->each_hour ? hour_s : 0, &u);
    gres_add(r->tally, u.gres);
}

static bool hours_add(sqlite3 *db, const struct sql_table *t, const struct used_loaded_reading *r,
                      struct err *ret_err)
{
    struct used_hour row;
    struct str sql = STR_INIT;
    sqlite3_stmt *st = NULL;
    sql_select_text(t, &sql);
    str_addf(&sql, " WHERE from_us>=%lld AND from_us<%lld",
             (long long)(r->piece->from_s * USEC_PER_SEC),
             (long long)(r->piece->to_s * USEC_PER_SEC));
    int rc = sqlite3_prepare_v2(db, str_text(&sql), (int)sql.len, &st, NULL);
    str_done(&sql);
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        row = (struct used_hour){0};
        sql_read_record(t, st, &row);
        hour_add(r, &row);
        rc = SQLITE_OK;
    }
    if (rc != SQLITE_DONE)
        sql_failed(db, rc, "reading sums of archives", ret_err);
    sqlite3_finalize(st);
    return rc == SQLITE_DONE;
}

/* A file of an older release has no such table. */
static bool has_any(sqlite3 *db, const struct sql_table *t, bool *ret, struct err *ret_err)
{
    struct str sql = STR_INIT;
    int64_t n = 0;
    str_addf(&sql, "SELECT count(*) FROM sqlite_master WHERE type='table' AND name='%s'",
             t->row->name);
    bool ok = number_read(db, str_text(&sql), &n, ret_err);
    str_clear(&sql);
    str_addf(&sql, "SELECT EXISTS (SELECT 1 FROM %s)", t->row->name);
    ok = ok && (!n || number_read(db, str_text(&sql), &n, ret_err));
    *ret = n != 0;
    str_done(&sql);
    return ok;
}

bool sql_used_loaded_add(sqlite3 *db, const struct sql_table *t, const struct used_query *q,
                         int64_t ahead_s, const struct used_piece *piece, bool first,
                         struct used_tally *tally, struct err *ret_err)
{
    struct used_loaded_reading r = {
        .q = q, .tally = tally, .ahead_s = ahead_s, .piece = piece, .first = first};
    bool any = false;
    if (!has_any(db, t, &any, ret_err))
        return false;
    return !any || (own_read(db, piece->level, &r.own, ret_err) && hours_add(db, t, &r, ret_err));
}
