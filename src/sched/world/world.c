/* Each node has two chains of takes: running work by its end, promises by their start. What is free
 * on a node at a later time is what is free now, plus what ends by then, minus the promises in
 * force then; over a stretch of time the least of it is found at its beginning or where a promise
 * begins. Nodes without promises, which nearly all are, need none of this: what is free now stays
 * free. */
#include "sched/world/world.h"
#include "sched/books/run_pack.h"
#include "sched/books/unproven.h"
#include "sched/world/resv_view.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static void open_mark(struct world *w, uint32_t node)
{
    const int64_t *row = &w->free[node * w->dims];
    bool open =
        bit_get(w->up, node) && row[DIM_JOBS] > 0 && (row[DIM_CPU] > 0 || row[DIM_SHARE] > 0);
    if (open)
        bit_set(w->open, node);
    else
        bit_clear(w->open, node);
}

static void open_refresh(struct world *w, uint32_t node)
{
    if (node >= w->nnodes)
        return;
    open_mark(w, node);
    counts_touch(w, node);
}

static void chain_work(struct world *w, uint32_t take)
{
    int64_t end = w->job.v[w->take.v[take].job].end_us;
    uint32_t *at = &w->work[w->take.v[take].node];
    while (*at != NONE && w->job.v[w->take.v[*at].job].end_us <= end)
        at = &w->take.v[*at].next;
    w->take.v[take].next = *at;
    *at = take;
}

static void chain_kept(struct world *w, uint32_t take)
{
    int64_t start = w->job.v[w->take.v[take].job].start_us;
    uint32_t *at = &w->kept[w->take.v[take].node];
    while (*at != NONE && w->job.v[w->take.v[*at].job].start_us <= start)
        at = &w->take.v[*at].next;
    w->take.v[take].next = *at;
    *at = take;
}

static void unchain(struct world *w, uint32_t *head, uint32_t take)
{
    while (*head != take)
        head = &w->take.v[*head].next;
    *head = w->take.v[take].next;
}

/* ---- ends ---- */

static bool end_before(const struct world *w, const struct end *a, const struct end *b)
{
    if (a->at_us != b->at_us)
        return a->at_us < b->at_us;
    uint64_t na = w->job.v[a->job].name, nb = w->job.v[b->job].name;
    return na != nb ? na < nb : a->job < b->job;
}

static void ends_insert(struct world *w, struct end e)
{
    vec_push(&w->ends, e);
    size_t low = w->ends_first, high = w->ends.n - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (end_before(w, &w->ends.v[middle], &e))
            low = middle + 1;
        else
            high = middle;
    }
    memmove(&w->ends.v[low + 1], &w->ends.v[low], (w->ends.n - 1 - low) * sizeof e);
    w->ends.v[low] = e;
}

static void ends_remove(struct world *w, uint32_t job)
{
    size_t i = w->ends_first;
    while (w->ends.v[i].job != job)
        i++;
    vec_remove(&w->ends, i);
}

/* ---- building ---- */

static void amounts_add(struct world *w, const struct wtake *t, int64_t sign)
{
    int64_t *row = &w->free[t->node * w->dims];
    for (uint32_t i = 0; i < t->n; i++)
        row[w->use.v[t->first + i].dim] += sign * w->use.v[t->first + i].amount;
}

static void use_push(struct world *w, uint32_t dim, int64_t amount)
{
    struct use u = {dim, amount};
    if (amount != 0)
        vec_push(&w->use, u);
}

static int64_t run_end(const struct cluster *cl, const struct run *r, int64_t now_us)
{
    if (r->end_us > now_us)
        return r->end_us;
    if (!r->ending) /* past its end, it is gone after the grace it is given */
        return time_add(now_us, cl->policy.grace_us);
    /* Killed, and not yet gone: in a moment, or in as long as that has lasted already. Were much
     * expected at once, a short job would fit into the wait of the one that it was killed for,
     * which would stop that in turn, for ever. */
    int64_t late = now_us - r->end_us,
            least = cl->policy.grace_us < USEC_PER_SEC ? cl->policy.grace_us : USEC_PER_SEC;
    return time_add(now_us, late > least ? late : least);
}

