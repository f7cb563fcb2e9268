/* What is over, read through the face of the store: whole tables, for stores that are small. */
#include "store/past.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/vec.h"

#include <stdlib.h>

/* A job, or a former run, by when it ended. */
struct past_ended {
    int64_t end_us;
    uint64_t id;
    uint32_t attempt;
};

struct past_scan {
    struct past_query *q;
    store_past_fn fn;
    void *ctx;
    enum store_table table;       /* that is read */
    const struct past_ended *of;  /* whose rows are given */
    bool of_run;                  /* of this run alone */
    const struct map_u64 *over;   /* jobs that are */
    VEC(struct past_ended) ended; /* that were found */
};

static int ended_order(const void *a, const void *b)
{
    const struct past_ended *p = a, *q = b;
    if (p->end_us != q->end_us)
        return p->end_us < q->end_us ? -1 : 1;
    if (p->id != q->id)
        return p->id < q->id ? -1 : 1;
    return (p->attempt > q->attempt) - (p->attempt < q->attempt);
}

static void ended_keep(struct past_scan *s, const struct past_ended *e,
                       const struct past_ended *after)
{
    if (e->end_us > 0 && e->end_us < s->q->before_us && ended_order(e, after) > 0)
        vec_push(&s->ended, *e);
}

static void job_look(void *ctx, const void *record)
{
    struct past_scan *s = ctx;
    const struct job *j = record;
    if (job_state_over((enum job_state)j->state))
        ended_keep(s, &(struct past_ended){j->end_us, j->id, 0},
                   &(struct past_ended){s->q->at.end_us, s->q->at.id, 0});
}

static void over_note(void *ctx, const void *record)
{
    const struct job *j = record;
    if (job_state_over((enum job_state)j->state))
        map_u64_put(ctx, j->id, ctx);
}

static void run_look(void *ctx, const void *record)
{
    struct past_scan *s = ctx;
    const struct job *j = record;
    if (!map_u64_get(s->over, j->id))
        ended_keep(
            s, &(struct past_ended){j->end_us, j->id, j->attempt},
            &(struct past_ended){s->q->run_at.end_us, s->q->run_at.id, s->q->run_at.attempt});
}

static void row_give(void *ctx, const void *record)
{
    struct past_scan *s = ctx;
    uint64_t id;
    uint32_t attempt;
    if (s->table == TABLE_STEP) {
        id = ((const struct step *)record)->job_id;
        attempt = ((const struct step *)record)->attempt;
    } else if (s->table == TABLE_PAYLOAD) {
        id = ((const struct payload *)record)->job_id;
        attempt = s->of->attempt;
    } else {
        id = ((const struct job *)record)->id;
        attempt = ((const struct job *)record)->attempt;
    }
    if (id == s->of->id && (!s->of_run || attempt == s->of->attempt))
        s->fn(s->ctx, s->table, record);
}

static bool rows_of(struct store *store, struct past_scan *s, const enum store_table *table,
                    size_t n, struct err *ret_err)
{
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        s->table = table[i];
        ok = store_load(store, table[i], false, 0, row_give, s, ret_err);
    }
    return ok;
}

static bool jobs_give(struct store *store, struct past_scan *s, struct err *ret_err)
{
    static const enum store_table whole[] = {TABLE_STEP, TABLE_PAYLOAD, TABLE_JOB_PART,
                                             TABLE_JOB_RUN, TABLE_JOB};
    struct past_query *q = s->q;
    bool ok = store_load(store, TABLE_JOB, false, 0, job_look, s, ret_err);
    if (s->ended.n)
        qsort(s->ended.v, s->ended.n, sizeof s->ended.v[0], ended_order);
    q->of_runs = s->ended.n < q->most;
    q->more = true;
    for (size_t i = 0; ok && i < s->ended.n && i < q->most; i++) {
        s->of = &s->ended.v[i];
        q->at.end_us = s->of->end_us;
        q->at.id = s->of->id;
        ok = rows_of(store, s, whole, q->kind == PAST_STEPS ? 1 : ARRAY_LEN(whole), ret_err);
    }
    return ok;
}

static bool runs_give(struct store *store, struct past_scan *s, struct err *ret_err)
{
    static const enum store_table whole[] = {TABLE_STEP, TABLE_JOB_PART, TABLE_JOB_RUN};
    struct past_query *q = s->q;
    struct map_u64 *over = map_u64_new();
    s->over = over;
    s->of_run = true;
    bool ok = store_load(store, TABLE_JOB, false, 0, over_note, over, ret_err) &&
              store_load(store, TABLE_JOB_RUN, false, 0, run_look, s, ret_err);
    map_u64_free(over);
    if (s->ended.n)
        qsort(s->ended.v, s->ended.n, sizeof s->ended.v[0], ended_order);
    q->more = s->ended.n >= q->most;
    for (size_t i = 0; ok && i < s->ended.n && i < q->most; i++) {
        s->of = &s->ended.v[i];
        q->run_at.end_us = s->of->end_us;
        q->run_at.id = s->of->id;
        q->run_at.attempt = s->of->attempt;
        ok = rows_of(store, s, whole, q->kind == PAST_STEPS ? 1 : ARRAY_LEN(whole), ret_err);
    }
    return ok;
}

static void old_give(void *ctx, const void *record)
{
    const struct past_scan *s = ctx;
    int64_t at_us = s->table == TABLE_NODE_SPELL ? ((const struct node_spell *)record)->end_us
                    : s->table == TABLE_PAST_RESERVATION
                        ? ((const struct reservation *)record)->end_us
                        : ((const struct transaction *)record)->at_us;
    if (at_us && at_us < s->q->before_us)
        s->fn(s->ctx, s->table, record);
}

bool past_scan(struct store *store, struct past_query *q, store_past_fn fn, void *ctx,
               struct err *ret_err)
{
    struct past_scan s = {.q = q, .fn = fn, .ctx = ctx};
    bool ok = true;
    switch (q->kind) {
    case PAST_JOBS:
    case PAST_STEPS:
        ok = q->of_runs ? runs_give(store, &s, ret_err) : jobs_give(store, &s, ret_err);
        break;
    case PAST_EVENTS:
    case PAST_RESVS:
    case PAST_TXN:
        s.table = q->kind == PAST_EVENTS  ? TABLE_NODE_SPELL
                  : q->kind == PAST_RESVS ? TABLE_PAST_RESERVATION
                                          : TABLE_TRANSACTION;
        ok = store_load(store, s.table, false, 0, old_give, &s, ret_err);
        break;
    case PAST_USAGE: /* it has no sums: reports are counted from the jobs */
    case PAST_COUNT: break;
    }
    vec_done(&s.ended);
    return ok;
}
