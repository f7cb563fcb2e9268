/* create_step and attach_step. A step that can never be is refused with a sentence; one whose
 * resources other steps of its job have waits (STEP_PENDING) and is tried again whenever something
 * of its job becomes free, in the order in which they came. What a step is told to its nodes in the
 * turn that stores it.
 *
 * A call that is repeated (its answer was lost with the controller or the connection) finds its
 * step by its key and is answered as the first one was. */
#include "core/request/request.h"

#include "core/step/layout.h"

#define FORMER_RUN "the job was requeued, and this command belongs to a former run of it"

/* ---- create_step ---------------------------------------------------------------------------- */

static struct steprec *step_of_key(const struct jobrec *r, const char *key)
{
    uint64_t hash = step_key_hash(key);
    for (size_t i = 0; hash && i < r->step.n; i++)
        if (r->step.v[i]->s.key_hash == hash)
            return r->step.v[i];
    return NULL;
}

static void hold_step(struct core *c, struct jobrec *r, struct steprec *st)
{
    if (st->s.detached)
        return;
    st->holder_conn = c->turn.conn;
    if (st->s.lonely_us) {
        st->s.lonely_us = 0;
        step_save(c, st);
    }
    timer_arm(c, r);
}

/* Programs come with the call of a step that has no command behind it, and of no other. */
static bool step_is_whole(const struct msg_create_step *m)
{
    return m->spec.n == 1 && (m->async || !m->tasks.len);
}

/* The call of a step that is there. Nodes that were not seen to have it are told again: the
 * controller that made it may have died before it told them. */
static void repeated(struct core *c, struct jobrec *r, struct steprec *st,
                     const struct msg_create_step *m)
{
    struct str why = STR_INIT;
    bool keeps = step_live(st) && !st->s.detached && !st->asked && !m->async;
    if (keeps && !step_asked_fits(c, r, m, &why)) {
        reply_done(c, REFUSE_TOO_LARGE, str_text(&why));
        str_done(&why);
        return;
    }
    step_created_say(c, &st->s, c->turn.conn, c->turn.seq, NULL);
    if (m->async)
        return;
    if (!step_live(st)) {
        step_ended_say(c, st, c->turn.conn, c->turn.seq);
        return;
    }
    waiter_add(c, WAIT_STEP, r->j.id, st->s.step_id);
    hold_step(c, r, st);
    if (keeps)
        step_asked_keep(c, r, st, step_asked_settle(c, r, m, st->arena));
    for (size_t i = 0; i < st->part.n; i++)
        if (!st->part.v[i].seen && !st->part.v[i].over && !st->ending)
            step_launch(c, r, st, st->part.v[i].node);
}

static bool step_texts_fit(const struct core *c, const struct jobrec *r,
                           const struct job_spec *spec, const char **detail)
{
    struct str why = STR_INIT;
    bool fits = user_room_disk_fits(c, r->j.user_id, texts_long(spec), &why);
    if (!fits)
        *detail = arena_strdup(c->turn.fx->arena, str_text(&why));
    str_done(&why);
    return fits;
}

static enum refusal job_takes_steps(const struct core *c, const struct jobrec *r,
                                    const struct msg_create_step *m, const char **detail)
{
    if (!r)
        return REFUSE_INVALID_JOB_ID;
    if (!may_act_as(c, r))
        return REFUSE_ACCESS_DENIED;
    if (!step_is_whole(m))
        return REFUSE_BAD_MESSAGE;
    if (m->attempt && m->attempt != r->j.attempt) {
        *detail = FORMER_RUN;
        return REFUSE_ALREADY_DONE;
    }
    if (r->j.state == JOB_PENDING || r->j.state == JOB_SPECIAL_EXIT)
        return REFUSE_JOB_PENDING;
    if (r->j.state != JOB_RUNNING && r->j.state != JOB_SUSPENDED)
        return REFUSE_ALREADY_DONE;
    if (step_number_next(c, r, 0) >= (int64_t)LIMIT_STEPS_PER_JOB) {
        *detail =
            "a job has at most 40000 steps: launch several tasks with one srun, or submit an array";
        return REFUSE_STEP_LIMIT;
    }
    return step_texts_fit(c, r, m->spec.v, detail) ? REFUSE_NONE : REFUSE_TOO_LARGE;
}

