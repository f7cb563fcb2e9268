/* Gang scheduling: jobs that share CPUs (OverSubscribe=FORCE, or YES where they ask for it) and
 * whose cluster has GANG in PreemptMode take turns instead of running beside each other. For the
 * planner they all run: their share of the CPUs stays theirs. When a slice (SchedulerTimeSlice) is
 * over, who waited longest gets its CPUs first, then who waited less, then who has just run;
 * whoever finds its CPUs given away waits. Between slices nobody who runs is stopped: what comes
 * new waits for the next slice, and what ends makes room at once. */
#include "core/life/life.h"

#include <stdlib.h>
#include <string.h>

struct member {
    struct jobrec *r;
    bool runs, settled; /* it runs, and did so before this instant */
    int64_t since_us;   /* it has run, or waited, since then */
};

/* CPUs that are given in this slice, by node: "name" → struct idset. */
struct gang_given {
    struct map_str *by_node;
    struct arena *a;
};

static bool takes_turns(const struct core *c, const struct jobrec *r)
{
    if (r->j.state == JOB_SUSPENDED && r->j.suspended_by == SUSPENDER_GANG)
        return true;
    const struct partrec *p =
        r->j.state == JOB_RUNNING && r->j.run_partition ? part_find(c, r->j.run_partition) : NULL;
    return p && p->p.share_count != 1 &&
           (p->p.share == SHARE_FORCE || (p->p.share == SHARE_YES && r->j.spec.req.oversubscribe));
}

static bool any_shares(const struct core *c)
{
    for (size_t i = 0; i < c->part.n; i++)
        if (c->part.v[i]->p.share == SHARE_FORCE || c->part.v[i]->p.share == SHARE_YES)
            return true;
    return c->timers.gang_due_us != 0;
}

void gang_restore(struct core *c, const struct jobrec *r)
{
    if (r->j.state == JOB_SUSPENDED && r->j.suspended_by == SUSPENDER_GANG && !any_shares(c))
        c->timers.gang_due_us = c->turn.now_us;
}

static int by_wait(const void *va, const void *vb)
{
    const struct member *a = va, *b = vb;
    if (a->runs != b->runs)
        return a->runs ? 1 : -1;
    if (a->since_us != b->since_us)
        return a->since_us < b->since_us ? -1 : 1;
    return (a->r->j.id > b->r->j.id) - (a->r->j.id < b->r->j.id);
}

static int by_run(const void *va, const void *vb)
{
    const struct member *a = va, *b = vb;
    if (a->settled != b->settled)
        return a->settled ? -1 : 1;
    if (a->since_us != b->since_us)
        return a->since_us < b->since_us ? -1 : 1;
    return (a->r->j.id > b->r->j.id) - (a->r->j.id < b->r->j.id);
}

static struct idset *given_at(struct gang_given *g, const char *node)
{
    struct idset *set = map_str_get(g->by_node, node);
    if (!set) {
        set = xcalloc(1, sizeof *set);
        map_str_put(g->by_node, node, set);
    }
    return set;
}

static void given_free(struct gang_given *g)
{
    struct map_walk w = {0};
    while (map_str_next(g->by_node, &w)) {
        idset_done(w.value);
        free(w.value);
    }
    map_str_free(g->by_node);
    arena_free(g->a);
}

/* Takes the CPUs of the job if none of them is given yet. */
static bool give(struct gang_given *g, const struct jobrec *r)
{
    struct alloc al = {0};
    bool idle = true;
    if (!alloc_parse(r->j.alloc, g->a, &al, NULL))
        return true;
    for (int take = 0; take < 2 && idle; take++)
        for (size_t i = 0; i < al.n; i++) {
            struct idset cpus = IDSET_INIT;
            struct idset *given = given_at(g, al.node[i].node);
            uint32_t cpu;
            idset_parse(&cpus, al.node[i].cpus, INT32_MAX, NULL);
            for (bool more = idset_first(&cpus, &cpu); more; more = idset_next(&cpus, cpu, &cpu)) {
                idle &= take || !idset_has(given, cpu);
                if (take)
                    idset_add(given, cpu);
            }
            idset_done(&cpus);
        }
    return idle;
}

static void turn_set(struct core *c, const struct member *m, bool active)
{
    ASSERT(m->r->j.state == (m->runs ? JOB_RUNNING : JOB_SUSPENDED));
    if (active == m->runs)
        return;
    if (active)
        job_resume(c, m->r);
    else
        job_suspend(c, m->r, SUSPENDER_GANG);
}

void gang_turn(struct core *c, bool slice_over)
{
    VEC(struct member) member = {0};
    struct map_walk w = {0};
    if (!any_shares(c))
        return;
    while (map_u64_next(c->jobs.by_id, &w)) {
        struct jobrec *r = w.value;
        if (!takes_turns(c, r))
            continue;
        bool runs = r->j.state == JOB_RUNNING;
        struct member m = {r, runs, runs && r->j.start_us < c->turn.now_us,
                           r->j.suspend_us ? r->j.suspend_us : r->j.start_us};
        vec_push(&member, m);
    }
    if (member.n > 1)
        qsort(member.v, member.n, sizeof member.v[0], slice_over ? by_wait : by_run);
    struct gang_given g = {map_str_new(), arena_new()};
    bool on = c->settings.word.gang, waits = false, planned = c->planning.needed;
    for (size_t i = 0; i < member.n; i++) {
        bool active = !on || give(&g, member.v[i].r);
        waits |= !active;
        turn_set(c, &member.v[i], active);
    }
    c->planning.needed = planned; /* for the planner nothing has changed */
    if (!waits)
        c->timers.gang_due_us = 0;
    else if (slice_over || !c->timers.gang_due_us)
        c->timers.gang_due_us = time_add(c->turn.now_us, c->settings.scheduler_time_slice_us > 0
                                                             ? c->settings.scheduler_time_slice_us
                                                             : 30 * USEC_PER_SEC);
    given_free(&g);
    vec_done(&member);
}
