/* Devices first: those that are linked with each other (NVLink), else those that are close to the
 * same cores, in the set that fits best, so that large sets stay whole. Then CPUs: those close to
 * the devices, then from the socket that fits best. */
#include "sched/world/exact.h"

#include "base/alloc.h"
#include "base/idset.h"
#include "sched/books/ranges.h"
#include "sched/world/exact_devices.h"

#include <stdlib.h>
#include <string.h>

struct exacts {
    const struct cluster *cl;
    struct arena *a;
    struct exact **node; /* by node; NULL = not touched */
    const struct exacts *base;
};

struct exacts *exacts_new(const struct cluster *cl, struct arena *a)
{
    struct exacts *e = arena_alloc(a, sizeof *e);
    *e = (struct exacts){.cl = cl, .a = a, .node = xcalloc(cl->node.n + 1, sizeof e->node[0])};
    return e;
}

void exacts_free(struct exacts *e)
{
    free(e->node);
}

struct exacts *exacts_fork(const struct exacts *e)
{
    struct exacts *f = exacts_new(e->cl, e->a);
    f->base = e;
    return f;
}

/* What was taken in the pass stays taken. What was in use when the pass first looked and is idle
 * now was lifted since. */
static void exact_merge(struct exact *x, const struct exact *seen, const struct group *g)
{
    for (int32_t s = 0; s < g->slots; s++)
        if (seen->taken[s])
            x->load[s] = seen->load[s];
    for (size_t d = 0; d < g->ndev; d++)
        if (seen->dev_job[d] == UINT64_MAX)
            x->dev_job[d] = UINT64_MAX;
}

/* Nodes are copied when they are touched: a pass places on few of them, and forks are made for each
 * set of victims that is tried. */
static struct exact *exact_of(struct exacts *e, uint32_t node)
{
    if (!e->node[node]) {
        const struct snode *n = e->cl->node.v[node];
        struct exact *x = e->node[node] = arena_alloc(e->a, sizeof *x);
        x->load = arena_dup(e->a, n->load, ((size_t)n->group->slots + 1) * sizeof n->load[0]);
        x->taken = arena_alloc(e->a, ((size_t)n->group->slots + 1) * sizeof x->taken[0]);
        x->dev_job = arena_dup(e->a, n->dev_job, (n->group->ndev + 1) * sizeof n->dev_job[0]);
        if (e->base && e->base->node[node])
            exact_merge(x, e->base->node[node], n->group);
    }
    return e->node[node];
}

static bool has_devices(const struct group *g, uint32_t dim)
{
    for (size_t d = 0; d < g->ndev; d++)
        if (g->dev[d].dim == dim)
            return true;
    return false;
}

/* ---- CPUs ---- */

static bool slot_usable(const struct choice *ch, int32_t slot, int32_t share)
{
    if (ch->slot[slot])
        return false;
    return share > 0 ? ch->x->load[slot] < share : ch->x->load[slot] == 0;
}

static bool near_chosen(const struct choice *ch, int32_t slot)
{
    for (size_t d = 0; d < ch->g->ndev; d++)
        if (ch->dev[d] && ch->g->dev[d].near && ch->g->dev[d].near[slot])
            return true;
    return false;
}

/* What a partition leaves its jobs of the node together (MaxCPUsPerNode, MaxCPUsPerSocket). On
 * slots that they have already, those that share may lie all the same. */
struct bound {
    char *own;           /* by slot: jobs of the partition are there */
    int32_t *per_socket; /* by socket: slots that they may have besides */
    int32_t per_node;
};

struct socket_rule {
    int32_t per_socket;  /* slots on one socket at most */
    struct bound *bound; /* NULL = none */
    bool own;            /* with a bound: slots of its own jobs only, or others only */
    int32_t share;
    uint16_t load; /* slots with this load only */
};

