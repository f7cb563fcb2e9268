/* A job that starts in a pass: where, for how long at most, and what the plan says of it. */
#include "sched/pass/start.h"

#include "base/alloc.h"
#include "sched/pass/bars.h"
#include "sched/pass/found.h"
#include "sched/pass/priority.h"
#include "sched/pass/to_place.h"
#include "sched/world/resv_view.h"

#include <stdlib.h>

/* Or before a reservation begins or ends. */
static bool place_before_turn(struct pass *p, const struct entry *e, const struct to_place *what,
                              int64_t *limit_us)
{
    for (size_t i = p->w->view.turn.n; i-- > p->w->view.turn_first;) {
        int64_t room = (p->w->view.turn.v[i] - p->w->now_us) / USEC_PER_MIN * USEC_PER_MIN;
        if (room < e->o->limit_min_us || room >= *limit_us)
            continue;
        if (world_place(p->w, what, p->w->now_us, time_add(p->w->now_us, room), &p->at)) {
            *limit_us = room;
            return true;
        }
    }
    return false;
}

/* With --time-min the limit may be cut so that the job ends before promised work begins. */
static bool place_shorter(struct pass *p, const struct entry *e, const struct to_place *what,
                          int64_t *limit_us)
{
    for (size_t i = p->promise.n; i-- > 0;) {
        int64_t room = (p->promise.v[i].start_us - p->w->now_us) / USEC_PER_MIN * USEC_PER_MIN;
        if (room < e->o->limit_min_us || room >= *limit_us)
            continue;
        if (world_place(p->w, what, p->w->now_us, time_add(p->w->now_us, room), &p->at)) {
            *limit_us = room;
            return true;
        }
    }
    return place_before_turn(p, e, what, limit_us);
}

/* In the units of step.c. */
#define START_COST      400
#define START_NODE_COST 40

/* CPU seconds of work that was begun. */
static int64_t start_size(const struct world *w, size_t job)
{
    const struct wjobs *j = &w->agenda.job.v[job];
    int64_t cpus = 0;
    for (uint32_t i = j->first; i < j->first + j->n; i++) {
        const struct wtake *t = &w->agenda.take.v[i];
        for (uint32_t u = t->first; u < t->first + t->n; u++)
            cpus += w->agenda.use.v[u].dim == DIM_CPU ? w->agenda.use.v[u].amount : 0;
    }
    return j->end_us == INT64_MAX ? 0 : cpus * ((j->end_us - j->start_us) / USEC_PER_SEC);
}

/* Tells the simulator why it starts. */
static void started_tell(const struct pass *p, const struct entry *e)
{
    const struct order_hook *hook = &p->cl->hook;
    const struct planned *f = map_u64_get(p->v->planned, e->job->w.job_id);
    if (!hook->started)
        return;
    enum start_why why = p->served[e->o->part->idx] ? START_PASSED : START_HEAD;
    if (f && f->promise && f->start_us <= p->v->now_us)
        why = START_PROMISED;
    hook->started(hook->ctx, e->job->w.job_id, why);
}

#define DETOURS_MAX 16

/* Starts it where it was placed. Where counts say yes but sockets or devices no, other nodes are
 * looked for. */
static bool emit_somewhere(struct pass *p, const struct entry *e, const struct to_place *what,
                           int64_t limit_us)
{
    struct world *w = p->w;
    struct to_place elsewhere = *what;
    uint64_t *barred = NULL;
    bool emitted = false, placed = true;
    for (int i = 0; placed && !emitted && i < DETOURS_MAX; i++) {
        emitted = pass_emit(p, e->job, e->c, &p->at, limit_us, e->priority / PRIORITY_ONE);
        if (emitted)
            break;
        if (!barred)
            elsewhere.barred = barred = xcalloc(BIT_WORDS(w->nnodes) + 1, sizeof barred[0]);
        bit_set(barred, p->refused_node);
        placed = world_place(w, &elsewhere, w->now_us, time_add(w->now_us, limit_us), &p->at);
    }
    free(barred);
    return emitted;
}

bool entry_start(struct pass *p, const struct entry *e)
{
    ASSERT(e->job && e->o->never == REASON_NONE);
    struct world *w = p->w;
    int64_t limit = entry_limit(e, view_limit(w, e->o, e->o->limit_us, w->now_us), w->now_us);
    uint64_t to; /* those before it who have more right, if its user has much */
    limit = entry_leaves(p, e, limit, &to);
    struct to_place what = pass_to_place(p, e->c, e->o, e->job);
    bool placed = world_place(w, &what, w->now_us, time_add(w->now_us, limit), &p->at);
    const struct lic_use *capped = placed ? NULL : p->at.capped;
    int64_t takes = p->at.takes;
    if (!placed && !(e->o->limit_min_us < limit && place_shorter(p, e, &what, &limit))) {
        p->at.capped = capped;
        p->at.takes = takes;
        return false;
    }
    if (p->future)
        pass_foresee(p, e->job->w.job_id, w->now_us, &p->at, false);
    else if (!emit_somewhere(p, e, &what, limit)) {
        p->at.capped = NULL;
        return false;
    }
    if (!p->future)
        started_tell(p, e);
    held_change(p, world_begin(w, e->c, &p->at, e->job->w.job_id, time_add(w->now_us, limit)), 1);
    p->cost += START_COST + p->at.at.n * START_NODE_COST;
    p->started_size += start_size(w, w->agenda.job.n - 1);
    return true;
}
