/* The small requests: read a script back, ping and stop. */
#include "core/request/request.h"

/* ---- get_script ----------------------------------------------------------------------------- */

/* A live job is checked here; of jobs that left memory only operators may read the script, for the
 * owner is not known any more. */
void req_get_script(struct core *c, const struct msg_get_script *m)
{
    struct jobrec *r = job_find(c, m->job_id);
    if (r ? !may_control(c, r) : !peer_operates(c, c->turn.peer)) {
        reply_done(c, r ? REFUSE_ACCESS_DENIED : REFUSE_INVALID_JOB_ID,
                   r ? "only its owner and operators may read a script" : NULL);
        return;
    }
    if (m->job_id >= c->jobs.next_id) {
        reply_done(c, REFUSE_INVALID_JOB_ID, NULL);
        return;
    }
    struct msg_script answer = {.job_id = m->job_id};
    fx_reply(c, c->turn.conn, c->turn.seq, MSG_SCRIPT, &answer);
    c->turn.fx->v[c->turn.fx->n - 1].payload_job = r && r->j.array_job_id ? r->j.array_job_id
                                                   : r && r->j.het_job_id ? r->j.het_job_id
                                                                          : m->job_id;
}

/* ---- daemon --------------------------------------------------------------------------------- */

void req_daemon(struct core *c, const struct msg_daemon *m)
{
    bool admin = c->turn.peer && c->turn.peer->is_admin;
    if (m->action == DAEMON_PING) {
        reply_done(c, REFUSE_NONE, NULL);
        return;
    }
    if (!admin) {
        reply_done(c, REFUSE_ACCESS_DENIED,
                   "only an administrator may reconfigure or stop the controller, set the "
                   "dampening factor "
                   "or reset its counters");
        return;
    }
    if (m->action == DAEMON_DAMPENING && (m->factor < 1 || m->factor > UINT16_MAX)) {
        reply_done(c, REFUSE_UPDATE, "the factor is a number from 1 to 65535");
        return;
    }
    reply_done(c, REFUSE_NONE, NULL);
    if (m->action == DAEMON_DAMPENING) {
        c->settings.fairshare_damping = m->factor;
        plan_soon(c);
        return;
    }
    if (m->action == DAEMON_RESET_DIAG) {
        diag_reset(c);
        return;
    }
    effect_add(c->turn.fx, m->action == DAEMON_RECONFIGURE ? FX_RECONFIGURE : FX_STOP);
}
