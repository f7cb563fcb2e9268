/* Jobs are found by when they ended, by the index that sacct uses, and read one by one with all
 * that is theirs. Of the other kinds there are few rows. */
#include "store/sqlite/past.h"

#include "base/alloc.h"
#include "base/str.h"
#include "store/sqlite/used.h"
#include "store/sqlite/used_loaded.h"
#include "store/used/slots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct past_reading {
    sqlite3 *db;
    const struct sql_table *table;
    store_past_fn fn;
    void *ctx;
    struct err *err;
};

/* Each row that the rest of the SELECT chooses; with ?1 = `number`. */
static bool rows_give(const struct past_reading *r, enum store_table table, const char *rest,
                      int64_t number)
{
    const struct sql_table *t = &r->table[table];
    struct str sql = STR_INIT;
    sqlite3_stmt *st = NULL;
    void *record = xcalloc(1, t->row->fields->size);
    sql_select_text(t, &sql);
    str_addf(&sql, " WHERE %s", rest);
    sql_order_text(t, &sql);
    int rc = sqlite3_prepare_v2(r->db, str_text(&sql), (int)sql.len, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(st, 1, number);
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        memset(record, 0, t->row->fields->size);
        sql_read_record(t, st, record);
        r->fn(r->ctx, table, record);
        rc = SQLITE_OK;
    }
    if (rc != SQLITE_DONE)
        sql_failed(r->db, rc, "reading the past", r->err);
    sqlite3_finalize(st);
    str_done(&sql);
    free(record);
    return rc == SQLITE_DONE;
}

static bool job_give(const struct past_reading *r, const struct past_query *q, int64_t id)
{
    if (!rows_give(r, TABLE_STEP, "job_id=?1", id))
        return false;
    return q->kind == PAST_STEPS ||
           (rows_give(r, TABLE_PAYLOAD, "job_id=?1", id) &&
            rows_give(r, TABLE_JOB_PART, "id=?1", id) && rows_give(r, TABLE_JOB_RUN, "id=?1", id) &&
            rows_give(r, TABLE_JOB, "id=?1", id));
}

/* Numbers of jobs first: rows are removed meanwhile by others. */
static bool jobs_give(const struct past_reading *r, struct past_query *q)
{
    struct str sql = STR_INIT;
    sqlite3_stmt *st = NULL;
    int64_t *id = xcalloc(q->most ? q->most : 1, sizeof *id);
    size_t n = 0;
    str_add(&sql, "SELECT id, end_us FROM job WHERE ");
    sql_job_over(&sql);
    str_addf(&sql,
             " AND end_us<%lld AND end_us>=%lld AND (end_us, id)>(%lld, %lld) "
             "ORDER BY end_us, id LIMIT %zu",
             (long long)q->before_us, (long long)q->at.end_us, (long long)q->at.end_us,
             (long long)q->at.id, q->most);
    int rc = sqlite3_prepare_v2(r->db, str_text(&sql), (int)sql.len, &st, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        id[n++] = sqlite3_column_int64(st, 0);
        q->at.end_us = sqlite3_column_int64(st, 1);
        q->at.id = (uint64_t)id[n - 1];
        rc = SQLITE_OK;
    }
    sqlite3_finalize(st);
    str_done(&sql);
    bool ok = rc == SQLITE_DONE || sql_failed(r->db, rc, "looking for what is over", r->err);
    q->of_runs = n < q->most;
    q->more = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = job_give(r, q, id[i]);
    free(id);
    return ok;
}

/* A job of scrontab is never over: what goes of it are its former runs, by when they ended. */
struct former {
    int64_t id, end_us;
    uint32_t attempt;
};

static bool run_give(const struct past_reading *r, const struct past_query *q,
                     const struct former *f)
{
    char steps[64], parts[64];
    snprintf(steps, sizeof steps, "job_id=?1 AND attempt=%u", f->attempt);
    snprintf(parts, sizeof parts, "id=?1 AND ifnull(attempt, 0)=%u", f->attempt); /* no key there */
    return rows_give(r, TABLE_STEP, steps, f->id) &&
           (q->kind == PAST_STEPS || (rows_give(r, TABLE_JOB_PART, parts, f->id) &&
                                      rows_give(r, TABLE_JOB_RUN, parts, f->id)));
}

