/* Each node has two chains of takes: running work by its end, promises by their start. What is free
 * on a node at a later time is what is free now, plus what ends by then, minus the promises in
 * force then; over a stretch of time the least of it is found at its beginning or where a promise
 * begins. Nodes without promises, which nearly all are, need none of this: what is free now stays
 * free. */
#include "sched/world/agenda.h"
#include "sched/world/cap_takes.h"

#include "sched/world/counts.h"
#include "sched/world/outlook.h"
#include "sched/world/resv_view.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

void agenda_init(struct agenda *a, size_t nall)
{
    a->work = xmalloc((nall + 1) * sizeof a->work[0]);
    a->kept = xmalloc((nall + 1) * sizeof a->kept[0]);
    a->kept_last = xmalloc((nall + 1) * sizeof a->kept_last[0]);
    memset(a->work, 0xff, (nall + 1) * sizeof a->work[0]); /* NONE */
    memset(a->kept, 0xff, (nall + 1) * sizeof a->kept[0]);
    memset(a->kept_last, 0xff, (nall + 1) * sizeof a->kept_last[0]);
    a->changes = xmalloc((nall + 1) * sizeof a->changes[0]);
    for (size_t i = 0; i <= nall; i++)
        a->changes[i] = 1;
}

void agenda_done(struct agenda *a)
{
    vec_done(&a->promised);
    vec_done(&a->job);
    vec_done(&a->take);
    vec_done(&a->use);
    vec_done(&a->ends);
    free(a->work);
    free(a->kept);
    free(a->kept_last);
    free(a->changes);
    free(a->of_run);
}

void agenda_open(struct world *w, uint32_t node)
{
    const int64_t *row = world_free_row(w, node);
    bool open =
        bit_get(w->now.up, node) && row[DIM_JOBS] > 0 && (row[DIM_CPU] > 0 || row[DIM_SHARE] > 0);
    if (open)
        bit_set(w->now.open, node);
    else
        bit_clear(w->now.open, node);
}

static void open_refresh(struct world *w, uint32_t node)
{
    if (node >= w->nnodes)
        return;
    agenda_open(w, node);
    counts_touch(w, node);
}

/* A walk along one node's chain, and behind those that end at the same time, so that a chain
 * depends on nothing but the order of what was done. Where chains are long, in a pool that is one
 * node, most questions are answered from the outlook and the chain is walked only here. */
void agenda_chain(struct agenda *a, uint32_t take)
{
    ASSERT(take < a->take.n && a->take.v[take].node != NONE);
    int64_t end = agenda_job(a, take)->end_us;
    a->changes[a->take.v[take].node]++;
    uint32_t *at = &a->work[a->take.v[take].node];
    while (*at != NONE && agenda_job(a, *at)->end_us <= end)
        at = &a->take.v[*at].next;
    a->take.v[take].next = *at;
    *at = take;
}

static void chain_kept(struct agenda *a, uint32_t take)
{
    ASSERT(take < a->take.n && agenda_job(a, take)->start_us <= agenda_job(a, take)->end_us);
    int64_t start = agenda_job(a, take)->start_us;
    a->changes[a->take.v[take].node]++;
    uint32_t *last = &a->kept_last[a->take.v[take].node],
             *at = *last != NONE && agenda_job(a, *last)->start_us <= start
                       ? &a->take.v[*last].next
                       : &a->kept[a->take.v[take].node];
    *last = take;
    while (*at != NONE && agenda_job(a, *at)->start_us <= start)
        at = &a->take.v[*at].next;
    a->take.v[take].next = *at;
    *at = take;
}

/* Whatever alters a chain or an amount of a node makes its `changes` grow, and by that ends its
 * outlook (outlook.c): here, in the two above, in amounts_add and world_free_more. A new way to
 * alter them that forgets it would be answered with what was free before. */
static void unchain(struct agenda *a, uint32_t *head, uint32_t take)
{
    ASSERT(*head != NONE && take < a->take.n);
    a->changes[a->take.v[take].node]++;
    while (*head != take)
        head = &a->take.v[*head].next;
    *head = a->take.v[take].next;
    if (a->kept_last[a->take.v[take].node] == take)
        a->kept_last[a->take.v[take].node] = NONE;
}

/* ---- ends ---- */

/* Equal ends by the job's id: its number in the pass says who was begun first, and the forecast
 * would hang on that. */
