#include "sched/world/cap_binds.h"

#include "base/alloc.h"
#include "base/amount.h"
#include "sched/books/limits/caps.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a job takes at most --------------------------------------------------------------- */

/* Of one node with that many units. Two smaller shares take at least as much together as one that
 * is as large as both: what they need is rounded up. So units × what one takes bounds all. `row`
 * gets its devices. */
static struct cap_sums node_most(const struct cluster *cl, const struct compiled *c,
                                 const struct option *o, const struct variant *v,
                                 const struct group *g, int64_t *row)
{
    struct take t;
    memset(row, 0, cl->dim.n * sizeof row[0]);
    (void)demand_take(cl, c, o, v, g, v->lay.umin > 0 ? v->lay.umin : 1, &t);
    for (uint32_t i = 0; i < t.n; i++)
        if (t.use[i].dim >= DIM_GRES)
            row[t.use[i].dim] = t.use[i].amount;
    for (size_t d = DIM_GRES; o->mode.whole && d < g->ntotal && d < cl->dim.n; d++)
        row[d] = g->total[d] > row[d] ? g->total[d] : row[d];
    return (struct cap_sums){.nodes = 1, .cpus = t.cpus, .mem_mib = t.mem_mib, .gres = row};
}

static bool is_refunded(const struct spart *part)
{
    for (size_t i = 0; part->is_billed && i < part->billing.n; i++)
        if (part->billing.v[i].milli < 0)
            return true;
    return false;
}

/* Of so many such nodes, in units by the weights of the partition; `row` becomes theirs. */
static int64_t billing_most(const struct cluster *cl, const struct option *o, struct cap_sums one,
                            int64_t nodes, int64_t *row)
{
    if (is_refunded(o->part)) /* more may cost less */
        return INT64_MAX;
    one.nodes = nodes;
    one.cpus = amount_times(one.cpus, nodes);
    one.mem_mib = amount_times(one.mem_mib, nodes);
    for (size_t d = DIM_GRES; d < cl->dim.n; d++)
        row[d] = amount_times(row[d], nodes);
    return cap_billing(cl, o->part, &one);
}

static void raise(struct cap_need *n, int64_t most)
{
    n->most = most > n->most ? most : n->most;
}

/* On nodes of one group: of all that is counted there. */
static void group_most(const struct cluster *cl, struct compiled *c, const struct option *o,
                       const struct variant *v, const struct group *g, int64_t nodes, int64_t *row)
{
    struct cap_sums one = node_most(cl, c, o, v, g, row);
    struct cap_need *billing = NULL;
    for (uint32_t i = 0; i < c->caps->need.n; i++) {
        struct cap_need *n = &c->caps->need.v[i];
        const struct cap_amount *of = &cl->lic.amount.v[n->amount];
        if (n->like < i || of->counts == CAP_NODES)
            continue;
        if (of->counts == CAP_BILLING)
            billing = n;
        else
            raise(n, amount_times(cap_of_node(cl, of, one.cpus, one.mem_mib, row), nodes));
    }
    if (billing) /* last: it takes `row` */
        raise(billing, billing_most(cl, o, one, nodes, row));
}

static void variant_most(const struct cluster *cl, struct compiled *c, const struct option *o,
                         const struct variant *v, int64_t *row)
{
    int64_t nodes = v->lay.nmax < (int64_t)cl->node.n ? v->lay.nmax : (int64_t)cl->node.n,
            shares = v->lay.units > nodes ? v->lay.units : nodes;
    for (size_t i = 0; i < c->caps->need.n; i++)
        if (cl->lic.amount.v[c->caps->need.v[i].amount].counts == CAP_NODES)
            raise(&c->caps->need.v[i], nodes);
    for (size_t g = 0; g < cl->group.n; g++)
        if (v->groups && bit_get(v->groups, (uint32_t)g))
            group_most(cl, c, o, v, cl->group.v[g], o->mode.whole ? nodes : shares, row);
}

/* Of each amount. Those of the same resource have the same. */
static void most_fill(const struct cluster *cl, struct compiled *c, int64_t *row)
{
    for (size_t i = 0; i < c->caps->need.n; i++) {
        struct cap_need *n = &c->caps->need.v[i];
        enum cap_each each = cl->lic.amount.v[n->amount].each;
        /* Each node, times minutes: rare, and always looked at */
        n->most = each == CAP_EACH_NODE || each == CAP_EACH_MINUTES ? INT64_MAX : n->count;
    }
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->option[i].nvariants; k++)
            variant_most(cl, c, &c->option[i], &c->option[i].variant[k], row);
    for (uint32_t i = 0; i < c->caps->need.n; i++)
        c->caps->need.v[i].most = c->caps->need.v[c->caps->need.v[i].like].most;
    c->caps_known = true;
}

/* ---- which bind ----------------------------------------------------------------------------- */

/* What a lane takes at most. */
struct cap_want {
    int64_t most;
    bool each; /* each job by itself */
};