static bool slot_meets(const struct choice *ch, int32_t slot, const struct socket_rule *r,
                       bool near)
{
    return slot_usable(ch, slot, r->share) && ch->x->load[slot] == r->load &&
           (!r->bound || r->bound->own[slot] == r->own) && (!near || near_chosen(ch, slot));
}

static int32_t bound_room(const struct bound *b, int32_t socket)
{
    return b->per_socket[socket] < b->per_node ? b->per_socket[socket] : b->per_node;
}

/* What a socket has, counted once: sockets may be as many as CPUs. */
struct socket_room {
    int32_t fit, taken; /* slots that meet the rule; slots of this choice */
};

static void socket_count(const struct choice *ch, int32_t socket, const struct socket_rule *r,
                         bool near, struct socket_room *ret)
{
    int32_t each = group_socket_slots(ch->g);
    *ret = (struct socket_room){0};
    for (int32_t s = socket * each; s < (socket + 1) * each && s < ch->g->slots; s++) {
        ret->taken += ch->slot[s];
        ret->fit += slot_meets(ch, s, r, near);
    }
}

static int32_t socket_free(const struct socket_room *has, int32_t socket,
                           const struct socket_rule *r)
{
    int32_t room = r->per_socket - has->taken;
    if (r->bound && !r->own && bound_room(r->bound, socket) < room)
        room = bound_room(r->bound, socket);
    return has->fit < room ? has->fit : room > 0 ? room : 0;
}

/* The one that fits best, else the one that has most; the first of equals; -1 if none has any. What
 * is free only becomes less, so *from, before which there is nothing, only goes on. */
static int32_t socket_best(const struct choice *ch, const struct socket_room *has, int32_t want,
                           const struct socket_rule *r, int32_t *from, int32_t *ret_free)
{
    int32_t each = group_socket_slots(ch->g), best = -1;
    *ret_free = 0;
    for (int32_t k = *from; k < ch->g->sockets; k++) {
        int32_t here = socket_free(&has[k], k, r);
        if (here == 0 && k == *from)
            (*from)++;
        if (here > 0 &&
            (best < 0 || (*ret_free >= want ? here >= want && here < *ret_free : here > *ret_free)))
            best = k, *ret_free = here;
        if (*ret_free == want || (*ret_free == each && each < want))
            break; /* none is better */
    }
    return best;
}

static bool any_near(const struct choice *ch)
{
    for (size_t d = 0; d < ch->g->ndev; d++)
        if (ch->dev[d] && ch->g->dev[d].near)
            return true;
    return false;
}

/* Takes slots socket by socket. */
static int32_t slots_from_sockets(struct choice *ch, int32_t want, const struct socket_rule *r,
                                  bool near)
{
    struct socket_room few[16], *has = few;
    int32_t sockets = ch->g->sockets, each = group_socket_slots(ch->g), from = 0, best, best_free;
    if (near && !any_near(ch))
        return want;
    if ((size_t)sockets > ARRAY_LEN(few))
        has = xcalloc((size_t)sockets, sizeof *has);
    for (int32_t k = 0; k < sockets; k++)
        socket_count(ch, k, r, near, &has[k]);
    while (want > 0 && (best = socket_best(ch, has, want, r, &from, &best_free)) >= 0) {
        int32_t take = best_free < want ? best_free : want;
        want -= take;
        if (r->bound && !r->own) {
            r->bound->per_socket[best] -= take;
            r->bound->per_node -= take;
        }
        for (int32_t s = best * each; s < ch->g->slots && take > 0; s++)
            if (slot_meets(ch, s, r, near)) {
                ch->slot[s] = 1;
                take--;
            }
        socket_count(ch, best, r, near, &has[best]);
    }
    if (has != few)
        free(has);
    return want;
}

