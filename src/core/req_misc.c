/* The small requests: wait for a job's end, read a script back, ping and stop. */
#include "core/inside.h"

/* ---- wait_job ------------------------------------------------------------------------------------------------------------------ */

/* Over, with all elements? Then how: an array's status is the highest of its elements. */
static bool ended(const struct core *c, uint64_t id, struct msg_job_ended *ret)
{
    const struct arrayrec *array = array_of(c, id);
    const struct jobrec *r = job_find(c, id);
    *ret = (struct msg_job_ended){.job_id = id, .state = JOB_COMPLETED};
    if (array) {
        ret->exit_status = array->exit_most;
        ret->state = array->bad ? JOB_FAILED : JOB_COMPLETED;
        return array_over(c, id);
    }
    if (r) {
        ret->state = r->j.state;
        ret->exit_status = r->j.exit_status;
    }
    return r && !job_live(r);
}

void req_wait_job(struct core *c, const struct msg_wait_job *m)
{
    struct msg_job_ended answer;
    struct waiter w = {.conn = c->conn, .seq = c->seq, .job_id = m->job_id};
    if (!job_find(c, m->job_id) && !array_of(c, m->job_id))
        reply_done(c, REFUSE_INVALID_JOB_ID, NULL);
    else if (ended(c, m->job_id, &answer))
        fx_reply(c, c->conn, c->seq, MSG_JOB_ENDED, &answer);
    else
        vec_push(&c->waiter, w);
}

void waiters_answer(struct core *c, uint64_t job_id)
{
    struct msg_job_ended answer;
    for (size_t i = 0; i < c->waiter.n;) {
        struct waiter w = c->waiter.v[i];
        if (w.job_id == job_id && ended(c, job_id, &answer)) {
            fx_reply(c, w.conn, w.seq, MSG_JOB_ENDED, &answer);
            vec_remove(&c->waiter, i);
        } else {
            i++;
        }
    }
}

void waiters_closed(struct core *c, uint64_t conn)
{
    for (size_t i = 0; i < c->waiter.n;) {
        if (c->waiter.v[i].conn == conn)
            vec_remove(&c->waiter, i);
        else
            i++;
    }
}

/* ---- get_script ------------------------------------------------------------------------------------------------------------------ */

/* A live job is checked here; of jobs that left memory only operators may read the script, for the owner is not known any more. */
void req_get_script(struct core *c, const struct msg_get_script *m)
{
    struct jobrec *r = job_find(c, m->job_id);
    if (r ? !may_control(c, r) : !peer_operates(c, c->peer)) {
        reply_done(c, r ? REFUSE_ACCESS_DENIED : REFUSE_INVALID_JOB_ID, r ? "only its owner and operators may read a script" : NULL);
        return;
    }
    if (m->job_id >= c->next_job_id) {
        reply_done(c, REFUSE_INVALID_JOB_ID, NULL);
        return;
    }
    struct msg_script answer = {.job_id = m->job_id};
    fx_reply(c, c->conn, c->seq, MSG_SCRIPT, &answer);
    c->fx->v[c->fx->n - 1].payload_job = r && r->j.array_job_id ? r->j.array_job_id : m->job_id;
}

/* ---- daemon ------------------------------------------------------------------------------------------------------------------------ */

void req_daemon(struct core *c, const struct msg_daemon *m)
{
    bool admin = c->peer && c->peer->is_admin;
    if (m->action == DAEMON_PING) {
        reply_done(c, REFUSE_NONE, NULL);
        return;
    }
    if (!admin) {
        reply_done(c, REFUSE_ACCESS_DENIED, "only an administrator may reconfigure or stop the controller");
        return;
    }
    reply_done(c, REFUSE_NONE, NULL);
    effect_add(c->fx, m->action == DAEMON_RECONFIGURE ? FX_RECONFIGURE : FX_STOP);
}
