/* In the forecast every waiting class is looked at at every end of work, nearly always to find that
 * it still does not fit. So the order is a packed array of what is needed for that answer: how many
 * nodes with how much of three dimensions, at least, in any variant. */
#include "sched/pass/live.h"

#include "base/alloc.h"
#include "model/job/job_counts.h"
#include "sched/books/classes.h"
#include "sched/pass/components.h"
#include "sched/pass/found.h"
#include "sched/pass/preempt/preempt.h"
#include "sched/pass/priority.h"
#include "sched/world/counts.h"

#include <stdlib.h>
#include <string.h>

int entry_order(const struct entry *a, const struct entry *b)
{
    if (a->owed != b->owed)
        return a->owed ? -1 : 1;
    if (a->tier != b->tier)
        return a->tier > b->tier ? -1 : 1;
    if (a->promised_us != b->promised_us)
        return a->promised_us < b->promised_us ? -1 : 1;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    int by_age = wjob_order(a->job, b->job);
    /* Of one job: the order is total, so that sorting anew turns nothing round. */
    return by_age ? by_age : (int)a->number - (int)b->number;
}

/* Where a simulator's own order puts it. */
static void entry_key(const struct pass *p, struct entry *e)
{
    const struct order_hook *hook = &p->cl->hook;
    if (!hook->key)
        return;
    /* While the queue is built there is no world yet. */
    int64_t now_us = p->w ? p->w->now_us : p->v->now_us;
    struct order_job j = order_job_of(p->cl, e->o, &e->job->w, now_us);
    e->held = !hook->key(hook->ctx, &j, p->passing, &e->key);
    e->priority = PRIORITY_ONE;
}

struct wjob *lane_next(const struct pass *p, const struct lane *l)
{
    ASSERT(l->idx < p->cl->queue.lane.n || l == p->instead);
    if (p->left_out && p->left_out->lane == l && p->pos[l->idx] < l->n &&
        l->job[l->first + p->pos[l->idx]] == p->left_out)
        p->pos[l->idx]++;
    size_t pos = p->pos[l->idx];
    return pos < l->n ? l->job[l->first + pos] : NULL;
}

void lane_advance(struct pass *p, const struct lane *l)
{
    p->pos[l->idx]++;
    const struct wjob *next = lane_next(p, l);
    p->left[l->idx] = next ? next->w.elements : 0;
}

void pass_took_one(struct pass *p, const struct lane *l)
{
    ASSERT(l->idx < p->cl->queue.lane.n || l == p->instead);
    /* Of an array its next element, which stands where this one stood. */
    if (p->left[l->idx] > 1)
        p->left[l->idx]--;
    else
        lane_advance(p, l);
}

void entry_fill(const struct pass *p, struct entry *e)
{
    e->job = lane_next(p, e->lane);
    e->pos = p->pos[e->lane->idx];
    if (!e->job)
        return;
    e->owed = preempt_owed(p, e->job->w.het_job_id ? e->job->w.het_job_id : e->job->w.job_id);
    bool promised = e->job->w.promised_in & serve_bit(e->o->serve);
    if (promised && e->lane->het)
        promised = pass_het_of(p, e->lane->het)->promised_us != INT64_MAX;
    e->promised_us = INT64_MAX;
    if (e->spent != e->job->w.job_id) {
        e->promised_us = promised ? e->job->w.promised_us : INT64_MAX;
        e->priority = priority_of(p->cl, e->o, &e->job->w, p->v->now_us);
    } else { /* of an array: the element that was first has started */
        struct waiting rest = e->job->w;
        rest.head = rest.oldest = 0;
        e->priority = priority_of(p->cl, e->o, &rest, p->v->now_us);
    }
    /* PriorityFlags=INCR_ONLY: what it had once it does not lose. */
    if (p->cl->policy.increase_only && e->priority > e->job->w.floor)
        e->job->w.floor = e->priority;
    entry_key(p, e);
}

/* ---- what is needed at least ---- */

