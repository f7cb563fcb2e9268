/* Rows of the sums are read in the order in which they lie and added up by the number of whom they
 * are about; only then it is looked up who that is. */
#include "base/alloc.h"
#include "base/str.h"
#include "base/vec.h"
#include "store/sqlite/used.h"
#include "store/sqlite/used_loaded.h"
#include "store/used/slots.h"

#include <stdlib.h>

struct used_sum {
    struct used u;
    bool there;
};

struct used_read_reading {
    sqlite3 *db;
    const struct used_query *q;
    struct used_tally *tally;
    VEC(struct used_sum) by_who;
};

bool used_facts_read(sqlite3 *db, struct used_facts *ret, struct err *ret_err)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db,
                                "SELECT (SELECT value FROM used_fact WHERE key='ahead_s'), "
                                "(SELECT value FROM used_fact WHERE key='counted_to')",
                                -1, &st, NULL);
    *ret = (struct used_facts){0};
    if (rc == SQLITE_ERROR) /* there is no such table */
        return true;
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        *ret = (struct used_facts){true, sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1)};
    else
        sql_failed(db, rc, "reading what is counted", ret_err);
    sqlite3_finalize(st);
    return ret->known;
}

static void sum_read(sqlite3_stmt *st, bool first_slot, struct used *ret)
{
    *ret = (struct used){.jobs = (uint64_t)sqlite3_column_int64(st, 2),
                         .cpu_s = sqlite3_column_int64(st, 4),
                         .mem_mib_s = sqlite3_column_int64(st, 5),
                         .node_s = sqlite3_column_int64(st, 6),
                         .billing_s = sqlite3_column_int64(st, 7),
                         .planned_cpu_s = sqlite3_column_int64(st, 8)};
    if (first_slot)
        ret->jobs += (uint64_t)sqlite3_column_int64(st, 3);
}

static void wrap_add(int64_t *to, int64_t amount)
{
    *to = (int64_t)((uint64_t)*to + (uint64_t)amount);
}

static void who_add(struct used_read_reading *r, int64_t who, const struct used *sum)
{
    while ((int64_t)r->by_who.n <= who)
        vec_push(&r->by_who, (struct used_sum){0});
    struct used_sum *s = &r->by_who.v[who];
    s->there = true;
    s->u.jobs += sum->jobs;
    wrap_add(&s->u.cpu_s, sum->cpu_s);
    wrap_add(&s->u.mem_mib_s, sum->mem_mib_s);
    wrap_add(&s->u.node_s, sum->node_s);
    wrap_add(&s->u.billing_s, sum->billing_s);
    wrap_add(&s->u.planned_cpu_s, sum->planned_cpu_s);
}

/* Of whom nothing is known is a damage that does not keep others from their report. */
static bool is_who(int64_t who)
{
    return who >= 0 && who < INT32_MAX;
}

static bool piece_prepare(struct used_read_reading *r, const char *what, const struct used_piece *p,
                          sqlite3_stmt **ret, struct err *ret_err)
{
    struct str sql = STR_INIT;
    str_addf(&sql, "SELECT %s AND slot>=%lld AND slot<%lld", what, (long long)p->from_s,
             (long long)p->to_s);
    int rc = sqlite3_prepare_v2(r->db, str_text(&sql), -1, ret, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int(*ret, 1, (int)p->level);
    str_done(&sql);
    return rc == SQLITE_OK || sql_failed(r->db, rc, "preparing a report", ret_err);
}

static bool read_end(struct used_read_reading *r, sqlite3_stmt *st, int rc, struct err *ret_err)
{
    sqlite3_finalize(st);
    return rc == SQLITE_DONE || sql_failed(r->db, rc, "reading what was used", ret_err);
}

/* `first`: the piece is the first of the query's time. */
static bool sums_read(struct used_read_reading *r, const struct used_piece *p, bool first,
                      struct err *ret_err)
{
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_ERROR;
    if (!piece_prepare(r,
                       "slot, who, began, there, cpu_s, mem_mib_s, node_s, billing_s, "
                       "planned_cpu_s FROM used WHERE level=?1",
                       p, &st, ret_err))
        return false;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct used sum;
        int64_t slot = sqlite3_column_int64(st, 0), who = sqlite3_column_int64(st, 1);
        sum_read(st, r->q->each_hour || (first && slot == p->from_s), &sum);
        if (r->q->each_hour)
            tally_add(r->tally, &(struct used){0}, slot, &sum);
        else if (is_who(who))
            who_add(r, who, &sum);
    }
    return read_end(r, st, rc, ret_err);
}

