/* The turn.
 *
 * Two turns at most are alive: the open one, into which events are stepped, and the one at the
 * writer. Before the loop sleeps, if the writer is free, the open turn is closed and handed
 * over: an idle controller commits at once, a busy one commits what has gathered during the last
 * commit, so a thousand submissions share one fsync without anybody waiting on purpose. The
 * planner's wake is stepped after the hand-over, so that it runs while the writer commits, and
 * its effects belong to the next turn.
 *
 * Invariant: effects are released in the order they were made, each after the commit that holds
 * everything stored before it. */
#include "controller/turn.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "controller/disk/given.h"
#include "controller/session/causes.h"
#include "controller/turn_inside.h"
#include "io/clock.h"
#include "io/work.h"
#include "model/limits.h"

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#define AWAY_ARENA_BYTES (256u << 20) /* effects that may wait while the store is away */
/* Of a plan that takes longer and was asked for, a fifth of the time is enough */
#define LONG_PLAN_US     2000
#define PLAN_PART        5
#define PLAN_REST_MAX_US USEC_PER_SEC

static void turns_run(void *ctx);
static void wake_due(void *ctx);
static void trim_due(void *ctx);

void turns_write_given(struct turns *t, int fd, const struct given *before)
{
    t->given_fd = fd;
    t->given.next_job_id = before->next_job_id;
    t->given.inode = before->inode;
}

void turns_number_beyond(struct turns *t, uint64_t seq)
{
    ASSERT(!t->sent);
    t->gap = seq > t->seq && seq < LIMIT_COUNTED / 2 ? seq - t->seq : 0;
}

struct turns *turns_new(struct controller *c, struct writer *writer, uint64_t last_seq,
                        const struct turn_ops *ops)
{
    struct turns *t = xcalloc(1, sizeof *t);
    t->c = c;
    t->ops = ops;
    t->store = writer;
    t->seq = last_seq;
    t->given_fd = -1;
    t->writer = worker_new(c->loop, "writer");
    t->wake = timer_new(c->loop, wake_due, t);
    t->retry = timer_new(c->loop, turns_retry_due, t);
    t->rested = timer_new(c->loop, wake_due, t);
    t->trim = timer_new(c->loop, trim_due, t);
    t->grace = timer_new(c->loop, turns_grace_over, t);
    effects_init(&t->a.fx);
    effects_init(&t->b.fx);
    t->open = &t->a;
    int64_t now, monotonic;
    clock_both(&now, &monotonic);
    t->clock_us = now - monotonic;
    loop_on_turn(c->loop, turns_run, t);
    return t;
}

static void turn_done(struct controller_turn *turn)
{
    effects_done(&turn->fx);
    if (turn->batch)
        batch_free(turn->batch);
    causes_done(&turn->causes);
}

void turns_end(struct turns *t)
{
    if (!t)
        return;
    struct worker *w = t->writer;
    t->writer = NULL; /* it is given nothing more */
    worker_free(w);   /* lets out what is being written, which needs the others */
    timer_stop(t->wake);
    timer_stop(t->retry);
    timer_stop(t->rested);
    timer_stop(t->grace);
}

void turns_free(struct turns *t)
{
    struct err err = {0};
    if (!t)
        return;
    ASSERT(!t->writer);
    loop_on_turn(t->c->loop, NULL, NULL);
    if (t->c->stopping && !writer_pack(t->store, &err))
        log_warning(t->c->log, "the next start takes longer: %s", err.text);
    timer_free(t->wake);
    timer_free(t->retry);
    timer_free(t->rested);
    timer_free(t->trim);
    timer_free(t->grace);
    turn_done(&t->a);
    turn_done(&t->b);
    causes_done(&t->to_plan);
    writer_free(t->store);
    if (t->given_fd >= 0)
        close(t->given_fd);
    free(t);
}

struct effects *turns_effects(struct turns *t)
{
    return &t->open->fx;
}

/* What a node reports of jobs is what the cluster is for; that it is there, and how it is, it says
 * seldom, though a report may say that, too: then the node's row is stored, and none of a job. */
