/* Conditions in SQL are only a coarse choice: job_filter.c decides about every row that comes
 * out. A condition may therefore be left out (a list too long for SQL), but must never be
 * stricter than the filter.
 *
 * Ids first, rows after: the inner SELECT finds ids through indexes, the outer one walks the
 * table in the order of ids and never sorts whole rows. */
#include "store/sqlite/query.h"

#include "base/alloc.h"
#include "base/str.h"

#define LIST_MAX 10000u /* values written into one SQL text */

static void add_refs(struct str *sql, const char *column, const struct job_filter *f)
{
    str_addf(sql, "%s IN (", column);
    for (size_t i = 0; i < f->refs.n; i++) {
        str_add(sql, i ? "," : "");
        str_add_i64(sql, (int64_t)f->refs.v[i].job_id);
    }
    str_addc(sql, ')');
}

/* Root's uid is stored as NULL. */
static void add_uids(struct str *sql, const struct job_filter *f)
{
    bool root = false;
    if (f->uids.n == 0 || f->uids.n > LIST_MAX)
        return;
    str_add(sql, " AND (user_id IN (");
    for (size_t i = 0; i < f->uids.n; i++) {
        str_add(sql, i ? "," : "");
        str_add_u64(sql, f->uids.v[i]);
        root |= f->uids.v[i] == 0;
    }
    str_add(sql, root ? ") OR user_id IS NULL)" : "))");
}

static void add_text(struct str *sql, const char *text)
{
    str_addc(sql, '\'');
    for (; *text; text++)
        str_addn(sql, *text == '\'' ? "''" : text, *text == '\'' ? 2 : 1);
    str_addc(sql, '\'');
}

static void add_names(struct str *sql, const struct job_filter *f)
{
    if (f->names.word.n == 0 || f->names.word.n > LIST_MAX)
        return;
    str_add(sql, " AND name IN (");
    for (size_t i = 0; i < f->names.word.n; i++) {
        str_add(sql, i ? "," : "");
        add_text(sql, f->names.word.v[i]);
    }
    str_addc(sql, ')');
}

/* Only without times: with them, a job is also found by states it was in before. */
static void add_states(struct str *sql, const struct job_filter *f)
{
    const char *comma = "";
    if (!f->by_state || f->window)
        return;
    str_add(sql, " AND state IN (");
    for (int32_t s = 0; s < JOB_STATE_COUNT; s++) {
        if (!(f->states >> s & 1))
            continue;
        str_addf(sql, "%s'%s'", comma, enum_name(&job_state_names, s));
        comma = ",";
    }
    str_addc(sql, ')');
}

static void add_common(struct str *sql, const struct job_filter *f)
{
    add_uids(sql, f);
    add_names(sql, f);
    add_states(sql, f);
    if (f->to_us != INT64_MAX)
        str_addf(sql, " AND (submit_us IS NULL OR submit_us <= %lld)", (long long)f->to_us);
}

static void add_end(struct str *sql, int64_t from_us)
{
    if (from_us > 0)
        str_addf(sql, " AND end_us >= %lld", (long long)from_us);
}

/* Of what lives or ended since. The '+' keeps SQLite from walking all that ever were to find
 * those. */
static void add_of_recent(struct str *sql, const char *column, int64_t from_us)
{
    str_addf(sql, "SELECT %s FROM job WHERE +%s IS NOT NULL AND ", column, column);
    sql_job_live(sql);
    str_addf(sql, " UNION ALL SELECT %s FROM job WHERE +%s IS NOT NULL AND ", column, column);
    sql_job_over(sql);
    add_end(sql, from_us);
}

static bool has_column(const struct sql_table *t, const char *name)
{
    ptrdiff_t i = fields_find(t->row->fields, name);
    return i >= 0 && t->column[i].present;
}

/* What is wanted beside what lives or ended since (scan->whole_jobs). A store of an older release
 * that cannot be written may know nothing of scrontab. */
static void add_wholes(struct str *sql, const struct sql_table *t, int64_t from_us)
{
    static const char *const columns[] = {"array_job_id", "het_job_id"};
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        str_addf(sql, " UNION ALL SELECT id FROM job WHERE %s IN (", columns[i]);
        add_of_recent(sql, columns[i], from_us);
        str_addc(sql, ')');
    }
    if (has_column(t, "cron"))
        str_add(sql, " UNION ALL SELECT id FROM job WHERE cron IS NOT NULL");
}

/* Ids of jobs that are over and ended since, and of all that live; of `scan`, if it is given, what
 * it leaves out or adds. */
