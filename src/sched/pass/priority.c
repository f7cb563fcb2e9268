/* Multifactor priority in fixed point with 20 binary places: Σ weight × factor + site − nice, as
 * slurm.conf(5) describes it; or the key of another order. Within a lane it never changes who is
 * first: age is the only factor that differs there, and its rounding keeps the order; ties go to
 * who could run first. */
#include "sched/pass/priority.h"
#include "base/amount.h"

#include "base/alloc.h"
#include "model/job/job_counts.h"
#include "sched/books/classes.h"
#include "sched/books/limits/people.h"
#include "sched/books/settle.h"
#include "sched/books/tables.h"
#include "sched/plan.h"

#include <string.h>

/* ---- factors ---- */

static int64_t ratio(int64_t part, int64_t whole)
{
    return whole > 0 ? amount_times(part, PRIORITY_ONE) / whole : 0;
}

static int64_t within(int64_t factor)
{
    return factor < 0 ? 0 : factor > PRIORITY_ONE ? PRIORITY_ONE : factor;
}

static int64_t age_factor(const struct policy *p, const struct waiting *w, int64_t now_us)
{
    int64_t age = now_us - ages_from(w);
    if (age <= 0)
        return 0;
    if (age >= p->max_age_us)
        return PRIORITY_ONE;
    /* Milliseconds keep the product below 2^63 for a MaxAge of 270 years. */
    int64_t span = p->max_age_us / 1000;
    return span > 0 ? age / 1000 * PRIORITY_ONE / span : PRIORITY_ONE;
}

static int64_t cluster_cpus(const struct cluster *cl)
{
    int64_t cpus = 0;
    for (size_t i = 0; i < cl->group.n; i++)
        cpus += (int64_t)cl->group.v[i]->nodes * cl->group.v[i]->cpus;
    return cpus;
}

/* CPUs asked for, by the first way in which the request could be met. */
static int64_t asked_cpus(const struct option *o)
{
    if (o->nvariants == 0)
        return 0;
    const struct variant *v = &o->variant[0];
    int64_t units = v->lay.units > 0 ? v->lay.units : (int64_t)v->lay.nmin * v->lay.umin;
    int64_t cpus = (int64_t)v->base_cpus * v->lay.nmin + units * v->unit_cpus;
    if (o->mode.whole && o->part->least)
        cpus = (int64_t)v->lay.nmin * o->part->least->cpus;
    return cpus;
}

/* The larger the higher; with PriorityFavorSmall the other way round. Half of it is a share of the
 * nodes, half a share of the CPUs. */
static int64_t size_factor(const struct cluster *cl, const struct option *o)
{
    const struct policy *p = &cl->policy;
    int64_t nodes = o->nodes_min, cpus = asked_cpus(o), all = cluster_cpus(cl), factor;
    if (p->size_by_time) {
        int64_t minutes = o->limit_us == TIME_UNLIMITED ? INT32_MAX : o->limit_us / USEC_PER_MIN;
        int64_t by_nodes = cl->node.n > 0 ? nodes * all / (int64_t)cl->node.n : 0;
        factor =
            within(ratio(by_nodes > cpus ? by_nodes : cpus, all) / (minutes > 0 ? minutes : 1));
    } else {
        factor = within((ratio(nodes, (int64_t)cl->node.n) + ratio(cpus, all)) / 2);
    }
    return p->favor_small ? PRIORITY_ONE - factor : factor;
}

static int64_t part_factor(const struct cluster *cl, const struct option *o)
{
    int64_t most = 1;
    if (cl->policy.part_as_is)
        return o->job_factor * PRIORITY_ONE;
    for (size_t i = 0; i < cl->part.n; i++)
        if (!cl->part.v[i]->gone && cl->part.v[i]->p.priority_job_factor > most)
            most = cl->part.v[i]->p.priority_job_factor;
    return o->job_factor * PRIORITY_ONE / most;
}

/* ---- resources ---- */

static bool gres_meant(const struct cluster *cl, uint32_t dim, const struct tres_weight *t)
{
    return strcmp(cl->dim.v[dim].kind, t->name) == 0 || strcmp(cl->dim.v[dim].label, t->name) == 0;
}

