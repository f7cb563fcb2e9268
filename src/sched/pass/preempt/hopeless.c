/* Could it help at all that victims go? All of them are lifted and put back for each job that asks,
 * which counts each of their nodes anew: where thousands run, and a hundred jobs ask for what no
 * victim has, that would be most of a pass. So what is free on each node, and what its victims have
 * there, is summed first. A yes may be wrong; a no is sure. */
#include "base/alloc.h"
#include "sched/pass/preempt/inside.h"
#include "sched/pass/to_place.h"
#include "sched/world/cap_takes.h"
#include "sched/world/part_windows.h"
#include "sched/world/resv_view.h"
#include "sched/world/row.h"

#include <stdlib.h>
#include <string.h>

/* What the victims have, by node and dimension as in the world. */
struct freed_by {
    const struct victim *v;
    size_t n;
    int64_t *sum, *row; /* row: of a look at one node */
};

static void hold_sum(const struct pass *p, const struct victim *v, const struct hold *h,
                     int64_t *sum)
{
    const struct group *g = h->node->group;
    int64_t cpus = h->run->suspended ? 0 : (int64_t)h->ncpu * g->slot_cpus;
    sum[DIM_CPU] += cpus;
    sum[DIM_SHARE] += cpus * p->cl->policy.share_max;
    sum[DIM_JOBS] = JOBS_ALL;
    if (v->mode == PREEMPT_SUSPEND)
        return;
    sum[DIM_MEM] += h->mem_mib;
    for (size_t i = 0; i < h->ngres; i++) {
        const struct held_gres *has = &h->gres[i];
        sum[has->dim] += has->count - (int64_t)has->nindex;
        for (size_t x = 0; x < has->nindex; x++)
            sum[held_dim(p->cl, h->node, has, x)]++;
    }
}

static struct freed_by freed_sum(const struct pass *p, const victims *v)
{
    const struct world *w = p->w;
    struct freed_by f = {v->v, v->n, xcalloc(w->nnodes * w->dims + 1, sizeof f.sum[0]),
                         xcalloc(w->dims + 1, sizeof f.row[0])};
    for (size_t i = 0; i < v->n; i++)
        for (size_t k = 0; k < v->v[i].run->nholds; k++) {
            const struct hold *h = &v->v[i].run->hold[k];
            if (!h->released)
                hold_sum(p, &v->v[i], h, &f.sum[h->node->idx * w->dims]);
        }
    return f;
}

static bool licences_could_do(struct pass *p, const struct compiled *c, const struct option *o,
                              const struct freed_by *f, int64_t until_us)
{
    for (size_t i = 0; i < c->nlic - c->ncap; i++) {
        int64_t freed = 0;
        for (size_t k = 0; k < f->n; k++)
            for (size_t x = 0; f->v[k].mode != PREEMPT_SUSPEND && x < f->v[k].run->nlic; x++)
                if (f->v[k].run->lic[x].lic == c->lic[i].lic)
                    freed += f->v[k].run->lic[x].count;
        int64_t lacks = c->lic[i].count - freed; /* 0 or less: what is kept may be free then */
        if (lacks > 0 && !licence_free(p->w, o, &c->lic[i], lacks, p->w->now_us, until_us))
            return false;
    }
    return true;
}

/* Units of the variant that could go on the node. What reservations keep there may come free with
 * victims in other ways than as a sum: then only what runs there is looked at. */
static int64_t node_could(struct pass *p, const struct compiled *c, const struct option *o,
                          struct variant *v, const struct freed_by *f, uint32_t node,
                          int64_t until_us)
{
    struct world *w = p->w;
    bool plain = view_plain(w, o, node);
    for (int look = 0; look < 1 + plain; look++) {
        const int64_t *row =
            look == 0 ? world_free_row(w, node) : world_row(w, node, w->now_us, until_us);
        for (size_t d = 0; d < w->dims; d++)
            f->row[d] = row[d] + f->sum[node * w->dims + d];
        if (o->mode.user_only)
            f->row[DIM_JOBS] = JOBS_ALL;
        if (!take_fits(take_least(w->cl, c, o, v, w->now.group[node]), f->row))
            return 0;
    }
    return demand_cap(w->cl, c, o, v, w->now.group[node], f->row);
}

static bool variant_could(struct pass *p, const struct compiled *c, const struct option *o,
                          struct variant *v, const struct freed_by *f, int64_t until_us)
{
    struct world *w = p->w;
    int64_t nodes = 0, units = 0;
    for (size_t i = 0; i < BIT_WORDS(w->nnodes); i++)
        for (uint64_t bits = w->now.up[i] & option_allows(c, o, i); bits; bits &= bits - 1) {
            uint32_t node = (uint32_t)(i * 64 + (size_t)__builtin_ctzll(bits));
            if (!world_group_has(v, w->now.group[node]))
                continue;
            int64_t here = node_could(p, c, o, v, f, node, until_us);
            nodes += here > 0;
            units += here;
            if (nodes >= v->lay.nmin && units >= v->lay.units)
                return true;
        }
    return false;
}

static bool option_could(struct pass *p, const struct compiled *c, const struct option *o,
                         const struct freed_by *f)
{
    int64_t now = p->w->now_us, until = time_add(now, view_limit(p->w, o, o->limit_us, now));
    bool could = false;
    if (o->never != REASON_NONE || part_window_bars(p->w, o, now) != REASON_NONE ||
        !licences_could_do(p, c, o, f, until))
        return false;
    for (size_t i = 0; i < o->nvariants && !could; i++)
        could = variant_could(p, c, o, &o->variant[i], f, until);
    return could;
}

bool victims_could_do(const struct asker *a, const victims *v)
{
    ASSERT(v->n > 0);
    struct pass *p = a->p;
    struct freed_by f = freed_sum(p, v);
    bool could = a->het || option_could(p, a->e->c, a->e->o, &f);
    for (size_t i = 0; a->het && could && i < a->het->n; i++) {
        const struct compiled *c = demand_of(p->cl, a->het->job[i]->lane->klass);
        could = false;
        for (size_t k = 0; k < c->n && !could; k++)
            could = option_could(p, c, &c->option[k], &f);
    }
    free(f.sum);
    free(f.row);
    return could;
}
