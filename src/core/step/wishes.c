/* Calls whose step waits for resources of its job, with their command behind them. */
#include "core/step/step.h"

/* ---- waiting -------------------------------------------------------------------------------- */

void step_wish_drop(struct core *c, struct jobrec *r, size_t i)
{
    ASSERT(i < r->wish.n);
    struct stepwish *w = r->wish.v[i];
    for (size_t k = 0; k < c->calls.waiter.n; k++)
        if (c->calls.waiter.v[k].kind == WAIT_WISH && c->calls.waiter.v[k].conn == w->conn &&
            c->calls.waiter.v[k].seq == w->seq) {
            vec_remove(&c->calls.waiter, k);
            break;
        }
    vec_remove(&r->wish, i);
    step_wish_free(c, r, w);
}

/* With what is out of use of the job's devices, since it may be that which is waited for. */
void step_pending_say(struct core *c, const struct jobrec *r)
{
    struct str reason = STR_INIT, outs = STR_INIT;
    struct arena *a = arena_new();
    struct alloc held = {0};
    str_add(&reason, refusal_text(REFUSE_UNAVAILABLE));
    if (r->j.alloc && alloc_parse(r->j.alloc, a, &held, NULL))
        alloc_outs_say(c, &held, a, &outs);
    if (outs.len)
        str_addf(&reason, "; %s", str_text(&outs));
    struct msg_step_pending pending = {.reason = str_text(&reason)};
    fx_reply(c, c->turn.conn, c->turn.seq, MSG_STEP_PENDING, &pending);
    str_done(&reason);
    str_done(&outs);
    arena_free(a);
}

void step_wish_add(struct core *c, struct jobrec *r, const struct msg_create_step *m)
{
    ASSERT(r->j.state == JOB_RUNNING || r->j.state == JOB_SUSPENDED);
    struct stepwish *w = xcalloc(1, sizeof *w);
    w->arena = arena_new();
    w->m = step_asked_copy(m, w->arena);
    w->bytes = record_bytes(&msg_create_step_fields, w->m);
    user_room_asked(c, job_payer(&r->j), w->bytes, +1);
    w->conn = c->turn.conn;
    w->seq = c->turn.seq;
    vec_push(&r->wish, w);
    waiter_add(c, WAIT_WISH, r->j.id, 0);
    step_pending_say(c, r);
}

void step_wishes_refuse(struct core *c, struct jobrec *r, enum refusal refusal, const char *detail)
{
    ASSERT(refusal != REFUSE_NONE);
    while (r->wish.n) {
        step_refused_say(c, r->wish.v[0]->conn, r->wish.v[0]->seq, refusal, detail);
        step_wish_drop(c, r, 0);
    }
    step_queue_drop(c, r);
}

void step_wish_closed(struct core *c, uint64_t job_id, uint64_t conn)
{
    struct jobrec *r = job_find(c, job_id);
    for (size_t i = 0; r && i < r->wish.n;) {
        if (r->wish.v[i]->conn == conn)
            step_wish_drop(c, r, i);
        else
            i++;
    }
}
