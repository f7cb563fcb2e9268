/* How the world of a pass begins: as the cluster is now, with running work as it is expected to
 * end. */
#include "sched/world/world.h"
#include "sched/books/limits/caps.h"
#include "sched/books/run_pack.h"
#include "sched/books/unproven.h"
#include "sched/world/agenda.h"
#include "sched/world/counts.h"
#include "sched/world/outlook.h"
#include "sched/world/resv_view.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

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

/* By expected end, so that chains_build need not look for anybody's place. Between equal ends
 * the number decides: what a pass finds must not hang on the order in which runs came into the
 * table. */
static int run_order(const void *a, const void *b)
{
    const struct run *x = *(const struct run *const *)a, *y = *(const struct run *const *)b;
    if (x->end_us != y->end_us)
        return x->end_us < y->end_us ? -1 : 1;
    return (x->job_id > y->job_id) - (x->job_id < y->job_id);
}

/* For all running work in each pass: so what it takes is kept packed (run_pack.h), and here only
 * numbers are shifted. */
static void run_copy(struct world *w, struct run *r)
{
    struct agenda *a = &w->agenda;
    const struct run_pack *pack = run_pack_of(w->cl, r);
    struct wjobs j = {.start_us = r->start_us,
                      .end_us = run_end(w->cl, r, w->now_us),
                      .first = (uint32_t)a->take.n,
                      .name = r->job_id,
                      .resv = r->resv,
                      .part = pack->part,
                      .shares = r->shares};
    uint32_t number = (uint32_t)a->job.n, uses = (uint32_t)a->use.n;
    for (size_t i = 0; i < pack->use.n; i++)
        vec_push(&a->use, pack->use.v[i]);
    for (size_t i = 0; i < pack->take.n; i++) {
        const struct pack_take *p = &pack->take.v[i];
        /* Nobody will ask what is left of a cap that cannot bind in this pass (cap_binds.h), and
         * where each account has limits those are most takes. */
        if (p->node >= w->nnodes && cap_is_idle(w->cl, p->node - w->nnodes))
            continue;
        struct wtake t = {
            .node = p->node, .job = number, .first = uses + p->first, .n = p->n, .cpus = p->cpus};
        vec_push(&a->take, t);
        j.n++;
    }
    a->of_run[r->place] = number;
    vec_push(&a->job, j);
    struct end e = {j.end_us, number};
    vec_push(&a->ends, e);
}

/* What is expected to be found clean is as work that ends then. */
static void unproven_copy(struct world *w, const struct snode *n)
{
    struct agenda *a = &w->agenda;
    for (size_t i = 0; i < n->unproven.n; i++) {
        int64_t until = unproven_until(&n->unproven.v[i], w->now_us);
        if (until == INT64_MAX)
            continue;
        struct wjobs j = {
            .start_us = w->now_us, .end_us = until, .first = (uint32_t)a->take.n, .n = 1};
        struct wtake t = {
            .node = n->idx, .job = (uint32_t)a->job.n, .first = (uint32_t)a->use.n, .n = 1};
        struct end e = {until, t.job};
        agenda_use(a, n->unproven.v[i].dim, 1);
        vec_push(&a->take, t);
        vec_push(&a->job, j);
        vec_push(&a->ends, e);
    }
}

