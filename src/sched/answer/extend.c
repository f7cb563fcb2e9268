/* What starts when is logged by the pass and its forecast, each element of an array for itself; two
 * logs are compared by job. While the forecast steps from end to end both are exact, so any
 * difference counts. Where it takes ends together to stay within its budget, starts are known to a
 * thirty-second of their distance only, and no smaller difference counts there. What is foreseen by
 * the size of the queue alone is not compared.
 *
 * The most that is harmless is looked for by halving. Where the first start that moves would have
 * been is tried first: mostly that is it. What is granted was tried, so it is harmless for sure.
 * That it is the most is so as long as more time harms whoever less harms, which components that
 * have to start together do not promise: while such wait, it is said that others were not tried. */
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
    int64_t *from_us;            /* that, or now: who is past its limit goes on from now */
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
    const struct extend_ask *q = t->ask;
    for (size_t i = 0; i < q->n; i++)
        cluster_set_end(t->cl, q->job[i],
                        add_us == 0 ? t->end_us[i]
                                    : time_add(t->from_us[i], q->each_us ? q->each_us[i] : add_us));
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
    int64_t last = t->from_us[0];
    for (size_t i = 1; i < t->ask->n; i++)
        last = t->from_us[i] > last ? t->from_us[i] : last;
    return last;
}

static bool components_wait(const struct cluster *cl)
{
    for (size_t i = 0; i < cl->queue.lane.n; i++)
        if (cl->queue.lane.v[i]->het)
            return true;
    return false;
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
    ret->cut = bad - good > USEC_PER_MIN && components_wait(t->cl);
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
    ASSERT(!ask->each_us || ask->all);
    cluster_settle(cl);
    struct extend_trial t = {
        .cl = cl, .live = live, .ask = ask, .now_us = now_us, .scratch = plan_new()};
    struct plan_private *v = t.scratch->priv;
    *ret = (struct extension){0};
    v->logs = true;
    t.end_us = xcalloc(ask->n + 1, sizeof t.end_us[0]);
    t.from_us = xcalloc(ask->n + 1, sizeof t.from_us[0]);
    for (size_t i = 0; i < ask->n; i++) {
        const struct run *r = map_u64_get(cl->run.by_job, ask->job[i]);
        t.end_us[i] = r ? r->end_us : now_us;
        t.from_us[i] = t.end_us[i] > now_us ? t.end_us[i] : now_us;
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
    free(t.from_us);
    plan_free(t.scratch);
    return known;
}
