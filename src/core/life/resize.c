/* A running job gives nodes back (scontrol update NumNodes=, NodeList=). Its record is smaller at
 * once, so that no new step goes there; the nodes are told to end what they have of it and are free
 * for others when they say that nothing is left. A step goes on with the tasks that it has
 * elsewhere, and is ended if it has none. The node of the batch script stays. What the job had so
 * far is kept as a row of its own, as Slurm does: the accounting charges each part by its size.
 *
 * What nodes that go have not cleaned yet stands in the row (`leaving`): a controller that starts
 * again tells them again when they say hello (node/link.c), and nobody else gets it before. */
#include "core/life/life.h"
#include "core/record/asked.h"

#include <string.h>

/* ---- which nodes stay ----------------------------------------------------------------------- */

static enum refusal refuse(enum refusal refusal, const char *sentence, const char **detail)
{
    *detail = sentence;
    return refusal;
}

/* Of each node there is: what the job has, and what of it is to stay. A list may name it often. */
enum stay { STAY_NOT, STAY_HELD, STAY_NAMED };

static bool holds(const struct node_hold *h)
{
    return !h->leaving && !h->released;
}

/* *ret_count: nodes that are named. */
static enum refusal list_check(struct core *c, struct jobrec *r, const struct hostlist *keep,
                               uint8_t *stay, int32_t *ret_count, const char **detail)
{
    struct arena *a = c->turn.fx->arena;
    memset(stay, STAY_NOT, c->node.n);
    for (size_t i = 0; i < r->hold.n; i++)
        if (holds(&r->hold.v[i]))
            stay[r->hold.v[i].node] = STAY_HELD;
    *ret_count = 0;
    for (size_t i = 0; i < keep->n; i++) {
        const struct noderec *n = node_find(c, keep->name[i]);
        if (!n || !stay[n->index])
            return refuse(
                REFUSE_INVALID_NODE,
                arena_printf(a,
                             "%s is none of its nodes, %s: a running job can only give nodes back",
                             keep->name[i], r->j.nodes),
                detail);
        *ret_count += stay[n->index] != STAY_NAMED;
        stay[n->index] = STAY_NAMED;
    }
    if (!keep->n)
        return refuse(REFUSE_INVALID_NODE, "a job keeps one node at least; `scancel` ends it",
                      detail);
    if (job_has_script(r) && !hostlist_has(keep, r->j.batch_host))
        return refuse(
            REFUSE_INVALID_NODE,
            arena_printf(a, "its batch script runs on %s, which has to stay", r->j.batch_host),
            detail);
    return REFUSE_NONE;
}

static enum refusal count_check(struct core *c, const struct jobrec *r, int32_t count,
                                const char **detail)
{
    if (count > r->j.alloc_nodes)
        return refuse(
            REFUSE_UNSUPPORTED,
            arena_printf(c->turn.fx->arena,
                         "it runs on %d nodes, and a running job can only give nodes back; "
                         "submit another job for more",
                         (int)r->j.alloc_nodes),
            detail);
    if (count < 1)
        return refuse(REFUSE_INVALID_NODE_COUNT, "a job keeps one node at least; `scancel` ends it",
                      detail);
    return REFUSE_NONE;
}

/* stay: NULL = the first of them, so many. */
static void leaving_mark(struct jobrec *r, const uint8_t *stay, int32_t count)
{
    int32_t held = 0;
    for (size_t i = 0; i < r->hold.n; i++) {
        struct node_hold *h = &r->hold.v[i];
        if (holds(h))
            h->leaving = stay ? stay[h->node] != STAY_NAMED : held++ >= count;
    }
}

/* ---- their leave ---------------------------------------------------------------------------- */

/* Something of it runs there, and nothing of it elsewhere. */
static bool leaves_whole(struct jobrec *r, const struct steprec *st)
{
    bool any = false;
    for (size_t i = 0; i < st->part.n; i++) {
        if (st->part.v[i].over)
            continue;
        if (!hold_leaving(r, st->part.v[i].node))
            return false;
        any = true;
    }
    return any;
}

static void steps_leave(struct core *c, struct jobrec *r)
{
    for (size_t i = 0; i < r->step.n; i++) {
        struct steprec *st = r->step.v[i];
        if (step_live(st) && !st->ending && leaves_whole(r, st))
            step_terminate(c, r, st, JOB_CANCELLED, c->settings.kill_wait_us, "DUE TO JOB RESIZE",
                           "its job gave the node back");
    }
}

static void nodes_leave(struct core *c, struct jobrec *r)
{
    for (size_t i = 0; i < r->hold.n; i++) {
        const struct node_hold *h = &r->hold.v[i];
        if (!h->leaving || h->released)
            continue;
        if (h->told)
            hold_terminate(c, r, h);
        else
            node_released(c, r, h->node);
    }
}

enum refusal job_resize(struct core *c, struct jobrec *r, const char *keep, int32_t count,
                        const char **detail)
{
    struct hostlist names = HOSTLIST_INIT;
    struct err err = {0};
    ASSERT(!r->j.het_job_id);
    if (keep && (!names_fit(c, keep, &err) || !hostlist_parse(&names, keep, &err)))
        return refuse(REFUSE_INVALID_NODE, arena_strdup(c->turn.fx->arena, err.text), detail);
    uint8_t *stay = keep ? arena_alloc(c->turn.fx->arena, c->node.n + 1) : NULL;
    enum refusal refusal =
        keep ? list_check(c, r, &names, stay, &count, detail) : count_check(c, r, count, detail);
    if (!refusal && count < r->j.alloc_nodes) {
        job_part_keep(c, r);
        leaving_mark(r, stay, count);
        alloc_shrink(c, r);
        steps_leave(c, r);
        nodes_leave(c, r);
        job_save(c, r);
        plan_soon(c);
    }
    hostlist_done(&names);
    return refusal;
}
