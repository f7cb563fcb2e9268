/* What would be if some work were not there: it is lifted out of the counters and of the pass's
 * world, the planner's own question is asked, and it is put back. */
#include "base/alloc.h"
#include "sched/books/classes.h"
#include "sched/pass/bars.h"
#include "sched/pass/components.h"
#include "sched/pass/preempt/inside.h"
#include "sched/pass/to_place.h"
#include "sched/world/resv_view.h"

#include <stdlib.h>
#include <string.h>

/* The node is counted anew, and the world gets the difference. So the counters and the world cannot
 * come to differ, whatever a run that is lifted holds there. */
static void node_shift(struct pass *p, struct snode *n)
{
    struct cluster *cl = p->cl;
    int64_t *row = node_free(cl, n), *diff = xmemdup(row, cl->dim.n * sizeof row[0]);
    node_recount(cl, n);
    for (size_t d = 0; d < cl->dim.n; d++)
        diff[d] = row[d] - diff[d];
    world_free_more(p->w, n->idx, diff, 1);
    free(diff);
}

/* In the world what is lifted comes free at its end all the same, on top of now: so those who were
 * promised what it leaves do not keep the asker from it. When the asker begins, that is over
 * (world_suspend; whoever is ended ends sooner).
 * Work that is suspended keeps its licences, so these move only with all that it has. In the world
 * they stand behind the nodes, and count in the place of CPUs. */
static void lift_set(struct pass *p, struct victim *v, enum lifted how)
{
    struct run *r = v->run;
    if (r->lifted == how)
        return;
    bool licences = how == LIFTED_ALL || r->lifted == LIFTED_ALL;
    r->lifted = (uint8_t)how;
    world_lift(p->w, r, how != LIFTED_NOT);
    for (size_t i = 0; i < r->nholds; i++)
        if (!r->hold[i].released)
            node_shift(p, r->hold[i].node);
    int64_t *row = xcalloc(p->w->dims, sizeof row[0]);
    for (size_t i = 0; licences && i < r->nlic; i++) {
        row[DIM_CPU] = r->lic[i].count;
        world_free_more(p->w, (uint32_t)p->w->nnodes + r->lic[i].lic, row,
                        how == LIFTED_ALL ? 1 : -1);
    }
    free(row);
}

void lift(struct pass *p, struct victim *v)
{
    ASSERT(v->mode != PREEMPT_UNSET && v->mode != PREEMPT_OFF);
    lift_set(p, v, v->mode == PREEMPT_SUSPEND ? LIFTED_CPUS : LIFTED_ALL);
}

void put_back(struct pass *p, struct victim *v)
{
    lift_set(p, v, LIFTED_NOT);
}

void put_back_all(struct pass *p, victims *v)
{
    for (size_t i = 0; i < v->n; i++)
        put_back(p, &v->v[i]);
}

/* ---- would it fit? ---- */

static void nodes_note(struct asker *a)
{
    for (size_t i = 0; i < a->p->at.at.n; i++)
        vec_push(&a->at, a->p->at.at.v[i].node);
}

/* Do the devices and CPUs that are free then keep the rules about sockets? What is taken stays
 * taken in x, which the caller throws away: the next component must fit beside it. */
static bool exact_fits(struct pass *p, struct exacts *x, const struct compiled *c)
{
    struct alloc_node an;
    bool ok = true;
    for (size_t i = 0; ok && i < p->at.at.n; i++)
        ok = exact_take(x, c, p->at.option, p->at.variant, p->at.at.v[i].node, p->at.at.v[i].units,
                        &an);
    return ok;
}

static int64_t run_until(const struct pass *p, const struct option *o, int64_t at_us)
{
    return time_add(at_us, view_limit(p->w, o, o->limit_us, at_us));
}

/* One after another, each beside those before it; then all are taken back. */
static bool components_fit(struct asker *a, struct exacts *x)
{
    struct pass *p = a->p;
    uint32_t *begun = xcalloc(a->het->n + 1, sizeof begun[0]);
    size_t n = 0, seated = p->seated.n;
    bool ok = true;
    for (; ok && n < a->het->n; n++) {
        struct compiled *c = demand_of(p->cl, a->het->job[n]->lane->klass);
        struct option *o = het_place(p, a->het->job[n], p->w->now_us, NULL, NULL);
        ok = o && exact_fits(p, x, c);
        if (o)
            nodes_note(a);
        if (!ok)
            break;
        begun[n] =
            world_begin(p->w, c, &p->at, a->het->job[n]->w.job_id, run_until(p, o, p->w->now_us));
        hours_seat(p, o->part, a->het->job[n]->w.uid, false);
    }
    hours_unseat(p, seated);
    while (n > 0)
        world_undo(p->w, begun[--n]);
    free(begun);
    return ok;
}

static bool job_place(struct asker *a, int64_t at_us)
{
    struct to_place what = pass_to_place(a->p, a->e->c, a->e->o, a->e->job);
    return world_place(a->p->w, &what, at_us, run_until(a->p, a->e->o, at_us), &a->p->at);
}

/* A placement and no count: what counts allow, switches, devices and sockets may not. It is counted
 * as work of the pass (cost), which bounds how many are asked. */
bool asker_fits(struct asker *a)
{
    struct exacts *x = exacts_fork(a->p->ex);
    bool ok;
    vec_clear(&a->at);
    a->p->cost += a->het ? TRY_COST : try_cost(a->p, a->e->o);
    if (a->het) {
        ok = components_fit(a, x);
    } else {
        ok = job_place(a, a->p->w->now_us);
        if (ok)
            nodes_note(a);
        ok = ok && exact_fits(a->p, x, a->e->c);
    }
    exacts_free(x);
    return ok;
}

void asker_begin(struct asker *a)
{
    struct pass *p = a->p;
    int64_t now = p->w->now_us;
    if (!a->het && job_place(a, now)) {
        world_begin(p->w, a->e->c, &p->at, a->e->job->w.job_id, run_until(p, a->e->o, now));
        hours_seat(p, a->e->o->part, a->e->job->w.uid, true);
    }
    for (size_t i = 0; a->het && i < a->het->n; i++) {
        struct compiled *c = demand_of(p->cl, a->het->job[i]->lane->klass);
        struct option *o = het_place(p, a->het->job[i], now, NULL, NULL);
        if (!o)
            continue;
        world_begin(p->w, c, &p->at, a->het->job[i]->w.job_id, run_until(p, o, now));
        hours_seat(p, o->part, a->het->job[i]->w.uid, true);
    }
}

bool asker_fits_at(struct asker *a, int64_t at_us)
{
    ASSERT(at_us >= a->p->w->now_us);
    struct pass *p = a->p;
    if (!a->het)
        return job_place(a, at_us);
    uint32_t *promised = xcalloc(a->het->n + 1, sizeof promised[0]);
    size_t n = 0, seated = p->seated.n;
    /* Promises, not starts: until then what they stand on belongs to others. */
    for (; n < a->het->n; n++) {
        struct compiled *c = demand_of(p->cl, a->het->job[n]->lane->klass);
        struct option *o = het_place(p, a->het->job[n], at_us, NULL, NULL);
        if (!o)
            break;
        promised[n] =
            world_promise(p->w, c, &p->at, a->het->job[n]->w.job_id, at_us, run_until(p, o, at_us));
        hours_seat(p, o->part, a->het->job[n]->w.uid, false);
    }
    hours_unseat(p, seated);
    bool ok = n == a->het->n;
    while (n > 0)
        world_break(p->w, promised[--n]);
    free(promised);
    return ok;
}
