/* A row of "used" is what one account, user, partition, QOS, workload key and reservation used in
 * jobs of one size, in one hour, day or month; the hours of the whole cluster stand in a level of
 * their own. Any time of whole hours is then a few hours at both ends, a few days, and months, in
 * whatever zone it was meant: hours of local time begin where hours of "ahead_s" do, a constant of
 * the store, and a change of clocks moves a month by an hour, which is one row of hours.
 *
 * A transaction gathers what it adds and writes each row once. A row of a job that replaces one
 * that was over takes that one's part back first. Rows that go (purged jobs) take nothing back, and
 * it is noted whose they were, so that they add nothing when they are added back.
 *
 * "counted_to" is the last job id that is counted. It is all ids, but in a store of an older
 * release: then each transaction counts some more, and until they are all counted reports are
 * counted from the jobs. */
#include "store/sqlite/used.h"
#include "store/sqlite/purged.h"
#include "store/used/slots.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT_AT_ONCE 500
#define WHO_MAX       100000 /* kept in memory */
#define HISTORY       3

static const enum store_table tables[HISTORY] = {TABLE_JOB, TABLE_JOB_RUN, TABLE_JOB_PART};

struct used_change {
    enum used_level level;
    int64_t slot, who;
    const char *gres; /* NULL: `sum` */
    int64_t amount;
    struct used sum;
    int64_t began, there; /* of sum.jobs: began in the slot, ran already as it began */
};

struct sql_used {
    sqlite3 *db;
    const struct sql_table *table;
    struct used_facts fact;
    bool fact_is_stored; /* else it is read anew: another may have been committed last */
    struct arena *arena; /* of one transaction */
    struct map_str *change;
    struct map_str *who;
    struct str key;
    void *record;
    struct sql_purged *purged;
    sqlite3_stmt *add, *add_gres, *find_who, *new_who, *set_counted, *ids, *old[HISTORY],
        *some[HISTORY];
};

