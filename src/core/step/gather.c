/* What many nodes say of one step is gathered. A step on a thousand nodes ends a thousand times;
 * its row, which lists the nodes that are done, would be written a thousand times, each time
 * longer. So the end of a part that is not the last only marks the step, and its acknowledgement
 * waits: the next wake writes the row once and acknowledges all that it covers. A node repeats what
 * is not acknowledged, so nothing is lost with a controller that dies in between. The last part's
 * end does not wait: it answers the caller. */
#include "core/step/step.h"

void step_gather(struct core *c, const struct jobrec *r, struct steprec *st, bool save)
{
    ASSERT(st->s.job_id == r->j.id);
    if (!st->gathering)
        vec_push(&c->gather.step, ((struct gathered){.job_id = r->j.id, .step_id = st->s.step_id}));
    st->gathering = true;
    st->save_due |= save;
}

void report_ack(struct core *c, const struct jobrec *r, const struct msg_report *m)
{
    const struct steprec *st = r ? step_find(r, m->step_id) : NULL;
    struct msg_report_ack ack = {.seq = m->seq};
    if (st && st->save_due)
        vec_push(&c->gather.ack, ((struct ack_due){.conn = c->turn.conn, .seq = m->seq}));
    else
        fx_send(c, c->turn.conn, MSG_REPORT_ACK, &ack, 0);
}

static void ended_nodes_note(struct core *c, struct steprec *st)
{
    struct hostlist names = HOSTLIST_INIT;
    struct str text = STR_INIT;
    for (size_t i = 0; i < st->part.n; i++)
        if (st->part.v[i].over)
            hostlist_add(&names, c->node.v[st->part.v[i].node]->n.name);
    hostlist_fold(&names, &text);
    text_set(c, &st->s.ended_nodes, str_text(&text));
    hostlist_done(&names);
    str_done(&text);
}

static void gathered_write(struct core *c, struct jobrec *r, struct steprec *st)
{
    bool save = st->save_due;
    st->gathering = st->save_due = false;
    step_usage_sum(c, r, st);
    if (!save)
        return;
    ended_nodes_note(c, st);
    step_save(c, st);
    job_save(c, r);
}

void steps_gathered(struct core *c)
{
    for (size_t i = 0; i < c->gather.step.n; i++) {
        struct jobrec *r = job_find(c, c->gather.step.v[i].job_id);
        struct steprec *st = r ? step_find(r, c->gather.step.v[i].step_id) : NULL;
        if (st && st->gathering && step_live(st))
            gathered_write(c, r, st);
    }
    vec_clear(&c->gather.step);
    for (size_t i = 0; i < c->gather.ack.n; i++) {
        struct msg_report_ack ack = {.seq = c->gather.ack.v[i].seq};
        if (map_u64_get(c->node_index.by_conn, c->gather.ack.v[i].conn))
            fx_send(c, c->gather.ack.v[i].conn, MSG_REPORT_ACK, &ack, 0);
    }
    vec_clear(&c->gather.ack);
}

void steps_gathered_done(struct core *c)
{
    vec_done(&c->gather.step);
    vec_done(&c->gather.ack);
}
