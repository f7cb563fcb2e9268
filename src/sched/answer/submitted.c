#include "sched/answer/submitted.h"

#include "base/alloc.h"
#include "base/hostlist.h"
#include "sched/books/settle.h"
#include "sched/pass/freed.h"
#include "sched/pass/pass.h"
#include "sched/pass/standing.h"

static const char *nodes_of(const struct alloc *al, struct arena *a)
{
    struct hostlist names = HOSTLIST_INIT;
    struct str folded = STR_INIT;
    for (size_t i = 0; i < al->n; i++)
        hostlist_add(&names, al->node[i].node);
    hostlist_fold(&names, &folded);
    const char *text = arena_strdup(a, str_text(&folded));
    str_done(&folded);
    hostlist_done(&names);
    return text;
}

static bool starts_now(const struct plan_private *v, uint64_t job_id, struct arena *a,
                       struct submitted_start *ret)
{
    for (size_t i = 0; i < v->start.n; i++) {
        const struct plan_start *s = &v->start.v[i];
        if (s->job_id != job_id)
            continue;
        *ret = (struct submitted_start){.start_us = v->now_us,
                                        .nodes = nodes_of(&s->alloc, a),
                                        .partition = arena_strdup(a, s->partition)};
        for (size_t k = 0; k < s->alloc.n; k++)
            ret->cpus += s->alloc.node[k].cpu_count;
        return true;
    }
    return false;
}

static void start_find(const struct plan *p, struct cluster *cl, uint64_t job_id, struct arena *a,
                       struct submitted_start *ret)
{
    struct plan_wait wait;
    *ret = (struct submitted_start){0};
    if (starts_now(p->priv, job_id, a, ret) || !plan_wait_of(p, cl, job_id, &wait))
        return;
    ret->start_us = wait.planned_us;
    ret->nodes = wait.planned_nodes ? arena_strdup(a, wait.planned_nodes) : NULL;
    ret->why = arena_strdup(a, wait.detail ? wait.detail : job_reason_sentence(wait.reason));
}

void sched_submitted(struct cluster *cl, const struct plan *live, const struct waiting *job,
                     size_t n, int64_t now_us, bool now_only, struct arena *a,
                     struct submitted_start *ret)
{
    ASSERT(n > 0 && live);
    struct plan *scratch = plan_new();
    struct pass p;
    scratch->priv->logs = true; /* the queue stays as the last real pass left it */
    for (size_t i = 0; i < n; i++) {
        ASSERT(!map_u64_get(cl->queue.by_job, job[i].job_id));
        cluster_wait(cl, &job[i]);
    }
    cluster_settle(cl);
    plan_recall(scratch->priv, live->priv);
    pass_open(&p, cl, scratch->priv, now_us, NULL, false);
    freed_begin(&p);
    pass_step(&p);
    standing_leave(&p);
    if (!now_only)
        (void)pass_forecast(&p, cl->policy.promises, UINT64_MAX);
    pass_close(&p);
    for (size_t i = 0; i < n; i++)
        start_find(scratch, cl, job[i].job_id, a, &ret[i]);
    for (size_t i = 0; i < n; i++)
        cluster_unwait(cl, job[i].job_id);
    plan_free(scratch);
}
