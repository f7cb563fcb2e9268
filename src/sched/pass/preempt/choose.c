/* Which work goes. Lift all that could go; if the job fits then, put back as much as possible, the
 * dearest first. What is dear is the work that would be lost: CPUs × time run, nothing for work
 * that is only suspended; among equals, the fewest jobs. Two ways of going about it are compared:
 * cheapest jobs first, and cheapest nodes first (a node is as dear as the jobs that must leave it;
 * not for heterogeneous jobs, whose components want different nodes). Where at most FEW_MAX jobs
 * come into question, every set is tried. */
#include "base/alloc.h"
#include "sched/pass/preempt/inside.h"
#include "sched/world/resv_view.h"

#include <stdlib.h>

#define TRIES_MAX 128 /* victims that are tried to be spared one by one */
#define FEW_MAX   8   /* of so few every set is tried */

/* Lifts the first k of v and no other. */
static void lift_first(struct pass *p, victims *v, size_t k)
{
    for (size_t i = 0; i < v->n; i++)
        if (i < k)
            lift(p, &v->v[i]);
        else
            put_back(p, &v->v[i]);
}

/* Lifts the shortest beginning of v that makes room. All of v does. With more gone it fits no
 * worse, so that halving finds it: log2 of them questions, each of which is a placement. */
static void lift_enough(struct asker *a, victims *v)
{
    size_t low = 1, high = v->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        lift_first(a->p, v, middle);
        if (asker_fits(a))
            high = middle;
        else
            low = middle + 1;
    }
    lift_first(a->p, v, high);
}

static bool run_at(const struct asker *a, const struct run *r)
{
    for (size_t i = 0; i < r->nholds; i++)
        for (size_t k = 0; k < a->at.n; k++)
            if (!r->hold[i].released && r->hold[i].node->idx == a->at.v[k])
                return true;
    return r->nlic > 0;
}

/* Those who hold nothing where the job would go are spared, if it still fits without their
 * going. */
static void spare_elsewhere(struct asker *a, victims *v)
{
    victims spared = {0};
    if (!asker_fits(a))
        return;
    for (size_t i = 0; i < v->n; i++)
        if (v->v[i].run->lifted && !run_at(a, v->v[i].run)) {
            vec_push(&spared, v->v[i]);
            put_back(a->p, &v->v[i]);
        }
    if (!asker_fits(a))
        for (size_t i = 0; i < spared.n; i++)
            lift(a->p, &spared.v[i]);
    vec_done(&spared);
}

/* Then the rest, one by one, the dearest first. */
static void spare_each(struct asker *a, victims *v)
{
    int tries = 0;
    spare_elsewhere(a, v);
    for (size_t i = v->n; i-- > 0 && tries < TRIES_MAX;) {
        if (!v->v[i].run->lifted)
            continue;
        tries++;
        put_back(a->p, &v->v[i]);
        if (!asker_fits(a))
            lift(a->p, &v->v[i]);
    }
}

struct price {
    int64_t lost;
    size_t jobs;
};

static struct price price_of(const victims *v)
{
    struct price price = {0};
    for (size_t i = 0; i < v->n; i++)
        if (v->v[i].run->lifted) {
            price.lost += v->v[i].lost;
            price.jobs++;
        }
    return price;
}

static bool cheaper(struct price a, struct price b)
{
    return a.lost != b.lost ? a.lost < b.lost : a.jobs < b.jobs;
}

static void chosen_take(const victims *v, victims *chosen)
{
    vec_clear(chosen);
    for (size_t i = 0; i < v->n; i++)
        if (v->v[i].run->lifted)
            vec_push(chosen, v->v[i]);
}

/* ---- cheapest nodes first ---- */

struct node_price {
    struct snode *node;
    struct price price;
};

static int node_price_order(const void *va, const void *vb)
{
    const struct node_price *a = va, *b = vb;
    if (a->price.lost != b->price.lost)
        return a->price.lost < b->price.lost ? -1 : 1;
    if (a->price.jobs != b->price.jobs)
        return a->price.jobs < b->price.jobs ? -1 : 1;
    return (a->node->idx > b->node->idx) - (a->node->idx < b->node->idx);
}

static bool holds(const struct run *r, const struct snode *n)
{
    for (size_t i = 0; i < r->nholds; i++)
        if (!r->hold[i].released && r->hold[i].node == n)
            return true;
    return false;
}

