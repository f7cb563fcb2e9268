/* Calls that are answered later: wait_job, allocations (submit with attach, ATTACH), steps
 * (create_step, attach_step). One list for all: few are open at a time for each client, and an end
 * or a closed connection looks through it once. Who comes back after a restart calls again. */
#include "core/record/accounts/private.h"
#include "core/record/record.h"

/* ---- how a job ended ------------------------------------------------------------------------ */

/* Slurm's exit code of a wait status: a signal counts as 128 and its number. */
int32_t status_rank(int32_t status)
{
    return status_signal(status) ? 128 + status_signal(status) : status_code(status);
}

enum job_state status_state(int32_t status)
{
    return status_signal(status) ? JOB_CANCELLED : status ? JOB_FAILED : JOB_COMPLETED;
}

int32_t status_higher(int32_t a, int32_t b)
{
    return status_rank(b) > status_rank(a) ? b : a;
}

/* A component that left memory is over, and was so well enough to be forgotten. */
static bool het_ended(const struct core *c, uint64_t leader, struct msg_job_ended *ret)
{
    const struct jobrec *r;
    for (uint64_t id = leader; (r = job_find(c, id)) && r->j.het_job_id == leader; id++) {
        if (job_live(r))
            return false;
        if (ret->state == JOB_COMPLETED)
            ret->state = r->j.state;
        ret->exit_status = status_higher(ret->exit_status, r->j.exit_status);
    }
    return true;
}

/* Over, with all elements or components? Then how: an array's status is the highest of its
 * elements. */
static bool ended(const struct core *c, uint64_t id, struct msg_job_ended *ret)
{
    const struct arrayrec *array = array_of(c, id);
    const struct jobrec *r = job_find(c, id);
    *ret = (struct msg_job_ended){.job_id = id, .state = JOB_COMPLETED};
    if (array) {
        ret->exit_status = array->exit.most;
        ret->state = array->bad ? JOB_FAILED : JOB_COMPLETED;
        return array_over(c, id);
    }
    if (r && r->j.het_job_id == id)
        return het_ended(c, id, ret);
    if (r) {
        ret->state = r->j.state;
        ret->exit_status = r->j.exit_status;
    }
    return r && !job_live(r);
}

/* ---- the list ------------------------------------------------------------------------------- */

void waiter_add(struct core *c, enum wait_kind kind, uint64_t job_id, int64_t step_id)
{
    ASSERT(c->turn.peer);
    ASSERT(kind == WAIT_END || job_find(c, job_id));
    vec_push(&c->calls.waiter, ((struct waiter){.kind = kind,
                                                .payer = peer_payer(c->turn.peer),
                                                .conn = c->turn.conn,
                                                .seq = c->turn.seq,
                                                .job_id = job_id,
                                                .step_id = step_id}));
}

static bool is_answered_later(const struct message *m)
{
    return m->kind == MSG_WAIT_JOB || m->kind == MSG_ATTACH || m->kind == MSG_CREATE_STEP ||
           m->kind == MSG_ATTACH_STEP ||
           (m->kind == MSG_SUBMIT && ((const struct msg_submit *)m->body)->attach);
}

/* Each end looks through the whole list. */
bool waiters_full(const struct core *c, const struct message *m)
{
    size_t n = 0;
    uint32_t payer = peer_payer(c->turn.peer);
    if (c->calls.waiter.n < LIMIT_CALLS_PER_USER || !is_answered_later(m))
        return false;
    for (size_t i = 0; i < c->calls.waiter.n; i++) {
        n += c->calls.waiter.v[i].payer == payer;
    }
    return n >= LIMIT_CALLS_PER_USER;
}

/* A record of it, which says whose it is: an array's own may leave memory before its elements. */
static const struct jobrec *record_of(const struct core *c, uint64_t id)
{
    const struct jobrec *r = job_find(c, id);
    const struct arrayrec *array = r ? NULL : array_of(c, id);
    struct map_walk w = {0};
    return array && map_u64_next(array->element, &w) ? w.value : r;
}

void req_wait_job(struct core *c, const struct msg_wait_job *m)
{
    ASSERT(c->turn.peer);
    struct msg_job_ended answer;
    const struct jobrec *r = record_of(c, m->job_id);
    if (!r || !may_see_job(c, c->turn.peer, &r->j))
        reply_done(c, REFUSE_INVALID_JOB_ID, NULL);
    else if (ended(c, m->job_id, &answer))
        fx_reply(c, c->turn.conn, c->turn.seq, MSG_JOB_ENDED, &answer);
    else
        waiter_add(c, WAIT_END, m->job_id, 0);
}

void waiters_answer(struct core *c, uint64_t job_id)
{
    ASSERT(job_id);
    struct msg_job_ended answer;
    for (size_t i = 0; i < c->calls.waiter.n;) {
        struct waiter w = c->calls.waiter.v[i];
        if ((w.kind == WAIT_END || w.kind == WAIT_ALLOCATION) && w.job_id == job_id &&
            ended(c, job_id, &answer)) {
            fx_reply(c, w.conn, w.seq, MSG_JOB_ENDED, &answer);
            vec_remove(&c->calls.waiter, i);
        } else {
            i++;
        }
    }
}
