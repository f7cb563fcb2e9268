/* get_output: the end of what a job wrote, read by its batch node for its owner. Nothing of it is
 * kept: the question is in memory until the node answers or goes, and who asked may ask again. A
 * node that says nothing more holds up nobody: what is old makes room. */
#include "core/request/request.h"

#define ASKS_MOST 64
#define USER_MOST 4
#define OLD_US    (INT64_C(60) * USEC_PER_SEC) /* nodes answer in a third of it */

static void ask_remove(struct core *c, size_t i)
{
    c->calls.output.v.v[i] = c->calls.output.v.v[--c->calls.output.v.n];
}

static void ask_refuse(struct core *c, size_t i, const char *why)
{
    const struct output_question *a = &c->calls.output.v.v[i];
    struct msg_done done = {.refusal = REFUSE_BUSY, .detail = why};
    fx_reply(c, a->conn, a->seq, MSG_DONE, &done);
    ask_remove(c, i);
}

/* Is there room for one more of this user's? */
static bool has_room(struct core *c, uint32_t payer)
{
    size_t his = 0;
    for (size_t i = c->calls.output.v.n; i-- > 0;)
        if (c->turn.now_us - c->calls.output.v.v[i].at_us >= OLD_US)
            ask_refuse(c, i, "the node does not answer");
        else
            his += c->calls.output.v.v[i].payer == payer;
    return his < USER_MOST && c->calls.output.v.n < ASKS_MOST;
}

void req_get_output(struct core *c, const struct msg_get_output *m)
{
    struct jobrec *r = job_find(c, m->job_id);
    const struct noderec *n = r && r->j.batch_host ? node_find(c, r->j.batch_host) : NULL;
    if (!r || !may_control(c, r) || c->turn.peer->uid != r->j.user_id) {
        reply_done(c, r ? REFUSE_ACCESS_DENIED : REFUSE_INVALID_JOB_ID,
                   r ? "only its owner may read what it wrote" : NULL);
        return;
    }
    if (!n || m->attempt != r->j.attempt || text_empty(m->out)) {
        reply_done(c, REFUSE_INVALID_JOB_ID, "it has no node that this run was on");
        return;
    }
    if (!n->conn || !has_room(c, peer_payer(c->turn.peer))) {
        reply_done(c, REFUSE_BUSY, n->conn ? "too many ask at once" : "its node is away");
        return;
    }
    struct output_question ask = {.number = ++c->calls.output.last,
                                  .conn = c->turn.conn,
                                  .seq = c->turn.seq,
                                  .node_conn = n->conn,
                                  .payer = peer_payer(c->turn.peer),
                                  .at_us = c->turn.now_us};
    struct msg_read_output read = {.number = ask.number,
                                   .uid = r->j.user_id,
                                   .gid = r->j.group_id,
                                   .since_us = r->j.start_us,
                                   .out = m->out,
                                   .err = m->err};
    vec_push(&c->calls.output.v, ask);
    fx_send(c, n->conn, MSG_READ_OUTPUT, &read, 0);
}

void req_output_read(struct core *c, const struct msg_output_read *m)
{
    for (size_t i = 0; i < c->calls.output.v.n; i++) {
        const struct output_question *a = &c->calls.output.v.v[i];
        if (a->number != m->number || a->node_conn != c->turn.conn)
            continue;
        struct msg_output answer = {.out = m->out, .err = m->err};
        fx_reply(c, a->conn, a->seq, MSG_OUTPUT, &answer);
        ask_remove(c, i);
        return;
    }
}

void outputs_closed(struct core *c, uint64_t conn)
{
    for (size_t i = c->calls.output.v.n; i-- > 0;)
        if (c->calls.output.v.v[i].node_conn == conn)
            ask_refuse(c, i, "its node is away");
        else if (c->calls.output.v.v[i].conn == conn)
            ask_remove(c, i);
}