static bool end_before(const struct agenda *a, const struct end *x, const struct end *y)
{
    if (x->at_us != y->at_us)
        return x->at_us < y->at_us;
    uint64_t na = a->job.v[x->job].name, nb = a->job.v[y->job].name;
    return na != nb ? na < nb : x->job < y->job;
}

/* A sorted array and no heap: world_end_of_share asks for the end at a place in the order. What
 * starts now mostly ends late, so that little is moved. */
static void ends_insert(struct agenda *a, struct end e)
{
    ASSERT(e.job < a->job.n && a->ends_first <= a->ends.n);
    vec_push(&a->ends, e);
    size_t low = a->ends_first, high = a->ends.n - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (end_before(a, &a->ends.v[middle], &e))
            low = middle + 1;
        else
            high = middle;
    }
    memmove(&a->ends.v[low + 1], &a->ends.v[low], (a->ends.n - 1 - low) * sizeof e);
    a->ends.v[low] = e;
}

/* Linear: nothing but what is undone or told to end sooner is taken out of the middle. */
static void ends_remove(struct agenda *a, uint32_t job)
{
    ASSERT(job < a->job.n && a->ends_first < a->ends.n);
    size_t i = a->ends_first;
    while (a->ends.v[i].job != job)
        i++;
    vec_remove(&a->ends, i);
}

static void amounts_add(struct world *w, const struct wtake *t, int64_t sign)
{
    ASSERT(sign == 1 || sign == -1);
    ASSERT(t->node < w->nall && t->first + t->n <= w->agenda.use.n);
    struct agenda *a = &w->agenda;
    int64_t *row = world_free_row(w, t->node);
    a->changes[t->node]++;
    for (uint32_t i = 0; i < t->n; i++)
        row[a->use.v[t->first + i].dim] += sign * a->use.v[t->first + i].amount;
}

void agenda_use(struct agenda *a, uint32_t dim, int64_t amount)
{
    ASSERT(dim != NONE);
    struct use u = {dim, amount};
    if (amount != 0)
        vec_push(&a->use, u);
}

/* ---- changing it ---- */

/* CPUs that are idle on the node while the job would run. */
static int64_t idle_cpus(struct world *w, uint32_t node, const struct wjobs *j)
{
    bool now = j->start_us <= w->now_us;
    return (now ? world_free_row(w, node)
                : outlook_least(w, node, j->start_us, j->end_us))[DIM_CPU];
}

static void take_push(struct world *w, uint32_t node, uint32_t job, const struct take *t,
                      const struct wjobs *j)
{
    struct agenda *a = &w->agenda;
    struct wtake wt = {.node = node, .job = job, .first = (uint32_t)a->use.n, .n = (uint16_t)t->n};
    for (uint32_t i = 0; i < t->n; i++)
        vec_push(&a->use, t->use[i]);
    /* Sharing work lies on idle CPUs first, and takes those from work that wants them alone. */
    if (node < w->nnodes && t->n > 0 && t->use[0].dim == DIM_SHARE &&
        (t->n < 2 || t->use[1].dim != DIM_CPU)) {
        int64_t idle = idle_cpus(w, node, j);
        agenda_use(a, DIM_CPU, idle < t->cpus ? (idle > 0 ? idle : 0) : t->cpus);
        wt.n = (uint16_t)(a->use.n - wt.first);
    }
    vec_push(&a->take, wt);
}

/* A job of thousands of equal nodes has them once. Not for work that shares CPUs: how many of them
 * are idle differs from node to node. */
/* The same as on the node before: the amounts are shared. */
static void take_again(struct agenda *a, uint32_t node, uint32_t job)
{
    struct wtake wt = a->take.v[a->take.n - 1];
    wt.node = node;
    wt.job = job;
    vec_push(&a->take, wt);
}

