/* Who could take a job. Every node that could take something is a candidate with a key; smaller
 * keys are better: weight as configured, then few free GPUs, then few free CPUs (so that whole
 * nodes and GPU groups stay whole, and jobs without GPUs stay off nodes with many), then the node's
 * number. A job that may start now although its node is promised to another goes there before it
 * goes anywhere else, and a promise is made of the nodes that stay busy longest: so most is left
 * for jobs that run past the promise. (With equal whole nodes this makes backfill start exactly the
 * jobs that counting nodes would.) */
#include "base/alloc.h"
#include "base/amount.h"
#include "sched/world/cap_nodes.h"
#include "sched/world/cap_takes.h"
#include "sched/world/counts.h"
#include "sched/world/outlook.h"
#include "sched/world/part_windows.h"
#include "sched/world/placing.h"
#include "sched/world/resv_view.h"

#include <stdlib.h>
#include <string.h>

/* How long before the start the node last became freer, in seconds. */
static uint64_t idle_before(const struct placing *p, uint32_t node)
{
    const struct world *w = p->w;
    const struct agenda *a = &w->agenda;
    int64_t last = w->now_us;
    for (uint32_t t = a->work[node]; t != NONE; t = a->take.v[t].next) {
        if (agenda_job(a, t)->end_us > p->start_us)
            break;
        last = agenda_job(a, t)->end_us;
    }
    return key_clip((p->start_us - last) / USEC_PER_SEC, UINT32_MAX);
}

/* One number, so that candidates are compared in one instruction: 1 bit another needs it, 1 bit
 * nothing is promised there, 10 the place among weights, 12 free GPUs, 16 free CPUs, 24 the node.
 * For a later start: 1 bit another needs it, 32 bits how long it would stand idle, and the node. */
#define KEY_SHUNNED (UINT64_C(1) << 63)
#define KEY_FIRST   (UINT64_C(1) << 62)

static uint64_t key_of(const struct placing *p, uint32_t node, const int64_t *row)
{
    const struct group *g = p->w->now.group[node];
    int64_t gpus = 0;
    if (p->start_us > p->w->now_us)
        return idle_before(p, node) << NODE_BITS | node;
    for (size_t d = DIM_GRES; d < g->ntotal; d++)
        gpus += g->total[d] > 0 ? row[d] : 0;
    uint64_t cpus = key_clip(row[DIM_CPU], 0xffff);
    if (p->what->o->part->p.lln)
        cpus = 0xffff - cpus;
    const struct order_hook *hook = &p->w->cl->hook;
    if (hook->node_cost)
        cpus = key_clip((int64_t)hook->node_cost(hook->ctx, row[DIM_CPU], p->v->lay.units), 0xffff);
    return (p->w->agenda.kept[node] == NONE ? KEY_FIRST : 0) |
           key_clip(g->weight_rank, 0x3ff) << 52 | key_clip(gpus, 0xfff) << 40 | cpus << NODE_BITS |
           node;
}

static uint64_t node_key_of(const struct placing *p, uint32_t node, const int64_t *row)
{
    uint64_t key = key_of(p, node, row);
    if (p->what->shunned && bit_get(p->what->shunned, node))
        key |= KEY_SHUNNED;
    return !p->near ? key : bit_get(p->near, node) ? key & ~KEY_FIRST : key | KEY_FIRST;
}

/* Are all jobs on the node, and at least one, those of the user whose job is being placed? Then a
 * job that wants nodes for its user only may go there, too; not to one that has the node to itself,
 * though its partition may not let it have all CPUs. */
static bool own_node(const struct placing *p, uint32_t node)
{
    const struct snode *n = p->w->cl->node.v[node];
    if (p->w->agenda.kept[node] != NONE) /* promised to somebody */
        return false;
    int64_t jobs = JOBS_ALL;
    for (size_t i = 0; i < n->hold.n; i++) {
        const struct run *r = n->hold.v[i]->run;
        if (r->whole || r->uid + 1 != p->what->uid_plus1)
            return false;
        jobs -= run_places(r);
    }
    /* And nothing started there in this pass */
    return n->hold.n > 0 && world_free_row(p->w, node)[DIM_JOBS] == jobs;
}

