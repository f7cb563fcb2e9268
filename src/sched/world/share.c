/* What a node must hold to be of use to a job at all, and whether any does: what is known of a
 * start before all nodes are put together (earliest.c). */
#include "sched/world/outlook.h"
#include "sched/world/placing.h"
#include "sched/world/resv_view.h"

int32_t placing_share_most(const struct placing *p)
{
    const struct world *w = p->w;
    int32_t most = 0;
    if (p->v->lay.units == 0 || p->v->unit_cpus <= 0)
        return p->v->lay.umax;
    for (size_t i = 0; i < w->cl->group.n; i++) {
        const struct group *g = w->cl->group.v[i];
        int32_t cap = world_group_has(p->v, g) ? g->cpus / p->v->unit_cpus : 0;
        most = cap > most ? cap : most;
    }
    return most < p->v->lay.umax ? most : p->v->lay.umax;
}

int32_t placing_share_least(const struct placing *p)
{
    const struct layout *l = &p->v->lay;
    int64_t least = l->units - (int64_t)(l->nmax - 1) * placing_share_most(p);
    return l->units > 0 && least > l->umin ? (int32_t)least : l->umin;
}

const struct take *placing_take(const struct placing *p, uint32_t node, int32_t units,
                                struct take *own)
{
    const struct world *w = p->w;
    const struct group *g = w->now.group[node];
    if (units > p->v->lay.umax || !world_group_has(p->v, g))
        return NULL;
    if (units == p->v->lay.umin)
        return take_least(w->cl, p->what->c, p->what->o, p->v, g);
    return demand_take(w->cl, p->what->c, p->what->o, p->v, g, units, own) ? own : NULL;
}

uint64_t placing_allowed(const struct placing *p, size_t word)
{
    return p->w->now.up[word] & option_allows(p->what->c, p->what->o, word) &
           ~(p->what->barred ? p->what->barred[word] : 0);
}

static bool take_same(const struct take *a, const struct take *b)
{
    bool same = a->n == b->n;
    for (uint32_t i = 0; same && i < a->n; i++)
        same = a->use[i].dim == b->use[i].dim && a->use[i].amount == b->use[i].amount;
    return same;
}

bool placing_only_even(const struct placing *p, struct variant *even)
{
    const struct world *w = p->w;
    const struct layout *l = &p->v->lay;
    int32_t least = placing_share_least(p);
    if (l->units == 0 || even->lay.units > 0 || l->nmin != l->nmax || even->lay.nmin != l->nmin ||
        even->lay.nmax != l->nmax || least != placing_share_most(p) ||
        (int64_t)least * l->nmax != l->units || even->ncount > 0 || p->v->ncount > 0)
        return false;
    for (size_t i = 0; i < w->cl->group.n; i++) {
        const struct group *g = w->cl->group.v[i];
        struct take take;
        if (world_group_has(p->v, g) &&
            demand_take(w->cl, p->what->c, p->what->o, p->v, g, least, &take) &&
            !(world_group_has(even, g) &&
              take_same(&take, take_least(w->cl, p->what->c, p->what->o, even, g))))
            return false;
    }
    return true;
}

/* ---- on the only node ---- */

int32_t placing_units_alone(const struct placing *p)
{
    return p->v->lay.units > 0 ? p->v->lay.units : p->v->lay.umin;
}

bool placing_alone(const struct placing *p)
{
    const struct world *w = p->w;
    const struct compiled *c = p->what->c;
    const struct option *o = p->what->o;
    return w->nnodes == 1 && o->nvariants == 1 && p->v->lay.nmin <= 1 && c->nlic == 0 &&
           c->nmust == 0 && p->v->ncount == 0 && o->part->windows.n == 0 && !w->view.kept_head &&
           !o->mode.share && !o->mode.user_only && c->req->switches <= 0 && view_plain(w, o, 0) &&
           outlook_pays(w, 0) && placing_allowed(p, 0) != 0 &&
           world_group_has(p->v, w->now.group[0]);
}