static uint8_t lesser(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* One variant that may go to any node for one length of time, and its class has no other lane: too
 * few nodes is then all there is to know, in one place of the order. What a cap has to say does not
 * matter then. */
static bool request_is_simple(const struct pass *p, const struct entry *e)
{
    const struct option *o = e->o;
    return o->nvariants == 1 && o->limit_min_us == o->limit_us && !o->resv && !e->c->allowed &&
           e->c->nlic == e->c->ncap && o->part->windows.n == 0 && e->lane->klass->lanes == 1 &&
           !p->instead;
}

bool counts_tell(const struct pass *p, const struct compiled *c, const struct option *o)
{
    return c->n == 1 && o->nvariants > 0 && !o->mode.share && !o->mode.user_only &&
           !preempt_possible(p->cl, c, o);
}

struct quick quick_make(const struct pass *p, uint32_t number)
{
    const struct entry *e = &p->entry.v[number];
    struct quick q = {
        .entry = number, .part = e->o->serve, .tier = e->tier, .run_us = e->o->limit_min_us};
    q.plain = !e->lane->het && counts_tell(p, e->c, e->o);
    if (!q.plain)
        return q;
    struct screen least = e->o->variant[0].screen;
    q.nodes = e->o->variant[0].lay.nmin;
    for (size_t i = 1; i < e->o->nvariants; i++) {
        const struct variant *v = &e->o->variant[i];
        q.nodes = v->lay.nmin < q.nodes ? v->lay.nmin : q.nodes;
        least.cpu = lesser(least.cpu, v->screen.cpu);
        least.mem = lesser(least.mem, v->screen.mem);
        least.gres = least.dim == v->screen.dim ? lesser(least.gres, v->screen.gres) : 0;
    }
    if (!counts_countable(p->w))
        q.nodes = 0;
    q.least = least;
    q.cell = counts_cell(p->w, &least);
    q.simple = request_is_simple(p, e);
    return q;
}

/* Asked for each waiting class at each end of work, so by cost: one comparison (since it was tried
 * last, too little has come free), then the counts. */
bool live_may_fit(const struct pass *p, const struct quick *q)
{
    struct world *w = p->w;
    if (q->wake > w->now.freed)
        return false;
    if (q->nodes == 0)
        return true;
    int which = counts_which(w, time_add(w->now_us, q->run_us));
    if (w->nnodes <= 64 && !p->future) /* to count them costs less than the table */
        return counts_enough(w, COUNT_NOW, &q->least) >= (size_t)q->nodes &&
               counts_enough(w, which, &q->least) >= (size_t)q->nodes;
    return counts_joint(w, which, q->least.dim, q->cell) >= q->nodes;
}

/* ---- the array ---- */

/* Its lane's next job in the partition of that number, in which nothing was found blocked yet:
 * lanes come in before the first step, or with the stamp of their equals on them. */
static void entry_enter(struct pass *p, struct lane *l, struct compiled *c, uint32_t number)
{
    struct entry e = {.lane = l,
                      .lane_idx = l->idx,
                      .c = c,
                      .o = &c->option[number],
                      .tier = c->option[number].tier,
                      .number = number};
    if (p->step == 0)
        e.o->stamp[false] = e.o->stamp[true] = 0;
    entry_fill(p, &e);
    vec_push(&p->entry, e);
}

void lane_enter(struct pass *p, struct lane *l)
{
    /* What its caps are does not matter to its place. */
    struct compiled *c = demand_unchosen(p->cl, l->klass);
    const struct wjob *next = lane_next(p, l);
    if (!next)
        return;
    p->left[l->idx] = next->w.elements;
    for (uint32_t k = 0; k < c->n; k++)
        entry_enter(p, l, c, k);
    if (c->n == 0)
        pass_note(p, &(struct entry){.lane = l, .c = c}, REASON_BAD_CONSTRAINTS);
}

static int entry_compare(const void *a, const void *b)
{
    return entry_order(a, b);
}

static void live_order(struct pass *p)
{
    ASSERT(p->live.n == 0);
    if (p->entry.n > 1)
        qsort(p->entry.v, p->entry.n, sizeof p->entry.v[0], entry_compare);
    vec_reserve(&p->live, p->entry.n + 1);
    for (uint32_t i = 0; i < p->entry.n; i++)
        vec_push(&p->live, quick_make(p, i));
}

void live_build(struct pass *p, bool now_only)
{
    ASSERT(p->live.n == 0 && p->w);
    p->ordered = !p->cl->hook.key && p->cl->policy.backfill != BACKFILL_NONE;
    /* Whoever foresees the future asks for all of them, again and again. */
    if (now_only && p->ordered && equals_may_stand(p))
        equals_enter(p);
    else
        for (size_t i = 0; i < p->cl->queue.lane.n; i++)
            lane_enter(p, p->cl->queue.lane.v[i]);
    if (p->instead)
        lane_enter(p, p->instead);
    live_order(p);
}

static int quick_compare(const void *a, const void *b, void *entries)
{
    const struct entry *entry = entries;
    return entry_order(&entry[((const struct quick *)a)->entry],
                       &entry[((const struct quick *)b)->entry]);
}

void live_reorder(struct pass *p, size_t from, bool passing)
{
    ASSERT(from <= p->live.n);
    p->passing = passing;
    for (size_t i = from; i < p->live.n; i++) {
        struct entry *e = &p->entry.v[p->live.v[i].entry];
        struct wjob *next = lane_next(p, e->lane);
        if (next) {
            e->job = next;
            e->pos = p->pos[e->lane->idx];
        }
        entry_key(p, e);
    }
    if (p->live.n - from > 1)
        qsort_r(&p->live.v[from], p->live.n - from, sizeof p->live.v[0], quick_compare, p->entry.v);
}

size_t live_find(const struct pass *p, const struct entry *e, size_t low)
{
    size_t high = p->live.n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (entry_order(&p->entry.v[p->live.v[middle].entry], e) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool live_refresh(struct pass *p, size_t i)
{
    ASSERT(i < p->live.n && p->live.v[i].entry < p->entry.n);
    struct quick q = p->live.v[i];
    struct entry *e = &p->entry.v[q.entry];
    struct equals *led = e->leads ? &p->equals[e->lane->klass->idx] : NULL;
    e->leads = false;
    entry_fill(p, e);
    /* Its equals come later in the order than it stood: not before i. */
    if (!e->job) {
        if (led)
            equals_follow(p, led, i + 1);
        return false;
    }
    /* Only behind: jobs of a lane stand in order, so the next is no better. */
    size_t at = live_find(p, e, i + 1);
    memmove(&p->live.v[i], &p->live.v[i + 1], (at - 1 - i) * sizeof q);
    p->live.v[at - 1] = q;
    if (led)
        equals_follow(p, led, i);
    return true;
}
