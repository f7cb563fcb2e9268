/* A heterogeneous job: all components start together or none does. The components are placed one
 * after another in the same world; if one does not fit, those placed before it are undone, and it
 * is tried as the first of them: another may have taken what only this one could not do without.
 * What stands in their way together may have to give way (preempt.c). */
#include "base/alloc.h"
#include "sched/books/tables.h"
#include "sched/pass/bars.h"
#include "sched/pass/components.h"
#include "sched/pass/found.h"
#include "sched/pass/pass.h"
#include "sched/pass/preempt/preempt.h"
#include "sched/pass/priority.h"
#include "sched/pass/to_place.h"
#include "sched/world/resv_view.h"

#include <stdlib.h>
#include <string.h>

static void starts_drop(struct pass *p, size_t n)
{
    while (p->v->start.n > n) {
        struct plan_start *s = &p->v->start.v[--p->v->start.n];
        struct spart *part = cluster_part(p->cl, s->partition);
        for (size_t i = 0; i < s->alloc.n; i++) {
            const struct wjob *j = het_job_here(p, map_u64_get(p->cl->queue.by_job, s->job_id));
            struct option o = {.part = part, .mode = request_mode(j->w.req, &part->p)};
            exact_back(p->ex, cluster_node(p->cl, s->alloc.node[i].node)->idx, &o,
                       &s->alloc.node[i]);
        }
    }
}

/* In their order; *ret_failed is the place of the one that does not fit. */
static bool start_in_order(struct pass *p, const struct het *h, size_t *ret_failed)
{
    uint32_t *begun = xcalloc(h->n + 1, sizeof begun[0]);
    size_t n = 0, starts = p->v->start.n;
    int64_t now = p->w->now_us;
    bool ok = true;
    for (; ok && n < h->n; n += ok) {
        struct compiled *c = demand_of(p->cl, h->job[n]->lane->klass);
        struct option *o = het_place(p, h->job[n], now);
        ok = o && (p->future ||
                   pass_emit(p, h->job[n], c, &p->at, het_limit_at(p, o, now),
                             priority_of(p->cl, o, &h->job[n]->w, p->v->now_us) / PRIORITY_ONE));
        if (ok)
            begun[n] = world_begin(p->w, c, &p->at, h->job[n]->w.job_id,
                                   time_add(now, het_limit_at(p, o, now)));
        if (ok && p->future)
            pass_foresee(p, h->job[n]->w.job_id, now, &p->at, false);
    }
    *ret_failed = n;
    if (!ok) {
        while (n > 0) {
            world_undo(p->w, begun[--n]);
            if (p->future)
                foreseen_drop(p, h->job[n]);
        }
        starts_drop(p, starts);
    }
    free(begun);
    return ok;
}

static void to_front(struct het *h, size_t i)
{
    struct wjob *first = h->job[i];
    memmove(&h->job[1], &h->job[0], i * sizeof h->job[0]);
    h->job[0] = first;
}

static bool start_all(struct pass *p, struct het *h)
{
    for (size_t tries = 0; tries < h->n; tries++) {
        size_t failed;
        if (start_in_order(p, h, &failed))
            return true;
        if (failed == 0)
            return false;
        to_front(h, failed);
    }
    return false;
}

static bool component_earliest(struct pass *p, const struct wjob *j, int64_t from_us,
                               struct option **ret_option, int64_t *ret_us)
{
    const struct compiled *c = demand_of(p->cl, j->lane->klass);
    struct placement at = {0};
    bool found = false;
    *ret_us = INT64_MAX;
    for (size_t i = 0; i < c->n; i++) {
        int64_t when;
        struct option *o = &c->option[i];
        if (o->never != REASON_NONE)
            continue;
        struct to_place what = pass_to_place(p, c, o, j);
        if (!world_earliest(p->w, &what, o->limit_us, from_us, &at, &when) || when >= *ret_us)
            continue;
        *ret_us = when;
        *ret_option = o;
        found = true;
        struct placement swap = p->at;
        p->at = at;
        at = swap;
    }
    vec_done(&at.at);
    return found;
}

#define ROUNDS_MAX 64 /* times at which a common start is looked for */

/* Finds the first time at which all components fit, by letting the latest of them push the
 * others. */