static bool node_takes_one(struct asker *a, const struct snode *n)
{
    struct option *o = a->e->o;
    int64_t now = a->p->w->now_us;
    const int64_t *row =
        view_row(a->p->w, o, n->idx, now, time_add(now, view_limit(a->p->w, o, o->limit_us, now)));
    for (size_t i = 0; i < o->nvariants; i++)
        if (world_group_has(&o->variant[i], n->group) &&
            demand_cap(a->p->cl, a->e->c, o, &o->variant[i], n->group, row) > 0)
            return true;
    return false;
}

/* Who must leave the node so that one piece of the job fits there; they stay lifted. False: even
 * with all gone it does not. */
static bool node_clear(struct asker *a, const struct snode *n, victims *v)
{
    bool room = node_takes_one(a, n);
    size_t i = 0;
    for (; i < v->n && !room; i++)
        if (holds(v->v[i].run, n)) {
            lift(a->p, &v->v[i]);
            room = node_takes_one(a, n);
        }
    /* Back again, the dearest first, whoever need not leave after all. */
    for (; room && i-- > 0;) {
        if (!v->v[i].run->lifted || !holds(v->v[i].run, n))
            continue;
        put_back(a->p, &v->v[i]);
        if (!node_takes_one(a, n))
            lift(a->p, &v->v[i]);
    }
    return room;
}

/* Lifts node by node until the job fits. */
static bool lift_nodes(struct asker *a, victims *v)
{
    VEC(struct node_price) nodes = {0};
    for (size_t i = 0; i < a->e->o->part->node.n; i++) {
        struct snode *n = a->e->o->part->node.v[i];
        if (!n->up || n->hold.n == 0)
            continue;
        if (node_clear(a, n, v)) {
            struct node_price one = {n, price_of(v)};
            vec_push(&nodes, one);
        }
        put_back_all(a->p, v);
    }
    if (nodes.n > 1)
        qsort(nodes.v, nodes.n, sizeof nodes.v[0], node_price_order);
    bool ok = false;
    for (size_t i = 0; i < nodes.n && !ok; i++) {
        node_clear(a, nodes.v[i].node, v);
        /* Trying is dear where many nodes are needed: it makes sense only with at least as many. */
        ok = (int32_t)i + 1 >= a->e->o->nodes_min / 2 && asker_fits(a);
    }
    vec_done(&nodes);
    return ok;
}

/* ---- every set ---- */

/* Tries every set of the few that hold something where the job would go after the best choice so
 * far (all, where there are only few): on one node a dear victim may be cheaper than several cheap
 * ones. Leaves the best set in `chosen`. */
static void refine(struct asker *a, victims *v, victims *chosen)
{
    victims few = {0};
    for (size_t i = 0; i < chosen->n; i++)
        lift(a->p, &chosen->v[i]);
    bool placed = asker_fits(a);
    put_back_all(a->p, chosen);
    for (size_t i = 0; placed && i < v->n && few.n < FEW_MAX; i++)
        if (v->n <= FEW_MAX || run_at(a, v->v[i].run))
            vec_push(&few, v->v[i]);
    struct price best = {0};
    for (size_t i = 0; i < chosen->n; i++)
        best = (struct price){best.lost + chosen->v[i].lost, best.jobs + 1};
    for (uint32_t set = 1; few.n > 1 && set < UINT32_C(1) << few.n; set++) {
        struct price price = {0};
        for (size_t i = 0; i < few.n; i++)
            if (set >> i & 1)
                price = (struct price){price.lost + few.v[i].lost, price.jobs + 1};
        if (!cheaper(price, best))
            continue;
        for (size_t i = 0; i < few.n; i++)
            if (set >> i & 1)
                lift(a->p, &few.v[i]);
            else
                put_back(a->p, &few.v[i]);
        if (asker_fits(a)) {
            best = price;
            chosen_take(&few, chosen);
        }
    }
    put_back_all(a->p, &few);
    vec_done(&few);
}

bool victims_choose(struct asker *a, victims *chosen)
{
    ASSERT(chosen->n == 0 && !a->p->future);
    victims v = {0};
    victims_collect(a, &v);
    bool ok = v.n > 0 && victims_could_do(a, &v);
    if (ok) {
        lift_first(a->p, &v, v.n);
        ok = asker_fits(a);
    }
    if (ok) {
        lift_enough(a, &v);
        spare_each(a, &v);
        struct price first = price_of(&v);
        chosen_take(&v, chosen);
        put_back_all(a->p, &v);
        if (!a->het && lift_nodes(a, &v)) {
            spare_each(a, &v);
            if (cheaper(price_of(&v), first))
                chosen_take(&v, chosen);
        }
        put_back_all(a->p, &v);
        refine(a, &v, chosen);
    }
    put_back_all(a->p, &v);
    vec_done(&v);
    return ok && chosen->n > 0;
}
