/* Nodes that give several types of what is asked untyped: three GPUs of a node with two of each of
 * two types. Every node of a job gives as many of each type, so a mix is a variant like others: so
 * much of one dimension and so much of another. GPUs of tasks and of the job are counted on a node
 * only where it is known what a node's share is: where the layout is one of pieces, the even shares
 * stand in for it (--gpus=6: three on each of two nodes). */
#include "base/amount.h"
#include "sched/request/demand_work.h"

#include <string.h>

#define MIXES_MAX    16  /* of one resource in one layout */
#define MIXES_LOOKED 256 /* among so many of them are the best */
/* So often is asked, for one request, whether any node has a beginning of a mix; what comes later
 * is not among the best. What each kind of node gives is found without. */
#define MIXES_STEPS 65536

static int64_t group_has(const struct group *g, uint32_t dim)
{
    return dim < g->ntotal ? g->total[dim] : 0;
}

/* May several types make it up? Not beside another resource of its kind, of which it would not be
 * known which is whose, nor by sockets. */
static bool may_mix(const struct demand_work *w, size_t i)
{
    const struct asked *k = &w->asked[i];
    bool alone = true;
    for (size_t n = 0; n < w->nasked; n++)
        alone &= n == i || !text_is(w->asked[n].item.kind, k->item.kind);
    return alone && text_empty(k->item.type) && k->nchoices > 1 && !w->c->per_socket;
}

static bool group_mixes(const struct group *g, const struct asked *k)
{
    size_t types = 0;
    for (size_t n = 0; n < k->nchoices; n++)
        types += group_has(g, k->choice[n]) > 0;
    return types > 1;
}

bool demand_may_mix(const struct demand_work *w)
{
    for (size_t i = 0; i < w->nasked; i++)
        for (size_t g = 0; may_mix(w, i) && g < w->cl->group.n; g++)
            if (group_mixes(w->cl->group.v[g], &w->asked[i]))
                return true;
    return false;
}

/* ---- the mixes of one resource ---- */

struct mixes {
    struct demand_work *w;
    const struct option *o;
    const struct asked *k;
    struct serving v[MIXES_MAX];
    size_t n, sure; /* the first `sure` stay, the others may give way to better ones */
    size_t looked;
};

/* Has any node of the partition so much of the types that are chosen, and enough of those from the
 * `next` choice on for the rest? */
static bool some_group(const struct mixes *m, const struct serving *so_far, size_t next,
                       int64_t rest)
{
    for (size_t i = 0; i < m->w->cl->group.n; i++) {
        const struct group *g = m->w->cl->group.v[i];
        int64_t more = 0;
        bool has = bit_get(g->parts, m->o->part->idx);
        for (size_t p = 0; has && p < so_far->n; p++)
            has = group_has(g, so_far->part[p].dim) >= so_far->part[p].amount;
        for (size_t n = next; has && n < m->k->nchoices; n++)
            more += group_has(g, m->k->choice[n]);
        if (has && more >= rest)
            return true;
    }
    return false;
}

static bool same_mix(const struct serving *a, const struct serving *b)
{
    bool same = a->n == b->n;
    for (size_t p = 0; same && p < a->n; p++)
        same = a->part[p].dim == b->part[p].dim && a->part[p].amount == b->part[p].amount;
    return same;
}

static int64_t largest_part(const struct serving *c)
{
    int64_t most = 0;
    for (size_t p = 0; p < c->n; p++)
        most = c->part[p].amount > most ? c->part[p].amount : most;
    return most;
}

/* Nearest to one type first: few types, many of one; else they stay as they were found, with most
 * of the lesser devices first. */
static bool mix_before(const struct serving *a, const struct serving *b)
{
    return a->n != b->n ? a->n < b->n : largest_part(a) > largest_part(b);
}

static void mix_put(struct mixes *m, const struct serving *c)
{
    bool known = false;
    for (size_t i = 0; i < m->n; i++)
        known |= same_mix(&m->v[i], c);
    if (m->n == MIXES_MAX && (m->sure == m->n || !mix_before(c, &m->v[m->n - 1])))
        return;
    if (known || c->n < 2)
        return;
    size_t at = m->n == MIXES_MAX ? m->n - 1 : m->n++;
    for (; at > m->sure && mix_before(c, &m->v[at - 1]); at--)
        m->v[at] = m->v[at - 1];
    m->v[at] = *c;
}

/* What an empty node gives with as few types as it can, so that each kind of node that could do has
 * a mix, however many there are of others. */
static void mix_of_group(struct mixes *m, const struct group *g, int64_t amount)
{
    int64_t of[CHOICES_MAX] = {0};
    struct serving c = {.n = 0};
    while (amount > 0) {
        size_t best = 0;
        for (size_t n = 1; n < m->k->nchoices; n++)
            if (group_has(g, m->k->choice[n]) - of[n] > group_has(g, m->k->choice[best]) - of[best])
                best = n;
        int64_t most = group_has(g, m->k->choice[best]);
        if (of[best] > 0 || most == 0)
            return; /* all that it has is not enough */
        of[best] = most < amount ? most : amount;
        amount -= of[best];
    }
    for (size_t n = 0; n < m->k->nchoices; n++)
        if (of[n] > 0)
            c.part[c.n++] = (struct use){m->k->choice[n], of[n]};
    mix_put(m, &c);
}

/* The most that one node of the cluster has. */
static int64_t most_of(const struct mixes *m, uint32_t dim)
{
    int64_t most = 0;
    for (size_t i = 0; i < m->w->cl->group.n; i++)
        most = group_has(m->w->cl->group.v[i], dim) > most ? group_has(m->w->cl->group.v[i], dim)
                                                           : most;
    return most;
}

