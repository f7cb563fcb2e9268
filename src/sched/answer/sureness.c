/* How sure a planned start is, or why there is none: what the last pass left behind is all that is
 * asked, and what has changed since. */
#include "sched/answer/blockers.h"
#include "sched/answer/outs.h"
#include "sched/books/settle.h"
#include "sched/pass/pass.h"

#define JOBS_MAX 8 /* jobs named that end for another */

/* A node would do, or do more, with devices that are out of use. */
static bool outs_would_help(const struct cluster *cl, const struct compiled *c, struct arena *a)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct option *o = &c->option[i];
        for (size_t k = 0; o->never == REASON_NONE && k < o->part->node.n; k++) {
            const struct snode *n = o->part->node.v[k];
            struct variant *v = n->has_out && n->up ? variant_on(o, n->group) : NULL;
            if (v && outs_in_the_way(cl, n, take_least(cl, c, o, v, n->group), a).enough)
                return true;
        }
    }
    return false;
}

static const char *no_start(const struct cluster *cl, const struct plan *p, const struct wjob *j,
                            struct arena *a)
{
    const struct compiled *c = demand_of(cl, j->lane->klass);
    bool reachable = false, let_in = false;
    uint64_t endless = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (c->option[i].never != REASON_NONE)
            continue;
        let_in = true;
        reachable |= demand_possible(cl, c, &c->option[i], true);
        for (size_t n = 0; n < c->option[i].part->node.n; n++)
            for (size_t h = 0; h < c->option[i].part->node.v[n]->hold.n; h++) {
                const struct run *r = c->option[i].part->node.v[n]->hold.v[h]->run;
                if (r->end_us == TIME_UNLIMITED && (!endless || r->job_id < endless))
                    endless = r->job_id;
            }
    }
    if (!let_in)
        return "its partition does not let it start, however much is free";
    if (!reachable)
        return "it cannot start on the nodes that are up, however empty";
    if (endless)
        return arena_printf(
            a, "job %llu has no time limit, so nobody can know when its nodes will be free",
            (unsigned long long)endless);
    if (outs_would_help(cl, c, a))
        return "devices that it could use are out of use, and nobody can know when they come back";
    if (j->serial > p->priv->forecast_serial)
        return "it came after the last forecast; the next one is due soon";
    return "the forecast does not reach that far";
}

/* Jobs that were told to end so that this one can start; NULL = none. */
static const char *ending_for(const struct cluster *cl, uint64_t job_id, struct arena *a)
{
    struct map_walk walk = {0};
    uint64_t some[JOBS_MAX];
    size_t n = 0;
    while (map_u64_next(cl->run.by_job, &walk) && n < JOBS_MAX) {
        const struct run *r = walk.value;
        if (r->for_job == job_id && r->ending)
            some[n++] = r->job_id;
    }
    struct str s = STR_INIT;
    for (size_t i = 0; i < n; i++)
        str_addf(&s, "%s%llu", i ? "," : n > 1 ? "s " : " ", (unsigned long long)some[i]);
    const char *text = n > 0 ? arena_printf(a, "job%s %s way for it and %s ending", str_text(&s),
                                            n > 1 ? "make" : "makes", n > 1 ? "are" : "is")
                             : NULL;
    str_done(&s);
    return text;
}

/* Has a device of its nodes yet to be found clean? */
static bool waits_for_proof(const struct cluster *cl, const struct plan *p, const struct planned *f)
{
    if (p->priv->version != cl->derived.version)
        return false;
    for (uint32_t i = 0; i < f->nnodes; i++)
        if (cl->node.v[f->node[i]]->unproven.n > 0)
            return true;
    return false;
}

enum sureness sched_sureness(struct cluster *cl, const struct plan *p, uint64_t job_id,
                             struct arena *a, const char **ret_text)
{
    cluster_settle(cl);
    const struct wjob *j = map_u64_get(cl->queue.by_job, job_id);
    const struct planned *f = map_u64_get(p->priv->planned, job_id);
    *ret_text = NULL;
    if (!j)
        return SURE_NONE;
    const char *ending = ending_for(cl, job_id, a);
    if (!f) {
        *ret_text = ending ? ending : no_start(cl, p, j, a);
        return SURE_NONE;
    }
    if (f->promise && ending)
        *ret_text = arena_printf(a, "promised: %s", ending);
    else if (f->promise && waits_for_proof(cl, p, f))
        *ret_text = "promised: its nodes are kept for it; a device there has yet to be found clean";
    else if (f->promise)
        *ret_text = "promised: its nodes are kept for it, at that time or before";
    else if (f->nnodes > 0)
        *ret_text =
            "forecast: what the planner will do if jobs end at their limits and nothing new comes";
    else
        *ret_text = "roughly: worked out from the size of the queue before it";
    return f->promise ? SURE_PROMISE : f->nnodes > 0 ? SURE_FORECAST : SURE_ROUGH;
}
