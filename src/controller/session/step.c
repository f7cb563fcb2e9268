/* A message of a session becomes an event of the open turn. */
#include "base/alloc.h"
#include "controller/session/inside.h"
#include "controller/turn.h"
#include "io/clock.h"

#include <stdlib.h>

void session_uncount(struct session *s)
{
    if (!s->share)
        return;
    share_wait_cancel(s->share, &s->waiting);
    share_bytes(s->share, -(ptrdiff_t)s->kept);
    share_unsent(s->share, -(ptrdiff_t)s->unsent);
    if (s->large)
        share_large_sent(s->share);
    s->unsent = 0;
    s->large = false;
    share_leave(s->share);
    s->share = NULL;
    s->resting = false;
}

bool session_reads(const struct message *m)
{
    if (m->kind == MSG_DAEMON)
        return ((const struct msg_daemon *)m->body)->action != DAEMON_RECONFIGURE;
    return message_reads(m->kind);
}

/* Whose samples it may send. */
static void node_keep(struct session *s, const struct msg_node_hello *hello)
{
    const struct node *n = hello->node.n ? hello->node.v : NULL;
    free(s->node);
    s->node = n && n->name && s->trusted ? xstrdup(n->name) : NULL;
}

void session_step(struct session *s, const struct message *m, const struct peer *peer)
{
    ASSERT(m->kind < MESSAGE_COUNT);
    s->spoke = true;
    if (m->kind == MSG_NODE_HELLO)
        node_keep(s, m->body);
    if (m->kind == MSG_NODE_HELLO && !s->is_node) {
        s->is_node = true;
        s->owner->nodes += s->trusted; /* anyone may say so */
        s->surplus = false;
        session_uncount(s);
        conn_set_unsent_max(s->conn, CONN_UNSENT_MAX_BYTES);
    }
    const struct event ev = {.kind = EV_MESSAGE,
                             .now_us = clock_now_us(),
                             .conn = s->id,
                             .peer = peer,
                             .msg = m,
                             .hurry = session_hurry(s->owner, s->id)};
    if (session_reads(m) && message_table[m->kind].who != WHO_NODE)
        turns_step_reading(s->owner->c->turns, &ev);
    else
        turns_step(s->owner->c->turns, &ev);
}