static uint32_t job_push(struct world *w, const struct compiled *c, const struct placement *p,
                         struct wjobs j)
{
    struct agenda *a = &w->agenda;
    uint32_t number = (uint32_t)a->job.n;
    j.first = (uint32_t)a->take.n;
    j.resv = p->option->resv ? p->option->resv->number : 0;
    j.part = p->option->part->idx + 1;
    j.shares = p->option->mode.share > 0;
    for (size_t i = 0; i < p->at.n; i++) {
        const struct placed *at = &p->at.v[i];
        const struct group *g = w->now.group[at->node];
        if (p->variant->lay.units == 0) {
            if (i > 0 && !p->option->mode.share && w->now.group[p->at.v[i - 1].node] == g)
                take_again(a, at->node, number);
            else
                take_push(w, at->node, number, take_least(w->cl, c, p->option, p->variant, g), &j);
            continue;
        }
        struct take t;
        CHECK(demand_take(w->cl, c, p->option, p->variant, g, at->units, &t));
        take_push(w, at->node, number, &t, &j);
    }
    struct cap_sums sums = placement_sums(w, c, p);
    for (size_t i = 0; i < c->nlic; i++) {
        struct take of = {.use = {{DIM_CPU, licence_takes(w, &c->lic[i], p->option->part, &sums)}},
                          .n = 1};
        if (use_concerns(&c->lic[i], p->option) && !w->cl->lic.v[c->lic[i].lic].each)
            take_push(w, (uint32_t)w->nnodes + c->lic[i].lic, number, &of, &j);
    }
    j.n = (uint32_t)a->take.n - j.first;
    vec_push(&a->job, j);
    return number;
}

static void job_start(struct world *w, uint32_t job)
{
    struct agenda *a = &w->agenda;
    struct wjobs *j = &a->job.v[job];
    for (uint32_t t = j->first; t < j->first + j->n; t++) {
        /* Asked for while it is still true: afterwards it would be thrown away, though it can be
         * told all that changed. */
        struct outlook *known = outlook_known(w, a->take.v[t].node);
        amounts_add(w, &a->take.v[t], -1);
        agenda_chain(a, t);
        outlook_taken(w, known, t, w->now_us);
        open_refresh(w, a->take.v[t].node);
    }
    ends_insert(a, (struct end){j->end_us, job});
}

uint32_t world_begin(struct world *w, const struct compiled *c, const struct placement *p,
                     uint64_t name, int64_t end_us)
{
    ASSERT(end_us >= w->now_us && p->at.n > 0);
    uint32_t job =
        job_push(w, c, p, (struct wjobs){.start_us = w->now_us, .end_us = end_us, .name = name});
    job_start(w, job);
    return job;
}

static void promise_touch(struct world *w, uint32_t job)
{
    struct agenda *a = &w->agenda;
    for (uint32_t t = a->job.v[job].first; t < a->job.v[job].first + a->job.v[job].n; t++)
        counts_touch(w, a->take.v[t].node);
}

static void promise_forget(struct world *w, uint32_t job)
{
    struct agenda *a = &w->agenda;
    size_t i = 0;
    while (a->promised.v[i] != job)
        i++;
    vec_remove(&a->promised, i);
    int64_t start = a->job.v[job].start_us;
    if (start == a->first_promise_us || start == a->last_promise_us)
        counts_promises(w);
    /* What was promised there may be had again: classes that were found not to fit are looked at
     * anew, as after an end (live_may_fit). */
    w->now.freed += a->job.v[job].n;
}

uint32_t world_promise(struct world *w, const struct compiled *c, const struct placement *p,
                       uint64_t name, int64_t start_us, int64_t end_us)
{
    ASSERT(start_us >= w->now_us && end_us >= start_us && p->at.n > 0);
    struct agenda *a = &w->agenda;
    uint32_t job =
        job_push(w, c, p, (struct wjobs){.start_us = start_us, .end_us = end_us, .name = name});
    for (uint32_t t = a->job.v[job].first; t < a->job.v[job].first + a->job.v[job].n; t++) {
        struct outlook *known = outlook_known(w, a->take.v[t].node);
        chain_kept(a, t);
        outlook_taken(w, known, t, start_us);
    }
    vec_push(&a->promised, job);
    counts_promised(w, start_us);
    promise_touch(w, job);
    return job;
}

/* The job keeps its number, which stays empty: takes and ends name jobs by number, so none may
 * move. The same of promises that are broken. */
void world_undo(struct world *w, uint32_t job)
{
    ASSERT(job < w->agenda.job.n && w->agenda.job.v[job].start_us == w->now_us);
    struct agenda *a = &w->agenda;
    struct wjobs *j = &a->job.v[job];
    ends_remove(a, job);
    for (uint32_t t = j->first; t < j->first + j->n; t++) {
        unchain(a, &a->work[a->take.v[t].node], t);
        amounts_add(w, &a->take.v[t], 1);
        open_refresh(w, a->take.v[t].node);
        w->now.freed++;
    }
    j->n = 0;
}

/* Its takes leave the chains of promises before they come into those of work: a look between the
 * two would count the job twice. */
