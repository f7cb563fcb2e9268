/* In an order that tells users apart a lane is one user's, and a hundred thousand jobs in forty
 * shapes are twenty thousand lanes. But once the first of equals is blocked, so are the others,
 * whosever they are, and what is noted of them is noted of their class. So in a step after which
 * nobody asks for the rest only that one is an entry. What the order asks of the others is read
 * from one list (books/lanes.h), and they are not put in order unless the first starts. */
#include "base/alloc.h"
#include "model/job/job_counts.h"
#include "sched/pass/live.h"
#include "sched/pass/preempt/preempt.h"
#include "sched/pass/priority.h"

#include <stdlib.h>
#include <string.h>

bool equals_may_stand(const struct pass *p)
{
    const struct cluster *cl = p->cl;
    return cl->policy.promise_to == PROMISES_HEAD && cl->queue.promised_in.n == 0 &&
           p->v->owed.n == 0 && !cl->policy.increase_only;
}

/* Nothing but room on nodes keeps its jobs, and what is room for one of them is for all; or none
 * can ever start. */
static bool stand_as_one(const struct pass *p, const struct compiled *c)
{
    const struct option *o = c->option;
    if (c->n != 1 || o->never != REASON_NONE)
        return c->n == 1;
    return counts_tell(p, c, o) && c->nlic == 0 && !o->resv && o->part->windows.n == 0 &&
           c->req->switches <= 0;
}

/* Of two lanes of equals, by the keys of their firsts. */
static bool comes_before(const struct pass *p, uint32_t a, uint32_t b)
{
    const struct front *x = &p->cl->queue.front.v[a], *y = &p->cl->queue.front.v[b];
    if (p->key[a] != p->key[b])
        return p->key[a] > p->key[b];
    if (x->since_us != y->since_us)
        return x->since_us < y->since_us;
    return x->submit_us != y->submit_us ? x->submit_us < y->submit_us : x->job_id < y->job_id;
}

static void key_make(struct pass *p, const struct equals *of, uint32_t lane)
{
    const struct front *f = &p->cl->queue.front.v[lane];
    const struct option *o = p->cl->klass.v[f->klass]->made->option;
    p->key[lane] = of->like ? priority_of_front(p->cl, f, of->like, of->asked_us)
                            : priority_of(p->cl, o, &f->job->w, p->v->now_us);
}

/* Keys are asked for once there are two of them. */
static void equals_begin(struct pass *p, struct equals *of)
{
    const struct front *f = &p->cl->queue.front.v[of->first];
    const struct option *o = p->cl->klass.v[f->klass]->made->option;
    of->keyed = true;
    of->asked_us = job_limit_asked(f->job->w.req);
    if (cluster_has_places(p->cl)) {
        struct order_job *like = arena_alloc(p->v->arena, sizeof *like);
        *like = order_job_of(p->cl, o, &f->job->w, p->v->now_us);
        of->like = like;
    }
    key_make(p, of, of->first);
}

static void equals_join(struct pass *p, struct equals *of, uint32_t lane)
{
    uint32_t first = of->first;
    if (first == NONE) {
        of->first = lane;
        return;
    }
    if (!of->keyed)
        equals_begin(p, of);
    key_make(p, of, lane);
    bool better = comes_before(p, lane, first);
    of->first = better ? lane : first;
    vec_push(&of->behind, better ? first : lane);
    p->behind++;
}

/* Who goes first whatever its key is an entry of its own. */
static void firsts_apart(struct pass *p, const uint64_t *job, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct wjob *j = map_u64_get(p->cl->queue.by_job, job[i]);
        if (j && p->cl->queue.front.v[j->lane->idx].job == j && !p->left[j->lane->idx])
            lane_enter(p, j->lane);
    }
}

static void leader_enter(struct pass *p, uint32_t lane)
{
    lane_enter(p, p->cl->queue.lane.v[lane]);
    p->entry.v[p->entry.n - 1].leads = true;
}

void equals_enter(struct pass *p)
{
    struct cluster *cl = p->cl;
    p->equals = xcalloc(cl->klass.n + 1, sizeof p->equals[0]);
    p->key = xmalloc((cl->queue.lane.n + 1) * sizeof p->key[0]);
    for (size_t k = 0; k < cl->klass.n; k++) {
        p->equals[k].first = NONE;
        p->equals[k].as_one =
            cl->klass.v[k] && stand_as_one(p, demand_unchosen(cl, cl->klass.v[k]));
    }
    firsts_apart(p, cl->queue.head.v, cl->queue.head.n);
    firsts_apart(p, cl->queue.oldest.v, cl->queue.oldest.n);
    for (uint32_t i = 0; i < cl->queue.lane.n; i++) {
        const struct front *f = &cl->queue.front.v[i];
        if (p->left[i])
            continue;
        if (p->equals[f->klass].as_one && !f->apart)
            equals_join(p, &p->equals[f->klass], i);
        else
            lane_enter(p, cl->queue.lane.v[i]);
    }
    for (size_t k = 0; k < cl->klass.n; k++)
        if (p->equals[k].first != NONE)
            leader_enter(p, p->equals[k].first);
}

