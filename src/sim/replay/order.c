/* In which order jobs are to start, and how long they are believed to run.
 *
 * The conservative reference keeps a place for every job (profile.h); the machine is told to
 * hold each until its place has come. */
#include "base/alloc.h"
#include "sim/replay/inside.h"

#include <stdlib.h>

/* ---- run times ---- */

static struct user_runs *runs_of(const struct replay *p, const struct trace_job *j)
{
    return j->user >= 0 ? map_u64_get(p->users, (uint64_t)j->user) : NULL;
}

static int64_t predicted(const struct replay *p, const struct trace_job *j)
{
    const struct user_runs *u = runs_of(p, j);
    if (!u || u->before < 0)
        return j->estimate;
    int64_t mean = (u->last + u->before) / 2;
    mean = mean > 1 ? mean : 1;
    return mean < j->estimate ? mean : j->estimate;
}

void prediction_learn(struct replay *p, uint32_t i)
{
    ASSERT(i < p->t->job.n);
    const struct trace_job *j = &p->t->job.v[i];
    if (p->s->estimates != ESTIMATES_PREDICT || j->user < 0)
        return;
    struct user_runs *u = runs_of(p, j);
    if (!u) {
        u = xcalloc(1, sizeof *u);
        u->last = -1;
        map_u64_put(p->users, (uint64_t)j->user, u);
    }
    u->before = u->last;
    u->last = j->run;
}

int64_t estimate_of(struct replay *p, uint32_t i)
{
    ASSERT(i < p->t->job.n);
    const struct trace_job *j = &p->t->job.v[i];
    int64_t seconds = j->estimate;
    switch (p->s->estimates) {
    case ESTIMATES_USER: break;
    case ESTIMATES_PERFECT: seconds = j->run; break;
    case ESTIMATES_FACTOR: seconds = (j->run * p->s->factor + 999) / 1000; break;
    case ESTIMATES_PREDICT: return predicted(p, j);
    }
    return seconds > j->run ? seconds : j->run;
}

/* ---- orders ---- */

static int64_t key_of(const struct replay *p, uint32_t i, bool passing)
{
    ASSERT(i < p->t->job.n);
    const struct trace_job *t = &p->t->job.v[i];
    const struct ref_policy *policy = &p->s->policy;
    /* Of those that pass, the SC '15 simulator lets equal estimates go by arrival. */
    bool by_arrival = passing && p->s->rule == RULE_EVENT && policy->passing != policy->order;
    return ref_key(passing ? policy->passing : policy->order, p->job[i].limit,
                   by_arrival ? 0 : t->procs, t->submit, p->now);
}

static uint32_t index_of(const struct replay *p, uint64_t job_id)
{
    return (uint32_t)(uintptr_t)map_u64_get(p->by_id, job_id) - 1;
}

static bool key(void *ctx, const struct order_job *j, bool passing, int64_t *ret_key)
{
    struct replay *p = ctx;
    uint32_t i = index_of(p, j->job_id);
    *ret_key = key_of(p, i, passing);
    return (p->s->policy.backfill != REF_CONSERVATIVE || p->job[i].place <= p->now) &&
           !p->job[i].held_back;
}

static void started(void *ctx, uint64_t job_id, enum start_why why)
{
    struct replay *p = ctx;
    p->r->job[index_of(p, job_id)].why = why;
}

/* A promise that is later than the one of the pass before has moved. (One pass without one: others
 * came first in the order.) */
static void promised(void *ctx, uint64_t job_id, int64_t start_us)
{
    struct replay *p = ctx;
    struct live_job *l = &p->job[index_of(p, job_id)];
    int64_t at = start_us / USEC_PER_SEC - p->epoch;
    p->r->promises++;
    if (l->promise_pass && l->promise_pass + 1 == p->pass_mark && at > l->promise &&
        l->promise > p->now)
        p->r->moved_later++;
    l->promise = at;
    l->promise_pass = p->pass_mark;
}

void hook_fill(struct replay *p)
{
    bool reference = p->s->policy.order != REF_DAEMON;
    p->hook = (struct order_hook){.ctx = p,
                                  .key = reference ? key : NULL,
                                  .started = started,
                                  .promised = promised,
                                  .passing = p->s->policy.passing != p->s->policy.order,
                                  .strict = p->s->policy.backfill == REF_NONE,
                                  .no_forecast = !p->s->foresee};
}

/* ---- a cap on how many are considered ---- */

struct replay_order_ranked {
    int64_t key;
    uint32_t job;
};

static int ranked_order(const void *a, const void *b)
{
    const struct replay_order_ranked *x = a, *y = b;
    return x->key != y->key ? (x->key < y->key ? 1 : -1) : (x->job > y->job) - (x->job < y->job);
}

void depth_mark(struct replay *p)
{
    size_t kept = 0;
    struct replay_order_ranked *r = xcalloc(p->queue.n + 1, sizeof r[0]);
    for (size_t k = 0; k < p->queue.n; k++)
        if (p->r->job[p->queue.v[k]].end == 0)
            p->queue.v[kept++] = p->queue.v[k];
    p->queue.n = kept;
    for (size_t k = 0; k < kept; k++)
        r[k] = (struct replay_order_ranked){key_of(p, p->queue.v[k], false), p->queue.v[k]};
    /* In order of arrival they stand in order already. */
    if (p->s->policy.order != REF_ARRIVAL)
        qsort(r, kept, sizeof r[0], ranked_order);
    for (size_t k = 0; k < kept; k++)
        p->job[r[k].job].held_back = k >= p->s->depth;
    free(r);
}

/* ---- places ---- */

void place_take(struct replay *p, uint32_t i)
{
    ASSERT(i < p->t->job.n);
    int64_t procs = p->t->job.v[i].procs, limit = p->job[i].limit;
    p->job[i].place = profile_earliest(&p->plan, p->now, procs, limit);
    profile_add(&p->plan, p->job[i].place, p->job[i].place + limit, -procs);
}

static void place_give(struct replay *p, uint32_t i, int64_t from)
{
    ASSERT(i < p->t->job.n);
    profile_add(&p->plan, from, p->job[i].place + p->job[i].limit, p->t->job.v[i].procs);
}

/* The job that ended gives back what was kept for it, and every waiting job in turn gives up its
 * place for the earliest there is now. */
void places_compress(struct replay *p, uint32_t ended)
{
    size_t kept = 0;
    profile_forget(&p->plan, p->now);
    place_give(p, ended, p->now);
    for (size_t k = 0; k < p->queue.n; k++) {
        uint32_t i = p->queue.v[k];
        if (p->job[i].place <= p->now)
            continue;
        place_give(p, i, p->job[i].place);
        place_take(p, i);
        p->queue.v[kept++] = i;
    }
    p->queue.n = kept;
    core_set_order(p->core, &p->hook);
}

int64_t place_next(const struct replay *p)
{
    int64_t next = NEVER;
    for (size_t k = 0; k < p->queue.n; k++) {
        int64_t place = p->job[p->queue.v[k]].place;
        if (place > p->now && place < next)
            next = place;
    }
    return next;
}