static void candidate(struct placing *p, uint32_t node)
{
    struct world *w = p->w;
    const struct group *g = w->now.group[node];
    if (p->near_only && !bit_get(p->near, node))
        return;
    /* What is not free now will not be free from now on: that is seen before promises are looked
     * at. */
    if (w->agenda.kept[node] != NONE && p->start_us <= w->now_us && !p->what->o->mode.user_only &&
        demand_cap(w->cl, p->what->c, p->what->o, p->v, g, world_free_row(w, node)) == 0)
        return;
    const int64_t *row = view_row(w, p->what->o, node, p->start_us, p->end_us);
    if (p->what->o->mode.user_only && p->what->uid_plus1 && p->start_us <= w->now_us &&
        row[DIM_JOBS] < JOBS_ALL && own_node(p, node)) {
        if (row != w->scratch.row)
            memcpy(w->scratch.row, row, w->dims * sizeof row[0]);
        w->scratch.row[DIM_JOBS] = JOBS_ALL;
        row = w->scratch.row;
    }
    int32_t cap = demand_cap(w->cl, p->what->c, p->what->o, p->v, g, row);
    if (cap == 0)
        return;
    w->scratch.cap[node] = cap;
    vec_push(&w->scratch.key, node_key_of(p, node, row));
}

static void candidates_of(struct placing *p, size_t word, uint64_t bits)
{
    for (; bits; bits &= bits - 1) {
        uint32_t node = (uint32_t)(word * 64 + (size_t)__builtin_ctzll(bits));
        if (world_group_has(p->v, p->w->now.group[node]))
            candidate(p, node);
    }
}

/* The same for what nearly all placing is: one share on each node, now, and on nodes where nothing
 * is kept, so that what is free now is all that matters. */
static void candidates_simple(struct placing *p, size_t word, uint64_t bits)
{
    struct world *w = p->w;
    const struct group *last = NULL;
    const struct take *least = NULL; /* NULL: the group's nodes cannot hold it */
    for (; bits; bits &= bits - 1) {
        uint32_t node = (uint32_t)(word * 64 + (size_t)__builtin_ctzll(bits));
        const struct group *g = w->now.group[node];
        if (g != last) {
            last = g;
            least = world_group_has(p->v, g) ? take_least(w->cl, p->what->c, p->what->o, p->v, g)
                                             : NULL;
        }
        if (!least)
            continue;
        const int64_t *row = world_free_row(w, node);
        if (w->agenda.kept[node] != NONE) {
            candidate(p, node);
        } else if (take_fits(least, row)) {
            w->scratch.cap[node] = p->v->lay.umin;
            vec_push(&w->scratch.key, node_key_of(p, node, row));
        }
    }
}

static bool is_simple(const struct placing *p)
{
    const struct option *o = p->what->o;
    return p->v->lay.umin == p->v->lay.umax && p->start_us <= p->w->now_us && !o->resv &&
           !p->w->view.kept_head && !part_caps_cpus(&o->part->p) && !o->mode.user_only && !p->near;
}

/* Takes the first look (world.screened). If too few nodes stand it, so many more must come free. */
static bool too_few(struct placing *p, int which)
{
    size_t nodes = counts_screen(p->w, which, p->what->c, p->what->o, p->v),
           wanted = (size_t)p->v->lay.nmin;
    p->lacks = nodes < wanted ? wanted - nodes : 0;
    return p->lacks > 0;
}

void placing_candidates(struct placing *p)
{
    ASSERT(p->start_us >= p->w->now_us && p->v);
    struct world *w = p->w;
    vec_clear(&w->scratch.key);
    if (p->start_us > w->now_us || p->what->o->mode.user_only || p->what->o->mode.share) {
        for (size_t i = 0; i < BIT_WORDS(w->nnodes); i++)
            candidates_of(p, i,
                          w->now.up[i] & option_allows(p->what->c, p->what->o, i) &
                              ~(p->what->barred ? p->what->barred[i] : 0));
        return;
    }
    int which = counts_which(w, p->end_us);
    if (too_few(p, which))
        return;
    bool simple = is_simple(p);
    vec_reserve(&w->scratch.key, w->nnodes + 1);
    for (size_t i = 0; i < BIT_WORDS(w->nnodes); i++)
        if (simple && !p->what->barred)
            candidates_simple(p, i, w->scratch.screened[i]);
        else
            candidates_of(p, i,
                          w->scratch.screened[i] & ~(p->what->barred ? p->what->barred[i] : 0));
    if (w->scratch.key.n < (size_t)p->v->lay.nmin)
        p->lacks = (size_t)p->v->lay.nmin - w->scratch.key.n;
}

