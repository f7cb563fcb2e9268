/* A piece ends with a job's own row, so that a job comes with all that is its own. A number that is
 * here another job's is left alone: its rows are not sent. */
#include "cli/accounts/past.h"

#include "base/alloc.h"
#include "model/job/job_counts.h"
#include "model/past.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_ROWS 50   /* a turn of the controller takes some milliseconds */
#define PIECE_MOST 5000 /* of one job that has more */

static const enum store_table tables[] = {
    TABLE_JOB,        TABLE_JOB_RUN,          TABLE_JOB_PART,    TABLE_STEP,     TABLE_PAYLOAD,
    TABLE_NODE_SPELL, TABLE_PAST_RESERVATION, TABLE_TRANSACTION, TABLE_USED_HOUR};

const struct fields *past_out_fields(enum store_table table)
{
    return table == TABLE_USED_HOUR ? &used_fields : store_table_rows[table].fields;
}

void past_out_begin(struct past_rows_out *o, struct sacctmgr *s)
{
    *o = (struct past_rows_out){.s = s, .arena = arena_new()};
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        o->of[tables[i]].fields = past_out_fields(tables[i]);
}

void past_out_done(struct past_rows_out *o)
{
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        free(o->of[tables[i]].list.v);
    arena_free(o->arena);
}

bool past_out_takes(enum store_table table)
{
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        if (tables[i] == table)
            return true;
    return false;
}

static void *at(const struct past_list *l, size_t i)
{
    return (char *)l->list.v + i * l->fields->size;
}

bool past_out_add(struct past_rows_out *o, enum store_table table, const void *record)
{
    struct past_list *l = &o->of[table];
    if (l->list.n == l->cap) {
        l->cap = 2 * l->cap + 16;
        l->list.v = xrealloc(l->list.v, l->cap * l->fields->size);
    }
    memset((char *)l->list.v + l->list.n * l->fields->size, 0, l->fields->size);
    record_copy(l->fields, at(l, l->list.n++), record, o->arena);
    o->rows++;
    bool whole = table == TABLE_JOB || !o->of[TABLE_JOB].list.n;
    return o->rows < PIECE_ROWS || (!whole && o->rows < PIECE_MOST) || past_out_flush(o);
}

/* ---- what is there -------------------------------------------------------------------------- */

struct there {
    struct map_u64 *submit; /* of jobs of these numbers; 1 = it is not known */
};

/* What tells it from another of its number, however often it went back to the queue since. */
static int64_t submitted(const struct job *j)
{
    return job_first_submit_us(j) ? job_first_submit_us(j) : 1;
}

static void there_row(void *ctx, const void *record)
{
    const struct there *t = ctx;
    const struct job *j = record;
    map_u64_put(t->submit, j->id, (void *)(intptr_t)submitted(j));
}

static bool there_read(struct past_rows_out *o, struct there *t)
{
    struct client *c = sacctmgr_connect(o->s);
    struct msg_done done = {0};
    struct err e = {0};
    struct str ids = STR_INIT;
    for (size_t i = 0; i < o->of[TABLE_JOB].list.n; i++)
        str_addf(&ids, "%s%llu", i ? "," : "",
                 (unsigned long long)((const struct job *)at(&o->of[TABLE_JOB], i))->id);
    const struct msg_query q = {
        .what = QUERY_HISTORY, .ids = str_text(&ids), .fields = "id,submit_us,first_submit_us"};
    bool ok =
        c && (ids.len == 0 || client_query(c, &q, &job_fields, o->arena, there_row, t, &done, &e));
    if (c && !ok)
        sacctmgr_fail(o->s, "%s", e.text);
    str_done(&ids);
    return ok;
}

static uint64_t job_of(enum store_table table, const void *record)
{
    if (table == TABLE_STEP)
        return ((const struct step *)record)->job_id;
    if (table == TABLE_PAYLOAD)
        return ((const struct payload *)record)->job_id;
    return table == TABLE_JOB || table == TABLE_JOB_RUN || table == TABLE_JOB_PART
               ? ((const struct job *)record)->id
               : 0;
}

static void rows_drop(struct past_rows_out *o, enum store_table table, const struct map_u64 *taken)
{
    struct past_list *l = &o->of[table];
    size_t kept = 0;
    for (size_t i = 0; i < l->list.n; i++) {
        uint64_t id = job_of(table, at(l, i));
        if (id && map_u64_get(taken, id))
            continue;
        if (kept != i)
            memcpy(at(l, kept), at(l, i), l->fields->size);
        kept++;
    }
    l->list.n = kept;
}

/* Counts them, and drops what is another's. */
static void jobs_compare(struct past_rows_out *o, const struct there *t)
{
    struct map_u64 *taken = map_u64_new();
    for (size_t i = 0; i < o->of[TABLE_JOB].list.n; i++) {
        const struct job *j = at(&o->of[TABLE_JOB], i);
        int64_t submit = (int64_t)(intptr_t)map_u64_get(t->submit, j->id);
        if (submit && submit != submitted(j)) {
            map_u64_put(taken, j->id, o);
            o->taken++;
            o->first_taken = o->first_taken ? o->first_taken : j->id;
        } else {
            o->there += submit != 0;
            o->added += submit == 0;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(tables) && map_u64_count(taken); i++)
        rows_drop(o, tables[i], taken);
    map_u64_free(taken);
}

/* ---- sending -------------------------------------------------------------------------------- */

static bool piece_send(struct past_rows_out *o)
{
    const struct msg_add_past m = {.jobs = o->of[TABLE_JOB].list,
                                   .runs = o->of[TABLE_JOB_RUN].list,
                                   .parts = o->of[TABLE_JOB_PART].list,
                                   .steps = o->of[TABLE_STEP].list,
                                   .payloads = o->of[TABLE_PAYLOAD].list,
                                   .events = o->of[TABLE_NODE_SPELL].list,
                                   .reservations = o->of[TABLE_PAST_RESERVATION].list,
                                   .transactions = o->of[TABLE_TRANSACTION].list,
                                   .sums = o->of[TABLE_USED_HOUR].list};
    struct message answer = {0};
    struct err e = {0};
    if (o->dry_run)
        return true;
    if (!client_call(o->s->client, MSG_ADD_PAST, &m, 0, o->arena, &answer, &e)) {
        sacctmgr_fail(o->s, "%s", e.text);
        return false;
    }
    const struct msg_done *done = answer.body;
    if (answer.kind == MSG_DONE && done->refusal == REFUSE_NONE)
        return true;
    if (answer.kind == MSG_DONE)
        sacctmgr_fail(o->s, "%s",
                      done->detail ? done->detail : refusal_text((enum refusal)done->refusal));
    else
        sacctmgr_fail(o->s, "the controller gave an answer that was not expected");
    return false;
}

bool past_out_flush(struct past_rows_out *o)
{
    struct there t = {.submit = map_u64_new()};
    bool ok = !o->rows || there_read(o, &t);
    if (ok && o->rows) {
        jobs_compare(o, &t);
        ok = piece_send(o);
    }
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        o->of[tables[i]].list.n = 0;
    o->rows = 0;
    arena_reset(o->arena);
    map_u64_free(t.submit);
    return ok;
}