static uint64_t origin_of(const struct turns *t, const struct event *ev, bool of_node)
{
    enum message_kind kind = ev->msg->kind;
    bool report =
        message_table[kind].who == WHO_NODE && kind != MSG_NODE_HELLO && kind != MSG_HEARTBEAT;
    return report && !of_node ? 0 : session_origin(t->c->sessions, ev->conn);
}

/* What was stored since effect `from`: whose doing it is. `payer`: who pays; NULL: nobody. */
static void stores_note(struct turns *t, size_t from, const struct event *ev, const uint64_t *payer)
{
    bool asked = ev->kind == EV_MESSAGE && ev->peer;
    const struct effects *fx = &t->open->fx;
    uint64_t rows = 0;
    bool of_node = true;
    for (size_t i = from; i < fx->n; i++) {
        rows += fx->v[i].kind == FX_STORE;
        of_node &= fx->v[i].kind != FX_STORE || fx->v[i].table == TABLE_NODE;
    }
    if (!rows)
        return;
    uint64_t origin = asked ? origin_of(t, ev, of_node) : 0;
    causes_add(&t->open->causes, payer, origin, rows);
    causes_add(&t->to_plan, payer, origin, rows);
}

static void diag_reset(struct turns *t)
{
    t->times = (struct plan_times){0};
    loop_rounds_reset(t->c->loop);
}

void turns_step(struct turns *t, const struct event *ev)
{
    ASSERT(ev->kind != EV_MESSAGE || ev->msg);
    const struct message *m = ev->kind == EV_MESSAGE ? ev->msg : NULL;
    struct event timed = *ev;
    size_t from = t->open->fx.n;
    clock_both(&timed.now_us, &timed.mono_us);
    bool slice = ev->kind == EV_WAKE && ev->part == WAKE_SLICE;
    const struct peer *who = slice                    ? core_sweeper(t->c->core, timed.now_us)
                             : ev->kind == EV_MESSAGE ? ev->peer
                                                      : NULL;
    uint64_t payer = who ? session_payer(t->c->sessions, m ? ev->conn : 0, who) : 0;
    core_step(t->c->core, &timed, &t->open->fx);
    stores_note(t, from, ev, who ? &payer : NULL);
    if (m && m->kind == MSG_DAEMON &&
        ((const struct msg_daemon *)m->body)->action == DAEMON_RESET_DIAG && ev->peer->is_admin)
        diag_reset(t);
}

void turns_step_reading(struct turns *t, const struct event *ev)
{
    struct effects *fx = &t->open->fx;
    size_t from = fx->n;
    bool waits = !t->away;
    turns_step(t, ev);
    for (size_t i = from; i < fx->n; i++)
        waits |= fx->v[i].kind == FX_STORE;
    for (size_t i = from; i < fx->n && !waits; i++)
        t->ops->effect(t->c, &fx->v[i]);
    fx->n = waits ? fx->n : from;
}

bool turns_store_away(const struct turns *t, const char **why)
{
    if (why)
        *why = t->away_why.text;
    return t->away;
}

bool turns_admit(struct turns *t, bool from_node)
{
    if (!t->away)
        return true;
    if (arena_used(t->open->fx.arena) > AWAY_ARENA_BYTES)
        return false;
    return from_node || !t->refusing;
}

bool turns_idle(const struct turns *t)
{
    return !t->sent && t->open->fx.n == 0;
}

uint64_t turns_count(const struct turns *t)
{
    return t->count;
}

static void wake_due(void *ctx)
{
    (void)ctx; /* that the loop woke is enough: turns_run looks what is due */
}

/* 100,000 associations in one request leave as much memory free as they take. */
static void trim_due(void *ctx)
{
    (void)ctx;
    (void)malloc_trim(0);
}

static void times_add(struct plan_times *times, int64_t us)
{
    times->n++;
    times->last_us = us;
    times->sum_us += us;
    times->max_us = us > times->max_us ? us : times->max_us;
}