static void promise_all(struct pass *p, struct het *h, uint32_t part)
{
    int64_t at_us = p->w->now_us;
    size_t tries = 0;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        size_t first = p->promise.n, n = 0;
        int64_t when = at_us;
        for (; n < h->n; n++) {
            struct compiled *c = demand_of(p->cl, h->job[n]->lane->klass);
            struct option *o = NULL;
            if (!component_earliest(p, h->job[n], at_us, &o, &when) || when > at_us)
                break;
            struct promised pr = {.lane = h->job[n]->lane,
                                  .job = h->job[n],
                                  .part = part,
                                  .start_us = at_us,
                                  .het = h->id};
            pr.world_job = world_promise(p->w, c, &p->at, h->job[n]->w.job_id, at_us,
                                         time_add(at_us, het_limit_at(p, o, at_us)));
            vec_push(&p->promise, pr);
            pass_foresee(p, h->job[n]->w.job_id, at_us, &p->at, true);
        }
        /* Single CPUs or devices did not allow it */
        bool in_vain = !p->future && at_us <= p->w->now_us;
        if (n == h->n && !in_vain) {
            p->served[part] = true;
            return;
        }
        if (n == h->n)
            when = world_next_end(p->w);
        while (p->promise.n > first) {
            struct promised *pr = &p->promise.v[--p->promise.n];
            world_break(p->w, pr->world_job);
            foreseen_drop(p, pr->job);
            log_unstart(p->v, pr->job->w.job_id, pr->start_us);
        }
        if (n > 0 && n < h->n && ++tries < h->n) {
            to_front(h, n);
            continue;
        }
        tries = 0;
        if (when == INT64_MAX || when <= at_us)
            return;
        at_us = when;
    }
}

/* A limit that holds a component, wherever it might be placed, holds all: as any work that a limit
 * holds, they stop nobody and keep nothing free. Whose limit it is is told the component, and the
 * entry that is being looked at. */
static bool components_capped(struct pass *p, const struct het *h, const struct entry *e)
{
    enum job_reason held_by = REASON_NONE;
    for (size_t i = 0; i < h->n; i++) {
        struct compiled *c = demand_of(p->cl, h->job[i]->lane->klass);
        struct entry one = {.lane = h->job[i]->lane, .job = h->job[i], .c = c};
        enum job_reason capped = REASON_NONE;
        for (size_t k = 0; k < c->n; k++) {
            one.o = &c->option[k];
            capped = one.o->never == REASON_NONE ? entry_capped_by(p, &one) : capped;
            if (one.o->never == REASON_NONE && capped == REASON_NONE)
                break;
        }
        if (capped == REASON_NONE)
            continue;
        pass_note(p, &one, capped);
        held_by = held_by != REASON_NONE && one.lane != e->lane ? held_by : capped;
    }
    if (held_by != REASON_NONE)
        pass_note(p, e, held_by);
    return held_by != REASON_NONE;
}

enum outcome pass_het(struct pass *p, struct entry *e)
{
    ASSERT(e->lane->het && e->job);
    struct het *h = pass_het_of(p, e->lane->het);
    if (h->done)
        return NEVER;
    if (h->stamp == p->step || e->job->w.het_size > h->n)
        return BLOCKED;
    h->stamp = p->step;
    for (size_t i = 0; i < p->promise.n; i++)
        if (p->promise.v[i].het == h->id)
            return BLOCKED;
    for (size_t i = 0; i < h->n; i++) {
        struct compiled *c = demand_of(p->cl, h->job[i]->lane->klass);
        bool reachable = false;
        for (size_t k = 0; k < c->n; k++)
            reachable |= c->option[k].never == REASON_NONE && pass_reachable(p, c, &c->option[k]);
        if (!reachable) {
            pass_note(p, e, REASON_REQ_NODE_NOT_AVAIL);
            return NEVER;
        }
    }
    if (start_all(p, h)) {
        h->done = true;
        return NEVER; /* all of its entries go */
    }
    if (components_capped(p, h, e))
        return BLOCKED;
    uint32_t part = e->o->serve;
    pass_note(p, e, p->served[part] ? REASON_PRIORITY : REASON_RESOURCES);
    if (!p->served[part] && !p->future)
        vec_push(&p->v->head, e->job->w.job_id);
    enum preempting stops = pass_preempt(p, e, h);
    h->done = stops == PREEMPTS_AT_ONCE; /* the pass that follows starts it */
    if (stops == PREEMPTS_ENDING || (stops == PREEMPTS_NONE && !p->served[part]))
        promise_all(p, h, part);
    return h->done ? NEVER : BLOCKED;
}
