/* What a copy finds of a request that changes something comes back to the machine, which does it.
 *
 * One copy at a time, so that no more than one processor is taken from others; and where others ask
 * for something, a tenth of that one: a copy that took so long is followed by a rest of nine times
 * as long. Those others pay for it beyond that: the loop stands still while it forks, and each page
 * that is written afterwards is copied first, which is as much again. What waits holds its request,
 * so a user may have a bounded number waiting. Where there is no room for a copy the loop answers,
 * in short. */
#include "controller/session/questions.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "controller/session/kept_request.h"
#include "controller/session/session.h"
#include "controller/turn.h"
#include "io/clock.h"
#include "io/process/aside.h"
#include "wire/frame.h"

#include <stdlib.h>

#define ANSWER_MOST (64u << 20)
#define REST        9 /* times what the copy took, fork and all */
#define REST_MAX_US (2 * USEC_PER_SEC)

struct questions {
    struct controller *c;
    struct aside *copy;
    struct kept_request *now; /* what it works at */
    struct request_line line;
    bool others;        /* were about when the copy was made */
    int64_t fork_us;    /* that it took */
    struct timer *rest; /* until the next may be made */
    int64_t rest_until_us;
};

static void next_begin(struct questions *q);

static void rested(void *ctx)
{
    next_begin(ctx);
}

struct questions *questions_new(struct controller *c)
{
    struct questions *q = xcalloc(1, sizeof *q);
    q->c = c;
    q->rest = timer_new(c->loop, rested, q);
    return q;
}

void questions_free(struct questions *q)
{
    if (!q)
        return;
    aside_free(q->copy);
    timer_free(q->rest);
    kept_request_free(q->now);
    request_line_drop(&q->line);
    free(q);
}

/* Submissions come here only to be tried. */
static bool changes(const struct kept_request *one)
{
    return message_changes(one->m.kind) && one->m.kind != MSG_SUBMIT;
}

/* In the copy: the machine answers, and what it became is gone with it. */
static void work_out(void *ctx, struct str *out)
{
    const struct kept_request *one = ctx;
    struct event ev = kept_request_event(one);
    struct effects fx;
    effects_init(&fx);
    ev.aside = true;
    core_step(one->c->core, &ev, &fx);
    for (size_t i = 0; i < fx.n; i++)
        if (fx.v[i].kind == FX_REPLY && fx.v[i].conn == one->session)
            wire_encode(&fx.v[i].msg, out);
    effects_done(&fx);
}

static void refuse(const struct kept_request *one, const char *why)
{
    kept_request_refuse(one, REFUSE_BUSY, why);
}

/* Nobody's loss where nobody else asks for anything. */
static void rest_begin(struct questions *q, int64_t cpu_us)
{
    int64_t us = REST * (q->fork_us + cpu_us);
    if (q->others)
        q->rest_until_us = clock_monotonic_us() + (us < REST_MAX_US ? us : REST_MAX_US);
}

static bool rests(struct questions *q)
{
    int64_t left = q->rest_until_us - clock_monotonic_us();
    if (left > 0 && q->line.first)
        timer_set(q->rest, left);
    return left > 0;
}

/* A request that changes something: the machine does what the copy found, if that is still so. */
static void change_do(const struct kept_request *one, const struct str *found)
{
    struct controller *c = one->c;
    struct arena *a = arena_new();
    struct frame frame;
    struct message answer = {0};
    struct event ev = kept_request_event(one);
    struct err err = {0};
    if (!session_is_there(c->sessions, one->session)) {
        /* its host may have been shut out meanwhile */
    } else if (!turns_admit(c->turns, false)) {
        refuse(one, "the store is away; nothing was changed");
    } else if (frame_take(found->data, found->len, &frame, &err) > 0 &&
               wire_decode(&frame, a, &answer, &err) && answer.kind == MSG_DONE) {
        ev.worked = answer.body;
        turns_step(c->turns, &ev);
        session_answered(c->sessions, one->session, NULL);
    } else {
        refuse(one, "the answer that was worked out cannot be read; ask again");
    }
    arena_free(a);
}

static void worked_out(void *ctx, const struct str *answer, int64_t cpu_us)
{
    struct kept_request *one = ctx;
    struct questions *q = one->c->questions;
    q->copy = NULL;
    q->now = NULL;
    if (answer && answer->len && changes(one))
        change_do(one, answer);
    else if (answer && answer->len)
        session_answered(q->c->sessions, one->session, answer);
    else
        refuse(one, "the answer took too long to work out; ask again later");
    kept_request_free(one);
    rest_begin(q, cpu_us);
    next_begin(q);
}

static void answer_here(struct kept_request *one)
{
    struct event ev = kept_request_event(one);
    ev.hurry = true;
    if (changes(one))
        turns_step(one->c->turns, &ev);
    else
        turns_step_reading(one->c->turns, &ev);
    session_answered(one->c->sessions, one->session, NULL);
    kept_request_free(one);
}

static void next_begin(struct questions *q)
{
    struct kept_request *one;
    while (!q->copy && !rests(q) && (one = request_line_take(&q->line, NULL, NULL))) {
        struct err err = {0};
        int64_t began = clock_thread_ns();
        q->others = session_hurry(q->c->sessions, one->session);
        q->copy = aside_start(q->c->loop, work_out, worked_out, one, ANSWER_MOST, &err);
        q->now = q->copy ? one : NULL;
        q->fork_us = (clock_thread_ns() - began) / 1000;
        session_spent(q->c->sessions, one->session, clock_thread_ns() - began);
        if (q->copy)
            return;
        log_warning(q->c->log, "a question is answered in the loop: %s", err.text);
        answer_here(one);
    }
}

void question_ask(struct questions *q, uint64_t session, const struct message *m,
                  const struct peer *peer)
{
    struct kept_request *one = kept_request_new(q->c, session, m, peer);
    if (request_line_is_full(&q->line, peer)) {
        refuse(one, "64 of your questions wait for their answers; wait for one");
        kept_request_free(one);
        return;
    }
    request_line_add(&q->line, one);
    next_begin(q);
}