/* By slot: do jobs of the partition have it? The caller frees it. */
static char *slots_of(const struct choice *ch, const struct snode *n, const struct spart *part)
{
    char *own = xcalloc((size_t)ch->g->slots + 1, 1);
    for (int32_t s = 0; s < ch->g->slots; s++)
        own[s] = ch->x->taken[s] == part->idx + 1 || ch->x->taken[s] == TAKEN_BY_MANY;
    for (size_t i = 0; i < n->hold.n; i++) {
        const struct hold *h = n->hold.v[i];
        const struct run *r = h->run;
        bool counts = !r->suspended && !r->lifted && text_is(r->partition, part->p.name);
        for (size_t k = 0; k < h->ncpu && counts; k++)
            if (h->cpu[k] / ch->g->slot_cpus < ch->g->slots)
                own[h->cpu[k] / ch->g->slot_cpus] = 1;
    }
    return own;
}

/* False: there is none, or counts have seen to it (resv_view.c): of work that has its CPUs alone
 * they know how many there are on a node. The caller frees what is in it. */
static bool bound_make(const struct choice *ch, const struct snode *n, const struct option *o,
                       struct bound *ret)
{
    const struct partition *p = &o->part->p;
    bool of_node = p->max_cpus_per_node > 0 && o->mode.share > 0;
    int32_t each = group_socket_slots(ch->g), cpus = ch->g->slot_cpus;
    if (p->max_cpus_per_socket <= 0 && !of_node)
        return false;
    ret->own = slots_of(ch, n, o->part);
    ret->per_node = of_node ? p->max_cpus_per_node / cpus : INT32_MAX / 2;
    ret->per_socket = xcalloc((size_t)ch->g->sockets + 1, sizeof ret->per_socket[0]);
    for (int32_t k = 0; k < ch->g->sockets; k++) {
        ret->per_socket[k] =
            p->max_cpus_per_socket > 0 ? p->max_cpus_per_socket / cpus : INT32_MAX / 2;
        for (int32_t s = k * each; s < (k + 1) * each && s < ch->g->slots; s++) {
            ret->per_socket[k] -= ret->own[s];
            ret->per_node -= ret->own[s];
        }
    }
    return true;
}

/* Work that shares lies on idle CPUs first and doubles up as late as it can; at each load those
 * near the chosen devices come first, then any. What its partition has already comes before what
 * it has not. Returns how many are lacking. */
static int32_t slots_by_load(struct choice *ch, int32_t want, struct socket_rule *r)
{
    for (int32_t load = 0; load <= (r->share > 0 ? r->share - 1 : 0) && want > 0; load++) {
        r->load = (uint16_t)load;
        for (int own = r->bound != NULL; own >= 0; own--) {
            r->own = own;
            want = slots_from_sockets(ch, want, r, true);
            want = slots_from_sockets(ch, want, r, false);
        }
    }
    return want;
}

/* With --ntasks-per-socket first those that its tasks need, spread so; what it gets besides may lie
 * anywhere. A whole node is all its sockets. */
static bool slots_choose(struct choice *ch, const struct compiled *c, const struct option *o,
                         struct bound *bound, const struct take *t)
{
    struct socket_rule r = {.per_socket = INT32_MAX, .bound = bound, .share = o->mode.share};
    int32_t want = t->cpus / ch->g->slot_cpus;
    if (c->req->ntasks_per_socket > 0 && !o->mode.whole) {
        int32_t spread = (int32_t)demand_slots_on_sockets(c->req, ch->g, t->tasks);
        int64_t most = demand_slots_together(c->req, ch->g, c->req->ntasks_per_socket);
        r.per_socket = most < INT32_MAX ? (int32_t)most : INT32_MAX;
        if (slots_by_load(ch, spread, &r) > 0)
            return false;
        want -= spread;
        r.per_socket = INT32_MAX;
    }
    return slots_by_load(ch, want, &r) == 0;
}

/* ---- the answer ---- */

static char *ranges_text(struct exacts *e, struct ranges *r)
{
    ranges_flush(r);
    char *text = arena_strdup(e->a, str_text(&r->text));
    str_done(&r->text);
    return text;
}

