/* What `remuda status` shows: the controller, and each node with what keeps jobs from it. */
#include "core/query/query.h"
#include "core/record/accounts/accounts.h"
#include "core/record/accounts/private.h"

/* What keeps jobs from the node, or will soon; NULL = nothing. */
static const char *node_trouble(const struct node_sight *s, const struct noderec *n,
                                struct arena *a)
{
    struct node seen = n->n;
    node_hide(s, &seen, a);
    if (!n->conn && n->n.state != NODE_FUTURE)
        return "its daemon is not connected";
    if (n->n.state == NODE_DOWN || n->n.drain || n->n.fail)
        return n->n.reason ? n->n.reason : "it takes no jobs";
    const char *devices = node_devices_said(seen.devices_out, a);
    return devices && n->n.complaint ? arena_printf(a, "%s; %s", n->n.complaint, devices)
           : devices                 ? devices
                                     : n->n.complaint;
}

/* A partition whose QOS nobody has made has none of its limits. NULL = there is none such. */
static const char *partition_trouble(const struct core *c, struct arena *a)
{
    for (size_t i = 0; i < c->part.n; i++) {
        const struct partition *p = &c->part.v[i]->p;
        if (!text_empty(p->qos) && !qos_find(c, p->qos))
            return arena_printf(a,
                                "partition %s has QOS=%s, and there is no such QOS: its limits do "
                                "not hold until `sacctmgr add qos %s`",
                                p->name, p->qos, p->qos);
    }
    return NULL;
}

void query_status(const struct core *c, const struct peer *peer, const struct view *v)
{
    struct daemon_status controller = {.role = "controller",
                                       .name = c->host,
                                       .jobs_pending = c->jobs.pending,
                                       .jobs_running = c->jobs.running,
                                       .plans = c->planning.passes,
                                       .queue_considered = c->planning.considered};
    struct arena *said = arena_new();
    const char *left_out = left_out_said(c, said);
    controller.trouble = left_out                      ? left_out
                         : may_see_partitions(c, peer) ? partition_trouble(c, said)
                                                       : NULL;
    v->row(v->ctx, &controller);
    arena_free(said);
    struct node_sight sight = node_sight_open(c, peer);
    for (size_t i = 0; i < c->node.n; i++) {
        const struct noderec *n = c->node.v[i];
        if (!node_shown(n) || !may_see_nodes(c, peer))
            continue;
        struct daemon_status row = {.role = "node",
                                    .name = n->n.name,
                                    .pid = n->conn ? n->pid : 0,
                                    .start_us = n->n.daemon_start_us,
                                    .version = n->n.version,
                                    .jobs_running = n->job.n,
                                    .isolation = n->n.isolation,
                                    .device_trouble = n->n.device_trouble};
        struct arena *a = arena_new();
        row.trouble = node_trouble(&sight, n, a);
        v->row(v->ctx, &row);
        arena_free(a);
    }
    node_sight_close(&sight);
}