/* ---- what is found ---- */

static int u32_order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Nodes in order of their numbers, pieces handed out from the first on, one kept back for each node
 * that follows. */
static void placing_fill(struct placing *p, struct placement *ret)
{
    struct world *w = p->w;
    int32_t left = p->v->lay.units;
    qsort(w->scratch.pick.v, w->scratch.pick.n, sizeof w->scratch.pick.v[0], u32_order);
    ret->option = p->what->o;
    ret->variant = p->v;
    vec_clear(&ret->at);
    for (size_t i = 0; i < w->scratch.pick.n; i++) {
        struct placed at = {w->scratch.pick.v[i], 1};
        if (p->v->lay.units > 0) {
            int32_t most = left - (int32_t)(w->scratch.pick.n - i - 1),
                    cap = w->scratch.cap[at.node];
            at.units = most < cap ? most : cap;
            left -= at.units;
        }
        vec_push(&ret->at, at);
    }
    CHECK(left == 0);
}

bool placing_licences_free(struct placing *p)
{
    ASSERT(p->what->c->ncap <= p->what->c->nlic);
    const struct compiled *c = p->what->c;
    for (size_t i = 0; i < c->nlic; i++) {
        const struct lic_use *use = &c->lic[i];
        if (licence_free(p->w, p->what->o, use, use->count, p->start_us, p->end_us))
            continue;
        bool shares = cap_counts_nodes(&p->w->cl->lic.v[use->lic]);
        if (!shares || (p->v && !cap_nodes_may(p, use)))
            return false;
    }
    return true;
}

static bool cap_allows(struct placing *p, const struct lic_use *use, const struct placement *at,
                       int64_t *takes)
{
    struct world *w = p->w;
    bool nodes = cap_counts_nodes(&w->cl->lic.v[use->lic]);
    if ((!nodes && *takes <= use->count) ||
        licence_free(w, p->what->o, use, *takes, p->start_us, p->end_us))
        return true;
    return nodes && cap_nodes_allow(w, use, at, p->start_us, p->end_us, takes);
}

static int64_t takes_of(struct placing *p, const struct lic_use *use, const struct placement *at,
                        const struct cap_sums *sums)
{
    const struct licence *l = &p->w->cl->lic.v[use->lic];
    if (l->each == CAP_EACH_NODE)
        return cap_takes_on_node(p->w, p->what->c, l, at);
    int64_t takes = licence_takes(p->w, use, p->what->o->part, sums);
    if (l->each != CAP_EACH_MINUTES || takes == 0)
        return takes;
    return p->end_us == TIME_UNLIMITED
               ? INT64_MAX
               : amount_times(takes, (p->end_us - p->start_us) / USEC_PER_MIN);
}

static bool caps_hold(struct placing *p, const struct placement *at)
{
    const struct compiled *c = p->what->c;
    struct cap_sums sums = placement_sums(p->w, c, at);
    for (size_t i = c->nlic - c->ncap; i < c->nlic; i++) {
        int64_t takes = takes_of(p, &c->lic[i], at, &sums);
        if (cap_allows(p, &c->lic[i], at, &takes))
            continue;
        p->capped = &c->lic[i];
        p->takes = takes;
        return false;
    }
    return true;
}

/* The nodes that one job may have, if that is enough for the variant. */
static int32_t nodes_most(const struct placing *p)
{
    const struct compiled *c = p->what->c;
    int64_t most = p->hours_nmax;
    for (size_t i = c->nlic - c->ncap; c->caps_each && i < c->nlic; i++) {
        const struct licence *l = &p->w->cl->lic.v[c->lic[i].lic];
        int64_t may = l->total + c->lic[i].slack;
        if (l->each == CAP_EACH_JOB && cap_counts_nodes(l) &&
            use_concerns(&c->lic[i], p->what->o) && may >= p->v->lay.nmin && may < most)
            most = may;
    }
    return (int32_t)most;
}