static char *cpus_text(struct exacts *e, const struct choice *ch)
{
    struct ranges r = {0};
    for (int32_t s = 0; s < ch->g->slots; s++)
        for (int32_t t = 0; ch->slot[s] && t < ch->g->slot_cpus; t++)
            ranges_add(&r, s * ch->g->slot_cpus + t);
    return ranges_text(e, &r);
}

/* NULL where the resource has no devices. */
static char *devices_text(struct exacts *e, const struct choice *ch, uint32_t dim)
{
    struct ranges r = {0};
    bool any = false;
    for (size_t d = 0; d < ch->g->ndev; d++)
        if (ch->dev[d] && ch->g->dev[d].dim == dim) {
            ranges_add(&r, ch->g->dev[d].index);
            any = true;
        }
    char *text = ranges_text(e, &r);
    return any ? text : NULL;
}

static void answer(struct exacts *e, const struct choice *ch, const struct take *t, uint32_t node,
                   struct alloc_node *ret)
{
    *ret = (struct alloc_node){
        .node = e->cl->node.v[node]->name, .mem_mib = t->mem_mib, .tasks = t->tasks};
    for (int32_t s = 0; s < ch->g->slots; s++)
        ret->cpu_count += ch->slot[s] ? ch->g->slot_cpus : 0;
    ret->cpus = cpus_text(e, ch);
    ret->gres = arena_alloc(e->a, (t->n + 1) * sizeof ret->gres[0]);
    for (uint32_t i = 0; i < t->n; i++)
        if (t->use[i].dim >= DIM_GRES)
            ret->gres[ret->ngres++] =
                (struct alloc_gres){.kind = e->cl->dim.v[t->use[i].dim].kind,
                                    .type = e->cl->dim.v[t->use[i].dim].type,
                                    .count = t->use[i].amount,
                                    .devices = devices_text(e, ch, t->use[i].dim)};
}

static void choice_apply(struct choice *ch, const struct option *o)
{
    for (int32_t s = 0; s < ch->g->slots; s++)
        if (ch->slot[s]) {
            uint32_t *by = &ch->x->taken[s], part = o->part->idx + 1;
            *by = *by == 0 || *by == part ? part : TAKEN_BY_MANY;
            ch->x->load[s] = o->mode.share > 0 ? (uint16_t)(ch->x->load[s] + 1) : LOAD_ALONE;
        }
    for (size_t d = 0; d < ch->g->ndev; d++)
        if (ch->dev[d])
            ch->x->dev_job[d] = UINT64_MAX;
}

/* A job that has the node to itself gets all of its GPUs that are there. */
static void take_all_gpus(const struct cluster *cl, const struct choice *ch, struct take *t)
{
    for (uint32_t d = DIM_GRES; d < ch->g->ntotal; d++) {
        int64_t there = 0;
        uint32_t at = 0;
        for (size_t i = 0; i < ch->g->ndev; i++)
            there += ch->g->dev[i].dim == d && !ch->x->dev_job[i];
        while (at < t->n && t->use[at].dim != d)
            at++;
        if (!cl->dim.v[d].is_gpu || !has_devices(ch->g, d) || there == 0 || at == NEEDS_MAX)
            continue;
        t->n += at == t->n;
        t->use[at] = (struct use){d, there};
    }
}

static int64_t taken_of(const struct take *t, uint32_t dim)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->use[i].dim == dim)
            return t->use[i].amount;
    return 0;
}

/* With --gpus-per-socket those that are asked for lie so; what a whole node gives besides lies
 * wherever it does. */
static bool devices_choose(struct choice *ch, const struct compiled *c, const struct take *asked,
                           const struct take *t)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < t->n; i++) {
        uint32_t dim = t->use[i].dim;
        if (dim < DIM_GRES || !has_devices(ch->g, dim))
            continue;
        int64_t first = taken_of(asked, dim), per = demand_each_socket(c, dim, first);
        first = per > 0 ? first : 0;
        ok = (first == 0 ||
              demand_devices_by_socket(ch->g, dim, first, per, ch->x->dev_job, ch->dev)) &&
             exact_devices(ch, dim, t->use[i].amount - first);
    }
    return ok;
}

