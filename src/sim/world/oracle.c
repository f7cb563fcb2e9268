/* What must hold when all is healed and quiet, and what is to be seen of a world. */
#include "base/list.h"
#include "sim/world/inside.h"

const char *world_broken(const struct sim_world *w)
{
    return w->broken;
}

struct audit {
    struct sim_world *w;
    size_t live;
    struct map_u64 *seen;
};

struct resv_search {
    const char *names; /* of which one is wanted, comma-separated */
    bool found;
};

static void resv_compare(void *ctx, const void *record)
{
    struct resv_search *s = ctx;
    const struct reservation *r = record;
    s->found |= list_has(s->names, r->name);
}

/* It was sent back to the queue after its reservation was gone: it waits for its user, as
 * ReservationDeleted. */
static bool reservation_is_gone(const struct sim_world *w, const struct job *j)
{
    struct resv_search s = {.names = j->spec.req.reservation};
    if (s.names)
        store_load(w->store, TABLE_RESERVATION, false, 0, resv_compare, &s, NULL);
    return s.names && !s.found;
}

static void row_audit(void *ctx, const void *record)
{
    struct audit *a = ctx;
    const struct job *j = record;
    map_u64_put(a->seen, j->id, a);
    bool resting = job_state_over((enum job_state)j->state) || j->state == JOB_SPECIAL_EXIT ||
                   (j->state == JOB_PENDING &&
                    (j->spec.hold || j->spec.dependency || reservation_is_gone(a->w, j)));
    if (!resting) {
        world_broke(a->w, "job %llu is still %s (%s) in the store when all is healed and quiet",
                    (unsigned long long)j->id, enum_name(&job_state_names, j->state),
                    enum_name(&job_reason_names, j->reason));
        a->live++;
    }
    if (job_state_over((enum job_state)j->state) && !j->end_us)
        world_broke(a->w, "job %llu is over without an end", (unsigned long long)j->id);
}

void world_audit(struct sim_world *w)
{
    struct audit a = {.w = w, .seen = map_u64_new()};
    struct map_walk walk = {0};
    store_load(w->store, TABLE_JOB, false, 0, row_audit, &a, NULL);
    while (map_u64_next(w->acknowledged, &walk))
        if (!map_u64_get(a.seen, walk.key))
            world_broke(w, "job %llu was acknowledged and is lost", (unsigned long long)walk.key);
    if (w->core)
        core_check(w->core);
    world_depend_audit(w);
    for (size_t i = 0; i < w->node.n; i++)
        for (size_t k = 0; k < w->node.v[i].step.n; k++)
            if (w->node.v[i].step.v[k]->alive)
                world_broke(w, "%s still runs job %lld when all is over", w->node.v[i].n.name,
                            (long long)w->node.v[i].step.v[k]->ids.job_id);
    const char *untold = callers_audit(&w->callers);
    if (untold)
        world_broke(w, "%s", untold);
    struct map_walk steps = {0};
    while (map_u64_next(w->step_ended, &steps))
        if ((uintptr_t)steps.value == STEP_LIVES)
            world_broke(w, "a step is still running in the store when all is over");
    map_u64_free(a.seen);
}

struct oracle_count {
    size_t busy;
};

static void job_count(void *ctx, const void *record)
{
    const struct job *j = record;
    bool rests = j->state == JOB_PENDING && (j->spec.hold || j->reason == REASON_DEPENDENCY_NEVER ||
                                             j->reason == REASON_DEPENDENCY);
    ((struct oracle_count *)ctx)->busy += !rests && j->state != JOB_SPECIAL_EXIT;
}

bool world_idle(const struct sim_world *w)
{
    struct oracle_count count = {0};
    struct msg_query q = {.what = QUERY_JOBS};
    struct view v = {job_count, &count};
    struct str detail = STR_INIT;
    if (!w->core || w->away)
        return false;
    core_query(w->core, &q, &world_daemon, world_wall(w), &v, &detail);
    str_done(&detail);
    return count.busy == 0;
}

void world_jobs(const struct sim_world *w, void (*row)(void *ctx, const void *record), void *ctx)
{
    store_load(w->store, TABLE_JOB, false, 0, row, ctx, NULL);
}

uint64_t world_hash(const struct sim_world *w)
{
    return hash_text(w->hash, str_text(&w->trace));
}

const char *world_trace(const struct sim_world *w)
{
    return str_text(&w->trace);
}

int64_t world_now(const struct sim_world *w)
{
    return w->now_us;
}
