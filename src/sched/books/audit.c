/* The oracle of the cluster's books: nothing is given twice, and what is counted is what is
 * held. */
#include "base/alloc.h"
#include "sched/books/classes.h"
#include "sched/books/settle.h"

#include <stdlib.h>
#include <string.h>

/* A CPU alone may be held by one job; by others only if one of them was suspended meanwhile. */
static void check_cpus(const struct snode *n)
{
    int32_t slots = n->group->slots;
    const struct hold **owner = xcalloc((size_t)slots + 1, sizeof owner[0]);
    for (size_t i = 0; i < n->hold.n; i++) {
        const struct hold *h = n->hold.v[i];
        for (size_t k = 0; k < h->ncpu && !h->run->suspended && !h->run->was_suspended; k++) {
            int32_t slot = h->cpu[k] / n->group->slot_cpus;
            if (slot >= slots || owner[slot] == h)
                continue;
            CHECK(!owner[slot] || (owner[slot]->run->shares && h->run->shares));
            owner[slot] = h;
        }
    }
    free(owner);
}

static void check_devices(const struct snode *n)
{
    for (size_t i = 0; i < n->hold.n; i++)
        for (size_t k = 0; k < n->hold.v[i]->ngres; k++) {
            const struct held_gres *g = &n->hold.v[i]->gres[k];
            for (size_t d = 0; d < g->nindex; d++)
                for (size_t x = 0; x < n->group->ndev; x++)
                    CHECK(n->group->dev[x].dim != g->dim || n->group->dev[x].index != g->index[d] ||
                          n->dev_job[x] == n->hold.v[i]->run->job_id);
        }
}

static void check_whole(const struct snode *n)
{
    size_t active = 0;
    for (size_t i = 0; i < n->hold.n; i++) {
        CHECK(!n->hold.v[i]->run->lifted);
        active += !n->hold.v[i]->run->was_suspended;
    }
    for (size_t i = 0; i < n->hold.n; i++)
        CHECK(!n->hold.v[i]->run->whole || n->hold.v[i]->run->was_suspended || active == 1);
}

static void check_node(struct cluster *cl, struct snode *n)
{
    int64_t *before = xmemdup(node_free(cl, n), cl->dim.n * sizeof before[0]);
    check_cpus(n);
    check_devices(n);
    check_whole(n);
    node_recount(cl, n);
    CHECK(memcmp(before, node_free(cl, n), cl->dim.n * sizeof before[0]) == 0);
    free(before);
}

static void check_runs(const struct cluster *cl)
{
    struct map_walk w = {0};
    int64_t *used = xcalloc(cl->lic.n + 1, sizeof used[0]);
    while (map_u64_next(cl->run.by_job, &w)) {
        const struct run *r = w.value;
        CHECK(r->job_id == w.key);
        CHECK(!r->resv || (r->resv <= cl->resv.n && cl->resv.v[r->resv - 1]));
        size_t held = 0;
        for (size_t i = 0; i < r->nholds; i++)
            held += !r->hold[i].released;
        CHECK(held == r->nheld);
        for (size_t i = 0; i < r->nlic; i++)
            used[r->lic[i].lic] += r->lic[i].count;
        for (size_t i = 0; i < r->ncap; i++)
            used[r->cap[i].lic] += r->cap[i].count;
    }
    for (size_t i = 0; i < cl->lic.n; i++)
        CHECK(used[i] == cl->lic.v[i].used);
    free(used);
}

/* What is said of the lane's first is so. */
static void check_front(const struct front *f, const struct lane *l)
{
    const struct wjob *j = l->job[l->first];
    CHECK(f->job == j && f->job_id == j->w.job_id && f->klass == l->klass->idx);
    CHECK(front_ages_from(f) == ages_from(&j->w) && f->nice == j->w.nice);
    CHECK(f->own == j->w.own && f->person == j->w.person && f->het == (j->w.het_job_id != 0));
    CHECK(f->apart == (l->het || l->placed || l->priority_asked || j->w.deadline_us > 0));
}

static void check_waiting(const struct cluster *cl)
{
    size_t jobs = 0;
    for (size_t i = 0; i < cl->queue.lane.n; i++) {
        const struct lane *l = cl->queue.lane.v[i];
        CHECK(l->idx == i && l->n > 0);
        check_front(&cl->queue.front.v[i], l);
        for (size_t k = 0; k < l->n; k++) {
            CHECK(l->job[l->first + k]->lane == l);
            CHECK(k == 0 || wjob_order(l->job[l->first + k - 1], l->job[l->first + k]) < 0);
        }
        jobs += l->n;
    }
    CHECK(jobs == cl->queue.n && jobs == map_u64_count(cl->queue.by_job));
}

void cluster_check(struct cluster *cl)
{
    cluster_settle(cl);
    for (size_t i = 0; i < cl->node.n; i++) {
        CHECK(cl->node.v[i]->idx == i);
        check_node(cl, cl->node.v[i]);
    }
    check_runs(cl);
    check_waiting(cl);
}