/* It fits on no so few nodes: what it would have on more is not allowed, which is the reason why it
 * waits. */
static bool wants_more_nodes(struct placing *p)
{
    bool more = !p->near && p->nmax < p->hours_nmax;
    p->nmax = p->hours_nmax;
    return more;
}

bool placing_find(struct placing *p, struct placement *ret)
{
    bool again = false, found = false;
    p->near = NULL;
    p->near_only = false;
    p->hours_nmax = part_window_nodes(p->w, p->what->o, p->start_us, p->v->lay.nmax);
    if (p->hours_nmax < p->v->lay.nmin) {
        p->lacks = 0;
        return false;
    }
    p->nmax = nodes_most(p);
    do {
        p->lacks = 0;
        placing_candidates(p);
        bool picked = placing_pick(p);
        if (picked || p->near)
            p->lacks = 0;
        if (picked) {
            placing_fill(p, ret);
            found = caps_hold(p, ret);
        }
        /* Once only: then p->near is set, and cap_nodes_near says no. */
        again = picked ? !found && cap_nodes_near(p) : wants_more_nodes(p);
    } while (again);
    p->near = NULL;
    return found;
}

/* Does the only node hold so many units in the time at hand? */
static bool alone_holds(const struct placing *p, int32_t units)
{
    struct take own;
    const struct take *take = placing_take(p, 0, units, &own);
    return take && outlook_first(p->w, 0, p->end_us - p->start_us, p->start_us,
                                 time_add(p->start_us, 1), INT64_MAX, take) != INT64_MAX;
}

/* On the only node the first stretches of its outlook are asked before anything is counted. */
static bool alone_bars(struct placing *p)
{
    int32_t units = placing_units_alone(p), least = p->v->lay.umin;
    if (alone_holds(p, units))
        return false;
    ASSERT(!placing_find(p, &(struct placement){0}));
    p->lacks = units == least || !alone_holds(p, least);
    return true;
}

bool world_place(struct world *w, const struct to_place *what, int64_t start_us, int64_t end_us,
                 struct placement *ret)
{
    ASSERT(start_us >= w->now_us && end_us >= start_us);
    ASSERT(what->o->nvariants > 0);
    struct option *o = what->o;
    struct placing p = {.w = w, .what = what, .start_us = start_us, .end_us = end_us};
    ret->missing = 0;
    ret->capped = NULL;
    /* Before any node is looked at: a job that waits for a licence is asked about at each end of
     * work. */
    if (!placing_licences_free(&p) || part_window_bars(w, o, start_us) != REASON_NONE)
        return false;
    uint64_t least = UINT64_MAX;
    p.v = &o->variant[0];
    if (placing_alone(&p) && alone_bars(&p)) {
        ret->missing = p.lacks;
        return false;
    }
    for (size_t i = 0; i < o->nvariants; i++) {
        p.v = &o->variant[i];
        if (placing_find(&p, ret))
            return true;
        least = p.lacks < least ? p.lacks : least;
    }
    ret->missing = o->nvariants > 0 ? least : 0;
    ret->capped = p.capped;
    ret->takes = p.takes;
    return false;
}

bool world_holds(struct world *w, const struct to_place *what, int64_t start_us, int64_t end_us,
                 const struct placement *at)
{
    ASSERT(start_us >= w->now_us && end_us >= start_us && at->option == what->o);
    struct placing p = {
        .w = w, .what = what, .v = at->variant, .start_us = start_us, .end_us = end_us};
    if (!placing_licences_free(&p) || part_window_bars(w, what->o, start_us) != REASON_NONE ||
        part_window_nodes(w, what->o, start_us, (int32_t)at->at.n) < (int32_t)at->at.n)
        return false;
    for (size_t i = 0; i < at->at.n; i++) {
        uint32_t node = at->at.v[i].node;
        const struct group *g = w->now.group[node];
        uint64_t may = w->now.up[node / 64] & option_allows(what->c, what->o, node / 64);
        if (!(may >> node % 64 & 1) || !world_group_has(p.v, g) ||
            demand_cap(w->cl, what->c, what->o, p.v, g,
                       view_row(w, what->o, node, start_us, end_us)) < at->at.v[i].units)
            return false;
    }
    return caps_hold(&p, at);
}
