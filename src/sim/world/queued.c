/* The oracle about steps that wait for steps: one that srun --async queued begins only after those
 * of its job that it waits for are over, and over as it wants. What it waits for is in the row it
 * was queued with; how those ended, in theirs. */
#include "model/job/step_dependency.h"
#include "sim/world/inside.h"

#define KINDS 8 /* of dependencies; a power of two */

/* One dependency as a pointer: the number of the other step and the kind. */
static void *packed(const struct step_dependency *d)
{
    return (void *)(uintptr_t)(((uint64_t)d->step_id + 1) * KINDS + (uint64_t)d->kind);
}

void world_queued_learn(struct sim_world *w, const struct queued_step *q)
{
    struct arena *a = arena_new();
    struct step_dependency_list list = {0};
    bool one = step_dependency_is(q->spec.dependency) &&
               step_dependency_parse(q->spec.dependency, a, &list, NULL) && list.n == 1;
    void *after = one && list.v[0].task_id == NO_TASK ? packed(&list.v[0]) : NULL;
    uint64_t key = world_step_key(q->job_id, q->attempt, q->step_id, 0);
    if (after)
        map_u64_put(w->step_after, key, after);
    else
        map_u64_del(w->step_after, key);
    arena_free(a);
}

enum step_life world_step_life(const struct step *s)
{
    return !s->end_us ? STEP_LIVES : s->state == JOB_COMPLETED ? STEP_ENDED_WELL : STEP_ENDED;
}

void world_queued_check(struct sim_world *w, const struct step *s)
{
    uint64_t key = world_step_key(s->job_id, s->attempt, s->step_id, 0);
    uint64_t after = (uintptr_t)map_u64_get(w->step_after, key);
    if (!after || s->end_us || s->state == JOB_PENDING)
        return;
    int64_t other = (int64_t)(after / KINDS) - 1;
    enum dep_kind kind = (enum dep_kind)(after % KINDS);
    uintptr_t end =
        (uintptr_t)map_u64_get(w->step_ended, world_step_key(s->job_id, s->attempt, other, 0));
    bool fits = kind == DEP_AFTEROK      ? end == STEP_ENDED_WELL
                : kind == DEP_AFTERNOTOK ? end == STEP_ENDED
                : kind == DEP_AFTER      ? end != 0
                                         : end >= STEP_ENDED;
    if (!fits)
        world_broke(w, "step %llu.%lld began though step %lld, which it waits for, %s",
                    (unsigned long long)s->job_id, (long long)s->step_id, (long long)other,
                    end < STEP_ENDED ? "is not over" : "ended otherwise");
}
