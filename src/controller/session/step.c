/* A message of a session becomes an event of the open turn. */
#include "base/alloc.h"
#include "controller/session/inside.h"
#include "controller/turn.h"

#include <stdlib.h>
#include <unistd.h>

void session_uncount(struct session *s)
{
    share_wait_cancel(&s->waiting);
    if (s->from)
        share_leave(s->from);
    s->from = NULL;
    if (!s->share)
        return;
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

struct user_share *session_share_here(struct sessions *all, const struct conn_peer *who)
{
    const struct user *u = users_cached(all->c->users, who->uid, who->gid);
    if ((u && u->name) || who->uid == 0 || who->uid == geteuid())
        return share_join(all->shares, who->uid);
    return share_join_guests(all->shares, u ? GUESTS_HERE : GUESTS_NEW);
}

/* Whom a host may have made up has no share of his own; nor has whom a host that is trusted does
 * not, but who may be any number of users there by a user namespace. These begin apart from them,
 * as here. */
static struct user_share *share_of(const struct session *s, const struct user *u)
{
    bool nameless = !s->trusted && (u ? !u->name : s->from != NULL);
    const struct host *h = s->remote && nameless ? remote_host(s) : NULL;
    if (h && s->from)
        return share_join_bound_guests(s->owner->shares, h->id);
    return h ? share_join_guests(s->owner->shares, session_guests_of(s->owner, h->name))
             : session_share_here(s->owner, &s->who);
}

void session_count_host(struct session *s)
{
    ASSERT(!s->from);
    const struct host *h = s->remote ? remote_host(s) : NULL;
    if (h && !s->trusted && !host_kinds[h->kind].groups)
        s->from = share_join_host(s->owner->shares, h->id);
    if (h && s->trusted && h->role == ROLE_NODE && !s->says)
        s->says = share_join_node(s->owner->shares, h->id);
}

void session_count(struct session *s)
{
    ASSERT(!s->share);
    s->share = share_of(s, users_cached(s->owner->c->users, s->who.uid, s->who.gid));
    share_bytes(s->share, (ptrdiff_t)s->kept);
}

void session_recount(struct session *s)
{
    ASSERT(s->share);
    struct user_share *had = s->share;
    share_wait_cancel(&s->waiting);
    share_bytes(had, -(ptrdiff_t)s->kept);
    share_unsent(had, -(ptrdiff_t)s->unsent);
    s->share = share_of(s, users_cached(s->owner->c->users, s->who.uid, s->who.gid));
    share_bytes(s->share, (ptrdiff_t)s->kept);
    share_unsent(s->share, (ptrdiff_t)s->unsent);
    s->resting = false;
    share_leave(had);
}

void session_guest(struct session *s)
{
    const struct user *u = users_cached(s->owner->c->users, s->who.uid, s->who.gid);
    if (!s->from || (u && u->name))
        return;
    users_let_go(s->owner->c->users, s->who.uid, s->who.gid);
    s->user_kept = false;
    s->who.uid = GUEST_UID;
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
                             .conn = s->id,
                             .peer = peer,
                             .msg = m,
                             .hurry = session_hurry(s->owner, s->id)};
    if (session_reads(m) && message_table[m->kind].who != WHO_NODE)
        turns_step_reading(s->owner->c->turns, &ev);
    else
        turns_step(s->owner->c->turns, &ev);
}