static int64_t asked_mem(const struct option *o, int64_t gpus)
{
    switch (o->mem) {
    case MEM_NODE: return amount_times(o->mem_mib, o->nodes_min);
    case MEM_CPU: return amount_times(o->mem_mib, asked_cpus(o));
    case MEM_GPU: return amount_times(o->nvariants ? o->variant[0].gpu_mem_mib : o->mem_mib, gpus);
    case MEM_WHOLE:
    case MEM_SHARE:
        return o->part->least
                   ? amount_times(o->part->least->mem_mib, asked_cpus(o)) / o->part->least->cpus
                   : 0;
    case MEM_NONE: break;
    }
    return 0;
}

static int64_t asked_gres(const struct cluster *cl, const struct option *o,
                          const struct tres_weight *t, bool any_gpu)
{
    int64_t sum = 0;
    if (o->nvariants == 0)
        return 0;
    const struct variant *v = &o->variant[0];
    int64_t units = v->lay.units > 0 ? v->lay.units : (int64_t)v->lay.nmin * v->lay.umin;
    for (size_t i = 0; i < v->ngres; i++)
        if (any_gpu ? cl->dim.v[v->gres[i].dim].is_gpu : gres_meant(cl, v->gres[i].dim, t))
            sum = amount_plus(sum, amount_plus(amount_times(v->gres[i].base, v->lay.nmin),
                                               amount_times(v->gres[i].unit, units)));
    return sum;
}

static int64_t part_has(const struct cluster *cl, const struct spart *part,
                        const struct tres_weight *t)
{
    int64_t sum = 0;
    for (size_t i = 0; i < cl->group.n; i++) {
        const struct group *g = cl->group.v[i];
        int64_t each = 0;
        if (!bit_get(g->parts, part->idx))
            continue;
        if (t->kind == TRES_CPU)
            each = g->cpus;
        else if (t->kind == TRES_MEM)
            each = g->mem_mib;
        else if (t->kind == TRES_NODE)
            each = 1;
        for (uint32_t d = DIM_GRES; t->kind == TRES_GRES && d < g->ntotal; d++)
            each += gres_meant(cl, d, t) ? g->total[d] : 0;
        sum += each * g->nodes;
    }
    return sum;
}

static int64_t tres_factor(const struct cluster *cl, const struct option *o,
                           const struct tres_weight *t)
{
    int64_t asked = 0;
    switch (t->kind) {
    case TRES_CPU: asked = asked_cpus(o); break;
    case TRES_MEM: asked = asked_mem(o, asked_gres(cl, o, t, true)); break;
    case TRES_NODE: asked = o->nodes_min; break;
    case TRES_GRES: asked = asked_gres(cl, o, t, false); break;
    }
    if (cl->policy.tres_as_is)
        return (asked > INT64_C(1) << 40 ? INT64_C(1) << 40 : asked) * PRIORITY_ONE;
    return within(ratio(asked, part_has(cl, o->part, t)));
}

static int64_t tres_sum(const struct cluster *cl, const struct option *o)
{
    int64_t sum = 0;
    for (size_t i = 0; i < cl->policy.tres.n; i++)
        sum += cl->policy.tres.v[i].milli / 1000 * tres_factor(cl, o, &cl->policy.tres.v[i]);
    return sum;
}

void cluster_set_fairshare(struct cluster *cl, uint32_t uid, const char *account, int64_t factor)
{
    cluster_share(cl, uid, account)->factor = within(factor);
}

void cluster_set_assoc_fairshare(struct cluster *cl, uint32_t assoc, int64_t factor)
{
    cluster_assoc_share(cl, assoc)->factor = within(factor);
}

/* ---- other orders ---- */

