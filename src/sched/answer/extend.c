/* What starts when is logged by the pass and its forecast, each element of an array for itself; two
 * logs are compared by job. While the forecast steps from end to end both are exact, so any
 * difference counts. Where it takes ends together to stay within its budget, starts are known to a
 * thirty-second of their distance only, and no smaller difference counts there. What is foreseen by
 * the size of the queue alone is not compared.
 *
 * The most that is harmless is looked for by halving. Where the first start that moves would have
 * been is tried first: mostly that is it. */
#include "sched/answer/extend.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "sched/books/settle.h"
#include "sched/pass/freed.h"
#include "sched/pass/pass.h"
#include "sched/pass/standing.h"

#include <stdlib.h>

#define COARSE 32 /* as forecast.c takes ends together */

struct extend_trial {
    struct cluster *cl;
    const struct plan *live;
    const struct extend_ask *ask;
    int64_t now_us;
    struct plan *scratch;
    VEC(struct started) before, after;
    bool after_all;              /* who is not in it starts never, or is not promised to */
    int64_t before_us, after_us; /* exact until then */
    int64_t *end_us;             /* of each job, as it is */
    uint64_t cost;
};

static int by_job(const void *va, const void *vb)
{
    const struct started *a = va, *b = vb;
    if (a->job_id != b->job_id)
        return a->job_id < b->job_id ? -1 : 1;
    return (a->start_us > b->start_us) - (a->start_us < b->start_us);
}

static void ends_set(struct extend_trial *t, int64_t add_us)
{
    for (size_t i = 0; i < t->ask->n; i++)
        cluster_set_end(t->cl, t->ask->job[i], time_add(t->end_us[i], add_us));
}

/* False: it was broken off. */
static bool starts_find(struct extend_trial *t, uint64_t most, bool *ret_all)
{
    struct plan_private *v = t->scratch->priv;
    struct pass p;
    bool whole = true;
    plan_recall(v, t->live->priv);
    pass_open(&p, t->cl, v, t->now_us, NULL, false);
    freed_begin(&p);
    pass_step(&p);
    standing_leave(&p);
    if (!t->ask->promises_only)
        whole = pass_forecast(&p, t->cl->policy.promises, most);
    *ret_all = t->ask->promises_only || (whole && !v->log_cut && t->cl->policy.promises == 0);
    t->cost += p.cost + p.w->nall * p.w->dims * 12 + p.entry.n * 100;
    pass_close(&p);
    if (v->log.n > 1)
        qsort(v->log.v, v->log.n, sizeof v->log.v[0], by_job);
    return whole;
}

/* ---- comparing ---- */

static int64_t slack_at(const struct extend_trial *t, int64_t start_us)
{
    int64_t exact = t->before_us < t->after_us ? t->before_us : t->after_us;
    return start_us < exact ? 0 : (start_us - t->now_us) / COARSE + USEC_PER_MIN;
}

/* How much later it starts; 0 = not later. `then` NULL: it was not foreseen. */
static int64_t moved(const struct extend_trial *t, const struct started *was,
                     const struct started *then)
{
    if (!then)
        return t->after_all ? TIME_UNLIMITED : 0;
    int64_t later = then->start_us - was->start_us;
    return later > slack_at(t, was->start_us) ? later : 0;
}

/* Fills who is later; `ret_first_us`: the first of the starts that move, as it was. */
static void compare(const struct extend_trial *t, struct extension *ret, int64_t *ret_first_us)
{
    size_t k = 0;
    uint64_t last = 0;
    *ret_first_us = INT64_MAX;
    ret->later_job = ret->later_jobs = 0;
    ret->later_us = 0;
    for (size_t i = 0; i < t->before.n; i++) {
        const struct started *was = &t->before.v[i];
        while (k < t->after.n && t->after.v[k].job_id < was->job_id)
            k++;
        const struct started *then =
            k < t->after.n && t->after.v[k].job_id == was->job_id ? &t->after.v[k++] : NULL;
        int64_t later = moved(t, was, then);
        if (later == 0)
            continue;
        *ret_first_us = was->start_us < *ret_first_us ? was->start_us : *ret_first_us;
        ret->later_jobs += was->job_id != last;
        last = was->job_id;
        if (later > ret->later_us) {
            ret->later_us = later;
            ret->later_job = was->job_id;
        }
    }
}

/* Does nobody start later with so much? */
static bool harmless(struct extend_trial *t, int64_t add_us, struct extension *ret,
                     int64_t *ret_first_us)
{
    struct plan_private *v = t->scratch->priv;
    ends_set(t, add_us);
    bool whole = starts_find(t, UINT64_MAX, &t->after_all);
    ends_set(t, 0);
    vec_clear(&t->after);
    for (size_t i = 0; i < v->log.n; i++)
        vec_push(&t->after, v->log.v[i]);
    t->after_us = v->exact_until_us;
    compare(t, ret, ret_first_us);
    return whole && ret->later_jobs == 0;
}