void world_fulfil(struct world *w, uint32_t job)
{
    ASSERT(job < w->agenda.job.n && w->agenda.job.v[job].start_us <= w->now_us);
    ASSERT(w->agenda.promised.n > 0);
    struct agenda *a = &w->agenda;
    struct wjobs *j = &a->job.v[job];
    for (uint32_t t = j->first; t < j->first + j->n; t++)
        unchain(a, &a->kept[a->take.v[t].node], t);
    promise_forget(w, job);
    job_start(w, job);
}

void world_break(struct world *w, uint32_t job)
{
    ASSERT(job < w->agenda.job.n && w->agenda.promised.n > 0);
    struct agenda *a = &w->agenda;
    struct wjobs *j = &a->job.v[job];
    for (uint32_t t = j->first; t < j->first + j->n; t++) {
        struct outlook *known = outlook_known(w, a->take.v[t].node);
        unchain(a, &a->kept[a->take.v[t].node], t);
        outlook_given(w, known, t, j->start_us);
    }
    promise_forget(w, job);
    promise_touch(w, job);
    j->n = 0;
}

void world_free_more(struct world *w, uint32_t node, const int64_t *row, int64_t sign)
{
    ASSERT(node < w->nall && (sign == 1 || sign == -1));
    w->agenda.changes[node]++;
    for (size_t d = 0; d < w->dims; d++)
        world_free_row(w, node)[d] += sign * row[d];
    open_refresh(w, node);
    w->now.freed++;
}

static struct wjobs *job_of(struct world *w, const struct run *r)
{
    ASSERT(r->place < w->cl->run.n && w->cl->run.v[r->place] == r);
    return &w->agenda.job.v[w->agenda.of_run[r->place]];
}

void world_lift(struct world *w, const struct run *r, bool lifted)
{
    job_of(w, r)->lifted = lifted;
}

void world_suspend(struct world *w, const struct run *r)
{
    struct agenda *a = &w->agenda;
    struct wjobs *j = job_of(w, r);
    for (uint32_t i = j->first; i < j->first + j->n; i++) {
        struct wtake *t = &a->take.v[i];
        t->first += t->cpus;
        t->n = (uint16_t)(t->n - t->cpus);
        t->cpus = 0;
        a->changes[t->node]++;
    }
    j->lifted = false;
}

/* The end is what chains and ends are sorted by: out of both before it changes, and back in. */
void world_end_by(struct world *w, uint64_t name, int64_t end_us)
{
    struct agenda *a = &w->agenda;
    uint32_t job = 0;
    while (job < a->job.n && a->job.v[job].name != name)
        job++;
    if (job == a->job.n || a->job.v[job].end_us <= end_us)
        return;
    struct wjobs *j = &a->job.v[job];
    ends_remove(a, job);
    for (uint32_t t = j->first; t < j->first + j->n; t++)
        unchain(a, &a->work[a->take.v[t].node], t);
    j->end_us = end_us;
    for (uint32_t t = j->first; t < j->first + j->n; t++)
        agenda_chain(a, t);
    ends_insert(a, (struct end){end_us, job});
}

int64_t world_next_end(const struct world *w)
{
    const struct agenda *a = &w->agenda;
    int64_t end = a->ends_first < a->ends.n ? a->ends.v[a->ends_first].at_us : INT64_MAX,
            turn = view_next_turn(w);
    return turn < end ? turn : end;
}

int64_t world_end_of_share(const struct world *w, size_t share)
{
    ASSERT(share > 0 && w->agenda.ends_first <= w->agenda.ends.n);
    const struct agenda *a = &w->agenda;
    size_t left = a->ends.n - a->ends_first;
    return left > 0 ? a->ends.v[a->ends_first + (left - 1) / share].at_us : INT64_MAX;
}

void world_advance(struct world *w, int64_t now_us)
{
    ASSERT(now_us >= w->now_us);
    struct agenda *a = &w->agenda;
    while (a->ends_first < a->ends.n && a->ends.v[a->ends_first].at_us <= now_us) {
        struct wjobs *j = &a->job.v[a->ends.v[a->ends_first++].job];
        for (uint32_t t = j->first; t < j->first + j->n; t++) {
            uint32_t node = a->take.v[t].node;
            unchain(a, &a->work[node], t);
            amounts_add(w, &a->take.v[t], 1);
            open_refresh(w, node);
            w->now.freed++;
        }
    }
    w->now_us = now_us;
    /* Any number of nodes may be free now that only others could use: more than anybody can
     * lack. */
    if (view_advance(w, now_us)) /* what only others could use may be free now */
        w->now.freed += w->nall + 1;
}
