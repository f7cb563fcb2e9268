/* Each node has two chains of takes: running work by its end, promises by their start. What is free
 * on a node at a later time is what is free now, plus what ends by then, minus the promises in
 * force then; over a stretch of time the least of it is found at its beginning or where a promise
 * begins. Nodes without promises, which nearly all are, need none of this: what is free now stays
 * free. */
#include "sched/world/agenda.h"

#include "sched/world/resv_view.h"

#include <string.h>

void agenda_open(struct world *w, uint32_t node)
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
    agenda_open(w, node);
    counts_touch(w, node);
}

void agenda_chain(struct world *w, uint32_t take)
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

static void amounts_add(struct world *w, const struct wtake *t, int64_t sign)
{
    int64_t *row = &w->free[t->node * w->dims];
    for (uint32_t i = 0; i < t->n; i++)
        row[w->use.v[t->first + i].dim] += sign * w->use.v[t->first + i].amount;
}

void agenda_use(struct world *w, uint32_t dim, int64_t amount)
{
    struct use u = {dim, amount};
    if (amount != 0)
        vec_push(&w->use, u);
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
        agenda_use(w, DIM_CPU, idle < t->cpus ? (idle > 0 ? idle : 0) : t->cpus);
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
        agenda_chain(w, t);
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
        agenda_chain(w, t);
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
