#include "core/record/record.h"
#include "core/record/triggers/triggers.h"

#define UNFIT_LAUNCHES 3 /* that fail one after the other before no more are tried */

/* The planner counts on a node only while its daemon answers. What it reported less than configured
 * is not planned with. */
void node_plan_update(struct core *c, struct noderec *n)
{
    ASSERT(c->node.v[n->index] == n);
    c->planning.refit = true;
    struct node seen = n->n;
    struct err err = {0};
    struct arena *a = text_empty(n->n.complaint) ? NULL : arena_new();
    if (a)
        node_missing_plan(n, a, &seen);
    if (!n->conn && seen.state == NODE_UP)
        seen.state = NODE_UNKNOWN;
    if (!cluster_put_node(c->cluster, &seen, &err))
        fx_log(c, LEVEL_ERROR, "node %s cannot be used: %s", n->n.name, err.text);
    arena_free(a);
    plan_soon(c);
    triggers_node(c, n);
}

/* What does not change by itself from one word of the node's to the next. */
static uint64_t row_of(const struct noderec *n)
{
    struct node row = n->n;
    row.last_seen_us = 0;
    row.load_centi = 0;
    row.free_mem_mib = 0;
    return record_hash(&node_fields, &row, 1);
}

void node_save(struct core *c, struct noderec *n)
{
    n->stored = 0;
    node_save_changed(c, n);
}

void node_save_changed(struct core *c, struct noderec *n)
{
    ASSERT(c->node.v[n->index] == n);
    uint64_t row = row_of(n);
    if (n->withdrawn)
        return;
    if (row != n->stored)
        fx_store(c, TABLE_NODE, &n->n);
    n->stored = row;
    node_spell_note(c, n);
    triggers_node(c, n);
}

/* Jobs decide whether one that takes no more is drained, or will be. Of one that is loaded the
 * state is not known before its agent is back, while its spell goes on. */
static void drain_note(struct core *c, struct noderec *n)
{
    if (c->store.loaded && (n->n.drain || n->n.fail) && !n->withdrawn)
        node_spell_note(c, n);
}

void node_job_add(struct core *c, uint32_t node, uint64_t job_id)
{
    ASSERT(node < c->node.n);
    vec_push(&c->node.v[node]->job, job_id);
    c->node.v[node]->n.last_busy_us = c->turn.now_us;
    drain_note(c, c->node.v[node]);
    triggers_node(c, c->node.v[node]);
}

void node_job_remove(struct core *c, uint32_t node, uint64_t job_id)
{
    ASSERT(node < c->node.n);
    struct noderec *n = c->node.v[node];
    for (size_t i = 0; i < n->job.n; i++)
        if (n->job.v[i] == job_id) {
            vec_remove(&n->job, i);
            break;
        }
    n->n.last_busy_us = c->turn.now_us;
    drain_note(c, n);
    triggers_node(c, n);
}

void node_reason_set(struct core *c, struct noderec *n, const char *reason)
{
    ASSERT(!text_empty(reason));
    text_set(c, &n->n.reason, reason);
    text_set(c, &n->n.reason_user, "remuda");
    n->n.reason_uid = 0;
    n->n.reason_us = c->turn.now_us;
}

bool node_is_silent(const struct noderec *n)
{
    return n->n.state == NODE_DOWN && n->n.reason_uid == 0 && text_is(n->n.reason, REASON_SILENT);
}

/* One that has no room, say, would take and fail all that waits, faster than any other ends a job.
 * A single failure may be of a moment. */
void node_launch_failed(struct core *c, struct noderec *n, const char *detail)
{
    if (++n->unfit < UNFIT_LAUNCHES || n->n.drain)
        return;
    n->unfit = 0;
    struct str reason = STR_INIT;
    str_addf(&reason, "batch job complete failure: %s", detail ? detail : "it cannot be launched");
    node_log(c, n, LEVEL_ERROR, "node %s is drained: %d launches failed: %s", n->n.name,
             UNFIT_LAUNCHES, detail ? detail : "");
    n->n.drain = true;
    node_reason_set(c, n, str_text(&reason));
    str_done(&reason);
    node_save(c, n);
    node_plan_update(c, n);
}

/* The next job would fail alike, or find what was not cleared away: none comes here until somebody
 * has looked. */
void node_program_failed(struct core *c, struct noderec *n, enum site_program which,
                         const char *detail)
{
    ASSERT(which == SITE_PROLOG || which == SITE_EPILOG);
    bool before = which == SITE_PROLOG;
    node_log(c, n, LEVEL_ERROR, "node %s is drained: its %s failed: %s", n->n.name,
             before ? "prolog" : "epilog", detail ? detail : "");
    if (n->n.drain)
        return;
    n->n.drain = true;
    node_reason_set(c, n, before ? "Prolog error" : "Epilog error");
    node_save(c, n);
    node_plan_update(c, n);
}
