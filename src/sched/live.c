/* In the forecast every waiting class is looked at at every end of work, nearly always to find that it still does not fit. So the order is a
 * packed array of what is needed for that answer: how many nodes with how much of three dimensions, at least, in any variant. */
#include "sched/live.h"

#include "base/alloc.h"
#include "sched/classes.h"
#include "sched/priority.h"

#include <stdlib.h>
#include <string.h>

static int entry_order(const struct entry *a, const struct entry *b)
{
    if (a->tier != b->tier)
        return a->tier > b->tier ? -1 : 1;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->job->w.order != b->job->w.order)
        return a->job->w.order < b->job->w.order ? -1 : 1;
    int by_age = wjob_order(a->job, b->job);
    return by_age ? by_age : (int)a->number - (int)b->number;
}

static int entry_compare(const void *a, const void *b)
{
    return entry_order(a, b);
}

struct wjob *lane_next(const struct pass *p, const struct lane *l)
{
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
    if (p->left[l->idx] > 1)
        p->left[l->idx]--;
    else
        lane_advance(p, l);
}

static void entry_fill(const struct pass *p, struct entry *e)
{
    e->job = lane_next(p, e->lane);
    if (e->job)
        e->priority = priority_of(p->cl, e->o, &e->job->w, p->v->now_us);
}

/* ---- what is needed at least ---- */

/* The least that one node gives in any group of any variant, by three dimensions: CPUs, memory, and the first generic resource if all variants
 * ask for the same. */
static void least_of(const struct pass *p, const struct entry *e, int64_t *cpus, int64_t *mem, uint32_t *gres, int64_t *gres_least)
{
    *cpus = *mem = *gres_least = INT64_MAX;
    *gres = e->o->variant[0].ngres > 0 ? e->o->variant[0].gres[0].dim : DIM_CPU;
    for (size_t i = 0; i < e->o->nvariants; i++) {
        struct variant *v = &e->o->variant[i];
        if (v->ngres == 0 || v->gres[0].dim != *gres)
            *gres = DIM_CPU;
        for (size_t g = 0; g < p->cl->group.n; g++) {
            struct take t;
            if (!bit_get(v->groups, g) || !demand_take(p->cl, e->c, e->o, v, p->cl->group.v[g], v->lay.umin, &t))
                continue;
            *cpus = t.cpus < *cpus ? t.cpus : *cpus;
            *mem = t.mem_mib < *mem ? t.mem_mib : *mem;
            for (uint32_t k = 0; k < t.n; k++)
                if (t.use[k].dim == *gres && t.use[k].amount < *gres_least)
                    *gres_least = t.use[k].amount;
        }
    }
    if (*gres == DIM_CPU)
        *gres_least = 0;
}

static struct quick quick_make(const struct pass *p, uint32_t number)
{
    const struct entry *e = &p->entry.v[number];
    struct quick q = {.entry = number, .part = e->o->part->idx, .run_us = e->o->limit_min_us};
    /* What counts cannot tell about is always tried: jobs that may start in several partitions or with others, on nodes shared by users. */
    bool plain = e->c->n == 1 && !e->lane->het && e->o->nvariants > 0 && !e->o->mode.share && !e->o->mode.user_only;
    if (!plain)
        return q;
    int64_t cpus, mem, gres;
    uint32_t dim;
    least_of(p, e, &cpus, &mem, &dim, &gres);
    q.nodes = e->o->variant[0].lay.nmin;
    for (size_t i = 0; i < e->o->nvariants; i++)
        q.nodes = e->o->variant[i].lay.nmin < q.nodes ? e->o->variant[i].lay.nmin : q.nodes;
    q.cpu = (uint8_t)bucket_of(p->w, DIM_CPU, cpus);
    q.mem = (uint8_t)bucket_of(p->w, DIM_MEM, mem);
    q.gres = (uint8_t)bucket_of(p->w, dim, gres);
    q.dim = dim;
    return q;
}

bool live_may_fit(const struct pass *p, const struct quick *q)
{
    const struct world *w = p->w;
    int64_t end = time_add(w->now_us, q->run_us);
    /* A run that ends before any promise begins does not see them; one that ends after all have begun sees all. */
    const struct counts_of *c = w->count[end > w->last_promise_us && w->promised.n > 0 ? COUNT_EVER : COUNT_NOW];
    return c[DIM_CPU].nodes[q->cpu] >= q->nodes && c[q->dim].nodes[q->gres] >= q->nodes && c[DIM_MEM].nodes[q->mem] >= q->nodes;
}

/* ---- the array ---- */

void live_build(struct pass *p)
{
    for (size_t i = 0; i < p->cl->lane.n; i++) {
        struct lane *l = p->cl->lane.v[i];
        struct compiled *c = demand_of(p->cl, l->klass);
        p->left[l->idx] = l->job[l->first]->w.elements;
        for (uint32_t k = 0; k < c->n; k++) {
            struct entry e = {.lane = l, .c = c, .o = &c->option[k], .tier = c->option[k].tier, .number = k};
            e.o->stamp = 0;
            entry_fill(p, &e);
            vec_push(&p->entry, e);
        }
        if (c->n == 0)
            pass_note(p, &(struct entry){.lane = l, .c = c}, REASON_BAD_CONSTRAINTS);
    }
    if (p->entry.n > 1)
        qsort(p->entry.v, p->entry.n, sizeof p->entry.v[0], entry_compare);
    vec_reserve(&p->live, p->entry.n + 1);
    for (uint32_t i = 0; i < p->entry.n; i++)
        vec_push(&p->live, quick_make(p, i));
}

void live_remove(struct pass *p, size_t i)
{
    vec_remove(&p->live, i);
}

void live_refresh(struct pass *p, size_t i)
{
    struct quick q = p->live.v[i];
    struct entry *e = &p->entry.v[q.entry];
    vec_remove(&p->live, i);
    entry_fill(p, e);
    if (!e->job)
        return;
    size_t low = i, high = p->live.n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct entry *other = &p->entry.v[p->live.v[middle].entry];
        /* Entries whose lane went on are still where they were: they count as the job they stood for. */
        if (entry_order(other, e) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    vec_push(&p->live, q);
    memmove(&p->live.v[low + 1], &p->live.v[low], (p->live.n - 1 - low) * sizeof q);
    p->live.v[low] = q;
}
