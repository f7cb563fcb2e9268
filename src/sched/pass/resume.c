/* Suspended work goes on as soon as its CPUs are idle and nobody of a higher tier wants them. */
#include "base/alloc.h"
#include "sched/pass/preempt/inside.h"
#include "sched/pass/preempt/preempt.h"

#include <stdlib.h>

static int run_order(const void *va, const void *vb)
{
    const struct run *a = *(const struct run *const *)va, *b = *(const struct run *const *)vb;
    if (a->yielded_us != b->yielded_us)
        return a->yielded_us < b->yielded_us ? -1 : 1;
    return (a->job_id > b->job_id) - (a->job_id < b->job_id);
}

static void cpus_take(struct pass *p, const struct run *r)
{
    int64_t *row = xcalloc(p->w->dims, sizeof row[0]);
    for (size_t i = 0; i < r->nholds; i++) {
        if (r->hold[i].released)
            continue;
        int64_t cpus = (int64_t)r->hold[i].ncpu,
                idle = world_free_row(p->w, r->hold[i].node->idx)[DIM_CPU];
        row[DIM_CPU] = cpus < idle ? cpus : idle > 0 ? idle : 0;
        row[DIM_SHARE] = cpus * (r->shares ? 1 : p->cl->policy.share_max);
        row[DIM_JOBS] = run_places(r);
        world_free_more(p->w, r->hold[i].node->idx, row, -1);
    }
    free(row);
}

/* By count, which also knows what is meant for a job that starts in the next pass. */
static bool node_free_now(const struct pass *p, const struct hold *h)
{
    const int64_t *row = world_free_row(p->w, h->node->idx);
    return h->node->up && row[h->run->shares ? DIM_SHARE : DIM_CPU] >= (int64_t)h->ncpu;
}

static bool run_goes_on(struct pass *p, const struct run *r)
{
    struct exacts *x = exacts_fork(p->ex);
    bool ok = true;
    for (size_t i = 0; ok && i < r->nholds; i++)
        ok = r->hold[i].released || node_free_now(p, &r->hold[i]);
    for (size_t i = 0; ok && i < r->nholds; i++)
        ok = r->hold[i].released ||
             exact_take_back(x, r->hold[i].node->idx, r->hold[i].cpu, r->hold[i].ncpu, r->shares);
    exacts_free(x);
    for (size_t i = 0; ok && i < r->nholds; i++)
        if (!r->hold[i].released)
            exact_take_back(p->ex, r->hold[i].node->idx, r->hold[i].cpu, r->hold[i].ncpu,
                            r->shares);
    return ok;
}

void pass_resume(struct pass *p, int32_t tier)
{
    ASSERT(p->w->now_us == p->v->now_us || p->future);
    VEC(struct run *) waiting = {0};
    if (p->future || tier >= p->resumed_tier)
        return;
    for (size_t i = 0; i < p->cl->run.n; i++) {
        struct run *r = p->cl->run.v[i];
        if (!r->yields || preempt_stopped_for_another(p, r))
            continue;
        const struct partition *part = run_partition(p->cl, r);
        int32_t its = part ? part->priority_tier : 0;
        if (its >= tier && its < p->resumed_tier)
            vec_push(&waiting, r);
    }
    p->resumed_tier = tier;
    if (waiting.n > 1)
        qsort(waiting.v, waiting.n, sizeof waiting.v[0], run_order);
    for (size_t i = 0; i < waiting.n; i++)
        if (run_goes_on(p, waiting.v[i])) {
            cpus_take(p, waiting.v[i]);
            vec_push(&p->v->resume, waiting.v[i]->job_id);
        }
    vec_done(&waiting);
}