/* Whom a sum is about: seven columns of the row, from `first` on. Texts are SQLite's, good until
 * the next step. */
static struct used whom_read(sqlite3_stmt *st, int first)
{
    const char *text[6];
    for (int i = 0; i < 6; i++)
        text[i] = (const char *)sqlite3_column_text(st, first + i);
    return (struct used){.account = text[0],
                         .user_name = text[1],
                         .partition = text[2],
                         .qos = text[3],
                         .wckey = text[4],
                         .reservation = text[5],
                         .job_cpus = sqlite3_column_int(st, first + 6)};
}

static bool by_read(struct used_read_reading *r, struct err *ret_err)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(r->db,
                                "SELECT id, nullif(account,''), user_name, nullif(partition,''), "
                                "nullif(qos,''), nullif(wckey,''), nullif(reservation,''), "
                                "job_cpus FROM used_by",
                                -1, &st, NULL);
    if (rc != SQLITE_OK)
        return sql_failed(r->db, rc, "preparing a report", ret_err);
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        int64_t who = sqlite3_column_int64(st, 0);
        if (who < 0 || who >= (int64_t)r->by_who.n || !r->by_who.v[who].there)
            continue;
        struct used by = whom_read(st, 1);
        tally_add(r->tally, &by, 0, &r->by_who.v[who].u);
    }
    return read_end(r, st, rc, ret_err);
}

/* Generic resources are in far fewer rows than jobs: whom they are about is joined here. */
static bool gres_read(struct used_read_reading *r, const struct used_piece *p, struct err *ret_err)
{
    sqlite3_stmt *st = NULL;
    int rc = SQLITE_ERROR;
    if (!piece_prepare(r,
                       "slot, name, amount, nullif(account,''), user_name, nullif(partition,''), "
                       "nullif(qos,''), nullif(wckey,''), nullif(reservation,''), job_cpus "
                       "FROM used_gres LEFT JOIN used_by ON id=who WHERE level=?1",
                       p, &st, ret_err))
        return false;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(st, 1);
        struct used by = whom_read(st, 3);
        tally_add(r->tally, &by, sqlite3_column_int64(st, 0), &(struct used){0});
        tally_add_gres(r->tally, name ? name : "", sqlite3_column_int64(st, 2));
    }
    return read_end(r, st, rc, ret_err);
}

/* Where hours of the store begin. */
static void cut(struct used_query *q, int64_t ahead_s)
{
    q->from_us = used_slot_of(USED_LEVEL_HOUR, q->from_us / USEC_PER_SEC, ahead_s) * USEC_PER_SEC;
    q->to_us = used_slot_of(USED_LEVEL_HOUR, q->to_us / USEC_PER_SEC, ahead_s) * USEC_PER_SEC;
}

bool sql_used_read(sqlite3 *db, const struct sql_table table[STORE_TABLE_COUNT],
                   struct used_query *q, struct used_tally **ret_tally, bool *ret_kept,
                   struct err *ret_err)
{
    struct used_facts fact;
    struct used_piece piece[USED_PIECES_MAX] = {{0}};
    *ret_tally = NULL;
    if (!used_facts_read(db, &fact, ret_err))
        return false;
    *ret_kept = fact.known && fact.counted_to == USED_ALL;
    cut(q, fact.ahead_s);
    struct used_read_reading r = {.db = db, .q = q, .tally = tally_new(q)};
    int64_t from_s = q->from_us / USEC_PER_SEC, to_s = q->to_us / USEC_PER_SEC;
    size_t n = used_pieces(from_s, to_s, fact.ahead_s, piece);
    if (q->each_hour && from_s < to_s) {
        piece[0] = (struct used_piece){USED_LEVEL_CLUSTER, from_s, to_s};
        n = 1;
    }
    bool ok = true;
    for (size_t i = 0; *ret_kept && ok && i < n; i++)
        ok = sums_read(&r, &piece[i], i == 0, ret_err) && gres_read(&r, &piece[i], ret_err) &&
             sql_used_loaded_add(db, &table[TABLE_USED_HOUR], q, fact.ahead_s, &piece[i], i == 0,
                                 r.tally, ret_err);
    ok = ok && (!*ret_kept || q->each_hour || by_read(&r, ret_err));
    vec_done(&r.by_who);
    *ret_tally = r.tally;
    if (ok)
        return true;
    tally_free(r.tally);
    *ret_tally = NULL;
    return false;
}
