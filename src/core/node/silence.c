/* Nodes of which nothing is heard: their connection goes, later they are DOWN and their jobs lose
 * them. */
#include "core/node/node.h"

void node_closed(struct core *c, uint64_t conn)
{
    ASSERT(conn);
    node_rival_gone(c, conn);
    struct noderec *n = map_u64_del(c->node_index.by_conn, conn);
    if (!n || n->conn != conn)
        return;
    n->conn = 0;
    n->n.responding = false;
    n->lost_us = c->turn.now_us;
    former_runs_forget(c, n);
    node_gpus_forget(n);
    node_place_free(c, n);
    node_plan_update(c, n);
    node_watch(c, n);
}

static void jobs_lose(struct core *c, struct noderec *n)
{
    uint32_t index = node_index(c, n);
    uint64_t *ids = n->job.n ? xmemdup(n->job.v, n->job.n * sizeof *ids) : NULL;
    size_t count = n->job.n;
    for (size_t i = 0; i < count; i++) {
        struct jobrec *r = job_find(c, ids[i]);
        if (r)
            job_node_lost(c, r, index);
    }
    free(ids);
}

/* While the store was away no node could be answered: its silence begins when that is over. */
static int64_t last_heard(const struct core *c, const struct noderec *n)
{
    int64_t at = n->conn ? n->n.last_seen_us : n->lost_us;
    return at && at < c->store.back_us ? c->store.back_us : at;
}

void node_watch(struct core *c, struct noderec *n)
{
    if (c->settings.node_timeout_us && last_heard(c, n))
        node_timer_arm(c, n, time_add(last_heard(c, n), c->settings.node_timeout_us));
}

static void connection_drop(struct core *c, struct noderec *n)
{
    if (!n->conn)
        return;
    map_u64_del(c->node_index.by_conn, n->conn);
    effect_add(c->turn.fx, FX_CLOSE)->conn = n->conn;
    n->conn = 0;
    n->n.responding = false;
    former_runs_forget(c, n);
    node_gpus_forget(n);
    node_place_free(c, n);
}

static void silent(struct core *c, struct noderec *n)
{
    connection_drop(c, n);
    n->lost_us = 0;
    if (n->n.state == NODE_UP || n->n.state == NODE_UNKNOWN) {
        n->n.state = NODE_DOWN;
        node_reason_set(c, n, REASON_SILENT);
        node_save(c, n);
        fx_log(c, LEVEL_WARNING, "node %s has not been heard of for %lld s and is DOWN", n->n.name,
               (long long)(c->settings.node_timeout_us / USEC_PER_SEC));
    }
    jobs_lose(c, n);
    node_plan_update(c, n);
}

/* Who comes so late to look was not there himself: a controller that was stopped, or whose machine
 * stood still. What nodes said meanwhile is read next, and those that stood still with it say soon
 * that they are there. */
#define LATE_US (USEC_PER_SEC / 10)
#define AGAIN   3 /* part of the timeout: nodes speak as often at least */

static bool look_again(struct core *c, struct noderec *n, int64_t due_us)
{
    if (last_heard(c, n) <= n->looked_late_us || c->turn.now_us - due_us < LATE_US)
        return false;
    n->looked_late_us = c->turn.now_us;
    node_timer_arm(c, n, time_add(c->turn.now_us, c->settings.node_timeout_us / AGAIN + 1));
    return true;
}

/* The alarm is set once and looks when it comes: a node that is heard of meanwhile costs nothing
 * more. */
void node_alarm(struct core *c, struct noderec *n)
{
    ASSERT(c->node.v[n->index] == n);
    int64_t heard = last_heard(c, n), due_us = n->alarm_us;
    bool is_silent = heard && time_add(heard, c->settings.node_timeout_us) <= c->turn.now_us &&
                     n->n.state != NODE_FUTURE;
    n->alarm_us = 0;
    if (c->store.away)
        node_timer_arm(c, n, time_add(c->turn.now_us, c->settings.node_timeout_us));
    else if (!is_silent)
        node_watch(c, n);
    else if (!look_again(c, n, due_us))
        silent(c, n);
}
