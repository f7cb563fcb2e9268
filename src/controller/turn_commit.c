/* The end of a turn: committed, then let out.
 *
 * When a commit fails, the turn stays at the writer with its effects unreleased and is tried again
 * every second; the core is told (EV_STORE_AWAY, EV_STORE_BACK); the open turn goes on gathering
 * within bounds. A commit refused because another controller has taken over ends this one: its
 * effects must never be let out. */
#include "base/alloc.h"
#include "base/duration.h"
#include "base/str.h"
#include "controller/disk/given.h"
#include "controller/disk/payload.h"
#include "controller/session/causes.h"
#include "controller/turn_inside.h"
#include "io/clock.h"
#include "io/work.h"
#include "model/limits.h"

#define RETRY_US         USEC_PER_SEC
#define KEEP_ARENA_BYTES (1u << 20)   /* a turn that used more gives its memory back */
#define TRIM_ARENA_BYTES (4u << 20)   /* after such a turn the system gets back what is free … */
#define TRIM_US          USEC_PER_SEC /* … once the request and its connection are gone, too */
#define AWAY_GRACE_US    (5 * USEC_PER_SEC)

static void turn_empty(struct controller_turn *turn)
{
    if (turn->batch)
        batch_free(turn->batch);
    turn->batch = NULL;
    causes_clear(&turn->causes);
    if (arena_used(turn->fx.arena) > KEEP_ARENA_BYTES) {
        effects_done(&turn->fx);
        effects_init(&turn->fx);
    } else {
        effects_reset(&turn->fx);
    }
}

void turns_trim_soon(struct turns *t)
{
    timer_set(t->trim, TRIM_US);
}

static void turn_release(struct turns *t, struct controller_turn *turn)
{
    t->count++;
    for (size_t i = 0; i < turn->fx.n; i++)
        t->ops->effect(t->c, &turn->fx.v[i]);
    if (arena_used(turn->fx.arena) > TRIM_ARENA_BYTES)
        turns_trim_soon(t);
    turn_empty(turn);
    t->ops->released(t->c);
}

static void given_keep(struct turns *t, const struct batch *b)
{
    t->given.seq = b->seq;
    for (size_t i = 0; i < b->n; i++) {
        const struct meta *m = b->row[i].table == TABLE_META ? b->row[i].record : NULL;
        if (m && text_is(m->key, "next_job_id") && m->value)
            text_to_u64(m->value, LIMIT_COUNTED, &t->given.next_job_id);
    }
    if (t->given_fd >= 0)
        given_write(t->given_fd, &t->given);
}

/* On the writer's thread. */
static void commit_run(void *ctx)
{
    struct turns *t = ctx;
    struct controller_turn *turn = t->sent;
    int64_t began_ns = clock_thread_ns(), began_us = clock_monotonic_us();
    turn->err = (struct err){0};
    turn->ok = writer_commit(t->store, turn->batch, &turn->err);
    if (turn->ok && turn->batch->n)
        given_keep(t, turn->batch);
    turn->cost_ns = clock_thread_ns() - began_ns;
    turn->took_us = clock_monotonic_us() - began_us;
}

static void store_went(struct turns *t, const struct err *why)
{
    if (t->away)
        return;
    t->away = true;
    t->away_why = *why;
    timer_set(t->grace, AWAY_GRACE_US);
    log_error(t->c->log,
              "the store is away: %s; changes wait, running jobs go on, tried again every second",
              why->text);
    struct effects *fx = &t->open->fx;
    size_t from = fx->n, kept = from;
    turns_step(t, &(struct event){.kind = EV_STORE_AWAY, .text = t->away_why.text});
    for (size_t i = from; i < fx->n; i++) {
        if (fx->v[i].kind == FX_PROGRAM) /* it tells of what is the case now */
            t->ops->effect(t->c, &fx->v[i]);
        else
            fx->v[kept++] = fx->v[i];
    }
    fx->n = kept;
}

static void store_came(struct turns *t)
{
    if (!t->away)
        return;
    t->away = t->refusing = false;
    timer_stop(t->grace);
    log_info(t->c->log, "the store is back");
    turns_step(t, &(struct event){.kind = EV_STORE_BACK});
}