/* ---- opening ---- */

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS used_by (id INTEGER PRIMARY KEY, account TEXT NOT NULL, "
    "user_name TEXT NOT NULL, partition TEXT NOT NULL, qos TEXT NOT NULL, wckey TEXT NOT NULL, "
    "reservation TEXT NOT NULL, job_cpus INTEGER NOT NULL, "
    "UNIQUE (user_name, account, partition, qos, wckey, reservation, job_cpus));"
    "CREATE TABLE IF NOT EXISTS used (level INTEGER, slot INTEGER, who INTEGER, began INTEGER, "
    "there INTEGER, cpu_s INTEGER, mem_mib_s INTEGER, node_s INTEGER, billing_s INTEGER, "
    "planned_cpu_s INTEGER, PRIMARY KEY (level, slot, who)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS used_gres (level INTEGER, slot INTEGER, who INTEGER, name TEXT, "
    "amount INTEGER, PRIMARY KEY (level, slot, who, name)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS used_fact (key TEXT PRIMARY KEY, value INTEGER) WITHOUT "
    "ROWID;" SQL_PURGED_SCHEMA;

/* Local time without what summer adds. */
static int64_t zone_ahead_s(void)
{
    int64_t least = INT64_MAX;
    time_t now = time(NULL);
    for (int half = 0; half < 2; half++) {
        time_t t = now + (time_t)half * 182 * 86400;
        struct tm tm = {0};
        if (localtime_r(&t, &tm) && tm.tm_gmtoff < least)
            least = tm.tm_gmtoff;
    }
    return least == INT64_MAX ? 0 : least;
}

static bool make(struct sql_used *u, struct err *ret_err)
{
    struct str facts = STR_INIT;
    str_addf(&facts,
             "INSERT OR IGNORE INTO used_fact VALUES ('ahead_s', %lld), ('counted_to', "
             "CASE WHEN EXISTS (SELECT 1 FROM job) OR EXISTS (SELECT 1 FROM job_run) THEN 0 "
             "ELSE %lld END)",
             (long long)zone_ahead_s(), (long long)USED_ALL);
    bool ok = sql_exec(u->db, "BEGIN IMMEDIATE", ret_err) && sql_exec(u->db, schema, ret_err) &&
              sql_exec(u->db, str_text(&facts), ret_err) && sql_exec(u->db, "COMMIT", ret_err);
    if (!ok)
        sql_exec(u->db, "ROLLBACK", NULL);
    str_done(&facts);
    return ok;
}

static bool prepare(struct sql_used *u, const char *sql, sqlite3_stmt **ret, struct err *ret_err)
{
    int rc = sqlite3_prepare_v3(u->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
    return rc == SQLITE_OK || sql_failed(u->db, rc, "preparing", ret_err);
}

/* A row by its key, if it is over; and all of some jobs. */
static bool prepare_rows(struct sql_used *u, int i, struct err *ret_err)
{
    struct str old = STR_INIT, some = STR_INIT;
    const struct sql_table *t = &u->table[tables[i]];
    sql_select_text(t, &old);
    sql_select_text(t, &some);
    str_add(&old, " WHERE ");
    for (size_t k = 0; k < t->nkey; k++)
        str_addf(&old, "%s\"%s\"=?", k ? " AND " : "", t->key[k]->name);
    str_add(&some, " WHERE id>?1 AND id<=?2");
    if (tables[i] == TABLE_JOB) {
        str_add(&old, " AND ");
        sql_job_over(&old);
        str_add(&some, " AND ");
        sql_job_over(&some);
    }
    bool ok = prepare(u, str_text(&old), &u->old[i], ret_err) &&
              prepare(u, str_text(&some), &u->some[i], ret_err);
    str_done(&old);
    str_done(&some);
    return ok;
}

static bool prepare_writer(struct sql_used *u, struct err *ret_err)
{
    for (int i = 0; i < HISTORY; i++)
        if (!prepare_rows(u, i, ret_err))
            return false;
    return prepare(u,
                   "INSERT INTO used VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10) ON CONFLICT DO UPDATE "
                   "SET began=began+?4, there=there+?5, cpu_s=cpu_s+?6, mem_mib_s=mem_mib_s+?7, "
                   "node_s=node_s+?8, billing_s=billing_s+?9, planned_cpu_s=planned_cpu_s+?10",
                   &u->add, ret_err) &&
           prepare(u,
                   "INSERT INTO used_gres VALUES (?1,?2,?3,?4,?5) ON CONFLICT DO UPDATE SET "
                   "amount=amount+?5",
                   &u->add_gres, ret_err) &&
           prepare(u,
                   "SELECT id FROM used_by WHERE account=?1 AND user_name=?2 AND partition=?3 AND "
                   "qos=?4 AND wckey=?5 AND reservation=?6 AND job_cpus=?7",
                   &u->find_who, ret_err) &&
           prepare(u,
                   "INSERT INTO used_by (account, user_name, partition, qos, wckey, reservation, "
                   "job_cpus) VALUES (?1,?2,?3,?4,?5,?6,?7)",
                   &u->new_who, ret_err) &&
           prepare(u, "UPDATE used_fact SET value=?1 WHERE key='counted_to'", &u->set_counted,
                   ret_err) &&
           prepare(u, "SELECT max(id) FROM (SELECT id FROM job WHERE id>?1 ORDER BY id LIMIT ?2)",
                   &u->ids, ret_err);
}

struct sql_used *sql_used_open(sqlite3 *db, const struct sql_table table[STORE_TABLE_COUNT],
                               bool read_only, struct err *ret_err)
{
    struct sql_used *u = xcalloc(1, sizeof *u);
    u->db = db;
    u->table = table;
    u->arena = arena_new();
    u->change = map_str_new();
    u->who = map_str_new();
    u->record = xcalloc(1, sizeof(struct job));
    u->purged = sql_purged_new(db);
    if (read_only || (make(u, ret_err) && prepare_writer(u, ret_err)))
        return u;
    sql_used_free(u);
    return NULL;
}

void sql_used_free(struct sql_used *u)
{
    if (!u)
        return;
    sqlite3_stmt *const all[] = {u->add,     u->add_gres,    u->find_who,
                                 u->new_who, u->set_counted, u->ids};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        sqlite3_finalize(all[i]);
    for (int i = 0; i < HISTORY; i++) {
        sqlite3_finalize(u->old[i]);
        sqlite3_finalize(u->some[i]);
    }
    map_str_free(u->change);
    map_str_free(u->who);
    arena_free(u->arena);
    str_done(&u->key);
    sql_purged_free(u->purged);
    free(u->record);
    free(u);
}

/* ---- by whom and where ---- */

static bool step_done(struct sql_used *u, sqlite3_stmt *st, const char *doing, struct err *ret_err)
{
    int rc = sqlite3_step(st);
    if (rc != SQLITE_DONE)
        sql_failed(u->db, rc, doing, ret_err);
    sqlite3_reset(st);
    return rc == SQLITE_DONE;
}

static void bind_by(sqlite3_stmt *st, const struct used *by)
{
    const char *const text[] = {by->account, by->user_name, by->partition,
                                by->qos,     by->wckey,     by->reservation};
    for (int i = 0; i < (int)ARRAY_LEN(text); i++)
        sqlite3_bind_text(st, i + 1, text[i] ? text[i] : "", -1, SQLITE_STATIC);
    sqlite3_bind_int(st, (int)ARRAY_LEN(text) + 1, by->job_cpus);
}

static bool who_stored(struct sql_used *u, const struct used *by, int64_t *ret, struct err *ret_err)
{
    bind_by(u->find_who, by);
    int rc = sqlite3_step(u->find_who);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(u->find_who, 0);
    sqlite3_reset(u->find_who);
    if (rc == SQLITE_ROW)
        return true;
    if (rc != SQLITE_DONE)
        return sql_failed(u->db, rc, "looking for who used", ret_err);
    bind_by(u->new_who, by);
    if (!step_done(u, u->new_who, "storing who used", ret_err))
        return false;
    *ret = sqlite3_last_insert_rowid(u->db);
    return true;
}

static bool who_of(struct sql_used *u, const struct job *j, int64_t *ret, struct err *ret_err)
{
    char number[16];
    struct used by;
    used_by_job(j, number, &by);
    str_clear(&u->key);
    str_addf(&u->key, "%s\1%s\1%s\1%s\1%s\1%s\1%d", by.account ? by.account : "", by.user_name,
             by.partition ? by.partition : "", by.qos ? by.qos : "", by.wckey ? by.wckey : "",
             by.reservation ? by.reservation : "", by.job_cpus);
    void *kept = map_str_get(u->who, str_text(&u->key));
    *ret = (int64_t)(intptr_t)kept;
    if (kept)
        return true;
    if (!who_stored(u, &by, ret, ret_err))
        return false;
    if (map_str_count(u->who) >= WHO_MAX) {
        map_str_free(u->who);
        u->who = map_str_new();
    }
    map_str_put(u->who, str_text(&u->key), (void *)(intptr_t)*ret);
    return true;
}

/* ---- gathering ---- */

static struct used_change *change_of(struct sql_used *u, enum used_level level, int64_t slot,
                                     int64_t who, const char *gres)
{
    str_clear(&u->key);
    str_addf(&u->key, "%d %lld %lld %s", (int)level, (long long)slot, (long long)who,
             gres ? gres : "");
    struct used_change *c = map_str_get(u->change, str_text(&u->key));
    if (c)
        return c;
    c = arena_alloc(u->arena, sizeof *c);
    *c = (struct used_change){
        .level = level, .slot = slot, .who = who, .gres = arena_strdup(u->arena, gres)};
    map_str_put(u->change, str_text(&u->key), c);
    return c;
}

static void times_add(int64_t *to, int64_t amount, int sign)
{
    *to = (int64_t)((uint64_t)*to + (uint64_t)sign * (uint64_t)amount);
}

struct slot_share {
    struct sql_used *u;
    enum used_level level;
    int64_t slot, who, ran_s;
    int sign;
};

static void gres_change(void *ctx, const char *name, int64_t count)
{
    const struct slot_share *s = ctx;
    if (s->ran_s)
        times_add(&change_of(s->u, s->level, s->slot, s->who, name)->amount, count * s->ran_s,
                  s->sign);
}

static void share_change(const struct slot_share *s, const struct used_job *job,
                         const struct used_share *share)
{
    struct used_change *c = change_of(s->u, s->level, s->slot, s->who, NULL);
    times_add(&c->began, (int64_t)share->began, s->sign);
    times_add(&c->there, (int64_t)(share->sum.jobs - share->began), s->sign);
    times_add(&c->sum.cpu_s, share->sum.cpu_s, s->sign);
    times_add(&c->sum.mem_mib_s, share->sum.mem_mib_s, s->sign);
    times_add(&c->sum.node_s, share->sum.node_s, s->sign);
    times_add(&c->sum.billing_s, share->sum.billing_s, s->sign);
    times_add(&c->sum.planned_cpu_s, share->sum.planned_cpu_s, s->sign);
    used_job_gres(job->j, gres_change, (void *)s);
}

static bool job_change(struct sql_used *u, const struct job *j, bool part, int sign,
                       struct err *ret_err)
{
    struct used_job job;
    int64_t who;
    if (!used_job_init(&job, j, part, 0))
        return true;
    if (!who_of(u, j, &who, ret_err))
        return false;
    for (enum used_level level = USED_LEVEL_HOUR; level < USED_LEVEL_COUNT; level++) {
        int64_t slot = used_slot_of(level, job.planned_s, u->fact.ahead_s);
        while (slot <= job.to_s) {
            struct used_share share;
            int64_t end = used_slot_end(level, slot, u->fact.ahead_s);
            if (used_job_share(&job, slot, end, &share))
                share_change(&(struct slot_share){u, level, slot,
                                                  level == USED_LEVEL_CLUSTER ? 0 : who,
                                                  share.ran_s, sign},
                             &job, &share);
            slot = end;
        }
    }
    return true;
}

/* ---- in a transaction ---- */

/* The job's rows until `to`, which the sums do not have yet. */
static bool rows_count(struct sql_used *u, int i, int64_t to, struct err *ret_err)
{
    sqlite3_stmt *st = u->some[i];
    bool ok = true;
    int rc = SQLITE_ROW;
    sqlite3_bind_int64(st, 1, u->fact.counted_to);
    sqlite3_bind_int64(st, 2, to);
    while (ok && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        memset(u->record, 0, sizeof(struct job));
        sql_read_record(&u->table[tables[i]], st, u->record);
        ok = job_change(u, u->record, tables[i] == TABLE_JOB_PART, 1, ret_err);
    }
    if (ok && rc != SQLITE_DONE)
        ok = sql_failed(u->db, rc, "counting jobs", ret_err);
    sqlite3_reset(st);
    return ok;
}

/* The last of the jobs to be counted next. */
static bool next_find(struct sql_used *u, int64_t *ret_to, struct err *ret_err)
{
    *ret_to = USED_ALL;
    sqlite3_bind_int64(u->ids, 1, u->fact.counted_to);
    sqlite3_bind_int(u->ids, 2, COUNT_AT_ONCE);
    int rc = sqlite3_step(u->ids);
    if (rc == SQLITE_ROW && sqlite3_column_type(u->ids, 0) != SQLITE_NULL)
        *ret_to = sqlite3_column_int64(u->ids, 0);
    sqlite3_reset(u->ids);
    return rc == SQLITE_ROW || sql_failed(u->db, rc, "looking for jobs to count", ret_err);
}

bool sql_used_begin(struct sql_used *u, struct err *ret_err)
{
    int64_t to;
    if (!u->fact_is_stored && !used_facts_read(u->db, &u->fact, ret_err))
        return false;
    u->fact_is_stored = true;
    if (u->fact.counted_to == USED_ALL)
        return true;
    if (!next_find(u, &to, ret_err))
        return false;
    for (int i = 0; i < HISTORY; i++)
        if (!rows_count(u, i, to, ret_err))
            return false;
    u->fact.counted_to = to;
    sqlite3_bind_int64(u->set_counted, 1, to);
    return step_done(u, u->set_counted, "noting what is counted", ret_err);
}

/* What the row that is replaced had added. */
static bool old_take_back(struct sql_used *u, int i, const void *record, struct err *ret_err)
{
    const struct sql_table *t = &u->table[tables[i]];
    sqlite3_stmt *st = u->old[i];
    int rc = sql_bind_key(t, st, record);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    bool ok = rc == SQLITE_ROW || rc == SQLITE_DONE ||
              sql_failed(u->db, rc, "reading what is replaced", ret_err);
    if (rc == SQLITE_ROW) {
        memset(u->record, 0, sizeof(struct job));
        sql_read_record(t, st, u->record);
        ok = job_change(u, u->record, tables[i] == TABLE_JOB_PART, -1, ret_err);
    }
    sqlite3_reset(st);
    return ok;
}

static int history_of(enum store_table table)
{
    return table == TABLE_JOB ? 0 : table == TABLE_JOB_RUN ? 1 : table == TABLE_JOB_PART ? 2 : -1;
}

static bool job_put(struct sql_used *u, enum store_table table, const struct job *j,
                    struct err *ret_err)
{
    if ((int64_t)j->id > u->fact.counted_to)
        return true;
    if (!old_take_back(u, history_of(table), j, ret_err))
        return false;
    return (table == TABLE_JOB && !job_state_over((enum job_state)j->state)) ||
           job_change(u, j, table == TABLE_JOB_PART, 1, ret_err);
}

bool sql_used_row(struct sql_used *u, const struct row *row, struct err *ret_err)
{
    const struct job *j = row->record;
    bool is_in_sums = false;
    if (row->table == TABLE_META && row->op == ROW_PUT)
        return sql_used_forget_slots(u->db, &u->fact, row->record, ret_err);
    if (history_of(row->table) < 0)
        return true;
    if (row->op == ROW_DELETE)
        return sql_purged_mark(u->purged, (int64_t)j->id, ret_err);
    if (row->op == ROW_ADD && !sql_purged_has(u->purged, (int64_t)j->id, &is_in_sums, ret_err))
        return false;
    return is_in_sums || job_put(u, row->table, j, ret_err);
}

static bool gres_write(struct sql_used *u, const struct used_change *c, struct err *ret_err)
{
    if (c->amount == 0)
        return true;
    sqlite3_bind_int(u->add_gres, 1, (int)c->level);
    sqlite3_bind_int64(u->add_gres, 2, c->slot);
    sqlite3_bind_int64(u->add_gres, 3, c->who);
    sqlite3_bind_text(u->add_gres, 4, c->gres, -1, SQLITE_STATIC);
    sqlite3_bind_int64(u->add_gres, 5, c->amount);
    return step_done(u, u->add_gres, "adding to what was used", ret_err);
}

static bool change_write(struct sql_used *u, const struct used_change *c, struct err *ret_err)
{
    const int64_t value[] = {
        (int64_t)c->level, c->slot,          c->who,        c->began,         c->there,
        c->sum.cpu_s,      c->sum.mem_mib_s, c->sum.node_s, c->sum.billing_s, c->sum.planned_cpu_s};
    bool any = false;
    if (c->gres)
        return gres_write(u, c, ret_err);
    for (size_t i = 0; i < ARRAY_LEN(value); i++) {
        sqlite3_bind_int64(u->add, (int)i + 1, value[i]);
        any |= i > 2 && value[i] != 0;
    }
    return !any || step_done(u, u->add, "adding to what was used", ret_err);
}

static void changes_clear(struct sql_used *u)
{
    if (map_str_count(u->change) == 0)
        return;
    map_str_free(u->change);
    u->change = map_str_new();
    arena_reset(u->arena);
}

bool sql_used_end(struct sql_used *u, struct err *ret_err)
{
    struct map_walk w = {0};
    bool ok = true;
    while (ok && map_str_next(u->change, &w))
        ok = change_write(u, w.value, ret_err);
    changes_clear(u);
    return ok;
}

/* Who was new may not be stored; nor what was counted, or it is: of a COMMIT that failed nobody
 * knows. The next transaction reads it, or does not begin. */
void sql_used_forget(struct sql_used *u)
{
    if (!u)
        return;
    changes_clear(u);
    map_str_free(u->who);
    u->who = map_str_new();
    u->fact_is_stored = false;
}
