/* One request at a time, and the next when the one before is stored: a row is stored as a whole,
 * and what another changed in it meanwhile would be lost. Nor while the past is removed, which
 * would bring a row back. */
#include "controller/session/amend.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "controller/past.h"
#include "controller/reads.h"
#include "controller/session/kept_request.h"
#include "controller/session/session.h"
#include "controller/turn.h"

#include <stdlib.h>

#define STORED_US 5000 /* between two looks whether it is stored */

struct amends {
    struct controller *c;
    struct request_line line;
    struct kept_request *now; /* NULL = none */
    struct timer *stored;     /* until the one before is */
    bool waits;               /* for that */
    uint64_t turn;            /* as it was given to the core */
    uint64_t past_runs;       /* as its rows began to be read */
    VEC(struct job) rows;     /* of `now`; texts in its arena */
    struct err err;
};

static void next_begin(struct amends *all);

static void stored_look(void *ctx)
{
    struct amends *all = ctx;
    if (!turns_idle(all->c->turns) && turns_count(all->c->turns) <= all->turn + 1) {
        timer_set(all->stored, STORED_US);
        return;
    }
    all->waits = false;
    next_begin(all);
}

struct amends *amends_new(struct controller *c)
{
    struct amends *all = xcalloc(1, sizeof *all);
    all->c = c;
    all->stored = timer_new(c->loop, stored_look, all);
    return all;
}

void amends_free(struct amends *all)
{
    if (!all)
        return;
    request_line_drop(&all->line);
    kept_request_free(all->now);
    vec_done(&all->rows);
    timer_free(all->stored);
    free(all);
}

/* ---- on the reader's thread ---- */

static void row_take(void *ctx, const void *record)
{
    struct amends *all = ctx;
    const struct job *j = record;
    struct job kept;
    if (all->rows.n && all->rows.v[all->rows.n - 1].id == j->id) /* parts of it come before it */
        all->rows.n--;
    if (all->rows.n > AMENDED_AT_ONCE)
        return;
    record_copy(&job_fields, &kept, j, all->now->arena);
    vec_push(&all->rows, kept);
}

static void rows_read(void *ctx, struct reader *reader)
{
    struct amends *all = ctx;
    const struct msg_amend_jobs *m = all->now->m.body;
    const struct msg_query q = {.what = QUERY_HISTORY, .ids = m->ids ? m->ids : "", .exact = true};
    struct store *s = reader_begin(reader, &all->err);
    if (s)
        store_query_jobs(s, &q, row_take, all, &all->err);
    reader_end(reader);
}

/* ---- on the loop ---- */

static void go_on(struct amends *all, struct kept_request *k)
{
    struct event ev = kept_request_event(k);
    const struct record_list rows = {all->rows.v, all->rows.n};
    if (all->err.code != ERR_NONE) {
        kept_request_refuse(k, REFUSE_INVALID_JOB_ID, all->err.text);
    } else if (past_runs(all->c->past) != all->past_runs) {
        kept_request_refuse(k, REFUSE_BUSY, "the past is being removed: try again later");
    } else if (!turns_admit(all->c->turns, false)) {
        kept_request_refuse(k, REFUSE_STORE, "the store is away; nothing was changed");
    } else {
        ev.rows = &rows;
        all->turn = turns_count(all->c->turns);
        turns_step(all->c->turns, &ev);
        session_answered(all->c->sessions, k->session, NULL);
    }
}

static void rows_done(void *ctx)
{
    struct amends *all = ctx;
    struct kept_request *k = all->now;
    if (!all->c->stopping && session_is_there(all->c->sessions, k->session))
        go_on(all, k);
    all->now = NULL;
    kept_request_free(k);
    all->waits = true;
    timer_set(all->stored, STORED_US);
}

/* By number, and no more than may be: else the core refuses it, and the reading, for which all
 * others would wait, is spared. */
static bool may_be_read(const struct msg_amend_jobs *m)
{
    struct span rest = span_of(m->ids ? m->ids : ""), piece;
    size_t n = 0;
    while (n <= AMENDED_AT_ONCE && span_next(&rest, ',', &piece)) {
        for (size_t i = 0; i < piece.len; i++)
            if (piece.data[i] < '0' || piece.data[i] > '9')
                return false;
        n += piece.len > 0;
    }
    return n > 0 && n <= AMENDED_AT_ONCE;
}

static void next_begin(struct amends *all)
{
    while (!all->now && !all->waits && (all->now = request_line_take(&all->line, NULL, NULL))) {
        vec_clear(&all->rows);
        all->err = (struct err){0};
        all->past_runs = past_runs(all->c->past);
        if (all->past_runs % 2)
            kept_request_refuse(all->now, REFUSE_BUSY,
                                "the past is being removed: try again later");
        else if (!may_be_read(all->now->m.body))
            go_on(all, all->now);
        else {
            /* All wait for the one at hand, which is not to wait for what else its user reads. */
            CHECK(reads_add(all->c->reads, NULL, rows_read, rows_done, all));
            return; /* the only one at a time of nobody's */
        }
        kept_request_free(all->now);
        all->now = NULL;
    }
}

void amend_ask(struct amends *all, uint64_t session, const struct message *m,
               const struct peer *peer)
{
    ASSERT(m->kind == MSG_AMEND_JOBS);
    struct kept_request *k = kept_request_new(all->c, session, m, peer);
    if (request_line_is_full(&all->line, peer)) {
        kept_request_refuse(k, REFUSE_BUSY, "64 of your changes of past jobs wait; wait for one");
        kept_request_free(k);
        return;
    }
    request_line_add(&all->line, k);
    next_begin(all);
}
