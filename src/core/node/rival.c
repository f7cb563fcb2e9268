/* Two daemons by one name: a second one that was started in another directory, or a machine that
 * was copied with its key. Each used to take the other's place, as often as it could connect: a
 * commit and a plan twenty times a second, and jobs of the one could be lost when the other said
 * that it has none.
 *
 * Who is there stays. The other is told why and waits, connected and unheard; it is hung up on, and
 * says hello again, when the place is free. A daemon whose process or machine has ended leaves its
 * place by that: here at once, from elsewhere as soon as something is sent that its machine knows
 * nothing of, at the latest when nobody acknowledges it. One that goes on where the other was (of
 * the same boot and directory, which only one daemon at a time can have, and started later) has the
 * place at once.
 *
 * Nobody is there when a controller has just started, nor while a cut lasts: then the daemon that
 * has what runs may come in a moment, and another is hung up on until it had time for that. */
#include "core/node/node.h"

/* A daemon tries again every two seconds at the latest. */
#define COMES_BACK_US (8 * USEC_PER_SEC)

/* The same process may have several connections: an old one that has not ended yet. */
static bool is_another(const struct noderec *n, const struct msg_node_hello *m)
{
    const struct node *said = m->node.v;
    if (said->daemon_start_us > n->n.daemon_start_us && life_is_the_same(n->n.life, said->life))
        return false;
    return n->pid && m->pid && (n->pid != m->pid || n->n.daemon_start_us != said->daemon_start_us);
}

static bool is_too_early(const struct core *c, const struct noderec *n, const struct node *said)
{
    return !n->conn && n->job.n && n->lost_us &&
           c->turn.now_us < time_add(n->lost_us, COMES_BACK_US) &&
           life_is_another(n->n.life, said->life);
}

static void rival_set(struct core *c, struct noderec *n, uint64_t conn, int64_t pid)
{
    if (n->rival)
        map_u64_del(c->node_index.by_rival, n->rival);
    if (conn)
        map_u64_put(c->node_index.by_rival, conn, n);
    n->rival = conn;
    n->rival_pid = pid;
    node_capacity(c, n); /* says it */
}

bool node_rival_waits(struct core *c, struct noderec *n, const struct msg_node_hello *m)
{
    ASSERT(c->turn.conn && m->node.n);
    if (map_u64_get(c->node_index.by_rival, c->turn.conn) != n)
        node_rival_gone(c, c->turn.conn); /* of the node that it said it was before */
    if (is_too_early(c, n, m->node.v)) {
        effect_add(c->turn.fx, FX_CLOSE)->conn = c->turn.conn;
        return true;
    }
    if (!n->conn || n->conn == c->turn.conn || !is_another(n, m))
        return false;
    if (n->rival &&
        n->rival != c->turn.conn) { /* a third: it is told nothing and tries less often */
        effect_add(c->turn.fx, FX_CLOSE)->conn = c->turn.conn;
        return true;
    }
    rival_set(c, n, c->turn.conn, m->pid);
    reply_done(c, REFUSE_BUSY,
               arena_printf(c->turn.fx->arena,
                            "another daemon, of pid %lld, is node %s already: this one, of pid "
                            "%lld, waits until that one is gone. Stop one of them (`remuda status` "
                            "shows which is heard), or give each a NodeName of its own",
                            (long long)n->pid, n->n.name, (long long)m->pid));
    return true;
}

void node_rival_gone(struct core *c, uint64_t conn)
{
    struct noderec *n = map_u64_get(c->node_index.by_rival, conn);
    if (n)
        rival_set(c, n, 0, 0);
}

void node_place_free(struct core *c, struct noderec *n)
{
    ASSERT(!n->conn);
    if (!n->rival)
        return;
    effect_add(c->turn.fx, FX_CLOSE)->conn = n->rival;
    rival_set(c, n, 0, 0);
}
