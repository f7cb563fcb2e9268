/* What a pass finds: starts, promised and foreseen starts, and why a class waits. */
#include "sched/pass/found.h"

#include "base/alloc.h"

#include <stdlib.h>

void pass_note(struct pass *p, const struct entry *e, enum job_reason reason)
{
    ASSERT(reason != REASON_NONE && reason < REASON_COUNT);
    uint32_t idx = e->lane->klass->idx;
    if (p->future)
        return;
    while (p->v->note.n <= idx) {
        struct class_note none = {0};
        vec_push(&p->v->note, none);
    }
    struct class_note *n = &p->v->note.v[idx];
    if (n->serial == e->lane->klass->serial && n->reason != REASON_PRIORITY)
        return; /* the entry that came first in the order speaks */
    *n = (struct class_note){.serial = e->lane->klass->serial, .reason = reason};
}

struct class_note *plan_note(struct plan_private *v, const struct sclass *k)
{
    return k->idx < v->note.n && v->note.v[k->idx].serial == k->serial ? &v->note.v[k->idx] : NULL;
}

void pass_note_capped(struct pass *p, const struct entry *e, const struct lic_use *use,
                      int64_t takes)
{
    ASSERT(use->lic < p->cl->lic.n);
    uint32_t idx = e->lane->klass->idx;
    enum job_reason reason = p->cl->lic.v[use->lic].reason;
    pass_note(p, e, reason);
    if (p->future || p->v->note.v[idx].reason != reason)
        return;
    p->v->note.v[idx].capped = use->lic + 1;
    p->v->note.v[idx].takes = takes;
}

static void planned_free(struct planned *f)
{
    free(f->node);
    free(f->names);
    free(f);
}

void planned_put(struct map_u64 *planned, struct planned f)
{
    ASSERT(f.job_id);
    struct planned *old = map_u64_del(planned, f.job_id), *own = xmalloc(sizeof *own);
    if (old)
        planned_free(old);
    *own = f;
    map_u64_put(planned, f.job_id, own);
}

static void log_start(struct plan_private *v, uint64_t job_id, int64_t start_us)
{
    struct started s = {job_id, start_us};
    if (v->logs)
        vec_push(&v->log, s);
}

void log_unstart(struct plan_private *v, uint64_t job_id, int64_t start_us)
{
    for (size_t i = v->log.n; i-- > 0;)
        if (v->log.v[i].job_id == job_id && v->log.v[i].start_us == start_us) {
            vec_remove(&v->log, i);
            return;
        }
}

static bool promised_before(const struct planned *f, int64_t start_us, const struct placement *at)
{
    bool same = f->promise && f->start_us == start_us && f->nnodes == at->at.n;
    for (size_t i = 0; same && i < at->at.n; i++)
        same = f->node[i] == at->at.v[i].node;
    return same;
}

void pass_foresee(struct pass *p, uint64_t job_id, int64_t start_us, const struct placement *at,
                  bool promise)
{
    ASSERT(start_us >= p->v->now_us);
    struct planned *old = map_u64_get(p->v->planned, job_id);
    if (at->at.n > 0) /* else it is only a guess by the size of the queue */
        log_start(p->v, job_id, start_us);
    if (old && (old->pass == p->v->pass || !promise)) /* an array's first element speaks for it */
        return;
    if (old && promised_before(old, start_us, at) && !p->future) {
        old->pass = p->v->pass;
        return;
    }
    uint32_t *node = xmalloc((at->at.n + 1) * sizeof *node);
    for (size_t i = 0; i < at->at.n; i++)
        node[i] = at->at.v[i].node;
    planned_put(p->v->planned,
                (struct planned){.job_id = job_id,
                                 .start_us = start_us,
                                 /* What is promised in a foreseen future is a forecast */
                                 .promise = promise && !p->future,
                                 .pass = p->v->pass,
                                 .node = node,
                                 .nnodes = (uint32_t)at->at.n});
}

bool pass_emit(struct pass *p, const struct wjob *j, const struct compiled *c,
               const struct placement *at, int64_t limit_us, uint64_t priority)
{
    ASSERT(!p->future && at->at.n > 0 && limit_us >= 0);
    struct alloc al = {.node = arena_alloc(p->v->arena, (at->at.n + 1) * sizeof al.node[0])};
    for (; al.n < at->at.n; al.n++) {
        const struct placed *pl = &at->at.v[al.n];
        if (exact_take(p->ex, c, at->option, at->variant, pl->node, pl->units, &al.node[al.n]))
            continue;
        for (size_t i = 0; i < al.n; i++)
            exact_back(p->ex, at->at.v[i].node, at->option, &al.node[i]);
        p->refused_node = pl->node;
        return false;
    }
    struct plan_start s = {.job_id = j->w.job_id,
                           .partition = arena_strdup(p->v->arena, at->option->part->p.name),
                           .reservation = at->option->resv
                                              ? arena_strdup(p->v->arena, at->option->resv->r.name)
                                              : NULL,
                           .alloc = al,
                           .limit_us = limit_us,
                           .priority = priority,
                           .backfilled = p->promise.n > 0};
    vec_push(&p->v->start, s);
    log_start(p->v, j->w.job_id, p->w->now_us);
    return true;
}

bool pass_reachable(struct pass *p, const struct compiled *c, struct option *o)
{
    ASSERT(o >= c->option && o < c->option + c->n);
    if (o->up_version == p->cl->derived.up_version)
        return o->reachable;
    o->up_version = p->cl->derived.up_version;
    o->reachable = demand_possible(p->cl, c, o, true);
    return o->reachable;
}

void planned_done(struct map_u64 *planned)
{
    struct map_walk walk = {0};
    while (planned && map_u64_next(planned, &walk))
        planned_free(walk.value);
    map_u64_free(planned);
}

void planned_drain(struct plan_private *v, size_t most)
{
    for (; v->former && most > 0; most--) {
        if (map_u64_next(v->former, &v->former_at)) {
            planned_free(v->former_at.value);
            continue;
        }
        map_u64_free(v->former);
        v->former = NULL;
    }
}

void planned_replace(struct plan_private *v, struct map_u64 *instead)
{
    planned_drain(v, SIZE_MAX);
    v->former = v->planned;
    v->former_at = (struct map_walk){0};
    v->planned = instead ? instead : map_u64_new();
}

void planned_prune(struct plan_private *v)
{
    for (size_t i = 0; i < v->start.n; i++) {
        struct planned *f = map_u64_get(v->planned, v->start.v[i].job_id);
        if (!f)
            continue;
        map_u64_del(v->planned, f->job_id);
        planned_free(f);
    }
}

void foreseen_drop(struct pass *p, const struct wjob *j)
{
    struct planned *f = map_u64_del(p->v->planned, j->w.job_id);
    if (f)
        planned_free(f);
}