static int run_order(const void *a, const void *b)
{
    const struct run *x = *(const struct run *const *)a, *y = *(const struct run *const *)b;
    if (x->end_us != y->end_us)
        return x->end_us < y->end_us ? -1 : 1;
    return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

static void run_copy(struct world *w, struct run *r)
{
    const struct run_pack *pack = run_pack_of(w->cl, r);
    struct wjobs j = {.start_us = r->start_us,
                      .end_us = run_end(w->cl, r, w->now_us),
                      .first = (uint32_t)w->take.n,
                      .n = (uint32_t)pack->take.n,
                      .name = r->job_id,
                      .resv = r->resv,
                      .part = pack->part};
    uint32_t number = (uint32_t)w->job.n, uses = (uint32_t)w->use.n;
    for (size_t i = 0; i < pack->use.n; i++)
        vec_push(&w->use, pack->use.v[i]);
    for (size_t i = 0; i < pack->take.n; i++) {
        const struct pack_take *p = &pack->take.v[i];
        struct wtake t = {.node = p->node, .job = number, .first = uses + p->first, .n = p->n};
        vec_push(&w->take, t);
    }
    vec_push(&w->job, j);
    struct end e = {j.end_us, number};
    vec_push(&w->ends, e);
}

/* What is expected to be found clean is as work that ends then. */
static void unproven_copy(struct world *w, const struct snode *n)
{
    for (size_t i = 0; i < n->unproven.n; i++) {
        int64_t until = unproven_until(&n->unproven.v[i], w->now_us);
        if (until == INT64_MAX)
            continue;
        struct wjobs j = {
            .start_us = w->now_us, .end_us = until, .first = (uint32_t)w->take.n, .n = 1};
        struct wtake t = {
            .node = n->idx, .job = (uint32_t)w->job.n, .first = (uint32_t)w->use.n, .n = 1};
        struct end e = {until, t.job};
        use_push(w, n->unproven.v[i].dim, 1);
        vec_push(&w->take, t);
        vec_push(&w->job, j);
        vec_push(&w->ends, e);
    }
}

/* Chains are kept by end; runs come ascending by end, so each goes to the tail. */
static void chains_build(struct world *w)
{
    for (size_t i = w->take.n; i-- > 0;) {
        struct wtake *t = &w->take.v[i];
        t->next = w->work[t->node];
        w->work[t->node] = (uint32_t)i;
    }
}

static int end_order(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    return (x->job > y->job) - (x->job < y->job);
}

static void runs_copy(struct world *w)
{
    size_t n = w->cl->run.n;
    struct run **run = xcalloc(n + 1, sizeof run[0]);
    if (n > 0)
        memcpy(run, w->cl->run.v, n * sizeof run[0]);
    qsort(run, n, sizeof run[0], run_order);
    for (size_t i = 0; i < n;
         i++) /* first those past their end, whose expected end is later than that of some others */
        if (run[i]->end_us > w->now_us)
            run_copy(w, run[i]);
    size_t in_order = w->take.n;
    chains_build(w);
    for (size_t i = 0; i < n; i++)
        if (run[i]->end_us <= w->now_us)
            run_copy(w, run[i]);
    for (size_t i = 0; i < w->nnodes; i++)
        if (w->cl->node.v[i]->has_out)
            unproven_copy(w, w->cl->node.v[i]);
    for (size_t i = in_order; i < w->take.n; i++)
        chain_work(w, (uint32_t)i);
    if (w->ends.n > 1)
        qsort(w->ends.v, w->ends.n, sizeof w->ends.v[0], end_order);
    free(run);
}

/* Several jobs of one user that each take the node for that user: it comes free for others with the
 * last of them. */
static void places_count(struct world *w, const struct snode *n)
{
    int64_t *jobs = &w->free[n->idx * w->dims + DIM_JOBS];
    if (*jobs > 0 || n->hold.n < 2)
        return;
    *jobs = JOBS_ALL;
    for (size_t i = 0; i < n->hold.n; i++)
        *jobs -= run_places(n->hold.v[i]->run);
}

struct world *world_new(const struct cluster *cl, int64_t now_us)
{
    CHECK(!cl->unsettled);
    struct world *w = xcalloc(1, sizeof *w);
    w->cl = cl;
    w->now_us = now_us;
    w->nnodes = cl->node.n;
    w->nall = cl->node.n + cl->lic.n;
    w->dims = cl->dim.n;
    w->free = xcalloc(w->nall * w->dims + 1, sizeof w->free[0]);
    memcpy(w->free, cl->free, w->nnodes * w->dims * sizeof w->free[0]);
    for (size_t i = 0; i < cl->lic.n; i++)
        w->free[(w->nnodes + i) * w->dims + DIM_CPU] = cl->lic.v[i].total - cl->lic.v[i].used;
    w->row = xcalloc(w->dims, sizeof w->row[0]);
    w->cap = xcalloc(w->nnodes + 1, sizeof w->cap[0]);
    w->open = xcalloc(BIT_WORDS(w->nnodes) + 1, sizeof w->open[0]);
    w->screened = xcalloc(BIT_WORDS(w->nnodes) + 1, sizeof w->screened[0]);
    w->up = xcalloc(BIT_WORDS(w->nnodes) + 1, sizeof w->up[0]);
    w->work = xmalloc((w->nall + 1) * sizeof w->work[0]);
    w->kept = xmalloc((w->nall + 1) * sizeof w->kept[0]);
    memset(w->work, 0xff, (w->nall + 1) * sizeof w->work[0]);
    memset(w->kept, 0xff, (w->nall + 1) * sizeof w->kept[0]);
    w->group = xcalloc(w->nnodes + 1, sizeof w->group[0]);
    for (uint32_t i = 0; i < w->nnodes; i++) {
        w->group[i] = cl->node.v[i]->group;
        if (cl->node.v[i]->up)
            bit_set(w->up, i);
        places_count(w, cl->node.v[i]);
        open_mark(w, i);
    }
    runs_copy(w);
    counts_init(w);
    view_init(w);
    return w;
}

void world_free(struct world *w)
{
    if (!w)
        return;
    counts_done(w);
    view_done(w);
    vec_done(&w->promised);
    vec_done(&w->job);
    vec_done(&w->take);
    vec_done(&w->use);
    vec_done(&w->ends);
    vec_done(&w->key);
    vec_done(&w->pick);
    vec_done(&w->stair);
    free(w->cap);
    free(w->free);
    free(w->open);
    free(w->up);
    free(w->screened);
    free(w->group);
    free(w->work);
    free(w->kept);
    free(w->row);
    free(w);
}

/* ---- changing it ---- */

static void take_push(struct world *w, uint32_t node, uint32_t job, const struct take *t)
{
    struct wtake wt = {.node = node, .job = job, .first = (uint32_t)w->use.n, .n = t->n};
    for (uint32_t i = 0; i < t->n; i++)
        vec_push(&w->use, t->use[i]);
    /* Sharing work lies on idle CPUs first, and takes those from work that wants them alone. */
    if (node < w->nnodes && t->n > 0 && t->use[0].dim == DIM_SHARE &&
        (t->n < 2 || t->use[1].dim != DIM_CPU)) {
        int64_t idle = w->free[node * w->dims + DIM_CPU];
        use_push(w, DIM_CPU, idle < t->cpus ? (idle > 0 ? idle : 0) : t->cpus);
        wt.n = (uint32_t)w->use.n - wt.first;
    }
    vec_push(&w->take, wt);
}

/* The same as on the node before: the amounts are shared. */
static void take_again(struct world *w, uint32_t node, uint32_t job)
{
    struct wtake wt = w->take.v[w->take.n - 1];
    wt.node = node;
    wt.job = job;
    vec_push(&w->take, wt);
}

static uint32_t job_push(struct world *w, const struct compiled *c, const struct placement *p,
                         struct wjobs j)
{
    uint32_t number = (uint32_t)w->job.n;
    j.first = (uint32_t)w->take.n;
    j.resv = p->option->resv ? p->option->resv->number : 0;
    j.part = p->option->part->idx + 1;
    for (size_t i = 0; i < p->at.n; i++) {
        const struct placed *at = &p->at.v[i];
        const struct group *g = w->group[at->node];
        if (p->variant->lay.units == 0) {
            if (i > 0 && !p->option->mode.share && w->group[p->at.v[i - 1].node] == g)
                take_again(w, at->node, number);
            else
                take_push(w, at->node, number, take_least(w->cl, c, p->option, p->variant, g));
            continue;
        }
        struct take t;
        CHECK(demand_take(w->cl, c, p->option, p->variant, g, at->units, &t));
        take_push(w, at->node, number, &t);
    }
    for (size_t i = 0; i < c->nlic; i++)
        take_push(w, (uint32_t)w->nnodes + c->lic[i].lic, number,
                  &(struct take){.use = {{DIM_CPU, c->lic[i].count}}, .n = 1});
    j.n = (uint32_t)w->take.n - j.first;
    vec_push(&w->job, j);
    return number;
}

static void job_start(struct world *w, uint32_t job)
{
    struct wjobs *j = &w->job.v[job];
    for (uint32_t t = j->first; t < j->first + j->n; t++) {
        amounts_add(w, &w->take.v[t], -1);
        chain_work(w, t);
        open_refresh(w, w->take.v[t].node);
    }
    ends_insert(w, (struct end){j->end_us, job});
}

uint32_t world_begin(struct world *w, const struct compiled *c, const struct placement *p,
                     uint64_t name, int64_t end_us)
{
    uint32_t job =
        job_push(w, c, p, (struct wjobs){.start_us = w->now_us, .end_us = end_us, .name = name});
    job_start(w, job);
    return job;
}

static void promise_touch(struct world *w, uint32_t job)
{
    counts_promises(w);
    for (uint32_t t = w->job.v[job].first; t < w->job.v[job].first + w->job.v[job].n; t++)
        counts_touch(w, w->take.v[t].node);
}

static void promise_forget(struct world *w, uint32_t job)
{
    size_t i = 0;
    while (w->promised.v[i] != job)
        i++;
    vec_remove(&w->promised, i);
    counts_promises(w);
    w->freed += w->job.v[job].n;
}

uint32_t world_promise(struct world *w, const struct compiled *c, const struct placement *p,
                       uint64_t name, int64_t start_us, int64_t end_us)
{
    uint32_t job =
        job_push(w, c, p, (struct wjobs){.start_us = start_us, .end_us = end_us, .name = name});
    for (uint32_t t = w->job.v[job].first; t < w->job.v[job].first + w->job.v[job].n; t++)
        chain_kept(w, t);
    vec_push(&w->promised, job);
    promise_touch(w, job);
    return job;
}

void world_undo(struct world *w, uint32_t job)
{
    struct wjobs *j = &w->job.v[job];
    ends_remove(w, job);
    for (uint32_t t = j->first; t < j->first + j->n; t++) {
        unchain(w, &w->work[w->take.v[t].node], t);
        amounts_add(w, &w->take.v[t], 1);
        open_refresh(w, w->take.v[t].node);
        w->freed++;
    }
    j->n = 0;
}

void world_fulfil(struct world *w, uint32_t job)
{
    struct wjobs *j = &w->job.v[job];
    for (uint32_t t = j->first; t < j->first + j->n; t++)
        unchain(w, &w->kept[w->take.v[t].node], t);
    promise_forget(w, job);
    job_start(w, job);
}

void world_break(struct world *w, uint32_t job)
{
    struct wjobs *j = &w->job.v[job];
    for (uint32_t t = j->first; t < j->first + j->n; t++)
        unchain(w, &w->kept[w->take.v[t].node], t);
    promise_forget(w, job);
    promise_touch(w, job);
    j->n = 0;
}

void world_free_more(struct world *w, uint32_t node, const int64_t *row, int64_t sign)
{
    for (size_t d = 0; d < w->dims; d++)
        w->free[node * w->dims + d] += sign * row[d];
    open_refresh(w, node);
    w->freed++;
}

void world_lift(struct world *w, uint64_t name, bool lifted)
{
    if (!w->kept_head) /* nobody asks */
        return;
    for (size_t i = 0; i < w->job.n; i++)
        if (w->job.v[i].name == name) {
            w->job.v[i].lifted = lifted;
            return;
        }
}

void world_end_by(struct world *w, uint64_t name, int64_t end_us)
{
    uint32_t job = 0;
    while (job < w->job.n && w->job.v[job].name != name)
        job++;
    if (job == w->job.n || w->job.v[job].end_us <= end_us)
        return;
    struct wjobs *j = &w->job.v[job];
    ends_remove(w, job);
    for (uint32_t t = j->first; t < j->first + j->n; t++)
        unchain(w, &w->work[w->take.v[t].node], t);
    j->end_us = end_us;
    for (uint32_t t = j->first; t < j->first + j->n; t++)
        chain_work(w, t);
    ends_insert(w, (struct end){end_us, job});
}

int64_t world_next_end(const struct world *w)
{
    int64_t end = w->ends_first < w->ends.n ? w->ends.v[w->ends_first].at_us : INT64_MAX,
            turn = view_next_turn(w);
    return turn < end ? turn : end;
}

void world_advance(struct world *w, int64_t now_us)
{
    while (w->ends_first < w->ends.n && w->ends.v[w->ends_first].at_us <= now_us) {
        struct wjobs *j = &w->job.v[w->ends.v[w->ends_first++].job];
        for (uint32_t t = j->first; t < j->first + j->n; t++) {
            uint32_t node = w->take.v[t].node;
            unchain(w, &w->work[node], t);
            amounts_add(w, &w->take.v[t], 1);
            open_refresh(w, node);
            w->freed++;
        }
    }
    w->now_us = now_us;
    if (view_advance(w, now_us)) /* what only others could use may be free now */
        w->freed += w->nall + 1;
}