static bool mixes_enough(const struct mixes *m)
{
    return m->looked == MIXES_LOOKED || m->w->mixed == MIXES_STEPS;
}

/* All of them, of which the best stay. */
static void mixes_from(struct mixes *m, struct serving *so_far, size_t next, int64_t rest)
{
    if (mixes_enough(m))
        return;
    m->w->mixed++;
    if (!some_group(m, so_far, next, rest))
        return;
    if (rest == 0 || next == m->k->nchoices) {
        m->looked++;
        mix_put(m, so_far);
        return;
    }
    int64_t most = most_of(m, m->k->choice[next]);
    for (int64_t here = rest < most ? rest : most; here >= 0 && !mixes_enough(m); here--) {
        struct serving more = *so_far;
        if (here > 0)
            more.part[more.n++] = (struct use){m->k->choice[next], here};
        mixes_from(m, &more, next + 1, rest - here);
    }
}

static void mixes_find(struct mixes *m, int64_t amount)
{
    const struct cluster *cl = m->w->cl;
    struct serving none = {.n = 0};
    for (size_t i = 0; i < cl->group.n; i++)
        if (bit_get(cl->group.v[i]->parts, m->o->part->idx))
            mix_of_group(m, cl->group.v[i], amount);
    m->sure = m->n;
    mixes_from(m, &none, 0, amount);
    for (size_t i = 1; i < m->n; i++)
        for (size_t at = i; at > 0 && mix_before(&m->v[at], &m->v[at - 1]); at--) {
            struct serving held = m->v[at];
            m->v[at] = m->v[at - 1];
            m->v[at - 1] = held;
        }
}

/* ---- variants ---- */

/* What one node gives of it; 0 = not the same on each. */
static int64_t on_node(const struct asked *k, const struct layout *l)
{
    if (k->per == PER_NODE)
        return k->item.count;
    if (l->units > 0)
        return 0;
    if (k->per == PER_TASK)
        return amount_times(k->item.count, l->base_tasks + l->unit_tasks);
    return l->gpu_share > 0 ? (k->item.count + l->gpu_share - 1) / l->gpu_share : 0;
}

struct mixing {
    struct demand_work *w;
    struct option *o;
    const struct demand_arm *arm;
    const struct layout *lay;
    struct serving chosen[NEEDS_MAX];
};

/* With mixes for the i-th resource and those after it; `parts`: what was chosen so far has so many.
 * Resources that one type serves get one, and at least one is mixed. */
static void mixing_from(struct mixing *x, size_t i, size_t parts, bool mixed)
{
    struct demand_work *w = x->w;
    if (demand_variants_full(w, x->o) || !demand_try(w))
        return;
    if (i == w->nasked) {
        if (mixed && parts <= NEEDS_MAX - DIM_GRES)
            demand_variant_add(w, x->o, x->lay, x->arm, x->chosen);
        return;
    }
    const struct asked *k = &w->asked[i];
    for (size_t n = 0; n < k->nchoices; n++) {
        x->chosen[i].n = 1;
        x->chosen[i].part[0].dim = k->choice[n];
        if (demand_choice_allowed(w, x->chosen, i))
            mixing_from(x, i + 1, parts + 1, mixed);
    }
    if (!may_mix(w, i) || on_node(k, x->lay) < 2)
        return;
    struct mixes *m = arena_alloc(w->scratch, sizeof *m);
    *m = (struct mixes){.w = w, .o = x->o, .k = k};
    mixes_find(m, on_node(k, x->lay));
    for (size_t n = 0; n < m->n; n++) {
        x->chosen[i] = m->v[n];
        mixing_from(x, i + 1, parts + m->v[n].n, true);
    }
}

static void mixes_of_layout(struct demand_work *w, struct option *o, const struct demand_arm *arm,
                            const struct layout *lay)
{
    struct mixing *x = arena_alloc(w->scratch, sizeof *x);
    *x = (struct mixing){.w = w, .o = o, .arm = arm, .lay = lay};
    mixing_from(x, 0, 0, false);
}

/* Pieces on so many nodes, as many on each. */
static struct layout even_shares(const struct layout *l, int32_t nodes)
{
    int32_t each = l->units / nodes;
    return (struct layout){.nmin = nodes,
                           .nmax = nodes,
                           .umin = 1,
                           .umax = 1,
                           .unit_tasks = l->base_tasks + each * l->unit_tasks,
                           .unit_gpus = amount_plus(l->base_gpus, amount_times(each, l->unit_gpus)),
                           .gpu_share = l->gpu_share > 0 ? nodes : 0};
}

static void mixes_of_shares(struct demand_work *w, struct option *o, const struct demand_arm *arm,
                            const struct layout *l)
{
    int32_t nodes = (int32_t)w->cl->node.n, most = l->units < l->nmax ? l->units : l->nmax;
    for (int32_t n = l->nmin > 1 ? l->nmin : 1; n <= most && n <= nodes; n++) {
        struct layout even = even_shares(l, n);
        if (l->units % n == 0 && l->units / n >= l->umin && l->units / n <= l->umax)
            mixes_of_layout(w, o, arm, &even);
    }
}

void demand_mixes(struct demand_work *w, struct option *o, const struct demand_arm *arm)
{
    bool shares = false;
    for (size_t i = 0; i < w->nasked; i++)
        shares |= may_mix(w, i) && w->asked[i].per != PER_NODE;
    for (size_t i = 0; i < w->nlayouts; i++) {
        mixes_of_layout(w, o, arm, &w->layout[i]);
        if (shares)
            mixes_of_shares(w, o, arm, &w->layout[i]);
    }
}