/* CPUs, or GPUs at their worth in CPUs, whichever is more. */
static int64_t width_of(const struct cluster *cl, const struct option *o)
{
    const struct variant *v = o->variant;
    int64_t cpus = 1, gpus = 0, all_cpus = 0, all_gpus = 0;
    if (o->nvariants == 0)
        return 1;
    int64_t pieces = v->lay.units > 0 ? v->lay.units : v->lay.nmin;
    cpus = pieces * v->unit_cpus;
    for (size_t i = 0; i < v->ngres; i++)
        gpus = amount_plus(gpus, amount_plus(amount_times(pieces, v->gres[i].unit),
                                             amount_times(v->lay.nmin, v->gres[i].base)));
    for (size_t g = 0; gpus > 0 && g < cl->group.n; g++) {
        const struct group *group = cl->group.v[g];
        all_cpus += (int64_t)group->nodes * group->cpus;
        for (size_t i = 0; i < v->ngres; i++)
            if (v->gres[i].dim < group->ntotal)
                all_gpus += (int64_t)group->nodes * group->total[v->gres[i].dim];
    }
    int64_t worth = all_gpus > 0 ? amount_times(gpus, all_cpus) / all_gpus : 0;
    return worth > cpus ? worth : cpus > 0 ? cpus : 1;
}

static struct order_place place_of(const struct cluster *cl, const struct option *o,
                                   const struct waiting *w)
{
    if (w->place.job_id)
        return w->place;
    return (struct order_place){.job_id = w->job_id,
                                .submit_us = w->submit_us,
                                .since_us = w->ages_us ? w->ages_us : w->eligible_us,
                                .limit_us = o->limit_us,
                                .width = width_of(cl, o),
                                .nice = w->nice};
}

bool cluster_has_places(const struct cluster *cl)
{
    return cl->policy.order != ORDER_PRIORITY;
}

bool sched_stand_of(struct cluster *cl, uint64_t job_id, int64_t now_us, struct order_stand *ret)
{
    cluster_settle(cl);
    const struct wjob *j = map_u64_get(cl->queue.by_job, job_id);
    const struct compiled *c = j ? demand_of(cl, j->lane->klass) : NULL;
    if (!c || !c->n)
        return false;
    *ret = (struct order_stand){.place = place_of(cl, &c->option[0], &j->w),
                                .promised_us = j->w.promised_in ? j->w.promised_us : INT64_MAX,
                                .key = priority_of(cl, &c->option[0], &j->w, now_us),
                                .promised_in = j->w.promised_in,
                                .head = j->w.head,
                                .head_us = j->w.head_us};
    return true;
}

/* ---- who fills what is idle ---- */

/* The larger part that the job takes of so many CPUs and GPUs; more than all where there are none.
 * Who stands in the place of another is as wide as that one. */
static int64_t part_taken(const struct cluster *cl, const struct option *o, const struct waiting *w,
                          int64_t cpus, int64_t gpus)
{
    int64_t asked = asked_cpus(o), devices = asked_gres(cl, o, NULL, true);
    if (w->place.job_id) {
        int64_t own = width_of(cl, o);
        asked = asked * w->place.width / own;
        devices = devices * w->place.width / own;
    }
    int64_t of_cpus = asked > cpus ? PRIORITY_ONE + 1 : ratio(asked, cpus),
            of_gpus = devices > gpus ? PRIORITY_ONE + 1 : ratio(devices, gpus);
    return of_cpus > of_gpus ? of_cpus : of_gpus;
}

int64_t part_of_all(const struct cluster *cl, const struct option *o, const struct waiting *w)
{
    return part_taken(cl, o, w, o->part->idle.all_cpus, o->part->idle.all_gpus);
}

/* It counts for work of more than a quarter of the partition, and more than half as wide as the
 * head: what waits for many nodes is not delayed by what takes the last one. Components, work that
 * shares CPUs, and what a reservation is kept for fill nothing. */
static int64_t fills_of(const struct cluster *cl, const struct option *o, const struct waiting *w)
{
    const struct part_idle *idle = &o->part->idle;
    if (w->het_job_id || o->resv || o->mode.share || o->nvariants == 0)
        return 0;
    int64_t fills = part_taken(cl, o, w, idle->cpus, idle->gpus);
    if (fills < PRIORITY_ONE / 2 || fills > PRIORITY_ONE)
        return 0;
    int64_t all = part_of_all(cl, o, w);
    return all > PRIORITY_ONE / 4 && 2 * all > idle->head ? fills : 0;
}