/* By place. Amounts alone are looked at for each cap of each class; the others are rare. */
struct caps_asked {
    struct cluster *cl;
    int64_t *amount; /* what waits for it at most */
    int64_t *slack;  /* the least that anybody may exceed it by; NULL = it is 0 for all */
    uint64_t *held;  /* bitmap: somebody may not exceed it */
    int64_t *row;    /* paper, by dimension */
    /* Paper, by need of the class at hand */
    VEC(struct cap_want) want;
};

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

/* Of one that is more than a number. */
static void apart_note(struct caps_asked *w, uint32_t lic, const struct cap_apart *apart)
{
    if (!apart->above)
        bit_set(w->held, lic);
    if (apart->slack >= 0)
        return;
    if (!w->slack)
        w->slack = xcalloc(w->cl->lic.n + 1, sizeof w->slack[0]);
    w->slack[lic] = apart->slack < w->slack[lic] ? apart->slack : w->slack[lic];
}

struct caps_asked *caps_ask(struct cluster *cl, int64_t now_us)
{
    ASSERT(!cl->derived.stale);
    if (cl->lic.n == cl->lic.named.n)
        return NULL;
    caps_look_ahead(cl, now_us);
    struct caps_asked *w = xcalloc(1, sizeof *w);
    w->cl = cl;
    w->amount = xcalloc(cl->lic.n, sizeof w->amount[0]);
    w->held = xcalloc(BIT_WORDS(cl->lic.n), sizeof w->held[0]);
    w->row = xcalloc(cl->dim.n + 1, sizeof w->row[0]);
    return w;
}

void caps_ask_lane(struct caps_asked *w, struct compiled *c, uint64_t elements)
{
    const struct cap_set *s = c->caps;
    const struct cap_apart *apart = s->apart.v;
    int64_t jobs = (int64_t)(elements < INT32_MAX ? elements : INT32_MAX);
    if (!w || s->ref.n == 0)
        return;
    if (!c->caps_known)
        most_fill(w->cl, c, w->row);
    vec_clear(&w->want);
    for (size_t i = 0; i < s->need.n; i++) {
        const struct cap_need *n = &s->need.v[i];
        bool each = w->cl->lic.amount.v[n->amount].each != CAP_TOGETHER;
        vec_push(&w->want, ((struct cap_want){each ? n->most : amount_times(n->most, jobs), each}));
    }
    for (size_t i = 0; i < s->ref.n; i++) {
        const struct cap_ref *r = &s->ref.v[i];
        const struct cap_want *want = &w->want.v[r->need & ~CAP_APART];
        int64_t *amount = &w->amount[r->lic];
        if (!want->each)
            *amount = add(*amount, want->most);
        else if (want->most > *amount)
            *amount = want->most;
        if (r->need & CAP_APART)
            apart_note(w, r->lic, apart++);
        else
            bit_set(w->held, r->lic);
    }
}

/* If all that waits, at the most it may take, went beside what is in use and still stayed within
 * it, nobody can be held by it. Where it may be exceeded by some, by the least of them. */
static bool binds(const struct caps_asked *w, size_t lic)
{
    const struct licence *l = &w->cl->lic.v[lic];
    return add(l->used, w->amount[lic]) > add(l->total, w->slack ? w->slack[lic] : 0);
}

/* All caps but those that somebody may not exceed, and that bind. */
static void idle_note(const struct caps_asked *w)
{
    struct cluster *cl = w->cl;
    vec_clear(&cl->lic.idle);
    for (size_t i = 0; i < BIT_WORDS(cl->lic.n); i++)
        vec_push(&cl->lic.idle, UINT64_MAX);
    for (size_t i = 0; i < cl->lic.named.n; i++)
        bit_clear(cl->lic.idle.v, cl->lic.named.v[i]);
    for (size_t i = 0; i < BIT_WORDS(cl->lic.n); i++)
        for (uint64_t bits = w->held[i]; bits; bits &= bits - 1) {
            size_t lic = i * 64 + (size_t)__builtin_ctzll(bits);
            if (binds(w, lic))
                bit_clear(cl->lic.idle.v, lic);
        }
}

/* Whoever places walks over those that may bind and never asks about the others; which these are
 * may be otherwise in the next pass. */
static void class_choose(const struct cluster *cl, struct sclass *k)
{
    struct compiled *c = demand_unchosen(cl, k);
    const struct cap_apart *apart = c->caps->apart.v;
    c->nlic -= c->ncap;
    c->ncap = 0;
    c->caps_chosen = true;
    c->caps_sized = c->caps_each = false;
    for (size_t i = 0; i < c->caps->ref.n; i++) {
        const struct cap_ref *r = &c->caps->ref.v[i];
        const struct cap_apart *own = r->need & CAP_APART ? apart++ : NULL;
        if (!cap_is_idle(cl, r->lic))
            demand_cap_bind(cl, c, r, own);
    }
}

void caps_choose(struct caps_asked *w, const struct lane *instead)
{
    if (!w)
        return;
    struct cluster *cl = w->cl;
    idle_note(w);
    for (size_t i = 0; i < cl->klass.n; i++)
        if (cl->klass.v[i])
            class_choose(cl, cl->klass.v[i]);
    if (instead)
        class_choose(cl, instead->klass);
    free(w->amount);
    free(w->slack);
    free(w->held);
    free(w->row);
    vec_done(&w->want);
    free(w);
}