/* ---- looking for the most ---- */

static int64_t minutes(int64_t us)
{
    return us / USEC_PER_MIN * USEC_PER_MIN;
}

static int64_t last_end(const struct extend_trial *t)
{
    int64_t last = t->end_us[0];
    for (size_t i = 1; i < t->ask->n; i++)
        last = t->end_us[i] > last ? t->end_us[i] : last;
    return last;
}

static void most_find(struct extend_trial *t, struct extension *ret)
{
    int64_t first_us, good = 0, bad = t->ask->add_us;
    struct extension other;
    if (harmless(t, bad, ret, &first_us)) {
        ret->granted_us = bad;
        return;
    }
    if (t->ask->all)
        return;
    int64_t try = first_us == INT64_MAX ? 0 : minutes(first_us - last_end(t));
    while (bad - good > USEC_PER_MIN) {
        if (t->cost >= t->ask->cost_max) {
            ret->cut = true;
            break;
        }
        if (try <= good || try >= bad)
            try = minutes(good + (bad - good) / 2);
        if (try <= good)
            break;
        if (harmless(t, try, &other, &first_us)) {
            good = try;
            try += USEC_PER_MIN;
        } else {
            bad = try;
            try = first_us == INT64_MAX ? 0 : minutes(first_us - last_end(t));
        }
    }
    ret->granted_us = good;
}

bool sched_extend(struct cluster *cl, const struct plan *live, const struct extend_ask *ask,
                  int64_t now_us, struct extension *ret)
{
    ASSERT(live && ask->n > 0);
    cluster_settle(cl);
    struct extend_trial t = {
        .cl = cl, .live = live, .ask = ask, .now_us = now_us, .scratch = plan_new()};
    struct plan_private *v = t.scratch->priv;
    *ret = (struct extension){0};
    v->logs = true;
    t.end_us = xcalloc(ask->n + 1, sizeof t.end_us[0]);
    for (size_t i = 0; i < ask->n; i++) {
        const struct run *r = map_u64_get(cl->run.by_job, ask->job[i]);
        t.end_us[i] = r ? r->end_us : now_us;
    }
    bool known = starts_find(&t, ask->cost_max, &t.after_all);
    for (size_t i = 0; i < v->log.n; i++)
        vec_push(&t.before, v->log.v[i]);
    t.before_us = v->exact_until_us;
    if (known)
        most_find(&t, ret);
    vec_done(&t.before);
    vec_done(&t.after);
    free(t.end_us);
    plan_free(t.scratch);
    return known;
}

/* ---- whoever waits ---- */

/* Is what it keeps on the node not to be had beside what the run holds there? */
static bool keeps_from(const struct cluster *cl, const struct rpart *part, const struct hold *h)
{
    const struct group *g = h->node->group;
    if (part->whole)
        return true;
    for (uint32_t i = 0; i < part->n; i++) {
        uint32_t dim = part->use[i].dim;
        int64_t total = dim < g->ntotal ? g->total[dim] : 0, held = 0;
        if (dim == DIM_CPU)
            held = h->run->whole ? total : (int64_t)h->ncpu;
        else if (dim == DIM_MEM)
            held = h->mem_mib;
        for (size_t k = 0; k < h->ngres; k++)
            held += h->gres[k].dim == dim ? h->gres[k].count : 0;
        if (total - held < part->use[i].amount)
            return true;
    }
    (void)cl;
    return false;
}

static bool stands_in_way(const struct cluster *cl, const struct sresv *s, const struct run *r)
{
    if (!s || s->number == r->resv)
        return false;
    for (size_t i = 0; i < r->nholds; i++)
        for (size_t k = 0; !r->hold[i].released && k < s->part.n; k++)
            if (s->part.v[k].node == r->hold[i].node->idx &&
                keeps_from(cl, &s->part.v[k], &r->hold[i]))
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

int64_t sched_extend_bound(const struct cluster *cl, uint64_t job_id, int64_t now_us,
                           const char **ret_resv)
{
    const struct run *r = map_u64_get(cl->run.by_job, job_id);
    const struct spart *part =
        r && r->partition ? map_str_get(cl->part.by_name, r->partition) : NULL;
    int64_t most = TIME_UNLIMITED;
    *ret_resv = NULL;
    if (!r || r->end_us == TIME_UNLIMITED)
        return most;
    for (size_t i = 0; i < cl->resv.n; i++) {
        const struct sresv *s = cl->resv.v[i];
        int64_t at = stands_in_way(cl, s, r) ? begins(cl, s, r, now_us) : TIME_UNLIMITED;
        if (at >= most)
            continue;
        most = at;
        *ret_resv = s->r.name;
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