/* Of such jobs; in the place of another (scontrol top), of such as that. */
static int64_t expected_of(const struct waiting *w)
{
    if (!w->own)
        return 0;
    return share_expected(w->own, w->place.job_id ? w->place.limit_us : job_limit_asked(w->req));
}

struct order_job order_job_of(const struct cluster *cl, const struct option *o,
                              const struct waiting *w, int64_t now_us)
{
    struct order_place place = place_of(cl, o, w);
    return (struct order_job){.job_id = w->job_id,
                              .submit_us = place.since_us > place.submit_us ? place.since_us
                                                                            : place.submit_us,
                              .now_us = now_us,
                              .limit_us = place.limit_us,
                              .expected_us = expected_of(w),
                              .used = w->person ? w->person->used : 0,
                              .busy = w->person ? person_busy(cl, w->person) : 0,
                              .width = place.width,
                              .fills = fills_of(cl, o, w),
                              .nice = place.nice,
                              .age_bound_us = cl->policy.age_bound_us,
                              .promised_us = w->head_us,
                              .head = w->head & serve_bit(o->serve),
                              .oldest = w->oldest & serve_bit(o->serve)};
}

uint64_t priority_of_front(const struct cluster *cl, const struct front *f,
                           const struct order_job *like, int64_t asked_us)
{
    ASSERT(!f->apart && !like->head && !like->oldest && cluster_has_places(cl));
    struct order_job j = *like;
    j.job_id = f->job_id;
    j.submit_us = front_ages_from(f);
    j.expected_us = f->own ? share_expected(f->own, asked_us) : 0;
    j.used = f->person ? f->person->used : 0;
    j.busy = f->person ? person_busy(cl, f->person) : 0;
    j.nice = f->nice;
    return order_key(cl->policy.order, &j);
}

/* ---- the sum ---- */

/* priority/basic, as in Slurm: one less for each job, so that --nice counts the places it gives up.
 * Equal requests go in the order in which they could run all the same. */
static int64_t by_number(const struct waiting *w)
{
    int64_t places =
        UINT32_C(0xffff0000) - (int64_t)(w->job_id < 0xfffeffff ? w->job_id : 0xfffeffff);
    return places * PRIORITY_ONE;
}

uint64_t priority_of(const struct cluster *cl, const struct option *o, const struct waiting *w,
                     int64_t now_us)
{
    ASSERT(w->job_id);
    const struct policy *p = &cl->policy;
    if (w->priority_asked > 0)
        return w->priority_asked > UINT32_MAX ? UINT64_C(1) << 52
                                              : w->priority_asked * PRIORITY_ONE;
    if (p->order != ORDER_PRIORITY) {
        struct order_job j = order_job_of(cl, o, w, now_us);
        return order_key(p->order, &j);
    }
    int64_t sum = p->fifo ? by_number(w) : p->weight_age * age_factor(p, w, now_us);
    if (!p->fifo && p->weight_size)
        sum += p->weight_size * size_factor(cl, o);
    if (!p->fifo && p->weight_part)
        sum += p->weight_part * part_factor(cl, o);
    if (!p->fifo && p->weight_fair && w->share)
        sum += p->weight_fair * w->share->factor;
    if (!p->fifo)
        sum += p->weight_qos * w->qos_factor + p->weight_assoc * w->assoc_factor;
    if (!p->fifo && p->tres.n > 0)
        sum += tres_sum(cl, o);
    sum += (int64_t)w->site * PRIORITY_ONE - w->nice * PRIORITY_ONE;
    uint64_t priority = sum < PRIORITY_ONE ? (uint64_t)PRIORITY_ONE : (uint64_t)sum;
    return p->increase_only && w->floor > priority ? w->floor : priority;
}

/* ---- for people ---- */

static const char *tres_name(const struct tres_weight *t)
{
    static const char *const names[] = {
        [TRES_CPU] = "cpu", [TRES_MEM] = "mem", [TRES_NODE] = "node", [TRES_GRES] = "gres/"};
    return names[t->kind];
}