static void add_ids_by_life(struct str *sql, const struct sql_table *t, const struct job_filter *f,
                            int64_t from_us, const struct scan *scan)
{
    str_add(sql, "id IN (SELECT id FROM job WHERE ");
    sql_job_over(sql);
    add_end(sql, from_us);
    if (f)
        add_common(sql, f);
    str_add(sql, " UNION ALL SELECT id FROM job WHERE ");
    sql_job_live(sql);
    if (scan && scan->started_only)
        str_add(sql, " AND start_us > 0");
    if (f)
        add_common(sql, f);
    if (scan && scan->whole_jobs)
        add_wholes(sql, t, from_us);
    str_addc(sql, ')');
}

static void add_ids_by_ref(struct str *sql, const char *table, const struct job_filter *f)
{
    static const char *const columns[] = {"id", "array_job_id", "het_job_id"};
    str_add(sql, "id IN (");
    for (size_t i = 0; i < (f->exact ? 1 : ARRAY_LEN(columns)); i++) {
        str_addf(sql, "%sSELECT id FROM %s WHERE ", i ? " UNION ALL " : "", table);
        add_refs(sql, columns[i], f);
    }
    str_addc(sql, ')');
}

static bool by_ref(const struct job_filter *f)
{
    return f && f->refs.n && f->refs.n <= LIST_MAX;
}

static bool is_narrow(const struct job_filter *f)
{
    return f && (f->window || f->uids.n || f->names.word.n || f->by_state);
}

static void where_jobs(struct str *sql, const struct sql_table *t, const struct scan *scan)
{
    const struct job_filter *f = scan->filter;
    str_add(sql, " WHERE ");
    if (scan->live_only)
        add_ids_by_life(sql, t, NULL, scan->ended_after_us, scan);
    else if (by_ref(f))
        add_ids_by_ref(sql, "job", f);
    else if (is_narrow(f))
        add_ids_by_life(sql, t, f, f->from_us, NULL);
    else
        str_addc(sql, '1');
}

/* Former runs and parts are few. */
static void where_runs(struct str *sql, const char *table, const struct scan *scan)
{
    const struct job_filter *f = scan->filter;
    str_add(sql, " WHERE ");
    if (by_ref(f))
        add_ids_by_ref(sql, table, f);
    else
        str_addc(sql, '1');
    if (!f)
        return;
    add_end(sql, f->from_us);
    add_common(sql, f);
}

static void where_of_job(struct str *sql, const struct scan *scan)
{
    if (scan->of_job)
        str_add(sql, " WHERE job_id=?1");
}

static void add_where(struct str *sql, const struct sql_table *t, const struct scan *scan)
{
    switch (scan->table) {
    case TABLE_JOB: where_jobs(sql, t, scan); break;
    case TABLE_JOB_RUN: where_runs(sql, "job_run", scan); break;
    case TABLE_JOB_PART: where_runs(sql, "job_part", scan); break;
    case TABLE_STEP:
        where_of_job(sql, scan);
        if (!scan->live_only)
            break;
        str_add(sql, " WHERE job_id IN (SELECT id FROM job WHERE ");
        add_ids_by_life(sql, t, NULL, scan->ended_after_us, NULL);
        str_addc(sql, ')');
        break;
    case TABLE_PAYLOAD: where_of_job(sql, scan); break;
    case TABLE_NODE_SPELL: str_add(sql, scan->live_only ? " WHERE end_us IS NULL" : ""); break;
    case TABLE_NODE:
    case TABLE_PARTITION:
    case TABLE_RESERVATION:
    case TABLE_META:
    case TABLE_USAGE:
    case TABLE_USE:
    case TABLE_QUEUED_STEP:
    case TABLE_TOKEN:
    case TABLE_HOST:
    case TABLE_ACCOUNT:
    case TABLE_ACCOUNT_USER:
    case TABLE_ASSOC:
    case TABLE_QOS:
    case TABLE_LIMIT:
    case TABLE_WCKEY:
    case TABLE_TRES:
    case TABLE_TRANSACTION:
    case TABLE_PAST_RESERVATION:
    case TABLE_USED_HOUR:
    case TABLE_CRONTAB:
    case TABLE_TRIGGER:
    case TABLE_ANSWERED:
    case TABLE_LEFT_OUT:
    case STORE_TABLE_COUNT: break;
    }
}

sqlite3_stmt *sql_query_prepare(sqlite3 *db, const struct sql_table *t, const struct scan *scan,
                                struct err *ret_err)
{
    ASSERT(scan->table < STORE_TABLE_COUNT);
    struct str sql = STR_INIT;
    sqlite3_stmt *st = NULL;
    sql_select_text(t, &sql);
    add_where(&sql, t, scan);
    sql_order_text(t, &sql);
    int rc = sqlite3_prepare_v2(db, str_text(&sql), (int)sql.len, &st, NULL);
    str_done(&sql);
    if (rc != SQLITE_OK)
        sql_failed(db, rc, "preparing a query", ret_err);
    return st;
}
