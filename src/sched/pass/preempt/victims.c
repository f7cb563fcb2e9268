/* Who may stop whom: work of partitions with a lower PriorityTier, or of the QOS that the asker's
 * QOS lists, where that work's PreemptMode allows it, it is old enough, and what it frees can be
 * used by the one who asks. */
#include "base/alloc.h"
#include "sched/books/classes.h"
#include "sched/books/limits/qos.h"
#include "sched/books/tables.h"
#include "sched/pass/preempt/inside.h"
#include "sched/pass/preempt/preempt.h"

#include <stdlib.h>

/* Between two suspensions of a job: nobody is stopped and woken in circles. */
#define YIELD_PAUSE_US (30 * USEC_PER_SEC)

const struct partition *run_partition(const struct cluster *cl, const struct run *r)
{
    const struct spart *s = r->partition ? cluster_part(cl, r->partition) : NULL;
    return s ? &s->p : NULL;
}

static enum preempt_mode run_mode(const struct cluster *cl, const struct run *r)
{
    const struct partition *p = run_partition(cl, r);
    enum preempt_mode own = PREEMPT_UNSET;
    if (!p)
        return PREEMPT_OFF;
    if (!cl->policy.preempt_qos)
        own = (enum preempt_mode)p->preempt_mode;
    else if (r->qos && r->qos->known)
        own = r->qos->preempt_mode == PREEMPT_OFF ? PREEMPT_UNSET : r->qos->preempt_mode;
    enum preempt_mode mode = own != PREEMPT_UNSET ? own : cl->policy.preempt_mode;
    return mode == PREEMPT_GANG || mode == PREEMPT_UNSET ? PREEMPT_OFF : mode;
}

static int64_t run_exempt_us(const struct cluster *cl, const struct run *r)
{
    bool own = cl->policy.preempt_qos && r->qos && r->qos->known && r->qos->exempt_us > 0;
    return own ? r->qos->exempt_us : cl->policy.preempt_exempt_us;
}

int64_t run_grace_us(const struct cluster *cl, const struct run *r)
{
    const struct partition *p = run_partition(cl, r);
    if (cl->policy.preempt_qos && r->qos && r->qos->known)
        return r->qos->grace_us;
    return p ? p->grace_time_us : 0;
}

/* The rank that is compared: the QOS's list of those it may stop, or the tier of the partition. */
static bool outranks(const struct cluster *cl, const struct compiled *c, const struct option *o,
                     const struct run *r)
{
    const struct partition *p = run_partition(cl, r);
    if (cl->policy.preempt_qos)
        return p && r->qos && r->qos->known && qos_beats(c->qos, r->qos);
    return cl->policy.preempt_tier && p && p->priority_tier < o->tier;
}

/* The same the other way round. */
static bool is_outranked(const struct cluster *cl, const struct compiled *c, const struct option *o,
                         const struct run *r)
{
    const struct partition *p = run_partition(cl, r);
    if (cl->policy.preempt_qos)
        return p && r->qos && r->qos->known && qos_beats(r->qos, c->qos);
    return cl->policy.preempt_tier && p && p->priority_tier > o->tier;
}

/* A component gives way with the others of its job. If the asker would have to give way to one of
 * these, both would stop each other without end. Components that run have numbers that follow each
 * other. */
static bool kin_outranks(const struct cluster *cl, const struct compiled *c, const struct option *o,
                         const struct run *r)
{
    const struct run *k;
    for (int step = -1; r->het && step <= 1; step += 2)
        for (uint64_t id = r->job_id + (uint64_t)step;
             (k = map_u64_get(cl->run.by_job, id)) && k->het == r->het; id += (uint64_t)step)
            if (is_outranked(cl, c, o, k))
                return true;
    return false;
}

/* Who is not above it can stop nobody, and need not look at what runs. */
static int32_t lowest_tier(const struct cluster *cl)
{
    int32_t least = INT32_MAX;
    for (size_t i = 0; i < cl->part.n; i++)
        if (!cl->part.v[i]->gone && cl->part.v[i]->p.priority_tier < least)
            least = cl->part.v[i]->p.priority_tier;
    return least;
}

bool preempt_possible(const struct cluster *cl, const struct compiled *c, const struct option *o)
{
    if (cl->policy.preempt_qos)
        return qos_stops(c->qos);
    return cl->policy.preempt_tier && o->tier > lowest_tier(cl);
}

static bool run_in_part(const struct run *r, const struct spart *part)
{
    for (size_t i = 0; i < r->nholds; i++)
        if (!r->hold[i].released && bit_get(r->hold[i].node->group->parts, part->idx))
            return true;
    return false;
}

