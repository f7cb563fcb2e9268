/* Multifactor priority in fixed point with 20 binary places: Σ weight × factor − nice, as slurm.conf(5) describes it. Within a lane it never
 * changes who is first: age is the only factor that differs there, and its rounding keeps the order; ties go to who could run first. */
#include "sched/priority.h"

#include "base/alloc.h"
#include "sched/plan.h"

static int64_t age_factor(const struct policy *p, const struct waiting *w, int64_t now_us)
{
    int64_t since = w->eligible_us > w->submit_us ? w->eligible_us : w->submit_us;
    int64_t age = now_us - since;
    if (age <= 0)
        return 0;
    if (age >= p->max_age_us)
        return PRIORITY_ONE;
    /* Milliseconds keep the product below 2^63 for a MaxAge of 270 years. */
    int64_t span = p->max_age_us / 1000;
    return span > 0 ? age / 1000 * PRIORITY_ONE / span : PRIORITY_ONE;
}

/* A share of the cluster's nodes. */
static int64_t size_factor(const struct cluster *cl, const struct option *o)
{
    return cl->node.n > 0 ? o->nodes_min * PRIORITY_ONE / (int64_t)cl->node.n : 0;
}

static int64_t part_factor(const struct cluster *cl, const struct option *o)
{
    int64_t most = 1;
    for (size_t i = 0; i < cl->part.n; i++)
        if (!cl->part.v[i]->gone && cl->part.v[i]->p.priority_job_factor > most)
            most = cl->part.v[i]->p.priority_job_factor;
    return o->job_factor * PRIORITY_ONE / most;
}

uint64_t priority_of(const struct cluster *cl, const struct option *o, const struct waiting *w,
                     int64_t now_us)
{
    const struct policy *p = &cl->policy;
    if (w->priority_asked > 0)
        return w->priority_asked > UINT32_MAX ? UINT64_C(1) << 52 : w->priority_asked * PRIORITY_ONE;
    int64_t sum = p->fifo ? PRIORITY_ONE : p->weight_age * age_factor(p, w, now_us);
    if (!p->fifo && p->weight_size)
        sum += p->weight_size * size_factor(cl, o);
    if (!p->fifo && p->weight_part)
        sum += p->weight_part * part_factor(cl, o);
    sum -= w->nice * PRIORITY_ONE;
    return sum < PRIORITY_ONE ? (uint64_t)PRIORITY_ONE : (uint64_t)sum;
}

uint64_t sched_priority(const struct cluster *cl, const struct waiting *w, int64_t now_us)
{
    struct compiled *c = demand_compile(cl, w->req, NULL);
    uint64_t best = 1;
    for (size_t i = 0; i < c->n; i++) {
        uint64_t p = priority_of(cl, &c->option[i], w, now_us) / PRIORITY_ONE;
        best = p > best ? p : best;
    }
    demand_free(c);
    return best;
}
