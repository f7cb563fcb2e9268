/* The future as the planner itself would make it: everything that runs ends when it is expected
 * to, nothing new comes, and at each end the same step is taken as in the present. What starts
 * then has its planned start, and the nodes. So a planned start is not a guess beside the policy
 * but the policy's own answer; it can only move because work ends early or late, or comes or
 * goes.
 *
 * The work is bounded, by counting it, not by a clock, so that the same state always gives the
 * same plan. While it is cheap each end is a step of its own. Once EXACT_COST is spent, ends are
 * taken together that lie closer than a thirty-second of their distance from now, but no more than
 * an eighth of what runs: with short jobs far from now all nodes would else be idle nearly all of
 * the time, and each step longer than the one before. Once ALL_COST
 * is spent, the rest of the queue is foreseen by its size: it takes as long as the part before
 * it took, in proportion to the CPU time asked for. */
#include "base/alloc.h"
#include "sched/pass/bars.h"
#include "sched/pass/components.h"
#include "sched/pass/found.h"
#include "sched/pass/live.h"
#include "sched/pass/pass.h"

/* Promises that are due become work. */
static void promises_due(struct pass *p)
{
    for (size_t i = 0; i < p->promise.n;) {
        struct promised pr = p->promise.v[i];
        if (pr.start_us > p->w->now_us) {
            i++;
            continue;
        }
        world_fulfil(p->w, pr.world_job);
        held_change(p, pr.world_job, 1);
        p->served[pr.part] &= pr.extra;
        vec_remove(&p->promise, i);
        if (pr.het)
            pass_het_of(p, pr.het)->done = true;
        else if (!pr.awaited && !pr.ahead)
            pass_took_one(p, pr.lane);
    }
}

#define EXACT_COST 500000 /* entries looked at; a few milliseconds */
#define ALL_COST   30000000
/* Ends may be taken together when they are closer than 1/GAP of the time until then, and as many as
 * 1/SHARE of what runs */
#define GAP   32
#define SHARE 8

static int64_t next_time(const struct pass *p)
{
    int64_t at = world_next_end(p->w);
    for (size_t i = 0; i < p->promise.n; i++)
        if (p->promise.v[i].start_us < at)
            at = p->promise.v[i].start_us;
    if (at == INT64_MAX || p->cost < EXACT_COST)
        return at;
    if (p->v->exact_until_us == INT64_MAX)
        p->v->exact_until_us = p->w->now_us;
    int64_t coarse = time_add(p->w->now_us, (p->w->now_us - p->v->now_us) / GAP),
            shared = world_end_of_share(p->w, SHARE);
    coarse = coarse < shared ? coarse : shared;
    return coarse > at ? coarse : at;
}

/* CPU time the rest of a lane asks for, from its next job on: jobs × CPU-seconds of one. */
static int64_t entry_size(const struct entry *e)
{
    const struct layout *l = &e->o->variant[0].lay;
    int64_t cpus = l->units > 0 ? (int64_t)l->units * e->o->variant[0].unit_cpus
                                : (int64_t)l->nmin * e->o->variant[0].unit_cpus;
    if (e->o->mode.whole && e->o->part->least)
        cpus = (int64_t)l->nmin * e->o->part->least->cpus;
    int64_t seconds = e->o->limit_us == TIME_UNLIMITED ? 0 : e->o->limit_us / USEC_PER_SEC;
    return (cpus > 0 ? cpus : 1) * seconds;
}

/* The CPUs of nodes that are up: what the rest of the queue is divided by. */
static int64_t cpus_up(const struct cluster *cl)
{
    int64_t cpus = 0;
    for (size_t g = 0; g < cl->group.n; g++)
        cpus += (int64_t)cl->group.v[g]->up * cl->group.v[g]->cpus;
    return cpus > 0 ? cpus : 1;
}

/* Takes the queue in order, each job as long after the one before it as the cluster needs for it at
 * the pace it kept so far. */
static void foresee_rest(struct pass *p)
{
    struct placement nowhere = {0};
    p->v->log_cut = true;
    int64_t cpus = cpus_up(p->cl), done = p->started_size, ahead = 0;
    int64_t span = (p->w->now_us - p->v->now_us) / USEC_PER_SEC;
    /* The pace: CPU seconds started a second; at most all CPUs, and at least a tenth of them. */
    int64_t pace = span > 0 ? done / span : cpus;
    pace = pace > cpus ? cpus : pace < cpus / 10 + 1 ? cpus / 10 + 1 : pace;
    for (size_t i = 0; i < p->live.n;) {
        struct entry *e = &p->entry.v[p->live.v[i].entry];
        if (entry_outdated(p, e)) {
            i += !live_refresh(p, i);
            continue;
        }
        if (e->lane->het || e->o->never != REASON_NONE || e->o->nvariants == 0 ||
            !pass_reachable(p, e->c, e->o)) {
            i++;
            continue;
        }
        pass_foresee(p, e->job->w.job_id, time_add(p->w->now_us, ahead / pace * USEC_PER_SEC),
                     &nowhere, false);
        ahead += entry_size(e) * p->left[e->lane->idx];
        lane_advance(p, e->lane);
    }
}

/* It is then. */
static void ends_come(struct pass *p, int64_t at_us)
{
    const struct agenda *a = &p->w->agenda;
    size_t first = a->ends_first;
    world_advance(p->w, at_us);
    for (size_t i = first; i < a->ends_first; i++)
        held_change(p, a->ends.v[i].job, -1);
}

bool pass_forecast(struct pass *p, uint32_t budget, uint64_t most)
{
    ASSERT(!p->future && most > 0);
    p->future = true;
    while (p->live.n > 0) {
        int64_t at = next_time(p);
        if (at == INT64_MAX || (budget > 0 && map_u64_count(p->v->planned) >= budget))
            return true;
        if (p->cost > most)
            return false;
        if (p->cost > ALL_COST) {
            foresee_rest(p);
            return true;
        }
        ends_come(p, at);
        promises_due(p);
        pass_step(p);
    }
    return true;
}