static bool chosen_before(const struct pass *p, const struct run *r)
{
    for (size_t i = 0; i < p->v->preempt.n; i++)
        if (p->v->preempt.v[i].victim == r->job_id)
            return true;
    return false;
}

/* May it be stopped now? If only later, the pass is to be made again then. */
static bool run_may_go(struct pass *p, const struct run *r, enum preempt_mode mode)
{
    int64_t now = p->w->now_us, safe_until;
    if (r->ending || mode == PREEMPT_OFF || chosen_before(p, r))
        return false;
    if (mode == PREEMPT_SUSPEND) {
        if (r->suspended)
            return false;
        safe_until = r->yielded_us ? time_add(r->yielded_us, YIELD_PAUSE_US) : 0;
    } else {
        safe_until = time_add(r->start_us, run_exempt_us(p->cl, r));
    }
    if (safe_until <= now)
        return true;
    if (!p->v->exempt_until_us || safe_until < p->v->exempt_until_us)
        p->v->exempt_until_us = safe_until;
    return false;
}

static int64_t run_cpus(const struct run *r)
{
    int64_t cpus = 0;
    for (size_t i = 0; i < r->nholds; i++)
        cpus += r->hold[i].released ? 0 : (int64_t)r->hold[i].ncpu;
    return cpus;
}

/* Least work lost first; among equals the largest, so that few go; then who began last. */
static int victim_order(const void *va, const void *vb)
{
    const struct victim *a = va, *b = vb;
    if (a->lost != b->lost)
        return a->lost < b->lost ? -1 : 1;
    if (a->cpus != b->cpus)
        return a->cpus > b->cpus ? -1 : 1;
    if (a->run->start_us != b->run->start_us)
        return a->run->start_us > b->run->start_us ? -1 : 1;
    return (a->run->job_id > b->run->job_id) - (a->run->job_id < b->run->job_id);
}

/* What a job inside a reservation frees stays that reservation's: stopping it helps only those who
 * may use that. */
static bool reservation_bars(const struct pass *p, const struct option *o, const struct run *r)
{
    const struct sresv *s = r->resv ? p->cl->resv.v[r->resv - 1] : NULL;
    if (!s || !resv_is_on(&s->r, p->w->now_us) || o->resv == s)
        return false;
    return !o->resv || !resv_overlays(o->resv);
}

static bool may_stop(const struct pass *p, const struct compiled *c, const struct option *o,
                     const struct run *r)
{
    return o->never == REASON_NONE && outranks(p->cl, c, o, r) && run_in_part(r, o->part) &&
           !reservation_bars(p, o, r) && !kin_outranks(p->cl, c, o, r);
}

/* Calls for each option of the asker's job or components until one holds. */
static bool any_option(const struct asker *a,
                       bool (*holds)(const struct pass *p, const struct compiled *c,
                                     const struct option *o, const struct run *r),
                       const struct run *r)
{
    if (!a->het)
        return holds(a->p, a->e->c, a->e->o, r);
    for (size_t i = 0; i < a->het->n; i++) {
        const struct compiled *c = demand_of(a->p->cl, a->het->job[i]->lane->klass);
        for (size_t k = 0; k < c->n; k++)
            if (holds(a->p, c, &c->option[k], r))
                return true;
    }
    return false;
}

static bool above_any(const struct pass *p, const struct compiled *c, const struct option *o,
                      const struct run *r)
{
    (void)r;
    return preempt_possible(p->cl, c, o);
}

bool preempt_asks(const struct asker *a)
{
    return (a->p->cl->policy.preempt_tier || a->p->cl->policy.preempt_qos) &&
           any_option(a, above_any, NULL);
}

void victims_collect(const struct asker *a, victims *v)
{
    ASSERT(v->n == 0);
    struct pass *p = a->p;
    struct map_walk walk = {0};
    while (map_u64_next(p->cl->run.by_job, &walk)) {
        struct run *r = walk.value;
        enum preempt_mode mode = run_mode(p->cl, r);
        if (!any_option(a, may_stop, r) || !run_may_go(p, r, mode))
            continue;
        struct victim one = {.run = r, .mode = mode, .cpus = run_cpus(r)};
        int64_t ran = p->w->now_us > r->start_us ? (p->w->now_us - r->start_us) / USEC_PER_SEC : 0;
        /* Suspended work loses time only. */
        one.lost = mode == PREEMPT_SUSPEND          ? 0
                   : p->cl->policy.preempt_youngest ? ran
                                                    : one.cpus * ran;
        vec_push(v, one);
    }
    if (v->n > 1)
        qsort(v->v, v->n, sizeof v->v[0], victim_order);
}