static bool runs_give(const struct past_reading *r, struct past_query *q)
{
    struct str sql = STR_INIT;
    sqlite3_stmt *st = NULL;
    struct former *run = xcalloc(q->most ? q->most : 1, sizeof *run);
    size_t n = 0;
    str_addf(&sql,
             "SELECT id, attempt, end_us FROM job_run WHERE end_us>0 AND end_us<%lld AND "
             "end_us>=%lld AND (end_us, id, attempt)>(%lld, %lld, %u) AND NOT EXISTS (SELECT 1 "
             "FROM job WHERE job.id=job_run.id AND ",
             (long long)q->before_us, (long long)q->run_at.end_us, (long long)q->run_at.end_us,
             (long long)q->run_at.id, q->run_at.attempt);
    sql_job_over(&sql);
    str_addf(&sql, ") ORDER BY end_us, id, attempt LIMIT %zu", q->most);
    int rc = sqlite3_prepare_v2(r->db, str_text(&sql), (int)sql.len, &st, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        run[n] = (struct former){sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 2),
                                 (uint32_t)sqlite3_column_int64(st, 1)};
        q->run_at.end_us = run[n].end_us;
        q->run_at.id = (uint64_t)run[n].id;
        q->run_at.attempt = run[n++].attempt;
        rc = SQLITE_OK;
    }
    sqlite3_finalize(st);
    str_done(&sql);
    bool ok = rc == SQLITE_DONE || sql_failed(r->db, rc, "looking for former runs", r->err);
    q->more = n == q->most;
    for (size_t i = 0; ok && i < n; i++)
        ok = run_give(r, q, &run[i]);
    free(run);
    return ok;
}

/* ---- sums ---- */

/* "gpu=7200,gpu:v100=7200" of one hour. */
static int gres_read(sqlite3_stmt *st, struct str *out)
{
    int rc;
    str_clear(out);
    while ((rc = sqlite3_step(st)) == SQLITE_ROW)
        str_addf(out, "%s%s=%lld", out->len ? "," : "", sqlite3_column_text(st, 0),
                 (long long)sqlite3_column_int64(st, 1));
    sqlite3_reset(st); /* a statement that was stepped takes no other hour */
    return rc;
}

static const char *column_text(sqlite3_stmt *st, int i)
{
    const char *text = (const char *)sqlite3_column_text(st, i);
    return text_empty(text) ? NULL : text;
}

static int hour_give(const struct past_reading *r, sqlite3_stmt *st, sqlite3_stmt *gres)
{
    struct str text = STR_INIT;
    struct used u = {.from_us = sqlite3_column_int64(st, 0) * USEC_PER_SEC,
                     .jobs = (uint64_t)sqlite3_column_int64(st, 2),
                     .cpu_s = sqlite3_column_int64(st, 3),
                     .mem_mib_s = sqlite3_column_int64(st, 4),
                     .node_s = sqlite3_column_int64(st, 5),
                     .billing_s = sqlite3_column_int64(st, 6),
                     .planned_cpu_s = sqlite3_column_int64(st, 7),
                     .account = column_text(st, 8),
                     .user_name = column_text(st, 9),
                     .partition = column_text(st, 10),
                     .qos = column_text(st, 11),
                     .wckey = column_text(st, 12),
                     .reservation = column_text(st, 13),
                     .job_cpus = sqlite3_column_int(st, 14),
                     .there = (uint64_t)sqlite3_column_int64(st, 15)};
    sqlite3_bind_int64(gres, 1, sqlite3_column_int64(st, 0));
    sqlite3_bind_int64(gres, 2, sqlite3_column_int64(st, 1));
    int rc = gres_read(gres, &text);
    u.gres = text.len ? str_text(&text) : NULL;
    if (rc == SQLITE_DONE)
        r->fn(r->ctx, STORE_TABLE_COUNT, &u);
    str_done(&text);
    return rc;
}

static bool hours_give(const struct past_reading *r, const struct past_query *q, int64_t ahead_s)
{
    sqlite3_stmt *st = NULL, *gres = NULL;
    int rc = sqlite3_prepare_v2(
        r->db,
        "SELECT slot, who, began, cpu_s, mem_mib_s, node_s, billing_s, planned_cpu_s, account, "
        "user_name, partition, qos, wckey, reservation, job_cpus, there FROM used JOIN used_by ON "
        "id=who WHERE level=?1 AND slot<?2 ORDER BY slot, who",
        -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(
            r->db, "SELECT name, amount FROM used_gres WHERE level=?3 AND slot=?1 AND who=?2", -1,
            &gres, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int(gres, 3, USED_LEVEL_HOUR);
        sqlite3_bind_int(st, 1, USED_LEVEL_HOUR);
        sqlite3_bind_int64(st, 2,
                           used_slot_of(USED_LEVEL_HOUR, q->before_us / USEC_PER_SEC, ahead_s));
    }
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        rc = hour_give(r, st, gres);
        rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
    }
    if (rc != SQLITE_DONE)
        sql_failed(r->db, rc, "reading sums", r->err);
    sqlite3_finalize(st);
    sqlite3_finalize(gres);
    return rc == SQLITE_DONE;
}

static void loaded_give(void *ctx, enum store_table table, const void *record)
{
    const struct past_reading *r = ctx;
    struct used u = used_of_hour(record);
    CHECK(table == TABLE_USED_HOUR);
    r->fn(r->ctx, STORE_TABLE_COUNT, &u);
}