static void tres_show(const struct cluster *cl, const struct option *o, struct str *sums,
                      struct str *factors)
{
    for (size_t i = 0; i < cl->policy.tres.n; i++) {
        const struct tres_weight *t = &cl->policy.tres.v[i];
        int64_t factor = tres_factor(cl, o, t),
                millionths = factor / (PRIORITY_ONE / 1024) * 15625 / 16;
        str_addf(sums, "%s%s%s=%lld", i ? "," : "", tres_name(t), t->name,
                 (long long)(t->milli / 1000 * factor / PRIORITY_ONE));
        str_addf(factors, "%s%s%s=%lld.%06lld", i ? "," : "", tres_name(t), t->name,
                 (long long)(millionths / 1000000), (long long)(millionths % 1000000));
    }
}

static void parts_fill(const struct cluster *cl, const struct option *o, const struct waiting *w,
                       int64_t now_us, struct priority_row *r)
{
    const struct policy *p = &cl->policy;
    r->partition = o->part->p.name;
    r->priority = priority_of(cl, o, w, now_us) / PRIORITY_ONE;
    r->asked = w->priority_asked > 0;
    r->nice = w->nice;
    if (p->order != ORDER_PRIORITY) {
        /* No sum of weights: all of it is the wait, as the order counts it, so that what is shown
         * adds up. */
        r->age = r->asked ? 0 : (int64_t)r->priority + r->nice;
        return;
    }
    if (p->fifo || r->asked) /* of what is asked for no part is worked out */
        return;
    r->site = w->site;
    r->age_factor = age_factor(p, w, now_us);
    r->size_factor = size_factor(cl, o);
    r->part_factor = part_factor(cl, o);
    r->fairshare_factor = w->share ? w->share->factor : PRIORITY_ONE;
    r->qos_factor = w->qos_factor;
    r->assoc_factor = w->assoc_factor;
    r->qos_part = p->weight_qos * r->qos_factor / PRIORITY_ONE;
    r->assoc = p->weight_assoc * r->assoc_factor / PRIORITY_ONE;
    r->age = p->weight_age * r->age_factor / PRIORITY_ONE;
    r->size = p->weight_size * r->size_factor / PRIORITY_ONE;
    r->part = p->weight_part * r->part_factor / PRIORITY_ONE;
    r->fairshare = p->weight_fair * r->fairshare_factor / PRIORITY_ONE;
    r->tres_sum = tres_sum(cl, o) / PRIORITY_ONE;
}

static void rows_take(const struct cluster *cl, const struct compiled *c, const struct waiting *w,
                      int64_t now_us, priority_take take, void *ctx)
{
    for (size_t i = 0; i < c->n; i++) {
        struct priority_row r = {.job_id = w->job_id, .user_id = w->uid};
        struct str sums = STR_INIT, factors = STR_INIT;
        parts_fill(cl, &c->option[i], w, now_us, &r);
        if (!cl->policy.fifo && cl->policy.order == ORDER_PRIORITY && !r.asked)
            tres_show(cl, &c->option[i], &sums, &factors);
        r.tres = sums.len ? str_text(&sums) : NULL;
        r.tres_factors = factors.len ? str_text(&factors) : NULL;
        take(ctx, &r);
        str_done(&sums);
        str_done(&factors);
    }
}

void sched_priority_rows(struct cluster *cl, uint64_t job_id, int64_t now_us, priority_take take,
                         void *ctx)
{
    cluster_settle(cl);
    const struct wjob *j = map_u64_get(cl->queue.by_job, job_id);
    if (j)
        rows_take(cl, demand_of(cl, j->lane->klass), &j->w, now_us, take, ctx);
}

void sched_priority_of(struct cluster *cl, const struct waiting *w, int64_t now_us,
                       priority_take take, void *ctx)
{
    struct waiting known = *w;
    cluster_settle(cl);
    waiting_know(cl, &known, w->req);
    struct compiled *c = demand_compile(cl, w->req, NULL);
    rows_take(cl, c, &known, now_us, take, ctx);
    demand_free(c);
}