void turns_begin_away(struct turns *t, const struct err *why)
{
    ASSERT(!t->sent);
    t->sent = &t->a == t->open ? &t->b : &t->a;
    t->sent->batch = batch_new();     /* of nothing: it finds out when the store is back */
    t->sent->batch->seq = t->seq + 1; /* which stays the next one's, with rows */
    store_went(t, why);
    timer_stop(t->grace);
    t->refusing = true;
    timer_set(t->retry, RETRY_US);
}

static void commit_done(void *ctx)
{
    struct turns *t = ctx;
    struct controller_turn *turn = t->sent;
    if (turn->ok) {
        t->sent = NULL;
        causes_charge(t->c->sessions, &turn->causes, turn->cost_ns, turn->took_us);
        turn_release(t, turn);
        store_came(t);
    } else if (turn->err.code == ERR_DENIED) {
        log_error(t->c->log, "another controller has taken over (%s): this one ends",
                  turn->err.text);
        loop_stop(t->c->loop);
    } else {
        store_went(t, &turn->err);
        timer_set(t->retry, RETRY_US);
    }
}

/* Those who wait for their answers are told what happened; what they asked takes effect when the
 * store is back. */
static void waiting_tell(struct turns *t, struct controller_turn *turn)
{
    struct arena *a = arena_new();
    const char *detail = arena_printf(a,
                                      "the request was understood but cannot be written: %s. It "
                                      "takes effect if the store comes back "
                                      "before the controller ends; look before you repeat it",
                                      t->away_why.text);
    struct msg_done done = {.refusal = REFUSE_STORE, .detail = detail};
    for (size_t i = 0; i < turn->fx.n; i++) {
        struct effect *e = &turn->fx.v[i];
        if (e->kind != FX_REPLY)
            continue;
        const struct effect tell = {.kind = FX_REPLY,
                                    .conn = e->conn,
                                    .msg = {.kind = MSG_DONE, .seq = e->msg.seq, .body = &done}};
        t->ops->effect(t->c, &tell);
        e->conn = 0; /* answered */
    }
    arena_free(a);
}

void turns_grace_over(void *ctx)
{
    struct turns *t = ctx;
    t->refusing = true;
    if (t->sent)
        waiting_tell(t, t->sent);
    waiting_tell(t, t->open);
}

static void turn_write(struct turns *t)
{
    worker_add(t->writer, commit_run, commit_done, t);
}

void turns_retry_due(void *ctx)
{
    turn_write(ctx);
}

static void shorten_run(void *ctx)
{
    writer_shorten(((struct turns *)ctx)->store);
}

static void shorten_done(void *ctx)
{
    struct turns *t = ctx;
    loop_fn done = t->shortened;
    t->shortened = NULL;
    done(t->shortened_ctx);
}

void turns_shorten_log(struct turns *t, loop_fn done, void *ctx)
{
    if (!t->writer || t->shortened)
        return;
    t->shortened = done;
    t->shortened_ctx = ctx;
    worker_add(t->writer, shorten_run, shorten_done, t);
}

static void batch_fill(struct turns *t, struct controller_turn *turn)
{
    for (size_t i = 0; i < turn->fx.n; i++) {
        const struct effect *e = &turn->fx.v[i];
        if (e->kind != FX_STORE)
            continue;
        if (!turn->batch)
            turn->batch = batch_new();
        batch_add(turn->batch,
                  e->remove ? ROW_DELETE
                  : e->add  ? ROW_ADD
                            : ROW_PUT,
                  e->table, e->record);
        if (e->table == TABLE_PAYLOAD && !e->remove)
            payloads_put(t->c->payloads, e->record);
    }
}

void turns_close(struct turns *t)
{
    struct controller_turn *turn = t->open;
    if (t->sent || turn->fx.n == 0)
        return;
    t->open = turn == &t->a ? &t->b : &t->a;
    batch_fill(t, turn);
    if (!turn->batch) {
        turn_release(t, turn);
        return;
    }
    turn->batch->gap = t->gap;
    turn->batch->seq = t->seq += t->gap + 1;
    t->gap = 0;
    t->sent = turn;
    t->woke = false;
    turn_write(t);
}
