/* Runs that a node still has when its connection comes back, of jobs that went on without it
 * meanwhile: sent back to the queue when it was given up, cancelled, ended. The node is told to end
 * them, which takes as long as they need. Until it says that nothing of them is left, the job does
 * not start again, here or elsewhere: two runs of one job would write the same files. */
#include "base/hostlist.h"
#include "core/record/record.h"

static void count(struct core *c, uint64_t job_id, int change)
{
    ASSERT(change == 1 || change == -1);
    struct jobrec *r = job_find(c, job_id);
    if (!r)
        return;
    r->former_runs += (uint32_t)change;
    eligible_update(c, r);
}

/* Of an earlier start, or of a part of this one that was given back. A row of an older release, or
 * of a store that was restored, does not say which nodes had it. */
static bool had_before(const struct jobrec *r, const char *node, uint32_t attempt)
{
    if (r->j.had_nodes)
        return hostlist_text_has(r->j.had_nodes, node);
    return attempt < r->j.attempt || !r->j.nodes || r->j.resize_us;
}

bool former_run_may_be(const struct core *c, const struct noderec *n, uint64_t job_id,
                       uint32_t attempt)
{
    struct jobrec *r = job_find(c, job_id);
    if (!attempt || !job_id || job_id >= c->jobs.next_id || (r && attempt > r->j.attempt))
        return false;
    if (!r || hold_find(r, n->index) || had_before(r, n->n.name, attempt))
        return true;
    return attempt == r->j.attempt && r->j.nodes && hostlist_text_has(r->j.nodes, n->n.name);
}

void had_nodes_note(struct core *c, struct jobrec *r)
{
    ASSERT(!r->j.nodes || r->j.attempt);
    struct hostlist all = HOSTLIST_INIT;
    struct str text = STR_INIT;
    if (!r->j.nodes || (!r->j.had_nodes && r->j.attempt > 1))
        return; /* what earlier starts had is not known */
    if (r->j.had_nodes && !hostlist_parse(&all, r->j.had_nodes, NULL))
        all.n = 0;
    if (hostlist_parse(&all, r->j.nodes, NULL)) {
        hostlist_uniq(&all);
        hostlist_sort(&all);
        hostlist_fold(&all, &text);
        text_set(c, &r->j.had_nodes, str_text(&text));
    }
    hostlist_done(&all);
    str_done(&text);
}

/* Of a start since the backup nobody knows which nodes had it. */
static bool may_be_waited_for(const struct core *c, const struct noderec *n, const struct jobrec *r,
                              uint32_t attempt)
{
    return (attempt > r->j.attempt && r->j.restored) || former_run_may_be(c, n, r->j.id, attempt);
}

void former_run_keep(struct core *c, struct noderec *n, uint64_t job_id, uint32_t attempt)
{
    ASSERT(c->node.v[n->index] == n);
    const struct former_run *last = n->former.n ? &n->former.v[n->former.n - 1] : NULL;
    const struct jobrec *r = job_find(c, job_id);
    if ((last && last->job_id == job_id && last->attempt == attempt) || !r ||
        !may_be_waited_for(c, n, r, attempt))
        return;
    vec_push(&n->former, ((struct former_run){job_id, attempt}));
    count(c, job_id, +1);
}

void former_run_over(struct core *c, struct noderec *n, uint64_t job_id, uint32_t attempt)
{
    ASSERT(c->node.v[n->index] == n);
    for (size_t i = 0; i < n->former.n; i++)
        if (n->former.v[i].job_id == job_id && n->former.v[i].attempt == attempt) {
            vec_remove(&n->former, i);
            count(c, job_id, -1);
            return;
        }
}

void former_runs_forget(struct core *c, struct noderec *n)
{
    for (size_t i = 0; i < n->former.n; i++)
        count(c, n->former.v[i].job_id, -1);
    vec_clear(&n->former);
}