/* A heap: who stands at i comes before those at 2i + 1 and 2i + 2. */
static void sift(const struct pass *p, struct equals *of, size_t i)
{
    uint32_t *v = of->behind.v, lane = v[i];
    for (size_t k; (k = 2 * i + 1) < of->behind.n; i = k) {
        k += k + 1 < of->behind.n && comes_before(p, v[k + 1], v[k]);
        if (!comes_before(p, v[k], lane))
            break;
        v[i] = v[k];
    }
    v[i] = lane;
}

static uint32_t behind_next(const struct pass *p, struct equals *of)
{
    for (size_t i = of->heaped ? 0 : of->behind.n / 2; i-- > 0;)
        sift(p, of, i);
    of->heaped = true;
    uint32_t next = of->behind.v[0];
    of->behind.v[0] = of->behind.v[--of->behind.n];
    if (of->behind.n > 0)
        sift(p, of, 0);
    return next;
}

void equals_follow(struct pass *p, struct equals *of, size_t i)
{
    if (of->behind.n == 0)
        return;
    uint32_t lane = behind_next(p, of);
    leader_enter(p, lane);
    p->behind--;
    uint32_t number = (uint32_t)p->entry.n - 1;
    ASSERT(p->entry.v[number].priority == p->key[lane]);
    struct quick q = quick_make(p, number);
    size_t at = live_find(p, &p->entry.v[number], i);
    vec_push(&p->live, q);
    memmove(&p->live.v[at + 1], &p->live.v[at], (p->live.n - 1 - at) * sizeof q);
    p->live.v[at] = q;
}

void equals_pass(struct pass *p, struct entry *e, size_t i)
{
    if (!e->leads)
        return;
    e->leads = false;
    equals_follow(p, &p->equals[e->lane->klass->idx], i);
}

void equals_leave(struct pass *p, struct entry *e)
{
    if (!e->leads)
        return;
    struct equals *of = &p->equals[e->lane->klass->idx];
    p->behind -= of->behind.n;
    vec_clear(&of->behind);
    e->leads = false;
}

static int entry_compare(const void *a, const void *b)
{
    return entry_order(a, b);
}

typedef VEC(struct quick) quick_vec;

static void merge_until(const struct pass *p, quick_vec *out, size_t *from, size_t until,
                        const struct entry *e)
{
    while (*from < until && entry_order(&p->entry.v[p->live.v[*from].entry], e) < 0)
        vec_push(out, p->live.v[(*from)++]);
}

void equals_all(struct pass *p, size_t *kept, size_t *next)
{
    size_t before = p->entry.n, done = 0, rest = *next;
    quick_vec all = {0};
    for (size_t k = 0; k < p->cl->klass.n; k++) {
        for (size_t i = 0; i < p->equals[k].behind.n; i++)
            lane_enter(p, p->cl->queue.lane.v[p->equals[k].behind.v[i]]);
        vec_clear(&p->equals[k].behind);
    }
    p->behind = 0;
    qsort(&p->entry.v[before], p->entry.n - before, sizeof p->entry.v[0], entry_compare);
    size_t i = before;
    for (; i < p->entry.n && entry_order(&p->entry.v[i], &p->was) < 0; i++) {
        merge_until(p, &all, &done, *kept, &p->entry.v[i]);
        vec_push(&all, quick_make(p, (uint32_t)i));
    }
    for (; done < *kept; done++)
        vec_push(&all, p->live.v[done]);
    *kept = *next = all.n;
    for (; i < p->entry.n; i++) {
        merge_until(p, &all, &rest, p->live.n, &p->entry.v[i]);
        vec_push(&all, quick_make(p, (uint32_t)i));
    }
    for (; rest < p->live.n; rest++)
        vec_push(&all, p->live.v[rest]);
    vec_done(&p->live);
    p->live.v = all.v;
    p->live.n = all.n;
    p->live.cap = all.cap;
}

void equals_done(struct pass *p)
{
    for (size_t k = 0; p->equals && k < p->cl->klass.n; k++)
        vec_done(&p->equals[k].behind);
    free(p->equals);
    free(p->key);
}