/* ---- on some nodes ---- */

/* Until when the node must hold what is placed: where that is promised the same itself, which
 * counts as taken, only until then. */
static int64_t hold_until(const struct placing *p, uint32_t node, const uint64_t *own)
{
    return own && bit_get(own, node) ? time_add(p->what->latest_us, 1) : INT64_MAX;
}

/* What they take is asked once for nodes of one group. */
struct node_share {
    const struct group *group;
    const struct take *take; /* NULL = they could not hold it */
    struct take own;
};

static const struct take *share_on(const struct placing *p, uint32_t node, int32_t units,
                                   struct node_share *last)
{
    const struct group *g = p->w->now.group[node];
    if (last->group != g) {
        last->group = g;
        last->take = placing_take(p, node, units, &last->own);
    }
    return last->take;
}

static bool could_hold(struct placing *p, uint32_t node, int64_t limit_us, const struct take *take,
                       int64_t before_us, const uint64_t *own)
{
    struct world *w = p->w;
    ASSERT(view_plain(w, p->what->o, node));
    return take && outlook_first(w, node, limit_us, w->now_us, before_us, hold_until(p, node, own),
                                 take) != INT64_MAX;
}

static bool variant_could_hold(struct placing *p, int64_t limit_us, const uint64_t *nodes,
                               const uint64_t *own)
{
    int32_t least = placing_share_least(p);
    int64_t before = time_add(p->what->latest_us, 1);
    struct node_share last = {0};
    for (size_t i = 0; i < BIT_WORDS(p->w->nnodes); i++)
        for (uint64_t bits = placing_allowed(p, i) & nodes[i]; bits; bits &= bits - 1) {
            uint32_t node = (uint32_t)(i * 64 + (size_t)__builtin_ctzll(bits));
            if (could_hold(p, node, limit_us, share_on(p, node, least, &last), before, own))
                return true;
        }
    return false;
}

bool world_could_hold(struct world *w, const struct to_place *what, int64_t limit_us,
                      const uint64_t *nodes, const uint64_t *own)
{
    ASSERT(limit_us >= 0 && what->latest_us >= w->now_us);
    struct placing p = {.w = w, .what = what};
    bool could = false;
    for (size_t i = 0; i < what->o->nvariants && !could; i++) {
        p.v = &what->o->variant[i];
        if (i > 0 && placing_only_even(&p, &what->o->variant[i - 1]))
            continue;
        could = variant_could_hold(&p, limit_us, nodes, own);
    }
    return could;
}

/* What is free now is asked first: on busy nodes that is all there is to ask. */
static bool variant_could_start(struct placing *p, int64_t limit_us, const uint64_t *own)
{
    struct world *w = p->w;
    int32_t least = placing_share_least(p), nodes = 0;
    struct node_share last = {0};
    for (size_t i = 0; i < BIT_WORDS(w->nnodes) && nodes < p->v->lay.nmin; i++)
        for (uint64_t bits = placing_allowed(p, i) & w->now.open[i]; bits; bits &= bits - 1) {
            uint32_t node = (uint32_t)(i * 64 + (size_t)__builtin_ctzll(bits));
            const struct take *take = share_on(p, node, least, &last);
            nodes += take && take_fits(take, world_free_row(w, node)) &&
                     could_hold(p, node, limit_us, take, time_add(w->now_us, 1), own);
        }
    return nodes >= p->v->lay.nmin;
}

bool world_could_start(struct world *w, const struct to_place *what, int64_t limit_us,
                       const uint64_t *own)
{
    ASSERT(limit_us >= 0 && what->latest_us >= w->now_us);
    struct placing p = {.w = w, .what = what};
    bool could = false;
    for (size_t i = 0; i < what->o->nvariants && !could; i++) {
        p.v = &what->o->variant[i];
        could = variant_could_start(&p, limit_us, own);
    }
    return could;
}
