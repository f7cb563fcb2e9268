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

/* Of so many such nodes. */
static int64_t nodes_most(const struct cluster *cl, const struct option *o, struct cap_sums *one,
                          int64_t nodes, const struct licence *cap, int64_t *row)
{
    if (cap->counts != CAP_BILLING)
        return amount_times(cap_of_node(cl, cap, one->cpus, one->mem_mib, row), nodes);
    if (is_refunded(o->part)) /* more may cost less */
        return INT64_MAX;
    one->nodes = nodes;
    one->cpus = amount_times(one->cpus, nodes);
    one->mem_mib = amount_times(one->mem_mib, nodes);
    for (size_t d = DIM_GRES; d < cl->dim.n; d++)
        row[d] = amount_times(row[d], nodes);
    return cap_billing(cl, o->part, one);
}

static int64_t variant_most(const struct cluster *cl, const struct compiled *c,
                            const struct option *o, const struct variant *v,
                            const struct licence *cap, int64_t *row)
{
    int64_t nodes = v->lay.nmax < (int64_t)cl->node.n ? v->lay.nmax : (int64_t)cl->node.n,
            shares = v->lay.units > nodes ? v->lay.units : nodes, most = 0;
    if (cap->counts == CAP_NODES)
        return nodes;
    for (size_t g = 0; g < cl->group.n; g++) {
        if (!v->groups || !bit_get(v->groups, (uint32_t)g))
            continue;
        struct cap_sums one = node_most(cl, c, o, v, cl->group.v[g], row);
        int64_t all = nodes_most(cl, o, &one, o->mode.whole ? nodes : shares, cap, row);
        most = all > most ? all : most;
    }
    return most;
}

static int64_t job_most(const struct cluster *cl, const struct compiled *c,
                        const struct lic_use *use, int64_t *row)
{
    const struct licence *cap = &cl->lic.v[use->lic];
    int64_t most = use->count;
    if (cap->each == CAP_EACH_NODE || cap->each == CAP_EACH_MINUTES)
        return INT64_MAX; /* rare: always looked at */
    if (cap->counts == CAP_JOBS || cap->counts == CAP_LICENCES)
        return most;
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->option[i].nvariants; k++) {
            int64_t one = variant_most(cl, c, &c->option[i], &c->option[i].variant[k], cap, row);
            most = one > most ? one : most;
        }
    return most;
}

/* Caps of the same resource have the same amount. */
static void most_fill(const struct cluster *cl, struct compiled *c, struct lic_use *cap, size_t n,
                      int64_t *row)
{
    for (size_t i = 0; i < n; i++) {
        size_t same = 0;
        while (same < i && cap[same].amount != cap[i].amount)
            same++;
        cap[i].most = same < i ? cap[same].most : job_most(cl, c, &cap[i], row);
    }
    c->caps_known = true;
}

/* ---- which bind ----------------------------------------------------------------------------- */

/* By place. Amounts alone are looked at for each cap of each class; the others are rare. */
struct cap_binds_wanted {
    int64_t *amount; /* what waits for it at most */
    int64_t *slack;  /* the least that anybody may exceed it by; NULL = it is 0 for all */
    uint64_t *held;  /* bitmap: somebody may not exceed it */
    int64_t *row;    /* paper, by dimension */
};

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b > 0 ? INT64_MAX : INT64_MIN) : sum;
}

static int64_t elements_of(const struct sclass *k)
{
    uint64_t n = 0;
    for (const struct lane *l = k->lanes; l; l = l->next)
        n += l->elements;
    return (int64_t)(n < INT32_MAX ? n : INT32_MAX);
}

static void slack_note(const struct cluster *cl, struct cap_binds_wanted *w,
                       const struct lic_use *use)
{
    if (use->slack >= 0)
        return;
    if (!w->slack)
        w->slack = xcalloc(cl->lic.n + 1, sizeof w->slack[0]);
    w->slack[use->lic] = use->slack < w->slack[use->lic] ? use->slack : w->slack[use->lic];
}

