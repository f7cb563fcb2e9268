/* The components of heterogeneous jobs as they wait in a pass, and where one of them can start. */
#include "sched/pass/components.h"

#include "base/alloc.h"
#include "sched/pass/bars.h"
#include "sched/pass/to_place.h"
#include "sched/world/resv_view.h"

#include <stdlib.h>

struct het *pass_het_of(const struct pass *p, uint64_t id)
{
    ASSERT(id);
    for (size_t i = 0; i < p->het.n; i++)
        if (p->het.v[i].id == id)
            return &p->het.v[i];
    return NULL;
}

struct wjob *job_here(const struct pass *p, struct wjob *j)
{
    return p->instead && j == p->left_out ? p->instead->job[0] : j;
}

/* They were promised a start together: what one lost, as it was changed or held, all lost. */
static void promised_see(struct het *h)
{
    const struct waiting *first = &h->job[0]->w;
    h->promised_us = first->promised_in && first->het_size <= h->n ? first->promised_us : INT64_MAX;
    for (size_t i = 1; i < h->n; i++)
        if (!h->job[i]->w.promised_in || h->job[i]->w.promised_us != h->promised_us)
            h->promised_us = INT64_MAX;
}

void hets_collect(struct pass *p)
{
    ASSERT(p->het.n == 0);
    for (size_t i = 0; i < p->cl->queue.lane.n; i++) {
        if (!p->cl->queue.front.v[i].het)
            continue;
        struct lane *l = p->cl->queue.lane.v[i];
        for (size_t k = 0; k < l->n; k++) {
            struct het *h = pass_het_of(p, l->het);
            if (!h) {
                struct het new = {.id = l->het};
                vec_push(&p->het, new);
                h = &p->het.v[p->het.n - 1];
            }
            /* By number: the order of lanes depends on what came and went before. */
            h->job = xrealloc(h->job, (h->n + 1) * sizeof h->job[0]);
            size_t at = h->n++;
            for (; at > 0 && h->job[at - 1]->w.job_id > l->job[l->first + k]->w.job_id; at--)
                h->job[at] = h->job[at - 1];
            h->job[at] = job_here(p, l->job[l->first + k]);
        }
    }
    for (size_t i = 0; i < p->het.n; i++)
        promised_see(&p->het.v[i]);
}

int64_t het_limit_at(const struct pass *p, const struct option *o, int64_t start_us)
{
    return view_limit(p->w, o, o->limit_us, start_us);
}

struct option *het_place(struct pass *p, const struct wjob *j, int64_t at_us,
                         const uint64_t *barred, const uint64_t *shunned)
{
    ASSERT(at_us >= p->w->now_us);
    const struct compiled *c = demand_of(p->cl, j->lane->klass);
    for (size_t i = 0; i < c->n; i++) {
        struct option *o = &c->option[i];
        if (o->never != REASON_NONE ||
            (at_us == p->w->now_us && option_held_by(p, o, j->w.uid, 0) != REASON_NONE))
            continue;
        struct to_place what = pass_to_place(p, c, o, j);
        p->cost += try_cost(p, o);
        what.barred = barred;
        what.shunned = shunned;
        if (world_place(p->w, &what, at_us, time_add(at_us, het_limit_at(p, o, at_us)), &p->at))
            return o;
    }
    return NULL;
}
