/* Triggers of nodes: what happens to them, and that they stay idle. Within COLLECT_US it is told to
 * one run of the program: a switch that fails takes fifty nodes with it, and a trigger that does
 * not stay would miss forty-nine. */
#include "core/record/triggers/inside.h"

#define COLLECT_US (5 * USEC_PER_SEC)

/* How a node is, for triggers. DOWN stays until it is up. */
enum { IS_DOWN = 1, IS_DRAIN = 2, IS_DRAINED = 4, IS_FAIL = 8, IS_IDLE = 16 };

static bool job_on(const struct core *c, const struct trigger *t, const struct noderec *n)
{
    for (size_t i = 0; i < n->job.n; i++) {
        const struct jobrec *r = job_find(c, n->job.v[i]);
        if (r && trigger_of_job(t, r))
            return true;
    }
    return false;
}

/* A job that goes on without a node that went down is to hear that it is up. */
static bool job_had(const struct core *c, const struct trigger *t, const struct noderec *n)
{
    const struct jobrec *r = t->task_plus1 ? NULL : job_find(c, t->job_id);
    return r && job_live(r) && r->j.nodes && hostlist_text_has(r->j.nodes, n->n.name);
}

static bool wants_node(const struct core *c, const struct trigger *t, const struct noderec *n)
{
    if (t->job_id)
        return job_on(c, t, n) || job_had(c, t, n);
    return !t->nodes || hostlist_text_has(t->nodes, n->n.name);
}

static void node_event(struct core *c, const struct noderec *n, uint32_t events)
{
    for (size_t i = 0; i < c->triggers.of.n; i++) {
        struct triggerrec *t = c->triggers.of.v[i];
        if (!(t->t.events & events) || !wants_node(c, &t->t, n) || idset_has(&t->hit, n->index))
            continue;
        idset_add(&t->hit, n->index);
        trigger_pull(c, t, COLLECT_US);
    }
}

static uint32_t node_is(const struct noderec *n)
{
    bool drain = n->n.drain && n->n.state != NODE_FUTURE, down = n->n.state == NODE_DOWN;
    bool still_down = n->is & IS_DOWN && n->n.state != NODE_UP;
    bool idle = n->n.state == NODE_UP && n->conn && !drain && !n->n.fail && !n->job.n;
    return (down || still_down ? IS_DOWN : 0) | (drain ? IS_DRAIN : 0) |
           (drain && !n->job.n ? IS_DRAINED : 0) | (n->n.fail ? IS_FAIL : 0) | (idle ? IS_IDLE : 0);
}

void triggers_node(struct core *c, struct noderec *n)
{
    ASSERT(c->node.v[n->index] == n);
    uint32_t was = n->is, is = node_is(n), came = is & ~was, went = was & ~is;
    if (is == was)
        return;
    n->is = (uint8_t)is;
    if (came & IS_IDLE)
        n->idle_us = c->turn.now_us;
    if (!c->store.loaded || !c->triggers.of_nodes)
        return;
    c->triggers.changed |= (came & IS_IDLE) != 0;
    bool resumed = went & (IS_DRAIN | IS_FAIL) && !(is & (IS_DRAIN | IS_FAIL));
    uint32_t events =
        (came & IS_DOWN ? TRIGGER_BIT(DOWN) : 0) | (went & IS_DOWN ? TRIGGER_BIT(UP) : 0) |
        (came & IS_DRAIN ? TRIGGER_BIT(DRAINING) : 0) |
        (came & IS_DRAINED ? TRIGGER_BIT(DRAINED) : 0) | (came & IS_FAIL ? TRIGGER_BIT(FAIL) : 0) |
        (resumed ? TRIGGER_BIT(RESUME) : 0);
    if (events)
        node_event(c, n, events);
}

/* Since when it has been idle for as long as the trigger asks for. */
static int64_t idle_from(const struct trigger *t, const struct noderec *n)
{
    return time_add(n->idle_us, t->offset > 0 ? t->offset * USEC_PER_SEC : 0);
}

int64_t trigger_idle_due(const struct core *c, const struct trigger *t)
{
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < c->node.n; i++) {
        const struct noderec *n = c->node.v[i];
        if (n->is & IS_IDLE && idle_from(t, n) > t->told_us && idle_from(t, n) < due &&
            wants_node(c, t, n))
            due = idle_from(t, n);
    }
    return due;
}

void trigger_idle_pull(struct core *c, struct triggerrec *t)
{
    for (size_t i = 0; i < c->node.n; i++) {
        const struct noderec *n = c->node.v[i];
        int64_t from = idle_from(&t->t, n);
        if (n->is & IS_IDLE && from > t->t.told_us && from <= c->turn.now_us &&
            wants_node(c, &t->t, n))
            idset_add(&t->hit, n->index);
    }
    t->t.told_us = c->turn.now_us;
    t->t.due_us = c->turn.now_us;
    trigger_save(c, t);
}
