/* In the forecast every waiting class is looked at at every end of work, nearly always to find that
 * it still does not fit. So the order is a packed array of what is needed for that answer: how many
 * nodes with how much of three dimensions, at least, in any variant. */
#include "sched/pass/live.h"

#include "base/alloc.h"
#include "model/job/job_counts.h"
#include "sched/books/classes.h"
#include "sched/pass/found.h"
#include "sched/pass/preempt/preempt.h"
#include "sched/pass/priority.h"
#include "sched/world/counts.h"

#include <stdlib.h>
#include <string.h>

static int entry_order(const struct entry *a, const struct entry *b)
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
           e->c->nlic == e->c->ncap && o->part->windows.n == 0 &&
           e->lane->klass->lanes == e->lane && !e->lane->next && !p->instead;
}

/* What counts cannot tell about is always tried: jobs that may start in several partitions, on
 * nodes shared by users, or where others make room. */
static bool counts_tell(const struct pass *p, const struct compiled *c, const struct option *o)
{
    return c->n == 1 && o->nvariants > 0 && !o->mode.share && !o->mode.user_only &&
           !preempt_possible(p->cl, c, o);
}

static struct quick quick_make(const struct pass *p, uint32_t number)
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

static void entry_enter(struct pass *p, struct lane *l, struct compiled *c, uint32_t number)
{
    struct entry e = {.lane = l,
                      .lane_idx = l->idx,
                      .c = c,
                      .o = &c->option[number],
                      .tier = c->option[number].tier,
                      .number = number};
    entry_fill(p, &e);
    vec_push(&p->entry, e);
}

static void lane_enter(struct pass *p, struct lane *l)
{
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

/* ---- equals that stand as one ----
 *
 * In the order that tells users apart a lane is one user's, and a hundred thousand jobs in forty
 * shapes are twenty thousand lanes. But once the first of equals is blocked, so are the others,
 * whosever they are, and what is noted of them is noted of their class. So in a step after which
 * nobody asks for the rest only that one is an entry. */

static bool firsts_do(const struct pass *p)
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

static void firsts_enter(struct pass *p)
{
    struct cluster *cl = p->cl;
    p->equals = xcalloc(cl->klass.n + 1, sizeof p->equals[0]);
    p->key = xmalloc((cl->queue.lane.n + 1) * sizeof p->key[0]);
    for (size_t k = 0; k < cl->klass.n; k++) {
        p->equals[k].first = NONE;
        p->equals[k].as_one = cl->klass.v[k] && stand_as_one(p, cl->klass.v[k]->made);
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

/* Where the entry belongs among those from `low` on. Entries whose lane went on are still where
 * they were: they count as the job they stood for. */
static size_t live_find(const struct pass *p, const struct entry *e, size_t low)
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

/* A leader goes on, or is gone: of those behind it the first comes in at its place from i on. */
static void live_follow(struct pass *p, struct equals *of, size_t i)
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

void live_leave_behind(struct pass *p, struct entry *e)
{
    if (!e->leads)
        return;
    struct equals *of = &p->equals[e->lane->klass->idx];
    p->behind -= of->behind.n;
    vec_clear(&of->behind);
    e->leads = false;
}

typedef VEC(struct quick) quick_vec;

static void merge_until(const struct pass *p, quick_vec *out, size_t *from, size_t until,
                        const struct entry *e)
{
    while (*from < until && entry_order(&p->entry.v[p->live.v[*from].entry], e) < 0)
        vec_push(out, p->live.v[(*from)++]);
}

void live_all(struct pass *p, size_t *kept, size_t *next)
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

/* ---- all of them ---- */

static void stamps_clear(struct compiled *c)
{
    for (size_t k = 0; k < c->n; k++)
        c->option[k].stamp = 0;
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
    for (size_t i = 0; i < p->cl->klass.n; i++)
        if (p->cl->klass.v[i])
            stamps_clear(demand_unchosen(p->cl, p->cl->klass.v[i]));
    if (now_only && p->ordered && firsts_do(p))
        firsts_enter(p);
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

bool live_refresh(struct pass *p, size_t i)
{
    ASSERT(i < p->live.n && p->live.v[i].entry < p->entry.n);
    struct quick q = p->live.v[i];
    struct entry *e = &p->entry.v[q.entry];
    struct equals *led = e->leads ? &p->equals[e->lane->klass->idx] : NULL;
    e->leads = false;
    entry_fill(p, e);
    if (!e->job) {
        if (led)
            live_follow(p, led, i + 1);
        return false;
    }
    /* Only behind: jobs of a lane stand in order, so the next is no better. */
    size_t at = live_find(p, e, i + 1);
    memmove(&p->live.v[i], &p->live.v[i + 1], (at - 1 - i) * sizeof q);
    p->live.v[at - 1] = q;
    if (led)
        live_follow(p, led, i);
    return true;
}

void live_done(struct pass *p)
{
    for (size_t k = 0; p->equals && k < p->cl->klass.n; k++)
        vec_done(&p->equals[k].behind);
    free(p->equals);
    free(p->key);
    vec_done(&p->live);
    vec_done(&p->entry);
}