/* Those of the store's own, then those that came from archives. */
static bool sums_give(struct past_reading *r, const struct past_query *q, int64_t ahead_s)
{
    const struct past_reading loaded = {r->db, r->table, loaded_give, r, r->err};
    int64_t cut_s = used_slot_of(USED_LEVEL_HOUR, q->before_us / USEC_PER_SEC, ahead_s);
    return hours_give(r, q, ahead_s) &&
           rows_give(&loaded, TABLE_USED_HOUR, "from_us<?1", cut_s * USEC_PER_SEC);
}

bool sql_past_read(sqlite3 *db, const struct sql_table table[STORE_TABLE_COUNT],
                   struct past_query *q, store_past_fn fn, void *ctx, struct err *ret_err)
{
    struct past_reading r = {db, table, fn, ctx, ret_err};
    struct used_facts fact;
    if (!used_facts_read(db, &fact, ret_err))
        return false;
    switch (q->kind) {
    case PAST_JOBS:
        if (!fact.known || fact.counted_to != USED_ALL)
            return true;
        return q->of_runs ? runs_give(&r, q) : jobs_give(&r, q);
    case PAST_STEPS: return q->of_runs ? runs_give(&r, q) : jobs_give(&r, q);
    case PAST_EVENTS: return rows_give(&r, TABLE_NODE_SPELL, "end_us<?1", q->before_us);
    case PAST_RESVS: return rows_give(&r, TABLE_PAST_RESERVATION, "end_us<?1", q->before_us);
    case PAST_TXN: return rows_give(&r, TABLE_TRANSACTION, "at_us<?1", q->before_us);
    case PAST_USAGE: return !fact.known || sums_give(&r, q, fact.ahead_s);
    case PAST_COUNT: break;
    }
    return true;
}

/* The oldest of a level that begin before the cut. */
static bool level_forget(sqlite3 *db, enum used_level level, int64_t cut_s, struct err *ret_err)
{
    static const char *const from[] = {"used", "used_gres"};
    struct str sql = STR_INIT;
    bool ok = true;
    for (size_t i = 0; ok && i < ARRAY_LEN(from); i++) {
        const char *key = i ? "level, slot, who, name" : "level, slot, who";
        str_clear(&sql);
        str_addf(&sql,
                 "DELETE FROM %s WHERE (%s) IN (SELECT %s FROM %s WHERE level=%d AND slot<%lld "
                 "ORDER BY slot LIMIT %d)",
                 from[i], key, key, from[i], (int)level, (long long)cut_s, PAST_SLOTS_AT_ONCE);
        ok = sql_exec(db, str_text(&sql), ret_err);
    }
    str_done(&sql);
    return ok && sql_used_gone_note(db, level, cut_s, ret_err);
}

static bool loaded_forget(sqlite3 *db, int64_t cut_s, struct err *ret_err)
{
    struct str sql = STR_INIT;
    str_addf(&sql,
             "DELETE FROM used_hour WHERE (from_us, who) IN (SELECT from_us, who FROM used_hour "
             "WHERE from_us<%lld ORDER BY from_us LIMIT %d)",
             (long long)(cut_s * USEC_PER_SEC), PAST_SLOTS_AT_ONCE);
    bool ok = sql_exec(db, str_text(&sql), ret_err);
    str_done(&sql);
    return ok;
}

bool sql_used_forget_slots(sqlite3 *db, const struct used_facts *fact, const struct meta *row,
                           struct err *ret_err)
{
    int64_t until_us;
    bool ok = true;
    if (!text_is(row->key, META_USED_SINCE) ||
        !text_to_i64(row->value ? row->value : "", 0, INT64_MAX, &until_us))
        return true;
    int64_t until_s = until_us / USEC_PER_SEC;
    for (enum used_level level = USED_LEVEL_HOUR; ok && level < USED_LEVEL_COUNT; level++)
        ok = level_forget(db, level, used_slot_of(level, until_s, fact->ahead_s), ret_err);
    return ok && loaded_forget(db, used_slot_of(USED_LEVEL_HOUR, until_s, fact->ahead_s), ret_err);
}

static bool pragma_read(sqlite3 *db, const char *sql, int64_t *ret, struct err *ret_err)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(st, 0);
    else
        sql_failed(db, rc, "looking at its size", ret_err);
    sqlite3_finalize(st);
    return rc == SQLITE_ROW;
}

bool sql_space(sqlite3 *db, int64_t *ret_bytes, int64_t *ret_free, struct err *ret_err)
{
    int64_t size = 0, all = 0, unused = 0;
    bool ok = pragma_read(db, "PRAGMA page_size", &size, ret_err) &&
              pragma_read(db, "PRAGMA page_count", &all, ret_err) &&
              pragma_read(db, "PRAGMA freelist_count", &unused, ret_err);
    *ret_bytes = ok ? size * all : 0;
    *ret_free = ok ? size * unused : 0;
    return ok;
}