static bool wish_of_key(struct core *c, struct jobrec *r, const char *key)
{
    uint64_t hash = step_key_hash(key);
    for (size_t i = 0; hash && i < r->wish.n; i++)
        if (step_key_hash(r->wish.v[i]->m->key) == hash) {
            r->wish.v[i]->conn = c->turn.conn;
            r->wish.v[i]->seq = c->turn.seq;
            waiter_add(c, WAIT_WISH, r->j.id, 0);
            step_pending_say(c, r);
            return true;
        }
    return false;
}

void req_create_step(struct core *c, const struct msg_create_step *m)
{
    struct jobrec *r = job_find(c, m->job_id);
    const char *detail = NULL;
    struct steprec *again =
        r && may_act_as(c, r) && step_is_whole(m) ? step_of_key(r, m->key) : NULL;
    if (again) {
        repeated(c, r, again, m);
        return;
    }
    enum refusal refusal = job_takes_steps(c, r, m, &detail);
    if (refusal) {
        reply_done(c, refusal, detail);
        return;
    }
    struct str why = STR_INIT;
    refusal = node_lists_check(c, &((const struct job_spec *)m->spec.v)->req, &why);
    if (refusal) {
        reply_done(c, refusal, str_text(&why));
        str_done(&why);
        return;
    }
    if (m->async) {
        req_queue_step(c, r, m, step_key_hash(m->key));
        return;
    }
    if (wish_of_key(c, r, m->key))
        return;
    refusal = step_asked_fits(c, r, m, &why) ? step_try(c, r, m, c->turn.conn, c->turn.seq, &why)
                                             : REFUSE_TOO_LARGE;
    if (refusal == REFUSE_BUSY && !m->immediate)
        step_wish_add(c, r, m);
    else if (refusal == REFUSE_BUSY)
        reply_done(
            c, REFUSE_UNAVAILABLE,
            "other steps have the job's resources; without --immediate it would wait for them");
    else if (refusal)
        reply_done(c, refusal, str_text(&why));
    str_done(&why);
}

/* ---- attach_step ---------------------------------------------------------------------------- */

static void streams_turn(struct core *c, const struct steprec *st, const struct msg_attach_step *m)
{
    struct msg_stream_to to = {.job_id = st->s.job_id,
                               .attempt = st->s.attempt,
                               .step_id = st->s.step_id,
                               .address = m->address,
                               .key = m->key};
    for (size_t i = 0; i < st->part.n; i++) {
        const struct noderec *n = c->node.v[st->part.v[i].node];
        if (!st->part.v[i].over && n->conn)
            fx_send(c, n->conn, MSG_STREAM_TO, &to, 0);
    }
}

void req_attach_step(struct core *c, const struct msg_attach_step *m)
{
    struct jobrec *r = job_find(c, m->job_id);
    struct steprec *st = r ? step_find(r, m->step_id) : NULL;
    if (!r || !may_act_as(c, r)) {
        reply_done(c, r ? REFUSE_ACCESS_DENIED : REFUSE_INVALID_JOB_ID, NULL);
        return;
    }
    if (m->attempt && m->attempt != r->j.attempt) {
        reply_done(c, REFUSE_ALREADY_DONE, FORMER_RUN);
        return;
    }
    if (!st || m->step_id == STEP_BATCH) {
        bool was = m->step_id >= 0 && m->step_id < r->next_step;
        reply_done(c, was ? REFUSE_ALREADY_DONE : REFUSE_INVALID_JOB_ID,
                   m->step_id == STEP_BATCH ? "the batch script's streams are its output files"
                                            : NULL);
        return;
    }
    step_created_say(c, &st->s, c->turn.conn, c->turn.seq, NULL);
    if (!step_live(st)) {
        step_ended_say(c, st, c->turn.conn, c->turn.seq);
        return;
    }
    waiter_add(c, WAIT_STEP, r->j.id, st->s.step_id);
    if (m->hold)
        hold_step(c, r, st);
    if (m->address)
        streams_turn(c, st, m);
}