bool exact_take(struct exacts *e, const struct compiled *c, const struct option *o,
                const struct variant *v, uint32_t node, int32_t units, struct alloc_node *ret)
{
    ASSERT(node < e->cl->node.n && units > 0);
    const struct group *g = e->cl->node.v[node]->group;
    struct choice ch = {.x = exact_of(e, node), .g = g};
    struct take t;
    CHECK(demand_take(e->cl, c, o, v, g, units, &t));
    const struct take asked = t;
    if (o->mode.whole)
        take_all_gpus(e->cl, &ch, &t);
    ch.slot = xcalloc((size_t)g->slots + 1, 1);
    ch.dev = xcalloc(g->ndev + 1, 1);
    bool ok = devices_choose(&ch, c, &asked, &t);
    struct bound bound = {0};
    bool bounded = bound_make(&ch, e->cl->node.v[node], o, &bound);
    ok = ok && slots_choose(&ch, c, o, bounded ? &bound : NULL, &t);
    free(bound.own);
    free(bound.per_socket);
    /* At the end, but never all */
    int32_t spared = c->req->core_spec > 1 ? c->req->core_spec - 1 : 0;
    for (int32_t s = spared < g->slots ? g->slots - spared : 1; ok && s < g->slots; s++)
        ch.slot[s] = 0;
    if (ok) {
        answer(e, &ch, &t, node, ret);
        choice_apply(&ch, o);
    }
    free(ch.slot);
    free(ch.dev);
    return ok;
}

void exact_back(struct exacts *e, uint32_t node, const struct option *o,
                const struct alloc_node *an)
{
    ASSERT(node < e->cl->node.n);
    const struct group *g = e->cl->node.v[node]->group;
    struct exact *x = exact_of(e, node);
    struct idset set = IDSET_INIT;
    if (idset_parse(&set, an->cpus, INT32_MAX, NULL))
        for (int32_t s = 0; s < g->slots; s++)
            if (idset_has(&set, (uint32_t)(s * g->slot_cpus)))
                x->load[s] = o->mode.share > 0 ? (uint16_t)(x->load[s] - 1) : 0;
    for (size_t i = 0; i < an->ngres; i++) {
        if (!an->gres[i].devices || !idset_parse(&set, an->gres[i].devices, INT32_MAX, NULL))
            continue;
        for (size_t d = 0; d < g->ndev; d++)
            if (text_is(e->cl->dim.v[g->dev[d].dim].kind, an->gres[i].kind) &&
                idset_has(&set, (uint32_t)g->dev[d].index))
                x->dev_job[d] = 0;
    }
    idset_done(&set);
}

bool exact_take_back(struct exacts *e, uint32_t node, const int32_t *cpu, size_t ncpu, bool shares)
{
    ASSERT(node < e->cl->node.n);
    const struct group *g = e->cl->node.v[node]->group;
    struct exact *x = exact_of(e, node);
    for (size_t i = 0; i < ncpu; i++) {
        int32_t slot = cpu[i] / g->slot_cpus;
        if (slot < g->slots && (shares ? x->load[slot] == LOAD_ALONE : x->load[slot] > 0))
            return false;
    }
    for (size_t i = 0; i < ncpu; i++) {
        int32_t slot = cpu[i] / g->slot_cpus;
        if (slot >= g->slots || (i > 0 && slot == cpu[i - 1] / g->slot_cpus))
            continue;
        x->load[slot] = shares ? (uint16_t)(x->load[slot] + 1) : LOAD_ALONE;
        x->taken[slot] = TAKEN_BY_MANY;
    }
    return true;
}
