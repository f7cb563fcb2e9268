/* Disasters of a world beyond crashes: a backup is put in the place of the store, or the store is
 * lost. What was acknowledged since is lost with it, and so is what the oracle knew of it. What
 * must hold nevertheless: no job id is given twice, and nothing that the old store calls waiting
 * starts before somebody said that it may. */
#include "sim/world/inside.h"

#include <stdlib.h>

struct backup {
    struct store *store;
    struct map_u64 *acknowledged, *made;
    struct simuse *use;
    uint64_t next_job_id;
};

static struct map_u64 *map_copy(const struct map_u64 *m)
{
    struct map_u64 *copy = map_u64_new();
    struct map_walk walk = {0};
    while (m && map_u64_next(m, &walk))
        map_u64_put(copy, walk.key, walk.value);
    return copy;
}

void world_backup_free(struct backup *b)
{
    if (!b)
        return;
    store_close(b->store);
    map_u64_free(b->acknowledged);
    map_u64_free(b->made);
    world_use_free(b->use);
    free(b);
}

void world_backup(struct sim_world *w)
{
    struct backup *b = xcalloc(1, sizeof *b);
    world_backup_free(w->backup);
    b->store = store_memory_copy(w->store);
    b->acknowledged = map_copy(w->acknowledged);
    b->made = map_copy(w->made);
    b->use = world_use_copy(w->use);
    b->next_job_id = w->given_next;
    w->backup = b;
}

/* ---- what the oracle may still expect ---- */

static void map_empty(struct map_u64 **m, struct map_u64 *instead)
{
    map_u64_free(*m);
    *m = instead ? instead : map_u64_new();
}

static void job_remember(void *ctx, const void *record)
{
    struct sim_world *w = ctx;
    const struct job *j = record;
    struct simjob *known = xcalloc(1, sizeof *known);
    known->state = (enum job_state)j->state;
    known->attempt = j->attempt;
    known->limit_us = j->limit_us;
    known->het_job_id = j->het_job_id;
    known->of_backup = true;
    map_u64_put(w->job, j->id, known); /* began_us 0: nobody knows for how long it ran */
    world_state_seen(w, j);
    if (!job_state_over((enum job_state)j->state))
        map_u64_put(w->doubtful, j->id, w);
}

static void step_remember(void *ctx, const void *record)
{
    struct sim_world *w = ctx;
    const struct step *s = record;
    uint64_t key = world_step_key(s->job_id, s->attempt, s->step_id, 0);
    struct simjob *known = map_u64_get(w->job, s->job_id);
    if (s->step_id == STEP_BATCH || s->state == JOB_PENDING)
        return;
    map_u64_put(w->step_ended, key, (void *)(uintptr_t)world_step_life(s));
    if (known && !s->end_us)
        known->live_steps++;
}

static void oracle_forget(struct sim_world *w)
{
    struct map_walk walk = {0};
    world_use_free(w->use);
    w->use = world_use_copy(w->backup ? w->backup->use : NULL);
    while (map_u64_next(w->job, &walk))
        free(walk.value);
    map_empty(&w->job, NULL);
    map_empty(&w->state, NULL);
    map_empty(&w->starts, NULL);
    map_empty(&w->step_ended, NULL);
    map_empty(&w->step_after, NULL);
    map_empty(&w->doubtful, NULL);
    map_empty(&w->acknowledged, w->backup ? map_copy(w->backup->acknowledged) : NULL);
    map_empty(&w->made, w->backup ? map_copy(w->backup->made) : NULL);
    store_load(w->store, TABLE_JOB, false, 0, job_remember, w, NULL);
    store_load(w->store, TABLE_STEP, false, 0, step_remember, w, NULL);
}

/* ---- */

#define IDS_SKIPPED 10000 /* as `remuda restore` does where the file `given` is gone */

void world_restore(struct sim_world *w, bool given_is_gone, int64_t back_after_us)
{
    w->trigger_doubt = true;
    if (!w->core)
        return;
    w->crash_back_us = back_after_us;
    controller_die(w);
    store_close(w->store);
    w->store = w->backup ? store_memory_copy(w->backup->store) : store_open_memory();
    /* A second such loss cannot be noticed */
    if (given_is_gone && w->backup && w->given_next < w->backup->next_job_id + IDS_SKIPPED)
        w->given_next = w->backup->next_job_id + IDS_SKIPPED;
    oracle_forget(w);
    world_depend_stop(w);
}
