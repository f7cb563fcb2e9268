/* Whoever waits: what a running job may not go on beyond. Of a reservation of others that is what
 * all who run then leave of what it keeps, those that are asked about included: each of two jobs
 * may leave enough of a node or of a licence, and both together too little. */
#include "sched/answer/extend.h"

#include "base/idset.h"
#include "sched/books/resv.h"

struct extend_way {
    const struct cluster *cl;
    const struct extend_ask *ask;
    const struct sresv *s;
    const struct run *r;
    int64_t at_us; /* its time begins */
};

static bool is_asked_about(const struct extend_way *q, const struct run *r)
{
    bool asked = r == q->r;
    for (size_t i = 0; i < q->ask->n; i++)
        asked |= q->ask->job[i] == r->job_id;
    return asked;
}

/* Does it take from others what it has, when the reservation's time begins? What runs in the
 * reservation uses what that keeps. */
static bool has_then(const struct extend_way *q, const struct run *r)
{
    return r->resv != q->s->number && (r->end_us > q->at_us || is_asked_about(q, r));
}

/* CPUs that are shared count once. */
static int64_t cpus_held(const struct extend_way *q, const struct snode *n)
{
    struct idset taken = {0};
    bool whole = false;
    for (size_t i = 0; i < n->hold.n; i++) {
        const struct hold *h = n->hold.v[i];
        if (h->released || !has_then(q, h->run))
            continue;
        whole |= h->run->whole;
        for (size_t k = 0; k < h->ncpu; k++)
            idset_add(&taken, (uint32_t)h->cpu[k]);
    }
    int64_t sum = whole ? n->group->total[DIM_CPU] : (int64_t)taken.count;
    idset_done(&taken);
    return sum;
}

static int64_t held(const struct extend_way *q, const struct snode *n, uint32_t dim)
{
    int64_t sum = 0;
    if (dim == DIM_CPU)
        return cpus_held(q, n);
    for (size_t i = 0; i < n->hold.n; i++) {
        const struct hold *h = n->hold.v[i];
        if (h->released || !has_then(q, h->run))
            continue;
        sum += dim == DIM_MEM ? h->mem_mib : 0;
        for (size_t k = 0; k < h->ngres; k++)
            sum += h->gres[k].dim == dim ? h->gres[k].count : 0;
    }
    return sum;
}

/* Is what it keeps on the node not to be had beside what runs there? */
static bool node_keeps_from(const struct extend_way *q, const struct rpart *part,
                            const struct snode *n)
{
    if (part->whole)
        return true;
    for (uint32_t i = 0; i < part->n; i++) {
        uint32_t dim = part->use[i].dim;
        int64_t total = dim < n->group->ntotal ? n->group->total[dim] : 0;
        if (dim != DIM_SHARE && total - held(q, n, dim) < part->use[i].amount)
            return true;
    }
    return false;
}

static int64_t licences_of(const struct run *r, size_t lic)
{
    int64_t sum = 0;
    for (size_t i = 0; i < r->nlic; i++)
        sum += r->lic[i].lic == lic ? r->lic[i].count : 0;
    return sum;
}

static bool licence_keeps_from(const struct extend_way *q, const struct rpart *part)
{
    size_t lic = part->node - q->cl->node.n;
    int64_t sum = 0;
    if (licences_of(q->r, lic) == 0)
        return false;
    for (size_t i = 0; i < q->cl->run.n; i++)
        if (has_then(q, q->cl->run.v[i]))
            sum += licences_of(q->cl->run.v[i], lic);
    return q->cl->lic.v[lic].total - sum < part->use[0].amount;
}

static bool part_stands_in_way(const struct extend_way *q, const struct rpart *part)
{
    const struct run *r = q->r;
    if (part->node >= q->cl->node.n)
        return licence_keeps_from(q, part);
    for (size_t i = 0; i < r->nholds; i++)
        if (!r->hold[i].released && r->hold[i].node->idx == part->node)
            return node_keeps_from(q, part, r->hold[i].node);
    return false;
}

static bool stands_in_way(const struct extend_way *q)
{
    for (size_t k = 0; k < q->s->part.n; k++)
        if (part_stands_in_way(q, &q->s->part.v[k]))
            return true;
    return false;
}

/* When its next time begins that is not over before the run is; not before the run's end. */
static int64_t begins(const struct cluster *cl, const struct sresv *s, const struct run *r,
                      int64_t now_us)
{
    struct window win[WINDOWS_MAX];
    size_t n = resv_windows(cl, &s->r, now_us, win);
    for (size_t i = 0; i < n; i++)
        if (win[i].end_us > r->end_us)
            return win[i].start_us > r->end_us ? win[i].start_us : r->end_us;
    return TIME_UNLIMITED;
}

int64_t sched_extend_bound(const struct cluster *cl, const struct extend_ask *ask, uint64_t job_id,
                           int64_t now_us, const char **ret_resv)
{
    const struct run *r = map_u64_get(cl->run.by_job, job_id);
    const struct spart *part =
        r && r->partition ? map_str_get(cl->part.by_name, r->partition) : NULL;
    int64_t most = TIME_UNLIMITED;
    *ret_resv = NULL;
    if (!r || r->end_us == TIME_UNLIMITED)
        return most;
    for (size_t i = 0; i < cl->resv.n; i++) {
        struct extend_way q = {.cl = cl, .ask = ask, .s = cl->resv.v[i], .r = r};
        if (!q.s || q.s->number == r->resv)
            continue;
        q.at_us = begins(cl, q.s, r, now_us);
        if (q.at_us >= most || !stands_in_way(&q))
            continue;
        most = q.at_us;
        *ret_resv = q.s->r.name;
    }
    struct time_window limits = {0};
    if (part && part->windows.n > 0)
        time_windows_at(&part->windows, r->start_us, &cl->local.zone, &limits);
    if (limits.max_time_us > 0 && time_add(r->start_us, limits.max_time_us) < most) {
        most = time_add(r->start_us, limits.max_time_us);
        *ret_resv = NULL;
    }
    return most;
}