/* Chains are kept by end; runs come ascending by end, so each goes to the tail. */
static void chains_build(struct world *w)
{
    struct agenda *a = &w->agenda;
    /* From the last to the first, each put at the head: one walk instead of a search for each
     * take. */
    for (size_t i = a->take.n; i-- > 0;) {
        struct wtake *t = &a->take.v[i];
        t->next = a->work[t->node];
        a->work[t->node] = (uint32_t)i;
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
    struct agenda *a = &w->agenda;
    size_t n = w->cl->run.n;
    struct run **run = xcalloc(n + 1, sizeof run[0]);
    a->of_run = xmalloc((n + 1) * sizeof a->of_run[0]);
    if (n > 0)
        memcpy(run, w->cl->run.v, n * sizeof run[0]);
    qsort(run, n, sizeof run[0], run_order);
    /* Those past their end come last, and into their places: their expected end is later than that
     * of some others. */
    for (size_t i = 0; i < n; i++)
        if (run[i]->end_us > w->now_us)
            run_copy(w, run[i]);
    size_t in_order = a->take.n;
    chains_build(w);
    for (size_t i = 0; i < n; i++)
        if (run[i]->end_us <= w->now_us)
            run_copy(w, run[i]);
    for (size_t i = 0; i < w->nnodes; i++)
        if (w->cl->node.v[i]->has_out)
            unproven_copy(w, w->cl->node.v[i]);
    for (size_t i = in_order; i < a->take.n; i++)
        agenda_chain(a, (uint32_t)i);
    /* Sorted once: those past their end and devices that are not clean yet came after the
     * others. */
    if (a->ends.n > 1)
        qsort(a->ends.v, a->ends.n, sizeof a->ends.v[0], end_order);
    free(run);
}

/* Several jobs of one user that each take the node for that user: it comes free for others with the
 * last of them. */
static void places_count(struct world *w, const struct snode *n)
{
    int64_t *jobs = &world_free_row(w, n->idx)[DIM_JOBS];
    if (*jobs > 0 || n->hold.n < 2)
        return;
    *jobs = JOBS_ALL;
    for (size_t i = 0; i < n->hold.n; i++)
        *jobs -= run_places(n->hold.v[i]->run);
}

/* Copies what the cluster has free. Licences stand behind the nodes, as nodes of one dimension, so
 * that what runs and is promised is counted against both by the same code. */
static void present_init(struct world *w)
{
    const struct cluster *cl = w->cl;
    struct present *now = &w->now;
    now->free = xcalloc(w->nall * w->dims + 1, sizeof now->free[0]);
    memcpy(now->free, cl->node.free, w->nnodes * w->dims * sizeof now->free[0]);
    for (size_t i = 0; i < cl->lic.n; i++)
        if (!cap_is_idle(cl, i))
            world_free_row(w, w->nnodes + i)[DIM_CPU] = cl->lic.v[i].total - cl->lic.v[i].used;
    now->open = xcalloc(BIT_WORDS(w->nnodes) + 1, sizeof now->open[0]);
    now->up = xcalloc(BIT_WORDS(w->nnodes) + 1, sizeof now->up[0]);
    now->group = xcalloc(w->nnodes + 1, sizeof now->group[0]);
    for (uint32_t i = 0; i < w->nnodes; i++) {
        now->group[i] = cl->node.v[i]->group;
        if (cl->node.v[i]->up)
            bit_set(now->up, i);
        places_count(w, cl->node.v[i]);
        agenda_open(w, i);
    }
}

static void scratch_init(struct world *w)
{
    struct scratch *s = &w->scratch;
    s->row = xcalloc(w->dims, sizeof s->row[0]);
    s->sum = xcalloc(w->dims, sizeof s->sum[0]);
    s->cap = xcalloc(w->nnodes + 1, sizeof s->cap[0]);
    s->screened = xcalloc(BIT_WORDS(w->nnodes) + 1, sizeof s->screened[0]);
    s->shared = xcalloc(BIT_WORDS(w->nnodes) + 1, sizeof s->shared[0]);
    s->near = xcalloc(BIT_WORDS(w->nnodes) + 1, sizeof s->near[0]);
    s->outlook = xcalloc(w->nall + 1, sizeof s->outlook[0]);
}

static void present_done(struct present *now)
{
    free(now->free);
    free(now->open);
    free(now->up);
    free(now->group);
}

static void scratch_done(struct scratch *s, size_t nall)
{
    for (size_t i = 0; i < nall; i++)
        outlook_free(s->outlook[i]);
    free(s->outlook);
    vec_done(&s->key);
    vec_done(&s->pick);
    vec_done(&s->stair);
    free(s->cap);
    free(s->screened);
    free(s->shared);
    free(s->near);
    free(s->row);
    free(s->sum);
}

struct world *world_new(const struct cluster *cl, int64_t now_us)
{
    CHECK(!cl->derived.stale);
    struct world *w = xcalloc(1, sizeof *w);
    w->cl = cl;
    w->now_us = now_us;
    w->nnodes = cl->node.n;
    w->nall = cl->node.n + cl->lic.n;
    w->dims = cl->dim.n;
    /* In this order: runs are chained into the empty lists of the agenda, counts look at what is
     * free now and at the chains of promises, and the view asks which caps have hours. */
    present_init(w);
    scratch_init(w);
    agenda_init(&w->agenda, w->nall);
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
    agenda_done(&w->agenda);
    present_done(&w->now);
    scratch_done(&w->scratch, w->nall);
    free(w);
}
