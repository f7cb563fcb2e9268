/* Every pass begins with what all running work gives back when it ends. That is worked out once for
 * each run and kept in one piece, since it changes seldom: with the configuration, and with what
 * the recount of one of its nodes sees (suspension, releases). */
#include "sched/books/run_pack.h"

#include "base/alloc.h"
#include "sched/books/tables.h"

#include <stdlib.h>
#include <string.h>

void run_pack_drop(struct run *r)
{
    if (r->pack)
        r->pack->version = 0;
}

void run_pack_free(struct run *r)
{
    if (!r->pack)
        return;
    vec_done(&r->pack->take);
    vec_done(&r->pack->use);
    free(r->pack);
    r->pack = NULL;
}

static void use_push(struct run_pack *p, uint32_t dim, int64_t amount)
{
    struct use u = {dim, amount};
    if (amount != 0)
        vec_push(&p->use, u);
}

/* CPUs of all slots that the hold's CPUs lie in. */
static int64_t slot_cpus(const struct hold *h)
{
    const struct group *g = h->node->group;
    int64_t cpus = 0;
    int32_t last = -1;
    for (size_t i = 0; i < h->ncpu; i++) {
        int32_t slot = h->cpu[i] / g->slot_cpus;
        if (slot == last)
            continue;
        last = slot;
        cpus += slot < g->slots ? g->slot_cpus : 1;
    }
    return cpus;
}

/* Nearly always the same as on the node before: then the amounts are shared. */
static void take_push(struct run_pack *p, struct pack_take t)
{
    ASSERT(p->use.n - t.first <= UINT16_MAX);
    t.n = (uint16_t)(p->use.n - t.first);
    if (p->take.n > 0) {
        const struct pack_take *last = &p->take.v[p->take.n - 1];
        bool same = last->n == t.n && last->cpus == t.cpus;
        for (uint32_t i = 0; same && i < t.n; i++)
            same = p->use.v[last->first + i].dim == p->use.v[t.first + i].dim &&
                   p->use.v[last->first + i].amount == p->use.v[t.first + i].amount;
        if (same) {
            p->use.n = t.first;
            t.first = last->first;
        }
    }
    vec_push(&p->take, t);
}

/* Devices whose types have other names by now come free as what they are called now, those of one
 * name together. */
static void gres_push(const struct cluster *cl, struct run_pack *p, const struct hold *h,
                      const struct held_gres *g)
{
    int64_t left = g->back;
    for (size_t i = 0; i < g->nindex && left > 0;) {
        uint32_t dim = held_dim(cl, h->node, g, i);
        int64_t same = 0;
        for (; i < g->nindex && same < left && held_dim(cl, h->node, g, i) == dim; i++)
            same++;
        use_push(p, dim, same);
        left -= same;
    }
    use_push(p, g->dim, left);
}

/* What a hold gives back when it ends. */
static void take_of_hold(const struct cluster *cl, struct run_pack *p, const struct hold *h)
{
    struct pack_take t = {.node = h->node->idx, .first = (uint32_t)p->use.n};
    int64_t cpus = h->run->suspended ? 0 : slot_cpus(h);
    /* CPUs that are shared come free with the last job on them; counting them with every one would
     * promise too much. With none it is too little: who wants them alone is promised nothing until
     * that work is gone. What that must not lead to is in preempt/keep_out.c. */
    use_push(p, DIM_CPU, h->run->shares ? 0 : cpus);
    use_push(p, DIM_SHARE, h->run->shares ? cpus : cpus * cl->policy.share_max);
    use_push(p, DIM_JOBS, h->run->yields ? 0 : run_places(h->run));
    t.cpus = (uint16_t)(p->use.n - t.first);
    use_push(p, DIM_MEM, h->mem_mib);
    for (size_t i = 0; i < h->ngres; i++)
        gres_push(cl, p, h, &h->gres[i]);
    take_push(p, t);
}

const struct run_pack *run_pack_of(const struct cluster *cl, struct run *r)
{
    ASSERT(!cl->derived.stale);
    struct run_pack *p = r->pack;
    if (p && p->version == cl->derived.version)
        return p;
    if (!p)
        p = r->pack = xcalloc(1, sizeof *p);
    vec_clear(&p->take);
    vec_clear(&p->use);
    p->version = cl->derived.version;
    const struct spart *part = r->partition ? cluster_part(cl, r->partition) : NULL;
    p->part = part ? part->idx + 1 : 0;
    for (size_t i = 0; i < r->nholds; i++)
        if (!r->hold[i].released)
            take_of_hold(cl, p, &r->hold[i]);
    for (size_t i = 0; i < r->nlic + r->ncap; i++) {
        const struct lic_use *l = i < r->nlic ? &r->lic[i] : &r->cap[i - r->nlic];
        struct pack_take t = {.node = (uint32_t)cl->node.n + l->lic, .first = (uint32_t)p->use.n};
        use_push(p, DIM_CPU, l->count);
        take_push(p, t);
    }
    return p;
}
