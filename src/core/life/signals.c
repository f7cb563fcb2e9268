/* Signals to what a job has on its nodes. */
#include "core/life/life.h"

#include "model/grammar/signals.h"

void job_signal(struct core *c, const struct jobrec *r, struct msg_signal m)
{
    m.job_id = r->j.id;
    m.attempt = r->j.attempt;
    for (size_t i = 0; i < r->hold.n; i++) {
        const struct noderec *n = c->node.v[r->hold.v[i].node];
        if (n->conn && !r->hold.v[i].released)
            fx_send(c, n->conn, MSG_SIGNAL, &m, 0);
    }
}

void job_warn(struct core *c, struct jobrec *r)
{
    r->warned = true;
    job_signal(c, r,
               (struct msg_signal){.signal = r->j.spec.signal, .batch = r->j.spec.signal_batch});
}

void suspend_repeat(struct core *c, struct jobrec *r, struct noderec *n)
{
    bool stopped = r->j.state == JOB_SUSPENDED || (r->j.stopped_us && !r->j.stopped_partly);
    struct msg_signal m = {.job_id = r->j.id,
                           .attempt = r->j.attempt,
                           .signal = stopped ? SIGNAL_STOP : SIGNAL_CONT,
                           .full = true};
    if ((stopped || (r->j.state == JOB_RUNNING && r->j.suspended_us)) && n->conn)
        fx_send(c, n->conn, MSG_SIGNAL, &m, 0);
}