struct plan_times turns_plan_times(const struct turns *t)
{
    return t->times;
}

/* Somebody set it: the core must hear of that though nothing is due, or what is would wait for
 * hours. */
static bool clock_was_set(struct turns *t)
{
    int64_t now, monotonic;
    clock_both(&now, &monotonic);
    int64_t difference = now - monotonic, by_us = difference - t->clock_us;
    if (by_us < USEC_PER_SEC && by_us > -USEC_PER_SEC)
        return false;
    t->clock_us = difference;
    return true;
}

static bool rests(const struct turns *t)
{
    return t->rest_until_us > clock_monotonic_us();
}

void turns_start_later(struct turns *t, int64_t by_us)
{
    ASSERT(by_us >= 0);
    t->rest_until_us = clock_monotonic_us() + by_us;
    timer_set(t->rested, by_us);
}

/* Long plans in a row would leave those who ask a fifth of the time: it is the other way round.
 * What ends a job or a limit needs no plan and does not wait. */
static void plan_rest(struct turns *t, int64_t took_us)
{
    int64_t rest = (PLAN_PART - 1) * took_us;
    if (rests(t))
        return;
    t->rest_until_us = 0;
    if (took_us < LONG_PLAN_US || t->to_plan.v.n == 0)
        return;
    t->rest_until_us = clock_monotonic_us() + (rest < PLAN_REST_MAX_US ? rest : PLAN_REST_MAX_US);
    timer_set(t->rested, rest < PLAN_REST_MAX_US ? rest : PLAN_REST_MAX_US);
}

/* A slice of a request about many jobs is its user's, whatever it stores: one that is refused for
 * each of them, or finds none, takes as long. */
static void slice_step(struct turns *t)
{
    const struct peer *who = core_sweeper(t->c->core, clock_now_us());
    if (!who)
        return;
    struct turn_cause cause = {.by = session_payer(t->c->sessions, 0, who)};
    int64_t before = clock_monotonic_us(), before_ns = clock_thread_ns();
    turns_step(t, &(struct event){.kind = EV_WAKE, .part = WAKE_SLICE});
    session_caused(t->c->sessions, &cause, clock_thread_ns() - before_ns,
                   clock_monotonic_us() - before);
}

/* While the writer is busy the core is woken once: what a further plan decides could not be let out
 * sooner anyway, so under load there is one plan a commit. The end of the commit brings the next
 * round. */
static void wake_if_due(struct turns *t)
{
    int64_t now = clock_now_us();
    if (!t->sent)
        t->woke = false;
    bool rested = t->rest_until_us && !rests(t), was_set = clock_was_set(t);
    if (!was_set && (t->woke || (!rested && core_wake_due(t->c->core) > now)))
        return;
    t->woke = t->sent != NULL;
    if (!was_set) /* else the first step moves all there is to the new time, and nobody pays that */
        slice_step(t);
    int64_t before = clock_monotonic_us(), before_ns = clock_thread_ns();
    turns_step(t,
               &(struct event){
                   .kind = EV_WAKE, .part = WAKE_REST, .plan_rests = rests(t), .foresees = true});
    int64_t took = clock_monotonic_us() - before;
    times_add(&t->times, took);
    plan_rest(t, took);
    causes_charge(t->c->sessions, &t->to_plan, clock_thread_ns() - before_ns, took);
    causes_clear(&t->to_plan);
    turns_close(t);
}

/* The loop's hook before it sleeps. */
static void turns_run(void *ctx)
{
    struct turns *t = ctx;
    if (!t->writer) { /* what happens now is stored by nobody */
        t->ops->over(t->c);
        return;
    }
    turns_close(t);
    if (turns_idle(t))
        t->ops->released(t->c);
    if (t->c->stopping) {
        timer_stop(t->wake);
        if (turns_idle(t))
            t->ops->over(t->c);
        return;
    }
    wake_if_due(t);
    timer_set_at(t->wake, t->woke ? INT64_MAX : core_wake_due(t->c->core));
}