static void class_wants(const struct cluster *cl, struct sclass *k, int64_t elements,
                        struct cap_binds_wanted *w)
{
    struct compiled *c = demand_of(cl, k);
    struct lic_use *cap = c->lic + (c->nlic - c->ncap);
    size_t n = c->ncap + c->ncap_idle;
    if (n == 0)
        return;
    if (!c->caps_known)
        most_fill(cl, c, cap, n, w->row);
    for (size_t i = 0; i < n; i++) {
        int64_t *amount = &w->amount[cap[i].lic];
        if (!cl->lic.v[cap[i].lic].each)
            *amount = add(*amount, amount_times(cap[i].most, elements));
        else if (cap[i].most > *amount)
            *amount = cap[i].most;
        slack_note(cl, w, &cap[i]);
        if (!cap[i].above)
            bit_set(w->held, cap[i].lic);
    }
}

/* If all that waits, at the most it may take, went beside what is in use and still stayed within
 * it, nobody can be held by it. Where it may be exceeded by some, by the least of them. */
static bool binds(const struct cluster *cl, const struct cap_binds_wanted *w, uint32_t lic)
{
    const struct licence *l = &cl->lic.v[lic];
    return bit_get(w->held, lic) &&
           add(l->used, w->amount[lic]) > add(l->total, w->slack ? w->slack[lic] : 0);
}

/* Those that may bind stand first, so that whoever places walks over c->ncap of them and never asks
 * about the others; which these are may be otherwise in the next pass. */
static void class_part(const struct cluster *cl, struct sclass *k)
{
    struct compiled *c = demand_of(cl, k);
    size_t first = c->nlic - c->ncap, n = c->ncap + c->ncap_idle, active = 0;
    for (size_t i = 0; i < n; i++)
        if (!cap_is_idle(cl, c->lic[first + i].lic)) {
            struct lic_use use = c->lic[first + i];
            c->lic[first + i] = c->lic[first + active];
            c->lic[first + active++] = use;
        }
    c->nlic = first + active;
    c->ncap = active;
    c->ncap_idle = n - active;
}

static void idle_note(struct cluster *cl, const struct cap_binds_wanted *w)
{
    vec_clear(&cl->lic.idle);
    for (size_t i = 0; i < BIT_WORDS(cl->lic.n); i++)
        vec_push(&cl->lic.idle, 0);
    for (size_t i = 0; i < cl->lic.n; i++)
        if (is_cap(&cl->lic.v[i]) && !binds(cl, w, (uint32_t)i))
            bit_set(cl->lic.idle.v, i);
}

void caps_choose(struct cluster *cl, int64_t now_us, const struct lane *instead)
{
    ASSERT(!cl->derived.stale);
    if (cl->lic.n == cl->lic.named.n)
        return;
    caps_look_ahead(cl, now_us);
    struct cap_binds_wanted w = {.amount = xcalloc(cl->lic.n + 1, sizeof w.amount[0]),
                                 .held = xcalloc(BIT_WORDS(cl->lic.n) + 1, sizeof w.held[0]),
                                 .row = xcalloc(cl->dim.n + 1, sizeof w.row[0])};
    for (size_t i = 0; i < cl->klass.n; i++)
        if (cl->klass.v[i])
            class_wants(cl, cl->klass.v[i], elements_of(cl->klass.v[i]), &w);
    if (instead)
        class_wants(cl, instead->klass, instead->job[0]->w.elements, &w);
    idle_note(cl, &w);
    for (size_t i = 0; i < cl->klass.n; i++)
        if (cl->klass.v[i])
            class_part(cl, cl->klass.v[i]);
    if (instead)
        class_part(cl, instead->klass);
    free(w.amount);
    free(w.slack);
    free(w.held);
    free(w.row);
}
